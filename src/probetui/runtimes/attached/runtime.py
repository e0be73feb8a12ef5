"""`ports.Runtime` on unmanaged containers; nothing is ever created or removed.

The engine sees each pod with a sandbox that is always ready and the containers that
match. `KubeletConfig` keeps it from asking for what is not allowed; if it asks, the
call is refused here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import (
    ContainerID,
    Listeners,
    LogLine,
    Node,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.kubelet.effects import (
    CreateContainer,
    Fault,
    PulledImage,
    PullImage,
    RunPodSandbox,
)
from probetui.ports import (
    Destination,
    ExecResult,
    Progress,
    Runtime,
    StartedExec,
    UnmanagedContainer,
    UnmanagedSource,
    UnmanagedStatus,
)
from probetui.runtimes.attached.instances import InstanceTracker, runtime_container_id
from probetui.runtimes.attached.matching import (
    AttachTarget,
    choose_candidate,
    find_candidates,
)

_SANDBOX = "attached-"

GOOD_FOR_SECONDS = 10
"""When to inspect a container again that seems unchanged: an event may be missed."""

ONLY_WATCHED = "watch only: --act allows changes to containers"


class TargetMatch(Struct, frozen=True):
    """The containers that match a target now: the chosen one, and all."""

    target: AttachTarget
    chosen: UnmanagedContainer | None
    others: tuple[UnmanagedContainer, ...] = ()


class _Inspection(Struct, frozen=True):
    """A container's status, None if it is gone; `at` is by the loop's clock."""

    at: float
    container_id: ContainerID
    revision: str
    status: UnmanagedStatus | None


class _Watched(Struct):
    """A target, the instances of its container, and the last inspection of it."""

    target: AttachTarget
    tracker: InstanceTracker
    inspection: _Inspection | None = None


class AttachedRuntime(Runtime):
    """Unmanaged containers as the containers of pods.

    Args:
        runtime: the runtime of the containers; closed together with this one.
        targets: the containers of pods, and how to find what stands for them.
        acts: whether containers may be stopped and started.
        began_at: the start of the session, as the creation time of the sandboxes.
    """

    def __init__(
        self,
        runtime: UnmanagedSource,
        targets: Sequence[AttachTarget],
        *,
        acts: bool,
        began_at: datetime,
    ) -> None:
        self._runtime = runtime
        self._unmanaged = runtime.unmanaged()
        self._watched = [
            _Watched(target, InstanceTracker(target.container)) for target in targets
        ]
        self._acts = acts
        self._began_at = began_at
        self._addresses: dict[ContainerID, str] = {}
        self._changed_at = 0.0
        """When a container changed last, or may have, by the loop's clock."""

    @property
    def name(self) -> str:
        """The prefix of container IDs."""
        return self._runtime.name

    def supports(self, call: Callable[..., object]) -> bool:
        """Return whether a call is implemented; those that are passed on, below."""
        if call is Runtime.watch_execs:
            return self._unmanaged.supports(call)
        return super().supports(call)

    @property
    def can_start(self) -> bool:
        """Whether an exited container can be started again."""
        return self._acts and self._unmanaged.can_start

    async def version(self) -> str:
        """Return name and version of the runtime."""
        return f"{await self._runtime.version()}, attached"

    async def node(self) -> Node:
        """Return the node, for the downward API."""
        return await self._runtime.node()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings that matter for judging the results of probes."""
        return self._runtime.remarks

    async def list_unmanaged(self) -> tuple[UnmanagedContainer, ...]:
        """Return all containers that the runtime has."""
        return await self._unmanaged.list()

    async def matches(self) -> tuple[TargetMatch, ...]:
        """Return the match of each target now."""
        everything = await self.list_unmanaged()
        return tuple(
            TargetMatch(
                watched.target,
                choose_candidate(candidates, watched.tracker.current),
                candidates,
            )
            for watched in self._watched
            for candidates in [find_candidates(watched.target, everything)]
        )

    async def relist(self) -> tuple[RuntimePodStatus, ...]:
        """Return every pod with the containers that match."""
        addresses: dict[ContainerID, str] = {}
        for watched, match in zip(self._watched, await self.matches(), strict=True):
            status = None
            if match.chosen is not None:
                status = await self._inspect(watched, match.chosen)
            _update(watched.tracker, status)
            if status is not None:
                addresses[status.status.container_id] = status.ip
        self._addresses = addresses
        pods = {watched.target.pod.uid: watched.target.pod for watched in self._watched}
        return tuple(self._status(pod) for pod in pods.values())

    def address_of(self, container_id: ContainerID) -> str:
        """Return the IP of a container, empty if it has none."""
        return self._addresses.get(runtime_container_id(container_id), "")

    def dial_address(self, pod_ip: str, port: int) -> Destination:
        """Return where to connect instead of `pod_ip:port`."""
        return self._unmanaged.dial_address(pod_ip, port)

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        """Run a command in a container; 0 seconds is no limit."""
        return await self._unmanaged.exec_sync(
            runtime_container_id(container_id), command, timeout_seconds
        )

    async def listeners(self, container_id: ContainerID) -> Listeners:
        """Return the listening sockets of a container, if the runtime can see them."""
        return await self._unmanaged.listeners(runtime_container_id(container_id))

    async def watch(self) -> AsyncIterator[None]:
        """Yield whenever a container changes."""
        async for _ in self._unmanaged.watch():
            self._note_change()
            yield

    async def watch_execs(self) -> AsyncIterator[StartedExec]:
        """Yield each command that others start in a matched container."""
        async for started in self._unmanaged.watch_execs():
            for watched in self._watched:
                if (
                    watched.tracker.instances
                    and watched.tracker.current == started.container_id
                ):
                    now = watched.tracker.instances[0].container_id
                    yield replace(started, container_id=now)

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        """Yield the log of a container."""
        lines = self._runtime.follow_logs(
            runtime_container_id(container_id), tail=tail, follow=follow
        )
        async for line in lines:
            yield line

    async def close(self) -> None:
        """Close the runtime; containers keep running."""
        await self._runtime.close()

    # -- changes

    async def stop_container(
        self, container_id: ContainerID, grace_period_seconds: int
    ) -> None:
        """Stop a container, if allowed; an earlier instance needs no stop."""
        for watched in self._watched:
            if watched.tracker.is_current_instance(container_id):
                self._check_allowed(watched.target.label)
                with self._changing():
                    await self._unmanaged.stop(
                        watched.tracker.current, grace_period_seconds
                    )

    async def container_status(
        self, container_id: ContainerID
    ) -> RuntimeContainerStatus | None:
        """Return an instance of a matched container, None if it is not known."""
        for watched in self._watched:
            tracker = watched.tracker
            if tracker.is_current_instance(container_id):
                _update(tracker, await self._unmanaged.inspect(tracker.current))
                watched.inspection = None
            for instance in tracker.instances:
                if instance.container_id == container_id:
                    return instance
        return None

    async def inject_fault(self, container_id: ContainerID, fault: Fault) -> None:
        """Inject a fault into a container, if allowed."""
        for watched in self._watched:
            if watched.tracker.is_current_instance(container_id):
                self._check_allowed(watched.target.label)
                with self._changing():
                    await self._unmanaged.inject_fault(watched.tracker.current, fault)
                return
        raise ContainerRuntimeError(f"{container_id} no longer exists")

    def fault_refusal(self, pod: Pod, fault: Fault) -> str:
        """Return why a pod cannot have a fault, empty if it may be tried."""
        return self._unmanaged.fault_refusal(pod, fault) if self._acts else ONLY_WATCHED

    async def create_container(self, operation: CreateContainer) -> ContainerID:
        """Return the ID that the next instance will have."""
        watched = self._watched_as(operation.pod, operation.container.name)
        self._check_allowed(watched.target.label)
        if not self._unmanaged.can_start:
            raise ContainerRuntimeError(
                f"{watched.target.label}: {self.name} cannot start it again"
            )
        if not watched.tracker.current:
            raise ContainerRuntimeError(f"{watched.target.label} is gone")
        return watched.tracker.next_id

    async def start_container(self, container_id: ContainerID) -> None:
        """Start an exited container again, if allowed.

        Difference: it keeps its files; the kubelet creates another container.
        """
        self._check_allowed(container_id)
        with self._changing():
            await self._unmanaged.start(runtime_container_id(container_id))

    async def remove_container(self, container_id: ContainerID) -> None:
        """Forget an earlier instance; the container itself stays."""
        for watched in self._watched:
            watched.tracker.forget(container_id)

    async def run_pod_sandbox(self, operation: RunPodSandbox) -> str:
        """Refuse: the sandbox of an attached pod exists from the start."""
        raise ContainerRuntimeError(f"{operation.pod.name} is attached to, not run")

    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxStatus:
        """Return the state of the sandbox that stands for a pod."""
        for watched in self._watched:
            if sandbox_id == _sandbox_id(watched.target.pod):
                return self._sandbox(watched.target.pod, "")
        raise ContainerRuntimeError(f'sandbox "{sandbox_id}" not found')

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        """Do nothing: there is no real sandbox."""

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        """Do nothing: there is no real sandbox."""

    async def image_status(self, image: str) -> str | None:
        """Return an ID for every image: a container that has run has its image."""
        return image

    async def pull_image(
        self,
        operation: PullImage,
        progress: Progress,  # noqa: ARG002  # nothing is pulled
    ) -> PulledImage:
        """Return at once: a container that is started again keeps its image."""
        return PulledImage(operation.image, 0)

    # -- helpers

    async def _inspect(
        self, watched: _Watched, listed: UnmanagedContainer
    ) -> UnmanagedStatus | None:
        """Return the state of a container, cached until it changes."""
        now, last = asyncio.get_running_loop().time(), watched.inspection
        if (
            last is not None
            and last.container_id == listed.container_id
            and last.revision == listed.revision != ""
            and last.at > max(self._changed_at, now - GOOD_FOR_SECONDS)
        ):
            return last.status
        status = await self._unmanaged.inspect(listed.container_id)
        watched.inspection = _Inspection(
            now, listed.container_id, listed.revision, status
        )
        return status

    def _note_change(self) -> None:
        """Invalidate the cached states: a container has changed."""
        self._changed_at = asyncio.get_running_loop().time()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Invalidate the cached states after a change, even a failed one."""
        try:
            yield
        finally:
            self._note_change()

    def _check_allowed(self, subject: str) -> None:
        if not self._acts:
            raise ContainerRuntimeError(f"{subject} is only watched, and left as it is")

    def _watched_as(self, pod: Pod, name: str) -> _Watched:
        for watched in self._watched:
            if (
                watched.target.pod.uid == pod.uid
                and watched.target.container.name == name
            ):
                return watched
        raise ContainerRuntimeError(f"no container is attached as {pod.name}/{name}")

    def _status(self, pod: Pod) -> RuntimePodStatus:
        instances: list[RuntimeContainerStatus] = []
        for watched in self._watched:
            if watched.target.pod.uid == pod.uid:
                instances += watched.tracker.instances
        ip = self._pod_ip(instances)
        return RuntimePodStatus(
            pod.uid,
            pod.name,
            pod.namespace,
            sandboxes=(self._sandbox(pod, ip),),
            containers=tuple(instances),
            ips=(ip,) if ip else (),
        )

    def _pod_ip(self, instances: Sequence[RuntimeContainerStatus]) -> str:
        """Return the IP of the first running container that has one."""
        addresses = (
            self.address_of(instance.container_id)
            for instance in instances
            if instance.state is RuntimeState.RUNNING
        )
        return next(filter(None, addresses), "")

    def _sandbox(self, pod: Pod, ip: str) -> SandboxStatus:
        # Without an IP the network is unknown, which is no error.
        return SandboxStatus(
            _sandbox_id(pod),
            is_ready=True,
            created_at=self._began_at,
            host_network=pod.host_network,
            ip=ip or None,
        )


def _update(tracker: InstanceTracker, status: UnmanagedStatus | None) -> None:
    if status is None:
        tracker.update(None)
    else:
        tracker.update(status.status, status.earlier)


def _sandbox_id(pod: Pod) -> str:
    return f"{_SANDBOX}{pod.uid}"
