"""Container hashes: whether a container's definition has changed.

Source: kubelet/container/helpers.go, v1.30.7, v1.32.10, HashContainer;
kuberuntime/helpers.go, v1.32.10, GetStableKey.
"""

from __future__ import annotations

from functools import lru_cache

from probetui.k8s.api.pod import CONTAINER
from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import RuntimeContainerStatus
from probetui.kubelet.effects import CreateContainer
from probetui.kubelet.runtime.go_format import go_json
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

FNV_OFFSET = 0x811C9DC5
FNV_PRIME = 0x01000193


def container_hash(container: Container, rules: KubeletRules = PORTED_RULES) -> int:
    """Return the hash of a container's definition, 32 bits.

    Only the image and the name are hashed, so that a change of any other field keeps
    the container; until 1.30 all fields are.
    """
    if rules.hashes_whole_container:
        return _hash(go_json(CONTAINER.write(container)))
    return _hash(go_json({"image": container.image, "name": container.name}))


def hash_of_new(operation: CreateContainer) -> int:
    """Return the hash that identifies a new instance's definition."""
    if operation.definition_hash is None:
        return container_hash(operation.container)
    return operation.definition_hash


def has_changed(
    container: Container,
    status: RuntimeContainerStatus,
    rules: KubeletRules = PORTED_RULES,
) -> bool:
    """Return whether an instance was created from another definition.

    Difference: an instance that was created with the rules of 1.31 or later, or that a
    session is attached to, is known by its image and name under older rules, too; a
    kubelet of another version restarts every container that it finds.
    """
    return status.hash not in {
        container_hash(container, rules),
        container_hash(container),
    }


def stable_key(
    pod: Pod, container: Container, rules: KubeletRules = PORTED_RULES
) -> str:
    """Return the key under which crash-loop back-off knows a container.

    A container whose image changes gets another key, and starts without back-off;
    since 1.35 it keeps the key.
    """
    if not rules.back_off_key_has_content:
        return f"{pod.name}_{pod.namespace}_{pod.uid}_{container.name}"
    hash_hex = f"{container_hash(container, rules):x}"
    return f"{pod.name}_{pod.namespace}_{pod.uid}_{container.name}_{hash_hex}"


# Every sync asks for every container, and the answer depends on the text alone.
@lru_cache(maxsize=4096)
def _hash(definition: str) -> int:
    """Return the 32-bit FNV-1a hash of a definition in JSON, as Go prints its bytes."""
    printed = " ".join(map(str, definition.encode()))
    value = FNV_OFFSET
    for byte in f"([]uint8)[{printed}]".encode():
        value = ((value ^ byte) * FNV_PRIME) & 0xFFFFFFFF
    return value
