from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.debugger.commands import (
    PauseProbes,
    ResumeProbes,
    StepProbe,
    TriggerProbe,
)
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, DeletePod, SetPods
from probetui.k8s.pod import PullPolicy, RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import RuntimeState
from probetui.k8s.status import ContainerStatus, PodPhase
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import (
    PullImage,
    Relist,
    RemoveContainer,
    RunOperation,
    RunPodSandbox,
    RunProbe,
)
from probetui.kubelet.facts import (
    OperationFinished,
    OperationProgress,
    ProbeFinished,
    Relisted,
    RelistFailed,
    RuntimeChanged,
)
from probetui.kubelet.journal import (
    NoteEntry,
    PodGoneEntry,
    StateEntry,
    StatusEntry,
    TickEntry,
    UserEntry,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet.runtime.turn import NOTHING, Turn
from tests.builders import (
    START,
    a_container,
    a_key,
    a_pod,
    a_probe,
    a_runtime_status,
    a_sandbox,
    an_instance,
    an_outcome,
    at,
)

LIVENESS, READINESS, STARTUP = ProbeType
EXITED = RuntimeState.EXITED
WEB = "uid-of-web"


class Bench:
    """An engine whose effects are answered by the test."""

    def __init__(self, **config: Any) -> None:
        self.engine = Engine(KubeletConfig(**config), START)
        self.now = START
        self.effects: list[Any] = []
        self.entries: list[Any] = []
        self.record(self.engine.advance(START))

    def record(self, turn: Turn) -> Turn:
        self.effects += turn.effects
        self.entries += turn.entries
        return turn

    def submit(self, item: Any, seconds: float | None = None) -> Turn:
        if seconds is not None:
            self.now = at(seconds)
        return self.record(self.engine.submit(item, self.now))

    def advance(self, seconds: float) -> Turn:
        self.now = at(seconds)
        return self.record(self.engine.advance(self.now))

    def relist(self, *pods: Any, seconds: float | None = None) -> Turn:
        """Report a relist that began just now."""
        if seconds is not None:
            self.now = at(seconds)
        return self.submit(Relisted(pods, self.now))

    def operations(self) -> list[RunOperation]:
        return [effect for effect in self.effects if isinstance(effect, RunOperation)]

    def removals(self) -> list[RunOperation]:
        return [
            operation
            for operation in self.operations()
            if isinstance(operation.operation, RemoveContainer)
        ]

    def probes(self) -> list[RunProbe]:
        return [effect for effect in self.effects if isinstance(effect, RunProbe)]

    def published(self) -> ContainerStatus:
        """Return the published status of the one container of the one pod."""
        (status,) = self.of(StatusEntry)[-1].status.container_statuses
        assert isinstance(status, ContainerStatus)
        return status

    def of(self, kind: type) -> list[Any]:
        return [entry for entry in self.entries if isinstance(entry, kind)]


def with_a_pod(**probes: Any) -> Bench:
    """Return an engine with a running pod, relisted at second 0."""
    bench = Bench()
    probe_fields: dict[str, Any] = {
        name: a_probe(**fields) for name, fields in probes.items()
    }
    app = a_container(**probe_fields)
    bench.submit(AddPod(a_pod(app)))
    bench.relist(a_runtime_status(an_instance(app, started_at=START)))
    return bench


class TestInputs:
    def test_the_first_effect_is_a_relist(self) -> None:
        bench = Bench()

        assert bench.effects == [Relist()]

    def test_the_engine_returns_its_next_deadline(self) -> None:
        bench = Bench()

        assert bench.engine.next_deadline() == at(1)
        bench.relist(seconds=0.25)
        assert bench.engine.next_deadline() == at(1)
        bench.advance(1)
        assert bench.engine.next_deadline() == at(1.25)

    def test_a_turn_in_which_nothing_happens_is_empty(self) -> None:
        bench = Bench()

        assert bench.engine.advance(at(0.5)) is NOTHING

    def test_a_pod_waits_for_the_first_relist(self) -> None:
        bench = Bench()

        bench.submit(AddPod(a_pod()))
        before = bench.operations()
        bench.relist()

        assert before == []
        assert isinstance(bench.operations()[0].operation, RunPodSandbox)

    def test_the_engine_returns_its_pods(self) -> None:
        bench = Bench()
        bench.submit(AddPod(a_pod(termination_grace_period_seconds=40)))
        bench.submit(AddPod(a_pod(name="other", termination_grace_period_seconds=None)))

        assert bench.engine.pod_uids() == (WEB, "uid-of-other")
        assert bench.engine.longest_grace_period() == timedelta(seconds=40)

    def test_a_pod_without_a_creation_time_gets_that_of_its_addition(self) -> None:
        bench = Bench()

        bench.submit(AddPod(a_pod(created_at=None)), seconds=7)

        (pod,) = bench.engine.snapshot(bench.now).pods
        assert pod.pod.created_at == at(7)


class TestRelists:
    def test_a_runtime_event_triggers_a_relist(self) -> None:
        bench = Bench()
        bench.relist()

        turn = bench.submit(RuntimeChanged(), seconds=0.1)

        assert turn.effects == (Relist(),)

    def test_a_lost_runtime_is_noted_and_shown(self) -> None:
        bench = Bench()

        bench.submit(RelistFailed("no daemon"), seconds=3)
        lost = bench.engine.snapshot(bench.now)
        bench.relist(seconds=9)

        assert [entry.is_fault for entry in bench.of(NoteEntry)] == [True, False]
        assert (lost.runtime_lost_since, lost.runtime_error) == (at(3), "no daemon")

    def test_what_changed_at_the_runtime_changes_the_pod_s_status(self) -> None:
        bench = with_a_pod()
        bench.relist(a_runtime_status(an_instance(state=EXITED)), seconds=12)

        assert len(bench.of(StatusEntry)) == 2

    def test_an_unchanged_status_is_not_published(self) -> None:
        bench = with_a_pod()
        status = a_runtime_status(an_instance(started_at=START))

        for second in range(1, 9):
            bench.relist(status, seconds=second)

        assert len(bench.of(StatusEntry)) == 1


class TestProbes:
    def test_a_readiness_result_is_published_at_once(self) -> None:
        bench = with_a_pod(readiness_probe={})
        (probe,) = bench.probes()

        bench.submit(ProbeFinished(probe.probe_id, an_outcome()), seconds=0.5)

        assert (bench.published().ready, bench.of(StatusEntry)[-1].at) == (
            True,
            at(0.5),
        )

    def test_so_is_a_startup_result(self) -> None:
        bench = with_a_pod(startup_probe={"period_seconds": 1})
        bench.advance(1)
        (probe,) = bench.probes()
        before = bench.published().started

        bench.submit(ProbeFinished(probe.probe_id, an_outcome()), seconds=1.5)

        assert (before, bench.published().started) == (False, True)

    def test_a_running_container_in_the_first_relist_has_no_worker_results(
        self,
    ) -> None:
        """Quirk: it counts as started and ready until its workers say otherwise."""
        bench = with_a_pod(startup_probe={}, readiness_probe={})

        first, *_, last = [
            (entry.status.container_statuses[0].started, entry.status.phase)
            for entry in bench.of(StatusEntry)
        ]

        assert first == (True, PodPhase.RUNNING)
        assert last == (False, PodPhase.RUNNING)

    def test_a_liveness_success_changes_nothing_but_its_own_count(self) -> None:
        bench = with_a_pod(liveness_probe={})
        (probe,) = bench.probes()

        turn = bench.submit(ProbeFinished(probe.probe_id, an_outcome()), seconds=0.5)

        assert [type(entry) for entry in turn.entries] == [TickEntry, StateEntry]
        assert turn.effects == ()

    def test_people_can_probe_pause_step_and_go_on(self) -> None:
        bench = with_a_pod(liveness_probe={"period_seconds": 60})
        (probe,) = bench.probes()
        bench.submit(ProbeFinished(probe.probe_id, an_outcome()))

        for item in (
            TriggerProbe(a_key(LIVENESS)),
            PauseProbes(),
            StepProbe(),
            ResumeProbes(),
        ):
            bench.submit(item, seconds=5)

        assert [entry.command for entry in bench.of(UserEntry)] == [
            "probe now",
            "pause",
            "step",
            "resume",
        ]

    def test_a_result_for_a_removed_pod_changes_nothing(self) -> None:
        bench = Bench()
        stored_result = bench.engine._kubelet.probes.results[LIVENESS]

        stored_result.set(an_instance().container_id, Result.FAILURE, "nobody")

        assert bench.advance(0.1) is NOTHING


class TestOperations:
    def test_the_progress_of_an_operation_is_shown(self) -> None:
        bench = Bench()
        app = a_container(image_pull_policy=PullPolicy.ALWAYS)
        bench.submit(AddPod(a_pod(app)))
        bench.relist(a_runtime_status())
        pull = bench.operations()[-1]
        assert isinstance(pull.operation, PullImage)

        bench.submit(OperationProgress(pull.operation_id, "40%"))

        (pod,) = bench.engine.snapshot(bench.now).pods
        assert pod.operation == "pulling busybox:1.36 40%"

    def test_an_answer_that_nobody_waits_for_is_passed_over(self) -> None:
        bench = with_a_pod()

        turn = bench.submit(OperationFinished(99))

        assert turn is NOTHING


class TestManifests:
    """See also `test_engine_set_pods`."""

    def test_a_pod_is_compared_with_those_of_its_own_name_only(self) -> None:
        bench = Bench()
        bench.submit(SetPods((a_pod(),)))

        bench.submit(SetPods((a_pod(), a_pod(a_container(image="b:2"), name="b"))))

        assert bench.of(NoteEntry) == []
        assert bench.engine.pod_uids() == (WEB, "uid-of-b")


class TestPods:
    def test_a_completed_pod_is_reported_and_stays(self) -> None:
        bench = Bench()
        pod = a_pod(restart_policy=RestartPolicy.NEVER)
        ended = a_runtime_status(
            an_instance(state=EXITED), sandboxes=(a_sandbox(is_ready=False),)
        )
        bench.submit(AddPod(pod))
        bench.relist(ended)
        for second in range(1, 6):
            for operation in bench.operations():
                bench.submit(OperationFinished(operation.operation_id), seconds=second)
            bench.relist(ended, seconds=second)
            bench.advance(second)

        assert len(bench.of(PodGoneEntry)) == 1
        assert bench.engine.pod_uids() == (WEB,)

    def test_an_unknown_pod_cannot_be_deleted(self) -> None:
        bench = Bench()

        assert bench.submit(DeletePod("nobody")) is NOTHING

    def test_garbage_of_known_pods_only_is_collected(self) -> None:
        bench = with_a_pod()
        dead = [an_instance(state=EXITED, number=number) for number in (2, 1)]
        bench.relist(
            a_runtime_status(*dead, sandboxes=(a_sandbox(is_ready=False),)),
            a_runtime_status(an_instance(), pod="orphan"),
            seconds=20,
        )
        for removal in bench.removals():
            bench.submit(OperationFinished(removal.operation_id, error="busy"))
        bench.effects.clear()

        bench.advance(60)

        assert [removal.pod_uid for removal in bench.removals()] == [WEB]

    def test_the_engine_reports_whether_a_pod_runs(self) -> None:
        bench = Bench()
        statuses = {
            "runs": a_runtime_status(an_instance(), sandboxes=()),
            "is ready": a_runtime_status(),
            "is over": a_runtime_status(
                an_instance(state=EXITED), sandboxes=(a_sandbox(is_ready=False),)
            ),
        }

        bench.relist(
            *(replace(status, pod_uid=uid) for uid, status in statuses.items())
        )

        idle = [
            uid for uid in (*statuses, "nobody") if bench.engine._kubelet._is_idle(uid)
        ]
        assert idle == ["is over", "nobody"]

    def test_what_did_not_change_is_the_same_in_the_next_snapshot(self) -> None:
        bench = with_a_pod()
        before = bench.engine.snapshot(bench.now)

        bench.advance(1)
        after = bench.engine.snapshot(bench.now)

        assert after.pods[0] is before.pods[0]
        assert after.entries is before.entries


@pytest.mark.parametrize("seed", range(3))
def test_two_engines_with_one_seed_return_the_same_turns(seed: int) -> None:
    pod = replace(a_pod(a_container(liveness_probe=a_probe())), uid="x")
    turns = []
    for _ in range(2):
        engine = Engine(KubeletConfig(seed=seed, age=timedelta()), START)
        turns.append(
            [
                engine.submit(AddPod(pod), START),
                engine.submit(Relisted((), START), START),
                engine.next_deadline(),
            ]
        )

    assert turns[0] == turns[1]
