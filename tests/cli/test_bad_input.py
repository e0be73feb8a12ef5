"""How every command handles bad input."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from probetui.cli.main import run

PROBE = "livenessProbe: {exec: {command: ['true']}, periodSeconds: 1}"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec: {}\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: app
          image: busybox
          livenessProbe: {exec: {command: ['true']}}
"""
BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcde", "bcdef", strict=True)
)

COMMANDS = {
    "run": ("--runtime", "sim", "--plain", "--for", "1s"),
    "attach": ("--runtime", "process", "--plain", "--no-wait"),
    "sim": ("--plain", "--for", "1s"),
    "check": (),
    "explain": (),
    "probe": ("--runtime", "process"),
}
"""Arguments with which every command ends: `attach` and `probe` find nothing."""


def a_pod(probe: str = PROBE, more: str = "", of_pod: str = "") -> str:
    """Return a manifest of one container; the arguments are inserted as lines."""
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n"
        f"{of_pod}  containers:\n    - name: app\n      image: busybox\n"
        f"{more}      {probe}\n"
    )


@dataclass(frozen=True, slots=True)
class Statuses:
    """The exit status of every command."""

    run: int
    attach: int
    sim: int
    check: int
    explain: int
    probe: int


REFUSED = Statuses(2, 2, 2, 2, 2, 2)
WRONG = Statuses(2, 2, 2, 1, 2, 2)
"""`check` finds errors; no other command can use the file."""

NOTHING = Statuses(5, 5, 5, 5, 5, 5)
TAKEN = Statuses(0, 3, 0, 0, 0, 3)


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of input: the exit status and the message."""

    text: str | None
    statuses: Statuses
    message: str
    more: tuple[str, ...] = ()


ROWS = {
    "file is missing": Row(None, REFUSED, "pod.yaml: No such file or directory"),
    "syntax": Row("kind: [Pod", REFUSED, "did not find expected ',' or ']'"),
    "alias bomb": Row(BOMB, REFUSED, "aliases expand to more than 100000 values"),
    "over 10 MiB": Row(f"# {'x' * 2**20 * 10}", REFUSED, "is larger than 10 MiB"),
    "over 1000 documents": Row(
        f"---\n{SERVICE}" * 1001, REFUSED, "the file has more than 1000 documents"
    ),
    "doubled key": Row(
        a_pod(of_pod="  hostname: a\n  hostname: b\n"),
        Statuses(0, 3, 0, 2, 0, 3),
        "spec.hostname: duplicate key, first in line 5",
    ),
    "no pod at all": Row(SERVICE, NOTHING, 'Service "db" has no pod template, skipped'),
    "a kind without pods among others": Row(
        f"{a_pod()}---\n{SERVICE}", TAKEN, "has no pod template, skipped"
    ),
    "template": Row(DEPLOYMENT, TAKEN, "is run as one pod instead of 3"),
    "unknown field": Row(
        a_pod(more="      livenesProbe: {}\n"),
        Statuses(0, 3, 0, 1, 0, 3),
        'unknown field "livenesProbe" (did you mean "livenessProbe"?)',
    ),
    "no probe": Row(
        a_pod("stdin: true"),
        Statuses(0, 3, 0, 0, 0, 5),
        "no container has a probe",
    ),
    "no handler": Row(
        a_pod("livenessProbe: {periodSeconds: 1}"), WRONG, "has no handler"
    ),
    "two handlers": Row(
        a_pod("livenessProbe: {tcpSocket: {port: 1}, exec: {command: [a]}}"),
        WRONG,
        "only one handler is allowed",
    ),
    "out of range": Row(
        a_pod("livenessProbe: {exec: {command: [a]}, successThreshold: 3}"),
        WRONG,
        "spec.containers[0].livenessProbe.successThreshold: is 3, must be 1 for a "
        "liveness probe",
    ),
    "wrong type": Row(
        a_pod("livenessProbe: {exec: {command: [a]}, periodSeconds: 5s}"),
        WRONG,
        'is the string "5s", must be a whole number of seconds',
    ),
    "grace of a readiness probe": Row(
        a_pod(
            "readinessProbe: {tcpSocket: {port: 1}, terminationGracePeriodSeconds: 3}"
        ),
        WRONG,
        "must not be set on a readiness probe",
    ),
    "port name": Row(
        a_pod("livenessProbe: {httpGet: {port: htpp}}"),
        Statuses(0, 3, 0, 0, 0, 3),
        '"htpp" is not a port name of container "app"',
    ),
    "two pods with one name": Row(
        f"{a_pod()}---\n{a_pod()}", REFUSED, '"web" is the name of another pod'
    ),
    "no such container": Row(
        a_pod(), REFUSED, 'no container is called "db" (has: app)', ("-c", "db")
    ),
}


def cases() -> Iterator[object]:
    """Return every command with every row."""
    for name, row in ROWS.items():
        for command in COMMANDS:
            yield pytest.param(command, row, id=f"{name}, {command}")


def message_of(capfd: pytest.CaptureFixture[str], command: str) -> str:
    """Return the messages of a command; `check` prints them to standard output."""
    captured = capfd.readouterr()
    assert "Traceback" not in captured.err
    return captured.out + captured.err if command == "check" else captured.err


@pytest.mark.parametrize(("command", "row"), cases())
def test_every_command_reports_the_problem_with_its_exit_status(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
    row: Row,
) -> None:
    monkeypatch.chdir(tmp_path)
    if row.text is not None:
        Path("pod.yaml").write_text(row.text)

    status = run([command, "-f", "pod.yaml", *COMMANDS[command], *row.more])

    assert status == getattr(row.statuses, command)
    assert row.message in message_of(capfd, command)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reports_an_empty_folder(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    (tmp_path / "pods").mkdir()

    status = run([command, "-f", str(tmp_path / "pods"), *COMMANDS[command]])

    assert status == 5
    assert "pods: no .yaml, .yml or .json file is there" in message_of(capfd, command)


class Terminal(io.BytesIO):
    """Standard input that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("stdin", "status", "message"),
    [
        pytest.param(io.BytesIO, 5, "standard input: no YAML received", id="empty"),
        pytest.param(
            Terminal, 2, "-f -: nothing is piped into standard input", id="terminal"
        ),
    ],
)
def test_every_command_reports_that_nothing_was_piped(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    stdin: type[io.BytesIO],
    status: int,
    message: str,
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stdin()))

    ended = run([command, "-f", "-", *COMMANDS[command]])

    assert ended == status
    assert message in message_of(capfd, command)


@pytest.mark.parametrize(
    "command",
    [pytest.param(command, id=command) for command in COMMANDS if command != "check"],
)
def test_every_command_that_starts_something_prints_only_data_to_standard_output(
    capfd: pytest.CaptureFixture[str], command: str
) -> None:
    run([command, "-f", "gone.yaml", *COMMANDS[command]])

    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("command", ["run", "attach"])
def test_strict_refuses_unsupported_fields(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(
        a_pod(of_pod="  volumes: [{name: data, nfs: {server: a, path: /b}}]\n")
    )

    status = run([command, "-f", str(path), "--strict", *COMMANDS[command]])

    assert status == 2
    assert "spec.volumes[0].nfs: is not supported" in message_of(capfd, command)


def test_check_lists_unsupported_fields_only_on_request(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(
        a_pod(of_pod="  volumes: [{name: data, nfs: {server: a, path: /b}}]\n")
    )

    run(["check", "-f", str(path)])
    default_output = message_of(capfd, "check")
    run(["check", "-f", str(path), "-v"])

    assert "nfs" not in default_output
    assert "spec.volumes[0].nfs: is not supported" in message_of(capfd, "check")


def test_probe_does_not_wait_and_prints_no_note_about_waiting(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(a_pod())

    status = run(["probe", "-f", str(path), *COMMANDS["probe"]])

    assert status == 3
    assert "waiting" not in message_of(capfd, "probe")
