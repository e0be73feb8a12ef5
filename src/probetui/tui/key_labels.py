"""Keys as people write them, and the bindings that are active, for footer and help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from textual.binding import ActiveBinding
from textual.keys import key_to_character

_NAMES = {
    "space": "spc",
    "tab": "tab",
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "question_mark": "?",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "slash": "/",
    "full_stop": ".",
}
_FOOTER_ORDER = (
    "app.help",
    "look.filter",
    "time.pause",
    "time.resume",
    "time.step",
    "probe.trigger",
    "container.restart",
    "look.follow",
    "look.faults",
    "look.events",
    "look.zoom",
    "app.back",
    "app.quit",
)
GROUPS = {
    "move": "MOVE",
    "look": "LOOK",
    "time": "TIME",
    "probe": "PROBE",
    "container": "CONTAINER",
    "app": "PROBETUI",
}
"""Headings of the help, by what the ids of bindings begin with."""


@dataclass(frozen=True, slots=True)
class KeyLabel:
    """One action and the keys for it, as people write them; `key` is the first one."""

    id: str
    key: str
    keys: tuple[str, ...]
    text: str
    tooltip: str

    @property
    def group(self) -> str:
        """The heading under which the help lists it."""
        return GROUPS[self.id.partition(".")[0]]


def key_label(key: str) -> str:
    """Return a key as the footer writes it: `^b`, `pgup`, `?`, `spc`."""
    if key in _NAMES:
        return _NAMES[key]
    if key.startswith("ctrl+"):
        return f"^{key.removeprefix('ctrl+')}"
    if key.startswith("shift+"):
        return f"S-{key.removeprefix('shift+')}"
    return key_to_character(key) or key


def active_labels(bindings: Mapping[str, ActiveBinding]) -> list[KeyLabel]:
    """Return what can be pressed now, one label for each action."""
    keys: dict[str, list[str]] = {}
    first: dict[str, ActiveBinding] = {}
    for key, active in bindings.items():
        if active.binding.id and active.enabled:
            keys.setdefault(active.binding.id, []).append(key)
            first.setdefault(active.binding.id, active)
    return [
        KeyLabel(
            each,
            keys[each][0],
            tuple(key_label(key) for key in keys[each]),
            active.binding.description,
            active.tooltip,
        )
        for each, active in first.items()
    ]


def footer_labels(bindings: Mapping[str, ActiveBinding]) -> list[KeyLabel]:
    """Return what the footer shows, most useful first."""
    shown = [each for each in active_labels(bindings) if each.id in _FOOTER_ORDER]
    return sorted(shown, key=lambda each: _FOOTER_ORDER.index(each.id))
