"""The page about the node."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from probetui.engine.snapshot import (
    NodeSnapshot,
    PodWorkerSnapshot,
    SourceSnapshot,
)
from probetui.k8s.runtime import RuntimeCondition, StoredImage
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from probetui.presentation.node import node_lines
from probetui.presentation.text.spans import Role, text_of
from probetui.presentation.text.view import TimeFormatter, View
from tests.ticks import NOW
from tests.tui.snapshots import DEMO, a_snapshot, demo

VIEW = View(TimeFormatter(NOW, NOW))
WELL = NodeSnapshot(
    name="node-1",
    sources=(SourceSnapshot("api", is_heard=True, pods=2),),
    conditions=(
        RuntimeCondition("RuntimeReady", status=True),
        RuntimeCondition("NetworkReady", status=True),
    ),
    checked_at=NOW - timedelta(seconds=2),
    relisted_at=NOW - timedelta(milliseconds=400),
    images=(
        StoredImage("sha256:" + "a" * 64, ("busybox:1.36",), 4_000_000),
        StoredImage("sha256:" + "b" * 64, (), 1_000),
    ),
    image_count=7,
    image_bytes=9_000_000,
    images_at=NOW - timedelta(seconds=12),
    workers=(
        PodWorkerSnapshot(
            DEMO.uid,
            PodWorkerState.SYNC,
            call="SyncPod",
            has_update=True,
            due_at=NOW + timedelta(seconds=43),
        ),
        PodWorkerSnapshot("gone", PodWorkerState.FINISHED, "", False, None),  # noqa: FBT003  # no update
    ),
)
NETWORK = RuntimeCondition("NetworkReady", False, "NoCni", "no \x1b[31mplugin")  # noqa: FBT003  # the condition's status


def shown(node: NodeSnapshot) -> list[str]:
    snapshot = replace(a_snapshot(demo()), node=node)
    return [text_of(line).rstrip() for line in node_lines(snapshot, "fake 1.0", VIEW)]


def warned(node: NodeSnapshot) -> list[str]:
    """Return the last words of the highlighted lines."""
    snapshot = replace(a_snapshot(demo()), node=node)
    return [
        line[-1].text.strip()
        for line in node_lines(snapshot, "fake 1.0", VIEW)
        if line and line[-1].role is Role.WARNING
    ]


def test_the_page_of_a_healthy_node() -> None:
    assert shown(WELL) == [
        "Name:     node-1",
        "Kubelet:  v1.36",
        "Runtime:  fake 1.0",
        "Ready:    True, kubelet is posting ready status",
        "",
        "Runtime conditions:",
        "  Type          Status  As of                            Reason",
        "  PLEG          True    relist 0.4s ago, threshold 3m0s  -",
        "  RuntimeReady  True    2.0s ago                         -",
        "  NetworkReady  True    2.0s ago                         -",
        "",
        "Sources of pods:",
        "  Name  Pods  Heard",
        "  api   2     yes",
        "",
        "Pod workers:",
        "  Pod   State     Runs     Waits     Next sync",
        "  demo  sync      SyncPod  1 update  in 43s",
        "  gone  finished  -        -         -",
        "",
        "Images:  7 with 9.0MB, listed 12s ago",
        "  4.0MB  busybox:1.36",
        "  1.0kB  <none> (sha256:bbbbbbbbbbbb)",
    ]
    assert warned(WELL) == []


def test_problems_are_highlighted() -> None:
    node = replace(
        WELL,
        conditions=(NETWORK,),
        not_ready="PLEG is not healthy: pleg was last seen active 3m1s ago",
        sources=(SourceSnapshot("http", is_heard=False, pods=0),),
        status_error="no daemon",
        images_error="no daemon either",
    )

    assert warned(node) == [
        "False, PLEG is not healthy: pleg was last seen active 3m1s ago",
        "-",
        "NoCni: no \\x1b[31mplugin",
        "no answer: no daemon",
        "no: nothing is cleaned up until then",
        "no answer: no daemon either",
    ]


def test_the_page_of_a_node_without_data() -> None:
    page = shown(NodeSnapshot())

    assert page[0] == "Name:     -"
    assert "  (the runtime is not asked for more)" in page
    assert "Images:  not listed" in page
