"""Where a copy of a manifest with edited timing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from probetui.cli.folders import state_folder
from probetui.cli.pods import ManifestOptions, load_pods
from probetui.cli.session.edited_copy import copy_edited
from probetui.debugger.timing import Timing
from probetui.errors import ManifestError, UsageError
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import LoadedPod
from probetui.manifest.yaml.parser import SourceFile
from probetui.tui.host_services import ManifestCopy, Timings

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  containers:
  - {name: app, image: x, livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 5}}
"""
SLOWER = Timing(0, 1, 7, 1, 3)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a working directory that is not the manifests' folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "there" / "pod.yaml"
    path.parent.mkdir()
    path.write_text(POD % "web")
    return path


def options_for(*paths: Path | str) -> ManifestOptions:
    return ManifestOptions(filenames=tuple(map(str, paths)))


def timings(*loaded: LoadedPod) -> Timings:
    return {ProbeKey(pod.pod.uid, "app", ProbeType.LIVENESS): SLOWER for pod in loaded}


def copy(options: ManifestOptions) -> ManifestCopy:
    """Copy the first pod's manifest with another timing."""
    loaded = load_pods(options).loaded
    return copy_edited(loaded, options, loaded[0].pod.uid, timings(*loaded))


def copy_of_text(name: str, location: str = "") -> ManifestCopy:
    source = SourceFile(name, POD % "web", location)
    (loaded,) = load_manifests([source]).loaded
    return copy_edited([loaded], None, loaded.pod.uid, timings(loaded))


def test_the_copy_is_beside_the_manifest_and_differs_in_the_timing_only(
    manifest: Path,
) -> None:
    written = copy(options_for(manifest))

    assert written == ManifestCopy(manifest.parent / "pod.edited.yaml", 1)
    assert written.path.read_text() == (POD % "web").replace(": 5}", ": 7}")
    assert manifest.read_text() == POD % "web"


def test_existing_files_are_not_overwritten(manifest: Path) -> None:
    names = [copy(options_for(manifest)).path.name for _ in range(3)]

    assert names == ["pod.edited.yaml", "pod.edited-2.yaml", "pod.edited-3.yaml"]


def test_a_copy_of_a_copy_is_named_after_the_first(manifest: Path) -> None:
    first = copy(options_for(manifest)).path
    first.write_text(POD % "web")

    assert copy(options_for(first)).path.name == "pod.edited-2.yaml"


def test_the_copy_has_the_mode_of_the_manifest(manifest: Path) -> None:
    manifest.chmod(0o640)

    written = copy(options_for(manifest)).path

    assert written.stat().st_mode & 0o777 & ~0o640 == 0
    assert written.stat().st_mode & 0o600 == 0o600


def test_a_piped_manifest_is_copied_to_the_working_directory_privately(
    here: Path,
) -> None:
    written = copy_of_text("-").path

    assert written == here / "stdin.edited.yaml"
    assert written.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("demo liveness", "demo-liveness.edited.yaml", id="a lesson"),
        pytest.param("a/b.json", "b.edited.json", id="json"),
        pytest.param("../\x1b[2J", "-2J.edited.yaml", id="escapes"),
    ],
)
def test_a_manifest_without_a_file_gets_a_file_name(
    here: Path, name: str, expected: str
) -> None:
    assert copy_of_text(name).path == here / expected


def test_a_read_only_folder_is_replaced_by_the_working_directory(
    here: Path, tmp_path: Path
) -> None:
    gone = tmp_path / "gone" / "pod.yaml"

    assert copy_of_text("pod.yaml", str(gone)).path == here / "pod.edited.yaml"


def test_no_copy_is_written_to_a_folder_given_with_f(
    manifest: Path, here: Path
) -> None:
    assert copy(options_for(manifest.parent)).path == here / "pod.edited.yaml"


def test_the_copy_is_in_the_data_folder_if_both_folders_are_given_with_f(
    manifest: Path, here: Path
) -> None:
    written = copy(options_for(manifest.parent, here)).path

    assert written == state_folder() / "edited" / "pod.edited.yaml"


def test_nothing_is_written_if_all_folders_are_given_with_f(manifest: Path) -> None:
    options = options_for(manifest.parent.parent).replace(recursive=True)

    with pytest.raises(UsageError, match="in these folders would be loaded"):
        copy(options)


def test_the_error_lists_every_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(Path, "cwd", lambda: file / "here")
    monkeypatch.setattr(
        "probetui.cli.session.edited_copy.state_folder", lambda: file / "own"
    )

    with pytest.raises(UsageError) as refused:
        copy_of_text("pod.yaml", str(file / "pod.yaml"))

    assert str(refused.value) == (
        f"no copy is written: {file}: Not a directory; "
        f"{file / 'here'}: Not a directory; {file / 'own' / 'edited'}: Not a directory"
    )


def test_only_the_file_of_the_selected_pod_is_copied(tmp_path: Path) -> None:
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(POD % "one" + "---\n" + POD % "two")
    other.write_text(POD % "other")

    written = copy(options_for(one, other))

    assert written == ManifestCopy(tmp_path / "one.edited.yaml", 2)


def test_a_reloaded_manifest_is_copied_in_its_current_form(
    manifest: Path,
) -> None:
    before = load_pods(options_for(manifest)).loaded
    manifest.write_text("# new\n" + POD % "other")
    now = load_pods(options_for(manifest)).loaded

    written = copy_edited(
        before, options_for(manifest), now[0].pod.uid, timings(*before, *now)
    )

    assert written.path.read_text().startswith("# new\n")


def test_a_manifest_that_became_invalid_is_copied_as_it_was_read(
    manifest: Path,
) -> None:
    before = load_pods(options_for(manifest)).loaded
    manifest.write_text("]")

    written = copy_edited(
        before, options_for(manifest), before[0].pod.uid, timings(*before)
    )

    assert "periodSeconds: 7" in written.path.read_text()


def test_a_pod_without_a_manifest_is_refused() -> None:
    with pytest.raises(UsageError, match="no longer matches its manifest"):
        copy_edited((), None, "uid", {})


def test_unchanged_timing_is_not_copied(manifest: Path) -> None:
    (loaded,) = load_pods(options_for(manifest)).loaded

    with pytest.raises(ManifestError, match="already has these numbers"):
        copy_edited([loaded], options_for(manifest), loaded.pod.uid, {})
