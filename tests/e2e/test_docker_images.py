"""Images that the program pulls, from a registry of the test's, and collects again."""

from __future__ import annotations

import json
from collections.abc import Iterator

import docker
import docker.errors
import pytest

from tests.e2e.program import Program
from tests.runtimes.registry import Registry, running_registry

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.docker]

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: e2e-images}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - {{name: app, image: "{image}", command: [nothing]}}
"""


@pytest.fixture
def registry() -> Iterator[Registry]:
    with running_registry() as found:
        yield found


@pytest.fixture
def sdk() -> Iterator[docker.DockerClient]:
    client = docker.from_env()
    yield client
    client.close()


@pytest.fixture
def names(registry: Registry, sdk: docker.DockerClient) -> Iterator[tuple[str, str]]:
    """Return two images of the registry; in the end neither is here."""
    names = registry.add("team/ours", size=5000), registry.add("team/theirs")
    yield names
    for each in names:
        try:
            sdk.images.remove(each, force=True)
        except docker.errors.ImageNotFound:
            continue


def run_pod(program: Program, image: str, *options: str) -> None:
    """Run a pod until its image is here; it has no program to run."""
    done = program.run(
        "run", "-f", "-", "--runtime", "docker", "--until", "event=Pulled",
        "--timeout", "60s", *options,
        stdin=POD.format(image=image), seconds=90,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_what_a_session_pulled_is_listed_and_collected_and_nothing_else(
    program: Program, sdk: docker.DockerClient, names: tuple[str, str]
) -> None:
    ours, theirs = names
    sdk.images.pull(theirs)
    run_pod(program, ours, "--image-gc")
    run_pod(program, theirs)

    listed = json.loads(program.run("images", "-o", "json").stdout)
    young = program.run("images", "gc", "--all")
    dry = program.run("images", "gc", "--all", "--min-age", "0", "--dry-run")
    before = sdk.images.list(name=ours)
    done = program.run("images", "gc", "--all", "--min-age", "0")

    (found,) = listed
    assert (found["name"], found["sizeBytes"], found["usedBy"]) == (ours, 5000, [])
    assert (young.returncode, young.stdout) == (0, "")
    assert dry.stdout == f"would remove {ours} (5.0kB)\n"
    assert len(before) == 1
    assert (done.returncode, done.stdout) == (0, f"removed {ours} (5.0kB)\n")
    assert sdk.images.list(name=ours) == []
    assert len(sdk.images.list(name=theirs)) == 1
    assert program.run("images", "-o", "name").stdout == ""


def test_an_image_that_a_stranger_uses_stays(
    program: Program, sdk: docker.DockerClient, names: tuple[str, str]
) -> None:
    run_pod(program, names[0])
    stranger = sdk.containers.create(names[0], ["nothing"])

    done = program.run("images", "gc", "--all", "--min-age", "0")

    (listed,) = json.loads(program.run("images", "-o", "json").stdout)
    stranger.remove()
    assert (done.returncode, done.stdout) == (0, "")
    assert listed["usedBy"] == [stranger.name]
    assert len(sdk.images.list(name=names[0])) == 1
