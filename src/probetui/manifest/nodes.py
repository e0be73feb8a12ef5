"""A YAML document as a tree that remembers where everything stood."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from probetui.manifest.problem import Position

PlainValue = str | int | float | bool | None
"""What one YAML scalar can mean."""

_LONGEST_STEP = 320
"""Characters: a prefix of 253, a slash and a name of 63 are fewer."""

_STEP = re.compile(r"\[([^\]]*)\]|([^.\[]+)")


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A single value; `text` is how it was written."""

    value: PlainValue
    text: str
    position: Position


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping with its value; the position is the key's."""

    key: str
    position: Position
    value: Node


@dataclass(frozen=True, slots=True)
class MapNode:
    """A mapping; no key is there twice, the last one written was kept."""

    entries: tuple[Entry, ...]
    position: Position

    def entry(self, key: str) -> Entry | None:
        """Return the entry of that key, or None."""
        for each in self.entries:
            if each.key == key:
                return each
        return None

    def get(self, key: str) -> Node | None:
        """Return the value of that key; a null is as good as absent."""
        found = self.entry(key)
        if found is None or is_null(found.value):
            return None
        return found.value

    def text(self, key: str) -> str:
        """Return the text of that key, empty if it has none."""
        value = self.get(key)
        if isinstance(value, ScalarNode) and isinstance(value.value, str):
            return value.value
        return ""

    def with_entry(self, entry: Entry) -> MapNode:
        """Return a copy with one entry replaced or added."""
        kept = [entry if each.key == entry.key else each for each in self.entries]
        if self.entry(entry.key) is None:
            kept.append(entry)
        return replace(self, entries=tuple(kept))


@dataclass(frozen=True, slots=True)
class ListNode:
    """A list."""

    items: tuple[Node, ...]
    position: Position


Node = ScalarNode | MapNode | ListNode


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """A key that a mapping had already; `path` is the mapping's."""

    path: str
    key: str
    position: Position
    first: Position
    value: Position


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file with its text, without the `---`."""

    root: Node
    text: str
    duplicates: tuple[DuplicateKey, ...] = ()


def is_null(node: Node) -> bool:
    """Tell whether a node says null, which Kubernetes takes as not given."""
    return isinstance(node, ScalarNode) and node.value is None


def join(path: str, step: str | int) -> str:
    """Extend a field path by a key or an index, as Kubernetes writes it.

    No key that Kubernetes takes is as long as those that are cut here: a path is told
    with every problem below it.
    """
    if isinstance(step, int):
        return f"{path}[{step}]"
    if len(step) > _LONGEST_STEP:
        step = f"{step[:_LONGEST_STEP]}…"
    if "." in step or "[" in step or "]" in step:
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step


def steps(path: str) -> Iterator[str]:
    """Yield the keys and indexes of a field path."""
    for bracketed, name in _STEP.findall(path):
        yield bracketed or name


def locate(root: Node, path: str) -> Position:
    """Return where a field stands, or the nearest thing around it that exists."""
    return _locate(root, list(steps(path)))


def _locate(root: Node, path: Sequence[str]) -> Position:
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


def to_plain(node: Node) -> object:
    """Return the node as dicts, lists and scalars."""
    match node:
        case ScalarNode(value=value):
            return value
        case ListNode(items=items):
            return [to_plain(each) for each in items]
        case MapNode(entries=entries):
            return {each.key: to_plain(each.value) for each in entries}
