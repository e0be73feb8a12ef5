"""The time until the first output, compared to minimal programs.

    python benchmarks/start.py [--runs N] [--json]

The first screen of the demo is compared to that of a Textual app with an empty
`DataTable` and a `Footer`; `probetui version` and `--help` to `python -c "import
click"`. Times are the CPU time of all threads of a process, which a busy machine
changes least. All are measured alternately in one run; the results are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import resource
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from fcntl import ioctl
from functools import partial
from pathlib import Path

from limits import Limit, report_limits, times

PROGRAM = str(Path(sys.executable).with_name("probetui"))
YARDSTICK = """
from textual.app import App
from textual.widgets import DataTable, Footer

class Yardstick(App):
    def compose(self):
        yield DataTable()
        yield Footer()

    def on_mount(self):
        self.query_one(DataTable).add_column("Containers")

Yardstick().run()
"""
FIRST_SCREEN = b"Containers"
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    # Python caches compiled modules unless this variable is set.
    if name != "PYTHONDONTWRITEBYTECODE"
}
MOST_TIMES_A_SCREEN = 1.7
MOST_TIMES_AN_IMPORT = 1.5
GIVE_UP_SECONDS = 20


def whole_process(*command: str) -> float:
    """Return the CPU seconds of a command from start to exit."""
    before = ended_children()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return ended_children() - before


def ended_children() -> float:
    """Return the CPU seconds of all children that have exited."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processor_clock(process: int) -> int:
    """Return the clock of a process, as `clock_getcpuclockid` of Linux does."""
    return (~process << 3) | 2


def first_screen(*command: str) -> float:
    """Return the CPU seconds until a command has drawn its first screen."""
    with tempfile.TemporaryDirectory() as home:
        start = time.monotonic()
        child, terminal = pty.fork()
        if child == 0:
            environment = ENVIRONMENT | {
                "TERM": "xterm-256color",
                "XDG_STATE_HOME": home,
                "XDG_CONFIG_HOME": home,
            }
            os.execve(command[0], command, environment)
        ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        seen = b""
        while FIRST_SCREEN not in seen:
            if time.monotonic() - start > GIVE_UP_SECONDS:
                raise TimeoutError(seen[-500:])
            if select.select([terminal], [], [], 1)[0]:
                seen += os.read(terminal, 1 << 16)
        took = time.clock_gettime(processor_clock(child))
        end(child, terminal)
    return took


def end(child: int, terminal: int) -> None:
    """End a command, and read its remaining output."""
    os.kill(child, signal.SIGTERM)
    while True:
        try:
            if not os.read(terminal, 1 << 16):
                break
        except OSError:
            break
    os.waitpid(child, 0)
    os.close(terminal)


def main() -> None:
    """Print the figures with their limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measured: dict[str, Callable[[], float]] = {
        "import_click_s": partial(whole_process, sys.executable, "-c", "import click"),
        "version_s": partial(whole_process, PROGRAM, "version"),
        "help_s": partial(whole_process, PROGRAM, "--help"),
        "yardstick_screen_s": partial(first_screen, sys.executable, "-c", YARDSTICK),
        "first_screen_s": partial(first_screen, PROGRAM, "demo"),
    }
    taken: dict[str, list[float]] = {name: [] for name in measured}
    for run in range(options.runs + 1):
        for name, measure in measured.items():
            took = measure()
            if run:  # the first one fills caches
                taken[name].append(took)
    figures = {name: round(statistics.median(took), 3) for name, took in taken.items()}
    for name, base in (
        ("version", "import_click_s"),
        ("help", "import_click_s"),
        ("first_screen", "yardstick_screen_s"),
    ):
        figures[f"{name}_times"] = times(figures[f"{name}_s"], figures[base])
    if options.json:
        print(json.dumps(figures))
        return
    print(", ".join(f"{name} {figure}" for name, figure in figures.items()))
    report_limits(
        Limit("version", figures["version_times"], MOST_TIMES_AN_IMPORT, "x click"),
        Limit("--help", figures["help_times"], MOST_TIMES_AN_IMPORT, "x click"),
        Limit(
            "first screen of the demo",
            figures["first_screen_times"],
            MOST_TIMES_A_SCREEN,
            "x a DataTable and a Footer",
        ),
    )


if __name__ == "__main__":
    main()
