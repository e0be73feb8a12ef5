"""The selection: a container, a probe, one of its ticks."""

from __future__ import annotations

from datetime import UTC

from msgspec.structs import replace

from probetui.engine.snapshot import Snapshot
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.kubelet.outcome import Result
from probetui.tui.options import ScreenOptions
from probetui.tui.state import UiState
from probetui.tui.view_model import SessionObserver
from tests.ticks import changed_tick
from tests.tui.fake_session import FakeSession
from tests.tui.history_scenes import steady
from tests.tui.scenes import SCENES


def ui_state_of(snapshot: Snapshot, place: int = 0) -> UiState:
    """Return a UI state with a selected container of the last pod."""
    options = ScreenOptions(zone=UTC)
    ui_state = UiState(
        SessionObserver(FakeSession(snapshot), options).build_view_model(), options
    )
    choose(ui_state, place)
    return ui_state


def choose(ui_state: UiState, place: int) -> None:
    pod = ui_state.view_model.snapshot.pods[-1]
    ui_state.choose((pod, pod.containers[place]))


def tick_number(ui_state: UiState) -> int | None:
    assert ui_state.subject is not None
    return None if ui_state.subject.tick is None else ui_state.subject.tick.n


def test_the_newest_tick_is_selected_first() -> None:
    assert tick_number(ui_state_of(steady())) == 23


def test_a_cursor_moves_back_and_forth() -> None:
    ui_state = ui_state_of(steady())

    for step, cursor in ((-1, 21), (-5, 16), (2, 18), (-99, 0), (99, None)):
        ui_state.move_cursor(step)
        assert ui_state.cursor == cursor


def test_a_tick_can_be_selected_directly() -> None:
    ui_state = ui_state_of(steady())
    assert ui_state.subject is not None
    tick = ui_state.subject.ticks.tick(8)
    assert tick is not None

    is_known = ui_state.look_at(tick)
    choose(ui_state, 0)

    assert is_known
    assert tick_number(ui_state) == 9
    assert not ui_state.look_at(changed_tick(tick, sequence=9_999))
    assert ui_state.cursor is None


def test_another_probe_starts_at_its_newest_tick() -> None:
    ui_state = ui_state_of(SCENES["gated"](), place=1)
    ui_state.move_cursor(-1)

    ui_state.wanted_probe = ProbeType.READINESS
    choose(ui_state, 1)

    assert ui_state.cursor is None


def choose_with_failing(
    ui_state: UiState, kind: ProbeType, *, follows_trouble: bool = False
) -> None:
    """Choose the container of the scene as if only that probe of it failed."""
    pod = ui_state.view_model.snapshot.pods[-1]
    container = pod.containers[1]
    fails = {"error_run": 1, "stored_result": Result.SUCCESS}
    calm = {"error_run": 0, "stored_result": Result.SUCCESS}
    probes = tuple(
        replace(
            probe,
            last_result=Result.SUCCESS,
            worker_alive=True,
            on_hold=False,
            **(fails if probe.key.probe_type is kind else calm),
        )
        for probe in container.probes
    )
    chosen = (pod, replace(container, probes=probes))
    ui_state.choose(chosen, follows_trouble=follows_trouble)


def probe_shown(ui_state: UiState) -> ProbeKey:
    assert ui_state.subject is not None
    assert ui_state.subject.probe is not None
    return ui_state.subject.probe.key


def test_a_selected_tick_keeps_its_probe_when_another_fails() -> None:
    ui_state = ui_state_of(SCENES["gated"](), place=1)
    ui_state.wanted_probe = ProbeType.LIVENESS
    choose(ui_state, 1)
    ui_state.wanted_probe = None
    shown, other = ProbeType.LIVENESS, ProbeType.READINESS
    ui_state.move_cursor(-1)
    assert ui_state.cursor is not None

    choose_with_failing(ui_state, other, follows_trouble=True)
    assert probe_shown(ui_state).probe_type is shown

    ui_state.cursor = None
    choose_with_failing(ui_state, other, follows_trouble=True)
    assert probe_shown(ui_state).probe_type is other


def test_the_selected_probe_stays_when_another_fails() -> None:
    ui_state = ui_state_of(SCENES["gated"](), place=0)
    choose_with_failing(ui_state, ProbeType.LIVENESS)

    choose_with_failing(ui_state, ProbeType.READINESS)

    assert probe_shown(ui_state).probe_type is ProbeType.LIVENESS


def test_the_most_urgent_probe_is_selected_with_another_container() -> None:
    ui_state = ui_state_of(SCENES["gated"](), place=0)
    choose_with_failing(ui_state, ProbeType.LIVENESS)

    choose(ui_state, 0)
    choose_with_failing(ui_state, ProbeType.READINESS)

    assert probe_shown(ui_state).probe_type is ProbeType.READINESS


def test_a_cursor_on_a_dropped_tick_is_reset() -> None:
    ui_state = ui_state_of(steady())

    ui_state.cursor = 99
    choose(ui_state, 0)

    assert tick_number(ui_state) == 23


def test_nothing_moves_without_a_selection() -> None:
    ui_state = ui_state_of(steady())
    ui_state.choose(None)

    ui_state.move_cursor(-1)

    assert ui_state.subject is None
    assert ui_state.cursor is None
    assert not ui_state.look_at(steady().pods[0].containers[0].probes[0].last_run)
