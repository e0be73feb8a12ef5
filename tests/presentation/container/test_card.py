"""The verdict card: the facts about a probe, the most important ones first."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.engine.snapshot import (
    BackoffSnapshot,
    ContainerSnapshot,
    PodSnapshot,
    ProbeSnapshot,
)
from probetui.k8s.pod import Container, RestartPolicy
from probetui.k8s.probe import ExecAction, ProbeType
from probetui.k8s.runtime import NO_CONTAINER, ContainerID
from probetui.k8s.service import Service
from probetui.k8s.status import (
    ContainerStatus,
    PodPhase,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.journal import (
    ExitCause,
    FindingEntry,
    LastExit,
    Skip,
    StoppingSnapshot,
    TickAction,
)
from probetui.kubelet.outcome import Attempt, ProbeResult, Result
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from probetui.presentation.container.card import (
    brief_card_lines,
    card_lines,
    card_tone,
    lone_card_lines,
    one_line_card,
)
from probetui.presentation.container.detail import Subject, choose_probe
from probetui.presentation.container.health import Health, container_health
from probetui.presentation.container.ticks import why_line
from probetui.presentation.probe.cell import probe_cell
from probetui.presentation.probe.verdict import BADGE, WORDS, Tone, verdict_of
from probetui.presentation.text.spans import text_of
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import ASCII
from probetui.record.masking import Mask
from tests.presentation.looking import VIEW
from tests.ticks import DEMO_KEY, LIVENESS, NO_FILE, NOW, changed_tick
from tests.tui.scenes import back_off, on_hold
from tests.tui.snapshots import (
    DEMO,
    a_container_snapshot,
    a_pod_snapshot,
    a_probe_snapshot,
    clock,
    demo,
    shop,
)

_SECOND = timedelta(seconds=1)
STOPPING = StoppingSnapshot(clock("08:21:00"), 30, "pod", ExitCause.LIVENESS)
WAITING = BackoffSnapshot(
    40 * _SECOND, clock("08:20:50"), clock("08:21:30"), 80 * _SECOND
)


def the_subject(
    pod: PodSnapshot, place: int = 0, wanted: ProbeType | None = None
) -> Subject:
    container = pod.containers[place]
    return Subject(pod, container, choose_probe(container, wanted))


def card(
    pod: PodSnapshot, view: View = VIEW, width: int = 52, height: int = 7
) -> list[str]:
    return [
        text_of(row).rstrip()
        for row in card_lines(the_subject(pod), view, width, height)
    ]


def lone_card(
    pod: PodSnapshot, view: View = VIEW, width: int = 76, height: int = 5
) -> list[str]:
    return [
        text_of(row).rstrip()
        for row in lone_card_lines(the_subject(pod), view, width, height)
    ]


def worker() -> ContainerSnapshot:
    """Return the shop's container without probes, in back-off."""
    (found,) = (container for container in shop().containers if not container.probes)
    return found


def probing(**fields: Any) -> PodSnapshot:
    """Return the demo with changed settings of its probe."""
    pod = demo()
    shown = pod.containers[0].probes[0]
    probe = replace(shown, probe=replace(shown.probe, **fields))
    return replace(pod, containers=(replace(pod.containers[0], probes=(probe,)),))


def ended_pod(*, exit_code: int, by: ExitCause, reason: str = "") -> PodSnapshot:
    """Return the demo after it has ended for good."""
    at = NOW - 7 * _SECOND
    last_exit = LastExit(
        at, exit_code, by, "Completed", oom_killed=False, container_id=ContainerID("a")
    )
    ended = ContainerStatus("app", state=Terminated(exit_code, finished_at=at))
    container = {"status": ended, "last_exit": last_exit}
    pod = demo("|s", worker_alive=False, container=container)
    status = replace(pod.status, phase=PodPhase.FAILED, reason=reason)
    own = replace(pod.pod, restart_policy=RestartPolicy.NEVER)
    return replace(pod, pod=own, status=status)


def test_the_card_begins_with_the_verdict_and_ends_with_the_handler() -> None:
    assert card(demo()) == [
        " FAILING      ██ ██ ░░  2 of 3",
        "kill in 3.1s if the next probe fails",
        "result  healthy (36s)     grace  30s pod",
        "restart  no back-off",
        "exit  killed by probe (137)",
        "exec cat /tmp/healthy  every 5s, limit 1s",
    ]


def test_no_future_probe_is_announced_for_a_deleted_pod() -> None:
    stopping = StoppingSnapshot(VIEW.now, 30, "deletion", ExitCause.DELETE)
    container = demo().containers[0]
    probe = ProbeSnapshot(container.probes[0].key, container.probes[0].probe)
    container = replace(container, probes=(probe,), stopping=stopping)
    pod = replace(demo(), containers=(container,))

    assert "result  nothing yet" in card(pod)[3]
    pod = replace(pod, state=PodWorkerState.TERMINATING)
    assert "result  probing ended" in card(pod)[3]


def test_at_80_by_24_it_has_ticks_output_and_reason_too() -> None:
    assert lone_card(demo()) == [
        " FAILING      ██ ██ ░░  2 of 3",
        "kill in 3.1s if the next probe fails",
        "✓6 ✗✗✗ K hold6 | ✓6 ✗✗ <now",
        f"last ✗ exit 1 in 34ms  {NO_FILE.rstrip()}",
        "why  08:21:05.1  second failure in a row; 3 are needed, so nothing was done.",
    ]


def test_a_card_without_room_has_one_line() -> None:
    row = one_line_card(the_subject(demo()), VIEW, 50)

    assert text_of(row) == "FAILING kill in 3.1s if the next probe fails"


def test_nothing_is_lost_in_ascii() -> None:
    assert card(demo(), replace(VIEW, marks=ASCII))[0] == " FAILING      [##.]  2 of 3"


@pytest.mark.parametrize(
    ("pod", "badge", "meter", "sentence", "tone"),
    [
        pytest.param(
            demo("|sss"),
            "HEALTHY",
            "3 successes in a row",
            "next probe in 3.1s; 3 failures in a row: kill",
            Tone.CALM,
            id="calm",
        ),
        pytest.param(
            demo("|ssf"),
            "FAILING",
            "██ ░░ ░░  1 of 3",
            "kill in 8.1s if the next 2 probes fail",
            Tone.COUNTING,
            id="1 of 3",
        ),
        pytest.param(
            demo("|sff"),
            "FAILING",
            "██ ██ ░░  2 of 3",
            "kill in 3.1s if the next probe fails",
            Tone.KILL,
            id="2 of 3",
        ),
        pytest.param(
            demo(
                "|sff",
                in_flight_since=NOW - 5 * _SECOND,
                next_tick_at=None,
                is_result_held=True,
            ),
            "FAILING",
            "██ ██ ░░  2 of 3",
            "kill on resume: the failure is paused",
            Tone.KILL,
            id="held back by a break-point",
        ),
        pytest.param(
            demo("|sff", in_flight_since=NOW - 0.4 * _SECOND, next_tick_at=None),
            "FAILING",
            "██ ██ ░░  2 of 3",
            "kill if the probe under way fails (0.4s of 1s)",
            Tone.KILL,
            id="in flight",
        ),
        pytest.param(
            demo("|sff", in_flight_since=NOW - 5 * _SECOND, next_tick_at=None),
            "FAILING",
            "██ ██ ░░  2 of 3",
            "kill if the probe under way fails (5.0s of 1s, held open)",
            Tone.KILL,
            id="held open",
        ),
        pytest.param(
            demo("|sfffKh", on_hold=True, container={"stopping": STOPPING}),
            "KILLING",
            "███░░░░░░░░░  7.0s of 30s",
            "SIGKILL in 23s unless it exits",
            Tone.KILL,
            id="being killed",
        ),
        pytest.param(
            demo("|sfffKh", on_hold=True),
            "ON HOLD",
            "",
            "no probe runs until the container has restarted",
            Tone.HOLD,
            id="on hold",
        ),
        pytest.param(
            demo("|sfffKh", on_hold=True, upcoming_skip=None),
            "ON HOLD",
            "",
            "restarted: the next tick ends the hold (in 3.1s)",
            Tone.HOLD,
            id="on hold, the new container not seen yet",
        ),
        pytest.param(
            demo("|sfffKh", on_hold=True, container={"state": Waiting("x")}),
            "ON HOLD",
            "",
            "killed: the restart comes next",
            Tone.KILL,
            id="until the restart",
        ),
        pytest.param(
            demo(
                "|sfffKh",
                on_hold=True,
                container={"backoff": WAITING, "state": Waiting("CrashLoopBackOff")},
            ),
            "BACK-OFF",
            "█████░░░░░░░  17s of 40s",
            "restart in 23s to 39s",
            Tone.KILL,
            id="back-off",
        ),
        pytest.param(
            demo(container={"backoff": replace(WAITING, until=NOW)}),
            "BACK-OFF",
            "████████████  40s of 40s",
            "restart within 16s",
            Tone.KILL,
            id="back-off over",
        ),
        pytest.param(
            demo("|d", upcoming_skip=Skip.INITIAL_DELAY, delay_until=NOW + 2 * _SECOND),
            "DELAYED",
            "",
            "first probe after 2.0s (initial delay 5s)",
            Tone.WAITING,
            id="initial delay",
        ),
        pytest.param(
            demo("|eeee", error_run=4),
            "ERROR",
            "4 errors in a row",
            "error after 3 attempts: not counted, no action",
            Tone.COUNTING,
            id="errors only",
        ),
        pytest.param(
            demo("|sff", muted=True),
            "FAILING",
            "██ ██ ░░  2 of 3  MUTED",
            "no action (muted) in 3.1s if the next probe fails",
            Tone.COUNTING,
            id="muted",
        ),
        pytest.param(
            demo(
                "", upcoming_skip=Skip.CONTAINER_MISSING, pod={"operation": "pulling"}
            ),
            "WAITING",
            "",
            "pulling",
            Tone.WAITING,
            id="pulling",
        ),
        pytest.param(
            demo("|s", worker_alive=False, container={"status": None}),
            "NOT PROBED",
            "",
            "container not created yet",
            Tone.WAITING,
            id="no worker",
        ),
        pytest.param(
            ended_pod(exit_code=0, by=ExitCause.LIVENESS),
            "COMPLETED",
            "",
            "killed by probe (0) 08:21:00, 7s ago; no restart:",
            Tone.WAITING,
            id="ended by its probe, with 0",
        ),
        pytest.param(
            ended_pod(exit_code=1, by=ExitCause.ITSELF),
            "EXITED 1",
            "",
            "ended 08:21:00, 7s ago; no restart: restartPolicy Never",
            Tone.KILL,
            id="ended by itself, with 1",
        ),
        pytest.param(
            ended_pod(exit_code=0, by=ExitCause.ITSELF, reason="Evicted"),
            "FAILED",
            "",
            "ended 08:21:00, 7s ago; pod failed: Evicted",
            Tone.KILL,
            id="its pod failed as a whole",
        ),
        pytest.param(
            demo("|", next_tick_at=NOW + _SECOND),
            "WAITING",
            "",
            "first probe in 1.0s",
            Tone.WAITING,
            id="not probed yet",
        ),
    ],
)
def test_a_state_has_its_badge_its_meter_and_its_sentence(
    pod: PodSnapshot, badge: str, meter: str, sentence: str, tone: Tone
) -> None:
    first, second, *_ = card(pod, width=60)

    assert first[:BADGE].strip() == badge
    assert first[BADGE:].strip() == meter
    assert second == sentence
    assert card_tone(the_subject(pod), VIEW) is tone


@pytest.mark.parametrize(
    ("wanted", "place", "badge", "sentence"),
    [
        pytest.param(
            ProbeType.STARTUP,
            1,
            "STARTING",
            "kill in 77s if the next 26 probes fail",
            id="4 of 30",
        ),
        pytest.param(
            ProbeType.LIVENESS,
            1,
            "WAITING",
            "waits for the startup probe to succeed",
            id="gated",
        ),
        pytest.param(
            ProbeType.STARTUP,
            2,
            "DONE",
            "startup succeeded: not probed again",
            id="startup done, although its worker is on hold",
        ),
        pytest.param(
            ProbeType.READINESS,
            2,
            "READY",
            "next probe in 0.8s; 3 failures in a row: not ready",
            id="ready",
        ),
        pytest.param(
            ProbeType.READINESS,
            0,
            "NOT READY",
            "ready in 1.1s if the next probe succeeds",
            id="1 success of 2",
        ),
    ],
)
def test_other_kinds_of_probes_have_their_own_texts(
    wanted: ProbeType, place: int, badge: str, sentence: str
) -> None:
    subject = the_subject(shop(), place, wanted)

    first, second, *_ = [text_of(row) for row in card_lines(subject, VIEW, 60, 9)]

    assert first[:BADGE].strip() == badge
    assert second == sentence


def test_what_is_not_ready_is_no_endpoint() -> None:
    service = Service("web", DEMO.namespace, (("app", "web"),))
    view = replace(VIEW, services=(service,))
    key = DEMO_KEY._replace(probe_type=ProbeType.READINESS)
    probe = a_probe_snapshot(
        key, LIVENESS, "|ffff", stored_result=Result.FAILURE, result_run=4
    )
    container = a_container_snapshot(DEMO.containers[0], probe)
    pod = a_pod_snapshot(replace(DEMO, labels={"app": "web"}), container)

    rows = [text_of(row) for row in card_lines(the_subject(pod), view, 90, 9)]

    assert rows[0].startswith(" NOT READY ")
    assert rows[1].endswith("ready; until then out of the endpoints of Service web")


def test_two_of_thirty_are_no_empty_bar() -> None:
    first = card(probing(failure_threshold=30))[0]

    assert first == " FAILING      ██░░░░░░░░░░░░░░░░░░░░░░░░░░░  2 of 30"


def test_a_run_beyond_its_threshold_is_no_progress() -> None:
    pod = demo("|nnsssssssss", stored_result=Result.FAILURE, result_run=9)

    first = card(pod)[0]

    assert first[BADGE:].strip() == "9 successes in a row, state unchanged"
    assert "█" not in first


def test_a_muted_run_beyond_its_threshold_is_named() -> None:
    muted = demo("|" + "f" * 25, muted=True)

    wide, narrow = (card(muted, width=width)[0] for width in (80, 30))

    assert wide[:BADGE].strip() == "FAILING"
    assert wide[BADGE:].split("  ") == [
        "",
        "25 failures in a row, state unchanged",
        "MUTED",
    ]
    assert narrow[BADGE:].strip() == "25 failures"


@pytest.mark.parametrize("width", [28, 29, 30])
def test_a_wait_without_room_for_its_bar_is_shown_in_numbers(width: int) -> None:
    until = clock("08:21:07") + 253 * _SECOND
    waiting = BackoffSnapshot(300 * _SECOND, clock("08:20:50"), until, 300 * _SECOND)
    pod = demo(on_hold=True, container={"backoff": waiting})

    first = card(pod, width=width)[0]

    assert first == " BACK-OFF     47s of 5m00s"
    assert card(pod, width=33)[0] == " BACK-OFF     █░░░░  47s of 5m00s"


def test_a_run_without_room_for_its_segments_is_shown_in_numbers() -> None:
    assert card(demo(muted=True), width=30)[0] == " FAILING      2 of 3  MUTED"
    assert card(demo(muted=True), width=33)[0] == " FAILING      ██░  2 of 3  MUTED"


def test_a_choice_without_room_beside_the_run_is_below_it() -> None:
    first, second, *_ = card(demo("|" + "s" * 9, muted=True), width=28)

    assert first == "HEALTHY       9 successes"
    assert second == "MUTED"


@pytest.mark.parametrize(
    ("width", "rows"),
    [
        pytest.param(
            30,
            ["finding  it always takes as", "long as its timeout"],
            id="in two rows",
        ),
        pytest.param(
            80,
            ["finding       it always takes as long as its timeout  slow"],
            id="in one",
        ),
    ],
)
def test_a_finding_is_never_cut(width: int, rows: list[str]) -> None:
    message = "it always takes as long as its timeout"
    subject = the_subject(demo())
    found = FindingEntry(1, NOW, DEMO_KEY, "slow", "", message)
    history = replace(subject.history, findings=(found,))

    lines = card_lines(replace(subject, history=history), VIEW, width, 12)

    shown = [text_of(row).rstrip() for row in lines]
    at = next(place for place, row in enumerate(shown) if row.startswith("finding"))
    assert shown[at : at + len(rows)] == rows


def test_no_time_is_announced_during_a_pause() -> None:
    due_later = demo(next_tick_at=NOW + 3 * _SECOND)
    paused = replace(VIEW, is_paused=True)

    assert card(due_later, paused)[1] == "kill if the next probe fails"
    calm = demo("|sss", next_tick_at=NOW + 3 * _SECOND)
    assert card(calm, paused)[1].startswith("next probe is paused")


@pytest.mark.parametrize("width", [34, 54, 80])
def test_a_card_without_probes_fits(width: int) -> None:
    shown = card(replace(shop(), containers=(worker(),)), width=width, height=9)

    assert max(map(len, shown)) <= width
    assert "restarts  6" in "\n".join(shown)
    assert "shop/worker:1" in shown[-1]


def test_an_image_that_is_too_long_loses_its_id_and_then_its_beginning() -> None:
    container = replace(
        demo().containers[0].container, image="registry.example/team/shop/web:2.4"
    )
    pod = demo()
    pod = replace(pod, containers=(replace(pod.containers[0], container=container),))

    wide, narrow = (
        next(row for row in card(pod, width=width, height=12) if "web:2.4" in row)
        for width in (50, 34)
    )

    assert wide == "image         registry.example/team/shop/web:2.4"
    assert narrow == "image         …e/team/shop/web:2.4"


def test_a_kill_is_not_repeated_beside_another_probe() -> None:
    (cache,) = (
        container
        for container in shop().containers
        if container.container.name == "cache"
    )
    stopped = replace(cache, stopping=STOPPING)
    pod = replace(shop(), containers=(stopped,))
    other = the_subject(pod, 0, ProbeType.READINESS)

    shown = [text_of(row) for row in brief_card_lines(other, VIEW, 40)]

    assert shown[0].startswith("READY")
    assert not any("SIG" in row for row in shown)


def test_a_pause_does_not_hide_the_result_run() -> None:
    pod = demo(is_held_back=True, next_tick_at=NOW - _SECOND)

    first, second, *_ = card(pod, replace(VIEW, is_paused=True))

    assert first == " PAUSED       ██ ██ ░░  2 of 3"
    assert second == "kill if the next probe fails"


def test_the_card_shows_watch_only_mode() -> None:
    second = card(demo(), replace(VIEW, acts=False), width=60)[1]

    assert second == "would kill (watch only) in 3.1s if the next probe fails"


def test_every_badge_is_as_wide_as_the_widest() -> None:
    pods = [demo(), demo("|s"), on_hold().pods[0], back_off().pods[0]]

    badges = {
        len(
            verdict_of(
                pod, pod.containers[0], pod.containers[0].probes[0], VIEW, 40
            ).badge.text
        )
        for pod in pods
    }

    assert badges == {BADGE}
    assert max(map(len, WORDS)) < BADGE


def test_empty_and_finished_meters_are_not_drawn() -> None:
    text = "\n".join(card(demo("|ss"), height=6))

    assert " no" not in text.replace("not", "")
    assert "delay" not in text
    assert "none" not in text


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        pytest.param(RestartPolicy.NEVER, "restart  never (policy)", id="never"),
        pytest.param(RestartPolicy.ALWAYS, "restart  no back-off", id="always"),
    ],
)
def test_a_kill_shows_whether_a_restart_follows(
    policy: RestartPolicy, words: str
) -> None:
    pod = replace(demo(), pod=replace(DEMO, restart_policy=policy))

    assert words in "\n".join(card(pod))


def test_a_long_handler_is_cut_and_its_timing_is_not() -> None:
    script = "while true; do " + "test -e /tmp/x; " * 20 + "done"
    pod = probing(handler=ExecAction(("sh", "-c", script)))

    handler = card(pod)[5]

    assert handler.startswith("exec sh -c while true; do ")
    assert handler.endswith("…  every 5s, limit 1s")
    assert len(handler) <= 52


@pytest.mark.parametrize("width", [30, 40, 52, 70, 76, 110])
@pytest.mark.parametrize(
    "pod",
    [demo(), demo("|ssf"), demo("|s"), on_hold().pods[0], back_off().pods[0]],
    ids=["2 of 3", "1 of 3", "calm", "hold", "back-off"],
)
def test_badge_meter_and_sentence_are_never_cut(pod: PodSnapshot, width: int) -> None:
    rows = card_lines(the_subject(pod), VIEW, width, 9)

    assert max(len(text_of(row)) for row in rows[:2]) <= width


def test_the_handler_is_kept_if_facts_do_not_fit() -> None:
    rows = card(demo(), width=28, height=6)

    assert len(rows) == 6
    assert rows[-1] == "exec cat /tmp/hea…  every 5s"


def test_the_remaining_facts_are_below_if_there_is_room() -> None:
    labels = [row.split("  ")[0] for row in card(demo(), height=30)]

    assert labels[8:10] == ["image", "results"]
    assert any("6 skipped" in row for row in card(demo(), height=30))
    assert len(card(demo(), height=8)) == 7


def test_an_error_is_shown_in_place_of_an_output() -> None:
    pod = demo("|sf")
    probe = pod.containers[0].probes[0]
    attempt = Attempt(
        ProbeResult.UNKNOWN, "", "exec failed: token s3cr3t-token", 34 * _SECOND / 1000
    )
    assert probe.last_run is not None
    changed = replace(probe, last_run=changed_tick(probe.last_run, attempts=(attempt,)))
    pod = replace(pod, containers=(replace(pod.containers[0], probes=(changed,)),))

    rows = lone_card(pod, replace(VIEW, mask=Mask(["s3cr3t-token"])))

    assert rows[3] == "last ✗ errored in 34ms  exec failed: token ***"


@pytest.mark.parametrize(
    ("policy", "is_init", "explanation"),
    [
        pytest.param(
            RestartPolicy.ALWAYS,
            True,
            "it must exit with 0 before the next container starts",
            id="init container",
        ),
        pytest.param(
            RestartPolicy.ON_FAILURE,
            False,
            "only a failure of its own can restart this container",
            id="on failure",
        ),
        pytest.param(
            RestartPolicy.NEVER,
            False,
            "nothing restarts this container: restartPolicy Never",
            id="never",
        ),
    ],
)
def test_no_restart_is_promised_to_a_container_that_gets_none(
    policy: RestartPolicy,
    is_init: bool,  # noqa: FBT001  # a parameter of the test
    explanation: str,
) -> None:
    container = a_container_snapshot(Container("app", "web:1"))
    pod = a_pod_snapshot(
        replace(DEMO, restart_policy=policy), replace(container, is_init=is_init)
    )

    assert card(pod, height=9)[1] == explanation
    assert text_of(why_line(the_subject(pod), VIEW)) == f"No probe: {explanation}."


def test_a_container_without_probes_has_an_explanation() -> None:
    pod = a_pod_snapshot(DEMO, a_container_snapshot(Container("app", "web:1")))

    assert card(pod, height=9) == [
        "NO PROBE",
        "only its own exit can restart this container",
        "",
        "state  Running 41s        ready  yes",
        "restarts  0",
        "",
        "image         web:1  id d71cb34f0e11",
    ]
    assert card_tone(the_subject(pod), VIEW) is Tone.WAITING


def test_a_container_that_would_be_killed_is_not_called_healthy() -> None:
    pod = demo("sfff")
    (container,) = pod.containers
    (probe,) = container.probes
    assert probe.last_run is not None
    last = changed_tick(probe.last_run, action=TickAction.WOULD_KILL)
    watched = replace(probe, last_run=last, result_run=0, stored_result=Result.SUCCESS)
    container = replace(container, probes=(watched,))
    pod = replace(pod, containers=(container,))

    rows = card(pod, replace(VIEW, acts=False), width=76)

    assert rows[0].startswith(" FAILING")
    assert rows[0].endswith("3 of 3")
    assert rows[1] == "would be killed now (watch only); failures count from 0 again"
    assert text_of(probe_cell(watched, VIEW)) == "✗ fail"
    assert container_health(pod, container) is Health.LAST_CHANCE


def test_a_container_that_is_not_created_yet_has_no_id() -> None:
    container = a_container_snapshot(Container("app", "web:1"))
    assert container.status is not None
    status = replace(container.status, container_id=NO_CONTAINER)
    pod = a_pod_snapshot(DEMO, replace(container, status=status))

    assert card(pod, height=9)[-1] == "image         web:1"


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"status": None}, id="no status"),
        pytest.param({"state": Waiting("PodInitializing")}, id="waiting"),
        pytest.param({"state": Running()}, id="start unknown"),
    ],
)
def test_a_container_that_does_not_run_can_be_shown(fields: dict[str, Any]) -> None:
    rows = card(demo("", container=fields), height=20)

    assert rows[0].startswith("WAITING")
