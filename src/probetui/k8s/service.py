"""Services, as far as readiness decides about their endpoints."""

from __future__ import annotations

from msgspec import Struct

from probetui.k8s.pod import Pod


class Service(Struct, frozen=True):
    """A Service with a selector.

    Attributes:
        name: its name.
        namespace: its namespace.
        selector: the labels of the pods that are its endpoints.
        publishes_not_ready: its endpoints count as ready whatever their pods are
            (`publishNotReadyAddresses`).
        is_headless: it has no address of its own; its name is that of its endpoints.
    """

    name: str
    namespace: str
    selector: tuple[tuple[str, str], ...]
    publishes_not_ready: bool = False
    is_headless: bool = False

    def selects(self, pod: Pod) -> bool:
        """Return whether a pod is one of its endpoints."""
        if pod.namespace != self.namespace:
            return False
        return all(pod.labels.get(key) == value for key, value in self.selector)
