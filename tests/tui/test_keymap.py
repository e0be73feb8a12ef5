"""Other keys for actions."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from probetui.debugger.commands import PauseProbes, ResumeProbes, StepProbe
from probetui.engine.inputs import Command
from probetui.tui.actions.keymap import NO_KEY, read_keymap
from tests.tui.app_harness import an_app, screen_lines, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing, paused


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        pytest.param("K", "K", id="a letter"),
        pytest.param("%", "percent_sign", id="a sign"),
        pytest.param(";", "semicolon", id="a sign with a name"),
        pytest.param("percent_sign", "percent_sign", id="name"),
        pytest.param("^n", "ctrl+n", id="control, as the footer writes it"),
        pytest.param("ctrl+n", "ctrl+n", id="control"),
        pytest.param("f5", "f5", id="a function key"),
        pytest.param("del", "delete", id="in short"),
        pytest.param("shift+left", "shift+left", id="shift"),
        pytest.param("K, f5", "K,f5", id="two keys"),
        pytest.param(["K", "f5"], "K,f5", id="a list"),
        pytest.param(9, "9", id="a number"),
    ],
)
def test_keys_can_be_written_in_common_notations(written: object, keys: str) -> None:
    keymap, problems = read_keymap({"time.step": written})

    assert keymap == {"time.step": keys}
    assert not any("is not a key" in problem for problem in problems)


def test_a_single_comma_is_a_key() -> None:
    keymap, problems = read_keymap({"time.step": ",", "time.step-back": "."})

    assert problems == []
    assert keymap["time.step"] == "comma"
    assert keymap["time.step-back"] == "full_stop"
    assert keymap["probe.step"] == NO_KEY


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        pytest.param(
            {"time.stp": "n"},
            '"time.stp" is not an action (nearest: time.step)',
            id="no action",
        ),
        pytest.param(
            {"time.step": "t"},
            '"t" is assigned to both time.step and probe.trigger',
            id="a key of another action",
        ),
        pytest.param(
            {"look.faults": "n", "time.step": "n"},
            '"n" is assigned to both look.faults and time.step',
            id="one key twice",
        ),
        pytest.param({"time.step": "what"}, '"what" is not a key; write', id="no key"),
        pytest.param(
            {"time.step": "ctlr+n"},
            '"ctlr+n" is not a key (nearest: ctrl+n)',
            id="a modifier that there is not",
        ),
        pytest.param(
            {"time.step": "shift+pageupp"},
            '"shift+pageupp" is not a key (nearest: shift+pageup)',
            id="a name that there is not",
        ),
        pytest.param({"time.step": True}, '"True" is not a key', id="no text"),
        pytest.param({"time.step": None}, '"None" is not a key', id="no value"),
        pytest.param(
            {"time.step": ["a", {}]}, '"{}" is not a key', id="no text either"
        ),
        pytest.param({"time.step": "\0"}, "is not a key", id="a control character"),
        pytest.param({"time.step": ""}, '"" is not a key', id="nothing"),
        pytest.param(
            {"time.step": "^i"}, 'terminals send "tab" for "ctrl+i"', id="same bytes"
        ),
        pytest.param({"app.quit-now": "x"}, '"x" is needed for typing', id="typing"),
    ],
)
def test_invalid_key_maps_are_refused_by_name(
    written: Mapping[str, object], problem: str
) -> None:
    _, problems = read_keymap(written)

    assert any(problem in message for message in problems)


def test_two_actions_can_swap_their_keys() -> None:
    _, problems = read_keymap({"time.step": "t", "probe.trigger": "full_stop"})

    assert problems == []


def test_actions_that_are_never_active_together_can_share_a_key() -> None:
    _, problems = read_keymap({"app.yes": "q", "app.no": "z"})

    assert problems == []


def test_actions_that_share_a_key_change_together() -> None:
    keymap, problems = read_keymap({"time.pause": "Y"})

    assert problems == []
    assert keymap == {"time.pause": "Y", "time.resume": "Y"}


@pytest.mark.parametrize(
    ("is_paused", "keys", "sent"),
    [
        pytest.param(False, ("Y",), [PauseProbes()], id="the new key"),
        pytest.param(True, ("Y",), [ResumeProbes()], id="the one that shares it"),
        pytest.param(False, ("space",), [], id="not the old one"),
        pytest.param(False, ("t",), [StepProbe()], id="a key of another action"),
    ],
)
async def test_other_keys_do_what_the_old_ones_did(
    is_paused: bool,  # noqa: FBT001  # a column
    keys: tuple[str, ...],
    sent: list[Command],
) -> None:
    keymap, _ = read_keymap(
        {"time.pause": "Y", "time.step": "t", "probe.trigger": "full_stop"}
    )
    session = FakeSession(paused() if is_paused else failing())
    app = an_app(session, keymap=keymap)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()

    assert session.sent == sent


async def test_footer_and_help_show_other_keys() -> None:
    keymap, _ = read_keymap({"time.pause": "Y"})
    app = an_app(failing(), keymap=keymap)
    async with app.run_test(size=(80, 40)) as pilot:
        footer = screen_lines(app)[-1]
        await pilot.press("question_mark")
        await pilot.pause()
        text = screen_text(app)

    assert "Y pause" in footer
    assert " Y        Pause all probes" in text


@pytest.mark.parametrize(
    "written",
    [
        pytest.param({"look.sort": "F"}, id="of the new mode"),
        pytest.param({"probe.mute": "!"}, id="of the next trouble"),
    ],
)
async def test_a_newer_default_key_gives_way_to_a_saved_key_map(
    written: Mapping[str, object],
) -> None:
    keymap, problems = read_keymap(written)
    app = an_app(failing(), keymap=keymap)
    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        taken = "F" if "look.sort" in written else "!"
        lines = [line for line in screen_lines(app) if f" {taken} " in line]

    assert problems == []
    assert not any("trouble" in line for line in lines)
