"""Containers get preStop and SIGTERM even if errors happen while a session ends."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker
import pytest
import yaml

from probetui.cli.main import run
from probetui.cli.session import live, outputs
from probetui.cli.session.parts import SessionPart
from probetui.engine.engine import Engine
from probetui.headless import output
from probetui.record.writer import Recorder
from probetui.runtimes.process.runtime import ProcessRuntime
from probetui.runtimes.process.unmanaged import ProcessFaultInjector

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("_own_home")]

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: faults, namespace: robust-faults}
spec:
  terminationGracePeriodSeconds: 5
  containers:
    - name: app
      image: none
      command:
        - sh
        - -c
        - |
          trap 'echo SIGTERM >> %(trace)s; exit 0' TERM
          echo started >> %(trace)s
          while :; do sleep 0.1; done
      lifecycle: {preStop: {exec: {command: [sh, -c, "echo preStop >> %(trace)s"]}}}
      readinessProbe: {exec: {command: [cat, "%(trace)s"]}, periodSeconds: 1}
"""
BUG = 70


class InjectedError(Exception):
    """A simulated bug."""


def fails(*_: Any, **__: Any) -> Any:
    raise InjectedError("injected")


class FailingUpkeep(SessionPart):
    """Image maintenance that fails in its last run."""

    def recording_pulls(self, runtime: Any) -> Any:
        """Return the runtime unchanged."""
        return runtime

    async def before_pods_end(self, leave: asyncio.Event) -> None:
        """Fail."""
        raise InjectedError("injected")


def a_failing_upkeep(_live: Any) -> FailingUpkeep:
    return FailingUpkeep()


SHOW = live._LiveSession._show


async def fails_after_it(*args: Any) -> Any:
    await SHOW(*args)
    raise InjectedError("injected")


class FullDisk(io.RawIOBase):
    """A file on a disk that is full as soon as another file exists."""

    def __init__(self, sign: Path) -> None:
        self._sign = sign

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any, /) -> int:
        """Write the bytes, or raise an error."""
        if self._sign.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return memoryview(data).nbytes


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "trace"


@pytest.fixture
def session(tmp_path: Path, trace: Path) -> Callable[..., int]:
    """Return a function that runs a session until its pod is ready."""
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(POD % {"trace": trace})

    def start(*args: str) -> int:
        common = ("--runtime", "process", "--until", "ready", "--timeout", "30s")
        return run(["run", "-f", str(manifest), *common, *args])

    return start


@pytest.mark.parametrize(
    ("owner", "step", "fault"),
    [
        pytest.param(live, "decide_exit_status", fails, id="the verdict"),
        pytest.param(output.LinePrinter, "finish", fails, id="the last lines"),
        pytest.param(outputs.SessionOutputs, "close", fails, id="closing the outputs"),
        pytest.param(
            outputs.SessionOutputs, "__exit__", fails, id="writing what waits"
        ),
        pytest.param(Recorder, "end", fails, id="the end of the record"),
        pytest.param(live._LiveSession, "_show", fails_after_it, id="the screen"),
        pytest.param(
            live._LiveSession, "_image_maintenance", a_failing_upkeep, id="images"
        ),
        pytest.param(ProcessFaultInjector, "undo", fails, id="undoing disruptions"),
        pytest.param(ProcessRuntime, "close", fails, id="closing the runtime"),
    ],
)
def test_a_bug_in_a_step_of_the_shutdown_skips_no_other_step(
    session: Callable[..., int],
    trace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    owner: Any,
    step: str,
    fault: Any,
) -> None:
    monkeypatch.setattr(owner, step, fault)

    status = session()

    assert status == BUG
    assert "this is a bug in probetui (InjectedError)" in capfd.readouterr().err
    assert trace.read_text().split() == ["started", "preStop", "SIGTERM"]


@pytest.mark.parametrize(
    ("owner", "step"),
    [
        pytest.param(output.LinePrinter, "consume", id="printing lines"),
        pytest.param(Recorder, "note_input", id="recording inputs"),
        pytest.param(Recorder, "consume", id="recording entries"),
        pytest.param(Engine, "submit", id="the engine"),
        pytest.param(Engine, "advance", id="the engine's time"),
    ],
)
def test_a_bug_during_the_session_shuts_it_down_cleanly(
    session: Callable[..., int],
    trace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    owner: Any,
    step: str,
) -> None:
    works = getattr(owner, step)

    def fails_once_started(*args: Any, **names: Any) -> Any:
        if trace.exists():
            raise InjectedError("injected")
        return works(*args, **names)

    monkeypatch.setattr(owner, step, fails_once_started)

    status = session()

    assert status == BUG
    assert "this is a bug in probetui (InjectedError)" in capfd.readouterr().err
    assert trace.read_text().split() == ["started", "preStop", "SIGTERM"]


def test_standard_output_on_a_full_disk_shuts_the_session_down_cleanly(
    session: Callable[..., int],
    trace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    full = io.TextIOWrapper(io.BufferedWriter(FullDisk(trace)))
    monkeypatch.setattr("sys.stdout", full)

    status = session()

    monkeypatch.undo()
    errors, traced = capfd.readouterr().err, trace.read_text().split()
    trace.unlink()
    full.close()
    assert status == 2
    assert "cannot write to standard output: No space left on device" in errors
    assert traced == ["started", "preStop", "SIGTERM"]


@pytest.mark.docker
@pytest.mark.parametrize(
    ("owner", "step"),
    [
        pytest.param(output.LinePrinter, "consume", id="printing lines"),
        pytest.param(Recorder, "consume", id="recording entries"),
    ],
)
def test_a_bug_during_a_session_on_docker_shuts_it_down_cleanly(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    owner: Any,
    step: str,
) -> None:
    name = f"faults-{uuid.uuid4().hex[:8]}"
    volume = tmp_path / "volume"
    volume.mkdir()
    trace = volume / "trace"
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(on_docker(name, volume))
    works = getattr(owner, step)

    def fails_once_started(*args: Any, **names: Any) -> Any:
        if trace.exists():
            raise InjectedError("injected")
        return works(*args, **names)

    monkeypatch.setattr(owner, step, fails_once_started)
    client = docker.from_env()
    try:
        session = ("run", "-f", str(manifest), "--runtime", "docker", "--plain")
        status = run([*session, "--until", "ready", "--timeout", "60s"])
        left = client.containers.list(all=True, filters={"name": name})
        for container in left:
            container.remove(force=True, v=True)
    finally:
        client.close()

    assert status == BUG
    assert "this is a bug in probetui (InjectedError)" in capfd.readouterr().err
    assert trace.read_text().split() == ["started", "preStop", "SIGTERM"]
    assert left == []


def on_docker(name: str, volume: Path) -> str:
    """Return the pod as a container that writes its trace to a folder of the host."""
    pod = yaml.safe_load(POD % {"trace": "/volume/trace"})
    pod["metadata"]["name"] = name
    container = pod["spec"]["containers"][0]
    container |= {"image": "busybox:1.36", "imagePullPolicy": "Never"}
    container["volumeMounts"] = [{"name": "volume", "mountPath": "/volume"}]
    pod["spec"]["volumes"] = [{"name": "volume", "hostPath": {"path": str(volume)}}]
    return yaml.safe_dump(pod)
