"""Cases are run by a fake probetui: a script that writes given records."""

from __future__ import annotations

import ast
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from tests.conformance import running
from tests.conformance.running import Run, run_case

pytestmark = pytest.mark.slow

PRELUDE = """
    import datetime, json, pathlib, signal, sys, time

    BEGIN = datetime.datetime.now(datetime.UTC)
    if "-f" in sys.argv:
        FILE = pathlib.Path(sys.argv[sys.argv.index("-f") + 1]) / "pod.yaml"

    def write(kind, **fields):
        t = (datetime.datetime.now(datetime.UTC) - BEGIN).total_seconds()
        record = {"type": kind, "t": t, "ts": BEGIN.isoformat(), "podUID": "a"}
        print(json.dumps(record | fields), flush=True)

    def write_event(reason):
        write("event", eventType="Normal", reason=reason, message="", container="app")

    def wait(is_so):
        while not is_so():
            time.sleep(0.005)
"""

Program = Callable[[str], Path]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A factory of programs from scripts, which get probetui's arguments."""

    def make(script: str) -> Path:
        path = tmp_path / "probetui"
        text = f"#!{sys.executable}\n{dedent(PRELUDE)}\n{dedent(script)}"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


def a_case(**more: Any) -> dict[str, Any]:
    containers = [{"name": "app", "image": "busybox:1.27.2"}]
    spec = {"containers": containers, "terminationGracePeriodSeconds": 0}
    pod = {"metadata": {"name": "case"}, "spec": spec}
    return {"id": "case", "duration": 10, "pod": pod, **more}


async def run_a_case(case: dict[str, Any], program: Path) -> Run:
    return await run_case(case, "docker", program, asyncio.Semaphore(1))


def kinds(run: Run) -> list[str]:
    return [record["kind"] for record in run.observation]


async def test_a_pod_is_deleted_by_removing_its_file_when_the_action_is_due(
    program: Program,
) -> None:
    script = """
        write("session")
        write_event("Started")
        wait(lambda: not FILE.exists())
        write("gone")
        signal.pause()
    """
    case = a_case(
        actions=[{"do": "delete", "after": "started(app)", "plus": 0.1}],
        end={"after": "gone", "plus": 0.1},
    )

    run = await run_a_case(case, program(script))

    assert kinds(run) == ["submitted", "event", "action", "gone", "end"]
    _, started, action, gone, end = (record["t"] for record in run.observation)
    assert started + 0.1 <= action <= gone
    assert gone + 0.1 <= end < case["duration"]


async def test_a_pod_is_replaced_by_another_file_of_the_same_name(
    program: Program,
) -> None:
    script = """
        write("session")
        write("status", status={})
        wait(lambda: "heir" in FILE.read_text())
        write("status", status={}, podUID="b")
        signal.pause()
    """
    heir = {"metadata": {"labels": {"is": "heir"}}, "spec": {"containers": []}}
    case = a_case(actions=[{"do": "replace", "at": 0.1, "pod": heir}], duration=1)

    run = await run_a_case(case, program(script))

    assert kinds(run) == ["submitted", "status", "action", "status", "end"]
    assert [record.get("gen") for record in run.observation] == [
        None,
        0,
        None,
        1,
        None,
    ]


async def test_records_after_the_end_are_not_observed(program: Program) -> None:
    script = """
        def end(*_):
            write("gone")
            sys.exit(130)

        signal.signal(signal.SIGINT, end)
        write("session")
        signal.pause()
    """

    run = await run_a_case(a_case(duration=0.2), program(script))

    assert kinds(run) == ["submitted", "end"]
    assert b'"gone"' in run.written


async def test_an_action_that_is_never_due_is_missed(program: Program) -> None:
    script = 'write("session")\nsignal.pause()'
    case = a_case(actions=[{"do": "delete", "after": "ready(pod)"}], duration=0.2)

    run = await run_a_case(case, program(script))

    assert kinds(run) == ["submitted", "missed_action", "end"]


async def test_an_observation_ends_when_the_program_exits(program: Program) -> None:
    script = 'write("session")'

    run = await run_a_case(a_case(duration=9), program(script))

    assert kinds(run) == ["submitted", "end"]
    assert run.observation[-1]["t"] < 9


async def test_a_refused_manifest_is_an_observation_without_statuses(
    program: Program,
) -> None:
    script = 'sys.exit("no such field")'

    run = await run_a_case(a_case(), program(script))

    assert kinds(run) == ["submitted", "end"]
    assert run.stderr == "no such field\n"
    assert not run.problem


async def test_the_program_gets_the_manifest_and_no_settings_of_other_sessions(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROBETUI_TIMEOUT", "1s")
    script = """
        import os
        arguments = [item for item in sys.argv[1:] if item != str(FILE.parent)]
        arguments[arguments.index("-n") + 1] = "..."
        settings = [name for name in os.environ if name.startswith("PROBETUI")]
        sys.exit(f"{' '.join(arguments)} {settings}\\n{FILE.read_text()}")
    """

    run = await run_a_case(a_case(), program(script))

    command, manifest = run.stderr.split("\n", 1)
    assert (
        command == "run -f --watch -n ... --runtime docker -o jsonl --kubelet 1.32 []"
    )
    assert yaml.safe_load(manifest) == a_case()["pod"]


async def test_each_run_has_a_namespace_of_its_own(program: Program) -> None:
    script = 'sys.exit(sys.argv[sys.argv.index("-n") + 1])'
    executable = program(script)

    runs = [await run_a_case(a_case(), executable) for _ in range(2)]

    first, second = (run.stderr.strip() for run in runs)
    assert first.startswith("conformance-")
    assert second.startswith("conformance-")
    assert first != second


async def test_what_a_killed_program_leaves_is_removed(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "END_TIMEOUT", 0.1)
    log = tmp_path / "commands"
    script = f"""
        import os
        state = os.environ["XDG_STATE_HOME"]
        with open({str(log)!r}, "a") as log:
            print(sys.argv[1:], state, file=log)
        if sys.argv[1] == "down":
            sys.exit()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        write("session")
        signal.pause()
    """

    run = await run_a_case(a_case(duration=0.2), program(script))

    assert run.problem == "it does not end"
    started, removal = (
        line.rpartition(" ") for line in log.read_text(encoding="utf-8").splitlines()
    )
    command = ast.literal_eval(started[0])
    namespace = command[command.index("-n") + 1]
    assert ast.literal_eval(removal[0]) == [
        *("down", "--all", "-n", namespace, "--runtime", "docker")
    ]
    assert removal[2] == started[2]


async def test_a_case_whose_program_does_not_begin_is_over(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "START_TIMEOUT", 0.5)
    case = a_case(duration=0.1, end={"after": "gone"})

    async with asyncio.timeout(10):
        run = await run_a_case(case, program("signal.pause()"))

    assert run.problem == "it does not begin"
    assert run.observation == []
