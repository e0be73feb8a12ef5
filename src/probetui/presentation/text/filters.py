"""Filters that users type to reduce or search a list.

A filter is a regular expression. With `!` before it, it keeps what does not match. With
`~`, it matches characters in their order, with any text between them. `-l` selects by
labels, as in kubectl, in lists of objects that have labels.
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
"""The special characters of regular expressions."""


class Filter(Struct, frozen=True):
    """A filter, which ignores case; an empty one keeps everything.

    Attributes:
        text: what was typed.
        error: what is wrong with the text; the filter then keeps everything.
        pattern: the regular expression.
        is_inverse: whether to keep what does not match.
        literal: the text to search for, if it has no special character.
        fuzzy: the characters to match in their order.
        labels: the required labels.
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
        """Parse a typed text; an invalid one gives a filter with an `error`.

        Args:
            text: what was typed.
            has_labels: whether the list has labels, so that `-l` selects by them.
        """
        if has_labels and (match := _LABELS.match(text)) is not None:
            return cls._by_labels(text, text[match.end() :].strip())
        is_inverse = text.startswith(_INVERSE)
        expression = text.removeprefix(_INVERSE)
        if expression.startswith(_FUZZY):
            fuzzy = "".join(expression.removeprefix(_FUZZY).split()).casefold()
            return cls(text, is_inverse=is_inverse, fuzzy=fuzzy)
        if not expression:
            return cls(text)
        try:
            pattern = re.compile(expression, re.IGNORECASE)
        except (re.error, OverflowError, RecursionError) as error:
            return cls(text, f"not a regular expression: {error}")
        literal = "" if _SPECIAL & set(expression) else expression.casefold()
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
        """Whether it can exclude anything."""
        return self.pattern is not None or bool(self.fuzzy) or bool(self.labels)

    def keeps(self, text: str, labels: Mapping[str, str] | None = None) -> bool:
        """Return whether an object with this text and these labels is kept."""
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
        """Return the spans of the matches in a text; an inverse filter has none."""
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
    """Format the message for a filter that keeps nothing; `wanted` must be safe."""
    return f'No {noun} matches "{wanted}". esc clears the filter.'
