"""Runtime health: the runtime's conditions and its images, polled as the kubelet does.

Source: kubelet/runtime.go, v1.32.10, runtimeState; kubelet.go, updateRuntimeUp;
images/image_gc_manager.go, Start.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum

from probetui.k8s.runtime import RuntimeCondition
from probetui.kubelet.effects import GetRuntimeStatus, ListImages
from probetui.kubelet.facts import ImagesListed, RuntimeStatusRead
from probetui.kubelet.runtime.go_format import aggregate_errors, go_duration
from probetui.kubelet.runtime.timers import Timers
from probetui.kubelet.runtime.turn import TurnBuilder

STATUS_PERIOD = timedelta(seconds=5)
IMAGES_PERIOD = timedelta(seconds=30)
DOWN_AFTER = timedelta(seconds=30)
RELIST_THRESHOLD = timedelta(minutes=3)

RUNTIME_READY = "RuntimeReady"
NETWORK_READY = "NetworkReady"
NETWORK_NOT_READY = "network is not ready"

READY_CONDITIONS = (
    RuntimeCondition(RUNTIME_READY, status=True),
    RuntimeCondition(NETWORK_READY, status=True),
)
"""Those of a runtime that is always ready."""

_STATE_UNKNOWN = "network state unknown"
_NOT_CHECKED = "container runtime status check may not have completed yet"
_NO_CONDITION = "<nil>"


class _Poll(StrEnum):
    STATUS = "status"
    IMAGES = "images"


class RuntimeHealth:
    """The runtime's conditions and images; owned by the kubelet.

    Difference: while the runtime is not ready, no sync of a pod starts, and the rest
    continues; the kubelet's main loop blocks.

    Args:
        turn: where effects and notes go.
        now: when the first polls are due.
        polls_status: whether the runtime's conditions are polled; if not, it counts as
            ready.
        polls_images: whether the runtime's images are polled.

    Attributes:
        conditions: the last conditions of the runtime.
        checked_at: when they were read, None before the first time.
        status_error: why the last poll for them failed.
        images: the last listing of images.
        images_at: when they were listed, None before the first time.
        images_error: why the last listing failed.
    """

    def __init__(
        self,
        turn: TurnBuilder,
        now: datetime,
        *,
        polls_status: bool,
        polls_images: bool,
    ) -> None:
        self._turn = turn
        self._timers: Timers[_Poll] = Timers()
        self.polls_status, self.polls_images = polls_status, polls_images
        if polls_status:
            self._timers.set(_Poll.STATUS, now)
        if polls_images:
            self._timers.set(_Poll.IMAGES, now)
        self.conditions: tuple[RuntimeCondition, ...] = ()
        self.checked_at: datetime | None = None
        self.status_error = ""
        self.images = ImagesListed()
        self.images_at: datetime | None = None
        self.images_error = ""
        self._synced_at: datetime | None = None
        self._network_error = _STATE_UNKNOWN if polls_status else ""
        self._runtime_error = ""

    @property
    def network_error(self) -> str:
        """Why the network is not ready, empty if it is."""
        return self._network_error

    @property
    def syncs_pods(self) -> bool:
        """Whether pods are synced: the runtime has been ready and is not down now."""
        if not self.polls_status:
            return True
        return self._synced_at is not None and not self._runtime_error

    def runtime_errors(
        self, relisted_at: datetime | None, now: datetime
    ) -> Iterator[str]:
        """Yield the runtime's reasons for a node that is not ready.

        Args:
            relisted_at: when the last relist that succeeded began.
            now: the time.
        """
        if self.polls_status and self._synced_at is None:
            yield _NOT_CHECKED
        elif self._synced_at is not None and now - self._synced_at >= DOWN_AFTER:
            yield "container runtime is down"
        if relisted_at is None:
            yield "PLEG is not healthy: pleg has yet to be successful"
        elif now - relisted_at > RELIST_THRESHOLD:
            yield (
                "PLEG is not healthy: pleg was last seen active "
                f"{go_duration(now - relisted_at)} ago; threshold is "
                f"{go_duration(RELIST_THRESHOLD)}"
            )
        if self._runtime_error:
            yield self._runtime_error

    def next_deadline(self) -> datetime | None:
        """Return the time of the next poll, None without one."""
        return self._timers.next_deadline()

    def run_due(self, now: datetime) -> None:
        """Run the due polls; the next one is a period after the answer."""
        while (poll := self._timers.pop_due(now)) is not None:
            self._turn.emit(
                GetRuntimeStatus() if poll is _Poll.STATUS else ListImages()
            )

    def on_images_listed(self, fact: ImagesListed, now: datetime) -> None:
        """Store the images, if they could be listed."""
        self.images_error = fact.error
        if not fact.error:
            self.images, self.images_at = fact, now
        self._timers.set(_Poll.IMAGES, now + IMAGES_PERIOD)

    def on_status_read(self, fact: RuntimeStatusRead, now: datetime) -> None:
        """Store the conditions; write notes about changes."""
        self._timers.set(_Poll.STATUS, now + STATUS_PERIOD)
        self.status_error = fact.error
        if fact.error:
            return
        self.conditions, self.checked_at = fact.conditions, now
        before = self._network_error, self._runtime_error
        network = self._find(NETWORK_READY)
        self._network_error = (
            ""
            if network is not None and network.status
            else f"container runtime network not ready: {network or _NO_CONDITION}"
        )
        ready = self._find(RUNTIME_READY)
        if ready is not None and ready.status:
            self._runtime_error = ""
            self._synced_at = now
        else:
            self._runtime_error = (
                f"container runtime not ready: {ready or _NO_CONDITION}"
            )
        for old, new in zip(
            before, (self._network_error, self._runtime_error), strict=True
        ):
            self._note_change(old, new, now)

    def _find(self, name: str) -> RuntimeCondition | None:
        return next(
            (condition for condition in self.conditions if condition.type == name), None
        )

    def _note_change(self, old: str, new: str, now: datetime) -> None:
        if new and new != old:
            self._turn.note(now, new, is_fault=True)
        elif old and not new and old != _STATE_UNKNOWN:
            message = old.partition(" not ready:")[0]
            self._turn.note(now, f"{message} ready again")


def node_ready_message(errors: Iterator[str], network_error: str) -> str:
    """Return the message of the node's condition Ready, empty if it is true.

    Source: nodestatus/setters.go, v1.32.10, ReadyCondition.
    """
    reasons = [*errors, *([network_error] if network_error else [])]
    return aggregate_errors(reasons) if reasons else ""
