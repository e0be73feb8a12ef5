"""What containers printed last, and what hooks did, is journaled beside decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from probetui.drive.scenario.behavior import (
    CallBehavior,
    InstanceBehavior,
    ProbeAnswer,
)
from probetui.drive.scenario.world import World
from probetui.engine.inputs import (
    DeletePod,
    Fact,
    LastOutputRead,
    ProbeStillRuns,
)
from probetui.k8s.probe import ExecAction, ProbeType, SleepAction
from probetui.k8s.runtime import LogLine
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import (
    Effect,
    Operation,
    ReadLastOutput,
    Relist,
    RunHook,
    RunOperation,
)
from probetui.kubelet.facts import OperationFinished
from probetui.kubelet.journal import (
    ContainerEntry,
    HookEntry,
    HookType,
    JournalEntry,
    LastOutputEntry,
    LifecycleStep,
    UnfinishedTickEntry,
)
from tests.builders import a_container, a_pod, a_probe, at
from tests.drive.engine_bench import SUCCEEDS, EngineBench, always, probing

KEEPS = KubeletConfig(keeps_evidence=True)
SECOND = timedelta(seconds=1)
CRASHES = InstanceBehavior(lasts=3 * SECOND, exit_code=1, prints="one\nno database\n")
HOOK = ExecAction(("sh", "-c", "true"))


FAILURE = "command 'sh' exited with 3: boom"


class SlowLogs(World):
    """A world in which reading a log takes an hour; `unread` are those reads."""

    def __init__(self, lives: Mapping[str, Sequence[InstanceBehavior]]) -> None:
        super().__init__(lives)
        self.unread: list[ReadLastOutput] = []

    def answer(self, effect: Effect, now: datetime) -> tuple[datetime, Fact]:
        due, fact = super().answer(effect, now)
        if isinstance(effect, ReadLastOutput):
            self.unread.append(effect)
            due += 3600 * SECOND
        return due, fact


class UnreadableLogs(World):
    """A world without logs."""

    def answer(self, effect: Effect, now: datetime) -> tuple[datetime, Fact]:
        if isinstance(effect, ReadLastOutput):
            problem = "the daemon is gone"
            return now, LastOutputRead(effect.container_id, None, problem=problem)
        return super().answer(effect, now)


class FailingHooks(World):
    """A world whose hooks all fail."""

    def answer(self, effect: Effect, now: datetime) -> tuple[datetime, Fact]:
        if isinstance(effect, RunOperation) and isinstance(effect.operation, RunHook):
            return now, OperationFinished(effect.operation_id, "boom\n", FAILURE)
        return super().answer(effect, now)


def without_numbers(journal: list[JournalEntry]) -> list[JournalEntry]:
    """Return what the kubelet journaled, without its sequence numbers."""
    return [
        replace(entry, sequence=0, tick=None)
        if hasattr(entry, "tick")
        else replace(entry, sequence=0)
        for entry in journal
        if not isinstance(entry, LastOutputEntry | HookEntry)
    ]


def hooks_take(length: timedelta) -> World:
    def dealing(operation: Operation | Relist) -> CallBehavior:
        is_hook = isinstance(operation, RunHook)
        return CallBehavior(length) if is_hook else CallBehavior()

    return World(dealing=dealing)


def test_each_life_has_what_it_printed_last() -> None:
    bench = EngineBench(a_pod(), config=KEEPS, lives={"app": (CRASHES,)})

    bench.run_until(10)

    first, second = bench.of(LastOutputEntry)
    exits = bench.lifecycle_entries(LifecycleStep.EXITED)
    assert [line.text for line in first.lines or ()] == ["one", "no database"]
    assert (first.container_name, first.restart_count) == ("app", 0)
    assert second.restart_count == 1
    assert [entry.container_id for entry in (first, second)] == [
        exited.container_id for exited in exits
    ]
    assert first.sequence > exits[0].sequence


def test_nothing_is_read_unless_it_is_asked_for_as_in_old_records() -> None:
    bench = EngineBench(a_pod(a_container(post_start=HOOK)), lives={"app": (CRASHES,)})

    bench.run_until(10)

    assert bench.of(LastOutputEntry) == []
    assert bench.of(HookEntry) == []


def test_the_kubelet_decides_the_same_whether_or_not_evidence_is_kept() -> None:
    pod = a_pod(a_container(post_start=HOOK, pre_stop=HOOK))
    journals = []
    for config in (KubeletConfig(), KEEPS):
        bench = EngineBench(pod, config=config, lives={"app": (CRASHES,)})
        bench.run_until(120)
        journals.append(without_numbers(bench.journal))

    without, kept = journals
    assert len(without) > 20
    assert kept == without


def test_a_restart_waits_for_no_log() -> None:
    world = SlowLogs({"app": (CRASHES,)})
    bench = EngineBench(a_pod(), config=KEEPS, world=world)

    bench.run_until(10)

    started = bench.lifecycle_entries(LifecycleStep.STARTED)
    assert len(world.unread) == 2
    assert len(started) == 2
    assert bench.of(LastOutputEntry) == []


def test_a_log_that_cannot_be_read_is_journaled_with_the_reason() -> None:
    bench = EngineBench(
        a_pod(), config=KEEPS, world=UnreadableLogs({"app": (CRASHES,)})
    )

    bench.run_until(3.5)

    (entry,) = bench.of(LastOutputEntry)
    assert (entry.lines, entry.problem) == (None, "the daemon is gone")


def test_a_script_that_does_not_say_what_is_printed_leaves_it_open() -> None:
    silent = replace(CRASHES, prints=None)
    bench = EngineBench(a_pod(), config=KEEPS, lives={"app": (silent,)})

    bench.run_until(10)

    assert bench.of(LastOutputEntry) == []


def test_an_answer_about_an_unknown_instance_is_ignored() -> None:
    bench = EngineBench(a_pod(), config=KEEPS)
    bench.run_until(2)

    read = LastOutputRead(
        bench.of(ContainerEntry)[0].container_id, (LogLine(None, "x"),)
    )
    bench.simulation.submit(read)

    assert bench.of(LastOutputEntry) == []


@pytest.mark.parametrize("length", [timedelta(), 4 * SECOND])
def test_a_hook_is_journaled_when_it_starts_and_when_it_ends(
    length: timedelta,
) -> None:
    pod = a_pod(a_container(post_start=HOOK))
    bench = EngineBench(pod, config=KEEPS, world=hooks_take(length))

    bench.run_until(8)

    started, ended = bench.of(HookEntry)
    assert (started.hook, started.ended_at) == (HookType.POST_START, None)
    assert ended.started_at == started.started_at == started.at
    assert ended.ended_at == started.at + length
    assert ended.error is None


def test_hooks_that_do_the_same_are_told_apart() -> None:
    pod = a_pod(a_container(post_start=HOOK, pre_stop=HOOK))
    bench = EngineBench(pod, config=KEEPS)
    bench.run_until(6)
    bench.send(DeletePod(pod.uid))
    bench.run_until(20)

    starts = [entry.hook for entry in bench.of(HookEntry) if not entry.ended_at]
    assert starts == [HookType.POST_START, HookType.PRE_STOP]


def test_hooks_that_sleep_are_journaled_as_well() -> None:
    container = a_container(post_start=SleepAction(4), pre_stop=SleepAction(2))
    pod = a_pod(container)
    bench = EngineBench(pod, config=KEEPS)
    bench.run_until(6)
    bench.send(DeletePod(pod.uid))
    bench.run_until(20)

    ends = [entry for entry in bench.of(HookEntry) if entry.ended_at]
    assert [(end.hook, end.at - end.started_at) for end in ends] == [
        (HookType.POST_START, 4 * SECOND),
        (HookType.PRE_STOP, 2 * SECOND),
    ]
    assert len(bench.of(HookEntry)) == 2 * len(ends)


def test_a_sleep_that_was_cut_off_has_no_end() -> None:
    pod = a_pod(
        a_container(pre_stop=SleepAction(60)), termination_grace_period_seconds=5
    )
    bench = EngineBench(pod, config=KEEPS)
    bench.run_until(3)
    bench.send(DeletePod(pod.uid))
    bench.run_until(20)

    assert [entry.ended_at for entry in bench.of(HookEntry)] == [None]


def test_a_hook_that_was_cut_off_ends_with_its_container() -> None:
    pod = a_pod(a_container(pre_stop=HOOK), termination_grace_period_seconds=5)
    bench = EngineBench(pod, config=KEEPS, world=hooks_take(60 * SECOND))
    bench.run_until(3)
    bench.send(DeletePod(pod.uid))
    bench.run_until(20)

    started, ended = bench.of(HookEntry)
    assert ended.hook is HookType.PRE_STOP
    assert ended.ended_at is not None
    assert ended.ended_at - started.started_at < 10 * SECOND
    assert "exited with 137" in (ended.error or "")


def test_the_end_of_a_failed_hook_comes_before_what_follows_from_it() -> None:
    pod = a_pod(a_container(post_start=HOOK))
    bench = EngineBench(pod, config=KEEPS, world=FailingHooks())

    bench.run_until(1)

    ended = next(entry for entry in bench.of(HookEntry) if entry.ended_at)
    following = [type(entry).__name__ for entry in bench.journal[ended.sequence :]]
    assert (ended.output, ended.error) == ("boom\n", FAILURE)
    assert "FailedPostStartHook" in bench.reasons()
    assert "EventEntry" in following
    assert bench.journal[ended.sequence - 1] is ended


HANGS = ProbeAnswer(SUCCEEDS.attempt, 60 * SECOND)


def test_a_tick_that_outlasts_its_timeout_is_journaled_with_its_start() -> None:
    pod = a_pod(
        a_container(liveness_probe=a_probe(period_seconds=1, timeout_seconds=2))
    )
    bench = EngineBench(pod, config=KEEPS, probing=probing(liveness=always(HANGS)))
    bench.run_until(6)
    (probe_id,) = bench.engine.running_probes()

    for _ in range(2):
        bench.simulation.submit(ProbeStillRuns(probe_id))

    (entry,) = bench.of(UnfinishedTickEntry)
    assert entry.key.probe_type is ProbeType.LIVENESS
    assert entry.container_id == bench.of(ContainerEntry)[0].container_id
    assert entry.started_at < entry.at == at(6)
    assert (entry.timeout_seconds, entry.is_overdue) == (2, True)


def test_a_tick_that_has_ended_meanwhile_is_not_called_unfinished() -> None:
    pod = a_pod(a_container(liveness_probe=a_probe()))
    bench = EngineBench(pod, config=KEEPS)
    bench.run_until(6)

    bench.simulation.submit(ProbeStillRuns(1))

    assert bench.engine.running_probes() == ()
    assert bench.of(UnfinishedTickEntry) == []


def test_an_unfinished_tick_is_journaled_once_even_if_another_pod_goes() -> None:
    probe = a_probe(period_seconds=1, timeout_seconds=2)
    pod = a_pod(a_container(liveness_probe=probe))
    other = a_pod(name="other")
    bench = EngineBench(
        pod, other, config=KEEPS, probing=probing(liveness=always(HANGS))
    )
    bench.run_until(6)
    (probe_id,) = bench.engine.running_probes()
    bench.simulation.submit(ProbeStillRuns(probe_id))

    bench.send(DeletePod(other.uid))
    bench.run_until(50)
    bench.simulation.submit(ProbeStillRuns(probe_id))

    assert [shown.pod.uid for shown in bench.snapshot.pods] == [pod.uid]
    assert bench.engine.running_probes() == (probe_id,)
    assert [entry.at for entry in bench.of(UnfinishedTickEntry)] == [at(6)]
