"""The command line as a whole, without starting anything."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from probetui import __version__
from probetui.cli.main import COMMANDS, CommandEntry, option_name, run
from probetui.kubelet_rules import DEFAULT_VERSION
from tests.cli.contexts import context_of

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - name: app
      image: busybox
      ports: [{name: http, containerPort: 80}]
      livenessProbe:
        httpGet: {port: 80}
"""
Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a manifest and returns the name of its file."""

    def write(text: str) -> str:
        path = tmp_path / "pod.yaml"
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Use endpoints without a daemon, so that nothing is started."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    monkeypatch.setenv(
        "CONTAINER_RUNTIME_ENDPOINT", f"unix://{tmp_path}/nobody-either.sock"
    )


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    """Run a command line that has no output; return its status and its errors."""
    status = run(args)

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return status, captured.err


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0

    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_text_of_its_own(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert run([name, "--help"]) == 0

    assert f"probetui {name}" in capsys.readouterr().out


def listed_options(capsys: pytest.CaptureFixture[str], *args: str) -> set[str]:
    """Return the long names of the options that a help text lists."""
    assert run(args) == 0
    rows = capsys.readouterr().out.splitlines()
    return {
        name for row in rows for name in re.findall(r"^  (?:-\w, )?(--[\w-]+)", row)
    }


@pytest.mark.parametrize("name", ["run", "attach", "test", "sim", "serve", "watch"])
def test_the_help_of_a_command_lists_its_common_options(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    common = listed_options(capsys, name, "--help")
    everything = listed_options(capsys, name, "--help-all")

    declared = {
        option_name(parameter)
        for parameter in COMMANDS[name].load().params
        if isinstance(parameter, click.Option) and not parameter.hidden
    }
    assert {"--record", "--help-all"} <= common
    assert not {"--seed", "--log-level"} & common
    assert everything == declared | {"--help", "--help-all"}


def test_a_command_with_few_options_lists_them_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "--log-level" in listed_options(capsys, "logs", "--help")


def test_a_lesson_has_no_options_of_engines(capsys: pytest.CaptureFixture[str]) -> None:
    assert not {"--docker-context", "--exec-errors"} & listed_options(
        capsys, "demo", "--help-all"
    )


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("kill", "probetui down POD"),
    ],
)
def test_a_command_of_another_tool_is_answered(
    capsys: pytest.CaptureFixture[str], word: str, answer: str
) -> None:
    status, errors = refused(capsys, word)

    assert status == 2
    assert answer in errors


def test_help_names_the_default_kubelet_version(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["run", "--help"]) == 0

    assert f"[default: {DEFAULT_VERSION}]" in capsys.readouterr().out


def examples() -> Iterator[tuple[str, list[str]]]:
    """Yield the examples of the help texts, with their arguments."""
    for name in COMMANDS:
        for line in (COMMANDS[name].load().epilog or "").splitlines():
            if "probetui " in line:
                words = line.partition("probetui ")[2].partition(" >")[0].split()
                yield name, words[words[0] == name :]


@pytest.mark.parametrize(("name", "words"), examples())
def test_the_examples_of_the_help_are_valid(name: str, words: list[str]) -> None:
    context = context_of(COMMANDS[name].load(), *words)

    assert context.params


def test_every_command_with_files_or_sessions_has_examples() -> None:
    without = COMMANDS.keys() - {name for name, _ in examples()}

    assert without <= {"completion", "exec", "images", "info", "schema", "version"}


@pytest.mark.parametrize("args", [["version"], ["--version"]], ids=str)
def test_the_version_is_one_line(
    capsys: pytest.CaptureFixture[str], args: list[str]
) -> None:
    assert run(args) == 0

    assert capsys.readouterr().out == f"probetui {__version__}\n"


@pytest.mark.parametrize("args", [[], ["run"]], ids=str)
def test_no_arguments_print_the_demo_and_the_example(
    capsys: pytest.CaptureFixture[str], args: list[str]
) -> None:
    status, errors = refused(capsys, *args)

    assert status == 2
    assert "probetui demo" in errors
    assert "probetui -f pod.yaml" in errors
    assert max(map(len, errors.splitlines())) < 80, "a line is broken by a terminal"


def test_nothing_is_written_without_a_command(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    refused(capsys)

    assert not home.exists()


def test_run_is_the_default_command_if_options_come_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert refused(capsys, "-f", "gone.yaml") == refused(
        capsys, "run", "-f", "gone.yaml"
    )


def test_a_misspelt_command_is_refused_with_a_suggestion(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, errors = refused(capsys, "dmeo")

    assert status == 2
    assert errors == (
        'probetui: error: "dmeo" is not a command (nearest: demo); '
        "`probetui --help` lists them\n"
    )


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(["{}"], id="alone"),
        pytest.param(["run", "{}"], id="run"),
        pytest.param(["run", "-f", "{}", "{}"], id="beside -f"),
        pytest.param(["-f", "{},{}"], id="commas"),
    ],
)
def test_files_are_run_however_they_are_named(
    capsys: pytest.CaptureFixture[str], write: Write, args: list[str]
) -> None:
    path = write(POD)

    status, errors = refused(capsys, *(word.format(path, path) for word in args))

    assert status == 3, "it got as far as looking for an engine"
    assert "nobody.sock" in errors


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("x" * 300, "File name too long", id="too long"),
        pytest.param("http://127.0.0.1:9/a,b.yaml", "/a,b.yaml", id="URL"),
    ],
)
def test_a_name_is_split_at_commas_only_if_it_can_be_several_files(
    capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    status, errors = refused(capsys, "check", "-f", name)

    assert status == 2
    assert message in errors
    assert "bug" not in errors


def test_a_missing_file_is_not_an_unknown_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, errors = refused(capsys, "gone.yaml")

    assert status == 2
    assert "gone.yaml: No such file or directory" in errors


@pytest.mark.parametrize("command", ["check", "explain"])
def test_commands_without_a_session_take_files_as_well(
    capsys: pytest.CaptureFixture[str], write: Write, command: str
) -> None:
    path = write(POD)

    assert run([command, path]) == run([command, "-f", path]) == 0


@pytest.mark.parametrize(
    ("args", "same"),
    [
        pytest.param(["help"], ["--help"], id="program"),
        pytest.param(["help", "run"], ["run", "--help"], id="command"),
    ],
)
def test_help_is_a_command_too(
    capsys: pytest.CaptureFixture[str], args: list[str], same: list[str]
) -> None:
    assert run(args) == 0
    help_text = capsys.readouterr().out

    assert run(same) == 0
    assert help_text == capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["get", "pods"], "probetui ls", id="get"),
        pytest.param(["describe", "pod", "web"], "probetui explain", id="describe"),
        pytest.param(["delete", "pod", "web"], "probetui down", id="delete"),
        pytest.param(["apply", "-f", "x.yaml"], "probetui -f FILE", id="apply"),
        pytest.param(["ps"], "probetui ls", id="ps"),
        pytest.param(["up"], "probetui -f FILE", id="up"),
        pytest.param(["-f", "x", "--dry-run"], "probetui check", id="dry run"),
        pytest.param(["-d", "-f", "x"], "--keep", id="detached"),
        pytest.param(["-k", "."], "kubectl kustomize DIR | ", id="kustomize"),
    ],
)
def test_commands_of_other_tools_are_answered_with_the_right_one(
    capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    status, errors = refused(capsys, *args)

    assert status == 2
    assert message in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    "args",
    [pytest.param([], id="no pod"), pytest.param(["web"], id="no command")],
)
def test_a_missing_argument_is_named(
    capsys: pytest.CaptureFixture[str], args: list[str]
) -> None:
    status, errors = refused(capsys, "exec", *args)

    assert status == 2
    assert "Missing argument" in errors


def test_the_help_has_three_examples(capsys: pytest.CaptureFixture[str]) -> None:
    run(["--help"])

    _, _, text = capsys.readouterr().out.partition("Examples:")
    assert text.count("  probetui ") == 3


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        pytest.param(["-f", "gone.yaml"], 2, "gone.yaml: No such file", id="missing"),
        pytest.param(["-f", "."], 5, ".yaml, .yml or .json", id="folder is empty"),
        pytest.param(
            ["-f", "ftp://a/b"], 2, "ftp://a/b: is not http or https", id="URL"
        ),
        pytest.param(["-o", "jsn"], 2, "--output: ", id="output"),
        pytest.param(["-o", "jsn"], 2, "(nearest: jsonl)", id="the nearest output"),
        pytest.param(["--runtime", "dcker"], 2, "(nearest: docker)", id="runtime"),
        pytest.param(["--timeout", "5x"], 2, "--timeout: ", id="duration"),
        pytest.param(["--untl", "x"], 2, "(nearest: --until)", id="option"),
        pytest.param(["--until"], 2, "--until", id="no value"),
        pytest.param(["-t", "live"], 2, "(nearest: liveness)", id="probe type"),
        pytest.param(["--log-level", "loud"], 2, "--log-level: ", id="log level"),
        pytest.param(["--config", "gone"], 2, "--config gone: No such", id="config"),
        pytest.param(
            ["--theme", "nord", "demo"],
            2,
            "the command comes first: probetui demo --theme nord",
            id="a command behind its options",
        ),
        pytest.param(["run", "extra"], 2, "extra: No such file", id="argument"),
        pytest.param(["demo", "livenes"], 2, "(nearest: liveness)", id="lesson"),
        pytest.param(["completion", "csh"], 2, "bash, zsh, fish", id="shell"),
        pytest.param(["schema", "x"], 2, 'error: "x" is not one of record', id="name"),
        pytest.param(["completion"], 2, "say which shell: bash, zsh", id="no shell"),
        pytest.param(
            ["attach", "web"], 2, "probetui attach FILE CONTAINER=", id="attach"
        ),
        pytest.param(["down"], 2, "say which pods: NAME, -l LABELS, -f", id="down"),
        pytest.param(["down", "-l", "a", "--all"], 2, "say which pods", id="-l --all"),
        pytest.param(["down", "-l", "a b"], 2, "not a label requirement", id="-l"),
        pytest.param(["ls", "-l", "a", "web"], 2, "write names or -l", id="ls NAME -l"),
    ],
)
def test_a_command_line_that_cannot_be_used_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    args: list[str],
    status: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    actual_status, errors = refused(capsys, *args)

    assert actual_status == status
    assert message in errors
    assert all(line.startswith("probetui: error: ") for line in errors.splitlines())


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        pytest.param(["--until", "redy"], 2, "(nearest: ready)", id="condition"),
        pytest.param(["--until", "db:ready"], 2, "(has: web)", id="pod of a condition"),
        pytest.param(
            ["--until", "web/log:ready"], 2, "(has: app)", id="container of a condition"
        ),
        pytest.param(["-c", "log"], 2, "(has: app)", id="container"),
        pytest.param(["-l", "app=db"], 5, "no pod has the labels", id="selector"),
        pytest.param(["-l", "a b"], 2, "is not a label requirement", id="bad selector"),
        pytest.param(["--set", "app"], 2, "must be PATH=VALUE", id="setting"),
        pytest.param(["--set", "log.image=x"], 2, "(has: app)", id="setting's target"),
        pytest.param(["--theme", "nrod"], 2, "(nearest: nord)", id="theme"),
        pytest.param(
            ["--record", "/no/such/file"], 2, "--record /no/such", id="record"
        ),
        pytest.param(["--log-file", "/dev/null/x"], 2, "--log-file /dev/", id="log"),
        pytest.param(["--tui"], 2, "--tui: standard input is not", id="no terminal"),
        pytest.param(["--seed", "-1"], 2, "--seed: ", id="seed"),
    ],
)
def test_an_option_that_does_not_fit_the_pods_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
    write: Write,
    args: list[str],
    status: int,
    message: str,
) -> None:
    actual_status, errors = refused(capsys, "-f", write(POD), *args)

    assert actual_status == status
    assert message in errors
    assert all(line.startswith("probetui: error: ") for line in errors.splitlines())


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        pytest.param(("kind: Pod", "kind: [Pod"), 2, "^", id="syntax, with a caret"),
        pytest.param(
            ("livenessProbe:\n        httpGet", "livenessProbe:\n        httpGt"),
            2,
            "has no handler, must have one of exec",
            id="no handler",
        ),
        pytest.param(
            (
                "httpGet: {port: 80}",
                "httpGet: {port: 80}\n        exec: {command: [a]}",
            ),
            2,
            "only one handler is allowed",
            id="two handlers",
        ),
        pytest.param(
            ("httpGet: {port: 80}", "httpGet: {port: 80}\n        periodSeconds: 5s"),
            2,
            "livenessProbe.periodSeconds",
            id="wrong type",
        ),
        pytest.param(
            (
                "httpGet: {port: 80}",
                "httpGet: {port: 80}\n        successThreshold: 3",
            ),
            2,
            "livenessProbe.successThreshold",
            id="out of range",
        ),
        pytest.param(
            (
                "livenessProbe:",
                "readinessProbe:\n        terminationGracePeriodSeconds: 3",
            ),
            2,
            "readinessProbe.terminationGracePeriodSeconds",
            id="grace period on readiness",
        ),
        pytest.param(("name: app", "name: A"), 2, "containers[0].name", id="bad name"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_refused_with_file_line_and_field(
    capsys: pytest.CaptureFixture[str],
    write: Write,
    change: tuple[str, str],
    status: int,
    message: str,
) -> None:
    path = write(POD.replace(*change))

    actual_status, errors = refused(capsys, "-f", path)

    assert actual_status == status
    assert message in errors
    assert errors.startswith(f"probetui: error: {path}:")
    assert errors.splitlines()[-1].endswith(", nothing was started")


def test_all_problems_are_reported_at_once_and_counted(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    bad = POD.replace("port: 80}\n", "port: htpp, path: 3}\n").replace(": app", ": A")

    _, errors = refused(capsys, "-f", write(bad))

    lines = [line for line in errors.splitlines() if ": error: " in line]
    assert len(lines) == 3
    assert lines[-1] == "probetui: error: 2 errors, nothing was started"


def test_warnings_and_errors_are_in_the_order_of_lines(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    odd = "      imag: busybox\n      ports:"
    path = write(POD.replace("      ports:", odd).replace("port: 80}\n", "port: -1}\n"))

    _, errors = refused(capsys, "-f", path)
    _, quiet = refused(capsys, "-f", path, "-q")

    warning, error, summary = errors.splitlines()
    assert warning.startswith("probetui: warning:")
    assert 'unknown field "imag" (did you mean "image"?)' in warning
    assert error.startswith("probetui: error:")
    assert quiet.splitlines() == [error, summary]


def test_two_pods_of_one_name_are_refused(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    status, errors = refused(capsys, "-f", write(f"{POD}---\n{POD}"))

    assert status == 2
    assert "web" in errors


def test_a_duplicate_key_is_a_warning_and_with_strict_an_error(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    path = write(POD.replace("image: busybox", "image: busybox\n      image: alpine"))

    warned, warning = refused(capsys, "-f", path)
    strict, error = refused(capsys, "-f", path, "--validate", "strict")

    assert warned == 3  # no daemon: the manifest was accepted
    assert f"probetui: warning: {path}:8" in warning
    assert strict == 2
    assert f"probetui: error: {path}:8" in error


def test_a_kind_without_pods_is_skipped_with_a_note(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"

    beside_a_pod = refused(capsys, "-f", write(f"{service}---\n{POD}"))
    alone = refused(capsys, "-f", write(service))

    assert beside_a_pod[0] == 3  # no daemon: the pod was accepted
    assert "probetui: note: " in beside_a_pod[1]
    assert alone[0] == 5


def test_quiet_prints_no_warnings(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    path = write(POD.replace("image: busybox", "image: busybox\n      imge: x"))

    _, errors = refused(capsys, "-f", path, "-q")

    assert [line.split(":")[1] for line in errors.splitlines()] == [" error"]


@pytest.mark.parametrize(
    ("until", "reason"),
    [
        ("web/app:killed", "no liveness probe"),
        ("restarts=1", "restartPolicy Never"),
        ("backoff", "restartPolicy Never"),
    ],
)
def test_a_condition_that_can_never_be_met_is_reported_before_the_start(
    capsys: pytest.CaptureFixture[str], write: Write, until: str, reason: str
) -> None:
    pod = POD.replace("livenessProbe", "readinessProbe")
    path = write(pod.replace("spec:\n", "spec:\n  restartPolicy: Never\n"))

    status, errors = refused(capsys, "-f", path, "--until", until)

    assert status == 1
    assert f"--until {until} can never happen: " in errors
    assert reason in errors


def test_an_unreachable_daemon_is_one_line_with_the_endpoints_that_were_tried(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    status, errors = refused(capsys, "-f", write(POD))

    assert status == 3
    assert len(errors.splitlines()) == 1
    assert os.environ["DOCKER_HOST"] in errors
    assert os.environ["CONTAINER_RUNTIME_ENDPOINT"] in errors


@pytest.mark.parametrize(
    ("args", "tried"),
    [
        pytest.param(["--runtime", "docker"], ["Docker"], id="docker"),
        pytest.param(["--runtime", "cri"], ["CRI"], id="cri"),
        pytest.param(["--host", "unix:///x"], ["Docker"], id="Docker's endpoint"),
        pytest.param(["-r", "unix:///x"], ["CRI"], id="CRI's endpoint"),
        pytest.param([], ["Docker", "CRI"], id="neither"),
    ],
)
def test_errors_name_no_other_engine_than_the_selected_one(
    capsys: pytest.CaptureFixture[str], write: Write, args: list[str], tried: list[str]
) -> None:
    status, errors = refused(capsys, "-f", write(POD), *args)

    error_by_engine = {
        "Docker": "no Docker daemon answers",
        "CRI": "no CRI runtime can be used",
    }
    assert status == 3
    assert [name for name, words in error_by_engine.items() if words in errors] == tried


@pytest.mark.parametrize("args", [["ls"], ["down", "--all"]], ids=str)
def test_a_failed_lookup_is_never_reported_as_an_empty_result(
    capsys: pytest.CaptureFixture[str], args: list[str]
) -> None:
    status, errors = refused(capsys, *args)

    assert status == 3
    assert os.environ["DOCKER_HOST"] in errors


def test_an_empty_standard_input_is_nothing_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))

    status, errors = refused(capsys, "-f", "-")

    assert status == 5
    assert errors == "probetui: error: standard input: no YAML received\n"


def test_a_bug_leaves_a_report_and_its_name(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
) -> None:
    def broken(_entry: CommandEntry) -> None:
        raise ZeroDivisionError("for example")

    monkeypatch.setattr(CommandEntry, "load", broken)

    status, errors = refused(capsys, "info", "--host", "x")

    reports = list((home / "state" / "probetui").glob("crash-*.txt"))
    assert status == 70
    assert len(reports) == 1
    assert str(reports[0]) in errors
    assert "ZeroDivisionError: for example" in reports[0].read_text()
    assert "arguments: info --host x" in reports[0].read_text()


def test_a_bug_is_shown_where_no_report_can_be_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_entry: CommandEntry) -> None:
        raise ZeroDivisionError("for example")

    monkeypatch.setattr(CommandEntry, "load", broken)
    monkeypatch.setattr("probetui.cli.log.tempfile.gettempdir", lambda: "/dev/null")
    monkeypatch.setattr(
        "probetui.cli.log.state_folder", lambda: Path("/dev/null/state")
    )

    status = run(["info"])

    assert status == 70
    assert "ZeroDivisionError: for example" in capsys.readouterr().err


def test_the_command_line_overrides_settings_of_the_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, write: Write
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("validate: strict\n")
    path = write(POD.replace("image: busybox", "image: busybox\n      imge: x"))

    of_file, _ = refused(capsys, "-f", path, "--config", str(config))
    of_line, _ = refused(
        capsys, "-f", path, "--config", str(config), "--validate", "warn"
    )

    assert (of_file, of_line) == (2, 3)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed(
    capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    assert run(["completion", shell]) == 0

    assert "_PROBETUI_COMPLETE" in capsys.readouterr().out


def test_info_lists_the_endpoints_that_were_tried_and_the_folders(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    assert run(["info"]) == 0

    out = capsys.readouterr().out
    assert os.environ["DOCKER_HOST"] in out
    assert f"{os.environ['CONTAINER_RUNTIME_ENDPOINT']} (CONTAINER_RUNTIME" in out
    assert "process            processes on " in out
    assert str(home / "config" / "probetui" / "config.yaml") in out
    assert str(home / "state" / "probetui" / "probetui.log") in out


def test_the_lessons_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--list"]) == 0

    out = capsys.readouterr().out
    assert out.startswith("liveness\n  ")
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        pytest.param("PROBETUI_SEED", "a", '"a" is not a whole number', id="number"),
        pytest.param("PROBETUI_ASCII", "3", '"3" is not true or false', id="switch"),
        pytest.param("PROBETUI_PULL", "x", '"x" is not one of missing', id="word"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    message: str,
) -> None:
    monkeypatch.setenv(variable, value)

    status, errors = refused(capsys, "run", "x.yaml")

    assert status == 2
    assert errors.startswith(f"probetui: error: {variable}: {message}")


def test_the_version_of_the_kubelet_has_its_long_name_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["info", "--kubelet-version", "1.20"]) == 0

    assert "kubelet rules      v1.20 " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "status"),
    [
        pytest.param(["probe", "pod.yaml", "-t", "liveness"], 3, id="probe"),
        pytest.param(["attach", "pod.yaml", "app=shop-1", "--plain"], 3, id="attach"),
        pytest.param(["down", "pod.yaml", "--runtime", "process"], 0, id="down"),
    ],
)
def test_a_file_needs_no_option_beside_other_arguments(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    write: Write,
    args: list[str],
    status: int,
) -> None:
    monkeypatch.chdir(Path(write(POD)).parent)

    typed = run(args)
    errors = capsys.readouterr().err
    same = run([args[0], "-f", *args[1:]])

    assert (typed, errors) == (same, capsys.readouterr().err)
    assert typed == status


def test_pods_to_remove_are_named_or_in_a_file_not_both(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, errors = refused(capsys, "down", "web", "pod.yaml")

    assert status == 2
    assert "say which pods" in errors


INTERRUPTED_WHILE_IMPORTING = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == "probetui.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from probetui.__main__ import main
main()
"""


def test_an_interrupt_while_the_program_is_imported_ends_it_without_a_traceback() -> (
    None
):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_IMPORTING],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
