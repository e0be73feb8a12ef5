"""ClusterObservation: the state of a cluster's pods from watches and polls.

It does no I/O and reads no clock: each input has its time of arrival, by this program's
clock. The same inputs give the same journal and snapshots.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from probetui.cluster.client import Object
from probetui.cluster.container_logs import LoggedInstance
from probetui.cluster.object_budget import ObjectBudget
from probetui.cluster.observe.expectations import StatusLag
from probetui.cluster.observe.inputs import (
    CountersLost,
    CountersPolled,
    KubeletFound,
    ObservedInput,
    PastEnded,
    PodGone,
    PodSeen,
    PollFailed,
    Remark,
    RestartsBounded,
    SeenEvent,
    SeriesCounts,
    ServerFound,
    ServerLost,
)
from probetui.cluster.observe.node_clock import NodeClock, moved_status, newest_of
from probetui.cluster.observe.observed_pod import ObservedPod, container_of
from probetui.cluster.observe.probe_counters import (
    NodeCounters,
    ProbeCounts,
    SeriesReader,
)
from probetui.engine.snapshot import Snapshot
from probetui.k8s.api.codec import ApiFormatError
from probetui.k8s.api.pod import POD
from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.k8s.status import PodStatus
from probetui.kubelet.journal import EventEntry, JournalEntry, NoteEntry
from probetui.kubelet.runtime.turn import TurnBuilder
from probetui.kubelet_rules import (
    DEFAULT_VERSION,
    KubeletRules,
    rules_of,
)

ENTRIES_SHOWN = 500
_OnInput = Callable[[ObservedInput | None, datetime, int], None]
_MOST_PODS_WAITING = 1_000
_MOST_EVENTS_OF_A_POD = 100
_MOST_CHARACTERS_WAITING = 8 * 2**20
_LONGEST_MESSAGE = 16 * 2**10
"""A probe's output has at most 10 KiB, which is the longest that a kubelet sends."""


class _WaitingEvents:
    """Events that arrived before their pods, as the two watches are independent."""

    def __init__(self) -> None:
        self._of_pods: dict[str, list[SeenEvent]] = {}
        self._characters = 0

    def put(self, seen: SeenEvent) -> None:
        """Store an event; drop those of the oldest pods if necessary."""
        waiting = self._of_pods.setdefault(seen.event.pod_uid, [])
        if len(waiting) < _MOST_EVENTS_OF_A_POD:
            waiting.append(seen)
            self._characters += _characters(seen)
        while (
            len(self._of_pods) > _MOST_PODS_WAITING  # of pods that are not selected
            or self._characters > _MOST_CHARACTERS_WAITING
        ):
            self.remove(next(iter(self._of_pods)))

    def remove(self, uid: str) -> list[SeenEvent]:
        """Remove the events of a pod and return them."""
        waiting = self._of_pods.pop(uid, [])
        self._characters -= sum(map(_characters, waiting))
        return waiting


def _characters(seen: SeenEvent) -> int:
    event = seen.event
    texts = event.pod_uid, event.reason, event.message, event.field_path
    return sum(map(len, texts))


class _ObservedNode:
    """A node's kubelet: its counters, and why they cannot be read."""

    def __init__(self) -> None:
        self.counters = NodeCounters()
        self.reader = SeriesReader()
        self.counts: dict[ProbeKey, ProbeCounts] = {}
        self.periods: dict[ProbeKey, int] = {}
        self.problem: str | None = None
        self.clock = NodeClock()
        self.lag = StatusLag()


class ClusterObservation:
    """Observes the selected pods of a cluster.

    Args:
        started_at: when the observation began.
        selects: the filter for pods that a watch reports; None for all.
    """

    def __init__(
        self,
        started_at: datetime,
        selects: Callable[[Pod], bool] | None = None,
    ) -> None:
        self._started_at = started_at
        self._selects = selects
        self._turn = TurnBuilder()
        self._pods: dict[str, ObservedPod] = {}
        self._budget = ObjectBudget()
        self._has_too_many = False
        self._nodes: dict[str, _ObservedNode] = {}
        self._rules: dict[str, KubeletRules] = {}
        self._reported_versions = 0
        self._newest: deque[JournalEntry] = deque(maxlen=ENTRIES_SHOWN)
        self._restarts = 0
        self._warnings = 0
        self._waiting_events = _WaitingEvents()
        self.on_input: _OnInput | None = None
        """Called with each input before it is applied, and the newest entry's number.

        An input of None only advances the time.
        """
        self.lost_since: datetime | None = None
        """When the API server stopped answering, None while it answers."""
        self.lost_reason = ""

    def submit(self, item: ObservedInput | None, now: datetime) -> None:
        """Apply an input; None only advances the time."""
        if self.on_input is not None:
            self.on_input(item, now, self._turn.sequence)
        match item:
            case None:
                self._check(now)
            case PodSeen():
                self._apply_pod(item, now)
            case PodGone(uid):
                self._remove_pod(uid, now)
            case SeenEvent():
                self._apply_event(item, now)
            case CountersPolled():
                self._apply_counters(item, now)
            case RestartsBounded(key):
                if (observed := self._pods.get(key.pod_uid)) is not None:
                    observed.bound_restarts(item, now)
            case PastEnded():
                self._end_past()
            case _:
                self._apply_contact(item, now)

    def _apply_contact(
        self,
        item: PollFailed
        | CountersLost
        | KubeletFound
        | ServerLost
        | ServerFound
        | Remark,
        now: datetime,
    ) -> None:
        """Apply an input about nodes or the server."""
        match item:
            case PollFailed(node):
                if (known := self._nodes.get(node)) is not None:
                    known.counters.fail()
            case CountersLost(node, reason):
                self._lose_counters(node, reason, now)
            case KubeletFound(node, version):
                self._rules[node] = rules_of(version)
                for observed in self._pods_of(node):
                    observed.use_rules(self._rules[node])
                self._report_versions(now)
            case ServerLost(reason):
                self.lost_since, self.lost_reason = now, reason
            case ServerFound():
                self.lost_since, self.lost_reason = None, ""
            case Remark(text, is_fault):
                self._note(text, now, is_fault=is_fault)

    # -- pods

    def keep_pods(self, uids: AbstractSet[str], now: datetime) -> None:
        """Remove all pods except those of a list."""
        for uid in [uid for uid in self._pods if uid not in uids]:
            self.remove_pod(uid, now)

    def set_pod(self, json: Object, now: datetime, *, is_news: bool = True) -> str:
        """Update a pod; return its UID, empty if it is not selected.

        A pod from a list is no news: it may be old.
        """
        try:
            pod = POD.read(json)
            status = POD_STATUS.read(json.get("status") or {})
        except ApiFormatError as error:
            metadata = json.get("metadata")
            name = metadata.get("name") if isinstance(metadata, dict) else "?"
            self.note(f"pod {name} is not shown: {error}", now, is_fault=True)
            return ""
        if self._selects is not None and not self._selects(pod):
            return ""
        if not self._budget.admit(pod.uid, json):
            self._note_too_many(pod, now)
            return pod.uid if pod.uid in self._pods else ""
        spec = json.get("spec")
        node = spec.get("nodeName") if isinstance(spec, dict) else None
        name = node if isinstance(node, str) else ""
        self.submit(PodSeen(pod, status, name, is_news), now)
        return pod.uid

    def _note_too_many(self, pod: Pod, now: datetime) -> None:
        if not self._has_too_many:
            self._has_too_many = True
            name = f"{pod.namespace}/{pod.name}"
            text = (
                f"there are too many pods to be shown at once: {name} is the first "
                "that is left out; -n and -l choose fewer"
            )
            self.note(text, now, is_fault=True)

    def _report_versions(self, now: datetime) -> None:
        """Report the minor versions of the kubelets each time that one is added."""
        minors = {rules.release.split(".")[1] for rules in self._rules.values()}
        if len(minors) > max(1, self._reported_versions):
            self._reported_versions = len(minors)
            listed = ", ".join(f"1.{minor}" for minor in sorted(minors, key=int))
            self._note(
                f"the nodes have kubelets of {listed}: what comes next is foretold by "
                "the version that most pods have",
                now,
            )

    def _foretelling_rules(self) -> KubeletRules:
        """Return the rules of the kubelet version that most pods run on."""
        releases = Counter(observed.rules.release for observed in self._pods.values())
        (release, _), *_ = releases.most_common(1) or [(DEFAULT_VERSION, 0)]
        return rules_of(release)

    def _apply_pod(self, item: PodSeen, now: datetime) -> None:
        pod, status, node = item.pod, item.status, item.node
        observed = self._pods.get(pod.uid)
        if observed is None:
            observed = ObservedPod(pod, self._turn)
            self._pods[pod.uid] = observed
        if node and not observed.node:
            observed.node = node
            observed.use_rules(self._rules.get(node, observed.rules))
            owner = self._nodes.setdefault(node, _ObservedNode())
            observed.use_lag(owner.lag)
            for probe in observed.probes():
                owner.periods[probe.key] = probe.probe.period_seconds
            if owner.problem is not None:
                observed.lose_counters(owner.problem)
        self._learn_clock(observed, status, now, is_news=item.is_news)
        observed.use_offset(self._offset_of(observed))
        status = moved_status(status, observed.offset)
        if (known := self._nodes.get(observed.node)) is not None:
            observed.counters = known.counters
        observed.update(pod, status, now, item.unsampled)
        for seen in self._waiting_events.remove(pod.uid):
            self._apply_event(seen, now)

    def remove_pod(self, uid: str, now: datetime) -> None:
        """Remove a deleted pod."""
        if uid in self._pods:
            self.submit(PodGone(uid), now)

    def _remove_pod(self, uid: str, now: datetime) -> None:
        self._budget.release(uid)
        observed = self._pods.pop(uid, None)
        if observed is None:
            return
        observed.delete(now)
        self._restarts += observed.restarts
        node = self._nodes.get(observed.node)
        if node is not None:
            for probe in observed.probes():
                node.periods.pop(probe.key, None)

    def _learn_clock(
        self, observed: ObservedPod, status: PodStatus, now: datetime, *, is_news: bool
    ) -> None:
        """Compare a node's clock with ours, by a start just reported.

        A list may be old: of it counts only that nothing comes from the future.
        """
        node = self._nodes.get(observed.node)
        if node is None:
            return
        newest = observed.newest_instant(status) if is_news else None
        latest = newest_of(status)
        if latest is not None and node.clock.is_ahead(latest, now):
            newest = latest
        if newest is not None:
            self._compare_clocks(observed.node, node, newest, now)

    def _compare_clocks(
        self, name: str, node: _ObservedNode, instant: datetime, now: datetime
    ) -> None:
        was = node.clock.offset
        node.clock.learn(instant, now)
        if node.clock.offset != was:
            text = f"the clock of node {name} {_apart(node.clock.offset)}"
            self._note(text, now)

    def _offset_of(self, observed: ObservedPod) -> timedelta:
        node = self._nodes.get(observed.node)
        return timedelta() if node is None else node.clock.offset

    # -- events

    def record_event(self, json: Object, now: datetime) -> None:
        """Apply an event object; an event of an unknown pod waits for the pod."""
        seen = read_event(json)
        if seen is not None:
            self.submit(seen, now)

    def _apply_event(self, seen: SeenEvent, now: datetime) -> None:
        observed = self._pods.get(seen.event.pod_uid)
        if observed is not None:
            node = self._nodes.get(observed.node)
            if node is not None and node.clock.is_ahead(seen.event.at, now):
                self._compare_clocks(observed.node, node, seen.event.at, now)
            observed.use_offset(self._offset_of(observed))
            observed.is_shown = self.lost_since is None
            if observed.offset:
                event = replace(seen.event, at=seen.event.at + observed.offset)
                seen = replace(seen, event=event)
            observed.record_event(seen, now)
            return
        self._waiting_events.put(seen)

    # -- nodes

    def nodes(self) -> Mapping[str, float]:
        """Return the nodes with probes, and the shortest period of each in seconds."""
        return {
            name: min(node.periods.values())
            for name, node in self._nodes.items()
            if node.periods
        }

    def set_rules(self, node: str, rules: KubeletRules, now: datetime) -> None:
        """Set the rules of a node's kubelet."""
        self.submit(KubeletFound(node, rules.release), now)

    def record_counters(
        self, name: str, text: bytes, asked_at: datetime, answered_at: datetime
    ) -> None:
        """Apply the response of a kubelet's /metrics/probes."""
        node = self._nodes.setdefault(name, _ObservedNode())
        counts = node.reader.read(text)
        changed = tuple(
            SeriesCounts(key, *counted)
            for key, counted in counts.items()
            if node.counts.get(key) != counted
        )
        gone = tuple(key for key in node.counts if key not in counts)
        self.submit(CountersPolled(name, asked_at, changed, gone), answered_at)

    def _apply_counters(self, item: CountersPolled, answered_at: datetime) -> None:
        name = item.node
        node = self._nodes.setdefault(name, _ObservedNode())
        if node.problem is not None:
            node.problem = None
            self._note(f"the counters of node {name} are read again", answered_at)
            for observed in self._pods_of(name):
                observed.find_counters()
        lacks, may_lack = False, False
        # The next counts are compared with these.
        node.counts = dict(node.counts)
        for key in item.gone:
            node.counts.pop(key, None)
            if (owner := self._pods.get(key.pod_uid)) is not None:
                owner.lose_series(key)
        for key, successes, failures in item.changed:
            node.counts[key] = ProbeCounts(successes, failures)
        for counted in node.counters.observe(
            node.counts, item.asked_at, answered_at, node.periods
        ):
            lacks = lacks or (counted.may_lack and not counted.is_baseline)
            may_lack = may_lack or counted.may_lack
            pod = self._pods.get(counted.key.pod_uid)
            if pod is not None:
                pod.is_shown = self.lost_since is None
                pod.record_counts(counted)
        if may_lack:
            verb = "has" if lacks else "may have"
            self._note(
                f"the kubelet of node {name} {verb} restarted: results of probes "
                "before may be missing",
                answered_at,
                is_fault=True,
            )

    def record_failed_poll(self, name: str, now: datetime) -> None:
        """Record a failed poll, which will be retried."""
        self.submit(PollFailed(name), now)

    def lose_counters(self, name: str, reason: str, now: datetime) -> None:
        """Record why a node's counters cannot be read."""
        node = self._nodes.get(name)
        if node is None or node.problem != reason:
            self.submit(CountersLost(name, reason), now)

    def _lose_counters(self, name: str, reason: str, now: datetime) -> None:
        node = self._nodes.setdefault(name, _ObservedNode())
        node.problem, node.counters = reason, NodeCounters()
        self._note(
            f"node {name}: probe results are known from events alone: {reason}", now
        )
        for observed in self._pods_of(name):
            observed.lose_counters(reason)

    def _pods_of(self, node: str) -> list[ObservedPod]:
        return [pod for pod in self._pods.values() if pod.node == node]

    # -- samples of a store

    def _end_past(self) -> None:
        """Go on with what is watched: with the nodes themselves, from their counters.

        What was counted between the last sample and the first poll is not known.
        """
        self._nodes.clear()
        self._rules.clear()
        for observed in self._pods.values():
            observed.end_past()

    # -- the server

    def lose_server(self, reason: str, now: datetime) -> None:
        """Record that the API server does not answer."""
        if self.lost_since is None:
            self.submit(ServerLost(reason), now)

    def find_server(self, now: datetime) -> None:
        """Record that the API server answers."""
        if self.lost_since is not None:
            self.submit(ServerFound(), now)

    def note(self, text: str, now: datetime, *, is_fault: bool = False) -> None:
        """Journal a note to the user."""
        self.submit(Remark(text, is_fault), now)

    def _note(self, text: str, now: datetime, *, is_fault: bool = False) -> None:
        sequence = self._turn.next_sequence()
        self._turn.write(NoteEntry(sequence, now, text, is_fault=is_fault))

    # -- outputs

    def next_deadline(self) -> datetime | None:
        """Return when `check` is due, None for never."""
        deadlines = (pod.next_deadline for pod in self._pods.values())
        return min(
            (deadline for deadline in deadlines if deadline is not None), default=None
        )

    def check(self, now: datetime) -> None:
        """Report effects that are overdue."""
        deadline = self.next_deadline()
        if deadline is not None and deadline <= now:
            self.submit(None, now)

    def _check(self, now: datetime) -> None:
        for observed in self._pods.values():
            deadline = observed.next_deadline
            if deadline is not None and deadline <= now:
                node = self._nodes.get(observed.node)
                counted_until = None if node is None else node.counters.counted_until
                observed.check(now, counted_until)

    def take_entries(self) -> tuple[JournalEntry, ...]:
        """Return the journal entries since the last call."""
        entries = tuple(self._turn.finish().entries)
        self._newest.extend(entries)
        self._warnings += sum(
            isinstance(entry, EventEntry) and entry.event.type is EventType.WARNING
            for entry in entries
        )
        return entries

    def find_container(self, container_id: str) -> LoggedInstance | None:
        """Return a container instance by its ID."""
        for observed in self._pods.values():
            name = observed.name_of(container_id)
            if name is not None:
                pod, ended = observed.pod, observed.has_successor(name, container_id)
                return LoggedInstance(pod.namespace, pod.name, name, ended)
        return None

    def snapshot(self, now: datetime) -> Snapshot:
        """Return a snapshot; unchanged pods are the same objects."""
        pods = tuple(
            observed.snapshot(now)
            for observed in sorted(
                self._pods.values(), key=lambda pod: (pod.pod.namespace, pod.pod.name)
            )
        )
        restarts = self._restarts + sum(pod.restarts for pod in self._pods.values())
        return Snapshot(
            taken_at=now,
            started_at=self._started_at,
            sequence=self._turn.sequence,
            pods=pods,
            entries=tuple(self._newest),
            queue=(),
            is_paused=False,
            restarts=restarts,
            faults=self._warnings,
            runtime_lost_since=self.lost_since,
            runtime_error=self.lost_reason,
            is_observed=True,
            rules=self._foretelling_rules(),
        )


def _apart(offset: timedelta) -> str:
    """Describe the offset of a clock; a late time hides a part of what it is ahead."""
    seconds = offset.total_seconds()
    if not seconds:
        return "is not apart from this machine's: its times are not corrected any more"
    how = (
        f"{seconds:.0f}s behind"
        if seconds > 0
        else f"at least {-seconds:.0f}s ahead of"
    )
    return f"is {how} this machine's: its times are corrected"


def read_event(json: Object) -> SeenEvent | None:
    """Parse an event of a pod; None if it is invalid or of another kind."""
    about = json.get("involvedObject")
    if not isinstance(about, dict) or about.get("kind") != "Pod":
        return None
    uid, path = about.get("uid"), about.get("fieldPath") or ""
    at = _time(json.get("lastTimestamp")) or _time(json.get("eventTime"))
    if not isinstance(uid, str) or not isinstance(path, str) or at is None:
        return None
    count = json.get("count")
    kind = json.get("type")
    event = Event(
        type=EventType.WARNING if kind == EventType.WARNING else EventType.NORMAL,
        reason=str(json.get("reason") or ""),
        message=str(json.get("message") or "")[:_LONGEST_MESSAGE],
        pod_uid=uid,
        field_path=path,
        at=at,
        container_name=container_of(path),
    )
    first_at = _time(json.get("firstTimestamp")) or at
    return SeenEvent(event, count if isinstance(count, int) else 1, first_at)


def _time(text: object) -> datetime | None:
    if not isinstance(text, str):
        return None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
