"""Parts of a live session that some sessions have and others have not.

A live session is a runtime, an engine and a front end (`live.py`). Whatever else
belongs to it is a part: served metrics, an API, the state for `probetui ls`, manifests
that are followed, images, a node, a case. Its plan lists the parts (`LivePlan.parts`),
and the session treats all of them alike:

1. Once there is a session, which does not run yet, each part is made for it and
   entered, in the order of the list.
2. The session's journal goes to the `sinks`, from the first entry on.
3. The `tasks` run beside the session. They are cancelled when it is over, before its
   pods are ended, unless the part is `needed_to_the_end`.
4. `before_pods_end` and `after_pods_end` are awaited around the end of the pods.
5. The parts are left, the last first.

What has to be done before there is a session stands in `live.py`, in its order: a node
is registered, pods are locked and leased, leftovers are removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, Self

from msgspec import Struct

from probetui.cli.printing import NoteLevel

if TYPE_CHECKING:
    from probetui.cli.session.plan import LivePlan
    from probetui.cli.session.pod_registry import PodRegistry
    from probetui.drive.realtime import RealtimeSession
    from probetui.headless.follow import Sink
    from probetui.k8s.runtime import Node
    from probetui.ports import Clock, Runtime
    from probetui.record.masking import Mask


class ReportMessage(Protocol):
    """Reports a message to the user."""

    def __call__(self, text: str, *, level: NoteLevel, pod_uid: str = "") -> None:
        """Report it at its level; `pod_uid` is empty if it is about no pod."""


class SessionScope(Struct, frozen=True):
    """The session that a part is made for, and what belongs to it.

    Attributes:
        node: what the kubelet knows of its node.
        mask: what is not to be shown.
        report: adds a message to the journal, and shows it.
    """

    plan: LivePlan
    session: RealtimeSession
    runtime: Runtime
    node: Node
    pod_registry: PodRegistry
    mask: Mask
    clock: Clock
    started_at: datetime
    report: ReportMessage


class SessionPart:
    """A part that does nothing; subclasses override what they need.

    Attributes:
        needed_to_the_end: its tasks run on while the pods are ended.
    """

    needed_to_the_end = False

    async def __aenter__(self) -> Self:
        """Start the part; the session does not run yet."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the part."""

    def sinks(self) -> Sequence[Sink]:
        """Return what consumes the session's journal."""
        return ()

    def tasks(self) -> Iterable[Coroutine[Any, Any, None]]:
        """Return what runs beside the session; an error ends the session."""
        return ()

    async def before_pods_end(self, leave: asyncio.Event) -> None:
        """Do what needs the pods a last time.

        Args:
            leave: is set if the user insists on the end.
        """

    async def after_pods_end(self, leave: asyncio.Event) -> None:
        """Do what needs the pods to have ended, or to be kept.

        Args:
            leave: is set if the user insists on the end.
        """


PartMaker = Callable[[SessionScope], SessionPart]
