"""The response to a watch: one line of JSON for each event.

Source: k8s.io/apiserver pkg/endpoints/handlers/watch.go, v0.36.2;
pkg/storage/cacher/cache_watcher.go.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import msgspec
from msgspec import Struct

from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.api_server.object_feed import ObjectFeed, Watch, WatchedChange
from probetui.cluster.api_server.resources import ApiResource
from probetui.k8s.api.codec import Json

DEFAULT_TIMEOUT_SECONDS = 3600
BOOKMARK_SECONDS = 60
BEFORE_END_SECONDS = 2
"""How long before the end of a watch its last bookmark comes."""

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_BARE: dict[str, Json] = {"Pod": {"spec": {"containers": None}, "status": {}}}


class WatchOptions(Struct, frozen=True):
    """The options of a watch; `timeout` in seconds."""

    timeout: float = DEFAULT_TIMEOUT_SECONDS
    has_bookmarks: bool = False
    marks_initial_end: bool = False


class WatchLines:
    """The lines of one watch.

    Args:
        feed: where the objects are.
        resource: their kind.
        watch: the changes to send.
        options: the client's options.
        represent: converts objects to the representation asked for.
    """

    def __init__(
        self,
        feed: ObjectFeed,
        resource: ApiResource,
        watch: Watch,
        options: WatchOptions,
        represent: Callable[[Json], Json],
    ) -> None:
        self._feed = feed
        self._resource = resource
        self._watch = watch
        self._options = options
        self._represent = represent

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield events as lines; pending ones are sent together."""
        changed = asyncio.Event()
        end_listening = self._feed.listen(changed.set)
        clock = asyncio.get_running_loop().time
        end = clock() + self._options.timeout
        last = end - BEFORE_END_SECONDS
        try:
            if initial := self._lines_of(self._watch.take_initial()):
                yield initial
            if self._options.marks_initial_end:
                yield self._bookmark({INITIAL_EVENTS_END: "true"})
            bookmark_at = min(clock() + BOOKMARK_SECONDS, last)
            while clock() < end:
                changed.clear()
                if lines := self._lines_of(self._watch.take_changes()):
                    yield lines
                wait = min(end, bookmark_at) - clock()
                try:
                    async with asyncio.timeout(max(wait, 0)):
                        await changed.wait()
                except TimeoutError:
                    if self._options.has_bookmarks and clock() < end:
                        yield self._bookmark({})
                    is_last = bookmark_at >= last
                    next_at = end if is_last else bookmark_at + BOOKMARK_SECONDS
                    bookmark_at = next_at if is_last else min(next_at, last)
        except ApiFailure as failure:
            yield _line("ERROR", failure.status())
        finally:
            end_listening()

    def _lines_of(self, events: list[WatchedChange]) -> bytes:
        return b"".join(
            _line(event.type, self._represent(event.object)) for event in events
        )

    def _bookmark(self, annotations: Json) -> bytes:
        metadata: Json = {"resourceVersion": str(self._watch.version)}
        if annotations:
            metadata["annotations"] = annotations
        kind = self._resource.kind
        bookmark = {
            "kind": kind,
            "apiVersion": self._resource.group_version,
            "metadata": metadata,
            **_BARE.get(kind, {}),
        }
        return _line("BOOKMARK", bookmark)


async def one_error(failure: ApiFailure) -> AsyncIterator[bytes]:
    """Yield the single error line of a watch that cannot begin."""
    yield _line("ERROR", failure.status())


def _line(kind: str, value: Json) -> bytes:
    return msgspec.json.encode({"type": kind, "object": value}) + b"\n"
