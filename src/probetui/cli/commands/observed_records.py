"""`fit` and `whatif` of records in which a cluster was observed.

No engine decided in them, so nothing can be run again as it was. What can be answered
is what samples answer: the kills of each probe, under its settings and others, as
bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.probe_fit import FitGoal
from probetui.cli.commands.fleet_report import format_bounds
from probetui.cli.commands.past_fit_report import (
    PastFit,
    emit_fits,
    fit_past,
    format_most,
    under_value,
)
from probetui.cli.commands.what_if_report import parse_values
from probetui.cli.printing import Notes
from probetui.cli.reports import emit
from probetui.cluster.observe.probe_past import (
    KILLING,
    PastUnder,
    ProbePast,
    container_past,
    past_under,
)
from probetui.cluster.observe.recorded_samples import (
    RecordedContainer,
    recorded_containers,
)
from probetui.cluster.prometheus.workload_past import WorkloadContainer
from probetui.cluster.prometheus.workloads import labelled_workload
from probetui.drive.what_if.settings import (
    ProbeSetting,
    apply_settings,
    parse_probe_setting,
    recorded_value,
)
from probetui.errors import UsageError
from probetui.k8s.pod import Pod
from probetui.k8s.probe import Probe, ProbeType
from probetui.kubelet_rules import PORTED_RULES, rules_of
from probetui.presentation.report import Part, Table
from probetui.record.reader import RecordingFile

if TYPE_CHECKING:
    from probetui.cli.commands.what_if import FitOptions, WhatIfOptions

_DIFFERS = 1
_NO_READINESS = (
    "how long a container of a cluster would have been not ready is not in the "
    "record: of liveness and startup probes it has the kills"
)


def _read(path: Path, most_bytes: int, notes: Notes) -> list[RecordedContainer]:
    """Return the containers of a record whose probes may kill them.

    Raises:
        RecordError: it cannot be read.
    """
    recording = RecordingFile(path, most_bytes)
    found = []
    for each in recorded_containers(recording):
        own = each.settings.container
        if all(own.probe(kind) is None for kind in KILLING):
            continue
        if each.is_edited:
            notes.warning(
                f"{each.settings.pod.name}/{own.name}: its probes were changed in the "
                "record, so that its results do not count together: it is left out"
            )
            continue
        found.append(each)
    if recording.problem:
        notes.warning(f"{path}: {recording.problem}")
    return found


def _past_of(each: RecordedContainer) -> WorkloadContainer:
    past = container_past(each.samples, each.settings, each.started, each.restarts)
    own = each.settings.container
    return WorkloadContainer(
        labelled_workload(each.settings.pod), own.name, each.settings, past
    )


# -- fit


def print_observed_fit(
    paths: Sequence[Path], options: FitOptions, goal: FitGoal
) -> int:
    """Print settings for the containers of records; return the exit status.

    Raises:
        UsageError: none is of --container, or a handler differs.
        RecordError: a record cannot be read.
        NothingToDoError: no container has a liveness or startup probe.
    """
    notes = Notes(quiet=options.quiet)
    known: dict[tuple[object, str], WorkloadContainer] = {}
    for path in paths:
        for each in _read(path, options.record_limit, notes):
            container = _past_of(each)
            key = container.workload, container.name
            if (before := known.get(key)) is not None:
                if _probes(before) != _probes(container):
                    raise UsageError(
                        f"{path}: the probes of {container.name} of "
                        f"{container.workload.name} have other settings than before"
                    )
                container = replace(before, past=before.past.plus(container.past))
            known[key] = container
    names = ", ".join(map(str, paths))
    fits: list[PastFit] = [fit_past(each, names, goal) for each in known.values()]
    return emit_fits(fits, goal, options, notes, [])


def _probes(container: WorkloadContainer) -> list[Probe | None]:
    return [container.settings.container.probe(kind) for kind in KILLING]


# -- whatif


class ObservedTrial(Struct, frozen=True):
    """A probe of an observed container, under other settings."""

    pod: Pod
    container: str
    kind: ProbeType
    past: ProbePast
    under: PastUnder

    @property
    def differs(self) -> bool:
        """Whether its kills are, or may be, others."""
        return self.under.after != tuple(self.under.before)


class ObservedReport(Struct, frozen=True):
    """What other settings would have made of an observed past.

    `trials` has those of each value of a sweep, or one without a value.
    """

    record: str
    settings: Sequence[str]
    trials: Sequence[tuple[str, ObservedTrial]]

    def value(self) -> dict[str, Any]:
        """Return the kills of each container, recorded and under the settings."""
        return {
            "record": self.record,
            "settings": [*self.settings],
            "observed": True,
            "containers": [
                {
                    **({"value": value} if value else {}),
                    "namespace": trial.pod.namespace,
                    "pod": trial.pod.name,
                    "container": trial.container,
                    "probe": trial.kind.lower(),
                    **under_value(trial.under),
                }
                for value, trial in self.trials
            ],
        }

    def parts(self, _form: str) -> Iterator[Part]:
        """Yield a table."""
        yield Table([_cells(value, trial) for value, trial in self.trials])


def _cells(value: str, trial: ObservedTrial) -> Mapping[str, str]:
    under = trial.under
    soonest, latest = under.later
    span = f"{soonest:+}s" if soonest == latest else f"{soonest:+}s to {latest:+}s"
    return {
        **({"VALUE": value} if value else {}),
        "CONTAINER": f"{trial.pod.name}/{trial.container}",
        "PROBE": trial.kind.lower(),
        "KILLS": format_bounds(under.before),
        "WHAT IF": format_most(*under.after),
        "SPARED": format_bounds(under.spared),
        "OTHERS": format_most(*under.new),
        "A HANG'S KILL": span,
        "NOT EXACT": "; ".join(under.reasons),
    }


def print_observed_what_if(path: Path, options: WhatIfOptions) -> int:
    """Print what other settings would have made of a record; return the exit status.

    Raises:
        UsageError: a setting cannot be changed, or the record cannot answer.
        ManifestError: an API server would refuse a value.
        RecordError: the record cannot be read.
    """
    if options.kubelet is not None:
        raise UsageError(
            "--kubelet: in a record of a cluster no engine of probetui decided, and "
            "what another kubelet would have decided is not in it"
        )
    notes = Notes(quiet=options.quiet)
    read = _read(path, options.record_limit, notes)
    pods = list({each.settings.pod.uid: each.settings.pod for each in read}.values())
    settings = [parse_probe_setting(text, pods) for text in options.changes]
    swept = None
    values = [""]
    if options.sweep:
        swept = parse_probe_setting(options.sweep, pods, "--sweep")
        values = list(parse_values(swept.value, options.sweep))
    for setting in (*settings, *([swept] if swept else [])):
        if setting.probe.probe_type is ProbeType.READINESS:
            raise UsageError(f"{setting.flag} {setting.option}: {_NO_READINESS}")
    pasts = [(each, _past_of(each)) for each in read]
    trials: list[tuple[str, ObservedTrial]] = []
    known = "" if swept is None else recorded_value(swept, pods)
    for value in values:
        tried = settings if swept is None else [*settings, swept.with_value(value)]
        shown = f"{value} (recorded)" if value and value == known else value
        trials += ((shown, trial) for trial in _tried(pasts, pods, tried))
    options_given = [setting.option for setting in settings]
    emit(ObservedReport(str(path), options_given, trials), options.output)
    notes.note(
        "the record is of a cluster: each run of failures is counted again, and what "
        "would have followed a kill, or none, is not known"
    )
    return _DIFFERS if any(trial.differs for _, trial in trials) else 0


def _tried(
    pasts: Sequence[tuple[RecordedContainer, WorkloadContainer]],
    pods: Sequence[Pod],
    settings: Sequence[ProbeSetting],
) -> Iterator[ObservedTrial]:
    """Yield each probe under other settings; of those that were set, if any was."""
    releases = {each.settings.rules.release for each, _ in pasts}
    rules = rules_of(releases.pop()) if len(releases) == 1 else PORTED_RULES
    changed = apply_settings(pods, settings, rules)
    by_uid = {pod.uid: changed.of(pod) for pod in pods}
    wanted = {
        (setting.probe.pod, setting.probe.container, setting.probe.probe_type)
        for setting in settings
    }
    for each, container in pasts:
        pod = each.settings.pod
        for kind, past in container.past.probes.items():
            if wanted and (pod.name, container.name, kind) not in wanted:
                continue
            own = by_uid[pod.uid].container(container.name)
            probe = None if own is None else own.probe(kind)
            if probe is not None:
                under = past_under(past, probe)
                yield ObservedTrial(pod, container.name, kind, past, under)
