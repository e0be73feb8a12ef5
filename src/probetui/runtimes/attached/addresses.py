"""Probes and hooks at the address of their own container.

The containers of a pod share an address; those that Compose made, say, have one each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import RunHook, RunProbe
from probetui.kubelet.outcome import ProbeOutcome
from probetui.ports import HookResult, HookRunner, Prober

AddressOf = Callable[[ContainerID], str]


class ProbesAtOwnAddress:
    """A prober that looks for each container where it really is."""

    def __init__(self, prober: Prober, address_of: AddressOf) -> None:
        self._prober = prober
        self._address_of = address_of

    async def probe(self, effect: RunProbe) -> ProbeOutcome:
        """Return what a probe came to."""
        address = self._address_of(effect.container_id)
        there = RunProbe(
            effect.probe_id,
            effect.key,
            effect.pod,
            effect.container,
            effect.probe,
            effect.container_id,
            address or effect.pod_ip,
        )
        return await self._prober.probe(there)


class HooksAtOwnAddress:
    """The same for lifecycle hooks."""

    def __init__(self, hooks: HookRunner, address_of: AddressOf) -> None:
        self._hooks = hooks
        self._address_of = address_of

    async def run(self, operation: RunHook) -> HookResult:
        """Run a hook to its end."""
        address = self._address_of(operation.container_id)
        return await self._hooks.run(
            replace(operation, pod_ip=address or operation.pod_ip)
        )
