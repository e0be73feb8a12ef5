"""The containers of a cluster without a store: what there is to know now.

A kubelet counts the results of its probes from its start on, a status the restarts of
its pod. So there is one sample of each, and no time at which anything happened. Of a
startup probe the counters are gone with its success.

The counters are read before the statuses, which may be late: a kill that is counted is
followed by a restart that a status soon has. Events of the last hour tell how many
kills there were at least.

Source: prober_manager.go, v1.36.2; server.go, v1.36.2, InstallAuthNotRequiredHandlers
(the start of the process is on the same page).
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from probetui.cluster.api_objects import NodeObject, NodeStatus, NodeSystemInfo
from probetui.cluster.api_objects import read_object as read_api_object
from probetui.cluster.client import EVENTS, NODES, PODS, ApiClient, Object
from probetui.cluster.errors import ClusterError
from probetui.cluster.observe.kubelet_counters import CounterSource
from probetui.cluster.observe.observation import read_event
from probetui.cluster.observe.probe_counters import (
    Durations,
    ProbeCounts,
    SeriesReader,
    read_durations,
    read_process_start,
)
from probetui.cluster.observe.result_run import Bounds
from probetui.cluster.observe.sampled_container import (
    ContainerBounds,
    ContainerSamples,
    ContainerSettings,
    CountsSample,
    Sample,
    bound_container,
)
from probetui.cluster.prometheus.fleet import (
    ContainerName,
    LastEnd,
    StoredContainer,
)
from probetui.k8s.api.codec import ApiFormatError
from probetui.k8s.api.pod import POD
from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.status import (
    ContainerStatus,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet_rules import (
    DEFAULT_VERSION,
    KubeletRules,
    rules_for_kubelet,
    rules_of,
)
from probetui.ports import Clock
from probetui.safe_text import safe_line

T = TypeVar("T")

STARTUP_GONE = "a startup probe's counters are gone with its success"
KUBELET_YOUNGER = "the kubelet counts from its start, which is after that of the pod"
ABOUT = (
    "counters since each kubelet's start, restarts since each pod's: the order of "
    "results, near misses and when it was cannot be told; --prometheus can"
)

_NODES_AT_ONCE = 10
_MOST_NAMED = 20
_SKEW = timedelta(seconds=5)
"""How far the clocks of a node and the API server may be apart."""

_KILLED_BY_PROBE = re.compile("failed (?:liveness|startup) probe")
_STATIC_UID = "kubernetes.io/config.hash"
"""The annotation of a mirror pod with the uid that its kubelet knows."""


class CurrentContainer(NamedTuple):
    """A container that failed, was restarted or is not ready, and its bounds.

    `state` is that of its status in a word, empty for one that runs.
    """

    stored: StoredContainer
    settings: ContainerSettings
    bounds: ContainerBounds
    state: str


class _CountedNode(NamedTuple):
    """What a kubelet counts, and when that was read; no time without an answer."""

    at: datetime | None
    counts: Mapping[ProbeKey, ProbeCounts]
    durations: Durations
    started_at: float | None


_SILENT = _CountedNode(None, {}, {}, None)


class CurrentFleet:
    """Reads containers from an API server and the kubelets of its nodes.

    Args:
        client: the API server.
        counters: of the nodes.
        clock: the wall clock.
        namespace: of the pods, empty for all.

    Attributes:
        holes: what could not be answered, each once.
        containers: how many containers with probes there are.
        on_progress: called with how many of how many nodes have been read.
    """

    def __init__(
        self, client: ApiClient, counters: CounterSource, clock: Clock, namespace: str
    ) -> None:
        self._client, self._counters, self._clock = client, counters, clock
        self._namespace = namespace
        self._rules: dict[str, KubeletRules] = {}
        self._kills: Counter[tuple[str, str]] = Counter()
        self.holes: dict[str, None] = {}
        self.containers = 0
        self.on_progress: Callable[[int, int], None] = lambda _done, _total: None

    async def read_each(self, keep: Callable[[CurrentContainer], T]) -> list[T]:
        """Return what is kept of each container that is not well.

        Raises:
            ClusterError: the pods cannot be listed.
        """
        self._client.on_left_out = lambda error: self._note(f"left out: {error}")
        # Listed twice, as there is no limit of pods: one chunk is in memory at a time.
        names = {_node_name(pod) async for pod in self._pods()} - {""}
        await self._read_rules()
        nodes = await self._read_nodes(sorted(names))
        await self._read_kills()
        kept = []
        async for json in self._pods():
            try:
                pod, status = POD.read(json), POD_STATUS.read(json.get("status") or {})
            except ApiFormatError as error:
                name = safe_line(str(_metadata(json).get("name")), limit=100)
                self._note(f"pod {name} is not shown: {error}")
                continue
            node = _node_name(json)
            found = self._containers(
                pod, status, _owner(json), node, nodes.get(node, _SILENT)
            )
            kept += [keep(each) for each in found]
        return kept

    def _note(self, text: str) -> None:
        self.holes[text] = None

    def _pods(self) -> AsyncIterator[Object]:
        return self._client.objects(PODS, self._namespace)

    async def _read_rules(self) -> None:
        """Read the versions of the kubelets; without them the default's rules hold."""
        try:
            async for json in self._client.objects(NODES):
                self._learn_rules(json)
        except ClusterError as error:
            self._note(f"the versions of the kubelets are not known: {error}")

    def _learn_rules(self, json: Object) -> None:
        try:
            node = read_api_object(NodeObject, json)
        except ClusterError as error:
            self._note(str(error))
            return
        info = (node.status or NodeStatus()).node_info or NodeSystemInfo()
        rules = rules_for_kubelet(info.kubelet_version)
        self._rules[node.metadata.name or ""] = rules

    async def _read_kills(self) -> None:
        """Count the events of kills by probes, of the last hour mostly."""
        fields = "involvedObject.kind=Pod,reason=Killing"
        try:
            async for json in self._client.objects(
                EVENTS, self._namespace, field_selector=fields
            ):
                seen = read_event(json)
                if seen and _KILLED_BY_PROBE.search(seen.event.message):
                    key = seen.event.pod_uid, seen.event.container_name
                    self._kills[key] += seen.count
        except ClusterError as error:
            self._note(f"kills that events tell of are not counted: {error}")

    async def _read_nodes(self, names: list[str]) -> dict[str, _CountedNode]:
        """Read the counters of nodes; name those that refuse, by what they say."""
        turns = asyncio.Semaphore(_NODES_AT_ONCE)
        read: dict[str, _CountedNode] = {}
        refused: dict[str, list[str]] = defaultdict(list)
        errors: dict[str, ClusterError] = {}
        done = 0
        self.on_progress(0, len(names))

        async def read_one(name: str) -> None:
            nonlocal done
            async with turns:
                try:
                    text = await self._counters.fetch(name)
                except ClusterError as error:
                    said = str(error).replace(name, "")
                    refused[said].append(name)
                    errors.setdefault(said, error)
                else:
                    read[name] = _CountedNode(
                        self._clock.now(),
                        SeriesReader().read(text),
                        read_durations(text),
                        read_process_start(text),
                    )
            done += 1
            self.on_progress(done, len(names))

        async with asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(read_one(name))
        for said, of_it in refused.items():
            listed = ", ".join(sorted(of_it)[:_MOST_NAMED])
            more = len(of_it) - _MOST_NAMED
            self._note(
                f"no counters of node{'s' * (len(of_it) > 1)} {safe_line(listed)}"
                f"{f' and {more} more' if more > 0 else ''}: {errors[said]}"
            )
        return read

    # -- containers

    def _containers(
        self,
        pod: Pod,
        status: PodStatus,
        owner: tuple[str, str],
        node_name: str,
        node: _CountedNode,
    ) -> Iterator[CurrentContainer]:
        """Yield the containers of a pod that are not well."""
        rules = self._rules.get(node_name) or rules_of(DEFAULT_VERSION)
        is_over = status.phase in {PodPhase.SUCCEEDED, PodPhase.FAILED}
        for container in (*pod.init_containers, *pod.containers):
            has_probe = any(container.probe(kind) for kind in ProbeType)
            self.containers += has_probe
            own = status.container(container.name) or ContainerStatus(container.name)
            keys = (ProbeKey(_uid(pod), container.name, kind) for kind in ProbeType)
            counts = {
                key.probe_type: node.counts[key] for key in keys if key in node.counts
            }
            has_failed = any(
                counted.failures
                for kind, counted in counts.items()
                if kind is not ProbeType.READINESS
            )
            is_unwell = has_probe and not own.ready and not is_over
            if not has_failed and not own.restart_count and not is_unwell:
                continue
            stored = _stored(pod, own, owner, counts, node, self._clock.now())
            settings = ContainerSettings(pod, container, rules)
            bounds = _bounds(stored, settings, own, node)
            kills = bounds.probe_kills
            uids = {pod.uid, _uid(pod)}
            told = min(sum(self._kills[uid, own.name] for uid in uids), kills.most)
            kills = Bounds(max(kills.least, told), kills.most)
            bounds = replace(bounds, probe_kills=kills)
            yield CurrentContainer(stored, settings, bounds, _state(own))


def _stored(
    pod: Pod,
    status: ContainerStatus,
    owner: tuple[str, str],
    counts: Mapping[ProbeType, ProbeCounts],
    node: _CountedNode,
    now: datetime,
) -> StoredContainer:
    created_at = pod.created_at
    is_same = None
    if created_at is not None and node.started_at is not None:
        is_same = node.started_at <= (created_at - _SKEW).timestamp() or None
    name = ContainerName(pod.namespace, pod.name, pod.uid, status.name)
    at = now if node.at is None else node.at
    samples = ContainerSamples(
        at.timestamp() if created_at is None else created_at.timestamp(),
        {
            kind: (CountsSample(at.timestamp(), counted, is_same),)
            for kind, counted in counts.items()
        },
        restarts=(Sample(now.timestamp(), status.restart_count),),
        created_at=None if created_at is None else created_at.timestamp(),
        alive_until=now.timestamp() if pod.deletion_requested_at is None else 0.0,
    )
    ended = status.last_state
    last_end = LastEnd()
    if isinstance(status.state, Terminated):
        ended = status.state
    if isinstance(ended, Terminated):
        at_end = ended.finished_at
        last_end = LastEnd(
            None if at_end is None else at_end.timestamp(),
            ended.reason,
            ended.exit_code,
        )
    successes_by = {
        kind: by_bound
        for kind in ProbeType
        if (
            by_bound := node.durations.get((pod.namespace, pod.name, status.name, kind))
        )
    }
    return StoredContainer(name, owner, samples, last_end, successes_by)


def _bounds(
    stored: StoredContainer,
    settings: ContainerSettings,
    status: ContainerStatus,
    node: _CountedNode,
) -> ContainerBounds:
    """Return the bounds of a container since its pod was created."""
    bounds = bound_container(stored.samples, settings)
    doubts, probes = [*bounds.doubts], dict(bounds.probes)
    kills, near_misses = bounds.probe_kills, bounds.near_misses
    created_at, counted = stored.samples.created_at, stored.samples.probes
    if counted and (
        created_at is None or node.started_at is None or node.started_at > created_at
    ):
        doubts.append(KUBELET_YOUNGER)
        # How long its starts took is not known.
        probes.pop(ProbeType.STARTUP, None)
    if settings.container.probe(ProbeType.STARTUP) is not None:
        # The one that is starting may be being killed.
        is_starting = not status.has_started
        most = status.restart_count + is_starting
        kills, near_misses = Bounds(kills.least, max(kills.most, most)), None
        doubts.append(STARTUP_GONE)
    return replace(
        bounds,
        probe_kills=kills,
        near_misses=near_misses,
        probes=probes,
        doubts=tuple(dict.fromkeys(doubts)),
    )


def _state(status: ContainerStatus) -> str:
    match status.state:
        case Waiting(reason=reason):
            return reason or "waiting"
        case Terminated(reason=reason):
            return reason or "terminated"
        case Running():
            return "" if status.ready else "not ready"
        case _:
            return "not created"


def _uid(pod: Pod) -> str:
    """Return the uid of a pod that its kubelet knows."""
    return pod.annotations.get(_STATIC_UID) or pod.uid


def _metadata(json: Object) -> dict[str, Any]:
    metadata = json.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _node_name(json: Object) -> str:
    spec = json.get("spec")
    name = spec.get("nodeName") if isinstance(spec, dict) else None
    return name if isinstance(name, str) else ""


def _owner(json: Object) -> tuple[str, str]:
    """Return kind and name of what made a pod, both empty if there is none."""
    references = _metadata(json).get("ownerReferences")
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict) and reference.get("controller") is True:
            kind, name = reference.get("kind"), reference.get("name")
            if isinstance(kind, str) and isinstance(name, str):
                return kind, name
    return "", ""
