"""`ports.Runtime` on plain processes, with logs, events and volumes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError, wrap_os_errors
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import (
    ContainerID,
    Listeners,
    LogLine,
    Node,
    RuntimeCondition,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.kubelet.effects import (
    CreateContainer,
    Fault,
    MountVolume,
    PulledImage,
    PullImage,
    RunPodSandbox,
    UnmountVolume,
)
from probetui.kubelet.runtime_health import READY_CONDITIONS
from probetui.ports import (
    Clock,
    CommandStreams,
    ExecResult,
    PodVolumes,
    Progress,
    Runtime,
)
from probetui.runtimes.fault_notes import FROZEN, FaultNotes, format_undone
from probetui.runtimes.proc_net import listeners_of
from probetui.runtimes.process import logs, records, translate
from probetui.runtimes.process.descendant_killer import DescendantKiller
from probetui.runtimes.process.listing import list_processes, list_with_pods
from probetui.runtimes.process.logs import ProcessLogRotation
from probetui.runtimes.process.records import ProcessSandboxRecord
from probetui.runtimes.process.unmanaged import (
    ProcessFaultInjector,
    UnmanagedProcesses,
    fault_refusal,
)
from probetui.runtimes.process_identity import Process, identify, is_alive
from probetui.runtimes.translation import LOCALHOST, build_node, host_memory_bytes
from probetui.runtimes.volume_folders import VolumeFolders
from probetui.untrusted_files import DirectoryRoot, make_own_directory

if TYPE_CHECKING:
    # Until a pod is started there is none.
    from probetui.runtimes.process.container import ProcessContainer
    from probetui.runtimes.process.sandbox import ProcessSandbox

logger = logging.getLogger(__name__)

VOLUMES_FOLDER = ".volumes"
"""The folder of volumes beside the sandboxes, which they outlive."""


FAULT_NOTES_FOLDER = ".disruptions"
"""The folder of notes about frozen processes that probetui did not start."""


class ProcessRuntime(Runtime):
    """Runs containers as process groups of this user.

    Args:
        base: the folder with all state, where later sessions find it.
        clock: the session's.
        sees_all: list also pods that another running probetui manages.
        adopts: says by namespace and name whether this one runs a pod that was left by
            a probetui that has ended. Pods that it does not run it lists, and leaves to
            whoever runs them next.
    """

    name = translate.NAME

    def __init__(
        self,
        base: Path,
        clock: Clock,
        *,
        sees_all: bool = False,
        adopts: Callable[[str, str], bool] = lambda _namespace, _name: True,
    ) -> None:
        self._base = base
        self._clock = clock
        self._killer = DescendantKiller()
        self._sees_all = sees_all
        self._adopts = adopts
        self._me = identify(os.getpid()) or Process(os.getpid(), "")
        self._sandboxes: dict[str, ProcessSandbox] = {}
        self._volumes = VolumeFolders(base / VOLUMES_FOLDER)
        self._watchers: set[asyncio.Event] = set()
        notes = FaultNotes(base / FAULT_NOTES_FOLDER, "")
        self._fault_injector = ProcessFaultInjector(list_processes, notes)
        self._thawed: list[str] = []
        self._rotation = ProcessLogRotation(self._written_logs)
        self._is_closed = False

    async def version(self) -> str:
        """Return the name of the system and its version."""
        release = ".".join(platform.release().split(".")[:2])
        return f"processes on {platform.system()} {release}"

    async def conditions(self) -> tuple[RuntimeCondition, ...]:
        """Return that all is ready: processes need nothing but this machine."""
        return READY_CONDITIONS

    async def node(self) -> Node:
        """Return the node, which is this machine."""
        return build_node(
            platform.node(), LOCALHOST, os.cpu_count(), host_memory_bytes()
        )

    async def relist(self) -> tuple[RuntimePodStatus, ...]:
        """Return every pod of ours; see `ports.Runtime`."""
        with wrap_os_errors():
            self._load()
        self._rotation.start()
        by_pod: dict[str, list[ProcessSandbox]] = {}
        for sandbox in sorted(
            self._sandboxes.values(), key=attrgetter("record.created_at"), reverse=True
        ):
            by_pod.setdefault(sandbox.record.pod_uid, []).append(sandbox)
        return tuple(self._pod(sandboxes) for sandboxes in by_pod.values())

    def _pod(self, sandboxes: list[ProcessSandbox]) -> RuntimePodStatus:
        newest = sandboxes[0].record
        containers = [
            container
            for sandbox in sandboxes
            for container in sandbox.containers.values()
        ]
        containers.sort(key=attrgetter("record.created_at"), reverse=True)
        return RuntimePodStatus(
            pod_uid=newest.pod_uid,
            name=newest.pod_name,
            namespace=newest.namespace,
            sandboxes=tuple(
                translate.sandbox_status(sandbox.record) for sandbox in sandboxes
            ),
            containers=tuple(container.status for container in containers),
            ips=(newest.ip,) if newest.is_ready and newest.ip else (),
            seen_at=self._clock.now(),
        )

    async def run_pod_sandbox(self, operation: RunPodSandbox) -> str:
        """Create a sandbox: a folder and an address."""
        from probetui.runtimes.process.sandbox import (  # noqa: PLC0415  # see above
            free_address,
        )

        with wrap_os_errors():
            if not self._sandboxes:  # otherwise a relist has just loaded all of them
                self._load()
            taken = {
                other.record.ip
                for other in self._sandboxes.values()
                if other.record.is_ready
            }
            ip = free_address(operation.pod.uid, taken)
            make_own_directory(self._base, records.FOLDER_MODE)
            folder = records.new_sandbox_folder(
                self._base,
                lambda name: translate.sandbox_record(
                    operation, name, ip, self._me, self._clock.now()
                ),
            )
            self._find(folder.name)
        self._notify_watchers()
        return folder.name

    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxStatus:
        """Return a sandbox's state and address."""
        with wrap_os_errors():
            return translate.sandbox_status(self._sandbox(sandbox_id).record)

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        """Kill the processes in a sandbox and release its address."""
        with wrap_os_errors():
            sandbox = self._known_sandbox(sandbox_id)
            if sandbox is None:
                return
            for container in sandbox.containers.values():
                container.kill()
            for container in tuple(sandbox.containers.values()):
                await container.stop(0)
            if sandbox.record.is_ready and sandbox.refresh():
                sandbox.save(replace(sandbox.record, is_ready=False))
            for container in tuple(sandbox.containers.values()):
                await container.end_descendants()

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        """Remove a sandbox, its containers and its folder."""
        await self.stop_pod_sandbox(sandbox_id)
        with wrap_os_errors():
            sandbox = self._sandboxes.get(sandbox_id)
            if sandbox is not None:
                await sandbox.remove()
                self._sandboxes.pop(sandbox_id, None)
                self._notify_watchers()

    async def mount_volume(self, operation: MountVolume) -> None:
        """Create a volume: a folder on this machine."""
        with wrap_os_errors():
            self._volumes.mount(operation)

    async def unmount_volume(self, operation: UnmountVolume) -> None:
        """Remove a volume with its content."""
        with wrap_os_errors():
            await asyncio.to_thread(self._volumes.unmount, operation)

    async def list_volumes(self) -> tuple[PodVolumes, ...]:
        """Return all volumes, also of pods that another probetui manages."""
        with wrap_os_errors():
            return self._volumes.list()

    async def sandbox_labels(self) -> Mapping[str, Mapping[str, str]]:
        """Return the labels of pods by the ID of each sandbox."""
        with wrap_os_errors():
            self._load()
        return {
            sandbox_id: sandbox.record.labels
            for sandbox_id, sandbox in self._sandboxes.items()
            if sandbox.record.labels is not None
        }

    async def list_leftover_files(self) -> tuple[RuntimePodStatus, ...]:
        """Return none: a pod that has files has a record or a volume."""
        return ()

    async def remove_leftover_files(self, pod: RuntimePodStatus) -> None:
        """Remove the record of a pod that has no volumes any more."""
        with wrap_os_errors():
            await asyncio.to_thread(self._volumes.remove_empty, pod.pod_uid)

    async def image_status(
        self,
        image: str,  # noqa: ARG002  # images are not used
    ) -> str | None:
        """Return the ID that every image has, as none is needed."""
        return translate.IMAGE_ID

    async def pull_image(
        self,
        operation: PullImage,  # noqa: ARG002  # images are not used
        progress: Progress,  # noqa: ARG002  # images are not used
    ) -> PulledImage:
        """Return at once, as there are no images."""
        return PulledImage(translate.IMAGE_ID, 0)

    async def create_container(self, operation: CreateContainer) -> ContainerID:
        """Create a container's folder; no process is started."""
        with wrap_os_errors():
            sandbox = self._sandbox(operation.sandbox_id)
            container = sandbox.create_container(operation, os.environ)
            return container.status.container_id

    async def start_container(self, container_id: ContainerID) -> None:
        """Start a container's main process."""
        with wrap_os_errors():
            container = self._container(container_id)
            self._sandboxes[container.folder.parent.name].check_ready()
            container.start()

    async def stop_container(
        self, container_id: ContainerID, grace_period_seconds: int
    ) -> None:
        """Send SIGTERM to the main process, after the grace period SIGKILL to all."""
        with wrap_os_errors():
            container = self._known_container(container_id)
            if container is not None:
                await container.stop(grace_period_seconds)

    async def container_status(
        self, container_id: ContainerID
    ) -> RuntimeContainerStatus | None:
        """Return the status of a container, None if it is gone."""
        with wrap_os_errors():
            container = self._known_container(container_id)
            return None if container is None else container.status

    async def inject_fault(self, container_id: ContainerID, fault: Fault) -> None:
        """Freeze or unfreeze a container, or signal its main process."""
        with wrap_os_errors():
            await self._container(container_id).inject_fault(fault)

    async def undo_leftover_faults(self) -> list[str]:
        """Undo the faults that a killed session left; return what was done."""
        with wrap_os_errors():
            self._load()
            thawed, self._thawed = self._thawed, []
            thawed += self._fault_injector.undo_leftovers()
            return [format_undone(name, FROZEN) for name in thawed]

    def fault_refusal(self, pod: Pod, fault: Fault) -> str:
        """Return why a pod cannot have a fault, empty where it may be tried."""
        return fault_refusal(pod, fault)

    async def remove_container(self, container_id: ContainerID) -> None:
        """Kill a container and remove its folder."""
        with wrap_os_errors():
            container = self._known_container(container_id)
            if container is not None:
                sandbox = self._sandboxes[container.folder.parent.name]
                await sandbox.remove_container(container.folder.name)

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        """Run a command with a container's environment and working directory."""
        with wrap_os_errors():
            return await self._container(container_id).exec_sync(
                command, timeout_seconds
            )

    async def exec_streams(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        streams: CommandStreams,
        *,
        has_stdin: bool,
        tty: bool,
    ) -> int:
        """Run a command with input, or in a terminal."""
        with wrap_os_errors():
            return await self._container(container_id).exec_streams(
                command, streams, has_stdin=has_stdin, tty=tty
            )

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        """Yield the last `tail` lines and, with `follow`, new ones until the end."""
        with wrap_os_errors():
            container = self._container(container_id)
            lines = logs.follow(
                container.log,
                tail=tail,
                has_ended=(lambda: has_ended(container)) if follow else None,
                clock=self._clock,
            )
            async with contextlib.aclosing(lines):
                async for line in lines:
                    yield line

    async def listeners(self, container_id: ContainerID) -> Listeners:
        """Return where the processes of a container listen."""
        with wrap_os_errors():
            container = self._container(container_id)
        if container.state is not RuntimeState.RUNNING:
            raise ContainerRuntimeError("it does not run")
        return await asyncio.to_thread(lambda: _listeners_of(container))

    async def watch(self) -> AsyncIterator[None]:
        """Yield after events; simultaneous ones are one yield."""
        happened = asyncio.Event()
        self._watchers.add(happened)
        try:
            while not self._is_closed:
                await happened.wait()
                happened.clear()
                yield
        finally:
            self._watchers.discard(happened)

    def unmanaged(self) -> UnmanagedProcesses:
        """Return all processes; those of pods can be found by the pods' names."""
        listed = partial(list_with_pods, self._base)
        return UnmanagedProcesses(listed, self._fault_injector)

    async def close(self) -> None:
        """Stop managing containers; they go on, also those that were frozen."""
        self._is_closed = True
        await self._rotation.close()
        self._fault_injector.undo()
        sandboxes, self._sandboxes = self._sandboxes, {}
        for sandbox in sandboxes.values():
            await sandbox.close()
        self._notify_watchers()

    def _notify_watchers(self) -> None:
        for watcher in self._watchers:
            watcher.set()

    def _load(self) -> None:
        """Update the sandboxes from disk."""
        try:
            with os.scandir(self._base) as entries:
                names = {entry.name for entry in entries} - {VOLUMES_FOLDER}
        except FileNotFoundError:
            names = set()
        for gone in [
            name
            for name, running in self._sandboxes.items()
            if not running.refresh() or self._is_hidden(running)
        ]:
            self._sandboxes.pop(gone).release()
        for name in names - self._sandboxes.keys():
            self._find(name)
        for sandbox in self._sandboxes.values():
            self._adopt(sandbox)

    def _is_hidden(self, sandbox: ProcessSandbox) -> bool:
        return not self._sees_all and sandbox.is_anothers()

    def _adopt(self, sandbox: ProcessSandbox) -> None:
        """Adopt the sandboxes that an ended probetui left, if their pods are ours."""
        record = sandbox.record
        is_left = record.owner != self._me and not sandbox.is_anothers()
        if is_left and self._adopts(record.namespace, record.pod_name):
            sandbox.adopt()

    def _find(self, name: str) -> None:
        """Load a sandbox from disk, unless another running probetui manages it."""
        if not records.is_id(name):
            records.remove_half_created(self._base, name)
            return
        folder = self._base / name
        record = records.read_sandbox(folder / records.SANDBOX_FILE)
        if record is None and self._sees_all:
            record = self._recovered(name)
        if record is None:
            return
        from probetui.runtimes.process.sandbox import (  # noqa: PLC0415  # see above
            ProcessSandbox,
        )

        sandbox = ProcessSandbox(
            folder,
            record,
            me=self._me,
            clock=self._clock,
            volumes=self._volumes,
            killer=self._killer,
            on_change=self._notify_watchers,
        )
        if self._is_hidden(sandbox):
            return
        is_left = record.owner != self._me and not sandbox.is_anothers()
        self._adopt(sandbox)
        self._sandboxes[name] = sandbox
        sandbox.refresh()
        if is_left:
            self._thawed += [
                f"container {container.record.name} of {record.namespace}/"
                f"{record.pod_name}"
                for container in sandbox.containers.values()
                if container.thaw_left()
            ]

    def _recovered(self, name: str) -> ProcessSandboxRecord | None:
        """Return a record for one of our folders that has lost its own.

        An interrupted removal leaves such a folder, perhaps with processes.
        """
        folder = DirectoryRoot(self._base)
        if not folder.is_directory(name) or not folder.names(name):
            return None
        pod = records.pod_of_containers(self._base / name)
        return translate.unknown_sandbox(name, pod, self._me, self._clock.now())

    def _written_logs(self) -> Iterator[Path]:
        sandboxes = tuple(self._sandboxes.values())
        # One lookup for each probetui, not for each of the pods that it left.
        owners = {sandbox.record.owner for sandbox in sandboxes} - {self._me}
        others = {owner for owner in owners if is_alive(owner)}
        for sandbox in sandboxes:
            if sandbox.record.owner not in others:
                for container in tuple(sandbox.containers.values()):
                    if container.state is RuntimeState.RUNNING:
                        yield container.log

    def _known_sandbox(self, sandbox_id: str) -> ProcessSandbox | None:
        """Return an up-to-date sandbox, None if it does not exist."""
        sandbox = self._sandboxes.get(sandbox_id)
        if sandbox is None or not sandbox.refresh():
            self._load()
        return self._sandboxes.get(sandbox_id)

    def _sandbox(self, sandbox_id: str) -> ProcessSandbox:
        sandbox = self._known_sandbox(sandbox_id)
        if sandbox is None:
            raise ContainerRuntimeError(f'sandbox "{sandbox_id}" not found')
        return sandbox

    def _known_container(self, container_id: ContainerID) -> ProcessContainer | None:
        """Return an up-to-date container, None if it does not exist."""
        container = self._look_up(container_id)
        if container is None or not container.refresh():
            self._load()
            container = self._look_up(container_id)
        return container

    def _look_up(self, container_id: ContainerID) -> ProcessContainer | None:
        name = container_id.removeprefix(f"{self.name}://")
        for sandbox in self._sandboxes.values():
            if name in sandbox.containers:
                return sandbox.containers[name]
        return None

    def _container(self, container_id: ContainerID) -> ProcessContainer:
        container = self._known_container(container_id)
        if container is None:
            raise ContainerRuntimeError(f'container "{container_id}" not found')
        return container


def has_ended(container: ProcessContainer) -> bool:
    """Return whether a container is gone or exited, and prints nothing more."""
    return not container.refresh() or container.state is RuntimeState.EXITED


def _listeners_of(container: ProcessContainer) -> Listeners:
    """Return where the processes of a container listen; it has some while it runs."""
    pids = tuple(container.pids())
    if not pids:
        raise ContainerRuntimeError("it does not run")
    return listeners_of(pids)
