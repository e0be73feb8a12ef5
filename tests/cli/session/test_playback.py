"""`sim` and `replay` on the command line, and sessions that are saved automatically."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from probetui.cli.main import run
from probetui.cli.session.autosave import LAST
from probetui.errors import RecordError
from probetui.kubelet.journal import ContainerEntry, LifecycleStep
from probetui.record.reader import RecordingFile, read_recording

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 3
  containers:
    - name: app
      image: none
      livenessProbe: {exec: {command: [check]}, periodSeconds: 2}
    - name: other
      image: none
      env: [{name: API_TOKEN, value: hunter22}]
      readinessProbe: {httpGet: {port: 80}, periodSeconds: 3}
"""
SCRIPT = """
containers:
  app:
    - stopsAfter: never
      liveness: [{result: success, until: 10s}, {result: failure, output: gone}]
    - {}
  web/other:
    readiness: {repeat: true, results: [success, {result: failure, times: 2}]}
"""

POD_OF_A_CROWD = """
---
apiVersion: v1
kind: Pod
spec:
  containers:
    - {name: a, image: x, livenessProbe: {tcpSocket: {port: 1}, periodSeconds: 5}}
    - {name: b, image: x, readinessProbe: {tcpSocket: {port: 1}, periodSeconds: 5}}
metadata:
  name: crowd-"""


KILLED_AFTER_SECONDS = 120
"""Far more seconds than a process needs to print on any machine."""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    pod, script = tmp_path / "pod.yaml", tmp_path / "script.yaml"
    pod.write_text(POD)
    script.write_text(SCRIPT)
    return str(pod), str(script)


@pytest.fixture
def sim(files: tuple[str, str]) -> list[str]:
    """Return a command line that simulates them."""
    return ["sim", "-f", files[0], "--script", files[1], "--plain"]


def read_until(process: subprocess.Popen[bytes], words: bytes) -> None:
    """Read the output of a process up to `words`; kill it if they never come."""
    assert process.stdout is not None
    output = b""
    end = threading.Timer(KILLED_AFTER_SECONDS, process.kill)
    end.start()
    try:
        for line in process.stdout:
            output += line
            if words in line:
                return
    finally:
        end.cancel()
    raise AssertionError(f"it ended without {words!r}: {output!r}")


def sessions(home: Path) -> Path:
    return home / "state" / "probetui" / "sessions"


def test_a_simulation_ends_when_its_condition_is_met(
    sim: list[str], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    status = run([*sim, "--until", "web/app:restarts=1"])

    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert status == 0
    assert any(
        "liveness #8 failure 5ms run 3/3 kill grace=3s" in line for line in lines
    )
    assert any("web/app exit 137 after-grace reason=liveness" in line for line in lines)
    assert all(line.startswith("2026-01-01T00:00:") for line in lines)


@pytest.mark.parametrize(
    ("options", "status", "length"),
    [
        pytest.param(["--for", "1m"], 0, 60, id="for"),
        pytest.param(["--timeout", "30s"], 4, 30, id="timeout"),
        pytest.param(["--timeout", "5s", "--until", "restarts=3"], 4, 5, id="too soon"),
        pytest.param(["--for", "5s", "--until", "restarts=3"], 1, 5, id="not in it"),
        pytest.param([], 0, 600, id="long enough"),
        pytest.param(["--until", "restarts=9"], 1, 600, id="what never comes"),
        pytest.param(
            ["--until", "web/app:ready", "--for-at-least", "2s"], 0, 2.005, id="held"
        ),
    ],
)
def test_limits_are_in_simulated_time(
    sim: list[str],
    tmp_path: Path,
    options: list[str],
    status: int,
    length: float,
) -> None:
    path = tmp_path / "record.jsonl"

    found = run([*sim, "-q", "--record", str(path), *options])

    end = read_recording(path).end
    assert found == status
    assert end is not None
    assert (end.exit, end.t) == (status, length)


def test_problems_of_a_script_are_reported_with_their_position(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path(files[1]).write_text("containers:\n  ap: {liveness: maybe}\n")

    status = run(["sim", "-f", files[0], "--script", files[1]])

    errors = capsys.readouterr().err.splitlines()
    assert status == 2
    assert errors[0].endswith(
        ':2:7: containers.ap: there is no container "ap" '
        "(has: app, web/app, other, web/other)"
    )
    assert ':2:18: containers.ap.liveness: "maybe" is not one of' in errors[1]
    assert errors[2].endswith("2 errors, nothing was started")


def test_options_for_virtual_time_are_refused_on_real_runtimes(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(["run", "-f", files[0], "--runtime", "process", "--for", "5s"])

    assert status == 2
    assert "--for works in a simulation only" in capsys.readouterr().err


def test_sim_can_be_the_runtime_of_run(
    files: tuple[str, str], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    status = run(
        ["run", "-f", files[0], "--runtime", "sim", "--plain", "--until", "ready"]
    )

    assert status == 0
    assert b"web/other ready false->true" in capfdbinary.readouterr().out


def test_a_replay_prints_what_the_session_printed(
    sim: list[str], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "record.jsonl"
    run([*sim, "--for", "2m", "--record", str(path)])
    output = capfdbinary.readouterr().out

    status = run(["replay", str(path), "--plain"])

    assert status == 0
    assert capfdbinary.readouterr().out == output
    assert output.count(b"\n") > 50


def test_a_replay_can_stop_and_select_like_a_session(
    sim: list[str], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    run([*sim, "--for", "2m", "-q"])
    capfdbinary.readouterr()

    status = run(["replay", "--plain", "-c", "app", "--until", "web/app:killed"])

    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert status == 0
    assert {line.split()[1] for line in lines} == {"web/app"}
    assert "kill" in lines[-1]


def test_the_intact_part_of_a_truncated_record_is_replayed(
    sim: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "record.jsonl"
    run([*sim, "--for", "2m", "-q", "--record", str(path)])
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])

    status = run(["replay", str(path), "--plain"])

    shown = capfd.readouterr()
    assert status == 0
    assert "started restart=0" in shown.out
    assert "is damaged: cut off after " in shown.err


def test_a_record_of_a_newer_version_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "record.jsonl"
    path.write_text(
        '{"v":2,"seq":0,"ts":"2026-01-01T00:00:00Z","t":0.0,"type":"session"}\n'
    )

    status = run(["replay", str(path)])

    assert status == 2
    assert "this probetui reads up to version 1" in capsys.readouterr().err


def test_a_replay_without_a_file_and_a_last_session_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["replay"]) == 2
    assert "there is no last session" in capsys.readouterr().err


@pytest.mark.slow
def test_two_processes_write_identical_records_of_one_script(
    sim: list[str], tmp_path: Path
) -> None:
    # With many ticks due at once, a random order would show.
    crowd = tmp_path / "crowd.yaml"
    crowd.write_text("".join(f"{POD_OF_A_CROWD}{number}\n" for number in range(8)))

    def record(hash_seed: int) -> bytes:
        return subprocess.run(
            [
                sys.executable, "-m", "probetui", *sim, "-f", str(crowd),
                "--for", "5m", "--record", "-",
            ],
            check=True,
            capture_output=True,
            env={
                **os.environ,
                "PYTHONHASHSEED": str(hash_seed),
                "XDG_STATE_HOME": str(tmp_path / str(hash_seed)),
            },
        ).stdout  # fmt: skip

    first, second = record(1), record(2)

    assert first == second
    assert first.count(b'"type":"tick"') > 100
    assert b"hunter22" not in first


# -- saved automatically


def test_the_last_session_is_saved_and_the_previous_one_is_kept(
    sim: list[str], home: Path
) -> None:
    run([*sim, "-q", "--for", "10s"])
    run([*sim, "-q", "--for", "20s"])

    folder = sessions(home)
    kept = [path for path in folder.iterdir() if not path.is_symlink()]
    ends = [read_recording(path).end for path in kept]
    last = read_recording(folder / LAST).end
    assert {end and end.t for end in ends} == {10, 20}
    assert last is not None
    assert last.t == 20
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    assert b"hunter22" not in gzip.decompress((folder / LAST).read_bytes())


def test_kept_sessions_above_the_limit_are_removed(sim: list[str], home: Path) -> None:
    for _ in range(3):
        run([*sim, "-q", "--for", "10s", "--autosave-limit", "1"])

    kept = [path for path in sessions(home).iterdir() if not path.is_symlink()]
    assert kept == [(sessions(home) / LAST).resolve()]


def test_an_invalid_size_is_refused(
    sim: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*sim, "--autosave-limit", "much"]) == 2
    assert '"much" is not a size; write 500M, 1Gi' in capsys.readouterr().err


def test_saving_can_be_disabled_in_the_settings(sim: list[str], home: Path) -> None:
    config = home / "config" / "probetui" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("autosave: false\n")

    run([*sim, "-q", "--for", "10s"])

    assert not sessions(home).exists()


def test_a_session_that_cannot_be_saved_continues_and_says_so_once(
    sim: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sessions(home).parent.mkdir(parents=True)
    sessions(home).write_text("in the way")

    assert run([*sim, "--for", "10s"]) == 0

    words = "probetui: note: the session is not saved for replay: "
    assert capsys.readouterr().err.count(f"{words}{sessions(home)}: ") == 1


def test_a_quiet_session_that_cannot_be_saved_says_nothing(
    sim: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sessions(home).parent.mkdir(parents=True)
    sessions(home).write_text("in the way")

    assert run([*sim, "-q", "--for", "10s"]) == 0
    assert capsys.readouterr().err == ""


def test_a_session_that_is_killed_has_been_saved(
    sim: list[str], tmp_path: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "probetui", *sim, "--time-scale", "64"],
        stdout=subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
    ) as process:
        read_until(process, b"restart=1")
        process.send_signal(signal.SIGKILL)

    path = tmp_path / "probetui" / "sessions" / LAST
    recording = read_recording(path)
    assert recording.end is None
    assert RecordingFile(path).entries == len(recording.entries)
    assert any(getattr(entry, "restart_count", 0) == 1 for entry in recording.entries)
    assert run(["replay", str(path), "--plain", "-q"]) == 0


def test_a_later_part_of_a_session_is_refused_with_the_reason(
    tmp_path: Path,
) -> None:
    path = tmp_path / "last.jsonl"
    path.write_text(
        '{"v":1,"seq":0,"ts":"2026-01-01T00:00:00.000000Z","t":0.0,"type":"session",'
        '"probetui":"1","runtime":"sim","kubelet":"v1.32","options":{},"manifests":[],'
        '"seed":1,"config":{},"continues":true}\n'
    )

    with pytest.raises(RecordError, match="a later part of a session"):
        RecordingFile(path)


@pytest.mark.slow
def test_a_session_on_real_processes_is_replayed_exactly(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "record.jsonl"
    line = ["demo", "liveness", "--plain", "--timeout", "60s"]
    assert run([*line, "--until", "restarts=1", "--record", str(path)]) == 0
    output = capfd.readouterr().out

    status = run(["replay", str(path), "--plain"])

    replayed = capfd.readouterr()
    assert status == 0
    assert replayed.out == output
    assert "replay differs" not in replayed.err
    assert "further than" not in replayed.err


def test_a_paused_session_shows_its_pods_and_stops_there(
    files: tuple[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "record.jsonl"
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "probetui", "sim", "-f", files[0], "--plain"),
            *("--paused", "--record", str(path)),
        ],
        stdout=subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
    ) as process:
        read_until(process, b"pause")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143

    recording = read_recording(path)
    assert {entry.at for entry in recording.entries} == {recording.entries[0].at}
    assert any(
        isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.STARTED
        for entry in recording.entries
    )
