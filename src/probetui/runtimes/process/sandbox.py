"""One sandbox: a folder on disk, an address, and the containers in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from probetui.errors import ContainerRuntimeError
from probetui.kubelet.effects import CreateContainer
from probetui.ports import Clock
from probetui.runtimes.process import records, translate
from probetui.runtimes.process.container import ProcessContainer
from probetui.runtimes.process.mounts import make_message_file, mount_volumes
from probetui.runtimes.process.records import SandboxRecord
from probetui.runtimes.process_identity import Process, is_alive
from probetui.runtimes.volume_folders import VolumeFolders, remove_tree

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
        """Change the record, here and on disk."""
        records.write(self._file, record)
        self._signature = records.signature(self._file)
        self.record = record
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
            (folder / translate.HOME_FOLDER).mkdir(FOLDER_MODE)
            (folder / translate.TMP_FOLDER).mkdir(FOLDER_MODE)
            home = folder / translate.HOME_FOLDER
            mount_volumes(home, operation.pod, operation.container, self._volumes)
            if record.message_path:
                make_message_file(Path(record.message_path))
            if Path(record.working_dir).is_relative_to(home):
                Path(record.working_dir).mkdir(parents=True, exist_ok=True)
            records.write(folder / records.CONTAINER_FILE, record)
        except BaseException:
            remove_tree(folder)
            raise
        found = self._find(folder.name)
        assert found is not None, "it has just been written"  # noqa: S101  # for the type
        self._on_change()
        return found

    async def remove_container(self, container_id: str) -> None:
        """Kill a container and forget it."""
        container = self.containers[container_id]
        await container.stop(0)
        await container.close()
        remove_tree(container.folder)
        self.containers.pop(container_id, None)
        self._on_change()

    def release(self) -> None:
        """Let go of it and its containers, which go on."""
        for each in self.containers.values():
            each.release()

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
            on_change=self._on_change,
        )
        return self.containers[name]
