"""The images of a Docker engine as a store: listed, removed, measured."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from probetui.errors import ContainerRuntimeError
from probetui.k8s.image import ImageFilesystem, StoredImage
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.faults import NOT_FOUND, RefusedError

NO_NAMES = frozenset({"<none>:<none>", "<none>@<none>"})
"""What older daemons list for an image without a tag or without a digest."""


class DockerImageStore:
    """`ports.ImageStore` on Docker.

    Args:
        client: the connection to the daemon.
        sandbox_image: what sandboxes should be made of; it is pinned.
        is_on_this_kernel: the daemon's disks may be disks of this system.
    """

    def __init__(
        self, client: Client, sandbox_image: str, *, is_on_this_kernel: bool
    ) -> None:
        self._client = client
        self._sandbox_image = sandbox_image
        self._is_on_this_kernel = is_on_this_kernel

    async def image_store_id(self) -> str:
        """Return the ID that the daemon gave to itself; old ones have none."""
        return str((await self._info()).get("ID") or "")

    async def list_images(self) -> tuple[StoredImage, ...]:
        """Return every image that is here, whoever brought it."""
        containers, images = await asyncio.gather(
            self._client.call(lambda api: api.containers(all=True)),
            self._client.call(lambda api: api.images()),
        )
        return stored_images(images, containers, self._sandbox_image)

    async def image_copy(self, image_id: str) -> str | None:
        """Return where the image's uppermost layer is, or when it got its name."""
        found = await self._inspect(image_id)
        return None if found is None else copy_mark(found)

    async def remove_image(self, image_id: str) -> None:
        """Remove an image, never by force.

        By its ID the daemon does not remove what has several names. It takes one name
        after the other, and would see only at the last that containers have it.
        """
        found = await self._inspect(image_id)
        if found is None:
            return
        *others, _ = names_of(found["RepoTags"]) or [image_id]
        if others and (users := await self._users(image_id)):
            raise ContainerRuntimeError(
                f"unable to remove {image_id}: in use by {', '.join(users)}"
            )
        for name in (*others, image_id):
            await self._remove(name)

    async def image_filesystem(self) -> ImageFilesystem:
        """Measure the disk of the daemon's folder, if it is on this machine."""
        folder = str((await self._info()).get("DockerRootDir") or "")
        if not self._is_on_this_kernel or not folder:
            raise ContainerRuntimeError(
                "the disk with the images is not on this machine"
            )
        try:
            found = await asyncio.to_thread(os.statvfs, folder)
        except OSError as error:
            raise ContainerRuntimeError(
                f"the disk with the images cannot be measured: {folder}: "
                f"{error.strerror}"
            ) from error
        return ImageFilesystem(
            found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail
        )

    async def _info(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = await self._client.call(lambda api: api.info())
        return found

    async def _inspect(self, image_id: str) -> Mapping[str, Any] | None:
        try:
            found: Mapping[str, Any] = await self._client.call(
                lambda api: api.inspect_image(image_id)
            )
        except RefusedError as error:
            if error.status == NOT_FOUND:
                return None
            raise
        return found

    async def _users(self, image_id: str) -> list[str]:
        filters = {"ancestor": [image_id]}
        found: list[Mapping[str, Any]] = await self._client.call(
            lambda api: api.containers(all=True, filters=filters)
        )
        return [container_name(each) for each in found]

    async def _remove(self, name: str) -> None:
        try:
            await self._client.call_long(lambda api: api.remove_image(name))
        except RefusedError as error:
            if error.status != NOT_FOUND:
                raise


def stored_images(
    images: Iterable[Mapping[str, Any]],
    containers: Iterable[Mapping[str, Any]],
    sandbox_image: str,
) -> tuple[StoredImage, ...]:
    """Return images as Docker lists them, with the containers that have them."""
    users: dict[str, list[str]] = {}
    for each in containers:
        users.setdefault(each["ImageID"], []).append(container_name(each))
    return tuple(
        StoredImage(
            each["Id"],
            (*(tags := names_of(each["RepoTags"])), *names_of(each["RepoDigests"])),
            int(each["Size"]),
            tuple(sorted(users.get(each["Id"], ()))),
            is_pinned=sandbox_image in tags,
        )
        for each in images
    )


def container_name(listed: Mapping[str, Any]) -> str:
    """Return the name of a container; one that is being removed may have none."""
    names = listed.get("Names") or [listed["Id"]]
    return str(names[0]).removeprefix("/")


def names_of(listed: Iterable[str] | None) -> list[str]:
    """Return the names among what Docker lists as names."""
    return [each for each in listed or () if each not in NO_NAMES]


def copy_mark(inspected: Mapping[str, Any]) -> str:
    """Return what changes when an image is removed and pulled again.

    The folders of its uppermost layer have random names. A daemon that does not tell
    them (containerd's store) tells when the image last got a name.
    """
    folders = (inspected.get("GraphDriver") or {}).get("Data")
    if folders:
        return json.dumps(folders, sort_keys=True)
    return str((inspected.get("Metadata") or {}).get("LastTagTime") or "")
