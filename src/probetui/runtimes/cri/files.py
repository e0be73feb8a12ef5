"""What a kubelet keeps beside the runtime on the machine: files, logs and volumes.

<folder>/volumes/<pod uid>/…                       what containers mount
/run/probetui/sub-paths/<hash of folder>/…         their subPaths, as mounts
<folder>/pods/<pod uid>/etc-hosts                  names of the pod
<folder>/pods/<pod uid>/containers/<name>/<hex>    last words, one file an instance
/var/log/pods/<namespace>_<name>_<pod uid>/…       what containers print
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod
from probetui.k8s.volume import MEMORY, EmptyDir, HostPath
from probetui.kubelet.effects import CreateContainer, MountVolume, UnmountVolume
from probetui.kubelet.labels import (
    POD_LOGS,
    sandbox_log_directory,
)
from probetui.kubelet.termination_message import MAX_FILE_BYTES
from probetui.ports import PodVolumes
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.bodies import hostname
from probetui.runtimes.cri.faults import system_refusals
from probetui.runtimes.cri.memory import mount_memory, unmount_memory
from probetui.runtimes.cri.mounts import (
    ETC_HOSTS,
    file_mount,
    mounts_hosts_itself,
    volume_mounts,
)
from probetui.runtimes.cri.names import (
    NameServers,
    hosts_file,
    parse_resolv_conf,
    pod_name_servers,
)
from probetui.runtimes.cri.rotation import set_aside
from probetui.runtimes.cri.translate import PodName, SeenContainer
from probetui.runtimes.cri.volume_ownership import give_to_group
from probetui.runtimes.sub_paths import SubPaths, sub_paths_folder, with_sub_paths
from probetui.runtimes.volume_folders import (
    UNKNOWN_NAME,
    UNKNOWN_NAMESPACE,
    VolumeFolders,
)
from probetui.untrusted_files import DirectoryRoot, child_path, make_own_directory

RESOLV_CONF = Path("/etc/resolv.conf")
FOLDER_MODE = 0o755
OWN_MODE = 0o700
HOSTS_MODE = 0o644
MESSAGE_MODE = 0o666


class PodFiles:
    """The files of pods; every method refuses with `ContainerRuntimeError`.

    Args:
        folder: where all but logs are; it is made when it is needed.
        engine_socket: where the runtime listens.
    """

    def __init__(self, folder: Path, engine_socket: Path) -> None:
        self._pods = DirectoryRoot(folder / "pods")
        self._volumes_folder = folder / "volumes"
        self._volumes = VolumeFolders(self._volumes_folder)
        self._sub_paths = SubPaths(sub_paths_folder(folder), engine_socket)

    # -- sandboxes and containers

    def name_servers(self, pod: Pod) -> NameServers:
        """Return how a pod resolves names."""
        return pod_name_servers(pod, parse_resolv_conf(_text(RESOLV_CONF)))

    def make_log_folder(self, pod: Pod) -> None:
        """Make the folder for all that a pod's containers print."""
        _make_log_folder(_log_folder(pod))

    def remove_empty_log_folder(self, pod: Pod) -> None:
        """Remove that folder again if nothing has come of it."""
        with contextlib.suppress(OSError):
            _logs().remove_directory(_log_folder(pod).name)

    def mounts(self, operation: CreateContainer, ip: str) -> list[cri.Mount]:
        """Make what a container needs, and return what it mounts.

        Source: kuberuntime/kuberuntime_container.go, v1.32.10, makeMounts.
        """
        pod, container = operation.pod, operation.container
        _make_log_folder(child_path(_log_folder(pod), container.name))
        with system_refusals():
            mounts = list(volume_mounts(pod, container, self._volumes, self._sub_paths))
            if not mounts_hosts_itself(container):
                mounts.append(file_mount(self._write_hosts(pod, ip), ETC_HOSTS))
            if path := container.termination_message_path:
                mounts.append(file_mount(self._make_message_file(operation), path))
        return mounts

    def last_words(self, container: SeenContainer) -> bytes | None:
        """Return the end of what a container left, None if it has no file."""
        if not container.message_file:
            return None
        file = Path(container.message_file)
        try:
            return DirectoryRoot(file.parent).read_end(file.name, MAX_FILE_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            # The kubelet's words, with Go's name of the error's place.
            return (
                f"Error on reading termination log {error.filename}: {error}".encode()
            )

    def forget_container(self, container: SeenContainer) -> None:
        """Remove the log and the last words of a container that is gone.

        Only what is where files of ours are is removed, whatever the runtime says.
        """
        log = Path(container.log_file)
        with system_refusals():
            for file, root in (
                (Path(container.message_file), self._pods),
                *((it, _logs()) for it in (log, *set_aside(log))),
            ):
                if file.is_relative_to(root.path) and ".." not in file.parts:
                    root.unlink(file.relative_to(root.path), missing_ok=True)

    def forget_pod(self, pod: PodName) -> None:
        """Remove all but the volumes of a pod that has no sandbox any more."""
        if not pod.uid:
            return
        logs = _log_folder(Pod(pod.uid, pod.name, pod.namespace))
        with system_refusals():
            self._pods.remove_tree(child_path(Path(), pod.uid))
            _logs().remove_tree(logs.name)

    def list_remains(self) -> tuple[PodName, ...]:
        """Return the pods of which there are files."""
        with system_refusals():
            uids = _names(self._pods)
            logs = _names(_logs())
        return tuple(_pod_of_logs(uid, logs) for uid in uids)

    def remove_empty_volumes(self, pod_uid: str) -> None:
        """Remove what says whose the volumes were that are gone."""
        with system_refusals():
            self._volumes.remove_empty(pod_uid)

    def _write_hosts(self, pod: Pod, ip: str) -> Path:
        text = hosts_file(pod, hostname(pod), ip, _text(Path(ETC_HOSTS)))
        file = child_path(Path(), pod.uid, "etc-hosts")
        self._make_folder(file.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        # It is written anew, not replaced: containers have mounted it.
        descriptor = self._pods.open_file(file, flags, HOSTS_MODE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as hosts:
            hosts.write(text)
        return self._pods.path / file

    def _make_message_file(self, operation: CreateContainer) -> Path:
        name, uid = operation.container.name, operation.pod.uid
        folder = child_path(Path(), uid, "containers", name)
        file = folder / secrets.token_hex(4)
        self._make_folder(folder)
        self._pods.create_file(file, b"", MESSAGE_MODE)
        return self._pods.path / file

    def _make_folder(self, relative: Path) -> None:
        make_own_directory(self._pods.path, OWN_MODE)
        self._pods.make_directories(relative, OWN_MODE)

    # -- volumes

    def mount_volume(self, operation: MountVolume) -> None:
        """Make a volume ready; one that is there keeps what is in it."""
        pod, volume = operation.pod, operation.volume
        group = pod.security_context.fs_group
        with system_refusals():
            self._volumes.mount(operation)
            match volume.source:
                case EmptyDir(medium, size_limit) if medium == MEMORY:
                    mount_memory(self._volumes.path(pod, volume), size_limit)
            if group is not None and not isinstance(volume.source, HostPath):
                give_to_group(
                    self._volumes.path(pod, volume),
                    group,
                    may_write=not operation.files,
                )

    def unmount_volume(self, operation: UnmountVolume) -> None:
        """Remove a volume with what is in it; a path of the host stays as it is."""
        folder = child_path(
            self._volumes_folder, operation.pod_uid, operation.volume_name
        )
        with system_refusals():
            self._sub_paths.clean(operation.pod_uid, operation.volume_name)
            unmount_memory(folder)
            self._volumes.unmount(operation)

    def list_volumes(self) -> tuple[PodVolumes, ...]:
        """Return all volumes there are, by pod."""
        with system_refusals():
            return with_sub_paths(self._volumes.list(), self._sub_paths.list())


def _names(root: DirectoryRoot) -> list[str]:
    try:
        return root.names()
    except FileNotFoundError:
        return []


def _pod_of_logs(uid: str, logs: Iterable[str]) -> PodName:
    """Return whose files these are, by the name of the folder with the pod's logs."""
    for name in logs:
        # Names of Kubernetes objects hold no underscore.
        match name.split("_", 2):
            case [namespace, pod, found] if found == uid:
                return PodName(namespace, pod, uid)
            case _:
                continue
    return PodName(UNKNOWN_NAMESPACE, f"{UNKNOWN_NAME}{uid}", uid)


def _logs() -> DirectoryRoot:
    """Return the folder for the logs of all pods."""
    return DirectoryRoot(Path(POD_LOGS))


def _log_folder(pod: Pod) -> Path:
    """Return where a pod's logs are: in the folder for logs, and nowhere else."""
    name = sandbox_log_directory(pod).removeprefix(f"{POD_LOGS}/")
    return child_path(_logs().path, name)


def _make_log_folder(folder: Path) -> None:
    logs = _logs()
    try:
        make_own_directory(logs.path, FOLDER_MODE)
        logs.make_directories(folder.relative_to(logs.path), FOLDER_MODE)
    except OSError as error:
        raise ContainerRuntimeError(
            f"the folder for logs {folder} cannot be made: {error.strerror}; "
            "CRI runtimes write them there, which takes root"
        ) from error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
