"""What a registry wants to know before it gives an image: Docker's own configuration.

A kubelet reads that file too, beside the secrets of a cluster.
"""

from __future__ import annotations

import warnings

import docker.auth
import docker.errors

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.cri import runtime_v1_pb2 as cri


def credentials(image: str) -> cri.AuthConfig | None:
    """Return the credentials for an image's registry, None without any.

    Blocks: a credential helper is a program. Raises `ContainerRuntimeError` if the
    configuration, or the name, cannot be understood.
    """
    try:
        registry, _ = docker.auth.resolve_repository_name(image)
        with warnings.catch_warnings():
            # Of a helper that is missing: on the screen, and an error all the same.
            warnings.simplefilter("ignore")
            found = docker.auth.load_config().resolve_authconfig(registry)
    except docker.errors.DockerException as error:
        raise ContainerRuntimeError(f"no credentials for {image}: {error}") from error
    if not found:
        return None
    # What a helper says has capitals.
    known = {name.lower(): value for name, value in found.items()}
    return cri.AuthConfig(
        username=known.get("username"),
        password=known.get("password"),
        identity_token=known.get("identitytoken"),
    )
