"""A node's registration, lease and status, and static pods, against an API server."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.node.registration import NodeExistsError
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import CONFIG_HASH
from tests.builders import a_container, a_pod
from tests.cluster.api_server.resources import LEASES, NODES, PODS
from tests.cluster.node.bench import NODE, Cluster, NodeBench, running
from tests.fakes import FakeClock


async def _leave_behind(bench: NodeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have an earlier session be the node, and end without a word."""
    earlier = NodeBench(bench.cluster, bench.clock)
    async with running(earlier, monkeypatch):
        await earlier.pass_time(1)


async def _register(bench: NodeBench, *, adopts: bool) -> None:
    async with bench.client:
        await bench.agent.register(adopts=adopts)


async def test_a_node_is_registered_ready_and_tainted(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        await bench.pass_time(3)
        node = bench.cluster.node()
    assert node["spec"]["taints"] == [{"key": "probetui/node", "effect": "NoSchedule"}]
    ready = node["status"]["conditions"][-1]
    assert (ready["type"], ready["status"]) == ("Ready", "True")
    events = dict(bench.cluster.events(NODE))
    assert set(events) == {"Starting", "NodeReady"}


async def test_the_lease_is_renewed_each_ten_seconds_and_the_status_is_left_alone(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        await bench.pass_time(5)
        patches = len(bench.cluster.writes("PATCH", f"/nodes/{NODE}/status"))
        await bench.pass_time(60)
        again = len(bench.cluster.writes("PATCH", f"/nodes/{NODE}/status"))
    assert len(bench.cluster.writes("PUT", f"/leases/{NODE}")) == 6
    assert again == patches


async def test_the_status_is_reported_every_five_minutes(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        await bench.pass_time(5)
        before = len(bench.cluster.writes("PATCH", f"/nodes/{NODE}/status"))
        async with bench.clock.jumping():
            until = bench.clock.now() + timedelta(seconds=320)
            await bench.clock.sleep_until(until)
        patches = bench.cluster.writes("PATCH", f"/nodes/{NODE}/status")[before:]
    assert len(patches) == 1
    assert {key for one in patches[0]["status"]["conditions"] for key in one} == {
        "type",
        "lastHeartbeatTime",
    }


async def test_a_node_that_exists_is_refused(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _leave_behind(bench, monkeypatch)
    with pytest.raises(NodeExistsError, match=r"exists already .* --adopt"):
        await _register(bench, adopts=False)


async def test_a_node_whose_lease_is_alive_is_not_adopted_either(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _leave_behind(bench, monkeypatch)
    with pytest.raises(NodeExistsError, match="is alive: its lease was renewed"):
        await _register(bench, adopts=True)


async def test_a_node_whose_kubelet_has_ended_is_adopted_with_its_pods(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _leave_behind(bench, monkeypatch)
    bench.cluster.create_pod()
    await bench.clock.advance(timedelta(seconds=41))
    async with running(bench, monkeypatch, adopts=True):
        await bench.pass_time(5)
        assert bench.cluster.pod()["status"]["phase"] == "Running"


async def test_an_adopted_node_gets_the_taint_beside_its_own(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = {"key": "gpu", "effect": "NoSchedule"}
    node = {"metadata": {"name": NODE}, "spec": {"taints": [theirs]}}
    bench.cluster.store.create(NODES, "", node)
    await _register(bench, adopts=True)
    keys = [taint["key"] for taint in bench.cluster.node()["spec"]["taints"]]
    assert keys == ["gpu", "probetui/node"]


async def test_two_nodes_with_one_name_are_detected_by_the_lease(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch) as agent:
        await bench.pass_time(1)
        lease = bench.cluster.lease()
        spec = {**lease["spec"], "renewTime": "2025-01-01T12:00:05.000000Z"}
        bench.cluster.store.update(
            LEASES, "kube-node-lease", NODE, {**lease, "spec": spec}
        )
        await bench.pass_time(15)
        (failed,) = await asyncio.gather(agent, return_exceptions=True)
    assert isinstance(failed, ExceptionGroup)
    assert "two nodes have one name" in str(failed.exceptions[0])


def _static(text: str = "1") -> Pod:
    pod = a_pod(a_container(), name=f"static-{NODE}")
    return Pod(
        pod.uid,
        pod.name,
        containers=pod.containers,
        annotations={CONFIG_HASH: text},
    )


async def test_a_static_pod_has_a_mirror_pod_with_its_status(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        bench.run_static(_static())
        await bench.pass_time(5)
        mirror = bench.cluster.pod(f"static-{NODE}")
    annotations = mirror["metadata"]["annotations"]
    assert annotations["kubernetes.io/config.mirror"] == "1"
    assert annotations["kubernetes.io/config.seen"] == "2025-01-01T12:00:00.000000000Z"
    assert annotations["kubernetes.io/config.source"] == "file"
    (owner,) = mirror["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Node", NODE)
    assert mirror["metadata"]["uid"] != _static().uid
    spec = mirror["spec"]
    assert (spec["nodeName"], spec.get("serviceAccountName")) == (NODE, None)
    assert {"operator": "Exists", "effect": "NoExecute"} in spec["tolerations"]
    assert mirror["status"]["phase"] == "Running"


async def test_a_deleted_mirror_pod_is_created_again_and_no_container_ends(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"static-{NODE}"
    async with running(bench, monkeypatch):
        bench.run_static(_static())
        await bench.pass_time(5)
        uid = bench.cluster.pod(name)["metadata"]["uid"]
        bench.cluster.store.remove(PODS, "default", name)
        await bench.pass_time(5)
        again = bench.cluster.pod(name)
    assert again["metadata"]["uid"] != uid
    assert again["status"]["phase"] == "Running"
    assert bench.world.container("app").runs()


async def test_a_removed_static_pod_deletes_its_mirror_pod(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        bench.run_static(_static())
        await bench.pass_time(5)
        bench.run_static()
        await bench.pass_time(10)
    assert bench.cluster.pod(f"static-{NODE}") is None


async def test_a_node_that_is_removed_deletes_its_mirror_pods(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        bench.run_static(_static())
        await bench.pass_time(5)
        bench.agent.detach()
        await bench.agent.withdraw(keeps_node=False)
        await bench.pass_time(5)
    assert bench.cluster.pod(f"static-{NODE}") is None
    assert bench.cluster.node() is None


def _is_forbidden(method: str, path: str) -> ApiFailure | None:
    """Refuse what the Node authorizer refuses to a kubelet."""
    if method == "DELETE" and path == f"/api/v1/nodes/{NODE}":
        return ApiFailure(403, "Forbidden", f'nodes "{NODE}" is forbidden')
    return None


async def test_a_node_that_may_not_be_deleted_is_left_not_ready(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.cluster.fail(_is_forbidden)
    async with running(bench, monkeypatch):
        await bench.pass_time(3)
        bench.agent.detach()
        is_gone = await bench.agent.withdraw(keeps_node=False)
        bench.agent.registration.check_soon()
        await bench.pass_time(5)
    assert not is_gone
    ready = bench.cluster.node()["status"]["conditions"][-1]
    assert (ready["type"], ready["status"]) == ("Ready", "False")
    assert "probetui has ended" in ready["message"]
    assert bench.cluster.lease() is None


async def test_a_node_of_another_is_not_reported_as_ended(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.cluster.fail(_is_forbidden)
    async with running(bench, monkeypatch):
        await bench.pass_time(3)
        bench.agent.detach()
        other = {**bench.cluster.node(), "status": {}}
        other["metadata"] = {"name": NODE, "uid": "another"}
        bench.cluster.store.put(NODES, other)
        await bench.agent.withdraw(keeps_node=False)
        assert bench.cluster.node()["status"] == {}


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        pytest.param(None, True, id="allowed"),
        pytest.param("no", False, id="refused"),
    ],
)
async def test_the_right_to_delete_the_node_is_asked_for(
    refusal: str | None, *, expected: bool
) -> None:
    def authorize(user: str, info: RequestInfo) -> str | None:
        del user
        return refusal if (info.verb, info.name) == ("delete", NODE) else None

    clock = FakeClock()
    bench = NodeBench(Cluster(clock, authorize), clock)
    async with bench.client:
        assert await bench.agent.registration.may_delete() is expected


async def test_a_right_that_may_not_be_asked_for_is_not_known(
    bench: NodeBench,
) -> None:
    bench.cluster.fail(lambda *_: ApiFailure(403, "Forbidden", "no reviews"))
    async with bench.client:
        assert await bench.agent.registration.may_delete() is None


async def test_a_kept_node_can_be_adopted_at_once(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(bench, monkeypatch):
        bench.cluster.create_pod()
        await bench.pass_time(3)
        bench.agent.detach()
        await bench.agent.withdraw(keeps_node=True)
    assert bench.cluster.node() is not None
    assert bench.cluster.pod()["status"]["phase"] == "Running"
    await _register(NodeBench(bench.cluster, bench.clock), adopts=True)
