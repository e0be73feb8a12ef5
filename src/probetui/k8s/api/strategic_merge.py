"""Strategic merge patches: what turns one object of the API into another.

Source: k8s.io/apimachinery pkg/util/strategicpatch/patch.go, v0.32.10,
CreateTwoWayMergePatch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from probetui.k8s.api.codec import Json

MERGE_KEYS: Mapping[str, str] = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "hostIPs": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "resourceClaimStatuses": "name",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
"""The lists that are merged by a key of their members, by the field's name.

Other lists are replaced as a whole, but for `ports`, whose key goes by the kind.

Source: k8s.io/api core/v1/types.go, v0.32.10, patchStrategy and patchMergeKey.
"""

_ORDER = "$setElementOrder/"


def two_way_merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> Json:
    """Return the strategic merge patch from one object to another.

    It has what differs and no more; a field that is gone is null in it. It is empty
    where nothing differs.
    """
    patch: Json = {}
    for key, value in new.items():
        if key not in old:
            patch[key] = value
            continue
        before = old[key]
        if before == value:
            continue
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            patch[key] = two_way_merge_patch(before, value)
        elif key in MERGE_KEYS and isinstance(before, list) and isinstance(value, list):
            _diff_list(patch, key, before, value)
        else:
            patch[key] = value
    patch.update((key, None) for key in old if key not in new)
    return patch


def _diff_list(
    patch: Json, field: str, old: Sequence[Json], new: Sequence[Json]
) -> None:
    """Put into a patch what differs between two lists that are merged by a key."""
    key = MERGE_KEYS[field]
    before = {member[key]: member for member in old}
    changes: list[Json] = []
    for member in new:
        known = before.pop(member[key], None)
        if known is None:
            changes.append(member)
        elif difference := two_way_merge_patch(known, member):
            changes.append({**difference, key: member[key]})
    changes += [{"$patch": "delete", key: name} for name in before]
    if changes:
        patch[field] = changes
    patch[f"{_ORDER}{field}"] = _keys(new, key)


def _keys(members: Iterable[Json], key: str) -> list[Json]:
    return [{key: member[key]} for member in members]
