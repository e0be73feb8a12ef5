"""The folder of saved sessions, with other files in it."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from probetui.cli.session.autosave import LAST, open_autosave, prune
from probetui.cli.session.saved_sessions import (
    keep_session,
    remove_session,
    saved_sessions,
)
from probetui.errors import RecordError, UsageError

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


def test_what_is_no_record_is_not_removed_as_a_session(folder: Path) -> None:
    record, other = folder / OURS, folder / OURS.replace(".1.", ".2.")
    write_record(record)
    other.write_bytes(b"something of the user's")
    (session,) = saved_sessions(folder)

    with pytest.raises(UsageError, match="is no record of a session"):
        remove_session(session)

    assert record.exists()
    assert other.exists()


def test_a_file_that_became_a_link_is_not_removed_and_not_followed(
    folder: Path, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    write_record(canary)
    write_record(folder / OURS)
    (session,) = saved_sessions(folder)
    (folder / OURS).unlink()
    (folder / OURS).symlink_to(canary)

    with pytest.raises(RecordError):
        remove_session(session)

    assert canary.exists()
    assert (folder / OURS).is_symlink()


def test_names_that_are_not_ours_are_no_sessions(folder: Path, tmp_path: Path) -> None:
    for name in NOT_OURS:
        write_record(folder / name)
    (folder / OURS).symlink_to(tmp_path)

    assert saved_sessions(folder) == []


def test_a_link_in_place_of_the_mark_is_replaced_and_not_followed(
    folder: Path, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    canary.write_text("mine")
    write_record(folder / OURS)
    (session,) = saved_sessions(folder)
    mark = folder / f"{session.name}.kept"
    mark.symlink_to(canary)

    keep_session(session)

    assert canary.read_text() == "mine"
    assert not mark.is_symlink()


def write_record(path: Path) -> None:
    """Write the beginning of a record."""
    path.write_bytes(gzip.compress(b'{"v":1,"seq":0,"ts":"","t":0.0,"type":"session",'))
