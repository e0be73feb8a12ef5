"""Label selectors as kubectl takes them: `app=web,tier!=db,env in (a, b),!old`.

Source: apimachinery pkg/labels/selector.go, v0.32.10, Parse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from probetui.errors import UsageError

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_IS_VALUE = re.compile(_VALUE)
_EQUALITY = re.compile(rf"({_NAME})\s*(==|=|!=)\s*({_VALUE})")
_MEMBERSHIP = re.compile(rf"({_NAME})\s+(in|notin)\s*\(([^()]*)\)")
_EXISTENCE = re.compile(rf"(!?)\s*({_NAME})")
_COMMA = re.compile(r",(?![^()]*\))")


class LabelRequirement(Struct, frozen=True):
    """A label and the values that it must have, or must not have if `negated`.

    `values` is None for a requirement about the key alone.
    """

    key: str
    values: frozenset[str] | None
    negated: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels match; an absent label has none of the values."""
        value = labels.get(self.key)
        if self.values is None:
            return (value is not None) is not self.negated
        return (value in self.values) is not self.negated


def parse_selector(text: str) -> tuple[LabelRequirement, ...]:
    """Parse a selector; every requirement has to match.

    Raises:
        UsageError: the text is not a selector.
    """
    return tuple(
        _requirement(requirement.strip()) for requirement in _COMMA.split(text)
    )


def has_labels(
    requirements: Iterable[LabelRequirement], labels: Mapping[str, str]
) -> bool:
    """Return whether labels match every requirement."""
    return all(requirement.matches(labels) for requirement in requirements)


def _requirement(text: str) -> LabelRequirement:
    if match := _MEMBERSHIP.fullmatch(text):
        key, word, listed = match.groups()
        values = frozenset(member.strip() for member in listed.split(","))
        if all(map(_IS_VALUE.fullmatch, values)):
            return LabelRequirement(key, values, negated=word == "notin")
    if match := _EQUALITY.fullmatch(text):
        key, sign, value = match.groups()
        return LabelRequirement(key, frozenset({value}), negated=sign == "!=")
    if match := _EXISTENCE.fullmatch(text):
        return LabelRequirement(match[2], None, negated=bool(match[1]))
    forms = "app=web, tier!=db, env in (a, b), app, !app"
    raise UsageError(f'-l: "{text}" is not a label requirement (as in {forms})')
