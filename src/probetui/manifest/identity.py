"""Names and uids for pods that bring none."""

from __future__ import annotations

import hashlib
import json

import msgspec
from lightkube.models import core_v1

_GENERATED = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of generated names: nothing that could spell a word."""
_SUFFIX = 5
_MAX_BASE = 63 - _SUFFIX


def _json_of(pod: core_v1.Pod) -> bytes:
    """Return a pod as JSON that is always the same, also with what is no text."""
    try:
        return msgspec.json.encode(pod, order="deterministic")
    except UnicodeEncodeError:
        # Lone surrogates, as in an option that is not UTF-8; it is refused later.
        return json.dumps(msgspec.to_builtins(pod), sort_keys=True).encode()


def pod_uid(pod: core_v1.Pod, host: str, location: str) -> str:
    """Return the uid of a pod from a file: 32 hexadecimal digits.

    The same content on the same host from the same file has the same uid, so that an
    earlier run's containers are recognised; any change gives another.

    Difference: the kubelet hashes Go's dump of the pod, we its JSON.

    Source: pkg/kubelet/config/common.go, v1.32.10, applyDefaults.
    """
    digest = hashlib.md5(_json_of(pod), usedforsecurity=False)
    digest.update(f"host:{host}file:{location}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def generated_name(base: str, uid: str) -> str:
    """Return a name for `generateName`, as an API server would make one.

    Difference: it follows from the uid instead of chance, so that it stays.

    Source: k8s.io/apiserver v0.32.10, pkg/storage/names/generate.go.
    """
    number = int(hashlib.sha256(uid.encode("utf-8", "surrogatepass")).hexdigest(), 16)
    letters = []
    for _ in range(_SUFFIX):
        number, index = divmod(number, len(_GENERATED))
        letters.append(_GENERATED[index])
    return base[:_MAX_BASE] + "".join(letters)
