"""What probing came to: one attempt, one probe, and what is believed of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum

from probetui.k8s.listeners import Endpoint
from probetui.k8s.probe import HTTPHeader


class ProbeResult(StrEnum):
    """What one run of a handler said.

    Source: pkg/probe/probe.go, v1.32.10, Result.
    """

    SUCCESS = "success"
    WARNING = "warning"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class Result(IntEnum):
    """What is believed of a container once the thresholds are passed.

    Source: prober/results/results_manager.go, v1.32.10, Result.
    """

    UNKNOWN = -1
    SUCCESS = 0
    FAILURE = 1

    def __str__(self) -> str:
        """Return the kubelet's word for it."""
        return self.name.capitalize()


@dataclass(frozen=True, slots=True)
class HTTPAnswer:
    """What a server answered, of which output and event tell only a part.

    `body` is empty where the output is the body. `redirects` are the locations that
    were followed before, in order. `cut_bytes` is how much of headers and redirects is
    not kept, because it was more than 16 KiB.
    """

    status: int
    headers: tuple[HTTPHeader, ...] = ()
    body: str = ""
    redirects: tuple[str, ...] = ()
    cut_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a handler.

    `error` says why the handler could not run; a probe that fails has none.
    `output` is at most 10 KiB and may hold lone surrogates for bytes that are not
    UTF-8. `detail` is extra for the screen (an exit code, a status line), and so are
    `http`, which is set if a server answered, `refused_at`, where a connection was
    refused (of gRPC also one that broke off before it was one), and `is_missing`: the
    executable of the command is not there.
    """

    result: ProbeResult
    output: str = ""
    error: str | None = None
    duration: timedelta = timedelta()
    detail: str = ""
    http: HTTPAnswer | None = None
    refused_at: Endpoint | None = None
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """One probe: one to three attempts, of which the last one counts.

    `injected` marks an outcome that a person chose instead of a probe.
    """

    attempts: tuple[Attempt, ...]
    started_at: datetime
    duration: timedelta = timedelta()
    injected: bool = False

    @property
    def last(self) -> Attempt:
        """The attempt that counts."""
        return self.attempts[-1]
