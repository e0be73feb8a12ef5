from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.k8s.runtime import RuntimePodStatus, RuntimeState
from probetui.kubelet.kuberuntime.backoff import (
    BackoffDecision,
    do_back_off,
    newest_exited,
)
from probetui.kubelet.kuberuntime.restart import pull_range, restart_range
from probetui.kubelet.runtime.backoff import Backoff
from probetui.kubelet_rules import PORTED_RULES, KubeletRules, rules_of
from tests.builders import a_container, a_pod, a_runtime_status, an_instance, at

EXITED = RuntimeState.EXITED
KEY = "key"


def a_backoff() -> Backoff:
    return Backoff(
        initial=timedelta(seconds=10),
        maximum=timedelta(seconds=300),
        expiry=timedelta(seconds=600),
    )


def seconds(value: float) -> timedelta:
    return timedelta(seconds=value)


def start(
    backoff: Backoff,
    now: float,
    finished: float | None = None,
    rules: KubeletRules = PORTED_RULES,
) -> BackoffDecision:
    """Ask for a start of `app` whose last instance finished at that second."""
    exited = an_instance(
        state=EXITED, finished_at=None if finished is None else at(finished)
    )
    return do_back_off(
        backoff, a_pod(), a_container(), a_runtime_status(exited), at(now), rules
    )


def test_the_window_doubles_with_every_start_up_to_the_cap() -> None:
    backoff = a_backoff()

    windows = [backoff.next(KEY, at(0), at(0)) for _ in range(7)]

    assert windows == [seconds(length) for length in (10, 20, 40, 80, 160, 300, 300)]


def test_a_pull_waits_until_the_window_has_passed_since_the_last_failure() -> None:
    backoff = a_backoff()
    backoff.next(KEY, at(0), at(0))

    assert backoff.is_in_backoff_since_update(KEY, at(9))
    assert not backoff.is_in_backoff_since_update(KEY, at(10))
    assert not backoff.is_in_backoff_since_update(KEY, at(601))
    assert not backoff.is_in_backoff_since_update("another", at(9))


def test_a_key_without_a_window_never_waits() -> None:
    assert not a_backoff().is_in_backoff_since_update(KEY, at(5))


def test_a_window_is_forgotten_ten_minutes_after_the_last_start() -> None:
    backoff = a_backoff()
    backoff.next(KEY, at(0), at(0))
    backoff.next("younger", at(0), at(1))

    assert backoff.gc(at(600)) == ()
    assert backoff.gc(at(601)) == (KEY,)
    assert backoff.get(KEY) == seconds(0)
    assert backoff.get("younger") == seconds(10)


def test_a_window_can_be_cleared() -> None:
    backoff = a_backoff()
    backoff.next(KEY, at(0), at(0))

    assert backoff.delete(KEY)
    assert not backoff.delete(KEY)
    assert backoff.get(KEY) == seconds(0)


def test_the_very_first_start_neither_waits_nor_makes_a_window() -> None:
    decision = do_back_off(
        a_backoff(), a_pod(), a_container(), RuntimePodStatus("uid"), at(0)
    )

    assert decision == BackoffDecision(
        waits=False,
        window=seconds(0),
        since=None,
        until=None,
        next_window=seconds(0),
    )


def test_the_first_crash_restarts_at_once_and_has_the_next_window() -> None:
    decision = start(a_backoff(), now=6, finished=5)

    assert decision == BackoffDecision(
        waits=False,
        window=seconds(0),
        since=at(5),
        until=None,
        next_window=seconds(10),
    )


def test_a_wait_has_its_length_its_start_and_its_end() -> None:
    backoff = a_backoff()
    start(backoff, now=6, finished=5)

    decision = start(backoff, now=9, finished=8)

    assert decision == BackoffDecision(
        waits=True,
        window=seconds(10),
        since=at(8),
        until=at(18),
        next_window=seconds(20),
        message=(
            "back-off 10s restarting failed container=app pod=web_default(uid-of-web)"
        ),
        event_message=(
            "Back-off restarting failed container app in pod web_default(uid-of-web)"
        ),
        latest=at(18 + 16),
    )


@pytest.mark.parametrize(
    ("version", "begins"), [("1.15", "Back-off 10s"), ("1.17", "back-off 10s")]
)
def test_a_wait_has_the_message_of_its_version(version: str, begins: str) -> None:
    backoff, rules = a_backoff(), rules_of(version)
    start(backoff, now=6, finished=5, rules=rules)

    decision = start(backoff, now=9, finished=8, rules=rules)

    assert decision.message.startswith(f"{begins} restarting failed container=app ")


def test_an_old_kubelet_starts_at_its_next_retry_after_the_wait() -> None:
    for window in (10, 40, 300):
        due = restart_range(at(100), seconds(window), rules_of("1.34"))

        assert due == (at(100), at(100 + 15 + 1))


@pytest.mark.parametrize(
    ("window", "late"), [(1, 0.5), (10, 5), (40, 20), (60, 30), (300, 30)]
)
def test_a_new_kubelet_oversleeps_by_half_of_what_it_sleeps(
    window: int, late: float
) -> None:
    due = restart_range(at(100), seconds(window), rules_of("1.35"))

    assert due == (at(100), at(100 + late + 1))


def test_beside_another_container_a_new_kubelet_may_retry_as_an_old_one() -> None:
    rules = rules_of("1.36")

    short = restart_range(at(0), seconds(10), rules, is_alone=False)
    long = restart_range(at(0), seconds(60), rules, is_alone=False)

    assert (short.latest, long.latest) == (at(16), at(31))


def test_an_image_is_pulled_at_the_usual_retry_by_every_version() -> None:
    assert pull_range(at(5)) == (at(5), at(5 + 16))


def test_a_start_after_a_wait_has_the_window_that_passed() -> None:
    backoff = a_backoff()
    start(backoff, now=6, finished=5)

    decision = start(backoff, now=18, finished=8)

    assert (decision.waits, decision.window) == (False, seconds(10))
    assert decision.next_window == seconds(20)


def test_asking_again_while_waiting_changes_nothing() -> None:
    backoff = a_backoff()
    start(backoff, now=6, finished=5)

    decisions = {start(backoff, now=now, finished=8) for now in (9, 10, 17)}

    assert len(decisions) == 1


def test_a_container_that_ran_for_long_starts_with_the_first_window_again() -> None:
    backoff = a_backoff()
    start(backoff, now=6, finished=5)
    start(backoff, now=18, finished=8)

    decision = start(backoff, now=620, finished=619)

    assert decision.is_reset
    assert decision.window == seconds(0)
    assert decision.next_window == seconds(10)


def test_an_instance_with_an_unknown_end_causes_no_wait() -> None:
    decision = start(a_backoff(), now=6, finished=None)

    assert not decision.waits
    assert decision.since is None


def test_what_still_runs_is_passed_over() -> None:
    older = an_instance(state=EXITED)
    status = a_runtime_status(an_instance(number=2), an_instance(number=1), older)

    assert newest_exited(status, "app") is older
    assert newest_exited(status, "other") is None


def test_a_changed_image_starts_afresh() -> None:
    backoff = a_backoff()
    start(backoff, now=6, finished=5)
    exited = a_runtime_status(an_instance(state=EXITED, finished_at=at(8)))
    changed = a_container(image="busybox:1.37")

    decision = do_back_off(backoff, a_pod(), changed, exited, at(9))

    assert not decision.waits


@given(st.lists(st.integers(min_value=0, max_value=700), min_size=1, max_size=30))
def test_a_window_never_shrinks_before_it_is_reset_nor_passes_the_cap(
    lives: list[int],
) -> None:
    backoff = a_backoff()
    now, last = 0, timedelta()

    for lived in lives:
        now += lived
        decision = start(backoff, now=now, finished=now)
        until = decision.until
        while until is not None:
            now = int((until - at(0)).total_seconds())
            decision = start(backoff, now=now, finished=now - decision.window.seconds)
            until = decision.until
        window = decision.next_window
        assert window <= seconds(300)
        assert window >= last or decision.is_reset
        last = window


@pytest.mark.parametrize("window", [0, 10, 20, 160, 300])
def test_the_following_window_is_the_one_that_next_stores(window: int) -> None:
    backoff = a_backoff()
    while backoff.get(KEY) < seconds(window):
        backoff.next(KEY, at(0), at(0))

    following = backoff.following(backoff.get(KEY))

    assert backoff.next(KEY, at(0), at(0)) == following
