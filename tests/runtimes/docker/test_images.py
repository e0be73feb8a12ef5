"""Images: pulls from a registry of the test's, and what sandboxes are made of."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from probetui.errors import ContainerRuntimeError, ImageNotFoundError
from probetui.kubelet.effects import PullImage, RegistryCredentials
from probetui.runtimes.docker.images import (
    PAUSE_IMAGE,
    WAIT_IN_SHELL,
    choose_substitute,
    sandbox_command,
)
from tests.builders import a_pod
from tests.runtimes.docker.bench import DockerBench, bench
from tests.runtimes.registry import Registry, running_registry

__all__ = ["bench"]

real_docker = [pytest.mark.docker, pytest.mark.slow]


@pytest.fixture
def registry() -> Iterator[Registry]:
    with running_registry() as found:
        yield found


@pytest.fixture
def pulled(bench: DockerBench) -> Iterator[list[str]]:
    """Return where to write down what is to be removed again."""
    names: list[str] = []
    yield names
    for name in names:
        bench.sdk.images.remove(name, force=True)


def silent(_text: str) -> None:
    """Take progress without a word."""


class TestPulling:
    """Pulls."""

    pytestmark = real_docker

    async def test_a_pulled_image_is_here_with_its_id_and_size(
        self, bench: DockerBench, registry: Registry, pulled: list[str]
    ) -> None:
        name = registry.add("team/app", size=5000)
        pulled.append(name)

        image = await bench.runtime.pull_image(PullImage(a_pod(), name), silent)

        assert image.image_id == await bench.runtime.image_status(name)
        assert image.image_id.startswith("sha256:")
        assert image.size_bytes == 5000

    async def test_a_pull_reports_its_progress(
        self, bench: DockerBench, registry: Registry, pulled: list[str]
    ) -> None:
        name = registry.add("app", size=3_000_000)
        pulled.append(name)
        messages: list[str] = []

        await bench.runtime.pull_image(PullImage(a_pod(), name), messages.append)

        assert messages[0] == "downloading 0%, 0 of 1 layer done"
        assert messages[-1] == "extracting, 1 of 1 layer done"
        assert len(set(messages)) == len(messages)

    async def test_an_image_that_the_registry_does_not_know_is_not_found(
        self, bench: DockerBench, registry: Registry
    ) -> None:
        operation = PullImage(a_pod(), f"{registry.address}/no/such:1")

        with pytest.raises(ImageNotFoundError, match="no/such:1"):
            await bench.runtime.pull_image(operation, silent)

    async def test_a_pull_that_breaks_off_is_an_error_in_the_daemons_words(
        self, bench: DockerBench, registry: Registry
    ) -> None:
        operation = PullImage(a_pod(), registry.add("broken", lost_layer=True))

        with pytest.raises(ContainerRuntimeError) as caught:
            await bench.runtime.pull_image(operation, silent)

        assert str(caught.value)
        assert not caught.value.unreachable
        assert await bench.runtime.image_status(operation.image) is None

    async def test_a_registry_that_does_not_answer_is_no_missing_image(
        self, bench: DockerBench
    ) -> None:
        # Nothing listens on the discard port.
        operation = PullImage(a_pod(), "127.0.0.1:9/app:1")

        with pytest.raises(ContainerRuntimeError) as caught:
            await bench.runtime.pull_image(operation, silent)

        assert not isinstance(caught.value, ImageNotFoundError)

    @pytest.mark.parametrize(
        "name",
        [
            pytest.param("Not A Name", id="letters"),
            pytest.param("", id="empty"),
            pytest.param("app:1:2", id="two tags"),
        ],
    )
    async def test_a_name_that_is_none_is_an_error(
        self, bench: DockerBench, name: str
    ) -> None:
        with pytest.raises(ContainerRuntimeError):
            await bench.runtime.pull_image(PullImage(a_pod(), name), silent)

    async def test_credentials_are_those_of_dockers_configuration(
        self,
        registry: Registry,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        secret = base64.b64encode(b"me:secret").decode()
        registry.authorization = f"Basic {secret}"
        config = {"auths": {registry.address: {"auth": secret}}}
        (tmp_path / "config.json").write_text(json.dumps(config))
        operation = PullImage(a_pod(), registry.add("private"))
        stranger = DockerBench()
        with pytest.raises(ContainerRuntimeError):
            await stranger.runtime.pull_image(operation, silent)
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
        bench = DockerBench()

        image = await bench.runtime.pull_image(operation, silent)

        assert image.image_id
        bench.sdk.images.remove(operation.image, force=True)
        await bench.close()
        await stranger.close()

    async def test_credentials_of_a_pull_secret_are_the_pods_own(
        self, bench: DockerBench, registry: Registry
    ) -> None:
        secret = base64.b64encode(b"me:secret").decode()
        registry.authorization = f"Basic {secret}"
        operation = PullImage(a_pod(), registry.add("private"))
        for credentials in (None, RegistryCredentials("me", "wrong")):
            refused = msgspec.structs.replace(operation, credentials=credentials)
            with pytest.raises(ContainerRuntimeError):
                await bench.runtime.pull_image(refused, silent)
        allowed = msgspec.structs.replace(
            operation, credentials=RegistryCredentials("me", "secret")
        )

        image = await bench.runtime.pull_image(allowed, silent)

        assert image.image_id
        bench.sdk.images.remove(operation.image, force=True)

    async def test_a_pull_can_be_cancelled(
        self, bench: DockerBench, registry: Registry
    ) -> None:
        registry.may_send_layers.clear()
        operation = PullImage(a_pod(), registry.add("slow"))
        pull = asyncio.ensure_future(bench.runtime.pull_image(operation, silent))
        assert await asyncio.to_thread(registry.has_been_asked.wait, 10)

        pull.cancel()
        await asyncio.wait([pull], timeout=5)

        assert pull.cancelled()
        assert await bench.runtime.image_status(operation.image) is None

    async def test_pulls_at_once_come_to_the_same(
        self, bench: DockerBench, registry: Registry, pulled: list[str]
    ) -> None:
        operation = PullImage(a_pod(), registry.add("app", size=100_000))
        pulled.append(operation.image)

        one, two = await asyncio.gather(
            *(bench.runtime.pull_image(operation, silent) for _ in range(2))
        )

        assert one == two


class TestSandboxImage:
    """What sandboxes are made of."""

    pytestmark = real_docker

    async def test_a_missing_image_is_replaced_by_another_with_a_note(
        self,
    ) -> None:
        bench = DockerBench(sandbox_image="127.0.0.1:9/no/pause:1")

        sandbox_id = await bench.sandbox(a_pod())

        assert (await bench.runtime.pod_sandbox_status(sandbox_id)).is_ready
        image = dict(bench.runtime.facts())["sandbox image"]
        assert "instead of 127.0.0.1:9/no/pause:1" in image
        await bench.close()

    async def test_an_image_that_was_removed_meanwhile_is_replaced(self) -> None:
        bench = DockerBench(sandbox_image="probetui-test/own/busybox:1")
        bench.sdk.images.get(bench.image).tag("probetui-test/own/busybox", "1")
        await bench.sandbox(a_pod(name="first"))
        bench.sdk.images.remove("probetui-test/own/busybox:1", force=True)

        await bench.sandbox(a_pod(name="second"))

        image = dict(bench.runtime.facts())["sandbox image"]
        assert "instead of probetui-test/own/busybox:1" in image
        await bench.close()

    async def test_a_stand_in_exits_when_it_is_stopped(
        self, bench: DockerBench
    ) -> None:
        sandbox = bench.sdk.containers.run(
            bench.image,
            entrypoint=list(WAIT_IN_SHELL),
            detach=True,
            network_mode="none",
        )

        sandbox.stop(timeout=60)

        sandbox.reload()
        assert sandbox.attrs["State"]["ExitCode"] == 0
        sandbox.remove()


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param(["debian:12", "my/app:1"], None, id="nothing that will do"),
        pytest.param(
            ["busybox:1.36", "registry.k8s.io/pause:3.9"],
            "registry.k8s.io/pause:3.9",
            id="another pause image",
        ),
        pytest.param(["alpine:3", "busybox:1.36"], "busybox:1.36", id="busybox"),
        pytest.param(["mirror:5000/alpine:3"], "mirror:5000/alpine:3", id="alpine"),
        pytest.param(["busyboxes:1", "not/pause/app:1"], None, id="only alike"),
    ],
)
def test_the_best_image_stands_in(tags: list[str], expected: str | None) -> None:
    assert choose_substitute(tags) == expected


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        pytest.param(PAUSE_IMAGE, (), id="pause"),
        pytest.param("my/pause@sha256:00", (), id="own pause"),
        pytest.param("mirror:5000/busybox", WAIT_IN_SHELL, id="busybox"),
        pytest.param("alpine:3", WAIT_IN_SHELL, id="alpine"),
    ],
)
def test_an_image_with_a_shell_runs_a_waiting_script(
    image: str, expected: tuple[str, ...]
) -> None:
    assert sandbox_command(image) == expected
