"""Format the results of `test`: as lines, a value, JUnit, TAP, GitHub annotations.

The lines of a case are printed as soon as it is over, the other forms at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from xml.etree import ElementTree as ET

from msgspec import Struct

from probetui.durations import format_duration
from probetui.headless.cases.result import CaseResult, Outcome
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
    """The results of test cases."""

    results: Sequence[CaseResult]

    def value(self) -> dict[str, object]:
        """Return the number of cases by outcome, and each case."""
        return {
            "passed": count(self.results, Outcome.PASSED),
            "failed": count(self.results, Outcome.FAILED),
            "skipped": count(self.results, Outcome.SKIPPED),
            "cases": [_case_object(result) for result in self.results],
        }

    def parts(self, form: str) -> Iterator[Document]:
        """Yield the one document of a form in `FILES`."""
        yield Document(FILES[form](self.results))


def count(results: Sequence[CaseResult], outcome: Outcome) -> int:
    """Return the number of cases with that outcome."""
    return sum(result.outcome is outcome for result in results)


def summary(results: Sequence[CaseResult]) -> str:
    """Format the number of cases by outcome: `2 passed, 1 failed`."""
    counts = [
        f"{number} {outcome}"
        for outcome in Outcome
        if (number := count(results, outcome))
    ]
    return ", ".join(counts) or "no case"


def format_case(result: CaseResult) -> list[str]:
    """Format a case as lines: verdict, title, duration, failure."""
    head = f"{_WORDS[result.outcome]}  {_title(result)}"
    if result.outcome is Outcome.SKIPPED:
        return [f"{head}: {result.reason}"]
    lines = [f"{head} ({format_duration(result.took)})"]
    if result.failure is None:
        return lines
    return [*lines, *(f"      {line}" for line in explain_failure(result))]


def explain_failure(result: CaseResult) -> list[str]:
    """Format what was expected and what came, with times; empty for a passed case."""
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
    lines += [
        f"before:   {earlier.text} (at {_since_start(earlier.at)})"
        for earlier in result.expectations
        if earlier.outcome is Outcome.PASSED
    ]
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
        "expectations": [
            {
                "text": expectation.text,
                "place": expectation.place or None,
                "result": expectation.outcome.value,
                "atSeconds": None
                if expectation.at is None
                else expectation.at.total_seconds(),
            }
            for expectation in result.expectations
        ],
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


def as_junit(results: Sequence[CaseResult]) -> str:
    """Format JUnit XML."""
    suite = ET.Element(
        "testsuite",
        name=PROGRAM,
        tests=str(len(results)),
        failures=str(count(results, Outcome.FAILED)),
        skipped=str(count(results, Outcome.SKIPPED)),
        time=f"{sum(result.took.total_seconds() for result in results):.3f}",
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
    """Format TAP (Test Anything Protocol), with failures explained in comments."""
    lines = ["TAP version 13", f"1..{len(results)}"]
    for number, result in enumerate(results, start=1):
        verdict = "not ok" if result.outcome is Outcome.FAILED else "ok"
        skipped = result.outcome is Outcome.SKIPPED
        directive = f" # SKIP {tap_words(result.reason)}" if skipped else ""
        lines.append(f"{verdict} {number} - {tap_words(_title(result))}{directive}")
        lines += [f"# {safe_line(line)}" for line in explain_failure(result)]
    return "".join(f"{line}\n" for line in lines)


def as_github(results: Sequence[CaseResult]) -> str:
    """Format the workflow commands with which GitHub's runners annotate files."""
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
    """Return line and column of the failed expectation or, without one, of the case."""
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
"""The formatters of forms that other tools read, by the value of `-o`."""
