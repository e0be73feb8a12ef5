"""The sentence about what the next failure of a probe causes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.next_failure import FailureEffect, NextFailure, predict_backoff
from probetui.engine.snapshot import BackoffSnapshot, ContainerSnapshot
from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import LastExit, Skip
from probetui.kubelet.kuberuntime.restart import restart_range
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import rules_of
from probetui.presentation.outlook import (
    format_effect,
    format_kill,
    format_restart,
    next_failure_fields,
    next_failure_of,
)
from tests.presentation.looking import RULES, VIEW
from tests.ticks import DEMO_KEY, LIVENESS, NOW
from tests.tui.snapshots import (
    DEMO,
    LAST_EXIT,
    a_container_snapshot,
    a_probe_snapshot,
    clock,
)

_SECOND = timedelta(seconds=1)


def a_container(
    letters: str = "sff",
    *,
    probe_type: ProbeType = ProbeType.LIVENESS,
    grace: int | None = None,
    last_exit: LastExit | None = LAST_EXIT,
    window: int = 10,
    **fields: Any,
) -> ContainerSnapshot:
    """Return the demo's container; the next restart has to wait for `window`."""
    spec = replace(LIVENESS, termination_grace_period_seconds=grace)
    key = DEMO_KEY._replace(probe_type=probe_type)
    container = replace(DEMO.containers[0], liveness_probe=spec)
    backoff = BackoffSnapshot(timedelta(), None, None, window * _SECOND)
    return a_container_snapshot(
        container,
        a_probe_snapshot(key, spec, letters, **fields),
        last_exit=last_exit,
        backoff=backoff,
    )


@pytest.mark.parametrize(
    ("container", "pod", "sentence"),
    [
        pytest.param(
            a_container(),
            DEMO,
            "kill, 30s grace, restart without back-off (10s are over)",
            id="kill",
        ),
        pytest.param(
            a_container(grace=2),
            DEMO,
            "kill, 2s grace, restart without back-off (10s are over)",
            id="the probe's own grace",
        ),
        pytest.param(
            a_container(last_exit=None),
            DEMO,
            "kill, 30s grace, restart without back-off (no earlier exit)",
            id="the first restart",
        ),
        pytest.param(
            a_container(),
            replace(DEMO, restart_policy=RestartPolicy.NEVER),
            "kill, 30s grace, no restart (policy Never)",
            id="never restarted",
        ),
        pytest.param(
            a_container("s"), DEMO, "failure 1 of 3, no action", id="far away"
        ),
        pytest.param(
            a_container(probe_type=ProbeType.READINESS),
            DEMO,
            "not ready (readiness never kills)",
            id="readiness",
        ),
        pytest.param(
            a_container(probe_type=ProbeType.READINESS, stored_result=Result.FAILURE),
            DEMO,
            "stays not ready (readiness never kills)",
            id="readiness, not ready already",
        ),
        pytest.param(
            a_container(muted=True), DEMO, "none: muted, no action", id="muted"
        ),
        pytest.param(
            a_container("s", muted=True),
            DEMO,
            "failure 1 of 3, no action",
            id="muted and far away",
        ),
        pytest.param(
            a_container(on_hold=True),
            DEMO,
            "none: on hold, the probe does not run",
            id="on hold",
        ),
        pytest.param(
            a_container("sfffKh", on_hold=True, upcoming_skip=None),
            DEMO,
            "failure 1 of 3, no action",
            id="on hold, the new container not seen yet",
        ),
        pytest.param(
            a_container(
                "s",
                probe_type=ProbeType.STARTUP,
                stored_result=Result.SUCCESS,
                on_hold=True,
            ),
            DEMO,
            "none: startup has succeeded",
            id="startup done, which the kubelet holds too",
        ),
        pytest.param(
            a_container(upcoming_skip=Skip.NOT_STARTED),
            DEMO,
            "none: waiting for the startup probe",
            id="gated",
        ),
        pytest.param(
            a_container(upcoming_skip=Skip.ALREADY_STARTED),
            DEMO,
            "none: startup has succeeded",
            id="started",
        ),
        pytest.param(
            a_container(upcoming_skip=Skip.NOT_RUNNING),
            DEMO,
            "none: no running container to probe",
            id="not running",
        ),
        pytest.param(
            a_container(worker_alive=False),
            DEMO,
            "none: the worker has exited",
            id="no worker",
        ),
    ],
)
def test_the_next_failure(
    container: ContainerSnapshot, pod: Pod, sentence: str
) -> None:
    found = next_failure_of(pod, container, container.probes[0], VIEW)

    effect = format_effect(found)
    if found.grace is not None:
        effect += f", {found.grace.seconds}s grace, {format_restart(found)}"
    assert effect == sentence


def test_the_next_failure_does_nothing_in_watch_only_mode() -> None:
    container = a_container()
    view = replace(VIEW, acts=False)

    found = next_failure_of(DEMO, container, container.probes[0], view)

    assert format_effect(found) == "would kill (watch only: no action)"


@pytest.mark.parametrize(
    ("window", "waits", "words"),
    [
        pytest.param(0, False, "restart without back-off (none yet)", id="no window"),
        pytest.param(
            40, False, "restart without back-off (40s are over)", id="just over"
        ),
        pytest.param(
            60,
            None,
            "back-off, 1m00s to 1m16s, unless it takes 20s to stop",
            id="it depends",
        ),
        pytest.param(80, True, "then back-off, 1m20s to 1m36s", id="certainly waits"),
    ],
)
def test_back_off_counts_from_the_exit_before_the_kill(
    window: int,
    waits: bool | None,  # noqa: FBT001  # a column of the table
    words: str,
) -> None:
    kill_at = clock("08:20:25.1") + 40 * _SECOND

    found = predict_backoff(
        clock("08:20:25.1"), window * _SECOND, kill_at, 30 * _SECOND, RULES
    )

    assert found.waits is waits
    assert format_restart(NextFailure(FailureEffect.KILL, backoff=found)) == words


def test_a_waiting_container_uses_the_current_back_off_window() -> None:
    backoff = BackoffSnapshot(60 * _SECOND, None, NOW, 120 * _SECOND)
    container = replace(a_container(grace=0), backoff=backoff)

    found = next_failure_of(DEMO, container, container.probes[0], VIEW)

    assert found.backoff is not None
    assert found.backoff.window == 60 * _SECOND


def test_a_restart_may_come_later_beside_a_container_that_may_fail_to_start() -> None:
    container = a_container(window=1)
    rules = rules_of("1.36")
    view = replace(VIEW, rules=rules)
    other = replace(DEMO.containers[0], name="other")
    pods = {True: DEMO, False: replace(DEMO, containers=(*DEMO.containers, other))}

    longest = {}
    for is_alone, pod in pods.items():
        found = next_failure_of(pod, container, container.probes[0], view)
        assert found.backoff is not None
        longest[is_alone] = found.backoff.longest
        due = restart_range(NOW + _SECOND, _SECOND, rules, is_alone=is_alone)
        assert longest[is_alone] == due.latest - NOW

    assert longest[True] < longest[False]


def test_a_startup_failure_kills_with_a_resync_in_old_versions() -> None:
    container = a_container(probe_type=ProbeType.STARTUP)
    old = replace(VIEW, rules=rules_of("1.20"))

    found = next_failure_of(DEMO, container, container.probes[0], old)

    assert format_effect(found) == "kill"
    assert format_kill(found, old).startswith(" up to 1m30s after")
    assert next_failure_fields(found).startswith("next-failure kill-at-resync ")


def test_a_failure_does_nothing_in_a_pod_that_is_being_deleted() -> None:
    container = a_container()
    deleted = replace(DEMO, deletion_requested_at=NOW)

    found = next_failure_of(deleted, container, container.probes[0], VIEW)

    assert format_effect(found) == "no action: the pod is being deleted"


def test_a_probe_s_own_grace_period_counts_in_versions_that_know_it() -> None:
    container = a_container(grace=5)
    old = replace(VIEW, rules=rules_of("1.24"))

    seconds = [
        found.grace.seconds
        for view in (VIEW, old)
        if (found := next_failure_of(DEMO, container, container.probes[0], view)).grace
    ]

    assert seconds == [5, DEMO.termination_grace_period_seconds]
