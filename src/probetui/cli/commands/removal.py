"""`probetui down`: pods that nobody runs are stopped and removed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from probetui.cli.commands.listing import (
    ListedPod,
    PodSearch,
    meant_pods,
    wanted_labels,
)
from probetui.cli.option_groups import pick_options
from probetui.cli.option_values import RuntimeOptions
from probetui.cli.pods import ManifestOptions, load_pods
from probetui.cli.printing import Notes, print_line
from probetui.cli.runtimes import remove_pod, remove_pods, volumes_by_pod
from probetui.cli.session.leases import LeaseRenewal
from probetui.cli.session.locks import PodLocks
from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError, PodInUseError
from probetui.k8s.pod import Pod

if TYPE_CHECKING:
    from probetui.cli.commands.management import DownOptions

_GRACE_SECONDS = 10
"""For pods without a manifest; as `docker stop`."""

_REFUSED = 1


async def remove_found_pods(names: Sequence[str], options: DownOptions) -> int:
    """Remove the pods that are meant, or all of them; return the exit status."""
    notes = Notes(quiet=options.quiet)
    wanted = _grace_periods(options)
    labels = () if wanted else wanted_labels(options.selector)
    async with PodSearch(
        pick_options(RuntimeOptions, options), SystemClock()
    ) as search:
        for sentence in search.undone:
            notes.note(sentence)
        there = await search.pods(options.namespace)
        meant = [
            listed
            for listed in meant_pods(search, there, names, labels)
            if listed.full_name in wanted or not wanted
        ]
        for pod in there if labels else ():
            if pod.labels is None:
                notes.note(
                    f"left {pod.full_name} ({pod.runtime.name}): its labels "
                    "are not known; remove it by its name"
                )
        taken = [
            listed for listed in meant if listed.unowned is None or options.all_users
        ]
        by_name: dict[str, list[ListedPod]] = {}
        for listed in taken:
            by_name.setdefault(listed.full_name, []).append(listed)
        engines = {pod.runtime.name: pod.runtime for pod in taken}
        volumes = {
            name: await volumes_by_pod(engine) for name, engine in engines.items()
        }
        removal = _Removal(volumes, notes, options.output)
        statuses = await asyncio.gather(
            *(
                removal.remove_all(pods, wanted.get(name, _GRACE_SECONDS))
                for name, pods in by_name.items()
            )
        )
        for pod in meant:
            if pod not in taken:
                _report_skipped(pod, notes)
                if names or wanted:
                    statuses.append(_REFUSED)
    if search.problem is not None:
        notes.error(str(search.problem))
        return search.problem.exit_status
    if not meant:
        notes.note("no pods to remove")
    return max(statuses, default=0)


def _report_skipped(pod: ListedPod, notes: Notes) -> None:
    """Report a pod that is not ours: who made it and how to remove it."""
    held = f", and {pod.holder} runs it" if pod.holder else ""
    notes.note(
        f"left {pod.full_name} ({pod.runtime.name}): {pod.owner} made it{held}; "
        "`probetui down --all-users` removes it too"
    )


def _grace_periods(options: DownOptions) -> dict[str, int]:
    """Return the grace periods of the pods that are meant; none stands for all pods."""
    if not (options.filenames or options.static):
        return {}
    return {
        f"{pod.namespace}/{pod.name}": pod.termination_grace_period_seconds or 0
        for pod in load_pods(pick_options(ManifestOptions, options)).pods
    }


class _Removal(Struct, frozen=True):
    """Removes pods of ours.

    Attributes:
        volumes: the names of volumes by uid of their pod, by name of the runtime.
        notes: where errors go.
        output: the value of `-o`.
    """

    volumes: Mapping[str, Mapping[str, Sequence[str]]]
    notes: Notes
    output: str

    async def remove_all(
        self, pods: Sequence[ListedPod], grace_period_seconds: int
    ) -> int:
        """Remove pods of one name, which has one lock, one after the other."""
        return max([await self._remove(pod, grace_period_seconds) for pod in pods])

    async def _remove(self, pod: ListedPod, grace_period_seconds: int) -> int:
        notes = self.notes
        if pod.holder:
            notes.error(
                f"{pod.full_name} is run by {pod.holder}: stop that session first"
            )
            return _REFUSED
        own = Pod(pod.status.pod_uid, pod.status.name, pod.status.namespace)
        try:
            with PodLocks(pod.runtime.name, [own]):
                async with LeaseRenewal(pod.runtime, [own], notes):
                    await self._remove_held(pod, grace_period_seconds)
        except PodInUseError as error:
            notes.error(f"{error}: stop that session first")
            return _REFUSED
        except ContainerRuntimeError as error:
            notes.error(f"{pod.full_name}: {error}")
            return error.exit_status
        if self.output == "name":
            print_line(pod.type_and_name)
        else:
            print_line(f"removed {pod.full_name} ({pod.runtime.name})")
        return 0

    async def _remove_held(self, pod: ListedPod, grace_period_seconds: int) -> None:
        """Remove a pod that is locked, so that nobody else starts it meanwhile."""
        if pod.unowned is not None:
            await pod.runtime.take_over(pod.unowned)
            # Its volumes are ours only now, and were not listed.
            await remove_pods(pod.runtime, [pod.status], grace_period_seconds)
            return
        volumes = self.volumes[pod.runtime.name].get(pod.status.pod_uid, ())
        await remove_pod(pod.runtime, pod.status, volumes, grace_period_seconds)
