"""Terminal replies are filtered from typed keys, and no key is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.tui.services.terminal_background import (
    TerminalBackground,
    TerminalReplyFilter,
    is_light_by_environment,
    question,
)

WHITE = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
KIND = b"\x1b[?62;22c"
MODE = b"\x1b[?2026;2$y"
MOUSE, PASTE = b"\x1b[<0;5;5M", b"\x1b[200~x\x1b[201~"
KEYS = st.lists(
    st.sampled_from(
        [
            b"a",
            b";",
            b"?",
            b"\xc3\xa4",
            b"\x1b[A",
            b"\x1bOP",
            b"\x1b]x",
            MODE,
            MOUSE,
            PASTE,
        ]
    )
)


@given(KEYS, KEYS, KEYS, st.data())
def test_replies_are_removed_and_keys_kept_however_the_stream_is_split(
    before: list[bytes], between: list[bytes], after: list[bytes], data: st.DataObject
) -> None:
    typed = [b"".join(parts) for parts in (before, between, after)]
    stream = typed[0] + WHITE + typed[1] + KIND + typed[2]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    sieve = TerminalReplyFilter()

    parts = zip([0, *cuts], [*cuts, len(stream)], strict=True)
    left = b"".join(sieve.feed(stream[start:end]) for start, end in parts)

    assert left + sieve.pause() == b"".join(typed)
    assert sieve.background == TerminalBackground(1, 1, 1)
    assert sieve.is_settled


@pytest.mark.parametrize(
    ("reply_color", "color"),
    [
        pytest.param(b"rgb:1e1e/2f2f/3030", "#1e2f30", id="four digits"),
        pytest.param(b"rgb:1E/2F/30", "#1e2f30", id="two digits, in capitals"),
        pytest.param(b"rgb:f/0/8", "#ff0088", id="one digit"),
        pytest.param(b"rgba:ffff/0000/8080/cccc", "#ff0080", id="seen through"),
    ],
)
@pytest.mark.parametrize("end", [b"\x07", b"\x1b\\"], ids=["bell", "string end"])
def test_every_format_of_a_colour_is_parsed(
    reply_color: bytes, color: str, end: bytes
) -> None:
    sieve = TerminalReplyFilter()

    left = sieve.feed(b"\x1b]11;" + reply_color + end)

    assert left == b""
    assert str(sieve.background) == color


def test_a_reply_without_a_colour_is_no_key() -> None:
    sieve = TerminalReplyFilter()

    assert sieve.feed(b"\x1b]11;#\x07j") == b"j"
    assert sieve.background is None


@pytest.mark.parametrize("key", [b"\x1b", b"\x1b]", b"\x1b["], ids=repr)
def test_a_key_that_begins_like_a_reply_is_passed_on_after_a_moment(
    key: bytes,
) -> None:
    sieve = TerminalReplyFilter()

    assert sieve.feed(key) == b""
    assert sieve.pause() == key


def test_the_escape_key_is_not_delayed_after_all_replies() -> None:
    sieve = TerminalReplyFilter()
    sieve.feed(KIND)

    assert sieve.feed(b"\x1b") == b"\x1b"


def test_a_late_colour_is_no_key() -> None:
    sieve = TerminalReplyFilter()
    sieve.feed(KIND)

    assert sieve.feed(WHITE + b"j") == b"j"
    assert sieve.background == TerminalBackground(1, 1, 1)


def test_the_second_half_of_a_reply_can_be_late() -> None:
    sieve = TerminalReplyFilter()
    sieve.feed(WHITE[:12])

    pauses = [sieve.pause() for _ in range(5)]

    assert b"".join(pauses) + sieve.feed(WHITE[12:]) == b""
    assert sieve.background == TerminalBackground(1, 1, 1)


def test_half_a_reply_is_never_typed() -> None:
    sieve = TerminalReplyFilter()
    sieve.feed(WHITE[:12])

    pauses = [sieve.pause() for _ in range(20)]

    assert b"".join(pauses) == b""
    assert sieve.feed(b"j") == b"j"


def test_a_key_after_half_a_reply_is_not_delayed() -> None:
    sieve = TerminalReplyFilter()
    sieve.feed(WHITE[:12])

    assert sieve.feed(b"j") == b"j"


@pytest.mark.parametrize(
    ("background", "is_light"),
    [
        pytest.param(TerminalBackground(0, 0, 0), False, id="black"),
        pytest.param(TerminalBackground(0, 0.17, 0.21), False, id="solarized dark"),
        pytest.param(TerminalBackground(0.99, 0.96, 0.89), True, id="solarized light"),
        pytest.param(TerminalBackground(1, 1, 1), True, id="white"),
        pytest.param(TerminalBackground(0.47, 0.47, 0.47), True, id="a light grey"),
        pytest.param(TerminalBackground(0.45, 0.45, 0.45), False, id="a dark grey"),
        pytest.param(TerminalBackground(0, 0, 1), False, id="blue, which is dark"),
        pytest.param(TerminalBackground(0, 1, 0), True, id="green, which is light"),
    ],
)
def test_a_light_background_is_one_with_more_contrast_to_dark_text(
    background: TerminalBackground,
    is_light: bool,  # noqa: FBT001  # a column of the table
) -> None:
    assert background.is_light is is_light


@pytest.mark.parametrize(
    ("value", "is_light"),
    [
        pytest.param("15;0", False, id="white on black"),
        pytest.param("0;15", True, id="black on white"),
        pytest.param("0;default;7", True, id="with a third in between"),
        pytest.param("12;8", False, id="on grey"),
        pytest.param("15;default", None, id="no color"),
        pytest.param("", None, id="empty"),
    ],
)
def test_some_terminals_set_it_in_the_environment(
    value: str,
    is_light: bool | None,  # noqa: FBT001  # a column of the table
) -> None:
    assert is_light_by_environment({"COLORFGBG": value}) is is_light


@pytest.mark.parametrize(
    ("environment", "query"),
    [
        pytest.param({}, "\x1b]11;?\x1b\\\x1b[c", id="a terminal"),
        pytest.param(
            {"TERM": "screen-256color", "TMUX": "/tmp/tmux"},
            "\x1b]11;?\x1b\\\x1b[c",
            id="tmux knows it",
        ),
        pytest.param(
            {"TERM": "screen"},
            "\x1bP\x1b]11;?\x07\x1b[c\x1b\\",
            id="screen hands it on",
        ),
    ],
)
def test_the_query_is_wrapped_for_terminal_multiplexers(
    environment: dict[str, str], query: str
) -> None:
    assert question(environment) == query
