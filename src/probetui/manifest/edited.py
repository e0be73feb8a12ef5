"""A manifest with other numbers in some of its probes, and all else as it was written.

Comments, order, quotes, other documents stay byte for byte: numbers are exchanged in
the text, and fields that are not in it are put at the end of their probe. What comes
out is read again, and refused unless it says what was wanted and nothing else.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, cast

from probetui.errors import ManifestError
from probetui.k8s.probe import Probe, ProbeType
from probetui.manifest.compose import RefusedError
from probetui.manifest.manifests import LoadedPod
from probetui.manifest.nodes import (
    Document,
    ListNode,
    MapNode,
    Node,
    ScalarNode,
    join,
    steps,
    to_plain,
)
from probetui.manifest.parse import Source, parse, text_of
from probetui.manifest.places import MERGE, Place, places
from probetui.manifest.problem import Position, Problem, clipped

_BOMS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ENCODINGS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_NO_PROBE = Probe(handler=None)
_DEFAULTS: Mapping[str, int] = MappingProxyType(
    {
        "initialDelaySeconds": _NO_PROBE.initial_delay_seconds,
        "timeoutSeconds": _NO_PROBE.timeout_seconds,
        "periodSeconds": _NO_PROBE.period_seconds,
        "successThreshold": _NO_PROBE.success_threshold,
        "failureThreshold": _NO_PROBE.failure_threshold,
    }
)
_FIELD_OF = {each: f"{each.lower()}Probe" for each in ProbeType}


@dataclass(frozen=True, slots=True)
class ProbeEdit:
    """What a probe's numbers are to be, by their names in the API."""

    loaded: LoadedPod
    container_name: str
    probe_type: ProbeType
    numbers: Mapping[str, int]


class Edited(NamedTuple):
    """A manifest that was changed: its bytes, and how many fields differ."""

    data: bytes
    fields: int


class _Splice(NamedTuple):
    """What stands from `start` up to `end` gives way to a text."""

    start: int
    end: int
    text: str


class _Target(NamedTuple):
    """A probe in a text: its document, the path there, and which numbers differ."""

    document: int
    path: tuple[str, ...]
    place: Place
    numbers: Mapping[str, int]


def edited(source: Source, edits: Sequence[ProbeEdit]) -> Edited:
    """Return a file with other numbers in some of its probes.

    Raises `ManifestError` where the numbers cannot be changed without changing
    anything else, and where none differs from what the file says.
    """
    try:
        text = text_of(source)
    except RefusedError as error:
        raise ManifestError([str(error.problem)]) from error
    documents = parse(source).documents
    roots = {(each.line, each.column): each for each in places(text)}
    targets = [_target(source, documents, roots, each) for each in edits]
    count = sum(len(each.numbers) for each in targets)
    if not count:
        raise ManifestError([f"{Position(source.name)}: has these numbers already"])
    wanted = _wanted(documents, targets)
    for is_at_end in (True, False):
        changed = _spliced(text, targets, is_at_end=is_at_end)
        if _plain(Source(source.name, changed)) == wanted:
            return Edited(_encoded(source, changed), count)
    message = "cannot be changed in its text without changing anything else"
    raise _refusal(source, targets[0].place, _words(targets[0].path), message)


# -- finding


def _target(
    source: Source,
    documents: Sequence[Document],
    roots: Mapping[tuple[int, int], Place],
    edit: ProbeEdit,
) -> _Target:
    own = edit.loaded.object
    pod_paths = {
        each.name: path for path, each in edit.loaded.pod.containers_with_paths()
    }
    path = (
        *steps(own.path),
        *own.workload.template,
        *steps(pod_paths.get(edit.container_name, "")),
        _FIELD_OF[edit.probe_type],
    )
    at = own.node.position
    for index, document in enumerate(documents):
        found = _node(document.root, tuple(steps(own.path)))
        if found is None or found.position != at:
            continue
        root = document.root.position
        place = _walk(source, roots[root.line, root.column], path)
        numbers = _differing(_node(document.root, path), edit.numbers)
        for field in numbers:
            if (number := place.entry(field)) is not None and number.is_used:
                _check_own(source, number, join(_words(path), field))
        return _Target(index, path, place, numbers)
    message = "is not in the file any more"
    raise ManifestError([str(Problem(at, _words(path), message))])


def _node(node: Node | None, path: Sequence[str]) -> Node | None:
    for step in path:
        if isinstance(node, MapNode):
            node = node.get(step)
        elif isinstance(node, ListNode) and int(step) < len(node.items):
            node = node.items[int(step)]
        else:
            return None
    return node


def _differing(probe: Node | None, numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers that a probe does not have, be it by default."""
    found = {}
    for field, number in numbers.items():
        node = probe.get(field) if isinstance(probe, MapNode) else None
        written = node.value if isinstance(node, ScalarNode) else None
        # The API server gives a zero its default, as it does what is left out.
        if (written or _DEFAULTS[field]) != number:
            found[field] = number
    return found


def _walk(source: Source, root: Place, path: Sequence[str]) -> Place:
    """Return the place of a probe; refuse one that others have a share in."""
    place, so_far = root, ""
    for step in path:
        _check_own(source, place, so_far)
        so_far = join(so_far, int(step) if step.isdecimal() else step)
        below = place.below(step)
        if below is None:
            message = "is not written there"
            if place.entry(MERGE) is not None:
                message = "comes by <<: what others have a share in is not changed"
            raise _refusal(source, place, so_far, message)
        place = below
    _check_own(source, place, so_far)
    return place


def _check_own(source: Source, place: Place, path: str) -> None:
    """Refuse what stands for something in another place too."""
    if place.is_alias:
        name = clipped(f"*{place.value}")
        message = f"is {name}: what others have a share in is not changed"
        raise _refusal(source, place, path, message)
    if place.is_used:
        name = clipped(f"*{place.anchor}")
        message = f"is {name} elsewhere: what others have a share in is not changed"
        raise _refusal(source, place, path, message)


def _refusal(source: Source, place: Place, path: str, message: str) -> ManifestError:
    position = Position(source.name, place.line, place.column)
    return ManifestError([str(Problem(position, path, message))])


def _words(path: Sequence[str]) -> str:
    words = ""
    for step in path:
        words = join(words, int(step) if step.isdecimal() else step)
    return words


# -- changing


def _spliced(text: str, targets: Sequence[_Target], *, is_at_end: bool) -> str:
    splices: list[_Splice] = []
    for each in targets:
        splices += _splices(text, each, is_at_end=is_at_end)
    for start, end, new in sorted(splices, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _splices(text: str, target: _Target, *, is_at_end: bool) -> Iterator[_Splice]:
    missing = {}
    for field, number in target.numbers.items():
        place = target.place.entry(field)
        if place is None:
            missing[field] = number
        elif place.start == place.end:
            yield _Splice(place.start, place.end, f" {number}")
        else:
            yield _Splice(place.start, place.end, str(number))
    if missing:
        yield _insertion(text, target.place, missing, is_at_end=is_at_end)


def _insertion(
    text: str, probe: Place, fields: Mapping[str, int], *, is_at_end: bool
) -> _Splice:
    """Return what puts fields into a probe, behind what it has or before it."""
    assert probe.entries, "a probe has a handler"  # noqa: S101  # or was refused
    first, (last_key, last) = probe.entries[0][0], probe.entries[-1]
    quote = '"' if text[first.start] == '"' else ""
    written = [f"{quote}{field}{quote}: {number}" for field, number in fields.items()]
    if probe.is_flow:
        prefix = _indent(text, last_key)
        between = f",{_break(text, last.end)}{prefix}" if prefix else ", "
        return _Splice(last.end, last.end, between + between.join(written))
    prefix = " " * (first.column - 1)
    line_break = _break(text, last.end)
    if not is_at_end:
        lines = "".join(f"{each}{line_break}{prefix}" for each in written)
        return _Splice(first.start, first.start, lines)
    if last.end and _BREAK.fullmatch(text[last.end - 1]):
        # A block scalar goes up to the beginning of a line.
        lines = "".join(f"{prefix}{each}{line_break}" for each in written)
        return _Splice(last.end, last.end, lines)
    found = _BREAK.search(text, last.end)
    at = found.start() if found is not None else len(text)
    return _Splice(at, at, "".join(f"{line_break}{prefix}{each}" for each in written))


def _indent(text: str, key: Place) -> str:
    """Return what stands before a key on its line, empty unless it is blank."""
    before = text[key.start - key.column + 1 : key.start]
    return before if before.isspace() else ""


def _break(text: str, index: int) -> str:
    """Return how lines end there."""
    found = _BREAK.search(text, index) or _BREAK.search(text)
    return found[0] if found is not None else "\n"


def _encoded(source: Source, text: str) -> bytes:
    """Return a text as the file was encoded, with the mark that it began with."""
    data = source.data
    if isinstance(data, str):
        mark = "\ufeff" if data.startswith("\ufeff") else ""
        return (mark + text).encode()
    bom = next((each for each in _BOMS if data.startswith(each)), b"")
    return bom + text.encode(_ENCODINGS.get(bom, "utf-8"))


# -- reading again


def _plain(source: Source) -> list[object] | None:
    parsed = parse(source)
    return (
        None if parsed.problems else [to_plain(each.root) for each in parsed.documents]
    )


def _wanted(documents: Sequence[Document], targets: Sequence[_Target]) -> list[object]:
    """Return what the documents are to say."""
    wanted = [to_plain(each.root) for each in documents]
    for target in targets:
        node: object = wanted[target.document]
        for step in target.path:
            node = _below(node, step)
        cast("dict[str, object]", node).update(target.numbers)
    return wanted


def _below(node: object, step: str) -> object:
    if isinstance(node, list):
        return node[int(step)]
    return cast("dict[str, object]", node)[step]
