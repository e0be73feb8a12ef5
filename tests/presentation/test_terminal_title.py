"""The title of the terminal: what is in trouble, whatever is selected."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.engine.snapshot import Snapshot
from probetui.kubelet.journal import TickAction, TickEntry
from probetui.presentation.terminal_title import (
    LONGEST_TITLE,
    TerminalTitle,
    kill_notice,
)
from probetui.presentation.text.view import TimeFormatter, View
from probetui.presentation.tick.marks import ASCII, UNICODE
from tests.ticks import NOW, changed_tick
from tests.tui.scenes import back_off, deleting, failing, running
from tests.tui.snapshots import a_pod_snapshot, a_snapshot, demo

VIEW = View(TimeFormatter(NOW, NOW), UNICODE, is_paused=False)
HOSTILE = "a\x1b]0;owned\x07b\x9c\r\nc\u202e"


def title_of(snapshot: Snapshot) -> str:
    return TerminalTitle(UNICODE).of(snapshot, VIEW)


@pytest.mark.parametrize(
    ("snapshot", "title"),
    [
        pytest.param(a_snapshot(demo()), "✗2/3 demo/liveness", id="a failing probe"),
        pytest.param(back_off(), "✗ back-off demo/liveness", id="a back-off"),
        pytest.param(deleting(), "✗ stopping demo/liveness", id="a deletion"),
        pytest.param(a_snapshot(demo("|sss")), "✓ demo", id="one that is well"),
        pytest.param(a_snapshot(), "✓ 0 pods", id="nothing"),
    ],
)
def test_the_title_names_the_worst_container(snapshot: Snapshot, title: str) -> None:
    assert title_of(snapshot) == title


def test_marks_are_ascii_where_they_have_to_be() -> None:
    view = replace(VIEW, marks=ASCII)

    title = TerminalTitle(ASCII).of(a_snapshot(demo()), view)

    assert title == "x2/3 demo/liveness"


def test_a_pod_that_gets_well_is_named_no_more() -> None:
    title = TerminalTitle(UNICODE)

    titles = [title.of(snapshot, VIEW) for snapshot in (failing(), running())]

    assert titles[0].startswith("✗2/3 demo/")
    assert not titles[1].startswith("✗2/3 demo/")


def test_a_hostile_name_sends_nothing_but_letters() -> None:
    pod = demo()
    named = replace(pod, pod=replace(pod.pod, name=HOSTILE * 20))

    for title in (
        title_of(a_snapshot(named)),
        title_of(a_snapshot(a_pod_snapshot(named.pod))),
    ):
        assert title.isprintable()
        assert len(title) <= LONGEST_TITLE


def kill() -> TickEntry:
    (container,) = demo().containers
    return changed_tick(container.probes[0].history[-1], action=TickAction.KILL)


def test_a_kill_is_told_with_what_killed() -> None:
    told = kill_notice(kill(), "demo", VIEW)

    assert told == "probetui: demo/liveness killed: liveness probe failed"


def test_other_ticks_are_not_told() -> None:
    entry = changed_tick(kill(), action=TickAction.NONE)

    assert kill_notice(entry, "demo", VIEW) == ""


def test_a_notice_of_a_hostile_name_sends_nothing_but_letters() -> None:
    told = kill_notice(kill(), HOSTILE, VIEW)

    assert told.isprintable()
