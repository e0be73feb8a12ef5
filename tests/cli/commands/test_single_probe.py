"""`probetui probe`: one run of one probe, on a container of any runtime."""

from __future__ import annotations

import json
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from probetui.cli.commands.single_probe import (
    choose_probe,
    exit_status_of,
    find_other_runtime,
    locate_container,
)
from probetui.cli.main import run
from probetui.cli.printing import Notes
from probetui.errors import NothingToDoError, RuntimeUnavailableError, UsageError
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import CreateContainer, RunPodSandbox
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult
from probetui.runtimes.attached.runtime import AttachedRuntime
from tests.builders import START, a_container, a_pod, an_exec_probe
from tests.fakes import FakeClock, FakeEngine, FakeRuntime
from tests.runtimes.fake_unmanaged import FakeUnmanaged, RuntimeOfOthers

PROBE = an_exec_probe("true")
APP = a_container("app", liveness_probe=PROBE, readiness_probe=PROBE)
WEB = a_pod(APP, a_container("log", liveness_probe=PROBE), name="web")
NOTES = Notes(quiet=True)

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - name: app
      image: none
      env: [{name: API_TOKEN, value: hunter2-hunter2}]
      livenessProbe: {exec: {command: [sh, -c, "echo $PWD; exit 3"]}}
      readinessProbe: {exec: {command: [/no/such/program]}}
      startupProbe: {exec: {command: [echo, fine, hunter2-hunter2]}}
"""


def test_the_only_matching_probe_is_selected() -> None:
    wanted = choose_probe([WEB], "app", "readiness")

    assert (wanted.container, wanted.probe_type) == (APP, ProbeType.READINESS)


@pytest.mark.parametrize(
    ("container", "probe_type", "message"),
    [
        pytest.param(
            None,
            None,
            "more than one probe matches: web/app liveness, web/app read",
            id="any",
        ),
        pytest.param(
            "app", None, "more than one probe matches: web/app l", id="container only"
        ),
        pytest.param(None, "liveness", "more than one probe", id="type only"),
        pytest.param(
            "app", "startup", "no probe matches, there are: web/app liveness", id="none"
        ),
        pytest.param("ap", None, r'called "ap" \(has: app, log\)', id="no container"),
    ],
)
def test_a_selection_of_not_exactly_one_probe_is_refused(
    container: str | None, probe_type: str | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        choose_probe([WEB], container, probe_type)


def test_a_pod_without_probes_has_nothing_to_run() -> None:
    with pytest.raises(NothingToDoError):
        choose_probe([a_pod()], None, None)


@pytest.mark.parametrize(
    ("attempt", "status"),
    [
        pytest.param(Attempt(ProbeResult.SUCCESS), 0, id="success"),
        pytest.param(Attempt(ProbeResult.WARNING), 0, id="warning"),
        pytest.param(Attempt(ProbeResult.FAILURE), 1, id="failure"),
        pytest.param(Attempt(ProbeResult.UNKNOWN, error="no"), 125, id="errored"),
    ],
)
def test_the_exit_status_is_the_kubelets_result(attempt: Attempt, status: int) -> None:
    assert exit_status_of(ProbeOutcome((attempt,), START, timedelta())) == status


async def a_runtime_with_the_pod() -> tuple[FakeRuntime, ContainerID]:
    runtime = FakeRuntime(FakeEngine(FakeClock()))
    sandbox = await runtime.run_pod_sandbox(RunPodSandbox(WEB, 0))
    container_id = await runtime.create_container(
        CreateContainer(WEB, APP, sandbox, 0, "")
    )
    await runtime.start_container(container_id)
    return runtime, container_id


async def test_a_container_of_a_managed_pod_is_found() -> None:
    runtime, container_id = await a_runtime_with_the_pod()

    place = await locate_container(
        runtime, choose_probe([WEB], "app", "liveness"), (), FakeClock(), NOTES
    )

    assert (place.runtime, place.container_id) == (runtime, container_id)
    assert place.pod_ip != ""


async def test_a_container_of_another_runtime_is_reported_with_its_runtime() -> None:
    asked = FakeRuntime(FakeEngine(FakeClock()))
    other, _ = await a_runtime_with_the_pod()
    asked.name, other.name = "docker", "process"
    wanted = choose_probe([WEB], "app", "liveness")

    kind = await find_other_runtime(asked, [asked, other], wanted)
    nowhere = await find_other_runtime(other, [asked, other], wanted)

    assert (kind, nowhere) == ("process", "")


async def test_an_unmanaged_container_is_found_by_an_argument() -> None:
    runtime = RuntimeOfOthers(FakeUnmanaged("shop-web-1"))

    place = await locate_container(
        runtime,
        choose_probe([WEB], "app", "liveness"),
        ["app=shop-web-1"],
        FakeClock(),
        NOTES,
    )

    assert isinstance(place.runtime, AttachedRuntime)
    assert place.container_id == "docker://shop-web-11"


@pytest.mark.parametrize(
    "runtime",
    [
        pytest.param(FakeRuntime, id="ours only"),
        pytest.param(lambda _: RuntimeOfOthers(FakeUnmanaged("other")), id="others"),
    ],
)
async def test_a_container_that_does_not_run_cannot_be_probed(
    runtime: type[FakeRuntime],
) -> None:
    wanted = choose_probe([WEB], "app", "liveness")
    made = runtime(FakeEngine(FakeClock()))

    with pytest.raises(RuntimeUnavailableError, match="web/app does not run on"):
        await locate_container(made, wanted, (), FakeClock(), NOTES)


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return str(path)


def probe(path: str, process: subprocess.Popen[bytes], *args: str) -> int:
    return run(
        ["probe", "-q", "-f", path, "--runtime", "process", f"app={process.pid}", *args]
    )


def test_a_failure_is_printed_with_its_output(
    capfd: pytest.CaptureFixture[str],
    process: subprocess.Popen[bytes],
    path: str,
    tmp_path: Path,
) -> None:
    status = probe(path, process, "-t", "liveness")

    first, second, third = capfd.readouterr().out.splitlines()
    assert status == 1
    assert first.startswith("web/app liveness: exec sh -c echo $PWD; exit 3 in process")
    assert second.startswith("failure in ")
    assert third == f"  {tmp_path}"


def test_a_probe_that_cannot_be_run_is_tried_three_times(
    capfd: pytest.CaptureFixture[str], process: subprocess.Popen[bytes], path: str
) -> None:
    status = probe(path, process, "-t", "readiness")

    lines = capfd.readouterr().out.splitlines()
    assert status == 125
    assert [line.partition(" in ")[0] for line in lines[1:-2:2]] == [
        "attempt 1: errored",
        "attempt 2: errored",
        "attempt 3: errored",
    ]
    assert lines[-2].startswith("hint: the command is not in the image: ")
    assert "no such file or directory" in lines[2]


def test_a_success_comes_as_json_without_secrets(
    capfd: pytest.CaptureFixture[str], process: subprocess.Popen[bytes], path: str
) -> None:
    status = probe(path, process, "-t", "startup", "-o", "json")

    found = json.loads(capfd.readouterr().out)
    assert (status, found["result"], found["probe"]) == (0, "success", "startup")
    assert found["attempts"][0]["output"].startswith("fine ")
    assert "hunter2" not in str(found)


REFUSED = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - name: app
      image: none
      livenessProbe: {tcpSocket: {port: 1}}
"""


def test_a_refused_connection_is_printed_with_the_listeners_of_the_container(
    capfd: pytest.CaptureFixture[str], process: subprocess.Popen[bytes], path: str
) -> None:
    Path(path).write_text(REFUSED)

    printed = probe(path, process), capfd.readouterr().out
    as_json = probe(path, process, "-o", "json"), capfd.readouterr().out

    hint = "nothing listens on 1: the container listens on no port at all"
    assert printed[0] == as_json[0] == 1
    assert printed[1].splitlines()[-1] == f"hint: {hint}"
    assert json.loads(as_json[1])["hint"] == hint


def test_a_missing_command_is_a_finding(
    capfd: pytest.CaptureFixture[str], process: subprocess.Popen[bytes], path: str
) -> None:
    probe(path, process, "-t", "readiness")
    finding = capfd.readouterr().out.splitlines()[-1]
    probe(path, process, "-t", "readiness", "-o", "json")
    as_json = json.loads(capfd.readouterr().out)["finding"]
    probe(path, process, "-t", "readiness", "--no-findings")
    untold = capfd.readouterr().out

    field = "spec.containers[0].readinessProbe.exec.command"
    words = '"/no/such/program" is not in the container: '
    assert finding.startswith(f"finding: warning: {path}:10:")
    assert f": {field}: {words}" in finding
    assert finding.endswith("(exec-missing-in-image)")
    assert (as_json["rule"], as_json["path"]) == ("exec-missing-in-image", field)
    assert as_json["severity"] == "warning"
    assert "finding" not in untold


def test_a_missing_container_has_its_own_exit_status(
    capfd: pytest.CaptureFixture[str], path: str
) -> None:
    status = run(["probe", "-f", path, "--runtime", "process", "-t", "liveness"])

    captured = capfd.readouterr()
    assert (status, captured.out) == (3, "")
    assert "error: web/app does not run on process" in captured.err
