"""States for screenshots of the screens with text to read."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from probetui.engine.snapshot import Snapshot
from probetui.k8s.runtime import LogLine
from probetui.k8s.status import (
    ConditionStatus,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
)
from tests.ticks import FIRST, NOW, SECOND
from tests.tui.fake_logs import FakeLogs
from tests.tui.scenes import failing
from tests.tui.snapshots import clock


def restarted() -> Snapshot:
    """Two failures of three, in a pod whose container was killed before."""
    snapshot = failing()
    demo, shop = snapshot.pods
    status = ContainerStatus(
        "liveness",
        SECOND,
        Running(clock("08:20:25.2")),
        Terminated(137, "Error", "", clock("08:19:10.2"), clock("08:20:25.1"), FIRST),
        ready=True,
        started=True,
        restart_count=2,
        image="busybox:1.27.2",
        image_id="sha256:5b0d59026729",
    )
    of_pod = PodStatus(
        PodPhase.RUNNING,
        conditions=tuple(
            PodCondition(condition, ConditionStatus.TRUE)
            for condition in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        ),
        pod_ip="10.0.0.2",
        pod_ips=("10.0.0.2",),
        qos_class="BestEffort",
        start_time=clock("08:18:00"),
        container_statuses=(status,),
    )
    container = replace(demo.containers[0], status=status)
    demo = replace(demo, status=of_pod, containers=(container,))
    return replace(snapshot, pods=(demo, shop))


def logs() -> FakeLogs:
    """Return the logs of both instances of the demo."""
    second = timedelta(seconds=1)
    current = [
        LogLine(NOW - (40 - number) * second, f"request {number} took 12ms")
        for number in range(38)
    ]
    current[7] = replace(
        current[7], text="cannot write /tmp/healthy: read-only", is_stderr=True
    )
    current[9] = replace(current[9], text="one line that is " + "very " * 30 + "long")
    previous = [
        LogLine(clock("08:20:20"), "shutting down"),
        LogLine(clock("08:20:24"), "3 connections are still open", is_stderr=True),
    ]
    return FakeLogs(c4455=current, cdddd=previous)
