"""Format the report of `check`: as text, JUnit, TAP, SARIF, GitHub annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from urllib.parse import quote
from xml.etree import ElementTree as ET

from msgspec import Struct, field

from probetui import __version__
from probetui.analysis.causes.pages import PAGES_OF_FINDINGS
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
"""The help of rules that are not findings."""


class CheckReport(Struct, frozen=True):
    """The checked files and their problems.

    Attributes:
        files: the names of all files that were read.
        problems: the problems, in the order of files and lines.
        rules: the general description of rules, by name; not all have one.
        advice: how to fix a problem, by the name of its rule.
        pages: the Markdown of the page about what a problem leads to, by the name of
            its rule.
    """

    files: Sequence[str]
    problems: Sequence[Problem]
    rules: Mapping[str, str] = field(default_factory=dict)
    advice: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)

    @property
    def clean(self) -> tuple[str, ...]:
        """The files without any problem."""
        bad = {problem.file for problem in self.problems}
        return tuple(file for file in self.files if file not in bad)

    def count(self, severity: Severity) -> int:
        """Return the number of problems of that severity."""
        return sum(problem.severity is severity for problem in self.problems)

    def value(self) -> list[dict[str, object]]:
        """Return all fields of each problem."""
        return [
            {
                "file": problem.file,
                "line": problem.line or None,
                "column": problem.column or None,
                "severity": problem.severity,
                "rule": problem.rule,
                "path": problem.path,
                "message": problem.message,
                "page": PAGES_OF_FINDINGS.get(problem.rule),
            }
            for problem in self.problems
        ]

    def parts(self, form: str) -> Iterator[Document]:
        """Yield the one document of a form in `FILES`."""
        yield Document(FILES[form](self))


def as_text(report: CheckReport) -> str:
    """Format one line per problem, as compilers do."""
    return _lines(_sentence(problem) for problem in report.problems)


def as_wide(report: CheckReport) -> str:
    """Format problems as `as_text` does, each with its rule's description and page."""
    lines = []
    for problem in report.problems:
        lines.append(_sentence(problem))
        if about := report.rules.get(problem.rule):
            lines.append(f"  {about}")
        if page := PAGES_OF_FINDINGS.get(problem.rule):
            lines.append(f"  More: probetui why --page {page}")
    return _lines(lines)


def as_junit(report: CheckReport) -> str:
    """Format JUnit XML: a case per problem, and one per file without any.

    Only errors are failures; other problems are the output of their cases.
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
    """Format the file of a test suite."""
    suites = ET.Element("testsuites", name=PROGRAM)
    suites.append(suite)
    ET.indent(suites)
    text = ET.tostring(suites, encoding="unicode", xml_declaration=False)
    return f"{_XML}{text}\n"


def is_junit_beginning(beginning: bytes) -> bool:
    """Return whether the first bytes of a file are those of such a report."""
    return beginning.startswith(f'{_XML}<testsuites name="{PROGRAM}"'.encode())


def junit_case(suite: ET.Element, file: str, name: str) -> ET.Element:
    """Add a case to a test suite."""
    # XML cannot represent most control characters, even escaped.
    return ET.SubElement(
        suite, "testcase", classname=safe_line(file), name=safe_line(name)
    )


def as_tap(report: CheckReport) -> str:
    """Format TAP (Test Anything Protocol); only errors fail, the rest is TODO."""
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
    """Escape a text for a line of TAP, where `#` would begin a directive."""
    return safe_line(text).replace("#", "\\#")


def as_sarif(report: CheckReport) -> str:
    """Format SARIF 2.1.0, the exchange format of code scanners."""
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
    about = report.rules.get(name)
    advice = report.advice.get(name, MANIFEST_HELP)
    page = report.pages.get(name)
    return {
        "id": name,
        "shortDescription": {"text": about or name},
        "help": {"text": advice}
        | ({"markdown": f"{advice}\n\n{page}"} if page else {}),
    }


def _sarif_result(problem: Problem) -> dict[str, object]:
    location: dict[str, object] = {"artifactLocation": {"uri": _uri(problem.file)}}
    if problem.line:
        location["region"] = {"startLine": problem.line, "startColumn": problem.column}
    text = ": ".join(filter(None, (problem.path, problem.message)))
    return {
        "ruleId": problem.rule,
        "level": problem.severity.value,
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    }


def _uri(file: str) -> str:
    """Return a file's name as a URI reference; a URL stays as it is."""
    return quote(to_bytes(file), safe=":/?=&%" if "://" in file else "/,")


def as_github(report: CheckReport) -> str:
    """Format the workflow commands with which GitHub's runners annotate files."""
    return _lines(_annotation(problem) for problem in report.problems)


def _annotation(problem: Problem) -> str:
    level = "notice" if problem.severity is Severity.NOTE else problem.severity.value
    text = ": ".join(filter(None, (problem.path, problem.message)))
    return github_command(
        level, problem.file, problem.rule, problem.line, problem.column, text
    )


def github_command(
    level: str, file: str, title: str, line: int, column: int, text: str
) -> str:
    """Return the workflow command that annotates a position in a file.

    Args:
        level: notice, warning or error.
        file: the file's name.
        title: the title of the annotation, one line.
        line: counted from 1; 0 if it is unknown.
        column: counted from 1.
        text: the message, in one or several lines.
    """
    properties = {"file": safe_line(file), "title": safe_line(title)}
    if line:
        properties |= {"line": str(line), "col": str(column)}
    written = ",".join(
        f"{name}={_escape_property(value)}" for name, value in properties.items()
    )
    return f"::{level} {written}::{_escape_message(safe_lines(text))}"


def _escape_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_message(text).replace(":", "%3A").replace(",", "%2C")


FILES: Mapping[str, Callable[[CheckReport], str]] = MappingProxyType({
    "text": as_text,
    "wide": as_wide,
    "junit": as_junit,
    "tap": as_tap,
    "sarif": as_sarif,
    "github": as_github,
})  # fmt: skip
"""The formatters of forms other than JSON and YAML, by the value of `-o`."""


def _sentence(problem: Problem) -> str:
    parts = (str(problem.position), str(problem.severity), problem.path)
    words = safe_line(": ".join(filter(None, (*parts, problem.message))))
    rule = f" [{problem.rule}]" if problem.rule else ""
    return "\n".join([words + rule, *map(safe_line, problem.excerpt)])


def _one_line(text: str) -> str:
    return text.partition("\n")[0]


def _lines(lines: Iterator[str] | Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
