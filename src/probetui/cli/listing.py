"""Pods of ours on every runtime, with who runs them: found, and printed by `ls`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from probetui.cli.locks import lock_holder
from probetui.cli.notes import Notes
from probetui.cli.printing import print_json, print_line, print_table, print_yaml
from probetui.cli.runtimes import (
    all_pods,
    lease_holders,
    open_runtimes,
    undo_left_disruptions,
    unowned_pods,
)
from probetui.cli.session_options import RuntimeOptions, pick
from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError, ProbetuiError
from probetui.k8s.runtime import (
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
)
from probetui.ports import Claim, Clock, PodKey, Runtime, UnownedPod
from probetui.presentation.api_json import api_time
from probetui.presentation.durations import age


@dataclass(frozen=True, slots=True)
class FoundPod:
    """A pod that a probetui made, ours unless `unowned` is there.

    `holder` is the process that runs it now, empty for none.
    """

    runtime: Runtime
    status: RuntimePodStatus
    holder: str
    unowned: UnownedPod | None = None

    @property
    def name(self) -> str:
        """Namespace and name."""
        return f"{self.status.namespace}/{self.status.name}"

    @property
    def owner(self) -> str:
        """Whose it is, in a word or two."""
        if self.unowned is None:
            return "you"
        if self.unowned.claim is Claim.UNVERIFIED:
            return "unverified"
        return self.unowned.made_by or "unknown"

    @property
    def state(self) -> str:
        """What is there of it, in a word or two."""
        if not self.status.sandboxes or not self.containers:
            # A session that runs it is about to make the rest.
            return "starting" if self.holder else "half-removed"
        is_running = any(
            container.state is RuntimeState.RUNNING for container in self.containers
        )
        return "running" if is_running else "stopped"

    @property
    def containers(self) -> list[RuntimeContainerStatus]:
        """The newest instance of each container, by name."""
        names = sorted({each.name for each in self.status.containers})
        newest = (self.status.newest(each) for each in names)
        return [each for each in newest if each is not None]

    def row(self, now: datetime, *, wide: bool) -> dict[str, str]:
        """Return the cells of a table by the headings of their columns."""
        running = sum(each.state is RuntimeState.RUNNING for each in self.containers)
        row = {
            "NAMESPACE": self.status.namespace,
            "NAME": self.status.name,
            "RUNTIME": self.runtime.name,
            "STATE": self.state,
            "RUNNING": f"{running}/{len(self.containers)}",
            "RESTARTS": str(sum(each.restart_count for each in self.containers)),
            "AGE": age(now - self._created_at(now)),
            "RUN-BY": self.holder or "-",
            "OWNER": self.owner,
        }
        if wide:
            row["IP"] = ",".join(self.status.ips) or "-"
            row["CONTAINERS"] = ",".join(each.name for each in self.containers) or "-"
            row["UID"] = self.status.pod_uid
        return row

    def as_dict(self, now: datetime) -> dict[str, object]:
        """Return the same as plain data."""
        return {
            "namespace": self.status.namespace,
            "name": self.status.name,
            "uid": self.status.pod_uid,
            "runtime": self.runtime.name,
            "state": self.state,
            "createdAt": api_time(self._created_at(now)),
            "ips": list(self.status.ips),
            "runBy": self.holder or None,
            "owner": self.owner,
            "containers": [
                {
                    "name": each.name,
                    "id": each.container_id,
                    "state": each.state.value,
                    "restartCount": each.restart_count,
                    "image": each.image,
                }
                for each in self.containers
            ],
        }

    def _created_at(self, now: datetime) -> datetime:
        created = [each.created_at for each in self.status.sandboxes if each.created_at]
        return min(created, default=now)


class Search:
    """The runtimes that may hold pods of ours, open while this is entered."""

    def __init__(self, options: RuntimeOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._runtimes: list[Runtime] = []
        self.problem: ProbetuiError | None = None
        """Why not all of them could be asked."""
        self.undone: list[str] = []
        """What a session that was killed had left in force, in sentences."""

    async def __aenter__(self) -> Self:
        """Connect to them."""
        self._runtimes, self.problem = await open_runtimes(self._options, self._clock)
        for runtime in self._runtimes:
            self.undone += await undo_left_disruptions(runtime)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let go of them."""
        for each in self._runtimes:
            await each.close()

    async def pods(self, namespace: str | None = None) -> list[FoundPod]:
        """Return the pods by namespace and name, all or those of one namespace."""
        found = []
        for runtime in self._runtimes:
            try:
                statuses = await all_pods(runtime)
                unowned = await unowned_pods(runtime)
                everything = (*statuses, *(each.status for each in unowned))
                holders = await lease_holders(runtime, everything)
            except ContainerRuntimeError as error:
                self.problem = error
                continue
            found += [
                self._found(runtime, holders, each)
                for each in statuses
                if namespace in {None, each.namespace}
            ]
            found += [
                self._found(runtime, holders, each.status, each)
                for each in unowned
                if namespace in {None, each.status.namespace}
            ]
        return sorted(found, key=lambda each: (each.name, each.runtime.name))

    def _found(
        self,
        runtime: Runtime,
        holders: Mapping[PodKey, str],
        status: RuntimePodStatus,
        unowned: UnownedPod | None = None,
    ) -> FoundPod:
        holder = holders.get((status.namespace, status.name), "")
        if not holder and unowned is None:
            holder = lock_holder(runtime.name, status.namespace, status.name)
        return FoundPod(runtime, status, holder, unowned)


async def list_pods(params: Mapping[str, Any]) -> int:
    """Print the pods that there are and return the exit status."""
    clock = SystemClock()
    notes = Notes(quiet=params["quiet"])
    async with Search(pick(RuntimeOptions, params), clock) as search:
        found = await search.pods(namespace=params["namespace"])
    for sentence in search.undone:
        notes.note(sentence)
    _print(found, clock.now(), params["output"], headers=not params["no_headers"])
    if search.problem is not None:
        notes.error(str(search.problem))
        return search.problem.exit_status
    if not found:
        notes.note("no pods")
    return 0


def _print(
    found: Sequence[FoundPod], now: datetime, output: str, *, headers: bool
) -> None:
    match output:
        case "json":
            print_json([each.as_dict(now) for each in found])
        case "yaml":
            print_yaml([each.as_dict(now) for each in found])
        case "name":
            for each in found:
                print_line(f"pod/{each.status.name}")
        case _:
            cells = [each.row(now, wide=output == "wide") for each in found]
            print_table(cells, headers=headers)
