"""What is asked of Docker for the pod `web`, in short."""

from __future__ import annotations

from typing import Any

from probetui.k8s.pod import Container
from probetui.kubelet.effects import CreateContainer
from probetui.runtimes.docker.requests import container_request, sandbox_request
from tests.builders import a_pod

SANDBOX_ID = "5a" * 32
IMAGE_ID = "sha256:" + "1c" * 32


def created(container: Container, attempt: int = 0, **fields: Any) -> dict[str, Any]:
    """Return what is asked of Docker for a container of the pod `web`."""
    operation = CreateContainer(
        a_pod(container, **fields), container, SANDBOX_ID, attempt, IMAGE_ID
    )
    return container_request(operation, "me")


def sandbox(attempt: int = 0, **fields: Any) -> dict[str, Any]:
    """Return what is asked of Docker for the sandbox of the pod `web`."""
    pod = a_pod(**fields)
    return sandbox_request(pod, attempt, image="pause", command=(), owner="me")
