"""The report of `test`: JUnit, TAP, GitHub annotations, or a value.

The lines of a case for people are printed when it is over, not with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from xml.etree import ElementTree as ET

from msgspec import Struct

from probetui.durations import format_duration
from probetui.headless.cases.result import CaseResult, ExpectationResult, Outcome
from probetui.presentation.plain.check_reports import (
    PROGRAM,
    github_command,
    junit_case,
    junit_text,
    tap_words,
)
from probetui.presentation.report import Document
from probetui.safe_text import safe_line

_WORDS = {
    Outcome.PASSED: "PASS",
    Outcome.FAILED: "FAIL",
    Outcome.SKIPPED: "SKIP",
    Outcome.NOT_REACHED: "",
}


class CasesReport(Struct, frozen=True):
    """What cases came to."""

    results: Sequence[CaseResult]

    def value(self) -> dict[str, object]:
        """Return the counts of outcomes, and what is known of each case."""
        return {
            "passed": count(self.results, Outcome.PASSED),
            "failed": count(self.results, Outcome.FAILED),
            "skipped": count(self.results, Outcome.SKIPPED),
            "cases": [_case_object(result) for result in self.results],
        }

    def parts(self, form: str) -> Iterator[Document]:
        """Yield the whole file of a form."""
        yield Document(FILES[form](self.results))


def count(results: Sequence[CaseResult], outcome: Outcome) -> int:
    """Return how many cases came to that."""
    return sum(result.outcome is outcome for result in results)


def summary(results: Sequence[CaseResult]) -> str:
    """Return `2 passed, 1 failed`."""
    counts = [
        f"{number} {outcome}"
        for outcome in Outcome
        if (number := count(results, outcome))
    ]
    return ", ".join(counts) or "no case"


def format_case(result: CaseResult) -> list[str]:
    """Return the lines of a case for people."""
    head = f"{_WORDS[result.outcome]}  {_title(result)}"
    if result.outcome is Outcome.SKIPPED:
        return [f"{head}: {result.reason}"]
    lines = [f"{head} ({format_duration(result.took)})"]
    if result.failure is None:
        return lines
    return [*lines, *(f"      {line}" for line in explain_failure(result))]


def explain_failure(result: CaseResult) -> list[str]:
    """Return what was expected, what came, and when; empty for a case that passed."""
    failure = result.failure
    if failure is None:
        return []
    lines = []
    if failure.place:
        lines.append(f"{failure.place}")
    lines += [
        f"expected: {failure.expected}",
        f"came:     {failure.came} (at {_since_start(failure.at)})",
    ]
    met = [one for one in result.expectations if one.outcome is Outcome.PASSED]
    lines += [f"before:   {one.text} (at {_since_start(one.at)})" for one in met]
    if failure.lines:
        lines += ["what happened last:", *(f"  {line}" for line in failure.lines)]
    if result.record:
        lines.append(f"why:      probetui why {result.record}")
    return [*lines, f"again:    {result.command}"]


def _title(result: CaseResult) -> str:
    return f"{result.name} [{result.runtime}]"


def _since_start(at: timedelta | None) -> str:
    seconds = 0 if at is None else at // timedelta(milliseconds=100)
    return f"+{seconds // 10}.{seconds % 10}s"


def _case_object(result: CaseResult) -> dict[str, object]:
    failure = result.failure
    return {
        "name": result.name,
        "file": result.position.file,
        "line": result.position.line or None,
        "runtime": result.runtime,
        "result": result.outcome.value,
        "seconds": result.took.total_seconds(),
        "reason": result.reason or None,
        "expectations": [_expectation_object(one) for one in result.expectations],
        "failure": None
        if failure is None
        else {
            "expected": failure.expected,
            "place": failure.place or None,
            "came": failure.came,
            "atSeconds": failure.at.total_seconds(),
            "lines": list(failure.lines),
        },
        "command": result.command,
        "record": result.record or None,
    }


def _expectation_object(result: ExpectationResult) -> dict[str, object]:
    return {
        "text": result.text,
        "place": result.place or None,
        "result": result.outcome.value,
        "atSeconds": None if result.at is None else result.at.total_seconds(),
    }


def as_junit(results: Sequence[CaseResult]) -> str:
    """Return JUnit's XML."""
    suite = ET.Element(
        "testsuite",
        name=PROGRAM,
        tests=str(len(results)),
        failures=str(count(results, Outcome.FAILED)),
        skipped=str(count(results, Outcome.SKIPPED)),
        time=f"{sum(one.took.total_seconds() for one in results):.3f}",
    )
    for result in results:
        case = junit_case(suite, result.position.file, _title(result))
        case.set("time", f"{result.took.total_seconds():.3f}")
        if result.outcome is Outcome.SKIPPED:
            ET.SubElement(case, "skipped", message=safe_line(result.reason))
        elif result.failure is not None:
            message = f"expected {result.failure.expected}: {result.failure.came}"
            failure = ET.SubElement(case, "failure", message=safe_line(message))
            failure.text = "\n".join(map(safe_line, explain_failure(result)))
    return junit_text(suite)


def as_tap(results: Sequence[CaseResult]) -> str:
    """Return the Test Anything Protocol; what explains a failure is a comment."""
    lines = ["TAP version 13", f"1..{len(results)}"]
    for number, result in enumerate(results, start=1):
        verdict = "not ok" if result.outcome is Outcome.FAILED else "ok"
        skipped = result.outcome is Outcome.SKIPPED
        directive = f" # SKIP {tap_words(result.reason)}" if skipped else ""
        lines.append(f"{verdict} {number} - {tap_words(_title(result))}{directive}")
        lines += [f"# {safe_line(line)}" for line in explain_failure(result)]
    return "".join(f"{line}\n" for line in lines)


def as_github(results: Sequence[CaseResult]) -> str:
    """Return the commands by which GitHub's runners annotate files."""
    lines = []
    for result in results:
        if result.failure is None:
            continue
        line, column = _line_of(result)
        text = "\n".join(explain_failure(result))
        lines.append(
            github_command(
                "error", result.position.file, _title(result), line, column, text
            )
        )
    return "".join(f"{line}\n" for line in lines)


def _line_of(result: CaseResult) -> tuple[int, int]:
    """Return the place of the expectation that failed, or else of its case."""
    place = "" if result.failure is None else result.failure.place
    parts = place.rsplit(":", 2)
    if len(parts) == len(("file", "line", "column")):
        return int(parts[1]), int(parts[2])
    return result.position.line, result.position.column


FILES: Mapping[str, Callable[[Sequence[CaseResult]], str]] = MappingProxyType({
    "junit": as_junit,
    "tap": as_tap,
    "github": as_github,
})  # fmt: skip
"""The file of each form of another tool, by the word of `-o`."""
