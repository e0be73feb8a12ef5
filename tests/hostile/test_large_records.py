"""Records that are large, or claim to be: what is read of them is bounded."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from probetui.cli.main import run
from probetui.errors import RecordError
from probetui.record.file import LINE_BYTES, RecordLines, record_chunks
from probetui.record.reader import RecordingFile, read_recording

MIB = 1 << 20
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: large}
spec:
  containers:
    - name: app
      image: none
      livenessProbe:
        exec: {command: ["true"]}
        periodSeconds: 1
        failureThreshold: 1
"""
SCRIPT = """\
containers:
  app:
    liveness:
      - {result: success, until: 5s}
      - {result: failure}
"""
COMMANDS = (("why",), ("replay", "--plain"), ("whatif",), ("fit",))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return tmp_path


@pytest.fixture
def lines(folder: Path, capfd: pytest.CaptureFixture[str]) -> list[bytes]:
    """The lines of a record in which a container is killed."""
    (folder / "pod.yaml").write_text(POD)
    (folder / "script.yaml").write_text(SCRIPT)
    arguments = ("sim", "-f", "pod.yaml", "--script", "script.yaml", "--plain")
    assert run((*arguments, "--for", "30s", "--record", "record.jsonl")) == 0, (
        capfd.readouterr().err
    )
    capfd.readouterr()
    return (folder / "record.jsonl").read_bytes().splitlines(keepends=True)


@contextmanager
def memory_below(limit: int) -> Iterator[None]:
    """Fail if Python's objects take more bytes than that at any moment."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


def long_line(path: Path, lines: list[bytes], size: int) -> None:
    with path.open("wb") as file:
        file.write(lines[0] + b'{"v":1,"seq":1,"type":"note","text":"')
        for _ in range(size // MIB):
            file.write(b"x" * MIB)
        file.write(b'"}\n')
        file.writelines(lines[1:])


def values(path: Path, lines: list[bytes], size: int) -> None:
    with path.open("wb") as file:
        file.write(lines[0] + b'{"v":1,"seq":1,"type":"input","input":{"x":[{}')
        file.write(b",{}" * (min(size, LINE_BYTES - MIB) // 3))
        file.write(b"]}}\n")
        file.writelines(lines[1:])


@pytest.mark.parametrize(
    ("write", "reason"),
    [(long_line, "longer than 16 MiB"), (values, "more than 1000000 values")],
)
def test_a_line_that_would_take_much_memory_is_damaged(
    folder: Path,
    lines: list[bytes],
    write: Callable[[Path, list[bytes], int], None],
    reason: str,
) -> None:
    path = folder / "large.jsonl"
    write(path, lines, 64 * MIB)

    with memory_below(48 * MIB):
        recording = read_recording(path)
        record = RecordingFile(path)

    assert reason in recording.problem
    assert reason in record.problem
    assert recording.entries == read_recording(folder / "record.jsonl").entries
    assert len(record) == len(RecordingFile(folder / "record.jsonl"))


def test_a_first_line_that_is_too_long_is_no_recording(folder: Path) -> None:
    path = folder / "large.jsonl"
    path.write_bytes(b"x" * (LINE_BYTES + 1))

    with pytest.raises(RecordError, match="not a recording: it is longer than 16 MiB"):
        RecordLines(path)


def test_a_line_of_the_greatest_length_is_read(
    folder: Path, lines: list[bytes]
) -> None:
    path = folder / "large.jsonl"
    note = json.loads(next(line for line in lines if b'"type":"event"' in line))
    bare = len(json.dumps(note | {"more": ""})) + 1
    for length in (LINE_BYTES, LINE_BYTES + 1):
        line = json.dumps(note | {"more": "x" * (length - bare)}) + "\n"
        path.write_bytes(lines[0] + line.encode())

        assert len(line) == length
        assert len(read_recording(path).entries) == (length == LINE_BYTES)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_too_large_by_its_size_is_not_read(
    folder: Path,
    lines: list[bytes],
    command: tuple[str, ...],
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = folder / "sparse.jsonl"
    path.write_bytes(lines[0])
    os.truncate(path, 1 << 40)  # noqa: TID251  # a file of this test

    with memory_below(8 * MIB):
        status = run((*command, str(path)))

    assert status == 2
    assert "is larger than 256 MiB when unpacked" in capfd.readouterr().err


def test_a_hole_in_a_record_is_one_damaged_line(
    folder: Path, lines: list[bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    path = folder / "sparse.jsonl"
    path.write_bytes(lines[0])
    os.truncate(path, 100 * MIB)  # noqa: TID251  # a file of this test

    status = run(("why", str(path)))

    assert "line 2 is damaged: it is longer than 16 MiB" in capfd.readouterr().err
    assert status == 5


def test_what_a_small_file_unpacks_to_is_bounded_and_not_held(
    folder: Path, lines: list[bytes]
) -> None:
    path = folder / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(lines[0] + bytes(400 * MIB), compresslevel=1))

    with memory_below(32 * MIB), pytest.raises(RecordError, match="larger than 256"):
        for _ in record_chunks(path):
            pass


def test_broken_members_within_each_other_are_not_unpacked_again_and_again(
    folder: Path,
) -> None:
    # Each begins one, and each is followed by empty blocks up to a broken end.
    head = gzip.compress(b"")[:10]
    path = folder / "nested.jsonl.gz"
    path.write_bytes(head * 1000 + bytes([0, 0, 0, 255, 255]) * 200_000 + b"\xff")

    assert sum(map(len, record_chunks(path))) <= 1000


def test_record_limit_reads_more_and_less(
    folder: Path, lines: list[bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    path = folder / "record.jsonl"
    size = path.stat().st_size

    assert run(("why", str(path), "--record-limit", str(size))) == 0
    assert run(("why", str(path), "--record-limit", str(size - 1))) == 2
    assert "--record-limit reads larger ones" in capfd.readouterr().err


def test_a_pod_of_which_nothing_is_recorded_is_not_read_as_yaml(
    folder: Path, lines: list[bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    session = json.loads(lines[0])
    # YAML that takes long, and the longer the more there is of it.
    slow = "spec: [" + "{a: b}," * 5 + "]"
    tick = next(line for line in lines if b'"type":"tick"' in line)
    for uid in ("none", json.loads(tick)["podUID"]):
        text = f"kind: Pod\nmetadata: {{name: other, uid: {uid}}}\n{slow}"
        session["manifests"] += [{"name": "other.yaml", "text": text}] * 30_000
    path = folder / "manifests.jsonl"
    path.write_bytes(json.dumps(session).encode() + b"\n" + b"".join(lines[1:]))

    run(("why", "record.jsonl"))
    expected = capfd.readouterr()
    with memory_below(128 * MIB):
        status = run(("why", str(path)))

    assert status == 0
    assert capfd.readouterr().out == expected.out
