"""Bounded reading of the responses of an API server or a kubelet.

A small response may decompress to any size, and a byte of JSON may become 75 in memory.
So a body is read raw, one layer of gzip is decompressed in pieces, and a list is split
into its objects before anything is decoded; each object has a limit of bytes and of
values. The event loop runs between two pieces and between two objects.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import zlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import httpx2
import msgspec
from msgspec import Struct

from probetui.cluster.errors import ServerUnreachableError
from probetui.safe_text import safe_line

_MEBIBYTE = 2**20

LARGEST_OBJECT = 8 * _MEBIBYTE
"""etcd keeps objects of 1.5 MiB; in JSON a byte may be an escape of six."""

MOST_VALUES = 500_000
"""Of one object, counted by the marks before them, also where a string has these.

The largest ConfigMap has 1 MiB, about as many if it is a table of numbers.
"""

LARGEST_LIST = 64 * _MEBIBYTE
MOST_OBJECTS = 100_000
"""Of a list with all its pages. A cluster has at most 150,000 pods."""

MOST_PAGES = 1_000
_LARGEST_ENVELOPE = _MEBIBYTE
_PIECE = 2**16
_GZIP = 16 + zlib.MAX_WBITS
_MARKS = (b",", b":", b"{", b"[")

_NO_BRACKETS = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_ITEMS_KEY = re.compile(rb'(?<!\\)"items"\s*+:\s*+\Z')
_LONGEST_KEY = 64
_STEPS_PER_TURN = 1_000
_DEPTH_OF_ITEMS = 2
_QUOTE, _OPENING, _CLOSING = ord('"'), b"{[", b"}]"


class TooLargeError(ServerUnreachableError):
    """A response is larger than any valid one."""


async def read_pieces(response: httpx2.Response) -> AsyncIterator[bytes]:
    """Yield the decompressed body of a response in pieces of at most 64 KiB.

    Raises:
        ServerUnreachableError: it has another encoding than requested, or is truncated.
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in {"", "identity", "gzip"}:
        text = safe_line(encoding, limit=50)
        raise ServerUnreachableError(
            f"an answer with the content encoding {text} is not read: only gzip is "
            "asked for"
        )
    unpacker = zlib.decompressobj(_GZIP) if encoding == "gzip" else None
    async for raw in response.aiter_raw():
        if unpacker is None:
            yield raw
            await asyncio.sleep(0)
            continue
        packed, is_more = raw, True
        while is_more and not unpacker.eof:
            try:
                piece = unpacker.decompress(packed, _PIECE)
            except zlib.error as error:
                raise ServerUnreachableError(f"an answer's gzip: {error}") from error
            packed = unpacker.unconsumed_tail
            is_more = bool(packed) or len(piece) == _PIECE
            if piece:
                yield piece
            await asyncio.sleep(0)
    if unpacker is not None and not unpacker.eof:
        raise ServerUnreachableError("an answer's gzip ends early")


async def read_body(response: httpx2.Response, limit: int) -> bytearray:
    """Return the body of a response; raises `TooLargeError` above the limit."""
    body = bytearray()
    async for piece in read_pieces(response):
        if len(body) + len(piece) > limit:
            raise TooLargeError(
                f"an answer of more than {_mebibytes(limit)} is not read"
            )
        body += piece
    return body


async def read_lines(
    response: httpx2.Response, limit: int
) -> AsyncGenerator[bytes | None]:
    """Yield the lines of a response, None for a line above the limit.

    Data after the last line break is dropped: a lost connection leaves half a line,
    which is no object.
    """
    line, is_too_long = bytearray(), False
    async for piece in read_pieces(response):
        *whole, rest = piece.split(b"\n")
        for end in whole:
            is_too_long = is_too_long or len(line) + len(end) > limit
            yield None if is_too_long else bytes(line + end)
            line, is_too_long = bytearray(), False
            await asyncio.sleep(0)
        is_too_long = is_too_long or len(line) + len(rest) > limit
        if is_too_long:
            line.clear()
        else:
            line += rest


def decode(data: bytes | bytearray | memoryview) -> Any:
    """Decode JSON; return None if it is invalid.

    Raises:
        TooLargeError: it is too large for an object of the API.
    """
    if len(data) > LARGEST_OBJECT:
        raise too_large_object()
    plain = bytes(data)
    if count_marks(plain) > MOST_VALUES:
        raise TooLargeError(f"an object of more than {MOST_VALUES} values is not read")
    try:
        return msgspec.json.decode(plain)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None


def too_large_object() -> TooLargeError:
    """Return the error for an object with too many bytes."""
    return TooLargeError(
        f"an object of more than {_mebibytes(LARGEST_OBJECT)} is not read"
    )


def count_marks(data: bytes) -> int:
    """Return a lower bound of the number of values in JSON, less one."""
    return sum(map(data.count, _MARKS))


class _Envelope(Struct):
    """The fields of a page of a list other than its objects."""

    metadata: dict[str, Any] | None = None


class ObjectList:
    """The objects of a list, kept as JSON until they are read.

    Args:
        leave_out: called with the reason when an object is too large to be decoded.

    Attributes:
        resource_version: where a watch continues.
    """

    def __init__(self, leave_out: Callable[[TooLargeError], None]) -> None:
        self.resource_version = ""
        self._leave_out = leave_out
        self._items: deque[memoryview] = deque()
        self._size = self._pages = 0

    async def add_page(self, page: bytearray) -> str:
        """Add the objects of a page; return the continue token of the next one.

        Raises:
            TooLargeError: there are too many objects.
            ServerUnreachableError: the body is no page of a list.
        """
        self._size += len(page)
        self._pages += 1
        if self._size > LARGEST_LIST:
            raise TooLargeError(
                f"a list of more than {_mebibytes(LARGEST_LIST)} is not read"
            )
        if self._pages > MOST_PAGES:
            raise TooLargeError(f"a list of more than {MOST_PAGES} pages is not read")
        scan = _PageScan(page, MOST_OBJECTS - len(self._items))
        await scan.run()
        if scan.begin + len(page) - scan.end > _LARGEST_ENVELOPE:
            raise ServerUnreachableError("a page of a list has more than its objects")
        envelope = bytes(page[: scan.begin] + page[scan.end :])
        if not isinstance(decode(envelope), dict):
            raise ServerUnreachableError("the response is not a JSON object")
        try:
            metadata = msgspec.json.decode(envelope, type=_Envelope).metadata or {}
        except msgspec.ValidationError:
            metadata = {}
        view = memoryview(page)
        self._items += (view[first:last] for first, last in scan.items)
        version, following = metadata.get("resourceVersion"), metadata.get("continue")
        self.resource_version = version if isinstance(version, str) else ""
        return following if isinstance(following, str) else ""

    async def objects(self, *, keeps: bool = False) -> AsyncIterator[dict[str, Any]]:
        """Yield the objects, once unless it `keeps` them; invalid ones are skipped."""
        items = self._items.copy() if keeps else self._items
        while items:
            try:
                decoded = decode(items.popleft())
            except TooLargeError as error:
                self._leave_out(error)
            else:
                if isinstance(decoded, dict):
                    yield decoded
            await asyncio.sleep(0)


class _PageScan:
    """Finds the undecoded objects of a page by matching brackets.

    The text between them is left to the decoder.

    Args:
        page: a JSON object with the objects in its list `items`.
        most: the limit of their number.

    Attributes:
        begin: where the list begins, after its bracket; the page's end without one.
        end: where it ends.
        items: where each object begins and ends.
    """

    def __init__(self, page: bytearray, most: int) -> None:
        self.begin = self.end = len(page)
        self.items: list[tuple[int, int]] = []
        self._page = page
        self._most = most
        self._position = self._depth = self._first = 0

    async def run(self) -> None:
        """Scan the page; raises `TooLargeError` where the objects are too many."""
        for steps in itertools.count(1):
            if steps % _STEPS_PER_TURN == 0:
                await asyncio.sleep(0)
            byte = self._next()
            if byte is None:
                return
            if byte in _OPENING:
                self._open(byte)
            elif byte in _CLOSING:
                self._close()

    def _next(self) -> int | None:
        """Return the next bracket, another byte after a step, None at the end."""
        page, length = self._page, len(self._page)
        window = min(self._position + _PIECE, length)
        match = _NO_BRACKETS.match(page, self._position, window)
        if match is not None:
            self._position = match.end()
        if self._position == length:
            return None
        byte = page[self._position]
        if byte == _QUOTE:  # a string that is longer than the window
            string = _STRING.match(page, self._position)
            self._position = length if string is None else string.end()
        elif self._position < window:
            self._position += 1
            return byte
        return _QUOTE

    @property
    def _is_inside(self) -> bool:
        return self.begin < self.end == len(self._page)

    def _open(self, bracket: int) -> None:
        self._depth += 1
        if self._is_inside:
            if self._depth == _DEPTH_OF_ITEMS + 1:
                self._first = self._position - 1
        elif self._depth == _DEPTH_OF_ITEMS and bracket == _OPENING[1]:
            at = self._position - 1
            before = bytes(self._page[max(0, at - _LONGEST_KEY) : at])
            if self.end == len(self._page) and _ITEMS_KEY.search(before):
                self.begin = self._position

    def _close(self) -> None:
        self._depth -= 1
        if not self._is_inside:
            return
        if self._depth == _DEPTH_OF_ITEMS:
            self.items.append((self._first, self._position))
            if len(self.items) > self._most:
                raise TooLargeError(
                    f"a list of more than {MOST_OBJECTS} objects is not read"
                )
        elif self._depth < _DEPTH_OF_ITEMS:
            self.end = self._position - 1


def _mebibytes(size: int) -> str:
    return f"{size // _MEBIBYTE} MiB"
