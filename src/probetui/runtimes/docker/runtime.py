"""`ports.Runtime` on Docker."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Mapping,
)
from contextlib import aclosing
from datetime import datetime, timedelta
from pathlib import Path

import docker.utils
from msgspec import Struct
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError, ImageNotFoundError
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
from probetui.kubelet.kuberuntime.labels import (
    docker_container_name,
    docker_sandbox_name,
)
from probetui.ports import (
    Clock,
    CommandStreams,
    ExecResult,
    PodKey,
    PodVolumes,
    Progress,
    Runtime,
    StartedExec,
    UnownedPod,
)
from probetui.runtimes.daemon_clock import DaemonClock
from probetui.runtimes.docker.api import DockerApi
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.containers import DockerContainers
from probetui.runtimes.docker.errors import (
    CONFLICT,
    NOT_FOUND,
    DockerStatusError,
    ignore_status,
    refuse_undecodable,
)
from probetui.runtimes.docker.execution import (
    DockerExecutor,
    ExecErrors,
    OwnExecs,
    execs_of_others,
)
from probetui.runtimes.docker.fault_injection import DockerFaultInjector, fault_refusal
from probetui.runtimes.docker.helper_containers import HelperContainers
from probetui.runtimes.docker.images import (
    PAUSE_IMAGE,
    DockerImages,
    DockerImageStore,
    SandboxImageSelector,
)
from probetui.runtimes.docker.leases import DockerLease, DockerLeases
from probetui.runtimes.docker.listing import DockerListing, UnownedDockerPods
from probetui.runtimes.docker.mounts import sandbox_mounts
from probetui.runtimes.docker.ownership import DockerOwnership
from probetui.runtimes.docker.port_publishing import (
    DockerDaemon,
    PublishedPorts,
    ReachMode,
    choose_publishing,
    engine_of,
)
from probetui.runtimes.docker.processes import DockerListeners, HostProcesses
from probetui.runtimes.docker.requests import (
    container_request,
    limit_log,
    sandbox_request,
    set_shared_hostname,
)
from probetui.runtimes.docker.streams import LogLineParser, StampedLine, ToldLines
from probetui.runtimes.docker.sub_paths import DockerSubPaths
from probetui.runtimes.docker.termination_messages import DockerTerminationMessages
from probetui.runtimes.docker.translate import (
    BRIDGE,
    RUNTIME_NAME,
    InspectedContainer,
    conditions_of,
    node_of,
    owner_filter,
    parse_docker_time,
    pod_statuses,
    to_container_id,
    to_docker_id,
)
from probetui.runtimes.docker.unmanaged import UnmanagedDockerContainers
from probetui.runtimes.docker.volumes import DockerVolumes
from probetui.runtimes.fault_notes import FaultNotes
from probetui.runtimes.kernel_mounts import may_mount
from probetui.runtimes.ownership_ledger import OwnershipLedger
from probetui.runtimes.sub_paths import SubPaths, sub_paths_folder
from probetui.runtimes.translation import LOCALHOST

SUBPATH_API_VERSION = "1.45"
"""The API version with sub-paths of volumes (Docker 26)."""

_READ_AGAIN = 5_000
"""How many of the last lines of a log are read once more at its end."""

SANDBOX_GRACE_SECONDS = 10
"""The grace period of sandboxes, should one ignore its stop signal."""

WATCHED_EVENTS = (
    "create",
    "destroy",
    "die",
    "oom",
    "pause",
    "restart",
    "start",
    "unpause",
)
"""The events that cause a relist; probes cause many of execs, which do not."""


class DockerOptions(Struct, frozen=True):
    """How pods are run.

    Attributes:
        folder: the state folder, with the ownership ledger.
        owner: the value of our owner label; containers of others are ignored.
        sandbox_image: the image of sandboxes.
        mounts_sub_paths: whether we mount subPaths where we can.
        exec_errors: whether a command that cannot be started is an error (`cri`) or
            a result (`docker`).
        limits_commands: whether a command is stopped at its time limit.
        reach: whether ports are published; `auto` publishes them if they must be.
    """

    folder: Path
    owner: str = "probetui"
    sandbox_image: str = PAUSE_IMAGE
    mounts_sub_paths: bool = True
    exec_errors: ExecErrors = "cri"
    limits_commands: bool = True
    reach: ReachMode = "auto"


class DockerRuntime(Runtime):
    """`ports.Runtime` on Docker, with logs, events, volumes and addresses to dial.

    Created by `connection.connect`; an event loop must run. While the daemon is down,
    calls fail with `unreachable`.

    Args:
        api: the SDK's client for a daemon that answered; closed together with this.
        daemon: that daemon.
        clock: the session's.
        options: how pods are run.
    """

    def __init__(
        self, api: DockerApi, daemon: DockerDaemon, clock: Clock, options: DockerOptions
    ) -> None:
        self._options = options
        self._daemon = daemon
        self._client = DockerClient(api)
        self._images = DockerImages(self._client)
        self._sandbox_image = SandboxImageSelector(
            self._images, self._options.sandbox_image
        )
        self._store = DockerImageStore(
            self._client,
            self._options.sandbox_image,
            is_on_this_kernel=daemon.is_on_this_kernel,
        )
        self._daemon_clock = DaemonClock(clock, self._daemon_time)
        self._ownership = DockerOwnership(
            self._client,
            OwnershipLedger(options.folder / "containers"),
            daemon.engine_id,
        )
        self._listing = DockerListing(
            self._client, options.owner, self._daemon_clock, self._ownership
        )
        self._being_created: set[tuple[str, int]] = set()
        owner = self._options.owner
        self._containers = DockerContainers(
            self._client, self._listing, owner, self._ownership
        )
        self._fault_injector = DockerFaultInjector(
            self._client,
            self._listing.forget,
            FaultNotes(options.folder / "disruptions", daemon.url),
        )
        supports_subpath = docker.utils.version_gte(
            api.api_version, SUBPATH_API_VERSION
        )
        self._messages = DockerTerminationMessages(
            self._client, supports_subpath=supports_subpath
        )
        helpers = HelperContainers(
            self._client, self._sandbox_image, owner, self._ownership
        )
        self._parts = DockerSubPaths(
            self._client,
            helpers,
            self._ownership,
            self._fault_injector,
            sub_paths=_sub_paths(daemon, self._options),
            supports_subpath=supports_subpath,
        )
        volume_ledger = OwnershipLedger(options.folder / "volumes")
        self._leases = DockerLeases(self._client, owner, volume_ledger)
        self._volumes = DockerVolumes(
            self._client,
            helpers,
            owner,
            volume_ledger,
            self._parts,
            self._ownership,
        )
        self._unowned = UnownedDockerPods(self._listing, self._volumes, self._ownership)
        self._reach = PublishedPorts(choose_publishing(daemon, self._options.reach))
        processes = HostProcesses() if daemon.is_on_this_kernel else None
        self._listeners = DockerListeners(self._client, processes)
        self._own_execs = OwnExecs()
        self._executor = DockerExecutor(
            self._client,
            processes,
            self._options.exec_errors,
            self._own_execs,
            limits_time=self._options.limits_commands,
            keeps_exec_pids=daemon.keeps_exec_pids,
        )

    @property
    def name(self) -> str:
        """The runtime's name in container IDs."""
        return RUNTIME_NAME

    @property
    def pool_wait(self) -> timedelta:
        """How long calls, including those of probes, wait for a thread."""
        return self._client.pool_wait

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return facts about the runtime for people, as names and values."""
        choice = self._sandbox_image.choice
        sandbox = (
            f"{choice.image} ({choice.reason})"
            if choice
            else self._options.sandbox_image
        )
        return (
            ("endpoint", self._daemon.url),
            ("operating system", self._daemon.operating_system),
            ("sandbox image", sandbox),
            ("network", str(self._reach)),
        )

    def on_clock_offset(self, report: Callable[[timedelta], None]) -> None:
        """Call back when the daemon's clock differs from the session's."""
        self._daemon_clock.on_offset(report)

    async def _daemon_time(self) -> datetime | None:
        info = await self._client.call(lambda api: api.info())
        return parse_docker_time(str(info.get("SystemTime") or ""))

    async def version(self) -> str:
        """Return name and version for people; raises if the daemon is down."""
        versions = await self._client.call(lambda api: api.version())
        api_version = f"(API {versions['ApiVersion']})"
        return f"{engine_of(versions)} {versions['Version']} {api_version}"

    async def conditions(self) -> tuple[RuntimeCondition, ...]:
        """Return the daemon's conditions; see `ports.Runtime.conditions`."""
        return conditions_of(await self._client.call(lambda api: api.info()))

    async def node(self) -> Node:
        """Return the node, which is the daemon's machine."""
        info = await self._client.call(lambda api: api.info())
        try:
            network = await self._client.call(lambda api: api.inspect_network(BRIDGE))
        except DockerStatusError as error:
            if error.status != NOT_FOUND:
                raise
            network = None
        return node_of(info, network)

    async def relist(self) -> tuple[RuntimePodStatus, ...]:
        """Return every pod of ours with all containers, newest first."""
        everything = await self._messages.fill_in(
            map(self._fault_injector.as_before, await self._listing.list_ours())
        )
        self._reach.update(everything)
        # A sandbox that is being created may still fail: if it were listed, the engine
        # would try again at once instead of after its back-off.
        return pod_statuses(
            seen for seen in everything if not self._is_being_created(seen)
        )

    def _is_being_created(self, seen: InspectedContainer) -> bool:
        sandbox = seen.sandbox
        return (
            sandbox is not None
            and not sandbox.is_ready
            and (seen.pod.uid, sandbox.attempt) in self._being_created
        )

    # -- sandboxes

    async def run_pod_sandbox(self, operation: RunPodSandbox) -> str:
        """Create and start a sandbox and return its ID.

        A sandbox that cannot be started is removed again.
        """
        creating = (operation.pod.uid, operation.attempt)
        self._being_created.add(creating)
        try:
            return await self._run_sandbox(operation)
        finally:
            self._being_created.discard(creating)

    async def _run_sandbox(self, operation: RunPodSandbox) -> str:
        try:
            sandbox_id = await self._create_sandbox(operation)
        except ImageNotFoundError:
            # The image was removed after it had been chosen.
            self._sandbox_image.forget()
            sandbox_id = await self._create_sandbox(operation)
        try:
            await self._client.call(lambda api: api.start(sandbox_id))
        except ContainerRuntimeError:
            await self._containers.remove(sandbox_id)
            raise
        if (sandbox := await self._listing.inspect(sandbox_id)) is not None:
            self._reach.add(sandbox)
        return sandbox_id

    async def _create_sandbox(self, operation: RunPodSandbox) -> str:
        pod, attempt = operation.pod, operation.attempt
        choice = await self._sandbox_image.choose()
        request = sandbox_request(
            pod,
            attempt,
            image=choice.image,
            command=choice.command,
            owner=self._options.owner,
            published=self._reach.needed_ports(pod),
            publish_on=self._reach.publish_on,
            mounts=sandbox_mounts(pod, self._options.owner),
        )
        return await self._containers.create(docker_sandbox_name(pod, attempt), request)

    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxStatus:
        """Return a sandbox's state and IP."""
        sandbox = await self._containers.inspect(sandbox_id)
        if sandbox.sandbox is None:
            raise ContainerRuntimeError(f"{sandbox_id} is not a sandbox")
        self._reach.add(sandbox)
        return sandbox.sandbox

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        """Stop a sandbox; containers still running in it are killed."""
        for docker_id in await self._containers.list_in(sandbox_id, also_dead=False):
            await self._containers.stop(docker_id, 0)
        await self._containers.stop(sandbox_id, SANDBOX_GRACE_SECONDS)

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        """Remove a sandbox and its containers."""
        for docker_id in await self._containers.list_in(sandbox_id, also_dead=True):
            await self._containers.remove(docker_id)
        sandbox = await self._listing.inspect(sandbox_id)
        await self._containers.remove(sandbox_id)
        if sandbox is not None:
            await self._volumes.remove_released(sandbox.pod.uid)

    # -- images

    async def image_status(self, image: str) -> str | None:
        """Return the ID of an image, None if it is not here."""
        return await self._images.image_id(image)

    async def image_user(self, image: str) -> str:
        """Return the user of an image, empty if it does not have one."""
        return await self._images.user(image)

    async def pull_image(self, operation: PullImage, progress: Progress) -> PulledImage:
        """Pull an image and return its ID and size."""
        return await self._images.pull(operation.image, progress, operation.credentials)

    async def image_store_id(self) -> str:
        """Return the ID of this daemon's images."""
        return await self._store.image_store_id()

    async def list_images(self) -> tuple[StoredImage, ...]:
        """Return every image, whoever pulled it."""
        return await self._store.list_images()

    async def image_copy(self, image_id: str) -> str | None:
        """Return what identifies this copy of an image."""
        return await self._store.image_copy(image_id)

    async def remove_image(self, image_id: str) -> None:
        """Remove an image with all its names; refused while containers use it."""
        await self._store.remove_image(image_id)

    async def image_filesystem(self) -> ImageFilesystem:
        """Return size and free space of the disk with the images."""
        return await self._store.image_filesystem()

    # -- containers

    async def create_container(self, operation: CreateContainer) -> ContainerID:
        """Create a container in a sandbox and return its ID."""
        pod, container = operation.pod, operation.container
        values = (var.value for var in container.env)
        refuse_undecodable((*container.command, *container.args, *values))
        name = docker_container_name(pod, container, operation.attempt)
        mounts, guarded = await self._volumes.mounts(operation)
        mounts += await self._messages.mount(operation)
        request = container_request(operation, self._options.owner, mounts)
        if not self._daemon.shares_hostnames:
            set_shared_hostname(request, operation.sandbox_id)
        if self._daemon.keeps_logs_without_limit:
            limit_log(request)
        docker_id = await self._containers.create(name, request)
        self._parts.guard(docker_id, pod, container, guarded)
        return to_container_id(docker_id)

    async def start_container(self, container_id: ContainerID) -> None:
        """Start a created container."""
        docker_id = to_docker_id(container_id)
        if self._daemon.starts_joined_containers:
            await self._containers.check_sandbox_runs(docker_id)
        try:
            async with self._parts.guarding(docker_id):
                asked_at = self._daemon_clock.now()
                await self._client.call(lambda api: api.start(docker_id))
                self._daemon_clock.started(container_id, asked_at)
        finally:
            self._listing.forget(docker_id)

    async def stop_container(
        self, container_id: ContainerID, grace_period_seconds: int
    ) -> None:
        """Send the stop signal, kill after the grace period, return when it ended.

        When this is cancelled the daemon goes on stopping the container.
        """
        await self._containers.stop(to_docker_id(container_id), grace_period_seconds)

    async def container_status(
        self, container_id: ContainerID
    ) -> RuntimeContainerStatus | None:
        """Inspect a container of ours; None if it is gone."""
        seen = await self._containers.find_ours(to_docker_id(container_id))
        return None if seen is None else (await self._messages.add_to(seen)).container

    async def remove_container(self, container_id: ContainerID) -> None:
        """Kill and remove a container."""
        docker_id = to_docker_id(container_id)
        await self._containers.remove(docker_id)
        self._parts.forget(docker_id)

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        """Run a command in a container; 0 seconds is no limit."""
        return await self._executor.run(
            to_docker_id(container_id), command, timeout_seconds
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
        """Run a command with input, or in a terminal."""
        return await self._executor.run_streams(
            to_docker_id(container_id), command, streams, has_stdin=has_stdin, tty=tty
        )

    async def attach_streams(
        self,
        container_id: ContainerID,
        streams: CommandStreams,
        *,
        has_stdin: bool,
        tty: bool,
    ) -> None:
        """Attach to a container's input and output."""
        await self._executor.attach_streams(
            to_docker_id(container_id), streams, has_stdin=has_stdin, tty=tty
        )

    async def close(self) -> None:
        """Close connections and threads; containers go on.

        Faults that were injected here are undone.
        """
        try:
            await self._fault_injector.undo()
        finally:
            await self._client.close()

    # -- optional ports

    async def mount_volume(self, operation: MountVolume) -> None:
        """Create a volume; an existing one keeps its content."""
        await self._volumes.mount(operation)

    async def unmount_volume(self, operation: UnmountVolume) -> None:
        """Remove a volume; if containers still have it, once they are removed."""
        await self._volumes.unmount(operation)

    async def list_volumes(self) -> tuple[PodVolumes, ...]:
        """Return all volumes by pod."""
        return await self._volumes.list()

    async def lease(self) -> DockerLease:
        """Return a lease without pods."""
        return await self._leases.new()

    async def lease_holders(self, keys: Collection[PodKey]) -> Mapping[PodKey, str]:
        """Return who runs pods, as text for people."""
        holders = await self._leases.holders()
        return {key: holders[key] for key in keys if key in holders}

    async def sandbox_labels(self) -> Mapping[str, Mapping[str, str]]:
        """Return the labels of pods by the ID of each sandbox."""
        return await self._listing.sandbox_labels()

    async def unowned_pods(self) -> tuple[UnownedPod, ...]:
        """Return the pods of other users' probetuis."""
        return await self._unowned.pods()

    async def kubelet_pods(self) -> tuple[str, ...]:
        """Return the running pods that a kubelet made."""
        return await self._listing.kubelet_pods()

    async def take_over(self, pod: UnownedPod) -> None:
        """Take over a pod that the user chose."""
        await self._unowned.take_over(pod)

    async def inject_fault(self, container_id: ContainerID, fault: Fault) -> None:
        """Freeze, unfreeze or signal a container, or cut off its pod."""
        docker_id = to_docker_id(container_id)
        container = await self._containers.inspect_ours(docker_id)
        await self._fault_injector.inject_fault(
            docker_id, fault, in_network_of=container.sandbox_id
        )

    async def undo_leftover_faults(self) -> list[str]:
        """Undo the faults that a killed session left; return what was done."""
        return await self._fault_injector.undo_leftovers()

    def fault_refusal(self, pod: Pod, fault: Fault) -> str:
        """Return why a pod cannot have a fault, empty where it may be tried."""
        return fault_refusal(pod, fault)

    async def listeners(self, container_id: ContainerID) -> Listeners:
        """Return the listeners in the network of a container's pod."""
        return await self._listeners.of(to_docker_id(container_id))

    async def watch(self) -> AsyncIterator[None]:
        """Yield once per event; raises when the connection breaks."""
        filters = {
            **owner_filter(self._options.owner),
            "type": ["container"],
            "event": list(WATCHED_EVENTS),
        }
        async with aclosing(self._client.events(filters)) as events:
            async for event in events:
                self._listing.forget(event["Actor"]["ID"])
                yield

    async def watch_execs(self) -> AsyncIterator[StartedExec]:
        """Yield each command that others start in our containers."""
        filters = owner_filter(self._options.owner)
        execs = execs_of_others(self._client, self._own_execs, filters)
        async with aclosing(execs):
            async for started_exec in execs:
                yield started_exec

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        """Yield the last `tail` lines and, with `follow`, new ones."""
        docker_id = to_docker_id(container_id)
        container = await self._containers.inspect(docker_id)
        to_session_time = self._daemon_clock.log_line
        parser = LogLineParser(has_terminal=container.has_terminal)
        told = ToldLines()
        lines = self._log_lines(parser, docker_id, tail=tail, follow=follow)
        async with aclosing(lines):
            async for stamped in lines:
                if told.add(stamped):
                    yield to_session_time(stamped.line)
        if follow and told:
            # A container may end while the daemon still reads a file that was rotated.
            # Before Docker 23 it may then leave the next one out, with what explains a
            # crash. (moby daemon/logger/loggerutils/follow.go, v20.10, waitRead)
            again = self._log_lines(
                LogLineParser(has_terminal=container.has_terminal),
                docker_id,
                tail=_READ_AGAIN,
            )
            with ignore_status(NOT_FOUND, CONFLICT):  # it is removed, or about to be
                async with aclosing(again):
                    for line in await _untold(again, told):
                        yield to_session_time(line)
        # What was told of a container that has ended is whole.
        if parser.problem and not (told and await self._has_ended(docker_id)):
            problem = parser.problem.decode(errors="replace").strip()
            raise ContainerRuntimeError(f"the daemon does not read on: {problem}")

    async def _has_ended(self, docker_id: str) -> bool:
        seen = await self._client.call_or_none(
            lambda api: api.inspect_container(docker_id)
        )
        return seen is None or not seen["State"]["Running"]

    async def _log_lines(
        self, parser: LogLineParser, docker_id: str, *, tail: int, follow: bool = False
    ) -> AsyncGenerator[StampedLine]:
        """Yield lines of a log by the daemon's clock."""
        pieces = self._client.follow(
            lambda api: api.open_logs(docker_id, tail=tail, follow=follow)
        )
        async with aclosing(pieces):
            async for piece in pieces:
                for line in parser.feed(piece):
                    yield line
        for line in parser.rest():
            yield line

    def unmanaged(self) -> UnmanagedDockerContainers:
        """Return the containers that probetui did not create."""
        return UnmanagedDockerContainers(
            self._client,
            self._executor,
            self._own_execs,
            self._listeners,
            self._fault_injector,
            choose_publishing(self._daemon, self._options.reach),
            self._daemon_clock,
            self._daemon.host or LOCALHOST,
        )

    async def network_namespace(self, container_id: ContainerID) -> Path:
        """Return the file of a container's network namespace."""
        return await self._listeners.network_namespace(to_docker_id(container_id))

    def dial_address(self, pod_ip: str, port: int) -> tuple[str, int]:
        """Return the address and port to connect to instead of `pod_ip:port`."""
        return self._reach.dial_address(pod_ip, port)


async def _untold(lines: AsyncIterator[StampedLine], told: ToldLines) -> list[LogLine]:
    """Return the lines after those that were told; lines may be lost before them."""
    untold: list[LogLine] = []
    goes_on = False
    async for stamped in lines:
        if told.add(stamped):
            untold.append(stamped.line)
        else:
            # Before it are lines that nobody wanted, or that the daemon left out.
            untold.clear()
            goes_on = True
    if untold and not goes_on:
        untold[0] = replace(untold[0], is_after_gap=True)
    return untold


def _sub_paths(daemon: DockerDaemon, options: DockerOptions) -> SubPaths | None:
    """Return what mounts subPaths, None if this user cannot mount for the daemon."""
    if (
        not options.mounts_sub_paths
        or not daemon.is_on_this_kernel
        or daemon.is_rootless
        or not may_mount()
    ):
        return None
    return SubPaths(sub_paths_folder(options.folder), Path(daemon.socket))
