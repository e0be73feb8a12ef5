"""`probetui ls -l` and `probetui down -l`: pods by their labels, on every runtime."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.program import RUNTIMES, Program

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: e2e-labels, labels: {labels}}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: app
      image: busybox:1.36
      command: [sleep, "300"]
"""
FRONT = POD.format(name="front", labels="{app: web, tier: front}")
STORE = POD.format(name="store", labels="{app: db}")


@pytest.fixture(params=RUNTIMES)
def runtime(
    request: pytest.FixtureRequest, program: Program
) -> Iterator[tuple[str, ...]]:
    """Run both pods on a runtime, and return the options for it."""
    both, options = f"{FRONT}---\n{STORE}", (*request.param, "-n", "e2e-labels")
    with program.keeping(both, options, until="started") as options:
        yield options


@pytest.mark.slow
def test_pods_are_listed_and_removed_by_their_labels(
    program: Program, runtime: tuple[str, ...]
) -> None:
    def names(selector: str) -> list[str]:
        listed = program.run("ls", *runtime, "-l", selector, "-o", "name")
        assert listed.returncode == 0, listed.stderr
        return listed.stdout.split()

    assert names("app") == ["pod/front", "pod/store"]
    assert names("app in (web, mail),tier=front") == ["pod/front"]
    assert names("!tier") == ["pod/store"]
    assert names("app=none") == []

    removed = program.run("down", *runtime, "-l", "app!=db")

    assert removed.returncode == 0, removed.stderr
    assert "removed e2e-labels/front" in removed.stdout
    assert names("app") == ["pod/store"]
