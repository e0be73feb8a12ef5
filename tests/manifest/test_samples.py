"""The sample pods: each loads, describes what to watch, and has a probe."""

from __future__ import annotations

from pathlib import Path

import pytest

from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import Manifests
from probetui.manifest.yaml.parser import SourceFile

_FOLDER = Path(__file__).parents[2] / "sample_pods"
_FILES = sorted(_FOLDER.glob("*.yaml"))
_WARNED_OF = {"port-name": ["port-name"], "crashloop": ["no-probe"]}
"""Samples about findings that probetui reports."""


def _load(path: Path) -> Manifests:
    return load_manifests([SourceFile(path.name, path.read_bytes())])


def _comment(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(
        line for line in lines[: lines.index("apiVersion: v1")] if line.startswith("#")
    )


def test_there_are_samples() -> None:
    assert len(_FILES) >= 12


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_a_sample_loads_without_a_problem_that_is_not_its_lesson(path: Path) -> None:
    manifests = _load(path)

    assert [problem.rule for problem in manifests.problems] == _WARNED_OF.get(
        path.stem, []
    )
    assert manifests.unsupported == ()


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_a_sample_is_one_pod_with_the_name_of_its_file(path: Path) -> None:
    (pod,) = _load(path).pods

    assert pod.name == path.stem


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_a_sample_describes_what_to_watch_and_when(path: Path) -> None:
    comment = _comment(path)

    assert "# Watch: " in comment
    assert " s" in comment


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_a_sample_has_a_probe_or_a_reason_for_none(path: Path) -> None:
    (pod,) = _load(path).pods

    probes = [
        container.liveness_probe or container.readiness_probe or container.startup_probe
        for container in pod.all_containers()
    ]
    assert any(probes) or "# No probe: " in _comment(path)


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_a_sample_needs_one_small_image_that_may_be_there_already(path: Path) -> None:
    (pod,) = _load(path).pods

    images = {
        (container.image, container.image_pull_policy)
        for container in pod.all_containers()
    }
    assert images == {("busybox:1.36", "IfNotPresent")}
