"""The process that holds a lease on pods, and whether it is alive."""

from __future__ import annotations

import getpass
import json
import os
import platform
import sys
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, structs

from probetui.k8s.pod import Pod
from probetui.ports import PodKey
from probetui.runtimes.process_identity import Process, identify, is_alive
from probetui.untrusted_files import read_kernel_file

_PROC = Path("/proc")


class LeaseHolder(Struct, frozen=True):
    """A process that runs pods.

    Its PID is valid in one PID namespace of one machine, and only there can its end be
    detected.
    """

    user: str
    host: str
    pid: int
    born: str
    machine: str
    pid_namespace: str

    @classmethod
    def this_process(cls) -> LeaseHolder:
        """Return the current process."""
        me = identify(os.getpid())
        return cls(
            user_name(),
            host_name(),
            os.getpid(),
            me.born if me else "",
            machine_id(),
            _pid_namespace(),
        )

    @classmethod
    def parse(cls, text: str) -> LeaseHolder | None:
        """Parse what `text` returned; None for anything else."""
        try:
            fields = json.loads(text)
            holder = cls(**{name: fields[name] for name in cls.__struct_fields__})
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        texts = (
            holder.user,
            holder.host,
            holder.born,
            holder.machine,
            holder.pid_namespace,
        )
        is_sound = type(holder.pid) is int and all(type(text) is str for text in texts)
        return holder if is_sound else None

    @property
    def text(self) -> str:
        """The holder as JSON."""
        return json.dumps(structs.asdict(self))

    def __str__(self) -> str:
        return f"process {self.pid} of {self.user}@{self.host}"

    def is_alive(self) -> bool | None:
        """Return whether the process is alive, None if it is not visible from here."""
        here = (machine_id(), _pid_namespace())
        if not self.born or (self.machine, self.pid_namespace) != here:
            return None
        if is_alive(Process(self.pid, self.born)):
            return True
        return False if _shows_all_users() else None


def user_name() -> str:
    """Return the name of the user, or the UID if there is none."""
    with suppress(KeyError, OSError):
        return getpass.getuser()
    return str(os.getuid())


def host_name() -> str:
    """Return the host name of this machine."""
    return platform.node() or "localhost"


def machine_id() -> str:
    """Return the ID of this boot of this machine."""
    with suppress(OSError):
        boot_id = _PROC / "sys/kernel/random/boot_id"
        return read_kernel_file(boot_id).decode("ascii").strip()
    return host_name()


def _pid_namespace() -> str:
    with suppress(OSError):
        return str((_PROC / "self/ns/pid").readlink())
    return ""


def _shows_all_users() -> bool:
    """Return whether processes of other users are visible (proc(5), hidepid)."""
    return sys.platform != "linux" or (_PROC / "1/stat").exists()


def user_and_host() -> str:
    """Return `user@host` of this process, for people."""
    return f"{user_name()}@{host_name()}"


def pod_keys(pod: Pod) -> tuple[PodKey, PodKey]:
    """Return the keys by which a pod is leased: its name and its uid."""
    return (pod.namespace, pod.name), ("", pod.uid)
