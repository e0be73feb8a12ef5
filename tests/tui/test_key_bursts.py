"""Keys of one burst are handled in order, each by the screen that the last one opened.

A fast connection, a paste without brackets or a script sends many keys in one read. No
key may reach the pods past the field or dialog that an earlier one opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Event, Key
from textual.pilot import Pilot
from textual.widgets import Input

from probetui.debugger.commands import MuteProbes, RestartContainer
from probetui.engine.inputs import Command, DeletePod
from probetui.tui.app import ProbetuiApp
from probetui.tui.services.key_order import KeyOrder, is_waiting
from tests.tui.app_harness import an_app
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing

Typing = Callable[[Pilot[None], str], Awaitable[None]]
SIZE = (100, 30)


async def type_at_once(pilot: Pilot[None], typed: str) -> None:
    """Send all keys of a text to the app before it handles the first one."""
    for event in XTermParser().feed(typed):
        pilot.app.post_message(event)
    await settled(pilot)


async def type_byte_by_byte(pilot: Pilot[None], typed: str) -> None:
    """Feed the terminal's parser a byte at a time, without a pause."""
    parser = XTermParser()
    for byte in typed:
        for event in parser.feed(byte):
            pilot.app.post_message(event)
    await settled(pilot)


async def settled(pilot: Pilot[None]) -> None:
    """Wait until all keys and their effects are handled."""
    app = pilot.app
    assert isinstance(app, ProbetuiApp)
    pumps = (app, *app._registry)
    while app._key_order.is_delaying or not all(map(is_waiting, pumps)):
        await asyncio.sleep(0.001)
        pumps = (app, *app._registry)


EACH_WAY = pytest.mark.parametrize(
    "type_keys",
    [
        pytest.param(type_at_once, id="all at once"),
        pytest.param(type_byte_by_byte, id="byte by byte"),
    ],
)


async def test_a_key_after_the_one_that_quits_is_dropped() -> None:
    delivered: list[Event] = []

    async def deliver(event: Event) -> None:
        delivered.append(event)

    app = an_app(failing())
    async with app.run_test(size=SIZE):
        keys = KeyOrder(app, deliver)
        app.exit()
        await keys.deliver_in_turn(Key("y", "y"))

        assert (delivered, keys.is_delaying) == ([], False)


async def test_a_pending_key_is_dropped_when_the_program_quits() -> None:
    delivered: list[Event] = []

    async def deliver(event: Event) -> None:
        delivered.append(event)

    app = an_app(failing())
    async with app.run_test(size=SIZE):
        keys = KeyOrder(app, deliver)
        keys._delayed.append(Key("y", "y"))
        app.exit()
        await keys._deliver_next()

        assert (delivered, keys.is_delaying) == ([], False)


def fields(app: ProbetuiApp) -> list[str]:
    """Return the texts in the fields of the topmost screen."""
    return [field.value for field in app.screen.query(Input)]


@EACH_WAY
@pytest.mark.parametrize(
    ("typed", "field"),
    [
        pytest.param("/mmm", "mmm", id="filter: letter that mutes"),
        pytest.param("/r..", "r..", id="filter: letters that restart and step"),
        pytest.param("/c0", "c0", id="filter: letter and digit"),
        pytest.param("3/mr", "mr", id="filter of another pane"),
        pytest.param(":mute", "mute", id="command line"),
        pytest.param(":period 3", "period 3", id="command line with words"),
        pytest.param(":restart", "restart", id="command line: dangerous name"),
        pytest.param("j:inject f", "inject f", id="moved before"),
        pytest.param("v/mr", "mr", id="filter of the event log"),
        pytest.param("l/mr", "mr", id="filter of the log"),
        pytest.param("y/mr", "mr", id="search of a page"),
        pytest.param("?/mr", "mr", id="search of the help"),
    ],
)
async def test_keys_go_to_the_field_that_an_earlier_key_opened(
    type_keys: Typing, typed: str, field: str
) -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await type_keys(pilot, typed)

        assert field in fields(app)
        assert session.sent == []


@pytest.mark.slow
@pytest.mark.parametrize("opener", [*"ixeCwvdylpf?QS", "\x04", "\r"])
async def test_no_key_acts_on_the_screen_below_the_opened_one(opener: str) -> None:
    typed = f"{opener}mrt.R\x0b"
    at_once, one_by_one = FakeSession(failing()), FakeSession(failing())
    app = an_app(at_once)
    async with app.run_test(size=SIZE) as pilot:
        await type_at_once(pilot, typed)
        opened = [type(screen) for screen in app.screen_stack]
    app = an_app(one_by_one)
    async with app.run_test(size=SIZE) as pilot:
        for key in typed:
            await type_at_once(pilot, key)

        assert opened == [type(screen) for screen in app.screen_stack]
        assert at_once.sent == one_by_one.sent


@EACH_WAY
@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        pytest.param(":mute\r", MuteProbes, id="command"),
        pytest.param(":restart\r", RestartContainer, id="restart by name"),
        pytest.param("/demo\rr", RestartContainer, id="key after a filter"),
        pytest.param("\x04y", DeletePod, id="confirmed in the same burst"),
    ],
)
async def test_a_whole_command_in_one_burst_is_run(
    type_keys: Typing, typed: str, sent: type[Command]
) -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await type_keys(pilot, typed)

        assert [type(command) for command in session.sent] == [sent]


async def test_a_paste_after_a_key_goes_to_the_field_it_opened() -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await type_at_once(pilot, ":\x1b[200~restart\x1b[201~")

        assert fields(app) == ["restart"]
        assert session.sent == []


async def test_a_key_on_its_way_to_the_bindings_of_the_app_is_handled_first() -> None:
    session = FakeSession(failing())
    app = an_app(session)
    on_its_way = Key("colon", ":")
    on_its_way._set_forwarded()
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        # The app reads the colon, and then the m before it handles the colon.
        app.call_next(app._key_order.deliver_in_turn, Key("m", "m"))
        app.post_message(on_its_way)
        await settled(pilot)

        assert fields(app) == ["m"]
        assert session.sent == []


async def test_keys_are_not_held_for_ever_on_a_slow_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instants = count(step=0.01)
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        # From one line of the framework to the next, ten milliseconds pass.
        monkeypatch.setattr("textual._time.get_time", lambda: next(instants))

        async with asyncio.timeout(30):
            await type_at_once(pilot, ":restart")

        assert "restart" in fields(app)
