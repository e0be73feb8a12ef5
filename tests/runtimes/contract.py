"""The contract of all runtimes, as tests that each adapter and the fake run.

An adapter's test module subclasses `Bench` for its engine and derives a class
`Test…` from `RuntimeContract`, and from those contracts in `capability_contract`
that it fulfils, with a fixture `bench`. Time is the bench's clock: real for real
engines, jumping from deadline to deadline for the fake.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.errors import (
    ContainerRuntimeError,
)
from probetui.k8s.pod import Container
from probetui.k8s.runtime import (
    RuntimeState,
)
from probetui.kubelet.kuberuntime.container_hash import container_hash
from tests.builders import a_pod, env
from tests.runtimes.bench import (
    COMPLETES,
    FAILS,
    GREETING,
    HEEDS_USR1,
    MISSING_PROGRAM,
    POLITE,
    SLACK,
    SLOW,
    STUBBORN,
    UNAWARE,
    WHERE,
    Bench,
    is_between,
)
from tests.runtimes.exec_contract import ExecContract


class SandboxContract:
    """Sandboxes, and whether there can be some."""

    async def test_a_healthy_runtime_is_ready(self, bench: Bench) -> None:
        runtime = bench.runtime

        ready = {one.type for one in await runtime.conditions() if one.status}

        assert {"RuntimeReady", "NetworkReady"} <= ready

    async def test_a_new_sandbox_is_ready_and_has_an_address(
        self, bench: Bench
    ) -> None:
        before = bench.clock.now()

        sandbox_id = await bench.sandbox(a_pod(), attempt=2)

        status = await bench.runtime.pod_sandbox_status(sandbox_id)
        assert (status.sandbox_id, status.attempt) == (sandbox_id, 2)
        assert status.is_ready
        assert status.ip
        assert not status.host_network
        assert is_between(status.created_at, before, bench.clock.now())

    async def test_a_relist_names_the_pod_of_a_sandbox(self, bench: Bench) -> None:
        pod = a_pod(name="shop", namespace="retail", uid="3f2c-shop")

        sandbox_id = await bench.sandbox(pod)

        listed = await bench.pod()
        status = await bench.runtime.pod_sandbox_status(sandbox_id)
        assert (listed.pod_uid, listed.name, listed.namespace) == (
            "3f2c-shop",
            "shop",
            "retail",
        )
        assert listed.sandboxes == (status,)
        assert listed.ips == (status.ip,)
        assert listed.containers == ()

    async def test_two_pods_are_listed_apart(self, bench: Bench) -> None:
        one, two = a_pod(name="one"), a_pod(name="two")

        ids = {one.uid: await bench.sandbox(one), two.uid: await bench.sandbox(two)}

        pods = await bench.runtime.relist()
        assert {pod.pod_uid: pod.sandboxes[0].sandbox_id for pod in pods} == ids

    async def test_a_stopped_sandbox_is_not_ready_and_may_be_stopped_again(
        self, bench: Bench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())

        await bench.runtime.stop_pod_sandbox(sandbox_id)
        await bench.runtime.stop_pod_sandbox(sandbox_id)

        listed = await bench.pod()
        assert [sandbox.is_ready for sandbox in listed.sandboxes] == [False]
        assert listed.ips == ()

    async def test_a_removed_sandbox_is_gone_and_may_be_removed_again(
        self, bench: Bench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())

        await bench.runtime.remove_pod_sandbox(sandbox_id)
        await bench.runtime.remove_pod_sandbox(sandbox_id)
        await bench.runtime.stop_pod_sandbox(sandbox_id)

        assert await bench.runtime.relist() == ()

    async def test_the_status_of_a_removed_sandbox_is_refused(
        self, bench: Bench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        await bench.runtime.remove_pod_sandbox(sandbox_id)

        with pytest.raises(ContainerRuntimeError):
            await bench.runtime.pod_sandbox_status(sandbox_id)

    async def test_the_newest_sandbox_comes_first(self, bench: Bench) -> None:
        first = await bench.sandbox(a_pod())
        await bench.runtime.stop_pod_sandbox(first)

        second = await bench.sandbox(a_pod(), attempt=1)

        listed = await bench.pod()
        assert [sandbox.sandbox_id for sandbox in listed.sandboxes] == [second, first]
        assert [sandbox.is_ready for sandbox in listed.sandboxes] == [True, False]
        assert listed.ips == (listed.sandboxes[0].ip,)

    async def test_a_sandbox_of_the_hosts_network_has_no_address_of_its_own(
        self, bench: Bench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod(host_network=True))

        status = await bench.runtime.pod_sandbox_status(sandbox_id)
        assert status.is_ready
        assert status.host_network
        assert not status.ip

    async def test_stopping_a_sandbox_kills_what_runs_in_it(self, bench: Bench) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        stubborn = await bench.run_ready(STUBBORN, sandbox_id=sandbox_id)

        await bench.runtime.stop_pod_sandbox(sandbox_id)

        assert (await bench.ended(stubborn)).exit_code == 137

    async def test_removing_a_sandbox_removes_what_is_in_it(self, bench: Bench) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        await bench.run(COMPLETES, name="done", sandbox_id=sandbox_id)
        await bench.create(bench.container(POLITE, "new"), sandbox_id=sandbox_id)
        await bench.run(POLITE, sandbox_id=sandbox_id)

        await bench.runtime.remove_pod_sandbox(sandbox_id)

        assert await bench.runtime.relist() == ()


class ContainerContract:
    """Containers from creation to removal."""

    async def test_a_created_container_is_listed_with_what_it_was_made_from(
        self, bench: Bench
    ) -> None:
        before = bench.clock.now()
        container = bench.container(POLITE)

        container_id = await bench.create(container, attempt=3)

        status = await bench.status(container_id)
        assert status is not None
        assert container_id.startswith(f"{bench.runtime.name}://")
        assert status.name == "app"
        assert status.state is RuntimeState.CREATED
        assert status.restart_count == 3
        assert status.hash == container_hash(container)
        assert status.image.endswith(container.image)
        assert is_between(status.created_at, before, bench.clock.now())
        assert (status.started_at, status.finished_at) == (None, None)

    async def test_a_started_container_runs(self, bench: Bench) -> None:
        before = bench.clock.now()

        container_id = await bench.run(POLITE)

        status = await bench.status(container_id)
        assert status is not None
        assert status.state is RuntimeState.RUNNING
        assert is_between(status.started_at, before, bench.clock.now())
        assert status.finished_at is None

    @pytest.mark.parametrize(
        ("script", "exit_code", "reason"),
        [
            pytest.param(COMPLETES, 0, "Completed", id="zero"),
            pytest.param(FAILS, 3, "Error", id="three"),
        ],
    )
    async def test_a_container_that_ends_by_itself_shows_how(
        self, bench: Bench, script: str, exit_code: int, reason: str
    ) -> None:
        before = bench.clock.now()

        container_id = await bench.run(script)

        status = await bench.ended(container_id)
        assert (status.exit_code, status.reason) == (exit_code, reason)
        assert is_between(status.finished_at, before, bench.clock.now())
        assert status.started_at is not None
        assert status.finished_at is not None
        assert status.started_at <= status.finished_at

    async def test_arguments_follow_the_command(self, bench: Bench) -> None:
        container = Container(
            "app", bench.image, command=("/bin/sh", "-c"), args=(FAILS,)
        )

        container_id = await bench.create(container)
        await bench.runtime.start_container(container_id)

        assert (await bench.ended(container_id)).exit_code == 3

    async def test_the_newest_container_comes_first(self, bench: Bench) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        first = await bench.run(FAILS, sandbox_id=sandbox_id)
        await bench.ended(first)

        second = await bench.run(POLITE, sandbox_id=sandbox_id, attempt=1)

        listed = await bench.pod()
        assert [container.container_id for container in listed.containers] == [
            second,
            first,
        ]
        assert [container.restart_count for container in listed.containers] == [1, 0]

    async def test_environment_and_working_directory_are_the_containers(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run(
            SLOW, env=env(GREETING="hello $HOME"), working_dir="/tmp"
        )

        greeting = await bench.sh(container_id, GREETING)
        where = await bench.sh(container_id, WHERE)

        assert greeting.stdout == b"hello $HOME"
        assert where.stdout == b"/tmp\n"

    async def test_a_program_that_does_not_exist_cannot_be_started(
        self, bench: Bench
    ) -> None:
        container_id = await bench.create(
            replace(bench.container(POLITE), command=(MISSING_PROGRAM,))
        )

        with pytest.raises(ContainerRuntimeError, match=MISSING_PROGRAM):
            await bench.runtime.start_container(container_id)

        assert await bench.state(container_id) is not RuntimeState.RUNNING

    async def test_a_container_needs_a_sandbox(self, bench: Bench) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        await bench.runtime.remove_pod_sandbox(sandbox_id)

        with pytest.raises(ContainerRuntimeError):
            await bench.create(bench.container(POLITE), sandbox_id=sandbox_id)

    async def test_nothing_runs_in_a_sandbox_that_was_stopped(
        self, bench: Bench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        await bench.runtime.stop_pod_sandbox(sandbox_id)

        with pytest.raises(ContainerRuntimeError):
            await bench.run(POLITE, sandbox_id=sandbox_id)

    async def test_a_removed_container_cannot_be_started(self, bench: Bench) -> None:
        container_id = await bench.create(bench.container(POLITE))
        await bench.runtime.remove_container(container_id)

        with pytest.raises(ContainerRuntimeError):
            await bench.runtime.start_container(container_id)

    async def test_removing_a_container_kills_it_and_may_be_repeated(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(STUBBORN)

        await bench.runtime.remove_container(container_id)
        await bench.runtime.remove_container(container_id)

        assert (await bench.pod()).containers == ()

    async def test_pods_can_be_made_at_the_same_time(self, bench: Bench) -> None:
        pods = [a_pod(name=f"pod-{number}") for number in range(5)]

        ids = await asyncio.gather(*(bench.sandbox(pod) for pod in pods))

        listed = await bench.runtime.relist()
        assert len(set(ids)) == 5
        assert {status.pod_uid for status in listed} == {pod.uid for pod in pods}


class StopContract:
    """Stopping: the signal, the grace period, the kill."""

    stopped_by_usr1 = 11
    """The exit code of a container that handles only SIGUSR1, its stop signal."""

    async def test_a_container_may_end_in_its_own_way_when_stopped(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(POLITE)
        before = bench.clock.now()

        await bench.runtime.stop_container(container_id, 30)

        status = await bench.status(container_id)
        assert status is not None
        assert (status.state, status.exit_code) == (RuntimeState.EXITED, 7)
        assert bench.clock.now() - before < SLACK

    async def test_a_container_that_does_not_stop_is_killed_after_its_grace_period(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(STUBBORN)
        before = bench.clock.now()

        await bench.runtime.stop_container(container_id, 1)

        status = await bench.status(container_id)
        took = bench.clock.now() - before
        assert status is not None
        assert (status.state, status.exit_code) == (RuntimeState.EXITED, 137)
        assert timedelta(seconds=1) <= took < timedelta(seconds=1) + SLACK

    async def test_the_exit_status_is_available_as_soon_as_a_stop_returns(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(STUBBORN)

        await bench.runtime.stop_container(container_id, 1)
        status = await bench.runtime.container_status(container_id)

        assert status is not None
        assert (status.state, status.exit_code) == (RuntimeState.EXITED, 137)
        assert status.finished_at is not None
        assert status == await bench.status(container_id)

    async def test_the_status_of_a_removed_container_is_none(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(STUBBORN)

        await bench.runtime.remove_container(container_id)

        assert await bench.runtime.container_status(container_id) is None

    async def test_a_program_without_a_handler_is_not_ended_by_the_stop_signal(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(UNAWARE)
        before = bench.clock.now()

        await bench.runtime.stop_container(container_id, 1)

        status = await bench.status(container_id)
        took = bench.clock.now() - before
        assert status is not None
        assert (status.state, status.exit_code) == (RuntimeState.EXITED, 137)
        assert took >= timedelta(seconds=1)

    async def test_the_signal_that_a_manifest_names_stops_a_container(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(HEEDS_USR1, stop_signal="SIGUSR1")

        await bench.runtime.stop_container(container_id, 2)

        assert (await bench.ended(container_id)).exit_code == self.stopped_by_usr1

    async def test_without_a_grace_period_a_container_is_killed_at_once(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(STUBBORN)

        await bench.runtime.stop_container(container_id, 0)

        assert (await bench.ended(container_id)).exit_code == 137

    async def test_a_shorter_grace_period_overtakes_a_longer_one(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(STUBBORN)
        before = bench.clock.now()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(bench.runtime.stop_container(container_id, 300))
            tasks.create_task(bench.runtime.stop_container(container_id, 0))

        assert (await bench.ended(container_id)).exit_code == 137
        assert bench.clock.now() - before < SLACK

    async def test_a_cancelled_stop_can_be_repeated(self, bench: Bench) -> None:
        container_id = await bench.run_ready(STUBBORN)

        async with bench.meanwhile(bench.runtime.stop_container(container_id, 300)):
            await bench.wait(timedelta(milliseconds=200))

        assert await bench.state(container_id) is RuntimeState.RUNNING
        await bench.runtime.stop_container(container_id, 0)
        assert (await bench.ended(container_id)).exit_code == 137

    async def test_stopping_an_exited_or_missing_container_is_no_error(
        self, bench: Bench
    ) -> None:
        ended = await bench.run(FAILS)
        await bench.ended(ended)

        await bench.runtime.stop_container(ended, 30)
        assert (await bench.ended(ended)).exit_code == 3

        await bench.runtime.remove_container(ended)
        await bench.runtime.stop_container(ended, 30)

    async def test_stopping_what_was_never_started_is_no_error(
        self, bench: Bench
    ) -> None:
        created = await bench.create(bench.container(POLITE))

        await bench.runtime.stop_container(created, 30)

        assert await bench.state(created) is not RuntimeState.RUNNING


class AdoptionContract:
    """Several clients of one engine, and unmanaged containers."""

    async def test_another_client_lists_containers_of_the_first_one(
        self, bench: Bench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        await bench.ended(await bench.run(FAILS, sandbox_id=sandbox_id))
        await bench.run_ready(POLITE, sandbox_id=sandbox_id, attempt=1)
        await bench.create(bench.container(POLITE, "new"), sandbox_id=sandbox_id)
        another = bench.another()

        (theirs,) = await another.relist()

        ours = await bench.pod()
        assert len(ours.containers) == 3
        assert replace(theirs, seen_at=None) == replace(ours, seen_at=None)
        await another.close()

    async def test_another_client_can_stop_containers_of_the_first_one(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(POLITE)
        another = bench.another()
        (pod,) = await another.relist()

        await another.stop_container(container_id, 30)
        theirs = await bench.ended(container_id, another)
        ours = await bench.ended(container_id)
        await another.remove_pod_sandbox(pod.sandboxes[0].sandbox_id)

        assert theirs == ours
        assert ours.exit_code == 7
        assert await bench.runtime.relist() == ()
        await another.close()

    async def test_closing_leaves_containers_as_they_are(self, bench: Bench) -> None:
        container_id = await bench.run_ready(POLITE)
        another = bench.another()

        await bench.runtime.close()

        status = await bench.status(container_id, another)
        assert status is not None
        assert status.state is RuntimeState.RUNNING
        await another.close()

    async def test_what_is_not_ours_is_neither_listed_nor_harmed(
        self, bench: Bench
    ) -> None:
        await bench.add_unmanaged()
        sandbox_id = await bench.sandbox(a_pod())

        listed = await bench.pod()
        await bench.runtime.remove_pod_sandbox(sandbox_id)

        assert [sandbox.sandbox_id for sandbox in listed.sandboxes] == [sandbox_id]
        assert await bench.unmanaged_is_running()

    async def test_a_runtime_has_a_version(self, bench: Bench) -> None:
        assert await bench.runtime.version()

    async def test_an_existing_image_has_an_id(self, bench: Bench) -> None:
        assert await bench.runtime.image_status(bench.image)


class RuntimeContract(
    SandboxContract, ContainerContract, StopContract, ExecContract, AdoptionContract
):
    """The complete contract of `ports.Runtime`."""
