"""Executor: carries out each effect of the engine and reports one fact."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from probetui.drive.logs import read_last_output
from probetui.engine.inputs import (
    Fact,
    LastOutputRead,
    ListenersFound,
    ProbeStillRuns,
)
from probetui.errors import (
    ContainerConfigError,
    ContainerRuntimeError,
    ImageNotFoundError,
    IncompleteRemovalError,
)
from probetui.k8s.runtime import (
    ContainerID,
    Listeners,
    RuntimeContainerStatus,
    StoredImage,
)
from probetui.kubelet.effects import (
    CreateContainer,
    Effect,
    FindListeners,
    GetImageStatus,
    GetImageUser,
    GetPodSandboxStatus,
    GetRuntimeStatus,
    InjectFault,
    ListImages,
    MountVolume,
    Operation,
    PullImage,
    ReadLastOutput,
    Relist,
    RemoveContainer,
    RemovePodSandbox,
    RunHook,
    RunOperation,
    RunPodSandbox,
    RunProbe,
    StartContainer,
    StopContainer,
    StopPodSandbox,
    UnmountVolume,
)
from probetui.kubelet.facts import (
    ImagesListed,
    OperationFinished,
    OperationProgress,
    OperationValue,
    ProbeFinished,
    Relisted,
    RelistFailed,
    RuntimeStatusRead,
)
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult
from probetui.ports import Clock, HookRunner, Prober, Runtime

log = logging.getLogger(__name__)

MOST_IMAGES = 50
"""Source: apis/config/v1beta1/defaults.go, v1.32.10, NodeStatusMaxImages."""

MOST_NAMES = 5
"""Source: nodestatus/setters.go, v1.32.10, MaxNamesPerImageInNodeStatus."""

_LONGEST_LOOKUP_SECONDS = 1.0
"""The longest wait of a stop or a removal for a lookup or a log.

Either usually takes milliseconds.
"""

_LATE_SECONDS = 1.0
"""How much longer than its timeout a probe may run before that is reported.

One that ends at its timeout comes back some milliseconds after it, on a busy machine
some hundred.
"""

LOG_SECONDS = 5.0
"""The longest that reading the end of a log may take."""

FactReporter = Callable[[Fact], None]
RuntimeOperation = (
    RunPodSandbox
    | GetPodSandboxStatus
    | StopPodSandbox
    | RemovePodSandbox
    | GetImageStatus
    | PullImage
    | CreateContainer
    | StartContainer
    | StopContainer
    | RemoveContainer
    | MountVolume
    | UnmountVolume
    | GetImageUser
    | InjectFault
)


class Executor:
    """Carries out effects; each ends in exactly one fact, a late probe in two.

    Args:
        runtime: the container runtime.
        prober: runs probes.
        hooks: runs lifecycle hooks.
        clock: gives the instant at which a relist began.
        late_seconds: how much longer than its timeout a probe may run unreported.
    """

    def __init__(
        self,
        runtime: Runtime,
        prober: Prober,
        hooks: HookRunner,
        clock: Clock,
        *,
        late_seconds: float = _LATE_SECONDS,
    ) -> None:
        self._runtime = runtime
        self._prober = prober
        self._hooks = hooks
        self._clock = clock
        self._late_seconds = late_seconds
        self._lookups: dict[ContainerID, asyncio.Task[Listeners]] = {}
        self._ending: set[ContainerID] = set()
        self._readings: dict[ContainerID, asyncio.Event] = {}

    async def execute(self, effect: Effect, report: FactReporter) -> None:
        """Carry out an effect and report its result.

        Any exception becomes the error of this effect, and is logged with its
        traceback.
        """
        try:
            await self._execute(effect, report)
        except Exception as error:
            # Not the effect itself: the variables of its containers are in it.
            log.exception("carrying out %s", _name(effect))
            report(_failed(effect, f"{type(error).__name__}: {error}", self._clock))

    async def _execute(self, effect: Effect, report: FactReporter) -> None:
        match effect:
            case RunProbe():
                await self._probe(effect, report)
            case RunOperation(operation_id, _, operation):
                report(await self._operate(operation_id, operation, report))
            case Relist():
                report(await self._relist())
            case GetRuntimeStatus():
                report(await self._runtime_status())
            case ListImages():
                report(await self._list_images())
            case FindListeners():
                report(await self._find_listeners(effect.container_id))
            case ReadLastOutput(container_id):
                await self._read_last_output(container_id, report)

    async def _probe(self, effect: RunProbe, report: FactReporter) -> None:
        """Run a probe; report too that it runs for longer than it may."""
        still_runs = asyncio.get_running_loop().call_later(
            effect.probe.timeout_seconds + self._late_seconds,
            report,
            ProbeStillRuns(effect.probe_id),
        )
        try:
            outcome = await self._prober.probe(effect)
        finally:
            still_runs.cancel()
        report(ProbeFinished(effect.probe_id, outcome))

    async def _read_last_output(
        self, container_id: ContainerID, report: FactReporter
    ) -> None:
        """Read the end of a log, and the termination message beside it."""
        is_read = self._readings[container_id] = asyncio.Event()
        try:
            async with asyncio.timeout(LOG_SECONDS):
                lines = await read_last_output(self._runtime, container_id)
                status = await self._runtime.container_status(container_id)
            message = "" if status is None else status.message
            report(LastOutputRead(container_id, lines, message))
        except ContainerRuntimeError as error:
            report(LastOutputRead(container_id, None, problem=str(error)))
        except TimeoutError:
            problem = (
                f"{self._runtime.name} did not return it within {LOG_SECONDS:.0f}s"
            )
            report(LastOutputRead(container_id, None, problem=problem))
        finally:
            is_read.set()
            del self._readings[container_id]

    async def _finish_reading(self, container_id: ContainerID) -> None:
        """Wait until the log of a container is read before the container is removed."""
        if (is_read := self._readings.get(container_id)) is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LONGEST_LOOKUP_SECONDS):
                    await is_read.wait()

    async def _find_listeners(self, container_id: ContainerID) -> Fact:
        if container_id in self._ending:
            return ListenersFound(container_id, None, is_ending=True)
        lookup = asyncio.ensure_future(self._runtime.listeners(container_id))
        self._lookups[container_id] = lookup
        try:
            await asyncio.wait([lookup])
        finally:
            lookup.cancel()
            if self._lookups.get(container_id) is lookup:
                del self._lookups[container_id]
        if lookup.cancelled():
            return ListenersFound(container_id, None, "it was stopped meanwhile")
        try:
            return ListenersFound(container_id, lookup.result())
        except ContainerRuntimeError as error:
            return ListenersFound(container_id, None, str(error))

    async def _finish_lookup(self, container_id: ContainerID) -> None:
        """Wait for the listing of a container's ports before its end begins.

        A container that is being stopped closes its ports, so a later listing does not
        explain the refused connection, and there is none any more. One that takes too
        long is cancelled.
        """
        self._ending.add(container_id)
        lookup = self._lookups.get(container_id)
        if lookup is not None:
            await asyncio.wait([lookup], timeout=_LONGEST_LOOKUP_SECONDS)
            lookup.cancel()

    async def _runtime_status(self) -> Fact:
        try:
            return RuntimeStatusRead(await self._runtime.conditions())
        except ContainerRuntimeError as error:
            return RuntimeStatusRead(error=str(error))

    async def _list_images(self) -> Fact:
        """List the images; only the largest need names, as in a node's status."""
        try:
            images = await self._runtime.list_images()
        except ContainerRuntimeError as error:
            return ImagesListed(error=str(error))
        largest = sorted(images, key=lambda image: -image.size_bytes)[:MOST_IMAGES]
        return ImagesListed(
            tuple(
                StoredImage(image.image_id, image.names[:MOST_NAMES], image.size_bytes)
                for image in largest
            ),
            len(images),
            sum(image.size_bytes for image in images),
        )

    async def _relist(self) -> Fact:
        started_at = self._clock.now()
        try:
            return Relisted(await self._runtime.relist(), started_at)
        except ContainerRuntimeError as error:
            return RelistFailed(str(error))

    async def _operate(
        self, operation_id: int, operation: Operation, report: FactReporter
    ) -> OperationFinished:
        def progress(text: str) -> None:
            report(OperationProgress(operation_id, text))

        try:
            if isinstance(operation, RunHook):
                if operation.is_pre_stop:
                    await self._finish_lookup(operation.container_id)
                hook = await self._hooks.run(operation)
                return OperationFinished(
                    operation_id,
                    hook.output,
                    hook.error,
                    fallback_host=hook.fallback_host,
                    peer=hook.peer,
                )
            value = await self._call(operation, progress)
        except ImageNotFoundError as error:
            return OperationFinished(operation_id, error=str(error), not_found=True)
        except ContainerConfigError as error:
            return OperationFinished(operation_id, error=str(error), config_error=True)
        except ContainerRuntimeError as error:
            return OperationFinished(operation_id, error=str(error))
        return OperationFinished(operation_id, value)

    async def _call(  # noqa: C901, PLR0912  # one arm per operation
        self, operation: RuntimeOperation, progress: Callable[[str], None]
    ) -> OperationValue:
        runtime = self._runtime
        match operation:
            case RunPodSandbox():
                return await runtime.run_pod_sandbox(operation)
            case GetPodSandboxStatus(sandbox_id):
                return await runtime.pod_sandbox_status(sandbox_id)
            case StopPodSandbox(sandbox_id):
                await runtime.stop_pod_sandbox(sandbox_id)
            case RemovePodSandbox(sandbox_id):
                await runtime.remove_pod_sandbox(sandbox_id)
            case GetImageStatus(image):
                return await runtime.image_status(image)
            case PullImage():
                return await runtime.pull_image(operation, progress)
            case CreateContainer():
                return await runtime.create_container(operation)
            case StartContainer(container_id):
                await runtime.start_container(container_id)
            case StopContainer(container_id, _, grace_period_seconds):
                await self._finish_lookup(container_id)
                await runtime.stop_container(container_id, grace_period_seconds)
                return await self._status_of_stopped(container_id)
            case RemoveContainer(container_id):
                self._ending.discard(container_id)
                await self._finish_reading(container_id)
                await runtime.remove_container(container_id)
            case MountVolume():
                await runtime.mount_volume(operation)
            case UnmountVolume():
                await self._unmount(operation)
            case GetImageUser(image):
                return await runtime.image_user(image)
            case InjectFault(container_id, _, fault):
                await runtime.inject_fault(container_id, fault)
        return None

    async def _unmount(self, operation: UnmountVolume) -> None:
        """Unmount a volume.

        Difference: a volume that contains another mount, so that it cannot be removed
        completely, counts as unmounted. The kubelet retries forever and keeps the pod;
        here the pod is removed, with a message that names what remains.
        """
        try:
            await self._runtime.unmount_volume(operation)
        except IncompleteRemovalError as error:
            log.warning("volume %s: %s", operation.volume_name, error)

    async def _status_of_stopped(
        self, container_id: ContainerID
    ) -> RuntimeContainerStatus | None:
        """Return the exit status of a container that has just been stopped.

        The stop succeeded even if the status cannot be read; then the next relist
        reports the exit.
        """
        try:
            return await self._runtime.container_status(container_id)
        except ContainerRuntimeError as error:
            log.warning("status of %s after its stop: %s", container_id, error)
            return None


def _name(effect: Effect) -> str:
    """Return an effect's name for the log: its kind and number or object."""
    match effect:
        case RunProbe(probe_id=probe_id, key=key):
            return f"probe {probe_id} of {'/'.join(key)}"
        case RunOperation(operation_id=operation_id, operation=operation):
            return f"operation {operation_id}, {type(operation).__name__}"
        case Relist():
            return "a relist"
        case GetRuntimeStatus():
            return "the runtime's status"
        case ListImages():
            return "the list of images"
        case FindListeners(container_id=container_id):
            return f"the search for listeners of {container_id}"
        case ReadLastOutput(container_id=container_id):
            return f"the last output of {container_id}"


def _failed(effect: Effect, error: str, clock: Clock) -> Fact:
    """Return the fact that reports the failure of an effect."""
    match effect:
        case RunProbe(probe_id=probe_id):
            attempt = Attempt(ProbeResult.UNKNOWN, error=error)
            return ProbeFinished(probe_id, ProbeOutcome((attempt,), clock.now()))
        case RunOperation(operation_id):
            return OperationFinished(operation_id, error=error)
        case Relist():
            return RelistFailed(error)
        case GetRuntimeStatus():
            return RuntimeStatusRead(error=error)
        case ListImages():
            return ImagesListed(error=error)
        case FindListeners(container_id):
            return ListenersFound(container_id, None, error)
        case ReadLastOutput(container_id):
            return LastOutputRead(container_id, None, problem=error)
