"""Escape sequences in forged records are never obeyed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from probetui.cli.main import run
from tests.golden.test_records import RECORDS
from tests.hostile.payloads import EVERYTHING, LONE, PAYLOADS, obeyed

pytestmark = pytest.mark.usefixtures("_own_home")

Captured = pytest.CaptureFixture[str]
TEXT = EVERYTHING + "".join(LONE.values())
NAMES = ("docker", "process")
_MOST_LINES = 250
KEPT = {"ts", "type"}
"""A line without them is only damaged, which has its own test."""


def lines_of(name: str) -> list[Any]:
    """Return the first lines of a record of a released version."""
    (packed,) = RECORDS.glob(f"*/{name}.jsonl.gz")
    text = gzip.decompress(packed.read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()[:_MOST_LINES]]


def fields(value: Any) -> Iterator[str]:
    """Yield the names of the fields with text, at any depth."""
    match value:
        case dict():
            for name, inner in value.items():
                if isinstance(inner, str) or (
                    isinstance(inner, list) and any(isinstance(x, str) for x in inner)
                ):
                    yield name
                yield from fields(inner)
        case list():
            for inner in value:
                yield from fields(inner)
        case _:
            pass


def forged(value: Any, field: str, text: str, name: str = "") -> Any:
    """Return a value with a text in every field of that name."""
    match value:
        case str():
            return text if name == field else value
        case dict():
            return {key: forged(value[key], field, text, key) for key in value}
        case list():
            return [forged(inner, field, text, name) for inner in value]
        case _:
            return value


def printed(capsys: Captured, path: Path) -> str:
    """Return all output about a record, as text and as JSON."""
    run(["why", str(path)])
    run(["replay", str(path), "--plain", "-v"])
    captured = capsys.readouterr()
    return str(captured.out + captured.err)


def write(path: Path, lines: list[Any]) -> None:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


@pytest.mark.parametrize("name", NAMES)
def test_a_record_that_is_not_forged_is_printed(
    name: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "record.jsonl"
    write(path, lines_of(name))

    assert " liveness " in printed(capsys, path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_text_of_a_record_is_obeyed(
    name: str, tmp_path: Path, capsys: Captured
) -> None:
    lines = lines_of(name)
    path = tmp_path / "forged.jsonl"
    bad = {}
    for field in dict.fromkeys(fields(lines)):
        if field in KEPT:
            continue
        write(path, forged(lines, field, TEXT))
        if found := obeyed(printed(capsys, path)):
            bad[field] = found

    assert bad == {}


@pytest.mark.parametrize("text", [*PAYLOADS.values()], ids=[*PAYLOADS])
def test_names_and_outputs_in_a_record_are_not_obeyed(
    text: str, tmp_path: Path, capsys: Captured
) -> None:
    lines = lines_of("process")[:60]
    for field in ("pod", "container", "namespace", "output", "message", "podUID"):
        lines = forged(lines, field, text)
    path = tmp_path / "forged.jsonl"
    write(path, lines)

    run(["replay", str(path), "--plain", "-o", "jsonl"])

    assert obeyed(printed(capsys, path)) == []


def test_a_file_that_is_no_record_is_not_obeyed(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "forged.jsonl"
    first, *others = lines_of("process")
    outputs = []
    for line in (
        TEXT,
        json.dumps(TEXT),
        json.dumps({TEXT: TEXT}),
        json.dumps({**first, "v": TEXT}),
        json.dumps({**first, "type": TEXT}),
        json.dumps({**first, "probetui": TEXT, "kubelet": TEXT, "runtime": TEXT}),
    ):
        path.write_bytes(line.encode("utf-8", "surrogatepass") + b"\n")
        outputs.append(printed(capsys, path))
    write(path, [first, {"type": TEXT, TEXT: TEXT}, *others[:5]])
    outputs.append(printed(capsys, path))

    assert [obeyed(text) for text in outputs] == [[]] * len(outputs)
