"""Deliver keys in order: each one after all effects of the one before."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from textual._queue import Queue
from textual.app import App
from textual.events import Event
from textual.message import Message
from textual.message_pump import MessagePump

_RETRY_SECONDS = 0.001


class KeyOrder:
    """Delays keys and pastes while an earlier one is still being handled.

    Textual chooses the receiver of a key when it takes the key from its queue. A key
    that opens a field or a dialog moves the focus some messages later, so that the next
    keys of a burst would reach the screen below, where letters mute probes and restart
    containers.

    Args:
        app: the app that receives the keys.
        deliver: delivers a key to the focused widget; called from the app's own task.
    """

    def __init__(
        self, app: App[Any], deliver: Callable[[Event], Awaitable[None]]
    ) -> None:
        self._app = app
        self._deliver = deliver
        self._delayed: deque[Event] = deque()
        self._is_dropping = False

    @property
    def is_delaying(self) -> bool:
        """Whether keys are delayed."""
        return bool(self._delayed)

    async def deliver_in_turn(self, event: Event) -> None:
        """Deliver a key, now or in its turn; drop it if the app is exiting."""
        if self._is_dropping or self._is_leaving:
            return
        if not self._delayed and self._is_settled():
            await self._deliver(event)
            return
        if not self._delayed:
            self._retry_later()
        self._delayed.append(event)

    def drop_keys(self) -> None:
        """Drop the keys typed up to now, which were meant for another program."""
        self._delayed.clear()
        self._is_dropping = True
        self._app.call_later(self._stop_dropping)

    def _stop_dropping(self) -> None:
        self._is_dropping = False

    def _retry_later(self) -> None:
        # Textual's timers never fire if they start after they are due, and on a busy
        # machine a millisecond passes before they start.
        later = asyncio.get_running_loop().call_later
        later(_RETRY_SECONDS, self._app.call_next, self._deliver_next)

    @property
    def _is_leaving(self) -> bool:
        # Screens are removed before the app exits: nothing could receive a key.
        return self._app._exit  # noqa: SLF001  # Textual has no public way

    async def _deliver_next(self) -> None:
        if self._is_leaving:
            self._delayed.clear()
        if self._delayed and self._is_settled():
            await self._deliver(self._delayed.popleft())
        if self._delayed:
            self._retry_later()

    def _is_settled(self) -> bool:
        """Return whether all message pumps are idle, apart from this call."""
        app = self._app
        # Textual has no public way to ask. A message that is being handled is no longer
        # in the queue, and may be a key on its way up to the app's bindings.
        has_more = (
            app.message_queue_size or app._pending_message or app._next_callbacks  # noqa: SLF001
        )
        return not has_more and all(map(is_waiting, app._registry))  # noqa: SLF001


def is_waiting(pump: MessagePump) -> bool:
    """Return whether a message pump is idle, or has ended."""
    task = pump._task  # noqa: SLF001  # as above
    if task is not None and task.done():
        return True
    queue: Queue[Message | None] = pump._message_queue  # noqa: SLF001
    # An empty queue is not enough: its last message may still be handled.
    waiters = queue.ready_event._waiters  # noqa: SLF001
    return queue.empty() and bool(waiters)
