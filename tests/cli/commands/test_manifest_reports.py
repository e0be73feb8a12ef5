"""`probetui check` and `probetui explain`: reports on manifests, nothing started."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from probetui.cli.commands.inspection import CHECK_FORMATS
from probetui.cli.main import run
from probetui.cli.printing import PRINTERS
from probetui.presentation.plain import check_reports

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers:
    - name: app
      image: busybox
      ports: [{name: http, containerPort: 80}]
      livenessProbe:
        httpGet: {port: 80}
        periodSeconds: 5
"""
UNKNOWN = POD.replace("periodSeconds", "periodSecond")
Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a manifest and returns the name of its file."""

    def write(text: str, name: str = "pod.yaml") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def check(
    capsys: pytest.CaptureFixture[str], *args: str
) -> tuple[int, list[tuple[str, str]]]:
    """Return the exit status, and the severity and rule of every finding."""
    status = run(["check", "-o", "json", *args])
    problems = json.loads(capsys.readouterr().out)
    return status, [(problem["severity"], problem["rule"]) for problem in problems]


def test_an_init_container_that_waits_for_its_own_pod_is_found_across_documents(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    service = """\
---
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""
    waits = POD.replace(
        "  containers:\n",
        "  initContainers:\n"
        "    - {name: wait, image: busybox, command: [nc, -z, front, '80']}\n"
        "  containers:\n",
    )

    alone = check(capsys, "-f", write(waits))
    both = check(capsys, "-f", write(waits + service))

    assert ("warning", "init-waits-for-service") not in alone[1]
    assert ("warning", "init-waits-for-service") in both[1]


def test_warnings_are_no_failure(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    status = run(["check", "-f", write(POD)])

    captured = capsys.readouterr()
    assert status == 0
    assert "pod.yaml:6:7: note: spec.containers[0]: has no readinessP" in captured.out
    assert captured.err == "probetui: note: 3 notes\n"


def test_a_quiet_check_prints_errors_alone(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    path = write(POD.replace(": 5", ": -5"))

    status = run(["check", "-q", path])

    captured = capsys.readouterr()
    assert status == 1
    assert [line.split(":")[3].strip() for line in captured.out.splitlines()] == [
        "error"
    ]
    assert captured.err == ""


def test_a_good_pod_has_no_findings(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    status = run(["check", "--no-findings", "-f", write(POD)])

    captured = capsys.readouterr()
    assert (status, captured.out) == (0, "")
    assert captured.err == "probetui: note: nothing found\n"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param(UNKNOWN, "unknown-field", id="unknown field"),
        pytest.param(POD.replace(": 5", ": -5"), "fieldvalueinvalid", id="broken rule"),
        pytest.param(POD.replace(": 5", ': "5s"'), "type", id="wrong type"),
    ],
)
def test_errors_are_a_failure(
    capsys: pytest.CaptureFixture[str], write: Write, text: str, rule: str
) -> None:
    status, problems = check(capsys, "-f", write(text))

    assert status == 1
    assert ("error", rule) in [(level, name.lower()) for level, name in problems]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param("a: b: c", "yaml", id="no YAML"),
        pytest.param(f"{POD}---\n{POD}", "twice", id="two pods of one name"),
        pytest.param(f"{POD}        periodSeconds: 6\n", "duplicate-key", id="twice"),
    ],
)
def test_an_unusable_manifest_is_a_different_failure(
    capsys: pytest.CaptureFixture[str], write: Write, text: str, rule: str
) -> None:
    status, problems = check(capsys, "-f", write(text))

    assert status == 2
    assert ("error", rule) in problems


@pytest.mark.parametrize(
    ("validate", "expected"),
    [
        pytest.param("warn", [("warning", "unknown-field")], id="warn"),
        pytest.param("ignore", [], id="ignore"),
    ],
)
def test_unknown_fields_can_be_warned_about_or_ignored(
    capsys: pytest.CaptureFixture[str],
    write: Write,
    validate: str,
    expected: list[tuple[str, str]],
) -> None:
    path = write(UNKNOWN)

    status, problems = check(
        capsys, "--validate", validate, "--no-findings", "-f", path
    )

    assert (status, problems) == (0, expected)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param(
            POD[: POD.index("      livenessProbe")], "no-probe", id="no probe"
        ),
        pytest.param(
            POD.replace("port: 80}\n", "port: web}\n"), "port-name", id="port name"
        ),
        pytest.param(
            POD + "        timeoutSeconds: 9\n", "timeout-exceeds-period", id="finding"
        ),
    ],
)
def test_what_an_api_server_takes_is_an_error_only_with_strict(
    capsys: pytest.CaptureFixture[str], write: Write, text: str, rule: str
) -> None:
    path = write(text)

    lenient, warned = check(capsys, "-f", path)
    strict, refused = check(capsys, "--strict", "-f", path)

    assert lenient == 0
    assert ("warning", rule) in warned
    assert strict == 1
    assert ("error", rule) in refused
    assert {level for level, _ in refused} <= {"error", "note"}


def test_findings_are_those_of_the_selected_pods(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    path = write(f"{POD}---\n{POD.replace('web', 'db')}")

    _, all_of_them = check(capsys, "-f", path)
    _, of_one = check(capsys, "-l", "app=db", "-f", path)

    assert len(all_of_them) == 2 * len(of_one) > 0


def test_unsupported_fields_are_listed_on_request(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    path = write(POD + "  runtimeClassName: kata\n")

    _, without = check(capsys, "-f", path)
    status, everything = check(capsys, "-v", "-f", path)

    assert status == 0
    assert set(everything) - set(without) == {("warning", "unsupported")}


def test_files_without_a_pod_are_nothing_to_check(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    status = run(["check", "-f", write("kind: Service\napiVersion: v1\n")])

    assert status == 5
    assert "no pod to check: Service has no pod template" in capsys.readouterr().err


def test_every_format_of_the_command_line_can_be_written() -> None:
    assert set(CHECK_FORMATS) == {*check_reports.FILES, *PRINTERS}


def test_pods_are_explained_in_words_and_numbers(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    path = write(f"{UNKNOWN}---\n{POD.replace('web', 'db')}")

    status = run(["explain", "-f", path])

    captured = capsys.readouterr()
    assert status == 0
    assert "noticed    20s to 31s after the app fails" in captured.out
    assert "\n\ndb  restartPolicy Always" in captured.out
    assert "noticed    10s to 16s after the app fails" in captured.out
    assert "unknown field" in captured.err


def test_explanations_come_as_json_too(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    other = POD.replace("web", "db").replace("name: app", "name: other")
    path = write(f"{POD}---\n{other}")

    status = run(["explain", "-o", "json", "-c", "other", "-f", path])

    (pod,) = json.loads(capsys.readouterr().out)
    assert (status, pod["pod"]) == (0, "db")
    assert pod["containers"][0]["probes"][0]["failureNoticed"]["most"] == 16


def test_an_unknown_container_cannot_be_explained(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    status = run(["explain", "-c", "ap", "-f", write(POD)])

    assert status == 2
    assert 'no container is called "ap" (has: app)' in capsys.readouterr().err


def test_a_check_creates_stubs_like_a_session(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    path = write(POD + "      envFrom: [{configMapRef: {name: settings}}]\n")

    _, without = check(capsys, "-f", path)
    _, stubbed = check(capsys, "-f", path, "--stub-missing")

    assert ("warning", "no-object") in without
    assert ("warning", "no-object") not in stubbed
    assert ("warning", "stub-missing") in stubbed


def test_a_strict_check_refuses_fields_unknown_to_the_version(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    path = write(POD + "      startupProbe: {tcpSocket: {port: 80}}\n")

    old, problems = check(capsys, "-f", path, "--kubelet", "1.15")
    off, disabled = check(
        capsys, "-f", path, "--kubelet", "1.19", "--feature-gates", "StartupProbe=false"
    )

    assert (old, off) == (1, 0)
    assert ("error", "later-field") in problems
    assert ("warning", "disabled-field") in disabled


def test_a_key_that_overrides_a_merged_one_is_no_problem(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    merged = "    - &app {name: a, image: x}\n    - {<<: *app, name: b}\n"
    path = write(POD.partition("    - name: app")[0] + merged)

    status, problems = check(capsys, "-f", path)

    assert status == 0
    assert "duplicate-key" not in {rule for _, rule in problems}


RULES = """\
groups:
- name: probes
  rules:
  - {alert: Liveness, expr: 'increase(prober_probe_total{probe_type="liveness"}[5m])'}
  - {record: prober_failures, expr: 'prober_probe_total{result="failed"}'}
  - {alert: Failures, expr: prober_failures > 3}
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(RULES, id="a rule file"),
        pytest.param(
            "kind: PrometheusRule\napiVersion: monitoring.coreos.com/v1\n"
            "metadata: {name: a}\nspec:\n  " + RULES.replace("\n", "\n  "),
            id="an object",
        ),
    ],
)
def test_a_rule_that_can_never_fire_is_found(
    text: str, capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    pytest.importorskip("promql_parser")
    path = write(text)

    status, problems = check(capsys, "-f", path)

    assert status == 0
    assert problems == [("note", "kind-skipped"), ("warning", "alert-label-value")]
    assert check(capsys, "-f", path, "--strict")[0] == 1
    assert check(capsys, "-f", path, "--no-findings")[1] == problems[:1]


@pytest.mark.parametrize("form", ["text", "groups"])
def test_rules_of_our_own_have_no_findings(
    form: str, capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    pytest.importorskip("promql_parser")
    assert run(["rules", "-f", write(POD), "-o", form]) == 0

    status, problems = check(capsys, "-f", write(capsys.readouterr().out, "rules.yaml"))

    assert (status, problems) == (0, [("note", "kind-skipped")])
