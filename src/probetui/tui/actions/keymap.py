"""Read the key map of the user's configuration."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character

from probetui.suggestions import nearest, nearest_hint
from probetui.tui.actions.action import Action
from probetui.tui.actions.table import ACTIONS, ACTIONS_BY_ID, OVERLAPPING_CONTEXTS
from probetui.tui.options import Keymap

SAME_BYTES = {
    "ctrl+i": "tab",
    "ctrl+j": "enter",
    "ctrl+m": "enter",
    "ctrl+h": "backspace",
    "ctrl+left_square_bracket": "escape",
}
"""Keys that terminals send as other keys."""

NO_KEY = "no-key"
"""The key of an action that has lost its default keys; Textual keeps those for ""."""

_SPELLINGS = {
    "spc": "space",
    "esc": "escape",
    "return": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "del": "delete",
}
_KEY_CUTOFF = 0.7
_MODIFIERS = ("ctrl+", "shift+", "alt+")
_NAMED = {key.value for key in Keys if not key.value.startswith("<")}


def read_keymap(written: Mapping[str, object]) -> tuple[Keymap, Sequence[str]]:
    """Parse a key map; return it, and its problems.

    Args:
        written: the keys of actions, by id: a key, keys with commas, or a list.
    """
    keymap: dict[str, str] = {}
    problems: list[str] = []
    for name, value in written.items():
        action = ACTIONS_BY_ID.get(str(name))
        if action is None:
            hint = nearest_hint(str(name), ACTIONS_BY_ID)
            problems.append(f'"{name}" is not an action{hint}')
            continue
        keys, key_problems = _parse_keys(value)
        problems += [f"{name}: {problem}" for problem in key_problems]
        problems += [f"{name}: {problem}" for problem in _unusable_keys(action, keys)]
        if keys:
            keymap[action.id] = ",".join(keys)
    for sharing in ACTIONS:
        if sharing.shares_keys_of in keymap and sharing.id not in keymap:
            keymap[sharing.id] = keymap[sharing.shares_keys_of]
    keymap |= _reduced_keys(keymap)
    return keymap, [*problems, *_clashes(keymap)]


def keys_of(action: Action, keymap: Keymap) -> tuple[str, ...]:
    """Return the keys of an action, empty if it has only a name."""
    keys = keymap.get(action.id, action.keys)
    return tuple(keys.split(",")) if keys and keys != NO_KEY else ()


def _reduced_keys(keymap: Keymap) -> dict[str, str]:
    """Return the remaining keys of actions whose default keys the key map takes."""
    reduced = {}
    for action in ACTIONS:
        if not action.gives_way or action.id in keymap:
            continue
        taken = {
            key
            for other in ACTIONS
            if other.id in keymap and _overlap(action, other)
            for key in keys_of(other, keymap)
        }
        keys = keys_of(action, keymap)
        remaining = [key for key in keys if key not in taken]
        if len(remaining) < len(keys):
            reduced[action.id] = ",".join(remaining) or NO_KEY
    return reduced


def _parse_keys(value: object) -> tuple[list[str], list[str]]:
    """Return Textual's names of the valid keys, and the problems of the others."""
    texts: Sequence[object] = [value]
    if isinstance(value, list):
        texts = value
    elif isinstance(value, str) and value.strip() != ",":
        # A comma by itself is a key, between others it separates them.
        texts = value.split(",")
    keys, problems = [], []
    for written in texts:
        text = str(written).strip()
        # YAML reads a digit as a number; other types are invalid.
        is_text = isinstance(written, str | int) and not isinstance(written, bool)
        key = _parse_key(text) if is_text else None
        if key is None:
            near = _nearest_key(text)
            hint = f" (nearest: {near})" if near else "; write t, ^t, ctrl+t, f5, space"
            problems.append(f'"{text}" is not a key{hint}')
        else:
            keys.append(key)
    return keys, problems


def _nearest_key(text: str) -> str:
    """Return the most similar key, empty if none is similar."""
    *modifiers, name = text.lower().split("+")
    known = [modifier.removesuffix("+") for modifier in _MODIFIERS]
    parts = [nearest(modifier, known, cutoff=_KEY_CUTOFF) for modifier in modifiers]
    names = sorted({*_NAMED, *_SPELLINGS})
    parts.append(name if len(name) == 1 else nearest(name, names, cutoff=_KEY_CUTOFF))
    return "+".join(parts) if all(parts) else ""


def _parse_key(text: str) -> str | None:
    """Return Textual's name of a key, None if it is not a key."""
    if text.startswith("^") and len(text) > 1:
        text = f"ctrl+{text[1:].lower()}"
    name = text
    while name.startswith(_MODIFIERS):
        name = name.partition("+")[2]
    modifiers = text.removesuffix(name)
    if len(name) == 1 and name.isprintable():
        return modifiers + _name_of(name)
    name = _SPELLINGS.get(name.lower(), name.lower())
    is_known = name in _NAMED or _is_character(name)
    return modifiers + name if is_known else None


def _is_character(name: str) -> bool:
    character = key_to_character(name) if len(name) > 1 else None
    return character is not None and character.isprintable()


def _name_of(character: str) -> str:
    """Return Textual's name of a character's key: `question_mark` for `?`."""
    if character.isalnum():
        return character
    name = unicodedata.name(character).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


def _unusable_keys(action: Action, keys: Sequence[str]) -> Iterator[str]:
    for key in keys:
        if key in SAME_BYTES:
            yield f'terminals send "{SAME_BYTES[key]}" for "{key}"'
        if action.is_priority and "+" not in key and not key.startswith("f"):
            yield f'"{key}" is needed for typing'


def _clashes(keymap: Keymap) -> Iterator[str]:
    """Yield the keys that the key map assigns to two actions in the same context."""
    reported = set()
    for first, second in combinations(ACTIONS, 2):
        if first.id not in keymap and second.id not in keymap:
            continue
        is_shared = second.id in {first.shares_keys_of, _partner(first)}
        if is_shared or not _overlap(first, second):
            continue
        for key in keys_of(first, keymap):
            if key in keys_of(second, keymap) and (first.id, second.id) not in reported:
                reported.add((first.id, second.id))
                yield f'"{key}" is assigned to both {first.id} and {second.id}'


def _partner(action: Action) -> str:
    """Return the action that has this one's keys while this one is off."""
    partners = (other.id for other in ACTIONS if other.shares_keys_of == action.id)
    return next(partners, "")


def _overlap(first: Action, second: Action) -> bool:
    """Return whether keys of two actions can work at the same time."""
    return any(
        not set(first.where).isdisjoint(contexts)
        and not set(second.where).isdisjoint(contexts)
        for contexts in OVERLAPPING_CONTEXTS
    )
