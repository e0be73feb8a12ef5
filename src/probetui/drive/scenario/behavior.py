"""How simulated containers, probes and runtime calls behave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    ProbeHandler,
    ProbeType,
    TCPSocketAction,
)
from probetui.k8s.runtime import SocketAddress
from probetui.kubelet.effects import Operation, Relist, RunProbe
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.kubelet.prober.prober import MAX_PROBE_RETRIES
from probetui.kubelet.prober.timeout_text import timed_out

NO_TIME = timedelta()


class ProbeAnswer(Struct, frozen=True):
    """The answer to a probe: an attempt, and the time that it takes."""

    attempt: Attempt
    takes: timedelta = NO_TIME


ProbeBehavior = Callable[[RunProbe, timedelta], ProbeAnswer]
"""Answers a probe; the second argument is the age of its container's instance."""


class ResultPhase(Struct, frozen=True):
    """A phase in which probes of one type get the same answer.

    Attributes:
        answer: answers them.
        times: the number of probes; None for any number.
        until: the age of the instance at which it ends; None for any age.
    """

    answer: ProbeBehavior
    times: int | None = 1
    until: timedelta | None = None

    def is_over(self, times: int, age: timedelta) -> bool:
        """Return whether the phase is over after `probes` probes or at an age."""
        return (self.times is not None and times >= self.times) or (
            self.until is not None and age >= self.until
        )


class ResultPhases(Struct, frozen=True):
    """The consecutive phases of the probes of one type.

    The last one goes on for ever; with `repeat` the first one follows it.
    """

    phases: tuple[ResultPhase, ...]
    repeat: bool = False


NO_PHASES: Mapping[ProbeType, ResultPhases] = MappingProxyType({})


class InstanceBehavior(Struct, frozen=True):
    """How one instance of a container behaves.

    Attributes:
        lasts: how long it runs before it exits on its own; None for ever.
        exit_code: its exit code then.
        stops_after: how long it takes to exit after SIGTERM; None if it ignores that
            and is killed at the end of its grace period.
        stop_code: its exit code after SIGTERM.
        oom_killed: whether the runtime says that it was out of memory when it exits on
            its own.
        create_error: why the runtime cannot create it; empty if it can.
        start_error: why the runtime cannot start it; empty if it can.
        listens: where it listens; None where nobody knows, and connections succeed.
        answers: the answers to its probes; other probe types are answered by the
            world's `probing`.
        prints: what it prints before it exits; None if the script does not say.
    """

    lasts: timedelta | None = None
    exit_code: int = 0
    stops_after: timedelta | None = NO_TIME
    stop_code: int = 0
    oom_killed: bool = False
    create_error: str = ""
    start_error: str = ""
    listens: tuple[SocketAddress, ...] | None = None
    answers: Mapping[ProbeType, ResultPhases] = NO_PHASES
    prints: str | None = None


HEALTHY = ProbeAnswer(Attempt(ProbeResult.SUCCESS))


def answer_success(_effect: RunProbe, _age: timedelta) -> ProbeAnswer:
    """Return an immediate success."""
    return HEALTHY


class CallBehavior(Struct, frozen=True):
    """How the runtime answers one call.

    Attributes:
        takes: how long the answer takes, in addition to the time that a stop needs; the
            effect of the call is there at once.
        error: the error of a call that fails; else empty.
    """

    takes: timedelta = NO_TIME
    error: str = ""


IMMEDIATE = CallBehavior()
RuntimeBehavior = Callable[[Operation | Relist], CallBehavior]


def answer_calls_at_once(_call: Operation | Relist) -> CallBehavior:
    """Return an immediate answer to a call."""
    return IMMEDIATE


class ResultName(StrEnum):
    """The result of a probe in a scenario."""

    SUCCESS = "success"
    FAILURE = "failure"
    WARNING = "warning"
    ERRORED = "errored"
    TIMEOUT = "timeout"


_RESULTS = {
    ResultName.SUCCESS: ProbeResult.SUCCESS,
    ResultName.WARNING: ProbeResult.WARNING,
    ResultName.FAILURE: ProbeResult.FAILURE,
}


class ScriptedResult(Struct, frozen=True):
    """A `ProbeBehavior` that answers with one result.

    `output` None stands for the usual output of such a probe. A timeout takes the
    probe's timeoutSeconds, whatever `takes` is.
    """

    result: ResultName
    output: str | None = None
    takes: timedelta = timedelta(milliseconds=5)

    def __call__(self, effect: RunProbe, _age: timedelta) -> ProbeAnswer:
        """Return the answer to a probe."""
        takes = self.takes
        if self.result is ResultName.TIMEOUT:
            answer = answer_too_late(effect)
            if self.output is None or answer.attempt.error is not None:
                return answer
            attempt = replace(answer.attempt, output=self.output)
            return replace(answer, attempt=attempt)
        output = _usual(self.result, effect) if self.output is None else self.output
        if self.result is ResultName.ERRORED:
            attempt = Attempt(ProbeResult.UNKNOWN, error=output, duration=takes)
        else:
            attempt = Attempt(_RESULTS[self.result], output, duration=takes)
        return ProbeAnswer(attempt, takes)


def answer_too_late(effect: RunProbe) -> ProbeAnswer:
    """Return an answer after the time limit; errors are retried as usual."""
    attempt = timed_out(effect.probe, effect.container, effect.pod_ip, effect.rules)
    tries = 1 if attempt.error is None else MAX_PROBE_RETRIES
    return ProbeAnswer(attempt, attempt.duration * tries)


def _usual(result: ResultName, effect: RunProbe) -> str:
    """Return the output of the kubelet's prober for a result."""
    handler = effect.probe.handler
    match result:
        case ResultName.SUCCESS:
            return ""
        case ResultName.WARNING:
            return effect.rules.redirect_warning
        case ResultName.ERRORED:
            return "the probe could not be run"
        case ResultName.FAILURE | ResultName.TIMEOUT:
            return _failure(handler, effect.pod_ip)


def _failure(handler: ProbeHandler | None, pod_ip: str) -> str:
    match handler:
        case HTTPGetAction():
            return "HTTP probe failed with statuscode: 500"
        case TCPSocketAction(port, host):
            return f"dial tcp {host or pod_ip}:{port}: connect: connection refused"
        case GRPCAction():
            return 'service unhealthy (responded with "NOT_SERVING")'
        case ExecAction() | None:
            return ""
