"""Explain the probes of a pod from its manifest alone: settings, timing, effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import Struct

from probetui.analysis.timing import (
    LATEST_RESYNC,
    ProbeTiming,
    TimeRange,
    kills_at_resync,
    timing_of,
)
from probetui.durations import format_age
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ExecAction, Probe, ProbeType
from probetui.kubelet_rules import KubeletRules
from probetui.presentation.container.back_off import late_sync
from probetui.presentation.probe.endpoints import endpoints_text
from probetui.presentation.probe.state import format_handler, format_timing
from probetui.presentation.report import Part, separated
from probetui.presentation.text.spans import EMPTY, Line, line, strong
from probetui.presentation.text.view import View

_LABEL = 10
_INDENT = "    "


class ExplainReport(Struct, frozen=True):
    """The effective settings of the probes of pods, and the timing that follows."""

    pods: Sequence[Pod]
    view: View

    def value(self) -> list[dict[str, object]]:
        """Return each pod with the settings and timings of its probes."""
        return [explain_pod_json(pod, self.view) for pod in self.pods]

    def parts(self, _form: str) -> Iterator[Part]:
        """Yield the lines of each pod, separated by empty lines."""
        return separated(explain_pod(pod, self.view) for pod in self.pods)


def explain_pod(pod: Pod, view: View) -> Iterator[str]:
    """Yield the lines of a pod."""
    policy = f"restartPolicy {pod.restart_policy}"
    yield f"{view.safe(pod.name)}  {policy}, grace period {_grace_of(pod)}"
    for container in pod.all_containers():
        kind = _kind(pod, container)
        yield f"  {view.safe(container.name)}{kind}"
        probes = list(_probes(container))
        if not probes:
            yield f"{_INDENT}no probe: {_unprobed(pod, container)}"
        for probe_type, probe in probes:
            yield f"{_INDENT}{probe_type.lower()}  {format_handler(probe, view)}"
            for label, text in setting_rows(pod, container, probe_type, view):
                yield f"{_INDENT}  {label:<{_LABEL}} {text}"


def _unprobed(pod: Pod, container: Container) -> str:
    if container in pod.init_containers and not container.is_sidecar:
        return "it must exit with 0 before the next container starts"
    return "ready as soon as it runs, never killed"


def explain_pod_json(pod: Pod, view: View) -> dict[str, object]:
    """Return the explanation of a pod for JSON; durations are in seconds."""
    return {
        "namespace": pod.namespace,
        "pod": pod.name,
        "restartPolicy": str(pod.restart_policy),
        "containers": [
            {
                "name": container.name,
                "probes": [
                    _probe_json(pod, container, probe_type, probe, view)
                    for probe_type, probe in _probes(container)
                ],
            }
            for container in pod.all_containers()
        ],
    }


def _probe_json(
    pod: Pod, container: Container, probe_type: ProbeType, probe: Probe, view: View
) -> dict[str, object]:
    timing = timing_of(pod, container, probe_type, view.rules)
    return {
        "type": probe_type.lower(),
        "handler": format_handler(probe, view),
        "initialDelaySeconds": probe.initial_delay_seconds,
        "periodSeconds": probe.period_seconds,
        "timeoutSeconds": probe.timeout_seconds,
        "successThreshold": probe.success_threshold,
        "failureThreshold": probe.failure_threshold,
        "gracePeriodSeconds": timing.grace.seconds if timing.grace else None,
        "firstProbe": _range_json(timing.first),
        "failureNoticed": _range_json(timing.noticed),
        "recoveryNoticed": _range_json(timing.recovered),
        "restarted": _range_json(timing.restarted),
        "startupBudget": _range_json(timing.budget),
        "probesPerMinute": float(timing.cost),
    }


def _range_json(times: TimeRange | None) -> dict[str, float] | None:
    if times is None:
        return None
    return {"least": times.least.total_seconds(), "most": times.most.total_seconds()}


def _probes(container: Container) -> Iterator[tuple[ProbeType, Probe]]:
    """Yield a container's probes: startup, liveness, readiness."""
    for probe_type in (ProbeType.STARTUP, ProbeType.LIVENESS, ProbeType.READINESS):
        if (probe := container.probe(probe_type)) is not None:
            yield probe_type, probe


def setting_rows(
    pod: Pod, container: Container, probe_type: ProbeType, view: View
) -> Iterator[tuple[str, str]]:
    """Yield the settings of a probe, and what it does how soon, with their labels."""
    timing = timing_of(pod, container, probe_type, view.rules)
    probe, rules = container.probe(probe_type), view.rules
    assert probe is not None  # noqa: S101  # the caller's condition
    yield "settings", format_timing(probe)
    yield "first", f"{_range(timing.first)} after {_start(container, probe_type)}"
    if timing.budget is not None:
        least, most = map(format_age, timing.budget)
        budget = (
            f"an app that is up within {least} is never killed, one that is not within "
            f"{most} always"
        )
        yield "budget", budget
        yield "succeeds", f"{_range(timing.recovered)} after the app is up"
    else:
        times = _apart(probe, probe.failure_threshold, "failure")
        yield "noticed", f"{_range(timing.noticed)} after the app fails: {times}"
    if isinstance(probe.handler, ExecAction) and not rules.exec_timeout_is_failure:
        yield "time-out", "an error, which counts for nothing: a hang never fails"
    if probe_type is ProbeType.READINESS:
        yield from _readiness_rows(pod, probe, timing, view)
    else:
        yield from _kill_rows(probe_type, timing, rules)
    yield "cost", f"{_per_minute(timing.cost)} a minute"


def _readiness_rows(
    pod: Pod, probe: Probe, timing: ProbeTiming, view: View
) -> Iterator[tuple[str, str]]:
    is_triggered = view.rules.triggers_readiness
    most = "up to " if is_triggered else ""
    times = _apart(probe, probe.success_threshold, "success", most)
    lost = endpoints_text(pod, view.services, is_ready=False)
    yield "then", "not ready; never killed"
    yield "endpoints", f"{lost}; back in once the pod is ready again"
    yield "ready", f"{_range(timing.recovered)} after the app recovers: {times}"
    if is_triggered:
        yield "also", "probed at each sync of its pod while it is not ready"


def _kill_rows(
    probe_type: ProbeType, timing: ProbeTiming, rules: KubeletRules
) -> Iterator[tuple[str, str]]:
    assert timing.grace is not None  # noqa: S101  # all but readiness kill
    grace = f"{timing.grace.seconds}s of grace ({timing.grace.source})"
    late = ""
    if kills_at_resync(probe_type, rules):
        late = f" at the pod's next resync, up to {format_age(LATEST_RESYNC)} later"
    yield "then", f"killed{late}, with {grace}"
    if timing.restarted is None:
        yield "restart", "none (restartPolicy Never)"
        return
    if probe_type is ProbeType.LIVENESS:
        yield "restart", f"{_range(timing.restarted)} after the app fails"
    waits = (
        "1s, 2s, 4s, up to 1m" if rules.reduces_back_off else "10s, 20s, 40s, up to 5m"
    )
    yield "back-off", f"a restart soon after another waits {waits}, {late_sync(rules)}"


def _start(container: Container, probe_type: ProbeType) -> str:
    if container.startup_probe is None or probe_type is ProbeType.STARTUP:
        return "the container starts"
    return "the container starts, once its startup probe has succeeded"


def _apart(probe: Probe, threshold: int, word: str, most: str = "") -> str:
    if threshold == 1:
        return f"1 {word} is enough"
    plural = f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{threshold} {plural}, {most}{probe.period_seconds}s apart"


def _kind(pod: Pod, container: Container) -> str:
    if container.is_sidecar:
        return "  (sidecar)"
    return "  (init container)" if container in pod.init_containers else ""


def _grace_of(pod: Pod) -> str:
    seconds = pod.termination_grace_period_seconds
    return "none" if seconds is None else f"{seconds}s"


def _range(times: TimeRange) -> str:
    return f"{format_age(times.least)} to {format_age(times.most)}"


def _per_minute(cost: Fraction) -> str:
    return f"{cost} probes" if cost.denominator == 1 else f"{float(cost):.1f} probes"


def meaning_lines(pod: Pod) -> Iterator[Line]:
    """Explain each type of probe that a pod has, once."""
    for kind in ProbeType:
        probes = [
            probe
            for container in pod.all_containers()
            if (probe := container.probe(kind)) is not None
        ]
        if not probes:
            continue
        yield EMPTY
        yield line("what ", strong(kind.lower()), " means here")
        for sentence in _MEANINGS[kind](probes[0]):
            yield line(f"  {sentence}")


def _liveness(probe: Probe) -> Iterator[str]:
    yield f"The container is killed after {_failures(probe)};"
    yield "restartPolicy decides whether it restarts."
    yield "Fewer failures do nothing; an error is not counted."
    yield "After the kill the probe is on hold until the container has restarted."
    yield "It does not affect readiness."


def _readiness(probe: Probe) -> Iterator[str]:
    yield f"It is not ready after {_failures(probe)},"
    yield f"and ready again after {_in_a_row(probe.success_threshold, 'success')}."
    yield "It never kills: a container may stay not ready forever."


def _startup(probe: Probe) -> Iterator[str]:
    yield "Until it succeeds, liveness and readiness do not run."
    yield f"The container is killed after {_failures(probe)}."
    yield "One success ends it for this container."


_MEANINGS = {
    ProbeType.LIVENESS: _liveness,
    ProbeType.READINESS: _readiness,
    ProbeType.STARTUP: _startup,
}


def _failures(probe: Probe) -> str:
    return _in_a_row(probe.failure_threshold, "failure")


def _in_a_row(count: int, word: str) -> str:
    if count == 1:
        return f"1 {word}"
    return f"{count} {word}{'es' if word.endswith('s') else 's'} in a row"
