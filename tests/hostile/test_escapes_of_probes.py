"""Output of containers, servers and scripts is shown and never obeyed."""

from __future__ import annotations

import socket
import sys
import threading
import unicodedata
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from probetui.cli.main import run
from tests.e2e.on_terminal import OnTerminal, on_terminal
from tests.e2e.program import wait_until
from tests.hostile.payloads import EVERYTHING, LONE, MEGABYTE, obeyed

pytestmark = pytest.mark.usefixtures("_own_home")

Captured = pytest.CaptureFixture[str]

TEXT = EVERYTHING + LONE["bytes"]

DATA = {
    f"U+{ord(character):04X}"
    for character in TEXT
    if unicodedata.category(character) in {"Mn", "Me", "Co", "Cn"}
}
"""Combining marks and unassigned characters are unchanged in JSON, which is for
programs: no terminal obeys them."""

OBEYED = (
    b"\x1b]52;c;ZXZpbA==",
    b"\x1b]8;;http://evil",
    b"\x1b]0;title",
    b"\x1bP+q544e",
    b"\x1b[31;5mred",
    b"\x1b[2J\x1b[H\x1b",
    "\x9b2J".encode(),
    "\x9d0;t".encode(),
    "\u202e".encode(),
    "\u2066".encode(),
    "\u200b".encode(),
    "\ufeff".encode(),
    "\u2028".encode(),
    "\u0351\u036b\u0343\u036a\u0351".encode(),
)
"""Parts of the text that a terminal would obey; the screen's own codes differ."""


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@pytest.fixture
def server() -> Iterator[int]:
    """Serve responses with the text in every part, and return the port."""
    one_line = as_bytes(TEXT.replace("\r", "").replace("\n", " "))
    body = as_bytes(TEXT) + b"x" * (1 << 20)
    answer = (
        b"HTTP/1.1 500 %s\r\nX-Evil: %s\r\nSet-Cookie: %s\r\nContent-Length: %d\r\n"
        b"Connection: close\r\n\r\n%s" % (one_line, one_line, one_line, len(body), body)
    )
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        try:
            while True:
                client, _ = listener.accept()
                with client:
                    client.recv(1 << 16)
                    client.sendall(answer)
        except OSError:
            return

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


@pytest.fixture
def printing_command(tmp_path: Path) -> list[str]:
    """Return a command that prints the text, a megabyte in one line, and fails."""
    script = tmp_path / "print_text.py"
    content = as_bytes(TEXT) + MEGABYTE["a megabyte of escapes"].encode()
    (tmp_path / "content").write_bytes(content)
    script.write_text(
        "import pathlib, sys\n"
        f"content = pathlib.Path({str(tmp_path / 'content')!r}).read_bytes()\n"
        "sys.stdout.buffer.write(content)\n"
        "sys.stderr.buffer.write(content); sys.exit(1)\n"
    )
    return [sys.executable, str(script)]


@pytest.fixture
def pod(tmp_path: Path, server: int, printing_command: list[str]) -> str:
    """Return a manifest whose container and probes print the text everywhere."""
    path = tmp_path / "pod.yaml"
    quick = {"periodSeconds": 1, "timeoutSeconds": 5}
    talks = [
        *printing_command[:1],
        "-c",
        f"exec(open({printing_command[1]!r}).read().replace('exit(1)', 'exit(0)'))",
    ]
    app = {
        "name": "app",
        "image": "app",
        "command": [
            "sh",
            "-c",
            f"'{printing_command[0]}' {printing_command[1]}; exec sleep 60",
        ],
        "livenessProbe": {
            "httpGet": {"host": "127.0.0.1", "port": server, "path": "/"},
            "failureThreshold": 9,
            **quick,
        },
        "readinessProbe": {"exec": {"command": printing_command}, **quick},
        "startupProbe": {"exec": {"command": talks}, **quick},
        "env": [{"name": "SAYS", "value": EVERYTHING.replace("\x00", "")}],
    }
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": "escape-probes",
                    "annotations": {"says": EVERYTHING},
                },
                "spec": {"containers": [app], "terminationGracePeriodSeconds": 1},
            }
        )
    )
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-v",), ("-o", "jsonl")], ids=str)
def test_responses_to_probes_are_printed_and_not_obeyed(
    options: tuple[str, ...], pod: str, tmp_path: Path, capfd: Captured
) -> None:
    record = tmp_path / "session.jsonl"
    run(
        [
            "run", "-f", pod, "--plain", "--runtime", "process", *options,
            "--record", str(record), "--until", "event=Unhealthy", "--timeout", "30s",
        ]
    )  # fmt: skip
    captured = capfd.readouterr()
    run(["why", str(record)])
    run(["replay", str(record), "--plain", "-v"])
    replayed = capfd.readouterr()

    assert "escape-probes" in captured.out
    assert "1b[2J" in captured.out
    assert obeyed(captured.err) == []
    assert set(obeyed(captured.out)) <= (DATA if "jsonl" in options else set())
    assert obeyed(replayed.out + replayed.err) == []
    assert max(map(len, replayed.out.split("\n"))) < 20_000


SCRIPT = {
    "containers": {
        "app": [
            {
                "liveness": [{"result": "failure", "output": EVERYTHING, "times": 2}],
                "readiness": [{"result": "failure", "output": MEGABYTE["a megabyte"]}],
                "lasts": "5s",
                "exitCode": 1,
            }
        ]
    }
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "annotations": {"says": EVERYTHING}},
    "spec": {
        "containers": [
            {
                "name": "app",
                "image": f"x{EVERYTHING}",
                "command": [EVERYTHING],
                "env": [{"name": "SAYS", "value": EVERYTHING}],
                "livenessProbe": {"exec": {"command": [EVERYTHING]}},
                "readinessProbe": {
                    "httpGet": {
                        "port": 80,
                        "path": f"/{EVERYTHING}",
                        "httpHeaders": [{"name": "X-Says", "value": EVERYTHING}],
                    }
                },
            }
        ]
    },
}


@pytest.fixture
def simulated(tmp_path: Path) -> tuple[str, ...]:
    """Return the command line of a simulation with the text everywhere."""
    (tmp_path / "sim.yaml").write_text(yaml.safe_dump(POD))
    (tmp_path / "script.yaml").write_text(yaml.safe_dump(SCRIPT))
    return (
        "sim", "-f", str(tmp_path / "sim.yaml"),
        "--script", str(tmp_path / "script.yaml"), "--for", "30s",
    )  # fmt: skip


def test_texts_of_a_script_are_printed_and_not_obeyed(
    simulated: tuple[str, ...], capfd: Captured
) -> None:
    run([*simulated, "--plain", "-v"])

    captured = capfd.readouterr()
    assert " liveness " in captured.out
    assert obeyed(captured.out + captured.err) == []


KEYS = (
    b"w", b"\x1b", b"d", b"\x1b", b"y", b"G", b"\x1b", b"v", b"W", b"\x1b", b"l",
    b"\x1b", b"\r", b"4", b"\x1b", b"C", b"\x1b", b"x", b"\x1b", b"i", b"\x1b",
    b":why\t\t", b"\x1b", b"\x10", b"\x1b", b"?", b"\x1b", b"e", b"\x1b",
    b"c", b"/x\r", b"Q", b"\x1b",
)  # fmt: skip
"""Keys that open and leave every screen."""


@pytest.fixture
def on_screen(simulated: tuple[str, ...], tmp_path: Path) -> Iterator[OnTerminal]:
    with on_terminal(
        tmp_path / "home", *simulated, "--no-motion", "--time-scale", "4"
    ) as started:
        yield started


def shows_more(terminal: OnTerminal, before: int) -> bool:
    """Return whether anything was drawn since then."""
    return terminal.shows(b"") and len(terminal.seen) > before


@pytest.mark.e2e
@pytest.mark.slow
def test_no_byte_on_the_terminal_comes_from_a_container(on_screen: OnTerminal) -> None:
    wait_until(lambda: on_screen.shows(b"liveness"), "the screen")
    for key in KEYS:
        before = len(on_screen.seen)
        on_screen.send(key)
        wait_until(partial(shows_more, on_screen, before), f"what {key!r} shows")
    on_screen.send(b"\x1bqqqq")
    wait_until(
        lambda: on_screen.has_ended or on_screen.shows(b"\x1b[?1049l"), "the end"
    )

    assert [piece for piece in OBEYED if piece in on_screen.seen] == []
    assert b"\\x1b" in on_screen.seen
