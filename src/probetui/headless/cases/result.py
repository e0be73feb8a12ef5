"""Results of cases."""

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
        expected: what was expected, as it was written.
        place: where that stands; empty where no file says it.
        came: what came instead.
        at: when that was certain, since the case began.
        lines: what happened before, as plain lines.
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
        name: of the case.
        position: where the case stands in its file, or the pod that it is about.
        runtime: the value of `--runtime`.
        outcome: passed, failed or skipped.
        took: in the time of the case, which may be virtual.
        expectations: all of them, in order.
        failure: why it failed, None if it did not.
        reason: why it was skipped.
        command: what repeats this one case.
        record: the file of its record, empty if there is none.
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
