"""Files of pods on CRI runtimes: what is removed, and what never is."""

from __future__ import annotations

from pathlib import Path

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.cri import files
from probetui.runtimes.cri.files import PodFiles
from probetui.runtimes.translation import PodName
from tests.builders import a_pod

SOCKET = Path("/nonexistent.sock")


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with all that may be removed, and a bystander beside it."""
    base = tmp_path / "base"
    (base / "pods" / "u").mkdir(parents=True)
    (tmp_path / "bystander").mkdir()
    monkeypatch.setattr(files, "POD_LOGS", str(tmp_path / "logs"))
    monkeypatch.setattr(
        files,
        "sandbox_log_directory",
        lambda pod: f"{tmp_path}/logs/{pod.namespace}_{pod.name}_{pod.uid}",
    )
    (tmp_path / "logs" / "ns_web_u").mkdir(parents=True)
    return base


def test_all_of_a_pod_is_removed(base: Path, tmp_path: Path) -> None:
    PodFiles(base, SOCKET).remove_pod_files(PodName("ns", "web", "u"))

    assert list((base / "pods").iterdir()) == []
    assert list((tmp_path / "logs").iterdir()) == []


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(PodName("ns", "web", "../../bystander"), id="uid that leads out"),
        pytest.param(PodName("ns", "web", ".."), id="uid of the folder above"),
        pytest.param(PodName("ns", "/../../bystander", "u"), id="name that leads out"),
    ],
)
def test_nothing_else_is_whatever_a_pod_is_called(
    base: Path, tmp_path: Path, pod: PodName
) -> None:
    with pytest.raises(ContainerRuntimeError, match="cannot be the name of a file"):
        PodFiles(base, SOCKET).remove_pod_files(pod)

    assert (tmp_path / "bystander").is_dir()
    assert (base / "pods" / "u").is_dir()
    assert (tmp_path / "logs" / "ns_web_u").is_dir()


def test_a_pod_without_a_uid_has_no_files(base: Path) -> None:
    PodFiles(base, SOCKET).remove_pod_files(PodName("ns", "web", ""))

    assert (base / "pods" / "u").is_dir()


def test_a_folder_for_logs_goes_if_nothing_came_of_it(
    base: Path, tmp_path: Path
) -> None:
    made, used = a_pod(name="made"), a_pod(name="used")
    for pod in (made, used):
        PodFiles(base, SOCKET).make_log_folder(pod)
    (tmp_path / "logs" / f"default_used_{used.uid}" / "app").mkdir()

    for pod in (made, used):
        PodFiles(base, SOCKET).remove_empty_log_folder(pod)

    assert {path.name for path in (tmp_path / "logs").iterdir()} == {
        "ns_web_u",
        f"default_used_{used.uid}",
    }
