"""Events of the kubelet, written to the API server in order.

Source: client-go tools/record/event.go, v0.32.10, recordToSink.
"""

from __future__ import annotations

import asyncio
import logging

from probetui.cluster.client import EVENTS, ApiClient
from probetui.cluster.errors import ApiError, ClusterError
from probetui.cluster.node.contact import ServerContact, is_passing
from probetui.kubelet.events.event_recorder import EventWrite

log = logging.getLogger(__name__)

MOST_WAITING = 1000
"""So many events wait for a server that is away; newer ones are lost then.

Source: client-go tools/record/event.go, v0.32.10, maxQueuedEvents.
"""

MOST_ATTEMPTS = 12
_NOT_FOUND, _CONFLICT = 404, 409


class EventWriter:
    """Writes events in sequence; drops those that the server refuses."""

    def __init__(self, api: ApiClient, contact: ServerContact) -> None:
        self._api = api
        self._contact = contact
        self._waiting: asyncio.Queue[EventWrite] = asyncio.Queue(MOST_WAITING)
        self._dropped = 0

    def put(self, write: EventWrite) -> None:
        """Queue an event; log the first that is dropped."""
        try:
            self._waiting.put_nowait(write)
        except asyncio.QueueFull:
            if not self._dropped:
                log.warning("event %s is dropped: too many are waiting", write.name)
            self._dropped += 1

    async def run(self) -> None:
        """Write events until cancelled."""
        while True:
            write = await self._waiting.get()
            try:
                await self._write(write)
            finally:
                self._waiting.task_done()
            if self._dropped and self._waiting.empty():
                log.warning("%d events were dropped", self._dropped)
                self._dropped = 0

    async def finish(self) -> None:
        """Return once all have been written; the caller sets the time limit."""
        await self._waiting.join()

    async def _write(self, write: EventWrite) -> None:
        for attempt in range(1, MOST_ATTEMPTS + 1):
            try:
                await self._send(write)
            except ClusterError as error:
                if not is_passing(error):
                    log.info("event %s is refused: %s", write.name, error)
                    return
                await self._contact.wait(error, attempt)
            else:
                self._contact.on_answer()
                return
        log.warning(
            "event %s is dropped: the API server does not accept it", write.name
        )

    async def _send(self, write: EventWrite) -> None:
        if write.patch is not None:
            try:
                await self._api.patch(EVENTS, write.namespace, write.name, write.patch)
            except ApiError as error:
                if error.code != _NOT_FOUND:
                    raise
            else:
                return
        try:
            await self._api.create(EVENTS, write.namespace, write.body)
        except ApiError as error:
            if error.code != _CONFLICT:
                raise
            # An earlier attempt, whose response was lost, has created it.
