"""The inventory of images that probetui pulled, and their garbage collection."""

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
from probetui.ports import Runtime
from tests.builders import START, a_pod
from tests.cli.images.fake_store import FakeImageStore
from tests.fakes import FakeClock

HOUR = timedelta(hours=1)
FULL_DISK = ImageFilesystem(1000, 100)


class Bench:
    """An image store, a session that pulls images, and the inventory."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.store = FakeImageStore(self.clock)
        self.folder = folder
        self.inventory = self.another()
        self.runtime = cast("Runtime", PullRecordingRuntime(self.store, self.inventory))

    def another(self) -> ImageInventory:
        """Return the inventory that the next process would have."""
        return ImageInventory(self.store, self.clock, self.folder)

    async def pull(self, name: str) -> str:
        """Pull an image as a session does; return its ID."""
        progress: list[str] = []
        operation = PullImage(a_pod(), name)
        pulled = await self.runtime.pull_image(operation, progress.append)
        assert progress
        return pulled.image_id

    async def ours(self) -> list[str]:
        found = await self.another().refresh()
        return [image.name for image in found.images]

    async def collect_all(self) -> list[str]:
        """Collect all images that can be removed; return the remaining ones."""
        await self.clock.advance(HOUR)
        await self.another().collect(ImageGcPolicy(), everything=True)
        return sorted(self.store.images)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "notes")


class TestWhatIsOurs:
    async def test_an_image_that_a_session_pulled_is_ours(self, bench: Bench) -> None:
        await bench.pull("app:1")

        (found,) = (await bench.another().refresh()).images
        assert found.name == "app:1"
        assert found.record.first_detected == START
        assert found.record.last_used == NEVER

    async def test_an_image_that_was_present_before_is_not_ours(
        self, bench: Bench
    ) -> None:
        bench.store.bring("app:1")

        await bench.pull("app:1")

        assert await bench.ours() == []
        assert await bench.collect_all() == ["sha256:app:1"]

    async def test_an_image_that_was_present_by_another_name_is_not_ours(
        self, bench: Bench
    ) -> None:
        bench.store.bring("theirs:1")
        bench.store.registry["app:1"] = "sha256:theirs:1"

        await bench.pull("app:1")

        assert await bench.ours() == []

    async def test_an_image_of_ours_is_still_ours_after_another_pull(
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

    async def test_an_image_that_another_user_tagged_is_never_removed(
        self, bench: Bench
    ) -> None:
        bench.store.tag(await bench.pull("app:1"), "precious:1")

        left = await bench.collect_all()

        (found,) = (await bench.inventory.refresh()).images
        assert found.foreign_names == ("precious:1",)
        assert left == ["sha256:app:1"]

    async def test_an_image_that_others_removed_and_pulled_again_is_not_ours(
        self, bench: Bench
    ) -> None:
        await bench.store.remove_image(await bench.pull("app:1"))
        bench.store.bring("app:1")

        assert await bench.ours() == []
        assert await bench.collect_all() == ["sha256:app:1"]

    async def test_the_note_of_a_removed_image_is_dropped(self, bench: Bench) -> None:
        await bench.store.remove_image(await bench.pull("app:1"))

        assert await bench.ours() == []
        assert list(bench.folder.rglob("*.json")) == []

    async def test_images_of_another_store_are_not_ours(self, bench: Bench) -> None:
        await bench.pull("app:1")
        bench.store.store_id = "../another"

        assert await bench.ours() == []
        assert await bench.collect_all() == ["sha256:app:1"]

    async def test_no_image_is_ours_in_a_store_without_an_id(
        self, bench: Bench
    ) -> None:
        bench.store.store_id = ""

        await bench.pull("app:1")

        assert await bench.ours() == []


class TestNotes:
    async def test_an_image_with_a_damaged_note_is_not_ours(self, bench: Bench) -> None:
        await bench.pull("app:1")
        (note,) = bench.folder.rglob("*.json")
        note.write_text(note.read_text()[:-9])

        assert await bench.ours() == []
        assert await bench.collect_all() == ["sha256:app:1"]

    async def test_a_pull_succeeds_if_no_note_can_be_written(
        self, bench: Bench
    ) -> None:
        bench.folder.write_text("a file, no folder")

        await bench.pull("app:1")

        assert list(bench.store.images) == ["sha256:app:1"]

    async def test_a_pull_succeeds_if_images_cannot_be_listed(
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

    async def test_nothing_is_written_if_nothing_was_pulled(self, bench: Bench) -> None:
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

    async def test_the_image_of_any_container_is_in_use(self, bench: Bench) -> None:
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

    async def test_only_our_images_are_removed_from_a_full_disk(
        self, bench: Bench
    ) -> None:
        bench.store.bring("theirs:1", size_bytes=500)
        await bench.pull("app:1")
        await bench.clock.advance(HOUR)
        bench.store.filesystem = FULL_DISK

        _, collected = await bench.inventory.collect(ImageGcPolicy())

        assert [record.image_id for record in collected.removed] == ["sha256:app:1"]
        assert collected.event == "FreeDiskSpaceFailed"
        assert list(bench.store.images) == ["sha256:theirs:1"]
        assert await bench.ours() == []

    async def test_a_dry_run_reports_the_same_and_removes_nothing(
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

    async def test_an_image_that_could_not_be_removed_stays_ours(
        self, bench: Bench
    ) -> None:
        bench.store.refused.add(await bench.pull("app:1"))

        assert await bench.collect_all() == ["sha256:app:1"]
        assert await bench.ours() == ["app:1"]

    async def test_a_recent_image_is_kept(self, bench: Bench) -> None:
        await bench.pull("app:1")
        await bench.clock.advance(timedelta(minutes=1))

        await bench.inventory.collect(ImageGcPolicy(), everything=True)

        assert await bench.ours() == ["app:1"]

    async def test_a_disk_that_cannot_be_measured_is_an_error_and_nothing_is_removed(
        self, bench: Bench
    ) -> None:
        await bench.pull("app:1")
        bench.store.filesystem = None

        _, collected = await bench.inventory.collect(ImageGcPolicy())

        assert collected.error == "the disk cannot be measured"
        assert await bench.ours() == ["app:1"]
