"""The headline above the lanes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.analysis.timeline import Timeline
from probetui.engine.snapshot import BackoffSnapshot, PodSnapshot
from probetui.k8s.status import Waiting
from probetui.kubelet.journal import ExitCause, LastExit, StoppingSnapshot
from probetui.kubelet.outcome import Attempt, ProbeResult, Result
from probetui.presentation.container.detail import Subject, choose_probe
from probetui.presentation.container.headline import (
    headline_of,
    headline_rows,
    headline_title,
)
from probetui.presentation.text.spans import Role, text_of
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import ASCII
from tests.presentation.looking import VIEW
from tests.ticks import FIRST, NOW, changed_tick
from tests.tui.snapshots import demo, shop

_SECOND = timedelta(seconds=1)
STOPPING = StoppingSnapshot(NOW - 7 * _SECOND, 30, "pod", ExitCause.LIVENESS)


def looking_at(pod: PodSnapshot, cursor: int | None = None, place: int = 0) -> Subject:
    """Return the most urgent probe of a container, at a tick of it."""
    container = pod.containers[place]
    probe = choose_probe(container, None)
    ticks = None if probe is None else Timeline.of(probe.history)
    return Subject(pod, container, probe, ticks, cursor)


def shown(
    subject: Subject, width: int = 78, height: int = 5, view: View = VIEW
) -> list[str]:
    """Return the headline as it is on the screen."""
    headline = headline_of(subject, view)
    left = text_of(sum(headline_title(subject, headline, view, width), ()))
    right = text_of(headline.announcement(width - len(left) - 2))
    rows = headline_rows(subject, view, width, height - 1)
    return [
        left + right.rjust(width - len(left)),
        *(text_of(row).rstrip() for row in rows),
    ]


def test_the_first_rows_say_how_near_the_kill_is_and_what_the_probe_said() -> None:
    title, meter, output = shown(looking_at(demo()), width=90, height=3)

    assert title.startswith(" FAILING 2 of 3   demo/liveness  [liveness]")
    assert title.endswith("KILL IN 3.1s if the next probe fails")
    assert [len(part) for part in meter.split()] == [29, 29, 30]
    assert meter.count("█") == 58
    assert output.startswith("✗ exit 1  cat: can't open '/tmp/healthy'")
    assert output.endswith("34ms of 1s ▁▁▁▁▁▁▁▁")


def test_the_condition_of_a_kill_gives_way_before_the_name_does() -> None:
    title, *_ = shown(looking_at(demo()), width=70)

    assert title.startswith(" FAILING 2 of 3   demo/liveness  [liveness]")
    assert title.endswith("  KILL IN 3.1s")


@pytest.mark.parametrize("width", [58, 78, 118, 198])
@pytest.mark.parametrize("height", [3, 4, 5])
def test_nothing_is_wider_than_the_room(width: int, height: int) -> None:
    for place in range(len(shop().containers)):
        rows = shown(looking_at(shop(), place=place), width, height)

        assert max(map(len, rows[1:])) <= width
        assert len(rows) <= height


def test_the_command_and_the_facts_come_with_more_rows() -> None:
    *_, command, facts = shown(looking_at(demo()), width=110)

    assert command == (
        "exec cat /tmp/healthy  every 5s, 3 failures kill, grace 30s of the pod"
    )
    assert facts.startswith("result  healthy (36s)")


def test_a_hint_is_in_the_light_and_takes_the_place_of_the_command() -> None:
    pod = demo()
    (container,) = pod.containers
    (probe,) = container.probes
    assert probe.last_run is not None
    missing = Attempt(
        ProbeResult.UNKNOWN,
        "",
        'exec: "cat": executable file not found',
        _SECOND / 500,
        is_missing=True,
    )
    run = changed_tick(probe.last_run, attempts=(missing,), result=None)
    container = replace(container, probes=(replace(probe, last_run=run),))
    subject = looking_at(replace(pod, containers=(container,)))

    *_, hint = headline_rows(subject, VIEW, 78, 3)

    assert text_of(hint).startswith("hint the command is not in the image: cat")
    assert hint[1].role is Role.STRONG


def test_a_wait_is_a_meter_that_fills_towards_what_comes() -> None:
    title, meter, *_ = shown(looking_at(demo(container={"stopping": STOPPING})))

    assert title.startswith(" KILLING 7.0s of 30s ")
    assert title.endswith("SIGKILL IN 23s")
    assert meter == "█" * 18 + "░" * 60


def test_what_does_not_run_has_words_in_place_of_a_meter() -> None:
    waiting = Waiting("ErrImagePull", "no such host")
    pod = demo("", worker_alive=False, container={"state": waiting})

    _, words, *_ = shown(looking_at(pod))

    assert "ErrImagePull: no such host" in words


def test_without_failures_the_meter_is_faint() -> None:
    meter, *_ = headline_rows(looking_at(demo("|ssss")), VIEW, 78, 1)

    assert all(span.is_faint for span in meter if span.text.strip())


def test_failures_of_the_instance_before_do_not_fill_the_meter() -> None:
    subject = looking_at(demo("|ssss"))
    assert subject.probe is not None
    probe = replace(
        subject.probe,
        last_result=Result.FAILURE,
        result_run=0,
        stored_result=Result.SUCCESS,
    )

    headline = headline_of(replace(subject, probe=probe), VIEW)

    assert (headline.word, headline.filled) == ("HEALTHY", 0)


def test_an_instant_of_the_past_stands_where_now_stood() -> None:
    pod = demo("|sssffsss")

    title, meter, output, *_ = shown(looking_at(pod, cursor=4))

    assert title.startswith(" FAILING 2 of 3 ")
    assert title.endswith("no action")
    assert meter.count("░") < meter.count("█")
    assert output.startswith("✗ exit 1")


def test_the_tick_of_a_kill_says_so() -> None:
    pod = demo("|sssfffKhhhh|sss")

    title, *_ = shown(looking_at(pod, cursor=5))

    assert title.startswith(" FAILING 3 of 3 ")
    assert title.endswith("CONTAINER KILLED, PROBE ON HOLD")


def test_in_ascii_there_is_nothing_else() -> None:
    rows = shown(looking_at(demo()), view=replace(VIEW, marks=ASCII))

    assert all(row.isascii() for row in rows)


def test_in_back_off_the_last_exit_stands_where_the_output_stood() -> None:
    exited = LastExit(
        NOW, 1, ExitCause.ITSELF, "Error", oom_killed=False, container_id=FIRST
    )
    waiting = BackoffSnapshot(40 * _SECOND, NOW, NOW + 17 * _SECOND, 80 * _SECOND)
    pod = demo("|ssss", container={"backoff": waiting, "last_exit": exited})

    rows = shown(looking_at(pod))

    assert "exit exited by itself (1)" in rows
    assert not any("success" in row for row in rows)
