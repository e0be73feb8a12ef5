"""What of rules about probes can never fire."""

from __future__ import annotations

import pytest

pytest.importorskip("promql_parser")

from probetui.analysis.rule_findings import rule_findings

TOTAL = "prober_probe_total"


@pytest.mark.parametrize(
    ("expression", "rules"),
    [
        pytest.param(
            f'rate({TOTAL}{{probe_type="liveness"}}[5m]) > 0',
            ["alert-label-value"],
            id="a type in lower case",
        ),
        pytest.param(
            f'rate({TOTAL}{{result="failure"}}[5m]) > 0',
            ["alert-label-value"],
            id="a result of another name",
        ),
        pytest.param(
            f'{TOTAL}{{result=~"timeout|error"}}', ["alert-label-value"], id="a pattern"
        ),
        pytest.param(
            f'absent({TOTAL}{{probe_type!~"Liveness|Readiness|Startup"}})',
            ["alert-label-value"],
            id="a pattern that takes all",
        ),
        pytest.param(
            f'{{__name__="{TOTAL}", type="Liveness"}}', ["alert-label"], id="a label"
        ),
        pytest.param(
            'prober_probe_duration_seconds_count{result="failed"}',
            ["alert-label"],
            id="durations are of successes alone",
        ),
        pytest.param("prober_probe_result > 0", ["alert-series"], id="of 1.16"),
        pytest.param("kubelet_prober_probe_total", ["alert-series"], id="a prefix"),
        pytest.param(f"increase({TOTAL}[30s]) > 0", ["alert-range"], id="a scrape"),
        pytest.param(f"{TOTAL}{{", ["alert-expression"], id="half of one"),
        pytest.param(
            f'increase({TOTAL}{{result="fail"}}[10s]) and {TOTAL}{{probe="a"}}',
            ["alert-label", "alert-label-value", "alert-range"],
            id="several",
        ),
    ],
)
def test_what_can_never_fire_is_found(expression: str, rules: list[str]) -> None:
    found = list(rule_findings(expression, "expr"))

    assert sorted(finding.rule for finding in found) == rules


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(f'rate({TOTAL}{{result="failed"}}[5m]) > 0', id="as they are"),
        pytest.param(f'{TOTAL}{{result!="successful"}}', id="all others"),
        pytest.param(f'{TOTAL}{{result=~"fail.*", job="kubelet"}}', id="a pattern"),
        pytest.param(f'{TOTAL}{{probe_type=~"(?i)liveness"}}', id="whatever case"),
        pytest.param(f'{TOTAL}{{type="", cluster="a"}}', id="without a label"),
        pytest.param(f"max_over_time({TOTAL}[30s])", id="needs one sample"),
        pytest.param(f"increase({TOTAL}[1m])", id="two scrapes"),
        pytest.param(
            "histogram_quantile(.9, rate(prober_probe_duration_seconds_bucket[5m]))",
            id="a histogram",
        ),
        pytest.param("probe_success == 0", id="of another exporter"),
        pytest.param('{app="web"} |= "error"', id="of logs"),
        pytest.param("prober_kills > 0", id="recorded by a rule"),
        pytest.param("prober_probe_total:rate5m > 0", id="named as recorded ones are"),
    ],
)
def test_what_can_fire_is_not_found(expression: str) -> None:
    assert list(rule_findings(expression, "expr", {"prober_kills"})) == []


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param(
            f'{TOTAL}{{probe_type="liveness"}}',
            f'no series of {TOTAL} has probe_type="liveness": probe_type is Liveness, '
            "Readiness or Startup",
            id="a value",
        ),
        pytest.param(
            f'{{__name__="{TOTAL}", type="a"}}',
            f"no series of {TOTAL} has a label type",
            id="a label",
        ),
        pytest.param(
            "prober_probe_result > 0",
            'no kubelet has a series "prober_probe_result"',
            id="a series",
        ),
        pytest.param(
            f"increase({TOTAL}[15s])",
            f"increase() over 15s of {TOTAL} needs two samples, and one comes each 30s",
            id="a range",
        ),
    ],
)
def test_what_is_wrong_with_a_rule_is_said(expression: str, message: str) -> None:
    (finding,) = rule_findings(expression, "groups[0].rules[1].expr")

    assert finding.message == message
    assert finding.path == "groups[0].rules[1].expr"


def test_what_is_no_promql_says_where() -> None:
    (finding,) = rule_findings(f"{TOTAL}{{\n", "expr")

    assert finding.message.startswith("is no PromQL: ")
    assert len(finding.message) > len("is no PromQL: ")
    assert "\n" not in finding.message


@pytest.mark.parametrize("end", ["_bucket", "_count", "_sum", ""])
def test_durations_have_no_results(end: str) -> None:
    series = f"prober_probe_duration_seconds{end}"

    assert list(rule_findings(f'{series}{{probe_type="Liveness"}}', "expr")) == []
    for label in ("result", "pod_uid", "status"):
        (finding,) = rule_findings(f'{series}{{{label}="a"}}', "expr")
        assert finding.message == f"no series of {series} has a label {label}"


def test_a_pattern_that_only_go_can_read_may_take_any_value() -> None:
    assert list(rule_findings(rf'{TOTAL}{{result=~"\\pL+"}}', "expr")) == []
