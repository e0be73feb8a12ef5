"""`ports.Runtime` on plain processes; also a source of logs and of events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from probetui.errors import ContainerRuntimeError
from probetui.k8s.listeners import Listeners
from probetui.k8s.node import Node
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import (
    ContainerID,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.kubelet.effects import (
    CreateContainer,
    Disruption,
    MountVolume,
    PulledImage,
    PullImage,
    RunPodSandbox,
    UnmountVolume,
)
from probetui.ports import Clock, ExecResult, LogLine, PodVolumes, Progress
from probetui.runtimes.disruption_notes import (
    FROZEN,
    DisruptionNotes,
    format_undone,
)
from probetui.runtimes.listening import listeners_of
from probetui.runtimes.process import logs, records, translate
from probetui.runtimes.process.addresses import free_address
from probetui.runtimes.process.container import ProcessContainer
from probetui.runtimes.process.disruptions import Disruptions, why_not
from probetui.runtimes.process.foreign import ForeignProcesses
from probetui.runtimes.process.listing import list_processes
from probetui.runtimes.process.log_rotation import ProcessLogRotation
from probetui.runtimes.process.records import SandboxRecord
from probetui.runtimes.process.sandbox import (
    FOLDER_MODE,
    ProcessSandbox,
)
from probetui.runtimes.process_identity import Process, identify
from probetui.runtimes.volume_folders import VolumeFolders
from probetui.untrusted_files import DirectoryRoot, make_own_directory

logger = logging.getLogger(__name__)

VOLUMES_FOLDER = ".volumes"
"""Where volumes are, beside the sandboxes: a pod's outlive them."""


DISRUPTIONS_FOLDER = ".disruptions"
"""Where it is noted which processes of others are frozen."""


class ProcessRuntime:
    """Runs containers as process groups of this machine's user.

    All it has is in the folder `base`, where any later probetui finds it. Pods that
    another probetui looks after, which is still running, are left to that one and
    not listed, unless `sees_all`; those of one that is gone are adopted.
    """

    name = translate.NAME

    def __init__(self, base: Path, clock: Clock, *, sees_all: bool = False) -> None:
        self._base = base
        self._clock = clock
        self._sees_all = sees_all
        self._me = identify(os.getpid()) or Process(os.getpid(), "")
        self._sandboxes: dict[str, ProcessSandbox] = {}
        self._volumes = VolumeFolders(base / VOLUMES_FOLDER)
        self._watchers: set[asyncio.Event] = set()
        notes = DisruptionNotes(base / DISRUPTIONS_FOLDER, "")
        self._disruptions = Disruptions(list_processes, notes)
        self._thawed: list[str] = []
        self._rotation = ProcessLogRotation(self._written_logs)
        self._is_closed = False

    async def version(self) -> str:
        """Return the name of the system and its version."""
        release = ".".join(platform.release().split(".")[:2])
        return f"processes on {platform.system()} {release}"

    async def node(self) -> Node:
        """Return what pods may be told of this machine."""
        return translate.node_of(
            platform.node(), os.cpu_count(), translate.memory_bytes(os.sysconf)
        )

    async def relist(self) -> tuple[RuntimePodStatus, ...]:
        """Return every pod of ours; see `ports.Runtime`."""
        with _refusals():
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
            each for sandbox in sandboxes for each in sandbox.containers.values()
        ]
        containers.sort(key=attrgetter("record.created_at"), reverse=True)
        return RuntimePodStatus(
            pod_uid=newest.pod_uid,
            name=newest.pod_name,
            namespace=newest.namespace,
            sandboxes=tuple(translate.sandbox_status(it.record) for it in sandboxes),
            containers=tuple(each.status for each in containers),
            ips=(newest.ip,) if newest.is_ready and newest.ip else (),
            seen_at=self._clock.now(),
        )

    async def run_pod_sandbox(self, operation: RunPodSandbox) -> str:
        """Make a sandbox: a folder and an address."""
        with _refusals():
            self._load()
            taken = {
                it.record.ip for it in self._sandboxes.values() if it.record.is_ready
            }
            ip = free_address(operation.pod.uid, taken)
            make_own_directory(self._base, FOLDER_MODE)
            folder = records.new_sandbox_folder(
                self._base,
                lambda name: translate.sandbox_record(
                    operation, name, ip, self._me, self._clock.now()
                ),
            )
            self._find(folder.name)
        self._tell()
        return folder.name

    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxStatus:
        """Return a sandbox's state and address."""
        with _refusals():
            return translate.sandbox_status(self._sandbox(sandbox_id).record)

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        """Kill what runs in a sandbox and give its address back."""
        with _refusals():
            sandbox = self._known_sandbox(sandbox_id)
            if sandbox is None:
                return
            for each in sandbox.containers.values():
                each.kill()
            for each in tuple(sandbox.containers.values()):
                await each.stop(0)
            if sandbox.record.is_ready and sandbox.refresh():
                sandbox.save(replace(sandbox.record, is_ready=False))
            for each in tuple(sandbox.containers.values()):
                await each.end_descendants()

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        """Remove a sandbox, its containers and its folder."""
        await self.stop_pod_sandbox(sandbox_id)
        with _refusals():
            sandbox = self._sandboxes.get(sandbox_id)
            if sandbox is not None:
                await sandbox.remove()
                self._sandboxes.pop(sandbox_id, None)
                self._tell()

    async def mount_volume(self, operation: MountVolume) -> None:
        """Make a volume ready: a folder on this machine."""
        with _refusals():
            self._volumes.mount(operation)

    async def unmount_volume(self, operation: UnmountVolume) -> None:
        """Remove a volume with what is in it."""
        with _refusals():
            await asyncio.to_thread(self._volumes.unmount, operation)

    async def list_volumes(self) -> tuple[PodVolumes, ...]:
        """Return all volumes there are, whoever looks after their pods."""
        with _refusals():
            return self._volumes.list()

    async def list_remains(self) -> tuple[RuntimePodStatus, ...]:
        """Return nothing: what there is of a pod has a record or a volume."""
        return ()

    async def remove_remains(self, pod: RuntimePodStatus) -> None:
        """Remove what says whose the volumes were that are gone."""
        with _refusals():
            await asyncio.to_thread(self._volumes.remove_empty, pod.pod_uid)

    async def image_status(
        self,
        image: str,  # noqa: ARG002  # images are not used
    ) -> str | None:
        """Return the ID that every image has: none is needed."""
        return translate.IMAGE_ID

    async def pull_image(
        self,
        operation: PullImage,  # noqa: ARG002  # images are not used
        progress: Progress,  # noqa: ARG002  # images are not used
    ) -> PulledImage:
        """Return at once: there is nothing to pull."""
        return PulledImage(translate.IMAGE_ID, 0)

    async def create_container(self, operation: CreateContainer) -> ContainerID:
        """Make a container's folder; nothing runs yet."""
        with _refusals():
            sandbox = self._sandbox(operation.sandbox_id)
            container = sandbox.create_container(operation, os.environ)
            return container.status.container_id

    async def start_container(self, container_id: ContainerID) -> None:
        """Start a container's main process."""
        with _refusals():
            container = self._container(container_id)
            self._sandboxes[container.folder.parent.name].check_ready()
            container.start()

    async def stop_container(
        self, container_id: ContainerID, grace_period_seconds: int
    ) -> None:
        """SIGTERM to the main process, after the grace period SIGKILL to all."""
        with _refusals():
            container = self._known_container(container_id)
            if container is not None:
                await container.stop(grace_period_seconds)

    async def disrupt(self, container_id: ContainerID, disruption: Disruption) -> None:
        """Freeze or unfreeze a container, or signal its main process."""
        with _refusals():
            await self._container(container_id).disrupt(disruption)

    async def undo_left_disruptions(self) -> list[str]:
        """Undo what a session left in force that was killed; return what was done."""
        with _refusals():
            self._load()
            thawed, self._thawed = self._thawed, []
            thawed += self._disruptions.undo_left()
            return [format_undone(what, FROZEN) for what in thawed]

    def why_not(self, pod: Pod, disruption: Disruption) -> str:
        """Return why it cannot be done to a pod, empty where it may be tried."""
        return why_not(pod, disruption)

    async def remove_container(self, container_id: ContainerID) -> None:
        """Kill a container and remove its folder."""
        with _refusals():
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
        """Run a command with a container's environment, where the container runs."""
        with _refusals():
            return await self._container(container_id).exec_sync(
                command, timeout_seconds
            )

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        """Yield the last lines, then, if asked, those to come until the end."""
        with _refusals():
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
        with _refusals():
            container = self._container(container_id)
        if container.state is not RuntimeState.RUNNING:
            raise ContainerRuntimeError("it does not run")
        return await asyncio.to_thread(lambda: listeners_of(container.pids()))

    async def watch(self) -> AsyncIterator[None]:
        """Yield when something happened; what happens at once is one yield."""
        happened = asyncio.Event()
        self._watchers.add(happened)
        try:
            while not self._is_closed:
                await happened.wait()
                happened.clear()
                yield
        finally:
            self._watchers.discard(happened)

    def foreign(self) -> ForeignProcesses:
        """Return the processes that others started."""
        return ForeignProcesses(list_processes, self._disruptions)

    async def close(self) -> None:
        """Stop looking after containers; they go on, those too that were frozen."""
        self._is_closed = True
        await self._rotation.close()
        self._disruptions.undo()
        sandboxes, self._sandboxes = self._sandboxes, {}
        for each in sandboxes.values():
            await each.close()
        self._tell()

    def _tell(self) -> None:
        for each in self._watchers:
            each.set()

    def _load(self) -> None:
        """Bring what is known in line with what is on disk."""
        try:
            with os.scandir(self._base) as entries:
                names = {entry.name for entry in entries} - {VOLUMES_FOLDER}
        except FileNotFoundError:
            names = set()
        for gone in [
            name
            for name, it in self._sandboxes.items()
            if name not in names or not it.refresh()
        ]:
            self._sandboxes.pop(gone).release()
        for name in names - self._sandboxes.keys():
            self._find(name)

    def _find(self, name: str) -> None:
        """Take a sandbox that is on disk, unless another probetui has it."""
        if not records.is_id(name):
            records.remove_left(self._base, name)
            return
        folder = self._base / name
        record = records.read_sandbox(folder / records.SANDBOX_FILE)
        if record is None and self._sees_all:
            record = self._recovered(name)
        if record is None:
            return
        sandbox = ProcessSandbox(
            folder,
            record,
            me=self._me,
            clock=self._clock,
            volumes=self._volumes,
            on_change=self._tell,
        )
        is_anothers = sandbox.is_anothers()
        if is_anothers and not self._sees_all:
            return
        is_adopted = not is_anothers and record.owner != self._me
        if is_adopted:
            sandbox.adopt()
        self._sandboxes[name] = sandbox
        sandbox.refresh()
        if is_adopted:
            self._thawed += [
                f"container {container.record.name} of {record.namespace}/"
                f"{record.pod_name}"
                for container in sandbox.containers.values()
                if container.thaw_left()
            ]

    def _recovered(self, name: str) -> SandboxRecord | None:
        """Return a record for a folder of ours that has lost its own.

        A removal that was interrupted leaves such a one, perhaps with processes.
        """
        folder = DirectoryRoot(self._base)
        if not folder.is_directory(name) or not folder.names(name):
            return None
        return translate.unknown_sandbox(name, self._me, self._clock.now())

    def _written_logs(self) -> Iterator[Path]:
        for sandbox in tuple(self._sandboxes.values()):
            if not sandbox.is_anothers():
                for container in tuple(sandbox.containers.values()):
                    if container.state is RuntimeState.RUNNING:
                        yield container.log

    def _known_sandbox(self, sandbox_id: str) -> ProcessSandbox | None:
        """Return a sandbox as it is now, None if there is none (any more)."""
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
        """Return a container as it is now, None if there is none (any more)."""
        found = self._look_up(container_id)
        if found is None or not found.refresh():
            self._load()
            found = self._look_up(container_id)
        return found

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
    """Tell whether a container will print nothing more."""
    return not container.refresh() or container.state is RuntimeState.EXITED


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Turn what the system refuses into what a runtime refuses."""
    try:
        yield
    except OSError as error:
        raise ContainerRuntimeError(str(error)) from error
