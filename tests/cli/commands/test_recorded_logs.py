"""`probetui logs` of a record prints what each instance printed last."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from probetui.cli.main import run
from probetui.cli.session.autosave import LAST, sessions_folder
from tests.cli.conftest import home
from tests.golden.test_records import RECORDS

__all__ = ["home"]

RECORD = RECORDS / "1" / "evidence.jsonl.gz"
OLD = RECORDS / "1" / "docker.jsonl.gz"
USAGE, NOTHING = 2, 5
PRINTED = "connecting with ***\nFATAL: no database\n"


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a record in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(gzip.decompress(RECORD.read_bytes()))
    return "a.jsonl"


@pytest.mark.parametrize(
    ("words", "printed", "instance"),
    [
        pytest.param(
            ("evidence/app",),
            "connecting with ***\nFATAL: no database\n",
            2,
            id="newest",
        ),
        pytest.param(
            ("evidence", "-c", "app", "--tail", "1"),
            "FATAL: no database\n",
            2,
            id="tail",
        ),
        pytest.param(
            ("default/evidence/app", "-p", "--tail", "1", "--timestamps"),
            "2026-11-29T01:21:54.622Z FATAL: no database\n",
            1,
            id="instance before",
        ),
        pytest.param(("evidence/app", "--since", "1ms"), "", 2, id="too old"),
        pytest.param(
            ("evidence/app", "--since", "4s"), "FATAL: no database\n", 2, id="since"
        ),
        pytest.param(("evidence/app", "--tail", "0"), "", 2, id="none"),
    ],
)
def test_what_an_instance_printed_last_is_printed_and_said_to_be_no_more(
    words: tuple[str, ...],
    printed: str,
    instance: int,
    record: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    status = run(["logs", record, *words])

    captured = capfd.readouterr()
    assert (status, captured.out) == (0, printed)
    assert captured.err == (
        f"probetui: note: a.jsonl has what instance {instance} of default/evidence/app "
        "printed last, at most 10 lines\n"
    )


def test_where_lines_may_be_missing_it_is_said_before_the_next_one(
    record: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = Path(record)
    text = path.read_text(encoding="utf-8")
    known = '"text":"FATAL: no database"'
    assert known in text
    path.write_text(text.replace(known, f'{known},"after_gap":true'), encoding="utf-8")

    status = run(["logs", record, "evidence/app"])

    captured = capfd.readouterr()
    assert (status, captured.out) == (0, PRINTED)
    assert captured.err.count("warning: lines may be missing here") == 1


@pytest.mark.parametrize(
    ("words", "status", "problem"),
    [
        pytest.param(
            ("evidence/app", "-f"),
            USAGE,
            "-f: a.jsonl is a record, in which nothing new is printed",
            id="follow",
        ),
        pytest.param(
            ("evidence",),
            USAGE,
            "-c: which container of default/evidence (has: app, hooked, never)",
            id="several containers",
        ),
        pytest.param(
            ("nobody",), USAGE, 'no pod is called "nobody" (has: evidence)', id="no pod"
        ),
        pytest.param(
            (),
            USAGE,
            "logs takes one POD or POD/CONTAINER, and at most one record",
            id="no name",
        ),
        pytest.param(
            ("evidence/hooked", "-p"),
            NOTHING,
            "default/evidence/hooked: a.jsonl has no earlier instance of it",
            id="no earlier instance",
        ),
    ],
)
def test_what_a_record_does_not_have_is_an_error(
    words: tuple[str, ...],
    status: int,
    problem: str,
    record: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run(["logs", record, *words]) == status

    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == f"probetui: error: {problem}\n"


def test_an_old_record_has_no_output(
    record: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / record).write_bytes(gzip.decompress(OLD.read_bytes()))

    status = run(["logs", record, "robust-engine/web"])

    assert "an earlier probetui wrote the record" in capfd.readouterr().err
    assert status == NOTHING


@pytest.mark.usefixtures("record")
def test_a_pod_that_is_gone_is_looked_up_in_the_last_session(
    capfd: pytest.CaptureFixture[str],
) -> None:
    sessions_folder().mkdir(parents=True)
    (sessions_folder() / LAST).write_bytes(RECORD.read_bytes())

    status = run(["logs", "evidence/app", "--runtime", "process"])
    unknown = run(["logs", "nobody", "--runtime", "process"])

    captured = capfd.readouterr()
    assert (status, unknown) == (0, USAGE)
    assert captured.out == PRINTED
    assert "has what instance 2 of default/evidence/app printed last" in captured.err
    assert 'no pod is called "nobody" (has: none)' in captured.err
