"""Why a tick did what it did, and what comes next (UX-01, UX-08, UX-15, UX-21)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import Action, Exit, Skip, TickEntry
from probetui.kubelet.outcome import Result
from probetui.kubelet.snapshot import BackoffSnapshot, ContainerSnapshot, LastExit
from probetui.presentation.sentences import backoff_forecast, next_failure, why
from tests.presentation.looking import VIEW
from tests.tui.states import (
    DEMO,
    DEMO_KEY,
    LAST_EXIT,
    LIVENESS,
    NOW,
    a_container_snapshot,
    a_probe_snapshot,
    clock,
    history,
)

_SECOND = timedelta(seconds=1)


def a_tick(letters: str, **fields: Any) -> TickEntry:
    return history(DEMO_KEY, LIVENESS, letters, NOW)[-1]._replace(**fields)


@pytest.mark.parametrize(
    ("tick", "sentence"),
    [
        pytest.param(
            a_tick("sff"),
            "probed: run 1->2, below threshold 3, stored result unchanged",
            id="below the threshold",
        ),
        pytest.param(
            a_tick("sf"),
            "probed: run starts at 1, below threshold 3, stored result unchanged",
            id="first of a run",
        ),
        pytest.param(
            a_tick("sfffK"),
            "probed: run 2->3, threshold 3 reached: container killed, probe on hold",
            id="kill",
        ),
        pytest.param(
            a_tick("ss"),
            "probed: run 1->2, agrees with the stored result Success",
            id="as stored",
        ),
        pytest.param(
            a_tick("s", action=Action.READY),
            "probed: run starts at 1, threshold 1 reached: container ready",
            id="ready",
        ),
        pytest.param(
            a_tick("fff", action=Action.NOT_READY),
            "probed: run 2->3, threshold 3 reached: container not ready",
            id="not ready",
        ),
        pytest.param(
            a_tick("s", action=Action.STARTED),
            "probed: run starts at 1, threshold 1 reached: container started",
            id="started",
        ),
        pytest.param(
            a_tick("e"),
            "errored 3 times, thrown away: never restarts the container",
            id="errored",
        ),
        pytest.param(
            a_tick("d"), "skipped: initial delay, 3 of 5s", id="initial delay"
        ),
        pytest.param(
            a_tick("d", gates=()), "skipped: initial delay, not over", id="no gates"
        ),
        pytest.param(
            a_tick("h"),
            "skipped: on hold until a tick sees a new container id",
            id="on hold",
        ),
        pytest.param(
            a_tick("g"), "skipped: gated until the startup probe succeeds", id="gated"
        ),
        pytest.param(
            a_tick("n"),
            "skipped: container not running, stored result set to Failure",
            id="not running",
        ),
        pytest.param(
            a_tick("s", exit=Exit.POD_DELETED),
            "last tick: the pod is being deleted",
            id="last tick",
        ),
    ],
)
def test_why(tick: TickEntry, sentence: str) -> None:
    assert why(tick) == sentence


@pytest.mark.parametrize("skip", [pytest.param(each, id=each) for each in Skip])
def test_every_skip_has_a_reason(skip: Skip) -> None:
    assert why(a_tick("s", skip=skip)).startswith("skipped: ")


@pytest.mark.parametrize("reason", [pytest.param(each, id=each) for each in Exit])
def test_every_exit_has_a_reason(reason: Exit) -> None:
    assert why(a_tick("s", exit=reason)).startswith("last tick: ")


def a_container(
    letters: str = "sff",
    *,
    probe_type: ProbeType = ProbeType.LIVENESS,
    grace: int | None = None,
    last_exit: LastExit | None = LAST_EXIT,
    window: int = 10,
    **fields: Any,
) -> ContainerSnapshot:
    """Return the demo's container; `window` is what the next restart has to wait."""
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
            "kill, 30s grace, restart without back-off (10s window is past)",
            id="kill",
        ),
        pytest.param(
            a_container(grace=2),
            DEMO,
            "kill, 2s grace, restart without back-off (10s window is past)",
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
            a_container("s"), DEMO, "run 0->1 of 3, nothing else happens", id="far away"
        ),
        pytest.param(
            a_container(probe_type=ProbeType.READINESS),
            DEMO,
            "not ready, is never killed for it",
            id="readiness",
        ),
        pytest.param(
            a_container(probe_type=ProbeType.READINESS, believed=Result.FAILURE),
            DEMO,
            "stays not ready, is never killed for it",
            id="readiness, not ready already",
        ),
        pytest.param(
            a_container(muted=True), DEMO, "none: muted, nothing is done", id="muted"
        ),
        pytest.param(
            a_container("s", muted=True),
            DEMO,
            "run 0->1 of 3, nothing else happens",
            id="muted and far away",
        ),
        pytest.param(
            a_container(on_hold=True),
            DEMO,
            "none: on hold, nothing is probed",
            id="on hold",
        ),
        pytest.param(
            a_container(upcoming_skip=Skip.NOT_STARTED),
            DEMO,
            "none: gated until startup succeeds",
            id="gated",
        ),
        pytest.param(
            a_container(upcoming_skip=Skip.ALREADY_STARTED),
            DEMO,
            "none: the container has started",
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
            "none: no worker probes any more",
            id="no worker",
        ),
    ],
)
def test_the_next_failure(
    container: ContainerSnapshot, pod: Pod, sentence: str
) -> None:
    found = next_failure(pod, container, container.probes[0], VIEW)

    assert found.sentence == sentence


def test_where_nothing_is_done_the_next_failure_only_says_so() -> None:
    container = a_container()
    view = replace(VIEW, acts=False)

    found = next_failure(DEMO, container, container.probes[0], view)

    assert found.sentence == "would kill, which is only told"


@pytest.mark.parametrize(
    ("window", "waits", "words"),
    [
        pytest.param(
            0, False, "restart without back-off (no window yet)", id="no window"
        ),
        pytest.param(
            40, False, "restart without back-off (40s window is past)", id="just past"
        ),
        pytest.param(60, None, "back-off unless it takes 20s to stop", id="it depends"),
        pytest.param(
            80, True, "then back-off, at least 10s of 1m20s", id="certainly waits"
        ),
    ],
)
def test_back_off_is_reckoned_from_the_exit_before_the_kill(
    window: int,
    waits: bool | None,  # noqa: FBT001  # a column of the table
    words: str,
) -> None:
    container = a_container(window=window)
    kill_at = clock("08:20:25.1") + 40 * _SECOND

    found = backoff_forecast(container, kill_at, 30 * _SECOND)

    assert (found.waits, found.words) == (waits, words)


def test_a_container_that_waits_is_judged_by_the_window_in_force() -> None:
    backoff = BackoffSnapshot(60 * _SECOND, None, NOW, 120 * _SECOND)
    container = replace(a_container(), backoff=backoff)

    found = backoff_forecast(container, clock("08:20:30.1"), timedelta())

    assert found.words == "then back-off, at least 55s of 1m00s"
