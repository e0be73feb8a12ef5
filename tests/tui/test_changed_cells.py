"""The bytes for changed cells paint the same as Textual's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.geometry import Region
from textual.strip import Strip

from probetui.tui.panes.line_widget import changed_cells
from probetui.tui.services.changed_cells import cut_segments, merge_styles
from probetui.tui.styled_text import StyledLine, fit

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


_COLOR = {"x": "red", "y": "blue"}
SEGMENTS = st.lists(
    st.tuples(st.sampled_from(["ab", "▁▂", "c", "漢字", ""]), st.sampled_from("xy")),
    max_size=6,
).map(lambda parts: [Segment(text, RichStyle(color=_COLOR[c])) for text, c in parts])


@given(SEGMENTS, st.lists(st.integers(0, 14), max_size=8, unique=True))
def test_a_line_is_cut_as_the_framework_cuts_it(
    segments: list[Segment], places: list[int]
) -> None:
    ends = sorted(places)
    spans = list(zip(ends[::2], ends[1::2], strict=False))
    strip = Strip(segments)

    cut = cut_segments(segments, 0, spans)

    assert [seen(piece) for piece in cut] == [
        seen(strip.crop(start, end)) for start, end in spans
    ]


def seen(segments: Iterable[Segment]) -> list[Segment]:
    return [*Segment.simplify(segment for segment in segments if segment.text)]


LINES = st.lists(
    st.tuples(
        st.sampled_from(["", "a", "▁▂", "  ", "abcdefghij"]), st.sampled_from("xy")
    ),
    max_size=6,
).map(lambda parts: fit(tuple(parts), 30))


@given(LINES, LINES)
def test_what_is_not_painted_again_is_as_before(
    old: StyledLine, new: StyledLine
) -> None:
    repainted = {
        x
        for region in changed_cells(old, new, 3)
        for x in range(region.x, region.right)
    }

    before, after = one_by_one(old), one_by_one(new)
    assert all(x in repainted or before[x] == after[x] for x in range(len(after)))


def one_by_one(shown: StyledLine) -> list[tuple[str, str]]:
    return [(character, look) for text, look in shown for character in text]


def test_a_change_far_from_another_is_painted_alone() -> None:
    old = fit((("a", "x"), ("." * 40, "y"), ("b", "x")), 60)
    new = fit((("c", "x"), ("." * 40, "y"), ("d", "x")), 60)

    assert changed_cells(old, new, 2) == [Region(0, 2, 1, 1), Region(41, 2, 1, 1)]
