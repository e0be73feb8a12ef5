"""Which probes something is about, and what was said of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from probetui.k8s.probe import ProbeKey, ProbeType

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scope:
    """Some probes: those of a pod, of a container, of a type; what is empty is any."""

    pod_uid: str = ""
    container_name: str = ""
    probe_type: ProbeType | None = None

    @classmethod
    def of(cls, key: ProbeKey) -> Scope:
        """Return the scope of this one probe."""
        return cls(*key)

    def includes(self, other: Scope) -> bool:
        """Tell whether everything that is in `other` is in this one too."""
        return (
            self.pod_uid in {"", other.pod_uid}
            and self.container_name in {"", other.container_name}
            and self.probe_type in {None, other.probe_type}
        )

    def covers(self, key: ProbeKey) -> bool:
        """Tell whether a probe is in it."""
        return self.includes(Scope.of(key))


EVERYTHING = Scope()


class Scoped(Generic[T]):
    """Statements about probes, of which the newest about a probe counts.

    So all probes can be meant, and then one of them after all not. Owned by whoever
    takes the statements in.

    Args:
        default: what holds where nothing was said.
    """

    __slots__ = ("_default", "_said")

    def __init__(self, default: T) -> None:
        self._default = default
        self._said: list[tuple[Scope, T]] = []

    def __bool__(self) -> bool:
        """Tell whether anything but the default holds anywhere."""
        return bool(self._said)

    def set(self, scope: Scope, value: T) -> None:
        """Say something; what was said of a part of that scope is forgotten."""
        self._said = [each for each in self._said if not scope.includes(each[0])]
        if self._said or value != self._default:
            self._said.append((scope, value))

    def of(self, scope: Scope) -> T:
        """Return what holds for all of a scope, as far as it was said of all of it."""
        for said, value in reversed(self._said):
            if said.includes(scope):
                return value
        return self._default

    def forget_pod(self, pod_uid: str) -> None:
        """Drop what was said of a pod that is gone."""
        self._said = [each for each in self._said if each[0].pod_uid != pod_uid]
