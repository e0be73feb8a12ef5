"""Other keys for actions, as people write them in their configuration."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character

from probetui.suggestions import nearest, nearest_hint
from probetui.tui.actions.action import Action, KeyContext
from probetui.tui.actions.table import ACTIONS, ACTIONS_BY_ID, OVERLAPPING_CONTEXTS
from probetui.tui.options import Keymap

SAME_BYTES = {
    "ctrl+i": "tab",
    "ctrl+j": "enter",
    "ctrl+m": "enter",
    "ctrl+h": "backspace",
    "ctrl+left_square_bracket": "escape",
}
"""Keys that reach a program as other keys."""

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
    """Return the keys that a configuration asks for, and all that is wrong with it.

    Args:
        written: for ids of actions, a key, keys with commas, or a list of keys.
    """
    keymap: dict[str, str] = {}
    problems: list[str] = []
    for name, value in written.items():
        action = ACTIONS_BY_ID.get(str(name))
        if action is None:
            hint = nearest_hint(str(name), ACTIONS_BY_ID)
            problems.append(f'"{name}" is not an action{hint}')
            continue
        keys, wrong = _keys(value)
        problems += [f"{name}: {problem}" for problem in wrong]
        problems += [f"{name}: {problem}" for problem in _unfit(action, keys)]
        if keys:
            keymap[action.id] = ",".join(keys)
    for sharing in ACTIONS:
        if sharing.shares_keys_of in keymap and sharing.id not in keymap:
            keymap[sharing.id] = keymap[sharing.shares_keys_of]
    return keymap, [*problems, *_clashes(keymap)]


def keys_of(action: Action, keymap: Keymap) -> tuple[str, ...]:
    """Return the keys of an action, none for one that has only a name."""
    keys = keymap.get(action.id, action.keys)
    return tuple(keys.split(",")) if keys else ()


def _keys(value: object) -> tuple[list[str], list[str]]:
    """Return keys as Textual names them, and what is wrong with the others."""
    texts: Sequence[object] = [value]
    if isinstance(value, list):
        texts = value
    elif isinstance(value, str) and value.strip() != ",":
        # A comma by itself is a key, between others it separates them.
        texts = value.split(",")
    keys, wrong = [], []
    for written in texts:
        text = str(written).strip()
        # YAML has a number where a key is a digit; other kinds are no keys.
        is_text = isinstance(written, str | int) and not isinstance(written, bool)
        key = _key(text) if is_text else None
        if key is None:
            near = _nearest(text)
            hint = f" (nearest: {near})" if near else "; write t, ^t, ctrl+t, f5, space"
            wrong.append(f'"{text}" is not a key{hint}')
        else:
            keys.append(key)
    return keys, wrong


def _nearest(text: str) -> str:
    """Return the key that was perhaps meant, empty if there is none."""
    *modifiers, name = text.lower().split("+")
    known = [modifier.removesuffix("+") for modifier in _MODIFIERS]
    meant = [nearest(modifier, known, cutoff=_KEY_CUTOFF) for modifier in modifiers]
    names = sorted({*_NAMED, *_SPELLINGS})
    meant.append(name if len(name) == 1 else nearest(name, names, cutoff=_KEY_CUTOFF))
    return "+".join(meant) if all(meant) else ""


def _key(text: str) -> str | None:
    """Return what Textual calls a key, None for what is none."""
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
    """Return what Textual calls the key of a character: `question_mark` for `?`."""
    if character.isalnum():
        return character
    name = unicodedata.name(character).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


def _unfit(action: Action, keys: Sequence[str]) -> Iterator[str]:
    for key in keys:
        if key in SAME_BYTES:
            yield f'terminals send "{SAME_BYTES[key]}" for "{key}"'
        if action.is_priority and "+" not in key and not key.startswith("f"):
            yield f'"{key}" is needed for typing'


def _clashes(keymap: Keymap) -> Iterator[str]:
    """Go through keys that would mean two things at one place, where they did not."""
    reported = set()
    for one, other in combinations(ACTIONS, 2):
        if one.id not in keymap and other.id not in keymap:
            continue
        if other.id in {one.shares_keys_of, _partner(one)} or not _meet(one, other):
            continue
        for key in keys_of(one, keymap):
            if key in keys_of(other, keymap) and (one.id, other.id) not in reported:
                reported.add((one.id, other.id))
                yield f'"{key}" is assigned to both {one.id} and {other.id}'


def _partner(action: Action) -> str:
    """Return the action that has this one's keys while this one is off."""
    found = (other.id for other in ACTIONS if other.shares_keys_of == action.id)
    return next(found, "")


def _meet(one: Action, other: Action) -> bool:
    """Return whether keys of two actions can work at the same time."""
    return any(
        _is_in(one, places) and _is_in(other, places) for places in OVERLAPPING_CONTEXTS
    )


def _is_in(action: Action, places: Sequence[KeyContext]) -> bool:
    return bool(set(action.where) & set(places))
