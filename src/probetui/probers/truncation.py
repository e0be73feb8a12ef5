"""Limits of the stored parts of a response: headers, redirects, texts, quotes.

A probe runs every few seconds for days, and each response is shown, recorded and kept
for a while. A server may send 10 MiB of headers, and as much again in each redirect:
all is read, as by Go, and then truncated.

Difference: the headers and redirects that are kept of an answer are 16 KiB, a text has
as much, and an error quotes 1 KiB of what it refuses. What was cut is said. Go's texts
have no limit.
"""

from __future__ import annotations

from functools import lru_cache

from probetui.k8s.probe import HTTPHeader
from probetui.kubelet.outcome import HTTPAnswer, Redirect
from probetui.kubelet.runtime.go_format import go_quote, to_text

MAX_KEPT_BYTES = 16 << 10
_MAX_QUOTED_BYTES = 1 << 10
_MAX_QUOTED_VALUES = 8
_MAX_SHARED_BYTES = 1 << 10
_MAX_REDIRECT_CHARACTERS = 1 << 10
# The overhead of a header in memory and in a record (RFC 9113, 10.5.1).
_HEADER_BYTES = 32

RawHeader = tuple[bytes, bytes]


def quote_received(data: bytes, limit: int = _MAX_QUOTED_BYTES) -> str:
    """Quote up to `limit` bytes that a server sent, for an error."""
    left_out = len(data) - limit
    text = go_quote(to_text(data[:limit]))
    return f"{text} (cut: {left_out} bytes)" if left_out > 0 else text


def quote_all_received(values: list[bytes]) -> str:
    """Quote values as Go prints a list of them, up to eight, for an error."""
    limit = _MAX_QUOTED_BYTES // _MAX_QUOTED_VALUES
    quoted = [quote_received(value, limit) for value in values[:_MAX_QUOTED_VALUES]]
    left_out = len(values) - len(quoted)
    return f"[{' '.join(quoted)}]" + (f" (cut: {left_out} more)" if left_out else "")


def truncate_text(text: str) -> str:
    """Truncate a text to 16 KiB of characters, with a note of how much was cut."""
    left_out = len(text) - MAX_KEPT_BYTES
    if left_out <= 0:
        return text
    return f"{text[:MAX_KEPT_BYTES]} (cut: {left_out} characters)"


def truncate_answer(
    status: int, headers: tuple[RawHeader, ...], redirects: tuple[str, ...]
) -> HTTPAnswer:
    """Truncate a response for storage; its `cut_bytes` counts what was cut.

    The first 1 KiB of each redirect is kept, then the Location, then other headers in
    order.
    """
    total = sum(map(len, redirects))
    total += sum(len(name) + len(value) + _HEADER_BYTES for name, value in headers)
    if total <= _MAX_SHARED_BYTES:
        return _shared_answer(status, headers, redirects)
    if total <= MAX_KEPT_BYTES:
        kept = tuple(
            HTTPHeader(to_text(name), to_text(value)) for name, value in headers
        )
        return HTTPAnswer(status, kept, redirects=redirects)
    return _cut_answer(status, headers, redirects)


def truncate_redirect(status: int, url: str, location: str) -> Redirect:
    """Truncate the texts of a redirect for storage."""
    most = _MAX_REDIRECT_CHARACTERS
    return Redirect(status, url[:most], location[:most])


@lru_cache(maxsize=4096)
def _shared_header(name: bytes, value: bytes) -> HTTPHeader:
    return HTTPHeader(to_text(name), to_text(value))


@lru_cache(maxsize=1024)
def _shared_answer(
    status: int, headers: tuple[RawHeader, ...], redirects: tuple[str, ...]
) -> HTTPAnswer:
    """Return a short response with repeated parts shared as one object.

    Each worker keeps sixty responses, of a kilobyte each if they shared no parts.
    """
    shared = tuple(_shared_header(name, value) for name, value in headers)
    return HTTPAnswer(status, shared, redirects=redirects)


def _cut_answer(
    status: int, headers: tuple[RawHeader, ...], redirects: tuple[str, ...]
) -> HTTPAnswer:
    followed = tuple(location[:_MAX_REDIRECT_CHARACTERS] for location in redirects)
    room = MAX_KEPT_BYTES - sum(map(len, followed))
    cut = sum(map(len, redirects)) - sum(map(len, followed))
    kept: dict[int, HTTPHeader] = {}
    for at in sorted(
        range(len(headers)), key=lambda at: headers[at][0].lower() != b"location"
    ):
        name, value = headers[at]
        cut += len(name) + len(value)
        room -= _HEADER_BYTES
        if room > 0:
            name, value = name[:room], value[: max(room - len(name), 0)]
            kept[at] = HTTPHeader(to_text(name), to_text(value))
            room -= len(name) + len(value)
            cut -= len(name) + len(value)
    in_order = tuple(kept[at] for at in sorted(kept))
    return HTTPAnswer(status, in_order, redirects=followed, cut_bytes=cut)
