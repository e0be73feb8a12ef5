"""The objects of an API server: resource versions, recent changes, watches.

Nothing here waits, reads a clock or does I/O. Stored objects are immutable: callers may
keep them and must not change them.

Source: k8s.io/apiserver pkg/registry/generic/registry/store.go, v0.36.2;
pkg/storage/cacher.
"""

from __future__ import annotations

import base64
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TypeAlias

import msgspec
from msgspec import Struct

from probetui.cluster.api_server.failure import bad_request, expired, not_found
from probetui.cluster.api_server.resources import ApiResource
from probetui.cluster.api_server.selection import ALL, Selection
from probetui.k8s.api.codec import Json, format_time

Key: TypeAlias = tuple[str, str, str]
"""Plural, namespace (empty for what has none), name."""

HISTORY = 4096
"""How many changes are kept for watches that begin in the past."""

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_CONTINUE_VERSION = "meta.k8s.io/v1"


class ObjectChange(Struct, frozen=True):
    """A change of an object: before, None if it is new; after, None if it is gone."""

    version: int
    key: Key
    before: Json | None
    after: Json | None


class WatchedChange(Struct, frozen=True):
    """A watch event: `ADDED`, `MODIFIED` or `DELETED`, and the object."""

    type: str
    object: Json


class ListPage(Struct, frozen=True):
    """A list, or a part of it."""

    version: int
    items: list[Json]
    continue_token: str = ""
    remaining: int | None = None


class ObjectFeed:
    """Objects by kind, namespace and name, and a feed of their changes.

    Args:
        now: the clock.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.version = 1
        self._objects: dict[Key, Json] = {}
        self._changes: deque[ObjectChange] = deque()
        self._oldest = 1
        # In order, so that the same writes wake the same watches first.
        self._listeners: dict[Callable[[], None], None] = {}
        for name in NAMESPACES:
            metadata = {
                "name": name,
                "uid": str(uuid.uuid4()),
                "creationTimestamp": format_time(now()),
                "labels": {"kubernetes.io/metadata.name": name},
            }
            namespace = {
                "kind": "Namespace",
                "apiVersion": "v1",
                "metadata": metadata,
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            }
            self._write(("namespaces", "", name), namespace)

    # Reading

    def find(self, resource: ApiResource, namespace: str, name: str) -> Json | None:
        """Return an object, None if it does not exist."""
        return self._objects.get(_key(resource, namespace, name))

    def get(self, resource: ApiResource, namespace: str, name: str) -> Json:
        """Return an object.

        Raises:
            ApiFailure: it does not exist.
        """
        value = self.find(resource, namespace, name)
        if value is None:
            raise not_found(resource.plural, name, resource.group)
        return value

    def list(
        self,
        resource: ApiResource,
        namespace: str = "",
        selection: Selection = ALL,
        *,
        limit: int = 0,
        continue_token: str = "",
        at_version: int | None = None,
    ) -> ListPage:
        """Return objects by namespace and name; all namespaces if none is given.

        Args:
            resource: the kind.
            namespace: the namespace.
            selection: which objects to return.
            limit: how many at most; 0 for all.
            continue_token: from the previous page; it holds the version.
            at_version: the version to list.

        Raises:
            ApiFailure: the token is invalid, or the version has expired.
        """
        start = ""
        if continue_token:
            at_version, start = _read_token(continue_token)
        version = self.version if at_version is None else at_version
        objects = self._objects_at(version, is_continued=bool(continue_token))
        matches = [
            (path, objects[key])
            for path, key in sorted(
                (_path(key, namespace), key)
                for key in objects
                if key[0] == resource.plural and namespace in {"", key[1]}
            )
            if path >= start
        ]
        items: list[Json] = []
        for index, (_, item) in enumerate(matches):
            if limit and len(items) == limit:
                token = _write_token(version, matches[index - 1][0] + "\0")
                remaining = len(matches) - index if selection == ALL else None
                return ListPage(version, items, token, remaining)
            if selection.matches(item):
                items.append(item)
        return ListPage(version, items)

    def _objects_at(self, version: int, *, is_continued: bool) -> Mapping[Key, Json]:
        """Return all objects as they were at a version."""
        if version >= self.version:
            return self._objects
        if version < self._oldest - 1:
            if is_continued:
                raise expired(
                    "The provided continue parameter is too old to display a "
                    "consistent list result. You must start a new list without the "
                    "continue parameter."
                )
            raise expired(f"too old resource version: {version} ({self._oldest})")
        objects = dict(self._objects)
        for change in reversed(self._changes):
            if change.version <= version:
                break
            if change.before is None:
                objects.pop(change.key, None)
            else:
                objects[change.key] = change.before
        return objects

    # Writing

    def put(self, resource: ApiResource, new: Json) -> Json:
        """Store an object, replacing the one of its name, and return it.

        An unchanged object keeps its version.
        """
        metadata = new["metadata"]
        key = _key(resource, metadata.get("namespace", ""), metadata["name"])
        old = self._objects.get(key)
        if old is not None and old["metadata"].get("uid") != metadata.get("uid"):
            self._remove(key)
            old = None
        if old is not None and _at_version(new, _version(old)) == old:
            return old
        return self._write(key, new)

    def remove(self, resource: ApiResource, namespace: str, name: str) -> Json | None:
        """Remove an object and return it; None if it does not exist."""
        key = _key(resource, namespace, name)
        return self._remove(key) if key in self._objects else None

    def _write(self, key: Key, new: Json) -> Json:
        self.version += 1
        written = _at_version(new, self.version)
        before = self._objects.get(key)
        self._objects[key] = written
        self._publish(ObjectChange(self.version, key, before, written))
        return written

    def _remove(self, key: Key) -> Json:
        self.version += 1
        before = self._objects.pop(key)
        self._publish(ObjectChange(self.version, key, before, None))
        return _at_version(before, self.version)

    # Watching

    def watch(
        self,
        resource: ApiResource,
        namespace: str,
        selection: Selection,
        since: int | None,
        *,
        starts_with_all: bool = True,
    ) -> Watch:
        """Start a watch after a version, or with all current objects.

        Raises:
            ApiFailure: the version is no longer known.
        """
        if since is not None and since < self._oldest - 1:
            raise expired(f"too old resource version: {since} ({self._oldest - 1})")
        return Watch(
            self, resource, namespace, selection, since, starts_with_all=starts_with_all
        )

    def listen(self, call: Callable[[], None]) -> Callable[[], None]:
        """Call `call` after each change; return the function that unsubscribes."""
        self._listeners[call] = None
        return lambda: self._listeners.pop(call, None)

    def changes_after(self, version: int) -> Iterator[ObjectChange]:
        """Yield the changes after a version, oldest first.

        Raises:
            ApiFailure: it is no longer known.
        """
        if version < self._oldest - 1:
            raise expired(f"too old resource version: {version} ({self._oldest - 1})")
        newer: list[ObjectChange] = []
        for change in reversed(self._changes):
            if change.version <= version:
                break
            newer.append(change)
        yield from reversed(newer)

    def _publish(self, change: ObjectChange) -> None:
        self._changes.append(change)
        if len(self._changes) > HISTORY:
            self._oldest = self._changes.popleft().version + 1
        for listener in list(self._listeners):
            listener()


class Watch:
    """One watch: the changes that it has still to send."""

    def __init__(
        self,
        feed: ObjectFeed,
        resource: ApiResource,
        namespace: str,
        selection: Selection,
        since: int | None,
        *,
        starts_with_all: bool,
    ) -> None:
        self._feed = feed
        self._resource = resource
        self._namespace = namespace
        self._selection = selection
        self._version = feed.version if since is None else since
        self._initial: list[Json] = []
        if since is None and starts_with_all:
            self._initial = feed.list(resource, namespace, selection).items

    @property
    def version(self) -> int:
        """The version up to which every change was sent."""
        return self._version

    def take_initial(self) -> list[WatchedChange]:
        """Return the initial objects."""
        initial, self._initial = self._initial, []
        return [WatchedChange("ADDED", value) for value in initial]

    def take_changes(self) -> list[WatchedChange]:
        """Return the changes since the last call.

        Raises:
            ApiFailure: it is no longer known.
        """
        events = []
        for change in self._feed.changes_after(self._version):
            self._version = change.version
            plural, namespace, _ = change.key
            if plural != self._resource.plural or self._namespace not in {
                "",
                namespace,
            }:
                continue
            if (event := self._event(change)) is not None:
                events.append(event)
        return events

    def _event(self, change: ObjectChange) -> WatchedChange | None:
        """Return the event that a change is within the selection."""
        before, after = (
            value if value is not None and self._selection.matches(value) else None
            for value in (change.before, change.after)
        )
        if after is not None:
            return WatchedChange("MODIFIED" if before else "ADDED", after)
        if before is not None:
            return WatchedChange("DELETED", _at_version(before, change.version))
        return None


def _version(value: Json) -> int:
    return int(value["metadata"]["resourceVersion"])


def _at_version(value: Json, version: int) -> Json:
    metadata = {**value["metadata"], "resourceVersion": str(version)}
    return {**value, "metadata": metadata}


def _key(resource: ApiResource, namespace: str, name: str) -> Key:
    return resource.plural, namespace if resource.is_namespaced else "", name


def _path(key: Key, namespace: str) -> str:
    """Return a key relative to the list's path, as continue tokens hold it."""
    _, own, name = key
    return f"/{own}/{name}" if own and not namespace else f"/{name}"


def _write_token(version: int, start: str) -> str:
    token = {"v": _CONTINUE_VERSION, "rv": version, "start": start}
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


class _Token(Struct):
    v: str
    rv: int
    start: str


def _read_token(text: str) -> tuple[int, str]:
    try:
        decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        token = msgspec.json.decode(decoded, type=_Token)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise bad_request(
            f"invalid continue token: continue key is not valid: {error}"
        ) from None
    return token.rv, token.start
