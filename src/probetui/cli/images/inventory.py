"""Images that probetui pulled: recorded, inspected and collected; no others ever.

Difference: the kubelet counts every image on its node among its own. Here those count
that probetui pulled and nobody else has named, and any container that has one of them
keeps it, whoever made the container.
"""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from probetui.cli.images.pull_records import PulledImageRecord, PulledImageStore
from probetui.errors import ContainerRuntimeError, RecordError
from probetui.k8s.runtime import StoredImage
from probetui.kubelet.effects import PulledImage, PullImage
from probetui.kubelet.images.image_gc_manager import (
    GarbageCollection,
    GcResult,
    GcStepResult,
    ImageGcPolicy,
    ImageRecord,
    MeasureFilesystem,
    RemoveImage,
    collect_garbage,
    delete_unused_images,
    detect_images,
)
from probetui.ports import Clock, Progress, Runtime

log = logging.getLogger(__name__)


class InventoryImage(Struct, frozen=True):
    """An image that probetui pulled, as it is now."""

    stored: StoredImage
    pulled: PulledImageRecord
    record: ImageRecord

    @property
    def name(self) -> str:
        """The name people know it by; its ID if it has none any more."""
        return next(iter(self.stored.names), self.stored.image_id)

    @property
    def foreign_names(self) -> tuple[str, ...]:
        """Names that somebody else gave to it; it is theirs too, and stays."""
        names = self.stored.names
        return tuple(name for name in names if name not in self.pulled.names)


class Inventory(Struct, frozen=True):
    """All of them, at one instant."""

    images: tuple[InventoryImage, ...]
    taken_at: datetime

    @property
    def in_use(self) -> frozenset[str]:
        """The IDs of those that containers have, whoever made the containers."""
        used = (image.stored for image in self.images)
        return frozenset(image.image_id for image in used if image.used_by)

    @property
    def collectable(self) -> dict[str, ImageRecord]:
        """The records of those that nobody else has named, by ID."""
        return {
            image.record.image_id: image.record
            for image in self.images
            if not image.foreign_names
        }


class ImageInventory:
    """Keeps the notes about the images of one runtime in step with what is there.

    Args:
        store: the runtime's images.
        clock: the times at which images are pulled and used.
        folder: where the notes are; the state folder's place for them by default.
    """

    def __init__(
        self, store: Runtime, clock: Clock, folder: Path | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._folder = folder

    async def record_pull(self, before: tuple[StoredImage, ...], image_id: str) -> None:
        """Record the image that a pull of ours brought.

        An image that was here before is somebody else's, unless we had pulled it: then
        names that are new are ours as well.

        Args:
            before: the images there were before the pull.
            image_id: what the pull came to.
        """
        notes = await self._notes()
        if notes is None:
            return
        here = {image.image_id: image for image in await self._store.list_images()}
        copy = await self._store.image_copy(image_id)
        if image_id not in here or copy is None:
            return
        names = frozenset(here[image_id].names)
        earlier = {image.image_id: image for image in before}
        with notes.changing():
            known = notes.all().get(image_id)
            if image_id not in earlier:
                notes.save(PulledImageRecord(image_id, names, copy, self._clock.now()))
            elif known is not None and (new := names - set(earlier[image_id].names)):
                # A name changes the mark of a copy in some stores.
                notes.save(replace(known, names=known.names | new, copy=copy))

    async def refresh(self) -> Inventory:
        """Look at what is there; forget what is gone or was pulled anew by others.

        Raises:
            ContainerRuntimeError: the runtime does not answer.
            RecordError: the notes cannot be changed.
        """
        notes = await self._notes()
        if notes is None or not (known := notes.all()):
            return Inventory((), self._clock.now())
        stored = {image.image_id: image for image in await self._store.list_images()}
        copies = {key: await self._store.image_copy(key) for key in known}
        now = self._clock.now()
        with notes.changing():
            # Others may have changed them while we asked.
            known = notes.all()
            for image_id, pulled in tuple(known.items()):
                is_judged = image_id in copies
                if is_judged and copies[image_id] != pulled.copy:
                    notes.forget(image_id)
                    del known[image_id]
            images = [stored[key] for key in known if key in stored]
            in_use = {image.image_id for image in images if image.used_by}
            past = {key: pulled.record for key, pulled in known.items()}
            records = detect_images(past, images, in_use, now)
            for image_id in in_use:
                known[image_id] = replace(known[image_id], last_used=now)
                notes.save(known[image_id])
        entries = (
            InventoryImage(image, known[image.image_id], records[image.image_id])
            for image in images
        )
        return Inventory(tuple(sorted(entries, key=lambda image: image.name)), now)

    async def collect(
        self, policy: ImageGcPolicy, *, everything: bool = False, dry_run: bool = False
    ) -> tuple[Inventory, GcResult]:
        """Remove images as the kubelet would; return what was there and what came.

        Args:
            policy: when to collect and what.
            everything: whatever is not in use, however full the disk is.
            dry_run: remove nothing, only report what would be removed.

        Raises:
            ContainerRuntimeError: the runtime cannot list its images.
            RecordError: the notes cannot be changed.
        """
        inventory = await self.refresh()
        now, in_use = inventory.taken_at, inventory.in_use
        records = inventory.collectable
        if everything:
            steps = delete_unused_images(records, in_use, policy, now=now)
        else:
            # The notes reach further back than this process.
            began_at = min(
                (record.first_detected for record in records.values()), default=now
            )
            steps = collect_garbage(records, in_use, policy, now=now, began_at=began_at)
        return inventory, await self._carry_out(steps, dry_run=dry_run)

    async def _carry_out(self, steps: GarbageCollection, *, dry_run: bool) -> GcResult:
        try:
            step = next(steps)
            while True:
                step = steps.send(await self._answer(step, dry_run=dry_run))
        except StopIteration as end:
            collected: GcResult = end.value
            return collected

    async def _answer(
        self, step: RemoveImage | MeasureFilesystem, *, dry_run: bool
    ) -> GcStepResult:
        try:
            match step:
                case MeasureFilesystem():
                    return GcStepResult(filesystem=await self._store.image_filesystem())
                case RemoveImage(record):
                    if not dry_run:
                        await self._remove(record.image_id)
        except ContainerRuntimeError as error:
            return GcStepResult(str(error))
        return GcStepResult()

    async def _remove(self, image_id: str) -> None:
        await self._store.remove_image(image_id)
        if (notes := await self._notes()) is None:
            return
        try:
            with notes.changing():
                notes.forget(image_id)
        except RecordError as error:
            # The next look at what is there finds that it is gone.
            log.warning("the pull record of %s cannot be removed: %s", image_id, error)

    async def _notes(self) -> PulledImageStore | None:
        """Return the notes about this store; None if the store has no ID."""
        store_id = await self._store.image_store_id()
        return PulledImageStore(store_id, self._folder) if store_id else None


class PullRecordingRuntime:
    """A runtime whose pulls are noted; whatever goes wrong with a note, pulls go on."""

    def __init__(self, runtime: Runtime, inventory: ImageInventory) -> None:
        self._runtime = runtime
        self._inventory = inventory

    def __getattr__(self, name: str) -> Any:
        """Do everything else as the runtime itself does."""
        return getattr(self._runtime, name)

    async def pull_image(self, operation: PullImage, progress: Progress) -> PulledImage:
        """Pull an image and note it, if it was not here before."""
        try:
            before = await self._runtime.list_images()
        except ContainerRuntimeError as error:
            log.warning(
                "the pull of %s will not be recorded: %s", operation.image, error
            )
            return await self._runtime.pull_image(operation, progress)
        pulled = await self._runtime.pull_image(operation, progress)
        try:
            await self._inventory.record_pull(before, pulled.image_id)
        except (ContainerRuntimeError, RecordError) as error:
            log.warning("the pull of %s was not recorded: %s", operation.image, error)
        return pulled
