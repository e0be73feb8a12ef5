"""How long it takes until there is something to see.

    python benchmarks/start.py [--runs N] [--json]

`probetui version` and `--help` as whole processes, and the time from starting the demo
on a terminal until its first screen is drawn. Medians; a shared machine is noisy.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from fcntl import ioctl
from pathlib import Path

from limits import Limit, tell

PROGRAM = str(Path(sys.executable).with_name("probetui"))
FIRST_SCREEN = b"Containers"
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    # Python keeps what it has compiled, unless it is told not to.
    if name != "PYTHONDONTWRITEBYTECODE"
}
FIRST_SCREEN_SECONDS = 0.5
GIVE_UP_SECONDS = 20


def whole_process(*arguments: str) -> float:
    """Return the seconds that a command takes from start to end."""
    start = time.monotonic()
    command = [PROGRAM, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return time.monotonic() - start


def first_screen() -> float:
    """Return the seconds until the demo has drawn its frames."""
    with tempfile.TemporaryDirectory() as home:
        start = time.monotonic()
        child, terminal = pty.fork()
        if child == 0:
            environment = ENVIRONMENT | {
                "TERM": "xterm-256color",
                "XDG_STATE_HOME": home,
                "XDG_CONFIG_HOME": home,
            }
            os.execve(PROGRAM, [PROGRAM, "demo"], environment)
        ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        seen = b""
        while FIRST_SCREEN not in seen:
            if time.monotonic() - start > GIVE_UP_SECONDS:
                raise TimeoutError(seen[-500:])
            if select.select([terminal], [], [], 1)[0]:
                seen += os.read(terminal, 1 << 16)
        took = time.monotonic() - start
        end(child, terminal)
    return took


def end(child: int, terminal: int) -> None:
    """Let the demo end, reading what it still draws."""
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
    """Print the figures in one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measured = {
        "version_s": lambda: whole_process("version"),
        "help_s": lambda: whole_process("--help"),
        "first_screen_s": first_screen,
    }
    figures = {}
    for name, measure in measured.items():
        measure()
        times = [measure() for _ in range(options.runs)]
        figures[name] = round(statistics.median(times), 3)
    if options.json:
        print(json.dumps(figures))
        return
    print("version {version_s} s, --help {help_s} s".format(**figures))
    what = "first screen of the demo"
    tell(Limit(what, figures["first_screen_s"], FIRST_SCREEN_SECONDS, "s"))


if __name__ == "__main__":
    main()
