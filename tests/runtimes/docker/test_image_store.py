"""Images on Docker: lists with their containers, copies, removal, sizes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import docker.errors
import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import StoredImage
from probetui.kubelet.effects import PullImage
from probetui.runtimes.docker.images import copy_mark, to_stored_images
from tests.builders import a_pod
from tests.runtimes.bench import UNAWARE
from tests.runtimes.docker.bench import DockerBench, bench
from tests.runtimes.registry import Registry, running_registry

__all__ = ["bench"]

PAUSE = "registry.k8s.io/pause:3.10"


@pytest.fixture
def registry() -> Iterator[Registry]:
    with running_registry() as found:
        yield found


@pytest.fixture
def name(bench: DockerBench, registry: Registry) -> Iterator[str]:
    """Return the name of an image in the registry; in the end it is not here."""
    name = registry.add("team/app", size=5000)
    yield name
    for tag in (name, f"{name}-also"):
        try:
            bench.sdk.images.remove(tag, force=True)
        except docker.errors.ImageNotFound:
            continue


async def pull(bench: DockerBench, name: str) -> str:
    operation = PullImage(a_pod(), name)
    pulled = await bench.runtime.pull_image(operation, lambda _text: None)
    return pulled.image_id


async def listed(bench: DockerBench, image_id: str) -> StoredImage | None:
    for image in await bench.runtime.list_images():
        if image.image_id == image_id:
            return image
    return None


@pytest.mark.docker
@pytest.mark.slow
class TestOnDocker:
    """A real daemon, and images from a registry of the test's."""

    async def test_it_is_a_store_with_an_id_that_stays(
        self, bench: DockerBench
    ) -> None:
        assert await bench.runtime.image_store_id()
        assert await bench.another().image_store_id() == (
            await bench.runtime.image_store_id()
        )

    async def test_an_image_is_listed_with_its_names_and_its_size(
        self, bench: DockerBench, name: str
    ) -> None:
        image_id = await pull(bench, name)
        repository = name.rpartition(":")[0]

        found = await listed(bench, image_id)

        assert found is not None
        assert found.size_bytes == 5000
        assert found.used_by == ()
        tag, digest = found.names
        assert tag == name
        assert digest.startswith(f"{repository}@sha256:")

    async def test_an_image_lists_the_containers_that_use_it(
        self, bench: DockerBench
    ) -> None:
        container_id = await bench.run(UNAWARE)
        unmanaged = bench.run_unmanaged()
        image_id = await bench.runtime.image_status(bench.image)
        assert image_id is not None

        found = await listed(bench, image_id)

        assert found is not None
        users = set(found.used_by)
        assert {unmanaged.name, bench.docker(container_id).name} <= users

    async def test_a_removed_image_is_gone_and_may_be_removed_again(
        self, bench: DockerBench, name: str
    ) -> None:
        image_id = await pull(bench, name)

        await bench.runtime.remove_image(image_id)
        await bench.runtime.remove_image(image_id)

        assert await listed(bench, image_id) is None
        assert await bench.runtime.image_copy(image_id) is None

    async def test_an_image_goes_with_all_its_names(
        self, bench: DockerBench, name: str
    ) -> None:
        image_id = await pull(bench, name)
        bench.sdk.images.get(name).tag(*f"{name}-also".rsplit(":", 1))

        await bench.runtime.remove_image(image_id)

        assert await listed(bench, image_id) is None

    @pytest.mark.parametrize("has_two", [False, True], ids=["one name", "two names"])
    async def test_an_image_that_a_dead_container_has_is_refused_with_all_its_names(
        self, bench: DockerBench, name: str, *, has_two: bool
    ) -> None:
        image_id = await pull(bench, name)
        names = [name, f"{name}-also"][: 1 + has_two]
        for tag in names[1:]:
            bench.sdk.images.get(name).tag(*tag.rsplit(":", 1))
        dead = bench.sdk.containers.create(name, ["nothing"])

        with pytest.raises(ContainerRuntimeError):
            await bench.runtime.remove_image(image_id)

        found = await listed(bench, image_id)
        dead.remove()
        assert found is not None
        assert set(names) <= set(found.names)

    async def test_a_copy_is_the_same_until_it_is_removed_and_pulled_anew(
        self, bench: DockerBench, name: str
    ) -> None:
        image_id = await pull(bench, name)
        first = await bench.runtime.image_copy(image_id)
        await pull(bench, name)
        still = await bench.runtime.image_copy(image_id)

        await bench.runtime.remove_image(image_id)
        await pull(bench, name)

        assert first == still
        assert await bench.runtime.image_copy(image_id) != first

    async def test_the_disk_is_the_one_below_the_daemons_folder(
        self, bench: DockerBench
    ) -> None:
        expected = shutil.disk_usage(Path(bench.api.info()["DockerRootDir"]))

        found = await bench.runtime.image_filesystem()

        assert found.capacity_bytes == expected.total
        assert 0 < found.available_bytes <= expected.total


def test_what_docker_lists_becomes_images() -> None:
    images: list[Mapping[str, Any]] = [
        {
            "Id": "sha256:1",
            "RepoTags": ["app:1", "app:2"],
            "RepoDigests": ["app@sha256:a"],
            "Size": 7,
        },
        {
            "Id": "sha256:2",
            "RepoTags": ["<none>:<none>"],
            "RepoDigests": ["<none>@<none>"],
            "Size": 8,
        },
        {"Id": "sha256:3", "RepoTags": None, "RepoDigests": None, "Size": 9},
        {"Id": "sha256:4", "RepoTags": [PAUSE], "RepoDigests": [], "Size": 1},
    ]
    containers: list[Mapping[str, Any]] = [
        {"Id": "c2", "Names": ["/web"], "ImageID": "sha256:1"},
        {"Id": "c1", "Names": None, "ImageID": "sha256:1"},
    ]

    found = to_stored_images(images, containers, PAUSE)

    assert found == (
        StoredImage("sha256:1", ("app:1", "app:2", "app@sha256:a"), 7, ("c1", "web")),
        StoredImage("sha256:2", (), 8),
        StoredImage("sha256:3", (), 9),
        StoredImage("sha256:4", (PAUSE,), 1, is_pinned=True),
    )


@pytest.mark.parametrize(
    ("inspected", "expected"),
    [
        pytest.param(
            {
                "GraphDriver": {"Data": {"UpperDir": "/x"}},
                "Metadata": {"LastTagTime": "now"},
            },
            '{"UpperDir": "/x"}',
            id="the folders of its layers",
        ),
        pytest.param(
            {"GraphDriver": {"Data": None}, "Metadata": {"LastTagTime": "now"}},
            "now",
            id="else when it got its name",
        ),
        pytest.param({}, "", id="else nothing"),
    ],
)
def test_a_copied_image_is_recognized_by_its_inspection(
    inspected: Mapping[str, Any], expected: str
) -> None:
    assert copy_mark(inspected) == expected
