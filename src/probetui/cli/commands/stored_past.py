"""`why` with a store: a record of a pod's past, made of a store's samples."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from probetui.cli.commands.fleet_report import manifested_by
from probetui.cli.commands.why_report import SETTINGS_ARE_OF_TODAY
from probetui.cli.option_values import rules_by
from probetui.cli.printing import Notes
from probetui.cli.session.recording import make_header, open_writer
from probetui.cli.store_options import (
    note_store,
    now_of,
    past_instant,
    store_access,
    store_labels,
    told_queries,
)
from probetui.cli.store_settings import KnownSettings, known_settings
from probetui.cluster.observe.inputs import (
    ObservedInput,
    ObservedInputEncoder,
    Remark,
)
from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.observe.sampled_container import (
    NO_COUNTERS,
    NO_RESTARTS,
    NO_SETTINGS,
    OTHER_SETTINGS,
    SETTINGS_OF_TODAY,
    ContainerSettings,
    bound_container,
)
from probetui.cluster.prometheus.client import StoreClient, StoreError
from probetui.cluster.prometheus.fleet import FleetQuery, FleetStore, StoredContainer
from probetui.cluster.prometheus.past import (
    StoredPod,
    TimedInput,
    feed,
    past_inputs,
    stored_pod,
)
from probetui.cluster.prometheus.workloads import Manifested, workload_of
from probetui.drive.clocks import SystemClock, awake_ns
from probetui.errors import RecordError, UsageError
from probetui.kubelet.config import KubeletConfig
from probetui.record.format import RecordContext
from probetui.record.masking import Mask, find_pod_secrets
from probetui.record.writer import SUFFIX, Recorder, RecordWriter

if TYPE_CHECKING:
    from probetui.cli.commands.inspection import WhyOptions

_BEFORE = timedelta(hours=1)
"""Of that time are the samples: as long as a crash loop is worth following."""

_AFTER = timedelta(minutes=3)
"""An end is in the samples after it; scrapes may be a minute apart."""

_MINUTE = timedelta(minutes=1)
_TO_THE_MINUTE = re.compile(r"(?:.*[ T])?\d{1,2}:\d\d(?:Z|[+-]\d\d:?\d\d)?")
_MOST_PARTS = 3
_TOLD = frozenset({NO_COUNTERS, NO_RESTARTS, NO_SETTINGS, OTHER_SETTINGS})
_ENDED = "the store's samples end here"


class PastRecord(NamedTuple):
    """A record, and the instant asked about, None for its end.

    `has_holes` is whether something could not be answered.
    """

    path: Path
    asked: datetime | None
    has_holes: bool


class NamedContainer(NamedTuple):
    """A pod, and one of its containers; empty for any."""

    namespace: str
    pod: str
    container: str


def named_container(text: str) -> NamedContainer:
    """Return what POD, NAMESPACE/POD or NAMESPACE/POD/CONTAINER means.

    Raises:
        UsageError: it is none of these.
    """
    parts = text.split("/")
    if not all(parts) or len(parts) > _MOST_PARTS:
        raise UsageError(
            f'"{text}" is no pod of a store: write NAMESPACE/POD or '
            "NAMESPACE/POD/CONTAINER"
        )
    if len(parts) == 1:
        return NamedContainer("", parts[0], "")
    return NamedContainer(parts[0], parts[1], "/".join(parts[2:]))


@contextmanager
def past_record(named: NamedContainer, options: WhyOptions) -> Iterator[PastRecord]:
    """Make a record of the past of a pod, and yield it; --record keeps its file.

    Raises:
        UsageError: an option cannot be used.
        ManifestError: what is wrong with the files.
        StoreError: the store cannot be asked, or knows nothing of the pod.
        RecordError: the record cannot be written.
    """
    clock = SystemClock(awake_ns)
    now = now_of(options, clock)
    asked = now if options.at is None else past_instant("--at", options.at, now)
    if asked > now:
        raise UsageError(f'--at "{options.at}" has not come yet')
    begin, end = asked - _BEFORE, min(asked + _AFTER, now)
    notes = Notes(quiet=options.quiet)
    access = store_access(options, notes)
    manifested = manifested_by(options)
    query = FleetQuery(
        begin.timestamp(),
        end.timestamp(),
        store_labels(options),
        named.namespace,
        named.pod,
    )
    client = StoreClient(access)
    with told_queries(clock, explains=options.explain_queries) as tell:
        client.on_query = tell.tell
        stored, holes, known = asyncio.run(
            _read(client, query, options, manifested, notes)
        )
    pods = _pods(stored, known, named, notes)
    with TemporaryDirectory() as folder:
        target = options.record or str(Path(folder) / f"past.jsonl{SUFFIX}")
        writer = open_writer(target)
        rules = rules_by(options)
        config = KubeletConfig(rules.release, rules.feature_gates)
        origin = f"samples of {client.shown_url}"
        _write(writer, pods, (begin, end), origin, config)
        instant = None
        if options.at is not None:
            # 03:12 is all of that minute.
            is_minute = bool(_TO_THE_MINUTE.fullmatch(options.at.strip()))
            instant = max(begin, min(asked + is_minute * _MINUTE, end))
        yield PastRecord(Path(target), instant, has_holes=bool(holes))


async def _read(
    client: StoreClient,
    query: FleetQuery,
    options: WhyOptions,
    manifested: Manifested | None,
    notes: Notes,
) -> tuple[list[StoredContainer], list[str], KnownSettings]:
    """Return the containers of a pod, what could not be answered, and settings."""
    async with client:
        store = FleetStore(client, query)
        stored = await store.read(await store.find_pods())
        note_store(client, SystemClock(awake_ns), notes)
    if not stored:
        raise StoreError(store.holes[0])
    for hole in store.holes:
        notes.warning(hole)
    async with known_settings(manifested, options, rules_by(options)) as known:
        if known.source is not None:
            await known.source.learn(stored)
    known.tell(notes)
    return stored, store.holes, known


def _pods(
    stored: Sequence[StoredContainer],
    known: KnownSettings,
    named: NamedContainer,
    notes: Notes,
) -> list[StoredPod]:
    """Return the pods that containers are of: of one name, one after the other.

    What the samples lack, or do not fit, is noted.
    """
    namespaces = sorted({each.name.namespace for each in stored})
    if len(namespaces) > 1:
        raise UsageError(
            f"pods {named.pod} are in namespaces {', '.join(namespaces)}: write "
            f"{namespaces[0]}/{named.pod}"
        )
    of_pods: dict[str, list[StoredContainer]] = defaultdict(list)
    for each in stored:
        of_pods[each.name.uid].append(each)
    pods, doubts = [], []
    for containers in of_pods.values():
        settings = [_settings(known, each) for each in containers]
        for each, own in zip(containers, settings, strict=True):
            found = bound_container(each.samples, own).doubts
            doubts += [
                f"{each.name.container}: {text}" for text in found if text in _TOLD
            ]
        own = next((each for each in settings if each is not None), None)
        if own is not None:
            pods.append(stored_pod(containers, own))
    if not pods:
        workload, namespace = workload_of(stored[0]), namespaces[0]
        if isinstance(known.source, Manifested):
            raise UsageError(
                f"no manifest of -f is of pod {named.pod}, which is of {workload} in "
                f"namespace {namespace}"
            )
        raise UsageError(
            "a store has no thresholds and periods, and neither has the cluster of pod "
            f"{named.pod} of {workload} in namespace {namespace}"
            f"{f' ({known.problem})' if known.problem else ''}: name the manifest "
            "with -f"
        )
    for text in doubts:
        notes.warning(text)
    return pods


def _settings(
    known: KnownSettings, stored: StoredContainer
) -> ContainerSettings | None:
    return None if known.source is None else known.source.settings(stored)


def _write(
    writer: RecordWriter,
    pods: Sequence[StoredPod],
    asked: tuple[datetime, datetime],
    origin: str,
    config: KubeletConfig,
) -> None:
    """Feed an observation, and write what it was fed and what it made of it."""
    begin, end = asked
    inputs = sorted(
        (timed for stored in pods for timed in past_inputs(stored)),
        key=lambda timed: timed.at,
    )
    # Before that the store has nothing.
    begin = max(begin, inputs[0].at)
    by_uid = {stored.pod.uid: stored.pod for stored in pods}
    inputs[:0] = [
        TimedInput(
            begin,
            Remark(f"{stored.pod.name}: {SETTINGS_OF_TODAY}", is_fault=True),
        )
        for stored in pods
        if stored.is_of_today
    ]
    mask = Mask(find_pod_secrets(by_uid.values()))
    recorder = Recorder(writer, RecordContext(started_at=begin, pods=by_uid, mask=mask))
    is_of_today = any(stored.is_of_today for stored in pods)
    known = {SETTINGS_ARE_OF_TODAY: True} if is_of_today else {}
    recorder.begin(
        make_header((), origin, config, known, show_secrets=False, observed=True)
    )
    encoder = ObservedInputEncoder(mask)
    observation = ClusterObservation(begin)

    def on_input(item: ObservedInput | None, now: datetime, sequence: int) -> None:
        json = None if item is None else encoder.encode(item)
        recorder.note_input(json, now, sequence)

    observation.on_input = on_input
    for _ in feed(observation, inputs, begin, end):
        recorder.consume(observation.take_entries())
    recorder.end(_ENDED, 0, end)
    if recorder.problem:
        raise RecordError(recorder.problem)
