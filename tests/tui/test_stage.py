"""What is looked at: a container, a probe, a tick of it (UX-17, UX-47)."""

from __future__ import annotations

from datetime import UTC

from probetui.k8s.probe import ProbeType
from probetui.kubelet.snapshot import Snapshot
from probetui.tui.options import ScreenOptions
from probetui.tui.sight import Onlooker
from probetui.tui.stage import Stage
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import SCENES
from tests.tui.stories import steady


def looking_at(snapshot: Snapshot, place: int = 0) -> Stage:
    """Return a stage on which a container of the last pod is chosen."""
    options = ScreenOptions(zone=UTC)
    stage = Stage(Onlooker(FakeSession(snapshot), options).look(), options)
    choose(stage, place)
    return stage


def choose(stage: Stage, place: int) -> None:
    pod = stage.sight.snapshot.pods[-1]
    stage.choose((pod, pod.containers[place]))


def tick_number(stage: Stage) -> int | None:
    assert stage.subject is not None
    return None if stage.subject.tick is None else stage.subject.tick.n


def test_the_newest_tick_is_looked_at_first() -> None:
    assert tick_number(looking_at(steady())) == 23


def test_a_cursor_goes_back_and_forth() -> None:
    stage = looking_at(steady())

    for step, cursor in ((-1, 21), (-5, 16), (2, 18), (-99, 0), (99, None)):
        stage.move_cursor(step)
        assert stage.cursor == cursor


def test_a_tick_can_be_looked_at_by_itself() -> None:
    stage = looking_at(steady())
    assert stage.subject is not None
    tick = stage.subject.ticks.tick(8)
    assert tick is not None

    is_known = stage.look_at(tick)
    choose(stage, 0)

    assert is_known
    assert tick_number(stage) == 9
    assert not stage.look_at(tick._replace(sequence=9_999))
    assert stage.cursor is None


def test_another_probe_is_looked_at_from_its_newest_tick_on() -> None:
    stage = looking_at(SCENES["gated"](), place=1)
    stage.move_cursor(-1)

    stage.wanted_probe = ProbeType.READINESS
    choose(stage, 1)

    assert stage.cursor is None


def test_a_cursor_on_a_tick_that_is_no_more_is_forgotten() -> None:
    stage = looking_at(steady())

    stage.cursor = 99
    choose(stage, 0)

    assert tick_number(stage) == 23


def test_where_nothing_is_chosen_nothing_moves() -> None:
    stage = looking_at(steady())
    stage.choose(None)

    stage.move_cursor(-1)

    assert stage.subject is None
    assert stage.cursor is None
    assert not stage.look_at(steady().pods[0].containers[0].probes[0].last_run)
