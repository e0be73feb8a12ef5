"""Records to lines and back: entries of the journal, inputs, the first and last line.

What is encoded here has the numbers of the journal; a `Recorder` puts those of the
lines in their places.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NoReturn, get_args

import msgspec
from msgspec import Struct

from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.events.event_correlator import ClusterEvent
from probetui.kubelet.journal import JournalEntry
from probetui.kubelet.outcome import Attempt
from probetui.record.format import (
    ENTRY_KINDS,
    ENTRY_MAKERS,
    VALUE_KINDS,
    VERSION,
    AnyRecord,
    AttemptRecord,
    CommonFields,
    EndRecord,
    InputRecord,
    ManifestRecord,
    RecordContext,
    RewindRecord,
    SessionRecord,
    mask_json,
)
from probetui.record.masking import Mask
from probetui.record.values import (
    DamageError,
    encode_value,
    format_timestamp,
    shorten_reason,
)
from probetui.record.wire import WireCodec
from probetui.safe_text import safe_json

DEFAULT_CONFIG = KubeletConfig()

Record = dict[str, Any]
"""One line of a record, as `encode_line` takes it."""

_COMMON = frozenset(CommonFields.__struct_fields__)
_KINDS = {kind: struct for struct, kind in ENTRY_KINDS.items()}
_TYPES = frozenset(struct.__struct_config__.tag for struct in get_args(AnyRecord))
_NO_RECORD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class SessionHeader(Struct, frozen=True):
    """What the first record of a session says of it.

    `manifests` are pairs of file name and whole text, as they were run. `config` is
    the engine's: a replay needs it.
    """

    probetui: str
    runtime: str
    kubelet: str
    options: Mapping[str, object]
    manifests: Sequence[tuple[str, str]]
    seed: int | None
    config: KubeletConfig = DEFAULT_CONFIG
    observed: bool = False


def encode_session(
    header: SessionHeader, sequence: int, context: RecordContext
) -> Record:
    """Return the record that opens a session."""
    return _plain(
        SessionRecord(
            **_common(sequence, context.started_at, context),
            probetui=header.probetui,
            runtime=header.runtime,
            kubelet=header.kubelet,
            options=dict(header.options),
            manifests=[ManifestRecord(name, text) for name, text in header.manifests],
            seed=header.seed,
            config=mask_json(encode_value(header.config), Mask(hides=False)),
            observed=header.observed,
        )
    )


def encode_end(
    reason: str, exit_status: int, sequence: int, at: datetime, context: RecordContext
) -> Record:
    """Return the record that closes a session."""
    common = _common(sequence, at, context)
    return _plain(EndRecord(**common, reason=reason, exit=exit_status))


def encode_input(
    number: int,
    item: dict[str, Any] | None,
    at: datetime,
    sequence: int,
    context: RecordContext,
) -> Record:
    """Return the record of something that went into the engine.

    Args:
        number: counts the inputs of the session from 1.
        item: the input as JSON, None for an instant at which time alone passed.
        at: when the engine was given it.
        sequence: of the line.
        context: of the session.
    """
    return {
        **_common(sequence, at, context),
        "type": InputRecord.__struct_config__.tag,
        "n": number,
        "input": mask_json(item, context.mask),
    }


def encode_rewind(
    kept: int, inputs: int, at: datetime, sequence: int, context: RecordContext
) -> Record:
    """Return the record that takes back what came after an entry and an input.

    Readers forget every entry whose `seq` is above `kept`, and every input whose `n` is
    above `inputs`.
    """
    common = _common(sequence, at, context)
    return _plain(RewindRecord(**common, kept=kept, inputs=inputs))


def encode_entry(entry: JournalEntry, context: RecordContext) -> Record:
    """Return the record of one journal entry, secrets masked."""
    struct = _KINDS[type(entry)]
    return {
        **_common(entry.sequence, entry.at, context),
        "type": struct.__struct_config__.tag,
        **_codec_of(struct).encode(entry, context),
    }


def encode_attempt(attempt: Attempt, context: RecordContext) -> Record:
    """Return an attempt as it is in the records of ticks."""
    return _codec_of(AttemptRecord).encode(attempt, context)


def encode_aggregation(shown: ClusterEvent | None) -> Record:
    """Return what a cluster makes of an event, None for one that it drops."""
    if shown is None:
        return {"folded": None, "dropped": True}
    folded: Record = {
        "count": shown.count,
        "first": format_timestamp(shown.first_seen_at),
        "last": format_timestamp(shown.last_seen_at),
    }
    return {"folded": folded, "dropped": False}


def encode_line(record: Record) -> bytes:
    """Return a record as one line of UTF-8, newline included.

    What a terminal would obey, what would break the line for a reader who splits at
    every Unicode line break, and lone surrogates (bytes of a container's output that
    were not UTF-8, which have no UTF-8 form) are escaped; they read back unchanged.
    """
    try:
        line = msgspec.json.encode(record)
    except UnicodeEncodeError:
        pass  # It has lone surrogates.
    else:
        if line.isascii() and b"\x7f" not in line:
            return line + b"\n"
    return f"{encode_text(record)}\n".encode()


def encode_text(value: object) -> str:
    """Return a record, or a part of one, as it is in a line."""
    return safe_json(_JSON.encode(value))


def is_entry(record: AnyRecord) -> bool:
    """Return whether a record is that of a journal entry."""
    return type(record) in ENTRY_KINDS


def decode_entry(record: Any, at: datetime) -> JournalEntry:
    """Return the journal entry of a record; an event without its tick.

    Raises:
        ValueError: a value has the type that it should have, but cannot be.
    """
    struct: type[CommonFields] = type(record)
    read: JournalEntry = _codec_of(struct).decode(record, sequence=record.seq, at=at)
    return read


def decode_line(line: bytes) -> AnyRecord | None:
    """Return the record in a line, None for one of a type that is not known.

    Raises:
        DamageError: it is not whole, or not what its type says.
    """
    if not line.endswith(b"\n"):
        raise DamageError(f"cut off after {len(line)} bytes")
    try:
        # Fields that are not known are skipped unread, whatever is in them.
        line.decode()
        record = _records().decode(line)
    except UnicodeDecodeError as error:
        raise DamageError(f"it is not UTF-8 (byte {error.start + 1})") from None
    except _NO_RECORD as error:
        return _decode_slowly(line, error)
    return record


class LineHead(Struct, frozen=True):
    """Decides whether a line that does not fit was written by a later version."""

    version: int
    type: str


def decode_head(line: bytes) -> LineHead | None:
    """Return the head of a line, None if it has none."""
    # Lone surrogates, which are no JSON to msgspec, stand in none of the two.
    harmless = line.replace(b"\\ud", b"\\u0").replace(b"\\uD", b"\\u0")
    try:
        head = _HEADS.decode(harmless)
    except _NO_RECORD:
        return None
    return LineHead(head.v, head.type)


class _HeadRecord(msgspec.Struct, frozen=True):
    v: int
    type: str


_HEADS = msgspec.json.Decoder(_HeadRecord)


@cache
def _records() -> msgspec.json.Decoder[AnyRecord]:
    """Return the decoder of lines; whoever only writes them waits for none."""
    return msgspec.json.Decoder(AnyRecord)


def _decode_slowly(line: bytes, why: Exception) -> AnyRecord | None:
    """Read a line that has lone surrogates, which msgspec takes for no JSON.

    They stand for bytes of a container's output that are not UTF-8.
    """
    head = decode_head(line)
    if head is not None and head.version == VERSION and head.type not in _TYPES:
        return None
    if b"\\ud" not in line.lower():
        raise DamageError(_reason(why)) from None
    try:
        content = json.loads(line, parse_constant=_refuse_constant)
        record: AnyRecord = msgspec.convert(content, AnyRecord)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise DamageError(_reason(error)) from None
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise DamageError(f"{name} is no number of JSON")


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return shorten_reason(error)


@cache
def _codec_of(struct: type[Struct]) -> WireCodec:
    if issubclass(struct, CommonFields):
        return WireCodec(
            struct,
            ENTRY_KINDS[struct],
            VALUE_KINDS,
            skip=_COMMON,
            make=ENTRY_MAKERS.get(struct),
        )
    return WireCodec(struct, VALUE_KINDS[struct], VALUE_KINDS)


def _common(sequence: int, at: datetime, context: RecordContext) -> Record:
    return {
        "v": VERSION,
        "seq": sequence,
        "ts": format_timestamp(at),
        "t": (at - context.started_at).total_seconds(),
    }


def _plain(record: CommonFields) -> Record:
    """Return a record with `type` behind the other common fields."""
    plain: Record = msgspec.to_builtins(record)
    kind = plain.pop("type")
    return {
        **{name: plain.pop(name) for name in CommonFields.__struct_fields__},
        "type": kind,
        **plain,
    }
