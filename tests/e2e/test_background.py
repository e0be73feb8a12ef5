"""The theme follows the background of the terminal, however late it replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.on_terminal import OnTerminal, on_terminal
from tests.e2e.program import SAMPLES, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

QUESTION = b"\x1b]11;?"
WHITE = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
BLACK = b"\x1b]11;rgb:0000/0000/0000\x1b\\"
KIND = b"\x1b[?62;22c"
DRAWN_LIGHT, DRAWN_DARK = b"48;2;230;232;235", b"48;2;14;16;19"
HELP = b"press to try"

Start = Callable[..., OnTerminal]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as stack:

        def started(*options: str, **environment: str) -> OnTerminal:
            whole = {"COLORTERM": "truecolor", "COLORFGBG": "", **environment}
            command = ("sim", "-f", str(SAMPLES / "exec-liveness.yaml"), *options)
            opened = on_terminal(tmp_path, *command, environment=whole)
            return stack.enter_context(opened)

        yield started


def wait_for(terminal: OnTerminal, drawn: bytes) -> None:
    wait_until(lambda: terminal.shows(drawn), repr(drawn))


def test_a_light_terminal_has_a_light_theme(start: Start) -> None:
    terminal = start()
    wait_for(terminal, QUESTION)

    terminal.send(WHITE + KIND)

    wait_for(terminal, DRAWN_LIGHT)


def test_a_terminal_that_does_not_reply_has_the_dark_theme_and_its_keys(
    start: Start,
) -> None:
    terminal = start()
    wait_for(terminal, DRAWN_DARK)

    terminal.send(b"?")

    wait_for(terminal, HELP)


def test_the_reply_of_the_terminal_overrides_the_environment(start: Start) -> None:
    terminal = start(COLORFGBG="0;15")
    wait_for(terminal, DRAWN_LIGHT)

    terminal.send(BLACK)

    wait_for(terminal, DRAWN_DARK)


def test_two_halves_of_a_reply_with_a_screen_between_them_are_joined(
    start: Start,
) -> None:
    terminal = start()
    wait_for(terminal, QUESTION)
    terminal.send(WHITE[:9])
    wait_for(terminal, DRAWN_DARK)

    terminal.send(WHITE[9:])

    wait_for(terminal, DRAWN_LIGHT)


def test_a_reply_is_not_typed_but_keys_around_it_are(start: Start) -> None:
    terminal = start()
    wait_for(terminal, DRAWN_DARK)

    # A colon of the reply would open the command line, which would get the key.
    terminal.send(WHITE + b"?" + KIND)

    wait_for(terminal, HELP)


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        pytest.param(["--theme", "nord"], {}, id="by an option"),
        pytest.param([], {"PROBETUI_THEME": "nord"}, id="by a variable"),
        pytest.param([], {"TEXTUAL_THEME": "nord"}, id="by a variable of Textual"),
    ],
)
def test_the_terminal_is_not_queried_if_a_theme_is_set(
    start: Start, options: list[str], environment: dict[str, str]
) -> None:
    terminal = start(*options, **environment)

    wait_for(terminal, b"48;2;46;52;64")

    assert QUESTION not in terminal.seen


def test_info_shows_the_reply_of_the_terminal(tmp_path: Path) -> None:
    with on_terminal(tmp_path, "info") as terminal:
        wait_for(terminal, QUESTION)

        terminal.send(WHITE + KIND)

        wait_for(terminal, b"#ffffff, reported by the terminal: light theme")
