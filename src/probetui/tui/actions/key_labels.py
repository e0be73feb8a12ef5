"""Labels of the active keys, for footer and help."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from msgspec import Struct
from msgspec.structs import replace
from textual.binding import ActiveBinding
from textual.keys import key_to_character

from probetui.tui.actions.action import Group
from probetui.tui.actions.keymap import NO_KEY
from probetui.tui.actions.table import ACTIONS_BY_ID

_NAMES = {
    "space": "space",
    "tab": "tab",
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "question_mark": "?",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "slash": "/",
    "colon": ":",
    "full_stop": ".",
}
GROUPS = {
    Group.MOVE: "MOVE",
    Group.LOOK: "LOOK",
    Group.TIME: "TIME",
    Group.PROBE: "PROBE",
    Group.CONTAINER: "CONTAINER",
    Group.FILES: "FILES",
    Group.APP: "PROBETUI",
}
"""The headings of the help."""


_FIRST = -1
"""The position in the footer before all that the table of actions has."""

_CLAUSE = re.compile(r"(?:^|[.:;,] )(\S+)")

_SLOT_WIDTHS: dict[str, int] = {}
for _action in ACTIONS_BY_ID.values():
    if _shared := _action.shares_keys_of:
        _words = (_action.footer_text, ACTIONS_BY_ID[_shared].footer_text)
        _SLOT_WIDTHS[_shared] = max(map(len, _words))


class KeyLabel(Struct, frozen=True):
    """An action that is possible now, with its keys.

    `pressed` has Textual's names of the keys, `keys` the labels. `footer` is the
    position in the footer, 0 if it has none.
    """

    id: str
    pressed: tuple[str, ...]
    keys: tuple[str, ...]
    text: str
    tooltip: str
    footer: int = 0

    @property
    def key(self) -> str:
        """Textual's name of the first key."""
        return self.pressed[0]

    @property
    def slot(self) -> str:
        """The slot in the footer; actions that are never on together share one."""
        action = ACTIONS_BY_ID.get(self.id)
        return self.id if action is None else action.shares_keys_of or self.id

    @property
    def text_width(self) -> int:
        """The width, in cells, of the longest text of its slot."""
        return max(len(self.text), _SLOT_WIDTHS.get(self.slot, 0))

    @property
    def group(self) -> Group:
        """The group under which the help lists it."""
        return Group(self.id.partition(".")[0])


def key_label(key: str) -> str:
    """Return the label of a key: `^b`, `pgup`, `?`, `space`."""
    if key in _NAMES:
        return _NAMES[key]
    if key.startswith("ctrl+"):
        return f"^{key.removeprefix('ctrl+')}"
    if key.startswith("shift+"):
        return f"S-{key.removeprefix('shift+')}"
    return key_to_character(key) or key


def active_labels(bindings: Mapping[str, ActiveBinding]) -> list[KeyLabel]:
    """Return the labels of the actions that are possible now."""
    keys: dict[str, list[str]] = {}
    first: dict[str, ActiveBinding] = {}
    for key, active in bindings.items():
        if active.binding.id and active.enabled and key != NO_KEY:
            keys.setdefault(active.binding.id, []).append(key)
            first.setdefault(active.binding.id, active)
    return [
        KeyLabel(
            identifier,
            tuple(keys[identifier]),
            tuple(key_label(key) for key in keys[identifier]),
            active.binding.description,
            active.tooltip,
            ACTIONS_BY_ID[identifier].footer if identifier in ACTIONS_BY_ID else 0,
        )
        for identifier, active in first.items()
    ]


def footer_labels(
    bindings: Mapping[str, ActiveBinding], first: Container[str] = ()
) -> list[KeyLabel]:
    """Return the labels of the footer, most useful first.

    Args:
        bindings: the keys that work now.
        first: the labels of keys that come before all others.
    """
    shown = [
        replace(label, footer=_FIRST) if label.keys[0] in first else label
        for label in active_labels(bindings)
    ]
    return sorted(
        (label for label in shown if label.footer), key=lambda label: label.footer
    )


def keys_of_exercise(text: str) -> Container[str]:
    """Return the words with which the clauses of a lesson's exercise begin.

    Those are its keys, such as `w` and `m` of "w says why; m mutes the probe".
    """
    return frozenset(_CLAUSE.findall(text))
