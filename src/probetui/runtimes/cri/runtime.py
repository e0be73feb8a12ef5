"""Pods on a CRI runtime, behind `ports.Runtime`."""

from __future__ import annotations

import asyncio
import os
import platform
import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from probetui.errors import ContainerRuntimeError, ImageNotFoundError, wrap_os_errors
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import (
    ContainerID,
    ImageFilesystem,
    Listeners,
    LogLine,
    Node,
    RuntimeCondition,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
    StoredImage,
)
from probetui.kubelet.effects import (
    CreateContainer,
    Fault,
    MountVolume,
    PulledImage,
    PullImage,
    RunPodSandbox,
    UnmountVolume,
)
from probetui.ports import (
    Clock,
    CommandStreams,
    ExecResult,
    PodKey,
    PodVolumes,
    Progress,
    Runtime,
    UnownedPod,
)
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import logs
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import REQUEST_LIMIT, CriClient
from probetui.runtimes.cri.configs import NO_LABELS, container_config, sandbox_config
from probetui.runtimes.cri.container_calls import (
    container_listeners,
    exec_sync,
    main_process,
    stop_container,
    watch_events,
)
from probetui.runtimes.cri.errors import CriStatusError, wrap_encoding_errors
from probetui.runtimes.cri.fault_injection import CriFaultInjector, fault_refusal
from probetui.runtimes.cri.files import PodFiles
from probetui.runtimes.cri.images import CriImages
from probetui.runtimes.cri.listing import CriListing, unowned_pods
from probetui.runtimes.cri.log_rotation import LogRotation
from probetui.runtimes.cri.ownership import CriOwnership
from probetui.runtimes.cri.translate import (
    container_name,
    is_of_owner,
    pod_statuses,
    sandbox_name,
    to_container_id,
    to_cri_id,
)
from probetui.runtimes.cri.unmanaged import UnmanagedCriContainers
from probetui.runtimes.daemon_clock import DaemonClock
from probetui.runtimes.fault_notes import FaultNotes
from probetui.runtimes.machine_lease import MachineLease, machine_lease_holders
from probetui.runtimes.network_namespace import network_file
from probetui.runtimes.ownership_ledger import OwnershipLedger
from probetui.runtimes.translation import (
    LOCALHOST,
    PodName,
    build_node,
    host_memory_bytes,
)

SANDBOX_LIMIT = 2 * REQUEST_LIMIT
"""How long making a sandbox may take; its image may have to come first."""


_TEST_NET = ("192.0.2.1", 9)
"""An address that belongs to nobody (RFC 5737); nothing is sent there."""


class CriOptions(Struct, frozen=True):
    """The options of a CRI runtime.

    Attributes:
        folder: the folder of pod files, volumes and the ownership ledger.
        owner: the value of the owner label; other owners' pods are not ours.
        exec_patience: how long to wait for a response after an exec's timeout; the
            kubelet's is the limit of every call.
    """

    folder: Path
    owner: str = "probetui"
    exec_patience: timedelta = REQUEST_LIMIT


class CriVersion(Struct, frozen=True):
    """The version of a runtime; `name` is the prefix of its container IDs."""

    name: str
    version: str
    api_version: str = "v1"


class CriRuntime(Runtime):
    """`ports.Runtime` on the CRI, with logs, events, volumes and images.

    Created by `connection.connect`; an event loop must run. While the runtime is down,
    calls fail with `unreachable`.

    Args:
        client: the connection to a runtime that answered; closed together with this.
        engine: its name and version.
        clock: the session's.
        options: the options.
    """

    def __init__(
        self, client: CriClient, engine: CriVersion, clock: Clock, options: CriOptions
    ) -> None:
        self._client = client
        self._engine = engine
        self._options = options
        self._files = PodFiles(options.folder, Path(client.socket))
        self._engine_key = os.path.realpath(client.socket)
        self._ownership = CriOwnership(
            client,
            OwnershipLedger(options.folder / "owned"),
            self._engine_key,
        )
        # The CRI does not report the time, only when containers were started.
        self._daemon_clock = DaemonClock(clock)
        self._listing = CriListing(
            client,
            engine.name,
            options.owner,
            self._files,
            self._daemon_clock,
            self._ownership,
        )
        self._images = CriImages(client)
        self._rotation = LogRotation(client)
        self._fault_injector = CriFaultInjector(
            client,
            FaultNotes(options.folder / "disruptions", self._engine_key),
        )

    @property
    def name(self) -> str:
        """The prefix of container IDs: containerd, cri-o."""
        return self._engine.name

    def on_clock_offset(self, report: Callable[[timedelta], None]) -> None:
        """Call `report` with the offset when its clock differs from the session's."""
        self._daemon_clock.on_offset(report)

    async def version(self) -> str:
        """Return name and version as text; raises if the runtime does not answer."""
        version = await self._client.call(calls.VERSION, cri.VersionRequest())
        return (
            f"{version.runtime_name} {version.runtime_version} "
            f"(CRI {version.runtime_api_version})"
        )

    async def conditions(self) -> tuple[RuntimeCondition, ...]:
        """Return the runtime's conditions; see `ports.Runtime.conditions`."""
        answer = await self._client.call(calls.STATUS, cri.StatusRequest())
        return tuple(
            RuntimeCondition(
                condition.type, condition.status, condition.reason, condition.message
            )
            for condition in answer.status.conditions
        )

    async def node(self) -> Node:
        """Return this machine as a node, for the downward API."""
        return build_node(
            platform.node(),
            host_address(),
            os.cpu_count(),
            host_memory_bytes(),
        )

    async def relist(self) -> tuple[RuntimePodStatus, ...]:
        """Return all our pods, exited containers included, newest first."""
        sandboxes, containers = await self._listing.list_ours()
        await self._rotation.rotate_long_logs(containers)
        return pod_statuses(sandboxes, containers)

    # -- sandboxes

    async def run_pod_sandbox(self, operation: RunPodSandbox) -> str:
        """Create and start a sandbox and return its ID."""
        pod, attempt = operation.pod, operation.attempt

        async def make(proof: Mapping[str, str]) -> str:
            config = self._sandbox_config(pod, attempt, proof)
            request = cri.RunPodSandboxRequest(config=config)
            answer = await self._client.call(
                calls.RUN_POD_SANDBOX, request, limit=SANDBOX_LIMIT
            )
            return answer.pod_sandbox_id

        self._files.make_log_folder(pod)
        try:
            return await self._ownership.create(sandbox_name(pod.uid, attempt), make)
        except ContainerRuntimeError as error:
            self._files.remove_empty_log_folder(pod)
            if isinstance(error, CriStatusError):
                raise error.with_code() from error
            raise

    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxStatus:
        """Return a sandbox's state and IP."""
        sandbox = await self._listing.sandbox(sandbox_id)
        if sandbox is None:
            raise ContainerRuntimeError(f"no such sandbox: {sandbox_id}")
        return sandbox.status

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        """Stop a sandbox; running containers in it are killed."""
        if await self._listing.our_sandbox(sandbox_id) is None:
            return
        request = cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id)
        await self._client.call_unless_gone(calls.STOP_POD_SANDBOX, request)

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        """Remove a sandbox with its remaining containers."""
        sandbox = await self._listing.our_sandbox(sandbox_id)
        if sandbox is None:
            return
        inside = await self._listing.container_ids_in(sandbox_id)
        request = cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id)
        try:
            await self._client.call(calls.REMOVE_POD_SANDBOX, request)
        except CriStatusError:
            if not await self._listing.wait_until_gone(
                self._listing.sandbox, sandbox_id
            ):
                raise
        for gone in (sandbox_id, *inside):
            self._listing.forget(gone)
            self._ownership.forget(gone)
        if not await self._listing.has_sandboxes(sandbox.pod.uid):
            await asyncio.to_thread(self._files.remove_pod_files, sandbox.pod)

    def _sandbox_config(
        self, pod: Pod, attempt: int, proof: Mapping[str, str] = NO_LABELS
    ) -> cri.PodSandboxConfig:
        with wrap_encoding_errors():
            return sandbox_config(
                pod, attempt, self._options.owner, self._files.resolv_conf(pod), proof
            )

    # -- images

    async def image_status(self, image: str) -> str | None:
        """Return the ID of an image, None if it is not present."""
        return await self._images.image_id(image)

    async def image_user(self, image: str) -> str:
        """Return the user of the image's config, empty if it sets none."""
        return await self._images.user(image)

    async def pull_image(
        self,
        operation: PullImage,
        progress: Progress,  # noqa: ARG002  # a CRI runtime reports none
    ) -> PulledImage:
        """Pull an image and return its ID and size."""
        config = self._sandbox_config(operation.pod, 0)
        return await self._images.pull(
            operation.image, config, operation.rules, operation.credentials
        )

    async def image_store_id(self) -> str:
        """Return an empty ID: the CRI does not identify an image store.

        Nor does it report when an image was pulled, so an image that another client
        pulled again looks like ours. So no image counts as ours, and none is collected.
        """
        return ""

    async def list_images(self) -> tuple[StoredImage, ...]:
        """Return all images."""
        return await self._images.list()

    async def image_copy(self, image_id: str) -> str | None:
        """Return the ID of an image, the only difference between copies."""
        return await self._images.image_id(image_id)

    async def remove_image(self, image_id: str) -> None:
        """Remove an image with all its names; refused while containers use it."""
        await self._images.remove(image_id)

    async def image_filesystem(self) -> ImageFilesystem:
        """Return size and free bytes of the image file system."""
        return await self._images.filesystem()

    # -- containers

    async def create_container(self, operation: CreateContainer) -> ContainerID:
        """Create a container in a sandbox and return its ID."""
        sandbox = await self.pod_sandbox_status(operation.sandbox_id)
        # A subPath is bind-mounted, which connects to the runtime's socket.
        mounts = await asyncio.to_thread(
            self._files.mounts, operation, sandbox.ip or ""
        )
        own = operation.container

        async def make(proof: Mapping[str, str]) -> str:
            with wrap_encoding_errors():
                config = container_config(operation, self._options.owner, mounts, proof)
            request = cri.CreateContainerRequest(
                pod_sandbox_id=operation.sandbox_id,
                config=config,
                sandbox_config=self._sandbox_config(operation.pod, sandbox.attempt),
            )
            answer = await self._client.call(calls.CREATE_CONTAINER, request)
            return answer.container_id

        name = container_name(operation.pod.uid, own.name, operation.attempt)
        try:
            cri_id = await self._ownership.create(name, make)
        except CriStatusError as error:
            image = operation.image_id or own.image
            if await self._images.image_id(image) is None:
                raise ImageNotFoundError(str(error)) from error
            raise
        return to_container_id(self.name, cri_id)

    async def start_container(self, container_id: ContainerID) -> None:
        """Start a created container."""
        request = cri.StartContainerRequest(container_id=to_cri_id(container_id))
        asked_at = self._daemon_clock.now()
        await self._client.call(calls.START_CONTAINER, request)
        self._daemon_clock.started(container_id, asked_at)

    async def stop_container(
        self, container_id: ContainerID, grace_period_seconds: int
    ) -> None:
        """Send the stop signal, kill after the grace period, return when it ended.

        Cancelling withdraws the kill: the runtime then only sends the signal.
        """
        cri_id = to_cri_id(container_id)
        if await self._listing.our_container(cri_id) is None:
            return
        await stop_container(self._client, cri_id, grace_period_seconds)

    async def container_status(
        self, container_id: ContainerID
    ) -> RuntimeContainerStatus | None:
        """Return the status of a container of ours, None if it is gone."""
        cri_id = to_cri_id(container_id)
        if await self._listing.our_container(cri_id) is None:
            return None
        container = await self._listing.container(cri_id)
        return None if container is None else container.status

    async def remove_container(self, container_id: ContainerID) -> None:
        """Remove a container; kill it first if it runs."""
        cri_id = to_cri_id(container_id)
        container = await self._listing.our_container(cri_id)
        if container is None:
            return
        try:
            await self._client.call(
                calls.REMOVE_CONTAINER, cri.RemoveContainerRequest(container_id=cri_id)
            )
        except CriStatusError:
            if not await self._listing.wait_until_gone(self._listing.container, cri_id):
                raise
        self._listing.forget(cri_id)
        self._ownership.forget(cri_id)
        await asyncio.to_thread(self._files.remove_container_files, container)

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        """Run a command in a container; 0 seconds is no limit."""
        return await exec_sync(
            self._client,
            to_cri_id(container_id),
            command,
            timeout_seconds,
            self._options.exec_patience,
        )

    async def exec_streams(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        streams: CommandStreams,
        *,
        has_stdin: bool,
        tty: bool,
    ) -> int:
        """Run a command with streams; see `ports.Runtime.exec_streams`.

        Quirk, kept: a command whose client disconnects keeps running, as under a
        kubelet; its input ends.
        """
        with wrap_encoding_errors():
            request = cri.ExecRequest(
                container_id=to_cri_id(container_id),
                cmd=command,
                **_wanted(has_stdin, tty),
            )
        answer = await self._client.call(calls.EXEC, request)
        return await _run_streams(answer.url, streams, has_stdin=has_stdin, tty=tty)

    async def attach_streams(
        self,
        container_id: ContainerID,
        streams: CommandStreams,
        *,
        has_stdin: bool,
        tty: bool,
    ) -> None:
        """Attach to a container; see `ports.Runtime.attach_streams`."""
        request = cri.AttachRequest(
            container_id=to_cri_id(container_id), **_wanted(has_stdin, tty)
        )
        answer = await self._client.call(calls.ATTACH, request)
        await _run_streams(answer.url, streams, has_stdin=has_stdin, tty=tty)

    async def close(self) -> None:
        """Close the connection; containers are left as they are.

        Faults that were injected here are undone.
        """
        try:
            await self._fault_injector.undo()
        finally:
            await self._client.close()

    # -- optional ports

    async def mount_volume(self, operation: MountVolume) -> None:
        """Create a volume: a folder on this machine."""
        await asyncio.to_thread(self._files.mount_volume, operation)

    async def unmount_volume(self, operation: UnmountVolume) -> None:
        """Remove a volume with its content; a path of the host is not touched."""
        await asyncio.to_thread(self._files.unmount_volume, operation)

    async def list_volumes(self) -> tuple[PodVolumes, ...]:
        """Return all volumes by pod."""
        return self._files.list_volumes()

    async def lease(self) -> MachineLease:
        """Return a lease without pods."""
        return MachineLease(self._engine_key)

    async def lease_holders(self, keys: Collection[PodKey]) -> Mapping[PodKey, str]:
        """Return who runs pods, as text for people."""
        return machine_lease_holders(self._engine_key, keys)

    async def sandbox_labels(self) -> Mapping[str, Mapping[str, str]]:
        """Return the labels of pods by the ID of each sandbox."""
        return await self._listing.sandbox_labels()

    async def unowned_pods(self) -> tuple[UnownedPod, ...]:
        """Return the pods of other probetuis."""
        return unowned_pods(*await self._listing.list_unowned())

    async def kubelet_pods(self) -> tuple[str, ...]:
        """Return the ready pods of a kubelet."""
        return await self._listing.kubelet_pods()

    async def take_over(self, pod: UnownedPod) -> None:
        """Take over a pod that the user chose.

        Its volumes and files stay in the folder of its probetui.
        """
        sandboxes, containers = await self._listing.list_unowned()
        for sandbox in sandboxes:
            if sandbox.status.sandbox_id in pod.things:
                self._ownership.take_over(sandbox.status.sandbox_id, sandbox.name)
        for container in containers:
            cri_id = to_cri_id(container.status.container_id)
            if cri_id in pod.things:
                self._ownership.take_over(cri_id, container.name)

    async def list_leftover_files(self) -> tuple[RuntimePodStatus, ...]:
        """Return our pods that have files."""
        return tuple(
            RuntimePodStatus(pod.uid, pod.name, pod.namespace)
            for pod in await asyncio.to_thread(self._files.list_leftover_files)
        )

    async def remove_leftover_files(self, pod: RuntimePodStatus) -> None:
        """Remove the files of a pod that has neither a sandbox nor volumes."""
        if not await self._listing.has_sandboxes(pod.pod_uid):
            name = PodName(pod.namespace, pod.name, pod.pod_uid)
            await asyncio.to_thread(self._files.remove_pod_files, name)
            await asyncio.to_thread(self._files.remove_empty_volumes, pod.pod_uid)

    async def inject_fault(self, container_id: ContainerID, fault: Fault) -> None:
        """Inject a fault, by the kernel of this machine."""
        cri_id = to_cri_id(container_id)
        if await self._listing.our_container(cri_id) is None:
            raise ContainerRuntimeError(f"no such container: {container_id}")
        await self._fault_injector.inject_fault(cri_id, fault)

    async def undo_leftover_faults(self) -> list[str]:
        """Undo the faults that a killed session left; return what was done."""
        return await self._fault_injector.undo_leftovers()

    def fault_refusal(self, pod: Pod, fault: Fault) -> str:
        """Return why a pod cannot have a fault, empty if it may be tried."""
        return fault_refusal(pod, fault)

    async def listeners(self, container_id: ContainerID) -> Listeners:
        """Return the listeners in the network of a container's pod."""
        return await container_listeners(self._client, to_cri_id(container_id))

    async def network_namespace(self, container_id: ContainerID) -> Path:
        """Return the file of a container's network namespace."""
        process_id = await main_process(self._client, to_cri_id(container_id))
        return network_file(process_id)

    async def watch(self) -> AsyncIterator[None]:
        """Yield once per event of our pods; raises when the stream breaks."""
        owner = self._options.owner
        events = watch_events(self._client, lambda event: is_of_owner(event, owner))
        async with aclosing(events):
            async for _ in events:
                yield

    def unmanaged(self) -> UnmanagedCriContainers:
        """Return the containers that probetui did not create."""
        return UnmanagedCriContainers(
            self._client,
            self._listing,
            self.name,
            self._options.exec_patience,
            self._fault_injector,
            self._daemon_clock,
        )

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        """Yield the last `tail` lines of a log, then new ones if `follow` is set."""
        cri_id = to_cri_id(container_id)
        container = await self._listing.container(cri_id)
        if container is None:
            raise ContainerRuntimeError(f"no such container: {container_id}")

        async def has_ended() -> bool:
            now = await self._listing.container(cri_id)
            return now is None or now.status.state is RuntimeState.EXITED

        lines = logs.follow_log(
            container.log_file, tail=tail, has_ended=has_ended if follow else None
        )
        with wrap_os_errors():
            async with aclosing(lines):
                async for line in lines:
                    yield self._daemon_clock.log_line(line)


async def _run_streams(
    url: str, streams: CommandStreams, *, has_stdin: bool, tty: bool
) -> int:
    # Few sessions need its HTTP client.
    from probetui.runtimes.cri.streaming import run_streams  # noqa: PLC0415

    return await run_streams(url, streams, has_stdin=has_stdin, tty=tty)


def _wanted(has_stdin: bool, tty: bool) -> Mapping[str, bool]:  # noqa: FBT001
    """Return the requested streams as fields of a request."""
    return {"tty": tty, "stdin": has_stdin, "stdout": True, "stderr": not tty}


def host_address() -> str:
    """Return the source IP of this machine's connections to other machines."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_TEST_NET)
        except OSError:
            return LOCALHOST
        return str(probe.getsockname()[0])
