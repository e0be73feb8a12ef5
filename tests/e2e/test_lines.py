"""The program without a terminal: lines, records, statuses, signals."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from probetui.kubelet.journal import NoteEntry, StatusEntry, TickEntry
from probetui.record.reader import read_recording
from tests.e2e.program import PROGRAM, Program, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \S+ .+")

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  restartPolicy: {policy}
  terminationGracePeriodSeconds: 1
  containers: [{{name: app, image: none, command: [sh, -c, "{script}"]}}]
"""


UNREADY = """\
apiVersion: v1
kind: Pod
metadata: {name: other}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: none
      command: [sleep, "300"]
      readinessProbe: {exec: {command: ["false"]}, periodSeconds: 1}
"""
STEADY = "trap 'exit 0' TERM; while :; do sleep 0.05; done"
"""A script that runs until it gets SIGTERM."""


def pod(script: str = STEADY, policy: str = "Always", name: str = "job") -> str:
    return POD.format(script=script, policy=policy, name=name)


def with_probe(manifest: str, probe: str) -> str:
    return manifest.rstrip().removesuffix("}]") + f", livenessProbe: {probe}}}]\n"


FAILING = with_probe(
    pod(), "{exec: {command: [cat, none]}, periodSeconds: 1, failureThreshold: 1}"
)
"""Is killed after a second and started again."""

PROCESSES = ("-f", "-", "--runtime", "process")


def test_the_demo_shows_a_restart_and_leaves_nothing_behind(program: Program) -> None:
    done = program.run("demo", "--plain", "--until", "restarts=1", "--timeout", "50s")

    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert all(LINE.fullmatch(line) for line in lines)
    text = "\n".join(line.split(" ", 1)[1] for line in lines)
    assert re.search(r"liveness/app liveness #\d+ failure \S+ run 1/3 no-action", text)
    assert re.search(r"liveness/app liveness #\d+ failure .* 3/3 kill grace=2s", text)
    assert "liveness/app started restart=1" in text
    assert text.endswith("liveness gone")
    assert program.left_behind() == []


def test_messages_go_to_standard_error_and_no_escape_codes_are_printed(
    program: Program,
) -> None:
    done = program.run("demo", "--until", "started", "--timeout", "20s")

    assert done.returncode == 0
    assert "probetui: note: liveness: After 5s the file" in done.stderr
    assert "probetui:" not in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_a_record_is_complete_with_a_json_object_per_line(
    program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"

    done = program.run(
        *PROCESSES, "-o", "jsonl", "--until", "restarts=1", "--timeout", "50s",
        "--record", str(path), "--seed", "7", stdin=FAILING,
    )  # fmt: skip

    assert done.returncode == 0
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert path.read_text() == done.stdout
    assert [records[0]["type"], records[-1]["type"]] == ["session", "end"]
    assert [record["seq"] for record in records] == list(range(len(records)))
    inputs = [record["n"] for record in records if record["type"] == "input"]
    assert inputs == list(range(1, len(inputs) + 1))
    assert records[0]["seed"] == 7
    assert "name: job" in records[0]["manifests"][0]["text"]
    assert records[-1]["reason"] == "until"
    assert records[-1]["exit"] == 0
    assert {"tick", "event", "state", "status", "container", "gone"} <= {
        record["type"] for record in records
    }
    recording = read_recording(path)
    assert len(recording.entries) == len(records) - len(inputs) - 2
    assert any(isinstance(entry, TickEntry) for entry in recording.entries)
    last = [entry for entry in recording.entries if isinstance(entry, StatusEntry)][-1]
    assert last.status.phase == "Succeeded"


def test_the_record_can_be_written_to_standard_output(program: Program) -> None:
    done = program.run(*PROCESSES, "--record", "-", "--until", "started", stdin=pod())

    assert json.loads(done.stdout.splitlines()[0])["type"] == "session"


def test_a_full_disk_at_the_start_is_an_error(program: Program) -> None:
    done = program.run(*PROCESSES, "--record", "/dev/full", stdin=FAILING)

    assert done.returncode == 2
    assert done.stdout == ""
    assert "--record /dev/full: No space left on device" in done.stderr


def test_a_disk_that_fills_up_ends_the_record_and_not_the_session(
    program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    command = shlex.join(
        [
            str(PROGRAM), *PROCESSES, "--no-autosave", "--record", str(path),
            "--until", "restarts=1",
        ]
    )  # fmt: skip

    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 12; exec {command}"],
        env=program.environment,
        input=FAILING,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0
    assert done.stderr.count(f"recording stopped: {path}: File too") == 1
    assert path.stat().st_size > 4000
    assert path.read_text().endswith("}\n")


def test_only_the_selection_is_printed(program: Program) -> None:
    manifest = f"{FAILING}---\n{FAILING.replace('job', 'two').replace('app', 'bee')}"

    done = program.run(
        *PROCESSES, "-c", "bee", "--until", "two:restarts=1", stdin=manifest
    )

    assert done.returncode == 0
    assert {line.split()[1] for line in done.stdout.splitlines()} <= {"two/bee", "user"}
    assert "two/bee liveness #" in done.stdout


def test_the_time_limit_ends_it_with_4(program: Program) -> None:
    done = program.run(*PROCESSES, "--timeout", "1s", stdin=pod())

    assert done.returncode == 4
    assert "probetui: error: --timeout" in done.stderr
    assert program.left_behind() == []


@pytest.mark.parametrize(
    ("script", "status", "phase"),
    [
        pytest.param("exit 0", 0, "Succeeded", id="succeeds"),
        pytest.param("exit 3", 1, "Failed", id="fails"),
    ],
)
def test_the_session_ends_with_its_pods_and_returns_their_result(
    program: Program, script: str, status: int, phase: str
) -> None:
    done = program.run(*PROCESSES, stdin=pod(script, "Never"))

    assert done.returncode == status
    assert f"->{phase}" in done.stdout
    assert "stopping" not in done.stderr
    assert program.left_behind() == []


def test_a_condition_that_can_no_longer_be_met_gives_status_1(
    program: Program,
) -> None:
    done = program.run(
        *PROCESSES, "--until", "event=Killing", stdin=pod("exit 0", "Never")
    )

    assert done.returncode == 1
    assert "event=Killing can never happen: nothing of job runs" in done.stderr


def test_a_missing_command_is_reported_with_status_6(
    program: Program,
) -> None:
    manifest = pod().replace("sh, -c", "/no/such/program, -c")

    done = program.run(*PROCESSES, "--timeout", "3s", stdin=manifest)

    assert done.returncode == 6
    assert "job/app could not be started: " in done.stderr


@pytest.mark.parametrize(
    ("number", "status"),
    [
        pytest.param(signal.SIGINT, 130, id="SIGINT"),
        pytest.param(signal.SIGTERM, 143, id="SIGTERM"),
    ],
)
def test_a_signal_stops_the_containers(
    program: Program, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(pod())

    with program.started("-f", str(path), "--runtime", "process") as process:
        assert process.stdout is not None
        wait_for("started restart=0", process.stdout)
        process.send_signal(number)
        rest = process.stdout.read()
        process.wait(timeout=30)

    assert process.returncode == status
    assert "job/app exit 0 reason=delete" in rest
    assert program.left_behind() == []


def test_a_watched_manifest_that_becomes_invalid_is_reported_and_recorded(
    program: Program, tmp_path: Path
) -> None:
    path, record = tmp_path / "pods" / "pod.yaml", tmp_path / "session.jsonl"
    path.parent.mkdir()
    path.write_text(pod())
    arguments = ("-f", str(path), "--watch", "--record", str(record))

    with program.started(*arguments, "--runtime", "process") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        wait_for("started restart=0", process.stdout)
        path.write_text("kind: [")
        message = wait_for("pod.yaml:2:1: did not find", process.stderr)
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        process.wait(timeout=30)

    assert message.startswith("probetui: error: ")
    recording = read_recording(record)
    notes = [entry for entry in recording.entries if isinstance(entry, NoteEntry)]
    assert [note.is_fault for note in notes] == [True, False]
    assert "pod.yaml:2:1: did not find" in notes[0].text


def test_a_second_signal_leaves_the_containers_and_down_removes_them(
    program: Program,
) -> None:
    with program.started("demo", "grace", "--seed", "1") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        wait_for("started restart=0", process.stdout)
        during = program.run("down", "--all", "--runtime", "process")
        process.send_signal(signal.SIGINT)
        wait_for("probetui: note: stopping grace (within 8s; ^C", process.stderr)
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
        process.wait(timeout=5)

    left = program.left_behind()
    down = program.run("down", "--all", "--runtime", "process")
    assert during.returncode == 1
    assert f"is run by process {process.pid}" in during.stderr
    assert process.returncode == 130
    assert "left running: grace; `probetui down grace` removes them" in errors
    assert left == ["pod/grace"]
    assert down.stdout == "removed default/grace (process)\n"
    assert program.left_behind() == []


def test_a_closed_pipe_ends_the_session_without_an_error(
    program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(FAILING)

    with program.started("-f", str(path), "--runtime", "process") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(timeout=30)

    assert process.returncode == 141
    assert "Traceback" not in errors
    assert "error:" not in errors
    assert program.left_behind() == []


def test_a_kept_pod_keeps_running_and_is_adopted_by_the_next_run(
    program: Program,
) -> None:
    args = (*PROCESSES, "--until", "started")
    first = program.run(*args, "--keep", stdin=pod())
    kept = program.run("ls", "--runtime", "process", "-o", "json")
    second = program.run(*args, stdin=pod())

    assert "kept: job; `probetui down job` removes them" in first.stderr
    assert first.stdout.count("job/app started restart=0") == 1
    containers = json.loads(kept.stdout)[0]["containers"]
    assert [container["state"] for container in containers] == ["running"]
    assert second.returncode == 0
    assert "started restart" not in second.stdout
    assert program.left_behind() == []


def test_a_session_of_other_pods_does_not_change_a_kept_pod(
    program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(UNREADY)
    args = (*PROCESSES, "--until", "started")
    with program.started("-f", str(path), "--runtime", "process", "--plain") as other:
        assert other.stdout is not None
        wait_for("other/app started restart=0", other.stdout)
        program.run(*args, "--keep", stdin=pod())
        # A session relists all containers every second.
        later = (datetime.now(UTC) + timedelta(seconds=3)).isoformat()  # noqa: TID251  # of another program
        while wait_for("other/app readiness ", other.stdout) < later:
            pass
        second = program.run(*args, stdin=pod())
        other.send_signal(signal.SIGINT)
        other.communicate()

    assert second.returncode == 0
    assert "started restart" not in second.stdout
    assert program.left_behind() == []


def test_a_changed_manifest_replaces_a_kept_pod(program: Program) -> None:
    args = (*PROCESSES, "--until", "started")
    program.run(*args, "--keep", stdin=pod())

    second = program.run(*args, stdin=pod(f"true; {STEADY}"))

    assert second.returncode == 0
    assert "removing default/job of an earlier run" in second.stderr
    assert program.left_behind() == []


def test_a_pod_that_already_runs_is_refused(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(pod())
    args = ("-f", str(path), "--runtime", "process")

    with program.started(*args) as process:
        assert process.stdout is not None
        wait_for("started restart=0", process.stdout)
        second = program.run(*args, "--timeout", "5s")
        process.terminate()
        process.communicate(timeout=30)

    assert second.returncode == 2
    assert "is run by another probetui (process " in second.stderr


def test_secrets_are_masked_in_all_output(program: Program, tmp_path: Path) -> None:
    manifest = with_probe(
        pod(),
        "{exec: {command: [sh, -c, echo $(API_TOKEN); exit 1]}, periodSeconds: 1}",
    ).replace("image: none", "image: none, env: [{name: API_TOKEN, value: hunter22}]")
    path = tmp_path / "session.jsonl"
    args = (*PROCESSES, "--until", "event=Unhealthy")

    masked = program.run(*args, "--record", str(path), stdin=manifest)
    shown = program.run(*args, "--show-secrets", stdin=manifest)

    assert masked.returncode == 0
    assert "hunter22" not in masked.stdout + path.read_text()
    assert '"***' in masked.stdout
    assert "hunter22" in shown.stdout


def test_nothing_is_probed_while_paused(program: Program) -> None:
    done = program.run(*PROCESSES, "--paused", "--timeout", "4s", stdin=FAILING)

    assert "job/app started restart=0" in done.stdout
    assert " failure " not in done.stdout


def test_times_can_count_from_the_start(program: Program) -> None:
    done = program.run(*PROCESSES, "--since-start", "--until", "started", stdin=pod())

    assert all(re.match(r"\+\d+\.\ds ", line) for line in done.stdout.splitlines())


def test_the_module_runs_the_program(program: Program) -> None:
    done = subprocess.run(
        [PROGRAM.with_name("python"), "-m", "probetui", "version"],
        env=program.environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == program.run("version").stdout


def test_a_closed_standard_output_is_no_crash(program: Program) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{PROGRAM} version >&-"],
        env=program.environment,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )

    assert "Traceback" not in done.stderr


def test_shell_completion(program: Program, tmp_path: Path) -> None:
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(pod("exit 0"))

    def offered(*words: str) -> list[str]:
        environment = {
            **program.environment,
            "_PROBETUI_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(("probetui", *words)),
            "COMP_CWORD": str(len(words)),
        }
        done = subprocess.run(
            [PROGRAM],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        return [line.split(",")[1] for line in done.stdout.split()]

    assert "demo" in offered("")
    assert offered("demo", "live") == ["liveness"]
    assert offered("run", "--runtime", "d") == ["docker"]
    assert "nord" in offered("run", "--theme", "")
    assert offered("run", "-f", str(manifest), "-c", "") == ["app"]
    assert offered("run", "-f", "/no/such/file", "-c", "") == []
