"""Commands of others in containers, distinguished from our own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from probetui.k8s.runtime import ContainerID
from probetui.ports import StartedExec
from probetui.runtimes.docker.execution import REMEMBERED, OwnExecs, started_exec
from probetui.runtimes.docker.translate import to_container_id
from tests.runtimes.bench import POLITE
from tests.runtimes.docker.bench import DockerBench, bench

__all__ = ["bench"]

OURS = ("echo", "ours")


def test_an_exec_is_ours_once() -> None:
    own = OwnExecs()
    own.add("a")

    assert own.discard("a")
    assert not own.discard("a")
    assert not own.discard("b")


def test_execs_without_an_event_are_forgotten_after_a_while() -> None:
    own = OwnExecs()

    for number in range(REMEMBERED + 1):
        own.add(str(number))

    assert not own.discard("0")
    assert own.discard("1")


@pytest.mark.parametrize(
    ("action", "command"),
    [
        pytest.param("exec_start: sh -c date: now ", "sh -c date: now", id="words"),
        pytest.param("exec_start: true", "true", id="word"),
        pytest.param("exec_start", "", id="nothing"),
    ],
)
def test_an_event_names_the_command(action: str, command: str) -> None:
    event = {"Action": action, "Actor": {"ID": "4f7a"}}

    assert started_exec(event) == StartedExec(ContainerID("docker://4f7a"), command)


@pytest.mark.docker
@pytest.mark.slow
class TestDockerExecs:
    """Against a real daemon."""

    async def observe_execs(
        self,
        bench: DockerBench,
        events: AsyncIterator[StartedExec],
        docker_id: str,
    ) -> list[StartedExec]:
        """Run commands of ours and of another client until the latter is reported."""
        observed: list[StartedExec] = []
        container_id = to_container_id(docker_id)
        exec_run = bench.sdk.containers.get(docker_id).exec_run

        async def listen() -> None:
            async for command in events:
                observed.append(command)  # noqa: PERF401  # it never ends by itself

        async def is_observed() -> bool:
            await asyncio.gather(
                *(bench.runtime.exec_sync(container_id, OURS, 10) for _ in range(5)),
                asyncio.to_thread(exec_run, ["echo", "theirs"]),
            )
            return bool(observed)

        async with bench.meanwhile(listen()):
            await bench.until(is_observed)
        return observed

    async def test_only_commands_of_others_are_reported(
        self, bench: DockerBench
    ) -> None:
        container_id = await bench.run_ready(POLITE)
        docker_id = container_id.removeprefix("docker://")

        observed = await self.observe_execs(
            bench, bench.runtime.watch_execs(), docker_id
        )

        assert set(observed) == {StartedExec(container_id, "echo theirs")}

    async def test_commands_in_unmanaged_containers_are_reported(
        self, bench: DockerBench
    ) -> None:
        found = bench.run_unmanaged()
        events = bench.runtime.unmanaged().watch_execs()

        observed = await self.observe_execs(bench, events, found.id)

        mine = to_container_id(found.id)
        commands = {
            started_exec.command
            for started_exec in observed
            if started_exec.container_id == mine
        }
        assert commands == {"echo theirs"}
