"""The three patches of the API: strategic merge, JSON merge, JSON patch.

Nothing that is given is changed.

Source: k8s.io/apimachinery pkg/util/strategicpatch/patch.go, v0.36.2; RFC 7396;
RFC 6902.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any

from probetui.k8s.api.codec import Json
from probetui.k8s.api.strategic_merge import MERGE_KEYS

STRATEGIC_MERGE = "application/strategic-merge-patch+json"
JSON_MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"

_PORT_KEYS = ("containerPort", "port")
_SETS = frozenset({"finalizers", "podCIDRs"})
_DIRECTIVE, _RETAIN_KEYS = "$patch", "$retainKeys"
_ORDER, _DELETE_FROM = "$setElementOrder/", "$deleteFromPrimitiveList/"


class PatchError(ValueError):
    """A patch that is none, or that cannot be applied to this object."""


def apply_patch(content_type: str, original: Json, patch: Any) -> Json:
    """Return an object with a patch of one of `PATCH_TYPES` applied.

    Raises:
        PatchError: it cannot be applied.
    """
    patched: Json = PATCH_TYPES[content_type](original, patch)
    if not isinstance(patched, dict):
        raise PatchError("the patch leaves no object")
    return patched


def strategic_merge(original: Json, patch: Any) -> Json:
    """Return an object with a strategic merge patch applied."""
    if not isinstance(patch, dict):
        raise PatchError("the patch is not an object")
    return _merge_map(original, patch)


def json_merge(original: Any, patch: Any) -> Any:
    """Return a value with a JSON merge patch applied."""
    if not isinstance(patch, dict):
        return deepcopy(patch)
    merged = dict(original) if isinstance(original, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = json_merge(merged.get(key), value)
    return merged


def _merge_map(original: Json, patch: Json) -> Json:
    directive = patch.get(_DIRECTIVE)
    if directive == "delete":
        return {}
    if directive == "replace":
        replaced: Json = _new_value(
            {key: patch[key] for key in patch if key != _DIRECTIVE}
        )
        return replaced
    if directive not in {None, "merge"}:
        raise PatchError(f"Unknown patch type found: {directive}")
    kept = patch.get(_RETAIN_KEYS, original)
    merged = {key: original[key] for key in original if key in kept}
    for key, value in patch.items():
        if key.startswith(_DELETE_FROM):
            name = key.removeprefix(_DELETE_FROM)
            merged[name] = [item for item in merged.get(name, ()) if item not in value]
        elif key.startswith("$"):
            continue
        elif value is None:
            merged.pop(key, None)
        else:
            order = patch.get(_ORDER + key)
            merged[key] = _merge_value(key, merged.get(key), value, order)
    _reorder(merged, patch)
    return merged


def _reorder(merged: Json, patch: Json) -> None:
    """Put those lists in order of which a patch has the order alone."""
    for key, order in patch.items():
        name = key.removeprefix(_ORDER)
        if key.startswith(_ORDER) and name not in patch and merged.get(name):
            merged[name] = _merge_list(name, merged[name], [], order)


def _merge_value(key: str, original: Any, value: Any, order: Any) -> Any:
    if isinstance(value, dict):
        if isinstance(original, dict):
            return _merge_map(original, value)
        return _merge_map({}, value)
    if isinstance(value, list):
        found = original if isinstance(original, list) else []
        return _merge_list(key, found, value, order)
    return value


def _merge_list(name: str, original: list[Any], patch: list[Any], order: Any) -> Any:
    if name in _SETS:
        return list(dict.fromkeys((*original, *patch)))
    merge_key = _merge_key(name, (*original, *patch))
    if merge_key is None:
        return [_new_value(item) for item in patch]
    if any(item.get(_DIRECTIVE) == "replace" for item in patch):
        return [_new_value(item) for item in patch if _DIRECTIVE not in item]
    merged: dict[Any, Any] = {item.get(merge_key): item for item in original}
    for item in patch:
        if (key := item.get(merge_key)) is None:
            raise PatchError(
                f"map: {item} does not contain declared merge key: {merge_key}"
            )
        if item.get(_DIRECTIVE) == "delete":
            merged.pop(key, None)
        else:
            merged[key] = _merge_map(merged.get(key, {}), item)
    if order is None:
        return list(merged.values())
    wanted = [entry.get(merge_key) for entry in order]
    server_order = [item.get(merge_key) for item in original]
    return [merged[key] for key in _in_order(wanted, server_order, merged)]


def _in_order(
    wanted: Iterable[Any], server_order: list[Any], keys: Iterable[Any]
) -> list[Any]:
    """Return keys as the patch orders them; others stay after what they came after."""
    keys = list(keys)
    left = [key for key in wanted if key in keys]
    right = [key for key in keys if key not in left]
    ordered: list[Any] = []
    while left and right:
        is_behind = left[0] in server_order and right[0] in server_order
        if is_behind and server_order.index(right[0]) < server_order.index(left[0]):
            ordered.append(right.pop(0))
        else:
            ordered.append(left.pop(0))
    return ordered + left + right


def _merge_key(name: str, items: Iterable[Any]) -> str | None:
    if not all(isinstance(item, dict) for item in items):
        return None
    if name == "ports":
        return next(
            (key for key in _PORT_KEYS if any(key in item for item in items)), None
        )
    return MERGE_KEYS.get(name)


def _new_value(value: Any) -> Any:
    """Return a value of a patch that nothing was merged with, without its nulls."""
    if isinstance(value, dict):
        return {
            key: _new_value(member)
            for key, member in value.items()
            if member is not None and not key.startswith("$")
        }
    if isinstance(value, list):
        return [_new_value(member) for member in value]
    return value


def json_patch(original: Json, patch: Any) -> Json:
    """Return an object with a JSON patch applied."""
    if not isinstance(patch, list):
        raise PatchError("the patch is not an array")
    document = deepcopy(original)
    for operation in patch:
        try:
            document = _operate(document, operation)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
            raise PatchError(f"{operation}: {error}") from None
    return document


def _operate(document: Any, operation: Json) -> Any:
    name, path = operation["op"], _pointer(operation["path"])
    if name == "test":
        if _find(document, path) != operation.get("value"):
            raise PatchError(f"testing value {operation['path']} failed: test failed")
        return document
    if name in {"move", "copy"}:
        source = _pointer(operation["from"])
        value = deepcopy(_find(document, source))
        if name == "move":
            document = _remove(document, source)
        return _add(document, path, value)
    if name == "remove":
        return _remove(document, path)
    if name == "replace":
        _find(document, path)
        return _add(_remove(document, path), path, deepcopy(operation["value"]))
    if name == "add":
        return _add(document, path, deepcopy(operation["value"]))
    raise PatchError(f"Unexpected kind: {name}")


def _pointer(text: str) -> list[str]:
    if text and not text.startswith("/"):
        raise PatchError(f"{text!r} is not a path")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _find(document: Any, path: list[str]) -> Any:
    for part in path:
        document = document[int(part) if isinstance(document, list) else part]
    return document


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        return None
    parent = _find(document, path[:-1])
    del parent[int(path[-1]) if isinstance(parent, list) else path[-1]]
    return document


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent = _find(document, path[:-1])
    if not isinstance(parent, list):
        parent[path[-1]] = value
    elif path[-1] == "-":
        parent.append(value)
    else:
        index = int(path[-1])
        if not 0 <= index <= len(parent):
            raise PatchError(f"index {index} is outside of the array")
        parent.insert(index, value)
    return document


PATCH_TYPES: Mapping[str, Callable[[Any, Any], Any]] = {
    STRATEGIC_MERGE: strategic_merge,
    JSON_MERGE: json_merge,
    JSON_PATCH: json_patch,
}
