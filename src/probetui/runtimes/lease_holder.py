"""Who holds a lease on pods, and whether that process can still be alive."""

from __future__ import annotations

import getpass
import json
import os
import platform
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from probetui.k8s.pod import Pod
from probetui.ports import PodKey
from probetui.runtimes.process_identity import Process, identify, is_alive

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class LeaseHolder:
    """A process that runs pods.

    `machine` and `pid_namespace` say where its number means something; only there can
    its end be seen.
    """

    user: str
    host: str
    pid: int
    born: str
    machine: str
    pid_namespace: str

    @classmethod
    def this_process(cls) -> LeaseHolder:
        """Return the one that asks."""
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
        """Read what `text` wrote; None for anything else."""
        try:
            fields = json.loads(text)
            found = cls(**{name: fields[name] for name in cls.__dataclass_fields__})
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        texts = (found.user, found.host, found.born, found.machine, found.pid_namespace)
        is_sound = type(found.pid) is int and all(type(text) is str for text in texts)
        return found if is_sound else None

    @property
    def text(self) -> str:
        """The same to be written down."""
        return json.dumps(asdict(self))

    def __str__(self) -> str:
        return f"process {self.pid} of {self.user}@{self.host}"

    def is_alive(self) -> bool | None:
        """Tell whether it lives, None where that cannot be seen from here."""
        here = (machine_id(), _pid_namespace())
        if not self.born or (self.machine, self.pid_namespace) != here:
            return None
        if is_alive(Process(self.pid, self.born)):
            return True
        return False if _shows_everybody() else None


def user_name() -> str:
    """Return the name of the user, or the number of one who has none."""
    with suppress(KeyError, OSError):
        return getpass.getuser()
    return str(os.getuid())


def host_name() -> str:
    """Return the name of this machine, as people know it."""
    return platform.node() or "localhost"


def machine_id() -> str:
    """Return what tells this machine, since it was started, from all others."""
    with suppress(OSError):
        return (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
    return host_name()


def _pid_namespace() -> str:
    with suppress(OSError):
        return str((_PROC / "self/ns/pid").readlink())
    return ""


def _shows_everybody() -> bool:
    """Tell whether processes of other users can be seen: a machine may hide them."""
    return sys.platform != "linux" or (_PROC / "1/stat").exists()


def maker() -> str:
    """Return who makes things here, for people: user and machine."""
    return f"{user_name()}@{host_name()}"


def keys_of(pod: Pod) -> tuple[PodKey, PodKey]:
    """Return by what a pod is taken: its name, and its uid."""
    return (pod.namespace, pod.name), ("", pod.uid)
