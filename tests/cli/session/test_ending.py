"""The pods that are named at the end of a session."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from probetui.cli.session.ending import _still_there
from probetui.drive.realtime import RealtimeSession
from tests.tui.fake_session import FakeSession
from tests.tui.snapshots import DEMO, a_snapshot, demo


def test_a_pod_that_a_reload_replaced_is_not_named_again() -> None:
    session = cast("RealtimeSession", FakeSession(a_snapshot(demo())))
    replaced = [replace(DEMO, uid=f"uid-before-{number}") for number in range(2)]

    assert _still_there(session, [*replaced, DEMO]) == [DEMO]
