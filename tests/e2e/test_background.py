"""The theme follows the terminal, whenever and however that answers."""

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

    terminal.tell(WHITE + KIND)

    wait_for(terminal, DRAWN_LIGHT)


def test_a_terminal_that_does_not_answer_has_the_dark_theme_and_its_keys(
    start: Start,
) -> None:
    terminal = start()
    wait_for(terminal, DRAWN_DARK)

    terminal.tell(b"?")

    wait_for(terminal, HELP)


def test_what_the_environment_says_is_put_right_by_the_terminal(start: Start) -> None:
    terminal = start(COLORFGBG="0;15")
    wait_for(terminal, DRAWN_LIGHT)

    terminal.tell(BLACK)

    wait_for(terminal, DRAWN_DARK)


def test_an_answer_in_halves_with_a_screen_between_them_is_one(start: Start) -> None:
    terminal = start()
    wait_for(terminal, QUESTION)
    terminal.tell(WHITE[:9])
    wait_for(terminal, DRAWN_DARK)

    terminal.tell(WHITE[9:])

    wait_for(terminal, DRAWN_LIGHT)


def test_an_answer_is_not_typed_and_what_is_typed_beside_it_is(start: Start) -> None:
    terminal = start()
    wait_for(terminal, DRAWN_DARK)

    # A colon of the answer would open the command line, which would take the key.
    terminal.tell(WHITE + b"?" + KIND)

    wait_for(terminal, HELP)


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        pytest.param(["--theme", "nord"], {}, id="by an option"),
        pytest.param([], {"PROBETUI_THEME": "nord"}, id="by a variable"),
        pytest.param([], {"TEXTUAL_THEME": "nord"}, id="by a variable of Textual"),
    ],
)
def test_where_somebody_has_chosen_a_theme_the_terminal_is_not_asked(
    start: Start, options: list[str], environment: dict[str, str]
) -> None:
    terminal = start(*options, **environment)

    wait_for(terminal, b"48;2;46;52;64")

    assert QUESTION not in terminal.seen


def test_info_says_what_the_terminal_answers(tmp_path: Path) -> None:
    with on_terminal(tmp_path, "info") as terminal:
        wait_for(terminal, QUESTION)

        terminal.tell(WHITE + KIND)

        wait_for(terminal, b"#ffffff, reported by the terminal: light theme")
