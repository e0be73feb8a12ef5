"""Images during a session: pulls are recorded, use is noted, GC every five minutes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from typing import Any, cast

from probetui.cli.images.inventory import ImageInventory, PullRecordingRuntime
from probetui.cli.printing import Notes
from probetui.cli.session.parts import SessionPart
from probetui.errors import ContainerRuntimeError, RecordError
from probetui.kubelet.images.image_gc_manager import (
    GC_PERIOD,
    FailureStreak,
    GcResult,
    ImageGcPolicy,
)
from probetui.ports import Clock, Runtime

log = logging.getLogger(__name__)

_LAST_LOOK_SECONDS = 2
"""For how long the end of a session may be held up."""


class ImageMaintenance(SessionPart):
    """Looks after the images of one session, every five minutes as the kubelet does.

    Args:
        store: the runtime's images.
        clock: the time of the next collection.
        notes: where removals and failures are reported.
        collects: remove images too; otherwise only note which are used.
    """

    def __init__(
        self, store: Runtime, clock: Clock, notes: Notes, *, collects: bool
    ) -> None:
        self._store = store
        self._clock = clock
        self._notes = notes
        self._collects = collects
        self._inventory = ImageInventory(store, clock)
        self._streak = FailureStreak()

    def recording_pulls(self, runtime: Runtime) -> Runtime:
        """Return the same runtime, with its pulls recorded."""
        return cast("Runtime", PullRecordingRuntime(runtime, self._inventory))

    def tasks(self) -> Iterable[Coroutine[Any, Any, None]]:
        """Yield what collects, or notes use."""
        yield self.run()

    async def before_pods_end(self, leave: asyncio.Event) -> None:  # noqa: ARG002
        """Record the images in use a last time, while the containers still exist."""
        await self.finish()

    async def run(self) -> None:
        """Collect, or note which are used, now and every five minutes."""
        if self._collects and not await self._can_identify_ours():
            self._notes.warning(
                "--image-gc: this runtime does not report which images probetui "
                "pulled, so none is removed"
            )
            return
        while True:
            await (self._collect() if self._collects else self._refresh())
            await self._clock.sleep_until(self._clock.now() + GC_PERIOD)

    async def finish(self) -> None:
        """Record the images in use a last time, while the containers still exist."""
        try:
            async with asyncio.timeout(_LAST_LOOK_SECONDS):
                await self._refresh()
        except TimeoutError:
            log.warning(
                "images were not checked at the end: the runtime did not answer in time"
            )

    async def _can_identify_ours(self) -> bool:
        try:
            return bool(await self._store.image_store_id())
        except ContainerRuntimeError:
            return True

    async def _refresh(self) -> None:
        try:
            await self._inventory.refresh()
        except (ContainerRuntimeError, RecordError) as error:
            log.warning("images cannot be listed: %s", error)

    async def _collect(self) -> None:
        try:
            inventory, collected = await self._inventory.collect(ImageGcPolicy())
        except (ContainerRuntimeError, RecordError) as error:
            collected = GcResult(error=str(error))
        else:
            names = {image.record.image_id: image.name for image in inventory.images}
            for record in collected.removed:
                self._notes.note(f"removed the image {names[record.image_id]}")
        for reason in (collected.event, self._streak.judge(collected)):
            if reason:
                self._notes.warning(f"{reason}: {collected.error}")
