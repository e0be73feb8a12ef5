"""`probetui fleet`: the containers whose probes hurt, by what a store has kept."""

from __future__ import annotations

import asyncio
import csv
import io
import math
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import click
from click.core import ParameterSource
from msgspec import Struct
from msgspec.structs import replace

from probetui.cli.commands.fleet import StoreOptions
from probetui.cli.files import SourceReader
from probetui.cli.option_values import rules_by
from probetui.cli.printing import Notes
from probetui.cli.reports import emit
from probetui.cli.session.server_waits import warn_of_waits
from probetui.cli.store_options import (
    asked_time,
    default_length,
    note_store,
    now_of,
    store_access,
    store_labels,
    told_queries,
)
from probetui.cli.store_settings import known_settings
from probetui.cli.terminal import Form, Terminal, choose_form, draws_unicode
from probetui.cluster.client import ApiClient
from probetui.cluster.errors import ClusterError
from probetui.cluster.kubeconfig import load_access
from probetui.cluster.observe.kubelet_counters import ProxyCounters
from probetui.cluster.observe.result_run import Bounds
from probetui.cluster.observe.sampled_container import (
    NO_SETTINGS,
    ContainerBounds,
    ContainerSamples,
    ContainerSettings,
    bound_container,
    failures_over,
    new_failures,
)
from probetui.cluster.prometheus.client import StoreClient
from probetui.cluster.prometheus.cluster_settings import ClusterSettings
from probetui.cluster.prometheus.current import ABOUT, CurrentFleet
from probetui.cluster.prometheus.fleet import (
    FleetQuery,
    FleetStore,
    StoredContainer,
)
from probetui.cluster.prometheus.packaged import DEMO, packaged_workloads
from probetui.cluster.prometheus.workloads import Manifested, workload_of
from probetui.drive.clocks import SystemClock, awake_ns
from probetui.durations import format_age
from probetui.errors import UsageError
from probetui.k8s.probe import ProbeType
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile
from probetui.ports import Clock
from probetui.presentation.page.table import table_page
from probetui.presentation.report import Document, Part, Table
from probetui.presentation.text.cells import sparkline
from probetui.safe_text import safe_line

if TYPE_CHECKING:
    from probetui.cli.commands.fleet import FleetOptions, SettingsOptions

_HOLES = 1
_QUANTILE = 0.99
_CLOSE = 0.8
_LONG_NOT_READY = 60.0
_BEFORE_END, _AFTER_END = 180.0, 60.0
"""When failures that ask for an end are seen: it may last, and scrapes are seldom."""

_PARTS = 24
"""Of the time, in which failures are counted apart."""

_TENTHS = 10
"""Progress is told so often, at most."""


class FleetRow(Struct, frozen=True):
    """A container, and what its samples show.

    Attributes:
        failures: of all its probes, in equal parts of the time; None if not known.
        state: that of its status now, in a word; empty if it is well or not known.
        worst_at: when it was killed last, or else when it was worst, in Unix seconds;
            None if that is not known.
    """

    stored: StoredContainer
    settings: ContainerSettings | None
    bounds: ContainerBounds
    failures: Sequence[int] | None
    state: str = ""
    worst_at: float | None = None

    def without_samples(self) -> FleetRow:
        """Return the row without the samples that it came from."""
        none = ContainerSamples(self.stored.samples.since, {}, (), ())
        return replace(self, stored=replace(self.stored, samples=none))

    @property
    def used_of_timeout(self) -> float | None:
        """The share of its time-out that all but 1 % of successes needed, at most.

        The highest of its probes; by the bounds of the histogram's buckets.
        """
        shares = [
            min(_quantile(by_bound) / probe.timeout_seconds, 1.0)
            for kind, by_bound in self.stored.successes_by.items()
            if self.settings is not None
            and (probe := self.settings.container.probe(kind)) is not None
            and max(by_bound.values()) > 0
        ]
        return round(max(shares), 3) if shares else None

    @property
    def start_used_of_budget(self) -> float | None:
        """The share of the startup probe's failures that a start needed, at most."""
        startup = self.bounds.probes.get(ProbeType.STARTUP)
        if startup is None or startup.tally is None or self.settings is None:
            return None
        probe = self.settings.container.probe(ProbeType.STARTUP)
        if probe is None:
            return None
        return round(startup.tally.longest.most / probe.failure_threshold, 3)

    @property
    def advice(self) -> str:
        """What to look at, in a few words."""
        return next((text for text in self._advices() if text), "")

    def _advices(self) -> Iterator[str]:
        """Yield advice, the most urgent first; empty where it does not apply."""
        bounds, used = self.bounds, self.used_of_timeout
        near = bounds.near_misses or Bounds()
        is_near = used is not None and used >= _CLOSE
        start = self.start_used_of_budget
        if bounds.probe_kills.least:
            yield self._advice_of_kills(is_near=is_near)
        elif bounds.probe_kills.most:
            yield (
                "may be killed: name its manifest"
                if self.settings is None
                else "may be killed by its probe"
            )
        yield "failures one short of a kill" if near.least else ""
        yield "its answers are near the time-out" if is_near else ""
        yield "starts need most of the budget" if (start or 0) >= _CLOSE else ""
        yield self._advice_of_restarts()
        if bounds.not_ready is not None and bounds.not_ready.least >= _LONG_NOT_READY:
            yield "not ready for long"
        yield f"now {self.state}" if self.state else ""

    def _advice_of_kills(self, *, is_near: bool) -> str:
        startup = self.bounds.probes.get(ProbeType.STARTUP)
        if startup is not None and startup.tally and startup.tally.kills.least:
            return "starts exceed the startup probe's budget"
        if is_near:
            return "killed, and its answers near the time-out"
        return "killed by its probe: ask why"

    def _advice_of_restarts(self) -> str:
        restarts, end = self.bounds.restarts, self.stored.last_end
        if restarts is None or not restarts.least:
            return ""
        code = "" if end.exit_code is None else f", exit {end.exit_code}"
        return (
            f"restarts, not by a probe{f': {end.reason}{code}' if end.reason else ''}"
        )

    @property
    def weight(self) -> tuple[float, ...]:
        """How bad it is."""
        bounds = self.bounds
        near, restarts = bounds.near_misses or Bounds(), bounds.restarts or Bounds()
        return (
            bounds.probe_kills.least + bounds.probe_kills.most,
            near.least + near.most,
            0.0 if bounds.not_ready is None else bounds.not_ready.sampled,
            restarts.most,
        )

    @property
    def numbers(self) -> dict[str, float]:
        """What columns of numbers are sorted by, by their headings."""
        kills, near, not_ready, restarts = self.weight
        return {
            "KILLS": kills,
            "NEAR MISSES": near,
            "RESTARTS": restarts,
            "NOT READY": not_ready,
            "FAILURES": float(sum(self.failures or ())),
            "TIME-OUT USED": self.used_of_timeout or 0.0,
            "START USED": self.start_used_of_budget or 0.0,
        }

    def value(self) -> dict[str, Any]:
        """Return it for programs."""
        bounds, name = self.bounds, self.stored.name
        not_ready = bounds.not_ready
        return {
            "namespace": name.namespace,
            "workload": workload_of(self.stored),
            "pod": name.pod,
            "container": name.container,
            "probe_kills": [*bounds.probe_kills],
            "near_misses": _pair(bounds.near_misses),
            "restarts": None if bounds.restarts is None else bounds.restarts.least,
            "not_ready_seconds": None
            if not_ready is None
            else round(not_ready.sampled, 3),
            "not_ready_bounds": None
            if not_ready is None
            else [round(not_ready.least, 3), round(not_ready.most, 3)],
            "used_of_timeout": self.used_of_timeout,
            "start_used_of_budget": self.start_used_of_budget,
            "failures": self.failures,
            "advice": self.advice,
            "exact": bounds.is_exact,
            "doubts": [] if bounds.is_exact else [*bounds.doubts],
        }


class FleetReport:
    """The containers of a fleet, worst first.

    Args:
        rows: in any order.
        containers: how many there are in the store, those that are well among them.
        notes: which store and time that is, and what could not be answered.
        has_headings: whether the table has headings.
        is_ascii: whether a terminal takes ASCII only.
    """

    def __init__(
        self,
        rows: Sequence[FleetRow],
        containers: int,
        notes: Sequence[str],
        *,
        has_headings: bool,
        is_ascii: bool,
    ) -> None:
        self.rows = sorted(
            rows,
            key=lambda row: (*(-part for part in row.weight), row.stored.name),
        )
        self._containers, self._notes = containers, notes
        self._has_headings, self._is_ascii = has_headings, is_ascii

    def value(self) -> object:
        """Return one object a container."""
        return [row.value() for row in self.rows]

    def parts(self, form: str) -> Iterator[Part]:
        """Yield a table, CSV, or a page."""
        if form == "csv":
            yield Document(self._csv())
            return
        is_ascii = self._is_ascii and form != "html"
        cells = [fleet_cells(row, is_ascii=is_ascii) for row in self.rows]
        if form == "table":
            cells = [
                {name: cell for name, cell in row.items() if name not in _ONLY_WIDE}
                for row in cells
            ]
        table = Table(
            cells,
            has_headings=self._has_headings,
        )
        if form == "html":
            yield Document(table_page("fleet", self.sentence, self._notes, table))
            return
        yield table

    @property
    def sentence(self) -> str:
        """How many were killed."""
        killed = sum(row.bounds.probe_kills.least > 0 for row in self.rows)
        maybe = sum(row.bounds.probe_kills.most > 0 for row in self.rows) - killed
        others = f", and {maybe} may have been" if maybe else ""
        return f"{killed} of {self._containers} containers killed by probes{others}"

    def _csv(self) -> str:
        output = io.StringIO()
        writer = csv.writer(output, lineterminator="\n")
        values = [_flat(row.value()) for row in self.rows]
        if values and self._has_headings:
            writer.writerow(values[0])
        for value in values:
            writer.writerow([_csv_cell(cell) for cell in value.values()])
        return output.getvalue()


class FleetAnswer(Struct, frozen=True):
    """The containers of a fleet that are not well.

    Attributes:
        rows: the containers, in any order.
        containers: how many there are, those that are well among them.
        about: where the numbers are from, of which time.
        holes: what could not be answered.
        calm: a sentence for no rows.
    """

    rows: Sequence[FleetRow]
    containers: int
    about: str
    holes: Sequence[str]
    calm: str


OnProgress = Callable[[int, int], None]
"""Called with how many of how many parts have been read."""


class FleetReader(Protocol):
    """Reads a fleet; `parts` is what its progress is counted in."""

    parts: str

    async def read(self, on_progress: OnProgress, /) -> FleetAnswer:
        """Read it.

        Raises:
            ClusterError: what is asked does not answer.
        """


class _StoreReader:
    """Reads a fleet from a store.

    Raises:
        UsageError: an option cannot be used.
        ManifestError: what is wrong with the files.
        StoreError: a file of the options cannot be read.
    """

    parts = "parts of the samples"

    def __init__(self, options: FleetOptions, clock: Clock, notes: Notes) -> None:
        now = now_of(options, clock)
        begin, end = asked_time(options, now, default_length(options))
        self._access = store_access(options, notes)
        self._manifested = manifested_by(options)
        self._query = FleetQuery(
            begin, end, store_labels(options), options.namespace or ""
        )
        self._options, self._clock, self._notes = options, clock, notes

    async def read(self, on_progress: OnProgress) -> FleetAnswer:
        """Ask the store; raises `StoreError`."""
        query, options, notes = self._query, self._options, self._notes
        explains = options.explain_queries
        settings = known_settings(self._manifested, options, rules_by(options))
        async with StoreClient(self._access) as client, settings as known:
            source = known.source
            with told_queries(self._clock, explains=explains) as tell:
                client.on_query = tell.tell
                store = FleetStore(client, query)
                names = await store.find()
                store.on_progress = on_progress
                rows = await store.read_each(
                    names,
                    lambda stored: fleet_row(stored, source, query).without_samples(),
                    None if source is None else source.learn,
                )
        note_store(client, self._clock, notes)
        known.tell(notes)
        is_lacking = any(NO_SETTINGS in row.bounds.doubts for row in rows)
        if self._manifested is None and is_lacking:
            why = f" ({known.problem})" if known.problem else ""
            notes.note(
                f"{NO_SETTINGS}, to tell kills by probes from other restarts{why}"
            )
        times = " to ".join(
            f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
            for at in (query.begin, query.end)
        )
        length = format_age(timedelta(seconds=query.end - query.begin))
        return FleetAnswer(
            rows,
            store.containers,
            f"{store.shown_url}, {times}",
            tuple(store.holes),
            f"{store.containers} containers in the store: none failed, was restarted "
            f"or became not ready in {length}",
        )


class _CurrentReader:
    """Reads a fleet from the API server of the kubeconfig.

    Raises:
        UsageError: an option that is for a store alone.
        ClusterError: the kubeconfig cannot be used.
    """

    parts = "nodes"

    def __init__(self, options: FleetOptions, clock: Clock, notes: Notes) -> None:
        for option, value in (
            ("--since", options.since),
            ("--from", options.begin),
            ("--to", options.end),
            ("-f", options.filenames),
            ("--static", options.static),
            ("--prometheus-label", options.prometheus_label),
            ("--explain-queries", options.explain_queries),
        ):
            if value:
                raise UsageError(
                    f"{option} is for a store: --prometheus auto finds it. Without one "
                    "the cluster says what its pods and kubelets have counted so far"
                )
        try:
            self._access = load_access(options.kubeconfig, options.kube_context)
        except ClusterError as error:
            text = f"{error}; --prometheus URL asks a store instead"
            raise ClusterError(text) from error
        self._namespace = options.namespace or ""
        self._clock, self._notes = clock, notes

    async def read(self, on_progress: OnProgress) -> FleetAnswer:
        """Ask the cluster; raises `ClusterError`."""
        async with ApiClient(self._access, self._clock) as client:
            warn_of_waits(client, self._notes)
            counters = ProxyCounters(client)
            fleet = CurrentFleet(client, counters, self._clock, self._namespace)
            fleet.on_progress = on_progress
            rows = await fleet.read_each(
                lambda found: FleetRow(
                    found.stored, found.settings, found.bounds, None, found.state
                ).without_samples()
            )
        access = self._access
        return FleetAnswer(
            rows,
            fleet.containers,
            f"{access.context} ({access.cluster.server}): {ABOUT}",
            tuple(fleet.holes),
            f"{fleet.containers} containers with probes in the cluster: none has "
            "failed, was restarted or is not ready",
        )


def print_fleet(options: FleetOptions) -> int:
    """Print the containers whose probes hurt; return the exit status.

    Raises:
        UsageError: an option cannot be used.
        ManifestError: what is wrong with the files.
        ClusterError: the store or the cluster cannot be asked.
    """
    notes = Notes(quiet=options.quiet)
    kind = _StoreReader if options.prometheus else _CurrentReader
    reader = kind(options, SystemClock(awake_ns), notes)
    if _is_on_screen(options):
        # Late: the screen's library is slow to import.
        from probetui.cli.commands.fleet_screen import show_fleet

        shown = show_fleet(reader, options, notes)
        if isinstance(shown, int):
            return shown
        return _tell_holes(shown, options, notes)
    answer = asyncio.run(reader.read(Progress(notes, reader.parts).tell))
    if kind is _CurrentReader:
        notes.note(answer.about)
    emit(
        FleetReport(
            answer.rows,
            answer.containers,
            (answer.about, *answer.holes),
            has_headings=not options.no_headers,
            is_ascii=options.ascii or not draws_unicode(sys.stdout),
        ),
        options.output,
    )
    if not answer.rows and not answer.holes:
        notes.note(answer.calm)
    return _tell_holes(answer, options, notes)


def _is_on_screen(options: FleetOptions) -> bool:
    """Return whether there is a screen, and no other form is asked for.

    Raises:
        UsageError: a screen is wanted where there can be none.
    """
    context = click.get_current_context(silent=True)
    is_named = context is not None and (
        context.get_parameter_source("output") is ParameterSource.COMMANDLINE
    )
    if options.form is None and (is_named or options.explain_queries):
        return False
    form = choose_form(
        Terminal.here(),
        wanted=options.form,
        reads_stdin="-" in options.filenames,
        records_to_stdout=False,
    )
    return form is Form.SCREEN


def _tell_holes(answer: FleetAnswer, options: FleetOptions, notes: Notes) -> int:
    """Warn of what could not be answered, and return the exit status."""
    for hole in answer.holes:
        notes.warning(hole)
    return _HOLES if options.strict and answer.holes else 0


def fleet_row(
    stored: StoredContainer,
    source: Manifested | ClusterSettings | None,
    query: FleetQuery,
) -> FleetRow:
    """Return a container with what its samples of a time show."""
    settings = None if source is None else source.settings(stored)
    samples = stored.samples
    bounds = bound_container(samples, settings)
    return FleetRow(
        stored,
        settings,
        bounds,
        failures_over(samples, query.begin, query.end, _PARTS),
        worst_at=_worst_at(stored, bounds, query),
    )


def _worst_at(
    stored: StoredContainer, bounds: ContainerBounds, query: FleetQuery
) -> float:
    """Return when a probe may last have had it killed, else when it was worst."""
    samples = stored.samples
    failed = sorted(new_failures(samples))
    if bounds.probe_kills.most:
        ends = [end.end.at for end in stored.ends if end.end.at is not None]
        times = [at for at in ends if _comes_of_failures(at, failed)] or ends
        times = times or [
            after.at
            for before, after in pairwise(samples.restarts)
            if after.value > before.value
        ]
    else:
        times = [at for at, _ in [*sorted(failed, key=lambda new: new[1])][-1:]]
    times += [sample.at for sample in samples.ready if not sample.value and not times]
    asked = [at for at in times if query.begin <= at <= query.end]
    return max(asked, default=query.end)


def _comes_of_failures(ended_at: float, failed: Sequence[tuple[float, int]]) -> bool:
    """Return whether samples about an end show failures."""
    place = bisect_left(failed, (ended_at - _BEFORE_END, 0))
    return place < len(failed) and failed[place][0] <= ended_at + _AFTER_END


def manifested_by(options: SettingsOptions) -> Manifested | None:
    """Return the settings of -f and --static, or of the package's own pods."""
    is_demo = isinstance(options, StoreOptions) and options.prometheus == DEMO
    if options.filenames or options.static:
        reader = SourceReader(
            options.filenames,
            options.static,
            recursive=options.recursive,
            verifies_tls=not options.insecure_skip_tls_verify,
        )
        sources = reader.read()
    elif is_demo:
        sources = [SourceFile(DEMO, packaged_workloads())]
    else:
        return None
    rules = rules_by(options)
    manifests = load_manifests(sources, rules=rules, stub_missing=True)
    manifests.raise_for_errors(with_warnings=False)
    return Manifested(manifests.loaded, rules)


# -- progress


class Progress:
    """Tells how much has been read."""

    def __init__(self, notes: Notes, parts: str) -> None:
        self._notes, self._parts = notes, parts
        self._told = 0

    def tell(self, done: int, total: int) -> None:
        """Tell it, each tenth of many parts."""
        tenth = done * _TENTHS // max(total, 1)
        if total >= _TENTHS and tenth > self._told:
            self._told = tenth
            self._notes.note(f"{done} of {total} {self._parts} are read")


# -- cells


def _quantile(by_bound: Mapping[float, float]) -> float:
    """Return the bound that all but 1 % are below, infinite beyond the last bucket."""
    total = max(by_bound.values())
    return min(
        (bound for bound, count in by_bound.items() if count >= _QUANTILE * total),
        default=math.inf,
    )


def _pair(bounds: Bounds | None) -> list[int] | None:
    return None if bounds is None else [*bounds]


_ONLY_WIDE = frozenset({"WORKLOAD", "FAILURES", "LAST END", "DOUBTS"})


def fleet_cells(row: FleetRow, *, is_ascii: bool) -> dict[str, str]:
    """Return the cells of a container by the headings of their columns."""
    bounds, name, end = row.bounds, row.stored.name, row.stored.last_end
    code = "" if end.exit_code is None else f" {end.exit_code}"
    about = "~" if row.settings is not None and row.settings.is_of_today else ""
    return {
        "WORKLOAD": workload_of(row.stored),
        "NAMESPACE": name.namespace,
        "POD": name.pod,
        "CONTAINER": name.container,
        "KILLS": about + format_bounds(bounds.probe_kills),
        "NEAR MISSES": about + format_bounds(bounds.near_misses),
        "RESTARTS": format_bounds(bounds.restarts),
        "NOT READY": "?"
        if bounds.not_ready is None
        else _span(bounds.not_ready.least, bounds.not_ready.most),
        "TIME-OUT USED": _share(row.used_of_timeout),
        "START USED": _share(row.start_used_of_budget),
        "FAILURES": "?"
        if row.failures is None
        else sparkline(row.failures, is_ascii=is_ascii),
        "LAST END": f"{end.reason}{code}".strip() or "-",
        "DOUBTS": "; ".join(bounds.doubts) if not bounds.is_exact else "",
        "ADVICE": row.advice,
    }


def format_bounds(bounds: Bounds | None) -> str:
    """Return a number as it is known: `3`, `1-3`, or `?`."""
    if bounds is None:
        return "?"
    if bounds.is_exact:
        return str(bounds.least)
    return f"{bounds.least}-{bounds.most}"


def _span(least: float, most: float) -> str:
    texts = [format_age(timedelta(seconds=round(part))) for part in (least, most)]
    return texts[0] if texts[0] == texts[1] else "-".join(texts)


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _flat(value: Mapping[str, Any]) -> dict[str, object]:
    """Return a value without lists, as a line of CSV has it."""
    flat: dict[str, object] = {}
    for key, cell in value.items():
        if key in {"probe_kills", "near_misses", "not_ready_bounds"}:
            least, most = (None, None) if cell is None else cell
            name = key.removesuffix("_bounds")
            flat[f"{name}_least"], flat[f"{name}_most"] = least, most
        else:
            is_list = isinstance(cell, list | tuple)
            flat[key] = "; ".join(map(str, cell)) if is_list else cell
    return flat


def _csv_cell(cell: object) -> object:
    """Return a cell that a spreadsheet does not take for a formula."""
    if isinstance(cell, str):
        text = safe_line(cell)
        return f"'{text}" if text[:1] in {"=", "+", "-", "@"} else text
    return cell
