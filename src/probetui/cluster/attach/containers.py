"""The containers of a cluster's pod, as `ports.UnmanagedContainers`.

States come from the pod's status, to the second. Commands run through the API; ports
are reached at the pod's IP or by port-forward.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Self

from msgspec.structs import replace

from probetui.cluster.attach.execution import ClusterCommands
from probetui.cluster.attach.port_forward import PortForward
from probetui.cluster.attach.reach import PodReach
from probetui.cluster.attach.removal import PodRemoval
from probetui.cluster.client import EVENTS, ApiClient, Object
from probetui.cluster.container_logs import ClusterLogs, LoggedInstance
from probetui.cluster.errors import ClusterError
from probetui.cluster.node.contact import ServerContact
from probetui.cluster.node.pod_watch import PodWatch
from probetui.cluster.observe.observation import read_event
from probetui.drive.session import KeptTasks
from probetui.errors import ContainerRuntimeError
from probetui.k8s.api.codec import ApiFormatError
from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ExecAction, ProbeType
from probetui.k8s.runtime import (
    ContainerID,
    LogLine,
    RuntimeContainerStatus,
    RuntimeState,
    parse_container_id,
)
from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    PodStatus,
    Running,
    Terminated,
)
from probetui.kubelet.effects import Fault
from probetui.kubelet.kuberuntime.labels import CONTAINER_NAME, POD_NAME, POD_NAMESPACE
from probetui.ports import (
    Destination,
    ExecResult,
    UnmanagedContainer,
    UnmanagedContainers,
    UnmanagedSource,
    UnmanagedStatus,
)
from probetui.safe_text import safe_line

log = logging.getLogger(__name__)

NAME = "cluster"
_NO_FAULTS = "the Kubernetes API cannot inject faults into a container"
_PATIENCE_SECONDS = 30
_LONGEST_TEXT = 200


class ClusterContainers(UnmanagedContainers, UnmanagedSource):
    """The containers of one pod: the part of a runtime that attaching needs.

    Args:
        client: the API server; closed with it.
        pod: the pod at the start.
        reach: how its ports are reached.
        removal: removes the pod, in place of stopping one of its containers.
        contact: waits while the API server does not answer.
        notify: called with a sentence where the pod is gone, another one has come, or
            the cluster's kubelet has killed a container.
    """

    name = NAME

    def __init__(
        self,
        client: ApiClient,
        pod: Pod,
        reach: PodReach,
        removal: PodRemoval,
        contact: ServerContact,
        notify: Callable[[str], None],
    ) -> None:
        self._client = client
        self._pod = pod
        self._reach = reach
        self._removal = removal
        self._commands = ClusterCommands(client, pod.namespace, pod.name)
        self._forward = PortForward(client, pod.namespace, pod.name)
        self._logs = ClusterLogs(client, self._logged)
        self._changed = asyncio.Event()
        self._watch = PodWatch(
            client,
            f"metadata.name={pod.name}",
            contact,
            self._on_change,
            pod.namespace,
        )
        self._bug: Exception | None = None
        self._tasks = KeptTasks(self._fail)
        self._notify = notify
        self._uid = ""
        self._removed_uid = ""
        self._is_gone = False
        self._probes: object = None
        self._running: dict[str, RuntimeContainerStatus] = {}

    async def open(self) -> None:
        """Find out how the pod is reached, and start to watch it.

        Raises:
            ClusterError: the API server does not answer, or refuses.
        """
        await self._watch.list()
        await self._check_reach()
        self._tasks.start(self._watch.run())

    async def version(self) -> str:
        """Return the cluster, and how the pod is reached."""
        access = self._client.access
        where = access.context or access.cluster.server
        # A narrow header shows the first word alone.
        name = f"{NAME}/port-forward" if self._reach.remarks else NAME
        return f"{name} {where}, {self._reach.description}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings that matter for judging the results."""
        return self._reach.remarks

    def unmanaged(self) -> Self:
        """Return the containers."""
        return self

    async def close(self) -> None:
        """Close the connections and the client; containers keep running."""
        await self._tasks.end()
        await self._forward.close()
        await self._client.__aexit__()

    # -- looking

    async def list(self) -> tuple[UnmanagedContainer, ...]:
        """Return the containers of the pod that have run at least once."""
        return tuple(
            UnmanagedContainer(
                status.container_id,
                (f"{self._pod.name}/{status.name}",),
                status.state is RuntimeState.RUNNING,
                {
                    POD_NAMESPACE: self._pod.namespace,
                    POD_NAME: self._pod.name,
                    CONTAINER_NAME: status.name,
                },
                status.image,
                status.created_at,
            )
            for status, _ in self._instances()
        )

    async def inspect(self, container_id: ContainerID) -> UnmanagedStatus | None:
        """Return the state of a container, None if it is gone."""
        for status, earlier in self._instances():
            if status.container_id == container_id:
                is_running = status.state is RuntimeState.RUNNING
                ip = self._status().pod_ip if is_running else ""
                await self._check_reach()
                nameless = replace(status, name="")
                return UnmanagedStatus(nameless, ip, earlier)
        return None

    async def watch(self) -> AsyncIterator[None]:
        """Yield whenever the pod changes."""
        changed = self._changed
        while True:
            await changed.wait()
            changed = self._changed
            yield

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        """Yield the log of a container."""
        lines = self._logs.follow_logs(container_id, tail=tail, follow=follow)
        async for line in lines:
            yield line

    # -- probing

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        """Run a command in a container; 0 seconds is no limit."""
        for status, _ in self._instances():
            if status.container_id == container_id:
                return await self._commands.run(status.name, command, timeout_seconds)
        raise ContainerRuntimeError(f"{container_id} no longer exists")

    def dial_address(self, ip: str, port: int) -> Destination:
        """Return the address to dial: the pod's IP, or its forwarded port."""
        if self._reach.forwards:
            return partial(self._forward.connect, port)
        return ip, port

    # -- changing

    async def stop(self, container_id: ContainerID, grace_period_seconds: int) -> None:
        """Evict or delete the pod; the API cannot stop a single container.

        Raises:
            ContainerRuntimeError: the API server refuses.
        """
        if not self._runs(container_id):
            return
        uid = str(self._object()["metadata"]["uid"])
        self._removed_uid = uid
        try:
            await self._removal.remove(self._pod, uid, grace_period_seconds)
        except ContainerRuntimeError:
            self._removed_uid = ""
            raise
        try:
            async with asyncio.timeout(grace_period_seconds + _PATIENCE_SECONDS):
                while self._runs(container_id):
                    await self._changed.wait()
        except TimeoutError as error:
            raise ContainerRuntimeError(f"{container_id} has not ended") from error

    async def inject_fault(self, container_id: ContainerID, fault: Fault) -> None:
        """Refuse."""
        del fault
        raise ContainerRuntimeError(f"{container_id}: {_NO_FAULTS}")

    def fault_refusal(self, pod: Pod, fault: Fault) -> str:
        """Return why there are no faults in a cluster's pods."""
        del pod, fault
        return _NO_FAULTS

    # -- inside

    def _on_change(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
        self._record_ends()
        uid, probes = _identity(self._object())
        if not uid:
            if self._uid and not self._is_gone:
                self._notify(
                    f"pod {self._pod.name} was deleted; a new pod of the same name is "
                    "probed when it comes"
                )
            self._is_gone = bool(self._uid)
            return
        if uid == self._uid:
            return
        if self._uid:
            text = f"pod {self._pod.name} was deleted and created again"
            changed = "; its probes differ: attach again" * (probes != self._probes)
            self._notify(f"{text}{changed}")
        self._uid, self._probes, self._is_gone = uid, probes, False

    def _record_ends(self) -> None:
        """Look up the reason when an instance has ended."""
        try:
            newest_of_each = [newest for newest, _ in self._instances()]
        except ContainerRuntimeError:
            return  # reported where the status is needed
        running = {
            status.name: status
            for status in newest_of_each
            if status.state is RuntimeState.RUNNING
        }
        for name, ended in self._running.items():
            now = running.get(name)
            has_ended = now is None or now.container_id != ended.container_id
            if has_ended and self._uid != self._removed_uid:
                self._tasks.start(self._report_killing(ended, self._uid))
        self._running = running

    async def _report_killing(self, ended: RuntimeContainerStatus, uid: str) -> None:
        """Report the event with which the cluster's kubelet killed an instance.

        An event concerns this instance if it is not older; events may be lost.
        """
        selector = f"involvedObject.uid={uid},reason=Killing"
        try:
            events = await self._client.list(
                EVENTS, self._pod.namespace, field_selector=selector
            )
        except ClusterError as error:
            log.info("events of %s: %s", self._pod.full_name, error)
            return
        async for event in events.objects():
            seen = read_event(event)
            if seen is None or seen.event.container_name != ended.name:
                continue
            if seen.event.at >= (ended.started_at or seen.event.at):
                message = safe_line(seen.event.message, limit=_LONGEST_TEXT)
                self._notify(
                    f"{self._pod.name}/{ended.name} was killed by the cluster's "
                    f"kubelet: {message}"
                )
                return

    def _fail(self, error: Exception) -> None:
        log.error("following %s", self._pod.full_name, exc_info=error)
        self._bug = error
        self._changed.set()
        self._changed = asyncio.Event()

    async def _check_reach(self) -> None:
        status = self._status()
        ready = {
            container.name: container.ready
            for container in status.container_statuses or ()
        }
        is_ready = any(
            ready.get(container.name)
            for container in self._pod.all_containers()
            if container.readiness_probe is not None
            and not isinstance(container.readiness_probe.handler, ExecAction)
        )
        await self._reach.check(status.pod_ip, is_ready=is_ready)

    def _runs(self, container_id: ContainerID) -> bool:
        return any(
            status.container_id == container_id and status.state is RuntimeState.RUNNING
            for status, _ in self._instances()
        )

    def _object(self) -> Object:
        """Return the newest pod object, empty if the pod is gone.

        Raises:
            ContainerRuntimeError: the watch has ended with a bug.
        """
        if self._bug is not None:
            text = f"pod {self._pod.name} is not followed any more: {self._bug!r}"
            raise ContainerRuntimeError(text) from self._bug
        return next(iter(self._watch.pods.values()), {})

    def _status(self) -> PodStatus:
        try:
            return POD_STATUS.read(self._object().get("status") or {})
        except ApiFormatError as error:
            raise ContainerRuntimeError(f"the pod's status: {error}") from error

    def _instances(
        self,
    ) -> Iterator[tuple[RuntimeContainerStatus, RuntimeContainerStatus | None]]:
        """Yield each container's current and previous instance."""
        status = self._status()
        for container in (
            *(status.init_container_statuses or ()),
            *(status.container_statuses or ()),
        ):
            instances = [
                instance
                for state in (container.state, container.last_state)
                if (instance := _instance(container, state)) is not None
            ]
            if instances:
                yield instances[0], instances[1] if instances[1:] else None

    def _logged(self, container_id: ContainerID) -> LoggedInstance | None:
        for newest, earlier in self._instances():
            for instance in (newest, earlier):
                if instance is not None and instance.container_id == container_id:
                    pod, is_previous = self._pod, instance is earlier
                    return LoggedInstance(
                        pod.namespace, pod.name, newest.name, is_previous
                    )
        return None


def _identity(pod: Object) -> tuple[str, object]:
    """Return a pod's uid, empty if it is gone, and its probes."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    probes = [
        [container.get(f"{kind.lower()}Probe") for kind in ProbeType]
        for container in containers
    ]
    return str(metadata.get("uid") or ""), probes


def _instance(
    status: ContainerStatus, state: ContainerState | None
) -> RuntimeContainerStatus | None:
    """Return the instance that a state describes, None if it has not started."""
    count, image = status.restart_count, status.image
    match state:
        case Running(started_at=began_at):
            container_id = parse_container_id(status.container_id)
            return RuntimeContainerStatus(
                container_id,
                status.name,
                RuntimeState.RUNNING,
                created_at=began_at,
                started_at=began_at,
                image=image,
                restart_count=count,
            )
        case Terminated() as ended:
            container_id = parse_container_id(ended.container_id)
            is_earlier = state is not status.state
            return RuntimeContainerStatus(
                container_id,
                status.name,
                RuntimeState.EXITED,
                created_at=ended.started_at,
                started_at=ended.started_at,
                finished_at=ended.finished_at,
                exit_code=ended.exit_code,
                reason=ended.reason,
                message=ended.message,
                image=image,
                restart_count=max(count - is_earlier, 0),
            )
        case _:
            return None
