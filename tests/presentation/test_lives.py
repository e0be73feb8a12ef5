"""The lives of a container, put together from the journal."""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.drive.scripted_lives import Life as Lasting
from probetui.k8s.listeners import Endpoint
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import NO_CONTAINER, ContainerID
from probetui.kubelet.inputs import DeletePod
from probetui.kubelet.journal import (
    Action,
    By,
    ContainerEntry,
    Lifecycle,
    ListenersEntry,
    TickEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.presentation.lives import MOST_LIVES, ContainerPast, Lives
from probetui.presentation.past import Past
from tests.builders import START, a_container, a_pod, a_probe, at
from tests.drive.stage import FAILS, Stage, always, probing
from tests.tui.states import DEMO_KEY, a_tick

FAILING = a_container(liveness_probe=a_probe(period_seconds=5))
POD = a_pod(FAILING)


def past_of(stage: Stage) -> ContainerPast:
    past = Past(stage.journal)
    past.feed(stage.journal, 0)
    return past.container(POD.uid, "app")


def killed(seconds: float = 40) -> Stage:
    """Return a stage on which liveness has killed the container at least once."""
    stage = Stage(POD, probing=probing(liveness=always(FAILS)))
    stage.run_until(seconds)
    return stage


def test_a_life_knows_who_ended_it_and_when() -> None:
    first = past_of(killed()).lives[0]

    assert first.number == 1
    assert first.kill is not None
    assert first.kill.run == 3
    assert first.stopping is not None
    assert first.stopping.by is By.LIVENESS
    assert first.exited is not None
    assert first.started_at is not None
    assert first.started_at < first.kill.at <= first.stopping.at <= first.exited.at


def test_a_life_knows_what_back_off_said_before_it() -> None:
    stage = Stage(POD, lives={"app": (Lasting(timedelta(seconds=4), exit_code=1),)})
    stage.run_until(60)

    second, third = past_of(stage).lives[1:3]

    assert second.allowed is not None
    assert second.allowed.window == timedelta()
    assert second.waited is None
    assert third.waited is not None
    assert third.waited.window == timedelta(seconds=10)
    assert third.allowed is not None
    assert not third.allowed.waits


def test_what_back_off_says_of_the_next_life_is_kept_apart() -> None:
    stage = Stage(POD, lives={"app": (Lasting(timedelta(seconds=4), exit_code=1),)})
    stage.run_until(12)

    past = past_of(stage)

    assert past.waits is not None
    assert past.decision is not None
    assert past.decision.waits


THERE = Endpoint("10.1.2.3", 8080)


def a_refused_tick(sequence: int) -> TickEntry:
    attempt = Attempt(ProbeResult.FAILURE, refused_at=THERE)
    return a_tick(DEMO_KEY, START)._replace(sequence=sequence, attempts=(attempt,))


def a_look(sequence: int, cause: int, there: Endpoint = THERE) -> ListenersEntry:
    return ListenersEntry(
        sequence, START, DEMO_KEY, a_refused_tick(1).container_id, there, None,
        cause=cause,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        pytest.param((), None, id="nobody-looked"),
        pytest.param((a_look(11, 10),), 11, id="for-this-tick"),
        pytest.param((a_look(3, 1), a_look(11, 10)), 11, id="for-this-tick-anew"),
        pytest.param((a_look(3, 1), a_look(8, 7)), 8, id="said-before"),
        pytest.param((a_look(12, 11),), None, id="only-later"),
        pytest.param((a_look(3, 1, Endpoint("h", 1)),), None, id="of-another-port"),
    ],
)
def test_a_refused_tick_knows_where_the_container_listened(
    looks: tuple[ListenersEntry, ...], expected: int | None
) -> None:
    lives = Lives()
    lives.feed(looks)

    found = lives.of(DEMO_KEY.pod_uid, DEMO_KEY.container_name).listeners(
        a_refused_tick(10)
    )

    assert (None if found is None else found.sequence) == expected


def test_lives_follow_one_another() -> None:
    past = past_of(killed(90))

    first, second = past.lives[:2]

    assert past.after(first) is second
    assert past.after(past.lives[-1]) is None
    assert past.life(second.container_id) is second
    assert past.life(ContainerID("docker://unknown")) is None


def test_behind_a_deletion_comes_the_last_other_end() -> None:
    stage = killed()
    stage.send(DeletePod(POD.uid))
    stage.run_until(80)

    last, other = past_of(stage).last_ends

    assert last.is_deleted
    assert other.end is not None
    assert other.end.by is By.LIVENESS


def test_without_an_end_there_is_none_to_ask_about() -> None:
    stage = Stage(POD)
    stage.run_until(10)

    assert past_of(stage).last_ends == ()


def test_the_address_of_a_pod_is_remembered_when_it_is_gone() -> None:
    stage = killed()
    past = Past(stage.journal)
    past.feed(stage.journal, 0)

    assert past.pod_ip(POD.uid)
    assert past.pod_ip("another") == ""
    assert past.containers() == [(POD.uid, "app")]
    assert [each.probe_type for each in past.probes(POD.uid, "app")] == [
        ProbeType.LIVENESS
    ]


def test_an_instance_that_was_there_before_has_no_beginning() -> None:
    lives = Lives()
    lives.feed(
        [
            ContainerEntry(
                1,
                START,
                POD.uid,
                "app",
                ContainerID("docker://old"),
                4,
                Lifecycle.EXITED,
                exit_code=1,
            )
        ]
    )

    (life,) = lives.of(POD.uid, "app").lives

    assert life.number == 5
    assert life.started_at is None
    assert life.exited is not None


def test_the_oldest_lives_are_dropped() -> None:
    lives = Lives()
    lives.feed(
        ContainerEntry(
            number,
            at(number),
            POD.uid,
            "app",
            ContainerID(f"docker://{number}"),
            number,
            Lifecycle.CREATED,
        )
        for number in range(MOST_LIVES + 7)
    )

    kept = lives.of(POD.uid, "app").lives

    assert len(kept) == MOST_LIVES
    assert kept[-1].restart_count == MOST_LIVES + 6


def test_a_kill_of_an_instance_from_before_begins_its_life() -> None:
    tick = a_tick(DEMO_KEY, START, "f", action=Action.KILL)
    lives = Lives()

    lives.feed([tick, tick._replace(container_id=NO_CONTAINER)])

    (life,) = lives.of(DEMO_KEY.pod_uid, DEMO_KEY.container_name).lives
    assert life.kill is tick
