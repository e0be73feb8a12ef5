"""Scopes: a setting for a pod, a container, a probe or all of them."""

from __future__ import annotations

from typing import Generic, TypeVar

from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.values import Value

T = TypeVar("T")


class Scope(Value, frozen=True):
    """Some probes: those of a pod, of a container, of a type; what is empty is any."""

    pod_uid: str = ""
    container_name: str = ""
    probe_type: ProbeType | None = None

    @classmethod
    def of(cls, key: ProbeKey) -> Scope:
        """Return the scope of this one probe."""
        return cls(*key)

    def includes(self, other: Scope) -> bool:
        """Return whether everything that is in `other` is in this one too."""
        return (
            self.pod_uid in {"", other.pod_uid}
            and self.container_name in {"", other.container_name}
            and self.probe_type in {None, other.probe_type}
        )


ALL_PROBES = Scope()


class ScopedSetting(Generic[T]):
    """A setting per scope, of which the newest that includes a probe counts.

    So a setting of all probes can be changed for one of them. Owned by whoever
    changes it.

    Args:
        default: what holds where nothing was set.
    """

    __slots__ = ("_default", "_settings")

    def __init__(self, default: T) -> None:
        self._default = default
        self._settings: list[tuple[Scope, T]] = []

    def __bool__(self) -> bool:
        """Return whether anything but the default holds anywhere."""
        return bool(self._settings)

    def set(self, scope: Scope, value: T) -> None:
        """Set a value; settings of parts of that scope are forgotten."""
        self._settings = [
            setting for setting in self._settings if not scope.includes(setting[0])
        ]
        if self._settings or value != self._default:
            self._settings.append((scope, value))

    def of(self, scope: Scope) -> T:
        """Return the value that was set for all of a scope."""
        for included, value in reversed(self._settings):
            if included.includes(scope):
                return value
        return self._default

    def forget_pod(self, pod_uid: str) -> None:
        """Forget the settings of a removed pod."""
        self._settings = [
            setting for setting in self._settings if setting[0].pod_uid != pod_uid
        ]
