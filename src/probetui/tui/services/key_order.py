"""The order of keys: one acts only when all that the one before led to is done."""

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

_LOOKS_AGAIN_SECONDS = 0.001


class KeyOrder:
    """Holds keys and pastes back while an earlier one is still being handled.

    The framework decides who gets a key when it takes the key from its queue. A key
    that opens a field or a dialog moves the focus some messages later, so the keys of
    one burst would go past it to the screen below, where letters mute probes and
    restart containers.

    Args:
        app: whose keys these are.
        deliver: hands a key to what has the focus; called in the app's own turn.
    """

    def __init__(
        self, app: App[Any], deliver: Callable[[Event], Awaitable[None]]
    ) -> None:
        self._app = app
        self._deliver = deliver
        self._held: deque[Event] = deque()
        self._is_dropping = False

    @property
    def is_holding(self) -> bool:
        """Whether keys wait for an earlier one."""
        return bool(self._held)

    async def deliver_in_turn(self, event: Event) -> None:
        """Deliver a key, now or when it is its turn; after one that quits, never."""
        if self._is_dropping or self._is_leaving:
            return
        if not self._held and self._is_settled():
            await self._deliver(event)
            return
        if not self._held:
            self._look_again()
        self._held.append(event)

    def drop_keys(self) -> None:
        """Forget the keys typed up to now: they were meant for another program."""
        self._held.clear()
        self._is_dropping = True
        self._app.call_later(self._stop_dropping)

    def _stop_dropping(self) -> None:
        self._is_dropping = False

    def _look_again(self) -> None:
        # A timer of the framework that starts later than it is due never fires, and
        # on a busy machine a millisecond is over before it starts.
        later = asyncio.get_running_loop().call_later
        later(_LOOKS_AGAIN_SECONDS, self._app.call_next, self._deliver_next)

    @property
    def _is_leaving(self) -> bool:
        # The screens go before the program does: there is nobody to deliver to.
        return self._app._exit  # noqa: SLF001  # the framework has no other way

    async def _deliver_next(self) -> None:
        if self._is_leaving:
            self._held.clear()
        if self._held and self._is_settled():
            await self._deliver(self._held.popleft())
        if self._held:
            self._look_again()

    def _is_settled(self) -> bool:
        """Return whether nobody but the app itself, which asks, has anything to do."""
        app = self._app
        # The framework has no other way to ask. A message that it has looked at is no
        # more in the queue, and may be a key on its way up to the app's bindings.
        has_more = (
            app.message_queue_size or app._pending_message or app._next_callbacks  # noqa: SLF001
        )
        return not has_more and all(map(is_waiting, app._registry))  # noqa: SLF001


def is_waiting(pump: MessagePump) -> bool:
    """Return whether a pump waits for its next message, or has ended."""
    task = pump._task  # noqa: SLF001  # as above
    if task is not None and task.done():
        return True
    queue: Queue[Message | None] = pump._message_queue  # noqa: SLF001
    # An empty queue is not enough: its last message may still be handled.
    waiters = queue.ready_event._waiters  # noqa: SLF001
    return queue.empty() and bool(waiters)
