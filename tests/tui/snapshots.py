"""Builders of snapshots, for every state that the screen can show.

All snapshots are taken at the same instant, on 20 November 2026 at 08:21:07 UTC. They
have the documented exec-liveness example and a small shop.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from probetui.engine.snapshot import (
    BackoffSnapshot,
    ContainerSnapshot,
    PodSnapshot,
    ProbeSnapshot,
    QueuedTick,
    Snapshot,
)
from probetui.k8s.event import EventType
from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.probe import (
    HTTPGetAction,
    Probe,
    ProbeKey,
    ProbeType,
    TCPSocketAction,
)
from probetui.k8s.status import (
    ConditionStatus,
    ContainerState,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
    Running,
    Waiting,
)
from probetui.kubelet.journal import (
    EventEntry,
    ExitCause,
    JournalEntry,
    LastExit,
    Skip,
    TickAction,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from probetui.kubelet_rules import DEFAULT_VERSION, rules_of
from tests.ticks import (
    DEMO_KEY,
    FIRST,
    LIVENESS,
    NOW,
    SECOND,
    STARTED_AT,
    changed_tick,
    history,
)


def clock(text: str) -> datetime:
    """Return an instant of that day: `08:20:25.2`."""
    hours, minutes, seconds = text.split(":")
    return NOW.replace(hour=0, minute=0, second=0) + timedelta(
        hours=int(hours), minutes=int(minutes), seconds=float(seconds)
    )


def a_probe_snapshot(
    key: ProbeKey,
    probe: Probe,
    letters: str = "",
    *,
    last_at: datetime = NOW - timedelta(seconds=1.9),
    **fields: Any,
) -> ProbeSnapshot:
    """Return a probe whose numbers follow from its history; `fields` override them."""
    ticks = history(key, probe, letters, last_at)
    probed = [tick for tick in ticks if tick.attempts]
    counted = [entry for entry in probed if entry.result is not None]
    last = counted[-1] if counted else None
    after_last = probed[probed.index(last) + 1 :] if last else probed
    defaults: dict[str, Any] = {
        "key": key,
        "probe": probe,
        "worker_alive": True,
        "stored_result": Result.SUCCESS,
        "last_result": last.result if last else Result.SUCCESS,
        "result_run": last.run.count
        if last and last.action is not TickAction.KILL
        else 0,
        "on_hold": False,
        "in_flight_since": None,
        "next_tick_at": last_at + timedelta(seconds=probe.period_seconds),
        "is_held_back": False,
        "upcoming_skip": Skip.ON_HOLD if fields.get("on_hold") else None,
        "delay_until": None,
        "ticks": len(ticks),
        "successes": sum(entry.result is Result.SUCCESS for entry in counted),
        "failures": sum(entry.result is Result.FAILURE for entry in counted),
        "errors": len(probed) - len(counted),
        "error_run": len(after_last),
        "skips": len(ticks) - len(probed),
        "last_run": probed[-1] if probed else None,
        "history": ticks,
    }
    return ProbeSnapshot(**{**defaults, **fields})


def a_container_snapshot(
    container: Container,
    *probes: ProbeSnapshot,
    state: ContainerState | None = None,
    ready: bool = True,
    restarts: int = 0,
    **fields: Any,
) -> ContainerSnapshot:
    """Return a container, running since 08:20:25.2 unless another state is given."""
    status = ContainerStatus(
        container.name,
        SECOND,
        state or Running(clock("08:20:25.2")),
        ready=ready,
        started=True,
        restart_count=restarts,
        image=container.image,
    )
    defaults: dict[str, Any] = {
        "is_init": False,
        "status": status,
        "stopping": None,
        "backoff": None,
        "last_exit": None,
    }
    return ContainerSnapshot(
        container=container, probes=probes, **{**defaults, **fields}
    )


def a_pod_snapshot(
    pod: Pod, *containers: ContainerSnapshot, operation: str = "", **fields: Any
) -> PodSnapshot:
    """Return a pod in phase Running that is being synced.

    A pod without containers of its own has those of the snapshots.
    """
    if not pod.containers:
        pod = replace(pod, containers=tuple(shown.container for shown in containers))
    defaults: dict[str, Any] = {
        "status": PodStatus(PodPhase.RUNNING),
        "state": PodWorkerState.SYNC,
    }
    return PodSnapshot(
        pod=pod, operation=operation, containers=containers, **{**defaults, **fields}
    )


def a_snapshot(
    *pods: PodSnapshot, entries: Sequence[JournalEntry] = (), **fields: Any
) -> Snapshot:
    """Return a snapshot taken at `NOW`; numbers of restarts follow from the pods."""
    probes = [
        p for pod in pods for container in pod.containers for p in container.probes
    ]
    queue = sorted(
        (QueuedTick(p.key, p.next_tick_at) for p in probes if p.next_tick_at),
        key=lambda entry: entry.at,
    )
    defaults: dict[str, Any] = {
        "taken_at": NOW,
        "started_at": STARTED_AT,
        "sequence": len(entries),
        "is_paused": False,
        "restarts": sum(
            container.status.restart_count
            for pod in pods
            for container in pod.containers
            if container.status
        ),
        "faults": sum(
            isinstance(entry, EventEntry) and entry.event.type is EventType.WARNING
            for entry in entries
        ),
        "runtime_lost_since": None,
        "runtime_error": "",
        "queue": tuple(queue),
        "rules": rules_of(DEFAULT_VERSION),
    }
    ordered = sorted(entries, key=lambda entry: entry.at)
    numbered = (
        numbered_as(entry, index) for index, entry in enumerate(ordered, start=1)
    )
    return Snapshot(pods=pods, entries=tuple(numbered), **{**defaults, **fields})


def numbered_as(entry: JournalEntry, sequence: int) -> JournalEntry:
    """Return an entry with another sequence number."""
    if isinstance(entry, TickEntry):
        return changed_tick(entry, sequence=sequence)
    return replace(entry, sequence=sequence)


# demo: the documented exec-liveness example

DEMO = Pod(
    DEMO_KEY.pod_uid,
    "demo",
    containers=(Container("liveness", "busybox:1.27.2", liveness_probe=LIVENESS),),
)
LAST_EXIT = LastExit(
    clock("08:20:25.1"),
    137,
    ExitCause.LIVENESS,
    "Error",
    oom_killed=False,
    container_id=FIRST,
)
WINDOW = BackoffSnapshot(timedelta(), clock("08:19:10.1"), None, timedelta(seconds=10))


def demo(
    letters: str = "|ssssssfffKhhhhhh|ssssssff",
    *,
    container: Any = None,
    pod: Any = None,
    **fields: Any,
) -> PodSnapshot:
    """Return the demo pod; `fields` are the probe's, the dicts those of the others."""
    probe = a_probe_snapshot(DEMO_KEY, LIVENESS, letters, **fields)
    defaults: dict[str, Any] = {
        "restarts": 2,
        "last_exit": LAST_EXIT,
        "backoff": WINDOW,
    }
    shown = a_container_snapshot(
        DEMO.containers[0], probe, **{**defaults, **(container or {})}
    )
    status = PodStatus(PodPhase.RUNNING, conditions(is_ready=True))
    return a_pod_snapshot(DEMO, shown, **{"status": status, **(pod or {})})


def conditions(*, is_ready: bool) -> tuple[PodCondition, ...]:
    """Return the conditions of a pod that runs."""
    ready, why = ConditionStatus.TRUE, ""
    if not is_ready:
        ready, why = ConditionStatus.FALSE, "ContainersNotReady"
    return (
        PodCondition("Initialized", ConditionStatus.TRUE),
        PodCondition("Ready", ready, why),
        PodCondition("ContainersReady", ready, why),
        PodCondition("PodScheduled", ConditionStatus.TRUE),
    )


# shop: every other state of a container

SHOP = Pod(
    "uid-shop",
    "shop",
    containers=(
        Container(
            "web",
            "shop/web:1",
            startup_probe=Probe(HTTPGetAction(8080, "/start"), 0, 1, 3, 1, 30),
            liveness_probe=Probe(HTTPGetAction(8080, "/live"), 0, 1, 5, 1, 3),
            readiness_probe=Probe(HTTPGetAction(8080, "/ready"), 0, 1, 5, 1, 3),
        ),
        Container(
            "cache",
            "shop/cache:1",
            startup_probe=Probe(TCPSocketAction(6379), 0, 1, 3, 1, 30),
            liveness_probe=Probe(TCPSocketAction(6379), 0, 1, 5, 1, 3),
            readiness_probe=Probe(HTTPGetAction("http", "/ready"), 0, 1, 2, 1, 3),
        ),
        Container("worker", "shop/worker:1"),
    ),
    init_containers=(
        Container(
            "proxy",
            "shop/proxy:1",
            restart_policy=RestartPolicy.ALWAYS,
            liveness_probe=Probe(TCPSocketAction(9000), 12, 1, 5, 1, 3),
            readiness_probe=Probe(TCPSocketAction(9000), 0, 1, 3, 2, 3),
        ),
    ),
)


def _shop_probe(
    container: str, probe_type: ProbeType, letters: str, **fields: Any
) -> ProbeSnapshot:
    spec = SHOP.container(container)
    probe = spec.probe(probe_type) if spec else None
    assert probe is not None
    return a_probe_snapshot(
        ProbeKey(SHOP.uid, container, probe_type), probe, letters, **fields
    )


def shop() -> PodSnapshot:
    """Return the shop: gated, healthy, delayed, and crashing containers."""
    web = a_container_snapshot(
        SHOP.containers[0],
        _shop_probe("web", ProbeType.LIVENESS, "ggg", upcoming_skip=Skip.NOT_STARTED),
        _shop_probe(
            "web",
            ProbeType.READINESS,
            "ggg",
            upcoming_skip=Skip.NOT_STARTED,
            stored_result=Result.FAILURE,
        ),
        _shop_probe(
            "web",
            ProbeType.STARTUP,
            "ffff",
            stored_result=Result.UNKNOWN,
            next_tick_at=NOW + timedelta(seconds=2),
        ),
        state=Running(NOW - timedelta(seconds=12)),
        ready=False,
    )
    cache = a_container_snapshot(
        SHOP.containers[1],
        _shop_probe("cache", ProbeType.LIVENESS, "sssss"),
        _shop_probe(
            "cache",
            ProbeType.READINESS,
            "ss'sswss",
            next_tick_at=NOW + timedelta(seconds=0.8),
        ),
        _shop_probe(
            "cache",
            ProbeType.STARTUP,
            "fsGGGG",
            on_hold=True,
            upcoming_skip=Skip.ON_HOLD,
        ),
        state=Running(NOW - timedelta(minutes=4, seconds=2)),
    )
    proxy = a_container_snapshot(
        SHOP.init_containers[0],
        _shop_probe(
            "proxy",
            ProbeType.LIVENESS,
            "dd",
            upcoming_skip=Skip.INITIAL_DELAY,
            delay_until=NOW + timedelta(seconds=3),
        ),
        _shop_probe(
            "proxy",
            ProbeType.READINESS,
            "fs",
            stored_result=Result.FAILURE,
            next_tick_at=NOW + timedelta(seconds=1.1),
        ),
        state=Running(NOW - timedelta(seconds=9)),
        ready=False,
        is_init=True,
    )
    worker = a_container_snapshot(
        SHOP.containers[2],
        state=Waiting("CrashLoopBackOff", "back-off 1m20s restarting failed container"),
        ready=False,
        restarts=6,
        backoff=BackoffSnapshot(
            timedelta(seconds=80),
            clock("08:20:58"),
            clock("08:22:18"),
            timedelta(seconds=160),
        ),
        last_exit=LastExit(
            clock("08:20:58"),
            1,
            ExitCause.ITSELF,
            "Error",
            oom_killed=False,
            container_id=FIRST,
        ),
    )
    status = PodStatus(PodPhase.RUNNING, conditions(is_ready=False))
    return a_pod_snapshot(SHOP, proxy, web, cache, worker, status=status)
