"""A container's log as `pods/log` and the kubelet's `/containerLogs` serve it.

Source: pkg/kubelet/kuberuntime/logs/logs.go, v1.36.2; k8s.io/api core/v1,
PodLogOptions.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from probetui.cluster.serving.http_server import HttpRequest
from probetui.k8s.runtime import LogLine

ALL_LINES = 2**31 - 1
_NO_LOG_IS_OLDER = datetime(1970, 1, 1, tzinfo=UTC)
_TRUE = frozenset({"1", "true"})


class LogOptions(Struct, frozen=True):
    """The options of a log request; None where the request has none."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since: datetime | None = None
    limit_bytes: int | None = None


def read_log_options(request: HttpRequest, now: datetime) -> LogOptions:
    """Parse the parameters of a log request.

    Raises:
        ValueError: a parameter is invalid; the message says which.
    """

    def flag(name: str) -> bool:
        return request.parameter(name) in _TRUE

    since = None
    if (seconds := request.number("sinceSeconds")) is not None:
        longest = (now - _NO_LOG_IS_OLDER).total_seconds()
        since = now - timedelta(seconds=min(seconds, longest))
    elif text := request.parameter("sinceTime"):
        since = datetime.fromisoformat(text)
        since = since if since.tzinfo else since.replace(tzinfo=UTC)
    return LogOptions(
        follow=flag("follow"),
        previous=flag("previous"),
        timestamps=flag("timestamps"),
        tail_lines=request.number("tailLines"),
        since=since,
        limit_bytes=request.number("limitBytes"),
    )


async def log_chunks(
    lines: AsyncIterator[LogLine], options: LogOptions
) -> AsyncGenerator[bytes, None]:
    """Yield a log's lines as bytes, up to its end or the limit of bytes.

    Args:
        lines: from `LogSource.follow_logs` for `tail_lines` and `follow`.
        options: the other options.
    """
    remaining = options.limit_bytes
    generator = lines if isinstance(lines, AsyncGenerator) else _all_of(lines)
    async with aclosing(generator):
        async for line in generator:
            if options.since and line.at is not None and line.at < options.since:
                continue
            text = f"{line.text}\n"
            if options.timestamps and line.at is not None:
                text = f"{format_log_time(line.at)} {text}"
            data = text.encode("utf-8", "surrogateescape")
            if remaining is not None:
                data = data[:remaining]
                remaining -= len(data)
            if data:
                yield data
            if remaining == 0:
                return


def format_log_time(at: datetime) -> str:
    """Format a time for logs: RFC 3339 with nine decimals."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}000Z"


async def _all_of(lines: AsyncIterator[LogLine]) -> AsyncGenerator[LogLine, None]:
    async for line in lines:
        yield line
