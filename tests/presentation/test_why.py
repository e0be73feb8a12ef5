"""Why a tick, a kill or a wait came about.

UX-02, UX-15, UX-20, UX-21, UX-28, UX-65.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any

import pytest

from probetui.drive.record_lines import decode_line
from probetui.drive.record_reader import decode_entries
from probetui.drive.recording import RecordContext, encode_entry, to_line
from probetui.drive.scripted_lives import Answer as Met
from probetui.drive.scripted_lives import Life as Lasting
from probetui.k8s.listeners import Endpoint, Extent, Listeners
from probetui.k8s.pod import Container, ContainerPort, Pod
from probetui.k8s.probe import ExecAction, HTTPGetAction
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.inputs import DeletePod, KillContainer, RestartContainer
from probetui.kubelet.journal import (
    BackoffEntry,
    By,
    ContainerEntry,
    Entry,
    Exit,
    Lifecycle,
    ListenersEntry,
    Skip,
    TickEntry,
    Trigger,
)
from probetui.kubelet.outcome import Attempt, ProbeResult, Result
from probetui.presentation.api_json import pod_status_to_json
from probetui.presentation.durations import Times
from probetui.presentation.hints import hints
from probetui.presentation.past import Past
from probetui.presentation.timeline import Timeline
from probetui.presentation.view import View
from probetui.presentation.why import Case, answers, tick_by_tick, why_tick, why_waits
from probetui.presentation.why_ended import end_sentences
from probetui.presentation.why_report import report
from tests.builders import START, a_container, a_pod, a_probe, at
from tests.drive.stage import FAILS, Stage, always, probing
from tests.tui.states import DEMO, DEMO_KEY, LIVENESS, NOW, history

VIEW = View(Times(START, START, zone=UTC))
PROBE = a_probe(ExecAction(("cat", "/tmp/healthy")), period_seconds=5)
CONTAINER = a_container(liveness_probe=PROBE)
STUBBORN = (Lasting(stops_after=None),)
CRASHES = (Lasting(timedelta(seconds=4), exit_code=1),)
REFUSED = Met(
    Attempt(
        ProbeResult.FAILURE,
        "connection refused",
        refused_at=Endpoint("10.0.0.2", 8080),
    )
)
FAILING = probing(liveness=always(FAILS))


def past_of(journal: Sequence[Entry]) -> Past:
    past = Past(journal)
    past.feed(journal, 0)
    return past


def case_of(past: Past, pod: Pod, name: str = "app") -> Case:
    return Case(
        pod,
        f"{pod.name}/{name}",
        name,
        past.pod_ip(pod.uid),
        past.container(pod.uid, name),
        VIEW,
    )


def told(journal: Sequence[Entry], pod: Pod) -> str:
    """Return everything that is said of the pod's container, without a tick."""
    given = answers(case_of(past_of(journal), pod), None)
    return "\n".join(
        line for each in given for line in (each.question, *each.sentences)
    )


def played(pod: Pod, seconds: float = 45, **script: Any) -> list[Entry]:
    stage = Stage(pod, **script)
    stage.run_until(seconds)
    return stage.journal


def a_failing_pod(container: Container = CONTAINER, **fields: Any) -> Pod:
    return a_pod(container, **fields)


class TestKill:
    def test_it_tells_who_asked_how_often_it_failed_and_what_it_printed(self) -> None:
        text = told(played(a_failing_pod(), probing=FAILING), a_failing_pod())

        assert (
            "Its liveness probe asked for it: failure 3 of 3 in a row, tick #" in text
        )
        assert "The probe failed after 0ms: not well" in text

    def test_the_grace_of_the_pod_is_told_as_such(self) -> None:
        pod = a_failing_pod(termination_grace_period_seconds=20)

        text = told(played(pod, probing=FAILING), pod)

        assert "given 20s of grace, the pod's terminationGracePeriodSeconds." in text

    def test_the_default_grace_is_told_as_such(self) -> None:
        text = told(played(a_failing_pod(), probing=FAILING), a_failing_pod())

        assert "terminationGracePeriodSeconds, which is the default." in text

    def test_the_grace_of_the_probe_is_told_as_such(self) -> None:
        probe = replace(PROBE, termination_grace_period_seconds=5)
        pod = a_failing_pod(a_container(liveness_probe=probe))

        text = told(played(pod, probing=FAILING), pod)

        assert "given 5s of grace, set at the liveness probe itself." in text

    def test_a_hook_before_the_end_is_told(self) -> None:
        pod = a_failing_pod(replace(CONTAINER, pre_stop=ExecAction(("sleep", "1"))))

        assert "Its preStop hook ran first" in told(played(pod, probing=FAILING), pod)

    def test_137_is_not_taken_for_out_of_memory(self) -> None:
        pod = a_failing_pod(termination_grace_period_seconds=5)

        text = told(played(pod, probing=FAILING, lives={"app": STUBBORN}), pod)

        assert "exit code 137, SIGKILL. It had not ended by itself within" in text
        assert "It was not out of memory: the runtime set no OOM flag." in text

    def test_the_oom_flag_is_believed(self) -> None:
        pod = a_failing_pod()
        journal = [
            replace(each, oom_killed=True, exit_code=137, signal=9)
            if isinstance(each, ContainerEntry) and each.what is Lifecycle.EXITED
            else each
            for each in played(pod, 6, lives={"app": CRASHES})
        ]

        text = told(journal, pod)

        assert "exit code 137. It was out of memory, as the runtime's OOM flag" in text

    def test_a_sigkill_that_nobody_here_sent_is_told_as_such(self) -> None:
        pod = a_failing_pod()
        lives = {"app": (Lasting(timedelta(seconds=4), exit_code=137),)}

        text = told(played(pod, 6, lives=lives), pod)

        assert "Nobody here asked for it: the container ended by itself." in text
        assert "Nobody here sent it: it came from elsewhere, or the program" in text
        assert "or the program itself ended with that code" in text
        assert "It was not out of memory: the runtime set no OOM flag." in text

    def test_a_sigkill_sooner_than_the_grace_came_from_elsewhere(self) -> None:
        pod = a_failing_pod()
        stops = (Lasting(stops_after=timedelta(seconds=3), stop_code=137),)

        text = told(played(pod, 20, probing=FAILING, lives={"app": stops}), pod)

        assert "That is 3s after SIGTERM, sooner than the grace of 30s" in text

    def test_an_end_on_sigterm(self) -> None:
        pod = a_failing_pod()
        stops = (Lasting(stop_code=143),)

        text = told(played(pod, 20, probing=FAILING, lives={"app": stops}), pod)

        assert "exit code 143, SIGTERM. It ended when it was told to." in text

    def test_while_it_is_being_stopped_the_time_of_sigkill_is_told(self) -> None:
        pod = a_failing_pod()

        text = told(played(pod, 20, probing=FAILING, lives={"app": STUBBORN}), pod)

        assert "Why is web/app being stopped, instance 1" in text
        assert "It has not ended yet; SIGKILL follows at 12:00:4" in text

    def test_by_hand(self) -> None:
        pod = a_failing_pod()
        stage = Stage(pod)
        stage.run_until(10)
        stage.send(RestartContainer(pod.uid, "app"))
        stage.run_until(45)

        assert "Somebody asked for it by hand." in told(stage.journal, pod)

    def test_a_kill_by_hand_leaves_no_grace(self) -> None:
        pod = a_failing_pod()
        stage = Stage(pod, lives={"app": STUBBORN})
        stage.run_until(10)
        stage.send(KillContainer(pod.uid, "app"))
        stage.run_until(20)

        text = told(stage.journal, pod)

        assert "given 0s of grace, as was asked for: to be killed at once." in text
        assert "It was given no time to end by itself." in text

    def test_by_deletion_the_end_before_is_told_too(self) -> None:
        pod = a_failing_pod()
        stage = Stage(pod, probing=FAILING)
        stage.run_until(20)
        stage.send(DeletePod(pod.uid))
        stage.run_until(80)

        text = told(stage.journal, pod)

        assert "Its pod was deleted." in text
        assert "Its liveness probe asked for it" in text

    @pytest.mark.parametrize(
        ("by", "sentence"),
        [
            pytest.param(By.LIVENESS, "Its liveness probe asked for it: f", id="L"),
            pytest.param(By.STARTUP, "Its startup probe asked for it: f", id="S"),
            pytest.param(By.ITSELF, "Nobody here asked for it", id="itself"),
            pytest.param(By.USER, "Somebody asked for it by hand.", id="user"),
            pytest.param(By.DELETE, "Its pod was deleted.", id="delete"),
            pytest.param(By.DEFINITION, "Its definition was changed", id="definition"),
            pytest.param(By.POD, "Its whole pod was stopped.", id="pod"),
        ],
    )
    def test_everybody_who_can_ask_has_a_sentence(self, by: By, sentence: str) -> None:
        pod = a_failing_pod()
        journal = [
            replace(each, by=by)
            if isinstance(each, ContainerEntry) and each.by is not None
            else each
            for each in played(pod, probing=FAILING)
        ]

        assert told(journal, pod).splitlines()[1].startswith(sentence)

    def test_a_result_that_somebody_chose_is_told_as_such(self) -> None:
        pod = a_failing_pod()
        journal = [
            each._replace(injected=True) if isinstance(each, TickEntry) else each
            for each in played(pod, 20, probing=FAILING)
        ]

        assert "was chosen by somebody, not by the container." in told(journal, pod)

    def test_a_result_that_somebody_delayed_is_told_as_such(self) -> None:
        pod = a_failing_pod()
        late = timedelta(seconds=2)
        journal = [
            each._replace(delay=late) if isinstance(each, TickEntry) else each
            for each in played(pod, 20, probing=FAILING)
        ]

        assert "answers back: the last of them came 2.0s later." in told(journal, pod)

    def test_without_the_tick_the_probe_is_still_named(self) -> None:
        pod = a_failing_pod()
        journal = [
            each
            for each in played(pod, 20, probing=FAILING)
            if not isinstance(each, TickEntry)
        ]

        assert "Its liveness probe asked for it." in told(journal, pod)

    def test_another_signal_is_named(self) -> None:
        pod = a_failing_pod()
        lives = {"app": (Lasting(timedelta(seconds=4), exit_code=139),)}

        assert "exit code 139, SIGSEGV." in told(played(pod, 6, lives=lives), pod)

    def test_what_back_off_said_may_not_be_known(self) -> None:
        pod = a_failing_pod()
        journal = [
            each
            for each in played(pod, 6, lives={"app": CRASHES})
            if not isinstance(each, BackoffEntry)
        ]

        assert "what back-off said is not known." in told(journal, pod)


class TestBackOff:
    def test_the_first_restart_after_a_kill_has_nothing_to_reckon_from(self) -> None:
        pod = a_failing_pod()

        text = told(played(pod, 20, probing=FAILING), pod)

        assert "there was none that had ended when the kubelet looked." in text
        assert "that is why such restarts often come at once." in text

    def test_the_first_window_begins_with_a_restart(self) -> None:
        pod = a_failing_pod()

        text = told(played(pod, 6, lives={"app": CRASHES}), pod)

        assert "there was no window yet, this start began the first one." in text
        assert "The next window is 10s; it is forgotten when an instance ends more" in (
            text
        )
        assert "more than 10 minutes after its start." in text

    def test_a_wait_tells_its_window_from_when_and_until_when(self) -> None:
        pod = a_failing_pod()

        text = told(played(pod, 12, lives={"app": CRASHES}), pod)

        assert "It has to wait in back-off until 12:00:1" in text
        assert (
            "the window is 10s, reckoned from the end of an instance at 12:00" in text
        )

    def test_the_end_of_the_killed_instance_moves_the_window(self) -> None:
        pod = a_failing_pod()
        journal = played(pod, 64, probing=FAILING)

        text = told(journal, pod)

        untils = [
            each.until
            for each in journal
            if isinstance(each, BackoffEntry) and each.waits
        ]
        assert untils == [at(65), at(80)]
        assert (
            "It has to wait in back-off until 12:01:20.0: the window is 20s, "
            "reckoned from the end of an instance at 12:01:00.0." in text
        )

    def test_a_wait_that_is_over_is_told_as_such_though_nothing_was_started(
        self,
    ) -> None:
        pod = a_failing_pod()
        journal = played(pod, 12, lives={"app": CRASHES})
        case = case_of(past_of(journal), pod)
        later = replace(case, view=View(Times(at(300), START, zone=UTC)))

        text = "\n".join(answers(later, None)[0].sentences)

        assert "It had to wait in back-off until 12:00:1" in text
        assert "It has not been started again." in text

    def test_while_the_last_instance_still_stops_a_wait_is_told_apart(self) -> None:
        pod = a_failing_pod()
        past = past_of(played(pod, 60, probing=FAILING))

        answer = why_waits(case_of(past, pod))

        assert answer is not None
        assert answer.question == "Why is web/app not started again yet?"
        assert answer.sentences[0].startswith("It has to wait in back-off until 12:01")

    def test_what_runs_does_not_wait(self) -> None:
        pod = a_failing_pod()

        assert why_waits(case_of(past_of(played(pod, 10)), pod)) is None

    def test_a_window_that_is_past_is_told_with_the_time_that_passed(self) -> None:
        pod = a_failing_pod()

        text = told(played(pod, 50, probing=FAILING), pod)

        assert "the window of 10s counts from the end of the instance before at" in text
        assert "at 12:00:30.0, and 15s had passed since." in text

    def test_a_start_after_a_wait_is_told_as_such(self) -> None:
        pod = a_failing_pod()

        text = told(played(pod, 100, probing=FAILING), pod)

        assert "It had to wait in back-off until 12:01:20.0: the window is 20s" in text
        assert "by a sync of its pod after the wait: 29s after the end at" in text

    def test_a_window_that_was_forgotten(self) -> None:
        pod = a_failing_pod()
        lives = {"app": (Lasting(timedelta(seconds=700), exit_code=1),)}

        text = told(played(pod, 1500, lives=lives), pod)

        assert "without a wait: the window had been forgotten." in text


class TestTick:
    def sentences(self, letters: str, pod: Pod = DEMO, **fields: Any) -> str:
        tick = history(DEMO_KEY, LIVENESS, letters, NOW)[-1]._replace(**fields)
        case = case_of(past_of(()), pod, "liveness")
        return "\n".join(why_tick(tick, case).sentences)

    def test_a_failure_below_the_threshold(self) -> None:
        text = self.sentences("sff")

        assert "It gave exit 1 after 34ms and printed: cat: can't open" in text
        assert "No such file or directory\n" in text
        assert "That was failure 2 of 3 in a row: too few, so that nothing was" in text

    def test_a_run_that_is_longer_than_it_has_to_be(self) -> None:
        text = self.sentences("ssss", threshold=1, stored_before=Result.SUCCESS)

        assert "That was success 4 (of 1 that are needed) in a row, and" in text

    def test_a_failure_that_has_no_status_is_told_by_what_it_said(self) -> None:
        refused = Attempt(
            ProbeResult.FAILURE, "dial tcp 10.0.0.2:80: connect: connection refused"
        )

        text = self.sentences("f", attempts=(refused,))

        assert "It failed after 0ms: dial tcp 10.0.0.2:80: connect: conn" in text

    def test_three_attempts_of_an_errored_tick_are_listed(self) -> None:
        text = self.sentences("e")

        assert "Attempt 1 of 3 could not be run (2ms): exec:" in text
        assert "Attempt 3 of 3" in text
        assert "an error never restarts it." in text
        assert "The command is not in the image" in text

    def test_a_threshold_that_is_reached(self) -> None:
        text = self.sentences("fffK", stored_after=Result.FAILURE)

        assert "the stored result, Success, became Failure." in text
        assert (
            "What followed: the container is killed, and the probe goes on hold."
            in text
        )

    def test_the_first_tick_that_sees_a_container(self) -> None:
        text = self.sentences("s", new_container=True)

        assert (
            "the first tick to see container d71cb34f0e11: the run of results goes on, "
            "a hold is lifted, and the stored result begins anew." in text
        )

    def test_an_injected_result(self) -> None:
        assert "Somebody chose the result" in self.sentences("f", injected=True)

    def test_a_pause(self) -> None:
        text = self.sentences("f", held=timedelta(seconds=2))

        assert "A pause held it back for 2.0s; the clock did not stop" in text

    def test_a_late_answer(self) -> None:
        text = self.sentences("f", delay=timedelta(seconds=2))

        assert "Somebody held its answers back: each came 2.0s later." in text

    @pytest.mark.parametrize("trigger", [pytest.param(e, id=e) for e in Trigger])
    def test_what_made_it_happen(self, trigger: Trigger) -> None:
        text = self.sentences("s", trigger=trigger)

        assert ("on schedule" in text) is (trigger is Trigger.PERIODIC)

    @pytest.mark.parametrize("skip", [pytest.param(each, id=each) for each in Skip])
    def test_what_keeps_it_from_probing_and_what_ends_that(self, skip: Skip) -> None:
        text = self.sentences("s", skip=skip, attempts=(), result=None)

        assert "Nothing was probed: " in text
        assert "A cluster shows of it: nothing" in text

    @pytest.mark.parametrize("reason", [pytest.param(each, id=each) for each in Exit])
    def test_a_last_tick(self, reason: Exit) -> None:
        text = self.sentences("s", exit=reason, attempts=(), result=None)

        assert "Nothing was probed: " in text

    def test_the_tick_that_put_a_probe_on_hold_is_named(self) -> None:
        pod = a_failing_pod()
        journal = played(pod, 40, probing=FAILING, lives={"app": STUBBORN})
        past = past_of(journal)
        held = [
            each
            for each in journal
            if isinstance(each, TickEntry) and each.skip is Skip.ON_HOLD
        ]

        sentences = why_tick(held[-1], case_of(past, pod)).sentences

        assert any(each.endswith("failure 3 of 3 in a row.") for each in sentences)

    def test_the_command_to_repeat_it_is_named(self) -> None:
        tick = history(DEMO_KEY, LIVENESS, "s", NOW)[-1]

        answer = why_tick(tick, case_of(past_of(()), DEMO, "liveness"))

        assert answer.command == "docker exec d71cb34f0e11 cat /tmp/healthy"

    def test_without_the_manifest_no_command_is_named(self) -> None:
        tick = history(DEMO_KEY, LIVENESS, "s", NOW)[-1]
        case = replace(case_of(past_of(()), DEMO, "liveness"), pod=None)

        assert why_tick(tick, case).command == ""


class TestHints:
    def hints(self, attempt: Attempt, container: Container) -> str:
        key = DEMO_KEY._replace(container_name="app")
        tick = history(key, LIVENESS, "f", NOW)[-1]._replace(attempts=(attempt,))
        case = case_of(past_of(()), a_pod(container))
        return "\n".join(why_tick(tick, case).sentences)

    def failing(self, output: str, detail: str = "") -> Attempt:
        return Attempt(ProbeResult.FAILURE, output, detail=detail)

    def test_a_refused_connection_names_what_may_listen_elsewhere(self) -> None:
        probe = a_probe(HTTPGetAction(8080))
        container = a_container(liveness_probe=probe, ports=(ContainerPort(9090),))
        output = 'Get "http://10.0.0.2:8080/": dial tcp: connect: connection refused'

        text = self.hints(self.failing(output), container)

        assert "or on 127.0.0.1 only" in text
        assert "The container declares: 9090." in text

    def test_what_was_looked_up_takes_the_place_of_a_guess(self) -> None:
        there = Endpoint("10.0.0.2", 8080)
        attempt = Attempt(ProbeResult.FAILURE, "connection refused", refused_at=there)
        tick = history(DEMO_KEY, LIVENESS, "f", NOW)[-1]._replace(attempts=(attempt,))
        found = Listeners((Endpoint("127.0.0.1", 8080),), Extent.CONTAINER)
        entry = ListenersEntry(
            tick.sequence + 1, NOW, tick.key, tick.container_id, there, found,
            cause=tick.sequence,
        )  # fmt: skip
        past = past_of((tick, entry)).container(DEMO_KEY.pod_uid, "liveness")

        text = "".join(hints(tick, a_container(), past))

        assert text == (
            "The container listens on 127.0.0.1:8080 only: a probe comes to 10.0.0.2, "
            "so it is refused."
        )

    def test_an_end_by_a_refused_probe_says_where_the_container_listens(self) -> None:
        stage = Stage(a_pod(CONTAINER), probing=probing(liveness=always(REFUSED)))
        stage.run_until(45)
        (first, *_) = past_of(stage.journal).container("uid-of-web", "app").lives
        assert first.kill is not None
        looked = ListenersEntry(
            first.kill.sequence + 1,
            first.kill.at,
            first.kill.key,
            first.container_id,
            Endpoint("10.0.0.2", 8080),
            Listeners((), Extent.CONTAINER),
            cause=first.kill.sequence,
        )
        past = past_of((*stage.journal, looked)).container("uid-of-web", "app")

        told = list(end_sentences(first, CONTAINER, VIEW, past))
        untold = list(end_sentences(first, CONTAINER, VIEW))

        listens = "Nothing listens on 8080: the container listens on no port at all."
        assert listens in told
        assert untold == [each for each in told if each != listens]

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

    def test_a_shell_without_the_command(self) -> None:
        text = self.hints(self.failing("sh: x: not found", "exit 127"), CONTAINER)

        assert "Exit 127 is a shell" in text


def through_a_record(journal: Sequence[Entry], pod: Pod) -> tuple[Entry, ...]:
    """Return a journal written to a record and read back."""
    context = RecordContext(START, {pod.uid: pod}, pod_status_to_json)
    lines = [to_line(encode_entry(each, context)) for each in journal]
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
def test_a_record_says_the_same_as_the_session_that_wrote_it(
    seconds: float, script: dict[str, Any]
) -> None:
    pod = a_failing_pod()
    journal = played(pod, seconds, **script)
    live, read = past_of(journal), past_of(through_a_record(journal, pod))

    from_the_session = report(case_of(live, pod), live, pod.uid)
    from_the_record = report(case_of(read, pod), read, pod.uid)

    assert from_the_record == from_the_session
    assert len(from_the_session) > 3


def test_the_report_has_the_ticks_that_led_to_a_kill_and_the_command() -> None:
    pod = a_failing_pod()
    past = past_of(played(pod, 45, probing=FAILING))

    lines = [each.strip() for each in report(case_of(past, pod), past, pod.uid)]

    start = lines.index("Tick by tick:")
    assert [each.partition(" ")[0] for each in lines[start + 1 : start + 4]] != []
    assert "threshold 3 reached: container killed" in "\n".join(lines)
    assert lines[lines.index("To repeat the probe by hand:") + 1] == "cat /tmp/healthy"
    assert "Its lives:" in lines


def test_of_a_container_without_a_past_it_says_that_nothing_happened() -> None:
    past = past_of(())

    assert told((), a_failing_pod()).endswith("no tick, and no end.")
    assert report(case_of(past, a_failing_pod()), past, "uid")[-1].endswith("no end.")


class TestWithLittleToGoOn:
    def test_a_stop_without_a_grace_has_no_sentence_about_it(self) -> None:
        pod = a_failing_pod()
        journal = [
            replace(each, grace_period_seconds=None)
            if isinstance(each, ContainerEntry)
            else each
            for each in played(pod, 20, probing=FAILING, lives={"app": STUBBORN})
        ]

        text = told(journal, pod)

        assert "of grace" not in text
        assert "SIGKILL follows" not in text

    def test_a_wait_of_a_container_that_still_stops_is_an_answer_of_its_own(
        self,
    ) -> None:
        pod = a_failing_pod()

        text = told(played(pod, 60, probing=FAILING), pod)

        assert "Why is web/app not started again yet?" in text

    def test_that_wait_is_in_the_report_too(self) -> None:
        pod = a_failing_pod()
        past = past_of(played(pod, 60, probing=FAILING))

        lines = "\n".join(report(case_of(past, pod), past, pod.uid))

        assert "Why is web/app not started again yet?" in lines

    def test_of_many_lives_the_last_ones_are_listed(self) -> None:
        pod = a_failing_pod()
        past = past_of(played(pod, 9_000, lives={"app": CRASHES}))

        lines = "\n".join(report(case_of(past, pod), past, pod.uid))

        assert "earlier ones)" in lines

    def test_a_tick_that_is_not_known_leads_nowhere(self) -> None:
        tick = history(DEMO_KEY, LIVENESS, "s", NOW)[-1]

        assert list(tick_by_tick(Timeline(()), tick, VIEW)) == []

    def test_ticks_that_did_not_probe_are_among_those_that_led_to_a_kill(self) -> None:
        entries = [
            each._replace(sequence=number + 1)
            for number, each in enumerate(history(DEMO_KEY, LIVENESS, "dff", NOW))
        ]

        lines = list(tick_by_tick(Timeline.of(entries), entries[-1], VIEW))

        assert "skipped: initial delay" in lines[0]
        assert len(lines) == 3

    def test_what_has_no_status_is_in_brackets_alone(self) -> None:
        refused = Attempt(ProbeResult.FAILURE, "connection refused")
        entries = [
            each._replace(sequence=number + 1, attempts=(refused,))
            for number, each in enumerate(history(DEMO_KEY, LIVENESS, "sf", NOW))
        ]

        lines = list(tick_by_tick(Timeline.of(entries), entries[-1], VIEW))

        assert lines[-1].endswith("unchanged (connection refused)")

    def test_a_refused_connection_without_ports_declares_none(self) -> None:
        attempt = Attempt(ProbeResult.FAILURE, "connect: connection refused")
        tick = history(DEMO_KEY, LIVENESS, "f", NOW)[-1]._replace(attempts=(attempt,))

        assert "declares" not in "".join(hints(tick, a_container()))
        assert list(hints(tick._replace(attempts=()), None)) == []
