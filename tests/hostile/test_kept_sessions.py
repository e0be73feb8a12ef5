"""The folder of saved sessions, with other files in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from probetui.cli.session.autosave import LAST, open_autosave, prune

OURS = "20261120-101500-01234567.1.jsonl.gz"
NOT_OURS = [
    "notes.txt",
    "probetui-session-1.jsonl",
    "20261120-101500-01234567.1.jsonl.gz.bak",
    "20261120-101500-0123.1.jsonl.gz",
    "x20261120-101500-01234567.1.jsonl.gz",
    "20261120-101500-01234567.1.jsonl.gz\n",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("name", NOT_OURS)
def test_a_file_with_another_name_is_neither_removed_nor_counted(
    folder: Path, name: str
) -> None:
    (folder / name).write_bytes(bytes(1000))
    (folder / OURS).write_bytes(bytes(10))

    prune(folder, kept_bytes=10, most_sessions=1)

    assert (folder / name).exists()
    assert (folder / OURS).exists()


def test_a_link_with_a_name_of_ours_is_kept_and_so_is_its_target(
    folder: Path, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    canary.write_bytes(bytes(1000))
    (folder / OURS).symlink_to(canary)

    prune(folder, kept_bytes=0, most_sessions=0)

    assert canary.exists()
    assert (folder / OURS).is_symlink()


def test_a_fifo_and_a_folder_with_names_of_ours_do_not_block(folder: Path) -> None:
    os.mkfifo(folder / OURS)
    (folder / OURS.replace(".1.", ".2.")).mkdir()
    (folder / OURS.replace(".1.", ".3.")).write_bytes(bytes(10))

    prune(folder, kept_bytes=0)

    assert sorted(path.name.split(".")[1] for path in folder.iterdir()) == ["1", "2"]


def test_a_link_in_place_of_the_last_session_is_replaced_and_not_followed(
    folder: Path, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    canary.write_text("mine")
    (folder / LAST).symlink_to(canary)

    writer = open_autosave(folder)
    writer.write([{"type": "session"}])
    writer.close()

    assert canary.read_text() == "mine"
    assert (folder / LAST).resolve() == Path(writer.name)
