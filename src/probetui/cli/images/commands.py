"""What `probetui images` and `probetui images gc` do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from probetui.cli.images.inventory import ImageInventory, Inventory, InventoryImage
from probetui.cli.option_groups import pick_options
from probetui.cli.option_values import RuntimeOptions
from probetui.cli.printing import Notes, print_line
from probetui.cli.reports import emit
from probetui.cli.runtimes import DOCKER, open_runtime
from probetui.drive.clocks import SystemClock
from probetui.durations import format_age
from probetui.errors import UsageError
from probetui.k8s.api.codec import format_time
from probetui.kubelet.images.image_gc_manager import (
    NEVER,
    GcResult,
    ImageGcPolicy,
    usage_percent,
)
from probetui.ports import Clock
from probetui.presentation.report import Part, Table
from probetui.presentation.text.cells import format_bytes

if TYPE_CHECKING:
    from probetui.cli.commands.management import CollectionOptions, ImagesOptions
    from probetui.cli.options import DockerEndpointOptions

_REFUSED = 1
_SHORT_ID = 12


class ImagesReport(Struct, frozen=True):
    """The images that probetui pulled."""

    inventory: Inventory
    has_headings: bool

    def value(self) -> list[dict[str, object]]:
        """Return what is known of each image."""
        return [_as_dict(image) for image in self.inventory.images]

    def parts(self, form: str) -> Iterator[Part]:
        """Yield names, or a table with more columns in the wide form."""
        images, now = self.inventory.images, self.inventory.taken_at
        if form == "name":
            yield from (f"image/{image.name}" for image in images)
        else:
            rows = [_row(image, now, wide=form == "wide") for image in images]
            yield Table(rows, self.has_headings)


async def list_images(options: ImagesOptions) -> int:
    """Print the images that probetui pulled; return the exit status."""
    async with _open_inventory(options, SystemClock()) as images:
        inventory = await images.refresh()
    report = ImagesReport(inventory, has_headings=not options.no_headers)
    emit(report, options.output)
    if not inventory.images:
        Notes(quiet=options.quiet).note("no images pulled by probetui")
    return 0


async def collect_images(options: CollectionOptions) -> int:
    """Remove images as the kubelet would; return the exit status.

    Raises:
        UsageError: the thresholds make no sense.
    """
    policy = _policy(options)
    notes = Notes(quiet=options.quiet)
    everything, dry_run = options.everything, options.dry_run
    async with _open_inventory(options, SystemClock()) as images:
        inventory, collected = await images.collect(
            policy, everything=everything, dry_run=dry_run
        )
    _print_removed(inventory, collected, dry_run=dry_run)
    notes.note(_summary(collected, policy, dry_run=dry_run))
    if collected.error:
        reason = f"{collected.event}: " if collected.event else ""
        notes.error(f"{reason}{collected.error}")
        return _REFUSED
    return 0


@asynccontextmanager
async def _open_inventory(
    options: DockerEndpointOptions, clock: Clock
) -> AsyncIterator[ImageInventory]:
    # A CRI runtime does not say which of its images are ours.
    docker = pick_options(RuntimeOptions, options).replace(runtime=DOCKER)
    runtime = await open_runtime(docker, clock)
    try:
        yield ImageInventory(runtime, clock)
    finally:
        await runtime.close()


def _policy(options: CollectionOptions) -> ImageGcPolicy:
    usual = ImageGcPolicy()
    high, low = options.high, options.low
    if options.everything and (high, low) != (None, None):
        raise UsageError("--all ignores the disk usage: --high and --low do not apply")
    if high is None:
        high = usual.high_threshold_percent
    if low is None:
        low = min(usual.low_threshold_percent, high - 1)
    if low >= high:
        raise UsageError(f"--low {low} must be less than --high {high}")
    return ImageGcPolicy(high, low, options.min_age, options.max_age)


def _print_removed(inventory: Inventory, collected: GcResult, *, dry_run: bool) -> None:
    names = {image.record.image_id: image.name for image in inventory.images}
    verb = "would remove" if dry_run else "removed"
    for record in collected.removed:
        print_line(
            f"{verb} {names[record.image_id]} ({format_bytes(record.size_bytes)})"
        )


def _summary(collected: GcResult, policy: ImageGcPolicy, *, dry_run: bool) -> str:
    freed = format_bytes(collected.freed_bytes)
    total = f"{freed} would be freed" if dry_run else f"freed {freed}"
    filesystem = collected.filesystem
    if filesystem is None:
        return total
    return (
        f"{total}; the disk with the images was {usage_percent(filesystem)}% full, "
        f"images are collected from {policy.high_threshold_percent}%"
    )


def _row(image: InventoryImage, now: datetime, *, wide: bool) -> dict[str, str]:
    """Return the cells of a table by the headings of their columns."""
    stored, record = image.stored, image.record
    row = {
        "IMAGE": image.name,
        "ID": stored.image_id.removeprefix("sha256:")[:_SHORT_ID],
        "SIZE": format_bytes(stored.size_bytes),
        "PULLED": format_age(now - record.first_detected),
        "LAST-USED": _last_used(image, now),
        "USED-BY": _several(stored.used_by),
    }
    if wide:
        row["ID"] = stored.image_id
        row["USED-BY"] = ",".join(stored.used_by) or "-"
        row["NAMES"] = ",".join(stored.names) or "-"
        row["STAYS"] = _why_it_stays(image)
    return row


def _last_used(image: InventoryImage, now: datetime) -> str:
    if image.stored.used_by:
        return "now"
    last_used = image.record.last_used
    return "-" if last_used == NEVER else format_age(now - last_used)


def _several(names: Sequence[str]) -> str:
    match names:
        case []:
            return "-"
        case [only]:
            return only
        case [first, *others]:
            return f"{first} +{len(others)}"
        case _:
            return ",".join(names)


def _why_it_stays(image: InventoryImage) -> str:
    if image.stored.is_pinned:
        return "sandbox-image"
    if image.foreign_names:
        return "named-by-others"
    return "in-use" if image.stored.used_by else "-"


def _as_dict(image: InventoryImage) -> dict[str, object]:
    last_used = image.record.last_used
    return {
        "name": image.name,
        "id": image.stored.image_id,
        "names": list(image.stored.names),
        "sizeBytes": image.stored.size_bytes,
        "pulledAt": format_time(image.record.first_detected),
        "lastUsed": None if last_used == NEVER else format_time(last_used),
        "usedBy": list(image.stored.used_by),
        "pinned": image.stored.is_pinned,
        "foreignNames": list(image.foreign_names),
    }
