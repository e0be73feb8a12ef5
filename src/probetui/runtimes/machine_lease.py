"""Leases on pods for an engine of this machine: one abstract unix socket for a pod.

Only one process can have a socket of that name. It needs neither a permission nor a
file, and ends with its process in any case. The kernel tells a client which process it
belongs to. It is visible to all users of the machine, but not in other network
namespaces: an engine that is used from other machines keeps its leases itself.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import pwd
import socket
import struct
import sys
from collections.abc import Collection, Mapping, Sequence

from probetui.errors import ContainerRuntimeError, PodInUseError
from probetui.k8s.pod import Pod
from probetui.ports import PodKey
from probetui.runtimes.lease_holder import host_name, pod_keys

_PREFIX = "\0probetui-lease-"
_BACKLOG = 128
_CREDENTIALS = struct.Struct("iII")
"""PID, UID and GID of the listener: `struct ucred` (unix(7))."""


class MachineLease:
    """The lease of one session, held by its sockets; an event loop must run.

    Args:
        engine: the ID of the engine on this machine.
    """

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._sockets: dict[PodKey, socket.socket] = {}

    async def add(self, pods: Sequence[Pod]) -> None:
        """Acquire more pods, all or none."""
        if sys.platform != "linux":
            return  # there is no such engine: `crictl` and containerd need Linux
        taken: list[PodKey] = []
        try:
            for pod in pods:
                for key in pod_keys(pod):
                    if key not in self._sockets:
                        self._acquire(key, pod)
                        taken.append(key)
        except BaseException:
            for key in taken:
                self._release(key)
            raise

    async def renew(self) -> Mapping[PodKey, str]:
        """Do nothing: the lease of a living process does not expire."""
        return {}

    async def release(self) -> None:
        """Release all pods."""
        for key in tuple(self._sockets):
            self._release(key)

    def _acquire(self, key: PodKey, pod: Pod) -> None:
        try:
            made = _listen(_address(self._engine, key))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise ContainerRuntimeError(
                    f"pod {pod.namespace}/{pod.name} cannot be leased: "
                    f"{error.strerror or error}"
                ) from error
            # Bound but not listening: the process has just ended, or blocks the name.
            holder = _holder(self._engine, key) or "a process that does not answer"
            raise PodInUseError(pod.namespace, pod.name, holder) from None
        asyncio.get_running_loop().add_reader(made, _refuse, made)
        self._sockets[key] = made

    def _release(self, key: PodKey) -> None:
        made = self._sockets.pop(key)
        asyncio.get_running_loop().remove_reader(made)
        made.close()


def machine_lease_holders(
    engine: str, keys: Collection[PodKey]
) -> Mapping[PodKey, str]:
    """Return who runs pods on an engine of this machine, as text for people.

    Raises:
        ContainerRuntimeError: this process has no free descriptor.
    """
    if sys.platform != "linux":
        return {}
    holders = {key: _holder(engine, key) for key in keys}
    return {key: holder for key, holder in holders.items() if holder}


def _listen(address: str) -> socket.socket:
    """Return a listening socket; raises `OSError` if the address is in use."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(0)
        made.bind(address)
        made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def _holder(engine: str, key: PodKey) -> str:
    """Return the process that has a pod's socket, empty for none."""
    try:
        return _listener(_address(engine, key))
    except OSError as error:
        raise ContainerRuntimeError(
            f"the leases on pods cannot be read: {error.strerror or error}"
        ) from error


def _listener(address: str) -> str:
    """Return the process that listens on a socket, empty for none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(0)
        try:
            asking.connect(address)
        except ConnectionRefusedError:
            return ""
        except BlockingIOError:  # its backlog is full
            return f"a process on {host_name()}"
        packed = asking.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size
        )
    pid, uid, _ = _CREDENTIALS.unpack(packed)
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    return f"process {pid} of {user}@{host_name()}"


def _refuse(made: socket.socket) -> None:
    """Close a connection: the kernel has given the client our credentials."""
    try:
        asking, _ = made.accept()
    except OSError:
        return  # the client has gone
    asking.close()


def _address(engine: str, key: PodKey) -> str:
    """Return the name of a socket: a hash, as names are limited to 107 bytes."""
    text = "\0".join((engine, *key))
    return _PREFIX + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
