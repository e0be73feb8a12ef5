"""Edit the numbers of probes in the text of a manifest and nothing else.

Comments, order, quotes and other documents stay byte for byte: numbers are replaced in
the text, and missing fields are added at the end of their probe. The result is parsed
again, and refused unless it differs only in these numbers.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, cast

from msgspec import Struct

from probetui.errors import ManifestError
from probetui.k8s.probe import Probe, ProbeType
from probetui.manifest.edit.source_spans import MERGE, SourceSpan, parse_spans
from probetui.manifest.manifests import LoadedPod
from probetui.manifest.problem import Position, Problem, quote_short
from probetui.manifest.yaml.composer import ParseError
from probetui.manifest.yaml.nodes import (
    ListNode,
    MapNode,
    ScalarNode,
    YamlDocument,
    YamlNode,
    join_path,
    split_path,
    to_plain,
)
from probetui.manifest.yaml.parser import SourceFile, decode_source, parse_yaml

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
_FIELD_OF = {probe_type: f"{probe_type.lower()}Probe" for probe_type in ProbeType}


class ProbeEdit(Struct, frozen=True):
    """New numbers of a probe, by their names in the API."""

    loaded: LoadedPod
    container_name: str
    probe_type: ProbeType
    numbers: Mapping[str, int]


class EditedManifest(Struct, frozen=True):
    """An edited manifest: its bytes, and the number of changed fields."""

    data: bytes
    fields: int


class _Splice(NamedTuple):
    """A replacement of the text from `start` to `end`."""

    start: int
    end: int
    text: str


class _ProbeTarget(Struct, frozen=True):
    """A probe in a text: its document, its path, and the numbers to change."""

    document: int
    path: tuple[str, ...]
    span: SourceSpan
    numbers: Mapping[str, int]


def edit_probes(source: SourceFile, edits: Sequence[ProbeEdit]) -> EditedManifest:
    """Return a file with new numbers in some of its probes.

    Raises:
        ManifestError: the numbers cannot be changed in the text, or none differs.
    """
    try:
        text = decode_source(source)
    except ParseError as error:
        raise ManifestError([str(error.problem)]) from error
    documents = parse_yaml(source).documents
    roots = {(span.line, span.column): span for span in parse_spans(text)}
    targets = [_find_target(source, documents, roots, edit) for edit in edits]
    count = sum(len(target.numbers) for target in targets)
    if not count:
        raise ManifestError([f"{Position(source.name)}: already has these numbers"])
    wanted = _expected_content(documents, targets)
    for is_at_end in (True, False):
        changed = _apply_splices(text, targets, is_at_end=is_at_end)
        if _parse_plain(SourceFile(source.name, changed)) == wanted:
            return EditedManifest(_encode(source, changed), count)
    message = "cannot be changed in the text without other changes"
    raise _refusal(source, targets[0].span, _format_path(targets[0].path), message)


def _find_target(
    source: SourceFile,
    documents: Sequence[YamlDocument],
    roots: Mapping[tuple[int, int], SourceSpan],
    edit: ProbeEdit,
) -> _ProbeTarget:
    own = edit.loaded.object
    pod_paths = {
        container.name: path
        for path, container in edit.loaded.pod.containers_with_paths()
    }
    path = (
        *split_path(own.path),
        *own.workload.template,
        *split_path(pod_paths.get(edit.container_name, "")),
        _FIELD_OF[edit.probe_type],
    )
    at = own.node.position
    for index, document in enumerate(documents):
        probe_node = _node(document.root, tuple(split_path(own.path)))
        if probe_node is None or probe_node.position != at:
            continue
        root = document.root.position
        span = _find_span(source, roots[root.line, root.column], path)
        numbers = _differing_numbers(_node(document.root, path), edit.numbers)
        for field in numbers:
            if (number := span.entry(field)) is not None and number.is_used:
                _check_own(source, number, join_path(_format_path(path), field))
        return _ProbeTarget(index, path, span, numbers)
    message = "is no longer in the file"
    raise ManifestError([str(Problem(at, _format_path(path), message))])


def _node(node: YamlNode | None, path: Sequence[str]) -> YamlNode | None:
    for step in path:
        if isinstance(node, MapNode):
            node = node.get(step)
        elif isinstance(node, ListNode) and int(step) < len(node.items):
            node = node.items[int(step)]
        else:
            return None
    return node


def _differing_numbers(
    probe: YamlNode | None, numbers: Mapping[str, int]
) -> dict[str, int]:
    """Return the numbers that differ from the probe's, defaults included."""
    differing = {}
    for field, number in numbers.items():
        node = probe.get(field) if isinstance(probe, MapNode) else None
        written = node.value if isinstance(node, ScalarNode) else None
        # The API server replaces a zero by its default, as for an absent field.
        if (written or _DEFAULTS[field]) != number:
            differing[field] = number
    return differing


def _find_span(source: SourceFile, root: SourceSpan, path: Sequence[str]) -> SourceSpan:
    """Return the span of a probe; raise an error if an alias shares it."""
    span, so_far = root, ""
    for step in path:
        _check_own(source, span, so_far)
        so_far = join_path(so_far, int(step) if step.isdecimal() else step)
        below = span.below(step)
        if below is None:
            message = "is not set in the file"
            if span.entry(MERGE) is not None:
                message = "is merged by <<: shared values are not changed"
            raise _refusal(source, span, so_far, message)
        span = below
    _check_own(source, span, so_far)
    return span


def _check_own(source: SourceFile, span: SourceSpan, path: str) -> None:
    """Raise an error for an alias, and for a value that an alias refers to."""
    if span.is_alias:
        name = quote_short(f"*{span.value}")
        message = f"is {name}: shared values are not changed"
        raise _refusal(source, span, path, message)
    if span.is_used:
        name = quote_short(f"*{span.anchor}")
        message = f"is {name} elsewhere: shared values are not changed"
        raise _refusal(source, span, path, message)


def _refusal(
    source: SourceFile, span: SourceSpan, path: str, message: str
) -> ManifestError:
    position = Position(source.name, span.line, span.column)
    return ManifestError([str(Problem(position, path, message))])


def _format_path(path: Sequence[str]) -> str:
    text = ""
    for step in path:
        text = join_path(text, int(step) if step.isdecimal() else step)
    return text


def _apply_splices(
    text: str, targets: Sequence[_ProbeTarget], *, is_at_end: bool
) -> str:
    splices: list[_Splice] = []
    for target in targets:
        splices += _find_splices(text, target, is_at_end=is_at_end)
    for start, end, new in sorted(splices, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _find_splices(
    text: str, target: _ProbeTarget, *, is_at_end: bool
) -> Iterator[_Splice]:
    missing = {}
    for field, number in target.numbers.items():
        span = target.span.entry(field)
        if span is None:
            missing[field] = number
        elif span.start == span.end:
            yield _Splice(span.start, span.end, f" {number}")
        else:
            yield _Splice(span.start, span.end, str(number))
    if missing:
        yield _insert_fields(text, target.span, missing, is_at_end=is_at_end)


def _insert_fields(
    text: str, probe: SourceSpan, fields: Mapping[str, int], *, is_at_end: bool
) -> _Splice:
    """Return the splice that adds fields to a probe, at its end or its beginning."""
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
        lines = "".join(f"{field}{line_break}{prefix}" for field in written)
        return _Splice(first.start, first.start, lines)
    if last.end and _BREAK.fullmatch(text[last.end - 1]):
        # A block scalar ends at the beginning of a line.
        lines = "".join(f"{prefix}{field}{line_break}" for field in written)
        return _Splice(last.end, last.end, lines)
    match = _BREAK.search(text, last.end)
    at = match.start() if match is not None else len(text)
    return _Splice(at, at, "".join(f"{line_break}{prefix}{field}" for field in written))


def _indent(text: str, key: SourceSpan) -> str:
    """Return the indentation of a key, empty if other text precedes it on its line."""
    before = text[key.start - key.column + 1 : key.start]
    return before if before.isspace() else ""


def _break(text: str, index: int) -> str:
    """Return the line break in use at a position."""
    match = _BREAK.search(text, index) or _BREAK.search(text)
    return match[0] if match is not None else "\n"


def _encode(source: SourceFile, text: str) -> bytes:
    """Encode a text as the file was, with its byte order mark."""
    data = source.data
    if isinstance(data, str):
        mark = "\ufeff" if data.startswith("\ufeff") else ""
        return (mark + text).encode()
    bom = next((bom for bom in _BOMS if data.startswith(bom)), b"")
    return bom + text.encode(_ENCODINGS.get(bom, "utf-8"))


def _parse_plain(source: SourceFile) -> list[object] | None:
    parsed = parse_yaml(source)
    return (
        None
        if parsed.problems
        else [to_plain(document.root) for document in parsed.documents]
    )


def _expected_content(
    documents: Sequence[YamlDocument], targets: Sequence[_ProbeTarget]
) -> list[object]:
    """Return the expected content of the edited documents."""
    wanted = [to_plain(document.root) for document in documents]
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
