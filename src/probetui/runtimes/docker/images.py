"""Images: whether one is here, how it comes here, and which one makes sandboxes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from probetui.errors import ContainerRuntimeError, ImageNotFoundError
from probetui.kubelet.effects import PulledImage
from probetui.ports import Progress
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.faults import NOT_FOUND, RefusedError
from probetui.runtimes.docker.progress import PullProgress

PAUSE_IMAGE = "registry.k8s.io/pause:3.10"

SHELL_IMAGES = ("busybox", "alpine")
"""Repositories whose images can stand in for a pause image."""

WAIT_IN_SHELL = (
    "sh",
    "-c",
    "trap 'exit 0' INT TERM; while :; do sleep 3600 & wait $!; done",
)
"""What a pause program does, for an image with a shell; its `wait` reaps orphans."""

SANDBOX_PULL_SECONDS = 60
"""How long the sandbox image may take to come before another one is used."""


class Images:
    """The images of a Docker engine."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def image_id(self, name: str) -> str | None:
        """Return the ID of an image, None if it is not here."""
        found = await self._inspect(name)
        return None if found is None else str(found["Id"])

    async def user(self, name: str) -> str:
        """Return the user that an image runs as, empty where it does not say."""
        found = await self._inspect(name)
        if found is None:
            raise ImageNotFoundError(f"no such image: {name}")
        return str(found["Config"].get("User") or "")

    async def pull(self, name: str, progress: Progress) -> PulledImage:
        """Pull an image, with the credentials of Docker's own configuration.

        Raises `ImageNotFoundError` where the registry does not know it.
        """
        reckoning = PullProgress()
        messages = self._client.follow(lambda api: api.open_pull(name))
        try:
            async with aclosing(messages):
                async for message in messages:
                    _raise_if_failed(message)
                    if text := reckoning.feed(message):
                        progress(text)
        except RefusedError as error:
            if error.status == NOT_FOUND:
                raise ImageNotFoundError(str(error)) from error
            raise
        found = await self._inspect(name)
        if found is None:
            raise ContainerRuntimeError(f"the pull of {name} broke off")
        return PulledImage(str(found["Id"]), int(found["Size"]))

    async def tags(self) -> list[str]:
        """Return all names that images here have."""
        images = await self._client.call(lambda api: api.images())
        return [tag for image in images for tag in image["RepoTags"] or ()]

    async def _inspect(self, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any]
            found = await self._client.call(lambda api: api.inspect_image(name))
        except RefusedError as error:
            if error.status == NOT_FOUND:
                return None
            raise
        return found


def _raise_if_failed(message: dict[str, Any]) -> None:
    if "error" not in message:
        return
    detail = message.get("errorDetail") or {}
    if detail.get("code") == NOT_FOUND:
        raise ImageNotFoundError(message["error"])
    raise ContainerRuntimeError(message["error"])


@dataclass(frozen=True, slots=True)
class SandboxChoice:
    """What sandboxes are made of, and why; an empty command is the image's own."""

    image: str
    command: tuple[str, ...]
    reason: str


class SandboxImage:
    """Finds an image for sandboxes, once.

    Where the wanted one is neither here nor can be pulled, another one that is here
    stands in, so that pods run without a registry.

    Args:
        images: the engine's images.
        wanted: the image that sandboxes should be made of.
    """

    def __init__(self, images: Images, wanted: str) -> None:
        self._images = images
        self._wanted = wanted
        self._choosing = asyncio.Lock()
        self.choice: SandboxChoice | None = None
        """What was chosen, once there was a sandbox to make."""

    async def choose(self) -> SandboxChoice:
        """Return what to make a sandbox of; raises when there is nothing."""
        async with self._choosing:
            if self.choice is None:
                self.choice = await self._find()
            return self.choice

    def forget(self) -> None:
        """Choose again next time: the image is gone."""
        self.choice = None

    async def _find(self) -> SandboxChoice:
        wanted = self._wanted
        if await self._images.image_id(wanted) is not None:
            return SandboxChoice(wanted, command_for(wanted), "already here")
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
            return SandboxChoice(wanted, command_for(wanted), "pulled")
        substitute = stand_in(await self._images.tags())
        if substitute is None:
            raise ContainerRuntimeError(
                f"the sandbox image {wanted} is not here and cannot be pulled: {why}"
            )
        reason = f"instead of {wanted}, which is not here: {why}"
        return SandboxChoice(substitute, command_for(substitute), reason)


def stand_in(tags: Iterable[str]) -> str | None:
    """Return the best of some images to make sandboxes of, None if none will do."""
    here = sorted(tags)
    for repository in ("pause", *SHELL_IMAGES):
        for tag in here:
            if _repository(tag) == repository:
                return tag
    return None


def command_for(image: str) -> tuple[str, ...]:
    """Return what a sandbox of an image runs, empty for the image's own program."""
    return WAIT_IN_SHELL if _repository(image) in SHELL_IMAGES else ()


def _repository(image: str) -> str:
    """Return the last part of an image's name, without tag and digest."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]
