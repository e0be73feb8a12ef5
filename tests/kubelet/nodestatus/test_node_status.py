"""A node, its status and its lease, against those of a kubelet 1.36.2."""

from datetime import UTC, datetime, timedelta
from typing import Any

from probetui.k8s.runtime import StoredImage
from probetui.kubelet.nodestatus.node_status import (
    NodeFacts,
    is_only_heartbeat,
    lease_age,
    new_lease,
    new_node,
    node_status,
    node_status_patch,
    renewed_lease,
)
from tests.cluster.recorded import recorded

REGISTERED = datetime(2026, 11, 23, 1, 3, 25, tzinfo=UTC)


def _recorded(verb: str, resource: str) -> list[dict[str, Any]]:
    return [
        line["request"]
        for line in recorded("node-writes")
        if line["verb"] == verb and f"/{resource}" in line["uri"] and line["code"] < 300
    ]


NODE = _recorded("create", "nodes")[0]
UNCHANGED, READY, HEARTBEATS = _recorded("patch", "nodes/node1/status")
FACTS = NodeFacts(
    "node1",
    "node1",
    ("192.0.2.10",),
    NODE["status"]["capacity"],
    NODE["status"]["nodeInfo"],
    10250,
)
IMAGES = [
    StoredImage("", tuple(one["names"]), one["sizeBytes"])
    for one in NODE["status"]["images"]
]


def _first_status() -> dict[str, Any]:
    message = "CSINode is not yet initialized"
    return node_status(FACTS, {}, message, IMAGES, REGISTERED)


def test_the_node_is_registered_as_by_the_kubelet_but_for_the_taint() -> None:
    ours = new_node(FACTS, _first_status())
    taint = {"key": "probetui/node", "effect": "NoSchedule"}
    assert ours.pop("spec") == {"taints": [taint]}
    status = {key: NODE["status"][key] for key in ours["status"]}
    assert NODE["status"].keys() - status.keys() == {"declaredFeatures"}
    assert ours | {"spec": NODE["spec"]} == NODE | {"status": status}


def test_a_node_that_becomes_ready_is_patched_as_by_the_kubelet() -> None:
    held = _first_status()
    later = REGISTERED + timedelta(seconds=1)
    assert node_status_patch(held, node_status(FACTS, held, "", IMAGES, later)) == READY


def test_a_status_without_a_difference_is_an_empty_patch_as_of_the_kubelet() -> None:
    assert node_status_patch(_first_status(), _first_status()) == UNCHANGED


def test_five_minutes_later_only_heartbeats_differ() -> None:
    ready = node_status(FACTS, {}, "", IMAGES, REGISTERED)
    later = node_status(
        FACTS, ready, "", IMAGES, datetime(2026, 11, 23, 1, 6, 50, tzinfo=UTC)
    )
    assert is_only_heartbeat(ready, later)
    assert node_status_patch(ready, later) == HEARTBEATS


def test_a_condition_of_others_stays() -> None:
    theirs = {"type": "NetworkUnavailable", "status": "False"}
    status = node_status(FACTS, {"conditions": [theirs]}, "", (), REGISTERED)
    assert theirs in status["conditions"]


def test_the_lease_is_created_as_by_the_kubelet() -> None:
    theirs = _recorded("create", "leases")[0]
    uid = theirs["metadata"]["ownerReferences"][0]["uid"]
    renewed_at = datetime.fromisoformat(theirs["spec"]["renewTime"])
    assert new_lease("node1", uid, renewed_at) == theirs


def test_a_lease_is_renewed_as_a_whole_with_its_version() -> None:
    first, second = _recorded("update", "leases")[:2]
    renewed_at = datetime.fromisoformat(second["spec"]["renewTime"])
    ours = renewed_lease(first, renewed_at)
    assert ours["spec"] == second["spec"]
    assert ours["metadata"] == first["metadata"]


def test_a_lease_has_the_time_of_its_renewal() -> None:
    lease = new_lease("n", "u", REGISTERED)
    assert lease_age(lease, REGISTERED + timedelta(seconds=7)) == timedelta(seconds=7)
    assert lease_age({}, REGISTERED) is None
