"""The output of `probetui images`, with an image store in memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from probetui.cli.folders import state_folder
from probetui.cli.images import commands as image_commands
from probetui.cli.images.pull_records import PulledImageRecord, PulledImageStore
from probetui.cli.main import run
from probetui.cli.option_values import RuntimeOptions
from probetui.drive.clocks import SystemClock
from probetui.k8s.runtime import ImageFilesystem
from probetui.ports import Clock, Runtime
from tests.cli.images.fake_store import FakeImageStore
from tests.fakes import FakeClock, FakeEngine, FakeRuntime

OLD = "registry:5000/team/app:1"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, home: Path) -> FakeImageStore:
    """Return the image store that the program uses instead of Docker's."""
    assert not home.exists()
    store = FakeImageStore(FakeClock())

    async def found(_options: RuntimeOptions, _clock: Clock) -> Runtime:
        return store

    monkeypatch.setattr(image_commands, "open_runtime", found)
    return store


def noted(
    store: FakeImageStore, name: str, *, age: timedelta, size_bytes: int = 64_000_000
) -> str:
    """Add an image that an earlier session pulled; return its ID."""
    image_id = store.bring(name, size_bytes)
    notes = PulledImageStore(store.store_id)
    copy = f"copy {len(store.images) - 1}"
    pulled_at = SystemClock().now() - age
    with notes.changing():
        notes.save(PulledImageRecord(image_id, frozenset({name}), copy, pulled_at))
    return image_id


@pytest.fixture
def full(store: FakeImageStore) -> FakeImageStore:
    """Add three images, one in use, one old, one just pulled, and fill the disk."""
    store.use(noted(store, "web:1", age=timedelta(days=9)), "k8s_web", "mine")
    noted(store, OLD, age=timedelta(hours=5))
    noted(store, "fresh:1", age=timedelta(seconds=30))
    store.bring("theirs:1")
    store.filesystem = ImageFilesystem(1_000_000_000, 100_000_000)
    return store


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b" " * 1_048_576, id="too long"),
        pytest.param(b"[" * 500_000, id="nested too deeply"),
    ],
)
def test_a_record_that_cannot_be_read_is_none(
    full: FakeImageStore, capsys: pytest.CaptureFixture[str], start: bytes
) -> None:
    (folder,) = (state_folder() / "images").iterdir()
    record = next(path for path in folder.iterdir() if "fresh" in path.name)
    record.write_bytes(start + record.read_bytes())
    os.mkfifo(folder / "fifo.json")

    assert run(["images", "-o", "name"]) == 0

    assert full.images
    assert "fresh" not in capsys.readouterr().out


def test_the_table_lists_our_images_and_their_users(
    full: FakeImageStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert full.images

    assert run(["images"]) == 0

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["IMAGE", "ID", "SIZE", "PULLED", "LAST-USED", "USED-BY"],
        ["fresh:1", "fresh:1", "64MB", "30s", "-", "-"],
        [OLD, OLD[:12], "64MB", "5h00m", "-", "-"],
        ["web:1", "web:1", "64MB", "9d00h", "now", "k8s_web", "+1"],
    ]


def test_the_wide_table_shows_which_images_are_kept_and_why(
    full: FakeImageStore, capsys: pytest.CaptureFixture[str]
) -> None:
    full.tag(f"sha256:{OLD}", "precious:1")

    assert run(["images", "-o", "wide", "--no-headers"]) == 0

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [(line[0], line[-1]) for line in lines] == [
        ("fresh:1", "-"),
        (OLD, "named-by-others"),
        ("web:1", "in-use"),
    ]


@pytest.mark.parametrize(
    ("form", "load"),
    [
        pytest.param("json", json.loads, id="JSON"),
        pytest.param("yaml", yaml.safe_load, id="YAML"),
    ],
)
def test_json_has_all_fields(
    full: FakeImageStore,
    capsys: pytest.CaptureFixture[str],
    form: str,
    load: Callable[[str], Any],
) -> None:
    full.tag(f"sha256:{OLD}", "precious:1")

    assert run(["images", "-o", form]) == 0

    _, old, web = load(capsys.readouterr().out)
    assert datetime.fromisoformat(old.pop("pulledAt")) < datetime.now(UTC)  # noqa: TID251  # the program's clock
    assert old == {
        "name": OLD,
        "id": f"sha256:{OLD}",
        "names": [OLD, "precious:1"],
        "sizeBytes": 64_000_000,
        "lastUsed": None,
        "usedBy": [],
        "pinned": False,
        "foreignNames": ["precious:1"],
    }
    assert web["usedBy"] == ["k8s_web", "mine"]
    assert web["lastUsed"] is not None


def test_names_are_one_per_line(
    full: FakeImageStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert full.images

    assert run(["images", "-o", "name"]) == 0

    assert capsys.readouterr().out.split() == [
        "image/fresh:1", f"image/{OLD}", "image/web:1",
    ]  # fmt: skip


def test_gc_prints_the_removed_images_and_that_the_disk_is_still_full(
    full: FakeImageStore, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(["images", "gc"])

    captured = capsys.readouterr()
    assert status == 1
    assert captured.out == f"removed {OLD} (64MB)\n"
    assert captured.err == (
        "probetui: note: freed 64MB; the disk with the images was 90% full, "
        "images are collected from 85%\n"
        "probetui: error: FreeDiskSpaceFailed: Failed to garbage collect required "
        "amount of images. Attempted to free 100000000 bytes, but only found 64000000 "
        "bytes eligible to free.\n"
    )
    assert f"sha256:{OLD}" not in full.images
    assert len(full.images) == 3


def test_gc_does_not_say_how_full_a_disk_without_capacity_is(
    full: FakeImageStore, capsys: pytest.CaptureFixture[str]
) -> None:
    full.filesystem = ImageFilesystem(0, 0)

    assert run(["images", "gc"]) == 1

    assert capsys.readouterr().err == (
        "probetui: note: freed 0B\n"
        "probetui: error: InvalidDiskCapacity: invalid capacity 0 on image filesystem\n"
    )


@pytest.mark.parametrize(
    ("args", "printed", "left"),
    [
        pytest.param(["--high", "91"], [], 4, id="not full enough"),
        pytest.param(["--low", "84"], [OLD], 3, id="less to free"),
        pytest.param(["--all"], [OLD], 3, id="all that may go"),
        pytest.param(["--all", "--min-age", "0"], [OLD, "fresh:1"], 2, id="young too"),
        pytest.param(
            ["--high", "95", "--max-age", "1h"], [OLD, "fresh:1"], 2, id="old"
        ),
        pytest.param(["--all", "--dry-run"], [OLD], 4, id="dry run"),
    ],
)
def test_options_select_the_images_that_gc_removes(
    full: FakeImageStore,
    capsys: pytest.CaptureFixture[str],
    args: list[str],
    printed: list[str],
    left: int,
) -> None:
    status = run(["images", "gc", *args])

    out = capsys.readouterr().out
    verb = "would remove" if "--dry-run" in args else "removed"
    assert status == 0
    assert out.splitlines() == [f"{verb} {image} (64MB)" for image in printed]
    assert len(full.images) == left


def test_nothing_is_listed_without_images(
    store: FakeImageStore, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    store.bring("theirs:1")

    assert run(["images"]) == 0

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "probetui: note: no images pulled by probetui\n"
    assert not home.exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(
            ["gc", "--low", "90"], "--low 90 must be less than --high 85", id="low"
        ),
        pytest.param(["gc", "--high", "101"], "--high: ", id="range"),
        pytest.param(["gc", "--min-age", "soon"], "--min-age: ", id="age"),
        pytest.param(
            ["gc", "--all", "--low", "1"], "--high and --low do not apply", id="all"
        ),
        pytest.param(["-o", "json", "gc"], "--output: write it after gc", id="place"),
        pytest.param(["rm"], "No such command", id="command"),
    ],
)
def test_invalid_options_are_refused(
    store: FakeImageStore,
    capsys: pytest.CaptureFixture[str],
    args: list[str],
    message: str,
) -> None:
    store.bring("theirs:1")

    status = run(["images", *args])

    captured = capsys.readouterr()
    assert (status, captured.out) == (2, "")
    assert message in captured.err


def test_a_runtime_without_images_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def found(_options: RuntimeOptions, _clock: Clock) -> Runtime:
        return FakeRuntime(FakeEngine(FakeClock()))

    monkeypatch.setattr(image_commands, "open_runtime", found)

    assert run(["images"]) == 2
    assert "has no images" in capsys.readouterr().err


def test_the_exit_status_without_docker_is_3(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")

    assert [run(["images"]), run(["images", "gc"])] == [3, 3]
    assert "nobody.sock" in capsys.readouterr().err
