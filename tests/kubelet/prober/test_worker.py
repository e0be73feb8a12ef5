from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import (
    ConditionStatus,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.journal import Exit, Skip
from probetui.kubelet.kuberuntime.restart import ALL_CONTAINERS_RESTARTING
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.results_manager import ResultsManager, ResultUpdate
from probetui.kubelet.prober.worker import (
    Decision,
    ProbeNow,
    RecordedResult,
    Worker,
    whole_seconds,
)
from probetui.kubelet_rules import rules_of
from tests.builders import (
    RUNNING,
    START,
    a_container,
    a_container_status,
    a_key,
    a_pod,
    a_probe,
    a_status,
    at,
)

LIVENESS, READINESS, STARTUP = ProbeType
SUCCESS, FAILURE, UNKNOWN = Result.SUCCESS, Result.FAILURE, Result.UNKNOWN
NEVER = RestartPolicy.NEVER
FIRST, SECOND = ContainerID("fake://app-0"), ContainerID("fake://app-1")
EXITED = Terminated(1)


class Bench:
    """A worker and what it writes its beliefs to."""

    def __init__(
        self, kind: ProbeType = LIVENESS, pod: Pod | None = None, **probe: Any
    ) -> None:
        pod = pod or a_pod()
        self.results = ResultsManager(kind)
        self.worker = Worker(a_key(kind), pod, pod.containers[0], a_probe(**probe))

    def decide(
        self, *containers: ContainerStatus, seconds: float = 60, **status: Any
    ) -> Decision:
        return self.worker.decide(
            a_status(*containers, **status), self.results, at(seconds)
        )

    def record(self, *results: Result) -> list[RecordedResult]:
        return [self.worker.record(result, self.results) for result in results]

    def stored_result(self, container_id: ContainerID = FIRST) -> Result | None:
        return self.results.get(container_id)

    def consume_updates(self) -> list[Result]:
        return [update.result for update in self.results.take_updates()]


def a_probed(kind: ProbeType = LIVENESS, **probe: Any) -> Bench:
    """Return a worker that knows its container."""
    bench = Bench(kind, **probe)
    bench.decide(a_container_status(started=kind is not STARTUP))
    bench.consume_updates()
    return bench


class TestBeforeTheContainer:
    def test_a_pod_without_a_status_is_not_probed(self) -> None:
        bench = Bench()

        decision = bench.worker.decide(None, bench.results, START)

        assert decision is Skip.NO_STATUS

    @pytest.mark.parametrize(
        "containers",
        [
            pytest.param((), id="no-status-of-its-own"),
            pytest.param((a_container_status("other"),), id="another"),
            pytest.param((a_container_status(container_id=""),), id="no-id-yet"),
        ],
    )
    def test_a_container_that_is_not_there_yet_is_not_probed(
        self, containers: tuple[ContainerStatus, ...]
    ) -> None:
        bench = Bench()

        assert bench.decide(*containers) is Skip.CONTAINER_MISSING
        assert bench.consume_updates() == []

    def test_statuses_that_are_null_have_no_container(self) -> None:
        decision = Bench().decide(container_statuses=None, init_container_statuses=None)

        assert decision is Skip.CONTAINER_MISSING

    def test_a_stored_result_stays_while_the_container_is_missing(self) -> None:
        bench = a_probed()

        bench.decide()

        assert bench.stored_result() is SUCCESS
        assert bench.worker.container_id == FIRST

    def test_an_init_container_is_found_if_no_regular_container_has_an_id(self) -> None:
        decision = Bench().decide(
            a_container_status(container_id=""),
            init_container_statuses=(a_container_status(number=1),),
        )

        assert decision == ProbeNow(SECOND)


class TestNewContainer:
    @pytest.mark.parametrize(
        ("kind", "initial"),
        [
            pytest.param(LIVENESS, SUCCESS, id="liveness-is-good"),
            pytest.param(READINESS, FAILURE, id="readiness-is-bad"),
            pytest.param(STARTUP, UNKNOWN, id="startup-is-unknown"),
        ],
    )
    def test_each_probe_type_has_its_own_initial_result(
        self, kind: ProbeType, initial: Result
    ) -> None:
        bench = Bench(kind)

        bench.decide(a_container_status(started=None))

        assert bench.results.take_updates() == (
            ResultUpdate(FIRST, initial, "uid-of-web"),
        )
        assert bench.worker.new_container

    def test_the_result_of_the_previous_instance_is_removed(self) -> None:
        bench = a_probed()

        bench.decide(a_container_status(number=1))

        assert (bench.stored_result(FIRST), bench.stored_result(SECOND)) == (
            None,
            SUCCESS,
        )

    def test_a_container_is_new_only_once(self) -> None:
        bench = a_probed()

        bench.decide(a_container_status())

        assert not bench.worker.new_container
        assert bench.consume_updates() == []

    def test_it_lifts_the_hold(self) -> None:
        bench = a_probed(failure_threshold=1)
        bench.record(FAILURE)

        assert bench.decide(a_container_status()) is Skip.ON_HOLD
        assert bench.decide(a_container_status(number=1)) == ProbeNow(SECOND)
        assert not bench.worker.on_hold

    def test_failures_of_the_container_before_count_on(self) -> None:
        """Quirk: a container that dies by itself leaves its run to the next one."""
        bench = a_probed(failure_threshold=3)
        bench.record(FAILURE, FAILURE)

        bench.decide(a_container_status(number=1))

        assert bench.record(FAILURE) == [RecordedResult(3, 3, stored=True)]
        assert bench.stored_result(SECOND) is FAILURE

    def test_an_id_that_cannot_be_read_is_new_at_every_tick(self) -> None:
        bench = Bench()

        for _ in range(2):
            bench.decide(a_container_status(container_id="no-runtime"))

            assert bench.worker.new_container

    def test_an_empty_id_with_a_runtime_is_never_new(self) -> None:
        bench = Bench()

        bench.decide(a_container_status(container_id="://", state=Waiting()))

        assert bench.consume_updates() == []


class TestGates:
    @pytest.mark.parametrize("phase", [PodPhase.SUCCEEDED, PodPhase.FAILED])
    def test_a_pod_that_has_ended_needs_no_worker(self, phase: PodPhase) -> None:
        bench = a_probed()

        assert bench.decide(a_container_status(), phase=phase) is Exit.POD_ENDED
        assert bench.consume_updates() == []

    @pytest.mark.parametrize(
        "state",
        [
            pytest.param(Waiting("CrashLoopBackOff"), id="waiting"),
            pytest.param(EXITED, id="terminated"),
            pytest.param(None, id="no-state"),
        ],
    )
    @pytest.mark.parametrize("kind", ProbeType)
    def test_a_container_that_does_not_run_is_stored_as_failure(
        self, kind: ProbeType, state: Waiting | Terminated | None
    ) -> None:
        """Quirk: so for liveness and startup too, and without an event."""
        bench = Bench(kind)

        decision = bench.decide(a_container_status(state=state))

        assert decision is Skip.NOT_RUNNING
        assert bench.stored_result() is FAILURE
        assert bench.worker.result_run == 0

    def test_a_worker_leaves_with_a_container_that_is_not_restarted(self) -> None:
        bench = Bench(pod=a_pod(restart_policy=NEVER))

        decision = bench.decide(a_container_status(state=EXITED))

        assert decision is Exit.CONTAINER_WILL_NOT_RESTART
        assert bench.stored_result() is FAILURE

    def test_one_that_waits_for_a_container_stays_whatever_the_policy(self) -> None:
        bench = Bench(pod=a_pod(restart_policy=NEVER))

        assert bench.decide(a_container_status(state=Waiting())) is Skip.NOT_RUNNING

    @pytest.mark.parametrize(
        ("status", "decision"),
        [
            pytest.param(ConditionStatus.TRUE, Skip.NOT_RUNNING, id="all"),
            pytest.param(
                ConditionStatus.FALSE, Exit.CONTAINER_WILL_NOT_RESTART, id="none"
            ),
        ],
    )
    def test_a_worker_stays_while_all_containers_are_restarted(
        self, status: ConditionStatus, decision: Decision
    ) -> None:
        pod = a_pod(restart_policy=NEVER)
        worker = Worker(
            a_key(), pod, pod.containers[0], a_probe(), rules=rules_of("1.36")
        )
        published = a_status(
            a_container_status(state=EXITED),
            conditions=(PodCondition(ALL_CONTAINERS_RESTARTING, status),),
        )

        assert worker.decide(published, ResultsManager(LIVENESS), START) is decision

    @pytest.mark.parametrize(
        ("version", "decision"),
        [
            pytest.param("1.32", Exit.CONTAINER_WILL_NOT_RESTART, id="1.32"),
            pytest.param("1.33", Skip.NOT_RUNNING, id="later"),
        ],
    )
    def test_a_sidecar_in_a_pod_that_never_restarts_depends_on_the_version(
        self, version: str, decision: Decision
    ) -> None:
        side = a_container(restart_policy=RestartPolicy.ALWAYS)
        pod = a_pod(restart_policy=NEVER, init_containers=(side,))
        worker = Worker(a_key(), pod, side, a_probe(), rules=rules_of(version))
        status = a_status(a_container_status(state=EXITED))

        assert worker.decide(status, ResultsManager(LIVENESS), START) is decision

    @pytest.mark.parametrize(
        "kind",
        [pytest.param(LIVENESS, id="liveness"), pytest.param(STARTUP, id="startup")],
    )
    def test_probes_of_a_pod_that_is_deleted_are_stored_as_success_and_end(
        self, kind: ProbeType
    ) -> None:
        bench = Bench(kind, pod=a_pod(deletion_requested_at=START))

        assert bench.decide(a_container_status(started=None)) is Exit.POD_DELETED
        assert bench.stored_result() is SUCCESS

    def test_readiness_probes_continue_in_a_pod_that_is_deleted(self) -> None:
        bench = Bench(READINESS, pod=a_pod(deletion_requested_at=START))

        assert bench.decide(a_container_status()) == ProbeNow(FIRST)

    @pytest.mark.parametrize(
        ("seconds", "decision"),
        [
            pytest.param(4.999, Skip.INITIAL_DELAY, id="a-moment-too-early"),
            pytest.param(5, ProbeNow(FIRST), id="just-over"),
            pytest.param(-3600, Skip.INITIAL_DELAY, id="started-in-the-future"),
        ],
    )
    def test_the_initial_delay_counts_whole_seconds_of_the_container_s_age(
        self, seconds: float, decision: Decision
    ) -> None:
        """Quirk: an age of 4.999 s has not passed a delay of 5 s."""
        bench = Bench(initial_delay_seconds=5)

        assert bench.decide(a_container_status(), seconds=seconds) == decision

    def test_an_unknown_start_time_never_passes_the_initial_delay(self) -> None:
        decision = Bench().decide(a_container_status(state=Running()), seconds=1e6)

        assert decision is Skip.INITIAL_DELAY

    @pytest.mark.parametrize(
        ("kind", "started", "decision"),
        [
            pytest.param(LIVENESS, False, Skip.NOT_STARTED, id="liveness-waits"),
            pytest.param(LIVENESS, None, Skip.NOT_STARTED, id="not-set-is-no"),
            pytest.param(LIVENESS, True, ProbeNow(FIRST), id="liveness-goes-on"),
            pytest.param(READINESS, False, Skip.NOT_STARTED, id="readiness-waits"),
            pytest.param(READINESS, True, ProbeNow(FIRST), id="readiness-goes-on"),
            pytest.param(STARTUP, None, ProbeNow(FIRST), id="startup-goes-on"),
            pytest.param(STARTUP, True, Skip.ALREADY_STARTED, id="startup-is-done"),
        ],
    )
    def test_startup_comes_before_the_others(
        self, *, kind: ProbeType, started: bool | None, decision: Decision
    ) -> None:
        assert Bench(kind).decide(a_container_status(started=started)) == decision

    def test_the_hold_is_checked_before_the_state_of_the_container(self) -> None:
        bench = a_probed(failure_threshold=1)
        bench.record(FAILURE)
        bench.consume_updates()

        decision = bench.decide(a_container_status(state=EXITED))

        assert decision is Skip.ON_HOLD
        assert bench.consume_updates() == []

    def test_that_a_container_is_older_than_its_delay_is_all_that_is_kept(self) -> None:
        bench = Bench(initial_delay_seconds=5)

        bench.decide(a_container_status(), seconds=60)
        minute = bench.worker.considered
        bench.decide(a_container_status(), seconds=61)
        bench.decide(a_container_status(), seconds=62)

        assert minute.age_seconds == 5
        assert bench.worker.considered == replace(minute, new_container=False)

    def test_the_facts_of_a_decision_are_kept_for_the_screen(self) -> None:
        bench = Bench(initial_delay_seconds=5)

        bench.decide(a_container_status(), seconds=3)

        facts = bench.worker.considered
        assert (facts.phase, facts.container_id) == (PodPhase.RUNNING, FIRST)
        assert (facts.initial_delay_seconds, facts.age_seconds) == (5, 3)
        assert facts.new_container
        assert not facts.on_hold
        assert not facts.deleting


class TestRecord:
    def test_a_result_is_stored_at_its_threshold(self) -> None:
        bench = a_probed(failure_threshold=3)

        assert bench.record(FAILURE, FAILURE, FAILURE) == [
            RecordedResult(1, 3, stored=False),
            RecordedResult(2, 3, stored=False),
            RecordedResult(3, 3, stored=True),
        ]
        assert bench.consume_updates() == [FAILURE]

    def test_another_result_starts_a_new_run(self) -> None:
        bench = a_probed(failure_threshold=2)

        runs = bench.record(FAILURE, SUCCESS, FAILURE)

        assert [run.run for run in runs] == [1, 1, 1]
        assert bench.stored_result() is SUCCESS

    def test_the_first_success_follows_one_that_never_was(self) -> None:
        bench = a_probed(READINESS, success_threshold=2)

        runs = bench.record(SUCCESS, SUCCESS)

        assert runs == [
            RecordedResult(1, 2, stored=False),
            RecordedResult(2, 2, stored=True),
        ]

    def test_liveness_goes_on_hold_only_when_it_failed(self) -> None:
        bench = a_probed(failure_threshold=1)

        after = [
            (bench.record(result)[0].run, bench.worker.result_run, bench.worker.on_hold)
            for result in (SUCCESS, FAILURE)
        ]

        assert after == [(1, 1, False), (1, 0, True)]

    @pytest.mark.parametrize("result", [SUCCESS, FAILURE])
    def test_startup_goes_on_hold_whatever_its_result(self, result: Result) -> None:
        """Quirk: and starts counting anew."""
        bench = a_probed(STARTUP, failure_threshold=1)

        bench.record(result)

        assert bench.worker.on_hold
        assert bench.worker.result_run == 0

    def test_readiness_never_goes_on_hold(self) -> None:
        bench = a_probed(READINESS, failure_threshold=1)

        bench.record(SUCCESS, FAILURE)

        assert not bench.worker.on_hold
        assert bench.worker.result_run == 1

    @pytest.mark.parametrize("threshold", [0, -1, 1])
    def test_a_threshold_below_one_is_like_one(self, threshold: int) -> None:
        bench = a_probed(failure_threshold=threshold)

        assert bench.record(FAILURE)[0].stored


@pytest.mark.parametrize(
    ("milliseconds", "whole"),
    [
        pytest.param(4999, 4, id="not-quite-five"),
        pytest.param(5000, 5, id="five"),
        pytest.param(0, 0, id="nothing"),
        pytest.param(-999, 0, id="less-than-a-second-ahead"),
        pytest.param(-1000, -1, id="a-second-ahead"),
        pytest.param(-1999, -1, id="nearly-two-ahead"),
    ],
)
def test_ages_are_cut_towards_zero(milliseconds: int, whole: int) -> None:
    assert whole_seconds(timedelta(milliseconds=milliseconds)) == whole


@pytest.mark.parametrize(
    ("status", "skip"),
    [
        pytest.param(None, Skip.NO_STATUS, id="no-status"),
        pytest.param(a_status(), Skip.CONTAINER_MISSING, id="container-missing"),
        pytest.param(
            a_status(a_container_status()), Skip.ON_HOLD, id="the-one-it-knows"
        ),
        pytest.param(
            a_status(a_container_status(number=1, state=EXITED)),
            Skip.NOT_RUNNING,
            id="not-running",
        ),
        pytest.param(
            a_status(a_container_status(number=1, state=Running())),
            Skip.INITIAL_DELAY,
            id="start-time-unknown",
        ),
        pytest.param(
            a_status(a_container_status(number=1, state=Running(at(56)))),
            Skip.INITIAL_DELAY,
            id="initial-delay",
        ),
        pytest.param(a_status(a_container_status(number=1)), None, id="a-probe"),
    ],
)
def test_it_can_be_foreseen_what_a_tick_would_do(
    status: PodStatus | None, skip: Skip | Exit | None
) -> None:
    bench = a_probed(failure_threshold=1, initial_delay_seconds=5)
    bench.record(FAILURE)

    assert bench.worker.foresee(status, at(60)) is skip


STATES = st.sampled_from([RUNNING, Running(), Waiting(), EXITED, None])
CONTAINERS = st.builds(
    a_container_status,
    st.sampled_from(["app", "other"]),
    st.integers(0, 2),
    STATES,
    started=st.sampled_from([True, False, None]),
)
STATUSES = st.none() | st.builds(a_status, CONTAINERS, phase=st.sampled_from(PodPhase))
INSTANTS = st.integers(0, 9).map(at)


@given(
    st.sampled_from(ProbeType),
    st.lists(st.tuples(STATUSES, INSTANTS, st.sampled_from(Result)), max_size=12),
    STATUSES,
    INSTANTS,
    st.sampled_from(RestartPolicy),
    st.booleans(),
)
def test_what_is_foreseen_is_what_the_next_tick_does(
    kind: ProbeType,
    past: list[tuple[PodStatus | None, Any, Result]],
    status: PodStatus | None,
    now: Any,
    policy: RestartPolicy,
    is_deleted: bool,  # noqa: FBT001  # hypothesis gives it by its place
) -> None:
    bench = Bench(kind, failure_threshold=1, initial_delay_seconds=3)
    for earlier, when, result in past:
        if isinstance(bench.worker.decide(earlier, bench.results, when), ProbeNow):
            bench.record(result)

    bench.worker.pod = replace(
        bench.worker.pod,
        restart_policy=policy,
        deletion_requested_at=START if is_deleted else None,
    )

    foreseen = bench.worker.foresee(status, now)
    decision = bench.worker.decide(status, bench.results, now)

    assert foreseen == (None if isinstance(decision, ProbeNow) else decision)


@given(st.lists(st.tuples(STATUSES, INSTANTS), max_size=12))
def test_to_foresee_changes_nothing(
    past: list[tuple[PodStatus | None, Any]],
) -> None:
    bench, twin = Bench(failure_threshold=1), Bench(failure_threshold=1)

    for status, now in past:
        bench.worker.foresee(status, now)

        assert bench.worker.decide(status, bench.results, now) == twin.worker.decide(
            status, twin.results, now
        )
        assert bench.consume_updates() == twin.consume_updates()


def test_a_changed_definition_applies_to_the_next_decision() -> None:
    bench = a_probed()

    bench.worker.pod = replace(bench.worker.pod, deletion_requested_at=START)

    assert bench.decide(a_container_status()) is Exit.POD_DELETED
