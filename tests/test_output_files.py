"""Files that users name for outputs, and what may already be in them."""

from __future__ import annotations

import os
import stat
from functools import partial
from pathlib import Path

import pytest

from probetui.output_files import (
    OutputFile,
    OutputKind,
    check_output,
    replace_output,
)
from probetui.untrusted_files import read_regular

KIND = OutputKind("a diary", lambda beginning: beginning.startswith(b"dear diary"))
OURS = b"dear diary, nothing happened"
FOREIGN = b"all that I wrote this year"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_of_another_kind_is_refused_and_stays(path: Path) -> None:
    path.write_bytes(FOREIGN)

    for write in (check_output, OutputFile, partial(replace_output, content=b"new")):
        with pytest.raises(OSError, match=r"exists and is not a diary; name another"):
            write(path, KIND)

    assert path.read_bytes() == FOREIGN


@pytest.mark.parametrize("content", [b"", OURS])
@pytest.mark.parametrize("how", ["itself", "by a link", "by a hard link"])
def test_an_input_is_refused_by_whatever_name(
    path: Path, tmp_path: Path, content: bytes, how: str
) -> None:
    path.write_bytes(content)
    name = tmp_path / "another"
    match how:
        case "by a link":
            name.symlink_to(path)
        case "by a hard link":
            name.hardlink_to(path)
        case _:
            name = path
    read_regular(path, 1)

    with pytest.raises(OSError, match="this command uses the file as an input"):
        OutputFile(name, KIND)
    with pytest.raises(OSError, match="this command uses the file as an input"):
        replace_output(name, KIND, b"new")

    assert path.read_bytes() == content


def test_two_kinds_of_output_never_share_a_file(path: Path) -> None:
    OutputFile(path, KIND).close()

    with pytest.raises(OSError, match="this command uses the file as a diary"):
        check_output(path, OutputKind("a poem", KIND.is_ours))


def test_a_file_of_the_kind_is_kept_until_something_replaces_it(path: Path) -> None:
    path.write_bytes(OURS)
    path.chmod(0o640)
    before = path.stat().st_ino

    file = OutputFile(path, KIND)
    kept = path.read_bytes()
    file.write(b"dear diary, 1;")
    file.write(b" 2")
    file.close()

    assert kept == OURS
    assert path.read_bytes() == b"dear diary, 1; 2"
    assert path.stat().st_ino != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(path.parent) == ["out"]


def test_a_link_stays_a_link_and_what_it_leads_to_is_replaced(
    path: Path, tmp_path: Path
) -> None:
    target = tmp_path / "elsewhere"
    target.write_bytes(OURS)
    path.symlink_to(target)

    file = OutputFile(path, KIND)
    file.write(b"dear diary, new")
    file.close()
    replace_output(path, KIND, b"dear diary, newer")

    assert path.is_symlink()
    assert target.read_bytes() == b"dear diary, newer"


@pytest.mark.parametrize("content", [None, b"", OURS])
def test_a_file_is_written_by_one_session_at_a_time(
    path: Path, content: bytes | None
) -> None:
    if content is not None:
        path.write_bytes(content)
    first = OutputFile(path, KIND)

    for _ in range(2):
        with pytest.raises(OSError, match="another session is writing the file"):
            OutputFile(path, KIND)
        first.write(b"dear diary, first")
    first.close()
    OutputFile(path, KIND).close()

    assert path.read_bytes() == b"dear diary, first" * 2


def test_a_file_that_is_removed_meanwhile_is_not_written_to(path: Path) -> None:
    file = OutputFile(path, KIND)
    file.write(b"dear diary")
    path.unlink()

    with pytest.raises(OSError, match="removed meanwhile"):
        file.write(b"more")
    file.close()

    assert not path.exists()


@pytest.mark.parametrize("content", [None, OURS])
def test_a_file_that_is_emptied_meanwhile_is_not_written_to(
    path: Path, content: bytes | None
) -> None:
    if content is not None:
        path.write_bytes(content)
    file = OutputFile(path, KIND)
    file.write(b"dear diary")
    path.write_bytes(b"")

    with pytest.raises(OSError, match="cut short meanwhile"):
        file.write(b"more")
    file.close()

    assert path.read_bytes() == b""


def test_a_file_that_is_replaced_before_the_first_write_stays(path: Path) -> None:
    path.write_bytes(OURS)
    file = OutputFile(path, KIND)
    (path.parent / "other").write_bytes(FOREIGN)
    (path.parent / "other").rename(path)

    with pytest.raises(OSError, match="replaced meanwhile"):
        file.write(b"new")
    file.close()

    assert path.read_bytes() == FOREIGN
    assert names(path.parent) == ["out"]


def test_what_is_added_by_others_stays(path: Path) -> None:
    file = OutputFile(path, KIND)
    file.write(b"dear diary, 1;")
    with path.open("ab") as other:
        other.write(b" theirs;")
    file.write(b" 2")
    file.take_back(1)
    file.write(b"3")
    file.close()

    assert path.read_bytes() == b"dear diary, 1; theirs; 3"


def test_what_is_no_regular_file_is_written_as_it_is() -> None:
    null = Path(os.devnull)
    before = null.stat()

    replace_output(null, KIND, b"report")
    file = OutputFile(null, KIND)
    file.write(b"line")
    file.close()

    assert null.stat().st_ino == before.st_ino
    assert null.is_char_device()


@pytest.mark.parametrize(("mode", "expected"), [(None, 0o644), (0o600, 0o600)])
def test_a_replaced_file_has_the_mode_of_the_earlier_or_the_one_asked_for(
    path: Path, mode: int | None, expected: int
) -> None:
    path.touch()
    path.chmod(0o644)

    replace_output(path, KIND, OURS, mode)

    assert stat.S_IMODE(path.stat().st_mode) == expected
