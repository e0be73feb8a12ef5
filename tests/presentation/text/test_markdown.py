"""Text in Markdown stays text, whatever is in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from probetui.presentation.text.markdown import code_block, markdown_line

MARKUP = "`*_[]()<>|~@#&\\!:/.+-=1 \"'ahtpsw$%^{}"
LINES = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"])),
    st.text(MARKUP, max_size=60),
)
READER = MarkdownIt("gfm-like")


def shown_by(markdown: str) -> tuple[set[str], str]:
    """Return the kinds of tokens that a reader finds in a line, and its text."""
    kinds, text = set(), ""
    for token in READER.parse(markdown):
        kinds.add(token.type)
        for inner in token.children or ():
            kinds.add(inner.type)
            text += inner.content
    return kinds, text


@given(LINES)
def test_a_line_is_shown_as_it_is(line: str) -> None:
    kinds, text = shown_by(f"- {markdown_line(line)}")

    lists = {"bullet_list_open", "list_item_open", "list_item_close"}
    allowed = {"paragraph_open", "inline", "paragraph_close", "text", "code_inline"}
    assert kinds <= {*lists, "bullet_list_close", *allowed}
    assert text == " ".join(line.split())


@pytest.mark.parametrize(
    ("line", "markdown"),
    [
        ("exit code 1, as (usual).", "exit code 1, as (usual)."),
        ("at 00:08:10.0: it ended", "at 00:08:10.0: it ended"),
        ("https://example.org/x", "`https://example.org/x`"),
        ("WWW.example.org", "`WWW.example.org`"),
        ("asked @octocat and #12", "asked `@octocat` and `#12`"),
        ("<script>alert(1)</script>", "`<script>alert(1)</script>`"),
        ("a `tick` b", "a `` `tick` `` b"),
        ("a:smile: b", "`a:smile:` b"),
        ("*an old b* c", "`*an` old `b*` c"),
        ("1. first", "`1.` first"),
        ("--- x", "`---` x"),
        ("$x", "`$x`"),
        ("", ""),
    ],
)
def test_only_words_that_a_site_may_read_become_code(line: str, markdown: str) -> None:
    assert markdown_line(line) == markdown


@given(st.lists(st.text("`~ab \t", max_size=12), min_size=1, max_size=5))
def test_nothing_ends_a_block_of_code_but_its_end(lines: list[str]) -> None:
    (block,) = READER.parse("\n".join([*code_block(lines), ""]))

    assert block.type == "fence"
    assert block.content == "".join(f"{line}\n" for line in lines)
