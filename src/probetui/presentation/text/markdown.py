"""Text in Markdown, for tickets: shown as it is, never obeyed.

Words of manifests, containers and probes may be anything. Escapes do not hold them: a
site makes links of addresses, and mentions of `@name` and `#12`, after it has undone
the escapes. Nothing is looked for within code, so each word with a character that
Markdown or a site may read becomes code; GitHub and GitLab do the same for names of
fields and files by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

_PLAIN = re.compile(
    r"(?!www\.)(?:[^\W_]|[.,;()'\"/?+=-]|:(?!//|\w*[a-z]\w*:))+", re.IGNORECASE
)
"""A word that means nothing to Markdown: no `_`, no address, no `:emoji:`."""
_MARKER = re.compile(r"[-+=]+|\d+[.)]")
"""What begins a list, or underlines a heading, at the start of a line."""
_BACKTICKS = re.compile("`+")
_SHORTEST_FENCE = 3


def markdown_line(text: str) -> str:
    """Return a line of text in which no word is read as Markdown, HTML or a link."""
    words = text.split()
    plain = [_PLAIN.fullmatch(word) is not None for word in words]
    if words and _MARKER.fullmatch(words[0]):
        plain[0] = False
    groups = groupby(zip(words, plain, strict=True), key=lambda pair: pair[1])
    return " ".join(
        joined if is_plain else code_span(joined)
        for is_plain, pairs in groups
        for joined in [" ".join(word for word, _ in pairs)]
    )


def code_span(text: str) -> str:
    """Return a line of text as code within a line."""
    fence = "`" * (_longest_backticks(text) + 1)
    # The two spaces belong to the fence: they are not shown.
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def code_block(lines: Iterable[str], language: str = "text") -> Iterator[str]:
    """Yield the lines of a block of code."""
    kept = list(lines)
    longest = max(map(_longest_backticks, kept), default=0)
    fence = "`" * max(longest + 1, _SHORTEST_FENCE)
    yield f"{fence}{language}"
    yield from kept
    yield fence


def _longest_backticks(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)
