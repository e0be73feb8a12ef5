"""`fit` and `whatif` of what was observed: a store's samples, or a record of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from probetui.analysis.container_fit import FITTED_PROBES
from probetui.analysis.probe_fit import (
    FitGoal,
    LivenessFit,
    NotFitted,
    ProbeEvidence,
    StartEvidence,
    StartupFit,
    false_kill_every,
    fit_liveness,
    fit_startup,
)
from probetui.cli.commands.fleet_report import Progress, manifested_by
from probetui.cli.commands.fleet_report import format_bounds as _range
from probetui.cli.option_values import rules_by
from probetui.cli.printing import Notes
from probetui.cli.reports import emit
from probetui.cli.store_options import (
    QueryCount,
    asked_time,
    default_length,
    note_store,
    now_of,
    store_access,
    store_labels,
    told_queries,
)
from probetui.cli.store_settings import known_settings
from probetui.cluster.observe.probe_past import (
    KILLING,
    ContainerPast,
    PastUnder,
    ProbePast,
    evidence_of,
    past_under,
)
from probetui.cluster.observe.result_run import Bounds
from probetui.cluster.prometheus.client import StoreAccess, StoreClient
from probetui.cluster.prometheus.fleet import FleetQuery
from probetui.cluster.prometheus.workload_past import (
    WorkloadContainer,
    WorkloadReading,
)
from probetui.cluster.prometheus.workloads import WorkloadName
from probetui.drive.clocks import SystemClock, awake_ns
from probetui.durations import format_age, format_countdown
from probetui.errors import NothingToDoError, UsageError
from probetui.k8s.api.probe import PROBE
from probetui.k8s.probe import Probe, ProbeType
from probetui.manifest.workloads import WORKLOADS, WorkloadKind
from probetui.manifest.yaml.dump import dump_yaml
from probetui.presentation.report import Document, Part, separated

if TYPE_CHECKING:
    from probetui.cli.commands.what_if import FitOptions

_MISSING = 1
_NO_TICK = "none of its results is known"


class PastFit(Struct, frozen=True):
    """A container, what its past says, and the settings that follow.

    Attributes:
        container: of a workload.
        source: where its past is from.
        evidence: what its liveness probe was fitted to; None without results.
        liveness: the fit, None without such a probe.
        startup: the fit of a startup probe, be there one or not.
    """

    container: WorkloadContainer
    source: str
    evidence: ProbeEvidence | None
    liveness: LivenessFit | NotFitted | None
    startup: StartupFit | NotFitted

    @property
    def label(self) -> str:
        """The container's name for people: shop/Deployment/web/app."""
        return "/".join(filter(None, (*self.container.workload, self.container.name)))

    @property
    def past(self) -> ContainerPast:
        """What is known of it."""
        return self.container.past

    def recorded(self, kind: ProbeType) -> Probe | None:
        """Return a probe as it is."""
        return self.container.settings.container.probe(kind)

    @property
    def missing(self) -> tuple[str, ...]:
        """What is missing for a fit, a sentence each that begins with its field."""
        fits = {ProbeType.LIVENESS: self.liveness, ProbeType.STARTUP: self.startup}
        return tuple(
            f"{FITTED_PROBES[kind]}: {text}"
            for kind, fit in fits.items()
            if self.recorded(kind) is not None and isinstance(fit, NotFitted)
            for text in fit.missing
        )

    @property
    def probes(self) -> dict[ProbeType, Probe]:
        """The fitted probes."""
        probes: dict[ProbeType, Probe] = {}
        if isinstance(self.startup, StartupFit):
            probes[ProbeType.STARTUP] = self.startup.probe
        if isinstance(self.liveness, LivenessFit):
            probes[ProbeType.LIVENESS] = self.liveness.probe
        return probes

    @property
    def changes(self) -> dict[str, dict[str, Any]]:
        """The fields that the fitted probes change, by probe; all of a new one."""
        changes: dict[str, dict[str, Any]] = {}
        for kind, probe in self.probes.items():
            before = self.recorded(kind)
            old = {} if before is None else PROBE.write(before)
            changed = {
                name: value
                for name, value in PROBE.write(probe).items()
                if old.get(name) != value
            }
            if changed:
                changes[FITTED_PROBES[kind]] = changed
        return changes

    def again(self) -> Iterator[tuple[ProbeType, Probe, PastUnder]]:
        """Yield the past of each fitted probe, run again under the proposal."""
        for kind, probe in self.probes.items():
            past = self.past.probes.get(kind)
            if past is not None and probe != past.probe:
                yield kind, probe, past_under(past, probe)


def fit_past(container: WorkloadContainer, source: str, goal: FitGoal) -> PastFit:
    """Return settings for the probes of a container, or what is missing for them."""
    past, own = container.past, container.settings.container
    kinds = [kind for kind in KILLING if own.probe(kind) is not None]
    first = own.probe(kinds[0])
    if first is None:
        raise NothingToDoError(f"{container.name} has no liveness or startup probe")
    starts = StartEvidence(
        tuple(start.most for start in past.starts), past.unfinished.most
    )
    startup = fit_startup(starts, first, goal)
    evidence: ProbeEvidence | None = None
    liveness: LivenessFit | NotFitted | None = None
    if own.probe(ProbeType.LIVENESS) is not None:
        liveness = NotFitted((_NO_TICK,))
        if ProbeType.LIVENESS in past.probes:
            evidence = evidence_of(past.probes[ProbeType.LIVENESS])
            liveness = fit_liveness(evidence, goal)
    return PastFit(container, source, evidence, liveness, startup)


# -- a store


def print_past_fit(names: Sequence[str], options: FitOptions, goal: FitGoal) -> int:
    """Print settings for workloads from a store's samples; return the exit status.

    Raises:
        UsageError: an option cannot be used, or no manifest is of a workload.
        ManifestError: what is wrong with the files.
        StoreError: the store cannot be asked, or knows nothing of a workload.
        NothingToDoError: no container has a liveness or startup probe.
    """
    if not names:
        raise UsageError(
            "with --prometheus, fit takes workloads of the cluster: deploy/NAME, "
            "NAMESPACE/deploy/NAME, or NAMESPACE/POD"
        )
    workloads = [WorkloadName.parse(name) for name in names]
    notes = Notes(quiet=options.quiet)
    clock = SystemClock(awake_ns)
    begin, end = asked_time(options, now_of(options, clock), default_length(options))
    access = store_access(options, notes)
    query = FleetQuery(begin, end, store_labels(options))
    with told_queries(clock, explains=options.explain_queries) as tell:
        url, readings, read = asyncio.run(
            _read(access, query, workloads, options, notes, tell)
        )
    times = " to ".join(
        f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}" for at in (begin, end)
    )
    fits = [fit_past(each, f"{url}, {times} UTC", goal) for each in read]
    holes = dict.fromkeys(hole for reading in readings for hole in reading.holes)
    for reading in readings:
        if unsettled := sorted(reading.unsettled):
            holes[
                f"the settings of {len(unsettled)} containers are not known, as of "
                f"{unsettled[0].namespace}/{unsettled[0].pod}/{unsettled[0].container}"
            ] = None
    return emit_fits(fits, goal, options, notes, [*holes])


async def _read(
    access: StoreAccess,
    query: FleetQuery,
    workloads: Sequence[WorkloadName],
    options: FitOptions,
    notes: Notes,
    tell: QueryCount,
) -> tuple[str, list[WorkloadReading], list[WorkloadContainer]]:
    rules = rules_by(options)
    settings = known_settings(manifested_by(options), options, rules)
    async with StoreClient(access) as client, settings as known:
        if known.source is None:
            raise UsageError(
                "a store has no thresholds and periods: name the manifests with -f "
                f"({known.problem})"
            )
        client.on_query = tell.tell
        readings, read = [], []
        for workload in workloads:
            reading = WorkloadReading(client, query, workload, known.source)
            reading.on_progress = Progress(notes, "parts of the samples").tell
            readings.append(reading)
            read += await reading.read()
        note_store(client, SystemClock(awake_ns), notes)
    known.tell(notes)
    return client.shown_url, readings, read


def emit_fits(
    fits: Sequence[PastFit],
    goal: FitGoal,
    options: FitOptions,
    notes: Notes,
    holes: Sequence[str],
) -> int:
    """Print fits, what is missing and what could not be answered; return the status.

    Raises:
        UsageError: none is of --container.
        NothingToDoError: there is none.
    """
    wanted = options.container
    for hole in holes:
        notes.warning(hole)
    names = {fit.container.name for fit in fits}
    if not fits:
        raise NothingToDoError(
            "no container whose settings are known has a liveness or startup probe"
        )
    if wanted is not None:
        fits = [fit for fit in fits if wanted in {fit.container.name, fit.label}]
        if not fits:
            known = ", ".join(sorted(names))
            raise UsageError(f'--container: none is called "{wanted}" (has: {known})')
    emit(PastFitReport(fits, goal), options.output)
    for fit in fits:
        for text in fit.missing:
            notes.error(f"{fit.label}: {text}")
    if any(fit.missing for fit in fits):
        return _MISSING
    return _MISSING if options.strict and holes else 0


# -- the report


class PastFitReport(Struct, frozen=True):
    """The settings that the past of containers gives, in each form."""

    fits: Sequence[PastFit]
    goal: FitGoal

    def value(self) -> list[dict[str, Any]]:
        """Return evidence, proposal and rerun of each container."""
        return [_value(fit) for fit in self.fits]

    def parts(self, form: str) -> Iterator[Part]:
        """Yield YAML to paste, or patches; the evidence is in comments."""
        if form == "text":
            yield from separated(self._pasted(fit) for fit in self.fits)
            return
        patches = [
            (workload, patch_of(workload, fits))
            for workload, fits in self._by_workload()
        ]
        for fit in self.fits:
            for line in _lines(fit, self.goal):
                yield f"# {line}"
        if form == "kustomize":
            entries = [
                kustomize_patch(workload, patch) for workload, patch in patches if patch
            ]
            if entries:
                yield Document(dump_yaml({"patches": entries}))
            return
        documents = [patch for patch in patches if patch[1]]
        for number, (workload, patch) in enumerate(documents):
            if number:
                yield "---"
            yield f"# {kubectl_line(workload)}"
            yield Document(dump_yaml(patch))

    def _pasted(self, fit: PastFit) -> Iterator[Part]:
        for line in _lines(fit, self.goal):
            yield f"# {line}"
        for kind, probe in fit.probes.items():
            yield Document(dump_yaml({FITTED_PROBES[kind]: PROBE.write(probe)}))

    def _by_workload(self) -> list[tuple[WorkloadName, list[PastFit]]]:
        found: dict[WorkloadName, list[PastFit]] = {}
        for fit in self.fits:
            found.setdefault(fit.container.workload, []).append(fit)
        return [*found.items()]


def patch_of(workload: WorkloadName, fits: Iterable[PastFit]) -> dict[str, Any]:
    """Return a strategic-merge patch of a workload; empty if nothing changes.

    Source: kustomize and kubectl merge lists of containers by their names.
    """
    kind: WorkloadKind = WORKLOADS[workload.kind]
    lists: dict[str, list[dict[str, Any]]] = {}
    for fit in fits:
        if not fit.changes:
            continue
        pod = fit.container.settings.pod
        init = {container.name for container in pod.init_containers}
        place = "initContainers" if fit.container.name in init else "containers"
        entry = {"name": fit.container.name, **fit.changes}
        lists.setdefault(place, []).append(entry)
    if not lists:
        return {}
    body: dict[str, Any] = lists
    for step in reversed((*kind.template, "spec")):
        body = {step: body}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": workload.name},
        **body,
    }


def kustomize_patch(workload: WorkloadName, patch: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of `patches` of a kustomization."""
    group, _, version = WORKLOADS[workload.kind].api_version.rpartition("/")
    target = {"group": group, "version": version}
    return {
        "target": {
            **{name: value for name, value in target.items() if value},
            "kind": workload.kind,
            "name": workload.name,
        },
        "patch": dump_yaml(patch),
    }


def kubectl_line(workload: WorkloadName) -> str:
    """Return the command that applies a patch that is in a file."""
    namespace = f"-n {workload.namespace} " if workload.namespace else ""
    return (
        f"kubectl {namespace}patch {workload.kind.lower()} {workload.name} "
        "--patch-file FILE"
    )


def _lines(fit: PastFit, goal: FitGoal) -> Iterator[str]:
    past = fit.past
    pods = f"{past.containers} pod{'s'[: past.containers != 1]}"
    yield f"{fit.label}: {pods}, by {fit.source}"
    yield from _start_lines(fit, goal)
    for kind, own in past.probes.items():
        yield from _probe_lines(kind, own)
    if isinstance(fit.liveness, LivenessFit) and fit.evidence is not None:
        now = false_kill_every(fit.evidence, fit.evidence.probe)
        yield (
            f"false kills: at most once in {format_age(fit.liveness.false_kill_every)} "
            f"a container (now {format_age(now)}, wanted: {format_age(goal.per)})"
        )
        yield (
            f"noticed: within {format_countdown(fit.liveness.noticed)} "
            f"(wanted: {format_countdown(goal.notice)})"
        )
        if fit.liveness.assumed:
            yield f"assumed: {fit.liveness.assumed}"
    for doubt, count in past.doubts.items():
        yield f"not exact, of {count} of {pods}: {doubt}"
    for kind, probe, under in fit.again():
        yield from under_lines(kind, past.probes[kind].probe, probe, under)
    if fit.probes and not fit.changes:
        yield "the settings are already these"


def _start_lines(fit: PastFit, goal: FitGoal) -> Iterator[str]:
    past = fit.past
    if past.starts:
        least = min(start.least for start in past.starts)
        most = max(start.most for start in past.starts)
        yield (
            f"starts: {len(past.starts)}, the shortest {least:.0f}s or more, the "
            f"longest {most:.0f}s or less, {_range(past.unfinished)} ended by a probe"
        )
    if isinstance(fit.startup, StartupFit):
        yield (
            f"start: {fit.startup.needed.total_seconds():.1f}s needed, so that at most "
            f"one start in {round(1 / goal.start_risk)} is ended"
        )
        if fit.recorded(ProbeType.STARTUP) is None:
            yield "there is no startup probe: this one has the liveness probe's handler"
    elif fit.recorded(ProbeType.STARTUP) is None:
        missing = "; ".join(fit.startup.missing)
        yield f"no startup probe is proposed: {missing}"


def _probe_lines(kind: ProbeType, past: ProbePast) -> Iterator[str]:
    name = kind.lower()
    results = f"{past.counts.total} results, {past.counts.failures} failures"
    if past.runs.most and kind is ProbeType.LIVENESS:
        longest = past.longest_healed
        results += (
            f", {_range(past.runs)} runs of at most {longest}, after which it was well"
        )
    yield f"{name}: {results}"
    if past.kills.most:
        yield f"{name}: {_kills(past.kills)}, taken as real"
    if kind is ProbeType.STARTUP:
        return
    if past.successes_by:
        evidence = evidence_of(past)
        yield (
            f"{name}: 99 % of the successes took at most {_seconds(evidence.p99)}, all "
            f"at most {_seconds(evidence.slowest)}, by buckets"
        )
    else:
        yield f"{name}: how long successes took is not known; timeoutSeconds stays"


def _kills(bounds: Bounds) -> str:
    return f"{_range(bounds)} kill{'s'[: bounds != (1, 1)]}"


def under_lines(
    kind: ProbeType, was: Probe, probe: Probe, under: PastUnder
) -> Iterator[str]:
    """Yield what other settings would have made of a past."""
    old, new = PROBE.write(was), PROBE.write(probe)
    changed = ", ".join(
        f"{name} {value} instead of {old.get(name)}"
        for name, value in new.items()
        if old.get(name) != value
    )
    yield f"the same time again, {kind.lower()} probe with {changed}:"
    kills = _kills(under.before)
    if not under.before.most:
        yield "  there was no kill"
    elif not under.spared.most:
        yield f"  {kills}: all would have been, too"
    else:
        likely = ""
        if under.likely_spared is not None:
            likely = f", likely {under.likely_spared} by the runs that healed"
        yield f"  {_range(under.spared)} of {kills} would not have been{likely}"
    least, most = under.new
    if most is None:
        yield f"  at least {least} others would have been, at most is not known"
    elif most:
        yield f"  {format_most(least, most)} others would have been"
    else:
        yield "  no other would have been"
    soonest, latest = under.later
    if under.before.most and under.later != (0, 0):
        word = "later" if latest > 0 else "sooner"
        times = sorted({abs(soonest), abs(latest)})
        if soonest < 0 < latest:
            yield f"  what stays dead: killed up to {-soonest}s sooner, {latest}s later"
        else:
            span = "-".join(map(str, times))
            yield f"  what stays dead would have been killed {span}s {word}"
    for reason in under.reasons:
        yield f"  not exact: {reason}"


def under_value(under: PastUnder) -> dict[str, Any]:
    """Return what other settings would have made of a past, for programs."""
    return {
        "recordedKills": [*under.before],
        "kills": [*under.after],
        "spared": [*under.spared],
        "likelySpared": under.likely_spared,
        "new": [*under.new],
        "laterSeconds": [*under.later],
        "exact": under.after[0] == under.after[1] and under.before.is_exact,
        "reasons": [*under.reasons],
    }


def _value(fit: PastFit) -> dict[str, Any]:
    past, workload = fit.past, fit.container.workload
    liveness = fit.liveness if isinstance(fit.liveness, LivenessFit) else None
    return {
        "namespace": workload.namespace,
        "workload": f"{workload.kind}/{workload.name}",
        "container": fit.container.name,
        "source": fit.source,
        "containers": past.containers,
        "starts": {
            "count": len(past.starts),
            "unfinished": [*past.unfinished],
            "seconds": [
                [round(start.least, 3), round(start.most, 3)] for start in past.starts
            ],
        },
        "recorded": {
            FITTED_PROBES[kind]: {
                "successes": own.counts.successes,
                "failures": own.counts.failures,
                "kills": [*own.kills],
                "healed": [[*bounds] for bounds in own.healed if bounds.most],
                "successesBySeconds": {
                    f"{bound:g}": count for bound, count in own.successes_by.items()
                },
            }
            for kind, own in past.probes.items()
        },
        "falseKillEverySeconds": None
        if liveness is None
        else liveness.false_kill_every.total_seconds(),
        "noticedSeconds": None
        if liveness is None
        else liveness.noticed.total_seconds(),
        "assumed": None if liveness is None else liveness.assumed or None,
        "probes": {
            FITTED_PROBES[kind]: PROBE.write(probe)
            for kind, probe in fit.probes.items()
        },
        "again": {
            FITTED_PROBES[kind]: under_value(under) for kind, _, under in fit.again()
        },
        "missing": [*fit.missing],
        "doubts": dict(past.doubts),
    }


def format_most(least: int, most: int | None) -> str:
    """Return a number as it is known, where the most may be unknown."""
    return f"{least} or more" if most is None else _range(Bounds(least, most))


def _seconds(length: float) -> str:
    return f"{length * 1000:.0f}ms" if length < 1 else f"{length:.1f}s"
