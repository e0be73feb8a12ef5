"""Run the installed program like users and scripts do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import pytest

from tests.engines import CRI_ENDPOINT

PROGRAM = Path(sys.executable).with_name("probetui")
SAMPLES = Path(__file__).parents[2] / "sample_pods"
PATIENCE_SECONDS = 60
LINE_PATIENCE_SECONDS = 180
"""Seconds until a line is printed: some are printed after a back-off or a pull."""

SHOWN_LINES = 10

RUNTIMES = [
    pytest.param(("--runtime", "process"), id="process"),
    pytest.param(("--runtime", "docker"), id="docker", marks=pytest.mark.docker),
    pytest.param(
        ("--runtime", "cri", "-r", CRI_ENDPOINT), id="cri", marks=pytest.mark.cri
    ),
]
"""The options for each runtime."""


@dataclass(frozen=True, slots=True)
class Program:
    """Runs the program with private folders, and with additional variables if given."""

    home: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    executable: Path = PROGRAM

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of every run."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("PROBETUI_")
        }
        return {
            **kept,
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_STATE_HOME": str(self.home / "state"),
            **self.variables,
        }

    def run(
        self, *args: str, stdin: str | None = None, seconds: int = PATIENCE_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """Run the program to its end; without `stdin` its standard input is empty."""
        return subprocess.run(
            [self.executable, *args],
            env=self.environment,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    @contextmanager
    def started(
        self, *args: str, stdin: int = subprocess.DEVNULL
    ) -> Iterator[subprocess.Popen[str]]:
        """Start the program; it is stopped or killed at the end of the block."""
        with subprocess.Popen(
            [self.executable, *args],
            env=self.environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    @contextmanager
    def keeping(
        self, manifest: str, options: tuple[str, ...], until: str
    ) -> Iterator[tuple[str, ...]]:
        """Run pods until a condition holds, and keep them until the block ends.

        Args:
            manifest: their text.
            options: those that select the runtime and the pods, which are yielded.
            until: the condition.
        """
        path = self.home / "kept.yaml"
        path.write_text(manifest)
        named = "-f", str(path), *options
        made = self.run(
            *(*named, "--keep", "--until", until, "--timeout", "60s"),
            seconds=2 * PATIENCE_SECONDS,
        )
        assert made.returncode == 0, made.stderr
        yield options
        removed = self.run("down", *named)
        assert removed.returncode == 0, removed.stderr

    def signal(self, name: str) -> None:
        """Send a signal to the process that runs a pod."""
        listing = self.run("ls", "--runtime", "process", "-o", "json")
        runner = json.loads(listing.stdout)[0]["runBy"].removeprefix("process ")
        os.kill(int(runner), signal.Signals[f"SIG{name}"])

    def left_behind(self) -> list[str]:
        """Return the pods that still have processes."""
        listing = self.run("ls", "--runtime", "process", "-o", "name")
        return listing.stdout.split()


def wait_for(line: str, lines: Iterator[str]) -> str:
    """Read lines up to one that contains a text, and return it.

    Raises:
        AssertionError: no line contains it, or none did in time.
    """
    read: list[str] = []

    def find_line() -> str | None:
        for text in lines:
            read.append(text)
            if line in text:
                return text
        return None

    # In a thread: a read of a pipe cannot be cancelled, but ends with the program.
    reading = _in_thread(find_line)
    try:
        text = reading.result(LINE_PATIENCE_SECONDS)
    except TimeoutError:
        text = None
    assert text is not None, (
        f"no line with {line!r} {'in time' if not reading.done() else 'to the end'},"
        f" of {len(read)} these are the last:\n{''.join(read[-SHOWN_LINES:])}"
    )
    return text


def _in_thread(work: Callable[[], str | None]) -> Future[str | None]:
    done: Future[str | None] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except Exception as error:  # noqa: BLE001  # raised where it is waited for
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    return done


def wait_until(
    condition: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS
) -> None:
    """Poll until a condition is true."""
    deadline = time.monotonic() + seconds  # noqa: TID251  # real time is waited for
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"  # noqa: TID251  # the same
        time.sleep(0.05)  # noqa: TID251  # another program decides when it is so
