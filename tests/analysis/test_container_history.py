"""The instances of a container, built from the journal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.analysis.container_history import (
    MAX_INSTANCES,
    MISSING_PULL_SECRETS,
    ContainerHistories,
    ContainerHistory,
    ContainerInstance,
    SessionHistory,
)
from probetui.analysis.timeline import Timeline
from probetui.drive.scenario.behavior import InstanceBehavior as Lasting
from probetui.engine.inputs import DeletePod
from probetui.k8s.event import Event, EventType
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import (
    NO_CONTAINER,
    ContainerID,
    Listeners,
    ListenerScope,
    SocketAddress,
)
from probetui.k8s.status import (
    ContainerStatus,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import (
    ContainerEntry,
    EventEntry,
    ExitCause,
    Gate,
    JournalEntry,
    LastOutputEntry,
    LifecycleStep,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    StatusEntry,
    TickAction,
    TickEntry,
    UserEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from tests.builders import START, a_container, a_key, a_pod, a_probe, at
from tests.drive.engine_bench import FAILS, EngineBench, always, probing
from tests.ticks import DEMO_KEY, a_tick, changed_tick

FAILING = a_container(liveness_probe=a_probe(period_seconds=5))
POD = a_pod(FAILING)


def past_of(bench: EngineBench) -> ContainerHistory:
    past = SessionHistory(bench.journal)
    past.add_entries(bench.journal, 0)
    return past.container(POD.uid, "app")


def killed(seconds: float = 40) -> EngineBench:
    """Return a bench on which liveness has killed the container at least once."""
    bench = EngineBench(POD, probing=probing(liveness=always(FAILS)))
    bench.run_until(seconds)
    return bench


def test_an_instance_has_its_exit_cause_and_time() -> None:
    first = past_of(killed()).instances[0]

    assert first.number == 1
    assert first.kill is not None
    assert first.kill.run.count == 3
    assert first.stopping is not None
    assert first.stopping.by is ExitCause.LIVENESS
    assert first.exited is not None
    assert first.started_at is not None
    assert first.started_at < first.kill.at <= first.stopping.at <= first.exited.at


def test_an_instance_has_the_back_off_before_it() -> None:
    bench = EngineBench(
        POD, lives={"app": (Lasting(timedelta(seconds=4), exit_code=1),)}
    )
    bench.run_until(60)

    second, third = past_of(bench).instances[1:3]

    assert second.allowed is not None
    assert second.allowed.window == timedelta()
    assert second.waited is None
    assert third.waited is not None
    assert third.waited.window == timedelta(seconds=10)
    assert third.allowed is not None
    assert not third.allowed.waits


def test_the_back_off_of_the_next_instance_is_kept_separately() -> None:
    bench = EngineBench(
        POD, lives={"app": (Lasting(timedelta(seconds=4), exit_code=1),)}
    )
    bench.run_until(12)

    past = past_of(bench)

    assert past.waits is not None
    assert past.decision is not None
    assert past.decision.waits


THERE = SocketAddress("10.1.2.3", 8080)


def a_refused_tick(sequence: int) -> TickEntry:
    attempt = Attempt(ProbeResult.FAILURE, refused_at=THERE)
    return changed_tick(a_tick(DEMO_KEY, START), sequence=sequence, attempts=(attempt,))


def a_listeners_entry(
    sequence: int,
    cause: int,
    there: SocketAddress = THERE,
    listeners: Listeners | None = None,
) -> ListenersEntry:
    return ListenersEntry(
        sequence, START, DEMO_KEY, a_refused_tick(1).container_id, there, listeners,
        cause=cause,
    )  # fmt: skip


LOOPBACK = Listeners((SocketAddress("127.0.0.1", 80),), ListenerScope.POD)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param((), None, id="nobody-looked"),
        pytest.param((a_listeners_entry(11, 10),), 11, id="for-this-tick"),
        pytest.param(
            (a_listeners_entry(3, 1), a_listeners_entry(11, 10)),
            11,
            id="for-this-tick-anew",
        ),
        pytest.param(
            (a_listeners_entry(3, 1), a_listeners_entry(8, 7)), 8, id="said-before"
        ),
        pytest.param(
            (a_listeners_entry(3, 1, listeners=LOOPBACK), a_listeners_entry(11, 10)),
            3,
            id="kept-where-this-look-failed",
        ),
        pytest.param((a_listeners_entry(12, 11),), None, id="only-later"),
        pytest.param(
            (a_listeners_entry(3, 1, SocketAddress("h", 1)),),
            None,
            id="of-another-port",
        ),
    ],
)
def test_a_refused_tick_has_the_listeners_of_the_container(
    entries: tuple[ListenersEntry, ...], expected: int | None
) -> None:
    lives = ContainerHistories()
    lives.add_entries(entries)

    found = lives.container(DEMO_KEY.pod_uid, DEMO_KEY.container_name).listeners(
        a_refused_tick(10)
    )

    assert (None if found is None else found.sequence) == expected


def test_a_look_belongs_to_the_tick_that_it_explains() -> None:
    tick, note = a_refused_tick(10), NoteEntry(11, START, "the pod is deleted")
    journal = (tick, note, a_listeners_entry(12, 10), a_listeners_entry(13, 14))
    past = SessionHistory(journal)
    past.add_entries(journal, 0)

    before = past.before(11).container(DEMO_KEY.pod_uid, DEMO_KEY.container_name)

    assert [look.sequence for look in before.listener_checks] == [12]


def test_lives_follow_one_another() -> None:
    past = past_of(killed(90))

    first, second = past.instances[:2]

    assert past.next_after(first) is second
    assert past.next_after(past.instances[-1]) is None
    assert past.instance(second.container_id) is second
    assert past.instance(ContainerID("docker://unknown")) is None


def test_behind_a_deletion_comes_the_last_other_end() -> None:
    bench = killed()
    bench.send(DeletePod(POD.uid))
    bench.run_until(80)

    last, other = past_of(bench).last_ends

    assert last.is_deleted
    assert other.end is not None
    assert other.end.by is ExitCause.LIVENESS


def test_without_an_end_there_is_none_to_ask_about() -> None:
    bench = EngineBench(POD)
    bench.run_until(10)

    assert past_of(bench).last_ends == ()


def test_the_address_of_a_pod_is_remembered_when_it_is_gone() -> None:
    bench = killed()
    past = SessionHistory(bench.journal)
    past.add_entries(bench.journal, 0)

    assert past.pod_ip(POD.uid)
    assert past.pod_ip("another") == ""
    assert past.containers() == [(POD.uid, "app")]
    assert [probe.probe_type for probe in past.probes(POD.uid, "app")] == [
        ProbeType.LIVENESS
    ]


def test_an_instance_that_was_there_before_has_no_beginning() -> None:
    lives = ContainerHistories()
    lives.add_entries(
        [
            ContainerEntry(
                1,
                START,
                POD.uid,
                "app",
                ContainerID("docker://old"),
                4,
                LifecycleStep.EXITED,
                exit_code=1,
            )
        ]
    )

    (instance,) = lives.container(POD.uid, "app").instances

    assert instance.number == 5
    assert instance.started_at is None
    assert instance.exited is not None


def test_the_oldest_lives_are_dropped() -> None:
    lives = ContainerHistories()
    lives.add_entries(
        ContainerEntry(
            number,
            at(number),
            POD.uid,
            "app",
            ContainerID(f"docker://{number}"),
            number,
            LifecycleStep.CREATED,
        )
        for number in range(MAX_INSTANCES + 7)
    )

    kept = lives.container(POD.uid, "app").instances

    assert len(kept) == MAX_INSTANCES
    assert kept[-1].restart_count == MAX_INSTANCES + 6


def test_a_kill_of_an_instance_from_before_begins_its_life() -> None:
    tick = a_tick(DEMO_KEY, START, "f", action=TickAction.KILL)
    lives = ContainerHistories()

    lives.add_entries([tick, changed_tick(tick, container_id=NO_CONTAINER)])

    (instance,) = lives.container(DEMO_KEY.pod_uid, DEMO_KEY.container_name).instances
    assert instance.kill is tick


class TestObstacles:
    """Problems that prevent a pod from creating containers."""

    UID = "uid-of-web"
    WAITS = StatusEntry(
        1,
        START,
        UID,
        PodStatus(
            container_statuses=(
                ContainerStatus("app", state=Waiting("ContainerCreating")),
            )
        ),
    )
    NO_NETWORK = EventEntry(
        2,
        START,
        Event(EventType.WARNING, "NetworkNotReady", "no cni", UID, "", START),
    )

    def waiting(self, *entries: JournalEntry) -> Waiting | None:
        histories = ContainerHistories()
        histories.add_entries(entries)
        return histories.container(self.UID, "app").waiting

    def test_the_event_of_the_pod_is_why_its_container_waits(self) -> None:
        assert self.waiting(self.WAITS, self.NO_NETWORK) == Waiting(
            "NetworkNotReady", "no cni"
        )

    def test_it_is_over_once_a_container_is_made(self) -> None:
        made = ContainerEntry(
            3, START, self.UID, "other", ContainerID("c://1"), 0, LifecycleStep.CREATED
        )

        waiting = self.waiting(self.WAITS, self.NO_NETWORK, made)

        assert waiting == Waiting("ContainerCreating")


def test_the_probes_of_a_container_are_found_without_a_look_at_all_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = [a_key(ProbeType.LIVENESS, container=f"c{number}") for number in range(500)]
    journal = [a_tick(key, at(1)) for key in keys]
    past = SessionHistory(journal)
    past.add_entries(journal, 0)
    looks = 0

    def indexes(timeline: Timeline) -> range:
        nonlocal looks
        looks += 1
        return every_index(timeline)

    every_index: Callable[[Timeline], range] = vars(Timeline)["indexes"].fget
    monkeypatch.setattr(Timeline, "indexes", property(indexes))

    found = [past.probes(key.pod_uid, key.container_name) for key in keys]

    assert found == [[key] for key in keys]
    assert looks == len(keys)


def test_a_tick_is_found_by_its_number() -> None:
    journal = killed().journal
    past = SessionHistory(journal)
    past.add_entries(journal, 0)

    found = {entry.sequence: past.tick(entry.sequence) for entry in journal}

    assert found == {
        entry.sequence: entry if isinstance(entry, TickEntry) else None
        for entry in journal
    }
    assert past.tick(0) is None
    assert past.tick(-1) is None
    assert past.tick(len(journal) + 1) is None


def test_the_past_of_an_entry_is_what_came_before_it() -> None:
    journal = killed(60).journal
    kill = next(
        entry
        for entry in journal
        if isinstance(entry, TickEntry) and entry.action is TickAction.KILL
    )
    whole = SessionHistory(journal)
    whole.add_entries(journal, 0)

    past = whole.before(kill.sequence)
    after = whole.before(kill.sequence + 1)

    key = POD.uid, "app"
    (instance,) = past.container(*key).instances
    assert (instance.kill, instance.stopping) == (None, None)
    assert after.container(*key).instances[0].kill == kill
    assert past.tick(kill.sequence) is None
    assert after.tick(kill.sequence) == kill
    assert past.containers() == [key]
    assert past.probes(*key) == [kill.key]
    assert len(whole.container(*key).instances) > 1


def test_what_an_instance_printed_last_belongs_to_its_exit() -> None:
    bench = EngineBench(
        POD,
        lives={"app": (Lasting(timedelta(seconds=4), exit_code=1),)},
        config=KubeletConfig(keeps_evidence=True),
    )
    bench.run_until(20)
    exited = next(
        entry
        for entry in bench.journal
        if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.EXITED
    )
    printed = LastOutputEntry(
        len(bench.journal) + 1,
        at(20),
        POD.uid,
        "app",
        exited.container_id,
        0,
        None,
        "no configuration",
    )
    journal = [*bench.journal, printed]
    whole = SessionHistory(journal)
    whole.add_entries(journal, 0)

    past = whole.before(exited.sequence + 1).container(POD.uid, "app")

    assert past.instances[0].output == printed


def a_failed_pull(second: float, message: str, reason: str = "Failed") -> EventEntry:
    event = Event(
        EventType.WARNING,
        reason,
        message,
        POD.uid,
        "spec.containers{app}",
        at(second),
        "app",
    )
    return EventEntry(0, at(second), event)


def test_failures_are_since_the_first_and_the_reason_is_of_the_last() -> None:
    histories = ContainerHistories()
    started = ContainerEntry(
        0, at(9), POD.uid, "app", ContainerID("sim://1"), 0, LifecycleStep.STARTED
    )
    histories.add_entries(
        [
            a_failed_pull(0, 'Pulling image "a"', "Pulling"),
            a_failed_pull(1, 'Failed to pull image "a": no route'),
            a_failed_pull(2, "Error: ErrImagePull"),
            a_failed_pull(5, 'Failed to pull image "a": unauthorized'),
        ]
    )
    before = histories.container(POD.uid, "app")
    histories.add_entries([started])
    after = histories.container(POD.uid, "app")

    assert before.failing_since == at(1)
    assert before.pull_error == "unauthorized"
    assert before.image_event is not None
    assert before.image_event.at == at(5)
    assert after.failing_since is None


@pytest.mark.parametrize(("pulled", "is_kept"), [(1, True), (8, True), (8.1, False)])
def test_a_secret_is_missing_until_a_later_sync_pulls_without_saying_so(
    pulled: float, *, is_kept: bool
) -> None:
    histories = ContainerHistories()
    missing = a_failed_pull(0, "no", MISSING_PULL_SECRETS)
    histories.add_entries([missing, a_failed_pull(pulled, "", "Pulling")])

    pod = histories.pod(POD.uid, POD.name)

    assert pod.missing_pull_secrets == (missing if is_kept else None)


@pytest.mark.parametrize(
    ("seconds", "counts"), [(-1, False), (0, True), (9, True), (19, True)]
)
def test_a_deletion_is_of_the_pod_that_was_there(
    seconds: float, *, counts: bool
) -> None:
    histories = ContainerHistories()
    deletion = UserEntry(0, at(seconds), "delete", POD.name)
    histories.add_entries([deletion, StatusEntry(0, at(0), POD.uid, PodStatus())])

    assert histories.pod(POD.uid, POD.name).deletion == (deletion if counts else None)


def test_of_a_pod_that_was_added_again_an_earlier_deletion_is_forgotten() -> None:
    histories = ContainerHistories()
    histories.add_entries(
        [
            StatusEntry(0, at(0), POD.uid, PodStatus()),
            UserEntry(0, at(5), "delete", POD.name),
            PodGoneEntry(0, at(6), POD.uid),
        ]
    )
    gone = histories.pod(POD.uid, POD.name)
    histories.add_entries(
        [StatusEntry(0, at(second), POD.uid, PodStatus()) for second in (7, 8)]
    )
    again = histories.pod(POD.uid, POD.name)

    assert gone.deletion is not None
    assert (gone.deletion.at, gone.gone_at) == (at(5), at(6))
    assert (again.deletion, again.gone_at) == (None, None)


@pytest.mark.parametrize(
    ("restart_count", "known"), [(0, [1]), (1, [1, 1]), (2, [1, 2])]
)
def test_an_instance_of_the_status_is_known_unless_a_newer_one_is(
    restart_count: int, known: list[int]
) -> None:
    histories = ContainerHistories()
    own = ContainerStatus(
        "app",
        container_id="sim://new",
        state=Terminated(1),
        restart_count=restart_count,
    )
    histories.add_entries(
        [
            ContainerEntry(
                0,
                at(0),
                POD.uid,
                "app",
                ContainerID("sim://1"),
                1,
                LifecycleStep.STARTED,
            ),
            StatusEntry(0, at(4), POD.uid, PodStatus(container_statuses=(own,))),
        ]
    )

    instances = histories.container(POD.uid, "app").instances

    assert [instance.restart_count for instance in instances] == known
    ends = [instance.exited.at for instance in instances if instance.exited]
    assert ends == [at(4)] * (len(known) - 1)


@pytest.mark.parametrize(("late", "first"), [(1, "sim://new"), (0, "sim://late")])
def test_an_end_that_was_seen_late_is_before_newer_ones(late: int, first: str) -> None:
    histories = ContainerHistories()
    for container_id, number, what in (
        ("sim://new", 1, LifecycleStep.STARTED),
        ("sim://late", late, LifecycleStep.EXITED),
    ):
        entry = ContainerEntry(
            0, at(0), POD.uid, "app", ContainerID(container_id), number, what
        )
        histories.add_entries([entry])

    instances = histories.container(POD.uid, "app").instances

    assert instances[0].container_id == first
    assert len(instances) == 2


def test_of_ticks_that_kill_an_instance_the_first_did() -> None:
    kills = [
        changed_tick(a_tick(DEMO_KEY, at(second), "f"), action=TickAction.KILL)
        for second in (1, 2)
    ]
    histories = ContainerHistories()
    histories.add_entries(kills)

    (instance,) = histories.container(*DEMO_KEY[:2]).instances

    assert (instance.kill, instance.number) == (kills[0], 1)


def test_what_keeps_a_pod_from_being_created_is_since_its_first_event() -> None:
    histories = ContainerHistories()

    def seen(second: float, reason: str) -> tuple[object, object]:
        event = Event(EventType.WARNING, reason, "no", POD.uid, "", at(second))
        histories.add_entries([EventEntry(0, at(second), event)])
        pod = histories.pod(POD.uid, POD.name)
        assert pod.obstacle is not None
        return pod.obstacle.at, pod.obstacle_since

    assert seen(1, "FailedMount") == (at(1), at(1))
    assert seen(5, "FailedMount") == (at(5), at(1))
    assert seen(7, "NetworkNotReady") == (at(7), at(7))
    assert seen(9, "NetworkNotReady") == (at(9), at(7))


def test_how_an_instance_from_before_ended_is_in_the_first_status() -> None:
    ended = Terminated(137, reason="OOMKilled", started_at=at(-9), finished_at=at(-2))
    own = ContainerStatus("app", container_id="sim://7", state=ended, restart_count=3)
    histories = ContainerHistories()
    histories.add_entries(
        [StatusEntry(1, at(0), POD.uid, PodStatus(container_statuses=(own,)))]
    )

    (instance,) = histories.container(POD.uid, "app").instances

    assert (instance.number, instance.started_at) == (4, at(-9))
    assert instance.created_at is None
    assert instance.exited == ContainerEntry(
        1,
        at(-2),
        POD.uid,
        "app",
        ContainerID("sim://7"),
        3,
        LifecycleStep.EXITED,
        137,
        oom_killed=True,
        reason="OOMKilled",
    )


def test_a_first_request_to_stop_is_the_one_that_counts() -> None:
    def step(second: float, what: LifecycleStep, by: ExitCause) -> ContainerEntry:
        return ContainerEntry(
            0, at(second), POD.uid, "app", ContainerID("sim://1"), 2, what, by=by
        )

    histories = ContainerHistories()
    histories.add_entries(
        [
            step(1, LifecycleStep.STOPPING, ExitCause.LIVENESS),
            step(2, LifecycleStep.STOPPING, ExitCause.DELETE),
            step(3, LifecycleStep.EXITED, ExitCause.LIVENESS),
        ]
    )

    (instance,) = histories.container(POD.uid, "app").instances

    assert instance.number == 3
    assert instance.stopping is not None
    assert instance.stopping.at == at(1)
    assert instance.end is instance.stopping
    assert not instance.is_deleted
    assert instance.exited is not None
    assert instance.exited.at == at(3)


@pytest.mark.parametrize(
    ("by", "is_own"), [(ExitCause.LIVENESS, True), (ExitCause.ITSELF, False)]
)
def test_a_stop_that_may_be_of_a_newer_instance_is_of_one_that_it_ended(
    by: ExitCause, *, is_own: bool
) -> None:
    kill = changed_tick(
        a_tick(DEMO_KEY, at(1), "f"),
        action=TickAction.KILL,
        gates=(
            Gate("source", "event", passed=True),
            Gate("instance", "", passed=False),
        ),
    )
    stop = ContainerEntry(
        0, at(1), *DEMO_KEY[:2], kill.container_id, 2, LifecycleStep.STOPPING,
        by=ExitCause.LIVENESS, or_newer=True,
    )  # fmt: skip
    exited = replace(stop, what=LifecycleStep.EXITED, by=by, or_newer=False)
    histories = ContainerHistories()

    def last() -> ContainerInstance:
        return histories.container(*DEMO_KEY[:2]).instances[-1]

    histories.add_entries([kill, stop])
    assert (last().kill, last().stopping, last().or_newer) == (kill, stop, True)

    histories.add_entries([exited])
    own = (kill, stop) if is_own else (None, None)
    assert (last().kill, last().stopping, last().or_newer) == (*own, False)


def test_a_removal_says_nothing_of_an_instance_that_nobody_saw() -> None:
    removed = ContainerEntry(
        0, at(1), POD.uid, "app", ContainerID("sim://1"), 0, LifecycleStep.REMOVED
    )
    histories = ContainerHistories()
    histories.add_entries([removed])

    assert histories.container(POD.uid, "app").instances == ()


def test_an_end_that_is_seen_after_the_next_start_is_before_it() -> None:
    ids = ContainerID("docker://first"), ContainerID("docker://second")
    running = ContainerStatus("app", ids[1], Running(at(9)), restart_count=1)
    status = StatusEntry(1, at(10), "u", PodStatus(container_statuses=(running,)))
    ended = ContainerEntry(
        2, at(8), "u", "app", ids[0], 0, LifecycleStep.EXITED, exit_code=1
    )

    histories = ContainerHistories()
    histories.add_entries([status, ended])

    instances = histories.container("u", "app").instances
    assert [instance.container_id for instance in instances] == [*ids]
