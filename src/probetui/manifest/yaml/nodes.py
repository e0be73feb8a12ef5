"""A YAML document as a tree of nodes with positions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from probetui.manifest.problem import Position

ScalarValue = str | int | float | bool | None
"""The value of a YAML scalar."""

_LONGEST_STEP = 320
"""Characters: a prefix of 253, a slash and a name of 63 are fewer."""

_STEP = re.compile(r"\[([^\]]*)\]|([^.\[]+)")


class ScalarNode(Struct, frozen=True):
    """A scalar; `text` is its source."""

    value: ScalarValue
    text: str
    position: Position


class MapEntry(Struct, frozen=True):
    """One key of a mapping with its value; the position is the key's."""

    key: str
    position: Position
    value: YamlNode


class MapNode(Struct, frozen=True):
    """A mapping without duplicate keys."""

    entries: tuple[MapEntry, ...]
    position: Position

    def entry(self, key: str) -> MapEntry | None:
        """Return the entry of a key, or None."""
        for entry in self.entries:
            if entry.key == key:
                return entry
        return None

    def get(self, key: str) -> YamlNode | None:
        """Return the value of a key, None if it is absent or null."""
        entry = self.entry(key)
        if entry is None or is_null(entry.value):
            return None
        return entry.value

    def text(self, key: str) -> str:
        """Return the text of a key, empty if it has none."""
        value = self.get(key)
        if isinstance(value, ScalarNode) and isinstance(value.value, str):
            return value.value
        return ""

    def with_entry(self, entry: MapEntry) -> MapNode:
        """Return a copy with one entry replaced or added."""
        entries = [entry if old.key == entry.key else old for old in self.entries]
        if self.entry(entry.key) is None:
            entries.append(entry)
        return replace(self, entries=tuple(entries))


class ListNode(Struct, frozen=True):
    """A list."""

    items: tuple[YamlNode, ...]
    position: Position


YamlNode = ScalarNode | MapNode | ListNode


class DuplicateKey(Struct, frozen=True):
    """A duplicate key in a mapping; `path` is the mapping's."""

    path: str
    key: str
    position: Position
    first: Position
    value: Position


class YamlDocument(Struct, frozen=True):
    """One document of a file."""

    root: YamlNode
    duplicates: tuple[DuplicateKey, ...] = ()


def is_null(node: YamlNode) -> bool:
    """Return whether a node is null, which counts as absent in Kubernetes."""
    return isinstance(node, ScalarNode) and node.value is None


def join_path(path: str, step: str | int) -> str:
    """Extend a field path by a key or an index, as Kubernetes writes it.

    Keys longer than any valid one are cut, as every problem below has the path.
    """
    if isinstance(step, int):
        return f"{path}[{step}]"
    if len(step) > _LONGEST_STEP:
        step = f"{step[:_LONGEST_STEP]}…"
    if "." in step or "[" in step or "]" in step:
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step


def split_path(path: str) -> Iterator[str]:
    """Yield the keys and indexes of a field path."""
    for bracketed, name in _STEP.findall(path):
        yield bracketed or name


def locate_field(root: YamlNode, path: str) -> Position:
    """Return the position of a field, or of its closest existing parent."""
    return _locate(root, list(split_path(path)))


def _locate(root: YamlNode, path: Sequence[str]) -> Position:
    node, position = root, root.position
    for step in path:
        match node:
            case MapNode():
                entry = node.entry(step)
                if entry is None:
                    return position
                node, position = entry.value, entry.position
            case ListNode(items=items):
                if not step.isdecimal() or int(step) >= len(items):
                    return position
                node = items[int(step)]
                position = node.position
            case _:
                return position
    return position


def to_plain(node: YamlNode) -> object:
    """Return the node as dicts, lists and scalars."""
    match node:
        case ScalarNode(value=value):
            return value
        case ListNode(items=items):
            return [to_plain(item) for item in items]
        case MapNode(entries=entries):
            return {entry.key: to_plain(entry.value) for entry in entries}
