"""The trace as lines: in two columns, in one, and in little room."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from probetui.analysis.timeline import Timeline
from probetui.kubelet.journal import Gate
from probetui.presentation.container.detail import Subject
from probetui.presentation.text.spans import text_of
from probetui.presentation.tick.trace import trace_lines
from tests.presentation.looking import VIEW
from tests.ticks import SECOND, changed_tick
from tests.tui.history_scenes import steady, stopping, ticks
from tests.tui.snapshots import a_snapshot, clock, demo


def lines(snapshot: Any, width: int, height: int = 30, **fields: Any) -> list[str]:
    pod = snapshot.pods[0]
    container = pod.containers[0]
    subject = replace(Subject(pod, container, container.probes[0]), **fields)
    return [text_of(line) for line in trace_lines(subject, VIEW, width, height)]


def test_gates_are_in_two_columns_if_there_is_room() -> None:
    shown = lines(steady(), 116)

    assert [" ".join(line[:58].split()) for line in shown[:4]] == [
        "pod status known yes",
        "phase Running",
        "container id d71cb34f0e11, same as last tick",
        "on hold no",
    ]
    assert [" ".join(line[58:].split()) for line in shown[:4]] == [
        "container running yes started 08:20:25.2, 39s before",
        "pod being deleted no",
        "initial delay 5s, over 40s since 08:20:25.0",
        "startup started no startupProbe",
    ]
    assert shown[4].startswith("attempt 1/3 ")


def test_the_gate_that_stopped_a_tick_has_its_own_line() -> None:
    shown = lines(stopping(), 116)

    stopped = next(line for line in shown if "-> skipped" in line)
    assert stopped.startswith("on hold  ")


def test_every_gate_has_a_line_in_a_narrow_pane() -> None:
    shown = lines(stopping(), 58)

    assert shown[:5] == [
        "ok  pod status known  yes",
        "ok  phase  Running",
        "ok  container id  d71cb34f0e11, same as last tick",
        "NO  on hold  yes  -> skipped",
        "",
    ]


def test_passed_gates_share_a_line_in_a_small_pane() -> None:
    shown = lines(stopping(), 76, height=8)

    assert shown[0] == (
        "passed         pod known; phase Running; d71cb34f0e11, same as last tick"
    )
    assert shown[1].startswith("stopped by     on hold: yes")


def test_unchanged_facts_share_a_line() -> None:
    shown = lines(steady(), 76)

    assert "no change      stored result stays Success, effect none" in shown


def test_the_command_that_repeats_the_probe_comes_last() -> None:
    shown = lines(stopping(), 76)

    assert shown[-1] == "by hand        docker exec d71cb34f0e11 cat /tmp/healthy"


def test_the_trace_of_the_newest_tick_shows_when_the_next_is_due() -> None:
    assert "next tick      08:21:10.1" in lines(steady(), 58)


def test_the_trace_of_an_older_tick_shows_the_tick_that_followed() -> None:
    known = ticks("ss", SECOND, clock("08:21:05.1"))

    shown = lines(steady(), 58, timeline=Timeline.of(known), cursor=0)

    assert "next tick      08:21:05.1" in shown


def test_the_trace_of_a_dropped_tick_is_stated_as_missing() -> None:
    gone = Timeline(())
    gone.add(ticks("s", SECOND, clock("08:21:05.1"))[0], 0)

    assert lines(steady(), 58, timeline=gone, cursor=0) == [
        "the trace of this tick was dropped (too old)"
    ]


def test_before_the_first_tick_there_is_nothing_to_trace() -> None:
    assert lines(a_snapshot(demo("")), 58) == ["no tick yet"]


def test_a_container_without_a_probe_waits_for_no_tick() -> None:
    assert lines(a_snapshot(demo("")), 58, probe=None) == ["no probe is defined"]


def test_a_tick_stopped_at_its_first_gate_lists_no_passed_gates_in_a_small_pane() -> (
    None
):
    gate = Gate("pod status known", "no", passed=False)
    (tick,) = ticks("d", SECOND, clock("08:21:05.1"))
    known = Timeline.of([changed_tick(tick, gates=(gate,))])

    shown = lines(steady(), 76, height=3, timeline=known, cursor=0)

    assert shown[0].startswith("stopped by     pod status known: no")
