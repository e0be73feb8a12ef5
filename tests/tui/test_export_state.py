"""The state of all probes in a file."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from msgspec.structs import replace
from textual.app import App

from probetui.kubelet.journal import FindingEntry
from tests.tui.app_harness import an_app
from tests.tui.scenes import failing

SIZE = (100, 24)


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def kind_in(path: Path) -> object:
    return json.loads(path.read_text())["kind"]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def notes(app: App[None]) -> list[str]:
    return [notification.message for notification in app._notifications]


async def test_the_state_is_written_by_name_and_its_file_is_shown(
    tmp_path: Path,
) -> None:
    app = an_app(failing(), screenshot_folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("colon", *"export json", "enter")
        await pilot.pause()
        notified = notes(app)

    (path,) = files(tmp_path)
    assert path.name == "probetui-state-20261120T082107.json"
    assert notified == [f"saved {path}"]
    assert kind_in(path) == "SessionState"


async def test_the_file_has_the_findings_of_a_probe(tmp_path: Path) -> None:
    scene = failing()
    container = scene.pods[0].containers[0]
    seen = FindingEntry(
        1, scene.taken_at, container.probes[0].key, "redirect-seen", "spec.x", "is so"
    )
    app = an_app(replace(scene, entries=(seen,)), screenshot_folder=tmp_path)
    async with app.run_test(size=SIZE):
        app.action_export()

    (path,) = files(tmp_path)
    probe_state = json.loads(path.read_text())["pods"][0]["containers"][0]["probes"][0]
    assert [finding["rule"] for finding in probe_state["findings"]] == ["redirect-seen"]


async def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    app = an_app(failing(), screenshot_folder=tmp_path)
    async with app.run_test(size=SIZE):
        app.action_export()

    (path,) = files(tmp_path)
    assert mode_of(path) == 0o600


async def test_an_existing_file_is_not_replaced(tmp_path: Path) -> None:
    app = an_app(failing(), screenshot_folder=tmp_path)
    async with app.run_test(size=SIZE):
        app.action_export()
        app.action_export()

    assert len(files(tmp_path)) == 2


async def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    app = an_app(failing(), screenshot_folder=tmp_path / "nowhere")
    async with app.run_test(size=SIZE) as pilot:
        app.action_export()
        await pilot.pause()

        (notified,) = notes(app)
        assert notified.startswith("no json: ")
