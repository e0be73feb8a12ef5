"""Image garbage collection: which images are removed, in which order.

Source: images/image_gc_manager.go, v1.32.10.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from probetui.k8s.runtime import ImageFilesystem, StoredImage
from probetui.kubelet.runtime.go_format import aggregate_errors, go_duration

FREE_DISK_SPACE_FAILED = "FreeDiskSpaceFailed"
INVALID_DISK_CAPACITY = "InvalidDiskCapacity"
IMAGE_GC_FAILED = "ImageGCFailed"

GC_PERIOD = timedelta(minutes=5)
"""How often images are collected, and the inventory is refreshed.

Source: kubelet.go, v1.32.10, ImageGCPeriod.
"""

ALL_BYTES = 2**63 - 1
"""The number of bytes to free when all unused images are to be removed."""

NEVER = datetime.min.replace(tzinfo=UTC)
"""When an image was last used that was never seen in use; Go's zero time."""


class ImageGcPolicy(Struct, frozen=True):
    """When and which images to collect; the defaults are the kubelet's.

    Source: apis/config/v1beta1/defaults.go, v1.32.10.

    Attributes:
        high_threshold_percent: collect at this use of the disk and above.
        low_threshold_percent: stop when this use is reached.
        minimum_age: how long an image is left alone after it was first seen.
        maximum_age: remove what was not used for longer; zero for never.
    """

    high_threshold_percent: int = 85
    low_threshold_percent: int = 80
    minimum_age: timedelta = timedelta(minutes=2)
    maximum_age: timedelta = timedelta()


class ImageRecord(Struct, frozen=True):
    """When an image was first detected and last used."""

    image_id: str
    first_detected: datetime
    last_used: datetime = NEVER
    size_bytes: int = 0
    is_pinned: bool = False


class RemoveImage(Struct, frozen=True):
    """A step of the collection: remove an image."""

    record: ImageRecord


class MeasureFilesystem(Struct, frozen=True):
    """A step of the collection: measure the use of the disk."""


class GcStepResult(Struct, frozen=True):
    """The result of a step; `error` is empty if it succeeded."""

    error: str = ""
    filesystem: ImageFilesystem | None = None


class GcResult(Struct, frozen=True):
    """The result of a collection.

    Attributes:
        removed: what is gone, in this order.
        error: why the collection fell short; empty if it did not.
        event: the reason of the kubelet's event about it; empty for none.
        filesystem: the use of the disk; None if it was not measured or has no capacity.
    """

    removed: tuple[ImageRecord, ...] = ()
    error: str = ""
    event: str = ""
    filesystem: ImageFilesystem | None = None

    @property
    def freed_bytes(self) -> int:
        """The size of the removed images, shared layers counted for each."""
        return sum(record.size_bytes for record in self.removed)


GarbageCollection = Generator[RemoveImage | MeasureFilesystem, GcStepResult, GcResult]
"""A generator that yields operations and is sent their results."""


def detect_images(
    records: Mapping[str, ImageRecord],
    images: Iterable[StoredImage],
    in_use: Collection[str],
    now: datetime,
) -> dict[str, ImageRecord]:
    """Return the records of the present images, by ID.

    Args:
        records: those of the last time, by ID.
        images: the present images.
        in_use: IDs of images that containers have, dead or alive.
        now: the time of the listing.

    Source: image_gc_manager.go, v1.32.10, detectImages.
    """
    detected = {}
    for image in images:
        record = records.get(image.image_id) or ImageRecord(image.image_id, now)
        detected[image.image_id] = replace(
            record,
            last_used=now if image.image_id in in_use else record.last_used,
            size_bytes=image.size_bytes,
            is_pinned=image.is_pinned,
        )
    return detected


def eviction_order(
    records: Mapping[str, ImageRecord], in_use: Collection[str]
) -> tuple[ImageRecord, ...]:
    """Return the removable images, least recently used first.

    Of those last used at the same time, the one that was detected first is the first.

    Source: image_gc_manager.go, v1.32.10, imagesInEvictionOrder, byLastUsedAndDetected.
    """
    free = [
        record
        for record in records.values()
        if record.image_id not in in_use and not record.is_pinned
    ]
    # Go leaves the order of equal records undefined; the ID makes it stable.
    return tuple(
        sorted(
            free,
            key=lambda record: (
                record.last_used,
                record.first_detected,
                record.image_id,
            ),
        )
    )


def collect_garbage(
    records: Mapping[str, ImageRecord],
    in_use: Collection[str],
    policy: ImageGcPolicy,
    *,
    now: datetime,
    began_at: datetime,
) -> GarbageCollection:
    """Remove images over the maximum age, then the least used on a full disk.

    Args:
        records: of all images that may be touched, as detected now.
        in_use: IDs of images that containers have, dead or alive.
        policy: when to collect and what.
        now: when this happens.
        began_at: the time since which the use of images is known.

    Source: image_gc_manager.go, v1.32.10, GarbageCollect.
    """
    images = eviction_order(records, in_use)
    old = yield from _free_old_images(images, policy.maximum_age, now, began_at)
    if old.error:
        return old
    measured = yield MeasureFilesystem()
    filesystem = measured.filesystem
    if filesystem is None:
        return GcResult(old.removed, measured.error)
    capacity = filesystem.capacity_bytes
    if capacity == 0:
        error = "invalid capacity 0 on image filesystem"
        return GcResult(old.removed, error, INVALID_DISK_CAPACITY)
    if usage_percent(filesystem) < policy.high_threshold_percent:
        return GcResult(old.removed, filesystem=filesystem)
    available = min(filesystem.available_bytes, capacity)
    bytes_to_free = capacity * (100 - policy.low_threshold_percent) // 100 - available
    remaining = [image for image in images if image not in old.removed]
    freed = yield from _free_space(remaining, bytes_to_free, now, policy.minimum_age)
    removed = old.removed + freed.removed
    if freed.error or freed.freed_bytes >= bytes_to_free:
        return GcResult(removed, freed.error, filesystem=filesystem)
    error = (
        "Failed to garbage collect required amount of images. "
        f"Attempted to free {bytes_to_free} bytes, "
        f"but only found {freed.freed_bytes} bytes eligible to free."
    )
    return GcResult(removed, error, FREE_DISK_SPACE_FAILED, filesystem)


def delete_unused_images(
    records: Mapping[str, ImageRecord],
    in_use: Collection[str],
    policy: ImageGcPolicy,
    *,
    now: datetime,
) -> GarbageCollection:
    """Remove all unused images over the minimum age, whatever the disk's use.

    Source: image_gc_manager.go, v1.32.10, DeleteUnusedImages.
    """
    images = eviction_order(records, in_use)
    return (yield from _free_space(images, ALL_BYTES, now, policy.minimum_age))


def usage_percent(filesystem: ImageFilesystem) -> int:
    """Return the use of the disk in percent; its capacity must not be 0."""
    capacity = filesystem.capacity_bytes
    return 100 - min(filesystem.available_bytes, capacity) * 100 // capacity


def _free_old_images(
    images: Sequence[ImageRecord],
    maximum_age: timedelta,
    now: datetime,
    began_at: datetime,
) -> GarbageCollection:
    """Remove images unused for longer than the maximum age.

    Quirk, kept: an image never seen in use counts as last used in the year 1, so that
    the minimum age does not protect it.

    Source: image_gc_manager.go, v1.32.10, freeOldImages.
    """
    if not maximum_age or now - began_at <= maximum_age:
        return GcResult()
    removed, errors = [], []
    for record in images:
        if now - record.last_used > maximum_age:
            answer = yield RemoveImage(record)
            if answer.error:
                errors.append(answer.error)
            else:
                removed.append(record)
    if not errors:
        return GcResult(tuple(removed))
    return GcResult(
        tuple(removed),
        f"wanted to free images older than {go_duration(maximum_age)}, "
        f"encountered errors in image deletion: {aggregate_errors(errors)}",
    )


def _free_space(
    images: Sequence[ImageRecord],
    wanted_bytes: int,
    now: datetime,
    minimum_age: timedelta,
) -> GarbageCollection:
    """Remove images until enough space is free; continue after errors.

    Source: image_gc_manager.go, v1.32.10, freeSpace.
    """
    removed, errors, freed_bytes = [], [], 0
    for record in images:
        was_just_used = record.last_used >= now
        is_young = now - record.first_detected < minimum_age
        if was_just_used or is_young:
            continue
        answer = yield RemoveImage(record)
        if answer.error:
            errors.append(answer.error)
            continue
        removed.append(record)
        freed_bytes += record.size_bytes
        if freed_bytes >= wanted_bytes:
            break
    if not errors:
        return GcResult(tuple(removed))
    return GcResult(
        tuple(removed),
        f"wanted to free {wanted_bytes} bytes, but freed {freed_bytes} bytes space "
        f"with errors in image deletion: {aggregate_errors(errors)}",
    )


class FailureStreak:
    """Decides which failed collections cause an event: all but the first in a row.

    Source: kubelet.go, v1.32.10, StartGarbageCollection.
    """

    def __init__(self) -> None:
        self._failed_before = False

    def judge(self, collected: GcResult) -> str:
        """Return the reason of the event about a collection, empty for none."""
        again = bool(collected.error) and self._failed_before
        self._failed_before = bool(collected.error)
        return IMAGE_GC_FAILED if again else ""
