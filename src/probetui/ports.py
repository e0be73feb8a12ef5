"""Ports: what the program needs of clocks, runtimes and probers.

A port that classes without anything in common implement is a protocol. What only some
runtimes can do is no port of its own: it is a call of `Runtime` with a default, which
returns what is true where there is nothing (no volumes are listed, a pod is dialled at
its own IP) or raises `UnsupportedError`. So a caller calls; nobody looks at the type.
Where something has to be decided before there is a call, `Runtime.supports` tells.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, NamedTuple, Protocol, TypeAlias

from msgspec import Meta, Struct, field

from probetui.errors import UnsupportedError
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import (
    UNKNOWN_NODE,
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
    RunHook,
    RunPodSandbox,
    RunProbe,
    UnmountVolume,
)
from probetui.kubelet.outcome import PeerBehavior, ProbeOutcome


class UnsupportedField(NamedTuple):
    """A field of a pod that a runtime does not carry out as Kubernetes does.

    `path` is the field as the API's JSON has it, `message` the consequence.
    """

    path: str
    message: str


class Clock(Protocol):
    """The source of the current time."""

    def now(self) -> datetime:
        """Return the instant, in UTC; it never goes backwards."""

    async def sleep_until(self, deadline: datetime) -> None:
        """Return at that instant or soon after; at once if it has passed."""


class LagSource(Protocol):
    """Measures how long this process was held up."""

    def lost(self, now: datetime) -> timedelta:
        """Return the total time up to now in which nothing ran; it only grows."""


class ExecResult(Struct, frozen=True):
    """What a command in a container did.

    `is_missing` says that it never ran, because its executable is not there; only of a
    runtime for which that is a result, and no error.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    is_missing: bool = False


Progress = Callable[[str], None]
"""Called with the progress of a long operation, in a few words; must not block."""


class Prober(Protocol):
    """Runs one `RunProbe`, retries included; never raises for what a container does."""

    async def probe(self, effect: RunProbe) -> ProbeOutcome:
        """Return its outcome."""


LARGEST_SIZE = 2**16 - 1
"""Of a terminal, in each direction: an unsigned short of the kernel."""


class TerminalSize(Struct, frozen=True, rename="pascal"):
    """A terminal's size in characters."""

    width: Annotated[int, Meta(ge=0, le=LARGEST_SIZE)]
    height: Annotated[int, Meta(ge=0, le=LARGEST_SIZE)]


class CommandStreams(Protocol):
    """The streams of a command, as somebody elsewhere has them."""

    @property
    def stdin(self) -> asyncio.StreamReader:
        """What is typed; at its end nothing more comes."""

    @property
    def sizes(self) -> asyncio.Queue[TerminalSize]:
        """Sizes of the terminal, as they change."""

    async def write(self, data: bytes, *, is_stderr: bool = False) -> None:
        """Take output."""


class LogSource(Protocol):
    """What containers print, as a runtime or a cluster keeps it."""

    def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        """Yield the last `tail` lines, then, if asked, what comes.

        It ends when the container does. Each line comes once and in order; one before
        which lines are lost says so. Raises `ContainerRuntimeError` for a container
        that is gone, and where the end of its log is lost. A byte that is not UTF-8 is
        a lone surrogate where the runtime kept it; Docker keeps U+FFFD.
        """


class PodVolumes(Struct, frozen=True):
    """The volumes that are there of one pod, by name."""

    pod_uid: str
    name: str
    namespace: str
    volumes: tuple[str, ...]


class UnownedPod(Struct, frozen=True):
    """A pod that another user made, or this user with another state folder.

    `made_by` is for people, empty if it is not known. `things` are the IDs to record
    when it is taken over.
    """

    status: RuntimePodStatus
    made_by: str = ""
    things: tuple[str, ...] = ()


PodKey = tuple[str, str]
"""A pod's namespace and name, or nothing and its uid: either is run only once."""


class PodLease(Protocol):
    """The pods that a session runs, visible to all users of the engine."""

    async def add(self, pods: Sequence[Pod]) -> None:
        """Take more pods, all of them or none.

        Raises:
            PodInUseError: another session runs one of them.
            ContainerRuntimeError: the engine could not be asked.
        """

    async def renew(self) -> Mapping[PodKey, str]:
        """Renew it; to be called every few seconds.

        Returns who took which pods meanwhile, because it was not renewed for too long.
        """

    async def release(self) -> None:
        """Release all pods."""


class StartedExec(Struct, frozen=True):
    """A command that somebody started in a container, its words with blanks between."""

    container_id: ContainerID
    command: str


class ForwardedConnection(Protocol):
    """A connection to a port of a pod that somebody else makes, as by a port-forward.

    That it was made is seen only when something comes. Sending and receiving raise
    `ForwardRefusedError` if the far end could not connect, and `ContainerRuntimeError`
    if the way there is broken.
    """

    @property
    def quiet_seconds(self) -> float:
        """After so long without a word the far end has probably connected."""

    async def send(self, data: bytes) -> None:
        """Send all of it."""

    async def receive(self) -> bytes:
        """Return received bytes; none at the end of the stream."""

    async def finish_sending(self) -> None:
        """Close the sending half of the connection."""

    def close(self) -> None:
        """Close the connection; it may be closed already."""


Forward: TypeAlias = Callable[[], Awaitable[ForwardedConnection]]
"""Asks for a connection; raises `ContainerRuntimeError` where that is not possible."""

Destination: TypeAlias = tuple[str, int] | Forward
"""Where to connect: an address and a port, or what connects."""


class DialAddress(Protocol):
    """Maps the IPs of pods, as some may not be reachable from here."""

    def dial_address(self, pod_ip: str, port: int) -> Destination:
        """Return where to connect instead of `pod_ip:port`."""


class UnmanagedContainer(Struct, frozen=True):
    """A container that somebody else made, with all that it can be found by.

    The first of `names` is the one to show. `is_named` says that a person chose them;
    those of a plain process are only what its program happens to be called. Its status
    stays as it is while `revision` does, but for changes that are reported; empty where
    nothing tells.
    """

    container_id: ContainerID
    names: tuple[str, ...]
    is_running: bool
    labels: Mapping[str, str] = field(default_factory=dict)
    image: str = ""
    created_at: datetime | None = None
    is_named: bool = True
    revision: str = ""


class UnmanagedStatus(Struct, frozen=True):
    """What a foreign container is like now, and the address its ports are at.

    The status has the name, the hash and the restart count of nobody's manifest: they
    are empty and 0, but for those of a cluster's pod. `ip` is empty where there is
    none. `earlier` is the instance before it, where another container was it.
    """

    status: RuntimeContainerStatus
    ip: str = ""
    earlier: RuntimeContainerStatus | None = None


class HookResult(Struct, frozen=True):
    """What a lifecycle hook printed or was answered, and why it failed if it did.

    `fallback_host` is set when a request that was meant for HTTPS got its answer
    without: the host and port. `peer` is what the server did, where the error does not
    say so.
    """

    output: str = ""
    error: str | None = None
    fallback_host: str = ""
    peer: PeerBehavior | None = None


class HookRunner(Protocol):
    """Runs lifecycle hooks; never raises for what a container does."""

    async def run(self, operation: RunHook) -> HookResult:
        """Run the hook to its end, without a limit of its own."""


class Containers(ABC):
    """Containers on a runtime, ours or those of others, and what happens in them.

    Nothing but `ContainerRuntimeError` (and, from `exec_sync`, `ExecTimeoutError`) is
    raised.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The runtime's word in container IDs: docker, containerd, process."""

    def supports(self, call: Callable[..., object]) -> bool:
        """Return whether an optional call is implemented, as `Runtime.conditions`."""
        return getattr(type(self), call.__name__) is not call

    @abstractmethod
    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        """Run a command in a container; 0 seconds is no limit.

        The command's bytes are its text with surrogateescape. All output is read; of
        each stream at least the first 10 KiB are kept, and not much more. When the
        call is cancelled, the command is killed like one that ran too long.

        Raises:
            ExecTimeoutError: it ran longer than the limit; says whether it was killed.
            ContainerRuntimeError: it could not be run at all, because the container
                does not run or the executable does not exist; if the latter is
                certain, `ExecutableMissingError`.
        """

    @abstractmethod
    def watch(self) -> AsyncIterator[None]:
        """Yield when something happened to a container; end or raise at the end.

        Changes at the same time may be one yield. The stream begins with the first
        `anext`, so a relist should follow.
        """

    @abstractmethod
    async def inject_fault(self, container_id: ContainerID, fault: Fault) -> None:
        """Freeze, kill or disconnect a running container; returns at once.

        An unsupported fault raises a `ContainerRuntimeError` that says why. Freezing a
        frozen container, or unfreezing a running one, is no error; the same holds for
        disconnecting and restoring. Closing the runtime undoes every fault that it
        injected.
        """

    @abstractmethod
    def fault_refusal(self, pod: Pod, fault: Fault) -> str:
        """Return why it cannot be done to a pod, empty where it may be tried.

        That is what is known without asking; `inject_fault` may refuse all the same.
        """

    # -- optional

    def dial_address(self, pod_ip: str, port: int) -> Destination:
        """Return where to connect instead of `pod_ip:port`."""
        return pod_ip, port

    async def listeners(self, container_id: ContainerID) -> Listeners:
        """Return where a running container listens for TCP connections.

        Nothing is run in the container, where it would be seen. Raises
        `ContainerRuntimeError`, with the reason, where it is not to be seen from here.
        """
        raise UnsupportedError(self.name, "does not report them")

    def watch_execs(self) -> AsyncIterator[StartedExec]:
        """Yield each command that others start in a container, except our own.

        Ends or raises when the stream is over. To be called only where the commands
        are shown: the runtime then reports each of our own probes too, which costs a
        tenth of a millisecond here and next to nothing there.
        """
        raise UnsupportedError(self.name, "does not report commands that others run")


class UnmanagedContainers(Containers):
    """The containers on a runtime that probetui did not make.

    Reading changes nothing. Stopping, starting and disrupting one is only for sessions
    that may act; faults are undone when the runtime is closed. Stopping what
    is gone, or does not run, is no error.
    """

    can_start: bool = False
    """Whether one that has ended can be started again."""

    @abstractmethod
    async def list(self) -> tuple[UnmanagedContainer, ...]:
        """Return all there are, dead or alive, sandboxes left out."""

    @abstractmethod
    async def inspect(self, container_id: ContainerID) -> UnmanagedStatus | None:
        """Return what a listed one is like now, None if it is gone."""

    @abstractmethod
    async def stop(self, container_id: ContainerID, grace_period_seconds: int) -> None:
        """Send the stop signal, kill after the grace period, return when it ended."""

    # -- optional

    async def start(self, container_id: ContainerID) -> None:
        """Start one that has ended once more, as it is."""
        raise UnsupportedError(self.name, f"cannot start {container_id} again")


class UnmanagedSource(ABC):
    """What has containers of others: a runtime, or a cluster's pod."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The runtime's word in container IDs."""

    @abstractmethod
    async def version(self) -> str:
        """Return name and version for people; raises when nobody answers."""

    @abstractmethod
    def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        """Yield a container's log, as `LogSource.follow_logs` does."""

    @abstractmethod
    async def close(self) -> None:
        """Close connections and end tasks; containers are left as they are."""

    # -- optional

    def unmanaged(self) -> UnmanagedContainers:
        """Return them; they can be used until the runtime is closed."""
        raise UnsupportedError(self.name, "has no containers to attach to")

    async def node(self) -> Node:
        """Return the facts about the machine that pods may refer to."""
        return UNKNOWN_NODE

    @property
    def remarks(self) -> tuple[str, ...]:
        """What one must know to judge the results of probes, in sentences."""
        return ()


class Runtime(Containers, UnmanagedSource):
    """A container runtime: the part of the CRI that probes need, and what is beside it.

    Every call may be cancelled. Calls that remove or stop are idempotent: what is
    already gone is not an error; any other call about what is gone is refused.
    Only what this user's probetui recorded as its own is ever listed, stopped
    or removed, earlier sessions included. A label is no proof: images
    pass them on. IDs of containers are `<name>://<id>`.
    """

    @abstractmethod
    async def relist(self) -> tuple[RuntimePodStatus, ...]:
        """Return every pod of ours, dead containers too, each list newest first.

        The exit code after a deadly signal is 128 and its number. The reason of an
        exited container is Completed (exit code 0), Error or OOMKilled, unless the
        runtime has a better one.
        """

    @abstractmethod
    async def run_pod_sandbox(self, operation: RunPodSandbox) -> str:
        """Create and start a sandbox and return its ID."""

    @abstractmethod
    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxStatus:
        """Return a sandbox's state and IP; in the host's network it has no IP."""

    @abstractmethod
    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        """Stop a sandbox; containers still running in it are killed."""

    @abstractmethod
    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        """Remove a sandbox, with containers that are left in it."""

    @abstractmethod
    async def image_status(self, image: str) -> str | None:
        """Return the ID of an image, None if it is not here."""

    @abstractmethod
    async def pull_image(self, operation: PullImage, progress: Progress) -> PulledImage:
        """Pull an image and return its ID and size."""

    @abstractmethod
    async def create_container(self, operation: CreateContainer) -> ContainerID:
        """Create a container in a sandbox and return its ID.

        The container's command and arguments are run as they are: what they had of
        `$(NAME)` has been expanded. Raises `ImageNotFoundError` without its image.
        """

    @abstractmethod
    async def start_container(self, container_id: ContainerID) -> None:
        """Start a created container; refused when its program does not exist."""

    @abstractmethod
    async def stop_container(
        self, container_id: ContainerID, grace_period_seconds: int
    ) -> None:
        """Send the stop signal, kill after the grace period, return when it ended.

        Without a grace period it is killed at once. What was never started stays as
        it is. Of several calls, the one whose time is up first kills.
        """

    @abstractmethod
    async def container_status(
        self, container_id: ContainerID
    ) -> RuntimeContainerStatus | None:
        """Return a container as a relist begun now would have it, None if gone."""

    @abstractmethod
    async def remove_container(self, container_id: ContainerID) -> None:
        """Remove a container; one that runs is killed first."""

    # -- optional: the runtime itself

    async def conditions(self) -> tuple[RuntimeCondition, ...]:
        """Return at least `RuntimeReady` and `NetworkReady`."""
        raise UnsupportedError(self.name, "has no conditions")

    def on_clock_offset(self, report: Callable[[timedelta], None]) -> None:
        """Call `report` with the offset of the runtime's clock, if a second or more.

        A runtime without a clock of its own never does. All that a runtime returns is
        by the session's clock already, as far as the offset is known.
        """

    async def network_namespace(self, container_id: ContainerID) -> Path:
        """Return the file of the network namespace of a running container.

        Raises `ContainerRuntimeError` where it is not on this machine, or unknown.
        """
        raise UnsupportedError(self.name, "has no network of its own for a pod")

    # -- optional: streams

    async def exec_streams(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        streams: CommandStreams,
        *,
        has_stdin: bool,
        tty: bool,
    ) -> int:
        """Run a command with input or in a terminal, and return its exit code.

        Output is given as it comes. When the call is cancelled, the command is killed,
        but by CRI runtimes, where it runs on without its streams. Raises
        `ContainerRuntimeError` where it cannot be run.
        """
        raise UnsupportedError(self.name, "runs no commands with input and output")

    async def attach_streams(
        self,
        container_id: ContainerID,
        streams: CommandStreams,
        *,
        has_stdin: bool,
        tty: bool,
    ) -> None:
        """Give input and output of a container's own process until it ends.

        Output is given as it comes, from now on. `tty` has to be the container's. When
        the call is cancelled the container runs on. Raises `ContainerRuntimeError`
        where there are no streams.
        """
        raise UnsupportedError(self.name, "does not attach to containers")

    # -- optional: volumes and files
    #
    # Calls may be repeated, and those that remove may be about what is gone. Nothing
    # is touched that was not made here: what an earlier probetui made is among it.

    async def mount_volume(self, operation: MountVolume) -> None:
        """Make a volume ready; one that is there keeps what is in it.

        The files of a volume that is made of files are replaced as a whole.
        """
        raise UnsupportedError(self.name, "has no volumes")

    async def unmount_volume(self, operation: UnmountVolume) -> None:
        """Remove a volume with what is in it; a path of the host stays as it is.

        While containers of the pod are left, though ended, that may be put off until
        they are removed.
        """
        raise UnsupportedError(self.name, "has no volumes")

    async def list_volumes(self) -> tuple[PodVolumes, ...]:
        """Return all volumes there are, by pod."""
        return ()

    async def list_leftover_files(self) -> tuple[RuntimePodStatus, ...]:
        """Return the pods of ours that have files beside sandboxes and volumes.

        A removal that was interrupted may leave nothing but these.
        """
        return ()

    async def remove_leftover_files(self, pod: RuntimePodStatus) -> None:
        """Remove the files of a pod that has neither a sandbox nor volumes."""

    # -- optional: others that use the same engine

    async def sandbox_labels(self) -> Mapping[str, Mapping[str, str]]:
        """Return the labels of pods by the ID of each sandbox, whoever made it.

        Sandboxes of which they are not known are left out.
        """
        return {}

    async def unowned_pods(self) -> tuple[UnownedPod, ...]:
        """Return the pods that other probetuis seem to have made."""
        return ()

    async def take_over(self, pod: UnownedPod) -> None:
        """Make a pod ours from now on, because the user asked for it."""
        raise UnsupportedError(self.name, "has no pods of other probetuis")

    async def kubelet_pods(self) -> tuple[str, ...]:
        """Return the namespaces and names of the running pods of a kubelet, sorted."""
        return ()

    async def lease(self) -> PodLease:
        """Return a lease without pods, which every user of the engine sees."""
        raise UnsupportedError(self.name, "has no leases")

    async def lease_holders(self, keys: Collection[PodKey]) -> Mapping[PodKey, str]:
        """Return who runs pods, for people; those that nobody runs are left out."""
        return {}

    async def undo_leftover_faults(self) -> list[str]:
        """Undo the faults that a session left in force that was killed.

        Returns what was done, in sentences for people.
        """
        return []

    # -- optional: images
    #
    # They carry no label of ours: who removes one has to know that probetui pulled it.

    async def image_user(self, image: str) -> str | None:
        """Return the user as the image has it, empty where it says nothing.

        None where images are not known to the runtime at all.
        """
        return None

    async def image_store_id(self) -> str:
        """Return what identifies this store, empty if nothing does."""
        raise UnsupportedError(self.name, "has no images")

    async def list_images(self) -> tuple[StoredImage, ...]:
        """Return every image that is here, whoever brought it."""
        raise UnsupportedError(self.name, "has no images")

    async def image_copy(self, image_id: str) -> str | None:
        """Return what changes when an image is removed and pulled again.

        None for an image that is not here.
        """
        raise UnsupportedError(self.name, "has no images")

    async def remove_image(self, image_id: str) -> None:
        """Remove an image with all its names; refused while containers have it."""
        raise UnsupportedError(self.name, "has no images")

    async def image_filesystem(self) -> ImageFilesystem:
        """Measure the disk that images are on; refused where it cannot be seen."""
        raise UnsupportedError(self.name, "has no images")
