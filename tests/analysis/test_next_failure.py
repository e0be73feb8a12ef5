"""What a failure would do, and how a restart after it would have to wait."""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.analysis.next_failure import (
    BackoffForecast,
    FailureEffect,
    NextFailure,
    Outlook,
    OutlookCondition,
    OutlookEvent,
    outlook_of_failures,
    predict_backoff,
    predict_failure_after,
)
from probetui.k8s.pod import RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import TickAction
from probetui.kubelet.kuberuntime.restart import restart_range
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import PORTED_RULES, rules_of
from tests.builders import a_container, a_key, a_pod, at
from tests.ticks import a_tick, changed_tick

EFFECT = FailureEffect
EXITED, WINDOW = 100, 20
"""When the instance before has exited, and how long the back-off is, in seconds."""


@pytest.mark.parametrize(
    ("killed", "grace", "waits", "left"),
    [
        pytest.param(110, 9, True, 10, id="it-stops-within-the-window"),
        pytest.param(110, 10, None, 10, id="it-may-stop-at-its-end"),
        pytest.param(110, 30, None, 10, id="it-may-stop-after-it"),
        pytest.param(119.9, 0, True, 0.1, id="killed-just-within-it"),
        pytest.param(120, 0, False, 0, id="killed-at-its-end"),
        pytest.param(130, 30, False, -10, id="killed-after-it"),
    ],
)
def test_a_restart_waits_if_the_container_has_stopped_within_the_window(
    killed: float, grace: float, left: float, *, waits: bool | None
) -> None:
    window, kill_at = timedelta(seconds=WINDOW), at(killed)

    forecast = predict_backoff(
        at(EXITED), window, kill_at, timedelta(seconds=grace), rules_of("1.32")
    )

    assert forecast == BackoffForecast(
        waits, at(EXITED), window, at(EXITED + left) - at(EXITED), forecast.longest
    )
    # It waits for the whole window, which counts from its own end then.
    due = restart_range(kill_at + window, window, rules_of("1.32"))
    assert forecast.longest == due.latest - kill_at


@pytest.mark.parametrize(("exited", "window"), [(None, WINDOW), (EXITED, 0)])
def test_without_an_exit_or_a_window_no_restart_waits(
    exited: float | None, window: float
) -> None:
    exited_at = None if exited is None else at(exited)

    forecast = predict_backoff(
        exited_at, timedelta(seconds=window), at(110), timedelta(), PORTED_RULES
    )

    assert forecast == BackoffForecast(waits=False, exited_at=exited_at)


@pytest.mark.parametrize(("run", "count"), [(1, 3), (2, 2), (3, 1), (4, 1)])
def test_a_run_of_failures_takes_as_many_as_are_missing(run: int, count: int) -> None:
    failure = NextFailure(EFFECT.COUNTED, EFFECT.KILL, run=run, threshold=3)

    assert outlook_of_failures(failure, at(9)) == Outlook(
        OutlookEvent.KILLED,
        at(9),
        condition=OutlookCondition.FAILURES,
        count=count,
    )


@pytest.mark.parametrize(
    ("effect", "event"),
    [
        (EFFECT.KILL, OutlookEvent.KILLED),
        (EFFECT.WOULD_KILL, OutlookEvent.KILLED),
        (EFFECT.NOT_READY, OutlookEvent.NOT_READY),
        (EFFECT.STAYS_NOT_READY, OutlookEvent.NOT_READY),
        (EFFECT.MUTED, OutlookEvent.NOTHING),
        (EFFECT.POD_DELETED, OutlookEvent.NOTHING),
    ],
)
def test_a_run_of_failures_leads_to_what_the_threshold_has(
    effect: FailureEffect, event: OutlookEvent
) -> None:
    failure = NextFailure(EFFECT.COUNTED, effect, at_resync=True, run=1, threshold=1)

    assert outlook_of_failures(failure, at(9)) == Outlook(
        event, condition=OutlookCondition.FAILURES, count=1, is_at_resync=True
    )


@pytest.mark.parametrize(
    ("letters", "fields", "threshold", "effect", "run"),
    [
        pytest.param("f", {"run": 1}, 3, EFFECT.COUNTED, 2, id="the-second-of-three"),
        pytest.param("f", {"run": 2}, 3, EFFECT.KILL, 3, id="the-third"),
        pytest.param("f", {"run": 3}, 3, EFFECT.KILL, 4, id="the-fourth"),
        pytest.param("s", {"run": 9}, 3, EFFECT.COUNTED, 1, id="after-successes"),
        pytest.param("s", {"run": 9}, 1, EFFECT.KILL, 1, id="one-is-enough"),
        pytest.param("f", {"run": 2, "muted": True}, 3, EFFECT.MUTED, 3, id="muted"),
    ],
)
def test_a_failure_after_a_tick_counts_with_those_before_it(
    letters: str,
    fields: dict[str, object],
    threshold: int,
    effect: FailureEffect,
    run: int,
) -> None:
    tick = changed_tick(a_tick(a_key(), at(5), letters), **fields)
    pod = a_pod(container := a_container())

    failure = predict_failure_after(
        tick,
        pod,
        container,
        threshold,
        at(9),
        at(EXITED),
        timedelta(seconds=WINDOW),
        PORTED_RULES,
        acts=True,
    )

    assert (failure.effect, failure.run, failure.threshold) == (effect, run, threshold)
    assert (failure.kills_at == at(9)) is (effect is EFFECT.KILL)
    assert (failure.grace is not None) is (effect is EFFECT.KILL)


@pytest.mark.parametrize(
    ("kind", "stored", "deleted", "acts", "effect"),
    [
        pytest.param("LIVENESS", "FAILURE", False, True, EFFECT.KILL, id="kill"),
        pytest.param("LIVENESS", "SUCCESS", False, False, EFFECT.WOULD_KILL, id="try"),
        pytest.param("STARTUP", "SUCCESS", True, True, EFFECT.POD_DELETED, id="gone"),
        pytest.param("READINESS", "SUCCESS", True, True, EFFECT.NOT_READY, id="out"),
        pytest.param(
            "READINESS", "FAILURE", False, False, EFFECT.STAYS_NOT_READY, id="is-out"
        ),
    ],
)
def test_what_a_failure_leads_to_is_a_matter_of_the_probe_and_its_pod(
    kind: str, stored: str, effect: FailureEffect, *, deleted: bool, acts: bool
) -> None:
    key = a_key(ProbeType[kind])
    tick = changed_tick(a_tick(key, at(5), "f"), stored_after=Result[stored])
    pod = a_pod(
        container := a_container(), deletion_requested_at=at(1) if deleted else None
    )

    failure = predict_failure_after(
        tick, pod, container, 1, at(9), None, timedelta(), PORTED_RULES, acts=acts
    )

    assert (failure.effect, failure.at_threshold) == (effect, effect)


def test_after_the_tick_that_kills_the_probe_is_on_hold() -> None:
    tick = changed_tick(a_tick(a_key(), at(5), "f"), action=TickAction.KILL)
    pod = a_pod(container := a_container())

    failure = predict_failure_after(
        tick, pod, container, 3, at(9), None, timedelta(), PORTED_RULES, acts=True
    )

    assert failure == NextFailure(EFFECT.ON_HOLD, EFFECT.ON_HOLD)


@pytest.mark.parametrize(
    ("policy", "has_backoff"),
    [(RestartPolicy.ALWAYS, True), (RestartPolicy.NEVER, False)],
)
def test_only_what_is_restarted_has_a_back_off(
    policy: RestartPolicy, *, has_backoff: bool
) -> None:
    tick = changed_tick(a_tick(a_key(), at(5), "f"), run=2)
    pod = a_pod(container := a_container(), restart_policy=policy)

    failure = predict_failure_after(
        tick,
        pod,
        container,
        3,
        at(110),
        at(EXITED),
        timedelta(seconds=WINDOW),
        PORTED_RULES,
        acts=True,
    )

    assert failure.grace is not None
    expected = predict_backoff(
        at(EXITED),
        timedelta(seconds=WINDOW),
        at(110),
        timedelta(seconds=failure.grace.seconds),
        PORTED_RULES,
    )
    assert failure.backoff == (expected if has_backoff else None)
