"""Image garbage collection by a running session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from probetui.cli.images.inventory import ImageInventory
from probetui.cli.images.maintenance import ImageMaintenance
from probetui.cli.printing import NoteLevel, Notes
from probetui.k8s.runtime import ImageFilesystem
from probetui.kubelet.effects import PullImage
from tests.builders import START, a_pod
from tests.cli.images.fake_store import FakeImageStore
from tests.fakes import FakeClock

MINUTE = timedelta(minutes=1)
FULL_DISK = ImageFilesystem(1000, 100)


class Bench:
    """The image maintenance of a session, with its messages."""

    def __init__(self, *, collects: bool) -> None:
        self.clock = FakeClock()
        self.store = FakeImageStore(self.clock)
        self.messages: list[tuple[NoteLevel, str]] = []
        notes = Notes(
            quiet=False, show=lambda weight, text: self.messages.append((weight, text))
        )
        self.upkeep = ImageMaintenance(self.store, self.clock, notes, collects=collects)

    async def pull(self, name: str) -> str:
        runtime = self.upkeep.recording_pulls(self.store)
        operation = PullImage(a_pod(), name)
        return (await runtime.pull_image(operation, lambda _text: None)).image_id

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.upkeep.run())
        try:
            # It has done its first work when no task can continue any more.
            await self.clock.advance(timedelta())
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])


@pytest.fixture(autouse=True)
def state(home: Path) -> Path:
    """Have the notes in a folder of the test's."""
    return home / "state"


async def test_nothing_is_removed_by_default() -> None:
    bench = Bench(collects=False)
    await bench.pull("app:1")
    bench.store.filesystem = FULL_DISK

    async with bench.running():
        await bench.clock.advance(60 * MINUTE)

    assert list(bench.store.images) == ["sha256:app:1"]
    assert bench.messages == []


async def test_images_in_use_are_noted_every_five_minutes() -> None:
    bench = Bench(collects=False)
    image_id = await bench.pull("app:1")

    async with bench.running():
        bench.store.use(image_id, "web")
        await bench.clock.advance(5 * MINUTE)
        bench.store.use(image_id)
        await bench.clock.advance(5 * MINUTE)

    (found,) = (await ImageInventory(bench.store, bench.clock).refresh()).images
    assert found.record.last_used == START + 5 * MINUTE


async def test_a_shorter_session_notes_images_in_use_at_its_end() -> None:
    bench = Bench(collects=False)
    async with bench.running():
        bench.store.use(await bench.pull("app:1"), "web")
        await bench.clock.advance(MINUTE)

    await bench.upkeep.finish()

    bench.store.use("sha256:app:1")
    (found,) = (await ImageInventory(bench.store, bench.clock).refresh()).images
    assert found.record.last_used == START + MINUTE


async def test_a_store_without_an_id_is_reported_and_nothing_is_removed() -> None:
    bench = Bench(collects=True)
    bench.store.store_id = ""
    await bench.pull("app:1")
    bench.store.filesystem = FULL_DISK

    async with bench.running():
        await bench.clock.advance(60 * MINUTE)

    ((weight, text),) = bench.messages
    assert weight is NoteLevel.WARNING
    assert text.startswith("--image-gc: this runtime does not report which images")
    assert list(bench.store.images) == ["sha256:app:1"]


async def test_a_full_disk_is_freed_on_request_with_a_message() -> None:
    bench = Bench(collects=True)
    bench.store.bring("theirs:1")
    image_id = await bench.pull("app:1")

    async with bench.running():
        bench.store.filesystem = ImageFilesystem(100, 15)
        await bench.clock.advance(4 * MINUTE)
        before = list(bench.store.images)
        await bench.clock.advance(MINUTE)

    assert image_id in before
    assert list(bench.store.images) == ["sha256:theirs:1"]
    assert bench.messages == [(NoteLevel.NOTE, "removed the image app:1")]


async def test_failures_have_the_reasons_of_the_kubelets_events() -> None:
    bench = Bench(collects=True)
    bench.store.filesystem = None

    async with bench.running():
        once = list(bench.messages)
        await bench.clock.advance(5 * MINUTE)
        bench.store.filesystem = FULL_DISK
        await bench.clock.advance(5 * MINUTE)

    reasons = [(weight, text.partition(":")[0]) for weight, text in bench.messages]
    assert once == []
    assert reasons == [
        (NoteLevel.WARNING, "ImageGCFailed"),
        (NoteLevel.WARNING, "FreeDiskSpaceFailed"),
        (NoteLevel.WARNING, "ImageGCFailed"),
    ]


@pytest.mark.parametrize("collects", [True, False], ids=["collects", "only looks"])
async def test_a_runtime_that_does_not_answer_ends_nothing(*, collects: bool) -> None:
    bench = Bench(collects=collects)
    image_id = await bench.pull("app:1")
    bench.store.broken = True

    async with bench.running():
        await bench.clock.advance(5 * MINUTE)
        await bench.upkeep.finish()
        bench.store.broken = False
        bench.store.use(image_id, "web")
        await bench.clock.advance(5 * MINUTE)

    bench.store.use(image_id)
    (found,) = (await ImageInventory(bench.store, bench.clock).refresh()).images
    assert found.record.last_used == START + 10 * MINUTE
