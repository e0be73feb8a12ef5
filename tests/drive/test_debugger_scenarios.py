"""Scenarios of the debugger: steps, break-points, injected results and faults."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from probetui.debugger.commands import (
    Bookmark,
    BreakpointKind,
    ClearBackoff,
    DelayProbes,
    DryRunProbe,
    EditProbe,
    InjectContainerFault,
    Injected,
    InjectResults,
    KillContainer,
    MuteProbes,
    PauseProbes,
    RestartContainer,
    ResumeProbes,
    RunToChange,
    SetBreakpoints,
    StepProbe,
    TriggerProbe,
    UnmuteProbes,
)
from probetui.debugger.scope import ALL_PROBES, Scope
from probetui.debugger.timing import Timing
from probetui.drive.scenario.behavior import CallBehavior, InstanceBehavior, ProbeAnswer
from probetui.engine.inputs import AddPod, DeletePod
from probetui.engine.snapshot import UpcomingKind
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ExecAction, ProbeKey, ProbeType
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import Fault, InjectFault, Operation, Relist
from probetui.kubelet.journal import (
    DryRunEntry,
    EventEntry,
    ExitCause,
    LifecycleStep,
    NoteEntry,
    PodGoneEntry,
    StateField,
    TickAction,
    TickEntry,
    UserEntry,
)
from probetui.kubelet.kuberuntime.container_hash import container_hash
from probetui.kubelet.outcome import ProbeResult, Result
from tests.builders import (
    a_container,
    a_grpc_probe,
    a_key,
    a_pod,
    a_probe,
    a_tcp_probe,
    an_exec_probe,
    an_http_probe,
    at,
)
from tests.drive.engine_bench import (
    ERRS,
    FAILS,
    SUCCEEDS,
    EngineBench,
    always,
    in_turn,
    probing,
    seconds,
)

LIVENESS, READINESS, STARTUP = ProbeType
LIVE, READY, START_UP = (a_key(probe_type) for probe_type in ProbeType)
POD_UID = "uid-of-web"

FAILURE = Injected.FAILURE
ERRORED = Injected.ERRORED


def probed(**probes: dict[str, Any]) -> Pod:
    """Return a pod with probes (`liveness={…}`); the default period is one second."""
    fields: dict[str, Any] = {
        f"{kind}_probe": a_probe(**{"period_seconds": 1, **fields})
        for kind, fields in probes.items()
    }
    return a_pod(a_container(**fields))


def simulate(pod: Pod, until: float, **by_type: Any) -> EngineBench:
    """Return a bench that has run up to that second."""
    bench = EngineBench(pod, probing=probing(**by_type))
    bench.run_until(until)
    return bench


def runs(bench: EngineBench, kind: ProbeType = LIVENESS) -> list[TickEntry]:
    """Return the ticks of one worker that probed, with a result or an error."""
    return [tick for tick in bench.ticks(kind) if tick.attempts]


def user_words(bench: EngineBench) -> list[tuple[str, str]]:
    return [(entry.command, entry.target) for entry in bench.of(UserEntry)]


def is_killed(bench: EngineBench) -> bool:
    return bool(bench.lifecycle_entries(LifecycleStep.STOPPING))


class TestInjectedResults:
    def test_the_next_runs_have_the_injected_results_in_order(self) -> None:
        bench = simulate(probed(liveness={"failure_threshold": 9}), 5)
        before = len(runs(bench))

        bench.send(InjectResults(LIVE, (FAILURE, Injected.WARNING, ERRORED)))
        bench.run_until(10)

        ticks = runs(bench)[before:]
        assert [tick.overridden.injected for tick in ticks] == [
            True,
            True,
            True,
            False,
            False,
        ]
        assert [tick.attempts[-1].result for tick in ticks[:3]] == [
            ProbeResult.FAILURE,
            ProbeResult.WARNING,
            ProbeResult.UNKNOWN,
        ]
        assert [tick.result for tick in ticks[:3]] == [
            Result.FAILURE,
            Result.SUCCESS,
            None,
        ]

    def test_a_tick_with_an_injected_result_does_not_run_the_probe(self) -> None:
        ages: list[float] = []

        def answer(age: float) -> ProbeAnswer:
            ages.append(age)
            return SUCCEEDS

        bench = EngineBench(probed(liveness={}), probing=probing(liveness=answer))
        bench.run_until(5)
        before = len(ages)

        bench.send(InjectResults(LIVE, (Injected.SUCCESS,) * 3))
        bench.run_until(8.5)

        assert len(ages) == before
        assert len([run for run in runs(bench) if run.overridden.injected]) == 3

    def test_three_injected_failures_kill_as_three_real_ones_would(self) -> None:
        bench = simulate(probed(liveness={}), 5)

        bench.send(InjectResults(LIVE, (FAILURE,) * 3))
        bench.run_until(60)

        assert [
            entry.by for entry in bench.lifecycle_entries(LifecycleStep.EXITED)
        ] == [ExitCause.LIVENESS]
        assert [run.action for run in runs(bench) if run.overridden.injected] == [
            TickAction.NONE,
            TickAction.NONE,
            TickAction.KILL,
        ]

    def test_an_injected_error_is_attempted_three_times_and_ignored(self) -> None:
        bench = simulate(
            probed(liveness={"failure_threshold": 2}),
            5,
            liveness=in_turn(*[SUCCEEDS] * 4, FAILS),
        )
        run_before = runs(bench)[-1].run.count

        bench.send(InjectResults(LIVE, (ERRORED,)))
        bench.run_until(bench.now + 1)

        tick = runs(bench)[-1]
        assert (len(tick.attempts), tick.action) == (3, TickAction.DISCARDED)
        assert tick.run.count == run_before

    @pytest.mark.parametrize(
        ("probe", "words"),
        [
            pytest.param(
                an_exec_probe("cat", "/tmp/healthy", timeout_seconds=2),
                'command timed out: "cat /tmp/healthy" timed out after 2s',
                id="exec",
            ),
            pytest.param(
                an_http_probe(timeout_seconds=2),
                'Get "http://10.0.0.1:8080/healthz": context deadline exceeded '
                "(Client.Timeout exceeded while awaiting headers)",
                id="http",
            ),
            pytest.param(
                a_tcp_probe(timeout_seconds=2),
                "dial tcp 10.0.0.1:8080: i/o timeout",
                id="tcp",
            ),
            pytest.param(
                a_grpc_probe(timeout_seconds=2),
                "timeout: health rpc did not complete within 2s",
                id="grpc",
            ),
        ],
    )
    def test_an_injected_time_out_lasts_as_long_and_has_the_handlers_message(
        self, probe: Any, words: str
    ) -> None:
        pod = a_pod(a_container(liveness_probe=probe))
        bench = simulate(pod, 15)

        bench.send(InjectResults(LIVE, (Injected.TIMED_OUT,)))
        bench.run_until(40)

        tick = next(run for run in runs(bench) if run.overridden.injected)
        assert tick.attempts[-1].output == f"injected: {words}"
        assert tick.result is Result.FAILURE
        assert tick.timing.duration.total_seconds() == 2

    def test_a_time_out_that_is_under_way_ends_while_paused(self) -> None:
        bench = simulate(probed(liveness={"timeout_seconds": 3}), 5)
        bench.send(InjectResults(LIVE, (Injected.TIMED_OUT,)))
        bench.run_until(6.5)

        bench.send(PauseProbes())
        bench.run_until(20)

        assert runs(bench)[-1].overridden.injected
        assert bench.probe(LIVENESS).in_flight_since is None

    def test_the_snapshot_shows_pending_injected_results(self) -> None:
        bench = simulate(probed(liveness={"failure_threshold": 9}), 5)

        bench.send(InjectResults(LIVE, (FAILURE, ERRORED, FAILURE)))
        bench.run_until(bench.now + 1)

        assert bench.probe(LIVENESS).injections == (ERRORED, FAILURE)
        assert user_words(bench) == [
            ("inject", "web/app liveness: failure, errored, failure")
        ]

    def test_an_empty_injection_restores_the_real_probe(self) -> None:
        bench = simulate(probed(liveness={"failure_threshold": 9}), 5)
        bench.send(InjectResults(LIVE, (FAILURE,) * 3))
        bench.run_until(6.5)

        bench.send(InjectResults(LIVE, ()))
        bench.run_until(10)

        assert sum(run.overridden.injected for run in runs(bench)) <= 2
        assert bench.probe(LIVENESS).injections == ()

    def test_a_new_injection_replaces_the_old_one(self) -> None:
        bench = simulate(probed(liveness={"failure_threshold": 9}), 5)
        bench.send(InjectResults(LIVE, (FAILURE,) * 3))

        bench.send(InjectResults(LIVE, (ERRORED,)))

        assert bench.probe(LIVENESS).injections == (ERRORED,)

    def test_a_skipped_tick_consumes_no_injected_result(self) -> None:
        bench = simulate(probed(liveness={"initial_delay_seconds": 10}), 3)

        bench.send(InjectResults(LIVE, (FAILURE,)))
        bench.run_until(8)

        assert bench.probe(LIVENESS).injections == (FAILURE,)

    def test_results_can_be_injected_before_there_is_a_worker(self) -> None:
        bench = EngineBench(probed(liveness={}))

        bench.send(InjectResults(LIVE, (FAILURE,)))
        bench.run_until(5)

        assert [run.overridden.injected for run in runs(bench)][:2] == [True, False]

    def test_a_triggered_tick_consumes_an_injected_result(self) -> None:
        bench = simulate(probed(liveness={"period_seconds": 30}), 40)
        bench.send(InjectResults(LIVE, (FAILURE,)))

        bench.send(TriggerProbe(LIVE))
        bench.run_until(bench.now + 1)

        assert runs(bench)[-1].overridden.injected

    def test_the_event_names_the_result_as_injected(self) -> None:
        bench = simulate(probed(liveness={}), 5)

        bench.send(InjectResults(LIVE, (FAILURE,)))
        bench.run_until(bench.now + 1)

        (event,) = [e for e in bench.of(EventEntry) if e.event.reason == "Unhealthy"]
        assert event.event.message == "Liveness probe failed: injected failure"
        assert event.tick is not None
        assert event.tick.overridden.injected


class TestDelays:
    """Probes whose answers the user delays."""

    def test_every_run_is_delayed_until_the_delay_is_removed(self) -> None:
        bench = simulate(
            probed(liveness={"timeout_seconds": 3, "period_seconds": 4}), 5
        )
        before = len(runs(bench))

        bench.send(DelayProbes(Scope.of(LIVE), timedelta(seconds=1.5)))
        bench.run_until(13)
        bench.send(DelayProbes(Scope.of(LIVE), timedelta()))
        bench.run_until(20)

        ticks = runs(bench)[before:]
        assert [tick.timing.duration / timedelta(seconds=1) for tick in ticks[:3]] == [
            1.5, 1.5, 0
        ]  # fmt: skip
        assert [tick.overridden.delay.total_seconds() for tick in ticks[:3]] == [
            1.5,
            1.5,
            0,
        ]
        assert {tick.result for tick in ticks} == {Result.SUCCESS}
        assert user_words(bench) == [
            ("delay", "web/app liveness: 1.5s"),
            ("delay", "web/app liveness: nothing"),
        ]

    def test_a_delay_as_long_as_the_limit_makes_time_outs_that_kill(self) -> None:
        pod = probed(liveness={"timeout_seconds": 2, "failure_threshold": 2,
                               "period_seconds": 5})  # fmt: skip
        bench = simulate(pod, 6)

        bench.send(DelayProbes(ALL_PROBES, timedelta(seconds=2)))
        bench.run_until(18)

        first, second = runs(bench)[1:3]
        assert first.timing.duration == second.timing.duration == timedelta(seconds=2)
        assert not first.overridden.injected
        assert second.action is TickAction.KILL
        events = [text for _, text in bench.events("Unhealthy")]
        assert events[0] == (
            'Liveness probe failed: command timed out: "true" timed out after 2s'
        )

    def test_a_probe_is_in_flight_until_its_delayed_answer_arrives(self) -> None:
        bench = simulate(
            probed(liveness={"timeout_seconds": 9, "period_seconds": 1}), 1
        )
        bench.send(DelayProbes(ALL_PROBES, timedelta(seconds=8)))

        bench.run_until(5)

        assert bench.probe(LIVENESS).in_flight_since == at(2)
        assert bench.probe(LIVENESS).delay == timedelta(seconds=8)
        assert runs(bench) == []

    def test_removing_a_delay_does_not_release_a_held_answer(
        self,
    ) -> None:
        bench = simulate(
            probed(liveness={"timeout_seconds": 9, "period_seconds": 5}), 6
        )
        bench.send(DelayProbes(ALL_PROBES, timedelta(seconds=8)))
        bench.run_until(11)

        bench.send(DelayProbes(ALL_PROBES, timedelta()))
        bench.run_until(30)

        lengths = [run.timing.duration.total_seconds() for run in runs(bench)]
        assert lengths[:4] == [0, 8, 0, 0]

    def test_a_delayed_answer_arrives_while_probes_are_paused(self) -> None:
        bench = simulate(
            probed(liveness={"timeout_seconds": 9, "period_seconds": 5}), 6
        )
        bench.send(DelayProbes(ALL_PROBES, timedelta(seconds=3)))
        bench.run_until(11)

        bench.send(PauseProbes())
        bench.run_until(20)

        assert [seconds(run.at) for run in runs(bench)] == [5, 13]

    def test_injected_results_and_dry_runs_are_not_delayed(self) -> None:
        bench = simulate(
            probed(liveness={"timeout_seconds": 9, "period_seconds": 5}), 6
        )
        bench.send(DelayProbes(ALL_PROBES, timedelta(seconds=3)))

        bench.send(InjectResults(LIVE, (FAILURE,)))
        bench.send(DryRunProbe(LIVE))
        bench.run_until(12)

        assert [run.overridden.delay for run in runs(bench)] == [timedelta()] * 2
        assert [entry.duration for entry in bench.of(DryRunEntry)] == [timedelta()]

    def test_a_delay_survives_a_restart_but_not_the_end_of_the_pod(self) -> None:
        bench = simulate(probed(liveness={"timeout_seconds": 1, "failure_threshold": 1,
                                        "period_seconds": 2}), 1)  # fmt: skip
        bench.send(DelayProbes(Scope(POD_UID), timedelta(seconds=5)))
        bench.run_until(40)
        kills = len(bench.lifecycle_entries(LifecycleStep.STOPPING))

        bench.send(DeletePod(POD_UID))
        bench.run_until(120)
        bench.send(DelayProbes(Scope(POD_UID), -timedelta(seconds=1)))

        assert kills > 1
        assert not bench.engine._overrides.delays
        assert "not delayed" in bench.of(NoteEntry)[-1].text

    def test_a_delayed_failure_can_be_held_back_before_a_kill(self) -> None:
        bench = simulate(probed(liveness={"failure_threshold": 1}), 1)
        bench.send(SetBreakpoints(frozenset({BreakpointKind.BEFORE_KILL})))

        bench.send(DelayProbes(ALL_PROBES, timedelta(seconds=5)))
        bench.run_until(9)

        assert bench.probe(LIVENESS).is_result_held
        assert not is_killed(bench)


class TestMuting:
    def test_a_muted_liveness_probe_never_kills_and_is_counted(self) -> None:
        bench = EngineBench(
            probed(liveness={}), probing=probing(liveness=always(FAILS))
        )

        bench.send(MuteProbes(Scope.of(LIVE)))
        bench.run_until(30)

        assert not is_killed(bench)
        assert bench.probe(LIVENESS).muted
        assert bench.probe(LIVENESS).result_run > 20
        assert len(bench.times("Unhealthy")) == len(runs(bench))
        assert runs(bench)[-1].overridden.muted

    def test_past_the_threshold_the_action_is_muted(self) -> None:
        bench = EngineBench(
            probed(liveness={}), probing=probing(liveness=always(FAILS))
        )

        bench.send(MuteProbes(ALL_PROBES))
        bench.run_until(10)

        actions = [run.action for run in runs(bench)]
        assert actions[:4] == [
            TickAction.NONE,
            TickAction.NONE,
            TickAction.MUTED,
            TickAction.MUTED,
        ]
        assert {run.stored.after for run in runs(bench)} == {Result.SUCCESS}
        assert not any(run.hold.after for run in runs(bench))

    def test_what_is_past_its_threshold_kills_at_its_next_failure(self) -> None:
        bench = EngineBench(
            probed(liveness={}), probing=probing(liveness=always(FAILS))
        )
        bench.send(MuteProbes(Scope.of(LIVE)))
        bench.run_until(10.5)

        bench.send(UnmuteProbes(Scope.of(LIVE)))
        was_killed_at_once = is_killed(bench)
        bench.run_until(12)

        assert not was_killed_at_once
        (kill,) = bench.lifecycle_entries(LifecycleStep.STOPPING)
        assert kill.by is ExitCause.LIVENESS
        assert [run.action for run in runs(bench)][-1] is TickAction.KILL

    def test_a_success_after_un_muting_kills_nothing(self) -> None:
        bench = EngineBench(
            probed(liveness={}),
            probing=probing(liveness=lambda age: FAILS if age < 8 else SUCCEEDS),
        )
        bench.send(MuteProbes(ALL_PROBES))
        bench.run_until(12)

        bench.send(UnmuteProbes(ALL_PROBES))
        bench.run_until(60)

        assert not is_killed(bench)

    def test_muted_readiness_stays_as_it_is(self) -> None:
        bench = EngineBench(
            probed(readiness={"failure_threshold": 1}),
            probing=probing(readiness=lambda age: SUCCEEDS if age < 8 else FAILS),
        )
        bench.run_until(5)

        bench.send(MuteProbes(Scope.of(READY)))
        bench.run_until(30)

        status = bench.container().status
        assert status is not None
        assert status.ready
        assert runs(bench, READINESS)[-1].result is Result.FAILURE

    def test_a_container_with_a_muted_startup_probe_never_starts_up(self) -> None:
        bench = EngineBench(probed(startup={}, liveness={}))

        bench.send(MuteProbes(Scope.of(START_UP)))
        bench.run_until(20)

        status = bench.container().status
        assert status is not None
        assert status.started is False
        assert runs(bench, LIVENESS) == []

    def test_all_but_one_can_be_muted(self) -> None:
        bench = simulate(probed(liveness={}, readiness={}), 5)

        bench.send(MuteProbes(ALL_PROBES))
        bench.send(UnmuteProbes(Scope.of(READY)))

        assert bench.probe(LIVENESS).muted
        assert not bench.probe(READINESS).muted

    def test_a_pod_that_is_added_later_is_muted_with_all(self) -> None:
        bench = EngineBench(probing=probing(liveness=always(FAILS)))
        bench.send(MuteProbes(ALL_PROBES))

        bench.send(AddPod(probed(liveness={})))
        bench.run_until(30)

        assert not is_killed(bench)
        assert len(runs(bench)) > 20

    def test_muting_is_journaled_with_its_scope(self) -> None:
        bench = simulate(probed(liveness={}), 5)

        bench.send(MuteProbes(Scope(POD_UID, "app")))
        bench.send(UnmuteProbes(ALL_PROBES))

        assert user_words(bench) == [("mute", "web/app"), ("unmute", "all probes")]


class TestDryRuns:
    def test_a_dry_run_is_shown_and_does_not_count(self) -> None:
        bench = simulate(
            probed(liveness={"period_seconds": 10}), 12, liveness=always(FAILS)
        )
        before = bench.probe(LIVENESS)
        ticks = len(bench.of(TickEntry))

        bench.send(DryRunProbe(LIVE))
        bench.run_until(bench.now + 1)

        (dry_run,) = bench.of(DryRunEntry)
        after = bench.probe(LIVENESS)
        assert (dry_run.key, dry_run.result) == (LIVE, Result.FAILURE)
        assert dry_run.attempts[-1].output == "not well"
        assert len(bench.of(TickEntry)) == ticks
        assert (after.result_run, after.ticks) == (before.result_run, before.ticks)
        assert after.next_tick_at == before.next_tick_at

    def test_a_dry_run_makes_no_event(self) -> None:
        bench = simulate(
            probed(liveness={"initial_delay_seconds": 60}), 5, liveness=always(FAILS)
        )

        bench.send(DryRunProbe(LIVE))
        bench.run_until(10)

        assert bench.of(DryRunEntry) != []
        assert bench.times("Unhealthy") == []

    def test_a_dry_run_does_not_wait_for_a_pause_to_end(self) -> None:
        bench = simulate(probed(liveness={}), 5)
        bench.send(PauseProbes())

        bench.send(DryRunProbe(LIVE))
        bench.run_until(6)

        assert len(bench.of(DryRunEntry)) == 1

    def test_there_is_one_dry_run_at_a_time(self) -> None:
        slow = ProbeAnswer(FAILS.attempt, timedelta(seconds=3))
        bench = simulate(
            probed(liveness={"initial_delay_seconds": 60}), 5, liveness=always(slow)
        )
        bench.send(DryRunProbe(LIVE))
        since = bench.probe(LIVENESS).trying_since

        bench.send(DryRunProbe(LIVE))
        bench.run_until(20)

        assert since == at(5)
        assert len(bench.of(DryRunEntry)) == 1
        assert bench.notes()[0][1].endswith("not tried: a try is under way already")
        assert bench.probe(LIVENESS).trying_since is None

    def test_a_dry_run_consumes_no_injected_result(self) -> None:
        bench = simulate(probed(liveness={"period_seconds": 30}), 32)
        bench.send(InjectResults(LIVE, (FAILURE,)))

        bench.send(DryRunProbe(LIVE))
        bench.run_until(33)

        assert bench.of(DryRunEntry)[0].result is Result.SUCCESS
        assert bench.probe(LIVENESS).injections == (FAILURE,)

    @pytest.mark.parametrize(
        ("key", "why"),
        [
            pytest.param(READY, "there is no such probe", id="no-such-probe"),
            pytest.param(
                ProbeKey("gone", "app", LIVENESS), "there is no such pod", id="no-pod"
            ),
            pytest.param(LIVE, "the container does not run", id="not-running"),
        ],
    )
    def test_a_dry_run_that_is_impossible_is_refused_with_a_reason(
        self, key: ProbeKey, why: str
    ) -> None:
        bench = EngineBench(probed(liveness={}))

        bench.send(DryRunProbe(key))

        (note,) = bench.of(NoteEntry)
        assert note.text.endswith(f"not tried: {why}")
        assert note.is_fault


class TestEditing:
    def timing(self, **fields: int) -> Timing:
        usual = {
            "initial_delay_seconds": 0,
            "timeout_seconds": 1,
            "period_seconds": 1,
            "success_threshold": 1,
            "failure_threshold": 3,
        }
        return Timing(**{**usual, **fields})

    def test_the_worker_uses_the_new_period_from_now_on(self) -> None:
        bench = simulate(probed(liveness={}), 10.5)

        bench.send(EditProbe(LIVE, self.timing(period_seconds=5)))
        bench.run_until(30)

        assert bench.probed(LIVENESS)[-3:] == [15.5, 20.5, 25.5]

    def test_a_tick_has_the_period_that_was_in_force(self) -> None:
        bench = simulate(probed(liveness={"period_seconds": 2}), 5)

        bench.send(EditProbe(LIVE, self.timing(period_seconds=5)))
        bench.run_until(16)

        periods = [tick.timing.period_seconds for tick in runs(bench)]
        assert list(dict.fromkeys(periods)) == [2, 5]

    def test_the_new_threshold_counts_for_the_next_result(self) -> None:
        bench = EngineBench(
            probed(liveness={}), probing=probing(liveness=always(FAILS))
        )
        bench.send(EditProbe(LIVE, self.timing(failure_threshold=10)))

        bench.run_until(9)

        assert not is_killed(bench)
        assert runs(bench)[-1].run.threshold == 10

    def test_no_container_restarts_and_no_hash_changes(self) -> None:
        pod = probed(liveness={})
        bench = simulate(pod, 5)
        before = container_hash(pod.containers[0])

        bench.send(EditProbe(LIVE, self.timing(period_seconds=7)))
        bench.run_until(60)

        container = bench.container()
        assert container_hash(container.container) == before
        assert container.status is not None
        assert container.status.restart_count == 0
        assert not is_killed(bench)

    def test_the_snapshot_has_the_old_and_the_new_timing(self) -> None:
        bench = simulate(probed(liveness={}), 5)

        bench.send(EditProbe(LIVE, self.timing(timeout_seconds=4)))

        probe = bench.probe(LIVENESS)
        assert probe.probe.timeout_seconds == 4
        assert probe.manifest_probe is not None
        assert probe.manifest_probe.timeout_seconds == 1
        assert user_words(bench) == [
            ("edit", "web/app liveness: timeoutSeconds 1 -> 4")
        ]

    def test_the_timing_of_the_manifest_can_be_restored(self) -> None:
        bench = simulate(probed(liveness={}), 5)
        bench.send(EditProbe(LIVE, self.timing(period_seconds=9)))

        bench.send(EditProbe(LIVE, None))

        probe = bench.probe(LIVENESS)
        assert (probe.probe.period_seconds, probe.manifest_probe) == (1, None)

    def test_what_the_api_server_would_refuse_is_refused(self) -> None:
        bench = simulate(probed(liveness={}), 5)

        bench.send(EditProbe(LIVE, self.timing(success_threshold=2)))

        (note,) = bench.of(NoteEntry)
        assert note.text == (
            "web/app liveness: not changed: "
            "successThreshold: is 2, must be 1 for a liveness probe"
        )
        assert bench.probe(LIVENESS).manifest_probe is None

    def test_a_missing_probe_cannot_be_edited(self) -> None:
        bench = simulate(probed(liveness={}), 5)

        bench.send(EditProbe(READY, self.timing()))

        (note,) = bench.of(NoteEntry)
        assert note.text == "web/app readiness: not changed: there is no such probe"

    def test_a_pod_that_is_added_again_has_the_timing_of_its_manifest(self) -> None:
        pod = probed(liveness={})
        bench = simulate(pod, 5)
        bench.send(EditProbe(LIVE, self.timing(period_seconds=9)))
        bench.send(MuteProbes(Scope.of(LIVE)))
        bench.send(InjectResults(LIVE, (FAILURE,) * 50))
        bench.send(DeletePod(POD_UID))
        bench.run_until(100)

        bench.send(AddPod(pod))
        bench.run_until(110)

        probe = bench.probe(LIVENESS)
        assert probe.manifest_probe is None
        assert not probe.muted
        assert probe.injections == ()

    def test_a_restarted_container_keeps_the_edited_timing(self) -> None:
        bench = simulate(probed(liveness={}), 5)
        bench.send(EditProbe(LIVE, self.timing(period_seconds=4)))

        bench.send(RestartContainer(POD_UID, "app"))
        bench.run_until(60)

        gaps = {
            after - before
            for before, after in zip(
                bench.probed(LIVENESS)[-4:], bench.probed(LIVENESS)[-3:], strict=False
            )
        }
        assert gaps == {4.0}


class TestContainers:
    def test_a_kill_gives_no_grace_and_runs_no_hook(self) -> None:
        container = a_container(pre_stop=ExecAction(("sleep", "9")))
        bench = EngineBench(
            a_pod(container), lives={"app": (InstanceBehavior(stops_after=None),)}
        )
        bench.run_until(5)

        bench.send(KillContainer(POD_UID, "app"))
        bench.run_until(10)

        (exited,) = bench.lifecycle_entries(LifecycleStep.EXITED)
        assert (exited.exit_code, exited.by) == (137, ExitCause.USER)
        assert seconds(exited.at) < 7
        assert bench.lifecycle_entries(LifecycleStep.STARTED)[-1].restart_count == 1

    @pytest.mark.parametrize(
        ("disruption", "exit_code"),
        [
            pytest.param(Fault.STOP, 143, id="stop"),
            pytest.param(Fault.KILL, 137, id="kill"),
        ],
    )
    def test_a_signal_to_the_main_process_ends_the_container(
        self, disruption: Fault, exit_code: int
    ) -> None:
        bench = EngineBench(a_pod(), lives={"app": (InstanceBehavior(stop_code=143),)})
        bench.run_until(5)

        bench.send(InjectContainerFault(POD_UID, "app", disruption))
        bench.run_until(10)

        (exited,) = bench.lifecycle_entries(LifecycleStep.EXITED)
        assert (exited.exit_code, exited.by) == (exit_code, ExitCause.USER)

    def test_an_error_of_the_runtime_is_noted_with_its_message(self) -> None:
        def refuse_signals(call: Operation | Relist) -> CallBehavior:
            return CallBehavior(
                error="no scissors" if isinstance(call, InjectFault) else ""
            )

        bench = EngineBench(a_pod(), dealing=refuse_signals)
        bench.run_until(5)

        bench.send(InjectContainerFault(POD_UID, "app", Fault.CUT_NETWORK))
        bench.run_until(6)

        assert bench.notes() == [(5.0, "cut network failed: no scissors", True)]

    def test_a_frozen_container_times_out_until_it_is_killed(self) -> None:
        bench = simulate(probed(liveness={"timeout_seconds": 1}), 5)

        bench.send(InjectContainerFault(POD_UID, "app", Fault.FREEZE))
        bench.run_until(6)
        frozen_since = bench.container().frozen_since
        bench.run_until(60)

        (exited,) = bench.lifecycle_entries(LifecycleStep.EXITED)
        (stopping,) = bench.lifecycle_entries(LifecycleStep.STOPPING)
        assert frozen_since == at(5)
        assert (exited.exit_code, exited.by) == (137, ExitCause.LIVENESS)
        assert (exited.at - stopping.at).total_seconds() >= 30
        assert bench.container().frozen_since is None

    def test_a_container_that_is_thawed_in_time_is_not_killed(self) -> None:
        bench = simulate(probed(liveness={"failure_threshold": 9}), 5)
        bench.send(InjectContainerFault(POD_UID, "app", Fault.FREEZE))
        bench.run_until(10)
        failures = bench.probe(LIVENESS).failures

        bench.send(InjectContainerFault(POD_UID, "app", Fault.UNFREEZE))
        bench.run_until(30)

        assert failures > 0
        assert bench.probe(LIVENESS).last_result is Result.SUCCESS
        assert bench.container().frozen_since is None

    def test_a_pod_that_is_cut_off_answers_commands_only(self) -> None:
        container = a_container(
            liveness_probe=an_exec_probe("true", period_seconds=1),
            readiness_probe=an_http_probe(period_seconds=1),
        )
        bench = simulate(a_pod(container), 5)

        bench.send(InjectContainerFault(POD_UID, "app", Fault.CUT_NETWORK))
        bench.run_until(20)
        cut = [
            bench.probe(probe_type).last_result for probe_type in (LIVENESS, READINESS)
        ]
        bench.send(InjectContainerFault(POD_UID, "app", Fault.RESTORE_NETWORK))
        bench.run_until(30)

        assert cut == [Result.SUCCESS, Result.FAILURE]
        assert bench.container().cut_off_since is None
        assert bench.probe(READINESS).last_result is Result.SUCCESS

    def test_a_container_that_is_restarted_is_still_cut_off(self) -> None:
        bench = simulate(a_pod(), 5)
        bench.send(InjectContainerFault(POD_UID, "app", Fault.CUT_NETWORK))
        bench.run_until(6)

        bench.send(KillContainer(POD_UID, "app"))
        bench.run_until(20)

        assert bench.lifecycle_entries(LifecycleStep.STARTED)[-1].restart_count == 1
        assert bench.container().cut_off_since == at(5)

    def test_commands_for_an_unknown_pod_are_ignored(self) -> None:
        bench = EngineBench(a_pod())

        bench.send(KillContainer("gone", "app"))
        bench.send(ClearBackoff(POD_UID, "gone"))

        assert bench.of(UserEntry) == []

    def test_a_watched_container_is_left_alone(self) -> None:
        bench = EngineBench(a_pod(), config=KubeletConfig(kills=False))
        bench.run_until(5)

        bench.send(KillContainer(POD_UID, "app"))
        bench.run_until(10)

        assert bench.notes()[-1][1:] == ("web/app is only watched", False)
        assert bench.lifecycle_entries(LifecycleStep.EXITED) == []

    def test_a_container_that_does_not_run_is_left_alone(self) -> None:
        bench = EngineBench(a_pod())

        bench.send(KillContainer(POD_UID, "app"))
        bench.run_until(5)

        assert bench.notes()[0][1] == "web/app does not run: nothing was done to it"
        assert bench.lifecycle_entries(LifecycleStep.EXITED) == []

    def test_without_its_back_off_a_container_starts_at_once(self) -> None:
        crash = InstanceBehavior(timedelta(seconds=1), exit_code=1)
        bench = EngineBench(
            a_pod(), lives={"app": (crash,) * 4 + (InstanceBehavior(),)}
        )
        bench.run_until(60)
        waits = bench.container().backoff
        assert waits is not None
        assert waits.until is not None

        bench.send(ClearBackoff(POD_UID, "app"))
        bench.run_until(63)

        assert (
            60 <= seconds(bench.lifecycle_entries(LifecycleStep.STARTED)[-1].at) <= 62
        )
        assert bench.starts()[-1][1:] == (0, False)
        assert ("clear back-off", "web/app") in user_words(bench)


class TestHeldBack:
    """The clock runs on during a pause; a tick has the time that it was held back."""

    def held(self, bench: EngineBench) -> list[float]:
        return [tick.overridden.held.total_seconds() for tick in bench.ticks(LIVENESS)][
            1:
        ]

    def test_a_step_that_was_due_has_the_time_it_was_held_back(self) -> None:
        bench = simulate(probed(liveness={"period_seconds": 5}), 6)
        bench.send(PauseProbes())
        bench.run_until(17)

        bench.send(StepProbe())
        bench.run_until(17.5)
        bench.send(StepProbe())
        bench.run_until(18)

        assert self.held(bench) == [0, 7, 0]

    def test_after_a_pause_the_tick_that_waited_has_its_lateness_and_the_next_has_none(
        self,
    ) -> None:
        bench = simulate(probed(liveness={"period_seconds": 5}), 6)
        bench.send(PauseProbes())
        bench.run_until(13)

        bench.send(ResumeProbes())
        bench.run_until(16)

        assert self.held(bench) == [0, 3, 0]

    def test_a_skipped_tick_has_its_lateness_too(self) -> None:
        bench = simulate(
            probed(liveness={"period_seconds": 5, "initial_delay_seconds": 60}), 6
        )
        bench.send(PauseProbes())
        bench.run_until(12)

        bench.send(StepProbe())

        assert self.held(bench)[-1] == 2

    def test_a_triggered_tick_was_not_held_back(self) -> None:
        bench = simulate(probed(liveness={"period_seconds": 5}), 6)
        bench.send(PauseProbes())
        bench.run_until(17)

        bench.send(TriggerProbe(LIVE))
        bench.run_until(18)

        assert self.held(bench) == [0, 0]


class TestFreezingWhilePaused:
    """With `--freeze`, containers are frozen while probes are paused."""

    def simulate(self, **config: Any) -> EngineBench:
        bench = EngineBench(
            probed(liveness={"period_seconds": 5}),
            config=KubeletConfig(freezes=True, **config),
            probing=probing(),
        )
        bench.run_until(6)
        return bench

    def test_a_pause_freezes_and_a_resume_thaws(self) -> None:
        bench = self.simulate()

        bench.send(PauseProbes())
        bench.run_until(20)
        paused = bench.container().frozen_since
        bench.send(ResumeProbes())
        bench.run_until(21)

        assert paused == at(6)
        assert bench.container().frozen_since is None

    def test_a_break_point_freezes_too_and_run_to_change_thaws(self) -> None:
        bench = self.simulate()
        bench.send(SetBreakpoints(frozenset({BreakpointKind.FIRST_FAILURE})))
        bench.send(InjectResults(LIVE, (FAILURE,)))
        bench.run_until(12)
        paused = bench.container().frozen_since

        bench.send(SetBreakpoints(frozenset()))
        bench.send(RunToChange())
        bench.run_until(13)

        assert paused == at(10)
        assert bench.container().frozen_since is None

    def test_a_container_that_the_user_froze_stays_frozen(self) -> None:
        bench = self.simulate()
        bench.send(InjectContainerFault(POD_UID, "app", Fault.FREEZE))
        bench.run_until(7)

        bench.send(PauseProbes())
        bench.send(ResumeProbes())
        bench.run_until(8)

        assert bench.container().frozen_since == at(6)

    def test_a_watched_container_is_left_alone(self) -> None:
        bench = self.simulate(kills=False)

        bench.send(PauseProbes())
        bench.run_until(8)

        assert bench.container().frozen_since is None
        assert user_words(bench) == [("pause", "all probes")]

    def test_a_container_is_thawed_for_its_step_and_frozen_again(self) -> None:
        bench = self.simulate()
        bench.send(PauseProbes())
        bench.run_until(20)

        bench.send(StepProbe())
        bench.run_until(21)

        assert bench.probe(LIVENESS).last_result is Result.SUCCESS
        assert len(bench.probed(LIVENESS)) == len(self.simulate().probed(LIVENESS)) + 1
        assert bench.container().frozen_since == at(20)
        assert user_words(bench)[-3:] == [
            ("unfreeze", "web/app"),
            ("step", "the next probe"),
            ("freeze", "web/app"),
        ]

    def test_a_held_back_tick_runs_when_containers_are_thawed(self) -> None:
        bench = self.simulate()
        bench.send(PauseProbes())
        bench.run_until(20)

        bench.send(ResumeProbes())
        bench.run_until(60)

        assert bench.probe(LIVENESS).failures == 0

    def test_a_container_is_thawed_for_a_dry_run(self) -> None:
        bench = self.simulate()
        bench.send(PauseProbes())
        bench.run_until(20)

        bench.send(DryRunProbe(LIVE))
        bench.run_until(25)

        assert bench.of(DryRunEntry)[-1].result is Result.SUCCESS
        assert bench.container().frozen_since is not None

    def test_a_second_command_does_not_wait_for_a_thaw_that_fails(self) -> None:
        def refuse_signals(call: Operation | Relist) -> CallBehavior:
            is_thaw = isinstance(call, InjectFault) and call.fault is Fault.UNFREEZE
            return CallBehavior(error="it is stuck" if is_thaw else "")

        bench = EngineBench(
            probed(liveness={"period_seconds": 5}),
            config=KubeletConfig(freezes=True),
            probing=probing(),
            dealing=refuse_signals,
        )
        bench.run_until(6)
        bench.send(PauseProbes())
        bench.run_until(20)
        bench.send(ResumeProbes())
        bench.run_until(21)
        is_held = bench.snapshot.is_paused

        bench.send(ResumeProbes())
        bench.run_until(22)

        assert is_held
        assert not bench.snapshot.is_paused

    def test_a_frozen_container_is_thawed_to_be_stopped(self) -> None:
        bench = self.simulate()
        bench.send(PauseProbes())
        bench.run_until(20)

        bench.send(RestartContainer(POD_UID, "app"))
        bench.run_until(40)

        assert bench.container().stopping is not None
        assert bench.container().frozen_since is None
        assert user_words(bench)[-2:] == [
            ("restart", "web/app"),
            ("unfreeze", "web/app"),
        ]

    def test_a_container_that_starts_during_a_pause_is_frozen_at_once(self) -> None:
        bench = self.simulate()
        bench.send(PauseProbes())
        bench.run_until(7)

        bench.send(KillContainer(POD_UID, "app"))
        bench.run_until(30)

        assert len(bench.lifecycle_entries(LifecycleStep.STARTED)) == 2
        assert bench.container().frozen_since is not None


class TestBreakPoints:
    def failing(self, *points: BreakpointKind, **fields: Any) -> EngineBench:
        """Return a bench whose liveness probe fails, with these break-points set."""
        bench = EngineBench(
            probed(liveness=fields, readiness={}),
            probing=probing(liveness=always(FAILS)),
        )
        bench.send(SetBreakpoints(frozenset(points)))
        return bench

    def test_a_break_point_before_a_kill_pauses_and_holds_the_result_back(self) -> None:
        bench = self.failing(BreakpointKind.BEFORE_KILL)

        bench.run_until(30)

        assert bench.snapshot.is_paused
        assert not is_killed(bench)
        assert [run.action for run in runs(bench)] == [TickAction.NONE, TickAction.NONE]
        assert bench.probe(LIVENESS).is_result_held
        reason = bench.snapshot.stopped_by
        assert reason is not None
        assert (reason.point, reason.key) == (BreakpointKind.BEFORE_KILL, LIVE)
        assert reason.text == (
            "before a kill: the liveness probe of web/app has failed 3 times in a row"
        )
        assert bench.notes()[-1][1] == f"paused: {reason.text}"

    def test_a_result_that_would_not_kill_is_not_held_back(self) -> None:
        """An error is ignored, and a readiness probe never kills."""
        bench = EngineBench(
            probed(liveness={}, readiness={"failure_threshold": 1}),
            probing=probing(liveness=always(ERRS), readiness=always(FAILS)),
        )
        bench.send(SetBreakpoints(frozenset({BreakpointKind.BEFORE_KILL})))

        bench.run_until(30)

        assert not bench.snapshot.is_paused
        assert len(runs(bench)) > 20

    def test_resuming_performs_the_kill(self) -> None:
        bench = self.failing(BreakpointKind.BEFORE_KILL)
        bench.run_until(30)

        bench.send(ResumeProbes())
        bench.run_until(31)

        assert is_killed(bench)
        assert runs(bench)[-1].action is TickAction.KILL
        assert bench.snapshot.stopped_by is None
        assert not bench.probe(LIVENESS).is_result_held

    def test_a_step_takes_the_held_result_before_any_tick(self) -> None:
        bench = self.failing(BreakpointKind.BEFORE_KILL)
        bench.run_until(30)
        ticks = len(bench.of(TickEntry))

        bench.send(StepProbe())

        new = bench.of(TickEntry)[ticks:]
        assert [entry.action for entry in new] == [TickAction.KILL]
        assert bench.snapshot.is_paused
        assert is_killed(bench)

    def test_a_held_result_that_is_muted_kills_nothing(self) -> None:
        bench = self.failing(BreakpointKind.BEFORE_KILL)
        bench.run_until(30)

        bench.send(MuteProbes(ALL_PROBES))
        bench.send(ResumeProbes())
        bench.run_until(60)

        assert not is_killed(bench)
        assert runs(bench)[2].action is TickAction.MUTED

    def test_the_end_of_a_pod_is_not_held_up(self) -> None:
        bench = self.failing(BreakpointKind.BEFORE_KILL)
        bench.run_until(30)

        bench.send(DeletePod(POD_UID))
        bench.run_until(120)

        assert len(bench.of(PodGoneEntry)) == 1
        assert bench.snapshot.pods == ()
        assert bench.snapshot.upcoming == ()

    def test_the_first_failure_of_a_run_pauses(self) -> None:
        bench = self.failing(BreakpointKind.FIRST_FAILURE)

        bench.run_until(30)

        assert len(runs(bench)) == 1
        reason = bench.snapshot.stopped_by
        assert reason is not None
        assert reason.point is BreakpointKind.FIRST_FAILURE

    def test_a_change_of_readiness_pauses(self) -> None:
        bench = self.failing(BreakpointKind.READINESS, failure_threshold=99)

        bench.run_until(30)

        reason = bench.snapshot.stopped_by
        assert reason is not None
        assert reason.text == "readiness changed: web/app is ready"
        assert bench.changes(StateField.READY)[-1][1:] == ("false", "true")

    def test_nothing_due_at_the_same_instant_runs_after_a_break_point(self) -> None:
        """Both probes are due at once; the first one hits the break-point."""
        bench = self.failing(BreakpointKind.FIRST_FAILURE)

        bench.run_until(30)

        reason = bench.snapshot.stopped_by
        assert reason is not None
        assert all(
            entry.timing.started_at <= reason.at for entry in bench.of(TickEntry)
        )

    def test_break_points_of_another_container_do_not_count(self) -> None:
        bench = self.failing()
        bench.send(SetBreakpoints(frozenset(BreakpointKind), Scope(POD_UID, "another")))

        bench.run_until(10)

        assert not bench.snapshot.is_paused
        assert bench.container().break_points == frozenset()

    def test_break_points_are_shown_and_can_be_cleared(self) -> None:
        bench = self.failing(BreakpointKind.BEFORE_KILL)
        shown = bench.container().break_points

        bench.send(SetBreakpoints(frozenset()))
        bench.run_until(30)

        assert shown == {BreakpointKind.BEFORE_KILL}
        assert bench.container().break_points == frozenset()
        assert is_killed(bench)
        assert user_words(bench) == [
            ("break", "all probes: before-kill"),
            ("break", "all probes: nowhere"),
        ]


class TestStepping:
    def test_run_to_change_stops_at_the_first_one(self) -> None:
        bench = EngineBench(
            probed(readiness={"failure_threshold": 2}),
            probing=probing(readiness=lambda age: SUCCEEDS if age < 20 else FAILS),
        )
        bench.run_until(10)
        bench.send(PauseProbes())

        bench.send(RunToChange())
        bench.run_until(60)

        reason = bench.snapshot.stopped_by
        assert reason is not None
        assert reason.text == "web/app readiness result Success -> Failure"
        assert 21 <= seconds(reason.at) <= 24
        assert bench.snapshot.is_paused
        assert not bench.snapshot.is_running_to_change

    def test_run_to_change_considers_its_scope_only(self) -> None:
        bench = EngineBench(
            probed(readiness={}),
            probing=probing(readiness=lambda age: SUCCEEDS if age < 20 else FAILS),
        )
        bench.run_until(10)

        bench.send(RunToChange(Scope(POD_UID, "another")))
        bench.run_until(60)

        assert not bench.snapshot.is_paused
        assert bench.snapshot.is_running_to_change

    def test_a_back_off_and_a_restart_are_changes(self) -> None:
        crash = InstanceBehavior(timedelta(seconds=3), exit_code=1)
        bench = EngineBench(a_pod(), lives={"app": (crash,)})
        bench.run_until(2)

        stops = []
        for _ in range(3):
            bench.send(RunToChange())
            bench.run_until(bench.now + 400)
            stops.append(bench.snapshot.stopped_by)

        texts = [stop.text for stop in stops if stop is not None]
        assert len(texts) == 3
        assert any("to start" in text for text in texts)

    def test_a_pause_ends_a_run_to_change(self) -> None:
        bench = simulate(probed(liveness={}), 10)
        bench.send(RunToChange())

        bench.send(PauseProbes())

        assert not bench.snapshot.is_running_to_change
        assert bench.snapshot.stopped_by is None

    def test_the_snapshot_lists_upcoming_ticks_in_order(self) -> None:
        pod = probed(
            liveness={"initial_delay_seconds": 30, "period_seconds": 7}, readiness={}
        )
        bench = simulate(pod, 10.5)

        bench.send(PauseProbes())

        upcoming = bench.snapshot.upcoming
        assert [waiting.at for waiting in upcoming] == sorted(
            waiting.at for waiting in upcoming
        )
        assert {waiting.what for waiting in upcoming} == {
            UpcomingKind.TICK,
            UpcomingKind.DELAY_OVER,
            UpcomingKind.RESYNC,
        }
        assert upcoming[0].what is UpcomingKind.TICK
        assert upcoming[0].is_step
        assert (upcoming[0].container_name, upcoming[0].probe_type) == (
            "app",
            READINESS,
        )

    def test_a_held_result_comes_before_ticks_that_waited_longer(self) -> None:
        bench = EngineBench(
            probed(liveness={}, readiness={}),
            probing=probing(liveness=always(FAILS)),
        )
        bench.run_until(2.5)
        bench.send(PauseProbes())
        bench.send(SetBreakpoints(frozenset({BreakpointKind.BEFORE_KILL})))
        bench.send(TriggerProbe(LIVE))
        bench.run_until(10)
        bench.send(TriggerProbe(LIVE))

        bench.run_until(30)

        held, other, *_ = bench.snapshot.upcoming
        assert (held.what, held.at) == (UpcomingKind.HELD_RESULT, at(10))
        assert other.at < held.at

    def test_the_snapshot_lists_upcoming_ends_of_back_off_and_grace_period(
        self,
    ) -> None:
        crash = InstanceBehavior(timedelta(seconds=3), exit_code=1)
        stubborn = a_container("slow")
        bench = EngineBench(
            a_pod(a_container(), stubborn),
            lives={"app": (crash,), "slow": (InstanceBehavior(stops_after=None),)},
        )
        bench.run_until(12)

        bench.send(PauseProbes())
        bench.send(RestartContainer(POD_UID, "slow"))

        whats = {upcoming.what for upcoming in bench.snapshot.upcoming}
        assert {UpcomingKind.BACKOFF_OVER, UpcomingKind.GRACE_OVER} <= whats

    def test_nothing_is_listed_while_probes_run(self) -> None:
        bench = simulate(probed(liveness={}), 10)

        assert bench.snapshot.upcoming == ()

    def test_the_last_step_keeps_the_state_before_it(self) -> None:
        bench = EngineBench(
            probed(liveness={"failure_threshold": 9}),
            probing=probing(liveness=always(FAILS)),
        )
        bench.run_until(5)
        bench.send(PauseProbes())
        run = bench.probe(LIVENESS).result_run

        bench.send(StepProbe())
        bench.run_until(6)

        step = bench.snapshot.last_step
        assert step is not None
        (before,) = step.pods[0].containers[0].probes
        assert (step.key, before.result_run) == (LIVE, run)
        assert bench.probe(LIVENESS).result_run == run + 1
        after = [entry for entry in bench.journal if entry.sequence > step.sequence]
        assert any(isinstance(entry, TickEntry) for entry in after)

    def test_what_is_no_step_leaves_the_last_one_as_it_was(self) -> None:
        bench = EngineBench(probed(liveness={}))
        bench.run_until(5)
        bench.send(PauseProbes())
        bench.send(StepProbe())
        step = bench.snapshot.last_step
        bench.run_until(9)

        bench.send(StepProbe(a_key(container="nobody")))

        assert bench.snapshot.last_step is step is not None

    def test_break_points_are_shown_at_their_container_alone(self) -> None:
        pods = (a_pod(a_container(), a_container("other")), a_pod(name="calm"))
        bench = EngineBench(*pods)
        points = frozenset({BreakpointKind.BEFORE_KILL})

        bench.send(SetBreakpoints(points, Scope(pods[0].uid, "app")))

        assert [
            container.break_points
            for pod in bench.snapshot.pods
            for container in pod.containers
        ] == [points, frozenset(), frozenset()]

    def test_a_pod_that_a_step_did_not_change_is_the_same_object(self) -> None:
        other = a_pod(a_container("calm"), name="calm")
        bench = EngineBench(probed(liveness={}), other)
        bench.run_until(10)
        bench.send(PauseProbes())

        bench.send(StepProbe())

        step = bench.snapshot.last_step
        assert step is not None
        before = {pod.pod.name: pod for pod in step.pods}
        after = {pod.pod.name: pod for pod in bench.snapshot.pods}
        assert after["calm"] is before["calm"]
        assert after["web"] is not before["web"]


def test_a_bookmark_is_a_note_of_the_user() -> None:
    bench = EngineBench(a_pod())

    bench.send(Bookmark("here it begins"))

    (note,) = bench.of(NoteEntry)
    assert (note.text, note.is_bookmark, note.is_fault) == (
        "here it begins",
        True,
        False,
    )
