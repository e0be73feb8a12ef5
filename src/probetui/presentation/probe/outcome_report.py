"""The report of `probe`: the outcome of one run of a probe."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from msgspec import Struct

from probetui.durations import format_duration
from probetui.k8s.pod import Pod
from probetui.k8s.probe import Probe, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.outcome import Attempt, ProbeOutcome
from probetui.manifest.problem import Problem
from probetui.presentation.probe.state import format_handler
from probetui.presentation.text.view import View

_MILLISECOND = timedelta(milliseconds=1)


class ProbeReport(Struct, frozen=True):
    """The outcome of one run of a probe.

    Attributes:
        pod: the pod of the container.
        container_name: the name of the container.
        probe_type: the type of the probe.
        probe: the settings of the probe.
        container_id: the instance that was probed.
        pod_ip: the address of the pod, empty if it has none.
        outcome: the outcome.
        hint: why the probe failed, empty if no more is known than it said.
        finding: the finding that follows from the outcome, if any.
        view: how text is shown.
    """

    pod: Pod
    container_name: str
    probe_type: ProbeType
    probe: Probe
    container_id: ContainerID
    pod_ip: str
    outcome: ProbeOutcome
    hint: str
    finding: Problem | None
    view: View

    def value(self) -> dict[str, object]:
        """Return the attempts, the result, the hint and the finding."""
        mask = self.view.mask
        return {
            "namespace": self.pod.namespace,
            "pod": self.pod.name,
            "container": self.container_name,
            "containerID": self.container_id,
            "probe": self.probe_type.lower(),
            "result": _result_text(self.outcome.last),
            "hint": mask.text(self.hint) or None,
            "finding": None
            if self.finding is None
            else {
                "rule": self.finding.rule,
                "severity": self.finding.severity,
                "place": str(self.finding.position),
                "path": self.finding.path,
                "message": mask.text(self.finding.message),
            },
            "attempts": [
                {
                    "result": _result_text(attempt),
                    "ms": attempt.duration / _MILLISECOND,
                    "detail": mask.text(attempt.detail),
                    "output": mask.text(attempt.output),
                    "error": None
                    if attempt.error is None
                    else mask.text(attempt.error),
                }
                for attempt in self.outcome.attempts
            ],
        }

    def parts(self, _form: str) -> Iterator[str]:
        """Yield where the probe ran, its attempts, the hint and the finding."""
        safe, attempts = self.view.safe, self.outcome.attempts
        where = f" at {self.pod_ip}" if self.pod_ip else ""
        label = probe_label(self.pod, self.container_name, self.probe_type)
        handler = format_handler(self.probe, self.view)
        yield safe(f"{label}: {handler} in {self.container_id}{where}")
        for number, attempt in enumerate(attempts, start=1):
            prefix = f"attempt {number}: " if len(attempts) > 1 else ""
            detail = f" ({safe(attempt.detail)})" if attempt.detail else ""
            duration = format_duration(attempt.duration)
            yield f"{prefix}{_result_text(attempt)} in {duration}{detail}"
            text = attempt.output if attempt.error is None else attempt.error
            for line in text.splitlines():
                yield f"  {safe(line)}"
        if self.hint:
            yield f"hint: {safe(self.hint)}"
        if (finding := self.finding) is not None:
            yield safe(f"finding: {finding.severity}: {finding} ({finding.rule})")


def probe_label(pod: Pod, container_name: str, probe_type: ProbeType) -> str:
    """Return the name of a probe: `pod/container liveness`."""
    return f"{pod.name}/{container_name} {probe_type.lower()}"


def _result_text(attempt: Attempt) -> str:
    return "errored" if attempt.error is not None else attempt.result.value
