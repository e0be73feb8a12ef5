"""Which images are ours, and what becomes of them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from probetui.cli.images.inventory import ImageInventory, PullRecordingRuntime
from probetui.errors import RecordError
from probetui.k8s.runtime import ImageFilesystem
from probetui.kubelet.effects import PullImage
from probetui.kubelet.images.image_gc_manager import NEVER, ImageGcPolicy
from probetui.ports import ImageStore, Runtime
from tests.builders import START, a_pod
from tests.cli.images.fake_store import FakeImageStore
from tests.fakes import FakeClock

HOUR = timedelta(hours=1)
FULL_DISK = ImageFilesystem(1000, 100)


class Bench:
    """A store of images, a session that pulls, and what is noted of it."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.store = FakeImageStore(self.clock)
        self.folder = folder
        self.inventory = self.another()
        self.runtime = cast(
            "Runtime", PullRecordingRuntime(self.store, self.store, self.inventory)
        )

    def another(self) -> ImageInventory:
        """Return what the next probetui would have."""
        return ImageInventory(self.store, self.clock, self.folder)

    async def pull(self, name: str) -> str:
        """Pull an image as a session does; return its ID."""
        told: list[str] = []
        operation = PullImage(a_pod(), name)
        pulled = await self.runtime.pull_image(operation, told.append)
        assert told
        return pulled.image_id

    async def ours(self) -> list[str]:
        found = await self.another().refresh()
        return [image.name for image in found.images]

    async def collect_all(self) -> list[str]:
        """Collect all that may be; return what is left in the store."""
        await self.clock.advance(HOUR)
        await self.another().collect(ImageGcPolicy(), everything=True)
        return sorted(self.store.images)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "notes")


def test_a_store_of_images_is_known_by_what_it_can(bench: Bench) -> None:
    assert isinstance(bench.store, ImageStore)


class TestWhatIsOurs:
    async def test_an_image_that_a_session_brought_is(self, bench: Bench) -> None:
        await bench.pull("app:1")

        (found,) = (await bench.another().refresh()).images
        assert found.name == "app:1"
        assert found.record.first_detected == START
        assert found.record.last_used == NEVER

    async def test_an_image_that_was_here_before_is_not(self, bench: Bench) -> None:
        bench.store.bring("app:1")

        await bench.pull("app:1")

        assert await bench.ours() == []
        assert await bench.collect_all() == ["sha256:app:1"]

    async def test_an_image_that_was_here_by_another_name_is_not(
        self, bench: Bench
    ) -> None:
        bench.store.bring("theirs:1")
        bench.store.registry["app:1"] = "sha256:theirs:1"

        await bench.pull("app:1")

        assert await bench.ours() == []

    async def test_an_image_of_ours_stays_ours_when_it_is_pulled_again(
        self, bench: Bench
    ) -> None:
        await bench.pull("app:1")
        await bench.clock.advance(HOUR)

        await bench.pull("app:1")

        (found,) = (await bench.inventory.refresh()).images
        assert found.record.first_detected == START

    async def test_a_second_name_that_we_pulled_is_ours_as_well(
        self, bench: Bench
    ) -> None:
        bench.store.registry["app:2"] = await bench.pull("app:1")

        await bench.pull("app:2")

        (found,) = (await bench.inventory.refresh()).images
        assert found.stored.names == ("app:1", "app:2")
        assert found.foreign_names == ()

    async def test_an_image_that_somebody_else_named_too_is_never_removed(
        self, bench: Bench
    ) -> None:
        bench.store.tag(await bench.pull("app:1"), "precious:1")

        left = await bench.collect_all()

        (found,) = (await bench.inventory.refresh()).images
        assert found.foreign_names == ("precious:1",)
        assert left == ["sha256:app:1"]

    async def test_an_image_that_others_removed_and_pulled_anew_is_theirs(
        self, bench: Bench
    ) -> None:
        await bench.store.remove_image(await bench.pull("app:1"))
        bench.store.bring("app:1")

        assert await bench.ours() == []
        assert await bench.collect_all() == ["sha256:app:1"]

    async def test_an_image_that_is_gone_is_forgotten(self, bench: Bench) -> None:
        await bench.store.remove_image(await bench.pull("app:1"))

        assert await bench.ours() == []
        assert list(bench.folder.rglob("*.json")) == []

    async def test_images_of_another_store_are_not(self, bench: Bench) -> None:
        await bench.pull("app:1")
        bench.store.store_id = "../another"

        assert await bench.ours() == []
        assert await bench.collect_all() == ["sha256:app:1"]

    async def test_in_a_store_that_cannot_be_told_from_others_none_is(
        self, bench: Bench
    ) -> None:
        bench.store.store_id = ""

        await bench.pull("app:1")

        assert await bench.ours() == []


class TestNotes:
    async def test_a_note_that_is_no_longer_whole_makes_an_image_nobodys(
        self, bench: Bench
    ) -> None:
        await bench.pull("app:1")
        (note,) = bench.folder.rglob("*.json")
        note.write_text(note.read_text()[:-9])

        assert await bench.ours() == []
        assert await bench.collect_all() == ["sha256:app:1"]

    async def test_a_pull_goes_on_where_nothing_can_be_noted(
        self, bench: Bench
    ) -> None:
        bench.folder.write_text("a file, no folder")

        await bench.pull("app:1")

        assert list(bench.store.images) == ["sha256:app:1"]

    async def test_a_pull_goes_on_though_the_images_cannot_be_listed(
        self, bench: Bench
    ) -> None:
        bench.store.broken = True
        await bench.pull("app:1")
        bench.store.broken = False

        assert await bench.ours() == []

    async def test_notes_that_cannot_be_changed_are_an_error(
        self, bench: Bench
    ) -> None:
        await bench.pull("app:1")
        (lock,) = bench.folder.rglob("lock")
        lock.unlink()
        lock.mkdir()

        with pytest.raises(RecordError, match="cannot be changed: it is a directory"):
            await bench.another().refresh()

    async def test_nothing_is_written_where_nothing_was_pulled(
        self, bench: Bench
    ) -> None:
        bench.store.bring("theirs:1")

        await bench.inventory.refresh()

        assert not bench.folder.exists()


class TestUse:
    async def test_the_next_session_knows_when_an_image_was_last_used(
        self, bench: Bench
    ) -> None:
        image_id = await bench.pull("app:1")
        bench.store.use(image_id, "somebody")
        await bench.clock.advance(HOUR)
        await bench.inventory.refresh()
        bench.store.use(image_id)
        await bench.clock.advance(HOUR)

        (found,) = (await bench.another().refresh()).images

        assert found.record.last_used == START + HOUR

    async def test_what_any_container_has_is_in_use(self, bench: Bench) -> None:
        bench.store.use(await bench.pull("app:1"), "a stranger")
        await bench.pull("app:2")

        assert await bench.collect_all() == ["sha256:app:1"]


class TestCollection:
    async def test_nothing_is_removed_while_the_disk_is_not_full(
        self, bench: Bench
    ) -> None:
        await bench.pull("app:1")
        await bench.clock.advance(HOUR)

        _, collected = await bench.inventory.collect(ImageGcPolicy())

        assert collected.removed == ()
        assert list(bench.store.images) == ["sha256:app:1"]

    async def test_a_full_disk_costs_ours_and_never_others(self, bench: Bench) -> None:
        bench.store.bring("theirs:1", size_bytes=500)
        await bench.pull("app:1")
        await bench.clock.advance(HOUR)
        bench.store.filesystem = FULL_DISK

        _, collected = await bench.inventory.collect(ImageGcPolicy())

        assert [record.image_id for record in collected.removed] == ["sha256:app:1"]
        assert collected.event == "FreeDiskSpaceFailed"
        assert list(bench.store.images) == ["sha256:theirs:1"]
        assert await bench.ours() == []

    async def test_a_dry_run_tells_the_same_and_removes_nothing(
        self, bench: Bench
    ) -> None:
        for name in ("app:1", "app:2"):
            await bench.pull(name)
        await bench.clock.advance(HOUR)

        _, dry = await bench.inventory.collect(
            ImageGcPolicy(), everything=True, dry_run=True
        )

        assert len(bench.store.images) == 2
        _, real = await bench.inventory.collect(ImageGcPolicy(), everything=True)
        assert dry == real
        assert bench.store.images == {}

    async def test_an_image_that_is_not_removed_stays_ours(self, bench: Bench) -> None:
        bench.store.refused.add(await bench.pull("app:1"))

        assert await bench.collect_all() == ["sha256:app:1"]
        assert await bench.ours() == ["app:1"]

    async def test_a_young_image_waits(self, bench: Bench) -> None:
        await bench.pull("app:1")
        await bench.clock.advance(timedelta(minutes=1))

        await bench.inventory.collect(ImageGcPolicy(), everything=True)

        assert await bench.ours() == ["app:1"]

    async def test_a_disk_that_cannot_be_measured_is_an_error_and_nothing_goes(
        self, bench: Bench
    ) -> None:
        await bench.pull("app:1")
        bench.store.filesystem = None

        _, collected = await bench.inventory.collect(ImageGcPolicy())

        assert collected.error == "the disk cannot be measured"
        assert await bench.ours() == ["app:1"]
