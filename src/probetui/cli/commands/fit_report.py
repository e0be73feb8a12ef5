"""`probetui fit`: settings of probes from what records measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from statistics import median
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
from probetui.cli.commands.what_if_report import RecordedSession, read_session
from probetui.cli.printing import PRINTERS, Notes, print_line, print_text
from probetui.cli.session.autosave import last_session_to_play
from probetui.drive.what_if.measurements import Measured
from probetui.drive.what_if.settings import SETTABLE
from probetui.durations import format_age, format_countdown, parse_duration
from probetui.errors import NothingToDoError, UsageError
from probetui.k8s.api.probe import PROBE
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    ContainerEntry,
    LifecycleStep,
)
from probetui.kubelet.outcome import ProbeResult
from probetui.manifest.yaml.dump import dump_yaml

_MISSING = 1
_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
_DAYS = re.compile(r"([0-9]{1,6})d")
_MOST_DAYS = 36_500
_SUCCESSES = frozenset({ProbeResult.SUCCESS, ProbeResult.WARNING})
_FIELDS = {
    ProbeType.STARTUP: "startupProbe",
    ProbeType.LIVENESS: "livenessProbe",
}


class _ProbedContainer(Struct):
    """What the records have of one container, which is the same in all of them.

    `lives` are the instances of each probe; `ended` are how many of them were killed
    before the probe that measures starts succeeded.
    """

    namespace: str
    pod: str
    name: str
    probes: dict[ProbeType, Probe]
    lives: dict[ProbeType, list[list[MeasuredProbe]]] = field(default_factory=dict)
    ended: int = 0
    records: list[Path] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Its name for people."""
        return f"{self.pod}/{self.name}"


class _Fit(Struct, frozen=True):
    """The evidence of one container, and what follows from it."""

    container: _ProbedContainer
    evidence: ProbeEvidence | None
    starts: StartEvidence
    liveness: LivenessFit | NotFitted | None
    startup: StartupFit | NotFitted

    @property
    def missing(self) -> tuple[str, ...]:
        """What a probe of the container lacks, a sentence each, with its field."""
        fits = {ProbeType.LIVENESS: self.liveness, ProbeType.STARTUP: self.startup}
        return tuple(
            f"{_FIELDS[kind]}: {text}"
            for kind, fit in fits.items()
            if kind in self.container.probes and isinstance(fit, NotFitted)
            for text in fit.missing
        )

    @property
    def probes(self) -> dict[str, Probe]:
        """The fitted probes, by field."""
        found: dict[str, Probe] = {}
        if isinstance(self.startup, StartupFit):
            found["startupProbe"] = self.startup.probe
        if isinstance(self.liveness, LivenessFit):
            found["livenessProbe"] = self.liveness.probe
        return found


def _distinct(records: Sequence[Path]) -> Sequence[Path]:
    """Return the records, of which each must be another one: they count together."""
    for number, path in enumerate(records):
        if path.resolve() in {other.resolve() for other in records[:number]}:
            raise UsageError(f"{path} is given twice, and would count twice")
    return records


def print_fit(records: Sequence[Path], params: Mapping[str, Any]) -> int:
    """Print settings for the containers of records and return the exit status.

    Raises:
        UsageError: an option cannot be used, a record is given twice, or the records
            differ in a handler.
        RecordError: a record cannot be replayed.
        NothingToDoError: no container has a liveness or startup probe.
    """
    goal = FitGoal(parse_rate(params["false_kills"]), params["notice"])
    notes = Notes(quiet=params["quiet"])
    found: dict[tuple[str, str, str], _ProbedContainer] = {}
    paths = _distinct(records) or (last_session_to_play(),)
    for path in paths:
        _add_session(found, read_session(path, notes, params["record_limit"]))
    chosen = [
        one
        for one in found.values()
        if params["container"] in {None, one.name, one.label}
    ]
    if not chosen:
        known = ", ".join(one.label for one in found.values())
        if found:
            raise UsageError(
                f'--container: none is called "{params["container"]}" (has: {known})'
            )
        names = ", ".join(map(str, paths))
        raise NothingToDoError(f"{names}: no container has a liveness or startup probe")
    fits = [_fit(one, goal) for one in chosen]
    if print_value := PRINTERS.get(params["output"]):
        print_value([_json(fit) for fit in fits])
    else:
        for number, fit in enumerate(fits):
            if number:
                print_line()
            _print(fit, goal)
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
    found: dict[tuple[str, str, str], _ProbedContainer], session: RecordedSession
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
                for kind in _FIELDS
                if (probe := container.probe(kind)) is not None
            }
            if not probes:
                continue
            place = pod.namespace, pod.name, container.name
            known = found.setdefault(place, _ProbedContainer(*place, probes))
            known.records.append(session.path)
            for kind, probe in probes.items():
                before = known.probes.setdefault(kind, probe)
                if before.handler != probe.handler:
                    raise UsageError(
                        f"{session.path}: the {_FIELDS[kind]} of {known.label} has "
                        f"another handler than in {known.records[0]}"
                    )
                lives = session.measurements.of_instances(
                    ProbeKey(pod.uid, container.name, kind)
                )
                for container_id, measured in lives:
                    life = [_measured(one) for one in measured]
                    known.lives.setdefault(kind, []).append(life)
                    if (
                        kind is next(iter(probes))
                        and container_id in killed
                        and first_success(life) is None
                    ):
                        known.ended += 1


def _measured(one: Measured) -> MeasuredProbe:
    result = one.outcome.last.result
    return MeasuredProbe(
        one.age.total_seconds(),
        None if result is ProbeResult.UNKNOWN else result in _SUCCESSES,
        one.outcome.last.duration.total_seconds(),
        one.is_cut_off,
    )


def _fit(container: _ProbedContainer, goal: FitGoal) -> _Fit:
    first = next(kind for kind in _FIELDS if kind in container.probes)
    ages = (first_success(life) for life in container.lives.get(first, ()))
    starts = StartEvidence(
        tuple(age for age in ages if age is not None), container.ended
    )
    startup = fit_startup(starts, container.probes[first], goal)
    probe = container.probes.get(ProbeType.LIVENESS)
    if probe is None:
        return _Fit(container, None, starts, None, startup)
    evidence = probe_evidence(probe, container.lives.get(ProbeType.LIVENESS, ()))
    return _Fit(container, evidence, starts, fit_liveness(evidence, goal), startup)


# -- printing


def _print(fit: _Fit, goal: FitGoal) -> None:
    """Print settings as YAML to paste, and what they stand on as its comments."""
    for line in _evidence_lines(fit, goal):
        print_line(f"# {line}")
    for name, probe in fit.probes.items():
        print_text(dump_yaml({name: PROBE.write(probe)}))
    for command in _proofs(fit):
        print_line(f"# {command}")


def _evidence_lines(fit: _Fit, goal: FitGoal) -> Iterator[str]:
    names = ", ".join(str(path) for path in fit.container.records)
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


def _proofs(fit: _Fit) -> Iterator[str]:
    """Yield the commands that try the settings with each record."""
    settings = [
        f"{fit.container.label}.{name}.{changed}={value}"
        for kind, name in _FIELDS.items()
        if name in fit.probes and kind in fit.container.probes
        for changed, value in _changes(fit.container.probes[kind], fit.probes[name])
    ]
    if not settings:
        if fit.probes:
            yield "the recorded settings are already these"
        return
    options = [word for setting in settings for word in ("--set", setting)]
    for record in dict.fromkeys(fit.container.records):
        yield quote_shell_line(["probetui", "whatif", str(record), *options])


def _changes(before: Probe, after: Probe) -> Iterator[tuple[str, Any]]:
    was, is_ = PROBE.write(before), PROBE.write(after)
    for name in SETTABLE:
        if was.get(name) != is_.get(name):
            yield name, is_.get(name)


def _seconds(length: float) -> str:
    return f"{length * 1000:.0f}ms" if length < 1 else f"{length:.1f}s"


def _json(fit: _Fit) -> dict[str, Any]:
    evidence, liveness = fit.evidence, fit.liveness
    return {
        "namespace": fit.container.namespace,
        "pod": fit.container.pod,
        "container": fit.container.name,
        "records": [str(path) for path in fit.container.records],
        "starts": {
            "count": len(fit.starts.seconds),
            "unfinished": fit.starts.unfinished,
            "seconds": list(fit.starts.seconds),
        },
        "liveness": None
        if evidence is None
        else {
            "probes": evidence.probes,
            "cutOff": evidence.cut_off,
            "spells": list(evidence.failure_runs),
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
        "prove": list(_proofs(fit)),
        "missing": list(fit.missing),
    }
