"""Options that name files to write never cost the user a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from probetui.cli.main import COMMANDS, group, run

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: outputs}
spec:
  containers:
    - name: app
      image: none
      readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
"""
SIM = ("sim", "-f", "pod.yaml", "--plain", "--for", "3s")
TEST = ("test", "-f", "pod.yaml", "--runtime", "sim")
SERVE = ("serve", "-f", "pod.yaml", "--runtime", "process", "--timeout", "1s")
OUTPUTS = {
    "--record FILE": (*SIM, "--record"),
    "--report FILE": (*SIM, "--report"),
    "--log-file": (*SIM, "--log-file"),
    "--junit": (*TEST, "--junit"),
    "--write-kubeconfig": (*SERVE, "--write-kubeconfig"),
}
"""What writes a file, by its option; the name of the file follows."""

FOLDERS = {"--record DIR", "--report DIR"}
ELSEWHERE = {"--output FILE"}
"""Those of commands with a test of their own (`commands/test_session_report.py`)."""

INPUTS = {
    *("--prometheus-ca FILE", "--prometheus-cert FILE"),
    *("--prometheus-key FILE", "--prometheus-token-file FILE"),
    "-f",
    "--static",
    "--script",
    "--kubeconfig",
    "--keymap",
    "--config",
}
"""What reads a file, by its option."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    Path("pod.yaml").write_text(POD)


def file_options() -> Iterator[tuple[str, str]]:
    """Yield each option whose value is a file or a folder, with its placeholder."""
    context = click.Context(group)
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                option = next(
                    (name for name in parameter.opts if name.startswith("--")),
                    parameter.opts[0],
                )
                yield option, str(parameter.metavar)


def test_each_option_that_names_a_file_is_known_to_read_or_to_write() -> None:
    known = {*OUTPUTS, *FOLDERS, *ELSEWHERE, *INPUTS, "--filename"}

    unknown = {
        f"{option} {metavar}"
        for option, metavar in file_options()
        if metavar in {"FILE", "DIR", "FOLDER", "PATH"}
        and not {option, f"{option} {metavar}"} & known
    }

    assert unknown == set()


@pytest.mark.parametrize("option", OUTPUTS)
def test_no_manifest_and_no_foreign_file_is_written_to(
    option: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("link").symlink_to("pod.yaml")
    Path("thesis").write_text("1. Introduction\n")
    # Empty: it would be written to if it were not read as well.
    Path("empty.yaml").touch()
    refusals = {
        "pod.yaml": "this command uses the file as an input",
        "link": "this command uses the file as an input",
        "thesis": "the file exists and is not a",
        "empty.yaml": "this command uses the file as an input",
    }

    for name, reason in refusals.items():
        command = (*OUTPUTS[option], name, "-f", "empty.yaml")
        status = run(command)

        captured = capfd.readouterr()
        error = f"{option.removesuffix(' FILE')} {name}: {reason}"
        assert (status, error in captured.err) == (2, True), captured.err

    assert Path("pod.yaml").read_text() == POD
    assert Path("thesis").read_text() == "1. Introduction\n"
    assert Path("empty.yaml").read_bytes() == b""


@pytest.mark.parametrize("option", OUTPUTS)
def test_a_missing_an_empty_and_an_own_file_are_written(
    option: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("empty").touch()
    if option == "--log-file":  # which a short session writes nothing to
        Path("new").write_text("2026-11-20 08:18:00,123 INFO probetui.cli: hello\n")

    for name in ("new", "new", "empty"):
        status = run((*OUTPUTS[option], name))
        assert status in {0, 4}, capfd.readouterr().err

    left = sorted(path.name for path in Path().iterdir() if path.is_file())
    if option != "--write-kubeconfig":  # which is removed at the end
        assert left == ["empty", "new", "pod.yaml"]
        assert Path("new").stat().st_size


@pytest.mark.parametrize("name", ["session.jsonl", "session.jsonl.gz"])
def test_a_record_is_not_recorded_over_while_it_is_replayed(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    run((*SIM, "--record", name))
    before = Path(name).read_bytes()

    status = run(("replay", name, "--plain", "--record", name))

    assert "this command uses the file as an input" in capfd.readouterr().err
    assert status == 2
    assert Path(name).read_bytes() == before


def test_a_record_of_a_case_takes_no_foreign_file(
    capfd: pytest.CaptureFixture[str],
) -> None:
    run((*TEST, "--record", "records"))
    (record,) = Path("records").iterdir()
    record.write_text("mine\n")

    status = run((*TEST, "--record", "records"))

    assert "the file exists and is not a record of probetui" in capfd.readouterr().err
    assert status == 2
    assert record.read_text() == "mine\n"


def test_a_session_that_does_not_begin_leaves_the_earlier_record(
    capfd: pytest.CaptureFixture[str],
) -> None:
    run((*SIM, "--record", "session.jsonl"))
    before = Path("session.jsonl").read_bytes()
    never = "outputs/app:no-such-condition"

    status = run((*SIM, "--record", "session.jsonl", "--until", never))

    assert status != 0, capfd.readouterr().out
    assert Path("session.jsonl").read_bytes() == before
