"""Fit the probes of one container to the measurements in its records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from probetui.analysis.probe_fit import (
    FitGoal,
    LivenessFit,
    MeasuredProbe,
    NotFitted,
    ProbeEvidence,
    StartEvidence,
    StartupFit,
    first_success,
    fit_liveness,
    fit_startup,
    probe_evidence,
)
from probetui.analysis.reproduce import quote_shell_line
from probetui.k8s.api.probe import PROBE
from probetui.k8s.probe import Probe, ProbeType

FITTED_PROBES = {
    ProbeType.STARTUP: "startupProbe",
    ProbeType.LIVENESS: "livenessProbe",
}
"""The field of each probe that can kill, by type."""


class ProbedContainer(Struct):
    """The measurements of one container, collected from one or several records.

    It grows while records are read. `lives` has the probes of each instance, by type;
    `ended` counts the instances that ended before the probe that measures starts
    succeeded.
    """

    namespace: str
    pod: str
    name: str
    probes: dict[ProbeType, Probe]
    lives: dict[ProbeType, list[list[MeasuredProbe]]] = field(default_factory=dict)
    ended: int = 0
    records: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The container's name on the screen and in reports: pod/container."""
        return f"{self.pod}/{self.name}"


class ContainerFit(Struct, frozen=True):
    """The evidence of one container, with the settings that follow from it."""

    container: ProbedContainer
    evidence: ProbeEvidence | None
    starts: StartEvidence
    liveness: LivenessFit | NotFitted | None
    startup: StartupFit | NotFitted

    @property
    def missing(self) -> tuple[str, ...]:
        """What is missing for a fit, a sentence each that begins with its field."""
        fits = {ProbeType.LIVENESS: self.liveness, ProbeType.STARTUP: self.startup}
        return tuple(
            f"{FITTED_PROBES[kind]}: {text}"
            for kind, fit in fits.items()
            if kind in self.container.probes and isinstance(fit, NotFitted)
            for text in fit.missing
        )

    @property
    def probes(self) -> dict[str, Probe]:
        """The fitted probes, by field."""
        probes: dict[str, Probe] = {}
        if isinstance(self.startup, StartupFit):
            probes["startupProbe"] = self.startup.probe
        if isinstance(self.liveness, LivenessFit):
            probes["livenessProbe"] = self.liveness.probe
        return probes

    def proofs(self) -> Iterator[str]:
        """Yield the `probetui whatif` commands that try the settings on each record."""
        settings = [
            f"{self.container.label}.{name}.{changed}={value}"
            for kind, name in FITTED_PROBES.items()
            if name in self.probes and kind in self.container.probes
            for changed, value in _changes(
                self.container.probes[kind], self.probes[name]
            )
        ]
        if not settings:
            if self.probes:
                yield "the recorded settings are already these"
            return
        options = [word for setting in settings for word in ("--set", setting)]
        for record in dict.fromkeys(self.container.records):
            yield quote_shell_line(["probetui", "whatif", record, *options])


def fit_container(container: ProbedContainer, goal: FitGoal) -> ContainerFit:
    """Return settings for the probes of a container, or what is missing for them."""
    first = next(kind for kind in FITTED_PROBES if kind in container.probes)
    ages = (first_success(life) for life in container.lives.get(first, ()))
    starts = StartEvidence(
        tuple(age for age in ages if age is not None), container.ended
    )
    startup = fit_startup(starts, container.probes[first], goal)
    probe = container.probes.get(ProbeType.LIVENESS)
    if probe is None:
        return ContainerFit(container, None, starts, None, startup)
    evidence = probe_evidence(probe, container.lives.get(ProbeType.LIVENESS, ()))
    return ContainerFit(
        container, evidence, starts, fit_liveness(evidence, goal), startup
    )


def _changes(before: Probe, after: Probe) -> Iterator[tuple[str, Any]]:
    old = PROBE.write(before)
    for name, value in PROBE.write(after).items():
        if old.get(name) != value:
            yield name, value
