"""Saved sessions: split into parts, limited in size, each in its own files."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from probetui.cli.main import run
from probetui.cli.session.autosave import (
    LAST,
    last_session,
    last_session_to_play,
    open_autosave,
    prune,
    sessions_folder,
)

SESSION = {"v": 1, "type": "session"}


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.open(path, "rt")]


def parts(folder: Path) -> list[Path]:
    kept = (path for path in folder.iterdir() if not path.is_symlink())
    return sorted(kept, key=lambda path: int(path.name.split(".")[1]))


def kept_session(folder: Path, name: str, *, age: int, size: int = 1000) -> Path:
    path = folder / f"{name}.jsonl.gz"
    path.write_bytes(bytes(size))
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    return path


OLDEST, OLD, NEW = (f"2026112{day}-101500-0123456{day}.1" for day in range(3))


@pytest.fixture
def sessions(tmp_path: Path) -> list[Path]:
    return [
        kept_session(tmp_path, name, age=age)
        for name, age in ((OLDEST, 300), (OLD, 200), (NEW, 100))
    ]


def test_a_long_session_is_saved_in_parts_that_all_begin_with_the_header(
    tmp_path: Path,
) -> None:
    writer = open_autosave(tmp_path, part_bytes=300)

    writer.write([SESSION])
    for number in range(40):
        writer.write([{"v": 1, "n": number, "type": "note", "text": "x" * 40}])
    writer.close()

    read = [records(path) for path in parts(tmp_path)]
    assert len(read) > 3
    assert [part[0].get("continues", False) for part in read] == [
        False,
        *[True] * (len(read) - 1),
    ]
    assert [line["n"] for part in read for line in part[1:]] == [*range(40)]
    assert records(tmp_path / LAST) == read[-1]


def test_the_first_part_of_the_last_session_is_replayed(home: Path) -> None:
    writer = open_autosave(sessions_folder(), part_bytes=10)
    for _ in range(3):
        writer.write([SESSION])
    writer.close()

    first, *_, newest = parts(sessions_folder())
    last = last_session()
    assert last is not None
    assert last.resolve() == newest
    assert last_session_to_play() == first


def test_a_record_of_an_earlier_release_can_be_the_last_session(
    home: Path,
) -> None:
    open_autosave(sessions_folder()).close()
    plain = sessions_folder() / "last.jsonl"

    plain.write_text("{}\n")
    os.utime(plain, (4_000_000_000, 4_000_000_000))

    assert last_session() == last_session_to_play() == plain


def test_simultaneous_sessions_have_their_own_files(tmp_path: Path) -> None:
    first, second = open_autosave(tmp_path, part_bytes=100), open_autosave(tmp_path)
    second.write([SESSION | {"of": "second"}])

    for _ in range(10):
        first.write([SESSION | {"text": "x" * 40}])
    first.close()
    second.close()

    assert first.problem == second.problem == ""
    assert records(tmp_path / LAST)[0]["of"] == "second"


def test_the_oldest_sessions_above_the_size_limit_are_removed(
    tmp_path: Path, sessions: list[Path]
) -> None:
    prune(tmp_path, kept_bytes=2500)

    assert [path.exists() for path in sessions] == [False, True, True]


def test_the_oldest_sessions_above_the_count_limit_are_removed(
    tmp_path: Path, sessions: list[Path]
) -> None:
    prune(tmp_path, kept_bytes=1 << 30, most_sessions=1)

    assert [path.exists() for path in sessions] == [False, False, True]


def test_a_session_that_is_kept_is_neither_removed_nor_counted(
    tmp_path: Path, sessions: list[Path]
) -> None:
    kept = OLDEST.removesuffix(".1")
    (tmp_path / f"{kept}.kept").touch()

    prune(tmp_path, kept_bytes=2500, most_sessions=2)

    assert [path.exists() for path in sessions] == [True, True, True]


def test_a_session_that_is_being_written_is_never_removed(
    tmp_path: Path, sessions: list[Path]
) -> None:
    writer = open_autosave(tmp_path)
    writer.write([SESSION])
    running = Path(writer.name)
    os.utime(running, (1, 1))

    prune(tmp_path, kept_bytes=0, most_sessions=0)

    assert running.exists()
    assert not any(path.exists() for path in sessions)
    writer.close()
    prune(tmp_path, kept_bytes=0)
    assert not running.exists()


def test_earlier_parts_of_a_running_session_are_removed_last(
    tmp_path: Path, sessions: list[Path]
) -> None:
    writer = open_autosave(tmp_path, kept_bytes=1, part_bytes=10)
    for _ in range(4):
        writer.write([SESSION])

    assert [path.name.split(".")[1] for path in parts(tmp_path)] == ["4"]
    assert not any(path.exists() for path in sessions)
    writer.close()


def test_a_session_of_an_earlier_release_counts_as_well(
    tmp_path: Path, sessions: list[Path]
) -> None:
    plain = tmp_path / "previous.jsonl"
    plain.write_bytes(bytes(1000))
    os.utime(plain, (1, 1))

    prune(tmp_path, kept_bytes=3000)

    assert not plain.exists()
    assert all(path.exists() for path in sessions)


def test_sessions_are_saved_without_support_for_links(tmp_path: Path) -> None:
    (tmp_path / LAST).mkdir()

    writer = open_autosave(tmp_path)
    writer.write([SESSION])
    writer.close()

    assert records(Path(writer.name)) == [SESSION]


def test_why_reads_a_compressed_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "session.jsonl.gz"

    status = run(["why", str(path)])

    assert status == 2
    assert f"{path}: No such file or directory" in capsys.readouterr().err
