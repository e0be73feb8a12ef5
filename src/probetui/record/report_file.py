"""The record in a report: an HTML page that every command reads as a record.

The page ends with a block of data that a browser neither shows nor runs: the packed
lines of the record, compressed, in base64. Text of a manifest or a container cannot
begin such a block, because `<` in it is written as `&lt;`.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterable, Iterator

from probetui.record.packed_lines import pack_lines
from probetui.record.values import DamageError

DATA_TYPE = "application/vnd.probetui.record"
"""The media type of the block; what no browser knows is data to it."""

_BLOCK = re.compile(f'<script type="{DATA_TYPE}">([^<]*)</script>'.encode())
_GZIP = 16 + zlib.MAX_WBITS
_LEVEL = 9
_BASE64_BYTES = 1 << 16
_UNPACKED_BYTES = 1 << 20


def pack_record(lines: Iterable[bytes]) -> str:
    """Return the text of the block for the lines of a record."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    packed = b"".join(map(packer.compress, pack_lines(lines))) + packer.flush()
    return base64.b64encode(packed).decode()


def packed_rows(page: bytes) -> Iterator[bytes]:
    """Yield the packed lines of the record in a report, in parts of a bounded size.

    Raises:
        DamageError: the page has no such block, or it is damaged.
    """
    block = _BLOCK.search(page)
    if block is None:
        raise DamageError("the report has no record, or only the beginning of one")
    begin, end = block.span(1)
    yield from _unpacked(memoryview(page)[begin:end])


def _unpacked(block: memoryview) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_GZIP)
    try:
        for start in range(0, len(block), _BASE64_BYTES):
            text = block[start : start + _BASE64_BYTES]
            packed = base64.b64decode(text, validate=True)
            while packed and not unpacker.eof:
                yield unpacker.decompress(packed, _UNPACKED_BYTES)
                packed = unpacker.unconsumed_tail
    except (binascii.Error, zlib.error) as error:
        raise DamageError(f"the record in the report is damaged: {error}") from error
