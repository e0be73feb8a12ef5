"""Following a session until something ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from probetui.headless.condition import ConditionWatch, parse_condition
from probetui.headless.follow import Follower, format_timeout
from probetui.headless.verdict import Verdict
from probetui.k8s.pod import Pod
from probetui.k8s.status import ConditionStatus, PodCondition, PodPhase, PodStatus
from probetui.kubelet.journal import JournalEntry, NoteEntry, PodGoneEntry, StatusEntry
from tests.builders import a_pod, at
from tests.headless.fake_session import FakeSession

WEB = a_pod(name="web")
DB = a_pod(name="db")


class Collector:
    """Keeps the entries, like a file."""

    def __init__(self) -> None:
        self.entries: list[JournalEntry] = []

    def consume(self, entries: Sequence[JournalEntry]) -> None:
        self.entries += entries


class ClosedPipe:
    """A sink whose pipe is closed."""

    def consume(self, entries: Sequence[JournalEntry]) -> None:
        if entries:
            raise BrokenPipeError


def note(number: int) -> NoteEntry:
    return NoteEntry(number, at(number), f"note {number}")


def phase(pod: Pod, phase: PodPhase) -> StatusEntry:
    return StatusEntry(1, at(1), pod.uid, PodStatus(phase=phase))


def gone(pod: Pod) -> PodGoneEntry:
    return PodGoneEntry(2, at(2), pod.uid)


async def test_every_entry_reaches_every_sink_once_and_in_order() -> None:
    session = FakeSession(WEB)
    session.write(note(1))
    first, second = Collector(), Collector()

    with Follower(session, [first, second], ends_with_pods=True):
        session.write(note(2), note(3))
        session.write(note(4))

    assert first.entries == second.entries == [note(1), note(2), note(3), note(4)]


async def test_entries_during_the_stop_are_passed_on_and_later_ones_are_not() -> None:
    session = FakeSession(WEB)
    sink = Collector()

    with Follower(session, [sink], ends_with_pods=True):
        session.entries.append(note(1))
    session.write(note(2))

    assert sink.entries == [note(1)]


async def test_a_met_condition_ends_the_session_with_0() -> None:
    session = FakeSession(WEB)
    watch = ConditionWatch(parse_condition("web:restarts=1"), [WEB])

    with Follower(session, watch=watch, ends_with_pods=True) as follower:
        watch.is_met = True
        session.write(note(1))
        verdict = await follower.verdict()

    assert verdict == Verdict("until", 0)


async def test_a_state_that_holds_ends_the_session_without_a_new_entry() -> None:
    session = FakeSession(WEB)
    hold_for = timedelta(seconds=10)
    watch = ConditionWatch(parse_condition("ready"), [WEB], hold_for=hold_for)
    condition = PodCondition("Ready", ConditionStatus.TRUE)

    with Follower(session, watch=watch, ends_with_pods=True) as follower:
        session.now = at(1) + hold_for - timedelta(milliseconds=1)
        ready = PodStatus(phase=PodPhase.RUNNING, conditions=(condition,))
        session.write(StatusEntry(1, at(1), WEB.uid, ready))
        assert not follower.is_over

        session.now = at(1) + hold_for
        verdict = await follower.verdict()

    assert verdict == Verdict("until", 0)


async def test_a_condition_out_of_reach_ends_the_session_with_1_and_the_reason() -> (
    None
):
    session = FakeSession(WEB)
    watch = ConditionWatch(parse_condition("ready"), [WEB])

    with Follower(session, watch=watch, ends_with_pods=True) as follower:
        session.write(phase(WEB, PodPhase.SUCCEEDED))
        verdict = await follower.verdict()

    assert verdict.exit_status == 1
    assert verdict.message == "ready can never happen: web has ended: Succeeded"


async def test_the_time_limit_ends_the_session_with_4_and_names_the_condition() -> None:
    session = FakeSession(WEB)
    watch = ConditionWatch(parse_condition("ready"), [WEB])

    with Follower(session, watch=watch, ends_with_pods=True) as follower:
        verdict = await follower.verdict(timedelta())

    assert verdict == Verdict("timeout", 4, "--timeout 0ms reached before ready")


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        pytest.param(timedelta(milliseconds=500), "500ms", id="below a second"),
        pytest.param(timedelta(seconds=4), "4s", id="whole seconds"),
        pytest.param(timedelta(seconds=1.5), "1.5s", id="a fraction"),
        pytest.param(timedelta(seconds=90), "90s", id="more than a minute"),
    ],
)
def test_a_time_limit_is_written_as_people_type_it(limit: timedelta, text: str) -> None:
    assert format_timeout(limit, None) == f"--timeout {text} reached"


async def test_the_session_is_over_when_every_pod_has_ended() -> None:
    session = FakeSession(WEB, DB)

    with Follower(session, ends_with_pods=True) as follower:
        waiting = asyncio.ensure_future(follower.verdict())
        session.write(phase(WEB, PodPhase.SUCCEEDED), gone(WEB))
        await asyncio.sleep(0)
        over_after_one = waiting.done()
        session.write(phase(DB, PodPhase.SUCCEEDED), gone(DB))
        verdict = await waiting

    assert not over_after_one
    assert verdict == Verdict("pods ended", 0)


async def test_a_failed_pod_is_named_and_gives_status_1() -> None:
    session = FakeSession(WEB, DB)

    with Follower(session, ends_with_pods=True) as follower:
        session.write(phase(WEB, PodPhase.SUCCEEDED), phase(DB, PodPhase.FAILED))
        session.write(gone(WEB), gone(DB))
        verdict = await follower.verdict()

    assert verdict == Verdict("pods ended", 1, "ended as Failed: db")


async def test_a_screen_stays_open_when_every_pod_has_ended() -> None:
    session = FakeSession(WEB)

    with Follower(session, ends_with_pods=False) as follower:
        session.write(phase(WEB, PodPhase.SUCCEEDED), gone(WEB))
        verdict = await follower.verdict(timedelta())

    assert verdict.reason == "timeout"


async def test_a_closed_sink_ends_the_session_and_others_get_the_rest() -> None:
    session = FakeSession(WEB)
    record = Collector()

    with Follower(session, [ClosedPipe(), record], ends_with_pods=True) as follower:
        session.write(note(1))
        verdict = await follower.verdict()
        session.write(note(2))

    assert verdict == Verdict("pipe closed", 141)
    assert record.entries == [note(1), note(2)]


async def test_the_first_reason_to_end_counts() -> None:
    session = FakeSession(WEB)

    with Follower(session, ends_with_pods=True) as follower:
        follower.end(Verdict("interrupted", 130))
        follower.end(Verdict("left", 0))
        verdict = await follower.verdict(timedelta())

    assert verdict == Verdict("interrupted", 130)


@pytest.mark.parametrize("seconds", [None, 60])
async def test_a_verdict_that_comes_in_time_is_returned_at_once(
    seconds: int | None,
) -> None:
    session = FakeSession(WEB)
    limit = None if seconds is None else timedelta(seconds=seconds)

    with Follower(session, ends_with_pods=True) as follower:
        waiting = asyncio.ensure_future(follower.verdict(limit))
        await asyncio.sleep(0)
        follower.end(Verdict("left", 0))

        assert await waiting == Verdict("left", 0)
