"""The store of an API server: objects, resource versions and recent changes.

Nothing here waits, reads a clock or does I/O. What is stored is never changed in
place: a caller may keep it, and may not change it.

Source: k8s.io/apiserver pkg/registry/generic/registry/store.go, v0.36.2;
pkg/storage/cacher.
"""

from __future__ import annotations

import base64
import secrets
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import msgspec
from lightkube.models import core_v1, meta_v1
from msgspec import Struct

from probetui.cluster.api_server.failure import (
    ApiFailure,
    already_exists,
    bad_request,
    conflict,
    expired,
    invalid,
    modified,
    not_found,
)
from probetui.cluster.api_server.patch import PATCH_TYPES, PatchError, apply_patch
from probetui.cluster.api_server.pod_rules import (
    check_pod_update,
    grace_seconds,
    new_pod,
    unknown_grace,
    with_condition_fields,
)
from probetui.cluster.api_server.resources import PODS, ApiResource
from probetui.cluster.api_server.selection import ALL, Selection
from probetui.k8s.api.codec import MAX_SECONDS, Json, format_time
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

Key: TypeAlias = tuple[str, str, str]
"""Plural, namespace (empty for what has none), name."""

HISTORY = 4096
"""How many changes are kept for watches that begin in the past."""

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_CONTINUE_VERSION = "meta.k8s.io/v1"
_SUFFIX_BYTES = 3
_MISSING = "missing required field"
_SERVER_FIELDS = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "generation", "namespace", "name",
)  # fmt: skip


class StoredChange(Struct, frozen=True):
    """One write: the object before, None if it is new; after, None if it is gone."""

    version: int
    key: Key
    before: Json | None
    after: Json | None


class WatchedChange(Struct, frozen=True):
    """A change of a watch: `ADDED`, `MODIFIED` or `DELETED`, and the object."""

    type: str
    object: Json


class ListPage(Struct, frozen=True):
    """A list, or a part of it."""

    version: int
    items: list[Json]
    continue_token: str = ""
    remaining: int | None = None


class DeleteOptions(Struct, frozen=True):
    """How an object is deleted; None where nothing is said."""

    grace_period_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    is_dry_run: bool = False


AS_IT_IS = DeleteOptions()
"""Nothing is said: with the object's own grace period."""


class Store:
    """Objects by kind, namespace and name.

    Args:
        now: the clock.
        rules: those of the version, for validation.
        history: how many changes are kept.
        new_uid: makes UIDs.
    """

    def __init__(
        self,
        now: Callable[[], datetime],
        *,
        rules: KubeletRules = PORTED_RULES,
        history: int = HISTORY,
        new_uid: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self.now = now
        self.version = 1
        self._rules = rules
        self._new_uid = new_uid
        self._history_length = history
        self._objects: dict[Key, Json] = {}
        self._changes: deque[StoredChange] = deque()
        self._oldest = 1
        self._listeners: set[Callable[[], None]] = set()
        for name in NAMESPACES:
            metadata = {
                "name": name,
                "uid": new_uid(),
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
        """Return an object, None if it is not there."""
        return self._objects.get(_key(resource, namespace, name))

    def get(self, resource: ApiResource, namespace: str, name: str) -> Json:
        """Return an object.

        Raises:
            ApiFailure: it is not there.
        """
        found = self.find(resource, namespace, name)
        if found is None:
            raise not_found(resource.plural, name, resource.group)
        return found

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
            selection: which of them.
            limit: how many at most; 0 for all.
            continue_token: that of the page before, which says the version.
            at_version: as they were then.

        Raises:
            ApiFailure: the token is none, or the version is no longer known.
        """
        start = ""
        if continue_token:
            at_version, start = _read_token(continue_token)
        version = self.version if at_version is None else at_version
        objects = self._objects_at(version, is_continued=bool(continue_token))
        found = [
            (path, objects[key])
            for path, key in sorted(
                (_path(key, namespace), key)
                for key in objects
                if key[0] == resource.plural and namespace in {"", key[1]}
            )
            if path >= start
        ]
        items: list[Json] = []
        for index, (_, item) in enumerate(found):
            if limit and len(items) == limit:
                token = _write_token(version, found[index - 1][0] + "\0")
                remaining = len(found) - index if selection == ALL else None
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

    def create(self, resource: ApiResource, namespace: str, given: Json) -> Json:
        """Create an object and return it.

        Raises:
            ApiFailure: it is there already, or is not valid.
        """
        metadata = dict(_mapping(given, "metadata"))
        if resource.is_namespaced:
            self._check_namespace(namespace, metadata)
            metadata["namespace"] = namespace
        if not metadata.get("name") and (prefix := metadata.get("generateName")):
            metadata["name"] = f"{prefix}{secrets.token_hex(_SUFFIX_BYTES)[:5]}"
        if not (name := metadata.get("name")):
            cause = "Required value: name or generateName is required"
            raise invalid(
                resource.kind,
                "",
                [("FieldValueRequired", cause, "metadata.name")],
                resource.group,
            )
        if self.find(resource, namespace, name) is not None:
            raise already_exists(resource.plural, name, resource.group)
        if metadata.get("resourceVersion"):
            raise bad_request(
                "resourceVersion should not be set on objects to be created"
            )
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
            metadata.pop(field, None)
        metadata["uid"] = self._new_uid()
        metadata["creationTimestamp"] = format_time(self.now())
        new = {**given, "metadata": metadata}
        _check_types(resource, new)
        if resource is PODS:
            new = new_pod(new, self._rules)
        if resource.plural == "namespaces":
            new["status"] = {"phase": "Active"}
        return self._write(_key(resource, namespace, name), new)

    def _check_namespace(self, namespace: str, metadata: Json) -> None:
        if metadata.get("namespace") not in {None, "", namespace}:
            raise bad_request(
                "the namespace of the provided object does not match "
                "the namespace sent on the request"
            )
        if ("namespaces", "", namespace) not in self._objects:
            raise not_found("namespaces", namespace)

    def update(
        self,
        resource: ApiResource,
        namespace: str,
        name: str,
        given: Json,
        subresource: str = "",
    ) -> Json:
        """Replace an object, or its status, and return it.

        Without a change the version stays as it is.

        Raises:
            ApiFailure: it is not there, has changed since, or may not change so.
        """
        old = self.get(resource, namespace, name)
        metadata: Json = dict(_mapping(given, "metadata"))
        if metadata.get("name", name) != name:
            raise bad_request(
                f"the name of the object ({metadata['name']}) does not match "
                f"the name on the URL ({name})"
            )
        had = old["metadata"]
        version = metadata.pop("resourceVersion", None)
        if version and version != had["resourceVersion"]:
            raise modified(resource.plural, name, resource.group)
        if (uid := metadata.get("uid")) and uid != had["uid"]:
            problem = f'Invalid value: "{uid}": field is immutable'
            cause = ("FieldValueInvalid", problem, "metadata.uid")
            raise invalid(resource.kind, name, [cause, cause], resource.group)
        for field in _SERVER_FIELDS:
            metadata.pop(field, None)
            if field in had:
                metadata[field] = had[field]
        new = {**given, "metadata": metadata}
        if subresource == "status":
            new = {**old, "metadata": metadata, "status": given.get("status", {})}
        elif resource.has("status"):
            new["status"] = old.get("status", {})
        _check_types(resource, new)
        if resource is PODS:
            check_pod_update(old, new)
            new = with_condition_fields(new)
        if resource.counts_generation and new.get("spec") != old.get("spec"):
            metadata["generation"] = had.get("generation", 0) + 1
        return self._replace(_key(resource, namespace, name), old, new)

    def _replace(self, key: Key, old: Json, new: Json) -> Json:
        """Store an object that is to take another's place; the last finalizer's end."""
        metadata = new["metadata"]
        if _at_version(new, _version(old)) == old:
            return old
        written = self._write(key, new)
        is_deleted = (
            "deletionTimestamp" in metadata
            and not metadata.get("deletionGracePeriodSeconds")
            and not metadata.get("finalizers")
        )
        if is_deleted:
            self._remove(key)
        return written

    def patch(
        self,
        resource: ApiResource,
        namespace: str,
        name: str,
        content_type: str,
        patch: Any,
        subresource: str = "",
    ) -> Json:
        """Apply a patch to an object, or to its status, and return it.

        Raises:
            ApiFailure: as for `update`, or the patch is none.
        """
        old = self.get(resource, namespace, name)
        if content_type not in PATCH_TYPES:
            raise unsupported_media_type()
        try:
            new = apply_patch(content_type, old, patch)
        except PatchError as error:
            raise bad_request(str(error)) from None
        return self.update(resource, namespace, name, new, subresource)

    def delete(
        self,
        resource: ApiResource,
        namespace: str,
        name: str,
        options: DeleteOptions = AS_IT_IS,
    ) -> Json:
        """Delete an object; return it as it is then.

        A pod that has a node gets a deletionTimestamp and stays until it is deleted
        without grace; so does an object with finalizers.

        Raises:
            ApiFailure: it is not there, or is not the one that is meant.
        """
        old = self.get(resource, namespace, name)
        metadata = old["metadata"]
        _check_preconditions(resource, old, options)
        if options.is_dry_run:
            return old
        wanted = options.grace_period_seconds
        if wanted is not None and wanted < 0:
            raise unknown_grace(name)
        grace = grace_seconds(old, wanted) if resource is PODS else 0
        key = _key(resource, namespace, name)
        has_finalizers = bool(metadata.get("finalizers"))
        if not has_finalizers and resource is not PODS:
            return self._remove(key)
        if "deletionTimestamp" in metadata:
            had_grace = metadata.get("deletionGracePeriodSeconds", 0)
            if grace >= had_grace and (grace or has_finalizers):
                return old
            marked: Json = {"deletionGracePeriodSeconds": grace}
        else:
            marked = {
                "deletionTimestamp": format_time(
                    self.now() + timedelta(seconds=min(grace, MAX_SECONDS))
                ),
                "deletionGracePeriodSeconds": grace,
                **(
                    {"generation": metadata["generation"] + 1}
                    if "generation" in metadata
                    else {}
                ),
            }
        new = self._write(key, {**old, "metadata": {**metadata, **marked}})
        if not grace and not has_finalizers:
            self._remove(key)
        return new

    def put(self, resource: ApiResource, given: Json) -> Json:
        """Store an object as it is, whatever is there, and return it.

        For who holds the truth of it himself.
        """
        metadata = given["metadata"]
        key = _key(resource, metadata.get("namespace", ""), metadata["name"])
        old = self._objects.get(key)
        if old is not None and old["metadata"].get("uid") != metadata.get("uid"):
            self._remove(key)
            old = None
        if old is not None and _at_version(given, _version(old)) == old:
            return old
        return self._write(key, given)

    def remove(self, resource: ApiResource, namespace: str, name: str) -> None:
        """Remove an object at once; nothing if it is not there."""
        key = _key(resource, namespace, name)
        if key in self._objects:
            self._remove(key)

    def _write(self, key: Key, new: Json) -> Json:
        self.version += 1
        written = _at_version(new, self.version)
        before = self._objects.get(key)
        self._objects[key] = written
        self._publish(StoredChange(self.version, key, before, written))
        return written

    def _remove(self, key: Key) -> Json:
        self.version += 1
        before = self._objects.pop(key)
        self._publish(StoredChange(self.version, key, before, None))
        return _at_version(before, self.version)

    # Watching

    def compact(self) -> None:
        """Forget what changed: a watch from before now is expired."""
        self._changes.clear()
        self._oldest = self.version + 1

    def watch(
        self,
        resource: ApiResource,
        namespace: str,
        selection: Selection,
        since: int | None,
        *,
        starts_with_all: bool = True,
    ) -> Watch:
        """Return a watch of what changes after a version, or of all there is and that.

        Raises:
            ApiFailure: the version is no longer known.
        """
        if since is not None and since < self._oldest - 1:
            raise expired(f"too old resource version: {since} ({self._oldest - 1})")
        return Watch(
            self, resource, namespace, selection, since, starts_with_all=starts_with_all
        )

    def listen(self, call: Callable[[], None]) -> Callable[[], None]:
        """Have `call` called after each change; call what is returned to end that."""
        self._listeners.add(call)
        return lambda: self._listeners.discard(call)

    def changes_after(self, version: int) -> Iterator[StoredChange]:
        """Yield what changed after a version, oldest first.

        Raises:
            ApiFailure: it is no longer known.
        """
        if version < self._oldest - 1:
            raise expired(f"too old resource version: {version} ({self._oldest - 1})")
        newer: list[StoredChange] = []
        for change in reversed(self._changes):
            if change.version <= version:
                break
            newer.append(change)
        yield from reversed(newer)

    def _publish(self, change: StoredChange) -> None:
        self._changes.append(change)
        if len(self._changes) > self._history_length:
            self._oldest = self._changes.popleft().version + 1
        for listener in list(self._listeners):
            listener()


class Watch:
    """The changes that one watch has not been sent yet."""

    def __init__(
        self,
        store: Store,
        resource: ApiResource,
        namespace: str,
        selection: Selection,
        since: int | None,
        *,
        starts_with_all: bool,
    ) -> None:
        self._store = store
        self._resource = resource
        self._namespace = namespace
        self._selection = selection
        self._version = store.version if since is None else since
        self._initial: list[Json] = []
        if since is None and starts_with_all:
            self._initial = store.list(resource, namespace, selection).items

    @property
    def version(self) -> int:
        """The version up to which every change was sent."""
        return self._version

    def take_initial(self) -> list[WatchedChange]:
        """Return what was there at the start."""
        initial, self._initial = self._initial, []
        return [WatchedChange("ADDED", found) for found in initial]

    def take_changes(self) -> list[WatchedChange]:
        """Return what happened since the last call.

        Raises:
            ApiFailure: it is no longer known.
        """
        events = []
        for change in self._store.changes_after(self._version):
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

    def _event(self, change: StoredChange) -> WatchedChange | None:
        """Return what a change is to who sees only what the selection has."""
        before, after = (
            found if found is not None and self._selection.matches(found) else None
            for found in (change.before, change.after)
        )
        if after is not None:
            return WatchedChange("MODIFIED" if before else "ADDED", after)
        if before is not None:
            return WatchedChange("DELETED", _at_version(before, change.version))
        return None


def unsupported_media_type() -> ApiFailure:
    """Return what a body of an unknown type is answered with."""
    message = "415: Unsupported Media Type"
    return ApiFailure(415, "UnsupportedMediaType", message, {})


def _check_preconditions(
    resource: ApiResource, found: Json, options: DeleteOptions
) -> None:
    metadata = found["metadata"]
    name = metadata["name"]
    if options.uid is not None and options.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match "
            f"the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(resource.plural, name, why, resource.group)
    wanted = options.resource_version
    if wanted is not None and wanted != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({wanted}) does not match "
            f"the ResourceVersion in record ({metadata['resourceVersion']}). "
            "The object might have been modified"
        )
        raise conflict(resource.plural, name, why, resource.group)


def _version(found: Json) -> int:
    return int(found["metadata"]["resourceVersion"])


def _check_types(resource: ApiResource, given: Json) -> None:
    """Check what is common to all kinds; of a pod its spec and status, too.

    What a status lacks is no error: Go has a zero for it.
    """
    _convert(resource, given["metadata"], meta_v1.ObjectMeta)
    status = _mapping(given, "status")
    if resource is PODS:
        _convert(resource, given.get("spec"), core_v1.PodSpec)
        _convert(resource, status, core_v1.PodStatus, may_lack=True)


def _convert(
    resource: ApiResource, given: Any, model: type[Struct], *, may_lack: bool = False
) -> None:
    kind = resource.kind
    try:
        msgspec.convert(given, model)
    except msgspec.ValidationError as error:
        if may_lack and _MISSING in str(error):
            return
        raise bad_request(
            f'{kind} in version "{resource.version}" cannot be handled as a {kind}: '
            f"{error}"
        ) from None


def _mapping(found: Json, key: str) -> Json:
    value = found.get(key)
    if value is not None and not isinstance(value, dict):
        raise bad_request(f"{key} is not an object")
    return value or {}


def _at_version(found: Json, version: int) -> Json:
    metadata = {**found["metadata"], "resourceVersion": str(version)}
    return {**found, "metadata": metadata}


def _key(resource: ApiResource, namespace: str, name: str) -> Key:
    return resource.plural, namespace if resource.is_namespaced else "", name


def _path(key: Key, namespace: str) -> str:
    """Return a key as a token has it: below the list's path."""
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
    except (ValueError, msgspec.MsgspecError) as error:
        raise bad_request(
            f"invalid continue token: continue key is not valid: {error}"
        ) from None
    return token.rv, token.start
