"""Pods of the workloads that a cluster has now, for comparisons."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from probetui.cli.option_values import rules_by
from probetui.cli.printing import Notes
from probetui.cli.session.server_waits import warn_of_waits
from probetui.cluster.client import ApiClient
from probetui.cluster.kubeconfig import load_access
from probetui.cluster.live_workloads import LiveName, read_workloads
from probetui.drive.clocks import SystemClock
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import FieldValidation, LoadedPod
from probetui.manifest.yaml.parser import SourceFile

if TYPE_CHECKING:
    from probetui.cli.commands.difference import DiffOptions


class LiveCluster:
    """A cluster's objects, read when they are asked for.

    Args:
        name: what the user calls it.
        context: of the kubeconfig, empty for that of the options.
        options: how the cluster is reached, and by which rules its pods are read.
        notes: told what it does not have.

    Raises:
        UsageError: the kubeconfig or the context cannot be used.
        ClusterError: there is no kubeconfig.
    """

    def __init__(
        self, name: str, context: str, options: DiffOptions, notes: Notes
    ) -> None:
        self._name, self._options, self._notes = name, options, notes
        self._access = load_access(options.kubeconfig, context or options.kube_context)

    @property
    def namespace(self) -> str:
        """The namespace of its context."""
        return self._access.namespace

    def pods_like(self, wanted: Sequence[LoadedPod]) -> tuple[LoadedPod, ...]:
        """Return the pods of the workloads that have the names of these.

        Raises:
            ClusterError: the cluster cannot be asked, or refuses an object.
        """
        names = [
            LiveName(each.object.workload, each.pod.namespace, each.object.name)
            for each in wanted
            if each.object.name
        ]
        found = asyncio.run(self._read(names))
        live: list[LoadedPod] = []
        for name in dict.fromkeys(names):
            if name not in found:
                self._notes.note(f"{name} is not in {self._name}")
                continue
            manifests = load_manifests(
                [found[name]],
                namespace=name.namespace,
                validation=FieldValidation.IGNORE,
                rules=rules_by(self._options),
                stub_missing=True,
            )
            for problem in manifests.errors:
                self._notes.warning(f"{problem}: left out")
            live += manifests.loaded
        return tuple(live)

    async def _read(self, names: Sequence[LiveName]) -> dict[LiveName, SourceFile]:
        async with ApiClient(self._access, SystemClock()) as client:
            warn_of_waits(client, self._notes)
            return await read_workloads(client, names)
