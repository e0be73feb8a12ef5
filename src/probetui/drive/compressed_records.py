"""Compressed recordings: gzip that can be read while it is written, and after a kill.

A recording is written as gzip members of a megabyte of lines each. Within a member the
stream is flushed with Z_SYNC_FLUSH once a second, and at once for whatever is not
routine, so that all up to there can be unpacked although the member has no end. What
cannot be read costs its own member only: the next one begins anew.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from probetui.drive.record_writer import RecordWriter
from probetui.drive.recording import Record
from probetui.errors import RecordError
from probetui.untrusted_files import read_regular

SUFFIX = ".gz"
LEVEL = 3
MEMBER_BYTES = 1 << 20
FLUSH_SECONDS = 1.0
"""How long routine lines may wait for their flush."""

PENDING_BYTES = 1 << 18
"""As many of them do not wait any longer."""

MOST_UNPACKED_BYTES = 2 << 30
"""What a recording may be when unpacked; it is held in memory."""

_ROUTINE = frozenset({"tick", "input"})
_GZIP = 16 + zlib.MAX_WBITS
_MAGIC = b"\x1f\x8b\x08"
_PACKED_BYTES, _UNPACKED_BYTES = 1 << 14, 1 << 20
"""How much is unpacked at once, and into how much."""

_MOST_DAMAGES = 1_000
"""A file with more of them is read no further."""


class CompressedRecordWriter(RecordWriter):
    """Appends records to a gzip file, and stops for good when that fails.

    What a full disk left of the last flush is cut off again.
    """

    def __init__(self, descriptor: int, name: str, *, owned: bool) -> None:
        super().__init__(descriptor, name, owned=owned)
        self._begin_member()
        self._packed: list[bytes] = []
        self._pending_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def write(self, records: Iterable[Record]) -> None:
        """Append records; routine ones are in the file within a second."""
        written = list(records)
        super().write(written)
        if not all(record.get("type") in _ROUTINE for record in written):
            self.flush()

    def append(self, data: bytes) -> None:
        """Append whole lines; they are in the file after the next flush."""
        if self.problem:
            return
        self._packed.append(self._compressor.compress(data))
        self._member_bytes += len(data)
        self._pending_bytes += len(data)
        if self._pending_bytes > PENDING_BYTES:
            self.flush()
        else:
            self._flush_later()

    def flush(self) -> None:
        """Write everything that was appended, in a form that can be unpacked."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._pending_bytes:
            return
        is_full = self._member_bytes > MEMBER_BYTES
        self._packed.append(
            self._compressor.flush(zlib.Z_FINISH if is_full else zlib.Z_SYNC_FLUSH)
        )
        self._write_packed()
        if is_full:
            self._begin_member()

    def continue_in(self, descriptor: int, name: str) -> None:
        """Let go of the file, and go on in another one."""
        self.close()
        self._descriptor = descriptor
        self.name = name
        self._begin_member()

    def close(self) -> None:
        """End the member and let go of the file."""
        self.flush()
        if self._member_bytes:
            self._packed.append(self._compressor.flush(zlib.Z_FINISH))
            self._write_packed()
        super().close()

    def _begin_member(self) -> None:
        self._compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, _GZIP)
        self._member_bytes = 0

    def _write_packed(self) -> None:
        data = b"".join(self._packed)
        self._packed.clear()
        self._pending_bytes = 0
        super().append(data)

    def _flush_later(self) -> None:
        if self._timer is not None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # nothing comes later where there is no loop
            self.flush()
        else:
            self._timer = loop.call_later(FLUSH_SECONDS, self.flush)

    def _cut_off(self, written: bytes) -> None:
        """Take back what was still written of the last flush."""
        self._take_back(len(written))


def read_record_file(path: Path, most_bytes: int = MOST_UNPACKED_BYTES) -> bytes:
    """Return the lines of a recording, unpacked if it is compressed.

    Of a file that was cut off or damaged, what can be unpacked: where something is
    missing there is a line that is not whole.

    Raises:
        RecordError: it cannot be read, or is larger than `most_bytes` when unpacked.
    """
    try:
        data = read_regular(path)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from error
    if not data or data[: len(_MAGIC)] != _MAGIC[: len(data)]:
        return data
    lines = bytearray()
    for part in _unpacked(data):
        lines += part
        if len(lines) > most_bytes:
            raise RecordError(
                f"{path}: is larger than {most_bytes >> 20} MiB when unpacked"
            )
    return bytes(lines)


def _unpacked(data: bytes) -> Iterator[bytes]:
    """Yield what can be unpacked, in parts of a bounded size."""
    start = damages = 0
    while start >= 0 and damages < _MOST_DAMAGES:
        unpacker = zlib.decompressobj(_GZIP)
        here = start
        try:
            while not unpacker.eof and here < len(data):
                packed = data[here : here + _PACKED_BYTES]
                here += len(packed)
                while packed and not unpacker.eof:
                    yield unpacker.decompress(packed, _UNPACKED_BYTES)
                    packed = unpacker.unconsumed_tail
        except zlib.error:
            damages += 1
            # What was unpacked may end within a line: what follows is another one.
            yield b"\n"
            start = data.find(_MAGIC, start + 1)
        else:
            start = data.find(_MAGIC, here - len(unpacker.unused_data))
