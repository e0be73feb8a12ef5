"""A refused key shows a message; the footer and `:` do not offer it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.engine.snapshot import Snapshot
from tests.tui.app_harness import an_app, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing

WATCHED = "attach only watches; start with --act"


def watched() -> Snapshot:
    return replace(failing(), acts=False)


async def message_after_key(snapshot: Snapshot, key: str, *, read_only: bool) -> str:
    """Press a key that does nothing; return its only message."""
    session = FakeSession(snapshot)
    app = an_app(session, read_only=read_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        await pilot.pause()

        assert session.sent == []
        assert len(app.screen_stack) == 1
        messages = [notice.message for notice in app._notifications]
        assert len(messages) == 1
        return messages[0]


@pytest.mark.parametrize(
    ("key", "words"),
    [
        pytest.param("r", "read-only: restart is off", id="r"),
        pytest.param("m", "read-only: mute is off", id="m"),
        pytest.param("i", "read-only: inject is off", id="i"),
        pytest.param("e", "read-only: edit is off", id="e"),
        pytest.param("t", "read-only: probe is off", id="t"),
        pytest.param("ctrl+k", "read-only: kill is off", id="^k"),
        pytest.param("ctrl+d", "read-only: delete is off", id="^d"),
        pytest.param("space", "read-only: pause is off", id="space"),
    ],
)
async def test_a_key_that_a_read_only_screen_refuses_shows_a_message(
    key: str, words: str
) -> None:
    assert await message_after_key(failing(), key, read_only=True) == words


@pytest.mark.parametrize("key", ["r", "ctrl+k", "ctrl+d"])
async def test_a_key_that_a_watch_session_refuses_shows_a_message(key: str) -> None:
    assert await message_after_key(watched(), key, read_only=False) == WATCHED


async def test_refused_keys_are_not_offered() -> None:
    app = an_app(FakeSession(watched()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()

        offered = {
            key
            for key, binding in app.screen.active_bindings.items()
            if binding.enabled
        }
        assert "t" in offered
        assert offered.isdisjoint({"r", "R", "ctrl+k", "ctrl+d"})


@pytest.mark.parametrize(
    ("snapshot", "read_only", "words"),
    [
        pytest.param(watched(), False, WATCHED, id="watched"),
        pytest.param(failing(), True, "read-only: restart is off", id="read-only"),
    ],
)
async def test_a_refused_command_shows_a_message_too(
    snapshot: Snapshot,
    read_only: bool,  # noqa: FBT001  # a column
    words: str,
) -> None:
    session = FakeSession(snapshot)
    app = an_app(session, read_only=read_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(":", *"restart", "enter")
        await pilot.pause()

        assert [notice.message for notice in app._notifications] == [words]
        assert session.sent == []


async def test_a_letter_typed_into_a_field_is_never_refused() -> None:
    app = an_app(FakeSession(watched()), read_only=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("slash", "r", "m")
        await pilot.pause()

        assert list(app._notifications) == []
        assert "/rm" in screen_text(app)
