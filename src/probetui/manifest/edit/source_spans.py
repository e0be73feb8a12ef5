"""The spans of nodes in a YAML text, in characters.

`yaml/composer.py` parses the meaning of a text; with the spans, a number can be
replaced in it without any other change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import yaml
from msgspec import Struct, field

from probetui.manifest.yaml.composer import mark_position
from probetui.manifest.yaml.parser import YAML_LOADER

MERGE = "<<"


class IndexedMark(Protocol):
    """A position in a text as PyYAML gives it, in characters from 0."""

    index: int


class SourceSpan(Struct):
    """A node in the text, from `start` to `end` in characters.

    `end` of a mapping or list in block style is where its last value ends. `value` is
    a scalar's text, or the anchor that an alias names. `line` counts from 1.

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
    entries: list[tuple[SourceSpan, SourceSpan]] | None = None
    items: list[SourceSpan] = field(default_factory=list)

    def entry(self, key: str) -> SourceSpan | None:
        """Return the value of a key, the last one if there are several."""
        values = [value for span, value in self.entries or () if span.value == key]
        return values[-1] if values else None

    def below(self, step: str) -> SourceSpan | None:
        """Return the value of a key, or of an index of a list."""
        if step.isdecimal() and self.entries is None:
            return dict(enumerate(self.items)).get(int(step))
        return self.entry(step)


def parse_spans(text: str) -> Iterator[SourceSpan]:
    """Yield the root of every document; the text must be valid YAML."""
    reader = _SpanReader()
    for event in yaml.parse(text, Loader=YAML_LOADER):
        match event:
            case yaml.DocumentStartEvent():
                reader = _SpanReader()
            case yaml.DocumentEndEvent():
                if reader.root is not None:
                    yield reader.root
            case _:
                reader.feed(event)


class _SpanReader:
    """Builds a document's spans from events, without recursion."""

    def __init__(self) -> None:
        self.root: SourceSpan | None = None
        self._stack: list[SourceSpan] = []
        self._keys: list[SourceSpan | None] = []
        self._anchors: dict[str, SourceSpan] = {}

    def feed(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                self._attach(_span_of(event, event.value))
            case yaml.AliasEvent():
                name = event.anchor or ""
                span = _span_of(event, name)
                span.anchor, span.is_alias = "", True
                if name in self._anchors:
                    self._anchors[name].is_used = True
                self._attach(span)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                span = _span_of(event)
                span.is_flow = bool(event.flow_style)
                if isinstance(event, yaml.MappingStartEvent):
                    span.entries = []
                self._attach(span)
                self._stack.append(span)
                self._keys.append(None)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._keys.pop()
                self._close(self._stack.pop(), event)
            case _:
                pass

    def _attach(self, span: SourceSpan) -> None:
        if span.anchor:
            self._anchors[span.anchor] = span
        if not self._stack:
            self.root = span
            return
        parent, key = self._stack[-1], self._keys[-1]
        if parent.entries is None:
            parent.items.append(span)
        elif key is None:
            self._keys[-1] = span
        else:
            parent.entries.append((key, span))
            self._keys[-1] = None

    @staticmethod
    def _close(span: SourceSpan, event: yaml.Event) -> None:
        last = span.items[-1] if span.items else None
        if span.entries:
            last = span.entries[-1][1]
        if span.is_flow or last is None:
            span.end = _index(event.end_mark)
        else:
            # The parser is already at the next token, after comments and blank lines.
            span.end = last.end


def _span_of(event: yaml.NodeEvent, value: str = "") -> SourceSpan:
    at = mark_position("", event.start_mark)
    start, end = _index(event.start_mark), _index(event.end_mark)
    return SourceSpan(start, end, at.line, at.column, value, event.anchor or "")


def _index(mark: IndexedMark | None) -> int:
    """Return a mark's index in the text, 0 for an event without a mark."""
    return mark.index if mark else 0
