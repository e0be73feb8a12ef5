"""What a session does about images: notes its pulls, sees what is used, collects."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

from probetui.cli.image_inventory import ImageInventory, NotesPulls
from probetui.cli.notes import Notes
from probetui.errors import ContainerRuntimeError, RecordError
from probetui.kubelet.image_gc import (
    GC_PERIOD,
    Collected,
    FailureStreak,
    ImageGcPolicy,
)
from probetui.ports import Clock, ImageStore, Runtime

log = logging.getLogger(__name__)

_LAST_LOOK_SECONDS = 2
"""For how long the end of a session may be held up."""


class ImageUpkeep:
    """Looks after the images of one session, every five minutes as the kubelet does.

    Args:
        store: the runtime's images.
        clock: tells when it is time.
        notes: hears what was removed, and what failed.
        collects: images are removed too; otherwise they are only looked at.
    """

    def __init__(
        self, store: ImageStore, clock: Clock, notes: Notes, *, collects: bool
    ) -> None:
        self._store = store
        self._clock = clock
        self._notes = notes
        self._collects = collects
        self._inventory = ImageInventory(store, clock)
        self._streak = FailureStreak()

    def noting_pulls(self, runtime: Runtime) -> Runtime:
        """Return the same runtime, whose pulls are noted."""
        return cast("Runtime", NotesPulls(runtime, self._store, self._inventory))

    async def run(self) -> None:
        """Do it now and every five minutes, until this is cancelled."""
        if self._collects and not await self._can_tell_ours():
            self._notes.warning(
                "--image-gc: this runtime does not say enough of images to know which "
                "of them are ours, so none is removed"
            )
            return
        while True:
            await (self._collect() if self._collects else self._look())
            await self._clock.sleep_until(self._clock.now() + GC_PERIOD)

    async def finish(self) -> None:
        """Look a last time, while the session's containers are still there."""
        try:
            async with asyncio.timeout(_LAST_LOOK_SECONDS):
                await self._look()
        except TimeoutError:
            log.warning("images were not looked at in the end: no answer in time")

    async def _can_tell_ours(self) -> bool:
        try:
            return bool(await self._store.image_store_id())
        except ContainerRuntimeError:
            return True

    async def _look(self) -> None:
        try:
            await self._inventory.refresh()
        except (ContainerRuntimeError, RecordError) as error:
            log.warning("images cannot be looked at: %s", error)

    async def _collect(self) -> None:
        try:
            found, collected = await self._inventory.collect(ImageGcPolicy())
        except (ContainerRuntimeError, RecordError) as error:
            collected = Collected(error=str(error))
        else:
            names = {each.record.image_id: each.name for each in found.images}
            for each in collected.removed:
                self._notes.note(f"removed the image {names[each.image_id]}")
        for reason in (collected.event, self._streak.judge(collected)):
            if reason:
                self._notes.warning(f"{reason}: {collected.error}")
