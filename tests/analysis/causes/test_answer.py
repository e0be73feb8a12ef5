"""Why a container is as it is: every state that a pod, container or hook can be in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.causes.answer import cause_of, explain
from probetui.analysis.causes.case import WhyCase
from probetui.analysis.causes.kinds import CauseKind as Kind
from probetui.analysis.container_history import (
    FAILED_POST_START,
    FAILED_PRE_STOP,
    SessionHistory,
)
from probetui.analysis.next_failure import OutlookCondition, OutlookEvent
from probetui.debugger.commands import KillContainer, MuteProbes
from probetui.debugger.scope import ALL_PROBES
from probetui.drive.scenario.behavior import ProbeAnswer
from probetui.drive.session_journal import JournalLimits, SessionJournal
from probetui.engine.inputs import DeletePod, ProbeStillRuns
from probetui.k8s.environment import ConfigMapKeyRef
from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Container, EnvVar, PullPolicy, RestartPolicy
from probetui.k8s.probe import ExecAction, ProbeType, SleepAction
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import PodStatus, Running
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import (
    CreateContainer,
    PullImage,
    RunHook,
    RunPodSandbox,
    StartContainer,
)
from probetui.kubelet.journal import (
    ContainerEntry,
    EventEntry,
    Gate,
    HookEntry,
    JournalEntry,
    LifecycleStep,
    StatusEntry,
    TickEntry,
    UnfinishedTickEntry,
)
from probetui.kubelet_rules import rules_of
from tests.analysis.causes.bench import STUBBORN, CauseBench, exits, kinds, takes
from tests.builders import a_container, a_pod, a_probe, at
from tests.drive.engine_bench import ERRS, FAILS, SUCCEEDS, always, probing

HOOK = ExecAction(("warm-up",))
EVERY_SECOND = a_probe(period_seconds=1, failure_threshold=3)


def a_sidecar(name: str = "proxy", **fields: Any) -> Container:
    return a_container(name, restart_policy=RestartPolicy.ALWAYS, **fields)


class TestNeverCreated:
    def test_it_waits_for_an_init_container_with_that_ones_own_cause(self) -> None:
        pod = a_pod(init_containers=(a_container("migrate"),))
        bench = CauseBench(pod, lives={"migrate": (exits(1, 2),)})

        answer = bench.answer(30)

        assert kinds(answer) == [
            Kind.WAITS_FOR_INIT_CONTAINER,
            Kind.BACK_OFF,
            Kind.EXITED,
        ]
        assert answer.now.subject.name == "migrate"
        assert answer.now.root.subject.container == "migrate"

    def test_it_waits_for_a_sidecar_that_exits_before_its_first_startup_tick(
        self,
    ) -> None:
        sidecar = a_sidecar(startup_probe=a_probe(period_seconds=10))
        bench = CauseBench(
            a_pod(init_containers=(sidecar,)), lives={"proxy": (exits(0, 0.2),)}
        )

        answer = bench.answer(9)

        assert kinds(answer) == [Kind.WAITS_FOR_SIDECAR, Kind.BACK_OFF, Kind.COMPLETED]
        assert answer.now.subject.probe is ProbeType.STARTUP
        assert answer.now.evidence.count == 2

    def test_a_sidecar_is_waited_for_until_its_startup_probe_succeeds(self) -> None:
        sidecar = a_sidecar(startup_probe=EVERY_SECOND)
        pod = a_pod(init_containers=(sidecar,))
        bench = CauseBench(pod, probing=probing(startup=always(FAILS)))

        assert bench.chain(2.5) == [
            Kind.WAITS_FOR_SIDECAR,
            Kind.STARTUP_PROBE_FAILS,
            Kind.COMMAND_FAILED,
        ]

    def test_it_waits_for_the_hook_of_the_container_before_it(self) -> None:
        pod = a_pod(a_container("first", post_start=HOOK), a_container("app"))
        bench = CauseBench(pod, dealing=takes(RunHook, 60))

        answer = bench.answer(40)

        assert kinds(answer) == [
            Kind.WAITS_FOR_POST_START_HOOK,
            Kind.POST_START_HOOK_RUNNING,
        ]
        assert answer.now.subject.name == "first"
        assert answer.now.since == at(0)
        assert bench.chain(41, "first") == [Kind.POST_START_HOOK_RUNNING]
        assert bench.chain(70) == [Kind.READY]
        assert bench.chain(70, "first") == [Kind.READY]

    def test_its_image_is_being_pulled(self) -> None:
        bench = CauseBench(
            a_pod(), absent=["busybox:1.36"], dealing=takes(PullImage, 40)
        )

        answer = bench.answer(10)

        assert kinds(answer) == [Kind.IMAGE_PULLING]
        assert answer.now.since == at(0)

    def test_another_container_is_started_before_it(self) -> None:
        pod = a_pod(a_container("first", image="big:1"), a_container("app"))
        bench = CauseBench(pod, absent=["big:1"], dealing=takes(PullImage, 40))

        assert bench.chain(10) == [Kind.WAITS_FOR_START_BEFORE, Kind.IMAGE_PULLING]

    @pytest.mark.parametrize("seconds", [1, 15])
    def test_its_image_cannot_be_pulled(self, seconds: float) -> None:
        bench = CauseBench(
            a_pod(), absent=["busybox:1.36"], dealing=takes(PullImage, 0, "no such")
        )

        answer = bench.answer(seconds)

        assert kinds(answer) == [Kind.IMAGE_PULL_FAILED]
        assert answer.now.subject.name == "busybox:1.36"
        assert "no such" in answer.now.evidence.message
        assert answer.remedy is not None
        assert answer.remedy.path == "spec.containers[0].image"

    def test_its_image_cannot_be_pulled_before_a_status_says_so(self) -> None:
        bench = CauseBench(
            a_pod(), absent=["busybox:1.36"], dealing=takes(PullImage, 0, "no such")
        )

        answer = bench.answer(0.5)

        assert kinds(answer) == [Kind.IMAGE_PULL_FAILED]
        assert "no such" in answer.now.evidence.message

    def test_its_image_may_never_be_pulled(self) -> None:
        pod = a_pod(a_container(image_pull_policy=PullPolicy.NEVER))
        bench = CauseBench(pod, images=frozenset(), absent=["busybox:1.36"])

        assert bench.chain(5) == [Kind.IMAGE_NEVER_PULLED]

    def test_a_config_map_is_missing(self) -> None:
        variable = EnvVar("A", value_from=ConfigMapKeyRef("settings", "a"))
        bench = CauseBench(a_pod(a_container(env=(variable,))))

        answer = bench.answer(5)

        assert kinds(answer) == [Kind.MISSING_CONFIG_MAP]
        assert answer.now.subject.name == "settings"

    @pytest.mark.parametrize(
        ("call", "kind"),
        [
            (RunPodSandbox, Kind.SANDBOX_FAILED),
            (CreateContainer, Kind.RUNTIME_REFUSED),
            (StartContainer, Kind.START_ERROR),
        ],
    )
    def test_the_runtime_refuses(self, call: type, kind: Kind) -> None:
        bench = CauseBench(a_pod(), dealing=takes(call, 0, "refused"))

        answer = bench.answer(3)

        assert kinds(answer) == [kind]
        assert "refused" in answer.now.evidence.message

    def test_the_deadline_of_its_pod_came_first(self) -> None:
        pod = a_pod(init_containers=(a_container("seed"),), active_deadline_seconds=5)
        bench = CauseBench(pod, lives={"seed": (STUBBORN,)})

        answer = bench.answer(60)

        assert answer.now.kind is Kind.POD_ENDED_FIRST
        assert answer.now.subject.name == "Failed"
        assert answer.now.evidence.message == "DeadlineExceeded"

    def test_the_pod_failed_first(self) -> None:
        pod = a_pod(
            init_containers=(a_container("migrate"),),
            restart_policy=RestartPolicy.NEVER,
        )
        bench = CauseBench(pod, lives={"migrate": (exits(1, 2),)})

        answer = bench.answer(30)

        assert kinds(answer) == [
            Kind.POD_ENDED_FIRST,
            Kind.WAITS_FOR_INIT_CONTAINER,
            Kind.RESTART_POLICY_NEVER,
            Kind.EXITED,
        ]
        assert answer.outlook is None
        bench.send(DeletePod(pod.uid))
        assert bench.chain(60) == [Kind.POD_ENDED_FIRST]


class TestUp:
    def test_a_startup_probe_that_has_not_run(self) -> None:
        pod = a_pod(a_container(startup_probe=a_probe(initial_delay_seconds=30)))

        assert CauseBench(pod).chain(5) == [Kind.STARTUP_NOT_PROBED]

    def test_a_probe_that_cannot_be_run(self) -> None:
        pod = a_pod(a_container(readiness_probe=EVERY_SECOND))
        bench = CauseBench(pod, probing=probing(readiness=always(ERRS)))

        assert bench.chain(5)[0] is Kind.READINESS_PROBE_ERRORS

    @pytest.mark.parametrize("kind", ["startup", "readiness"])
    def test_a_probe_that_a_user_has_muted(self, kind: str) -> None:
        probes: dict[str, Any] = {f"{kind}_probe": EVERY_SECOND}
        pod = a_pod(a_container(**probes))
        bench = CauseBench(pod)
        bench.send(MuteProbes(ALL_PROBES))

        assert bench.chain(5) == [Kind.PROBE_MUTED]

    def test_readiness_needs_successes(self) -> None:
        pod = a_pod(a_container(readiness_probe=a_probe(success_threshold=3)))

        answer = CauseBench(pod).answer(11)

        assert kinds(answer) == [Kind.READINESS_TOO_FEW_SUCCESSES]
        assert answer.outlook is not None
        assert answer.outlook.condition is OutlookCondition.SUCCESSES
        assert answer.outlook.count == 3 - answer.now.evidence.count

    def test_another_container_is_not_ready(self) -> None:
        other = a_container("web", readiness_probe=EVERY_SECOND)
        pod = a_pod(a_container("app"), other)
        bench = CauseBench(pod, probing=probing(readiness=always(FAILS)))

        assert bench.chain(10) == [
            Kind.OTHER_CONTAINER_NOT_READY,
            Kind.READINESS_PROBE_FAILS,
            Kind.COMMAND_FAILED,
        ]

    def test_a_readiness_gate_is_unset(self) -> None:
        pod = a_pod(readiness_gates=("example.com/lb",))

        answer = CauseBench(pod).answer(10)

        assert kinds(answer) == [Kind.READINESS_GATE_UNSET]
        assert answer.outlook is not None
        assert answer.outlook.condition is OutlookCondition.SOMEBODY_ACTS

    def test_liveness_counts_towards_a_kill(self) -> None:
        pod = a_pod(a_container(liveness_probe=EVERY_SECOND))
        bench = CauseBench(pod, probing=probing(liveness=always(FAILS)))

        answer = bench.answer(2.5)

        assert kinds(answer) == [Kind.LIVENESS_PROBE_FAILS, Kind.COMMAND_FAILED]
        assert answer.outlook is not None
        assert answer.outlook.what is OutlookEvent.KILLED
        assert answer.outlook.count == 3 - answer.now.evidence.count

    @pytest.mark.parametrize(
        ("version", "at_resync"),
        [pytest.param("1.20", True, id="1.20"), pytest.param("1.21", False, id="1.21")],
    )
    def test_startup_of_an_old_kubelet_kills_at_the_next_resync(
        self, version: str, *, at_resync: bool
    ) -> None:
        pod = a_pod(a_container(startup_probe=EVERY_SECOND))
        fails = probing(startup=always(FAILS))
        bench = CauseBench(pod, probing=fails, config=KubeletConfig(version=version))

        outlook = bench.answer(2.5).outlook

        assert outlook is not None
        assert outlook.otherwise is not None
        assert outlook.otherwise.is_at_resync is at_resync
        assert (outlook.otherwise.earliest is None) is at_resync

    def test_failures_of_liveness_are_since_the_first_of_them(self) -> None:
        probe = a_probe(period_seconds=1, failure_threshold=9)
        pod = a_pod(a_container(liveness_probe=probe))
        bench = CauseBench(
            pod, probing=probing(liveness=lambda age: FAILS if age > 4 else SUCCEEDS)
        )

        cause = bench.answer(8.5).now

        failed = [tick for tick in bench.ticks(ProbeType.LIVENESS) if tick.run.count]
        run = failed[-cause.evidence.count :]
        assert cause.evidence.count > 2
        assert run[0].run.count == 1
        assert cause.since == run[0].timing.started_at

    @pytest.mark.parametrize(
        ("probe_type", "expected"),
        [
            (ProbeType.LIVENESS, []),
            (ProbeType.READINESS, [Kind.READINESS_NOT_PROBED]),
            (ProbeType.STARTUP, [Kind.STARTUP_NOT_PROBED]),
        ],
    )
    def test_a_probe_hangs(self, probe_type: ProbeType, expected: list[Kind]) -> None:
        name = probe_type.lower()
        probes: dict[str, Any] = {f"{name}_probe": EVERY_SECOND}
        pod = a_pod(a_container(**probes))
        hangs = ProbeAnswer(SUCCEEDS.attempt, timedelta(seconds=60))
        bench = CauseBench(
            pod,
            config=KubeletConfig(keeps_evidence=True),
            probing=probing(**{name: always(hangs)}),
        )
        bench.run_until(6)
        for probe_id in bench.engine.running_probes():
            bench.simulation.submit(ProbeStillRuns(probe_id))

        hangs_by_a_child = [Kind.PROBE_HANGS, Kind.OUTPUT_HELD_OPEN]
        assert bench.chain(20) == [*expected, *hangs_by_a_child]
        assert bench.chain(70) != expected

    @pytest.mark.parametrize(
        ("over", "expected"),
        [
            (0.9, [Kind.READY]),
            (1, [Kind.PROBE_HANGS]),
            (4.9, [Kind.PROBE_HANGS]),
            (5, [Kind.PROBE_HANGS, Kind.OUTPUT_HELD_OPEN]),
        ],
    )
    def test_a_probe_hangs_a_second_after_its_timeout_and_by_a_child_after_five(
        self, over: float, expected: list[Kind]
    ) -> None:
        probe = a_probe(period_seconds=1, timeout_seconds=3)
        pod = a_pod(a_container(liveness_probe=probe))
        hangs = ProbeAnswer(SUCCEEDS.attempt, timedelta(seconds=60))
        bench = CauseBench(
            pod,
            config=KubeletConfig(keeps_evidence=True),
            probing=probing(liveness=always(hangs)),
        )
        bench.run_until(6)
        for probe_id in bench.engine.running_probes():
            bench.simulation.submit(ProbeStillRuns(probe_id))
        past = SessionHistory(bench.journal)
        past.add_entries(bench.journal, 0)
        (still,) = [
            entry for entry in bench.journal if isinstance(entry, UnfinishedTickEntry)
        ]

        now = still.started_at + timedelta(seconds=3 + over)
        answer = explain(pod, pod.containers[0], past, now, bench.rules)

        assert kinds(answer) == expected

    @pytest.mark.parametrize(
        ("delay", "first"), [(5, 10), (10, 10), (11, 20), (20, 20), (25, 30)]
    )
    def test_a_first_probe_is_due_at_the_first_tick_after_its_delay(
        self, delay: int, first: int
    ) -> None:
        probe = a_probe(period_seconds=10, initial_delay_seconds=delay)
        bench = CauseBench(a_pod(a_container(startup_probe=probe)))

        cause = bench.answer(4).now

        assert cause.kind is Kind.STARTUP_NOT_PROBED
        (tick,) = bench.ticks(ProbeType.STARTUP)
        assert cause.evidence.until == tick.timing.started_at + (at(first) - at(0))
        assert cause.evidence.needed == delay

    @pytest.mark.parametrize(("seconds", "needed"), [(4.9, 5), (5, 0)])
    def test_a_delay_is_told_until_it_is_over(
        self, seconds: float, needed: int
    ) -> None:
        probe = a_probe(period_seconds=10, initial_delay_seconds=5)
        bench = CauseBench(a_pod(a_container(startup_probe=probe)))
        bench.run_until(6)
        past = SessionHistory(bench.journal)
        past.add_entries(bench.journal, 0)
        started = past.container(bench.pod.uid, "app").instances[0].started_at
        assert started is not None

        answer = explain(
            bench.pod,
            bench.pod.containers[0],
            past,
            started + timedelta(seconds=seconds),
            bench.rules,
        )

        assert answer.now.evidence.needed == needed

    def test_a_tick_that_has_ended_hangs_no_more(self) -> None:
        pod = a_pod(a_container(liveness_probe=EVERY_SECOND))
        hangs = ProbeAnswer(SUCCEEDS.attempt, timedelta(seconds=30))
        bench = CauseBench(
            pod,
            config=KubeletConfig(keeps_evidence=True),
            probing=probing(liveness=lambda age: hangs if age < 8 else SUCCEEDS),
        )
        bench.run_until(6)
        for probe_id in bench.engine.running_probes():
            bench.simulation.submit(ProbeStillRuns(probe_id))

        assert bench.chain(20)[0] is Kind.PROBE_HANGS
        assert bench.chain(50) == [Kind.READY]

    def test_a_status_may_be_late_for_a_container_that_is_up(self) -> None:
        pod = a_pod(a_container(startup_probe=EVERY_SECOND))

        answer = CauseBench(pod, config=KubeletConfig(version="1.20")).answer(30)

        assert kinds(answer) == [Kind.NOT_SYNCED]
        assert answer.now.subject.probe is None
        assert answer.now.evidence.instance is not None

    def test_nothing_is_wrong(self) -> None:
        answer = CauseBench(a_pod()).answer(10)

        assert kinds(answer) == [Kind.READY]
        assert answer.outlook is None
        assert answer.remedy is None


class TestEnds:
    def test_exit_0_under_always_backs_off(self) -> None:
        answer = CauseBench(a_pod(), lives={"app": (exits(0),)}).answer(9)

        assert kinds(answer) == [Kind.BACK_OFF, Kind.COMPLETED]

    def test_a_back_off_ends_between_two_instants(self) -> None:
        answer = CauseBench(a_pod(), lives={"app": (exits(1),)}).answer(9)

        outlook = answer.outlook
        assert outlook is not None
        assert outlook.earliest is not None
        assert outlook.latest is not None
        assert outlook.latest > outlook.earliest == at(18)

    def test_a_killed_job_that_exited_with_0_is_not_restarted(self) -> None:
        pod = a_pod(
            a_container(liveness_probe=EVERY_SECOND),
            restart_policy=RestartPolicy.ON_FAILURE,
        )
        bench = CauseBench(pod, probing=probing(liveness=always(FAILS)))

        answer = bench.answer(60)

        assert kinds(answer) == [
            Kind.RESTART_POLICY_ON_FAILURE,
            Kind.KILLED_BY_LIVENESS,
            Kind.COMMAND_FAILED,
        ]
        assert answer.outlook is None

    def test_a_failed_hook_killed_it(self) -> None:
        pod = a_pod(a_container(post_start=HOOK))
        bench = CauseBench(pod, dealing=takes(RunHook, 0, "exited with 1"))

        answer = bench.answer(5)

        assert answer.now.root.kind is Kind.KILLED_BY_POST_START_HOOK
        assert answer.now.root.evidence.message == "PostStartHook failed"

    def test_a_hook_whose_program_is_missing_killed_it(self) -> None:
        pod = a_pod(a_container(post_start=HOOK))
        missing = 'exec: "sh": executable file not found in $PATH'
        bench = CauseBench(
            pod,
            dealing=takes(RunHook, 0, missing),
            config=KubeletConfig(keeps_evidence=True),
        )

        assert bench.chain(5) == [
            Kind.BACK_OFF,
            Kind.KILLED_BY_POST_START_HOOK,
            Kind.COMMAND_NOT_FOUND,
        ]

    def test_a_deadline_killed_it(self) -> None:
        bench = CauseBench(a_pod(active_deadline_seconds=10))

        assert bench.chain(60) == [Kind.POD_FAILED, Kind.KILLED_BY_DEADLINE]

    def test_a_user_killed_it(self) -> None:
        pod = a_pod()
        bench = CauseBench(pod)
        bench.run_until(5)
        bench.send(KillContainer(pod.uid, "app"))

        answer = bench.answer(8)

        assert answer.last_end is not None
        assert answer.last_end.kind is Kind.KILLED_BY_USER

    def test_the_startup_window_is_named_where_it_took_part(self) -> None:
        pod = a_pod(
            a_container(
                startup_probe=a_probe(period_seconds=4, failure_threshold=30),
                liveness_probe=a_probe(period_seconds=1, failure_threshold=1),
            )
        )
        bench = CauseBench(
            pod,
            config=KubeletConfig(version="1.36"),
            probing=probing(
                startup=lambda age: SUCCEEDS if age > 8 else FAILS,
                liveness=lambda age: SUCCEEDS if 8 < age < 20 else FAILS,
            ),
        )

        answers = [bench.answer(second) for second in range(18, 30)]

        ends = [answer.last_end for answer in answers if answer.last_end is not None]
        assert Kind.STARTUP_WINDOW in {end.quirk for end in ends}


class TestDeletion:
    def test_it_waits_for_the_pull_that_runs(self) -> None:
        pod = a_pod()
        bench = CauseBench(pod, absent=["busybox:1.36"], dealing=takes(PullImage, 40))
        bench.run_until(10)
        bench.send(DeletePod(pod.uid))

        answer = bench.answer(20)

        assert kinds(answer) == [Kind.DELETION_WAITS_FOR_SYNC, Kind.IMAGE_PULLING]
        assert answer.now.since == at(10)

    def test_sigterm_is_ignored(self) -> None:
        pod = a_pod()
        bench = CauseBench(pod, lives={"app": (STUBBORN,)})
        bench.run_until(10)
        bench.send(DeletePod(pod.uid))

        answer = bench.answer(20)

        assert kinds(answer) == [Kind.SIGTERM_IGNORED, Kind.KILLED_BY_DELETION]
        assert answer.outlook is not None
        assert (answer.outlook.what, answer.outlook.earliest) == (
            OutlookEvent.SIGKILL,
            at(40),
        )

    def test_a_hook_runs_first_and_is_cut_off(self) -> None:
        pod = a_pod(a_container(pre_stop=HOOK), termination_grace_period_seconds=10)
        bench = CauseBench(pod, dealing=takes(RunHook, 60))
        bench.run_until(10)
        bench.send(DeletePod(pod.uid))

        answer = bench.answer(15)

        assert kinds(answer) == [Kind.PRE_STOP_HOOK_RUNNING, Kind.KILLED_BY_DELETION]
        assert answer.now.evidence.until == at(20)
        gone = bench.answer(30)
        assert kinds(gone) == [Kind.POD_DELETED]
        assert gone.outlook is None

    def test_a_hook_that_sleeps_runs_for_so_long_and_then_the_signal_is_ignored(
        self,
    ) -> None:
        pod = a_pod(
            a_container(pre_stop=SleepAction(4)), termination_grace_period_seconds=10
        )
        bench = CauseBench(pod, lives={"app": (STUBBORN,)})
        bench.run_until(5)
        bench.send(DeletePod(pod.uid))

        sleeps, over, ignores = bench.chain(8), bench.chain(9), bench.chain(10)

        assert sleeps == [Kind.PRE_STOP_HOOK_RUNNING, Kind.KILLED_BY_DELETION]
        assert ignores == over == [Kind.SIGTERM_IGNORED, Kind.KILLED_BY_DELETION]

    def test_a_hook_that_sleeps_for_longer_than_the_grace_period_is_cut_off(
        self,
    ) -> None:
        pod = a_pod(
            a_container(pre_stop=SleepAction(10)), termination_grace_period_seconds=10
        )
        bench = CauseBench(pod, lives={"app": (STUBBORN,)})
        bench.run_until(5)
        bench.send(DeletePod(pod.uid))

        assert bench.answer(30).now.quirk is Kind.PRE_STOP_HOOK_CUT_OFF

    def test_a_hook_that_sleeps_for_less_is_not(self) -> None:
        pod = a_pod(
            a_container(pre_stop=SleepAction(9)), termination_grace_period_seconds=10
        )
        bench = CauseBench(pod, lives={"app": (STUBBORN,)})
        bench.run_until(5)
        bench.send(DeletePod(pod.uid))

        assert bench.answer(30).now.quirk is not Kind.PRE_STOP_HOOK_CUT_OFF

    def test_it_waits_for_the_stop_of_another_container_that_liveness_kills(
        self,
    ) -> None:
        other = a_container("web", liveness_probe=EVERY_SECOND)
        pod = a_pod(a_container(), other)
        bench = CauseBench(
            pod, lives={"web": (STUBBORN,)}, probing=probing(liveness=always(FAILS))
        )
        bench.run_until(8)
        bench.send(DeletePod(pod.uid))

        assert bench.chain(10) == [
            Kind.DELETION_WAITS_FOR_SYNC,
            Kind.SIGTERM_IGNORED,
            Kind.KILLED_BY_LIVENESS,
            Kind.COMMAND_FAILED,
        ]

    def test_a_sidecar_is_stopped_after_the_containers_it_serves(self) -> None:
        pod = a_pod(a_container(), init_containers=(a_sidecar(),))
        bench = CauseBench(pod, lives={"app": (STUBBORN,)})
        bench.run_until(10)
        bench.send(DeletePod(pod.uid))

        answer = bench.answer(20, "proxy")

        assert kinds(answer) == [
            Kind.SIDECAR_STOPS_LATER,
            Kind.SIGTERM_IGNORED,
            Kind.KILLED_BY_DELETION,
        ]
        assert answer.now.since == at(10)
        assert answer.now.subject.name == "app"
        assert answer.now.evidence.until == at(40)

    def test_of_a_deleted_pod_it_is_told_why_it_was_not_well(self) -> None:
        pod = a_pod(a_container(readiness_probe=EVERY_SECOND))
        bench = CauseBench(pod, probing=probing(readiness=always(FAILS)))
        bench.run_until(10)
        bench.send(DeletePod(pod.uid))

        answer = bench.answer(60)

        assert kinds(answer) == [Kind.POD_DELETED]
        assert answer.before is not None
        assert answer.before.kind is Kind.READINESS_PROBE_FAILS
        assert answer.outlook is None

    def test_a_live_session_may_have_lost_the_beginning_of_its_journal(self) -> None:
        pod = a_pod(a_container(readiness_probe=EVERY_SECOND))
        bench = CauseBench(pod, probing=probing(readiness=always(FAILS)))
        bench.run_until(30)
        bench.send(DeletePod(pod.uid))
        bench.run_until(90)
        # The first entries are dropped, with their places kept.
        kept = SessionJournal(JournalLimits(8, block=4, packed_bytes=0, ticks=0))
        kept.extend(bench.journal)
        past = SessionHistory(kept)
        past.add_entries(bench.journal, 0)

        container = pod.containers[0]
        answer = explain(pod, container, past, at(90), bench.rules, is_live=True)

        assert kept.first > 0
        assert kinds(answer) == [Kind.POD_DELETED]
        assert answer.before is None

    def test_of_a_kill_whose_ticks_are_lost_nothing_is_counted(self) -> None:
        pod = a_pod(a_container(liveness_probe=EVERY_SECOND))
        bench = CauseBench(pod, probing=probing(liveness=always(FAILS)))
        bench.run_until(20)
        kept = [entry for entry in bench.journal if not isinstance(entry, TickEntry)]
        past = SessionHistory(kept)
        past.add_entries(kept, 0)

        root = explain(pod, pod.containers[0], past, at(20), bench.rules).now.root

        assert root.kind is Kind.KILLED_BY_LIVENESS
        assert (root.evidence.count, root.evidence.needed) == (0, 0)

    def test_a_new_pod_waits_for_the_older_one_of_its_name(self) -> None:
        old = a_pod(uid="old")
        bench = CauseBench(old, lives={"app": (STUBBORN,)})
        bench.run_until(5)
        bench.send(DeletePod("old"))
        bench.run_until(10)
        past = SessionHistory(bench.journal)
        past.add_entries(bench.journal, 0)
        new = a_pod(uid="new")

        answer = explain(
            new,
            new.containers[0],
            past,
            at(10),
            bench.rules,
            {"new": new, "other": a_pod(name="other"), "old": old},
        )

        assert kinds(answer) == [Kind.WAITS_FOR_OLDER_POD]
        assert answer.now.subject.name == "web"

        bench.run_until(90)
        past = SessionHistory(bench.journal)
        past.add_entries(bench.journal, 0)
        pods = {"new": new, "old": old, "other": a_pod(uid="other")}
        answer = explain(new, new.containers[0], past, at(90), bench.rules, pods)

        assert kinds(answer) == [Kind.NOT_SYNCED]


def test_a_startup_probe_that_succeeded_before_the_session_is_not_waited_for() -> None:
    container = a_container(startup_probe=EVERY_SECOND, liveness_probe=EVERY_SECOND)
    bench = CauseBench(a_pod(container))
    bench.run_until(20)
    known = [
        entry
        for entry in bench.journal
        if not (
            isinstance(entry, TickEntry) and entry.key.probe_type is ProbeType.STARTUP
        )
    ]
    past = SessionHistory(known)
    past.add_entries(known, 0)

    answer = explain(bench.pod, container, past, at(20), bench.rules)

    assert kinds(answer) == [Kind.READY]


def test_what_a_kubelet_elsewhere_publishes_is_not_said_to_be_late() -> None:
    container = a_container(readiness_probe=EVERY_SECOND)
    bench = CauseBench(a_pod(container))
    bench.run_until(20)
    seen = [
        replace(entry, gates=(Gate("source", "counters", passed=True),))
        if isinstance(entry, TickEntry)
        # As a store without kube-state-metrics has it.
        else replace(entry, status=_without_readiness(entry.status))
        if isinstance(entry, StatusEntry)
        else entry
        for entry in bench.journal
    ]
    past = SessionHistory(seen)
    past.add_entries(seen, 0)

    answer = explain(bench.pod, container, past, at(20), bench.rules)

    assert kinds(answer) == [Kind.READY]
    assert answer.now.since is None


def _without_readiness(status: PodStatus) -> PodStatus:
    """Return a status that has neither readiness nor starts."""
    statuses = status.container_statuses or ()
    return replace(
        status,
        container_statuses=tuple(
            replace(own, ready=False, state=Running())
            if isinstance(own.state, Running)
            else own
            for own in statuses
        ),
    )


def test_a_hook_of_an_old_record_is_over_once_the_next_container_is_created() -> None:
    first = a_container("first", post_start=HOOK)
    bench = CauseBench(a_pod(first, a_container()))
    bench.run_until(20)
    known = [
        entry
        for entry in bench.journal
        if not isinstance(entry, EventEntry | HookEntry | StatusEntry)
    ]

    def kind(entries: Sequence[JournalEntry]) -> Kind:
        past = SessionHistory(entries)
        past.add_entries(entries, 0)
        return explain(bench.pod, first, past, at(20), bench.rules).now.kind

    alone = [entry for entry in known if getattr(entry, "container_name", "") != "app"]
    assert kind(alone) is Kind.POST_START_HOOK_RUNNING
    assert kind(known) is not Kind.POST_START_HOOK_RUNNING


def test_what_is_said_of_a_hook_is_of_its_own_instance() -> None:
    first, second = ContainerID("sim://1"), ContainerID("sim://2")

    def step(seconds: float, container_id: ContainerID) -> Iterator[ContainerEntry]:
        number = int(container_id is second)
        for what in (LifecycleStep.CREATED, LifecycleStep.STARTED):
            yield ContainerEntry(
                0, at(seconds), "uid-of-web", "app", container_id, number, what
            )

    def failed(seconds: float, message: str) -> EventEntry:
        event = Event(
            EventType.WARNING,
            FAILED_POST_START,
            message,
            "uid-of-web",
            "spec.containers{app}",
            at(seconds),
            "app",
        )
        return EventEntry(0, at(seconds), event)

    entries: list[JournalEntry] = [
        failed(0.5, "before"),
        *step(1, first),
        failed(1, "first"),
        failed(2, "one"),
        *step(9, second),
        failed(9, "both"),
        failed(10, "two"),
    ]
    past = SessionHistory(entries)
    past.add_entries(entries, 0)
    pod = a_pod()
    case = WhyCase(
        pod, pod.containers[0], past, at(20), rules_of("1.36"), explain=cause_of
    )

    said = [
        [*case.hook_failures(FAILED_POST_START, instance)]
        for instance in case.history.instances
    ]

    assert said == [["first", "one", "both"], ["both", "two"]]
    assert [*case.hook_failures(FAILED_PRE_STOP, case.history.instances[0])] == []
