"""The options of the commands that run no session, each typed once.

An option without a row in `ROWS` fails here. A row has what is typed, the documented
exit status, and what is printed where the option gives something.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
from msgspec import Struct

from probetui.cli.main import COMMANDS, run
from tests.cli.test_options import BASES as SESSIONS

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: typed, namespace: of-options, labels: {app: typed}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: none
    command: [sh, -c, "trap 'exit 0' TERM; while :; do sleep 0.05; done"]
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
"""
CASES = """\
cases:
- name: starts
  expect: [ready within 60s]
- name: is not chosen
  expect: [ready within 1s]
"""
OK, DIFFERS, UNAVAILABLE, INTERRUPTED = 0, 1, 3, 130

BASES: Mapping[str, tuple[str, ...]] = {
    "check": ("-f", "{pod}"),
    "explain": ("-f", "{pod}"),
    "test": ("-f", "{pod}", "--runtime", "sim"),
    "probe": ("-f", "{pod}", "--runtime", "process"),
    "versions": ("-f", "{pod}", "--from", "1.34", "--to", "1.35",
                 "--script", "healthy"),
    "exec": ("typed", "--runtime", "process"),
    "why": ("{record}",),
    "whatif": ("{record}", "--set", "failureThreshold=5"),
    "fit": ("{record}",),
    "ls": ("--runtime", "process"),
    "down": ("typed", "--runtime", "process"),
    "images": (),
    "images gc": ("--dry-run",),
    "info": ("--runtime", "process"),
    "schema": ("record",),
    "completion": ("bash",),
    "version": (),
}  # fmt: skip
COMMANDS_AFTER: Mapping[str, tuple[str, ...]] = {"exec": ("--", "echo", "hello")}
NEED_POD = frozenset({"probe", "exec", "ls", "down"})
NEED_DOCKER = frozenset({"images", "images gc"})
LEAVE_PYTHON = frozenset({"exec", "ls"})
"""`exec` becomes the command that it runs, and `ls -w` ends when it is interrupted."""
STATUS: Mapping[str, int] = {"versions": DIFFERS}
"""What the lines of a command end with whose row says nothing else."""
SHOWN: Mapping[str, str] = {
    "probe": "success",
    "exec": "hello",
    "ls": "typed",
    "down": "typed",
}
"""What each line of a command prints whose row has no pattern of its own."""


class Row(Struct, frozen=True):
    """What is typed for an option beside the rest of the command line.

    `replaces` is an option of the rest that goes, with its value; `shows` a pattern of
    what is printed; `writes` a file in the test's folder.
    """

    args: tuple[str, ...] = ()
    status: int = OK
    shows: str = ""
    writes: str = ""
    replaces: str = ""


_NO_CONTEXT = Row(("--docker-context", "x"), UNAVAILABLE, 'no context "x"')
_NO_DAEMON = Row(("-H", "unix:///x"), UNAVAILABLE, "unix:///x")
ROWS: Mapping[str, Row] = {
    "-f": Row(),
    "--static": Row(("--static", "{pod}"), replaces="-f"),
    "-R": Row(("-R",)),
    "--insecure-skip-tls-verify": Row(("--insecure-skip-tls-verify",)),
    "-n": Row(("-n", "of-options")),
    "-l": Row(("-l", "app=typed")),
    "--set": Row(("--set", "app.livenessProbe.periodSeconds=2")),
    "--validate": Row(("--validate", "warn")),
    "--strict": Row(("--strict",)),
    "--stub-missing": Row(("--stub-missing",)),
    "--runtime": Row(),
    "--docker-context": Row(("--docker-context", "x")),
    "-H": Row(("-H", "unix:///x")),
    "-r": Row(("-r", "unix:///x")),
    "--pull": Row(("--pull", "missing")),
    "--beside-kubelet": Row(("--beside-kubelet",)),
    "--kubelet": Row(("--kubelet", "1.32")),
    "--feature-gates": Row(
        ("--kubelet", "1.32", "--feature-gates", "SidecarContainers=true")
    ),
    "--exec-errors": Row(("--exec-errors", "docker")),
    "--no-findings": Row(("--no-findings",)),
    "--kubelet-age": Row(("--kubelet-age", "fresh")),
    "--max-container-restart-period": Row(("--max-container-restart-period", "10s")),
    "--seed": Row(("--seed", "7")),
    "-o": Row(("-o", "json"), shows=r"^[\[{]"),
    "-c": Row(("-c", "app")),
    "-t": Row(("-t", "liveness")),
    "-v": Row(("-v",)),
    "-A": Row(("-A",)),
    "-w": Row(("-w",), INTERRUPTED),
    "-i": Row(("-i",)),
    "--no-headers": Row(("--no-headers",)),
    "--config": Row(("--config", "{settings}")),
    "--log-file": Row(("--log-file", "{folder}/own.log"), writes="own.log"),
    "--log-level": Row(("--log-level", "debug")),
    "-q": Row(("-q",)),
    "--ascii": Row(("--ascii",)),
    "--from": Row(),
    "--to": Row(),
    "--script": Row(),
    "--sweep": Row(("--sweep", "failureThreshold=1..2"), replaces="--set"),
    "--false-kills": Row(("--false-kills", "1/1d")),
    "--notice": Row(("--notice", "30s")),
    "--case": Row(("-f", "{cases}", "--case", "starts"), shows="starts", replaces="-f"),
    "-j": Row(("-j", "2")),
    "--junit": Row(("--junit", "{folder}/junit.xml"), writes="junit.xml"),
    "--record-limit": Row(("--record-limit", "512Mi")),
    "--record": Row(("--record", "{folder}/records"), writes="records"),
    "--show-secrets": Row(("--show-secrets", "--record", "{folder}/records")),
    "--all-users": Row(("--all-users",)),
    "--dry-run": Row(),
    "--high": Row(("--high", "100")),
    "--low": Row(("--low", "1")),
    "--min-age": Row(("--min-age", "5m")),
    "--max-age": Row(("--max-age", "1000h")),
    "down --all": Row(("--all", "-n", "of-options"), replaces="typed"),
    "down -f": Row(("-f", "{pod}"), replaces="typed"),
    "down --static": Row(("--static", "{pod}"), replaces="typed"),
    "down -o": Row(("-o", "name"), shows="^pod/typed$"),
    "down -l": Row(("-l", "app=typed"), replaces="typed"),
    "images --docker-context": _NO_CONTEXT,
    "images -H": _NO_DAEMON,
    "images gc --docker-context": _NO_CONTEXT,
    "images gc -H": _NO_DAEMON,
    "images gc --all": Row(("--all",)),
    "versions --feature-gates": Row(("--feature-gates", "ExecProbeTimeout=true")),
    "whatif --set": Row(),
    "exec -t": Row(("-t",)),
}


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield the commands that run no session, and those below them."""
    for name in COMMANDS:
        if name in SESSIONS:
            continue
        command = COMMANDS[name].load()
        yield name, command
        if isinstance(command, click.Group):
            for below, inner in command.commands.items():
                yield f"{name} {below}", inner


def options_of(command: click.Command) -> list[str]:
    return [
        parameter.opts[0]
        for parameter in command.params
        if isinstance(parameter, click.Option)
    ]


def row_of(command: str, name: str) -> Row | None:
    return ROWS.get(f"{command} {name}") or ROWS.get(name)


def cases() -> Iterator[object]:
    for name, command in commands():
        marks = [pytest.mark.slow] if name in NEED_POD else []
        marks += [pytest.mark.docker] if name in NEED_DOCKER else []
        # A command without options is tried, too.
        for option in options_of(command) or [""]:
            yield pytest.param(name, option, marks=marks, id=f"{name} {option}")


@pytest.fixture
def values(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "cases.yaml").write_text(f"{POD}---\n{CASES}")
    (tmp_path / "settings.yaml").write_text("kubelet: '1.32'\n")
    return {
        "pod": str(tmp_path / "pod.yaml"),
        "cases": str(tmp_path / "cases.yaml"),
        "settings": str(tmp_path / "settings.yaml"),
        "record": str(tmp_path / "record.jsonl"),
        "folder": str(tmp_path),
    }


def test_each_command_has_a_line() -> None:
    assert set(BASES) == {name for name, _ in commands()}


def test_each_option_has_a_row() -> None:
    assert [
        f"{name} {option}"
        for name, command in commands()
        for option in options_of(command)
        if row_of(name, option) is None
    ] == []


@pytest.mark.parametrize(("command", "name"), cases())
def test_a_command_takes_each_option_and_ends_as_documented(
    command: str,
    name: str,
    values: dict[str, str],
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    row = Row() if not name else row_of(command, name)
    assert row is not None
    line = [*BASES[command]]
    if row.replaces:
        at = line.index(row.replaces)
        del line[at : at + 1 + row.replaces.startswith("-")]
    words = [*command.split(), *line, *row.args, *COMMANDS_AFTER.get(command, ())]
    words = [word.format_map(values) for word in words]
    if "{record}" in line:
        session = ["sim", "-f", values["pod"], "--for", "150s", "--plain", "-q"]
        assert run([*session, "--record", values["record"]]) == OK
    if command in NEED_POD:
        kind = "--static" if "--static" in line or "--static" in row.args else "-f"
        session = ["run", kind, values["pod"], "--runtime", "process", "--plain"]
        assert run([*session, "--keep", "--until", "ready", "--timeout", "60s"]) == OK
    try:
        capfd.readouterr()
        status = (run_apart if command in LEAVE_PYTHON else run)(words)
        printed = "\n".join(capfd.readouterr())
    finally:
        if command in NEED_POD:
            assert run(["down", "--all", "--runtime", "process", "-q"]) == OK
    assert status == (row.status or STATUS.get(command, OK)), printed
    assert re.search(row.shows or SHOWN.get(command, ""), printed, re.MULTILINE), (
        printed
    )
    assert not row.writes or (tmp_path / row.writes).exists()


def run_apart(words: list[str]) -> int:
    """Run the program by itself; with `-w`, interrupt it after its first row."""
    program = [sys.executable, "-m", "probetui", *words]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line.decode())
            if "-w" in words and b"typed" in line:
                process.send_signal(signal.SIGINT)
                break
        return process.wait(60)
