"""The images that the kubelet would remove, and its events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.k8s.runtime import ImageFilesystem, StoredImage
from probetui.kubelet.images.image_gc_manager import (
    NEVER,
    FailureStreak,
    GarbageCollection,
    GcResult,
    GcStepResult,
    ImageGcPolicy,
    ImageRecord,
    MeasureFilesystem,
    RemoveImage,
    collect_garbage,
    delete_unused_images,
    detect_images,
    eviction_order,
    usage_percent,
)
from tests.builders import START

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
NOW = START + 10 * HOUR
FULL = ImageFilesystem(1000, 100)
"""A disk that is 90 % full: 100 bytes have to go to come to 80 %."""


def a_record(
    image_id: str,
    *,
    detected: timedelta = 9 * HOUR,
    used: timedelta | None = None,
    size_bytes: int = 10,
    is_pinned: bool = False,
) -> ImageRecord:
    """Return a record with ages instead of instants."""
    last_used = NEVER if used is None else NOW - used
    return ImageRecord(image_id, NOW - detected, last_used, size_bytes, is_pinned)


def by_id(*records: ImageRecord) -> dict[str, ImageRecord]:
    return {record.image_id: record for record in records}


def carried_out(
    steps: GarbageCollection,
    filesystem: ImageFilesystem | None = FULL,
    refused: Mapping[str, str] | None = None,
) -> GcResult:
    """Carry out a collection on a disk; some removals are refused with a text."""
    try:
        step = next(steps)
        while True:
            step = steps.send(answered(step, filesystem, refused or {}))
    except StopIteration as end:
        collected: GcResult = end.value
        return collected


def answered(
    step: RemoveImage | MeasureFilesystem,
    filesystem: ImageFilesystem | None,
    refused: Mapping[str, str],
) -> GcStepResult:
    match step:
        case RemoveImage(record):
            return GcStepResult(refused.get(record.image_id, ""))
        case MeasureFilesystem():
            return GcStepResult("" if filesystem else "no such disk", filesystem)


def collected(
    *records: ImageRecord,
    in_use: frozenset[str] = frozenset(),
    policy: ImageGcPolicy | None = None,
    filesystem: ImageFilesystem | None = FULL,
    refused: Mapping[str, str] | None = None,
    running: timedelta = 10 * HOUR,
) -> GcResult:
    steps = collect_garbage(
        by_id(*records),
        in_use,
        policy or ImageGcPolicy(),
        now=NOW,
        began_at=NOW - running,
    )
    return carried_out(steps, filesystem, refused)


def removed(result: GcResult) -> str:
    return " ".join(record.image_id for record in result.removed)


class TestDetection:
    def test_a_new_image_is_detected_now_and_was_never_used(self) -> None:
        found = detect_images({}, [StoredImage("a", size_bytes=7)], (), NOW)

        assert found == {"a": ImageRecord("a", NOW, NEVER, 7)}

    def test_an_image_in_use_is_used_now(self) -> None:
        known = by_id(a_record("a"), a_record("b", used=HOUR))

        found = detect_images(known, [StoredImage("a"), StoredImage("b")], {"a"}, NOW)

        assert found["a"].last_used == NOW
        assert found["b"].last_used == NOW - HOUR
        assert found["a"].first_detected == NOW - 9 * HOUR

    def test_an_image_that_is_gone_is_forgotten(self) -> None:
        assert detect_images(by_id(a_record("a")), [], (), NOW) == {}

    def test_size_and_pin_are_those_of_now(self) -> None:
        known = by_id(a_record("a", size_bytes=1))
        image = StoredImage("a", size_bytes=2, is_pinned=True)

        found = detect_images(known, [image], (), NOW)

        assert found["a"] == a_record("a", size_bytes=2, is_pinned=True)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param(
            (a_record("a", used=HOUR), a_record("b", used=2 * HOUR)),
            "b a",
            id="used least recently",
        ),
        pytest.param(
            (a_record("a", used=9 * HOUR), a_record("b")), "b a", id="never used"
        ),
        pytest.param(
            (a_record("a", detected=HOUR), a_record("b", detected=2 * HOUR)),
            "b a",
            id="of those used at once the first detected",
        ),
        pytest.param((a_record("b"), a_record("a")), "a b", id="of equal ones by ID"),
        pytest.param((a_record("used"), a_record("a")), "a", id="none in use"),
        pytest.param((a_record("a", is_pinned=True),), "", id="none that is pinned"),
    ],
)
def test_images_go_in_order(records: tuple[ImageRecord, ...], expected: str) -> None:
    order = eviction_order(by_id(*records), {"used"})

    assert " ".join(record.image_id for record in order) == expected


@pytest.mark.parametrize(
    ("filesystem", "percent"),
    [
        pytest.param(ImageFilesystem(1000, 1000), 0, id="empty"),
        pytest.param(ImageFilesystem(1000, 0), 100, id="full"),
        pytest.param(ImageFilesystem(1000, 151), 85, id="what is free is rounded down"),
        pytest.param(ImageFilesystem(1000, 2000), 0, id="more free than there is"),
    ],
)
def test_how_full_a_disk_is(filesystem: ImageFilesystem, percent: int) -> None:
    assert usage_percent(filesystem) == percent


class TestThresholds:
    @pytest.mark.parametrize(
        ("available", "expected"),
        [
            pytest.param(160, "", id="below the high threshold"),
            # 15.1 % are free, of which the kubelet sees 15.
            pytest.param(151, "a b c d e", id="at it, down to the low one"),
            pytest.param(170, "", id="between the two"),
            pytest.param(100, "a b c d e f g h i j", id="above it"),
        ],
    )
    def test_images_go_until_the_low_threshold_is_reached(
        self, available: int, expected: str
    ) -> None:
        records = [a_record(name) for name in "abcdefghijkl"]

        result = collected(*records, filesystem=ImageFilesystem(1000, available))

        assert removed(result) == expected
        assert result.error == ""

    def test_the_image_that_makes_it_enough_goes_as_a_whole(self) -> None:
        big = a_record("a", size_bytes=900)

        result = collected(big, a_record("b"))

        assert removed(result) == "a"
        assert result.freed_bytes == 900

    def test_other_thresholds_count(self) -> None:
        records = [a_record(name) for name in "abcde"]
        policy = ImageGcPolicy(50, 49, MINUTE)

        result = collected(
            *records, policy=policy, filesystem=ImageFilesystem(1000, 490)
        )

        assert removed(result) == "a b"

    def test_too_little_freed_space_has_the_message_of_the_kubelet(self) -> None:
        result = collected(a_record("a", size_bytes=30))

        assert removed(result) == "a"
        assert result.event == "FreeDiskSpaceFailed"
        assert result.error == (
            "Failed to garbage collect required amount of images. Attempted to free "
            "100 bytes, but only found 30 bytes eligible to free."
        )

    def test_a_disk_without_capacity_is_an_event(self) -> None:
        result = collected(a_record("a"), filesystem=ImageFilesystem(0, 0))

        error = "invalid capacity 0 on image filesystem"
        assert result == GcResult(error=error, event="InvalidDiskCapacity")

    def test_a_disk_that_cannot_be_measured_is_an_error_without_an_event(self) -> None:
        result = collected(a_record("a"), filesystem=None)

        assert result == GcResult(error="no such disk")


class TestWhatStays:
    def test_an_image_in_use_is_never_removed(self) -> None:
        result = collected(
            a_record("a", size_bytes=500), a_record("b"), in_use=frozenset({"a"})
        )

        assert removed(result) == "b"

    @pytest.mark.parametrize(
        ("age", "expected"),
        [
            pytest.param(2 * MINUTE - timedelta(microseconds=1), "b", id="too young"),
            pytest.param(2 * MINUTE, "a b", id="just old enough"),
        ],
    )
    def test_a_young_image_is_skipped(self, age: timedelta, expected: str) -> None:
        # The young one was used before the old one, and so comes first.
        young = a_record("a", detected=age)
        old = a_record("b", used=HOUR)

        result = delete(young, old)

        assert removed(result) == expected

    def test_what_was_used_at_this_very_moment_is_skipped(self) -> None:
        assert removed(delete(a_record("a", used=timedelta()), a_record("b"))) == "b"


def delete(*records: ImageRecord, refused: Mapping[str, str] | None = None) -> GcResult:
    steps = delete_unused_images(by_id(*records), (), ImageGcPolicy(), now=NOW)
    return carried_out(steps, None, refused)


class TestRefusals:
    def test_a_refused_removal_is_an_event_and_the_others_are_removed(self) -> None:
        result = collected(
            *(a_record(name, size_bytes=60) for name in "abc"), refused={"a": "busy"}
        )

        assert removed(result) == "b c"
        assert result.event == ""
        assert result.error == (
            "wanted to free 100 bytes, but freed 120 bytes space "
            "with errors in image deletion: busy"
        )

    @pytest.mark.parametrize(
        ("refused", "expected"),
        [
            pytest.param({"a": "busy", "b": "busy"}, "busy", id="equal ones once"),
            pytest.param({"a": "one", "b": "two"}, "[one, two]", id="a list"),
        ],
    )
    def test_several_refusals_are_one_text(
        self, refused: Mapping[str, str], expected: str
    ) -> None:
        result = delete(a_record("a"), a_record("b"), refused=refused)

        assert result.error == (
            "wanted to free 9223372036854775807 bytes, but freed 0 bytes space "
            f"with errors in image deletion: {expected}"
        )


class TestMaximumAge:
    POLICY = ImageGcPolicy(maximum_age=HOUR)
    EMPTY = ImageFilesystem(1000, 900)

    @pytest.mark.parametrize(
        ("running", "expected"),
        [
            pytest.param(HOUR, "", id="it is not known yet who uses what"),
            pytest.param(HOUR + MINUTE, "old", id="it is"),
        ],
    )
    def test_what_was_not_used_for_longer_goes_however_empty_the_disk(
        self, running: timedelta, expected: str
    ) -> None:
        result = collected(
            a_record("old", used=HOUR + MINUTE),
            a_record("newer", used=HOUR),
            policy=self.POLICY,
            filesystem=self.EMPTY,
            running=running,
        )

        assert removed(result) == expected
        assert result.filesystem == self.EMPTY

    def test_the_minimum_age_does_not_protect_what_was_never_used(self) -> None:
        """Quirk: it counts as last used in the year 1."""
        young = a_record("young", detected=MINUTE)

        result = collected(young, policy=self.POLICY, filesystem=self.EMPTY)

        assert removed(result) == "young"

    def test_a_refusal_ends_the_collection(self) -> None:
        result = collected(
            a_record("a"), a_record("b"), policy=self.POLICY, refused={"a": "busy"}
        )

        assert removed(result) == "b"
        assert result.filesystem is None
        assert result.error == (
            "wanted to free images older than 1h0m0s, "
            "encountered errors in image deletion: busy"
        )

    def test_what_went_for_its_age_is_not_removed_again_for_its_space(self) -> None:
        old = a_record("old", size_bytes=500)
        newer = a_record("newer", used=MINUTE, size_bytes=100)

        result = collected(old, newer, policy=self.POLICY)

        assert removed(result) == "old newer"

    def test_without_one_nothing_is_too_old(self) -> None:
        policy = replace(self.POLICY, maximum_age=timedelta())

        result = collected(a_record("a"), policy=policy, filesystem=self.EMPTY)

        assert result.removed == ()


def test_only_a_failure_after_a_failure_is_worth_an_event() -> None:
    streak = FailureStreak()
    fails, works = GcResult(error="no"), GcResult()

    reasons = [streak.judge(name) for name in (fails, fails, fails, works, fails)]

    assert reasons == ["", "ImageGCFailed", "ImageGCFailed", "", ""]
