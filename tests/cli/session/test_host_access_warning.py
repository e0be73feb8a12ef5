"""The warning about host access of pods, printed once before they start."""

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


class RecordedWarnings:
    """A host access warning that records its texts."""

    def __init__(
        self, *, quiet: bool = False, wanted: bool = True, trusts: bool = False
    ) -> None:
        self.texts: list[tuple[NoteLevel, str]] = []
        notes = Notes(quiet=quiet, show=lambda *note: self.texts.append(note))
        self.notice = HostAccessWarning(notes, is_wanted=wanted, trusts=trusts)


def test_the_warning_has_file_line_and_name() -> None:
    warnings = RecordedWarnings()

    warnings.notice.warn(loaded(), "docker")

    text = (
        "what default/web may do to this machine:\n"
        "  pod.yaml:5:3: spec.hostPID: sees every process of this machine [host-pid]"
    )
    assert warnings.texts == [(NoteLevel.WARNING, text)]
    assert warnings.notice.texts == ["web may act on this machine: host-pid"]


def test_the_screen_gets_the_warning_in_one_line() -> None:
    fields = "  hostIPC: true\n  hostNetwork: true\n"
    context = "      securityContext: {privileged: true}\n"
    warnings = RecordedWarnings()

    warnings.notice.warn(
        loaded(POD.replace("spec:\n", f"spec:\n{fields}") + context), "docker"
    )

    (line,) = warnings.notice.texts
    assert line.startswith("web may act on this machine: host-")
    assert line.endswith(" and 1 more")
    assert "\n" not in line


def test_only_new_host_access_is_reported_after_a_reload() -> None:
    warnings = RecordedWarnings()
    warnings.notice.warn(loaded(), "docker")

    warnings.notice.warn_again(loaded())
    warnings.notice.warn_again(loaded(POD.replace("hostPID", "hostIPC")))

    assert [text.count("\n") for _, text in warnings.texts] == [1, 1]
    assert "[host-ipc]" in warnings.texts[1][1]


def test_the_process_runtime_warns_that_it_is_no_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warnings = RecordedWarnings(wanted=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    warnings.notice.warn(loaded(), "process")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    warnings.notice.warn(loaded(), "process")

    sentence = (
        "plain processes are not isolated: the commands of the manifests can do "
        "anything on this machine that you can"
    )
    assert [text for _, text in warnings.texts] == [
        sentence,
        f"{sentence}, and you are root",
    ]
    assert warnings.notice.texts == [
        "plain processes are not isolated",
        "plain processes are not isolated, and you are root",
    ]
    assert not warnings.notice.is_isolated


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"quiet": True}, id="quiet"),
        pytest.param({"wanted": False}, id="no findings"),
        pytest.param({"trusts": True}, id="a lesson of ours"),
    ],
)
def test_the_warning_can_be_disabled(options: dict[str, bool]) -> None:
    warnings = RecordedWarnings(**options)

    warnings.notice.warn(loaded(), "docker")

    assert warnings.texts == []
    assert warnings.notice.texts == []


def test_the_warning_of_a_pod_with_much_host_access_is_short() -> None:
    capabilities = ", ".join(["SYS_ADMIN"] * 50)
    text = f"      securityContext: {{capabilities: {{add: [{capabilities}]}}}}\n"
    warnings = RecordedWarnings()

    warnings.notice.warn(loaded(POD + text), "docker")

    lines = warnings.texts[0][1].splitlines()
    assert len(lines) == 14
    assert lines[-1] == "  and 39 more: see probetui check"


def test_the_warning_is_printed_before_the_runtime_is_detected(
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


def test_a_check_prints_it_as_findings_that_do_not_fail(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)

    status = run(["check", "-f", str(path)])
    output = capsys.readouterr().out
    run(["check", "-f", str(path), "--no-findings"])

    assert status == 0
    assert f"{path}:5:3: warning: spec.hostPID: sees every" in output
    assert "host-pid" not in capsys.readouterr().out
