"""The samples that a record of an observation holds, as a store would have them.

`watch` polls counters and sees statuses, and a record has both: with them, what a
store's samples answer is answered of a record, too. Polls that changed nothing are kept
where one that did follows; a status holds until the next one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from datetime import datetime

from msgspec import Struct, field

from probetui.cluster.observe.inputs import (
    CountersLost,
    CountersPolled,
    KubeletFound,
    ObservedInputDecoder,
    PodGone,
    PodSeen,
    PollFailed,
    RestartsBounded,
)
from probetui.cluster.observe.node_clock import NodeClock, moved_status
from probetui.cluster.observe.probe_counters import ProbeCounts
from probetui.cluster.observe.result_run import Bounds
from probetui.cluster.observe.sampled_container import (
    ContainerSamples,
    ContainerSettings,
    CountsSample,
    RestartCounter,
    Sample,
)
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.status import ContainerStatus, Running
from probetui.kubelet_rules import PORTED_RULES, rules_of
from probetui.record.reader import RecordingFile
from probetui.record.values import DamageError

_MOMENT = 0.001


class RecordedContainer(Struct, frozen=True):
    """A container of an observed pod, and the samples of it.

    Attributes:
        settings: the pod's newest ones.
        samples: of the container.
        started: when the instance that runs was started, by time.
        restarts: its restart counter; None to take that of the samples.
        is_edited: whether a probe was changed meanwhile.
    """

    settings: ContainerSettings
    samples: ContainerSamples
    started: tuple[Sample, ...]
    restarts: RestartCounter | None = None
    is_edited: bool = False


_Times = tuple[float, float]


class _BoundedRestarts(RestartCounter):
    """A restart counter of a record of a store's samples: bounds at each poll."""

    def __init__(
        self, samples: ContainerSamples, bounds: dict[_Times, Bounds | None]
    ) -> None:
        super().__init__(samples)
        self._bounds_between = bounds

    def between(self, begin: float, end: float) -> Bounds | None:
        """Return the bounds that were recorded for a time."""
        return self._bounds_between.get((begin, end)) or super().between(begin, end)


class _ContainerSeries(Struct):
    """What has been read of one container."""

    probes: dict[ProbeType, list[CountsSample]] = field(
        default_factory=lambda: defaultdict(list)
    )
    restarts: list[Sample] = field(default_factory=list)
    ready: list[Sample] = field(default_factory=list)
    started: list[Sample] = field(default_factory=list)
    bounds: dict[_Times, Bounds | None] = field(default_factory=dict)
    next_bounds: dict[ProbeType, Bounds | None] = field(default_factory=dict)
    status: ContainerStatus | None = None

    def see(self, status: ContainerStatus, at: float) -> None:
        """Add a status."""
        before, self.status = self.status, status
        for samples, value in (
            (self.restarts, float(status.restart_count)),
            (self.ready, float(status.ready)),
        ):
            if before is not None and samples and samples[-1].value != value:
                samples.append(Sample(at - _MOMENT, samples[-1].value))
            if not samples or samples[-1].value != value:
                samples.append(Sample(at, value))
        state = status.state
        if isinstance(state, Running) and state.started_at is not None:
            started_at = state.started_at.timestamp()
            if not self.started or self.started[-1].value != started_at:
                self.started.append(Sample(at, started_at))

    def end(self, at: float) -> None:
        """Hold the last status until an instant."""
        for samples in (self.restarts, self.ready):
            if samples:
                samples.append(Sample(at, samples[-1].value))


class _PodSamples(Struct):
    """What has been read of one pod."""

    pod: Pod
    node: str
    created_at: float | None
    alive_until: float = -math.inf
    gone_at: float = math.inf
    is_edited: bool = False
    containers: dict[str, _ContainerSeries] = field(
        default_factory=lambda: defaultdict(_ContainerSeries)
    )


class _NodeSeries(Struct):
    """What has been read of one kubelet."""

    clock: NodeClock = field(default_factory=NodeClock)
    counts: dict[ProbeKey, ProbeCounts] = field(default_factory=dict)
    polled_at: float | None = None
    has_failed: bool = False
    ended: set[ProbeKey] = field(default_factory=set)
    version: str = ""


class RecordedInputs:
    """The inputs of one record, read in order.

    Args:
        since: when the record begins, in Unix seconds.
    """

    def __init__(self, since: float) -> None:
        self._since = since
        self._pods: dict[str, _PodSamples] = {}
        self._nodes: dict[str, _NodeSeries] = defaultdict(_NodeSeries)

    def read(self, item: object, now: datetime) -> None:
        """Read an input."""
        at = now.timestamp()
        match item:
            case PodSeen():
                self._see(item, now)
            case PodGone(uid) if uid in self._pods:
                self._pods[uid].gone_at = at
            case KubeletFound(node, version):
                self._nodes[node].version = version
            case PollFailed(node) | CountersLost(node):
                self._nodes[node].has_failed = True
            case RestartsBounded(key, least, most) if key.pod_uid in self._pods:
                of_it = self._pods[key.pod_uid].containers[key.container_name]
                known = None if least is None or most is None else Bounds(least, most)
                of_it.next_bounds[key.probe_type] = known
            case CountersPolled():
                self._poll(item)
            case _:
                pass

    def _see(self, seen: PodSeen, now: datetime) -> None:
        at, uid = now.timestamp(), seen.pod.uid
        statuses = seen.status.container_statuses or ()
        statuses += seen.status.init_container_statuses or ()
        known = self._pods.get(uid)
        if known is None:
            is_new = not any(each.container_id for each in statuses)
            is_new = is_new and not _is_sampled(seen.node)
            known = _PodSamples(seen.pod, seen.node, at if is_new else None)
            self._pods[uid] = known
        elif seen.pod != known.pod:
            known.is_edited |= _probes(seen.pod) != _probes(known.pod)
            known.pod = seen.pod
        known.node = seen.node or known.node
        if seen.pod.deletion_requested_at is None:
            known.alive_until = at
        clock = self._nodes[known.node].clock
        for status in statuses:
            own = known.containers[status.name]
            is_start = own.status is not None and own.status.container_id != (
                status.container_id
            )
            begun = (
                status.state.started_at if isinstance(status.state, Running) else None
            )
            if seen.is_news and is_start and begun is not None:
                clock.learn(begun, now)
        moved = moved_status(seen.status, clock.offset)
        for status in (
            *(moved.container_statuses or ()),
            *(moved.init_container_statuses or ()),
        ):
            known.containers[status.name].see(status, at)

    def _poll(self, poll: CountersPolled) -> None:
        node, at = self._nodes[poll.node], poll.asked_at.timestamp()
        has_restarted = any(
            counts[0] < node.counts[key].successes
            or counts[1] < node.counts[key].failures
            for key, *counts in poll.changed
            if key in node.counts
        )
        is_same: bool | None = not has_restarted
        if _is_sampled(poll.node) or (node.has_failed and is_same):
            is_same = None
        for key in poll.gone:
            if at == node.polled_at:
                # A store's process has ended since: its next counters are new.
                node.ended.add(key)
            elif node.counts.pop(key, None) is not None or _is_sampled(poll.node):
                self._add(key, CountsSample(at, None))
        for key, successes, failures in poll.changed:
            counts = ProbeCounts(successes, failures)
            before = node.counts.get(key)
            if node.polled_at is not None:
                # The poll before was of these counts still.
                self._add(
                    key, CountsSample(node.polled_at, before, is_same_process=True)
                )
            node.counts[key] = counts
            has_ended = key in node.ended
            node.ended.discard(key)
            self._add(key, CountsSample(at, counts, False if has_ended else is_same))
        if _is_sampled(poll.node):
            # These are seldom: each counts.
            for key, counts in node.counts.items():
                self._add(key, CountsSample(at, counts))
        node.polled_at, node.has_failed = at, False

    def _add(self, key: ProbeKey, sample: CountsSample) -> None:
        if key.pod_uid not in self._pods:
            return
        container = self._pods[key.pod_uid].containers[key.container_name]
        samples = container.probes[key.probe_type]
        if samples and sample.at <= samples[-1].at:
            return
        begin = samples[-1].at if samples else self._since
        samples.append(sample)
        if key.probe_type in container.next_bounds:
            times = begin, sample.at
            container.bounds[times] = container.next_bounds[key.probe_type]

    def containers(self, ended_at: datetime) -> list[RecordedContainer]:
        """Return what was read of each container with a status or a poll."""
        until = ended_at.timestamp()
        for name, node in self._nodes.items():
            if node.polled_at is None or _is_sampled(name):
                continue
            for key, counts in node.counts.items():
                self._add(
                    key, CountsSample(node.polled_at, counts, is_same_process=True)
                )
        found = []
        for known in self._pods.values():
            version = self._nodes[known.node].version
            rules = rules_of(version) if version else PORTED_RULES
            is_sampled = _is_sampled(known.node)
            for name, own in known.containers.items():
                container = known.pod.container(name)
                if container is None:
                    continue
                if not is_sampled:
                    own.end(min(until, known.gone_at))
                samples = ContainerSamples(
                    self._since,
                    {kind: tuple(each) for kind, each in own.probes.items()},
                    tuple(own.restarts),
                    tuple(own.ready),
                    known.created_at,
                    known.alive_until
                    if known.pod.deletion_requested_at
                    else max(known.alive_until, min(until, known.gone_at)),
                )
                restarts = _BoundedRestarts(samples, own.bounds) if own.bounds else None
                found.append(
                    RecordedContainer(
                        ContainerSettings(known.pod, container, rules),
                        samples,
                        # The starts of samples are about those of instances.
                        () if is_sampled else tuple(own.started),
                        restarts,
                        known.is_edited,
                    )
                )
        return found


def recorded_containers(recording: RecordingFile) -> list[RecordedContainer]:
    """Return the containers of a record of an observation; damaged lines are noted."""
    reading = RecordedInputs(recording.started_at.timestamp())
    decoder = ObservedInputDecoder()
    for number, at in enumerate(recording.instants):
        try:
            json = recording.input(number)
            if json is not None:
                reading.read(decoder.decode(json), at)
        except DamageError as error:
            recording.note_damage(number, error)
    return reading.containers(recording.ended_at)


def _is_sampled(node: str) -> bool:
    """Return whether a node stands for the source of a store's samples."""
    return node.startswith("(")


def _probes(pod: Pod) -> list[object]:
    return [
        (container.name, kind, container.probe(kind))
        for container in pod.all_containers()
        for kind in ProbeType
    ]
