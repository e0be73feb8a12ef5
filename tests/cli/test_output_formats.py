"""`-o` is the format on every command, but for those that write a file of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from probetui.cli.main import COMMANDS, run
from probetui.cli.parameters import OutputForm

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - name: app
      image: busybox
      livenessProbe: {exec: {command: ["true"]}}
"""
WITHOUT = {"exec", "logs", "schema", "completion"}
"""Commands that print data for other programs unchanged: output, a schema, a script."""
TO_FILES = {"export", "report"}
"""Commands that only write a file, which their `-o` names."""


def formats() -> Iterator[tuple[str, click.Option]]:
    for name, entry in COMMANDS.items():
        if name in TO_FILES:
            continue
        for parameter in entry.load().params:
            if isinstance(parameter, click.Option) and parameter.name == "output":
                yield name, parameter


FORMATS = dict(formats())


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return str(path)


def test_every_command_with_output_of_its_own_has_the_option() -> None:
    assert COMMANDS.keys() - FORMATS.keys() == WITHOUT | TO_FILES


@pytest.mark.parametrize("name", FORMATS)
def test_table_or_text_is_the_default_format(name: str) -> None:
    option = FORMATS[name]
    assert isinstance(option.type, OutputForm)

    for_people = {option.type.convert(word, option, None) for word in ("table", "text")}

    assert for_people == {option.default} == {option.type.choices[0]}


@pytest.mark.parametrize("name", FORMATS)
def test_an_unknown_format_is_refused_with_the_valid_ones(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    known = ", ".join(FORMATS[name].type.choices)  # type: ignore[attr-defined]

    status = run([name, "-o", "xml"])

    assert status == 2
    assert f'--output: "xml" is not one of {known}' in capsys.readouterr().err


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(["info"], id="info"),
        pytest.param(["version"], id="version"),
        pytest.param(["check"], id="check"),
        pytest.param(["explain"], id="explain"),
        pytest.param(["versions", "--script", "healthy"], id="versions"),
        pytest.param(["ls", "--runtime", "process"], id="ls"),
    ],
)
def test_json_and_yaml_have_the_same_content(
    args: list[str], path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [path] if args[0] in {"check", "explain", "versions"} else []
    printed = []
    for form in ("json", "yaml"):
        assert run([*args, *files, "-o", form]) == 0
        printed.append(capsys.readouterr().out)

    assert json.loads(printed[0]) == yaml.safe_load(printed[1])


def test_a_wide_check_explains_every_rule(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["check", path])
    usual = capsys.readouterr().out.splitlines()
    run(["check", path, "-o", "wide"])
    wide = capsys.readouterr().out.splitlines()

    assert [line for line in wide if not line.startswith("  ")] == usual
    assert "  A container gets traffic as soon as it runs." in wide


def test_info_has_the_folders_in_json(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["info", "-o", "json"])

    files = {
        row["name"]: row["value"]
        for row in json.loads(capsys.readouterr().out)["files"]
    }
    assert files["config"].startswith(str(home / "config" / "probetui" / "config.yaml"))
