"""Probe outcomes: one attempt, one probe, and the result after thresholds."""

from __future__ import annotations

from datetime import timedelta
from enum import IntEnum, StrEnum

from probetui.k8s.probe import HTTPHeader, ProbeType
from probetui.k8s.runtime import SocketAddress
from probetui.values import Instant, TimeSpan, Value


class ProbeResult(StrEnum):
    """The result of one run of a handler.

    Source: pkg/probe/probe.go, v1.32.10, Result.
    """

    SUCCESS = "success"
    WARNING = "warning"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class Result(IntEnum):
    """The result of a probe that passed its threshold.

    Source: prober/results/results_manager.go, v1.32.10, Result.
    """

    UNKNOWN = -1
    SUCCESS = 0
    FAILURE = 1

    def __str__(self) -> str:
        """Return the kubelet's word for it."""
        return self.name.capitalize()


INITIAL_RESULT = {
    ProbeType.LIVENESS: Result.SUCCESS,
    ProbeType.READINESS: Result.FAILURE,
    ProbeType.STARTUP: Result.UNKNOWN,
}
"""What is stored of a container before its first probe."""


class HTTPAnswer(Value, frozen=True):
    """A server's answer, which output and event show only in part.

    `body` is empty where the output is the body. `redirects` are the locations that
    were followed before, in order. `cut_bytes` counts the bytes of headers and
    redirects that were dropped beyond 16 KiB.
    """

    status: int
    headers: tuple[HTTPHeader, ...] = ()
    body: str = ""
    redirects: tuple[str, ...] = ()
    cut_bytes: int = 0


class Redirect(Value, frozen=True):
    """A redirect on the same host that was followed; each text has 1 KiB at most."""

    status: int
    url: str
    location: str


class PeerBehavior(StrEnum):
    """What a server did that gave no answer; the names never change."""

    CLOSES = "closes"
    """It accepted the connection and closed it."""
    TLS = "tls"
    """It speaks TLS, which the probe does not."""
    PLAIN = "plain"
    """It does not speak TLS, which the probe does."""
    OTHER = "other"
    """It answers, and not in the probe's protocol."""


NOT_TIMED = "duration not known"
"""The detail of an attempt whose result alone was observed, from outside."""


FORWARDED = "by port-forward to 127.0.0.1 in the pod"
"""The end of the detail of an attempt that did not connect to the pod's IP."""


class Attempt(Value, frozen=True):
    """One run of a handler.

    `error` says why the handler could not run; a probe that fails has none.
    `output` is at most 10 KiB and may hold lone surrogates for bytes that are not
    UTF-8. `detail` is extra for the screen (an exit code, a status line), and so are
    `http`, which is set if a server answered, `refused_at`, where a connection was
    refused (of gRPC also one that broke off before it was one), and `is_missing`: the
    executable of the command is not there. Without an answer, `followed` are the
    redirects before it, and `peer` is what the server did, where the error does not
    say so.
    """

    result: ProbeResult
    output: str = ""
    error: str | None = None
    duration: TimeSpan = timedelta()
    detail: str = ""
    http: HTTPAnswer | None = None
    refused_at: SocketAddress | None = None
    is_missing: bool = False
    followed: tuple[Redirect, ...] = ()
    peer: PeerBehavior | None = None

    @property
    def is_timed(self) -> bool:
        """Whether the duration is known."""
        return self.detail != NOT_TIMED

    @property
    def is_forwarded(self) -> bool:
        """Whether it connected through a port-forward instead of to the pod's IP."""
        return self.detail.endswith(FORWARDED)


class ProbeOutcome(Value, frozen=True):
    """One probe: up to three attempts, of which the last one counts.

    `injected` marks an outcome that the user injected instead of a probe.
    """

    attempts: tuple[Attempt, ...]
    started_at: Instant
    duration: TimeSpan = timedelta()
    injected: bool = False

    @property
    def last(self) -> Attempt:
        """The attempt that counts."""
        return self.attempts[-1]
