"""`probetui test` on the command line, on virtual time."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from probetui.cli.main import run

SAMPLES = Path(__file__).parents[3] / "sample_pods"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 3
  containers:
    - name: app
      image: none
      livenessProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 2}
      readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}
"""
JOB = """\
apiVersion: v1
kind: Pod
metadata: {name: job}
spec:
  restartPolicy: Never
  containers: [{name: work, image: none}]
"""


class Cases:
    """Runs cases in a private folder, on virtual time."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.out = self.err = ""

    def run(self, cases: str, *args: str, pod: str = POD) -> int:
        (self.folder / "pod.yaml").write_text(pod)
        files = ["-f", str(self.folder / "pod.yaml")]
        if cases:
            (self.folder / "cases.yaml").write_text(cases)
            files += ["-f", str(self.folder / "cases.yaml")]
        status = run(["test", *files, "--runtime", "sim", *args])
        self.out, self.err = self._capsys.readouterr()
        return status

    def expect(self, *expectations: str, script: str = "{}", pod: str = POD) -> int:
        case = {
            "name": "it",
            "script": yaml.safe_load(script),
            "expect": [yaml.safe_load(expectation) for expectation in expectations],
        }
        return self.run(yaml.safe_dump({"cases": [case]}), pod=pod)

    def refusal(self, case: str) -> str:
        """Return the only problem of an invalid case, from its line on."""
        assert self.run(f"cases:\n  - {case}\n") == 2, self.out
        first, *others = self.err.splitlines()
        assert others == ["probetui: error: 1 error, nothing was started"], self.err
        assert not self.out
        return first.partition("cases.yaml:")[2]


@pytest.fixture
def cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cases:
    return Cases(tmp_path, capsys)


NEVER_READY = "containers: {app: {readiness: failure}}"
DIES = "containers: {app: {lasts: 20s, exitCode: 1}}"
UNHEALTHY = "containers: {app: {liveness: failure}}"


@pytest.mark.parametrize(
    ("expectations", "script"),
    [
        pytest.param(["ready within 5s"], "{}", id="ready"),
        pytest.param(["app: ready within 5s"], "{}", id="a container is ready"),
        pytest.param(["web: started within 5s"], "{}", id="a pod has started"),
        pytest.param(["ready within 5s", "holds for 2m"], "{}", id="it holds"),
        pytest.param(["ready within 5s", "ready for 2m"], "{}", id="ready for"),
        pytest.param(["restarts == 0 for 2h"], "{}", id="no restart for hours"),
        pytest.param(["ready within 5s", "restarts == 0"], "{}", id="no restart"),
        pytest.param(["killed within 15s"], UNHEALTHY, id="killed"),
        pytest.param(["killed within 15s", "killed within 1m"], UNHEALTHY, id="twice"),
        pytest.param(["kills >= 2 within 1m"], UNHEALTHY, id="killed so often"),
        pytest.param(["restarted within 21s"], DIES, id="restarted"),
        pytest.param(["backoff within 1m", "restarts <= 2"], DIES, id="back-off"),
        pytest.param(["event Unhealthy within 6s"], UNHEALTHY, id="event"),
        pytest.param(["event Killing within 40s"], UNHEALTHY, id="event of a kill"),
        pytest.param(["events Unhealthy > 1 within 15s"], UNHEALTHY, id="events"),
        pytest.param(
            ["ready within 5s", "not ready within 30s"], DIES, id="not ready"
        ),
        pytest.param(
            ["ready within 5s", "ready again within 30s"], DIES, id="ready again"
        ),
        pytest.param(
            ["ready within 5s", ("after freeze app 20s: killed within 15s, ready again "
             "within 10s"), "restarts == 1"], "{}", id="frozen"),
        pytest.param(
            ["ready within 5s", "after freeze app 1s: ready for 30s, kills == 0"],
            "{}", id="frozen for a moment"),
        pytest.param(
            ["ready within 5s", "after kill app: ready within 10s, restarts == 1"],
            "{}", id="crashed"),
        pytest.param(
            ["ready within 5s", "after stop app: restarted within 10s"],
            "{}", id="stopped"),
        pytest.param(
            ["ready within 5s", "after restart app: ready within 10s"],
            "{}", id="restarted by hand"),
        pytest.param(
            ["ready within 5s", ("after cut-network app 10s: not ready within 10s, "
             "ready again within 20s")], "{}", id="cut off"),
        pytest.param(
            ["ready within 5s", ("after inject app readiness failure 3: not ready "
             "within 5s, ready again within 5s")], "{}", id="injected"),
        pytest.param(
            ["ready within 5s", ("after delay app readiness 2s 10s: not ready within "
             "15s, ready again within 15s")], "{}", id="delayed"),
        pytest.param(
            ["after 10m: restarts == 0, ready within 1s"], "{}", id="after a while"),
        pytest.param(
            ["ready within 5s", "after freeze app: not ready within 9s",
             "after unfreeze app: ready within 9s"], "{}", id="frozen until it is not"),
    ],
)  # fmt: skip
def test_an_expectation_is_met(
    cases: Cases, expectations: list[str], script: str
) -> None:
    assert cases.expect(*expectations, script=script) == 0, cases.out


@pytest.mark.parametrize(
    ("expectations", "script", "expected", "came"),
    [
        pytest.param(["ready within 30s"], NEVER_READY, "ready within 30s",
                     "web/app is not ready: its readiness probe failed 30 "
                     "times in a row since +0.0s, because the probe failed after 5ms: "
                     "HTTP probe failed with statuscode: 500",
                     id="ready"),
        pytest.param(["started within 30s"],
                     'images: {"none:latest": {error: no such image}}',
                     "started within 30s",
                     "web/app has not been created: its image none "
                     "could not be pulled (ErrImagePull): no such image",
                     id="started"),
        pytest.param(["ready within 5s", "holds for 2m"], DIES, "holds for 2m",
                     "web/app is not running, "
                     "because it exited by itself with 1 at +20.0s, 20s after its "
                     "start",
                     id="holds"),
        pytest.param(["ready for 2m"], NEVER_READY, "ready for 2m",
                     "web/app has not been created yet",
                     id="ready for"),
        pytest.param(["ready within 5s", "not ready within 5s"], "{}",
                     "not ready within 5s", "it was ready all the time (at +5.0s)",
                     id="not ready"),
        pytest.param(["ready within 5s", "ready again within 5s"], "{}",
                     "ready again within 5s", "it was ready all the time",
                     id="ready again"),
        pytest.param(["killed within 1m"], "{}", "killed within 1m",
                     "killed: not once: web/app is up and ready; it was started at "
                     "+0.0s; its liveness probe never failed", id="killed"),
        pytest.param(["ready within 5s",
                      "after inject app liveness failure: killed within 20s"], "{}",
                     "after inject app liveness failure: killed within 20s",
                     "killed: not once: web/app is up and ready; it was started at "
                     "+0.0s; its liveness probe failed 1 in a row at most",
                     id="nearly killed"),
        pytest.param(["restarted within 1m"], "{}", "restarted within 1m",
                     "restarts: not once", id="restarted"),
        pytest.param(["backoff within 1m"], "{}", "backoff within 1m",
                     "backoff: not once", id="back-off"),
        pytest.param(["event Unhealthy within 1m"], "{}", "event Unhealthy within 1m",
                     "event Unhealthy: not once", id="event"),
        pytest.param(["ready within 5s", "holds for 10s", "restarts == 1"], "{}",
                     "restarts == 1", "restarts: 0 (at +10.0s)", id="count"),
        pytest.param(["restarts == 0 for 1h"], DIES, "restarts == 0 for 1h",
                     "restarts: 1 (at +20.0s)", id="count for a time"),
        pytest.param(["kills >= 3 within 25s"], UNHEALTHY, "kills >= 3 within 25s",
                     "killed: 2 (at +25.0s)", id="count within a time"),
        pytest.param(["ready within 5s", "kills == 0 within 20s"], UNHEALTHY, "", "",
                     id="met at once"),
        pytest.param(["events Unhealthy < 2 for 1m"], UNHEALTHY,
                     "events Unhealthy < 2 for 1m", "event: 2", id="events"),
        pytest.param(["ready within 5s", "after freeze app 20s: killed within 3s"],
                     "{}", "after freeze app 20s: killed within 3s",
                     "killed: not once: web/app is up and ready; it was started at "
                     "+0.0s; its liveness probe never failed (at +3.0s)",
                     id="after an action"),
        pytest.param(["ready within 5s", "after kill app: ready within 10s"],
                     "containers: {app: [{}, {readiness: failure}]}",
                     "after kill app: ready within 10s",
                     "web/app is not ready: its readiness probe failed",
                     id="not back after a crash"),
        pytest.param(["ready within 5s", "after kill app: restarts == 0 for 9s"],
                     "{}", "after kill app: restarts == 0 for 9s",
                     "restarts: 1 since kill app", id="count since an action"),
        pytest.param(["after 1h: restarts == 0"], DIES, "after 1h: restarts == 0",
                     "restarts: 15 since 1h (at +3600.0s)", id="count since a wait"),
        pytest.param(["after 21s: not ready within 1s",
                      "after kill app: ready within 10s"],
                     "containers: {app: [{lasts: 1s}, {lasts: 1s}]}",
                     "after kill app: ready within 10s",
                     "kill app: web/app does not run: nothing was done to it",
                     id="nothing to do it to"),
    ],
)  # fmt: skip
def test_a_failed_expectation_shows_what_happened_instead(
    cases: Cases, expectations: list[str], script: str, expected: str, came: str
) -> None:
    status = cases.expect(*expectations, script=script)

    assert status == (1 if expected else 0), cases.out
    if expected:
        assert f"expected: {expected}\n" in cases.out
        assert f"came:     {came}" in cases.out


def test_ready_again_means_the_next_instance_and_not_one_that_is_stopping(
    cases: Cases,
) -> None:
    often = POD.replace("periodSeconds: 5", "periodSeconds: 3")

    status = cases.expect(
        "ready within 30s",
        "holds for 5s",
        "after freeze app 20s: killed within 9s, ready again within 15s, restarts == 1",
        pod=often,
    )

    assert status == 0, cases.out


def test_a_job_is_expected_to_succeed(cases: Cases) -> None:
    ends = "containers: {work: {lasts: 20s}}"
    fails = "containers: {work: {lasts: 20s, exitCode: 3}}"

    assert cases.expect("succeeded within 30s", script=ends, pod=JOB) == 0
    assert cases.expect("succeeded within 30s", script=fails, pod=JOB) == 1
    assert "came:     job has ended: Failed (at +20.0s)" in cases.out
    assert cases.expect("succeeded within 10s", script=ends, pod=JOB) == 1
    came = "came:     succeeded: not once: job/work is up and ready; it was started at"
    assert came in cases.out


def test_a_failure_has_its_position_the_met_expectations_and_a_command_to_repeat_it(
    cases: Cases,
) -> None:
    cases.run(
        "cases:\n"
        "  - name: it's slow\n"
        "    expect:\n"
        "      - ready within 5s\n"
        "      - after freeze app 20s:\n"
        "          - killed within 15s\n"
        "          - restarts == 1\n"
    )

    lines = [line.strip() for line in cases.out.splitlines()]
    again = "probetui test -f {0}/pod.yaml -f {0}/cases.yaml --runtime sim --case "
    assert lines[0] == "FAIL  it's slow [sim] (11s)"
    assert lines[1] == f"{cases.folder}/cases.yaml:7:13"
    assert "before:   killed within 15s (at +11.0s)" in lines
    assert any(line.endswith("failure 1.0s run 2/2 kill grace=3s") for line in lines)
    assert lines[-1] == (
        "again:    " + again.format(cases.folder) + "'it'\"'\"'s slow'"
    )
    assert "probetui: note: 1 failed" in cases.err


TWO = """\
cases:
  - name: starts
    expect: [ready within 5s]
  - name: is killed
    expect: [killed within 1m]
"""


def test_json_has_all_facts(cases: Cases) -> None:
    assert cases.run(TWO, "-o", "json") == 1

    report = json.loads(cases.out)
    starts, is_killed = report["cases"]
    assert (report["passed"], report["failed"], report["skipped"]) == (1, 1, 0)
    assert starts["result"] == "passed"
    assert starts["failure"] is None
    assert is_killed["line"] == 4
    assert is_killed["seconds"] == 60
    assert is_killed["failure"]["expected"] == "killed within 1m"
    assert is_killed["failure"]["atSeconds"] == 60
    assert is_killed["expectations"][0]["result"] == "failed"


def test_junit_is_printed_or_written_besides_the_text(cases: Cases) -> None:
    file = cases.folder / "report.xml"
    cases.run(TWO, "-o", "junit")
    printed = ET.fromstring(cases.out)

    assert cases.run(TWO, "--junit", str(file)) == 1

    assert "FAIL  is killed" in cases.out
    suite = ET.parse(file).getroot()[0]
    assert ET.tostring(printed[0]) == ET.tostring(suite)
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failure = suite[1][0]
    assert failure.tag == "failure"
    assert "expected: killed within 1m" in (failure.text or "")


def test_a_report_that_cannot_be_written_is_an_error(cases: Cases) -> None:
    assert cases.run(TWO, "--junit", str(cases.folder / "no" / "report.xml")) == 2
    assert "report.xml: No such file or directory" in cases.err


def test_tap_has_a_line_for_each_case(cases: Cases) -> None:
    cases.run(TWO, "-o", "tap")

    lines = cases.out.splitlines()
    assert lines[:4] == [
        "TAP version 13",
        "1..2",
        "ok 1 - starts [sim]",
        "not ok 2 - is killed [sim]",
    ]
    assert all(line.startswith("# ") for line in lines[4:])


def test_github_annotations_are_printed_automatically(
    cases: Cases, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases.run(TWO, "-o", "github")
    asked_for = cases.out
    monkeypatch.setenv("GITHUB_ACTIONS", "true")

    cases.run(TWO)

    assert asked_for.startswith(f"::error file={cases.folder}/cases.yaml,")
    assert "line=5,col=14::" in asked_for
    assert asked_for in cases.err
    assert "FAIL  is killed" in cases.out


def test_pods_without_cases_are_expected_to_become_and_stay_ready(cases: Cases) -> None:
    assert cases.run("") == 0
    assert cases.out.startswith("PASS  web [sim]")


@pytest.mark.slow
def test_a_pod_without_cases_fails_if_it_crashes_at_its_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["test", str(SAMPLES / "crashloop.yaml"), "--runtime", "process"]) == 1
    assert "expected: restarts == 0 for 10s" in capsys.readouterr().out


def test_a_job_without_cases_is_expected_to_succeed(cases: Cases) -> None:
    assert cases.run("", pod=JOB) == 1
    assert "expected: succeeded within 60s" in cases.out


def test_a_pod_that_uses_its_startup_budget_is_waited_for(cases: Cases) -> None:
    slow = str(SAMPLES / "startup-slow.yaml")
    assert run(["test", slow, "--runtime", "sim"]) == 0


def test_one_case_is_run_by_its_name(cases: Cases) -> None:
    assert cases.run(TWO, "--case", "starts") == 0
    assert cases.run(TWO, "--case", "start") == 2
    assert 'no case is called "start"' in cases.err
    assert "(nearest: starts)" in cases.err


def test_cases_for_other_runtimes_are_reported_as_skipped(cases: Cases) -> None:
    text = TWO.replace("expect: [killed", "runtimes: [docker]\n    expect: [killed")

    assert cases.run(text) == 0
    assert "SKIP  is killed [sim]: runs on docker" in cases.out
    assert cases.run(text, "--case", "is killed") == 5
    assert "no case is for --runtime sim" in cases.err


def test_a_case_can_have_its_own_pods_and_settings(cases: Cases) -> None:
    text = """\
cases:
  - name: web alone
    pods: [web]
    set: [app.readinessProbe.initialDelaySeconds=20]
    expect: [ready within 10s]
  - name: by labels
    selector: app=web
    expect: [ready within 10s]
"""
    assert cases.run(text, "-o", "json", pod=f"{POD}---\n{JOB}") == 1
    web, labels = json.loads(cases.out)["cases"]
    assert (web["result"], labels["result"]) == ("failed", "passed")


def test_a_case_has_a_time_limit(cases: Cases) -> None:
    text = "cases: [{name: it, timeout: 30s, expect: [killed within 1h]}]"

    assert cases.run(text) == 1
    assert "the time limit of the case, 30s, was reached (at +30.0s)" in cases.out


def test_a_script_can_be_in_a_file_beside_the_cases(cases: Cases) -> None:
    (cases.folder / "dies.yaml").write_text(DIES)

    assert (
        cases.run(
            "cases: [{name: it, script: dies.yaml, expect: [restarted within 21s]}]"
        )
        == 0
    )
    (cases.folder / "dies.yaml").write_text("containers: {ap: {}}")
    assert (
        cases.run(
            "cases: [{name: it, script: dies.yaml, expect: [restarted within 21s]}]"
        )
        == 2
    )
    assert 'dies.yaml:1:18: containers.ap: there is no container "ap"' in cases.err


def test_cases_can_be_in_a_file_with_pods_and_are_skipped_by_other_commands(
    cases: Cases, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        cases.run(
            "",
            pod=f"{POD}---\n{TWO}",
        )
        == 1
    )
    assert "FAIL  is killed" in cases.out
    run(["sim", "--plain", "--for", "1s", str(cases.folder / "pod.yaml")])
    assert "has cases for `probetui test`, skipped" in capsys.readouterr().err


def test_a_record_of_every_case_is_kept_and_explained(
    cases: Cases, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = cases.folder / "records"

    assert cases.run(TWO, "--record", str(folder)) == 1

    assert "why:      probetui why " in cases.out
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["1-starts-sim.jsonl.gz", "2-is-killed-sim.jsonl.gz"]
    record = str(folder / names[1])
    assert run(["replay", record, "--plain", "--since-start"]) == 0
    assert "+59" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        pytest.param("{name: a, expect: [redy within 3s]}", "(nearest: ready)",
                     id="word"),
        pytest.param("{name: a, expect: [ready in 3s]}",
                     '2:24: cases[0].expect[0]: needs within 30s or for 2m, but has '
                     '"in 3s"', id="limit"),
        pytest.param("{name: a, expect: [ready within soon]}",
                     '"soon" is not a duration', id="duration"),
        pytest.param("{name: a, expect: [ready again]}", "has nothing", id="no limit"),
        pytest.param("{name: a, expect: [holds for 3s]}",
                     "holds needs a state before it", id="holds what"),
        pytest.param("{name: a, expect: [restarts = 0]}",
                     "restarts needs a relation and a number", id="relation"),
        pytest.param("{name: a, expect: [event]}", "event needs a reason",
                     id="no reason"),
        pytest.param("{name: a, expect: [{ap: ready within 3s}]}",
                     'no pod and no container is called "ap" (has: web, app) '
                     "(nearest: app)", id="target"),
        pytest.param("{name: a, expect: [{after freze app: killed within 3s}]}",
                     "(nearest: freeze)", id="action"),
        pytest.param("{name: a, expect: [after freeze app]}", "expects nothing",
                     id="nothing is expected"),
        pytest.param("{name: a, expect: [{after kill: killed within 3s}]}",
                     "kill needs a container, as in kill app", id="what is killed"),
        pytest.param("{name: a, expect: [{after kill app 3s: killed within 3s}]}",
                     'kill does not take "3s"', id="length of a kill"),
        pytest.param(
            "{name: a, expect: [ready for 3s, {after inject app "
            "startup failure: kills == 1}]}",
            "web/app has no startup probe", id="probe"),
        pytest.param(
            "{name: a, expect: [ready for 3s, {after inject app "
            "liveness fail: kills == 1}]}",
            "(nearest: failure)", id="result"),
        pytest.param(
            "{name: a, expect: [ready for 3s, {after inject app "
            "liveness failure 0: kills == 1}]}",
            '"0" is not a number of ticks from 1 to 1000', id="times"),
        pytest.param("{name: a, expect: [{after delay app: killed within 3s}]}",
                     "delay needs a length", id="delay"),
        pytest.param("{name: a, expect: [ready for 3s, {after freeze app 9s: "
                     "ready within 3s}]}",
                     '"ready within 3s" may still be true when freeze begins',
                     id="vague"),
        pytest.param("{name: a, expect: [{after kill app: ready within 9s}]}",
                     "kill app: nothing runs yet: expect ready within 30s before",
                     id="too early"),
        pytest.param("{name: a, expect: [restarts == 0]}",
                     '"restarts == 0" is true before anything', id="empty"),
        pytest.param("{name: a, expect: [not ready within 3s]}",
                     '"not ready within 3s" is true before', id="not yet ready"),
        pytest.param("{name: a, expect: [succeeded within 3s]}",
                     "web never ends (restartPolicy Always)", id="impossible"),
        pytest.param("{name: a, expects: [ready within 3s], expect: [ready for 3s]}",
                     'did you mean "expect"?', id="field"),
        pytest.param("{expect: [ready within 3s]}", "cases[0]: has no name", id="name"),
        pytest.param("{name: a}", "cases[0]: has no expect", id="no expectation"),
        pytest.param("{name: a, pods: [wbe], expect: [ready within 3s]}",
                     'cases[0].pods[0]: there is no pod "wbe" (has: web)', id="pod"),
        pytest.param("{name: a, selector: app=db, expect: [ready within 3s]}",
                     "no pod has these labels", id="labels"),
        pytest.param("{name: a, runtimes: [dokcer], expect: [ready within 3s]}",
                     "(nearest: docker)", id="runtime"),
        pytest.param(
            "{name: a, runtimes: [docker], script: {}, expect: [ready within 3s]}",
            "a script is followed on sim only, not on docker", id="script elsewhere"),
        pytest.param("{name: a, script: gone.yaml, expect: [ready within 3s]}",
                     "gone.yaml: No such file or directory", id="no script"),
        pytest.param("{name: a, script: {container: {}}, expect: [ready within 3s]}",
                     'did you mean "containers"?', id="script"),
        pytest.param("{name: a, set: [db.livenessProbe.periodSeconds=3], "
                     "expect: [ready for 3s]}",
                     "set: ", id="setting"),
        pytest.param("{name: a, timeout: soon, expect: [ready within 3s]}",
                     'cases[0].timeout: "soon" is not a duration', id="time limit"),
    ],
)  # fmt: skip
def test_problems_of_a_case_file_are_reported_with_their_position(
    cases: Cases, case: str, problem: str
) -> None:
    refusal = cases.refusal(case)

    assert refusal.startswith("2:")
    assert problem in refusal


def test_two_cases_with_one_name_are_refused(cases: Cases) -> None:
    assert cases.run(TWO.replace("is killed", "starts")) == 2
    assert "cases[1].name: is the name of another case" in cases.err


def test_the_schema_has_the_fields_that_the_program_accepts(
    cases: Cases, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["schema", "cases"]) == 0

    schema = json.loads(capsys.readouterr().out)
    case = schema["properties"]["cases"]["items"]
    refused = cases.refusal("{name: a, it: 3, expect: [ready within 3s]}")
    assert f"(has: {', '.join(case['properties'])})" in refused
    assert case["required"] == ["name", "expect"]


@pytest.mark.parametrize(
    ("version", "grace"), [("1.20", "3s(pod)"), ("1.36", "7s(liveness probe)")]
)
def test_the_lines_of_a_case_go_by_its_version(
    cases: Cases, version: str, grace: str
) -> None:
    text = """\
cases:
  - name: it
    script: {containers: {app: {lasts: 2s, exitCode: 1}}}
    expect: [restarts == 0 for 30s]
"""
    own = "failureThreshold: 2, terminationGracePeriodSeconds: 7"
    pod = POD.replace("failureThreshold: 2", own)

    assert cases.run(text, "--kubelet", version, pod=pod) == 1

    assert f"kill-grace={grace}" in cases.out


@pytest.mark.parametrize(("version", "within"), [("1.20", 179), ("1.36", 89)])
def test_a_pod_without_cases_has_the_time_that_its_version_takes(
    cases: Cases, version: str, within: int
) -> None:
    pod = POD.replace("livenessProbe", "startupProbe").replace(
        "failureThreshold: 2", "failureThreshold: 5"
    )

    assert cases.run("", "--kubelet", version, "-o", "json", pod=pod) == 0

    assert f"ready within {within}s" in cases.out
