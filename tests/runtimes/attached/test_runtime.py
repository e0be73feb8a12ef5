"""Unmanaged containers as the containers of pods: observed, and left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError, UnsupportedError
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import (
    UNKNOWN_NODE,
    ContainerID,
    Listeners,
    ListenerScope,
    RuntimeState,
    SocketAddress,
)
from probetui.kubelet.effects import (
    CreateContainer,
    Fault,
    PullImage,
    RunHook,
    RunPodSandbox,
    RunProbe,
)
from probetui.kubelet.kuberuntime.pod_actions import pod_sandbox_changed
from probetui.kubelet.outcome import ProbeOutcome
from probetui.ports import HookResult, Runtime, StartedExec
from probetui.runtimes.attached import runtime as attached_runtime
from probetui.runtimes.attached.addresses import (
    ContainerAddressHookRunner,
    ContainerAddressProber,
)
from probetui.runtimes.attached.matching import make_targets
from probetui.runtimes.attached.runtime import AttachedRuntime
from tests.builders import START, a_container, a_pod, a_probe
from tests.runtimes.fake_unmanaged import FakeUnmanaged, RuntimeOfOthers

POD = a_pod(a_container("web"), a_container("db"), name="shop")
WEB = ContainerID("docker://web1")


@pytest.fixture
def unmanaged() -> FakeUnmanaged:
    unmanaged = FakeUnmanaged()
    unmanaged.run("web", "10.0.0.2")
    return unmanaged


def attached(
    unmanaged: FakeUnmanaged, *, acts: bool = False, pods: tuple[Pod, ...] = (POD,)
) -> AttachedRuntime:
    return AttachedRuntime(
        RuntimeOfOthers(unmanaged),
        make_targets(pods, []),
        acts=acts,
        began_at=START,
    )


def restart(pod: Pod = POD) -> CreateContainer:
    return CreateContainer(pod, pod.containers[0], "sandbox", 1, "image")


async def test_a_pod_has_a_sandbox_and_those_containers_that_are_there(
    unmanaged: FakeUnmanaged,
) -> None:
    runtime = attached(unmanaged)

    (pod,) = await runtime.relist()

    assert (pod.pod_uid, pod.name, pod.ips) == (POD.uid, "shop", ("10.0.0.2",))
    assert [(it.name, it.container_id) for it in pod.containers] == [("web", WEB)]
    assert not pod_sandbox_changed(POD, pod).is_needed
    sandbox = await runtime.pod_sandbox_status(pod.sandboxes[0].sandbox_id)
    assert sandbox.is_ready


@pytest.mark.parametrize("host_network", [False, True], ids=["own", "host"])
async def test_a_pod_of_which_nothing_is_there_needs_no_new_sandbox(
    *, host_network: bool
) -> None:
    pod = replace(POD, host_network=host_network)

    (status,) = await attached(FakeUnmanaged(), pods=(pod,)).relist()

    assert status.containers == ()
    assert not pod_sandbox_changed(pod, status).is_needed


@pytest.mark.parametrize(
    ("revision", "count"), [pytest.param("1", 1, id="known"), pytest.param("", 2)]
)
async def test_what_has_not_changed_is_not_inspected_again(
    unmanaged: FakeUnmanaged, revision: str, count: int
) -> None:
    unmanaged.revision = revision
    runtime = attached(unmanaged)

    assert await runtime.relist() == await runtime.relist()
    assert unmanaged.inspections == count


async def _report_a_change(runtime: AttachedRuntime, _: FakeUnmanaged) -> None:
    assert [report async for report in runtime.watch()] == [None]


async def _raise_the_revision(_: AttachedRuntime, unmanaged: FakeUnmanaged) -> None:
    unmanaged.revision = "2"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_report_a_change, id="event"),
        pytest.param(_raise_the_revision, id="revision"),
        pytest.param(lambda it, _: it.stop_container(WEB, 1), id="stop"),
        pytest.param(lambda it, _: it.start_container(WEB), id="start"),
        pytest.param(lambda it, _: it.inject_fault(WEB, Fault.KILL), id="fault"),
    ],
)
async def test_what_may_have_changed_is_inspected_again(
    unmanaged: FakeUnmanaged, change: Any
) -> None:
    unmanaged.revision = "1"
    runtime = attached(unmanaged, acts=True)
    await runtime.relist()

    await change(runtime, unmanaged)
    await runtime.relist()

    assert unmanaged.inspections == 2


async def test_a_missed_event_is_made_up_for(
    unmanaged: FakeUnmanaged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attached_runtime, "GOOD_FOR_SECONDS", 0)
    unmanaged.revision = "1"
    runtime = attached(unmanaged)
    await runtime.relist()
    unmanaged.run("web", "10.0.0.3")

    (pod,) = await runtime.relist()

    assert pod.ips == ("10.0.0.3",)


async def test_matches_describe_which_container_is_used(
    unmanaged: FakeUnmanaged,
) -> None:
    web, db = await attached(unmanaged).matches()

    assert (web.target.label, web.chosen is not None) == ("shop/web", True)
    assert (db.target.label, db.chosen) == ("shop/db", None)


async def test_what_vanishes_is_gone_and_what_comes_back_is_found(
    unmanaged: FakeUnmanaged,
) -> None:
    runtime = attached(unmanaged)
    await runtime.relist()
    found = unmanaged.containers.pop("web")

    (without,) = await runtime.relist()
    unmanaged.containers["web"] = found
    (again,) = await runtime.relist()

    assert (without.containers, without.ips) == ((), ())
    assert [it.restart_count for it in again.containers] == [1]


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda it: it.stop_container(WEB, 1), id="stop"),
        pytest.param(lambda it: it.create_container(restart()), id="create"),
        pytest.param(lambda it: it.start_container(WEB), id="start"),
    ],
)
async def test_what_is_only_watched_is_left_as_it_is(
    unmanaged: FakeUnmanaged, call: Any
) -> None:
    runtime = attached(unmanaged)
    await runtime.relist()

    with pytest.raises(ContainerRuntimeError, match="is only watched"):
        await call(runtime)

    assert unmanaged.state_of("web") is RuntimeState.RUNNING


async def test_nothing_is_ever_created_or_removed(unmanaged: FakeUnmanaged) -> None:
    runtime = attached(unmanaged, acts=True)
    (pod,) = await runtime.relist()

    await runtime.remove_container(WEB)
    await runtime.stop_pod_sandbox(pod.sandboxes[0].sandbox_id)
    await runtime.remove_pod_sandbox(pod.sandboxes[0].sandbox_id)
    with pytest.raises(ContainerRuntimeError, match="attached to, not run"):
        await runtime.run_pod_sandbox(RunPodSandbox(POD, 0))
    with pytest.raises(ContainerRuntimeError, match="shop/db is gone"):
        await runtime.create_container(
            CreateContainer(POD, POD.containers[1], "sandbox", 0, "image")
        )

    assert await runtime.relist() == (pod,)


async def test_acting_a_container_is_stopped_and_started_again(
    unmanaged: FakeUnmanaged,
) -> None:
    runtime = attached(unmanaged, acts=True)
    await runtime.relist()

    await runtime.stop_container(WEB, 3)
    (stopped,) = await runtime.relist()
    container_id = await runtime.create_container(restart())
    await runtime.start_container(container_id)
    (started,) = await runtime.relist()

    assert [it.state for it in stopped.containers] == [RuntimeState.EXITED]
    assert [it.container_id for it in started.containers] == [container_id, WEB]
    assert started.containers[0].restart_count == 1


async def test_the_exit_status_of_an_instance_is_available_as_soon_as_its_stop_returns(
    unmanaged: FakeUnmanaged,
) -> None:
    runtime = attached(unmanaged, acts=True)
    await runtime.relist()

    await runtime.stop_container(WEB, 3)
    ended = await runtime.container_status(WEB)

    assert ended is not None
    assert ended.state is RuntimeState.EXITED
    (pod,) = await runtime.relist()
    assert ended in pod.containers
    assert await runtime.container_status(ContainerID("fake://nobody")) is None


async def test_a_stop_of_an_old_instance_does_not_stop_the_next(
    unmanaged: FakeUnmanaged,
) -> None:
    runtime = attached(unmanaged, acts=True)
    await runtime.relist()
    unmanaged.run("web")
    await runtime.relist()

    await runtime.stop_container(WEB, 3)

    assert unmanaged.state_of("web") is RuntimeState.RUNNING


async def test_a_container_that_cannot_be_restarted_is_reported() -> None:
    unmanaged = FakeUnmanaged(can_start=False)
    unmanaged.run("web")
    runtime = attached(unmanaged, acts=True)
    await runtime.relist()

    with pytest.raises(ContainerRuntimeError, match="cannot start it again"):
        await runtime.create_container(restart())

    assert not runtime.can_start


async def test_commands_run_in_the_container_itself_for_any_instance(
    unmanaged: FakeUnmanaged,
) -> None:
    result = await attached(unmanaged).exec_sync(ContainerID(f"{WEB}@2"), ("id",), 1)

    assert result.stdout == b"web"


async def test_images_are_there_and_never_pulled(unmanaged: FakeUnmanaged) -> None:
    runtime = attached(unmanaged)

    assert await runtime.image_status("nginx") == "nginx"
    pulled = await runtime.pull_image(PullImage(POD, "nginx"), lambda _: None)
    assert pulled.size_bytes == 0


class _Prober:
    async def probe(self, effect: RunProbe) -> ProbeOutcome:
        self.address = effect.pod_ip
        return ProbeOutcome((), START)


class _Hooks:
    async def run(self, operation: RunHook) -> HookResult:
        return HookResult(operation.pod_ip)


async def test_every_container_is_probed_at_its_own_address(
    unmanaged: FakeUnmanaged,
) -> None:
    unmanaged.run("db", "10.0.0.3")
    runtime = attached(unmanaged)
    await runtime.relist()
    db, probe = ContainerID("docker://db1"), a_probe()
    prober = _Prober()
    key = ProbeKey(POD.uid, "db", ProbeType.LIVENESS)

    await ContainerAddressProber(prober, runtime.address_of).probe(
        RunProbe(1, key, POD, POD.containers[1], probe, db, "10.0.0.2")
    )
    hook = await ContainerAddressHookRunner(_Hooks(), runtime.address_of).run(
        RunHook(POD, POD.containers[1], db, probe.handler, "10.0.0.2")  # type: ignore[arg-type]  # an exec
    )

    assert (prober.address, hook.output) == ("10.0.0.3", "10.0.0.3")
    assert runtime.dial_address("10.0.0.3", 80) == ("127.0.0.1", 81)


async def test_what_is_there_beside_containers_is_the_runtime_s_own(
    unmanaged: FakeUnmanaged,
) -> None:
    runtime = attached(unmanaged)

    assert await runtime.version() == "fake 1.0, attached"
    assert await runtime.node() == UNKNOWN_NODE
    assert runtime.name == "fake"
    assert [change async for change in runtime.watch()] == [None]
    await runtime.close()


async def test_logs_are_those_of_the_container_itself() -> None:
    own = RuntimeOfOthers(FakeUnmanaged())
    sandbox = await own.run_pod_sandbox(RunPodSandbox(POD, 0))
    container_id = await own.create_container(
        CreateContainer(POD, POD.containers[0], sandbox, 0, "")
    )
    runtime = AttachedRuntime(own, [], acts=False, began_at=START)

    lines = runtime.follow_logs(ContainerID(f"{container_id}@3"), tail=5, follow=False)

    assert [line.text async for line in lines] == []


class ExecsAndListeners(FakeUnmanaged):
    """Tells of a command in each of two containers, and where one listens."""

    async def watch_execs(self) -> AsyncIterator[StartedExec]:
        yield StartedExec(WEB, "date")
        yield StartedExec(ContainerID("docker://nobody"), "true")

    async def listeners(self, container_id: ContainerID) -> Listeners:
        endpoint = SocketAddress(container_id, 80)
        return Listeners((endpoint,), ListenerScope.CONTAINER)


async def test_commands_of_others_are_those_in_the_newest_instance() -> None:
    unmanaged = ExecsAndListeners("web")
    runtime = attached(unmanaged)
    await runtime.relist()
    unmanaged.run("web")
    await runtime.relist()

    execs = [watch_exec async for watch_exec in runtime.watch_execs()]

    assert runtime.supports(Runtime.watch_execs)
    assert execs == [StartedExec(ContainerID(f"{WEB}@2"), "date")]


async def test_listeners_are_requested_with_the_own_id_of_a_container() -> None:
    runtime = attached(ExecsAndListeners("web"))

    found = await runtime.listeners(ContainerID(f"{WEB}@2"))

    assert found.endpoints == (SocketAddress(WEB, 80),)


async def test_a_runtime_without_exec_events_has_an_error(
    unmanaged: FakeUnmanaged,
) -> None:
    runtime = attached(unmanaged)

    assert not runtime.supports(Runtime.watch_execs)
    with pytest.raises(UnsupportedError, match="fake does not report commands"):
        await anext(runtime.watch_execs())
    with pytest.raises(UnsupportedError, match="fake does not report them"):
        await runtime.listeners(WEB)


async def test_a_container_without_a_match_is_refused(unmanaged: FakeUnmanaged) -> None:
    runtime = attached(unmanaged, acts=True)
    other = a_pod(name="other")

    with pytest.raises(
        ContainerRuntimeError, match="no container is attached as other/app"
    ):
        await runtime.create_container(restart(other))
    with pytest.raises(ContainerRuntimeError, match='sandbox "x" not found'):
        await runtime.pod_sandbox_status("x")


async def test_pods_do_not_mix(unmanaged: FakeUnmanaged) -> None:
    blog = a_pod(a_container("blog"), name="blog")
    unmanaged.run("blog", "10.0.0.9")
    runtime = attached(unmanaged, pods=(POD, blog))

    found = {status.name: status for status in await runtime.relist()}

    assert found["blog"].ips == ("10.0.0.9",)
    assert [container.name for container in found["shop"].containers] == ["web"]


async def test_a_fault_is_injected_into_the_current_instance(
    unmanaged: FakeUnmanaged,
) -> None:
    runtime = attached(unmanaged, acts=True)
    await runtime.relist()
    await unmanaged.stop(WEB, 0)
    await unmanaged.start(WEB)
    (pod,) = await runtime.relist()
    newest, *earlier = (container.container_id for container in pod.containers)

    await runtime.inject_fault(newest, Fault.FREEZE)

    assert unmanaged.injected == {"web": Fault.FREEZE}
    with pytest.raises(ContainerRuntimeError, match="no longer exists"):
        await runtime.inject_fault(earlier[0], Fault.KILL)


async def test_what_is_only_watched_is_not_disrupted(unmanaged: FakeUnmanaged) -> None:
    runtime = attached(unmanaged)
    await runtime.relist()

    with pytest.raises(ContainerRuntimeError, match="is only watched"):
        await runtime.inject_fault(WEB, Fault.FREEZE)

    assert unmanaged.injected == {}
    assert "--act" in runtime.fault_refusal(POD, Fault.FREEZE)


async def test_missing_capabilities_of_the_runtime_are_reported_before(
    unmanaged: FakeUnmanaged,
) -> None:
    runtime = attached(unmanaged, acts=True)

    assert runtime.fault_refusal(POD, Fault.FREEZE) == ""
    assert runtime.fault_refusal(POD, Fault.CUT_NETWORK) == "it has no cable"
