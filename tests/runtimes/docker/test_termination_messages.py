"""The contract about last words, and what only Docker does, against a real daemon."""

from __future__ import annotations

import pytest

from probetui.kubelet.effects import CreateContainer
from tests.builders import a_container, a_pod
from tests.runtimes.docker.bench import DockerBench, bench
from tests.runtimes.message_contract import MessageContract, message

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]


class TestDockerMessages(MessageContract):
    """Docker keeps the contract."""


async def test_a_container_without_a_path_has_no_file(bench: DockerBench) -> None:
    script = "test -e /dev/termination-log && echo yes; exit 1"

    found = await message(
        bench,
        script,
        termination_message_path="",
        termination_message_policy="FallbackToLogsOnError",
    )

    assert found == ""


async def test_the_message_of_docker_comes_first(bench: DockerBench) -> None:
    pod = a_pod(a_container(command=("/no/such/program",)))
    sandbox_id = await bench.sandbox(pod)
    image_id = await bench.runtime.image_status(bench.image) or ""
    app = await bench.runtime.create_container(
        CreateContainer(pod, pod.containers[0], sandbox_id, 0, image_id)
    )
    with pytest.raises(Exception, match="no/such/program"):
        await bench.runtime.start_container(app)

    status = await bench.status(app)

    assert status is not None
    assert "no such file or directory" in status.message


async def test_a_file_is_left_neither_in_a_volume_nor_elsewhere(
    bench: DockerBench,
) -> None:
    sandbox_id = await bench.sandbox(a_pod())
    (own,) = bench.docker(sandbox_id).attrs["Mounts"]
    app = await bench.run("echo bye > /dev/termination-log", sandbox_id=sandbox_id)
    await bench.ended(app)

    await bench.runtime.remove_pod_sandbox(sandbox_id)

    assert own["Name"] not in {volume.name for volume in bench.sdk.volumes.list()}
