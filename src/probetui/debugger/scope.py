"""Scopes: a setting for a pod, a container, a probe or all of them."""

from __future__ import annotations

from typing import Generic, TypeVar

from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.values import Value

T = TypeVar("T")


class Scope(Value, frozen=True):
    """A set of probes, by pod, container and type; an empty field matches any."""

    pod_uid: str = ""
    container_name: str = ""
    probe_type: ProbeType | None = None

    @classmethod
    def of(cls, key: ProbeKey) -> Scope:
        """Return the scope of a single probe."""
        return cls(*key)

    def includes(self, other: Scope) -> bool:
        """Return whether this scope contains `other`."""
        return (
            self.pod_uid in {"", other.pod_uid}
            and self.container_name in {"", other.container_name}
            and self.probe_type in {None, other.probe_type}
        )


ALL_PROBES = Scope()


class ScopedSetting(Generic[T]):
    """A setting per scope; the newest that includes a probe applies.

    So a setting for all probes can be changed for one of them. Owned by its writer.

    Args:
        default: the value without a setting.
    """

    __slots__ = ("_default", "_settings")

    def __init__(self, default: T) -> None:
        self._default = default
        self._settings: list[tuple[Scope, T]] = []

    def __bool__(self) -> bool:
        """Return whether any scope has a setting."""
        return bool(self._settings)

    def set(self, scope: Scope, value: T) -> None:
        """Set a value; remove settings of narrower scopes."""
        self._settings = [
            setting for setting in self._settings if not scope.includes(setting[0])
        ]
        if self._settings or value != self._default:
            self._settings.append((scope, value))

    def of(self, scope: Scope) -> T:
        """Return the value set for all of a scope."""
        for included, value in reversed(self._settings):
            if included.includes(scope):
                return value
        return self._default

    def forget_pod(self, pod_uid: str) -> None:
        """Forget the settings of a removed pod."""
        self._settings = [
            setting for setting in self._settings if setting[0].pod_uid != pod_uid
        ]
