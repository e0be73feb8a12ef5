"""Rules for probes, judged by promtool, and by samples that they were not made for."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from probetui.cli.main import run

_SHARED = Path(__file__).parents[4] / "shared/cases"
_SAMPLES = Path(__file__).parents[3] / "sample_pods"
POD = """\
apiVersion: apps/v1
kind: {kind}
metadata: {{name: web, {more}}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
      - name: app
        image: x
        startupProbe: {{tcpSocket: {{port: 80}}, failureThreshold: 10}}
        livenessProbe: {{tcpSocket: {{port: 80}}, periodSeconds: 10}}
        readinessProbe: {{tcpSocket: {{port: 80}}, periodSeconds: 5}}
"""

Rules = Callable[..., str]


@pytest.fixture
def rules(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Rules:
    def print_rules(
        *options: str, kind: str = "Deployment", more: str = "namespace: shop"
    ) -> str:
        path = tmp_path / "web.yaml"
        path.write_text(POD.format(kind=kind, more=more))
        assert run(["rules", "-f", str(path), *options]) == 0
        return capsys.readouterr().out

    return print_rules


def promtool(folder: Path, rules: str, tests: str) -> str:
    """Return what promtool says is wrong, empty if nothing is."""
    (folder / "rules.yaml").write_text(rules)
    (folder / "rules_test.yaml").write_text(tests)
    said = ""
    for command in (
        ["check", "rules", "rules.yaml"],
        ["test", "rules", "rules_test.yaml"],
    ):
        done = subprocess.run(
            ["promtool", *command],
            check=False,
            cwd=folder,
            capture_output=True,
            text=True,
        )
        output = done.stdout + done.stderr
        said += output if done.returncode or "FAILED" in output else ""
    return said


def test_the_rules_are_an_object_of_the_operator(rules: Rules) -> None:
    printed = yaml.safe_load(rules())

    assert printed["kind"] == "PrometheusRule"
    assert printed["metadata"] == {"name": "probetui-probes", "namespace": "shop"}
    (group,) = printed["spec"]["groups"]
    assert [rule["alert"] for rule in group["rules"]] == [
        "KilledByLivenessProbe",
        "LivenessProbeNearKill",
        "LivenessProbeNearTimeout",
        "ReadinessProbeFlapping",
        "ReadinessProbeNearTimeout",
        "KilledByStartupProbe",
        "StartBudgetNearlyUsed",
    ]


def test_thresholds_are_those_of_each_probe(rules: Rules) -> None:
    (group,) = yaml.safe_load(rules("-o", "groups"))["groups"]
    by_name = {rule["alert"]: rule["expr"] for rule in group["rules"]}

    assert by_name["LivenessProbeNearKill"].endswith(">= 2")
    assert by_name["StartBudgetNearlyUsed"].endswith(">= 8")
    assert " offset 60s " in by_name["LivenessProbeNearKill"]
    assert 'probe_type="Liveness",result="failed"' in by_name["LivenessProbeNearKill"]


@pytest.mark.parametrize(
    ("more", "options", "count"),
    [
        pytest.param("namespace: shop", (), 1, id="as written"),
        pytest.param("", (), 0, id="any, as none is written"),
        pytest.param("", ("-n", "shop"), 1, id="of the option"),
    ],
)
def test_rules_are_for_the_namespace_of_the_manifest(
    more: str, options: tuple[str, ...], count: int, rules: Rules
) -> None:
    printed = rules(*options, more=more)

    assert ('namespace="shop"' in printed) == count


def test_a_kill_that_lies_between_two_scrapes_has_no_rule(
    rules: Rules, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "fast.yaml"
    path.write_text(
        POD.format(kind="Deployment", more="").replace(
            "periodSeconds: 10", "periodSeconds: 1"
        )
    )

    assert run(["rules", "-f", str(path)]) == 0

    captured = capsys.readouterr()
    assert "LivenessProbeNearKill" not in captured.out
    assert "a scrape comes each 30s: none shows that a kill is near" in captured.err


def test_pods_without_probes_have_no_rules(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    path.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: a},"
        " spec: {containers: [{name: a, image: a}]}}"
    )

    assert run(["rules", "-f", str(path)]) == 5
    assert run(["rules", "-f", str(path), "--scrape-interval", "500ms"]) == 2


@pytest.mark.prometheus
@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet", "ReplicaSet"])
@pytest.mark.parametrize("scrape", ["10s", "15s", "30s", "60s"])
def test_each_rule_fires_when_it_should_and_never_in_a_healthy_run(
    kind: str, scrape: str, rules: Rules, tmp_path: Path
) -> None:
    interval = ("--scrape-interval", scrape)
    groups = rules("-o", "groups", *interval, kind=kind)
    tests = rules("-o", "tests", *interval, kind=kind)

    assert promtool(tmp_path, groups, tests) == ""
    assert tests.count("exp_labels") == groups.count("- alert:")


@pytest.mark.prometheus
def test_workloads_of_one_name_are_told_apart_by_their_namespaces(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "both.yaml"
    path.write_text(
        "---\n".join(
            POD.format(kind="Deployment", more=more) for more in ("", "namespace: shop")
        )
    )
    printed = []
    for form in ("groups", "tests"):
        assert run(["rules", "-f", str(path), "-o", form]) == 0
        printed.append(capsys.readouterr().out)

    assert promtool(tmp_path, *printed) == ""


@pytest.mark.prometheus
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param('result="failed"', 'result="failure"', id="a label that is not"),
        pytest.param('="Liveness"', '="liveness"', id="a value that is not"),
        pytest.param(">= 2", ">= 3", id="too high a threshold"),
        pytest.param(">= 2", ">= 0", id="one that is always there"),
        pytest.param("{{ $labels.pod }}", "a pod", id="another text"),
    ],
)
def test_a_changed_rule_fails_its_tests(
    right: str, wrong: str, rules: Rules, tmp_path: Path
) -> None:
    groups = rules("-o", "groups")

    said = promtool(tmp_path, groups.replace(right, wrong), rules("-o", "tests"))

    assert "FAILED" in said


@pytest.mark.prometheus
@pytest.mark.sweep
@pytest.mark.parametrize("folder", [_SAMPLES, _SHARED], ids=["ours", "public"])
def test_rules_of_all_manifests_pass_their_tests(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = 0
    for path in sorted(folder.rglob("*.yaml")):
        if run(["rules", "-f", str(path), "-o", "groups"]) != 0:
            assert "bug" not in capsys.readouterr().err, path
            continue
        groups = capsys.readouterr().out
        assert run(["rules", "-f", str(path), "-o", "tests"]) == 0

        assert promtool(tmp_path, groups, capsys.readouterr().out) == "", path
        made += 1

    assert made or not folder.exists()
