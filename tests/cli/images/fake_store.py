"""An image store in memory that behaves like Docker's."""

from __future__ import annotations

import itertools

from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ImageFilesystem, StoredImage
from probetui.kubelet.effects import PulledImage, PullImage
from probetui.ports import Progress
from tests.fakes import FakeClock, FakeEngine, FakeRuntime

EMPTY_DISK = ImageFilesystem(1000, 900)


class FakeImageStore(FakeRuntime):
    """A runtime with images; in its registry every name has its own image.

    Attributes:
        images: the local images, by ID.
        registry: IDs by name, for names of the same image.
        filesystem: the disk; None if it cannot be measured.
        refused: IDs of images that the store refuses to remove.
        store_id: the ID of this store.
        broken: whether every call fails.
    """

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(FakeEngine(clock))
        self.images: dict[str, StoredImage] = {}
        self.registry: dict[str, str] = {}
        self.filesystem: ImageFilesystem | None = EMPTY_DISK
        self.refused: set[str] = set()
        self.store_id = "store"
        self.broken = False
        self._copies: dict[str, str] = {}
        self._numbers = itertools.count()

    def bring(self, name: str, size_bytes: int = 10) -> str:
        """Pull an image without probetui; return its ID."""
        image_id = self.registry.get(name, f"sha256:{name}")
        if image_id not in self.images:
            self.images[image_id] = StoredImage(image_id, (), size_bytes)
            self._copies[image_id] = f"copy {next(self._numbers)}"
        self.tag(image_id, name)
        return image_id

    def tag(self, image_id: str, name: str) -> None:
        """Add a name to an image."""
        found = self.images[image_id]
        if name not in found.names:
            self.images[image_id] = replace(found, names=(*found.names, name))

    def use(self, image_id: str, *containers: str) -> None:
        """Set the containers that use an image."""
        self.images[image_id] = replace(self.images[image_id], used_by=containers)

    async def pull_image(self, operation: PullImage, progress: Progress) -> PulledImage:
        progress("pulling")
        image_id = self.bring(operation.image)
        return PulledImage(image_id, self.images[image_id].size_bytes)

    async def image_store_id(self) -> str:
        self._answer()
        return self.store_id

    async def list_images(self) -> tuple[StoredImage, ...]:
        self._answer()
        return tuple(self.images.values())

    async def image_copy(self, image_id: str) -> str | None:
        self._answer()
        return self._copies[image_id] if image_id in self.images else None

    async def remove_image(self, image_id: str) -> None:
        self._answer()
        if image_id in self.refused or self.images[image_id].used_by:
            raise ContainerRuntimeError(f"{image_id} is busy")
        del self.images[image_id]

    async def image_filesystem(self) -> ImageFilesystem:
        self._answer()
        if self.filesystem is None:
            raise ContainerRuntimeError("the disk cannot be measured")
        return self.filesystem

    def _answer(self) -> None:
        if self.broken:
            raise ContainerRuntimeError("gone", unreachable=True)
