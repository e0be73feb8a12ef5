"""The `:` line: the table of actions by name."""

from __future__ import annotations

import pytest

from probetui.debugger.commands import Bookmark, PauseProbes, TriggerProbe
from probetui.engine.inputs import Command
from probetui.errors import UsageError
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.tui.actions.action import (
    Action,
    ActionContext,
    Argument,
    KeyContext,
    Target,
)
from probetui.tui.actions.command_parser import completions, parse_command, signature
from probetui.tui.actions.container_names import ContainerKey
from probetui.tui.actions.palette import ActionProvider
from probetui.tui.actions.table import ACTIONS
from probetui.tui.screens.command_line import CommandLine
from tests.ticks import DEMO_KEY
from tests.tui.app_harness import an_app, screen_lines, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing
from tests.tui.snapshots import DEMO, SHOP

SIZE = (80, 24)
NOW = ActionContext(failing())
WEB = ContainerKey(SHOP.uid, "web")
INJECT = Action(
    "probe.some",
    "",
    "Choose results",
    (KeyContext.MAIN,),
    "none",
    typed="inject",
    on=Target.PROBE,
    arguments=(
        Argument("result", ("success", "failure"), is_required=True),
        Argument("times"),
    ),
)
NOTE = Action(
    "files.note",
    "",
    "A note",
    (KeyContext.MAIN,),
    "none",
    arguments=(Argument("text", takes_rest=True),),
)
KNOWN = (*(action for action in ACTIONS if action.is_listed), INJECT, NOTE)


@pytest.mark.parametrize(
    ("text", "action", "words", "container", "probe"),
    [
        pytest.param("pause", "time.pause", (), None, None, id="a name"),
        pytest.param("q", "app.quit", (), None, None, id="an alias"),
        pytest.param("probe now", "probe.trigger", (), None, None, id="two words"),
        pytest.param("resu", "time.resume", (), None, None, id="its beginning"),
        pytest.param(
            "probe now shop/web",
            "probe.trigger",
            (),
            WEB,
            None,
            id="with a container",
        ),
        pytest.param(
            "probe now shop/web r",
            "probe.trigger",
            (),
            WEB,
            ProbeType.READINESS,
            id="with the beginning of a probe",
        ),
        pytest.param(
            "restart demo",
            "container.restart",
            (),
            ContainerKey(DEMO.uid, "liveness"),
            None,
            id="a pod is its first container",
        ),
        pytest.param(
            "inject fail 3",
            "probe.some",
            ("failure", "3"),
            None,
            None,
            id="words, the first by its beginning",
        ),
        pytest.param(
            "inject success 3 shop/web liveness",
            "probe.some",
            ("success", "3"),
            WEB,
            ProbeType.LIVENESS,
            id="words and a probe",
        ),
        pytest.param(
            "note two  words",
            "files.note",
            ("two words",),
            None,
            None,
            id="the rest of the line",
        ),
        pytest.param("filter !a b", "look.filter", ("!a b",), None, None, id="filter"),
    ],
)
def test_a_line_names_an_action_and_its_target(
    text: str,
    action: str,
    words: tuple[str, ...],
    container: ContainerKey | None,
    probe: ProbeType | None,
) -> None:
    typed = parse_command(text, KNOWN, NOW)

    assert (typed.action.id, typed.words) == (action, words)
    assert (typed.target.container if typed.target else None) == container
    assert (typed.target.probe if typed.target else None) == probe


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("pase", "(nearest: pause)", id="nearly a name"),
        pytest.param("zzz", 'no action "zzz"', id="no name"),
        pytest.param("p", 'no action "p"', id="the beginning of several"),
        pytest.param("pause now", 'unexpected word "now"', id="too many words"),
        pytest.param("inject", "result is missing", id="too few words"),
        pytest.param("inject succes1", "(nearest: success)", id="no such choice"),
        pytest.param("probe now a/b", 'unexpected word "a/b"', id="no container"),
    ],
)
def test_an_invalid_line_has_an_error(text: str, error: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_command(text, KNOWN, NOW)

    assert error in str(caught.value)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("pau", ["pause"], id="a name"),
        pytest.param(
            "inject ", ["inject success", "inject failure"], id="what may follow"
        ),
        pytest.param("inject f", ["inject failure"], id="the beginning of a word"),
        pytest.param(
            "restart shop/w", ["restart shop/web", "restart shop/worker"], id="objects"
        ),
        pytest.param(
            "probe now shop/cache ",
            ["probe now shop/cache liveness", "probe now shop/cache readiness"],
            id="probes of an object",
        ),
        pytest.param("zz", [], id="nothing"),
    ],
)
def test_completion(text: str, lines: list[str]) -> None:
    found = [line for line, _ in completions(text, KNOWN, NOW)]

    assert found[: len(lines)] == lines
    assert bool(found) is bool(lines)


def test_a_signature_names_every_argument() -> None:
    assert signature(INJECT) == "inject RESULT [TIMES] [POD/CONTAINER] [PROBE]"


async def type_line(*keys: str) -> tuple[FakeSession, list[str]]:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("colon", *keys)
        await pilot.pause()
        await pilot.pause()
        return session, screen_lines(app)


@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        pytest.param(("p", "a", "u", "s", "e", "enter"), [PauseProbes()], id="name"),
        pytest.param(("p", "a", "u", "tab", "enter"), [PauseProbes()], id="completed"),
        pytest.param(
            (*"probe", "space", *"now", "enter"), [TriggerProbe(DEMO_KEY)], id="chosen"
        ),
        pytest.param(
            (*"probe", "space", *"now", "space", *"shop/web", "space", "s", "enter"),
            [TriggerProbe(ProbeKey(SHOP.uid, "web", ProbeType.STARTUP))],
            id="another probe",
        ),
        pytest.param(
            (*"bookmark", "space", *"look", "space", *"here", "enter"),
            [Bookmark("look here")],
            id="the rest of the line",
        ),
        pytest.param(("enter",), [], id="nothing typed"),
        pytest.param((*"pause", "escape"), [], id="escape"),
        pytest.param(
            (*"pause", "enter", "colon", "up", "enter"),
            [PauseProbes(), PauseProbes()],
            id="history",
        ),
        pytest.param(
            (*"pause", "enter", "colon", *"resu", "up", "down", "tab", "enter"),
            [PauseProbes()],
            id="back to what was begun, which makes no sense now",
        ),
    ],
)
async def test_lines_send_commands(keys: tuple[str, ...], sent: list[Command]) -> None:
    session, _ = await type_line(*keys)

    assert session.sent == sent


async def test_an_error_is_shown_at_the_command_line() -> None:
    _, lines = await type_line(*"pase", "enter")

    assert lines[-1].startswith(" :pase")
    assert "(nearest: pause)" in lines[-1]


async def test_an_action_that_does_not_apply_is_refused_with_the_reason() -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("colon", *"restart", "space", *"shop/worker", "enter")
        await pilot.pause()
        await pilot.pause()

        assert [notification.message for notification in app._notifications] == [
            "restart: not possible now"
        ]
        assert session.sent == []


async def test_the_line_offers_completions_with_their_descriptions() -> None:
    _, lines = await type_line(*"re")

    assert any(":restart" in line and "as the kubelet does" in line for line in lines)


async def test_the_line_does_not_offer_actions_that_do_not_apply() -> None:
    _, lines = await type_line(*"re")

    assert not any(":resume" in line for line in lines)


async def test_typed_letters_are_text() -> None:
    session, lines = await type_line(*"q", "question_mark", "full_stop", "space", "t")

    assert session.sent == []
    assert lines[-1].startswith(" :q?. t")


async def test_a_key_can_open_the_line_with_a_prefix() -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("b", *"here", "enter")
        await pilot.pause()
        await pilot.pause()

    assert session.sent == [Bookmark("here")]


async def test_a_container_is_selected_by_its_name() -> None:
    _, lines = await type_line(*"go", "space", *"to", "space", *"shop/cache", "enter")

    assert any(line[2:3] == "▌" and "shop/cache" in line for line in lines)


async def test_the_line_closes_when_it_is_left() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("colon")
        is_open = isinstance(app.screen, CommandLine)
        await pilot.press("escape")
        await pilot.pause()

        assert is_open
        assert not isinstance(app.screen, CommandLine)
        assert "1 Containers" in screen_text(app)


async def test_every_action_of_the_line_that_applies_is_in_the_palette() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE):
        rows = list(ActionProvider(app.screen).rows())

    assert "Go to: shop/cache" in [row.title for row in rows]
    assert rows[0].title.startswith("Step probe: demo/liveness liveness")
    assert rows[-1].action.id.startswith("move.")
    assert {row.action.id for row in rows} >= {
        "time.pause",
        "app.quit",
        "look.filter",
    }


async def test_useful_actions_are_offered_first_in_an_empty_palette() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("colon")
        await pilot.pause()

        offered = [line for line in screen_text(app).splitlines() if " :" in line[:3]]

    assert any(":probe now" in line for line in offered)
    assert not any(":up " in line or ":down " in line for line in offered)


async def test_the_palette_offers_the_keys_of_a_dialog_first() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("i")
        await pilot.pause()
        titles = [row.title for row in ActionProvider(app.screen).rows()]

    assert "Close without a choice   esc" in titles[:8]


async def test_no_two_rows_of_the_palette_have_one_explanation() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE):
        rows = list(ActionProvider(app.screen).rows())

    injections = [row.tooltip for row in rows if row.action.id == "probe.inject"]
    themes = [row.tooltip for row in rows if row.action.id == "look.theme"]
    assert len(injections) == len(set(injections)) == 3
    assert len(themes) == len(set(themes)) > 3


@pytest.mark.parametrize(
    ("keys", "title"),
    [
        pytest.param("", "Inject failure x3: demo/liveness liveness   i", id="inject"),
        pytest.param("", "Inject: demo/liveness liveness   i", id="menu"),
        pytest.param("", "Go to: demo/liveness", id="one probe"),
        pytest.param("", "Go to: shop/web liveness (waiting for startup)", id="gated"),
        pytest.param("", "Go to: shop/web startup (failing)", id="failing"),
        pytest.param("", "Go to: shop/cache startup (done)", id="done"),
        pytest.param("", "Go to: shop/cache readiness", id="nothing to say"),
        pytest.param("", "Why was demo/liveness killed last time?   w", id="killed"),
        pytest.param("jj", "Why: the last decision about shop/proxy   w", id="no end"),
        pytest.param("j", "Why did shop/worker end last time?   w", id="itself"),
        pytest.param("", "Explain: liveness timing of demo/liveness", id="explain"),
        pytest.param("j", "Explain: shop/worker, which has no probe", id="no probe"),
        pytest.param("", "Help: what does liveness mean here", id="meaning"),
    ],
)
async def test_rows_of_the_palette_show_their_target(keys: str, title: str) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        titles = [row.title for row in ActionProvider(app.screen).rows()]

    assert title in titles


async def test_the_line_goes_to_a_probe_as_the_palette_does() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("colon", *"go to shop/web startup", "enter")
        await pilot.pause()

        assert "[startup]" in screen_text(app)
