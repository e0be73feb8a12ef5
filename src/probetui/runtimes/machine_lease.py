"""Leases on pods for an engine of this machine: one abstract unix socket for a pod.

Such a socket has a name that only one process can have, takes no permission and no
file, and ends with its process, however that ends. Who connects learns from the kernel
whose it is. All users of the machine see it; programs in another network namespace do
not, which is why an engine that is used from other machines keeps leases itself.
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

from probetui.errors import ContainerRuntimeError, PodHeldError
from probetui.k8s.pod import Pod
from probetui.ports import PodKey
from probetui.runtimes.lease_holder import host_name, keys_of

_PREFIX = "\0probetui-lease-"
_BACKLOG = 128
_CREDENTIALS = struct.Struct("iII")
"""Process, user and group of who listens: `struct ucred` (unix(7))."""


class MachineLease:
    """The lease of one session, held by its sockets; an event loop must run.

    Args:
        engine: what tells the engine from others of this machine.
    """

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._sockets: dict[PodKey, socket.socket] = {}

    async def add(self, pods: Sequence[Pod]) -> None:
        """Take more pods, all of them or none."""
        if sys.platform != "linux":
            return  # there is no such engine: `crictl` and containerd need Linux
        taken: list[PodKey] = []
        try:
            for pod in pods:
                for key in keys_of(pod):
                    if key not in self._sockets:
                        self._take(key, pod)
                        taken.append(key)
        except BaseException:
            for key in taken:
                self._give_up(key)
            raise

    async def renew(self) -> Mapping[PodKey, str]:
        """Do nothing: the kernel takes it from nobody who lives."""
        return {}

    async def release(self) -> None:
        """Give the pods up."""
        for key in tuple(self._sockets):
            self._give_up(key)

    def _take(self, key: PodKey, pod: Pod) -> None:
        try:
            made = _listen(_address(self._engine, key))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise ContainerRuntimeError(
                    f"pod {pod.namespace}/{pod.name} cannot be leased: "
                    f"{error.strerror or error}"
                ) from error
            holder = _holder(self._engine, key) or "a process that just ended"
            raise PodHeldError(pod.namespace, pod.name, holder) from None
        asyncio.get_running_loop().add_reader(made, _turn_away, made)
        self._sockets[key] = made

    def _give_up(self, key: PodKey) -> None:
        made = self._sockets.pop(key)
        asyncio.get_running_loop().remove_reader(made)
        made.close()


def machine_lease_holders(
    engine: str, keys: Collection[PodKey]
) -> Mapping[PodKey, str]:
    """Return who runs pods on an engine of this machine, for people.

    Raises:
        ContainerRuntimeError: this process has no descriptor left to ask.
    """
    if sys.platform != "linux":
        return {}
    found = {key: _holder(engine, key) for key in keys}
    return {key: holder for key, holder in found.items() if holder}


def _listen(address: str) -> socket.socket:
    """Return a socket that nobody else has; raises `OSError`."""
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
    """Return who has a pod's socket, empty for nobody."""
    try:
        return _listener(_address(engine, key))
    except OSError as error:
        raise ContainerRuntimeError(
            f"the leases on pods cannot be looked at: {error.strerror or error}"
        ) from error


def _listener(address: str) -> str:
    """Return who listens on a socket, empty for nobody; raises `OSError`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(0)
        try:
            asking.connect(address)
        except ConnectionRefusedError:
            return ""
        except BlockingIOError:  # it does not get round to turning people away
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


def _turn_away(made: socket.socket) -> None:
    """Let go of who asked: the kernel has told him all there is."""
    try:
        asking, _ = made.accept()
    except OSError:
        return  # he has gone
    asking.close()


def _address(engine: str, key: PodKey) -> str:
    """Return the name of a socket: a hash, as such names are short."""
    text = "\0".join((engine, *key))
    return _PREFIX + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
