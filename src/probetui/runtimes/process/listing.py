"""The processes of this machine: PID, parent, names, start and environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.kubelet.kuberuntime.labels import CONTAINER_NAME, POD_NAME, POD_NAMESPACE
from probetui.runtimes.process import records
from probetui.runtimes.process.translate import NAME
from probetui.runtimes.process_identity import (
    PROC,
    START_TIME,
    ZOMBIE_STATES,
    identify,
    is_alive,
)
from probetui.runtimes.translation import LOCALHOST
from probetui.untrusted_files import read_kernel_file


class ListedProcess(Struct, frozen=True):
    """A running process; the first of `names` is the one to show.

    Its names are that of its program in the command line, the kernel's, and that of
    the script that it runs. The main process of a container of a pod has the
    container's ID among its names, the labels of both and the pod's IP.
    """

    pid: int
    parent: int
    names: tuple[str, ...]
    started_at: datetime
    labels: Mapping[str, str] = field(default_factory=dict)
    ip: str = LOCALHOST


def list_processes() -> Iterator[ListedProcess]:
    """Yield the running processes without kernel threads."""
    if sys.platform == "linux":
        yield from _from_proc()
    else:
        yield from from_psutil()


def list_with_pods(pods_folder: Path) -> Iterator[ListedProcess]:
    """Yield the same, with the records of those that are containers of pods.

    Args:
        pods_folder: the folder of the process runtime.
    """
    containers = {}
    for path in pods_folder.glob("*/*/"):
        container = records.read_container(path / records.CONTAINER_FILE)
        if container is not None and container.process is not None:
            containers[container.process] = path, container
    pids = {process.pid: process for process in containers}
    for listed in list_processes():
        process = pids.get(listed.pid)
        if process is None or not is_alive(process):
            yield listed
            continue
        path, container = containers[process]
        sandbox = records.read_sandbox(path.parent / records.SANDBOX_FILE)
        yield listed if sandbox is None else _of_pod(listed, container, sandbox)


def _of_pod(
    listed: ListedProcess,
    container: records.ProcessContainerRecord,
    sandbox: records.ProcessSandboxRecord,
) -> ListedProcess:
    own_id = container.container_id
    return replace(
        listed,
        names=(*listed.names, own_id, f"{NAME}://{own_id}"),
        labels={
            **(sandbox.labels or {}),
            POD_NAMESPACE: sandbox.namespace,
            POD_NAME: sandbox.pod_name,
            CONTAINER_NAME: container.name,
        },
        ip=sandbox.ip or LOCALHOST,
    )


def _from_proc() -> Iterator[ListedProcess]:
    for name in os.listdir(PROC):  # noqa: PTH208  # hundreds of names, no paths
        if name.isdecimal() and (process := read_proc(PROC / name)):
            yield process


def read_proc(folder: Path) -> ListedProcess | None:
    """Read a process's folder in /proc; None for kernel threads and ended ones."""
    try:
        stat = read_kernel_file(folder / "stat")
        arguments = read_kernel_file(folder / "cmdline").rstrip(b"\0").split(b"\0")
    except OSError:
        return None
    begin, end = stat.index(b"(") + 1, stat.rindex(b")")
    fields = stat[end + 2 :].split()
    if fields[0].decode() in ZOMBIE_STATES or not arguments[0]:
        return None
    command = [word.decode("utf-8", "surrogateescape") for word in arguments]
    name = stat[begin:end].decode("utf-8", "surrogateescape")
    ticks = int(fields[START_TIME])
    since_boot = timedelta(seconds=ticks / os.sysconf("SC_CLK_TCK"))
    return ListedProcess(
        int(folder.name), int(fields[1]), _names(command, name), _booted() + since_boot
    )


@lru_cache(maxsize=1)
def _booted() -> datetime:
    """Return when this machine booted: start times are counted from then."""
    for line in read_kernel_file(PROC / "stat").decode("ascii").splitlines():
        name, _, value = line.partition(" ")
        if name == "btime":
            return datetime.fromtimestamp(int(value), UTC)
    return datetime.fromtimestamp(0, UTC)


def from_psutil() -> Iterator[ListedProcess]:
    """Yield the running processes without /proc.

    Those of other users have only the kernel's name there: their command lines may not
    be read.
    """
    import psutil  # noqa: PLC0415  # not installed on Linux

    fields = ["ppid", "name", "cmdline", "create_time", "status"]
    for process in psutil.process_iter(fields):
        known = process.info
        names = _names(known["cmdline"] or [""], known["name"] or "")
        if known["status"] != psutil.STATUS_ZOMBIE and names:
            started_at = datetime.fromtimestamp(known["create_time"], UTC)
            yield ListedProcess(process.pid, known["ppid"], names, started_at)


def _names(command: list[str], known_as: str) -> tuple[str, ...]:
    names = [Path(command[0]).name, known_as]
    if len(command) > 1 and not command[1].startswith("-"):
        names.append(Path(command[1]).name)
    return tuple(dict.fromkeys(name for name in names if name))


class ProcessEnvironment(Struct, frozen=True):
    """The working directory and the environment variables of a process."""

    folder: Path
    env: Mapping[str, str]


def environment_of_process(pid: int) -> ProcessEnvironment:
    """Return the environment of a process, or ours if it may not be read."""
    if sys.platform == "linux":
        return ProcessEnvironment(_folder(pid), _environment(pid))
    else:  # noqa: RET505  # a branch that mypy leaves out on Linux
        return environment_from_psutil(pid)


def environment_from_psutil(pid: int) -> ProcessEnvironment:
    """Return the same without /proc."""
    import psutil  # noqa: PLC0415  # not installed on Linux

    try:
        process = psutil.Process(pid)
        return ProcessEnvironment(Path(process.cwd()), process.environ())
    except psutil.Error:
        return ProcessEnvironment(Path("/"), os.environ)


def environment_of_container(
    pods_folder: Path, container_id: str
) -> ProcessEnvironment:
    """Return the environment of a running container, or of a process by its PID.

    Args:
        pods_folder: the folder of the process runtime.
        container_id: the beginning of an ID without `process://`, or a PID.

    Raises:
        ContainerRuntimeError: there is none, or it does not run.
    """
    name = records.CONTAINER_FILE
    for path in pods_folder.glob("*/*/"):
        record = records.read_container(path / name)
        if record is None or not record.container_id.startswith(container_id):
            continue
        if record.process is None or not is_alive(record.process):
            raise ContainerRuntimeError(f"{container_id} does not run")
        return ProcessEnvironment(Path(record.working_dir), record.env)
    if container_id.isdecimal() and identify(int(container_id)) is not None:
        return environment_of_process(int(container_id))
    raise ContainerRuntimeError(f"there is no process or container {container_id}")


def _environment(pid: int) -> Mapping[str, str]:
    try:
        text = read_kernel_file(PROC / str(pid) / "environ")
    except OSError:
        return os.environ
    pairs = (
        pair.decode("utf-8", "surrogateescape").partition("=")
        for pair in text.split(b"\0")
        if pair
    )
    return {name: value for name, _, value in pairs if name}


def _folder(pid: int) -> Path:
    try:
        return (PROC / str(pid) / "cwd").readlink()
    except OSError:
        return Path("/")
