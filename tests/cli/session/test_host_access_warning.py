"""What pods may do to this machine is told once, before they start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from probetui.cli.main import run
from probetui.cli.printing import NoteLevel, Notes
from probetui.cli.session.host_access_warning import HostAccessWarning
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import LoadedPod
from probetui.manifest.yaml.parser import SourceFile

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  hostPID: true
  containers:
    - name: app
      image: busybox
      livenessProbe: {exec: {command: [ls]}}
"""


def loaded(text: str = POD) -> tuple[LoadedPod, ...]:
    return load_manifests([SourceFile("pod.yaml", text)]).loaded


class Told:
    """What is told, by whoever tells it."""

    def __init__(
        self, *, quiet: bool = False, wanted: bool = True, trusts: bool = False
    ) -> None:
        self.texts: list[tuple[NoteLevel, str]] = []
        notes = Notes(quiet=quiet, show=lambda *told: self.texts.append(told))
        self.notice = HostAccessWarning(notes, is_wanted=wanted, trusts=trusts)


def test_it_is_told_with_file_line_and_name() -> None:
    told = Told()

    told.notice.warn(loaded(), "docker")

    text = (
        "what default/web may do to this machine:\n"
        "  pod.yaml:5:3: spec.hostPID: sees every process of this machine [host-pid]"
    )
    assert told.texts == [(NoteLevel.WARNING, text)]
    assert told.notice.texts == ["web may act on this machine: host-pid"]


def test_a_screen_is_told_of_it_in_a_line() -> None:
    fields = "  hostIPC: true\n  hostNetwork: true\n"
    context = "      securityContext: {privileged: true}\n"
    told = Told()

    told.notice.warn(
        loaded(POD.replace("spec:\n", f"spec:\n{fields}") + context), "docker"
    )

    (line,) = told.notice.texts
    assert line.startswith("web may act on this machine: host-")
    assert line.endswith(" and 1 more")
    assert "\n" not in line


def test_it_is_told_once_and_what_is_new_when_manifests_are_read_again() -> None:
    told = Told()
    told.notice.warn(loaded(), "docker")

    told.notice.warn_again(loaded())
    told.notice.warn_again(loaded(POD.replace("hostPID", "hostIPC")))

    assert [text.count("\n") for _, text in told.texts] == [1, 1]
    assert "[host-ipc]" in told.texts[1][1]


def test_processes_are_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(wanted=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    told.notice.warn(loaded(), "process")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    told.notice.warn(loaded(), "process")

    sentence = (
        "plain processes are not isolated: the commands of the manifests can do "
        "anything on this machine that you can"
    )
    assert [text for _, text in told.texts] == [
        sentence,
        f"{sentence}, and you are root",
    ]
    assert told.notice.texts == [
        "plain processes are not isolated",
        "plain processes are not isolated, and you are root",
    ]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"quiet": True}, id="quiet"),
        pytest.param({"wanted": False}, id="no findings"),
        pytest.param({"trusts": True}, id="a lesson of ours"),
    ],
)
def test_it_can_be_kept_back(options: dict[str, bool]) -> None:
    told = Told(**options)

    told.notice.warn(loaded(), "docker")

    assert told.texts == []
    assert told.notice.texts == []


def test_a_pod_that_asks_for_much_is_not_told_line_by_line() -> None:
    capabilities = ", ".join(["SYS_ADMIN"] * 50)
    text = f"      securityContext: {{capabilities: {{add: [{capabilities}]}}}}\n"
    told = Told()

    told.notice.warn(loaded(POD + text), "docker")

    lines = told.texts[0][1].splitlines()
    assert len(lines) == 14
    assert lines[-1] == "  and 39 more: see probetui check"


def test_it_is_told_before_a_runtime_is_looked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)

    status = run(
        ["run", "-f", str(path), "--runtime", "docker", "--host", "unix:///nowhere"]
    )

    errors = capsys.readouterr().err
    assert status == 3
    assert errors.index("[host-pid]") < errors.index("no Docker daemon answers")


def test_a_check_tells_it_as_findings_that_fail_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)

    status = run(["check", "-f", str(path)])
    told = capsys.readouterr().out
    run(["check", "-f", str(path), "--no-findings"])

    assert status == 0
    assert f"{path}:5:3: warning: spec.hostPID: sees every" in told
    assert "host-pid" not in capsys.readouterr().out
