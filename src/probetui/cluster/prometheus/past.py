"""The past of a pod, out of a store's samples, as inputs of an observation.

`watch` polls counters and sees statuses; a store has polls that somebody else made, and
what kube-state-metrics says of statuses. So the samples become the inputs that `watch`
has, and one model makes the same journal of both, with what is exact and what is not.

Each worker has polls of its own: the sources of two may have asked at different times.
A status that shows an end comes after the polls that hold the results before that end.
Where restarts are not known, a kill is known from the results alone.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from probetui.cluster.observe.inputs import (
    CountersPolled,
    KubeletFound,
    ObservedInput,
    PodSeen,
    RestartsBounded,
    SeriesCounts,
    Unsampled,
)
from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.observe.observed_pod import sampled_id
from probetui.cluster.observe.sampled_container import (
    ANSWER_SECONDS,
    UNLIMITED,
    ContainerSettings,
    CountsSample,
    RestartCounter,
    Sample,
    changes_since,
    readiness_steps,
    with_processes,
)
from probetui.cluster.prometheus.fleet import LastEnd, SeenEnd, StoredContainer
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.status import (
    ConditionStatus,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
)
from probetui.kubelet.status.conditions import READY

T = TypeVar("T")

_SECOND = timedelta(seconds=1)

_KILLING = (ProbeType.LIVENESS, ProbeType.STARTUP)
_EXIT_CODES = {"Completed": 0, "OOMKilled": 137}
"""Of reasons that have one; old versions of kube-state-metrics have no exit codes."""

_ALL_SAMPLED = Unsampled()
_READINESS_UNKNOWN = PodCondition(READY, ConditionStatus.UNKNOWN)
"""A container of the pod has no samples of its readiness."""
_STATUS_SECONDS = 10.0
"""How late a status may be."""

_STATUS, _BOUNDS, _POLL, _FIRST = 3, 1, 2, 0


class TimedInput(NamedTuple):
    """An input, and when it is submitted."""

    at: datetime
    item: ObservedInput


class _Due(NamedTuple):
    """An input at an instant in Unix seconds; of one instant, in order."""

    at: float
    order: int
    item: ObservedInput


class StoredPod(Struct, frozen=True):
    """A pod as a store has it: its settings, and its containers by name.

    `is_of_today`: its settings may have been others at that time. `ids` are those of
    instances that are known, by the `sampled_id` that they would have.
    """

    pod: Pod
    version: str
    containers: Mapping[str, StoredContainer]
    is_of_today: bool = False
    ids: Mapping[str, str] = {}


def stored_pod(
    containers: Sequence[StoredContainer], settings: ContainerSettings
) -> StoredPod:
    """Return the pod that containers are of, with the settings of its manifest."""
    name = containers[0].name
    pod = replace(settings.pod, uid=name.uid, name=name.pod, namespace=name.namespace)
    return StoredPod(
        pod,
        settings.rules.release,
        {stored.name.container: stored for stored in containers},
        settings.is_of_today,
    )


def past_inputs(stored: StoredPod) -> list[TimedInput]:
    """Return what an observation of the pod would have been fed, in order."""
    due = [*_pod_inputs(stored)]
    for container in stored.containers.values():
        due += _polls(container, stored)
    return [
        TimedInput(datetime.fromtimestamp(at, UTC), item)
        for at, _, item in sorted(due, key=lambda one: one[:2])
    ]


# -- polls


def _polls(container: StoredContainer, stored: StoredPod) -> Iterator[_Due]:
    samples, name = container.samples, container.name
    own = stored.pod.container(name.container)
    if own is None:
        return
    probes = with_processes(samples.probes, ContainerSettings(stored.pod, own))
    restarts = RestartCounter(samples)
    for kind, scrapes in probes.items():
        if own.probe(kind) is None:
            continue
        key = ProbeKey(name.uid, name.container, kind)
        node = f"(of {name.pod}/{name.container} {kind.lower()})"
        created_at, first = samples.created_at, tuple[CountsSample, ...]()
        if created_at is not None and created_at >= samples.since:
            first = (CountsSample(created_at, None),)
        before = CountsSample(-math.inf, None)
        for scrape in (*first, *scrapes):
            at = scrape.at
            bounds = restarts.between(max(before.at, samples.since), at)
            least, most = (None, None) if bounds is None else bounds
            late = at + ANSWER_SECONDS
            bound = RestartsBounded(key, least, most)
            yield _Due(late, _BOUNDS, bound)
            if before.counts is not None and scrape.is_same_process is False:
                # The kubelet's process has ended in between: its counters, too.
                instant = datetime.fromtimestamp(before.at, UTC)
                gone = CountersPolled(node, instant, (), (key,))
                yield _Due(late, _BOUNDS, gone)
            changed: tuple[SeriesCounts, ...] = ()
            gone_keys = (key,) if scrape.counts is None else ()
            if scrape.counts is not None and scrape.counts != before.counts:
                changed = (SeriesCounts(key, *scrape.counts),)
            instant = datetime.fromtimestamp(at, UTC)
            yield _Due(late, _POLL, CountersPolled(node, instant, changed, gone_keys))
            before = scrape


# -- statuses


def _pod_inputs(stored: StoredPod) -> Iterator[_Due]:
    """Yield the pod, the version of its kubelet, and its statuses."""
    samples = [container.samples for container in stored.containers.values()]
    begin = min(each.since for each in samples)
    created = [at for each in samples if (at := each.created_at) is not None]
    if created:
        begin = max(begin, min(created))
    node = "(of its samples)"
    changes: list[tuple[float, ContainerStatus, Unsampled]] = []
    for container in stored.containers.values():
        changes += _container_statuses(container, begin, stored)
    changes.sort(key=lambda change: change[0])
    current: dict[str, ContainerStatus] = {}
    init = {container.name for container in stored.pod.init_containers}
    deleted_at = _deleted_at(stored)
    pod = stored.pod
    yield _Due(begin, _FIRST, KubeletFound(node, stored.version))
    yield _Due(begin, _FIRST, PodSeen(pod, PodStatus(), node, is_news=False))
    for name, container in stored.containers.items():
        own = pod.container(name)
        # That there are bounds says that its polls are samples.
        most = UNLIMITED if container.samples.restarts else None
        for kind in ProbeType:
            if own is not None and own.probe(kind) is not None:
                key = ProbeKey(pod.uid, name, kind)
                bound = RestartsBounded(key, None if most is None else 0, most)
                yield _Due(begin, _FIRST, bound)
    for at, status, unsampled in changes:
        # Without restarts instances are numbered from the first that is known of.
        has_restarts = bool(stored.containers[status.name].samples.restarts)
        ids = stored.ids if has_restarts else {}
        current[status.name] = _identified(status, ids)
        if at >= deleted_at and pod.deletion_requested_at is None:
            instant = _second(deleted_at)
            pod = replace(pod, deletion_requested_at=instant)
        has_readiness = all(stored.containers[each].samples.ready for each in current)
        statuses = PodStatus(
            PodPhase.RUNNING,
            conditions=() if has_readiness else (_READINESS_UNKNOWN,),
            init_container_statuses=tuple(
                each for each in current.values() if each.name in init
            ),
            container_statuses=tuple(
                each for each in current.values() if each.name not in init
            ),
        )
        order = _FIRST if at <= begin else _STATUS
        unknown = {} if unsampled == _ALL_SAMPLED else {status.name: unsampled}
        seen = PodSeen(pod, statuses, node, is_news=False, unsampled=unknown)
        yield _Due(at, order, seen)


def _identified(status: ContainerStatus, ids: Mapping[str, str]) -> ContainerStatus:
    """Return a status with the IDs of those instances that are known."""

    def identified(state: T) -> T:
        if isinstance(state, Terminated):
            own_id = ids.get(state.container_id, state.container_id)
            return replace(state, container_id=own_id)
        return state

    return replace(
        status,
        container_id=ids.get(status.container_id, status.container_id),
        state=identified(status.state),
        last_state=identified(status.last_state),
    )


def known_ids(uid: str, status: PodStatus) -> dict[str, str]:
    """Return the IDs of a pod's newest instances, by the `sampled_id` of each."""
    ids: dict[str, str] = {}
    for each in (
        *(status.init_container_statuses or ()),
        *(status.container_statuses or ()),
    ):
        count = each.restart_count
        ids[sampled_id(uid, each.name, count)] = each.container_id
        last = each.last_state
        # In back-off, the newest instance is the last one that ended.
        if isinstance(last, Terminated) and last.container_id != each.container_id:
            ids[sampled_id(uid, each.name, count - 1)] = last.container_id
    return {sampled: own_id for sampled, own_id in ids.items() if own_id}


def feed(
    observation: ClusterObservation,
    inputs: Iterable[TimedInput],
    begin: datetime,
    end: datetime,
) -> Iterator[None]:
    """Feed an observation with a past, and yield after each input.

    What is overdue is looked at once a second, as in a session.
    """
    checked_until = begin
    for at, item in inputs:
        if at >= checked_until:
            checked_until = at + _SECOND
            while (due := observation.next_deadline()) is not None and due <= at:
                observation.check(due)
        observation.submit(item, min(max(at, begin), end))
        yield
    observation.check(end)
    yield


def _deleted_at(stored: StoredPod) -> float:
    """Return the first sample that shows the pod being deleted, infinite for none."""
    for container in stored.containers.values():
        samples = container.samples
        later = [each.at for each in samples.restarts if each.at > samples.alive_until]
        if later and samples.alive_until > -math.inf:
            return later[0]
    return math.inf


def _container_statuses(
    container: StoredContainer, begin: float, stored: StoredPod
) -> Iterator[tuple[float, ContainerStatus, Unsampled]]:
    """Yield the statuses of a container, when each is to be known, and what is not."""
    samples, name = container.samples, container.name
    if not samples.restarts:
        # Its probes show that it runs, and nothing more.
        instance = sampled_id(name.uid, name.container, 0)
        running = ContainerStatus(name.container, instance, Running(), started=True)
        first = min((each[0].at for each in samples.probes.values()), default=begin)
        unsampled = Unsampled(started=_instant(begin))
        yield max(begin, first + ANSWER_SECONDS), running, unsampled
        return
    times = [sample.at for sample in samples.ready]
    if samples.restarts[0].value and (samples.created_at or 0) >= samples.since:
        instance = sampled_id(name.uid, name.container, 0)
        status = ContainerStatus(name.container, instance, Running(), started=True)
        yield begin, status, _ALL_SAMPLED
    polled = sorted(
        scrape.at
        for kind in _KILLING
        for scrape in samples.probes.get(kind, ())
        if scrape.counts is not None
    )
    owners = _owners(container)
    unknown = _unsampled(container, stored, owners, begin)
    latest, was = begin, None
    for seen_at, value in samples.restarts:
        count = int(value)
        place = bisect_right(times, seen_at) - 1
        is_ready = place >= 0 and samples.ready[place].value == 1.0
        seen = [each for each in container.ends if each.seen_at <= seen_at]
        ended = seen[-1] if seen else None
        status = _status(container, count, ended and (ended, owners[ended]))
        if isinstance(status.state, Running):
            began = _began_at(container, count, seen_at)
            state = Running(None if began is None else _second(began))
            status = replace(status, state=state, ready=is_ready)
        unsampled = unknown[seen_at]
        if status == was and unsampled == _ALL_SAMPLED:
            continue
        at = seen_at + ANSWER_SECONDS
        if ended is not None and ended.end.at is not None and was is not None:
            place = bisect_left(polled, ended.end.at)
            if place < len(polled):
                at = max(at, polled[place] + ANSWER_SECONDS)
        latest, was = max(latest, at), status
        yield latest, status, unsampled


def _unsampled(
    container: StoredContainer,
    stored: StoredPod,
    owners: Mapping[SeenEnd, int],
    begin: float,
) -> dict[float, Unsampled]:
    """Return what samples do not tell, by when they were taken."""
    unsteady = deque(_unsteady(container, stored))
    unknown: dict[float, Unsampled] = {}
    counted = None
    for seen_at, value in container.samples.restarts:
        ready = started = None
        while unsteady and unsteady[0][1] <= seen_at:
            since, _ = unsteady.popleft()
            ready = ready or _instant(since)
        if value != counted:
            counted = value
            not_begun = _not_begun(container, int(value), owners, begin)
            started = None if not_begun is None else _instant(not_begun)
        unknown[seen_at] = Unsampled(ready, started)
    return unknown


def _unsteady(
    container: StoredContainer, stored: StoredPod
) -> Iterator[tuple[float, float]]:
    """Yield the times between two samples in which readiness may have changed."""
    samples, own = container.samples, stored.pod.container(container.name.container)
    settings = None if own is None else ContainerSettings(stored.pod, own)
    samples = replace(samples, probes=with_processes(samples.probes, settings))
    restarts = RestartCounter(samples)
    for before, after, is_steady in readiness_steps(samples, restarts, settings):
        if is_steady:
            continue
        since = None
        if settings is not None and restarts.is_steady(before.at, after.at):
            # What runs was started after the ends before.
            ends = [seen.end.at or 0 for seen in container.ends]
            ended_at = max((at for at in ends if at <= before.at), default=0.0)
            since = changes_since(samples, settings, before, after, ended_at)
        if since is None:
            yield before.at, after.at
        elif since < after.at:
            yield max(since, before.at), after.at


def _not_begun(
    container: StoredContainer,
    count: int,
    owners: Mapping[SeenEnd, int],
    begin: float,
) -> float | None:
    """Return when an instance may not have been started yet, None if that is known.

    If the end before it is not known, it is the last time at which one surely ran.
    """
    samples, restarts = container.samples, container.samples.restarts
    counts = [int(each.value) for each in restarts]
    place = counts.index(count)
    started = [
        each.value for each in container.starts if each.at <= restarts[place].at
    ][-1:]
    if not place:
        return None if started else begin
    before = restarts[place - 1]
    is_known = any(at > before.at - _STATUS_SECONDS for at in started)
    ended = [end.end.at for end, owner in owners.items() if owner == count - 1]
    if count - int(before.value) == 1 and ended and ended[0] is not None:
        return None if is_known else min(ended[0], restarts[place].at)
    well = [
        each.at for each in samples.ready if each.at <= before.at and each.value == 1.0
    ]
    first = counts.index(int(before.value))
    return max([restarts[first - 1].at if first else begin, *well[-1:]])


def _owners(container: StoredContainer) -> dict[SeenEnd, int]:
    """Return which instance each end is of, by restart counts.

    A sample that has both another count and another end may be of a restart after that
    end, or of one before it.
    """
    restarts = container.samples.restarts
    owners: dict[SeenEnd, int] = {}
    for place, seen in enumerate(container.ends):
        at = bisect_right(restarts, seen.seen_at + ANSWER_SECONDS, key=_time) - 1
        count = int(restarts[max(at, 0)].value)
        following = next((each.at for each in restarts if each.value > count), math.inf)
        newer = container.ends[place + 1 :]
        # What ends last before a restart is what is restarted.
        is_restarted = following < math.inf and not (
            newer and newer[0].seen_at <= following
        )
        began_at = next(each.at for each in restarts if each.value == count)
        is_new = began_at + ANSWER_SECONDS >= seen.seen_at
        is_earlier = is_new and not is_restarted and count - 1 not in owners.values()
        owners[seen] = count - 1 if is_earlier and count else count
    return owners


def _status(
    container: StoredContainer, count: int, ended: tuple[SeenEnd, int] | None
) -> ContainerStatus:
    """Return the status of the instance after so many restarts."""
    name = container.name
    status = ContainerStatus(
        name.container,
        sampled_id(name.uid, name.container, count),
        Running(),
        started=True,
        restart_count=count,
    )
    if ended is None or (code := _exit_code(ended[0].end)) is None:
        return status
    seen, owner = ended
    end = Terminated(
        code,
        seen.end.reason,
        finished_at=_second(seen.end.at or 0),
        container_id=sampled_id(name.uid, name.container, owner),
    )
    if owner < count:
        return replace(status, last_state=end)
    return replace(status, state=end)


def _instant(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _second(at: float) -> datetime:
    """Return an instant as statuses have it: in whole seconds, also in a record."""
    return datetime.fromtimestamp(math.floor(at), UTC)


def _time(sample: Sample) -> float:
    return sample.at


def _began_at(container: StoredContainer, count: int, seen_at: float) -> float | None:
    """Return when an instance was started, or about when: before its end.

    None if it may have run for long before the first sample.
    """
    place = bisect_right(container.starts, seen_at, key=_time) - 1
    if place >= 0:
        return container.starts[place].value
    first = next(
        sample.at for sample in container.samples.restarts if sample.value == count
    )
    created_at = container.samples.created_at or 0.0
    if (
        first == container.samples.restarts[0].at
        and created_at < container.samples.since
    ):
        return None
    later = (
        at
        for seen in container.ends
        if seen.seen_at > first and (at := seen.end.at) is not None
    )
    return min(first, next(later, first))


def _exit_code(end: LastEnd) -> int | None:
    return _EXIT_CODES.get(end.reason) if end.exit_code is None else end.exit_code
