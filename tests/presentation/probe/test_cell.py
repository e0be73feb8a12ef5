"""A probe in a cell of the list of containers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.engine.snapshot import ProbeSnapshot
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import Skip
from probetui.kubelet.outcome import Result
from probetui.presentation.probe.cell import CELLS, probe_cell
from probetui.presentation.text.spans import Role, text_of
from probetui.presentation.tick.marks import ASCII
from tests.presentation.looking import VIEW
from tests.ticks import DEMO_KEY, LIVENESS, NOW
from tests.tui.snapshots import a_probe_snapshot

STARTUP_KEY = DEMO_KEY._replace(probe_type=ProbeType.STARTUP)
_SECOND = timedelta(seconds=1)
NARROW = 5


def a_probe(letters: str = "s", **fields: Any) -> ProbeSnapshot:
    spec = replace(LIVENESS, **fields.pop("spec", {}))
    return a_probe_snapshot(fields.pop("key", DEMO_KEY), spec, letters, **fields)


def waiting(seconds: float) -> ProbeSnapshot:
    until = NOW + seconds * _SECOND
    return a_probe("d", upcoming_skip=Skip.INITIAL_DELAY, delay_until=until)


ERRORED = a_probe("see", error_run=2)


@pytest.mark.parametrize(
    ("probe", "shown", "in_little_room"),
    [
        pytest.param(None, "-", "-", id="not defined"),
        pytest.param(a_probe("", worker_alive=False), "·", "·", id="no worker yet"),
        pytest.param(
            a_probe("s", worker_alive=False), "ended", "ended", id="worker has left"
        ),
        pytest.param(a_probe(""), "·", "·", id="no run yet"),
        pytest.param(a_probe("s"), "✓ ok", "✓ ok", id="success"),
        pytest.param(a_probe("sff"), "██░ 2/3", "✗ 2/3", id="failures count up"),
        pytest.param(
            a_probe("ffff", spec={"failure_threshold": 30}),
            "✗ 4/30",
            "✗4/30",
            id="more than there are segments for",
        ),
        pytest.param(
            a_probe("fff", stored_result=Result.FAILURE),
            "✗ fail",
            "✗fail",
            id="failure",
        ),
        pytest.param(
            a_probe("fs", stored_result=Result.FAILURE, spec={"success_threshold": 2}),
            "✓ 1/2",
            "✓ 1/2",
            id="towards success",
        ),
        pytest.param(a_probe("fffK", on_hold=True), "✗ hold", "✗hold", id="on hold"),
        pytest.param(
            a_probe("s", key=STARTUP_KEY, on_hold=True), "✓ done", "✓done", id="started"
        ),
        pytest.param(
            a_probe("g", upcoming_skip=Skip.NOT_STARTED), "wait", "wait", id="gated"
        ),
        pytest.param(waiting(2.1), "delay 3s", "d 3s", id="delay, rounded up"),
        pytest.param(waiting(12), "d 12s", "d 12s", id="long delay"),
        pytest.param(a_probe("sff", muted=True), "✗ 2/3 M", "2/3 M", id="a choice"),
        pytest.param(
            a_probe("n", upcoming_skip=Skip.NOT_RUNNING),
            "down",
            "down",
            id="not running",
        ),
        pytest.param(
            a_probe("m", upcoming_skip=Skip.CONTAINER_MISSING), "·", "·", id="missing"
        ),
        pytest.param(ERRORED, "! err 2", "! err", id="only errors"),
        pytest.param(
            a_probe("sffe", error_run=1, result_run=2, last_result=Result.FAILURE),
            "██░ 2/3!",
            "✗2/3!",
            id="an error while failures count up",
        ),
        pytest.param(a_probe("w"), "~ ok", "~ ok", id="a warning"),
        pytest.param(
            a_probe("sff", run_doubt="joined in the middle"),
            "✗ >=2/3",
            ">=2/3",
            id="a lower bound",
        ),
        pytest.param(
            a_probe("f" * 12, run_doubt="?", spec={"failure_threshold": 30}),
            "✗>=12/30",
            "✗>=12",
            id="a lower bound of many",
        ),
    ],
)
def test_a_probe_takes_no_more_cells_than_available(
    probe: ProbeSnapshot | None, shown: str, in_little_room: str
) -> None:
    assert text_of(probe_cell(probe, VIEW)) == shown
    assert len(shown) <= CELLS
    assert text_of(probe_cell(probe, VIEW, room=NARROW)) == in_little_room
    assert len(in_little_room) <= NARROW


def test_the_mark_is_kept_while_there_is_a_cell_for_it() -> None:
    startup = a_probe(
        "f" * 24,
        key=STARTUP_KEY,
        stored_result=Result.UNKNOWN,
        spec={"failure_threshold": 30},
    )
    edited = a_probe("s", manifest_probe=LIVENESS)

    assert text_of(probe_cell(startup, VIEW, room=6)) == "✗24/30"
    assert text_of(probe_cell(edited, VIEW, room=5)) == "✓ok E"


def test_a_letter_as_a_mark_is_separated_from_the_word() -> None:
    ascii_view = replace(VIEW, marks=ASCII)
    warning = a_probe("w", manifest_probe=LIVENESS)
    failure = a_probe("fff", stored_result=Result.FAILURE)

    assert text_of(probe_cell(warning, VIEW, room=5)) == "~ok E"
    assert text_of(probe_cell(failure, ascii_view, room=5)) == "fail"
    assert text_of(probe_cell(a_probe("sff"), ascii_view, room=4)) == "x2/3"


@pytest.mark.parametrize(
    ("probe", "role"),
    [
        pytest.param(a_probe("s"), Role.SUCCESS, id="well"),
        pytest.param(a_probe("sff"), Role.WARNING, id="counts up"),
        pytest.param(ERRORED, Role.WARNING, id="only errors"),
        pytest.param(a_probe("fffK", on_hold=True), Role.ERROR, id="killed for it"),
    ],
)
def test_the_colour_of_a_probe(probe: ProbeSnapshot, role: Role) -> None:
    assert probe_cell(probe, VIEW)[0].role is role


def test_the_mark_of_a_running_probe_is_animated() -> None:
    marks = [
        text_of(
            probe_cell(a_probe("s", in_flight_since=NOW - tenths * 0.1 * _SECOND), VIEW)
        )
        for tenths in (1, 3, 4, 5, 8)
    ]

    assert marks == ["✓ ok", "⠙ ok", "⠙ ok", "⠹ ok", "⠸ ok"]


def test_the_cells_of_an_ascii_screen_are_ascii() -> None:
    view = replace(VIEW, marks=ASCII)
    probes = (a_probe("sff"), ERRORED, a_probe("s", in_flight_since=NOW - _SECOND))

    assert [text_of(probe_cell(probe, view)) for probe in probes] == [
        "##. 2/3",
        "! err 2",
        "| ok",
    ]


def test_a_probe_whose_result_is_held_back_does_not_turn() -> None:
    held = a_probe("sff", in_flight_since=NOW - 5 * _SECOND, is_result_held=True)

    assert text_of(probe_cell(held, VIEW)) == text_of(probe_cell(a_probe("sff"), VIEW))
