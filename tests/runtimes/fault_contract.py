"""The contract of fault injection."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Container
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.kubelet.effects import CreateContainer, Fault, RunProbe
from probetui.kubelet.outcome import ProbeOutcome, ProbeResult
from probetui.ports import Runtime
from probetui.probers.prober import ProbeDispatcher
from tests.builders import a_pod, an_http_probe
from tests.runtimes.bench import COMPLETES, POLITE, STUBBORN, UNAWARE, Bench

COUNTS = "while :; do echo on; sleep 0.05; done"
LONG_ENOUGH = timedelta(seconds=0.5)
"""Long enough for a counting script to print again if it is not frozen."""

_LOOKS = 10

PORT = 18081
ANSWERS_WITHIN_SECONDS = 1


async def inject_fault(bench: Bench, container_id: ContainerID, fault: Fault) -> None:
    await inject_fault_by(bench.runtime, container_id, fault)


async def inject_fault_by(
    runtime: Runtime, container_id: ContainerID, fault: Fault
) -> None:
    await runtime.inject_fault(container_id, fault)


async def count(bench: Bench, container_id: ContainerID) -> int:
    """Return how many lines a container has printed."""
    lines = bench.runtime.follow_logs(container_id, tail=10_000, follow=False)
    return len([line async for line in lines])


async def wait_for_more_lines(
    bench: Bench, container_id: ContainerID, before: int
) -> None:
    """Wait until a container has printed more than so many lines."""

    async def has_printed() -> bool:
        return await count(bench, container_id) > before

    await bench.until(has_printed)


async def is_frozen(bench: Bench, container_id: ContainerID) -> bool:
    """Return whether a script that counts prints nothing for a while.

    What it printed before may come late.
    """
    printed = await count(bench, container_id)
    for _ in range(_LOOKS):
        before = printed
        await bench.wait(LONG_ENOUGH)
        printed = await count(bench, container_id)
        if printed == before:
            return True
    return False


class FaultContract:
    """Faults that happen to containers can be injected."""

    async def test_a_frozen_container_stops_and_continues_when_thawed(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run(COUNTS)
        await wait_for_more_lines(bench, container_id, 0)

        await inject_fault(bench, container_id, Fault.FREEZE)
        is_still = await is_frozen(bench, container_id)
        printed = await count(bench, container_id)
        state = await bench.state(container_id)
        await inject_fault(bench, container_id, Fault.UNFREEZE)

        assert is_still
        assert state is RuntimeState.RUNNING
        await wait_for_more_lines(bench, container_id, printed)

    async def test_to_freeze_and_unfreeze_twice_is_no_error(self, bench: Bench) -> None:
        container_id = await bench.run(COUNTS)

        for fault in (Fault.FREEZE, Fault.UNFREEZE):
            await inject_fault(bench, container_id, fault)
            await inject_fault(bench, container_id, fault)

        await wait_for_more_lines(bench, container_id, 0)

    async def test_another_of_the_pod_is_not_frozen_with_it(self, bench: Bench) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        container_id = await bench.run(COUNTS, sandbox_id=sandbox_id)
        other = await bench.run(COUNTS, name="other", sandbox_id=sandbox_id)

        await inject_fault(bench, container_id, Fault.FREEZE)

        await wait_for_more_lines(bench, other, await count(bench, other))
        assert await is_frozen(bench, container_id)

    async def test_one_that_is_just_being_started_can_be_frozen_and_killed(
        self, bench: Bench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())

        for attempt in range(5):
            container_id = await bench.run(
                STUBBORN, attempt=attempt, sandbox_id=sandbox_id
            )
            await inject_fault(bench, container_id, Fault.FREEZE)
            await bench.runtime.stop_container(container_id, 0)

            assert (await bench.ended(container_id)).exit_code == 137

    @pytest.mark.parametrize("grace", [pytest.param(1), pytest.param(0)])
    async def test_a_frozen_container_can_be_stopped(
        self, bench: Bench, grace: int
    ) -> None:
        container_id = await bench.run_ready(POLITE)
        await inject_fault(bench, container_id, Fault.FREEZE)

        await bench.runtime.stop_container(container_id, grace)

        assert await bench.state(container_id) is RuntimeState.EXITED

    async def test_a_frozen_container_that_ignores_sigterm_is_killed_after_its_grace(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(STUBBORN)
        await inject_fault(bench, container_id, Fault.FREEZE)

        await bench.runtime.stop_container(container_id, 1)

        assert (await bench.ended(container_id)).exit_code == 137

    async def test_the_main_process_of_a_frozen_container_can_be_killed(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(UNAWARE)
        await inject_fault(bench, container_id, Fault.FREEZE)

        await inject_fault(bench, container_id, Fault.KILL)

        assert (await bench.ended(container_id)).exit_code == 137

    async def test_a_pod_with_a_frozen_container_can_be_removed(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(STUBBORN)
        await inject_fault(bench, container_id, Fault.FREEZE)
        (sandbox,) = (await bench.pod()).sandboxes

        await bench.runtime.stop_pod_sandbox(sandbox.sandbox_id)
        await bench.runtime.remove_container(container_id)
        await bench.runtime.remove_pod_sandbox(sandbox.sandbox_id)

        assert await bench.runtime.relist() == ()

    async def test_who_is_closed_leaves_nothing_frozen(self, bench: Bench) -> None:
        container_id = await bench.run(COUNTS)
        another = bench.another()
        await inject_fault_by(another, container_id, Fault.FREEZE)
        is_still = await is_frozen(bench, container_id)

        await another.close()

        assert is_still
        await wait_for_more_lines(bench, container_id, await count(bench, container_id))

    async def test_who_is_closed_leaves_alone_what_others_froze(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run(COUNTS)
        await inject_fault(bench, container_id, Fault.FREEZE)
        another = bench.another()

        await another.close()

        assert await is_frozen(bench, container_id)

    async def test_a_main_process_can_be_signalled(self, bench: Bench) -> None:
        container_id = await bench.run_ready(POLITE)

        await inject_fault(bench, container_id, Fault.STOP)

        assert (await bench.ended(container_id)).exit_code == 7

    async def test_a_process_without_a_handler_ignores_the_signal(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(UNAWARE)

        await inject_fault(bench, container_id, Fault.STOP)
        await bench.wait(LONG_ENOUGH)

        assert await bench.state(container_id) is RuntimeState.RUNNING

    async def test_a_main_process_can_be_killed(self, bench: Bench) -> None:
        container_id = await bench.run_ready(UNAWARE)

        await inject_fault(bench, container_id, Fault.KILL)

        assert (await bench.ended(container_id)).exit_code == 137

    async def test_no_fault_can_be_injected_into_an_exited_container(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run(COMPLETES)
        await bench.ended(container_id)

        with pytest.raises(ContainerRuntimeError):
            await inject_fault(bench, container_id, Fault.FREEZE)

    async def test_freezing_is_no_more_refused_beforehand_than_when_it_is_done(
        self, bench: Bench
    ) -> None:

        assert bench.runtime.fault_refusal(a_pod(), Fault.FREEZE) == ""


async def is_reached(address: str) -> bool:
    """Return whether a server in a pod accepts connections."""
    try:
        async with asyncio.timeout(ANSWERS_WITHIN_SECONDS):
            _, writer = await asyncio.open_connection(address, PORT)
    except (OSError, TimeoutError):
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def is_reached_soon(bench: Bench, address: str) -> None:
    """Wait until a server in a pod accepts connections."""

    async def answers() -> bool:
        return await is_reached(address)

    await bench.until(answers)


async def address_of(bench: Bench) -> str:
    """Return the address of the only pod there is."""
    (address,) = (await bench.pod()).ips
    return address


def serving(bench: Bench) -> Container:
    """Return a container that serves its own files."""
    command = ("httpd", "-f", "-p", str(PORT), "-h", "/")
    return Container("app", bench.image, command=command)


async def a_server(bench: Bench, sandbox_id: str = "") -> tuple[ContainerID, str]:
    """Run a server and return it with the address at which it answers."""
    container_id = await bench.create(serving(bench), sandbox_id=sandbox_id)
    await bench.runtime.start_container(container_id)
    address = await address_of(bench)
    await is_reached_soon(bench, address)
    return container_id, address


async def probed(bench: Bench, container_id: ContainerID) -> ProbeOutcome:
    """Return the outcome of an HTTP probe of a server."""
    probe = an_http_probe(PORT, "/bin/busybox", timeout_seconds=1)
    pod = a_pod()
    key = ProbeKey(pod.uid, "app", ProbeType.LIVENESS)
    return await ProbeDispatcher(bench.runtime, bench.clock).probe(
        RunProbe(
            1,
            key,
            pod,
            pod.containers[0],
            probe,
            container_id,
            await address_of(bench),
        )
    )


class NetworkFaultContract:
    """For runtimes whose pods have a network of their own, with busybox in the image:
    it can be unplugged.
    """

    async def test_a_pod_that_is_cut_off_keeps_its_address_and_does_not_answer(
        self, bench: Bench
    ) -> None:
        container_id, address = await a_server(bench)

        await inject_fault(bench, container_id, Fault.CUT_NETWORK)

        pod = await bench.pod()
        assert pod.ips == (address,)
        assert pod.sandboxes[0].is_ready
        assert not await is_reached(address)

    async def test_its_containers_still_reach_each_other(self, bench: Bench) -> None:
        container_id, _ = await a_server(bench)

        await inject_fault(bench, container_id, Fault.CUT_NETWORK)

        asked = f"printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc 127.0.0.1 {PORT}"
        assert (await bench.sh(container_id, asked)).stdout.startswith(b"HTTP/1")

    async def test_a_pod_that_is_connected_again_answers_at_its_current_address(
        self, bench: Bench
    ) -> None:
        container_id, _ = await a_server(bench)
        routes = await bench.sh(container_id, "ip route")
        await inject_fault(bench, container_id, Fault.CUT_NETWORK)

        await inject_fault(bench, container_id, Fault.RESTORE_NETWORK)

        await is_reached_soon(bench, await address_of(bench))
        gateway, _, _ = routes.stdout.partition(b" dev ")
        assert gateway.startswith(b"default via ")
        assert gateway in (await bench.sh(container_id, "ip route")).stdout

    async def test_to_cut_and_to_join_twice_is_no_error(self, bench: Bench) -> None:
        container_id, _ = await a_server(bench)

        for fault in (Fault.CUT_NETWORK, Fault.RESTORE_NETWORK):
            await inject_fault(bench, container_id, fault)
            await inject_fault(bench, container_id, fault)

        await is_reached_soon(bench, await address_of(bench))

    async def test_the_next_container_of_the_pod_is_cut_off_too_until_it_is_joined(
        self, bench: Bench
    ) -> None:
        pod = a_pod()
        sandbox_id = await bench.sandbox(pod)
        container_id, _ = await a_server(bench, sandbox_id)
        await inject_fault(bench, container_id, Fault.CUT_NETWORK)
        await bench.runtime.stop_container(container_id, 0)
        image_id = await bench.runtime.image_status(bench.image) or ""
        next_one = await bench.runtime.create_container(
            CreateContainer(pod, serving(bench), sandbox_id, 1, image_id)
        )
        await bench.runtime.start_container(next_one)

        is_cut = not await is_reached(await address_of(bench))
        await inject_fault(bench, next_one, Fault.RESTORE_NETWORK)

        assert is_cut
        await is_reached_soon(bench, await address_of(bench))

    async def test_a_new_sandbox_of_the_pod_has_its_network(self, bench: Bench) -> None:
        container_id, _ = await a_server(bench)
        await inject_fault(bench, container_id, Fault.CUT_NETWORK)
        (sandbox,) = (await bench.pod()).sandboxes
        await bench.runtime.stop_pod_sandbox(sandbox.sandbox_id)

        next_one = await bench.sandbox(a_pod(), attempt=1)

        await a_server(bench, next_one)

    async def test_a_pod_that_is_cut_off_can_be_removed(self, bench: Bench) -> None:
        container_id, _ = await a_server(bench)
        await inject_fault(bench, container_id, Fault.CUT_NETWORK)
        (sandbox,) = (await bench.pod()).sandboxes

        await bench.runtime.stop_container(container_id, 0)
        await bench.runtime.stop_pod_sandbox(sandbox.sandbox_id)
        await bench.runtime.remove_pod_sandbox(sandbox.sandbox_id)

        assert await bench.runtime.relist() == ()

    async def test_who_is_closed_leaves_nothing_cut_off(self, bench: Bench) -> None:
        container_id, address = await a_server(bench)
        another = bench.another()
        await inject_fault_by(another, container_id, Fault.CUT_NETWORK)
        is_cut = not await is_reached(address)

        await another.close()

        # Of a client that has not seen it: it may be another address now.
        await bench.runtime.close()
        bench.runtime = bench.another()
        assert is_cut
        await is_reached_soon(bench, await address_of(bench))

    async def test_the_network_of_the_host_is_not_cut(self, bench: Bench) -> None:
        pod = a_pod(host_network=True)
        sandbox_id = await bench.sandbox(pod)
        container_id = await bench.run(POLITE, sandbox_id=sandbox_id)

        with pytest.raises(ContainerRuntimeError, match="uses the host network"):
            await inject_fault(bench, container_id, Fault.CUT_NETWORK)

        fault_refusal = bench.runtime.fault_refusal(pod, Fault.CUT_NETWORK)
        assert "uses the host network" in fault_refusal

    async def test_http_probes_of_a_frozen_server_time_out_until_it_is_thawed(
        self, bench: Bench
    ) -> None:
        container_id, _ = await a_server(bench)
        await inject_fault(bench, container_id, Fault.FREEZE)

        frozen = await probed(bench, container_id)
        await inject_fault(bench, container_id, Fault.UNFREEZE)
        after = await probed(bench, container_id)

        assert frozen.last.result is ProbeResult.FAILURE
        assert frozen.last.output.endswith(
            "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        )
        assert after.last.result is ProbeResult.SUCCESS

    async def test_commands_in_a_frozen_container_are_refused_until_it_is_thawed(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(UNAWARE)
        await inject_fault(bench, container_id, Fault.FREEZE)

        with pytest.raises(ContainerRuntimeError):
            await bench.sh(container_id, "true")
        await inject_fault(bench, container_id, Fault.UNFREEZE)

        assert (await bench.sh(container_id, "true")).exit_code == 0
