"""The arena for dangerous tests protects everything outside of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.arena import ROOT, Arena, bind, facts_of, isolated


@isolated
def test_nothing_of_the_machine_can_be_written(arena: Arena) -> None:
    for folder in (ROOT, Path("/"), Path("/var/lib")):
        with pytest.raises(OSError, match="Read-only file system"):
            (folder / "written-by-a-test").touch()

    (arena.work / "file").touch()


@isolated
def test_mounts_are_not_visible_outside(arena: Arena) -> None:
    outside = Path("/proc", str(os.getppid()), "mountinfo").read_text()
    (arena.work / "here").mkdir()

    bind(arena.canary, arena.work / "here")

    assert str(arena.work) in Path("/proc/self/mountinfo").read_text()
    assert str(arena.work) not in outside


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("rm documents/thesis.txt", id="a file is gone"),
        pytest.param("echo more >> documents/thesis.txt", id="content"),
        pytest.param("chmod 600 readable.conf", id="a mode"),
        pytest.param("chmod 700 closed; chmod 500 closed", id="a mode, put back"),
        pytest.param("touch -d @0 script", id="a time"),
        pytest.param("touch open/new", id="a file more"),
        pytest.param("ln -sfn /etc link", id="a link"),
    ],
)
@isolated
def test_the_canary_reports_a_change(arena: Arena, command: str) -> None:
    subprocess.run(["sh", "-c", command], cwd=arena.canary, check=True)

    with pytest.raises(AssertionError, match="the canary was touched"):
        arena.check()
    arena.seal()


def test_a_body_does_not_run_outside_of_a_namespace(tmp_path: Path) -> None:
    here = str(Path("/proc/self/ns/mnt").readlink())
    (tmp_path / "file").touch()
    before = facts_of(tmp_path)

    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.arena", here, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "refused: this is the mount namespace of the machine" in done.stderr
    assert facts_of(tmp_path) == before
