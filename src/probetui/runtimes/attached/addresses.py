"""Probes and hooks that dial the IP of their own container.

Containers of a pod share an IP; those of Docker Compose have one each.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import RunHook, RunProbe
from probetui.kubelet.outcome import ProbeOutcome
from probetui.ports import HookResult, HookRunner, Prober

AddressOf = Callable[[ContainerID], str]


def dial_containers(
    prober: Prober, hooks: HookRunner, address_of: AddressOf
) -> tuple[Prober, HookRunner]:
    """Return a prober and a hook runner that dial the container's IP, not the pod's."""
    return (
        ContainerAddressProber(prober, address_of),
        ContainerAddressHookRunner(hooks, address_of),
    )


class ContainerAddressProber:
    """A prober that replaces the pod's IP by the container's."""

    def __init__(self, prober: Prober, address_of: AddressOf) -> None:
        self._prober = prober
        self._address_of = address_of

    async def probe(self, effect: RunProbe) -> ProbeOutcome:
        """Run a probe at the IP of its container."""
        address = self._address_of(effect.container_id)
        redirected = RunProbe(
            effect.probe_id,
            effect.key,
            effect.pod,
            effect.container,
            effect.probe,
            effect.container_id,
            address or effect.pod_ip,
        )
        return await self._prober.probe(redirected)


class ContainerAddressHookRunner:
    """A hook runner that replaces the pod's IP by the container's."""

    def __init__(self, hooks: HookRunner, address_of: AddressOf) -> None:
        self._hooks = hooks
        self._address_of = address_of

    async def run(self, operation: RunHook) -> HookResult:
        """Run a hook to its end."""
        address = self._address_of(operation.container_id)
        return await self._hooks.run(
            replace(operation, pod_ip=address or operation.pod_ip)
        )
