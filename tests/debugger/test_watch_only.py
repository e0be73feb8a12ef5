"""Watch-only mode: actions are journaled and not performed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.debugger.commands import RestartContainer
from probetui.drive.scenario.behavior import InstanceBehavior
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, DeletePod, SetPods
from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import (
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.k8s.status import Running, Terminated, Waiting
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import (
    CreateContainer,
    RemoveContainer,
    RunPodSandbox,
    StartContainer,
    StopContainer,
    StopPodSandbox,
)
from probetui.kubelet.facts import Relisted
from probetui.kubelet.journal import (
    ContainerEntry,
    ExitCause,
    LifecycleStep,
    NoteEntry,
    StateField,
    TickAction,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet.runtime.turn import Turn
from tests.builders import START, a_container, a_pod, a_probe, an_instance, at
from tests.drive.engine_bench import (
    FAILS,
    SUCCEEDS,
    EngineBench,
    always,
    in_turn,
    probing,
    seconds,
)

WATCHES = KubeletConfig(kills=False, restarts=False)
ATTACHED = replace(WATCHES, creates=False)
FAILING = probing(liveness=always(FAILS))


def failing(**fields: Any) -> Container:
    return a_container(liveness_probe=a_probe(period_seconds=5), **fields)


def would(bench: EngineBench, what: LifecycleStep) -> list[ContainerEntry]:
    return [entry for entry in bench.of(ContainerEntry) if entry.what is what]


def actions(bench: EngineBench) -> list[tuple[float, TickAction]]:
    return [
        (round(seconds(entry.at)), entry.action)
        for entry in bench.of(TickEntry)
        if entry.action is not TickAction.NONE
    ]


def state_of(bench: EngineBench) -> Any:
    status = bench.container().status
    return None if status is None else status.state


class TestKills:
    def test_a_kill_by_a_probe_is_journaled_and_not_performed(self) -> None:
        bench = EngineBench(a_pod(failing()), config=WATCHES, probing=FAILING)

        bench.run_until(16)

        (entry,) = would(bench, LifecycleStep.WOULD_STOP)
        assert entry.at == bench.of(TickEntry)[-1].at
        assert (entry.by, entry.grace_period_seconds) == (ExitCause.LIVENESS, 30)
        assert entry.reason == "Container app failed liveness probe, will be restarted"
        assert "Killing" not in bench.reasons()
        assert bench.lifecycle_entries(LifecycleStep.STOPPING) == []

    def test_the_container_is_probed_on_as_the_next_one_would_be(self) -> None:
        """Difference: the kubelet's probe stays on hold until it sees another one."""
        bench = EngineBench(a_pod(failing()), config=WATCHES, probing=FAILING)

        bench.run_until(31)

        assert actions(bench) == [
            (15, TickAction.WOULD_KILL),
            (30, TickAction.WOULD_KILL),
        ]
        assert len(would(bench, LifecycleStep.WOULD_STOP)) == 2

    def test_a_snapshot_shows_watch_only(self) -> None:
        assert not EngineBench(a_pod(), config=WATCHES).snapshot.acts
        assert EngineBench(a_pod()).snapshot.acts

    def test_a_start_is_journaled_and_not_performed(self) -> None:
        bench = EngineBench(a_pod(failing()), config=WATCHES, probing=FAILING)

        bench.run_until(16)

        holds = [change[1:] for change in bench.changes(StateField.HOLD, "Liveness")]
        results = [
            change[1:] for change in bench.changes(StateField.RESULT, "Liveness")
        ]
        assert holds == [("off", "on"), ("on", "off")]
        assert results[-2:] == [("Success", "Failure"), ("Failure", "Success")]

    def test_a_startup_probe_that_runs_out_begins_anew_too(self) -> None:
        probe = a_probe(period_seconds=1, failure_threshold=2)
        bench = EngineBench(
            a_pod(a_container(startup_probe=probe)),
            config=WATCHES,
            probing=probing(startup=in_turn(FAILS, FAILS, SUCCEEDS)),
        )

        bench.run_until(6)

        assert [action for _, action in actions(bench)] == [
            TickAction.WOULD_KILL,
            TickAction.STARTED,
        ]
        assert would(bench, LifecycleStep.WOULD_STOP)[0].by is ExitCause.STARTUP

    def test_other_probes_and_containers_are_not_touched(self) -> None:
        other = a_container("other", liveness_probe=a_probe(period_seconds=5))
        pod = a_pod(failing(readiness_probe=a_probe(period_seconds=5)), other)
        answers = probing(liveness=always(FAILS), readiness=always(SUCCEEDS))
        bench = EngineBench(pod, config=WATCHES, probing=answers)

        bench.run_until(16)

        assert bench.probe(ProbeType.READINESS).stored_result is Result.SUCCESS
        assert [
            entry.container_name for entry in would(bench, LifecycleStep.WOULD_STOP)
        ] == [
            "app",
            "other",
        ]

    def test_a_changed_definition_is_journaled_once(self) -> None:
        pod = a_pod(a_container(image="a"))
        bench = EngineBench(config=WATCHES)
        bench.send(SetPods((pod,)))
        bench.run_until(5)

        bench.send(SetPods((replace(pod, containers=(a_container(image="b"),)),)))
        bench.run_until(300)

        (entry,) = would(bench, LifecycleStep.WOULD_STOP)
        assert entry.reason == "Container app definition changed, will be restarted"
        assert len(bench.lifecycle_entries(LifecycleStep.STARTED)) == 1


class TestRestarts:
    def test_a_container_that_ended_is_left_as_it_is(self) -> None:
        crashes = (InstanceBehavior(timedelta(seconds=4), exit_code=1),)
        bench = EngineBench(a_pod(), config=WATCHES, lives={"app": crashes})

        bench.run_until(200)

        (entry,) = would(bench, LifecycleStep.WOULD_START)
        assert entry.restart_count == 1
        assert len(bench.lifecycle_entries(LifecycleStep.STARTED)) == 1
        assert isinstance(state_of(bench), Terminated)
        assert bench.starts() == []

    def test_a_pod_is_begun_and_ended_all_the_same(self) -> None:
        bench = EngineBench(pod := a_pod(), config=WATCHES)
        bench.run_until(5)

        bench.send(DeletePod(pod.uid, 1))
        bench.run_until(10)

        assert [entry.what for entry in bench.of(ContainerEntry)][:2] == [
            LifecycleStep.CREATED,
            LifecycleStep.STARTED,
        ]
        assert bench.snapshot.pods == ()

    def test_a_pod_whose_deadline_has_passed_runs_on(self) -> None:
        bench = EngineBench(a_pod(active_deadline_seconds=5), config=WATCHES)

        bench.run_until(60)

        (entry,) = would(bench, LifecycleStep.WOULD_STOP)
        assert entry.by is ExitCause.POD
        assert isinstance(state_of(bench), Running)
        assert bench.lifecycle_entries(LifecycleStep.STOPPING) == []

    def test_a_restart_by_the_user_is_refused_with_a_note(self) -> None:
        bench = EngineBench(pod := a_pod(), config=WATCHES)
        bench.run_until(5)

        bench.send(RestartContainer(pod.uid, "app"))
        bench.run_until(10)

        (note,) = bench.of(NoteEntry)
        assert note.text == f"{pod.name}/app is only watched"
        assert bench.lifecycle_entries(LifecycleStep.STOPPING) == []

    def test_what_is_left_of_a_pod_that_has_ended_goes_on(self) -> None:
        sidecar = a_container("log", restart_policy=RestartPolicy.ALWAYS)
        pod = a_pod(
            a_container(),
            init_containers=(sidecar,),
            restart_policy=RestartPolicy.NEVER,
        )
        ends = (InstanceBehavior(timedelta(seconds=4), exit_code=0),)
        bench = EngineBench(pod, config=WATCHES, lives={"app": ends})

        bench.run_until(120)

        (entry,) = would(bench, LifecycleStep.WOULD_STOP)
        assert (entry.container_name, entry.by) == ("log", ExitCause.POD)
        assert bench.lifecycle_entries(LifecycleStep.STOPPING) == []


class Foreign:
    """An engine that is shown containers which nobody here has made."""

    def __init__(self, pod: Pod, config: KubeletConfig = ATTACHED) -> None:
        self.pod = pod
        self.engine = Engine(config, START)
        self.turns: list[Turn] = [self.engine.submit(AddPod(pod), START)]
        self.now = 0

    def show(self, *instances: Any) -> None:
        """Let a second pass, with these containers there."""
        self.now += 1
        status = RuntimePodStatus(
            self.pod.uid,
            self.pod.name,
            self.pod.namespace,
            (SandboxStatus("sandbox", is_ready=True, created_at=START),),
            tuple(instances),
        )
        seen = Relisted((status,), at(self.now))
        self.turns.append(self.engine.submit(seen, at(self.now)))

    @property
    def effect_types(self) -> set[type]:
        return {
            type(getattr(effect, "operation", effect))
            for turn in self.turns
            for effect in turn.effects
        }

    @property
    def state(self) -> Any:
        (pod,) = self.engine.snapshot(at(self.now)).pods
        status = pod.containers[0].status
        return None if status is None else status.state

    def entry(self) -> list[LifecycleStep]:
        return [
            entry.what
            for turn in self.turns
            for entry in turn.entries
            if isinstance(entry, ContainerEntry)
        ]


CHANGES = {
    CreateContainer,
    RemoveContainer,
    RunPodSandbox,
    StartContainer,
    StopContainer,
    StopPodSandbox,
}


class TestUnmanagedContainers:
    def test_what_is_not_there_is_waited_for(self) -> None:
        foreign = Foreign(a_pod(failing()))

        for _ in range(20):
            foreign.show()

        assert foreign.state == Waiting(
            "NotRunning", "no such container; waiting for one"
        )
        assert not foreign.effect_types & CHANGES

    def test_what_vanishes_is_gone_and_what_comes_is_found(self) -> None:
        foreign = Foreign(a_pod())

        for _ in range(3):
            foreign.show(an_instance())
        for _ in range(20):
            foreign.show()
        gone = foreign.state
        for _ in range(3):
            foreign.show(an_instance(number=1))

        assert gone == Waiting("Gone", "it has vanished; waiting for another one")
        assert foreign.entry() == [LifecycleStep.GONE]
        assert isinstance(foreign.state, Running)
        assert not foreign.effect_types & CHANGES

    @pytest.mark.parametrize(
        "command",
        [
            pytest.param(lambda pod: DeletePod(pod.uid), id="delete"),
            pytest.param(lambda pod: RestartContainer(pod.uid, "app"), id="restart"),
        ],
    )
    def test_no_command_changes_them(self, command: Any) -> None:
        foreign = Foreign(a_pod())
        for _ in range(3):
            foreign.show(an_instance())

        foreign.turns.append(
            foreign.engine.submit(command(foreign.pod), at(foreign.now))
        )
        foreign.show(an_instance())

        notes = [
            entry.text
            for turn in foreign.turns
            for entry in turn.entries
            if isinstance(entry, NoteEntry)
        ]
        assert len(notes) == 1
        assert notes[0].endswith("is only watched")
        assert not foreign.effect_types & CHANGES

    def test_acting_what_was_there_is_started_again_and_nothing_else(self) -> None:
        acting = replace(ATTACHED, kills=True, restarts=True)
        foreign = Foreign(a_pod(a_container(), a_container("missing")), acting)

        for _ in range(3):
            foreign.show(an_instance(state=RuntimeState.EXITED, exit_code=1))

        operations = [
            getattr(effect, "operation", None)
            for turn in foreign.turns
            for effect in turn.effects
        ]
        images = [
            operation
            for operation in operations
            if type(operation).__name__ == "GetImageStatus"
        ]
        assert len(images) == 1
