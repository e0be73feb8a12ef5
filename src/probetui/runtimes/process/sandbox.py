"""A sandbox: a folder on disk, a loopback address, and its containers."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
from collections.abc import Callable, Collection, Mapping
from ipaddress import IPv4Address
from pathlib import Path

from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.kubelet.effects import CreateContainer
from probetui.ports import Clock
from probetui.runtimes.process import records, translate
from probetui.runtimes.process.container import ProcessContainer
from probetui.runtimes.process.descendant_killer import DescendantKiller
from probetui.runtimes.process.mounts import ProcessMounts, is_in_home
from probetui.runtimes.process.records import (
    FOLDER_MODE,
    ProcessContainerRecord,
    ProcessSandboxRecord,
)
from probetui.runtimes.process_identity import Process, is_alive, kill_marked
from probetui.runtimes.translation import LOCALHOST
from probetui.runtimes.volume_folders import VolumeFolders
from probetui.untrusted_files import DirectoryRoot, child_path, make_own_directory

logger = logging.getLogger(__name__)


NETWORKS = 254 * 256
"""127.1.0.0/24 to 127.254.255.0/24; systems use addresses in 127.0 themselves."""

HOSTS = 254
FIRST = IPv4Address("127.1.0.1")


class ProcessSandbox:
    """A sandbox that was created here or found on disk; owned by the runtime.

    Args:
        folder: the sandbox's folder.
        record: its record on disk.
        me: this process.
        clock: the session's.
        volumes: the volumes of pods.
        killer: kills what containers started.
        on_change: called whenever a status may have changed.
    """

    def __init__(
        self,
        folder: Path,
        record: ProcessSandboxRecord,
        *,
        me: Process,
        clock: Clock,
        volumes: VolumeFolders,
        killer: DescendantKiller,
        on_change: Callable[[], None],
    ) -> None:
        self.folder = folder
        self.record = record
        self._root = DirectoryRoot(folder.parent)
        self.containers: dict[str, ProcessContainer] = {}
        self._file = folder / records.SANDBOX_FILE
        self._signature = records.signature(self._file)
        self._me = me
        self._clock = clock
        self._volumes = volumes
        self._killer = killer
        self._on_change = on_change

    def is_anothers(self) -> bool:
        """Return whether another running probetui manages it."""
        return self.record.owner != self._me and is_alive(self.record.owner)

    def refresh(self) -> bool:
        """Reload what changed on disk; False when the sandbox is gone."""
        signature = records.signature(self._file)
        if signature is None or signature != self._signature:
            record = records.read_sandbox(self._file)
            if record is not None:
                self.record = record
                self._signature = signature
            elif self._signature is None:
                # The record was lost before the folder was loaded. Neither running nor
                # removing the sandbox needs it: its containers are known.
                if not self.folder.is_dir():
                    return False
            elif not self._record_again():
                return False
        for gone in [
            key for key, container in self.containers.items() if not container.refresh()
        ]:
            self.containers.pop(gone).release()
        try:
            with os.scandir(self.folder) as entries:
                names = [entry.name for entry in entries]
        except FileNotFoundError:  # and it cannot be made again
            names = []
        for name in names:
            if records.is_id(name) and name not in self.containers:
                self._find(name)
        return True

    def _record_again(self) -> bool:
        """Record a sandbox whose folder was removed while containers in it run.

        Returns False if none does: then it is gone.
        """
        if not any(
            container.is_running_here() for container in self.containers.values()
        ):
            return False
        try:
            make_own_directory(self.folder, FOLDER_MODE, parents_mode=FOLDER_MODE)
            records.write(self._file, self.record)
        except OSError as error:
            logger.warning(
                "sandbox %s runs without a record: %s", self.record.sandbox_id, error
            )
        self._signature = records.signature(self._file)
        return True

    def check_ready(self) -> None:
        """Raise `ContainerRuntimeError` if the sandbox was stopped."""
        if not self.record.is_ready:
            raise ContainerRuntimeError(
                f'sandbox "{self.record.sandbox_id}" is not running'
            )

    def adopt(self) -> None:
        """Manage it from now on."""
        self.save(replace(self.record, owner=self._me))

    def save(self, record: ProcessSandboxRecord) -> None:
        """Change the record, in memory and on disk.

        If it cannot be written it is changed in memory only: pods must be stopped and
        removed on a full disk, too.
        """
        self.record = record
        try:
            records.write(self._file, record)
        except OSError as error:
            logger.warning(
                "sandbox %s cannot be recorded: %s", record.sandbox_id, error
            )
        self._signature = records.signature(self._file)
        self._on_change()

    def create_container(
        self, operation: CreateContainer, inherited: Mapping[str, str]
    ) -> ProcessContainer:
        """Create a container with a folder of its own."""
        self.check_ready()
        folder = records.new_folder(self.folder)
        try:
            record = translate.container_record(
                operation, self.record, folder, inherited, self._clock.now()
            )
            own = DirectoryRoot(folder)
            own.make_directory(translate.HOME_FOLDER, FOLDER_MODE)
            own.make_directory(translate.TMP_FOLDER, FOLDER_MODE)
            records.write(
                folder / records.CONTAINER_FILE,
                self._furnish(folder / translate.HOME_FOLDER, operation, record),
            )
        except BaseException:
            self._root.remove_tree(self._relative(folder.name))
            raise
        container = self._find(folder.name)
        assert container is not None, "it has just been written"  # noqa: S101  # for the type
        self._on_change()
        return container

    def _furnish(
        self, home: Path, operation: CreateContainer, record: ProcessContainerRecord
    ) -> ProcessContainerRecord:
        """Create the content of a container's home; return its record."""
        container = operation.container
        mounts = ProcessMounts(home, operation.pod, container, self._volumes)
        mounts.make_links()
        if path := container.termination_message_path:
            message_path = str(mounts.make_message_file(path))
            record = replace(record, message_path=message_path)
        if is_in_home(container, container.working_dir):
            mounts.make_working_dir(container.working_dir)
        return record

    def _relative(self, container_id: str) -> Path:
        return child_path(Path(self.folder.name), container_id)

    async def remove_container(self, container_id: str) -> None:
        """Kill and remove a container; it stays listed until all of it is removed."""
        container = self.containers[container_id]
        await container.stop(0)
        await container.close()
        await container.end_descendants()
        await asyncio.to_thread(
            self._root.remove_tree,
            self._relative(container_id),
            last=[records.CONTAINER_FILE],
        )
        self.containers.pop(container_id, None)
        self._on_change()

    def release(self) -> None:
        """Stop managing the containers, which go on."""
        for container in self.containers.values():
            container.release()

    async def remove(self) -> None:
        """Remove its folder and containers; it stays listed until all is removed."""
        await self.close()
        await asyncio.to_thread(self._kill_unknown)
        await asyncio.to_thread(
            self._root.remove_tree, self.folder.name, last=[records.SANDBOX_FILE]
        )

    def _kill_unknown(self) -> None:
        """Kill the processes of containers that have lost their record."""
        try:
            names = DirectoryRoot(self.folder).names()
        except FileNotFoundError:  # another call has removed the sandbox
            return
        for name in names:
            if records.is_id(name) and name not in self.containers:
                kill_marked(translate.marker(name))

    async def close(self) -> None:
        """Stop managing the containers, and wait for the end of their commands."""
        self.release()
        for container in tuple(self.containers.values()):
            await container.close()

    def _find(self, name: str) -> ProcessContainer | None:
        """Load a container from disk, None if it has no valid record."""
        record = records.read_container(self.folder / name / records.CONTAINER_FILE)
        if record is None:
            return None
        self.containers[name] = ProcessContainer(
            self.folder / name,
            record,
            clock=self._clock,
            is_anothers=self.is_anothers,
            spared=lambda: (self._me, self.record.owner),
            killer=self._killer,
            on_change=self._on_change,
        )
        return self.containers[name]


def free_address(pod_uid: str, taken: Collection[str]) -> str:
    """Return a free loopback address, by preference always the same for a pod.

    Linux has all of 127.0.0.0/8. On systems that have only 127.0.0.1, it is the address
    of every pod.
    """
    digest = hashlib.sha256(pod_uid.encode("utf-8", "surrogatepass")).digest()
    number = int.from_bytes(digest[:8], "big")
    for step in range(NETWORKS * HOSTS):
        network, host = divmod((number + step) % (NETWORKS * HOSTS), HOSTS)
        address = str(FIRST + 256 * network + host)
        if address not in taken:
            return address if is_local(address) else LOCALHOST
    raise ContainerRuntimeError("all loopback addresses are in use")


def is_local(address: str) -> bool:
    """Return whether a program on this machine can listen on an address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
