"""Results of test cases."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from probetui.manifest.problem import Position


class Outcome(StrEnum):
    """The result of a case or of an expectation."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_REACHED = "not reached"


class Failure(Struct, frozen=True):
    """Why a case failed.

    Attributes:
        expected: the expectation, as written.
        place: its position; empty if it is not from a file.
        came: what came instead.
        at: when the failure was certain, since the case began.
        lines: the entries before it, as plain lines.
    """

    expected: str
    place: str
    came: str
    at: timedelta
    lines: tuple[str, ...] = ()


class ExpectationResult(Struct, frozen=True):
    """The result of an expectation; `at` is since the case began, None if never."""

    text: str
    place: str
    outcome: Outcome
    at: timedelta | None = None


class CaseResult(Struct, frozen=True):
    """The result of a case on a runtime.

    Attributes:
        name: the name of the case.
        position: its position in its file or, for a case without one, of its pod.
        runtime: the value of `--runtime`.
        outcome: passed, failed or skipped.
        took: its duration on the clock of the case, which may be virtual.
        expectations: all of them, in order.
        failure: why it failed, None if it did not.
        reason: why it was skipped.
        command: the command that repeats this case alone.
        record: the path of its record, empty if there is none.
    """

    name: str
    position: Position
    runtime: str
    outcome: Outcome
    took: timedelta = timedelta()
    expectations: tuple[ExpectationResult, ...] = ()
    failure: Failure | None = None
    reason: str = ""
    command: str = ""
    record: str = ""
