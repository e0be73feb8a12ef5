"""What new settings would have made of the time that a store has, for `diff`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from probetui.analysis.settings_diff import ContainerDiff, ProbeChange
from probetui.cli.commands.past_fit_report import format_most, under_value
from probetui.cli.option_values import rules_by
from probetui.cli.printing import Notes
from probetui.cli.store_options import (
    asked_time,
    default_length,
    note_store,
    now_of,
    store_access,
    store_labels,
    told_queries,
)
from probetui.cluster.observe.probe_past import (
    KILLING,
    ContainerPast,
    PastUnder,
    past_under,
)
from probetui.cluster.prometheus.client import LostStoreError, StoreClient, StoreError
from probetui.cluster.prometheus.fleet import FleetQuery
from probetui.cluster.prometheus.workload_past import WorkloadReading
from probetui.cluster.prometheus.workloads import STORED_KINDS, Manifested, WorkloadName
from probetui.drive.clocks import SystemClock, awake_ns
from probetui.manifest.manifests import LoadedPod
from probetui.presentation.settings_diff import DiffHistory, KillHistory, Row

if TYPE_CHECKING:
    from probetui.cli.commands.difference import DiffOptions

_MONTH = timedelta(days=30)
_NO_RESULT = "the store has no result of it"
_OTHER_CHECK = "it asks otherwise now, and what that would have answered is not known"

_OfWorkload = tuple[WorkloadName, str]
_Pasts = Mapping[_OfWorkload, ContainerPast]


def read_history(
    diffs: Sequence[ContainerDiff],
    old: Sequence[LoadedPod],
    options: DiffOptions,
    notes: Notes,
) -> DiffHistory:
    """Return what a store says of each container.

    Args:
        diffs: the containers before and after.
        old: the pods before, which have the settings of the time.
        options: of the command.
        notes: told of the store.

    Raises:
        UsageError: an option cannot be used.
        StoreError: a file of the options cannot be read.
    """
    clock = SystemClock(awake_ns)
    now = now_of(options, clock)
    begin, end = asked_time(options, now, default_length(options, _MONTH))
    query = FleetQuery(begin, end, store_labels(options))
    client = StoreClient(store_access(options, notes))
    # A manifest without a namespace goes to any.
    anywhere = {
        (loaded.object.workload.kind, loaded.object.name)
        for loaded in old
        if not loaded.object.namespace and loaded.pod.namespace == "default"
    }
    names = {
        place: WorkloadName("" if (kind, name) in anywhere else namespace, kind, name)
        for place, (namespace, kind, name) in _changed_workloads(diffs)
    }
    manifested = Manifested(old, rules_by(options))
    with told_queries(clock, explains=options.explain_queries) as tell:
        client.on_query = tell.tell
        pasts, holes = asyncio.run(
            _read(client, query, set(names.values()), manifested, notes)
        )
    times = [f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}" for at in (begin, end)]
    containers = [
        _history(diff, pasts.get((names[place], diff.container)))
        if place in names
        else KillHistory()
        for place, diff in enumerate(diffs)
    ]
    return DiffHistory(client.shown_url, times[0], times[1], holes, containers)


def _changed_workloads(
    diffs: Sequence[ContainerDiff],
) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """Yield the places of the diffs of probes that kill, and whose pods these were."""
    for place, diff in enumerate(diffs):
        workload = diff.old
        if workload is None or workload.kind not in STORED_KINDS:
            continue
        if any(_killing_changes(diff)):
            yield place, (workload.pod.namespace, workload.kind, workload.name)


def _killing_changes(diff: ContainerDiff) -> Iterator[ProbeChange]:
    for change in diff.probes:
        if change.probe_type in KILLING and change.old is not None:
            yield change


async def _read(
    client: StoreClient,
    query: FleetQuery,
    names: set[WorkloadName],
    manifested: Manifested,
    notes: Notes,
) -> tuple[_Pasts, list[str]]:
    """Return the pasts of containers, and what could not be answered."""
    pasts: dict[_OfWorkload, ContainerPast] = {}
    holes: dict[str, None] = {}
    async with client:
        for name in sorted(names):
            reading = WorkloadReading(client, query, name, manifested)
            try:
                found = await reading.read()
            except LostStoreError as error:
                holes[str(error)] = None
                break
            except StoreError as error:
                holes[str(error)] = None
                continue
            holes |= dict.fromkeys(reading.holes)
            for each in found:
                key = name, each.name
                before = pasts.get(key, ContainerPast())
                pasts[key] = before.plus(each.past)
        note_store(client, SystemClock(awake_ns), notes)
    return pasts, [*holes]


def _history(diff: ContainerDiff, past: ContainerPast | None) -> KillHistory:
    rows: list[Row] = []
    lines: list[str] = []
    value: dict[str, Any] = {}
    for change in _killing_changes(diff):
        kind = f"{change.probe_type.lower()} probe"
        own = None if past is None else past.probes.get(change.probe_type)
        value[change.probe_type.lower()] = None
        if own is None:
            lines.append(f"{kind}: {_NO_RESULT}")
            continue
        if change.new is None:
            rows.append(
                Row("history", f"kills by its {kind}", format_most(*own.kills), "0")
            )
            value[change.probe_type.lower()] = {
                "recordedKills": [*own.kills],
                "kills": [0, 0],
            }
            continue
        if change.old is not None and change.new.handler != change.old.handler:
            lines.append(f"{kind}: {_OTHER_CHECK}")
            continue
        under = past_under(own, change.new)
        value[change.probe_type.lower()] = under_value(under)
        after = format_most(*under.after)
        rows.append(
            Row("history", f"kills by its {kind}", format_most(*own.kills), after)
        )
        lines += (f"{kind}: {line}" for line in _lines(under))
    return KillHistory(tuple(rows), tuple(lines), value or None)


def _lines(under: PastUnder) -> Iterator[str]:
    """Yield what two numbers do not say."""
    if under.spared.most:
        likely = ""
        if under.likely_spared is not None:
            likely = f", likely {under.likely_spared} by the runs that healed"
        yield (
            f"{format_most(*under.spared)} of {format_most(*under.before)} would not "
            f"have been{likely}"
        )
    least, most = under.new
    if most is None or most:
        yield f"{format_most(least, most)} would have been besides, of what healed"
    soonest, latest = under.later
    if under.before.most and (soonest, latest) != (0, 0):
        if soonest < 0 < latest:
            yield f"what stays dead: killed up to {-soonest}s sooner, {latest}s later"
        else:
            span = "-".join(str(part) for part in sorted({abs(soonest), abs(latest)}))
            word = "later" if latest > 0 else "sooner"
            yield f"what stays dead would have been killed {span}s {word}"
    yield from (f"not exact: {reason}" for reason in under.reasons)
