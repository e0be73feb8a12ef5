"""Images of a CRI runtime: status, pull, list, remove."""

from __future__ import annotations

import asyncio
import os
import warnings

import grpc

from probetui.errors import ContainerRuntimeError, ImageNotFoundError
from probetui.k8s.runtime import ImageFilesystem, StoredImage
from probetui.kubelet.effects import PulledImage, RegistryCredentials
from probetui.kubelet_rules import KubeletRules
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import CriClient
from probetui.runtimes.cri.errors import CriStatusError
from probetui.runtimes.cri.translate import image_user, to_stored_images
from probetui.runtimes.docker_settings import check_docker_settings


class CriImages:
    """The image service of a runtime; images are named by name or ID."""

    def __init__(self, client: CriClient) -> None:
        self._client = client

    async def image_id(self, name: str) -> str | None:
        """Return the ID of an image, None if it is not present."""
        status = await self._image_status(name)
        return None if status is None else status.id

    async def user(self, name: str) -> str:
        """Return the user of an image's config, empty where it sets none."""
        status = await self._image_status(name)
        if status is None:
            raise ImageNotFoundError(f"no such image: {name}")
        return image_user(status)

    async def pull(
        self,
        name: str,
        sandbox: cri.PodSandboxConfig,
        rules: KubeletRules,
        credentials: RegistryCredentials | None = None,
    ) -> PulledImage:
        """Pull an image for a pod, without a time limit.

        Without credentials those of Docker's own configuration are used.

        The CRI reports no progress. Raises `ImageNotFoundError` where the registry does
        not have it.
        """
        request = cri.PullImageRequest(
            image=cri.ImageSpec(image=name),
            auth=await asyncio.to_thread(registry_credentials, name)
            if credentials is None
            else cri.AuthConfig(
                username=credentials.username, password=credentials.password
            ),
            sandbox_config=sandbox,
        )
        try:
            pulled = await self._client.call(calls.PULL_IMAGE, request, limit=None)
        except CriStatusError as error:
            with_code = error.with_code()
            if error.code is grpc.StatusCode.NOT_FOUND:
                raise ImageNotFoundError(str(with_code)) from error
            if error.code is grpc.StatusCode.UNKNOWN and rules.strips_unknown_code:
                raise
            raise with_code from error
        status = await self._image_status(pulled.image_ref)
        return PulledImage(pulled.image_ref, 0 if status is None else status.size)

    async def list(self) -> tuple[StoredImage, ...]:
        """Return every image with the containers that use it."""
        images = await self._client.call(calls.LIST_IMAGES, cri.ListImagesRequest())
        containers = await self._client.call(
            calls.LIST_CONTAINERS, cri.ListContainersRequest()
        )
        return to_stored_images(images.images, containers.containers)

    async def remove(self, image_id: str) -> None:
        """Remove an image with all its names; refused while a container uses it.

        Not every runtime refuses that itself.
        """
        for image in await self.list():
            if image.image_id == image_id and image.used_by:
                raise ContainerRuntimeError(
                    f"unable to remove {image_id}: in use by {', '.join(image.used_by)}"
                )
        request = cri.RemoveImageRequest(image=cri.ImageSpec(image=image_id))
        await self._client.call(calls.REMOVE_IMAGE, request)

    async def filesystem(self) -> ImageFilesystem:
        """Return size and free bytes of the file system that holds the images."""
        answer = await self._client.call(calls.IMAGE_FS_INFO, cri.ImageFsInfoRequest())
        places = [
            filesystem.fs_id.mountpoint for filesystem in answer.image_filesystems
        ]
        if not places:
            raise ContainerRuntimeError(
                "the runtime does not report an image file system"
            )
        try:
            file_system = os.statvfs(places[0])
        except OSError as error:
            raise ContainerRuntimeError(
                f"the image file system cannot be measured: {places[0]}: "
                f"{error.strerror}"
            ) from error
        return ImageFilesystem(
            file_system.f_frsize * file_system.f_blocks,
            file_system.f_frsize * file_system.f_bavail,
        )

    async def _image_status(self, name: str) -> cri.Image | None:
        request = cri.ImageStatusRequest(image=cri.ImageSpec(image=name))
        answer = await self._client.call(calls.IMAGE_STATUS, request)
        return answer.image if answer.HasField("image") else None


def registry_credentials(image: str) -> cri.AuthConfig | None:
    """Return the credentials for an image's registry, None without any.

    They are those of Docker's own configuration, which a kubelet reads too, beside the
    pull secrets of a cluster. Blocks: a credential helper is a program. Raises
    `ContainerRuntimeError` if the configuration or the name is invalid.
    """
    # Imported late: a session that pulls nothing does without Docker's library.
    import docker.auth  # noqa: PLC0415
    import docker.errors  # noqa: PLC0415

    try:
        check_docker_settings()
        registry, _ = docker.auth.resolve_repository_name(image)
        with warnings.catch_warnings():
            # A missing helper warns on standard error, and raises all the same.
            warnings.simplefilter("ignore")
            credentials = docker.auth.load_config().resolve_authconfig(registry)
    except (docker.errors.DockerException, OSError) as error:
        raise ContainerRuntimeError(f"no credentials for {image}: {error}") from error
    if not credentials:
        return None
    # Credential helpers answer with capitalized names.
    lowered = {name.lower(): value for name, value in credentials.items()}
    return cri.AuthConfig(
        username=lowered.get("username"),
        password=lowered.get("password"),
        identity_token=lowered.get("identitytoken"),
    )
