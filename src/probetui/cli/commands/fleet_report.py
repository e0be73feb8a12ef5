"""`probetui fleet`: the containers whose probes hurt, by what a store has kept."""

from __future__ import annotations

import asyncio
import csv
import io
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from probetui.cli.files import SourceReader
from probetui.cli.option_values import rules_by
from probetui.cli.printing import Notes
from probetui.cli.reports import emit
from probetui.cli.store_options import (
    QueryCount,
    asked_time,
    store_access,
    store_labels,
    told_queries,
)
from probetui.cli.terminal import draws_unicode
from probetui.cluster.observe.result_run import Bounds
from probetui.cluster.observe.sampled_container import (
    NO_SETTINGS,
    ContainerBounds,
    ContainerSamples,
    ContainerSettings,
    bound_container,
    failures_over,
)
from probetui.cluster.prometheus.client import StoreAccess, StoreClient
from probetui.cluster.prometheus.fleet import (
    FleetQuery,
    FleetStore,
    StoredContainer,
)
from probetui.cluster.prometheus.workloads import Manifested, workload_of
from probetui.drive.clocks import SystemClock, awake_ns
from probetui.durations import format_age
from probetui.k8s.probe import ProbeType
from probetui.manifest.load import load_manifests
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
_PARTS = 24
"""Of the time, in which failures are counted apart."""

_TENTHS = 10
"""Progress is told so often, at most."""


class FleetRow(Struct, frozen=True):
    """A container, and what its samples show.

    Attributes:
        failures: of all its probes, in equal parts of the time; None if not known.
    """

    stored: StoredContainer
    settings: ContainerSettings | None
    bounds: ContainerBounds
    failures: Sequence[int] | None

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
            yield Document(table_page("fleet", self._sentence(), self._notes, table))
            return
        yield table

    def _sentence(self) -> str:
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


def print_fleet(options: FleetOptions) -> int:
    """Print the containers whose probes hurt; return the exit status.

    Raises:
        UsageError: an option cannot be used.
        ManifestError: what is wrong with the files.
        StoreError: the store cannot be asked.
    """
    notes = Notes(quiet=options.quiet)
    clock = SystemClock(awake_ns)
    begin, end = asked_time(options, clock.now())
    access = store_access(options, notes)
    manifested = manifested_by(options)
    query = FleetQuery(begin, end, store_labels(options), options.namespace or "")
    with told_queries(clock, explains=options.explain_queries) as tell:
        store, rows = asyncio.run(_read(access, query, manifested, notes, tell))
    times = " to ".join(
        f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC" for at in (begin, end)
    )
    about = (f"{store.shown_url}, {times}", *store.holes)
    emit(
        FleetReport(
            rows,
            store.containers,
            about,
            has_headings=not options.no_headers,
            is_ascii=not draws_unicode(sys.stdout),
        ),
        options.output,
    )
    length = format_age(timedelta(seconds=end - begin))
    if not rows:
        notes.note(
            f"{store.containers} containers in the store: none failed, was restarted "
            f"or became not ready in {length}"
        )
    if any(NO_SETTINGS in row.bounds.doubts for row in rows) and manifested is None:
        notes.note(f"{NO_SETTINGS}, to tell kills by probes from other restarts")
    for hole in store.holes:
        notes.warning(hole)
    return _HOLES if options.strict and store.holes else 0


async def _read(
    access: StoreAccess,
    query: FleetQuery,
    manifested: Manifested | None,
    notes: Notes,
    tell: QueryCount,
) -> tuple[FleetStore, list[FleetRow]]:
    async with StoreClient(access) as client:
        client.on_query = tell.tell
        store = FleetStore(client, query)
        names = await store.find()
        store.on_progress = _Progress(notes).tell
        rows = await store.read_each(
            names, lambda stored: fleet_row(stored, manifested, query).without_samples()
        )
        for warning in client.warnings:
            notes.note(f"the store says: {warning}")
    return store, rows


def fleet_row(
    stored: StoredContainer, manifested: Manifested | None, query: FleetQuery
) -> FleetRow:
    """Return a container with what its samples of a time show."""
    settings = None if manifested is None else manifested.settings(stored)
    samples = stored.samples
    failures = failures_over(samples, query.begin, query.end, _PARTS)
    return FleetRow(stored, settings, bound_container(samples, settings), failures)


def manifested_by(options: SettingsOptions) -> Manifested | None:
    """Return the settings of -f and --static, None without them."""
    if not options.filenames and not options.static:
        return None
    rules = rules_by(options)
    reader = SourceReader(
        options.filenames,
        options.static,
        recursive=options.recursive,
        verifies_tls=not options.insecure_skip_tls_verify,
    )
    manifests = load_manifests(reader.read(), rules=rules, stub_missing=True)
    manifests.raise_for_errors(with_warnings=False)
    return Manifested(manifests.loaded, rules)


# -- progress


class _Progress:
    """Tells how much of the samples has been read."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._told = 0

    def tell(self, done: int, total: int) -> None:
        """Tell it, each tenth of many parts."""
        tenth = done * _TENTHS // max(total, 1)
        if total >= _TENTHS and tenth > self._told:
            self._told = tenth
            self._notes.note(f"{done} of {total} parts of the samples are read")


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
    return {
        "WORKLOAD": workload_of(row.stored),
        "NAMESPACE": name.namespace,
        "POD": name.pod,
        "CONTAINER": name.container,
        "KILLS": _range(bounds.probe_kills),
        "NEAR MISSES": _range(bounds.near_misses),
        "RESTARTS": _range(bounds.restarts),
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


def _range(bounds: Bounds | None) -> str:
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
