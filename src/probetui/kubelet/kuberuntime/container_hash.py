"""Container hashes: whether a container's definition has changed.

Source: kubelet/container/helpers.go, kuberuntime/helpers.go, v1.32.10,
HashContainer, GetStableKey.
"""

from __future__ import annotations

from functools import lru_cache

from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import RuntimeContainerStatus
from probetui.kubelet.runtime.go_format import go_json
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

FNV_OFFSET = 0x811C9DC5
FNV_PRIME = 0x01000193


def container_hash(container: Container) -> int:
    """Return the hash of a container's definition, 32 bits.

    Only the image and the name are hashed; a change of any other field keeps the
    container.
    """
    return _hash(container.image, container.name)


def has_changed(container: Container, status: RuntimeContainerStatus) -> bool:
    """Return whether an instance was created from another definition."""
    return _hash(container.image, container.name) != status.hash


def stable_key(
    pod: Pod, container: Container, rules: KubeletRules = PORTED_RULES
) -> str:
    """Return the key under which crash-loop back-off knows a container.

    A container whose image changes gets another key, and starts without back-off;
    since 1.35 it keeps the key.
    """
    if not rules.back_off_key_has_content:
        return f"{pod.name}_{pod.namespace}_{pod.uid}_{container.name}"
    hash_hex = f"{container_hash(container):x}"
    return f"{pod.name}_{pod.namespace}_{pod.uid}_{container.name}_{hash_hex}"


# Every sync asks for every container, and the answer depends on the texts alone.
@lru_cache(maxsize=4096)
def _hash(image: str, name: str) -> int:
    """Return the 32-bit FNV-1a hash of the JSON of both, as Go prints its bytes."""
    definition = go_json({"image": image, "name": name}).encode()
    printed = " ".join(map(str, definition))
    value = FNV_OFFSET
    for byte in f"([]uint8)[{printed}]".encode():
        value = ((value ^ byte) * FNV_PRIME) & 0xFFFFFFFF
    return value
