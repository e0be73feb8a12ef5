"""Mutations of data: bits flipped, parts cut, doubled, swapped, values out of range.

They are seeded, so that a failure can be repeated: a failing test names its seed.
`amount` is their number: some hundreds, 100,000 with `HYPOTHESIS_PROFILE=nightly`, or
the value of `PROBETUI_MUTATIONS`.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, NamedTuple

from probetui.cli.log import CRASH_STATUS
from probetui.cli.main import run

VARIABLE = "PROBETUI_MUTATIONS"
NIGHTLY_MUTATIONS = 100_000
PATIENCE_SECONDS = 60
BUG = CRASH_STATUS

HOSTILE_TEXTS = (
    "",
    " ",
    "\x1b]52;c;Zm9v\x07",
    "\x1b[2J\x9b31m",
    "\u202e\u2066\u200b",
    "e\u0301" * 40,
    "[bold]x[/bold][@click=app.quit]",
    "\udc80\udcff",
    "\ud800",
    "\x00",
    "../../etc",
    "a" * 5000,
    "\n---\n",
    "*x",
    "&x",
    "!!python/object:os.system",
    "<<",
    "2026-99-99T99:99:99.999999Z",
    "0001-01-01T00:00:00.000000Z",
    "9999-12-31T23:59:59.999999Z",
)
HOSTILE_NUMBERS = (
    0, -1, 1, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64,
    10**30, 0.5, -0.0, 1e-300, 1e20, 1e300,
)  # fmt: skip
HOSTILE_VALUES: Sequence[Any] = (
    *HOSTILE_TEXTS, *HOSTILE_NUMBERS, None, True, False, [], {}, [None], [[]],
    {"": None}, {"is": "Nothing"}, [{}], {"a": {"b": {"c": []}}},
)  # fmt: skip
_CHUNKS = (
    b"\n", b"\0", b"\xff", b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"\\ud800",
    b"null", b"-", b"1e999", b"  ", b"\t", b"---\n", b"\x1b[31m", b"&a ",
    b"*a", b"<<: ",
)  # fmt: skip


def amount(default: int) -> int:
    """Return how many mutations to try."""
    if os.environ.get("HYPOTHESIS_PROFILE") == "nightly":
        default = NIGHTLY_MUTATIONS
    return int(os.environ.get(VARIABLE) or default)


def mutated_bytes(data: bytes, random: Random) -> bytes:
    """Return bytes of which some are flipped, cut off, doubled or inserted."""
    mutated = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        place = random.randrange(len(mutated) + 1)
        length = min(random.choice((1, 1, 2, 8, 64, 500)), len(mutated) - place)
        match random.randrange(6):
            case 0 if place < len(mutated):
                mutated[place] ^= 1 << random.randrange(8)
            case 1:
                del mutated[place : place + length]
            case 2:
                mutated[place:place] = random.choice(_CHUNKS)
            case 3:
                mutated[place:place] = mutated[place : place + length]
            case 4 if random.random() < 0.3:
                del mutated[place:]
            case _:
                mutated[place : place + length] = random.randbytes(length)
    return bytes(mutated)


def mutated_lines(data: bytes, random: Random) -> bytes:
    """Return lines of which some are missing, doubled, swapped, or cut off."""
    lines = data.splitlines(keepends=True)
    for _ in range(random.choice((1, 1, 2, 5))):
        place, other = random.randrange(len(lines)), random.randrange(len(lines))
        match random.randrange(4):
            case 0 if len(lines) > 1:
                del lines[place]
            case 1:
                lines.insert(place, lines[other])
            case 2:
                lines[place], lines[other] = lines[other], lines[place]
            case _:
                lines[place] = lines[place][: random.randrange(len(lines[place]) + 1)]
    return b"".join(lines)


def mutated_value(value: Any, random: Random) -> Any:
    """Return a JSON value in which something is replaced, removed or added."""
    if isinstance(value, dict) and value and random.random() < 0.93:
        key = random.choice(list(value))
        changed = dict(value)
        match random.randrange(12):
            case 0:
                del changed[key]
            case 1:
                changed[random.choice(list(value))] = value[key]
            case _:
                changed[key] = mutated_value(value[key], random)
        return changed
    if isinstance(value, list) and value and random.random() < 0.93:
        place = random.randrange(len(value))
        match random.randrange(8):
            case 0:
                return value[:place] + value[place + 1 :]
            case 1:
                return [*value, value[place]]
            case _:
                return [
                    *value[:place],
                    mutated_value(value[place], random),
                    *value[place + 1 :],
                ]
    if isinstance(value, int | float) and random.random() < 0.5:
        return random.choice(HOSTILE_NUMBERS)
    return random.choice(HOSTILE_VALUES)


class Outcome(NamedTuple):
    """The outcome of a command line."""

    status: int
    output: str


class Commands:
    """Runs command lines in this process; their output goes to a separate file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "output"

    def run(self, *args: str) -> Outcome:
        """Run a command line; a hang is an error."""
        with self._path.open("w+", encoding="utf-8") as file:
            with (
                contextlib.redirect_stdout(file),
                contextlib.redirect_stderr(file),
                patience(),
            ):
                status = run(args)
            file.flush()
            file.seek(0)
            return Outcome(status, file.read())


@contextlib.contextmanager
def patience() -> Iterator[None]:
    """Raise an error if the block takes far too long."""

    def give_up(_number: int, frame: FrameType | None) -> None:
        raise HungError(f"it hangs in {frame}")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class HungError(BaseException):
    """The block takes too long; nothing may catch this error."""


def crash_report(outcome: Outcome) -> str:
    """Return the traceback if a command crashed, otherwise an empty string."""
    found = re.search(r"the report in (\S+)", outcome.output)
    if outcome.status != BUG and "Traceback" not in outcome.output:
        return ""
    return Path(found[1]).read_text() if found else outcome.output


def strays_of(text: str) -> str:
    """Return characters that a terminal would obey or show differently."""
    return "".join(sorted({c for c in text if not (c.isprintable() or c == "\n")}))
