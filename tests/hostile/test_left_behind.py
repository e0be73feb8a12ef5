"""A session ends and reports it if its pod has mounted something below its files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.arena import ROOT, Arena, isolated, unmount

PATIENCE_SECONDS = 100

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: files-left}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  volumes: [{{name: data, emptyDir: {{}}}}]
  containers:
  - name: app
    image: none
    command: [sh, -c, 'mkdir {place}/remote && mount --bind {canary} {place}/remote']
    volumeMounts: [{{name: data, mountPath: /data}}]
  - name: other
    image: none
    command: [sh, -c, 'touch mine']
"""


def probetui(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "probetui", *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


@pytest.mark.parametrize(
    "place",
    [pytest.param("$HOME", id="home"), pytest.param("$HOME/data", id="emptyDir")],
)
@isolated
def test_a_mount_of_a_pod_is_named_and_kept_until_it_is_unmounted(
    arena: Arena, place: str
) -> None:
    file = arena.work / "pod.yaml"
    file.write_text(POD.format(place=place, canary=arena.canary))

    ran = probetui("run", "--plain", "--runtime", "process", "-f", str(file))
    listed = probetui("ls", "--runtime", "process")
    (mounted,) = Path(os.environ["HOME"]).rglob("remote")
    down = probetui("down", "--all", "--runtime", "process")
    unmount(mounted)
    again = probetui("down", "--all", "--runtime", "process")

    named = f"not removed: {mounted}: it is a mount point"
    assert named in ran.stderr, ran
    assert ran.returncode == 6
    assert "files-left" in listed.stdout, listed
    assert named in down.stderr
    assert down.returncode == 6
    assert again.returncode == 0, again
    assert not list(Path(os.environ["HOME"]).rglob("app"))
    assert not list(Path(os.environ["HOME"]).rglob("container.json"))
