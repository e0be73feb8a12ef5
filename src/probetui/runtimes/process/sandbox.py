"""One sandbox: a folder on disk, an address, and the containers in it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from probetui.errors import ContainerRuntimeError
from probetui.kubelet.effects import CreateContainer
from probetui.ports import Clock
from probetui.runtimes.process import records, translate
from probetui.runtimes.process.container import ProcessContainer
from probetui.runtimes.process.mounts import ProcessMounts, is_in_home
from probetui.runtimes.process.records import ContainerRecord, SandboxRecord
from probetui.runtimes.process_identity import Process, is_alive, kill_marked
from probetui.runtimes.volume_folders import VolumeFolders
from probetui.untrusted_files import DirectoryRoot, child_path

logger = logging.getLogger(__name__)

FOLDER_MODE = 0o700


class ProcessSandbox:
    """A sandbox that is made here, or was found on disk.

    Owned by the runtime. `me` is this probetui, `volumes` where those of pods are.
    """

    def __init__(
        self,
        folder: Path,
        record: SandboxRecord,
        *,
        me: Process,
        clock: Clock,
        volumes: VolumeFolders,
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
        self._on_change = on_change

    def is_anothers(self) -> bool:
        """Tell whether another probetui, which runs, looks after it."""
        return self.record.owner != self._me and is_alive(self.record.owner)

    def refresh(self) -> bool:
        """Take over what another probetui did; False when the sandbox is gone."""
        found = records.signature(self._file)
        if found != self._signature:
            record = records.read_sandbox(self._file)
            if record is None:
                return False
            self.record = record
            self._signature = found
        for gone in [key for key, it in self.containers.items() if not it.refresh()]:
            self.containers.pop(gone).release()
        with os.scandir(self.folder) as entries:
            names = [entry.name for entry in entries]
        for name in names:
            if name not in self.containers:
                self._find(name)
        return True

    def check_ready(self) -> None:
        """Refuse to run anything in a sandbox that was stopped."""
        if not self.record.is_ready:
            raise ContainerRuntimeError(
                f'sandbox "{self.record.sandbox_id}" is not running'
            )

    def adopt(self) -> None:
        """Look after it from now on."""
        self.save(replace(self.record, owner=self._me))

    def save(self, record: SandboxRecord) -> None:
        """Change the record, here and on disk.

        Where it cannot be written it is known here only: what runs on a full disk has
        to be stopped and removed all the same.
        """
        self.record = record
        try:
            records.write(self._file, record)
        except OSError as error:
            logger.warning("sandbox %s cannot be noted: %s", record.sandbox_id, error)
        self._signature = records.signature(self._file)
        self._on_change()

    def create_container(
        self, operation: CreateContainer, inherited: Mapping[str, str]
    ) -> ProcessContainer:
        """Make a container with a folder of its own."""
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
        found = self._find(folder.name)
        assert found is not None, "it has just been written"  # noqa: S101  # for the type
        self._on_change()
        return found

    def _furnish(
        self, home: Path, operation: CreateContainer, record: ContainerRecord
    ) -> ContainerRecord:
        """Make what a container finds in its home; return its record."""
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
        """Kill a container and forget it.

        It is known for as long as anything of it could not be removed.
        """
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
        """Let go of it and its containers, which go on."""
        for each in self.containers.values():
            each.release()

    async def remove(self) -> None:
        """Remove its folder, with what is left of its containers.

        It can be found for as long as anything of it could not be removed.
        """
        await self.close()
        await asyncio.to_thread(self._kill_unknown)
        await asyncio.to_thread(
            self._root.remove_tree, self.folder.name, last=[records.SANDBOX_FILE]
        )

    def _kill_unknown(self) -> None:
        """Kill what runs in containers that have lost their record."""
        for name in DirectoryRoot(self.folder).names():
            if records.is_id(name) and name not in self.containers:
                kill_marked(translate.marker(name))

    async def close(self) -> None:
        """Let go of it, and wait for the end of commands in it."""
        self.release()
        for each in tuple(self.containers.values()):
            await each.close()

    def _find(self, name: str) -> ProcessContainer | None:
        """Take a container that is on disk."""
        record = records.read_container(self.folder / name / records.CONTAINER_FILE)
        if record is None:
            return None
        self.containers[name] = ProcessContainer(
            self.folder / name,
            record,
            clock=self._clock,
            is_anothers=self.is_anothers,
            spared=lambda: (self._me, self.record.owner),
            on_change=self._on_change,
        )
        return self.containers[name]
