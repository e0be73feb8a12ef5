"""The interpreter of shell commands."""

from __future__ import annotations

import pytest

from tests.traces.files import Files, Mounts
from tests.traces.shell import Listening, NotUnderstoodError, Run, run

CGI = """mkdir -p /www/cgi-bin; cat >/www/cgi-bin/r <<'X'
#!/bin/sh
[ "$HTTP_HOST" = a.b ] && s="200 OK" || s="500 ISE"
echo "Status: $s"; echo
X
chmod +x /www/cgi-bin/r; exec httpd -f -p 8080 -h /www"""


def sh(text: str, *files: str, at: float = 0.0) -> Run:
    mounts = Mounts(Files())
    for path in files:
        mounts.write(path, "", 0.0, "somebody else")
    return run(["/bin/sh", "-c", text], mounts, at)


@pytest.mark.parametrize(
    ("text", "lasts", "exit_code"),
    [
        pytest.param("true", 0, 0, id="nothing"),
        pytest.param("false", 0, 1, id="failure"),
        pytest.param("sleep 1; exit 3; sleep 9", 1, 3, id="an exit"),
        pytest.param("sleep 4; false", 4, 1, id="the last command"),
        pytest.param("sleep 1m", 60, 0, id="minutes"),
        pytest.param("test -f /ok", 0, 1, id="no such file"),
        pytest.param("touch /ok; test -f /ok", 0, 0, id="a file of its own"),
        pytest.param("while true; do sleep 1; done", None, 0, id="a loop"),
        pytest.param("while true\ndo sleep 1\ndone", None, 0, id="a loop in lines"),
        pytest.param("tail -f /dev/null", None, 0, id="for ever"),
        pytest.param(
            "i=0; while [ $i -lt 5 ]; do sleep 2; i=$((i+1)); done; exit $i",
            10,
            5,
            id="a loop that ends",
        ),
        pytest.param("for i in 1 2 3; do sleep $i; done", 6, 0, id="for"),
        pytest.param("[ -f /no ] && exit 3 || exit 4", 0, 4, id="and, or"),
        pytest.param("! true", 0, 1, id="not"),
        pytest.param(
            "if test -f /a; then exit 1; elif true; then exit 2; else exit 3; fi",
            0,
            2,
            id="if",
        ),
        pytest.param("set -e; false; sleep 9", 0, 1, id="it stops at an error"),
        pytest.param("sleep 5 & wait; exit 2", 5, 2, id="in the background"),
        pytest.param("(exit 3); sleep 1", 1, 0, id="a shell of its own"),
        pytest.param("exec sleep 3; exit 1", 3, 0, id="exec"),
        pytest.param("nosuch; exit $?", 0, 127, id="a program that is missing"),
    ],
)
def test_a_script_lasts_and_ends(
    text: str, lasts: float | None, exit_code: int
) -> None:
    found = sh(text)

    assert (found.lasts, found.exit_code) == (lasts, exit_code)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        pytest.param("echo a  b", "a b\n", id="echo"),
        pytest.param("echo 'a  b'", "a  b\n", id="quotes"),
        pytest.param('x="a  b"; echo $x "$x"', "a b a  b\n", id="variables"),
        pytest.param("x=; echo ${x:-none}", "none\n", id="a default"),
        pytest.param("x=12.5; echo ${x%%.*}", "12\n", id="without an end"),
        pytest.param("x=/a/b; echo ${x##*/}", "b\n", id="without a beginning"),
        pytest.param("echo $(( 2 * (3 + 4) ))", "14\n", id="a sum"),
        pytest.param("echo x >>/n; echo y >>/n; wc -l </n", "2\n", id="files"),
        pytest.param("printf 'a%s\\n' b", "ab\n", id="printf"),
        pytest.param("cat <<X\n$((1+1))\nX", "2\n", id="a document"),
        pytest.param("cat <<'X'\n$((1+1))\nX", "$((1+1))\n", id="a quoted document"),
        pytest.param("echo a | cat", "a\n", id="a pipe"),
        pytest.param(
            "read a b <<X\none two three\nX\necho $b", "two three\n", id="read"
        ),
        pytest.param("seq 3 | head -n 2", "1\n2\n", id="lines"),
        pytest.param("A=1 env", "A=1\n", id="an environment"),
        pytest.param("echo no 2>/dev/null >/dev/null", "", id="nowhere"),
    ],
)
def test_a_script_prints(text: str, output: str) -> None:
    assert sh(text).stdout == output


def test_files_of_other_processes_are_visible() -> None:
    assert sh("test -f /ok", "/ok").exit_code == 0
    missing = "cat: can't open '/no': No such file or directory\n"
    assert run(["cat", "/no"]).stderr == missing


def test_files_are_created_and_removed() -> None:
    mounts = Mounts(Files())
    run(["sh", "-c", "touch /a; sleep 30; rm -f /a; sleep 600"], mounts, 100.0, "app")

    there = [mounts.read("/a", at) is not None for at in (99, 100, 129, 131)]

    assert there == [False, True, True, False]


def test_a_loop_that_changes_files_repeats() -> None:
    mounts = Mounts(Files())
    text = "while true; do touch /a; sleep 9; rm /a; sleep 9; done"
    run(["sh", "-c", text], mounts, owner="app")

    there = [mounts.read("/a", at) is not None for at in (8, 10, 19, 199)]

    assert there == [True, False, True, True]


def test_an_ended_process_writes_nothing() -> None:
    mounts = Mounts(Files())
    run(["sh", "-c", "sleep 30; touch /a"], mounts, owner="app")

    mounts.end("app", 10.0)

    assert mounts.read("/a", 40.0) is None


def test_volumes_are_shared() -> None:
    volume = Files()
    printed = [
        run(
            ["sh", "-c", "echo x >>/s/n; wc -l </s/n"],
            Mounts(Files(), {"/s": volume}),
        ).stdout
        for _ in range(2)
    ]

    assert printed == ["1\n", "2\n"]


@pytest.mark.parametrize(
    ("text", "age", "end"),
    [
        pytest.param("sleep 600", 1.0, None, id="no handler"),
        pytest.param(
            "trap '' TERM; while true; do sleep 1; done", 3.0, None, id="ignored"
        ),
        pytest.param(
            "trap 'sleep 2; exit 4' TERM; while true; do sleep 1; done",
            3.25,
            (2.75, 4),
            id="a handler",
        ),
        pytest.param(
            "trap 'exit 0' TERM; while true; do sleep 600; done",
            1.0,
            (599.0, 0),
            id="a handler that waits for a long command",
        ),
        pytest.param(
            "trap 'exit 0' TERM; sleep 600 & wait", 1.0, (0.0, 0), id="a wait"
        ),
        pytest.param(
            "trap 'exit 0' TERM; exec sleep 600", 1.0, None, id="a handler lost by exec"
        ),
    ],
)
def test_a_process_that_handles_a_signal_ends(
    text: str, age: float, end: tuple[float, int] | None
) -> None:
    assert sh(text).ends_after(age) == end


def test_a_server_listens_when_its_program_exists() -> None:
    found = sh(f"sleep 2; {CGI}")

    assert (found.lasts, found.listens) == (None, {8080: Listening(2.0, "/www")})


def test_killall_ends_the_servers_of_a_script() -> None:
    found = sh("httpd -p 9090 -h /; sleep 25; killall httpd; sleep 600")

    assert (found.lasts, found.listens) == (625, {9090: Listening(0.0, "/", 25.0)})


@pytest.mark.parametrize(("host", "status"), [("a.b", "200 OK"), ("c", "500 ISE")])
def test_a_script_of_a_server_answers_by_its_environment(
    host: str, status: str
) -> None:
    mounts = Mounts(Files())
    run(["sh", "-c", CGI], mounts)

    found = run(["/www/cgi-bin/r"], mounts, 1.0, environment={"HTTP_HOST": host})

    assert found.stdout == f"Status: {status}\n\n"


@pytest.mark.parametrize("command", ["/no/such/binary", "nosuchbinary"])
def test_an_unknown_program_is_missing(command: str) -> None:
    assert run([command]).is_missing


@pytest.mark.parametrize(
    "text",
    [
        "while true; do true; done",
        "while true; do sleep 1",
        "case $x in a) ;; esac",
        "awk '{print}' /a",
        "echo 'a",
        "kill 1",
    ],
)
def test_unsupported_syntax_is_an_error(text: str) -> None:
    with pytest.raises(NotUnderstoodError):
        sh(text)
