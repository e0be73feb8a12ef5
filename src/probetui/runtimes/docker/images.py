"""Images of a Docker engine: pulled, listed, removed, and chosen for sandboxes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Any

from msgspec import Struct

from probetui.errors import ContainerRuntimeError, ImageNotFoundError
from probetui.k8s.runtime import ImageFilesystem, StoredImage
from probetui.kubelet.effects import PulledImage, RegistryCredentials
from probetui.ports import Progress
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.errors import NOT_FOUND, DockerStatusError, ignore_status

PAUSE_IMAGE = "registry.k8s.io/pause:3.10"

SHELL_IMAGES = ("busybox", "alpine")
"""Repositories whose images can replace the pause image."""

WAIT_IN_SHELL = (
    "sh",
    "-c",
    "trap 'exit 0' INT TERM; while :; do sleep 3600 & wait $!; done",
)
"""A pause program for images with a shell; its `wait` reaps orphans."""

SANDBOX_PULL_SECONDS = 60
"""How long the pull of the sandbox image may take before another one is used."""


NO_NAMES = frozenset({"<none>:<none>", "<none>@<none>"})
"""What old daemons list for an image without a tag or without a digest."""


LAYER_STATUSES = frozenset(
    {"Pulling fs layer", "Waiting", "Already exists", "Pull complete"}
)
"""The statuses that only layers have."""

DONE_STATUSES = frozenset({"Already exists", "Pull complete"})
DOWNLOADED_STATUSES = frozenset({"Download complete", "Extracting"})


class DockerImages:
    """The images of a Docker engine."""

    def __init__(self, client: DockerClient) -> None:
        self._client = client

    async def image_id(self, name: str) -> str | None:
        """Return the ID of an image, None if it is not here."""
        image = await self._client.call_or_none(lambda api: api.inspect_image(name))
        return None if image is None else str(image["Id"])

    async def user(self, name: str) -> str:
        """Return the user of an image, empty if it does not have one."""
        image = await self._client.call_or_none(lambda api: api.inspect_image(name))
        if image is None:
            raise ImageNotFoundError(f"no such image: {name}")
        return str(image["Config"].get("User") or "")

    async def pull(
        self,
        name: str,
        progress: Progress,
        credentials: RegistryCredentials | None = None,
    ) -> PulledImage:
        """Pull an image, without credentials with those of Docker's own configuration.

        Raises:
            ImageNotFoundError: the registry does not have it.
        """
        pull_progress = PullProgress()
        messages = self._client.follow(lambda api: api.open_pull(name, credentials))
        try:
            async with aclosing(messages):
                async for message in messages:
                    _raise_if_failed(message)
                    if text := pull_progress.feed(message):
                        progress(text)
        except DockerStatusError as error:
            if error.status == NOT_FOUND:
                raise ImageNotFoundError(str(error)) from error
            raise
        image = await self._client.call_or_none(lambda api: api.inspect_image(name))
        if image is None:
            raise ContainerRuntimeError(f"the pull of {name} was interrupted")
        return PulledImage(str(image["Id"]), int(image["Size"]))

    async def tags(self) -> list[str]:
        """Return the tags of all images."""
        images = await self._client.call(lambda api: api.images())
        return [tag for image in images for tag in image["RepoTags"] or ()]


def _raise_if_failed(message: dict[str, Any]) -> None:
    if "error" not in message:
        return
    detail = message.get("errorDetail") or {}
    if detail.get("code") == NOT_FOUND:
        raise ImageNotFoundError(message["error"])
    raise ContainerRuntimeError(message["error"])


class SandboxImageChoice(Struct, frozen=True):
    """The image of sandboxes and why it was chosen; an empty command is the image's."""

    image: str
    command: tuple[str, ...]
    reason: str


class SandboxImageSelector:
    """Selects the image for sandboxes, once.

    If the wanted one is not here and cannot be pulled, a local one replaces it, so that
    pods run without a registry.

    Args:
        images: the engine's images.
        wanted: the image that sandboxes should have.
    """

    def __init__(self, images: DockerImages, wanted: str) -> None:
        self._images = images
        self._wanted = wanted
        self._choosing = asyncio.Lock()
        self.choice: SandboxImageChoice | None = None
        """The choice, once a sandbox was created."""

    async def choose(self) -> SandboxImageChoice:
        """Return the image for a sandbox; raises `ContainerRuntimeError` for none."""
        async with self._choosing:
            if self.choice is None:
                self.choice = await self._find()
            return self.choice

    def forget(self) -> None:
        """Forget the choice, because the image is gone."""
        self.choice = None

    async def _find(self) -> SandboxImageChoice:
        wanted = self._wanted
        if await self._images.image_id(wanted) is not None:
            return SandboxImageChoice(wanted, sandbox_command(wanted), "already here")
        try:
            async with asyncio.timeout(SANDBOX_PULL_SECONDS):
                await self._images.pull(wanted, lambda _text: None)
        except TimeoutError:
            why = f"not pulled within {SANDBOX_PULL_SECONDS} s"
        except ContainerRuntimeError as error:
            if error.unreachable:
                raise
            why = str(error)
        else:
            return SandboxImageChoice(wanted, sandbox_command(wanted), "pulled")
        substitute = choose_substitute(await self._images.tags())
        if substitute is None:
            raise ContainerRuntimeError(
                f"the sandbox image {wanted} is missing and cannot be pulled: {why}"
            )
        reason = f"instead of {wanted}, which is missing: {why}"
        return SandboxImageChoice(substitute, sandbox_command(substitute), reason)


def choose_substitute(tags: Iterable[str]) -> str | None:
    """Return the best of some images for sandboxes, None if none is suitable."""
    here = sorted(tags)
    for repository in ("pause", *SHELL_IMAGES):
        for tag in here:
            if _repository(tag) == repository:
                return tag
    return None


def sandbox_command(image: str) -> tuple[str, ...]:
    """Return the command of a sandbox, empty for that of the image."""
    return WAIT_IN_SHELL if _repository(image) in SHELL_IMAGES else ()


def _repository(image: str) -> str:
    """Return the last part of an image's name, without tag and digest."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


class DockerImageStore:
    """The images on Docker, as `ports.Runtime` lists and removes them.

    Args:
        client: the connection to the daemon.
        sandbox_image: the image that sandboxes should have; it is pinned.
        is_on_this_kernel: the daemon runs on this system, with its disks.
    """

    def __init__(
        self, client: DockerClient, sandbox_image: str, *, is_on_this_kernel: bool
    ) -> None:
        self._client = client
        self._sandbox_image = sandbox_image
        self._is_on_this_kernel = is_on_this_kernel

    async def image_store_id(self) -> str:
        """Return the ID of the daemon; old ones have none."""
        return str((await self._info()).get("ID") or "")

    async def list_images(self) -> tuple[StoredImage, ...]:
        """Return every image, whoever pulled it."""
        containers, images = await asyncio.gather(
            self._client.call(lambda api: api.containers(all=True)),
            self._client.call(lambda api: api.images()),
        )
        return to_stored_images(images, containers, self._sandbox_image)

    async def image_copy(self, image_id: str) -> str | None:
        """Return what identifies this copy of an image; see `copy_mark`."""
        image = await self._client.call_or_none(lambda api: api.inspect_image(image_id))
        return None if image is None else copy_mark(image)

    async def remove_image(self, image_id: str) -> None:
        """Remove an image, never by force.

        The daemon does not remove an image with several names by its ID. Each name is
        removed, and only at the last would it refuse an image that is in use.
        """
        image = await self._client.call_or_none(lambda api: api.inspect_image(image_id))
        if image is None:
            return
        *others, _ = names_of(image["RepoTags"]) or [image_id]
        if others and (users := await self._users(image_id)):
            raise ContainerRuntimeError(
                f"unable to remove {image_id}: in use by {', '.join(users)}"
            )
        for name in (*others, image_id):
            await self._remove(name)

    async def image_filesystem(self) -> ImageFilesystem:
        """Return size and free space of the daemon's disk, if it is this machine's."""
        folder = str((await self._info()).get("DockerRootDir") or "")
        if not self._is_on_this_kernel or not folder:
            raise ContainerRuntimeError(
                "the disk with the images is not on this machine"
            )
        try:
            file_system = await asyncio.to_thread(os.statvfs, folder)
        except OSError as error:
            raise ContainerRuntimeError(
                f"the disk with the images cannot be measured: {folder}: "
                f"{error.strerror}"
            ) from error
        return ImageFilesystem(
            file_system.f_frsize * file_system.f_blocks,
            file_system.f_frsize * file_system.f_bavail,
        )

    async def _info(self) -> Mapping[str, Any]:
        info: Mapping[str, Any] = await self._client.call(lambda api: api.info())
        return info

    async def _users(self, image_id: str) -> list[str]:
        filters = {"ancestor": [image_id]}
        containers: list[Mapping[str, Any]] = await self._client.call(
            lambda api: api.containers(all=True, filters=filters)
        )
        return [container_name(mapping) for mapping in containers]

    async def _remove(self, name: str) -> None:
        with ignore_status(NOT_FOUND):
            await self._client.call_long(lambda api: api.remove_image(name))


def to_stored_images(
    images: Iterable[Mapping[str, Any]],
    containers: Iterable[Mapping[str, Any]],
    sandbox_image: str,
) -> tuple[StoredImage, ...]:
    """Convert Docker's list of images, and add the containers that use them."""
    users: dict[str, list[str]] = {}
    for container in containers:
        users.setdefault(container["ImageID"], []).append(container_name(container))
    return tuple(
        StoredImage(
            image["Id"],
            (*(tags := names_of(image["RepoTags"])), *names_of(image["RepoDigests"])),
            int(image["Size"]),
            tuple(sorted(users.get(image["Id"], ()))),
            is_pinned=sandbox_image in tags,
        )
        for image in images
    )


def container_name(listed: Mapping[str, Any]) -> str:
    """Return the name of a container, its ID if it is being removed."""
    names = listed.get("Names") or [listed["Id"]]
    return str(names[0]).removeprefix("/")


def names_of(listed: Iterable[str] | None) -> list[str]:
    """Return tags or digests without Docker's placeholders for none."""
    return [name for name in listed or () if name not in NO_NAMES]


def copy_mark(inspected: Mapping[str, Any]) -> str:
    """Return what changes when an image is removed and pulled again.

    It is the folders of its top layer, which have random names. With containerd's
    image store it is the time of the last tag.
    """
    folders = (inspected.get("GraphDriver") or {}).get("Data")
    if folders:
        return json.dumps(folders, sort_keys=True)
    return str((inspected.get("Metadata") or {}).get("LastTagTime") or "")


class _Layer(Struct):
    current: int = 0
    total: int = 0
    is_done: bool = False
    is_downloaded: bool = False


class PullProgress:
    """Sums up the daemon's messages about the layers of an image."""

    def __init__(self) -> None:
        self._layers: dict[str, _Layer] = {}
        self._text = ""

    def feed(self, message: Mapping[str, Any]) -> str | None:
        """Read one message; return the progress as text if it has changed."""
        status, layer_id = message.get("status", ""), message.get("id", "")
        detail = message.get("progressDetail") or {}
        if layer_id and (status in LAYER_STATUSES or detail.get("total")):
            self._layers.setdefault(layer_id, _Layer())
        layer = self._layers.get(layer_id)
        if layer is None:
            return None
        layer.is_done |= status in DONE_STATUSES
        layer.is_downloaded |= layer.is_done or status in DOWNLOADED_STATUSES
        if not layer.is_downloaded and detail.get("total"):
            layer.current, layer.total = detail["current"], detail["total"]
        text = self._format()
        if text == self._text:
            return None
        self._text = text
        return text

    def _format(self) -> str:
        layers = self._layers.values()
        done = sum(layer.is_done for layer in layers)
        count = f"{done} of {len(layers)} {'layer' if len(layers) == 1 else 'layers'}"
        if all(layer.is_downloaded for layer in layers):
            return f"extracting, {count} done"
        total = sum(layer.total for layer in layers)
        got = sum(
            layer.total if layer.is_downloaded else layer.current for layer in layers
        )
        percent = 100 * got // total if total else 0
        return f"downloading {percent}%, {count} done"
