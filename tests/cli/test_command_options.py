"""The options of the commands that run no session, each typed once.

An option without a row in `ROWS` fails here. A row has what is typed, the documented
exit status, and what is printed where the option gives something.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
from msgspec.structs import replace

from probetui.cli.main import COMMANDS, run
from tests.cli.option_rows import (
    ABSENT_ENGINES,
    UNAVAILABLE,
    Row,
    absent_engine,
    options_of,
)
from tests.cli.test_options import BASES as SESSIONS
from tests.cluster.prometheus.server import stored_answer, told_prometheus

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: typed, namespace: of-options, labels: {app: typed}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: none
    command: [sh, -c, "echo says; trap 'exit 0' TERM; while :; do sleep 0.05; done"]
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
"""
CASES = """\
cases:
- name: starts
  expect: [ready within 60s]
- name: is not chosen
  expect: [ready within 1s]
"""
OK, DIFFERS, USAGE, NOTHING, INTERRUPTED = 0, 1, 2, 5, 130

BASES: Mapping[str, tuple[str, ...]] = {
    "check": ("-f", "{pod}"),
    "explain": ("-f", "{pod}"),
    "test": ("-f", "{pod}", "--runtime", "sim"),
    "probe": ("-f", "{pod}", "--runtime", "process"),
    "diff": ("{pod}", "{other}"),
    "versions": ("-f", "{pod}", "--from", "1.34", "--to", "1.35",
                 "--script", "healthy"),
    "exec": ("typed", "--runtime", "process"),
    "logs": ("typed", "--runtime", "process"),
    "why": ("typed", "--prometheus", "{store}", "-f", "{pod}"),
    "report": ("{record}", "-o", "-"),
    "whatif": ("{record}", "--set", "failureThreshold=5"),
    "fit": ("of-options/typed", "--prometheus", "{store}", "-f", "{pod}"),
    "fleet": ("--prometheus", "{store}", "-f", "{pod}"),
    "rules": ("-f", "{pod}"),
    "export": ("{record}", "-o", "{folder}/exported", "--perfetto"),
    "sessions": (),
    "sessions open": ("last", "--plain"),
    "sessions keep": ("last",),
    "sessions rm": ("last",),
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
NEED_POD = frozenset({"probe", "exec", "logs", "ls", "down"})
NEED_SAVED = frozenset({"sessions", "sessions open", "sessions keep", "sessions rm"})
NEED_DOCKER = frozenset({"images", "images gc"})
LEAVE_PYTHON = frozenset({"exec", "logs", "ls"})
"""`exec` becomes the command that it runs; two options end when interrupted."""
FOLLOWING: Mapping[str, bytes] = {"ls -w": b"typed", "logs -f": b"says"}
"""Options that end when they are interrupted, and what they print before."""
SHOWN: Mapping[str, str] = {
    "probe": "success",
    "diff": "looser|effects",
    "exec": "hello",
    "logs": "says",
    "ls": "typed",
    "down": "typed",
    "sessions": "typed",
    "sessions open": "typed",
    "sessions keep": "^kept ",
    "sessions rm": "^removed ",
    "fleet": "typed",
    "rules": "alert: KilledByLivenessProbe",
}
"""What each line of a command prints whose row has no pattern of its own."""


_NO_CONTEXT = Row(("--docker-context", "x"), UNAVAILABLE, 'no context "x"')
_NO_DAEMON = Row(("-H", "unix:///x"), UNAVAILABLE, "unix:///x")


def _cast(*args: str, content: str) -> Row:
    """Return the row of an option of a cast, which is over soon."""
    args = ("--asciicast", "--speed", "150", *args)
    return Row(args, writes="exported", content=content, replaces="--perfetto")


def _of_store(option: str, value: str, status: int) -> Row:
    """Return the row of an option of a store that `diff` is to ask."""
    args = ("--prometheus", "{store}", f"--prometheus-{option}", value)
    return Row(args, status, "absent|no cert")


ROWS: Mapping[str, Row] = {
    "-f": Row(),
    "--static": Row(("--static", "{pod}"), replaces="-f"),
    "-R": Row(("-f", "{tree}", "-R"), replaces="-f"),
    "--insecure-skip-tls-verify": Row(("--insecure-skip-tls-verify",)),
    "-n": Row(("-n", "of-options")),
    "-l": Row(("-l", "app=typed")),
    "--set": Row(("--set", "app.livenessProbe.periodSeconds=2")),
    "--validate": Row(
        ("-f", "{odd}", "--validate", "warn"), shows="oddField", replaces="-f"
    ),
    "--strict": Row(
        ("-f", "{odd}", "--strict"), USAGE, 'field "oddField"', replaces="-f"
    ),
    "--stub-missing": Row(("--stub-missing",)),
    "--runtime": Row(),
    **ABSENT_ENGINES,
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
    "--no-headers": Row(("--no-headers",), hides="^[A-Z]{2,}  "),
    "--config": Row(("--config", "{settings}")),
    "--log-file": Row(("--log-file", "{folder}/own.log"), writes="own.log"),
    "--log-level": Row(("--log-level", "loud"), USAGE, "debug"),
    "-q": Row(("-q",), hides="probetui: note"),
    "--ascii": Row(("--ascii",)),
    "--from": Row(),
    "--to": Row(),
    "--script": Row(),
    "--sweep": Row(
        ("--sweep", "failureThreshold=1..2"), shows="^1 .+\n2 ", replaces="--set"
    ),
    "--false-kills": Row(("--false-kills", "1/1d"), shows="wanted: 1d00h"),
    "--notice": Row(("--notice", "30s"), shows="noticed: .* .wanted: 30s"),
    "--case": Row(("-f", "{cases}", "--case", "starts"), shows="starts", replaces="-f"),
    "-j": Row(("-j", "2")),
    "--junit": Row(("--junit", "{folder}/junit.xml"), writes="junit.xml"),
    "--record-limit": Row(("--record-limit", "512Mi")),
    "--record": Row(("--record", "{folder}/records"), writes="records"),
    "--report": Row(("--report", "{folder}/pages"), writes="pages"),
    "--show-secrets": Row(("--show-secrets", "--record", "{folder}/records")),
    "--all-users": Row(("--all-users",)),
    "--dry-run": Row(),
    "--high": Row(("--high", "100"), shows="collected from 100%"),
    "--low": Row(("--low", "1")),
    "--min-age": Row(("--min-age", "5m")),
    "--max-age": Row(("--max-age", "1000h")),
    "--since": Row(("--since", "7d")),
    "--prometheus": Row(),
    "--prometheus-label": Row(("--prometheus-label", "cluster=a")),
    "--prometheus-header": Row(("--prometheus-header", "X-Api-Key: a")),
    "--prometheus-tenant": Row(("--prometheus-tenant", "a")),
    "--prometheus-token-file": Row(("--prometheus-token-file", "{settings}")),
    "--prometheus-ca": Row(
        ("--prometheus-ca", "{folder}/absent.pem"), UNAVAILABLE, r"absent\.pem"
    ),
    "--prometheus-cert": Row(
        ("--prometheus-cert", "{folder}/absent.pem"), UNAVAILABLE, r"absent\.pem"
    ),
    "--prometheus-key": Row(("--prometheus-key", "{settings}"), USAGE, "no cert"),
    "--prometheus-insecure-tls": Row(("--prometheus-insecure-tls",)),
    # A store with a URL, and settings of -f: no cluster is asked.
    "--kubeconfig": Row(("--kubeconfig", "{folder}/absent")),
    "--context": Row(("--context", "absent")),
    "--explain-queries": Row(("--explain-queries",), shows=r"^\d+ queries in"),
    "fleet --from": Row(("--from", "-2h"), shows="typed"),
    "fleet --to": Row(("--to", "2026-01-31T12:00:00Z"), shows="typed"),
    "fleet --strict": Row(("--strict",)),
    "fleet --plain": Row(("--plain",)),
    "fleet --no-tui": Row(("--no-tui",)),
    "fleet --tui": Row(("--tui",), USAGE, "--tui: standard"),
    "fleet --theme": Row(("--theme", "nord")),
    "fleet --color": Row(("--color", "never")),
    "fleet --no-mouse": Row(("--no-mouse",)),
    "fleet -o": Row(("-o", "csv"), shows="^namespace,workload,pod,"),
    "fit --from": Row(("--from", "-2h"), shows="200 results"),
    "fit --to": Row(("--to", "2026-01-31T12:00:00Z"), shows="200 results"),
    "fit --strict": Row(("--strict",)),
    "fit -o": Row(("-o", "patch"), shows="^kind: Pod"),
    "down --all": Row(("--all", "-n", "of-options"), replaces="typed"),
    "down -f": Row(("-f", "{pod}"), replaces="typed"),
    "down --static": Row(("--static", "{pod}"), replaces="typed"),
    "down -o": Row(("-o", "name"), shows="^pod/typed$"),
    "down -l": Row(("-l", "app=typed"), replaces="typed"),
    "down -R": Row(("-f", "{tree}", "-R"), replaces="typed"),
    "images --docker-context": _NO_CONTEXT,
    "images -H": _NO_DAEMON,
    "images gc --docker-context": _NO_CONTEXT,
    "images gc -H": _NO_DAEMON,
    "images gc --all": Row(("--all",)),
    "versions --feature-gates": Row(("--feature-gates", "ExecProbeTimeout=true")),
    "explain --set": Row(
        ("--set", "app.livenessProbe.periodSeconds=2"), shows="period 2s "
    ),
    "explain --kubelet": Row(("--kubelet", "1.32"), shows="plus up to 16s$"),
    "explain --config": Row(("--config", "{settings}"), shows="plus up to 16s$"),
    "info --kubelet": Row(("--kubelet", "1.32"), shows=r"kubelet rules +v1\.32 "),
    "info --config": Row(("--config", "{settings}"), shows=r"kubelet rules +v1\.32 "),
    "info --docker-context": absent_engine(
        "docker", "--docker-context", "x", shows='no context "x"', status=OK
    ),
    "info -H": absent_engine("docker", "-H", "unix:///x", status=OK),
    "info -r": absent_engine("cri", "-r", "unix:///x", status=OK),
    "ls -n": Row(("-n", "elsewhere"), shows="no pods", hides="typed"),
    "ls -l": Row(("-l", "app=other"), shows="no pods", hides="typed"),
    "check --strict": Row(
        ("-f", "{odd}", "--strict"), DIFFERS, "oddField", replaces="-f"
    ),
    "rules -o": Row(("-o", "tests"), shows="alertname: KilledByLivenessProbe"),
    "rules --scrape-interval": Row(("--scrape-interval", "1m"), shows="offset 180s"),
    "rules --set": Row(("--set", "app.livenessProbe.failureThreshold=7"), shows=">= 7"),
    "diff -R": Row(("{tree}", "-R"), shows="no difference", replaces="{other}"),
    "diff --kubeconfig": Row(
        ("cluster", "--kubeconfig", "{settings}"),
        UNAVAILABLE,
        "no cluster is configured",
        replaces="{other}",
    ),
    "diff --context": Row(
        ("cluster", "--context", "absent"), USAGE, "absent", replaces="{other}"
    ),
    "diff --prometheus": Row(("--prometheus", "demo"), shows="^history: "),
    "diff --strict": Row(("--prometheus", "http://127.0.0.1:1", "--strict"), DIFFERS),
    "diff --prometheus-ca": _of_store("ca", "{folder}/absent.pem", UNAVAILABLE),
    "diff --prometheus-cert": _of_store("cert", "{folder}/absent.pem", UNAVAILABLE),
    "diff --prometheus-key": _of_store("key", "{settings}", USAGE),
    "diff --explain-queries": Row(
        ("--prometheus", "{store}", "--explain-queries"), shows="queries in"
    ),
    "diff --since": Row(("--prometheus", "demo", "--since", "2h"), shows="04:00"),
    "diff --from": Row(("--prometheus", "demo", "--from", "03:00"), shows="03:00"),
    "diff --to": Row(("--prometheus", "demo", "--to", "03:00"), shows="03:00 UTC"),
    "diff --md": Row(("--md",), shows=r"^\| looser "),
    "diff --fail-on": Row(("--fail-on", "looser"), DIFFERS, shows="looser"),
    "--texts": Row(("--texts",), DIFFERS),
    "report -o": Row(("-o", "-"), shows="^<!DOCTYPE html>", replaces="-o"),
    "why --page": Row(("--page", "exited"), shows="^# It exits"),
    "why --md": Row(("--md",), shows="^### "),
    "why --short": Row(("--short",), shows=r"^\S+/\S+ "),
    "why --at": Row(("--at", "2099-01-31 12:00"), USAGE, "has not come yet"),
    "why --strict": Row(("--strict",)),
    "why --record": Row(("--record", "{folder}/past.jsonl"), writes="past.jsonl"),
    "whatif --set": Row(shows="/app +what if "),
    "export -o": Row(writes="exported"),
    "--perfetto": Row(writes="exported", content='"traceEvents"'),
    "--asciicast": _cast(content='"version": 2'),
    "--size": _cast("--size", "80x24", content='"width": 80, "height": 24'),
    "--speed": _cast("--speed", "50", content="REPLAY 50x"),
    "exec -t": Row(("-t",)),
    "logs -p": Row(("-p",), NOTHING, "no earlier instance"),
    "logs -f": Row(("-f",), INTERRUPTED),
    "logs --since": Row(("--since", "5m"), USAGE, "have no times"),
    "logs --tail": Row(("--tail", "1")),
    "logs --timestamps": Row(("--timestamps",), USAGE, "have no times"),
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


OPTIONS_OF: Mapping[str, str] = {"sessions open": "replay"}
"""Commands that take the options of one that runs a session, where they are tried."""


def options_to_try(name: str, command: click.Command) -> list[str]:
    return [] if name in OPTIONS_OF else options_of(command)


def row_of(command: str, name: str) -> Row | None:
    return ROWS.get(f"{command} {name}") or ROWS.get(name)


def cases() -> Iterator[object]:
    for name, command in commands():
        marks = [pytest.mark.slow] if name in NEED_POD else []
        marks += [pytest.mark.docker] if name in NEED_DOCKER else []
        # A command without options is tried, too.
        for option in options_to_try(name, command) or [""]:
            yield pytest.param(name, option, marks=marks, id=f"{name} {option}")


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """A Prometheus that knows the pod."""
    pod = {"namespace": "of-options", "pod": "typed", "container": "app"}
    labels = {**pod, "pod_uid": "u", "probe_type": "Liveness"}
    labels["__name__"] = "prober_probe_total"
    counters = [
        ({**labels, "result": "failed"}, [(1.0, "1"), (201.0, "1")]),
        ({**labels, "result": "successful"}, [(1.0, "0"), (201.0, "200")]),
    ]
    with told_prometheus(stored_answer({**pod, "pod_uid": "u"}, counters)) as url:
        yield url


@pytest.fixture
def values(tmp_path: Path, store: str) -> dict[str, str]:
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "cases.yaml").write_text(f"{POD}---\n{CASES}")
    (tmp_path / "settings.yaml").write_text("kubelet: '1.32'\n")
    (tmp_path / "odd.yaml").write_text(f"{POD.rstrip()[:-1]}, oddField: 1}}\n")
    (tmp_path / "other.yaml").write_text(POD.replace("Seconds: 1}", "Seconds: 2}"))
    (tmp_path / "tree/inner").mkdir(parents=True)
    (tmp_path / "tree/inner/pod.yaml").write_text(POD)
    return {
        "pod": str(tmp_path / "pod.yaml"),
        "other": str(tmp_path / "other.yaml"),
        "odd": str(tmp_path / "odd.yaml"),
        "tree": str(tmp_path / "tree"),
        "cases": str(tmp_path / "cases.yaml"),
        "settings": str(tmp_path / "settings.yaml"),
        "record": str(tmp_path / "record.jsonl"),
        "folder": str(tmp_path),
        "store": store,
    }


def test_each_command_has_a_line() -> None:
    assert set(BASES) == {name for name, _ in commands()}


def test_each_option_has_a_row() -> None:
    assert [
        f"{name} {option}"
        for name, command in commands()
        for option in options_to_try(name, command)
        if row_of(name, option) is None
    ] == []


def test_a_command_that_opens_a_session_has_the_options_of_replay() -> None:
    known = dict(commands())

    for name, session in OPTIONS_OF.items():
        assert options_of(known[name]) == options_of(COMMANDS[session].load())


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
    row = replace(row, shows=row.shows or SHOWN.get(command, ""))
    line = row.line(BASES[command])
    words = [*command.split(), *line, *COMMANDS_AFTER.get(command, ())]
    words = [word.format_map(values) for word in words]
    if "{record}" in line:
        session = ["sim", "-f", values["pod"], "--for", "150s", "--plain", "-q"]
        assert run([*session, "--record", values["record"]]) == OK
    if command in NEED_SAVED:
        assert run(["sim", "-f", values["pod"], "--for", "150s", "--plain", "-q"]) == OK
    if command in NEED_POD:
        kind = "--static" if "--static" in line else "-f"
        session = ["run", kind, values["pod"], "--runtime", "process", "--plain"]
        assert run([*session, "--keep", "--until", "ready", "--timeout", "60s"]) == OK
    try:
        capfd.readouterr()
        status = (run_apart if command in LEAVE_PYTHON else run)(words)
        printed = "\n".join(capfd.readouterr())
    finally:
        if command in NEED_POD:
            assert run(["down", "--all", "--runtime", "process", "-q"]) == OK
    row.check(status, printed, tmp_path)


def run_apart(words: list[str]) -> int:
    """Run the program by itself; if it follows, interrupt it after its first row."""
    followed = next(
        (row for option, row in FOLLOWING.items() if {*option.split()} <= {*words}),
        None,
    )
    program = [sys.executable, "-m", "probetui", *words]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line.decode())
            if followed is not None and followed in line:
                process.send_signal(signal.SIGINT)
                break
        return process.wait(60)
