"""Images of a CRI runtime: whether one is here, how it comes and goes."""

from __future__ import annotations

import asyncio
import os

import grpc

from probetui.errors import ContainerRuntimeError, ImageNotFoundError
from probetui.k8s.image import ImageFilesystem, StoredImage
from probetui.kubelet.effects import PulledImage
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import Client
from probetui.runtimes.cri.faults import RefusedError
from probetui.runtimes.cri.translate import image_user, stored_images


class Images:
    """The images of a runtime, by name or by ID."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def image_id(self, name: str) -> str | None:
        """Return the ID of an image, None if it is not here."""
        found = await self._look(name)
        return None if found is None else found.id

    async def user(self, name: str) -> str:
        """Return the user that an image runs as, empty where it does not say."""
        found = await self._look(name)
        if found is None:
            raise ImageNotFoundError(f"no such image: {name}")
        return image_user(found)

    async def pull(self, name: str, sandbox: cri.PodSandboxConfig) -> PulledImage:
        """Pull an image for a pod, for as long as it takes.

        A runtime says nothing of it before the end. Raises `ImageNotFoundError` where
        the registry does not know it.
        """
        request = cri.PullImageRequest(
            image=cri.ImageSpec(image=name),
            auth=await _credentials(name),
            sandbox_config=sandbox,
        )
        try:
            pulled = await self._client.call(calls.PULL_IMAGE, request, limit=None)
        except RefusedError as error:
            if error.code is grpc.StatusCode.NOT_FOUND:
                raise ImageNotFoundError(str(error)) from error
            raise
        found = await self._look(pulled.image_ref)
        return PulledImage(pulled.image_ref, 0 if found is None else found.size)

    async def list(self) -> tuple[StoredImage, ...]:
        """Return every image that is here, with who has it."""
        images = await self._client.call(calls.LIST_IMAGES, cri.ListImagesRequest())
        containers = await self._client.call(
            calls.LIST_CONTAINERS, cri.ListContainersRequest()
        )
        return stored_images(images.images, containers.containers)

    async def remove(self, image_id: str) -> None:
        """Remove an image with all its names; refused while containers have it.

        Runtimes do not all refuse that by themselves.
        """
        for each in await self.list():
            if each.image_id == image_id and each.used_by:
                raise ContainerRuntimeError(
                    f"unable to remove {image_id}: in use by {', '.join(each.used_by)}"
                )
        request = cri.RemoveImageRequest(image=cri.ImageSpec(image=image_id))
        await self._client.call(calls.REMOVE_IMAGE, request)

    async def filesystem(self) -> ImageFilesystem:
        """Measure the disk that images are on."""
        answer = await self._client.call(calls.IMAGE_FS_INFO, cri.ImageFsInfoRequest())
        places = [each.fs_id.mountpoint for each in answer.image_filesystems]
        if not places:
            raise ContainerRuntimeError("the runtime does not say where images are")
        try:
            found = os.statvfs(places[0])
        except OSError as error:
            raise ContainerRuntimeError(
                f"the disk with the images cannot be measured: {places[0]}: "
                f"{error.strerror}"
            ) from error
        return ImageFilesystem(
            found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail
        )

    async def _look(self, name: str) -> cri.Image | None:
        request = cri.ImageStatusRequest(image=cri.ImageSpec(image=name))
        answer = await self._client.call(calls.IMAGE_STATUS, request)
        return answer.image if answer.HasField("image") else None


async def _credentials(name: str) -> cri.AuthConfig | None:
    # Late: who has all images pays nothing for Docker's library.
    from probetui.runtimes.cri.credentials import credentials  # noqa: PLC0415

    return await asyncio.to_thread(credentials, name)
