from __future__ import annotations

import tarfile
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.k8s.volume import VolumeFile
from probetui.runtimes.docker.archives import (
    ArchiveEntry,
    ArchiveFile,
    ArchiveFolder,
    ArchiveLink,
    last_bytes,
    pack,
    volume_entries,
    volume_root,
)
from tests.builders import START

FILES = (VolumeFile("a", b"1", 0o640), VolumeFile("deep/down/b", b"2", 0o600))


def unpacked(archive: bytes) -> list[tarfile.TarInfo]:
    with tarfile.open(fileobj=BytesIO(archive)) as found:
        return found.getmembers()


def paths(entries: list[ArchiveEntry]) -> list[str]:
    return [entry.path for entry in entries]


def test_an_archive_has_folders_files_and_links() -> None:
    folder, file, link = unpacked(
        pack(
            [
                ArchiveFolder("d", 0o700),
                ArchiveFile("d/f", b"xyz", 0o640),
                ArchiveLink("l", "d/f"),
            ],
            START,
            7,
        )
    )

    assert (folder.isdir(), folder.name, folder.mode) == (True, "d", 0o700)
    assert (file.isfile(), file.size, file.mode) == (True, 3, 0o640)
    assert (link.issym(), link.linkname) == (True, "d/f")
    assert {tar_info.gid for tar_info in (folder, file, link)} == {7}
    assert {tar_info.mtime for tar_info in (folder, file, link)} == {START.timestamp()}


def test_names_may_be_long_and_bytes() -> None:
    name = "ä" * 200 + "\udcff"

    (file,) = unpacked(pack([ArchiveFile(name, b"", 0o600)], START))

    assert file.name == name


def test_files_are_behind_a_link_that_changes_last() -> None:
    entries = volume_entries("v", FILES, "..now", None)

    assert paths(entries) == [
        "v",
        "v/..now",
        "v/..now/deep",
        "v/..now/deep/down",
        "v/..now/a",
        "v/..now/deep/down/b",
        "v/..data",
        "v/a",
        "v/deep",
    ]
    assert entries[-3:] == [
        ArchiveLink("v/..data", "..now"),
        ArchiveLink("v/a", "..data/a"),
        ArchiveLink("v/deep", "..data/deep"),
    ]


def test_files_have_their_modes() -> None:
    entries = volume_entries("v", FILES, "..now", None)

    assert [entry.mode for entry in entries if isinstance(entry, ArchiveFile)] == [
        0o640,
        0o600,
    ]
    assert [entry.mode for entry in entries if isinstance(entry, ArchiveFolder)] == [
        0o777,
        *[0o755] * 3,
    ]


def test_a_group_may_read_files_and_keeps_folders() -> None:
    entries = volume_entries("v", FILES, "..now", 4711)

    assert [entry.mode for entry in entries if isinstance(entry, ArchiveFile)] == [
        0o640,
        0o640,
    ]
    assert [entry.mode for entry in entries if isinstance(entry, ArchiveFolder)] == [
        0o2777,
        *[0o2755] * 3,
    ]


@pytest.mark.parametrize(
    ("group", "mode"),
    [pytest.param(None, 0o777, id="nobody's"), pytest.param(0, 0o2777, id="a group's")],
)
def test_everybody_may_write_in_a_volume(group: int | None, mode: int) -> None:
    assert volume_root("v", group) == ArchiveFolder("v", mode)


@given(st.binary(max_size=300), st.integers(1, 100), st.integers(1, 2000))
def test_the_end_of_a_file_is_found_however_the_archive_comes(
    content: bytes, limit: int, size: int
) -> None:
    archive = pack([ArchiveFile("f", content, 0o600)], START)
    pieces = [archive[at : at + size] for at in range(0, len(archive), size)]

    assert last_bytes(pieces, limit) == content[-limit:]


def test_an_archive_without_a_file_has_no_end() -> None:
    assert last_bytes([pack([ArchiveFolder("d")], START)], 10) == b""
