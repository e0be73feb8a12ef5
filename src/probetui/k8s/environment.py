"""Sources of environment variables, and the expansion of `$(NAME)` in text."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from probetui.values import Kind, Value


class FieldRef(Kind, frozen=True):
    """A field of the pod itself, such as `metadata.name` or `status.podIP`."""

    field_path: str


class ResourceFieldRef(Kind, frozen=True):
    """A request or limit of a container, such as `limits.cpu`.

    An empty `container_name` is the container with the reference. A `divisor` of 0
    counts as 1, in the resource's base unit: cores, bytes.
    """

    resource: str
    container_name: str = ""
    divisor: Decimal = Decimal()


class ConfigMapKeyRef(Kind, frozen=True):
    """One entry of a ConfigMap of the pod's namespace."""

    name: str
    key: str
    optional: bool = False


class SecretKeyRef(Kind, frozen=True):
    """One entry of a Secret of the pod's namespace."""

    name: str
    key: str
    optional: bool = False


EnvVarSource = FieldRef | ResourceFieldRef | ConfigMapKeyRef | SecretKeyRef


class ConfigMapEnvSource(Kind, frozen=True):
    """All entries of a ConfigMap as variables."""

    name: str
    optional: bool = False


class SecretEnvSource(Kind, frozen=True):
    """All entries of a Secret as variables."""

    name: str
    optional: bool = False


class EnvFrom(Value, frozen=True):
    """All entries of an object as variables, their names prefixed with `prefix`."""

    source: ConfigMapEnvSource | SecretEnvSource
    prefix: str = ""


MAX_EXPANSION_BYTES = 1 << 20
"""The limit of variables, and of a command: Linux starts no program with more."""

_OPERATOR = b"$"


class ExpansionTooLargeError(ValueError):
    """A text that expands to more than `MAX_EXPANSION_BYTES`."""

    def __init__(self) -> None:
        super().__init__(f"expands to more than {MAX_EXPANSION_BYTES >> 20} MiB")


def expand(text: bytes, variables: Mapping[bytes, bytes]) -> bytes:
    """Replace `$(NAME)` once, left to right; unknown names stay as written.

    Quirk, kept: the byte after a `$` that starts nothing is written as the character
    of that number, so the first byte of a multi-byte character is garbled.

    Source: third_party/forked/golang/expansion/expand.go, v1.32.10, Expand.

    Raises:
        ExpansionTooLargeError: the result is larger than `MAX_EXPANSION_BYTES`.
    """
    done = bytearray()
    rest = 0
    while (operator := text.find(_OPERATOR, rest)) >= 0 and operator + 1 < len(text):
        done += text[rest:operator]
        written, rest = _expand_at(text, operator + 1, variables)
        done += written
        if len(done) > MAX_EXPANSION_BYTES:
            raise ExpansionTooLargeError
    done += text[rest:]
    if len(done) > MAX_EXPANSION_BYTES:
        raise ExpansionTooLargeError
    return bytes(done)


def _expand_at(
    text: bytes, start: int, variables: Mapping[bytes, bytes]
) -> tuple[bytes, int]:
    """Return the replacement of the `$` before `start`, and the index behind it."""
    match text[start : start + 1]:
        case b"$":
            return _OPERATOR, start + 1
        case b"(":
            end = text.find(b")", start)
            if end < 0:
                return b"$(", start + 1
            name = text[start + 1 : end]
            return variables.get(name, text[start - 1 : end + 1]), end + 1
        case other:
            return _OPERATOR + chr(other[0]).encode(), start + 1
