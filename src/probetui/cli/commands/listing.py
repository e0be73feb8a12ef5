"""`probetui ls`: pods that probetui made on every runtime, and who runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct
from msgspec.structs import replace

from probetui.cli.option_groups import pick_options
from probetui.cli.option_values import RuntimeOptions
from probetui.cli.printing import Notes
from probetui.cli.reports import emit
from probetui.cli.runtimes import (
    all_pods,
    lease_holders,
    open_runtimes,
    undo_leftover_faults,
)
from probetui.cli.session.locks import lock_holder
from probetui.cli.session.state_socket import read_states
from probetui.drive.clocks import SystemClock
from probetui.durations import format_age
from probetui.errors import ContainerRuntimeError, ProbetuiError, UsageError
from probetui.k8s.api.codec import format_time
from probetui.k8s.pod_names import find_pods
from probetui.k8s.runtime import (
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
)
from probetui.k8s.selector import LabelRequirement, has_labels, parse_selector
from probetui.ports import Clock, PodKey, Runtime, UnownedPod
from probetui.presentation.report import Part, Table
from probetui.presentation.state_json import STATE_API_VERSION
from probetui.runtimes.translation import EPOCH

if TYPE_CHECKING:
    from probetui.cli.commands.management import ListOptions

_WATCH_SECONDS = 1


class ListedPod(Struct, frozen=True):
    """A pod that a probetui made, ours unless `unowned` is there.

    `holder` is the process that runs it now, empty for none, and `session` the pod's
    state there, as `probetui schema state` has it, if that session answers. `labels`
    are None where nothing has them: without a sandbox, or if version 0.1 made it.
    """

    runtime: Runtime
    status: RuntimePodStatus
    holder: str
    unowned: UnownedPod | None = None
    session: Mapping[str, Any] | None = None
    labels: Mapping[str, str] | None = None

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.status.namespace

    @property
    def name(self) -> str:
        """Its name in its namespace."""
        return self.status.name

    @property
    def full_name(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"

    @property
    def type_and_name(self) -> str:
        """What `-o name` prints of it."""
        return f"pod/{self.name}"

    def container_names(self) -> tuple[str, ...]:
        """Return the names of its containers."""
        return tuple(container.name for container in self.containers)

    @property
    def owner(self) -> str:
        """Who made it: you, or another user."""
        if self.unowned is None:
            return "you"
        return self.unowned.made_by or "unknown"

    @property
    def state(self) -> str:
        """Its state: starting, running, stopped or half-removed."""
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
        names = sorted({container.name for container in self.status.containers})
        newest = (self.status.newest(name) for name in names)
        return [status for status in newest if status is not None]

    def known_labels(
        self, by_sandbox: Mapping[str, Mapping[str, str]]
    ) -> Mapping[str, str] | None:
        """Return the labels of its newest sandbox that has some."""
        labels = (
            by_sandbox.get(sandbox.sandbox_id) for sandbox in self.status.sandboxes
        )
        return next((known for known in labels if known is not None), None)

    def row(self, now: datetime, *, wide: bool) -> dict[str, str]:
        """Return the cells of a table by the headings of their columns."""
        running = sum(
            container.state is RuntimeState.RUNNING for container in self.containers
        )
        row = {
            "NAMESPACE": self.status.namespace,
            "NAME": self.status.name,
            "RUNTIME": self.runtime.name,
            "STATE": self.state,
            "RUNNING": f"{running}/{len(self.containers)}",
            "RESTARTS": str(
                sum(container.restart_count for container in self.containers)
            ),
            "PROBES": "-" if self.session is None else _probe_cell(self.session),
            "AGE": format_age(now - self._created_at(now)),
            "RUN-BY": self.holder or "-",
            "OWNER": self.owner,
        }
        if wide:
            row["IP"] = ",".join(self.status.ips) or "-"
            row["CONTAINERS"] = (
                ",".join(container.name for container in self.containers) or "-"
            )
            row["UID"] = self.status.pod_uid
            pairs = (f"{key}={value}" for key, value in (self.labels or {}).items())
            row["LABELS"] = ",".join(sorted(pairs)) or "-"
        return row

    def as_dict(self, now: datetime) -> dict[str, object]:
        """Return the pod as it is in JSON and YAML."""
        return {
            "namespace": self.status.namespace,
            "name": self.status.name,
            "uid": self.status.pod_uid,
            "runtime": self.runtime.name,
            "state": self.state,
            "createdAt": format_time(self._created_at(now)),
            "ips": list(self.status.ips),
            "runBy": self.holder or None,
            "owner": self.owner,
            "labels": self.labels,
            "containers": [
                {
                    "name": container.name,
                    "id": container.container_id,
                    "state": container.state.value,
                    "restartCount": container.restart_count,
                    "image": container.image,
                }
                for container in self.containers
            ],
            "session": self.session,
        }

    def _created_at(self, now: datetime) -> datetime:
        created = [
            sandbox.created_at
            for sandbox in self.status.sandboxes
            if sandbox.created_at
        ]
        return min(created, default=now)


def _probe_cell(pod: Mapping[str, Any]) -> str:
    """Return the failing probes of a pod, or how many of them succeeded last."""
    probes = [
        (container["container"], probe)
        for container in pod["containers"]
        for probe in container["probes"]
    ]
    failing = [
        f"{name}/{probe['probe']} {run['count']}/{run['threshold']}"
        for name, probe in probes
        if (run := probe["run"])["result"] == "Failure" and not probe["onHold"]
    ]
    succeeded = sum(probe["run"]["result"] == "Success" for _, probe in probes)
    if not failing:
        return f"{succeeded}/{len(probes)} ok" if probes else "none"
    return ", ".join(failing)


class PodsReport(Struct, frozen=True):
    """The pods that there are at an instant."""

    pods: Sequence[ListedPod]
    now: datetime
    has_headings: bool

    def value(self) -> list[dict[str, object]]:
        """Return what is known of each pod."""
        return [pod.as_dict(self.now) for pod in self.pods]

    def parts(self, form: str) -> Iterator[Part]:
        """Yield names, or a table with more columns in the wide form."""
        if form == "name":
            yield from (pod.type_and_name for pod in self.pods)
        else:
            rows = [pod.row(self.now, wide=form == "wide") for pod in self.pods]
            yield Table(rows, self.has_headings)


class PodSearch:
    """The runtimes that may have our pods; a context manager that connects to them."""

    def __init__(self, options: RuntimeOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._runtimes: list[Runtime] = []
        self.problem: ProbetuiError | None = None
        """Why some runtimes could not be asked."""
        self.undone: list[str] = []
        """Faults that a killed session left and that were undone, in sentences."""

    async def __aenter__(self) -> Self:
        """Connect to them."""
        self._runtimes, self.problem = await open_runtimes(self._options, self._clock)
        for runtime in self._runtimes:
            self.undone += await undo_leftover_faults(runtime)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        for runtime in self._runtimes:
            await runtime.close()

    async def pods(self, namespace: str | None = None) -> list[ListedPod]:
        """Return the pods by namespace and name, all or those of one namespace."""
        pods = []
        states = {
            pod["podUID"]: pod
            for state in await read_states(STATE_API_VERSION)
            for pod in state["pods"]
        }
        for runtime in self._runtimes:
            try:
                statuses = await all_pods(runtime)
                unowned = await runtime.unowned_pods()
                everything = (*statuses, *(pod.status for pod in unowned))
                holders = await lease_holders(runtime, everything)
                labels = await runtime.sandbox_labels()
            except ContainerRuntimeError as error:
                self.problem = error
                continue
            pods += [
                replace(pod, labels=pod.known_labels(labels))
                for pod in (
                    *(self._found(runtime, holders, status) for status in statuses),
                    *(
                        self._found(runtime, holders, pod.status, pod)
                        for pod in unowned
                    ),
                )
                if namespace in {None, pod.namespace}
            ]
        pods = [replace(pod, session=states.get(pod.status.pod_uid)) for pod in pods]
        return sorted(pods, key=lambda pod: (pod.full_name, pod.runtime.name))

    def named(
        self, target: str, pods: Sequence[ListedPod]
    ) -> tuple[list[ListedPod], str]:
        """Return the pods that a target means, and the container that it names.

        Raises:
            UsageError: there is none.
            ProbetuiError: the same, and a runtime that may have it could not be asked.
        """
        try:
            return find_pods(target, pods)
        except UsageError:
            if self.problem is not None:
                raise self.problem from None
            raise

    async def container(
        self, target: str, name: str | None, namespace: str | None
    ) -> tuple[ListedPod, RuntimeContainerStatus]:
        """Return our pod that a target means, and the newest instance of a container.

        Args:
            target: the pod, or POD/CONTAINER.
            name: the container's, None for the one of the target or the only one.
            namespace: the pod's, None for any.

        Raises:
            UsageError: there is no such pod, several, or not one such container.
            ProbetuiError: a runtime that may have it could not be asked.
        """
        ours = [pod for pod in await self.pods(namespace) if pod.unowned is None]
        pods, of_target = self.named(target, ours)
        if len(pods) > 1:
            has = ", ".join(f"{pod.full_name} on {pod.runtime.name}" for pod in pods)
            raise UsageError(f"more than one pod is meant: {has}; use -n and --runtime")
        (pod,) = pods
        wanted = name or of_target
        meant = [status for status in pod.containers if wanted in {"", status.name}]
        if len(meant) != 1:
            has = ", ".join(pod.container_names())
            raise UsageError(f"-c: which container of {pod.full_name} (has: {has})")
        return pod, meant[0]

    def _found(
        self,
        runtime: Runtime,
        holders: Mapping[PodKey, str],
        status: RuntimePodStatus,
        unowned: UnownedPod | None = None,
    ) -> ListedPod:
        holder = holders.get((status.namespace, status.name), "")
        if not holder and unowned is None:
            holder = lock_holder(runtime.name, status.namespace, status.name)
        return ListedPod(runtime, status, holder, unowned)


def wanted_labels(selector: str | None) -> Sequence[LabelRequirement]:
    """Return what `--selector` asks for, nothing without it.

    Raises:
        UsageError: it is no selector.
    """
    return () if selector is None else parse_selector(selector)


def meant_pods(
    search: PodSearch,
    pods: Sequence[ListedPod],
    names: Sequence[str],
    wanted: Sequence[LabelRequirement],
) -> list[ListedPod]:
    """Return the pods with these names, or with these labels; else all of them.

    A pod whose labels are not known has none that are wanted, and lacks none either.

    Raises:
        UsageError: there is no pod of a name.
        ProbetuiError: the same, and a runtime that may have it could not be asked.
    """
    if wanted:
        return [
            pod
            for pod in pods
            if pod.labels is not None and has_labels(wanted, pod.labels)
        ]
    if not names:
        return list(pods)
    named = [pod for name in names for pod in search.named(name, pods)[0]]
    return [pod for pod in pods if pod in named]


async def list_pods(names: Sequence[str], options: ListOptions) -> int:
    """Print the pods that there are and return the exit status.

    With `watch` rows that changed are printed again, until it is interrupted.
    """
    clock = SystemClock()
    notes = Notes(quiet=options.quiet)
    output, headings = options.output, not options.no_headers
    namespace = None if options.all_namespaces else options.namespace
    wanted = wanted_labels(options.selector)
    if options.watch and output not in {"table", "wide"}:
        raise UsageError(f"--watch prints tables, not -o {output}")
    async with PodSearch(pick_options(RuntimeOptions, options), clock) as search:
        pods = meant_pods(search, await search.pods(namespace), names, wanted)
        for sentence in search.undone:
            notes.note(sentence)
        emit(PodsReport(pods, clock.now(), has_headings=headings), output)
        while options.watch and search.problem is None:
            await asyncio.sleep(_WATCH_SECONDS)
            before, now = set(map(_changing, pods)), clock.now()
            pods = meant_pods(search, await search.pods(namespace), names, wanted)
            changed = [pod for pod in pods if _changing(pod) not in before]
            emit(PodsReport(changed, now, has_headings=False), output)
    if search.problem is not None:
        notes.error(str(search.problem))
        return search.problem.exit_status
    if not pods:
        notes.note("no pods")
    return 0


def _changing(pod: ListedPod) -> tuple[str, ...]:
    """Return what of a row changes by more than time."""
    row = pod.row(EPOCH, wide=True)
    return tuple(cell for heading, cell in row.items() if heading != "AGE")
