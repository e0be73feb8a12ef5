"""Whatever goes wrong while a session ends, its containers get preStop and SIGTERM."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probetui.cli import compose, outputs
from probetui.cli.main import run
from probetui.drive.record_writer import Recorder
from probetui.headless import output
from probetui.kubelet.engine import Engine

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
    """A bug that is none."""


def fails(*_: Any, **__: Any) -> Any:
    raise InjectedError("injected")


SHOW = compose._Live._show


async def fails_after_it(*args: Any) -> Any:
    await SHOW(*args)
    raise InjectedError("injected")


class FullDisk(io.RawIOBase):
    """A file on a disk that is full as soon as another file is there."""

    def __init__(self, sign: Path) -> None:
        self._sign = sign

    def writable(self) -> bool:
        """Tell that it is for writing."""
        return True

    def write(self, data: Any, /) -> int:
        """Take the bytes, or refuse them."""
        if self._sign.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return memoryview(data).nbytes


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "trace"


@pytest.fixture
def session(tmp_path: Path, trace: Path) -> Callable[..., int]:
    """Return what runs a session until its pod is ready."""
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(POD % {"trace": trace})

    def start(*args: str) -> int:
        common = ("--runtime", "process", "--until", "ready", "--timeout", "30s")
        return run(["run", "-f", str(manifest), *common, *args])

    return start


@pytest.mark.parametrize(
    ("owner", "step", "fault"),
    [
        pytest.param(compose, "final_verdict", fails, id="the verdict"),
        pytest.param(output.LinePrinter, "finish", fails, id="the last lines"),
        pytest.param(outputs.Outputs, "close", fails, id="closing the outputs"),
        pytest.param(outputs.Outputs, "__exit__", fails, id="writing what waits"),
        pytest.param(Recorder, "end", fails, id="the end of the record"),
        pytest.param(compose._Live, "_show", fails_after_it, id="the screen"),
    ],
)
def test_a_bug_in_a_step_of_the_end_skips_no_other_step(
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
        pytest.param(output.LinePrinter, "take", id="printing lines"),
        pytest.param(Recorder, "hear", id="recording inputs"),
        pytest.param(Recorder, "take", id="recording entries"),
        pytest.param(Engine, "submit", id="the engine"),
        pytest.param(Engine, "advance", id="the engine's time"),
    ],
)
def test_a_bug_in_the_middle_ends_the_session_in_good_order(
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


def test_standard_output_on_a_full_disk_ends_the_session_in_good_order(
    session: Callable[..., int],
    trace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    full = io.TextIOWrapper(io.BufferedWriter(FullDisk(trace)))
    monkeypatch.setattr("sys.stdout", full)

    status = session()

    monkeypatch.undo()
    told, traced = capfd.readouterr().err, trace.read_text().split()
    trace.unlink()
    full.close()
    assert status == 2
    assert "cannot write to standard output: No space left on device" in told
    assert traced == ["started", "preStop", "SIGTERM"]
