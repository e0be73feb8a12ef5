"""The node agent: reports a session to an API server and reads its pods there.

It is built around the engine, which does not know it: pods come in by a callback,
statuses and events are read from the session's journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Container,
    Iterable,
    Mapping,
    MutableMapping,
    Sequence,
)
from datetime import timedelta
from typing import Any, TypeVar

from msgspec.structs import replace

from probetui.cluster.client import PODS, ApiClient, Object
from probetui.cluster.errors import ApiError, ClusterError, ServerUnreachableError
from probetui.cluster.node.admission import check_room, ephemeral_refusal
from probetui.cluster.node.api_pods import (
    PodReader,
    ReadPod,
    fetch_objects,
    has_ended,
    is_mirror,
)
from probetui.cluster.node.contact import ServerContact
from probetui.cluster.node.event_writer import EventWriter
from probetui.cluster.node.mirror_pods import (
    delete_mirror,
    mirror_of,
    reconcile_mirrors,
)
from probetui.cluster.node.pod_watch import PodWatch
from probetui.cluster.node.registration import NodeRegistration
from probetui.cluster.node.status_writer import StatusWriter
from probetui.drive.session import Session
from probetui.engine.snapshot import NodeSnapshot
from probetui.k8s.event import Event
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import (
    CONFIG_SEEN,
    CONFIG_SOURCE,
    format_seen,
    is_static_pod,
)
from probetui.k8s.runtime import StoredImage
from probetui.kubelet.events.event_recorder import EventRecorder
from probetui.kubelet.journal import EventEntry, JournalEntry, PodGoneEntry, StatusEntry
from probetui.kubelet.nodestatus.node_status import NodeFacts
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.validation.references import ObjectKey
from probetui.ports import Clock

OBJECTS_PERIOD = timedelta(seconds=60)
"""How often ConfigMaps and Secrets are read again.

Source: apis/config/v1beta1/defaults.go, v1.32.10, SyncFrequency.
"""

DRAIN_PATIENCE = timedelta(seconds=5)
"""How long a drain waits for an API server when nothing of its pods stops here."""

LAST_WRITES_SECONDS = 2
"""How long the last events may take; a kubelet that ends does not write them at all."""

LAST_ANSWER_SECONDS = 4
"""How long each other request may at the end; a second ^C waits only for these."""

_CONCURRENT_DELETIONS = 16
FIRST_LIST_PATIENCE = timedelta(seconds=5)
STARTING = "node is starting"
_NOT_FOUND, _CONFLICT = 404, 409

Answer = TypeVar("Answer")
ApplyPods = Callable[[Sequence[ReadPod]], Awaitable[None]]


class NodeAgent:
    """Synchronizes a session with an API server, as a kubelet does; has one owner.

    Args:
        api: the API server.
        clock: the time.
        facts: the node's name, addresses and system.
        rules: those of the kubelet's version.
        apply: sets the pods of the API server that the session runs.
        notify: prints a sentence.
    """

    def __init__(
        self,
        api: ApiClient,
        clock: Clock,
        facts: NodeFacts,
        rules: KubeletRules,
        apply: ApplyPods,
        notify: Callable[[str], None],
    ) -> None:
        self._api = api
        self._clock = clock
        self._facts = facts
        self._apply = apply
        self._notify = notify
        self._contact = ServerContact(clock, notify)
        api.on_wait = self._contact.on_failure
        self._is_changed = asyncio.Event()
        self._watch = PodWatch(
            api,
            f"spec.nodeName={facts.name}",
            self._contact,
            on_change=self._is_changed.set,
        )
        self.registration = NodeRegistration(
            api, self._contact, facts, self._readiness, notify
        )
        self._reader = PodReader(rules, facts.name)
        self._recorder = EventRecorder(
            facts.name, allows_by_type=rules.allows_events_by_type
        )
        self._statuses = StatusWriter(
            api, self._contact, facts.addresses, rules, self._at_server
        )
        self._events = EventWriter(api, self._contact)
        self._known: dict[str, Pod] = {}
        self._static: tuple[Pod, ...] = ()
        self._given: set[str] = set()
        self._first_versions: dict[str, str] = {}
        self._rejected: set[str] = set()
        self._has_rejected = False
        self._reported_problems: dict[str, tuple[str, ...]] = {}
        self._daemon_sets: set[tuple[str, str]] = set()
        self._refused_ephemeral: dict[str, set[str]] = {}
        self._reported_stand_ins: set[str] = set()
        self._objects: dict[ObjectKey, Object | None] = {}
        self._objects_at = clock.now() - OBJECTS_PERIOD
        self._session: Session | None = None
        self._read_entries = 0
        self._refuses_new = False
        self._is_leaving = False
        self._last_not_ready = STARTING
        self._end_subscription: Callable[[], None] = _do_nothing
        self._tasks: list[asyncio.Task[None]] = []
        """What hears the API server."""

    async def register(self, *, adopts: bool) -> None:
        """Register the node.

        Raises:
            ClusterError: the registration fails.
        """
        await self.registration.register(adopts=adopts)
        self._record_of_node("Starting", "Starting kubelet.")

    def attach(self, session: Session) -> None:
        """Start to report the session."""
        self._session = session
        self._end_subscription = session.subscribe(self._on_session_change)

    def on_pods(self, pods: Sequence[Pod], sources: Mapping[str, str]) -> None:
        """Handle a change of the pods that the session runs.

        Args:
            pods: all of them.
            sources: the source of each static one by its uid.
        """
        static = [pod for pod in pods if pod.uid in sources]
        self._static = tuple(self._with_origin(pod, sources[pod.uid]) for pod in static)
        self._known.update((pod.uid, pod) for pod in (*pods, *self._static))
        self._is_changed.set()

    def _with_origin(self, pod: Pod, source: str) -> Pod:
        """Return a static pod with the annotations that name its source."""
        annotations = self._known.get(pod.uid, pod).annotations
        seen = annotations.get(CONFIG_SEEN) or format_seen(self._clock.now())
        origin = {CONFIG_SOURCE: source, CONFIG_SEEN: seen}
        return replace(pod, annotations={**pod.annotations, **origin})

    async def start(self) -> None:
        """Apply the API server's pods before the session starts.

        Their containers may run already: a session adopts those of pods that it knows
        at its start.

        Raises:
            ClusterError: the API server does not answer, or refuses.
        """
        await self._watch.list()
        await self._reconcile_once()

    async def run(self) -> None:
        """Synchronize with the API server until cancelled.

        Raises:
            NodeExistsError: another kubelet has taken the node's name.
        """
        async with asyncio.TaskGroup() as tasks:
            self._tasks = [
                tasks.create_task(self._watch.run()),
                tasks.create_task(self._reconcile()),
            ]
            for work in (
                self._statuses.run(),
                self._events.run(),
                self.registration.keep_lease(),
                self.registration.keep_status(),
            ):
                tasks.create_task(work)

    # -- from the API server to the session

    async def _reconcile(self) -> None:
        """Apply the API server's pods to the session after each change."""
        attempt = 0
        while True:
            await self._wait_for_change()
            if not self._watch.has_listed:
                continue
            try:
                await self._reconcile_once()
                attempt = 0
            except ClusterError as error:
                attempt += 1
                self._is_changed.set()
                await self._contact.wait(error, attempt)

    async def _wait_for_change(self) -> None:
        """Wait for a change of pods, or until the objects have to be refreshed."""
        change = asyncio.ensure_future(self._is_changed.wait())
        sleep = asyncio.ensure_future(
            self._clock.sleep_until(self._objects_at + OBJECTS_PERIOD)
        )
        try:
            await asyncio.wait({change, sleep}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            change.cancel()
            sleep.cancel()
        self._is_changed.clear()

    async def _reconcile_once(self) -> None:
        seen = self._watch.pods
        pods = [pod for pod in seen.values() if not is_mirror(pod)]
        await self._refresh_objects([pod for pod in pods if self._may_run(pod)])
        self._reader.forget_others(seen)
        for uid, pod in seen.items():
            version = str(pod["metadata"].get("resourceVersion") or "")
            self._first_versions.setdefault(uid, version)
        runnable: list[ReadPod] = []
        refused: list[Object] = []
        for pod in sorted(pods, key=_creation):
            read = self._accept(pod)
            if read is None:
                refused.append(pod)
            else:
                runnable.append(read)
        self._forget_gone(seen)
        await self._apply(runnable)
        self._statuses.compare()
        for pod in refused:
            await self._confirm_deletion(pod)
        if self._is_leaving:
            return
        await reconcile_mirrors(
            self._api,
            self._static,
            seen,
            self._facts.name,
            self.registration.uid,
        )

    def _accept(self, pod: Object) -> ReadPod | None:
        """Return a pod of the API server as it runs here, None if it does not."""
        if not self._may_run(pod):
            return None
        uid = pod["metadata"]["uid"]
        is_new = uid not in self._given
        read = self._reader.read(pod, self._objects)
        self._report_problems(pod, read)
        if read.loaded is None:
            return None
        if is_new and not self._admit(read.loaded.pod):
            return None
        if is_new:
            self._warn_of_daemon_set(pod)
            self._report_stand_ins(read.loaded.pod, read.stand_ins)
        self._given.add(uid)
        self._refuse_ephemeral(pod, read.loaded.pod)
        return read

    def _forget_gone(self, seen: Collection[str]) -> None:
        """Forget the pods that the API server no longer has.

        What runs here still has events; a static pod is at the server by its mirror.
        """
        self._given.intersection_update(seen)
        self._rejected.intersection_update(seen)
        kept = {*seen, *(pod.uid for pod in self._static)}
        self._statuses.forget_others(kept)
        for seen_alone in (self._refused_ephemeral, self._reported_problems):
            _keep_only(seen_alone, seen)
        if self._session is not None:
            kept |= {pod.pod.uid for pod in self._session.snapshot.pods}
        for also_here in (self._known, self._first_versions):
            _keep_only(also_here, kept)

    def _may_run(self, pod: Object) -> bool:
        """Return whether a pod runs here already, or is new and admitted."""
        uid = pod["metadata"]["uid"]
        return uid in self._given or not (
            self._refuses_new or uid in self._rejected or has_ended(pod)
        )

    def _admit(self, pod: Pod) -> bool:
        """Return whether a new pod fits; reject it if not."""
        seen = self._watch.pods
        active = len(self._static) + sum(
            not has_ended(seen[uid]) for uid in self._given if uid in seen
        )
        now = self._clock.now()
        rejection = check_room(active, int(self._facts.capacity["pods"]))
        if rejection is None:
            self._has_rejected = False
            return True
        if not self._has_rejected:
            self._has_rejected = True
            name = f"{pod.namespace}/{pod.name}"
            self._notify(f"pod {name} is rejected: {rejection.message}")
        self._rejected.add(pod.uid)
        self._record(rejection.event(pod, now), pod)
        self._statuses.publish(pod, rejection.status(pod, now))
        self._statuses.on_ended(pod.uid)
        return False

    async def _refresh_objects(self, pods: Sequence[Object]) -> None:
        """Refresh the objects that pods refer to, when due or for a new reference."""
        now = self._clock.now()
        if now - self._objects_at < OBJECTS_PERIOD:
            fresh = [pod for pod in pods if pod["metadata"]["uid"] not in self._given]
            self._objects |= await self._fetch_objects(fresh)
            return
        self._objects = await self._fetch_objects(pods)
        self._objects_at = now

    async def _fetch_objects(
        self, pods: Iterable[Object]
    ) -> dict[ObjectKey, Object | None]:
        """Fetch objects; keep the last value of one that is refused now."""
        earlier = self._objects
        objects = await fetch_objects(self._api, pods, self._contact.on_failure)
        return {key: objects[key] or earlier.get(key) for key in objects}

    def _report_problems(self, pod: Object, read: ReadPod) -> None:
        """Report the problems of a pod of the API server, each time they change."""
        uid, problems = pod["metadata"]["uid"], read.problems
        if self._reported_problems.get(uid, ()) != problems:
            self._reported_problems[uid] = problems
            consequence = (
                "a pod cannot be run"
                if read.loaded is None
                else "a change of a pod is left aside"
            )
            for problem in problems:
                self._notify(f"{consequence}: {problem}")

    def _warn_of_daemon_set(self, pod: Object) -> None:
        """Warn once of each DaemonSet that puts a pod on this node."""
        metadata = pod["metadata"]
        namespace = metadata.get("namespace", "default")
        for owner in metadata.get("ownerReferences") or ():
            key = namespace, str(owner.get("name"))
            if owner.get("kind") == "DaemonSet" and key not in self._daemon_sets:
                self._daemon_sets.add(key)
                self._notify(
                    f"pod {namespace}/{metadata['name']} runs here: its DaemonSet "
                    f"{key[1]} tolerates the taint of this node, as one that "
                    "tolerates every taint does"
                )

    def _report_stand_ins(self, pod: Pod, text: str) -> None:
        """Report stand-ins of cluster objects once, for the first pod that has them.

        Nearly every pod has a service account token, which only a cluster's node may
        request.
        """
        if not text or text in self._reported_stand_ins:
            return
        self._reported_stand_ins.add(text)
        message = f"{text}; pod {pod.namespace}/{pod.name} is the first with it"
        self._notify(message)
        self._record_of_node("StandIn", message)

    def _refuse_ephemeral(self, seen: Object, pod: Pod) -> None:
        """Record an event for each new ephemeral container of a pod."""
        refused = self._refused_ephemeral.setdefault(pod.uid, set())
        for container in seen["spec"].get("ephemeralContainers") or ():
            name = container["name"]
            if name not in refused:
                refused.add(name)
                event = ephemeral_refusal(pod, name, self._clock.now())
                self._record(event, pod)
                self._notify(f"pod {pod.namespace}/{pod.name}: {event.message}")

    async def _confirm_deletion(self, pod: Object) -> None:
        """Confirm the deletion of a pod of which nothing runs here."""
        metadata = pod["metadata"]
        if metadata.get("deletionTimestamp") is not None:
            await self._delete(pod, grace_period_seconds=0)

    async def _delete(self, pod: Object, *, grace_period_seconds: int | None) -> None:
        metadata = pod["metadata"]
        try:
            await self._api.delete(
                PODS,
                metadata.get("namespace", "default"),
                metadata["name"],
                grace_period_seconds=grace_period_seconds,
                uid=metadata["uid"],
            )
        except ApiError as error:
            if error.code not in {_NOT_FOUND, _CONFLICT}:
                raise

    def _at_server(self, pod: Pod) -> Object | None:
        seen = self._watch.pods
        return mirror_of(pod, seen) if is_static_pod(pod) else seen.get(pod.uid)

    # -- from the session to the API server

    def _on_session_change(self) -> None:
        session = self._session
        if session is None:
            return
        journal = session.journal
        entries = journal[self._read_entries :]
        self._read_entries = len(journal)
        for entry in entries:
            self._on_entry(entry)
        snapshot = session.snapshot
        for pod in snapshot.pods:
            if pod.state in {PodWorkerState.TERMINATED, PodWorkerState.FINISHED}:
                self._statuses.on_terminated(pod.pod.uid)
        not_ready = snapshot.node.not_ready
        if not_ready != self._last_not_ready:
            self._last_not_ready = not_ready
            if not not_ready:
                name = self._facts.name
                message = f"Node {name} status is now: NodeReady"
                self._record_of_node("NodeReady", message)
            self.registration.check_soon()

    def _on_entry(self, entry: JournalEntry) -> None:
        match entry:
            case StatusEntry():
                if (pod := self._known.get(entry.pod_uid)) is not None:
                    self._statuses.publish(pod, entry.status)
            case PodGoneEntry():
                self._statuses.on_ended(entry.pod_uid)
            case EventEntry():
                if (pod := self._known.get(entry.event.pod_uid)) is not None:
                    self._record(entry.event, pod)
            case _:
                pass

    def _record(self, event: Event, pod: Pod) -> None:
        version = self._first_versions.get(pod.uid, "")
        write = self._recorder.record(event, pod, version)
        if write is not None:
            self._events.put(write)

    def _record_of_node(self, reason: str, message: str) -> None:
        write = self._recorder.record_of_node(reason, message, self._clock.now())
        if write is not None:
            self._events.put(write)

    def _readiness(self) -> tuple[str, Sequence[StoredImage]]:
        if self._session is None:
            return STARTING, ()
        node: NodeSnapshot = self._session.snapshot.node
        return node.not_ready, node.images

    # -- the end

    def refuse_new(self) -> None:
        """Ignore new pods: neither run nor reject them.

        Otherwise a server that keeps assigning pods could keep the node from ending.
        """
        self._refuses_new = True

    async def drain(self) -> None:
        """Delete all pods of the node except static ones, and wait until they are gone.

        Waits while they stop here, at most for their grace periods, and gives up
        `DRAIN_PATIENCE` after the last progress, or if the API server does not answer.
        """
        until = self._clock.now() + FIRST_LIST_PATIENCE
        while not self._watch.has_listed and self._clock.now() < until:
            await self._contact.sleep(timedelta(milliseconds=100))
        pods = [pod for pod in self._watch.pods.values() if not is_mirror(pod)]
        if not pods:
            return
        try:
            await self._delete_all(pods)
            await self._wait_until_gone({pod["metadata"]["uid"] for pod in pods})
        except ClusterError as error:
            self._notify(f"the node cannot be drained: {error}")

    async def _delete_all(self, pods: Sequence[Object]) -> None:
        """Delete pods in parallel; in sequence, they would outlast the grace period."""
        limit = asyncio.Semaphore(_CONCURRENT_DELETIONS)

        async def delete(pod: Object) -> None:
            async with limit:
                await _await_answer(self._delete(pod, grace_period_seconds=None))

        await asyncio.gather(
            *(
                delete(pod)
                for pod in pods
                if pod["metadata"].get("deletionTimestamp") is None
            )
        )

    async def _wait_until_gone(self, uids: set[str]) -> None:
        """Wait until pods are gone; pods that a DaemonSet creates meanwhile may stay.

        Grace periods and deletions are the API server's word, which alone must not keep
        the node from ending.
        """
        began_at = until = self._clock.now()
        last_remaining: set[str] = set()
        while remaining := uids & self._watch.pods.keys():
            now = self._clock.now()
            stopping, grace = self._stopping(remaining)
            has_progress = remaining != last_remaining or (
                stopping and now < began_at + grace
            )
            if has_progress:
                last_remaining, until = remaining, now + DRAIN_PATIENCE
            elif now >= until:
                self._report_undrained(remaining)
                return
            await self._contact.sleep(timedelta(milliseconds=100))

    def _stopping(self, uids: Container[str]) -> tuple[bool, timedelta]:
        """Return whether any of these pods is stopping, and the longest grace."""
        pods = () if self._session is None else self._session.snapshot.pods
        graces = [
            pod.pod.termination_grace_period_seconds or 0
            for pod in pods
            if pod.state is PodWorkerState.TERMINATING and pod.pod.uid in uids
        ]
        return bool(graces), timedelta(seconds=max(graces, default=0))

    def _report_undrained(self, uids: Iterable[str]) -> None:
        """Report the pods that the API server still has, and which may still run."""
        running = set[str]()
        if self._session is not None:
            ended = {PodWorkerState.TERMINATED, PodWorkerState.FINISHED}
            running = {
                pod.pod.uid
                for pod in self._session.snapshot.pods
                if pod.state not in ended
            }
        for are_running, words in (
            (False, "are left in the cluster; nothing of them runs here any more"),
            (True, "have not ended in the cluster; they are stopped without it"),
        ):
            names = sorted(
                "{namespace}/{name}".format(**self._watch.pods[uid]["metadata"])
                for uid in uids
                if (uid in running) is are_running
            )
            if names:
                self._notify(f"pods of the node {words}: {', '.join(names)}")

    def detach(self) -> None:
        """Stop reporting the session: its pods still have to stop here.

        Changes from the API server are ignored too: there may be more than the time
        allows.
        """
        self._end_subscription()
        self._session = None
        for task in self._tasks:
            task.cancel()

    async def finish_events(self) -> None:
        """Write the remaining events, within a time limit."""
        self._is_leaving = True
        try:
            async with asyncio.timeout(LAST_WRITES_SECONDS):
                await self._events.finish()
        except TimeoutError:
            self._notify("some events were not written")

    async def withdraw(self, *, keeps_node: bool) -> bool:
        """Deregister the node, or only release its lease.

        Returns:
            Whether the node is gone: one that our user may not delete stays.

        Raises:
            ClusterError: the API server does not answer in time, or refuses.
        """
        self._is_leaving = True
        if keeps_node:
            await _await_answer(self.registration.release_lease())
            return True
        for pod in tuple(self._watch.pods.values()):
            if is_mirror(pod):
                await _await_answer(delete_mirror(self._api, pod))
        return await _await_answer(self.registration.deregister())


async def _await_answer(request: Awaitable[Answer]) -> Answer:
    """Send one of the last requests of a node, within a short time limit.

    Raises:
        ClusterError: the API server does not answer in time, or refuses.
    """
    try:
        async with asyncio.timeout(LAST_ANSWER_SECONDS):
            return await request
    except TimeoutError:
        text = f"the API server did not answer within {LAST_ANSWER_SECONDS}s"
        raise ServerUnreachableError(text) from None


def _keep_only(table: MutableMapping[str, Any], uids: Container[str]) -> None:
    for uid in [uid for uid in table if uid not in uids]:
        del table[uid]


def _creation(pod: Object) -> str:
    """Return a pod's creation time, the order in which pods are admitted.

    Source: pkg/kubelet/kubelet.go, v1.32.10, HandlePodAdditions.
    """
    return str(pod["metadata"].get("creationTimestamp") or "")


def _do_nothing() -> None:
    """Do nothing, in place of an unsubscriber."""
