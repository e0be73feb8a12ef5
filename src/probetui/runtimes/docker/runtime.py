"""Pods on Docker, behind `ports.Runtime`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import docker.utils

from probetui.errors import ContainerRuntimeError, ImageNotFoundError
from probetui.k8s.image import ImageFilesystem, StoredImage
from probetui.k8s.listeners import Listeners
from probetui.k8s.node import Node
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID, RuntimePodStatus, SandboxStatus
from probetui.kubelet.effects import (
    CreateContainer,
    Disruption,
    MountVolume,
    PulledImage,
    PullImage,
    RunPodSandbox,
    UnmountVolume,
)
from probetui.kubelet.labels import docker_container_name, docker_sandbox_name
from probetui.ports import (
    Clock,
    ExecResult,
    LogLine,
    PodKey,
    PodVolumes,
    Progress,
    StartedExec,
    UnownedPod,
)
from probetui.runtimes.daemon_clock import DaemonClock
from probetui.runtimes.disruption_notes import DisruptionNotes
from probetui.runtimes.docker.api import Api
from probetui.runtimes.docker.bodies import (
    container_request,
    sandbox_request,
    share_name,
)
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.containers import Containers
from probetui.runtimes.docker.disruptions import Disruptions, why_not
from probetui.runtimes.docker.execs import OwnExecs, execs_of_others
from probetui.runtimes.docker.execution import ExecErrors, Executor
from probetui.runtimes.docker.faults import (
    NOT_FOUND,
    RefusedError,
    refuse_undecodable,
)
from probetui.runtimes.docker.foreign import ForeignDocker
from probetui.runtimes.docker.helpers import Helpers
from probetui.runtimes.docker.image_store import DockerImageStore
from probetui.runtimes.docker.images import PAUSE_IMAGE, Images, SandboxImage
from probetui.runtimes.docker.instants import instant
from probetui.runtimes.docker.leases import DockerLease, Leases
from probetui.runtimes.docker.listeners import ContainerListeners
from probetui.runtimes.docker.listing import Listing
from probetui.runtimes.docker.messages import Messages
from probetui.runtimes.docker.mounts import sandbox_mounts
from probetui.runtimes.docker.ownership import DockerOwnership
from probetui.runtimes.docker.processes import HostProcesses
from probetui.runtimes.docker.reach import (
    Daemon,
    Reach,
    ReachMode,
    engine_of,
    publishing,
)
from probetui.runtimes.docker.streams import LogLines
from probetui.runtimes.docker.translate import (
    BRIDGE,
    LOCALHOST,
    RUNTIME_NAME,
    Seen,
    node_of,
    owned_by,
    pod_statuses,
    to_container_id,
    to_docker_id,
)
from probetui.runtimes.docker.unowned import Unowned
from probetui.runtimes.docker.volume_parts import VolumeParts
from probetui.runtimes.docker.volumes import Volumes
from probetui.runtimes.ownership_ledger import OwnershipLedger
from probetui.runtimes.sub_paths import SubPaths, sub_paths_folder

KNOWS_PARTS_FROM = "1.45"
"""The API version from which a part of a volume can be mounted (Docker 26)."""

SANDBOX_GRACE_SECONDS = 10
"""For how long a sandbox may end by itself, should it not heed its stop signal."""

HAPPENINGS = (
    "create",
    "destroy",
    "die",
    "oom",
    "pause",
    "restart",
    "start",
    "unpause",
)
"""The events that matter; those of execs, of which probes make many, do not."""


@dataclass(frozen=True, slots=True)
class DockerOptions:
    """How pods are run.

    Attributes:
        folder: where it is noted what is ours.
        owner: the value of our own label; what another owner made is not looked at.
        sandbox_image: what sandboxes are made of.
        mounts_sub_paths: whether subPaths are mounted by us where we can do that.
        exec_errors: whether a command that cannot be started is an error (`cri`) or
            a result (`docker`).
        reach: whether ports are published, or `auto`, where they must be.
    """

    folder: Path
    owner: str = "probetui"
    sandbox_image: str = PAUSE_IMAGE
    mounts_sub_paths: bool = True
    exec_errors: ExecErrors = "cri"
    reach: ReachMode = "auto"


class DockerRuntime:
    """`ports.Runtime` on Docker, with logs, events, volumes and addresses to dial.

    Made by `connection.connect`; an event loop must run. A daemon that goes away makes
    calls fail with `unreachable`; when it is back they work again.

    Args:
        api: the SDK's client for a daemon that answered; closed together with this.
        daemon: what is known of that daemon.
        clock: the session's.
        options: how pods are run.
    """

    def __init__(
        self, api: Api, daemon: Daemon, clock: Clock, options: DockerOptions
    ) -> None:
        self._options = options
        self._daemon = daemon
        self._client = Client(api)
        self._images = Images(self._client)
        self._sandbox_image = SandboxImage(self._images, self._options.sandbox_image)
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
        self._listing = Listing(
            self._client, options.owner, self._daemon_clock, self._ownership
        )
        self._being_made: set[tuple[str, int]] = set()
        owner = self._options.owner
        self._containers = Containers(
            self._client, self._listing, owner, self._ownership
        )
        self._disruptions = Disruptions(
            self._client,
            self._listing.forget,
            DisruptionNotes(options.folder / "disruptions", daemon.url),
        )
        knows_parts = docker.utils.version_gte(api.api_version, KNOWS_PARTS_FROM)
        self._messages = Messages(self._client, knows_parts=knows_parts)
        helpers = Helpers(self._client, self._sandbox_image, owner, self._ownership)
        self._parts = VolumeParts(
            self._client,
            helpers,
            self._ownership,
            self._disruptions,
            sub_paths=_sub_paths(daemon, self._options),
            knows_parts=knows_parts,
        )
        volume_ledger = OwnershipLedger(options.folder / "volumes")
        self._leases = Leases(self._client, owner, volume_ledger)
        self._volumes = Volumes(
            self._client,
            helpers,
            owner,
            volume_ledger,
            self._parts,
        )
        self._unowned = Unowned(self._listing, self._volumes, self._ownership)
        self._reach = Reach(publishing(daemon, self._options.reach))
        processes = HostProcesses() if daemon.is_on_this_kernel else None
        self._listeners = ContainerListeners(self._client, processes)
        self._own_execs = OwnExecs()
        self._executor = Executor(
            self._client,
            processes,
            self._options.exec_errors,
            self._own_execs,
            keeps_numbers=daemon.keeps_exec_numbers,
        )

    @property
    def name(self) -> str:
        """The runtime's word in container IDs."""
        return RUNTIME_NAME

    @property
    def pool_wait(self) -> timedelta:
        """How long calls, those of probes among them, wait for a thread."""
        return self._client.pool_wait

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return what people may want to know, as names and values."""
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

    def on_clock_offset(self, tell: Callable[[timedelta], None]) -> None:
        """Have somebody told when the daemon's clock is not the session's."""
        self._daemon_clock.on_offset(tell)

    async def _daemon_time(self) -> datetime | None:
        info = await self._client.call(lambda api: api.info())
        return instant(str(info.get("SystemTime") or ""))

    async def version(self) -> str:
        """Return name and version for people; raises when nobody answers."""
        found = await self._client.call(lambda api: api.version())
        return f"{engine_of(found)} {found['Version']} (API {found['ApiVersion']})"

    async def node(self) -> Node:
        """Return what pods may be told of the machine the daemon runs on."""
        info = await self._client.call(lambda api: api.info())
        try:
            network = await self._client.call(lambda api: api.inspect_network(BRIDGE))
        except RefusedError as error:
            if error.status != NOT_FOUND:
                raise
            network = None
        return node_of(info, network)

    async def relist(self) -> tuple[RuntimePodStatus, ...]:
        """Return every pod of ours, dead containers too, each list newest first."""
        everything = await self._messages.fill_in(
            map(self._disruptions.as_before, await self._listing.everything())
        )
        self._reach.learn(everything)
        # One that is still being made, and may fail, is no change to tell of: the
        # engine would try again at once instead of after its back-off.
        return pod_statuses(
            each for each in everything if not self._is_being_made(each)
        )

    def _is_being_made(self, seen: Seen) -> bool:
        sandbox = seen.sandbox
        return (
            sandbox is not None
            and not sandbox.is_ready
            and (seen.pod.uid, sandbox.attempt) in self._being_made
        )

    # -- sandboxes

    async def run_pod_sandbox(self, operation: RunPodSandbox) -> str:
        """Create and start a sandbox and return its ID.

        One that cannot be started is removed again.
        """
        making = (operation.pod.uid, operation.attempt)
        self._being_made.add(making)
        try:
            return await self._run_sandbox(operation)
        finally:
            self._being_made.discard(making)

    async def _run_sandbox(self, operation: RunPodSandbox) -> str:
        try:
            sandbox_id = await self._create_sandbox(operation)
        except ImageNotFoundError:
            # Somebody removed the image since it was chosen.
            self._sandbox_image.forget()
            sandbox_id = await self._create_sandbox(operation)
        try:
            await self._client.call(lambda api: api.start(sandbox_id))
        except ContainerRuntimeError:
            await self._containers.remove(sandbox_id)
            raise
        if (found := await self._listing.look(sandbox_id)) is not None:
            self._reach.add(found)
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
        found = await self._containers.look(sandbox_id)
        if found.sandbox is None:
            raise ContainerRuntimeError(f"{sandbox_id} is not a sandbox")
        self._reach.add(found)
        return found.sandbox

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        """Stop a sandbox; containers still running in it are killed."""
        for each in await self._containers.inside(sandbox_id, also_dead=False):
            await self._containers.stop(each, 0)
        await self._containers.stop(sandbox_id, SANDBOX_GRACE_SECONDS)

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        """Remove a sandbox, with containers that are left in it."""
        for each in await self._containers.inside(sandbox_id, also_dead=True):
            await self._containers.remove(each)
        found = await self._listing.look(sandbox_id)
        await self._containers.remove(sandbox_id)
        if found is not None:
            await self._volumes.remove_released(found.pod.uid)

    # -- images

    async def image_status(self, image: str) -> str | None:
        """Return the ID of an image, None if it is not here."""
        return await self._images.image_id(image)

    async def image_user(self, image: str) -> str:
        """Return the user as the image has it, empty where it says nothing."""
        return await self._images.user(image)

    async def pull_image(self, operation: PullImage, progress: Progress) -> PulledImage:
        """Pull an image and return its ID and size."""
        return await self._images.pull(operation.image, progress)

    async def image_store_id(self) -> str:
        """Return what tells this daemon's images from those of others."""
        return await self._store.image_store_id()

    async def list_images(self) -> tuple[StoredImage, ...]:
        """Return every image that is here, whoever brought it."""
        return await self._store.list_images()

    async def image_copy(self, image_id: str) -> str | None:
        """Return what changes when an image is removed and pulled again."""
        return await self._store.image_copy(image_id)

    async def remove_image(self, image_id: str) -> None:
        """Remove an image with all its names; refused while containers have it."""
        await self._store.remove_image(image_id)

    async def image_filesystem(self) -> ImageFilesystem:
        """Measure the disk that images are on."""
        return await self._store.image_filesystem()

    # -- containers

    async def create_container(self, operation: CreateContainer) -> ContainerID:
        """Create a container in a sandbox and return its ID."""
        pod, container = operation.pod, operation.container
        values = (each.value for each in container.env)
        refuse_undecodable((*container.command, *container.args, *values))
        name = docker_container_name(pod, container, operation.attempt)
        mounts, guarded = await self._volumes.mounts(operation)
        mounts += await self._messages.mount(operation)
        request = container_request(operation, self._options.owner, mounts)
        if not self._daemon.shares_names:
            share_name(request, operation.sandbox_id)
        docker_id = await self._containers.create(name, request)
        self._parts.guard(docker_id, pod, container, guarded)
        return to_container_id(docker_id)

    async def start_container(self, container_id: ContainerID) -> None:
        """Start a created container."""
        docker_id = to_docker_id(container_id)
        if self._daemon.starts_what_is_joined:
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

        Cancelling leaves the daemon to it: the container is killed all the same.
        """
        await self._containers.stop(to_docker_id(container_id), grace_period_seconds)

    async def remove_container(self, container_id: ContainerID) -> None:
        """Remove a container; one that runs is killed first."""
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

    async def close(self) -> None:
        """Let go of connections and threads; containers are left as they are.

        What was frozen or cut off here goes on.
        """
        try:
            await self._disruptions.undo()
        finally:
            await self._client.close()

    # -- what a runtime may have beyond the core

    async def mount_volume(self, operation: MountVolume) -> None:
        """Make a volume ready; one that is there keeps what is in it."""
        await self._volumes.mount(operation)

    async def unmount_volume(self, operation: UnmountVolume) -> None:
        """Remove a volume, or have that done once nothing of its pod is left."""
        await self._volumes.unmount(operation)

    async def list_volumes(self) -> tuple[PodVolumes, ...]:
        """Return all volumes there are, by pod."""
        return await self._volumes.list()

    async def lease(self) -> DockerLease:
        """Return a lease on pods, without any yet."""
        return await self._leases.new()

    async def lease_holders(
        self,
        keys: Collection[PodKey],
    ) -> Mapping[PodKey, str]:
        """Return who runs pods, for people."""
        holders = await self._leases.holders()
        return {key: holders[key] for key in keys if key in holders}

    async def unowned_pods(self) -> tuple[UnownedPod, ...]:
        """Return the pods that other probetuis seem to have made."""
        return await self._unowned.pods()

    async def take_over(self, pod: UnownedPod) -> None:
        """Have a pod be ours from now on, because somebody said so."""
        await self._unowned.take_over(pod)

    async def disrupt(self, container_id: ContainerID, disruption: Disruption) -> None:
        """Freeze or unfreeze a container, signal its main process, cut off its pod."""
        docker_id = to_docker_id(container_id)
        found = await self._containers.look_at_ours(docker_id)
        await self._disruptions.disrupt(
            docker_id, disruption, in_network_of=found.sandbox_id
        )

    async def undo_left_disruptions(self) -> list[str]:
        """Undo what a session left in force that was killed; return what was done."""
        return await self._disruptions.undo_left()

    def why_not(self, pod: Pod, disruption: Disruption) -> str:
        """Return why it cannot be done to a pod, empty where it may be tried."""
        return why_not(pod, disruption)

    async def listeners(self, container_id: ContainerID) -> Listeners:
        """Return where the network of a container's pod is listened."""
        return await self._listeners.of(to_docker_id(container_id))

    async def watch(self) -> AsyncIterator[None]:
        """Yield once per happening; raises when the connection breaks."""
        filters = {
            **owned_by(self._options.owner),
            "type": ["container"],
            "event": list(HAPPENINGS),
        }
        events = self._client.follow(
            lambda api: api.events(filters=filters, decode=True)
        )
        async with aclosing(events):
            async for event in events:
                self._listing.forget(event["Actor"]["ID"])
                yield
        raise ContainerRuntimeError("the event stream broke off", unreachable=True)

    async def watch_execs(self) -> AsyncIterator[StartedExec]:
        """Yield each command that others start in our containers."""
        filters = owned_by(self._options.owner)
        told = execs_of_others(self._client, self._own_execs, filters)
        async with aclosing(told):
            async for each in told:
                yield each

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        """Yield the last `tail` lines, then, if asked, what comes."""
        docker_id = to_docker_id(container_id)
        container = await self._containers.look(docker_id)
        lines = LogLines(has_terminal=container.has_terminal)
        in_our_time = self._daemon_clock.log_line
        pieces = self._client.follow(
            lambda api: api.open_logs(docker_id, tail=tail, follow=follow)
        )
        async with aclosing(pieces):
            async for piece in pieces:
                for line in lines.feed(piece):
                    yield in_our_time(line)
        for line in lines.rest():
            yield in_our_time(line)

    def foreign(self) -> ForeignDocker:
        """Return the containers that others made."""
        return ForeignDocker(
            self._client,
            self._executor,
            self._own_execs,
            self._listeners,
            self._disruptions,
            publishing(self._daemon, self._options.reach),
            self._daemon_clock,
            self._daemon.host or LOCALHOST,
        )

    def dial_address(self, pod_ip: str, port: int) -> tuple[str, int]:
        """Return where to connect instead of `pod_ip:port`."""
        return self._reach.dial_address(pod_ip, port)


def _sub_paths(daemon: Daemon, options: DockerOptions) -> SubPaths | None:
    """Return what mounts subPaths, None where this user cannot do it for the daemon."""
    if (
        not options.mounts_sub_paths
        or not daemon.is_on_this_kernel
        or daemon.is_rootless
        or os.geteuid() != 0
    ):
        return None
    return SubPaths(sub_paths_folder(options.folder), Path(daemon.socket))
