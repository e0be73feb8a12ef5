"""The report of `check`: text, JUnit, TAP, SARIF, GitHub annotations, or a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from urllib.parse import quote
from xml.etree import ElementTree as ET

from msgspec import Struct, field

from probetui import __version__
from probetui.kubelet.runtime.go_format import to_bytes
from probetui.manifest.problem import Problem, Severity
from probetui.presentation.report import Document
from probetui.safe_text import json_text, safe_line, safe_lines

PROGRAM = "probetui"
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MANIFEST_HELP = (
    "A problem of the manifest itself: the message names the field and says what is "
    "allowed there, or what is ignored or replaced."
)
"""The help of rules that are no finding."""


class CheckReport(Struct, frozen=True):
    """What was checked and what was found.

    Attributes:
        files: the names of all files that were read.
        problems: what was found, in the order of files and lines.
        rules: what a rule is about in general, by its name; not all have a text.
        advice: what to do about it, by the name of the rule.
    """

    files: Sequence[str]
    problems: Sequence[Problem]
    rules: Mapping[str, str] = field(default_factory=dict)
    advice: Mapping[str, str] = field(default_factory=dict)

    @property
    def clean(self) -> tuple[str, ...]:
        """The files without any problem."""
        bad = {problem.file for problem in self.problems}
        return tuple(file for file in self.files if file not in bad)

    def count(self, severity: Severity) -> int:
        """Return how many problems are that bad."""
        return sum(problem.severity is severity for problem in self.problems)

    def value(self) -> list[dict[str, object]]:
        """Return what is known of each problem."""
        return [
            {
                "file": problem.file,
                "line": problem.line or None,
                "column": problem.column or None,
                "severity": problem.severity,
                "rule": problem.rule,
                "path": problem.path,
                "message": problem.message,
            }
            for problem in self.problems
        ]

    def parts(self, form: str) -> Iterator[Document]:
        """Yield the whole file of a form."""
        yield Document(FILES[form](self))


def as_text(report: CheckReport) -> str:
    """Return a line per problem, as compilers write them."""
    return _lines(_sentence(problem) for problem in report.problems)


def as_wide(report: CheckReport) -> str:
    """Return the same, each with what its rule is about in general."""
    lines = []
    for problem in report.problems:
        about = report.rules.get(problem.rule)
        lines += [_sentence(problem), *([f"  {about}"] if about else [])]
    return _lines(lines)


def as_junit(report: CheckReport) -> str:
    """Return JUnit's XML: a case per problem, and one per file without any.

    Only errors are failures; what else there is to say is output of its case.
    """
    suite = ET.Element(
        "testsuite",
        name=PROGRAM,
        tests=str(len(report.problems) + len(report.clean)),
        failures=str(report.count(Severity.ERROR)),
    )
    for problem in report.problems:
        case = junit_case(suite, problem.file, f"{problem.rule} {problem.path}".strip())
        if problem.severity is Severity.ERROR:
            message = safe_line(problem.message)
            failure = ET.SubElement(case, "failure", type=problem.rule, message=message)
            failure.text = _sentence(problem)
        else:
            ET.SubElement(case, "system-out").text = _sentence(problem)
    for name in report.clean:
        junit_case(suite, name, "no problems")
    return junit_text(suite)


def junit_text(suite: ET.Element) -> str:
    """Return the file of a test suite."""
    suites = ET.Element("testsuites", name=PROGRAM)
    suites.append(suite)
    ET.indent(suites)
    text = ET.tostring(suites, encoding="unicode", xml_declaration=False)
    return f"{_XML}{text}\n"


def is_junit_beginning(beginning: bytes) -> bool:
    """Return whether a file that begins so has such a report."""
    return beginning.startswith(f'{_XML}<testsuites name="{PROGRAM}"'.encode())


def junit_case(suite: ET.Element, file: str, name: str) -> ET.Element:
    """Add a case to a test suite."""
    # XML has no form at all for most control characters.
    return ET.SubElement(
        suite, "testcase", classname=safe_line(file), name=safe_line(name)
    )


def as_tap(report: CheckReport) -> str:
    """Return the Test Anything Protocol; what is no error is a TODO, and passes."""
    points = [_point(problem) for problem in report.problems]
    points += [f"ok - {tap_words(file)}" for file in report.clean]
    lines = ["TAP version 13", f"1..{len(points)}"]
    for number, point in enumerate(points, start=1):
        verdict, _, rest = point.partition(" - ")
        lines.append(f"{verdict} {number} - {rest}")
    return _lines(lines)


def _point(problem: Problem) -> str:
    words = tap_words(_one_line(_sentence(problem)))
    todo = "" if problem.severity is Severity.ERROR else f" # TODO {problem.severity}"
    return f"not ok - {words}{todo}"


def tap_words(text: str) -> str:
    """Return a text for a line of the Test Anything Protocol."""
    # A hash would begin a directive.
    return safe_line(text).replace("#", "\\#")


def as_sarif(report: CheckReport) -> str:
    """Return SARIF 2.1.0, as code scanners exchange it."""
    used = dict.fromkeys(problem.rule for problem in report.problems)
    driver = {
        "name": PROGRAM,
        "version": __version__,
        "rules": [_sarif_rule(rule, report) for rule in used],
    }
    results = [_sarif_result(problem) for problem in report.problems]
    return json_text(
        {
            "$schema": SARIF_SCHEMA,
            "version": "2.1.0",
            "runs": [{"tool": {"driver": driver}, "results": results}],
        }
    )


def _sarif_rule(name: str, report: CheckReport) -> dict[str, object]:
    about, advice = report.rules.get(name), report.advice.get(name)
    return {
        "id": name,
        "shortDescription": {"text": about or name},
        "help": {"text": advice or MANIFEST_HELP},
    }


def _sarif_result(problem: Problem) -> dict[str, object]:
    place: dict[str, object] = {"artifactLocation": {"uri": _uri(problem.file)}}
    if problem.line:
        place["region"] = {"startLine": problem.line, "startColumn": problem.column}
    words = ": ".join(filter(None, (problem.path, problem.message)))
    return {
        "ruleId": problem.rule,
        "level": problem.severity.value,
        "message": {"text": words},
        "locations": [{"physicalLocation": place}],
    }


def _uri(file: str) -> str:
    """Return a file's name as a reference by URI; a URL stays as it was given."""
    return quote(to_bytes(file), safe=":/?=&%" if "://" in file else "/,")


def as_github(report: CheckReport) -> str:
    """Return the commands by which GitHub's runners annotate files."""
    return _lines(_annotation(problem) for problem in report.problems)


def _annotation(problem: Problem) -> str:
    level = "notice" if problem.severity is Severity.NOTE else problem.severity.value
    words = ": ".join(filter(None, (problem.path, problem.message)))
    return github_command(
        level, problem.file, problem.rule, problem.line, problem.column, words
    )


def github_command(
    level: str, file: str, title: str, line: int, column: int, text: str
) -> str:
    """Return the command that annotates a place of a file; line 0 is unknown.

    Args:
        level: notice, warning or error.
        file: its name.
        title: of the annotation, one line.
        line: from 1.
        column: from 1.
        text: one line or several.
    """
    properties = {"file": safe_line(file), "title": safe_line(title)}
    if line:
        properties |= {"line": str(line), "col": str(column)}
    written = ",".join(
        f"{name}={_for_property(value)}" for name, value in properties.items()
    )
    return f"::{level} {written}::{_for_message(safe_lines(text))}"


def _for_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _for_property(text: str) -> str:
    return _for_message(text).replace(":", "%3A").replace(",", "%2C")


FILES: Mapping[str, Callable[[CheckReport], str]] = MappingProxyType({
    "text": as_text,
    "wide": as_wide,
    "junit": as_junit,
    "tap": as_tap,
    "sarif": as_sarif,
    "github": as_github,
})  # fmt: skip
"""The text of each form that is not JSON or YAML, by the word of `-o`."""


def _sentence(problem: Problem) -> str:
    parts = (str(problem.position), str(problem.severity), problem.path)
    words = safe_line(": ".join(filter(None, (*parts, problem.message))))
    rule = f" [{problem.rule}]" if problem.rule else ""
    return "\n".join([words + rule, *map(safe_line, problem.excerpt)])


def _one_line(text: str) -> str:
    return text.partition("\n")[0]


def _lines(lines: Iterator[str] | Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
