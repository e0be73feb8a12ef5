"""`probetui fit`: settings of probes from what records measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from probetui.analysis.container_fit import (
    FITTED_PROBES,
    ProbedContainer,
    fit_container,
)
from probetui.analysis.probe_fit import FitGoal, MeasuredProbe, first_success
from probetui.cli.commands.fleet import asks_store
from probetui.cli.printing import Notes
from probetui.cli.reports import emit
from probetui.cli.session.autosave import last_session_to_play
from probetui.cli.session.recorded import (
    RecordedSession,
    is_observed,
    read_session,
)
from probetui.drive.what_if.measurements import Measured
from probetui.durations import parse_duration
from probetui.errors import NothingToDoError, UsageError
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import PROBE_CAUSES, ContainerEntry, LifecycleStep
from probetui.kubelet.outcome import ProbeResult
from probetui.presentation.probe.fit import FitReport

if TYPE_CHECKING:
    from probetui.cli.commands.what_if import FitOptions

_MISSING = 1
_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
_DAYS = re.compile(r"([0-9]{1,6})d")
_MOST_DAYS = 36_500
_SUCCESSES = frozenset({ProbeResult.SUCCESS, ProbeResult.WARNING})


def _distinct(records: Sequence[Path]) -> Sequence[Path]:
    """Return the records, of which each must be another one: they count together."""
    for number, path in enumerate(records):
        if path.resolve() in {other.resolve() for other in records[:number]}:
            raise UsageError(f"{path} is given twice, and would count twice")
    return records


def print_fit(names: Sequence[str], options: FitOptions) -> int:
    """Print settings for containers and return the exit status.

    Args:
        names: of records, or of workloads where a store is asked.
        options: those of the command.

    Raises:
        UsageError: an option cannot be used, a record is given twice, or the records
            differ in a handler.
        RecordError: a record cannot be replayed.
        NothingToDoError: no container has a liveness or startup probe.
    """
    goal = FitGoal(parse_rate(options.false_kills), options.notice)
    if asks_store(options):
        # Late: it is seldom asked.
        from probetui.cli.commands.past_fit_report import print_past_fit

        return print_past_fit(names, options, goal)
    notes = Notes(quiet=options.quiet)
    containers: dict[tuple[str, str, str], ProbedContainer] = {}
    paths = _distinct([*map(Path, names)]) or (last_session_to_play(),)
    observed = [is_observed(path) for path in paths]
    if any(observed):
        # Late: they are of clusters.
        from probetui.cli.commands.observed_records import print_observed_fit

        if not all(observed):
            raise UsageError(
                f"{paths[observed.index(True)]} is of a cluster, where results are "
                "sampled, and other records have each: fit them apart"
            )
        return print_observed_fit(paths, options, goal)
    if options.output in {"patch", "kustomize"}:
        raise UsageError(
            f"-o {options.output} is of a cluster's workloads, as --prometheus has them"
        )
    for path in paths:
        _add_session(containers, read_session(path, notes, options.record_limit))
    chosen = [
        container
        for container in containers.values()
        if options.container in {None, container.name, container.label}
    ]
    if not chosen:
        known = ", ".join(fit.label for fit in containers.values())
        if containers:
            raise UsageError(
                f'--container: none is called "{options.container}" (has: {known})'
            )
        names = ", ".join(map(str, paths))
        raise NothingToDoError(f"{names}: no container has a liveness or startup probe")
    fits = [fit_container(container, goal) for container in chosen]
    emit(FitReport(fits, goal), options.output)
    for fit in fits:
        for text in fit.missing:
            notes.error(f"{fit.container.label}: {text}")
    return _MISSING if any(fit.missing for fit in fits) else 0


def parse_rate(text: str) -> timedelta:
    """Return how long it has to be from one false kill to the next.

    `2/30d` is twice in 30 days, `0.1%` or `0.001` the probability in one day.

    Raises:
        UsageError: it is neither.
    """
    count, slash, length_text = text.partition("/")
    length: timedelta | None
    try:
        if slash:
            number = float(int(count))
            days = _DAYS.fullmatch(length_text)
            length = (
                timedelta(days=min(int(days[1]), _MOST_DAYS))
                if days
                else parse_duration(length_text)
            )
        else:
            part = float(text.removesuffix("%"))
            number, length = part / (100 if text.endswith("%") else 1), _DAY
            if number > 1:
                length = None
    except ValueError:
        number, length = 0.0, None
    if length is None or not length or not number > 0 or number * _SECOND > length:
        raise UsageError(
            f"--false-kills {text}: write 1/30d for once in 30 days, or a probability "
            "in a day as 0.1%"
        )
    return min(length / number, timedelta(days=_MOST_DAYS * 100))


# -- reading


def _add_session(
    containers: dict[tuple[str, str, str], ProbedContainer], session: RecordedSession
) -> None:
    """Add what a record has of containers with probes that kill.

    Raises:
        UsageError: a container has another handler than in the record before.
    """
    killed = {
        entry.container_id
        for entry in session.replay.journal
        if isinstance(entry, ContainerEntry)
        and entry.what is LifecycleStep.STOPPING
        and entry.by in PROBE_CAUSES
    }
    for pod in session.pods.values():
        for container in pod.all_containers():
            probes = {
                kind: probe
                for kind in FITTED_PROBES
                if (probe := container.probe(kind)) is not None
            }
            if not probes:
                continue
            place = pod.namespace, pod.name, container.name
            known = containers.setdefault(place, ProbedContainer(*place, probes))
            known.records.append(str(session.path))
            for kind, probe in probes.items():
                before = known.probes.setdefault(kind, probe)
                if before.handler != probe.handler:
                    raise UsageError(
                        f"{session.path}: the {FITTED_PROBES[kind]} of {known.label} "
                        f"has another handler than in {known.records[0]}"
                    )
                lives = session.measurements.of_instances(
                    ProbeKey(pod.uid, container.name, kind)
                )
                for container_id, measured in lives:
                    life = [_measured(instance) for instance in measured]
                    known.lives.setdefault(kind, []).append(life)
                    if (
                        kind is next(iter(probes))
                        and container_id in killed
                        and first_success(life) is None
                    ):
                        known.ended += 1


def _measured(measurement: Measured) -> MeasuredProbe:
    result = measurement.outcome.last.result
    return MeasuredProbe(
        measurement.age.total_seconds(),
        None if result is ProbeResult.UNKNOWN else result in _SUCCESSES,
        measurement.outcome.last.duration.total_seconds(),
        measurement.is_cut_off,
    )
