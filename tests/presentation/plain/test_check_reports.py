"""Reports of `check` in the formats of other tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from probetui.manifest.problem import Position, Problem, Severity
from probetui.presentation.plain.check_reports import (
    FILES,
    MANIFEST_HELP,
    CheckReport,
    as_github,
    as_junit,
    as_sarif,
    as_tap,
    as_text,
    as_wide,
)

WRONG = Problem(
    Position("a,b.yaml", 3, 5), "spec.x", 'is "50%" <now>', Severity.ERROR, "invalid"
)
UNWISE = Problem(
    Position("b.yaml", 7, 1), "spec", "has #1\n2", Severity.WARNING, "unwise"
)
NOTED = Problem(Position("b.yaml"), "", "skipped", Severity.NOTE, "kind-skipped")
REPORT = CheckReport(
    ["a,b.yaml", "b.yaml", "good.yaml"],
    [WRONG, UNWISE, NOTED],
    {"unwise": "Something is unwise."},
)
NOTHING = CheckReport(["good.yaml"], [])


def test_every_problem_is_a_line_as_from_a_compiler() -> None:
    assert as_text(REPORT) == (
        'a,b.yaml:3:5: error: spec.x: is "50%" <now> [invalid]\n'
        "b.yaml:7:1: warning: spec: has #1\\x0a2 [unwise]\n"
        "b.yaml: note: skipped [kind-skipped]\n"
    )
    assert as_text(NOTHING) == ""


def test_a_syntax_error_is_shown_at_its_position() -> None:
    problem = Problem(
        Position("a.yaml", 1, 3), "", "no", rule="yaml", excerpt=("a: b: c", "   ^")
    )

    assert as_text(CheckReport(["a.yaml"], [problem])) == (
        "a.yaml:1:3: error: no [yaml]\na: b: c\n   ^\n"
    )


@pytest.mark.parametrize("write", FILES.values(), ids=FILES.keys())
def test_escape_sequences_in_file_names_are_escaped(
    write: Callable[[CheckReport], str],
) -> None:
    name = "\x1b[2J\udc80.yaml"
    wrong = Problem(Position(name, 1, 1), "spec", "no", rule="x")

    texts = [write(CheckReport([name], [wrong])), write(CheckReport([name], []))]

    assert not any("\x1b" in text or "\udc80" in text for text in texts)


def test_the_value_has_each_problem() -> None:
    wrong, _, noted = REPORT.value()

    assert wrong == {
        "file": "a,b.yaml",
        "line": 3,
        "column": 5,
        "severity": "error",
        "rule": "invalid",
        "path": "spec.x",
        "message": 'is "50%" <now>',
        "page": None,
    }
    assert (noted["line"], noted["column"]) == (None, None)


def test_a_rule_names_the_page_about_what_it_leads_to() -> None:
    report = CheckReport(["b.yaml"], [replace(NOTED, rule="port-not-tcp")])

    assert report.value()[0]["page"] == "port-is-udp"
    assert as_wide(report).splitlines()[1:] == [
        "  More: probetui why --page port-is-udp"
    ]


def test_junit_counts_errors_as_failures_and_clean_files_as_passed() -> None:
    suites = ET.fromstring(as_junit(REPORT))

    (suite,) = suites
    cases = [(element.get("classname"), element.get("name")) for element in suite]
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")
    assert cases == [
        ("a,b.yaml", "invalid spec.x"),
        ("b.yaml", "unwise spec"),
        ("b.yaml", "kind-skipped"),
        ("good.yaml", "no problems"),
    ]
    failure = suite[0].find("failure")
    assert failure is not None
    assert failure.get("message") == WRONG.message
    assert suite[1].findtext("system-out", "").startswith("b.yaml:7:1: warning")


def test_tap_fails_for_errors_only() -> None:
    assert as_tap(REPORT).splitlines() == [
        "TAP version 13",
        "1..4",
        'not ok 1 - a,b.yaml:3:5: error: spec.x: is "50%" <now> [invalid]',
        r"not ok 2 - b.yaml:7:1: warning: spec: has \#1\x0a2 [unwise] # TODO warning",
        "not ok 3 - b.yaml: note: skipped [kind-skipped] # TODO note",
        "ok 4 - good.yaml",
    ]


def test_sarif_names_its_rules_and_places() -> None:
    log = json.loads(as_sarif(REPORT))

    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in rules] == ["invalid", "unwise", "kind-skipped"]
    assert rules[1]["shortDescription"]["text"] == "Something is unwise."
    wrong, _, noted = run["results"]
    assert (wrong["ruleId"], wrong["level"]) == ("invalid", "error")
    assert wrong["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a,b.yaml"},
        "region": {"startLine": 3, "startColumn": 5},
    }
    assert "region" not in noted["locations"][0]["physicalLocation"]


def test_sarif_has_the_page_about_what_a_problem_leads_to() -> None:
    report = replace(REPORT, advice={"unwise": "Be wise."}, pages={"unwise": "# It"})

    rules = json.loads(as_sarif(report))["runs"][0]["tool"]["driver"]["rules"]
    helps = {rule["id"]: rule["help"] for rule in rules}
    assert helps["unwise"] == {"text": "Be wise.", "markdown": "Be wise.\n\n# It"}
    assert [name for name, text in helps.items() if "markdown" in text] == ["unwise"]


def test_sarif_helps_with_a_rule_by_its_text_and_not_by_an_address() -> None:
    report = replace(REPORT, advice={"unwise": "Be wise."})

    rules = json.loads(as_sarif(report))["runs"][0]["tool"]["driver"]["rules"]

    texts = [rule["help"]["text"] for rule in rules]
    assert texts == [MANIFEST_HELP, "Be wise.", MANIFEST_HELP]
    assert not any("helpUri" in rule for rule in rules)


def test_github_annotations_are_escaped() -> None:
    assert as_github(REPORT).splitlines() == [
        '::error file=a%2Cb.yaml,title=invalid,line=3,col=5::spec.x: is "50%25" <now>',
        "::warning file=b.yaml,title=unwise,line=7,col=1::spec: has #1%0A2",
        "::notice file=b.yaml,title=kind-skipped::skipped",
    ]
