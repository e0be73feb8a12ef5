"""What a session does about images while it lasts."""

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
    """A session's upkeep, with what it told."""

    def __init__(self, *, collects: bool) -> None:
        self.clock = FakeClock()
        self.store = FakeImageStore(self.clock)
        self.told: list[tuple[NoteLevel, str]] = []
        notes = Notes(
            quiet=False, show=lambda weight, text: self.told.append((weight, text))
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
            # What it does at once is done when nobody can go on any more.
            await self.clock.advance(timedelta())
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])


@pytest.fixture(autouse=True)
def state(home: Path) -> Path:
    """Have the notes in a folder of the test's."""
    return home / "state"


async def test_unless_it_is_asked_for_nothing_is_removed() -> None:
    bench = Bench(collects=False)
    await bench.pull("app:1")
    bench.store.filesystem = FULL_DISK

    async with bench.running():
        await bench.clock.advance(60 * MINUTE)

    assert list(bench.store.images) == ["sha256:app:1"]
    assert bench.told == []


async def test_every_five_minutes_it_sees_what_is_used() -> None:
    bench = Bench(collects=False)
    image_id = await bench.pull("app:1")

    async with bench.running():
        bench.store.use(image_id, "web")
        await bench.clock.advance(5 * MINUTE)
        bench.store.use(image_id)
        await bench.clock.advance(5 * MINUTE)

    (found,) = (await ImageInventory(bench.store, bench.clock).refresh()).images
    assert found.record.last_used == START + 5 * MINUTE


async def test_a_session_shorter_than_that_looks_at_its_end() -> None:
    bench = Bench(collects=False)
    async with bench.running():
        bench.store.use(await bench.pull("app:1"), "web")
        await bench.clock.advance(MINUTE)

    await bench.upkeep.finish()

    bench.store.use("sha256:app:1")
    (found,) = (await ImageInventory(bench.store, bench.clock).refresh()).images
    assert found.record.last_used == START + MINUTE


async def test_where_ours_cannot_be_told_from_others_that_is_said_and_none_goes() -> (
    None
):
    bench = Bench(collects=True)
    bench.store.store_id = ""
    await bench.pull("app:1")
    bench.store.filesystem = FULL_DISK

    async with bench.running():
        await bench.clock.advance(60 * MINUTE)

    ((weight, text),) = bench.told
    assert weight is NoteLevel.WARNING
    assert text.startswith("--image-gc: this runtime does not report which images")
    assert list(bench.store.images) == ["sha256:app:1"]


async def test_asked_for_it_frees_a_full_disk_and_says_so() -> None:
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
    assert bench.told == [(NoteLevel.NOTE, "removed the image app:1")]


async def test_failures_are_told_as_the_kubelets_events() -> None:
    bench = Bench(collects=True)
    bench.store.filesystem = None

    async with bench.running():
        once = list(bench.told)
        await bench.clock.advance(5 * MINUTE)
        bench.store.filesystem = FULL_DISK
        await bench.clock.advance(5 * MINUTE)

    reasons = [(weight, text.partition(":")[0]) for weight, text in bench.told]
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
