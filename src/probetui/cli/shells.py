"""The command that opens a shell in a container, by the runtime's own program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from probetui.k8s.runtime import ContainerID
from probetui.presentation.reach import Reach

_BEST_SHELL = ("sh", "-c", "command -v bash >/dev/null && exec bash || exec sh")


def shells(reach: Reach) -> Callable[[ContainerID], Sequence[str]]:
    """Return what gives the command for a container; empty where there is none."""

    def command(container_id: ContainerID) -> Sequence[str]:
        kind, _, own_id = container_id.partition("://")
        match kind:
            case "docker":
                inside = ("docker", *reach.docker, "exec", "-it", own_id)
            case "containerd" | "cri-o":
                inside = ("crictl", *reach.cri, "exec", "-it", own_id)
            case "process":
                inside = (sys.executable, "-m", "probetui", "exec", container_id)
            case _:
                return ()
        return (*inside, *_BEST_SHELL)

    return command
