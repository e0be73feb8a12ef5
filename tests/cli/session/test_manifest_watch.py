"""Manifests that change while their pods run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from probetui.cli.pods import ManifestOptions, load_pods
from probetui.cli.printing import Notes
from probetui.cli.session.manifest_watch import _watched, watch_manifests
from probetui.cli.session.pod_registry import DesiredState

PATIENCE_SECONDS = 20

MANIFEST = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers:
  - {{name: app, image: busybox}}
"""


class Watched:
    """A folder that is watched, and the names of the pods each reading gave."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.readings: asyncio.Queue[list[str]] = asyncio.Queue()

    def change(self, wanted: DesiredState) -> None:
        self.readings.put_nowait([pod.name for pod in wanted.pods])

    def reload(self) -> DesiredState:
        return DesiredState(load_pods(ManifestOptions((str(self.folder),))).pods)

    async def until(self, expected: list[str]) -> None:
        """Wait for a reading; a change may be read in more than one."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.readings.get() != expected:
                pass

    def write(self, name: str) -> None:
        path = self.folder / f"{name}.yaml"
        path.write_text(MANIFEST.format(name=name), encoding="utf-8")


async def watching(
    watched: Watched, scenario: Callable[[], object], expected: list[str]
) -> None:
    """Watch, act until the watch is seen to work, and wait for a reading."""
    task = asyncio.create_task(
        watch_manifests(
            (str(watched.folder),), watched.reload, watched.change, Notes(quiet=False)
        )
    )
    try:
        # The first change may come before the watch has begun.
        while watched.readings.empty():
            watched.write("first")
            await asyncio.wait({task}, timeout=0.3)
        scenario()
        await watched.until(expected)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_new_file_brings_its_pod(tmp_path: Path) -> None:
    watched = Watched(tmp_path)

    await watching(watched, lambda: watched.write("second"), ["first", "second"])


async def test_a_file_that_is_gone_takes_its_pod_along(tmp_path: Path) -> None:
    watched = Watched(tmp_path)

    await watching(watched, (tmp_path / "first.yaml").unlink, [])


async def test_files_that_cannot_be_used_are_told_of_and_change_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watched = Watched(tmp_path)

    def break_and_mend() -> None:
        (tmp_path / "bad.yaml").write_text("kind: [", encoding="utf-8")
        asyncio.get_running_loop().call_later(1, watched.write, "third")
        asyncio.get_running_loop().call_later(2, (tmp_path / "bad.yaml").unlink)

    await watching(watched, break_and_mend, ["first", "third"])

    told = capsys.readouterr().err
    assert "bad.yaml:2:1: did not find" in told
    assert "warning: the pods run on as they were before this change" in told


def test_a_file_that_is_replaced_is_watched_in_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"

    assert _watched(path) == tmp_path
    assert _watched(tmp_path) == tmp_path
