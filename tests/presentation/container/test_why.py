"""Explanations of ticks, kills and waits by `why`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.causes.answer import explain, last_endings
from probetui.analysis.causes.cause import Ending
from probetui.analysis.container_history import SessionHistory
from probetui.analysis.timeline import Timeline
from probetui.debugger.commands import KillContainer, RestartContainer
from probetui.drive.scenario.behavior import InstanceBehavior as Lasting
from probetui.drive.scenario.behavior import ProbeAnswer as Met
from probetui.engine.inputs import DeletePod
from probetui.k8s.pod import Container, ContainerPort, Pod, RestartPolicy
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    ProbeHandler,
    TCPSocketAction,
)
from probetui.k8s.runtime import ContainerID, Listeners, ListenerScope, SocketAddress
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    Exit,
    ExitCause,
    Gate,
    JournalEntry,
    LifecycleStep,
    ListenersEntry,
    Skip,
    TickAction,
    TickEntry,
    Trigger,
)
from probetui.kubelet.outcome import Attempt, ProbeResult, Redirect, Result
from probetui.presentation.container.instances import format_instance
from probetui.presentation.container.why import (
    explain_backoff,
    explain_container,
    why_report,
)
from probetui.presentation.text.view import TimeFormatter, View
from probetui.presentation.tick.why import (
    WhyContext,
    explain_tick,
    hints,
    tick_history,
)
from probetui.record.codec import decode_line, encode_entry, encode_line
from probetui.record.format import RecordContext
from tests.builders import START, a_container, a_pod, a_probe, at
from tests.drive.engine_bench import FAILS, EngineBench, always, probing
from tests.record.decoding import decode_entries
from tests.ticks import DEMO_KEY, LIVENESS, NOW, changed_tick, history
from tests.tui.snapshots import DEMO

VIEW = View(TimeFormatter(START, START, zone=UTC))
PROBE = a_probe(ExecAction(("cat", "/tmp/healthy")), period_seconds=5)
CONTAINER = a_container(liveness_probe=PROBE)
STUBBORN = (Lasting(stops_after=None),)
CRASHES = (Lasting(timedelta(seconds=4), exit_code=1),)
REFUSED = Met(
    Attempt(
        ProbeResult.FAILURE,
        "connection refused",
        refused_at=SocketAddress("10.0.0.2", 8080),
    )
)
FAILING = probing(liveness=always(FAILS))


def past_of(journal: Sequence[JournalEntry]) -> SessionHistory:
    past = SessionHistory(journal)
    past.add_entries(journal, 0)
    return past


def case_of(
    past: SessionHistory, pod: Pod, name: str = "app", view: View = VIEW
) -> WhyContext:
    container = pod.container(name)
    answer = None
    endings: tuple[Ending, ...] = ()
    if container is not None:
        answer = explain(pod, container, past, view.now, view.rules)
        endings = last_endings(pod, container, past, view.now, view.rules)
    return WhyContext(
        pod,
        f"{pod.name}/{name}",
        name,
        past.pod_ip(pod.uid),
        past.container(pod.uid, name),
        view,
        answer,
        endings,
    )


def explained(journal: Sequence[JournalEntry], pod: Pod) -> str:
    """Return the whole explanation of the pod's container, without a tick."""
    given = explain_container(case_of(past_of(journal), pod), None)
    return "\n".join(
        line for answer in given for line in (answer.subject, *answer.sentences)
    )


def played(pod: Pod, seconds: float = 45, **script: Any) -> list[JournalEntry]:
    bench = EngineBench(pod, **script)
    bench.run_until(seconds)
    return bench.journal


def before_its_end(journal: list[JournalEntry]) -> list[JournalEntry]:
    """Return a journal as earlier versions wrote it, without the last exit."""
    *_, last = (
        entry
        for entry in journal
        if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.EXITED
    )
    return [entry for entry in journal if entry is not last]


def a_failing_pod(container: Container = CONTAINER, **fields: Any) -> Pod:
    return a_pod(container, **fields)


class TestKill:
    def test_a_kill_names_its_probe_the_failures_and_the_output(self) -> None:
        text = explained(played(a_failing_pod(), probing=FAILING), a_failing_pod())

        assert "its liveness probe failed 3 of 3 times in a row (exit 0)" in text
        assert "because the probe failed after 0ms: not well" in text

    def test_a_grace_period_of_the_pod_is_named_as_its_own(self) -> None:
        pod = a_failing_pod(termination_grace_period_seconds=20)

        text = explained(played(pod, probing=FAILING), pod)

        assert "grace period 20s (the pod's terminationGracePeriodSeconds)." in text

    def test_the_default_grace_period_is_named_as_the_default(self) -> None:
        text = explained(played(a_failing_pod(), probing=FAILING), a_failing_pod())

        assert "terminationGracePeriodSeconds, the default)." in text

    def test_a_grace_period_of_the_probe_is_named_as_its_own(self) -> None:
        probe = replace(PROBE, termination_grace_period_seconds=5)
        pod = a_failing_pod(a_container(liveness_probe=probe))

        text = explained(played(pod, probing=FAILING), pod)

        assert "grace period 5s (from the liveness probe)." in text

    def test_a_pre_stop_hook_is_named(self) -> None:
        pod = a_failing_pod(replace(CONTAINER, pre_stop=ExecAction(("sleep", "1"))))

        assert "The preStop hook runs first" in explained(
            played(pod, probing=FAILING), pod
        )

    def test_137_alone_is_not_reported_as_out_of_memory(self) -> None:
        pod = a_failing_pod(termination_grace_period_seconds=5)

        text = explained(played(pod, probing=FAILING, lives={"app": STUBBORN}), pod)

        assert "It did not end on its stop signal within the grace period" in text
        assert "exit code 137, SIGKILL. Not out of memory" in text
        assert "Not out of memory: the runtime set no OOM flag." in text

    def test_the_oom_flag_is_reported(self) -> None:
        pod = a_failing_pod()
        journal = [
            replace(entry, oom_killed=True, exit_code=137, signal=9)
            if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.EXITED
            else entry
            for entry in played(pod, 6, lives={"app": CRASHES})
        ]

        text = explained(journal, pod)

        assert "Its instance 1 was killed by the kernel at 12:00:04" in text
        assert "exit code 137, SIGKILL. The runtime set the OOM flag." in text
        assert "by itself" not in text

    def test_a_sigkill_from_elsewhere_is_named_as_such(self) -> None:
        pod = a_failing_pod()
        lives = {"app": (Lasting(timedelta(seconds=4), exit_code=137),)}

        text = explained(played(pod, 6, lives=lives), pod)

        assert "Its instance 1 ended with the exit code of SIGKILL at" in text
        assert "the kubelet sent none" in text
        assert "Another process sent it, or the program exited with that code" in text
        assert "Not out of memory: the runtime set no OOM flag." in text

    def test_a_sigkill_before_the_end_of_the_grace_period_came_from_elsewhere(
        self,
    ) -> None:
        pod = a_failing_pod()
        stops = (Lasting(stops_after=timedelta(seconds=3), stop_code=137),)

        text = explained(played(pod, 20, probing=FAILING, lives={"app": stops}), pod)

        assert "That is 3s after SIGTERM, before the grace period of 30s" in text

    def test_an_exit_on_sigterm(self) -> None:
        pod = a_failing_pod()
        stops = (Lasting(stop_code=143),)

        text = explained(played(pod, 20, probing=FAILING, lives={"app": stops}), pod)

        assert "exit code 143, SIGTERM. It stopped within the grace period." in text

    def test_the_time_of_sigkill_is_shown_while_a_container_stops(self) -> None:
        pod = a_failing_pod()

        text = explained(played(pod, 20, probing=FAILING, lives={"app": STUBBORN}), pod)

        assert "Stop of web/app, instance 1" in text
        assert "SIGKILL follows at 12:00:4" in text

    def test_a_restart_by_a_user(self) -> None:
        pod = a_failing_pod()
        bench = EngineBench(pod)
        bench.run_until(10)
        bench.send(RestartContainer(pod.uid, "app"))
        bench.run_until(45)

        assert ": a user asked for it" in explained(bench.journal, pod)

    def test_a_kill_by_a_user_has_no_grace_period(self) -> None:
        pod = a_failing_pod()
        bench = EngineBench(pod, lives={"app": STUBBORN})
        bench.run_until(10)
        bench.send(KillContainer(pod.uid, "app"))
        bench.run_until(20)

        text = explained(bench.journal, pod)

        assert "grace period 0s (requested by a user)." in text
        assert "It had no grace period." in text

    def test_the_exit_before_a_deletion_is_explained_too(self) -> None:
        pod = a_failing_pod()
        bench = EngineBench(pod, probing=FAILING)
        bench.run_until(20)
        bench.send(DeletePod(pod.uid))
        bench.run_until(80)

        text = explained(bench.journal, pod)

        assert "That was so until its pod was deleted at 12:00:20" in text
        assert "Its instance 1 was killed at 12:00:15.0: its liveness probe" in text

    @pytest.mark.parametrize(
        ("by", "sentence"),
        [
            pytest.param(ExitCause.LIVENESS, "its liveness probe failed 3", id="L"),
            pytest.param(ExitCause.STARTUP, "its startup probe failed 3 of", id="S"),
            pytest.param(ExitCause.ITSELF, "exited by itself with 0", id="itself"),
            pytest.param(ExitCause.USER, "a user asked for it", id="user"),
            pytest.param(ExitCause.DELETE, "its pod was deleted", id="delete"),
            pytest.param(
                ExitCause.DEFINITION, "its definition was changed", id="definition"
            ),
            pytest.param(ExitCause.POD, "its liveness probe failed 3 of 3", id="pod"),
        ],
    )
    def test_every_cause_of_an_exit_has_a_sentence(
        self, by: ExitCause, sentence: str
    ) -> None:
        pod = a_failing_pod()
        journal = [
            replace(entry, by=by)
            if isinstance(entry, ContainerEntry) and entry.by is not None
            else entry
            for entry in played(pod, probing=FAILING)
        ]

        told = [
            line for line in explained(journal, pod).splitlines() if sentence in line
        ]

        assert len(told) == 1

    def test_an_instance_that_could_not_be_started_did_not_exit_on_its_own(
        self,
    ) -> None:
        pod = a_failing_pod()
        journal = [
            replace(entry, by=ExitCause.ITSELF, exit_code=128, reason="StartError")
            if isinstance(entry, ContainerEntry) and entry.by is not None
            else entry
            for entry in played(pod, probing=FAILING)
        ]

        text = explained(journal, pod)

        assert "Its instance 3 could not be started (StartError)" in text
        assert "by itself" not in text

    def test_an_injected_result_is_named_as_injected(self) -> None:
        pod = a_failing_pod()
        journal = [
            changed_tick(entry, injected=True)
            if isinstance(entry, TickEntry)
            else entry
            for entry in played(pod, 20, probing=FAILING)
        ]

        assert "because the probe did not run: a user injected" in explained(
            journal, pod
        )

    def test_a_delayed_result_is_named_as_delayed(self) -> None:
        pod = a_failing_pod()
        late = timedelta(seconds=2)
        journal = [
            changed_tick(entry, delay=late) if isinstance(entry, TickEntry) else entry
            for entry in played(pod, 20, probing=FAILING)
        ]

        assert "A user delayed the answer to each attempt by 2.0s." in explained(
            journal, pod
        )

    def test_the_probe_is_named_even_without_its_tick(self) -> None:
        pod = a_failing_pod()
        journal = [
            entry
            for entry in played(pod, 20, probing=FAILING)
            if not isinstance(entry, TickEntry)
        ]

        assert ": its liveness probe failed (exit 0)" in explained(journal, pod)

    def test_another_signal_is_named(self) -> None:
        pod = a_failing_pod()
        lives = {"app": (Lasting(timedelta(seconds=4), exit_code=139),)}

        assert "exit code 139, SIGSEGV." in explained(played(pod, 6, lives=lives), pod)

    def test_an_unknown_back_off_is_stated(self) -> None:
        pod = a_failing_pod()
        journal = [
            entry
            for entry in played(pod, 6, lives={"app": CRASHES})
            if not isinstance(entry, BackoffEntry)
        ]

        assert "the back-off at that time is not known." in explained(journal, pod)


class TestBackOff:
    def test_the_first_restart_after_a_kill_has_no_earlier_exit(self) -> None:
        pod = a_failing_pod()

        text = explained(played(pod, 20, probing=FAILING), pod)

        assert "none had exited when the kubelet checked." in text
        assert "So such restarts are often immediate." in text

    def test_the_first_window_begins_with_a_restart(self) -> None:
        pod = a_failing_pod()

        text = explained(played(pod, 6, lives={"app": CRASHES}), pod)

        assert "no back-off yet, this restart sets the first one." in text
        assert "Next back-off: 10s; it resets when an instance exits more" in text
        assert "more than 10 minutes after its start." in text

    def test_a_wait_has_its_window_start_and_end(self) -> None:
        pod = a_failing_pod()

        text = explained(played(pod, 12, lives={"app": CRASHES}), pod)

        assert "is in back-off of 10s, counted from its exit at 12:00:08" in text
        assert "by the next sync of its pod, between 12:00:18.0 and 12:00:34.0" in text

    def test_the_exit_of_the_killed_instance_moves_the_window(self) -> None:
        pod = a_failing_pod()
        journal = played(pod, 64, probing=FAILING)

        text = explained(journal, pod)

        untils = [
            entry.until
            for entry in journal
            if isinstance(entry, BackoffEntry) and entry.waits
        ]
        assert untils == [at(65), at(80)]
        assert "is in back-off of 20s, counted from its exit at 12:01:00.0" in text
        assert "between 12:01:20.0 and" in text

    def test_a_wait_that_is_over_is_shown_as_over_before_the_start(
        self,
    ) -> None:
        pod = a_failing_pod()
        journal = played(pod, 12, lives={"app": CRASHES})
        view = View(TimeFormatter(at(300), START, zone=UTC))
        later = case_of(past_of(journal), pod, view=view)

        head, exit_of = explain_container(later, None)

        assert "not been restarted yet: its back-off of 10s was over" in head.subject
        assert "It is restarted by the next sync of its pod, which is late." in (
            head.sentences
        )
        first, window = exit_of.sentences
        assert first == "Exit seen at 12:00:08.0: exit code 1."
        assert window.startswith("Next back-off: 20s")

    def test_a_wait_is_explained_separately_while_the_last_instance_stops(self) -> None:
        pod = a_failing_pod()
        past = past_of(before_its_end(played(pod, 60, probing=FAILING)))

        answer = explain_backoff(case_of(past, pod))

        assert answer is not None
        assert answer.subject == "Back-off of web/app"
        assert answer.sentences[0].startswith("It is in back-off until 12:01")

    @pytest.mark.parametrize(
        ("policy", "exit_code", "reason"),
        [
            pytest.param(
                RestartPolicy.NEVER, 0, "restartPolicy is Never", id="never-0"
            ),
            pytest.param(
                RestartPolicy.NEVER, 1, "restartPolicy is Never", id="never-1"
            ),
            pytest.param(
                RestartPolicy.ON_FAILURE,
                0,
                "restartPolicy is OnFailure, and it exited with 0",
                id="on-failure-0",
            ),
        ],
    )
    def test_nothing_is_foretold_of_a_pod_that_has_ended(
        self, policy: RestartPolicy, exit_code: int, reason: str
    ) -> None:
        container = a_container(
            liveness_probe=a_probe(
                ExecAction(("true",)), period_seconds=1, failure_threshold=1
            )
        )
        sidecar = a_container("log", restart_policy=RestartPolicy.ALWAYS)
        pod = a_pod(container, init_containers=(sidecar,), restart_policy=policy)
        journal = played(
            pod,
            probing=FAILING,
            lives={"app": (Lasting(stop_code=exit_code),)},
        )
        past = past_of(journal)

        words = {
            name: "\n".join(
                line
                for answer in explain_container(case_of(past, pod, name), None)
                for line in (answer.subject, *answer.sentences)
            )
            for name in ("app", "log")
        }

        assert f"web/app has not been restarted: {reason}" in words["app"]
        assert "its other containers had ended for good" in words["log"]
        assert "web/log has not been restarted: its pod has" in words["log"]
        assert not re.search(r"until|Next window|yet", "\n".join(words.values()))

    def test_a_running_container_does_not_wait(self) -> None:
        pod = a_failing_pod()

        assert explain_backoff(case_of(past_of(played(pod, 10)), pod)) is None

    def test_a_past_window_is_shown_with_the_time_since_then(self) -> None:
        pod = a_failing_pod()

        text = explained(played(pod, 50, probing=FAILING), pod)

        assert (
            "the back-off of 10s counts from the exit of the previous instance at"
            in text
        )
        assert "at 12:00:30.0, 15s before." in text

    def test_a_start_after_a_wait_is_explained(self) -> None:
        pod = a_failing_pod()

        text = explained(played(pod, 100, probing=FAILING), pod)

        assert "It was in back-off until 12:01:20.0: 20s" in text
        assert "by the first pod sync after the wait, 29s after the exit." in text

    def test_a_window_that_was_reset(self) -> None:
        pod = a_failing_pod()
        lives = {"app": (Lasting(timedelta(seconds=700), exit_code=1),)}

        text = explained(played(pod, 1500, lives=lives), pod)

        assert "without back-off: the back-off had been reset." in text


class TestTick:
    def sentences(self, letters: str, pod: Pod = DEMO, **fields: Any) -> str:
        tick = changed_tick(history(DEMO_KEY, LIVENESS, letters, NOW)[-1], **fields)
        case = case_of(past_of(()), pod, "liveness")
        return "\n".join(explain_tick(tick, case).sentences)

    def test_a_failure_below_the_threshold(self) -> None:
        text = self.sentences("sff")

        assert "The probe gave exit 1 after 34ms, output: cat: can't open" in text
        assert "No such file or directory\n" in text
        assert "Failure 2 of 3 in a row, below the threshold: no action." in text

    def test_an_observed_tick_shows_what_the_cluster_recorded(self) -> None:
        source = Gate("source", "counters", passed=True)

        text = self.sentences("s", gates=(source,))

        assert "The cluster shows: no event (a success makes none)." in text

    def test_a_run_beyond_its_threshold(self) -> None:
        text = self.sentences("ssss", threshold=1, stored_before=Result.SUCCESS)

        assert "Success 4 in a row, threshold 1; the" in text

    def test_a_failure_without_a_status_is_described_by_its_output(self) -> None:
        refused = Attempt(
            ProbeResult.FAILURE, "dial tcp 10.0.0.2:80: connect: connection refused"
        )

        text = self.sentences("f", attempts=(refused,))

        assert "The probe failed after 0ms: dial tcp 10.0.0.2:80: connect: conn" in text

    def test_three_attempts_of_an_errored_tick_are_listed(self) -> None:
        text = self.sentences("e")

        assert "Attempt 1 of 3 could not run (2ms): exec:" in text
        assert "Attempt 3 of 3" in text
        assert "An error is not counted" in text
        assert "The command is not in the image" in text

    def test_a_threshold_that_is_reached(self) -> None:
        text = self.sentences("fffK", stored_after=Result.FAILURE)

        assert "the stored result changes from Success to Failure." in text
        assert "Effect: container killed, probe on hold." in text

    def test_the_first_tick_of_an_instance(self) -> None:
        text = self.sentences("s", new_container=True)

        assert (
            "First tick of container d71cb34f0e11: the result run continues, the "
            "hold is released, the stored result is reset to its initial value." in text
        )

    def test_an_injected_result(self) -> None:
        assert "The result was injected" in self.sentences("f", injected=True)

    def test_a_pause(self) -> None:
        text = self.sentences("f", held=timedelta(seconds=2))

        assert "A pause delayed it by 2.0s; initial delays" in text

    @pytest.mark.parametrize(
        ("action", "where"),
        [(TickAction.READY, "in"), (TickAction.NOT_READY, "out of")],
    )
    def test_what_follows_for_services(self, action: TickAction, where: str) -> None:
        text = self.sentences("f", action=action)

        assert (
            f"So the pod is {where} the endpoints of the Services that select the pod."
        ) in text

    def test_a_late_answer(self) -> None:
        text = self.sentences("f", delay=timedelta(seconds=2))

        assert "A user delayed the answer to each attempt by 2.0s." in text

    @pytest.mark.parametrize("trigger", [pytest.param(e, id=e) for e in Trigger])
    def test_the_trigger_of_a_tick(self, trigger: Trigger) -> None:
        text = self.sentences("s", trigger=trigger)

        assert ("Trigger: the probe's period." in text) is (trigger is Trigger.PERIODIC)

    @pytest.mark.parametrize("skip", [pytest.param(skip, id=skip) for skip in Skip])
    def test_the_reason_of_a_skip_and_what_ends_it(self, skip: Skip) -> None:
        text = self.sentences("s", skip=skip, attempts=(), result=None)

        assert "The probe did not run: " in text
        is_logged = skip in {
            Skip.NO_STATUS, Skip.CONTAINER_MISSING, Skip.NOT_RUNNING,
        }  # fmt: skip
        logged = "at -v=3 a log line" if is_logged else "no log line"
        assert f"In a cluster: no event, {logged}" in text

    @pytest.mark.parametrize(
        "reason", [pytest.param(reason, id=reason) for reason in Exit]
    )
    def test_a_last_tick(self, reason: Exit) -> None:
        text = self.sentences("s", exit=reason, attempts=(), result=None)

        assert "The probe did not run: " in text

    def test_the_tick_that_put_the_probe_on_hold_is_named(self) -> None:
        pod = a_failing_pod()
        journal = played(pod, 40, probing=FAILING, lives={"app": STUBBORN})
        past = past_of(journal)
        held = [
            entry
            for entry in journal
            if isinstance(entry, TickEntry) and entry.skip is Skip.ON_HOLD
        ]

        sentences = explain_tick(held[-1], case_of(past, pod)).sentences

        assert any(
            sentence.endswith("failure 3 of 3 in a row.") for sentence in sentences
        )

    def test_the_command_to_repeat_it_is_named(self) -> None:
        tick = history(DEMO_KEY, LIVENESS, "s", NOW)[-1]

        answer = explain_tick(tick, case_of(past_of(()), DEMO, "liveness"))

        assert answer.command == "docker exec d71cb34f0e11 cat /tmp/healthy"

    def test_the_command_to_repeat_it_is_run_in_the_instance_that_runs(self) -> None:
        pod = a_failing_pod()
        case = case_of(past_of(played(pod, probing=FAILING)), pod)
        *ended, running = case.history.instances
        running = replace(running, container_id=ContainerID("docker://8f2c9d"))
        known = replace(case.history, instances=(*ended, running))

        answers = explain_container(replace(case, history=known), None)

        assert running.exited is None
        assert {given.command for given in answers} - {""} == {
            "docker exec 8f2c9d cat /tmp/healthy"
        }

    def test_the_command_follows_a_redirect_to_where_no_answer_came(self) -> None:
        redirect = Redirect(302, "http://10.0.0.2:8080/x", "https://10.0.0.2/x")
        attempt = Attempt(ProbeResult.FAILURE, "refused", followed=(redirect,))
        key = DEMO_KEY._replace(container_name="app")
        tick = changed_tick(history(key, LIVENESS, "f", NOW)[-1], attempts=(attempt,))
        container = a_container(liveness_probe=a_probe(HTTPGetAction(8080, "/x")))

        command = explain_tick(tick, case_of(past_of(()), a_pod(container))).command

        assert " -k " in command
        assert " -L --max-redirs 1 " in command

    def test_no_command_is_named_without_the_manifest(self) -> None:
        tick = history(DEMO_KEY, LIVENESS, "s", NOW)[-1]
        case = replace(case_of(past_of(()), DEMO, "liveness"), pod=None)

        assert explain_tick(tick, case).command == ""


def test_ticks_lost_to_a_slow_probe_are_reported() -> None:
    slow = a_probe(ExecAction(("sleep", "5")), period_seconds=1, timeout_seconds=9)
    tick = history(DEMO_KEY._replace(container_name="app"), LIVENESS, "s", NOW)[-1]
    pod = a_pod(a_container(liveness_probe=slow))

    explanation = explain_tick(
        changed_tick(tick, duration=timedelta(seconds=5)), case_of(past_of(()), pod)
    )

    assert "longer than its period of 1s: 4 ticks were lost" in "".join(
        explanation.sentences
    )


def test_ticks_that_fell_due_while_nobody_probed_are_not_called_lost() -> None:
    tick = changed_tick(history(DEMO_KEY, LIVENESS, "s", NOW)[-1], late_drops=149)

    sentences = explain_tick(tick, case_of(past_of(()), DEMO, "liveness")).sentences

    assert (
        "149 ticks fell due before it and did not run: probetui or this machine was "
        "busy, stopped or suspended."
    ) in sentences


HANDLERS = [
    pytest.param(ExecAction(("cat", "/x")), id="exec"),
    pytest.param(HTTPGetAction(8080), id="http"),
    pytest.param(TCPSocketAction(8080), id="tcp"),
    pytest.param(GRPCAction(8080), id="grpc"),
]


class TestHints:
    def hints(self, attempt: Attempt, container: Container) -> str:
        key = DEMO_KEY._replace(container_name="app")
        tick = changed_tick(history(key, LIVENESS, "f", NOW)[-1], attempts=(attempt,))
        case = case_of(past_of(()), a_pod(container))
        return "\n".join(explain_tick(tick, case).sentences)

    def failing(self, output: str, detail: str = "") -> Attempt:
        return Attempt(ProbeResult.FAILURE, output, detail=detail)

    def test_a_refused_connection_suggests_other_addresses(self) -> None:
        probe = a_probe(HTTPGetAction(8080))
        container = a_container(liveness_probe=probe, ports=(ContainerPort(9090),))
        output = 'Get "http://10.0.0.2:8080/": dial tcp: connect: connection refused'

        text = self.hints(self.failing(output), container)

        assert "or only on 127.0.0.1" in text
        assert "; the container declares 9090." in text

    def test_known_listeners_replace_the_guess(self) -> None:
        there = SocketAddress("10.0.0.2", 8080)
        attempt = Attempt(ProbeResult.FAILURE, "connection refused", refused_at=there)
        tick = changed_tick(
            history(DEMO_KEY, LIVENESS, "f", NOW)[-1], attempts=(attempt,)
        )
        found = Listeners((SocketAddress("127.0.0.1", 8080),), ListenerScope.CONTAINER)
        entry = ListenersEntry(
            tick.sequence + 1, NOW, tick.key, tick.container_id, there, found,
            cause=tick.sequence,
        )  # fmt: skip
        past = past_of((tick, entry)).container(DEMO_KEY.pod_uid, "liveness")

        text = "".join(hints(tick, a_container(), VIEW, past))

        assert text == (
            "The container listens on 127.0.0.1:8080 only; the probe connects to "
            "10.0.0.2, "
            "so it is refused."
        )

    def test_a_kill_by_a_refused_probe_shows_where_the_container_listens(self) -> None:
        pod = a_pod(CONTAINER)
        bench = EngineBench(pod, probing=probing(liveness=always(REFUSED)))
        bench.run_until(18)
        (first, *_) = past_of(bench.journal).container(pod.uid, "app").instances
        assert first.kill is not None
        looked = ListenersEntry(
            first.kill.sequence + 1,
            first.kill.at,
            first.kill.key,
            first.container_id,
            SocketAddress("10.0.0.2", 8080),
            Listeners((), ListenerScope.CONTAINER),
            cause=first.kill.sequence,
        )

        listens = "nothing listens on 8080: the container listens on no port at all"
        assert listens in explained((*bench.journal, looked), pod)
        assert listens not in explained(bench.journal, pod)

    def test_a_time_limit(self) -> None:
        text = self.hints(self.failing("context deadline exceeded"), CONTAINER)

        assert "longer than timeoutSeconds" in text

    @pytest.mark.parametrize(
        ("attempt", "words"),
        [
            pytest.param(
                Attempt(ProbeResult.FAILURE, "", detail="HTTP 404"), "4xx", id="4xx"
            ),
            pytest.param(
                Attempt(ProbeResult.FAILURE, "", detail="HTTP 503"), "itself", id="5xx"
            ),
            pytest.param(
                Attempt(ProbeResult.WARNING, "", detail="HTTP 302"),
                "not followed",
                id="a redirect elsewhere",
            ),
        ],
    )
    def test_an_answer_over_http(self, attempt: Attempt, words: str) -> None:
        container = a_container(liveness_probe=a_probe(HTTPGetAction(8080)))

        assert words in self.hints(attempt, container)

    @pytest.mark.parametrize("handler", HANDLERS)
    @pytest.mark.parametrize(
        "error",
        [
            pytest.param(
                "Docker does not answer: dial unix /var/run/docker.sock: connect: "
                "connection refused",
                id="daemon refuses",
            ),
            pytest.param(
                "Docker does not answer: dial unix /var/run/docker.sock: connect: no "
                "such file or directory",
                id="socket is gone",
            ),
            pytest.param("rpc error: code = Unavailable", id="CRI runtime is gone"),
            pytest.param("too many open files", id="this machine's limits"),
        ],
    )
    def test_an_error_of_the_runtime_is_not_blamed_on_the_container(
        self, handler: ProbeHandler, error: str
    ) -> None:
        attempt = Attempt(ProbeResult.UNKNOWN, error=error)
        container = a_container(liveness_probe=a_probe(handler))

        text = self.hints(attempt, container)

        assert "says nothing about the container" in text
        assert "listen" not in text
        assert "not in the image" not in text

    def test_a_command_whose_own_connection_is_refused_is_explained(self) -> None:
        attempt = self.failing("psql: connection refused", "exit 2")

        text = self.hints(attempt, CONTAINER)

        assert "from inside the container, does not listen" in text
        assert "127.0.0.1" not in text

    def test_a_missing_executable_is_named_as_the_runtime_reports_it(self) -> None:
        attempt = Attempt(ProbeResult.UNKNOWN, error="it is gone", is_missing=True)

        assert "The command is not in the image" in self.hints(attempt, CONTAINER)

    def test_a_shell_without_the_command(self) -> None:
        text = self.hints(self.failing("sh: x: not found", "exit 127"), CONTAINER)

        assert "Exit code 127: a shell" in text


def through_a_record(
    journal: Sequence[JournalEntry], pod: Pod
) -> tuple[JournalEntry, ...]:
    """Return a journal written to a record and read back."""
    context = RecordContext(START, {pod.uid: pod})
    lines = [encode_line(encode_entry(entry, context)) for entry in journal]
    return decode_entries(filter(None, map(decode_line, lines)))


@pytest.mark.parametrize(
    ("seconds", "script"),
    [
        pytest.param(45, {"probing": FAILING}, id="a kill"),
        pytest.param(12, {"lives": {"app": CRASHES}}, id="a wait"),
        pytest.param(100, {"lives": {"app": CRASHES}}, id="many crashes"),
        pytest.param(20, {}, id="nothing"),
        pytest.param(
            30,
            {
                "probing": probing(liveness=always(REFUSED)),
                "config": KubeletConfig(finds_listeners=True),
            },
            id="a refused connection",
        ),
        pytest.param(
            30,
            {
                "probing": probing(
                    liveness=always(
                        Met(Attempt(ProbeResult.FAILURE, "\udcff\x1b[2J[b]markup[/b]"))
                    )
                )
            },
            id="hostile output",
        ),
    ],
)
def test_a_record_gives_the_same_answer_as_its_session(
    seconds: float, script: dict[str, Any]
) -> None:
    pod = a_failing_pod()
    journal = played(pod, seconds, **script)
    live, read = past_of(journal), past_of(through_a_record(journal, pod))

    from_the_session = why_report(case_of(live, pod), live, pod.uid)
    from_the_record = why_report(case_of(read, pod), read, pod.uid)

    assert from_the_record == from_the_session
    assert len(from_the_session) > 3


def test_the_report_has_the_ticks_that_led_to_a_kill_and_the_command() -> None:
    pod = a_failing_pod()
    past = past_of(played(pod, 45, probing=FAILING))

    lines = [line.strip() for line in why_report(case_of(past, pod), past, pod.uid)]

    start = lines.index("Tick by tick:")
    assert [line.partition(" ")[0] for line in lines[start + 1 : start + 4]] != []
    assert "threshold 3 reached: container killed" in "\n".join(lines)
    assert lines[lines.index("To repeat the probe by hand:") + 1] == "cat /tmp/healthy"
    assert "Instances:" in lines


@pytest.mark.parametrize("or_newer", [True, False])
def test_a_stop_that_may_be_of_a_newer_instance_is_told_so(*, or_newer: bool) -> None:
    pod = a_failing_pod()
    journal = [
        replace(entry, or_newer=or_newer)
        if isinstance(entry, ContainerEntry)
        else entry
        for entry in played(pod, 20, probing=FAILING, lives={"app": STUBBORN})
    ]
    (instance,) = past_of(journal).container(pod.uid, "app").instances
    subject = rf"Stop of web/app, instance 1 \(\w+\){' or later' * or_newer}\n"

    assert re.search(subject, explained(journal, pod))
    assert format_instance(instance, VIEW).endswith(
        "being stopped" + ", or a newer one" * or_newer
    )


@pytest.mark.parametrize(
    ("by", "is_said"), [(ExitCause.UNKNOWN, True), (ExitCause.UNCERTAIN, False)]
)
def test_a_kill_that_perhaps_ended_an_instance_is_not_said_to_have_not(
    by: ExitCause, *, is_said: bool
) -> None:
    pod = a_failing_pod()
    journal = [
        replace(entry, by=by) if isinstance(entry, ContainerEntry) else entry
        for entry in played(pod, 17, probing=FAILING)
        if getattr(entry, "what", None) is not LifecycleStep.STOPPING
    ]

    assert ("did not cause this exit" in explained(journal, pod)) is is_said


def test_a_container_without_history_has_not_been_created() -> None:
    past = past_of(())
    first, *_ = why_report(case_of(past, a_failing_pod()), past, "uid")

    assert first.startswith("web/app has not been created yet: the kubelet has not")
    assert explained((), a_failing_pod()) == first


class TestWithLittleToGoOn:
    def test_a_stop_without_a_grace_period_has_no_sentence_about_it(self) -> None:
        pod = a_failing_pod()
        journal = [
            replace(entry, grace_period_seconds=None)
            if isinstance(entry, ContainerEntry)
            else entry
            for entry in played(pod, 20, probing=FAILING, lives={"app": STUBBORN})
        ]

        text = explained(journal, pod)

        assert "of grace" not in text
        assert "SIGKILL follows" not in text

    def test_a_wait_while_a_container_stops_is_a_separate_answer(
        self,
    ) -> None:
        pod = a_failing_pod()

        text = explained(before_its_end(played(pod, 60, probing=FAILING)), pod)

        assert "Back-off of web/app" in text

    def test_that_wait_is_in_the_report_too(self) -> None:
        pod = a_failing_pod()
        past = past_of(before_its_end(played(pod, 60, probing=FAILING)))

        lines = "\n".join(why_report(case_of(past, pod), past, pod.uid))

        assert "Back-off of web/app" in lines

    def test_only_the_last_instances_of_many_are_listed(self) -> None:
        pod = a_failing_pod()
        past = past_of(played(pod, 9_000, lives={"app": CRASHES}))

        lines = "\n".join(why_report(case_of(past, pod), past, pod.uid))

        assert re.search(r"\n    \d+-\d+  .*each exited by itself, exit 1$", lines)

    def test_an_unknown_tick_has_no_explanation(self) -> None:
        tick = history(DEMO_KEY, LIVENESS, "s", NOW)[-1]

        assert list(tick_history(Timeline(()), tick, VIEW)) == []

    def test_ticks_that_did_not_probe_are_among_those_that_led_to_a_kill(self) -> None:
        entries = [
            changed_tick(entry, sequence=number + 1)
            for number, entry in enumerate(history(DEMO_KEY, LIVENESS, "dff", NOW))
        ]

        lines = list(tick_history(Timeline.of(entries), entries[-1], VIEW))

        assert "skipped: initial delay" in lines[0]
        assert len(lines) == 3

    def test_an_exit_without_a_status_is_in_brackets(self) -> None:
        refused = Attempt(ProbeResult.FAILURE, "connection refused")
        entries = [
            changed_tick(entry, sequence=number + 1, attempts=(refused,))
            for number, entry in enumerate(history(DEMO_KEY, LIVENESS, "sf", NOW))
        ]

        lines = list(tick_history(Timeline.of(entries), entries[-1], VIEW))

        assert lines[-1].endswith("no action (connection refused)")

    def test_a_refused_connection_without_ports_declares_none(self) -> None:
        attempt = Attempt(ProbeResult.FAILURE, "connect: connection refused")
        tick = changed_tick(
            history(DEMO_KEY, LIVENESS, "f", NOW)[-1], attempts=(attempt,)
        )

        assert "declares" not in "".join(hints(tick, a_container(), VIEW))
        assert list(hints(changed_tick(tick, attempts=()), None, VIEW)) == []
