"""The program on a real terminal: screen, keys and restoring the terminal."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from probetui.cli.lessons import lesson_names
from tests.e2e.program import PROGRAM, SAMPLES, Program, wait_until
from tests.e2e.screen import PROMPT, Terminal, terminal

STEADY = """\
apiVersion: v1
kind: Pod
metadata: {name: steady}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: app, image: none, command: [sleep, "600"]}
"""
LESSONS = len(lesson_names())

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.tmux,
]


@pytest.fixture
def tty(program: Program) -> Iterator[Terminal]:
    with terminal(program.environment) as opened:
        yield opened


def assert_restored(tty: Terminal) -> None:
    """Check that the terminal is restored: no screen, echo and line editing."""
    wait_until(lambda: not tty.is_covered, "the end of the screen")
    tty.enter("stty -a | tr ' ;' '\\n\\n' | grep -x -e echo -e icanon -e isig | sort")
    tty.wait_for("echo\nicanon\nisig\n" + PROMPT)


def test_the_demo_is_shown_handles_keys_and_restores_the_terminal(
    program: Program, tty: Terminal
) -> None:
    tty.enter(f"{PROGRAM} demo readiness --no-quiz; echo status $?")
    tty.wait_for("readiness/app", "Running", "✓ exit 0")
    assert tty.is_covered

    tty.type("?")
    tty.wait_for("Keys for")
    tty.type("Escape")
    tty.wait_without("Keys for")

    tty.type("Space")
    tty.wait_for("[PROBES PAUSED", "space resume")
    tty.type("Q")
    tty.wait_for("what happens next", "No step yet")
    tty.type(".")
    tty.wait_for("result run", "stored result")
    tty.type("Space")
    tty.wait_without("PAUSED")
    tty.wait_for("1 Containers", "space pause")

    tty.type("q")
    tty.wait_for("stopping readiness", "status 0")
    assert_restored(tty)
    assert program.left_behind() == []


def test_a_shell_suspends_the_screen_until_it_exits(
    tty: Terminal,
) -> None:
    tty.enter(f"{PROGRAM} demo readiness --no-quiz; echo status $?")
    tty.wait_for("readiness/app", "Running", "✓ exit 0")

    tty.type("s")
    wait_until(lambda: not tty.is_covered, "the end of the screen")
    tty.enter('echo in $((6 * 7)) of $(basename "$PWD")')
    tty.wait_for("in 42 of home")
    tty.enter("exit")
    wait_until(lambda: tty.is_covered, "the screen")
    tty.wait_for("1 Containers", "Running")

    tty.type("q")
    tty.wait_for("stopping readiness", "status 0")
    assert_restored(tty)


def test_the_next_lesson_starts_without_the_shell_and_without_earlier_keys(
    program: Program, tty: Terminal
) -> None:
    tty.enter(f"{PROGRAM} demo readiness --no-quiz; echo status $?")
    tty.wait_for(f"2 of {LESSONS}", "Running")

    tty.type("}")
    tty.wait_for("Stopping the pod of readiness.", f"Lesson 3 of {LESSONS}")
    tty.type("q", "}")
    tty.wait_without("readiness")
    tty.wait_for(f"3 of {LESSONS}  ", "Running")

    tty.type("q")
    tty.wait_for("stopping startup", "status 0")
    assert "stopping readiness" not in tty.text
    assert tty.text.count("The session ran for") == 1
    assert_restored(tty)
    assert program.left_behind() == []


def test_a_restart_is_shown_on_the_screen(tty: Terminal) -> None:
    tty.enter(f"{PROGRAM} demo --no-quiz; echo status $?")

    tty.wait_for("Liveness probe failed: cat: healthy", "KILL ", "RESTART 1")

    tty.type("q")
    tty.wait_for("status 0")


def test_leaving_says_what_the_session_came_to_and_what_reads_its_record(
    tty: Terminal,
) -> None:
    tty.enter(f"{PROGRAM} demo --runtime sim --no-quiz --paused; echo status $?")
    tty.wait_for(f"liveness  1 of {LESSONS}", "PAUSED")
    tty.type(":")
    tty.wait_for("enter runs")
    tty.enter("seek 20s")
    tty.wait_for("PAUSED  sim clock 00:20.0", "RESTART 2")

    tty.type("q")
    tty.wait_for(
        "The session ran for 20s: 2 kills, 2 restarts.",
        "Worst: liveness/app was killed at ",
        "its liveness probe failed 3 of 3 times in a row",
        "Record: /",
        "  probetui why /",
        "  probetui replay /",
        "  probetui report /",
        "status 0",
    )
    assert_restored(tty)


def test_a_quiet_session_says_nothing_on_leaving(tty: Terminal) -> None:
    tty.enter(f"{PROGRAM} demo -q --runtime sim --no-quiz; echo status $?")
    tty.wait_for(f"liveness  1 of {LESSONS}", "Running")

    tty.type("q")
    tty.wait_for("status 0")
    assert "The session ran for" not in tty.text


def test_a_met_condition_closes_the_screen(tty: Terminal) -> None:
    tty.enter(f"{PROGRAM} demo --tui --until started; echo status $?")

    tty.wait_for("status 0")

    assert_restored(tty)


@pytest.mark.parametrize(
    ("name", "status"), [pytest.param("TERM", 143, id="SIGTERM"), ("INT", 130)]
)
def test_a_signal_restores_the_terminal_and_stops_the_containers(
    program: Program, tty: Terminal, name: str, status: int
) -> None:
    tty.enter(f"{PROGRAM} demo readiness --no-quiz; echo status $?")
    tty.wait_for("Running")

    program.signal(name)

    tty.wait_for(f"status {status}")
    assert_restored(tty)
    assert program.left_behind() == []


def test_pods_that_have_run_for_long_are_stopped_or_kept_as_the_user_says(
    program: Program, tty: Terminal
) -> None:
    path = program.home / "steady.yaml"
    path.write_text(STEADY)
    command = f"clear; {PROGRAM} -f {path} --runtime process; echo status $?"
    question = "Quit? This stops steady."

    tty.enter(command)
    tty.wait_for("Running")
    over_a_minute = re.compile(r"Running 1m(0[1-9]|[1-5]\d)s")
    wait_until(lambda: bool(over_a_minute.search(tty.text)), "a minute", 120)
    tty.type("q")
    tty.wait_for(question, "y stop    k keep running")
    tty.type("Escape")
    tty.wait_without(question)
    tty.type("q")
    tty.wait_for(question)
    tty.type("k")
    tty.wait_for("kept: steady; `probetui down steady` removes them", "status 0")
    assert_restored(tty)
    assert program.left_behind() == ["pod/steady"]

    # It runs since the first session.
    tty.enter(command)
    tty.wait_for("Running")
    tty.type("q")
    tty.wait_for(question)
    tty.type("y")
    tty.wait_for("stopping steady", "status 0")
    assert program.left_behind() == []


def test_control_c_ends_the_screen_at_once(program: Program, tty: Terminal) -> None:
    path = program.home / "steady.yaml"
    path.write_text(STEADY)
    tty.enter(f"{PROGRAM} -f {path} --runtime process; echo status $?")
    tty.wait_for("Running")

    tty.type("C-c")

    tty.wait_for("stopping steady", "status 0")
    assert_restored(tty)
    assert program.left_behind() == []


def test_the_program_can_be_suspended_and_resumed(tty: Terminal) -> None:
    tty.enter(f"{PROGRAM} demo readiness --no-quiz")
    tty.wait_for("Running")

    tty.type("C-z")
    wait_until(lambda: not tty.is_covered, "the shell")
    assert_restored(tty)
    tty.enter("fg")
    wait_until(lambda: tty.is_covered, "the screen")
    tty.wait_for("Running")
    tty.type("?")
    tty.wait_for("Keys for")
    tty.type("Escape")
    tty.type("C-q")

    tty.wait_for("stopping readiness")
    assert_restored(tty)


BUG = """
import sys
from probetui.__main__ import main
from probetui.tui.screens.help import HelpPane
HelpPane.content = lambda self: 1 / 0
sys.argv = ["probetui", "demo", "readiness"]
main()
"""


def test_a_bug_on_the_screen_restores_the_terminal_and_names_its_report(
    program: Program, tty: Terminal, tmp_path: Path
) -> None:
    script = tmp_path / "bug.py"
    script.write_text(BUG)
    tty.enter(f"{sys.executable} {script}; echo status $?")
    tty.wait_for("Running")

    tty.type("?")

    tty.wait_for("readiness #")
    tty.type("C-c")

    tty.wait_for("(ZeroDivisionError)", "status 70")
    assert_restored(tty)
    assert program.left_behind() == []


def test_the_manifest_can_come_from_a_pipe_and_the_keys_from_the_terminal(
    tty: Terminal, tmp_path: Path
) -> None:
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: piped}\nspec: {containers: "
        "[{name: app, image: none, command: [sleep, '100']}], "
        "terminationGracePeriodSeconds: 1}\n"
    )

    tty.enter(f"cat {manifest} | {PROGRAM} -f - --runtime process; echo status $?")
    tty.wait_for("piped", "Running")
    tty.type("q")

    tty.wait_for("status 0")
    assert_restored(tty)


def test_a_simulated_lesson_can_be_stepped_sought_and_followed_by_the_next(
    tty: Terminal,
) -> None:
    tty.enter(f"{PROGRAM} demo --runtime sim --paused; echo status $?")
    tty.wait_for(f"liveness  1 of {LESSONS}", "PAUSED", "sim", "00:00.0")
    tty.type(":")
    tty.wait_for("enter runs")
    tty.enter("seek 20s")
    tty.wait_for("PAUSED  sim clock 00:20.0", "RESTART 2")
    tty.type(",")
    tty.wait_for("PAUSED  sim clock 00:18.0", "RESTART 1")
    tty.type("}")
    tty.wait_for(f"readiness  2 of {LESSONS}", "00:00.0")
    tty.type("q")
    tty.wait_for("status 0")


def test_the_record_can_be_written_to_a_file_besides_the_screen(
    tty: Terminal, tmp_path: Path
) -> None:
    tty.enter(f"{PROGRAM} demo --record - > {tmp_path}/out.jsonl; echo status $?")
    tty.wait_for("Running")
    tty.type("q")
    tty.wait_for("status 0")

    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [records[0]["type"], records[-1]["type"]] == ["session", "end"]


def test_lines_are_printed_on_a_dumb_terminal(tty: Terminal) -> None:
    tty.enter(f"TERM=dumb {PROGRAM} demo --until started; echo status $?")

    tty.wait_for("liveness/app started restart=0", "status 0")


def test_the_program_name_alone_prints_how_to_begin(
    program: Program, tty: Terminal
) -> None:
    tty.enter(f"{PROGRAM}; echo status $?")

    tty.wait_for("probetui demo", "probetui -f pod.yaml", "status 2")
    assert list(program.home.glob("**/config.yaml")) == []


def test_a_manifest_from_standard_input_is_refused_without_a_pipe(
    tty: Terminal,
) -> None:
    tty.enter(f"{PROGRAM} -f -; echo status $?")

    tty.wait_for("-f -: nothing is piped into standard input", "status 2")


def test_a_watched_manifest_that_becomes_invalid_is_reported_in_the_event_log(
    program: Program, tty: Terminal, tmp_path: Path
) -> None:
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(STEADY, encoding="utf-8")
    tty.enter(f"{PROGRAM} -f {manifest} --watch --runtime process")
    tty.wait_for("START")

    broken = STEADY.replace("{name: app", "{name: app, tty: 3, stdin: -1")
    manifest.write_text(broken, encoding="utf-8")
    tty.wait_for("pod.yaml:7", "note  the pods run on as they were before this change")

    manifest.write_text(STEADY, encoding="utf-8")
    tty.wait_for("note  the manifests are valid again")


def test_a_session_to_replay_is_chosen_from_a_list_beside_its_lanes(
    program: Program, tty: Terminal
) -> None:
    for sample in ("exec-liveness", "tcp"):
        path = SAMPLES / f"{sample}.yaml"
        done = program.run("sim", "-f", str(path), "--plain", "-q", "--for", "60s")
        assert done.returncode == 0, done.stderr

    tty.enter(f"{PROGRAM} replay; echo status $?")
    tty.wait_for("Sessions", "> 1", "1m00s", "Lanes", "end")
    tty.type("Escape")
    tty.wait_for("status 0")
    assert_restored(tty)

    tty.enter(f"clear; {PROGRAM} replay; echo left $?")
    tty.wait_for("> 1")
    tty.type("j")
    tty.wait_for("> 2", "exec-liveness/app")
    tty.type("Enter")
    tty.wait_for("REPLAY", "exec-liveness")
    tty.type("q")
    tty.wait_for("left 0")
    assert_restored(tty)
