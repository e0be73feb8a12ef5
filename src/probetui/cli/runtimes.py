"""Container runtimes by name, and operations on their pods without an engine.

Adapters are imported when they are meant: nobody who runs processes pays for Docker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from probetui.cli.folders import cri_folder, docker_folder, pods_folder
from probetui.cli.option_values import RuntimeOptions
from probetui.errors import (
    ContainerRuntimeError,
    IncompleteRemovalError,
    RuntimeUnavailableError,
)
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import RuntimePodStatus, RuntimeState
from probetui.kubelet.effects import UnmountVolume
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.ports import (
    Clock,
    PodKey,
    Runtime,
    UnsupportedField,
)

AUTO, DOCKER, CRI, PROCESS = "auto", "docker", "cri", "process"

SIM = "sim"
"""No runtime: a simulation on virtual time, which supports every field."""


async def open_runtime(
    options: RuntimeOptions,
    clock: Clock,
    *,
    exec_errors: str = "cri",
    rules: KubeletRules = PORTED_RULES,
    sees_all: bool = False,
) -> Runtime:
    """Return the runtime for a session; `auto` is Docker, then CRI, never processes.

    With `sees_all` the pods of other probetuis that are running are there too, also
    where they would be left to those.

    Raises:
        RuntimeUnavailableError: nothing answers; says what was tried.
    """
    if options.runtime == PROCESS:
        return _open_processes(clock, sees_all=sees_all)
    problems = []
    for kind in candidate_engines(options):
        try:
            if kind == CRI:
                return await _open_cri(options, clock)
            return await _open_docker(options, clock, exec_errors, rules)
        except RuntimeUnavailableError as error:
            problems.append(error)
    raise _combined(problems)


def candidate_engines(options: RuntimeOptions) -> tuple[str, ...]:
    """Return the engines to try, in order; an endpoint option decides."""
    if options.runtime != AUTO:
        return (options.runtime,)
    if options.host or options.docker_context:
        return (DOCKER,)
    return (CRI,) if options.runtime_endpoint else (DOCKER, CRI)


async def open_runtimes(
    options: RuntimeOptions, clock: Clock
) -> tuple[list[Runtime], RuntimeUnavailableError | None]:
    """Return every runtime that may hold pods of ours, of whatever session.

    The second value says why there is no engine among them though there should be.
    """
    runtimes: list[Runtime] = []
    if options.runtime in {AUTO, PROCESS}:
        runtimes.append(_open_processes(clock, sees_all=True))
    if options.runtime == PROCESS:
        return runtimes, None
    wanted = candidate_engines(options)
    problems = []
    for kind in wanted:
        try:
            opened = (
                _open_cri(options, clock)
                if kind == CRI
                else _open_docker(options, clock, "cri")
            )
            runtimes.append(await opened)
        except RuntimeUnavailableError as error:
            problems.append(error)
    # Hardly anybody has every engine there is.
    return runtimes, _combined(problems) if len(problems) == len(wanted) else None


def _combined(problems: Sequence[RuntimeUnavailableError]) -> RuntimeUnavailableError:
    """Combine several errors into one."""
    if len(problems) == 1:
        return problems[0]
    tried = [place for problem in problems for place in problem.tried]
    return RuntimeUnavailableError("; ".join(map(str, problems)), tried=tried)


def runtime_kind(runtime: Runtime) -> str:
    """Return the value of `--runtime` for a runtime."""
    return runtime.name if runtime.name in {DOCKER, PROCESS} else CRI


def unsupported_fields_of(kind: str) -> Callable[[Pod], Iterator[UnsupportedField]]:
    """Return what finds the fields of a pod that a runtime does not support."""
    from probetui.runtimes import unsupported_fields

    if kind == PROCESS:
        return unsupported_fields.unsupported_by_processes
    if kind == CRI:
        return unsupported_fields.unsupported_by_cri
    return unsupported_fields.unsupported_by_docker


def _open_processes(clock: Clock, *, sees_all: bool) -> Runtime:
    from probetui.cli.session.locks import is_run_here
    from probetui.runtimes.process.runtime import ProcessRuntime

    adopts = partial(is_run_here, PROCESS)
    return ProcessRuntime(pods_folder(), clock, sees_all=sees_all, adopts=adopts)


async def _open_docker(
    options: RuntimeOptions,
    clock: Clock,
    exec_errors: str,
    rules: KubeletRules = PORTED_RULES,
) -> Runtime:
    from probetui.runtimes.docker.connection import connect
    from probetui.runtimes.docker.runtime import DockerOptions

    return await connect(
        clock,
        DockerOptions(
            docker_folder(),
            exec_errors="docker" if exec_errors == "docker" else "cri",
            limits_commands=rules.limits_commands(exec_errors),
        ),
        host=options.host,
        context=options.docker_context,
    )


async def _open_cri(options: RuntimeOptions, clock: Clock) -> Runtime:
    from probetui.runtimes.cri.connection import connect
    from probetui.runtimes.cri.runtime import CriOptions

    return await connect(
        clock, CriOptions(cri_folder()), endpoint=options.runtime_endpoint
    )


class OwnPodsRuntime:
    """A runtime in which an engine sees the pods of its own session and no others.

    An engine ends what it does not know. Pods that another probetui runs, or that an
    earlier one left on purpose, are not its business.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._uids: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        """Do everything else as the runtime itself does."""
        return getattr(self._runtime, name)

    def add_pods(self, pods: Sequence[Pod]) -> None:
        """Make these pods visible to the engine too."""
        self._uids.update(pod.uid for pod in pods)

    async def relist(self) -> tuple[RuntimePodStatus, ...]:
        """Return the pods of this session."""
        running = await self._runtime.relist()
        return tuple(status for status in running if status.pod_uid in self._uids)


async def all_pods(runtime: Runtime) -> tuple[RuntimePodStatus, ...]:
    """Return every pod of ours, those too of which only volumes or files are left.

    Raises:
        ContainerRuntimeError: the runtime could not be asked.
    """
    left: list[RuntimePodStatus] = []
    running = await runtime.relist()
    left += [
        RuntimePodStatus(volume.pod_uid, volume.name, volume.namespace)
        for volume in await runtime.list_volumes()
    ]
    left += await runtime.list_leftover_files()
    by_uid = {pod.pod_uid: pod for pod in (*left, *running)}
    return (*running, *(by_uid[uid] for uid in by_uid if by_uid[uid] not in running))


async def lease_holders(
    runtime: Runtime, pods: Sequence[RuntimePodStatus]
) -> Mapping[PodKey, str]:
    """Return who runs pods, as everybody on a runtime sees it.

    Raises:
        ContainerRuntimeError: the runtime could not be asked.
    """
    if not pods:
        return {}
    return await runtime.lease_holders({(pod.namespace, pod.name) for pod in pods})


async def undo_leftover_faults(runtime: Runtime) -> list[str]:
    """Undo the faults that a killed session left in force; return a line for each."""
    try:
        return await runtime.undo_leftover_faults()
    except ContainerRuntimeError as error:
        return [f"faults that a killed session left cannot be undone: {error}"]


async def volumes_by_pod(runtime: Runtime) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the volumes that a runtime has, by the uid of their pod.

    Raises:
        ContainerRuntimeError: the runtime could not be asked.
    """
    return {pod.pod_uid: pod.volumes for pod in await runtime.list_volumes()}


async def remove_pods(
    runtime: Runtime, pods: Sequence[RuntimePodStatus], grace_period_seconds: int
) -> None:
    """Stop and remove pods and their volumes, all at once; hooks are not run.

    Raises:
        ContainerRuntimeError: the runtime refused, for the first pod it did so.
    """
    if not pods:
        return
    volumes = await volumes_by_pod(runtime)
    results = await asyncio.gather(
        *(
            remove_pod(runtime, pod, volumes.get(pod.pod_uid, ()), grace_period_seconds)
            for pod in pods
        ),
        return_exceptions=True,
    )
    for result in results:
        if isinstance(result, BaseException):
            raise result


async def remove_pod(
    runtime: Runtime,
    pod: RuntimePodStatus,
    volumes: Sequence[str],
    grace_period_seconds: int,
) -> None:
    """Stop and remove a pod and its volumes; hooks are not run.

    Args:
        runtime: where it is.
        pod: what there is of it.
        volumes: the names of its volumes; a list of those of all pods is long.
        grace_period_seconds: between the stop signal and SIGKILL.

    Raises:
        ContainerRuntimeError: the runtime refused.
    """
    running = (
        status.container_id
        for status in pod.containers
        if status.state is RuntimeState.RUNNING
    )
    await asyncio.gather(
        *(
            runtime.stop_container(container_id, grace_period_seconds)
            for container_id in running
        )
    )
    left: list[IncompleteRemovalError] = []
    for container in pod.containers:
        with _collect_leftovers(left):
            await runtime.remove_container(container.container_id)
    for sandbox in pod.sandboxes:
        await runtime.stop_pod_sandbox(sandbox.sandbox_id)
        with _collect_leftovers(left):
            await runtime.remove_pod_sandbox(sandbox.sandbox_id)
    for name in volumes:
        with _collect_leftovers(left):
            await runtime.unmount_volume(UnmountVolume(pod.pod_uid, name))
    if left:
        # A sandbox names again what its containers have left.
        paths = tuple(dict.fromkeys(path for error in left for path in error.left))
        unnamed = max(error.count - len(error.left) for error in left)
        raise IncompleteRemovalError(paths, len(paths) + unnamed)
    await runtime.remove_leftover_files(pod)


@contextmanager
def _collect_leftovers(left: list[IncompleteRemovalError]) -> Iterator[None]:
    """Continue with the rest of a pod if a part of it cannot be removed."""
    try:
        yield
    except IncompleteRemovalError as error:
        left.append(error)
