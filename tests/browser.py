"""A headless Chromium with one page, driven over a pipe.

It speaks the DevTools protocol: JSON messages that end with a zero byte, to descriptor
3 and from descriptor 4 of the browser. Nothing listens on a port, and the browser's
own network is cut off: each name resolves to nothing.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

_READ_BYTES = 1 << 20
_LEAST = 10
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)


class Page:
    """A page of the browser; it answers in order."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to_browser = to_browser
        self._from_browser = from_browser
        self._rest = b""
        self._numbers = count(1)
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method and return its result; events before it are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to_browser, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, path: Path, *, width: int = 900, scripts: bool = True) -> None:
        """Open a file and wait until it is loaded."""
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=1000,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not self.has_seen("Page.loadEventFired"):
            self.events.append(self._receive())

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

    def use_scheme(self, scheme: str) -> None:
        """Prefer `light` or `dark` colours."""
        preference = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[preference])

    def screenshot(self) -> bytes:
        """Return a picture of what is seen, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            data = os.read(self._from_browser, _READ_BYTES)
            assert data, "the browser has ended"
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


def _text(node: dict[str, Any], part: str) -> str:
    return str(node.get(part, {}).get("value", ""))


@contextmanager
def a_browser(folder: Path) -> Iterator[Page]:
    """Yield a page of a browser whose profile is in a folder."""
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
            yield Page(ours_out, ours_in)
        finally:
            process.kill()
            os.close(ours_out)
            os.close(ours_in)
