"""What an API server's validation and admission would refuse is never sent.

Source: pkg/apis/core/validation/validation.go, ValidateNode, ValidatePodStatusUpdate;
events.go, legacyValidateEvent; plugin/pkg/admission/noderestriction/admission.go and
serviceaccount/admission.go, v1.36.2.
"""

from __future__ import annotations

from typing import Any

import pytest

from probetui.cluster.api_server.failure import ApiFailure
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import CONFIG_HASH
from probetui.k8s.probe import ProbeKey, ProbeType
from tests.builders import a_container, a_pod
from tests.cluster.api_server.resources import PODS
from tests.cluster.node.bench import NODE, NodeBench, running
from tests.cluster.node.test_agent import LIVENESS
from tests.fakes import FAILING, Answer

NODE_LABELS = {
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
}
"""Those below kubernetes.io that a node may give itself, as far as we give any."""

IMMUTABLE = {"qosClass", "startTime"}
Write = tuple[str, str, Any]


@pytest.fixture
async def writes(bench: NodeBench, monkeypatch: pytest.MonkeyPatch) -> list[Write]:
    """Return what was written of a pod's whole life and of a static pod."""
    static = a_pod(a_container(), name=f"static-{NODE}")
    async with running(bench, monkeypatch):
        bench.run_static(
            Pod(
                static.uid,
                static.name,
                containers=static.containers,
                annotations={CONFIG_HASH: "1"},
            )
        )
        bench.cluster.create_pod(app={"name": "app", **LIVENESS})
        await bench.settle()
        uid = bench.cluster.pod()["metadata"]["uid"]
        key = ProbeKey(uid, "app", ProbeType.LIVENESS)
        bench.prober.script(key, *[FAILING] * 3, Answer())
        await bench.pass_time(40)
        bench.cluster.store.delete(PODS, "default", "web")
        await bench.pass_time(10)
    return bench.cluster.transport.writes


def of(writes: list[Write], method: str, ending: str) -> list[Any]:
    found = [one[2] for one in writes if one[0] == method and one[1].endswith(ending)]
    assert found, f"no {method} of {ending}"
    return found


async def test_a_node_has_labels_addresses_and_a_lease_that_are_admitted(
    writes: list[Write],
) -> None:
    (node,) = of(writes, "POST", "/nodes")
    leases = of(writes, "POST", "/namespaces/kube-node-lease/leases")

    assert set(node["metadata"]["labels"]) <= NODE_LABELS
    addresses = [(one["type"], one["address"]) for one in node["status"]["addresses"]]
    assert len(addresses) == len(set(addresses))
    (lease,) = leases
    assert lease["metadata"]["name"] == lease["spec"]["holderIdentity"] == NODE
    assert lease["spec"]["leaseDurationSeconds"] > 0


async def test_a_pods_status_keeps_what_is_immutable_and_counts_forwards(
    writes: list[Write],
) -> None:
    counts = [0]
    for patch in of(writes, "PATCH", "/pods/web/status"):
        status = patch["status"]
        assert set(patch) == {"metadata", "status"}
        assert set(patch["metadata"]) == {"uid"}
        # The first one sets the time of the start.
        assert not IMMUTABLE & set(status) or counts == [0]
        assert "qosClass" not in status or status["qosClass"] is not None
        if status.get("podIP"):
            assert status["podIPs"][0]["ip"] == status["podIP"]
        if status.get("hostIP"):
            assert status["hostIPs"][0]["ip"] == status["hostIP"]
        for one in status.get("containerStatuses", ()):
            assert one["name"] == "app"
            assert len(one["state"]) == 1
            counts.append(one["restartCount"])
        for one in status.get("conditions", ()):
            assert one["type"]
            assert one.get("status", "True") in {"True", "False", "Unknown"}
    assert counts == sorted(counts)
    assert counts[-1] == 1


async def test_events_are_of_the_namespace_of_what_they_are_about(
    writes: list[Write],
) -> None:
    events = [one for one in writes if one[0] == "POST" and one[1].endswith("/events")]
    names = [(path, body["metadata"]["name"]) for _, path, body in events]

    assert len(set(names)) == len(names)
    assert {body["involvedObject"]["kind"] for *_, body in events} == {"Pod", "Node"}
    for _, path, body in events:
        namespace = body["metadata"]["namespace"]
        assert f"/namespaces/{namespace}/" in path
        assert body["involvedObject"].get("namespace", "default") == namespace
        assert body["reason"]
        assert body["type"] in {"Normal", "Warning"}
        assert body.get("eventTime") is None


async def test_a_mirror_pod_names_its_node_and_no_account(writes: list[Write]) -> None:
    mirror, *_ = of(writes, "POST", "/namespaces/default/pods")
    (owner,) = mirror["metadata"]["ownerReferences"]

    assert "kubernetes.io/config.mirror" in mirror["metadata"]["annotations"]
    assert mirror["spec"]["nodeName"] == owner["name"] == NODE
    assert mirror["spec"].keys().isdisjoint({"serviceAccountName", "serviceAccount"})
    assert "uid" not in mirror["metadata"]


async def test_a_deletion_is_of_this_uid_and_without_grace(writes: list[Write]) -> None:
    (deletion,) = of(writes, "DELETE", "/pods/web")

    assert (deletion["kind"], deletion["apiVersion"]) == ("DeleteOptions", "v1")
    assert deletion["gracePeriodSeconds"] == 0
    assert deletion["preconditions"]["uid"]


async def test_a_node_of_a_new_server_gets_its_lease_later(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = ApiFailure(404, "NotFound", 'namespaces "kube-node-lease" not found')
    bench.cluster.fail(
        lambda method, path: missing if method == "POST" and "leases" in path else None
    )
    async with running(bench, monkeypatch):
        await bench.pass_time(3)
        assert bench.cluster.node()["status"]["conditions"][-1]["status"] == "True"
        bench.cluster.fail(lambda _method, _path: None)
        await bench.pass_time(12)

        assert bench.cluster.lease() is not None
    assert any("kube-node-lease" in text for text in bench.messages)
