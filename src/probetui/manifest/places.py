"""Where everything stands in a YAML text, to the character: for changing bits of it.

`compose.py` says what a text means; here is how it is written, so that a number can be
exchanged in it and all else stay as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import yaml

from probetui.manifest.compose import position_of
from probetui.manifest.parse import LOADER

MERGE = "<<"


class IndexedMark(Protocol):
    """A place in a text as PyYAML gives it, in characters from 0."""

    index: int


@dataclass(slots=True)
class Place:
    """A node as it is written, from `start` up to `end` in characters.

    `end` of a mapping or list in block style is where its last value ends. `value` is
    what a scalar says, or which anchor an alias names. `line` counts from 1.

    Attributes:
        entries: keys and values, for mappings only.
        items: the values of a list.
        is_used: whether an alias names its anchor.
    """

    start: int
    end: int
    line: int
    column: int
    value: str = ""
    anchor: str = ""
    is_alias: bool = False
    is_flow: bool = False
    is_used: bool = False
    entries: list[tuple[Place, Place]] | None = None
    items: list[Place] = field(default_factory=list)

    def entry(self, key: str) -> Place | None:
        """Return the value of that key, the last one if there are several."""
        found = [value for each, value in self.entries or () if each.value == key]
        return found[-1] if found else None

    def below(self, step: str) -> Place | None:
        """Return the value of that key, or of that index of a list."""
        if step.isdecimal() and self.entries is None:
            return dict(enumerate(self.items)).get(int(step))
        return self.entry(step)


def places(text: str) -> Iterator[Place]:
    """Yield the root of each document of a text that can be parsed."""
    reader = _Reader()
    for event in yaml.parse(text, Loader=LOADER):
        match event:
            case yaml.DocumentStartEvent():
                reader = _Reader()
            case yaml.DocumentEndEvent():
                if reader.root is not None:
                    yield reader.root
            case _:
                reader.feed(event)


class _Reader:
    """Makes one document's places of events, in a loop: no text exhausts the stack."""

    def __init__(self) -> None:
        self.root: Place | None = None
        self._stack: list[Place] = []
        self._keys: list[Place | None] = []
        self._anchors: dict[str, Place] = {}

    def feed(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                self._attach(_place(event, event.value))
            case yaml.AliasEvent():
                name = event.anchor or ""
                place = _place(event, name)
                place.anchor, place.is_alias = "", True
                if name in self._anchors:
                    self._anchors[name].is_used = True
                self._attach(place)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                place = _place(event)
                place.is_flow = bool(event.flow_style)
                if isinstance(event, yaml.MappingStartEvent):
                    place.entries = []
                self._attach(place)
                self._stack.append(place)
                self._keys.append(None)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._keys.pop()
                self._close(self._stack.pop(), event)
            case _:
                pass

    def _attach(self, place: Place) -> None:
        if place.anchor:
            self._anchors[place.anchor] = place
        if not self._stack:
            self.root = place
            return
        parent, key = self._stack[-1], self._keys[-1]
        if parent.entries is None:
            parent.items.append(place)
        elif key is None:
            self._keys[-1] = place
        else:
            parent.entries.append((key, place))
            self._keys[-1] = None

    @staticmethod
    def _close(place: Place, event: yaml.Event) -> None:
        last = place.items[-1] if place.items else None
        if place.entries:
            last = place.entries[-1][1]
        if place.is_flow or last is None:
            place.end = _index(event.end_mark)
        else:
            # The parser is at the next token by now, behind comments and blank lines.
            place.end = last.end


def _place(event: yaml.NodeEvent, value: str = "") -> Place:
    at = position_of("", event.start_mark)
    start, end = _index(event.start_mark), _index(event.end_mark)
    return Place(start, end, at.line, at.column, value, event.anchor or "")


def _index(mark: IndexedMark | None) -> int:
    """Return a mark's place in the text; an event without one came from no text."""
    return mark.index if mark else 0
