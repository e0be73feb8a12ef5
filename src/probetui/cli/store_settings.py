"""The settings of what a store knows: of manifests, or as the cluster has them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from probetui.cli.printing import Notes
from probetui.cluster.client import ApiClient
from probetui.cluster.errors import ClusterError
from probetui.cluster.kubeconfig import load_access
from probetui.cluster.prometheus.cluster_settings import ClusterSettings
from probetui.cluster.prometheus.workloads import Manifested
from probetui.drive.clocks import SystemClock, awake_ns
from probetui.errors import UsageError
from probetui.kubelet_rules import KubeletRules

if TYPE_CHECKING:
    from probetui.cli.commands.fleet import StoreOptions

_MOST_NAMED = 5


class KnownSettings:
    """Where settings come from: manifests, a cluster, or nowhere.

    Args:
        source: has the settings, None if there is none.
        cluster: the context of the cluster that has them.
        problem: why there is no source.
    """

    def __init__(
        self,
        source: Manifested | ClusterSettings | None,
        cluster: str = "",
        problem: str = "",
    ) -> None:
        self.source = source
        self._cluster = cluster
        self._problem = problem

    @property
    def problem(self) -> str:
        """Why some are not known, empty if nothing went wrong."""
        if isinstance(self.source, ClusterSettings):
            return "; ".join(self.source.problems)
        return self._problem

    def tell(self, notes: Notes) -> None:
        """Tell where the settings came from, if that is not the files of -f."""
        if not isinstance(self.source, ClusterSettings):
            return
        origins = self.source.origins.most_common()
        exact = sum(count for origin, count in origins if not origin.may_differ)
        if exact:
            notes.note(
                f"settings of {exact} pod{'s' * (exact > 1)} are those of the cluster "
                f"({self._cluster}), as they were at that time"
            )
        today = [origin.text for origin, _ in origins if origin.may_differ]
        if today:
            more = len(today) - _MOST_NAMED
            listed = ", ".join(today[:_MOST_NAMED])
            notes.warning(
                f"settings are of {listed}{f' and {more} more' if more > 0 else ''} "
                f"({self._cluster}): at that time they may have been others"
            )
        for problem in self.source.problems:
            notes.warning(f"settings that the cluster did not tell: {problem}")


@asynccontextmanager
async def known_settings(
    manifested: Manifested | None, options: StoreOptions, rules: KubeletRules
) -> AsyncIterator[KnownSettings]:
    """Yield the settings of the files, without them those of the cluster.

    Args:
        manifested: those of the files, None without any.
        options: say how the cluster is reached.
        rules: of its kubelets.

    Raises:
        UsageError: the kubeconfig that is named cannot be used.
    """
    if manifested is not None:
        yield KnownSettings(manifested)
        return
    try:
        access = load_access(options.kubeconfig, options.kube_context)
    except (ClusterError, UsageError) as error:
        if options.kubeconfig is not None or options.kube_context is not None:
            raise
        yield KnownSettings(None, problem=str(error))
        return
    client = ApiClient(access, SystemClock(awake_ns))
    try:
        await client.__aenter__()
    except ClusterError as error:
        yield KnownSettings(None, problem=str(error))
        return
    try:
        yield KnownSettings(ClusterSettings(client, rules), f"context {access.context}")
    finally:
        await client.__aexit__()
