"""Results by name: what a probe would say that came to such a result."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from probetui.drive.scripted_lives import Answer
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    ProbeHandler,
    TCPSocketAction,
)
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.outcome import Attempt, ProbeResult


class ResultName(StrEnum):
    """What a probe may come to."""

    SUCCESS = "success"
    FAILURE = "failure"
    WARNING = "warning"
    ERRORED = "errored"
    TIMEOUT = "timeout"


_RESULTS = {
    ResultName.SUCCESS: ProbeResult.SUCCESS,
    ResultName.WARNING: ProbeResult.WARNING,
    ResultName.FAILURE: ProbeResult.FAILURE,
    ResultName.TIMEOUT: ProbeResult.FAILURE,
}


@dataclass(frozen=True, slots=True)
class ScriptedResult:
    """Answers probes with one result; a `Probing`.

    `output` None stands for what such a probe usually says. A timeout takes as long as
    the probe's limit, whatever `takes` says.
    """

    result: ResultName
    output: str | None = None
    takes: timedelta = timedelta(milliseconds=5)

    def __call__(self, effect: RunProbe, _age: timedelta) -> Answer:
        """Return what the probe meets."""
        takes = self.takes
        if self.result is ResultName.TIMEOUT:
            takes = timedelta(seconds=effect.probe.timeout_seconds)
        output = _usual(self.result, effect) if self.output is None else self.output
        if self.result is ResultName.ERRORED:
            attempt = Attempt(ProbeResult.UNKNOWN, error=output, duration=takes)
        else:
            attempt = Attempt(_RESULTS[self.result], output, duration=takes)
        return Answer(attempt, takes)


def _usual(result: ResultName, effect: RunProbe) -> str:
    """Return what the kubelet's prober says of such a result."""
    handler = effect.probe.handler
    match result:
        case ResultName.SUCCESS:
            return ""
        case ResultName.WARNING:
            return "Probe terminated redirects, Response body: "
        case ResultName.ERRORED:
            return "the probe could not be run"
        case ResultName.FAILURE:
            return _failure(handler, effect.pod_ip)
        case ResultName.TIMEOUT:
            return _timeout(handler, effect)


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


def _timeout(handler: ProbeHandler | None, effect: RunProbe) -> str:
    limit = f"{effect.probe.timeout_seconds}s"
    match handler:
        case ExecAction(command):
            words = " ".join(command)
            return f'command timed out: "{words}" timed out after {limit}'
        case HTTPGetAction(port, path, host, scheme):
            url = f"{scheme.lower()}://{host or effect.pod_ip}:{port}{path}"
            return (
                f'Get "{url}": context deadline exceeded '
                "(Client.Timeout exceeded while awaiting headers)"
            )
        case TCPSocketAction(port, host):
            return f"dial tcp {host or effect.pod_ip}:{port}: i/o timeout"
        case GRPCAction(port):
            return (
                f'timeout: failed to connect service "{effect.pod_ip}:{port}" '
                f"within {limit}: context deadline exceeded"
            )
        case None:
            return ""
