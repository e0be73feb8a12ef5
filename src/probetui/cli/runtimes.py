"""Container runtimes by name, and what is done to pods on them without an engine.

Adapters are imported when they are meant: nobody who runs processes pays for Docker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from probetui.cli.folders import cri_folder, docker_folder, pods_folder
from probetui.cli.session_options import RuntimeOptions
from probetui.errors import (
    ContainerRuntimeError,
    LeftBehindError,
    RuntimeUnavailableError,
)
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import RuntimePodStatus, RuntimeState
from probetui.kubelet.effects import UnmountVolume
from probetui.ports import (
    Clock,
    DisruptionRestorer,
    LeaseHost,
    PodKey,
    RemainsHost,
    Runtime,
    SharedEngine,
    Shortcoming,
    UnownedPod,
    VolumeHost,
)

AUTO, DOCKER, CRI, PROCESS = "auto", "docker", "cri", "process"

SIM = "sim"
"""No runtime: a world on virtual time. It carries out everything, and nothing."""


async def open_runtime(
    options: RuntimeOptions,
    clock: Clock,
    *,
    exec_errors: str = "cri",
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
    for kind in engines(options):
        try:
            if kind == CRI:
                return await _open_cri(options, clock)
            return await _open_docker(options, clock, exec_errors)
        except RuntimeUnavailableError as error:
            problems.append(error)
    raise _all_of(problems)


def engines(options: RuntimeOptions) -> tuple[str, ...]:
    """Return the engines to look for, in order; an endpoint that is named decides."""
    if options.runtime != AUTO:
        return (options.runtime,)
    if options.host or options.context:
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
    wanted = engines(options)
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
    return runtimes, _all_of(problems) if len(problems) == len(wanted) else None


def _all_of(problems: Sequence[RuntimeUnavailableError]) -> RuntimeUnavailableError:
    """Return one error that says what all of them say."""
    if len(problems) == 1:
        return problems[0]
    tried = [place for each in problems for place in each.tried]
    return RuntimeUnavailableError("; ".join(map(str, problems)), tried=tried)


def kind_of(runtime: Runtime) -> str:
    """Return which of the kinds a runtime is that `--runtime` can name."""
    return runtime.name if runtime.name in {DOCKER, PROCESS} else CRI


def shortcomings_of(kind: str) -> Callable[[Pod], Iterator[Shortcoming]]:
    """Return what tells which fields of a pod such a runtime does not carry out."""
    if kind == SIM:
        return lambda _pod: iter(())
    if kind == PROCESS:
        from probetui.runtimes.process.shortcomings import (  # noqa: PLC0415
            shortcomings,
        )

        return shortcomings
    if kind == CRI:
        from probetui.runtimes.cri import shortcomings as of_cri  # noqa: PLC0415

        return of_cri.shortcomings
    from probetui.runtimes.docker import shortcomings as of_docker  # noqa: PLC0415

    return of_docker.shortcomings


def _open_processes(clock: Clock, *, sees_all: bool) -> Runtime:
    from probetui.runtimes.process.runtime import ProcessRuntime  # noqa: PLC0415

    return ProcessRuntime(pods_folder(), clock, sees_all=sees_all)


async def _open_docker(
    options: RuntimeOptions, clock: Clock, exec_errors: str
) -> Runtime:
    from probetui.runtimes.docker.connection import connect  # noqa: PLC0415
    from probetui.runtimes.docker.runtime import DockerOptions  # noqa: PLC0415

    return await connect(
        clock,
        DockerOptions(
            docker_folder(), exec_errors="docker" if exec_errors == "docker" else "cri"
        ),
        host=options.host,
        context=options.context,
    )


async def _open_cri(options: RuntimeOptions, clock: Clock) -> Runtime:
    from probetui.runtimes.cri.connection import connect  # noqa: PLC0415
    from probetui.runtimes.cri.runtime import CriOptions  # noqa: PLC0415

    return await connect(
        clock, CriOptions(cri_folder()), endpoint=options.runtime_endpoint
    )


class OwnPods:
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

    def own(self, pods: Sequence[Pod]) -> None:
        """Let the engine see these pods too."""
        self._uids.update(each.uid for each in pods)

    async def relist(self) -> tuple[RuntimePodStatus, ...]:
        """Return the pods of this session."""
        found = await self._runtime.relist()
        return tuple(each for each in found if each.pod_uid in self._uids)


async def all_pods(runtime: Runtime) -> tuple[RuntimePodStatus, ...]:
    """Return every pod of ours, those too of which only volumes or files are left.

    Raises:
        ContainerRuntimeError: the runtime could not be asked.
    """
    left: list[RuntimePodStatus] = []
    found = await runtime.relist()
    if isinstance(runtime, VolumeHost):
        left += [
            RuntimePodStatus(each.pod_uid, each.name, each.namespace)
            for each in await runtime.list_volumes()
        ]
    if isinstance(runtime, RemainsHost):
        left += await runtime.list_remains()
    by_uid = {pod.pod_uid: pod for pod in (*left, *found)}
    return (*found, *(by_uid[uid] for uid in by_uid if by_uid[uid] not in found))


async def unowned_pods(runtime: Runtime) -> tuple[UnownedPod, ...]:
    """Return the pods that other probetuis seem to have made on a runtime.

    Raises:
        ContainerRuntimeError: the runtime could not be asked.
    """
    return await runtime.unowned_pods() if isinstance(runtime, SharedEngine) else ()


async def lease_holders(
    runtime: Runtime, pods: Sequence[RuntimePodStatus]
) -> Mapping[PodKey, str]:
    """Return who runs pods, as everybody on a runtime sees it.

    Raises:
        ContainerRuntimeError: the runtime could not be asked.
    """
    if not isinstance(runtime, LeaseHost) or not pods:
        return {}
    return await runtime.lease_holders({(each.namespace, each.name) for each in pods})


async def undo_left_disruptions(runtime: Runtime) -> list[str]:
    """Undo what a session left in force that was killed; return what to tell of it."""
    if not isinstance(runtime, DisruptionRestorer):
        return []
    try:
        return await runtime.undo_left_disruptions()
    except ContainerRuntimeError as error:
        return [f"what a killed session left frozen or cut off stays so: {error}"]


async def remove_pods(
    runtime: Runtime, pods: Sequence[RuntimePodStatus], grace_period_seconds: int
) -> None:
    """Stop and remove pods and their volumes, all at once; hooks are not run.

    Raises:
        ContainerRuntimeError: the runtime refused, for the first pod it did so.
    """
    results = await asyncio.gather(
        *(_remove_pod(runtime, each, grace_period_seconds) for each in pods),
        return_exceptions=True,
    )
    for each in results:
        if isinstance(each, BaseException):
            raise each


async def _remove_pod(
    runtime: Runtime, pod: RuntimePodStatus, grace_period_seconds: int
) -> None:
    running = (
        each.container_id
        for each in pod.containers
        if each.state is RuntimeState.RUNNING
    )
    await asyncio.gather(
        *(runtime.stop_container(each, grace_period_seconds) for each in running)
    )
    left: list[LeftBehindError] = []
    for container in pod.containers:
        with _left_for_later(left):
            await runtime.remove_container(container.container_id)
    for sandbox in pod.sandboxes:
        await runtime.stop_pod_sandbox(sandbox.sandbox_id)
        with _left_for_later(left):
            await runtime.remove_pod_sandbox(sandbox.sandbox_id)
    if isinstance(runtime, VolumeHost):
        for volumes in await runtime.list_volumes():
            if volumes.pod_uid == pod.pod_uid:
                for name in volumes.volumes:
                    with _left_for_later(left):
                        await runtime.unmount_volume(UnmountVolume(pod.pod_uid, name))
    if left:
        # A sandbox names again what its containers have left.
        paths = tuple(dict.fromkeys(path for error in left for path in error.left))
        unnamed = max(error.count - len(error.left) for error in left)
        raise LeftBehindError(paths, len(paths) + unnamed)
    if isinstance(runtime, RemainsHost):
        await runtime.remove_remains(pod)


@contextmanager
def _left_for_later(left: list[LeftBehindError]) -> Iterator[None]:
    """Go on with the rest of a pod if something of it cannot be removed."""
    try:
        yield
    except LeftBehindError as error:
        left.append(error)
