"""Images as a runtime keeps them, and the disk that they are on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredImage:
    """An image that is here.

    Attributes:
        image_id: what names its content.
        names: tags and digests that lead to it, as the runtime writes them.
        size_bytes: what it takes, with what it shares with others.
        used_by: names of containers made of it, dead ones and other people's too.
        is_pinned: it may not be collected, whoever uses it.
    """

    image_id: str
    names: tuple[str, ...] = ()
    size_bytes: int = 0
    used_by: tuple[str, ...] = ()
    is_pinned: bool = False


@dataclass(frozen=True, slots=True)
class ImageFilesystem:
    """The disk that images are on: how large it is, how much of it is to be had."""

    capacity_bytes: int
    available_bytes: int
