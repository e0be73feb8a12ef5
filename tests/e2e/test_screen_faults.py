"""A bug of the screen, and terminals that cannot be served: the session goes on."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import stat
import struct
import sys
import termios
from pathlib import Path

import pytest

from probetui.tui.screens.sizes import MOST
from tests.e2e.on_terminal import OnTerminal, on_terminal
from tests.e2e.program import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

BUG = 70
TERMINATED = 143
FAULT_KEY = b"?"
ALTERNATE_SCREEN = b"\x1b[?1049h"
LEFT_ALTERNATE_SCREEN = b"\x1b[?1049l"
FAULTS = {
    "action": "raise RuntimeError('injected')",
    "callback": "self.call_later(boom)",
    "handler": "self.mount(FakePane()); self.call_later(post)",
    "mount": "self.mount(FakePane('mount'))",
    "render": "self.mount(FakePane('render'))",
    "timer": "self.set_timer(0.01, boom)",
    "worker": "self.run_worker(late_boom())",
}
"""What goes wrong, by where; done by the action of a key."""

POD = """
apiVersion: v1
kind: Pod
metadata: {name: screen-faults}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: none
    command: [sleep, "600"]
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
"""

FAULTY_PROGRAM = """\
#!{python}
from probetui.cli.main import main
from probetui.tui.app import ProbetuiApp
from textual.message import Message
from textual.widget import Widget


class Asked(Message):
    pass


class FakePane(Widget):
    def __init__(self, fault=''):
        super().__init__(id='fake')
        self.fault = fault

    def on_mount(self):
        if self.fault == 'mount':
            boom()

    def render(self):
        if self.fault == 'render':
            boom()
        return 'fake'

    def on_asked(self):
        boom()


def boom():
    raise RuntimeError('injected')


async def late_boom():
    boom()


def fault(self):
    def post():
        self.screen.query_one('#fake').post_message(Asked())

    {fault}


Asked.handler_name = 'on_asked'
ProbetuiApp.action_help = fault
main()
"""


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return str(path)


def write_faulty_program(path: Path, fault: str) -> Path:
    """Write a program whose screen has a bug in the action of a key."""
    path.write_text(FAULTY_PROGRAM.format(python=sys.executable, fault=fault))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def plain_ticks(started: OnTerminal) -> int:
    """Return how many ticks were printed as lines, once the screen was gone."""
    started.shows(b"")
    _, _, lines = started.seen.partition(LEFT_ALTERNATE_SCREEN)
    return lines.count(b"liveness")


def report_of(started: OnTerminal) -> Path:
    """Return the file that the last words name."""
    started.shows(b"")
    named = re.findall(rb"the report in (\S+\.txt)", started.seen)
    assert len(named) == 2, "said when it happens, and once more at the end"
    assert named[0] == named[1]
    return Path(os.fsdecode(named[0]))


@pytest.mark.parametrize("where", FAULTS)
@pytest.mark.parametrize(
    "command", [("run", "--runtime", "process"), ("sim",)], ids=["run", "sim"]
)
def test_a_session_goes_on_in_lines_after_a_bug_of_the_screen(
    tmp_path: Path, manifest: str, command: tuple[str, ...], where: str
) -> None:
    program = write_faulty_program(tmp_path / "faulty", FAULTS[where])
    arguments = (*command, "-f", manifest, "--verbose")

    with on_terminal(tmp_path, *arguments, program=program) as started:
        wait_until(lambda: started.shows(b"screen-faults"), "the screen")
        started.send(FAULT_KEY)

        wait_until(lambda: plain_ticks(started) >= 2, "ticks in plain lines")
        assert started.signals_by_keys, "the terminal is as it was"
        assert not started.has_ended

        started.send(b"\x03")
        wait_until(lambda: started.has_ended, "the end")
        report = report_of(started)

    assert started.status == BUG
    assert "injected" in report.read_text()
    assert b"Traceback" not in started.seen


READS, BLOCKS = "reads", "blocks"


@pytest.mark.parametrize("kind", [READS, BLOCKS])
def test_no_size_of_a_terminal_holds_a_signal_back(
    tmp_path: Path, manifest: str, kind: str
) -> None:
    with on_terminal(tmp_path, "sim", "-f", manifest) as started:
        size = struct.pack("HHHH", 10_000, 10_000, 0, 0)
        fcntl.ioctl(started.terminal, termios.TIOCSWINSZ, size)
        wait_until(lambda: started.shows(ALTERNATE_SCREEN), "a screen")
        if kind == READS:
            wait_until(lambda: started.shows(b"screen-faults"), "the screen")

        os.kill(started.pid, signal.SIGTERM)

        wait_until(
            lambda: (kind == BLOCKS or not started.shows(b"\0")) and started.has_ended,
            "the end",
        )
    assert started.status == TERMINATED
    assert len(started.seen) < 10 * MOST.area, "a frame of what is drawn, and no more"
