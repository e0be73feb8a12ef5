"""The report of `fit`: settings as YAML to paste, with the evidence for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from statistics import median
from typing import Any

from msgspec import Struct

from probetui.analysis.container_fit import ContainerFit
from probetui.analysis.probe_fit import FitGoal, LivenessFit, NotFitted
from probetui.durations import format_age, format_countdown
from probetui.k8s.api.probe import PROBE
from probetui.k8s.probe import ProbeType
from probetui.manifest.yaml.dump import dump_yaml
from probetui.presentation.report import Document, Part, separated

_SECOND = timedelta(seconds=1)


class FitReport(Struct, frozen=True):
    """The fitted settings of the probes of containers."""

    fits: Sequence[ContainerFit]
    goal: FitGoal

    def value(self) -> list[dict[str, Any]]:
        """Return the evidence and the settings of each container."""
        return [_value(fit) for fit in self.fits]

    def parts(self, _form: str) -> Iterator[Part]:
        """Yield the settings as YAML, with the evidence in comments."""
        return separated(_parts(fit, self.goal) for fit in self.fits)


def _parts(fit: ContainerFit, goal: FitGoal) -> Iterator[Part]:
    for line in _evidence_lines(fit, goal):
        yield f"# {line}"
    for name, probe in fit.probes.items():
        yield Document(dump_yaml({name: PROBE.write(probe)}))
    for command in fit.proofs():
        yield f"# {command}"


def _evidence_lines(fit: ContainerFit, goal: FitGoal) -> Iterator[str]:
    names = ", ".join(fit.container.records)
    yield f"{fit.container.label}, from {names}"
    starts = fit.starts.seconds
    if starts:
        yield (
            f"starts: {len(starts)}, {_seconds(min(starts))} to "
            f"{_seconds(max(starts))}, median {_seconds(median(starts))}"
        )
    evidence, liveness = fit.evidence, fit.liveness
    if evidence is not None:
        failed, count = sum(evidence.failure_runs), len(evidence.failure_runs)
        longest = evidence.longest_failure_run
        runs = f"{count} run{'s'[: count != 1]} of at most {longest}"
        yield (
            f"liveness: {evidence.probes} probes, {failed} failed"
            f"{f' in {runs}, after which it was healthy again' if count else ''}"
        )
        if evidence.kills:
            kills = evidence.kills
            yield f"taken as real: {kills} runs of failures that ended in a kill"
    if isinstance(liveness, LivenessFit) and evidence is not None:
        yield (
            f"latency: p99 {_seconds(liveness.p99)}, longest "
            f"{_seconds(max(evidence.latencies, default=0.0))}, "
            f"{evidence.cut_off} cut off"
        )
        yield (
            f"false kills: at most once in {format_age(liveness.false_kill_every)} "
            f"(wanted: {format_age(goal.per)})"
        )
        yield (
            f"noticed: within {format_countdown(liveness.noticed)} "
            f"(wanted: {format_countdown(goal.notice)})"
        )
        if liveness.assumed:
            yield f"assumed: {liveness.assumed}"
    if isinstance(fit.startup, NotFitted):
        if ProbeType.STARTUP not in fit.container.probes:
            yield f"no startup probe is proposed: {'; '.join(fit.startup.missing)}"
    else:
        needed = _seconds(fit.startup.needed / _SECOND)
        yield (
            f"start: {needed} needed, so that at most one start in "
            f"{round(1 / goal.start_risk)} is ended"
        )
        if ProbeType.STARTUP not in fit.container.probes:
            yield (
                "the record has no startup probe: this one has the handler of the "
                "liveness probe; record again with it to verify it"
            )


def _seconds(length: float) -> str:
    return f"{length * 1000:.0f}ms" if length < 1 else f"{length:.1f}s"


def _value(fit: ContainerFit) -> dict[str, Any]:
    evidence, liveness = fit.evidence, fit.liveness
    return {
        "namespace": fit.container.namespace,
        "pod": fit.container.pod,
        "container": fit.container.name,
        "records": fit.container.records,
        "starts": {
            "count": len(fit.starts.seconds),
            "unfinished": fit.starts.unfinished,
            "seconds": fit.starts.seconds,
        },
        "liveness": None
        if evidence is None
        else {
            "probes": evidence.probes,
            "cutOff": evidence.cut_off,
            "spells": evidence.failure_runs,
            "kills": evidence.kills,
            "longestSeconds": max(evidence.latencies, default=None),
        },
        "falseKillEverySeconds": liveness.false_kill_every.total_seconds()
        if isinstance(liveness, LivenessFit)
        else None,
        "noticedSeconds": liveness.noticed.total_seconds()
        if isinstance(liveness, LivenessFit)
        else None,
        "assumed": (liveness.assumed or None)
        if isinstance(liveness, LivenessFit)
        else None,
        "probes": {name: PROBE.write(probe) for name, probe in fit.probes.items()},
        "prove": list(fit.proofs()),
        "missing": fit.missing,
    }
