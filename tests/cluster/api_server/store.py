"""A store that is written to: what an API server makes of each write.

Source: k8s.io/apiserver pkg/registry/generic/registry/store.go, v0.36.2.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec
from lightkube.models import core_v1, meta_v1
from msgspec import Struct

from probetui.cluster.api_server.failure import ApiFailure, bad_request, not_found
from probetui.cluster.api_server.object_feed import ObjectFeed
from probetui.cluster.api_server.resources import ApiResource
from probetui.k8s.api.codec import MAX_SECONDS, Json, format_time
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from tests.cluster.api_server.failures import (
    already_exists,
    conflict,
    invalid,
    modified,
)
from tests.cluster.api_server.patch import PATCH_TYPES, PatchError, apply_patch
from tests.cluster.api_server.pod_rules import (
    check_pod_update,
    grace_seconds,
    new_pod,
    unknown_grace,
    with_condition_fields,
)
from tests.cluster.api_server.resources import NAMESPACES, PODS

_SUFFIX_BYTES = 3
_MISSING = "missing required field"
_SERVER_FIELDS = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "generation", "namespace", "name",
)  # fmt: skip


class DeleteOptions(Struct, frozen=True):
    """How an object is deleted; None where nothing is said."""

    grace_period_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    is_dry_run: bool = False


AS_IT_IS = DeleteOptions()
"""Nothing is said: with the object's own grace period."""


class WritableStore(ObjectFeed):
    """Objects that clients create, change and delete.

    Args:
        now: the clock.
        rules: those of the version, for validation.
        new_uid: makes the uid of a new object.
    """

    def __init__(
        self,
        now: Callable[[], datetime],
        *,
        rules: KubeletRules = PORTED_RULES,
        new_uid: Callable[[], uuid.UUID] = uuid.uuid4,
    ) -> None:
        super().__init__(now)
        self._rules = rules
        self._new_uid = new_uid

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
        metadata["uid"] = str(self._new_uid())
        metadata["creationTimestamp"] = format_time(self.now())
        new = {**given, "metadata": metadata}
        _check_types(resource, new)
        if resource is PODS:
            new = new_pod(new, self._rules)
        if resource is NAMESPACES:
            new["status"] = {"phase": "Active"}
        return self.put(resource, new)

    def _check_namespace(self, namespace: str, metadata: Json) -> None:
        if metadata.get("namespace") not in {None, "", namespace}:
            raise bad_request(
                "the namespace of the provided object does not match "
                "the namespace sent on the request"
            )
        if self.find(NAMESPACES, "", namespace) is None:
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
        metadata = _updated_metadata(resource, old, given)
        new = {**given, "metadata": metadata}
        if subresource == "status":
            new = {**old, "metadata": metadata, "status": given.get("status", {})}
        elif resource.has("status"):
            new["status"] = old.get("status", {})
        _check_types(resource, new)
        if resource is PODS:
            check_pod_update(old, new)
            new = with_condition_fields(new)
        if resource is PODS and new.get("spec") != old.get("spec"):
            metadata["generation"] = metadata.get("generation", 0) + 1
        written = self.put(resource, new)
        is_deleted = (
            "deletionTimestamp" in metadata
            and not metadata.get("deletionGracePeriodSeconds")
            and not metadata.get("finalizers")
        )
        if is_deleted:
            self.remove(resource, namespace, name)
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
        has_finalizers = bool(metadata.get("finalizers"))
        if not has_finalizers and resource is not PODS:
            return self.remove(resource, namespace, name) or old
        if "deletionTimestamp" in metadata:
            had_grace = metadata.get("deletionGracePeriodSeconds", 0)
            if grace >= had_grace and (grace or has_finalizers):
                return old
            ends_at = datetime.fromisoformat(metadata["deletionTimestamp"])
            sooner = timedelta(seconds=max(had_grace - grace, 0))
            marked: Json = {
                "deletionTimestamp": format_time(ends_at - sooner),
                "deletionGracePeriodSeconds": grace,
            }
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
        new = self.put(resource, {**old, "metadata": {**metadata, **marked}})
        if not grace and not has_finalizers:
            self.remove(resource, namespace, name)
        return new

    def compact(self) -> None:
        """Forget what changed: a watch from before now is expired."""
        self._changes.clear()
        self._oldest = self.version + 1


def unsupported_media_type() -> ApiFailure:
    """Return what a body of an unknown type is answered with."""
    message = "415: Unsupported Media Type"
    return ApiFailure(415, "UnsupportedMediaType", message, {})


def _updated_metadata(resource: ApiResource, old: Json, given: Json) -> Json:
    """Return the metadata of an update: what the server sets stays as it is.

    Raises:
        ApiFailure: it is another object's, or of a version that has gone.
    """
    had, name = old["metadata"], old["metadata"]["name"]
    metadata: Json = dict(_mapping(given, "metadata"))
    if metadata.get("name", name) != name:
        raise bad_request(
            f"the name of the object ({metadata['name']}) does not match "
            f"the name on the URL ({name})"
        )
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
    return metadata


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
