"""A headless Chromium with one page, driven over a pipe.

It speaks the DevTools protocol: JSON messages that end with a zero byte, to descriptor
3 and from descriptor 4 of the browser. Nothing listens on a port, and the browser's
own network is cut off: each name resolves to nothing, but for those a test names.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

_READ_BYTES = 1 << 20
_LEAST = 10
_BINARY = 2
_CONTROL = re.compile(r"\x1b\[[0-9;?$]*[A-Za-z]")
_POLL_SECONDS = 0.2
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
)


class _Pipe:
    """The connection to a browser, which its pages share; it answers in order."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to_browser = to_browser
        self._from_browser = from_browser
        self._rest = b""
        self._numbers = count(1)
        self._answers: dict[int, dict[str, Any]] = {}
        self.events: dict[str, list[dict[str, Any]]] = {}

    def call(
        self, method: str, session: str | None, parameters: dict[str, Any]
    ) -> dict[str, Any]:
        """Call a method and return its result; events before it are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to_browser, json.dumps(message).encode() + b"\0")
        while number not in self._answers:
            self.take()
        answer = self._answers.pop(number)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def take(self, seconds: float | None = None) -> None:
        """Wait for the next message, at most for some time, and keep it."""
        while b"\0" not in self._rest:
            if not select.select([self._from_browser], [], [], seconds)[0]:
                return
            data = os.read(self._from_browser, _READ_BYTES)
            assert data, "the browser has ended"
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "id" in message:
            self._answers[message["id"]] = message
        else:
            self.events.setdefault(message.get("sessionId", ""), []).append(message)


class Page:
    """A page of the browser."""

    def __init__(self, pipe: _Pipe, **context: str) -> None:
        self._pipe = pipe
        self._session: str | None = None
        self._target = self.call("Target.createTarget", url="about:blank", **context)[
            "targetId"
        ]
        attached = self.call(
            "Target.attachToTarget", targetId=self._target, flatten=True
        )
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    @property
    def events(self) -> list[dict[str, Any]]:
        """What was reported of this page since it was opened."""
        return self._pipe.events.setdefault(str(self._session), [])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method and return its result; events before it are kept."""
        return self._pipe.call(method, self._session, parameters)

    def another(self) -> Page:
        """Return a further page of the same browser."""
        return Page(self._pipe)

    def in_private(self) -> Page:
        """Return a page that has no cookies, as of another browser."""
        context = self._pipe.call("Target.createBrowserContext", None, {})
        return Page(self._pipe, browserContextId=context["browserContextId"])

    def close(self) -> None:
        """Close the page, as its user closes a tab."""
        self.call("Target.closeTarget", targetId=self._target)

    def open(
        self, place: Path | str, *, width: int = 900, scripts: bool = True
    ) -> None:
        """Open a file or an address, and wait until it is loaded."""
        url = place if isinstance(place, str) else place.resolve().as_uri()
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.resize(width, 1000)
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not self.has_seen("Page.loadEventFired"):
            self._pipe.take()

    def resize(self, width: int, height: int) -> None:
        """Give the window another size, in pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def wait_until(self, holds: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until something holds that what the browser reports decides."""
        end = time.monotonic() + seconds  # noqa: TID251  # real time is waited for
        while not holds():
            assert time.monotonic() < end, "it did not come"  # noqa: TID251  # the same
            self._pipe.take(_POLL_SECONDS)

    def messages(self, kind: str = "Received") -> str:
        """Return what came over WebSockets since the page was opened, or was `Sent`.

        Without the sequences that place and colour a text in a terminal.
        """
        method = f"Network.webSocketFrame{kind}"
        frames = [
            event["params"]["response"]
            for event in self.events
            if event.get("method") == method
        ]
        parts = [
            base64.b64decode(frame["payloadData"])
            if frame["opcode"] == _BINARY
            else frame["payloadData"].encode()
            for frame in frames
        ]
        return _CONTROL.sub("", b"".join(parts).decode(errors="replace"))

    def type(self, text: str) -> None:
        """Press the keys of characters."""
        for character in text:
            self.call(
                "Input.dispatchKeyEvent", type="keyDown", key=character, text=character
            )
            self.call("Input.dispatchKeyEvent", type="keyUp", key=character)

    def has_seen(self, method: str) -> bool:
        """Return whether an event of that kind came since the page was opened."""
        return any(event.get("method") == method for event in self.events)

    def blocked(self) -> set[str]:
        """Return why requests of the page were not sent: `csp` for its policy."""
        return {
            event["params"].get("blockedReason", "")
            for event in self.events
            if event.get("method") == "Network.loadingFailed"
        }

    def requests(self) -> list[str]:
        """Return the addresses that the page asked for since it was opened."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, as a user of the console gets it."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def awaited(self, expression: str) -> Any:
        """Return what the promise of an expression resolves to."""
        answer = self.call(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key)

    def accessible(self) -> list[tuple[str, str, str]]:
        """Return role, name and description of what a screen reader finds."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            (_text(node, "role"), _text(node, "name"), _text(node, "description"))
            for node in nodes
            if not node["ignored"]
        ]

    def use_scheme(self, scheme: str, *, medium: str = "") -> None:
        """Prefer `light` or `dark` colours, on a screen or as `print` has them."""
        preference = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", media=medium, features=[preference])

    def screenshot(self) -> bytes:
        """Return a picture of what is seen, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])


def _text(node: dict[str, Any], part: str) -> str:
    return str(node.get(part, {}).get("value", ""))


@contextmanager
def a_browser(
    folder: Path, *reached: str, mapped: Mapping[str, str] | None = None
) -> Iterator[Page]:
    """Yield a page of a browser whose profile is in a folder.

    Args:
        folder: of the profile.
        reached: the hosts that the browser may connect to.
        mapped: addresses of hosts, as the name server of an attacker has them.
    """
    rules = [f"MAP {host} {address}" for host, address in (mapped or {}).items()]
    rules += ["MAP * ~NOTFOUND", *(f"EXCLUDE {host}" for host in reached)]
    (low_in, ours_out), (ours_in, low_out) = os.pipe(), os.pipe()
    # A shell gives descriptors the numbers that the browser expects: they have others.
    theirs_in, theirs_out = (
        fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _LEAST) for low in (low_in, low_out)
    )
    os.close(low_in)
    os.close(low_out)
    command = 'exec "$@" 3<&"$IN" 4>&"$OUT"'
    try:
        process = subprocess.Popen(
            [
                "bash",
                "-c",
                command,
                "bash",
                "chromium",
                *_OPTIONS,
                f"--host-resolver-rules={', '.join(rules)}",
                f"--user-data-dir={folder / 'profile'}",
            ],
            pass_fds=(theirs_in, theirs_out),
            env={**os.environ, "IN": str(theirs_in), "OUT": str(theirs_out)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    finally:
        os.close(theirs_in)
        os.close(theirs_out)
    with process:
        try:
            yield Page(_Pipe(ours_out, ours_in))
        finally:
            process.kill()
            os.close(ours_out)
            os.close(ours_in)
