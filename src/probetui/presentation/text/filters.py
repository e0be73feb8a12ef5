"""Filters, as people type them to see fewer lines or to search.

A regular expression as it is; `!` before it turns it round; `~` finds the characters
of a text in their order, whatever is between them. `-l` before labels, as kubectl has
it, keeps what has them, in lists of things that have labels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from probetui.errors import UsageError

if TYPE_CHECKING:
    from probetui.k8s.selector import LabelRequirement

_FUZZY = "~"
_INVERSE = "!"
_LABELS = re.compile(r"-l(?:\s+|$)")
_SPECIAL = frozenset(".^$*+?{}[]\\|()")
"""What means something else than itself in a regular expression."""


class Filter(Struct, frozen=True):
    """A filter that is in force; an empty one keeps everything.

    Upper and lower case are the same to it. `error` says what is wrong with the
    text; nothing is left out then. `literal` is what is looked for if the text has
    nothing special in it, `fuzzy` the characters to be found in their order, `labels`
    what labels have to be like.
    """

    text: str = ""
    error: str = ""
    pattern: re.Pattern[str] | None = None
    is_inverse: bool = False
    literal: str = ""
    fuzzy: str = ""
    labels: tuple[LabelRequirement, ...] = ()

    @classmethod
    def parse(cls, text: str, *, has_labels: bool = False) -> Filter:
        """Read what was typed; a text that is no regular expression is an error.

        Where there are labels, so is what does not select any.
        """
        if has_labels and (match := _LABELS.match(text)) is not None:
            return cls._by_labels(text, text[match.end() :].strip())
        is_inverse = text.startswith(_INVERSE)
        wanted = text.removeprefix(_INVERSE)
        if wanted.startswith(_FUZZY):
            fuzzy = "".join(wanted.removeprefix(_FUZZY).split()).casefold()
            return cls(text, is_inverse=is_inverse, fuzzy=fuzzy)
        if not wanted:
            return cls(text)
        try:
            pattern = re.compile(wanted, re.IGNORECASE)
        except (re.error, OverflowError, RecursionError) as error:
            return cls(text, f"not a regular expression: {error}")
        literal = "" if _SPECIAL & set(wanted) else wanted.casefold()
        return cls(text, "", pattern, is_inverse, literal)

    @classmethod
    def _by_labels(cls, text: str, selector: str) -> Filter:
        # Late: few filters are of labels.
        from probetui.k8s.selector import parse_selector  # noqa: PLC0415

        try:
            return cls(text, labels=parse_selector(selector) if selector else ())
        except UsageError as error:
            return cls(text, str(error))

    @property
    def is_active(self) -> bool:
        """Whether it can leave anything out."""
        return self.pattern is not None or bool(self.fuzzy) or bool(self.labels)

    def keeps(self, text: str, labels: Mapping[str, str] | None = None) -> bool:
        """Return whether something with this text and these labels stays to be seen."""
        if self.labels:
            return all(label.matches(labels or {}) for label in self.labels)
        if self.literal:
            return (self.literal in text.casefold()) is not self.is_inverse
        if self.pattern is not None:
            return (self.pattern.search(text) is None) is self.is_inverse
        if self.fuzzy:
            return self._has_in_order(text.casefold()) is not self.is_inverse
        return True

    def hits(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return where in a text the hits begin and end; a turned one has no places."""
        if self.is_inverse or self.pattern is None:
            return ()
        return tuple(
            match.span()
            for match in self.pattern.finditer(text)
            if match.end() > match.start()
        )

    def _has_in_order(self, text: str) -> bool:
        at = 0
        for character in self.fuzzy:
            at = text.find(character, at) + 1
            if not at:
                return False
        return True


def no_match_text(noun: str, wanted: str) -> str:
    """Return what stands where a filter keeps nothing; `wanted` is harmless."""
    return f'No {noun} matches "{wanted}". esc clears the filter.'
