"""`probetui sessions`: the sessions that were saved, listed, opened, kept, removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from probetui.cli.main import run
from probetui.cli.session.autosave import open_autosave, sessions_folder
from probetui.cli.session.saved_sessions import (
    SavedSession,
    saved_sessions,
    summarize_session,
)
from probetui.record.file import RECORD_BYTES, record_lines

OK, REFUSED, USAGE = 0, 1, 2
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s}
spec:
  containers:
  - name: app
    image: none
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 1, failureThreshold: 2}
"""
FAILS = """\
containers:
  app:
    liveness: [{result: success, times: 3}, {result: failure}]
"""


def simulate(folder: Path, name: str, namespace: str = "default") -> SavedSession:
    """Simulate a pod, which is saved; return the saved session."""
    before = {session.name for session in saved_sessions(sessions_folder())}
    path = folder / "pod.yaml"
    path.write_text(POD % (name, namespace))
    script = folder / "script.yaml"
    script.write_text(FAILS)
    words = ["sim", "-f", str(path), "--script", str(script), "--for", "60s"]
    assert run([*words, "--plain", "-q"]) == OK
    (new,) = (
        session
        for session in saved_sessions(sessions_folder())
        if session.name not in before
    )
    return new


@pytest.fixture
def sessions(home: Path, tmp_path: Path) -> list[SavedSession]:
    """Return two saved sessions; the second is the last one."""
    del home
    return [simulate(tmp_path, "web"), simulate(tmp_path, "db", "shop")]


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """Return what `sessions` prints as JSON."""
    capsys.readouterr()
    assert run(["sessions", "-o", "json", *words]) == OK
    return json.loads(capsys.readouterr().out)


def test_each_session_says_what_it_came_to(
    sessions: list[SavedSession], capsys: pytest.CaptureFixture[str]
) -> None:
    by_name = {session["name"]: session for session in listed(capsys)}

    assert set(by_name) == {session.name for session in sessions}
    web, db = (by_name[session.name] for session in sessions)
    assert (web["pods"], db["pods"]) == (["web"], ["shop/db"])
    assert (web["last"], db["last"]) == (False, True)
    assert web["seconds"] == 60
    assert web["kills"] == db["kills"] >= 2
    assert web["bytes"] == sessions[0].parts[0].stat().st_size
    assert (web["problem"], web["kept"], web["running"]) == ("", False, False)


def test_kills_that_were_taken_back_do_not_count(
    sessions: list[SavedSession], tmp_path: Path
) -> None:
    del tmp_path
    session = sessions[0]
    before = summarize_session(session)
    rewound = open_autosave(sessions_folder())
    lines = [json.loads(line) for line in _lines(session)]
    kill = next(line for line in lines if line.get("action") == "kill")
    rewind = {"type": "rewind", "kept": kill["seq"], "inputs": 0}
    rewound.write([*lines[:-1], {**lines[-1], **rewind}])
    rewound.close()

    (found,) = (
        other
        for other in saved_sessions(sessions_folder())
        if other.parts == (Path(rewound.name),)
    )

    assert before.kills > 1
    assert summarize_session(found).kills == 1


def _lines(session: SavedSession) -> list[bytes]:
    return [*record_lines(session.parts[0], RECORD_BYTES)]


def test_sessions_of_one_second_are_listed_in_their_order(home: Path) -> None:
    del home
    begun = [open_autosave(sessions_folder()) for _ in range(9)]
    for session in begun:
        session.close()

    newest_first = [session.parts[0] for session in saved_sessions(sessions_folder())]

    assert newest_first == [Path(session.name) for session in reversed(begun)]


def test_the_table_is_for_people(
    sessions: list[SavedSession], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["sessions"]) == OK

    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split() == [
        *("NAME", "STARTED", "PODS", "LENGTH", "KILLS", "SIZE", "STATE")
    ]
    row = next(row for row in rows if sessions[1].name in row)
    assert "shop/db" in row
    assert "1m00s" in row
    assert row.endswith("last")


def test_what_cannot_be_read_is_said(
    sessions: list[SavedSession], capsys: pytest.CaptureFixture[str]
) -> None:
    sessions[0].parts[0].write_bytes(b"not a record")

    by_name = {session["name"]: session for session in listed(capsys)}

    assert "is not a recording" in by_name[sessions[0].name]["problem"]
    assert by_name[sessions[1].name]["problem"] == ""


def test_a_folder_without_sessions_is_no_error(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del home
    assert listed(capsys) == []


def test_a_session_is_kept_until_it_is_removed(
    sessions: list[SavedSession], capsys: pytest.CaptureFixture[str]
) -> None:
    name = sessions[0].name

    assert run(["sessions", "keep", name]) == OK
    kept = [session["name"] for session in listed(capsys) if session["kept"]]
    assert run(["sessions", "rm", name]) == OK

    assert kept == [name]
    assert [session["name"] for session in listed(capsys)] == [sessions[1].name]
    assert not [*sessions_folder().glob(f"{name}*")]


def test_the_last_session_goes_with_the_link_to_it(
    sessions: list[SavedSession], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sessions", "rm", "last"]) == OK

    assert [session["name"] for session in listed(capsys)] == [sessions[0].name]
    assert not (sessions_folder() / "last.jsonl.gz").is_symlink()


def test_a_session_that_runs_is_not_removed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del home
    writer = open_autosave(sessions_folder())
    name = Path(writer.name).name.partition(".")[0]

    assert run(["sessions", "rm", name]) == REFUSED

    assert f"{name} is running: end it first" in capsys.readouterr().err
    assert Path(writer.name).exists()
    writer.close()


def test_a_session_is_opened_by_its_name(
    sessions: list[SavedSession], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()

    assert run(["sessions", "open", sessions[0].name, "--plain"]) == OK

    assert "web/app liveness" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "error"),
    [
        pytest.param("nothing", "is no saved session", id="no such name"),
        pytest.param("../last.jsonl.gz", "is no saved session", id="a path"),
        pytest.param("20", "begins the names of 2 saved sessions", id="ambiguous"),
        pytest.param("", "is no saved session", id="empty"),
    ],
)
@pytest.mark.usefixtures("sessions")
def test_a_name_must_mean_one_session(
    name: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sessions", "rm", "last", name]) == USAGE

    assert error in capsys.readouterr().err
    assert len(listed(capsys)) == 2


@pytest.mark.usefixtures("sessions")
def test_options_of_the_list_are_refused_before_a_subcommand() -> None:
    assert run(["sessions", "-o", "json", "rm", "last"]) == USAGE
