"""Journal entries read from records that are not in a file."""

from __future__ import annotations

from collections.abc import Iterable

from probetui.kubelet.journal import JournalEntry
from probetui.record.codec import is_entry
from probetui.record.format import AnyRecord
from probetui.record.reader import _read, _with_ticks
from probetui.record.values import parse_session_instant


def decode_entries(records: Iterable[AnyRecord]) -> tuple[JournalEntry, ...]:
    """Return the entries among some records, with the numbers of the records."""
    read = [
        _read(record, parse_session_instant(record.ts))
        for record in records
        if is_entry(record)
    ]
    return tuple(_with_ticks(read))
