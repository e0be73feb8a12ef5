"""Writing timing that was edited on the screen to a copy of the manifest."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from probetui.debugger.timing import Timing
from probetui.engine.snapshot import Snapshot
from probetui.errors import ManifestError, UsageError
from probetui.tui.app import ProbetuiApp
from probetui.tui.host_services import HostServices, ManifestCopy, Timings
from tests.ticks import DEMO_KEY, LIVENESS
from tests.tui.app_harness import an_app, screen_text
from tests.tui.debugging_snapshots import with_probe
from tests.tui.scenes import failing
from tests.tui.snapshots import DEMO

SIZE = (80, 24)
EDITED = with_probe(
    failing(),
    DEMO_KEY,
    probe=replace(LIVENESS, period_seconds=9),
    manifest_probe=LIVENESS,
)
CopyCalls = list[tuple[str, Timings]]


def writing(snapshot: Snapshot, fields: int = 2) -> tuple[ProbetuiApp, CopyCalls]:
    copy_calls: CopyCalls = []

    def copy(pod_uid: str, timings: Timings) -> ManifestCopy:
        copy_calls.append((pod_uid, timings))
        return ManifestCopy(Path("/pods/demo.edited.yaml"), fields)

    return an_app(snapshot, host=HostServices(copy_edited=copy)), copy_calls


def messages(app: ProbetuiApp) -> list[str]:
    return [notification.message for notification in app._notifications]


async def test_the_shown_numbers_are_written_before_they_are_applied() -> None:
    app, copy_calls = writing(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("e", "right", "right", "ctrl+s")
        await pilot.pause()

        assert copy_calls == [(DEMO.uid, {DEMO_KEY: Timing(5, 1, 7, 1, 3)})]
        assert "saved /pods/demo.edited.yaml: 2 fields differ" in messages(app)[0]
        assert "^s writes a copy of the manifest" in screen_text(app)


async def test_the_shown_numbers_override_the_current_ones_of_the_probe() -> None:
    app, copy_calls = writing(EDITED, fields=1)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("e", "left", "ctrl+s")
        await pilot.pause()

        assert copy_calls == [(DEMO.uid, {DEMO_KEY: Timing(5, 1, 8, 1, 3)})]
        assert messages(app)[0].endswith(": 1 field differs from the manifest")


async def test_invalid_numbers_are_not_written() -> None:
    app, copy_calls = writing(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("e", "0", "ctrl+s")
        await pilot.pause()

        assert copy_calls == []


async def test_all_current_timings_are_written_by_the_command() -> None:
    app, copy_calls = writing(EDITED)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("colon", *"write", "space", *"manifest", "enter")
        await pilot.pause()

        assert copy_calls == [(DEMO.uid, {DEMO_KEY: Timing(5, 1, 9, 1, 3)})]
        assert messages(app)[0].startswith("saved /pods/demo.edited.yaml")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(
            ManifestError(["pod.yaml:8:20: livenessProbe: is shared"]),
            "pod.yaml:8:20: livenessProbe: is shared",
            id="the text",
        ),
        pytest.param(UsageError("no copy is written"), "no copy is written", id="disk"),
    ],
)
async def test_a_failed_write_is_reported_with_the_reason(
    error: Exception, words: str
) -> None:
    def refuse(_pod_uid: str, _timings: Timings) -> ManifestCopy:
        raise error

    app = an_app(EDITED, host=HostServices(copy_edited=refuse))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("e", "ctrl+s")
        await pilot.pause()

        assert messages(app) == [words]
        assert {notification.severity for notification in app._notifications} == {
            "error"
        }


async def test_writing_is_not_offered_without_a_manifest() -> None:
    app = an_app(EDITED)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("e", "ctrl+s")
        await pilot.pause()

        assert messages(app) == []
        assert "writes a copy" not in screen_text(app)
