"""The chosen container and its probe, in short and in full (UX-03, UX-05, UX-18)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.container_history import ContainerHistory, ContainerInstance
from probetui.analysis.timeline import Timeline
from probetui.engine.snapshot import BackoffSnapshot, PodSnapshot
from probetui.k8s.pod import Container, RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.k8s.status import Running, Waiting
from probetui.kubelet.journal import ExitCause, Skip, StoppingSnapshot
from probetui.kubelet.outcome import Attempt, ProbeResult, Result
from probetui.presentation.container.detail import (
    Subject,
    choose_probe,
    container_title,
    full_detail,
    probe_summary,
    probe_tabs,
    short_detail,
    subject_badge,
    why_in_short,
    with_last_run,
)
from probetui.presentation.text.spans import EMPTY, text_of
from probetui.presentation.text.view import View
from probetui.record.masking import Mask
from tests.presentation.looking import VIEW
from tests.tui.snapshots import (
    DEMO,
    FIRST,
    NO_FILE,
    NOW,
    SECOND,
    a_container_snapshot,
    a_pod_snapshot,
    clock,
    demo,
    shop,
)

_SECOND = timedelta(seconds=1)


def the_subject(pod: PodSnapshot, wanted: ProbeType | None = None) -> Subject:
    container = pod.containers[0]
    return Subject(pod, container, choose_probe(container, wanted))


def short(pod: PodSnapshot, view: View = VIEW, width: int = 76) -> list[str]:
    return [text_of(each) for each in short_detail(the_subject(pod), view, width)]


def full(pod: PodSnapshot, view: View = VIEW, width: int = 64) -> dict[str, str]:
    """Return the lines by their labels."""
    lines = [text_of(each) for each in full_detail(the_subject(pod), view, width)]
    return {line[:14].strip(): line[14:] for line in lines if line[:14].strip()}


def printing(text: str, error: str | None = None) -> PodSnapshot:
    """Return the demo, whose last probe printed that, or could not be run."""
    pod = demo("|sf")
    probe = pod.containers[0].probes[0]
    result = ProbeResult.FAILURE if error is None else ProbeResult.UNKNOWN
    attempt = Attempt(result, text, error, timedelta(milliseconds=34), "exit 1")
    assert probe.last_run is not None
    told = replace(probe, last_run=probe.last_run._replace(attempts=(attempt,)))
    container = replace(pod.containers[0], probes=(told,))
    return replace(pod, containers=(container,))


def test_the_five_lines_that_matter() -> None:
    assert short(demo()) == [
        "✓✓✓✓✓✓✗✗✗Khhhhhh|✓✓✓✓✓✓✗✗ <now         ✓ok ✗fail K kill h hold | new d delay",
        "run  ✗✗· 2/3 failures -> kill at 3    stored result  Success     hold  no",
        f"last ✗ exit 1 in 34ms  {NO_FILE.rstrip()}",
        "why  08:21:05.1 probed: run 1->2, below threshold 3, no action",
        "next fail: kill, 30s grace, restart without back-off (10s window is over)",
    ]


def test_the_legend_makes_room_for_ticks() -> None:
    assert short(demo("|" + "s" * 60))[0] == "✓" * 60 + " <now"


def test_before_the_first_tick_there_is_nothing_to_tell() -> None:
    pod = demo("", upcoming_skip=Skip.CONTAINER_MISSING, stored_result=None)

    assert [each.rstrip() for each in short(pod, width=40)] == [
        "no tick yet <now",
        "run  · not probed yet                 stored result  none        hold  no",
        "last not probed yet",
        "why  no tick yet",
        "next fail: none: no running container to probe",
    ]
    assert why_in_short(the_subject(pod)) == "no tick yet"


@pytest.mark.parametrize(
    ("started", "words"),
    [
        pytest.param(False, "none; the startup probe has to succeed first", id="gated"),
        pytest.param(True, "none", id="started"),
    ],
)
def test_a_delay_that_a_startup_probe_makes_pointless_says_so(
    started: bool,  # noqa: FBT001  # a column
    words: str,
) -> None:
    pod = shop()
    web = pod.containers[1]
    assert web.status is not None
    container = replace(web, status=replace(web.status, started=started))

    assert full(replace(pod, containers=(container,)))["initial delay"] == words


def test_a_kill_under_way_takes_the_place_of_the_next_failure() -> None:
    stopping = StoppingSnapshot(clock("08:21:00"), 30, "pod", ExitCause.LIVENESS)
    pod = demo("|sfffKh", on_hold=True, container={"stopping": stopping})

    assert short(pod)[-1] == (
        "kill SIGTERM 08:21:00, SIGKILL 08:21:30, 23s of 30s grace left (pod)"
    )
    assert full(pod)["kill"] == (
        "SIGTERM 08:21:00, SIGKILL 08:21:30, 23s of 30s grace left (pod), "
        "liveness probe"
    )


def test_a_wait_takes_the_place_of_the_next_failure() -> None:
    backoff = BackoffSnapshot(
        40 * _SECOND, clock("08:20:50"), clock("08:21:30"), 80 * _SECOND
    )
    pod = demo(container={"backoff": backoff, "state": Waiting("CrashLoopBackOff")})

    assert short(pod)[-1] == (
        "wait window 40s from exit 08:20:50, retry in 23s, next window 1m20s"
    )
    assert full(pod)["back-off"]


def test_a_pull_takes_the_place_of_the_next_failure() -> None:
    pod = demo("", pod={"operation": "pulling busybox 40%"})

    assert short(pod)[-1] == "doing pulling busybox 40%"
    assert full(pod)["doing"] == "pulling busybox 40%"


def test_everything_there_is_to_say() -> None:
    assert full(demo()) == {
        "state": "Running 41s   ready yes   restarts 2",
        "last exit": "08:20:25.1 exit 137 (SIGKILL after the grace, not OOM), "
        "liveness probe",
        "image": "busybox:1.27.2  id d71cb34f0e11",
        "handler": "exec cat /tmp/healthy",
        "timing": "period 5s  timeout 1s  delay 5s  failures 3",
        "✓✓✓✓✓✓✗✗✗Khhhh": "hh|✓✓✓✓✓✓✗✗ <now                     one mark = 5s",
        "^08:19:15": "  ^08:20:30 new container",
        "result run": "✗✗· 2/3 failures   threshold ██████░░░░",
        "stored": "Success  since 08:20:30.1 (initial value)",
        "on hold": "no",
        "initial delay": "over (5s, started 41s ago)",
        "next tick": "3.1s  at 08:21:10",
        "counted": "12 succeeded, 5 failed, 0 errored, 6 skipped",
        "latency": "last 34ms   median 28ms   max 34ms   timeout 1.0s",
        "noticed after": "10s to 16s   period 5s x failures 3 + timeout",
        "then killed": "0s to 30s later (grace, pod)",
        "why": "08:21:05.1 probed: run 1->2, below threshold 3, no action",
        "next failure": "kill at 08:21:10, 30s grace (pod)",
        "last output": "✗ exit 1 in 34ms, 58 bytes",
        "cat: can't o": "pen '/tmp/healthy': No such file or directory",
    }


@pytest.mark.parametrize(
    ("pod", "label", "words"),
    [
        pytest.param(
            demo("|ss"), "result run", "✓ 2 successes, no change", id="several"
        ),
        pytest.param(demo("|s"), "result run", "✓ 1 success, no change", id="one"),
        pytest.param(
            demo("|ffff", stored_result=Result.FAILURE),
            "result run",
            "✗ 4 failures, no change",
            id="failures",
        ),
        pytest.param(
            demo("|sfffKh"), "result run", "✓ 0 (reset on hold)", id="reset"
        ),
        pytest.param(
            demo("|ee"), "result run", "! err 2 in a row, not counted", id="only errors"
        ),
        pytest.param(
            demo(on_hold=True),
            "on hold",
            "yes  until the container has restarted",
            id="on hold",
        ),
        pytest.param(
            demo(delay_until=NOW + 2.5 * _SECOND),
            "initial delay",
            "2.5s of 5s left",
            id="delay",
        ),
        pytest.param(
            demo(container={"state": Running()}),
            "initial delay",
            "5s after the next start",
            id="start unknown",
        ),
        pytest.param(demo("|sfffK"), "stored", "Success  since 08:21:05.1", id="since"),
        pytest.param(
            demo("ssss", stored_result=Result.UNKNOWN),
            "stored",
            "Unknown",
            id="unknown",
        ),
        pytest.param(
            demo("|ee"), "last output", "! errored in 2ms, attempt 3 of 3, 38 bytes",
            id="attempts",
        ),
    ],
)  # fmt: skip
def test_a_line_of_the_detail(pod: PodSnapshot, label: str, words: str) -> None:
    assert full(pod)[label].startswith(words)


def test_a_hold_that_is_over_says_when_it_was_released() -> None:
    pod = demo()
    container = pod.containers[0]
    probe = container.probes[0]
    released = probe.history[-3]._replace(hold_before=True)
    history = (*probe.history[:-3], released, *probe.history[-2:])
    container = replace(container, probes=(replace(probe, history=history),))

    shown = full(replace(pod, containers=(container,)))

    assert shown["on hold"] == "no  released 08:20:55.1 by a new container id"


def test_in_little_room_there_are_no_empty_lines() -> None:
    subject = the_subject(demo())

    assert EMPTY in full_detail(subject, VIEW, 64, 24)
    assert EMPTY not in full_detail(subject, VIEW, 64, 23)


def test_with_much_room_each_life_has_a_strip_of_its_own() -> None:
    pod, past = (
        demo(),
        ContainerHistory((ContainerInstance(FIRST, 0), ContainerInstance(SECOND, 1))),
    )
    subject = replace(the_subject(pod), history=past)

    wide = [text_of(each)[:6] for each in full_detail(subject, VIEW, 74, 27)]
    narrow = [text_of(each)[:6] for each in full_detail(subject, VIEW, 64, 27)]

    assert "inst 1" in wide
    assert "inst 2" in wide
    assert "inst 1" not in narrow


def test_without_a_restart_the_kill_is_the_end() -> None:
    pod = replace(demo(), pod=replace(DEMO, restart_policy=RestartPolicy.NEVER))

    lines = full(pod)

    assert lines["next failure"] == (
        "kill at 08:21:10, 30s grace (pod), no restart (policy Never)"
    )


def test_the_next_failure_says_whether_a_restart_would_wait() -> None:
    lines = [text_of(each) for each in full_detail(the_subject(demo()), VIEW, 64)]

    index = next(i for i, line in enumerate(lines) if line.startswith("next failure"))
    assert lines[index + 1].strip() == "restart without back-off (10s window is over)"


def test_the_whole_output_is_there_line_by_line_and_harmless() -> None:
    pod = printing("first\nsecond \x1b[31m\n\nlast [red]\n")

    lines = [text_of(each) for each in full_detail(the_subject(pod), VIEW, 64)]

    assert lines[-4:] == ["  first", "  second \\x1b[31m", "  ", "  last [red]"]


def test_a_short_output_stands_above_what_is_known_of_the_container() -> None:
    labels = list(full(demo()))

    assert labels.index("last output") < labels.index("state")


def test_a_long_output_comes_last_and_hides_nothing() -> None:
    labels = list(full(printing("x" * 10_240)))

    assert labels.index("state") < labels.index("last output")


def test_ten_kibibytes_are_kept_whole() -> None:
    pod = printing("x" * 10_240)

    lines = [text_of(each) for each in full_detail(the_subject(pod), VIEW, 64)]

    assert lines[-1] == "  " + "x" * 10_240


def test_bytes_are_counted_as_they_were_printed() -> None:
    assert "5 bytes" in full(printing("aé\udcff\udc80"))["last output"]


def test_an_error_is_shown_in_place_of_an_output() -> None:
    lines = short(printing("", error="exec failed: no such file"))

    assert lines[2] == "last ✗ errored in 34ms  exec failed: no such file"


def test_secrets_are_masked_in_outputs() -> None:
    view = replace(VIEW, mask=Mask(["s3cr3t-token"]))

    assert short(printing("token s3cr3t-token"), view)[2].endswith("token ***")


def test_a_container_without_probes_says_what_that_means() -> None:
    pod = a_pod_snapshot(DEMO, a_container_snapshot(Container("app", "web:1")))

    assert short(pod) == [
        "state         Running 41s   ready yes   restarts 0",
        "image         web:1  id d71cb34f0e11",
        "probes        none: only its own exit can restart this container",
    ]
    assert why_in_short(the_subject(pod)) == "no probe is defined"
    assert subject_badge(the_subject(pod), VIEW).text == ""


@pytest.mark.parametrize(
    ("wanted", "in_letters", "shown"),
    [
        pytest.param(None, False, " liveness [readiness]", id="not the first"),
        pytest.param(None, True, " L [R]", id="letters"),
    ],
)
def test_the_probe_that_is_shown_is_in_brackets(
    wanted: ProbeType | None,
    in_letters: bool,  # noqa: FBT001  # a column of the table
    shown: str,
) -> None:
    subject = the_subject(shop(), ProbeType.READINESS)

    assert (
        text_of(probe_tabs(subject, in_letters=in_letters)).replace("  ", " ") == shown
    )


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        pytest.param(ProbeType.READINESS, ProbeType.READINESS, id="the wanted one"),
        pytest.param(ProbeType.STARTUP, ProbeType.LIVENESS, id="not defined"),
        pytest.param(None, ProbeType.LIVENESS, id="the first"),
    ],
)
def test_the_probe_to_show(wanted: ProbeType | None, found: ProbeType) -> None:
    probe = choose_probe(shop().containers[0], wanted)

    assert probe is not None
    assert probe.key.probe_type is found


def test_title_and_summary() -> None:
    subject = the_subject(demo())

    assert (container_title(subject, VIEW), probe_summary(subject, VIEW)) == (
        "demo/liveness",
        "exec p5 t1 f3 d5",
    )
    assert subject_badge(subject, VIEW).text == "NEXT 3.1s"


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"status": None}, id="no status"),
        pytest.param({"state": Waiting("PodInitializing")}, id="waiting"),
    ],
)
def test_a_container_that_does_not_run_can_be_looked_at(fields: dict[str, Any]) -> None:
    lines = full(demo("", container=fields))

    assert lines["initial delay"] == "5s after the next start"


def test_of_a_worker_that_has_left_the_session_knows_the_last_run() -> None:
    past = Timeline.of(demo("|ssfn").containers[0].probes[0].history)
    pod = demo("", worker_alive=False, stored_result=None)
    subject = the_subject(pod)
    assert subject.probe is not None
    probe = with_last_run(subject.probe, past)
    subject = replace(subject, probe=probe, timeline=past)

    lines = [text_of(each) for each in short_detail(subject, VIEW, 76)]

    assert lines[1].startswith("run  · none (the worker exited) ")
    assert lines[2].startswith("last ✗ exit 1 in 34ms  cat: ")
    assert "skipped: container not running" in lines[3]


def test_a_worker_that_probes_has_its_own_last_run() -> None:
    subject = the_subject(demo())
    assert subject.probe is not None

    assert with_last_run(subject.probe, Timeline.of(())) is subject.probe


def test_a_worker_that_left_without_a_run_has_none() -> None:
    past = Timeline.of(demo("|dd").containers[0].probes[0].history)
    subject = the_subject(demo("", worker_alive=False))
    assert subject.probe is not None

    assert with_last_run(subject.probe, past).last_run is None
