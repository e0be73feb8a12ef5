"""Crash-loop back-off, step by step and along a time line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
)
from probetui.kubelet.kuberuntime.backoff import (
    CRASH_LOOP_BACK_OFF,
    BackoffDecision,
    do_back_off,
)
from probetui.kubelet.kuberuntime.container_hash import stable_key
from probetui.kubelet.runtime.backoff import Backoff

START = datetime(2024, 1, 1, tzinfo=UTC)


def judge(case: dict[str, Any]) -> None:
    backoff = Backoff(
        _seconds(case["initialSeconds"]),
        _seconds(case["maxSeconds"]),
        _seconds(case["expireSeconds"]),
    )
    names = case["pod"]
    pod = Pod(names["uid"], names["name"], names["namespace"])
    match case["kind"]:
        case "steps":
            _judge_steps(case, backoff, pod)
        case "timeline":
            assert _timeline(case, backoff, pod) == case["expect"]
        case kind:
            raise AssertionError(kind)


def _judge_steps(case: dict[str, Any], backoff: Backoff, pod: Pod) -> None:
    image = case["image"]
    for step in case["steps"]:
        image = step.get("image", image)
        container = Container(step.get("container", "app"), image)
        key = stable_key(pod, container)
        now = START + _seconds(step["at"])
        answer: dict[str, Any] = {}
        match step["op"]:
            case "start":
                status = _instances(
                    container.name, step["finishedAt"], step.get("newerInstanceState")
                )
                decision = do_back_off(backoff, pod, container, status, now)
                answer = _answer(decision, pod, container, now)
            case "gc":
                backoff.gc(now)
            case "reset":
                backoff.delete(key)
            case operation:
                raise AssertionError(operation)
        answer["windowSeconds"] = backoff.get(key).total_seconds()
        assert answer == {"windowSeconds": 0, **step.get("expect", {})}, step


def _answer(
    decision: BackoffDecision, pod: Pod, container: Container, now: datetime
) -> dict[str, Any]:
    if not decision.waits:
        return {"inBackOff": False, "events": []}
    assert decision.until is not None
    return {
        "inBackOff": True,
        "message": decision.message,
        "reason": CRASH_LOOP_BACK_OFF,
        # Go counts nanoseconds, converted from a float of seconds.
        "remainingSeconds": pytest.approx(
            (decision.until - now).total_seconds(), abs=1e-5
        ),
        "events": [
            {
                "type": "Warning",
                "reason": "BackOff",
                "message": decision.event_message,
                "fieldPath": f"spec.containers{{{container.name}}}",
            }
        ],
    }


def _timeline(case: dict[str, Any], backoff: Backoff, pod: Pod) -> dict[str, Any]:
    container = Container("app", case.get("image", "busybox:1.36"))
    key = stable_key(pod, container)
    starts: list[dict[str, Any]] = []
    waits: list[dict[str, Any]] = []
    events = 0
    ends_at: float | None = None
    waiting_since: float | None = None
    gc_at = case["gcEverySeconds"]
    at = 0.0
    while at <= case["untilSeconds"]:
        while gc_at <= at:
            backoff.gc(START + _seconds(gc_at))
            gc_at += case["gcEverySeconds"]
        if ends_at is None or ends_at <= at:
            status = _instances("app", ends_at, None)
            decision = do_back_off(
                backoff, pod, container, status, START + _seconds(at)
            )
            if decision.waits:
                events += 1
                if waiting_since != ends_at:
                    waits.append({"firstSeenAt": at, "message": decision.message})
                    waiting_since = ends_at
            else:
                lifetimes = case["lifetimesSeconds"]
                ends_at = at + lifetimes[len(starts) % len(lifetimes)]
                window = backoff.get(key).total_seconds()
                starts.append({"at": at, "windowAfterSeconds": window})
        at += case["syncEverySeconds"]
    return {"starts": starts, "backOffs": waits, "backOffEvents": events}


def _instances(
    name: str, finished_at: float | None, newer_state: str | None
) -> RuntimePodStatus:
    found = []
    if newer_state:
        found.append(
            RuntimeContainerStatus(
                ContainerID("containerd://c2"), name, RuntimeState(newer_state)
            )
        )
    if finished_at is not None:
        found.append(
            RuntimeContainerStatus(
                ContainerID("containerd://c1"),
                name,
                RuntimeState.EXITED,
                finished_at=START + _seconds(finished_at),
                exit_code=1,
            )
        )
    return RuntimePodStatus("uid1", containers=tuple(found))


def _seconds(value: float) -> timedelta:
    return timedelta(seconds=value)
