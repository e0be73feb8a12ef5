"""What a probe would have come to: outcomes that people chose, as if they were real."""

from __future__ import annotations

from datetime import datetime, timedelta

from probetui.k8s.pod import Container
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Probe,
    ProbeKey,
    TCPSocketAction,
)
from probetui.kubelet.answers import Answers
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.go_text import go_duration, go_quote
from probetui.kubelet.inputs import Injected, ProbeFinished
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult

ATTEMPTS = 3
"""How often the kubelet tries a probe that cannot be run; prober.go, maxProbeRetries.
"""

DETAIL = "injected"

_OUTPUTS = {
    Injected.SUCCESS: (ProbeResult.SUCCESS, "injected success"),
    Injected.FAILURE: (ProbeResult.FAILURE, "injected failure"),
    Injected.WARNING: (ProbeResult.WARNING, "injected warning"),
}


def injected_duration(injected: Injected, probe: Probe) -> timedelta:
    """Return how long the probe takes: a time-out its limit, all else no time."""
    if injected is Injected.TIMED_OUT:
        return timedelta(seconds=probe.timeout_seconds)
    return timedelta()


def injected_outcome(
    injected: Injected,
    probe: Probe,
    container: Container,
    pod_ip: str,
    started_at: datetime,
) -> ProbeOutcome:
    """Return the outcome in place of that of a real run; its output says so."""
    duration = injected_duration(injected, probe)
    match injected:
        case Injected.ERRORED:
            error = "injected error: the probe could not be run"
            attempt = Attempt(ProbeResult.UNKNOWN, error=error, detail=DETAIL)
            attempts = (attempt,) * ATTEMPTS
        case Injected.TIMED_OUT:
            words = f"injected: {time_out_words(probe, container, pod_ip)}"
            attempts = (
                Attempt(ProbeResult.FAILURE, words, duration=duration, detail=DETAIL),
            )
        case _:
            result, words = _OUTPUTS[injected]
            attempts = (Attempt(result, words, detail=DETAIL),)
    return ProbeOutcome(attempts, started_at, duration, injected=True)


def time_out_words(probe: Probe, container: Container, pod_ip: str) -> str:
    """Return what the handler prints when its time is over.

    Source: probe/exec/exec.go, probe/http/http.go, probe/tcp/tcp.go,
    probe/grpc/grpc.go, v1.32.10; the texts are those of Go and of the runtime.
    """
    limit = go_duration(timedelta(seconds=probe.timeout_seconds))
    match probe.handler:
        case ExecAction(command):
            words = go_quote(" ".join(command))
            return f"command timed out: {words} timed out after {limit}"
        case HTTPGetAction(port, path, host, scheme):
            where = _join(host or pod_ip, _number(port, container))
            url = f"{scheme.lower()}://{where}/{path.removeprefix('/')}"
            return (
                f"Get {go_quote(url)}: context deadline exceeded "
                "(Client.Timeout exceeded while awaiting headers)"
            )
        case TCPSocketAction(port, host):
            where = _join(host or pod_ip, _number(port, container))
            return f"dial tcp {where}: i/o timeout"
        case GRPCAction():
            return f"timeout: health rpc did not complete within {limit}"
        case None:
            return "missing probe handler"


def _number(port: int | str, container: Container) -> int | str:
    """Return the number of a port; a name that is not known stays as it is."""
    if isinstance(port, int):
        return port
    numbers = [each.container_port for each in container.ports if each.name == port]
    return numbers[0] if numbers else port


def _join(host: str, port: int | str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Injections:
    """Results that are still to come; owned by the engine.

    Args:
        answers: where what probes come to instead of a run is kept until their end.
    """

    __slots__ = ("_answers", "_left")

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._left: dict[ProbeKey, tuple[Injected, ...]] = {}

    def set(self, key: ProbeKey, results: tuple[Injected, ...]) -> None:
        """Let the next runs of a probe come to these results."""
        if results:
            self._left[key] = results
        else:
            self._left.pop(key, None)

    def left(self, key: ProbeKey) -> tuple[Injected, ...]:
        """Return what is still to come, next first."""
        return self._left.get(key, ())

    def begin(self, effect: RunProbe, now: datetime) -> bool:
        """Use up a result in place of a run; False if there is none for this probe."""
        left = self._left.get(effect.key)
        if left is None:
            return False
        self.set(effect.key, left[1:])
        outcome = injected_outcome(
            left[0], effect.probe, effect.container, effect.pod_ip, now
        )
        finished = ProbeFinished(effect.probe_id, outcome)
        self._answers.set(finished, now + outcome.duration)
        return True

    def forget_pod(self, pod_uid: str) -> None:
        """Drop what is still to come of a pod that is gone."""
        for key in [each for each in self._left if each.pod_uid == pod_uid]:
            del self._left[key]
