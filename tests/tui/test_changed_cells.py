"""The bytes for changed cells paint the same as Textual's."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.tui.services.changed_cells import merge_styles

RESET = "\x1b[0m"
COLORS = st.sampled_from(
    ["2;1;2;3", "2;48;2;5", "2;38;48;2", "5;48", "5;2", "2;48;5;2"]
)
FOREGROUNDS = COLORS.map("38;{}".format) | st.sampled_from(["32", "97"])
BACKGROUNDS = COLORS.map("48;{}".format) | st.sampled_from(["40", "107"])
STYLES = st.tuples(
    st.sampled_from(["", "1", "1;3", "7"]),
    st.just("") | FOREGROUNDS,
    st.just("") | BACKGROUNDS,
).map(lambda parts: ";".join(filter(None, parts)))
PLACES = st.just("") | st.integers(1, 3).map("\x1b[{0};{0}H".format)
TEXTS = st.tuples(PLACES, STYLES, st.sampled_from(["a", "bc", "8;2m"]))
_PARTS = re.compile(r"\x1b\[(?P<move>\d+;\d+)H|\x1b\[(?P<style>[\d;]*)m|(?P<text>.)")
_CODES = re.compile(r"[34]8;2;\d+;\d+;\d+|[34]8;5;\d+|\d+")

Style = dict[str, str]


def painted(sequence: str) -> Iterator[tuple[str, str | None, Style]]:
    """Yield the cursor positions, and every character with its style."""
    style: Style = {}
    for part in _PARTS.finditer(sequence):
        if (codes := part["style"]) is not None:
            style = with_codes(style, codes)
        elif part["move"]:
            yield part["move"], None, {}
        else:
            yield "", part["text"], style


def with_codes(style: Style, codes: str) -> Style:
    for code in _CODES.findall(codes):
        if code == "0":
            style = {}
        elif code[:2] in {"38", "32", "97"}:
            style = style | {"foreground": code}
        elif code[:2] in {"48", "40", "10"}:
            style = style | {"background": code}
        else:
            style = style | {code: code}
    return style


@given(st.lists(TEXTS, max_size=8))
def test_every_character_has_its_position_and_its_style(
    texts: list[tuple[str, str, str]],
) -> None:
    sequence = "".join(
        f"{place}\x1b[{style}m{text}{RESET}" if style else place + text
        for place, style, text in texts
    )

    merged = merge_styles(sequence)

    assert list(painted(merged)) == list(painted(sequence))
    assert merged.endswith(RESET) == sequence.endswith(RESET)


RED, GREEN, DARK = "38;2;9;0;0", "38;2;0;9;0", "48;2;1;1;1"


@pytest.mark.parametrize(
    ("styles", "written"),
    [
        pytest.param(
            (f"{RED};{DARK}", f"{RED};{DARK}"),
            f"\x1b[{RED};{DARK}mxx{RESET}",
            id="the same style is not ended",
        ),
        pytest.param(
            (f"{RED};{DARK}", f"{GREEN};{DARK}"),
            f"\x1b[{RED};{DARK}mx\x1b[{GREEN}mx{RESET}",
            id="of two colors the other one is set",
        ),
        pytest.param(
            (f"1;{RED};{DARK}", f"{RED};{DARK}"),
            f"\x1b[1;{RED};{DARK}mx\x1b[0;{RED};{DARK}mx{RESET}",
            id="what is bold is ended",
        ),
    ],
)
def test_no_more_is_written_than_has_changed(
    styles: tuple[str, str], written: str
) -> None:
    sequence = "".join(f"\x1b[{style}mx{RESET}" for style in styles)

    assert merge_styles(sequence) == written
