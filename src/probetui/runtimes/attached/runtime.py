"""`ports.Runtime` on containers that others made; nothing is ever created or removed.

The engine sees each pod with a sandbox that is always ready and with those of its
containers that were found. What it may not do it is told not to want
(`KubeletConfig`); should it ask all the same, it is refused here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from probetui.errors import ContainerRuntimeError
from probetui.k8s.listeners import Listeners
from probetui.k8s.node import NOWHERE, Node
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.kubelet.effects import (
    CreateContainer,
    Disruption,
    PulledImage,
    PullImage,
    RunPodSandbox,
)
from probetui.ports import (
    ExecResult,
    ExecSource,
    ForeignContainer,
    ForeignContainers,
    ListenerSource,
    LogLine,
    LogSource,
    NodeSource,
    Progress,
    Runtime,
    StartedExec,
)
from probetui.runtimes.attached.lives import Lives, foreign_id
from probetui.runtimes.attached.matching import Target, candidates, choose

_SANDBOX = "attached-"

ONLY_WATCHED = "it is only watched; --act lets containers be touched"


@dataclass(frozen=True, slots=True)
class Match:
    """What was found for a target at one moment: the one to watch, and all others."""

    target: Target
    chosen: ForeignContainer | None
    others: tuple[ForeignContainer, ...] = ()


@dataclass(slots=True)
class _Watched:
    """A target and what is known of it; owned by the runtime."""

    target: Target
    lives: Lives


class AttachedRuntime:
    """Somebody else's containers as the containers of pods.

    Args:
        runtime: what the containers run on; it is closed together with this.
        foreign: all of them.
        targets: which of them stand for which containers of pods.
        acts: containers may be stopped, and started again.
        began_at: when the session began; the age of the sandboxes.
    """

    def __init__(
        self,
        runtime: Runtime,
        foreign: ForeignContainers,
        targets: Sequence[Target],
        *,
        acts: bool,
        began_at: datetime,
    ) -> None:
        self._runtime = runtime
        self._foreign = foreign
        self._watched = [_Watched(each, Lives(each.container)) for each in targets]
        self._acts = acts
        self._began_at = began_at
        self._addresses: dict[ContainerID, str] = {}

    @property
    def name(self) -> str:
        """The word in the container IDs of what the containers run on."""
        return self._runtime.name

    @property
    def can_start(self) -> bool:
        """Whether what has ended can be started again."""
        return self._acts and self._foreign.can_start

    async def version(self) -> str:
        """Return name and version of what the containers run on."""
        return f"{await self._runtime.version()}, attached"

    async def node(self) -> Node:
        """Return what pods may be told of the machine."""
        if isinstance(self._runtime, NodeSource):
            return await self._runtime.node()
        return NOWHERE

    async def matches(self) -> tuple[Match, ...]:
        """Return what stands for each container at this moment."""
        everything = await self._foreign.list()
        return tuple(
            Match(each.target, choose(found, each.lives.current), found)
            for each in self._watched
            for found in [candidates(each.target, everything)]
        )

    async def relist(self) -> tuple[RuntimePodStatus, ...]:
        """Return every pod, with those of its containers that were found."""
        addresses: dict[ContainerID, str] = {}
        for watched, match in zip(self._watched, await self.matches(), strict=True):
            found = None
            if match.chosen is not None:
                found = await self._foreign.look(match.chosen.container_id)
            watched.lives.see(None if found is None else found.status)
            if found is not None:
                addresses[found.status.container_id] = found.ip
        self._addresses = addresses
        pods = {each.target.pod.uid: each.target.pod for each in self._watched}
        return tuple(self._status(each) for each in pods.values())

    def address_of(self, container_id: ContainerID) -> str:
        """Return the address of a container, empty where it has none."""
        return self._addresses.get(foreign_id(container_id), "")

    def dial_address(self, pod_ip: str, port: int) -> tuple[str, int]:
        """Return where to connect instead of `pod_ip:port`."""
        return self._foreign.dial_address(pod_ip, port)

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        """Run a command in a container; 0 seconds is no limit."""
        return await self._foreign.exec_sync(
            foreign_id(container_id), command, timeout_seconds
        )

    async def listeners(self, container_id: ContainerID) -> Listeners:
        """Return where a container listens, if that can be seen."""
        if not isinstance(self._foreign, ListenerSource):
            raise ContainerRuntimeError(f"{self.name} does not tell")
        return await self._foreign.listeners(foreign_id(container_id))

    async def watch(self) -> AsyncIterator[None]:
        """Yield whenever something happened to any container."""
        async for _ in self._foreign.watch():
            yield

    async def watch_execs(self) -> AsyncIterator[StartedExec]:
        """Yield each command that others start in a container that is watched."""
        if not isinstance(self._foreign, ExecSource):
            raise ContainerRuntimeError(f"{self.name} does not tell")
        async for started in self._foreign.watch_execs():
            for each in self._watched:
                if each.lives.instances and each.lives.current == started.container_id:
                    now = each.lives.instances[0].container_id
                    yield started._replace(container_id=now)

    @property
    def tells_of_execs(self) -> bool:
        """Whether `watch_execs` has anything to tell."""
        return isinstance(self._foreign, ExecSource)

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        """Yield what a container printed, if the runtime keeps that."""
        if not isinstance(self._runtime, LogSource):
            raise ContainerRuntimeError(f"{self.name} keeps no logs of it")
        lines = self._runtime.follow_logs(
            foreign_id(container_id), tail=tail, follow=follow
        )
        async for line in lines:
            yield line

    async def close(self) -> None:
        """Let go of connections; containers are left as they are."""
        await self._runtime.close()

    # -- what changes something

    async def stop_container(
        self, container_id: ContainerID, grace_period_seconds: int
    ) -> None:
        """Stop a container, if that is allowed; a life that is over needs nothing."""
        for each in self._watched:
            if each.lives.is_now(container_id):
                self._check_allowed(each.target.label)
                await self._foreign.stop(each.lives.current, grace_period_seconds)

    async def disrupt(self, container_id: ContainerID, disruption: Disruption) -> None:
        """Freeze, signal or cut off a container, if that is allowed."""
        for each in self._watched:
            if each.lives.is_now(container_id):
                self._check_allowed(each.target.label)
                await self._foreign.disrupt(each.lives.current, disruption)
                return
        raise ContainerRuntimeError(f"{container_id} is no more")

    def why_not(self, pod: Pod, disruption: Disruption) -> str:
        """Return why it cannot be done to a pod, empty where it may be tried."""
        return self._foreign.why_not(pod, disruption) if self._acts else ONLY_WATCHED

    async def create_container(self, operation: CreateContainer) -> ContainerID:
        """Return the ID that a container will have once it is started again."""
        watched = self._watched_as(operation.pod, operation.container.name)
        self._check_allowed(watched.target.label)
        if not self._foreign.can_start:
            raise ContainerRuntimeError(
                f"{watched.target.label}: {self.name} cannot start it again"
            )
        if not watched.lives.current:
            raise ContainerRuntimeError(f"{watched.target.label} is gone")
        return watched.lives.upcoming

    async def start_container(self, container_id: ContainerID) -> None:
        """Start a container again that has ended, if that is allowed.

        Difference: it keeps its files, for nothing is created; the kubelet makes
        another one.
        """
        self._check_allowed(container_id)
        await self._foreign.start(foreign_id(container_id))

    async def remove_container(self, container_id: ContainerID) -> None:
        """Forget a life that is over; the container itself stays."""
        for each in self._watched:
            each.lives.forget(container_id)

    async def run_pod_sandbox(self, operation: RunPodSandbox) -> str:
        """Refuse: a pod that is attached to has had its sandbox from the start."""
        raise ContainerRuntimeError(f"{operation.pod.name} is attached to, not run")

    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxStatus:
        """Return the state of the sandbox that stands for a pod."""
        for each in self._watched:
            if sandbox_id == _sandbox_id(each.target.pod):
                return self._sandbox(each.target.pod, "")
        raise ContainerRuntimeError(f'sandbox "{sandbox_id}" not found')

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        """Do nothing: there is nothing that could be stopped."""

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        """Do nothing: there is nothing that could be removed."""

    async def image_status(self, image: str) -> str | None:
        """Return an ID for every image: what has run has its image."""
        return image

    async def pull_image(
        self,
        operation: PullImage,
        progress: Progress,  # noqa: ARG002  # nothing is pulled
    ) -> PulledImage:
        """Return at once: a container that is started again keeps its image."""
        return PulledImage(operation.image, 0)

    # -- inside

    def _check_allowed(self, what: str) -> None:
        if not self._acts:
            raise ContainerRuntimeError(f"{what} is only watched, and left as it is")

    def _watched_as(self, pod: Pod, name: str) -> _Watched:
        for each in self._watched:
            if each.target.pod.uid == pod.uid and each.target.container.name == name:
                return each
        raise ContainerRuntimeError(f"nothing stands for {pod.name}/{name}")

    def _status(self, pod: Pod) -> RuntimePodStatus:
        instances: list[RuntimeContainerStatus] = []
        for each in self._watched:
            if each.target.pod.uid == pod.uid:
                instances += each.lives.instances
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
        """Return the address of the first container that runs and has one."""
        found = (
            self.address_of(each.container_id)
            for each in instances
            if each.state is RuntimeState.RUNNING
        )
        return next((each for each in found if each), "")

    def _sandbox(self, pod: Pod, ip: str) -> SandboxStatus:
        # Without any address: nothing is known of the network, which is no fault.
        return SandboxStatus(
            _sandbox_id(pod),
            is_ready=True,
            created_at=self._began_at,
            host_network=pod.host_network,
            ip=ip or None,
        )


def _sandbox_id(pod: Pod) -> str:
    return f"{_SANDBOX}{pod.uid}"
