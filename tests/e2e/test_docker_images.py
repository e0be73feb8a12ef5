"""Images that the program pulls from a local registry, and removes again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import docker
import docker.errors
import pytest

from tests.e2e.program import Program
from tests.runtimes.registry import Registry, running_registry

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.docker]

RunPod = Callable[..., None]

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: e2e-images, namespace: {namespace}}}
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
def run_pod(program: Program, namespace: str) -> RunPod:
    """Return a function that runs a pod, without a program, until it has its image."""

    def run(image: str, *options: str) -> None:
        done = program.run(
            "run", "-f", "-", "--runtime", "docker", "--until", "event=Pulled",
            "--timeout", "60s", *options,
            stdin=POD.format(image=image, namespace=namespace), seconds=90,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    return run


@pytest.fixture
def names(registry: Registry, sdk: docker.DockerClient) -> Iterator[tuple[str, str]]:
    """Return two images of the registry; both are removed at the end."""
    names = registry.add("team/ours", size=5000), registry.add("team/theirs")
    yield names
    for name in names:
        try:
            sdk.images.remove(name, force=True)
        except docker.errors.ImageNotFound:
            continue


def test_only_images_that_a_session_pulled_are_listed_and_removed(
    program: Program,
    sdk: docker.DockerClient,
    names: tuple[str, str],
    run_pod: RunPod,
) -> None:
    ours, theirs = names
    sdk.images.pull(theirs)
    run_pod(ours, "--image-gc")
    run_pod(theirs)

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


def test_an_image_that_another_container_uses_is_kept(
    program: Program,
    sdk: docker.DockerClient,
    names: tuple[str, str],
    run_pod: RunPod,
) -> None:
    run_pod(names[0])
    stranger = sdk.containers.create(names[0], ["nothing"])

    done = program.run("images", "gc", "--all", "--min-age", "0")

    (listed,) = json.loads(program.run("images", "-o", "json").stdout)
    stranger.remove()
    assert (done.returncode, done.stdout) == (0, "")
    assert listed["usedBy"] == [stranger.name]
    assert len(sdk.images.list(name=names[0])) == 1
