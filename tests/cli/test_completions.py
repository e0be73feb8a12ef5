"""Shell completion."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from probetui.cli import completions
from probetui.cli.commands.sessions import run
from probetui.cli.main import group, main

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers: [{name: first, image: busybox}]
  containers: [{name: app, image: busybox}, {name: log, image: busybox}]
"""
OPTION = run.params[0]


def context(*filenames: str) -> click.Context:
    made = click.Context(run)
    made.params = {"filenames": filenames, "recursive": False}
    return made


def test_containers_of_the_manifests_on_the_command_line_are_completed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)

    every = completions.complete_containers(context(str(path)), OPTION, "")
    some = completions.complete_containers(context("-", str(path)), OPTION, "l")

    assert [item.value for item in every] == ["app", "first", "log"]
    assert [item.value for item in some] == ["log"]


def test_arguments_that_map_a_container_begin_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    other = POD.replace("name: web", "name: mail").replace("name: log", "name: queue")
    path.write_text(f"{POD}---\n{other}")

    every = completions.complete_container_targets(context(str(path)), OPTION, "")
    some = completions.complete_container_targets(context(str(path)), OPTION, "mail/")

    assert {item.value for item in every} == {
        *("log=", "queue="),
        *("web/app=", "mail/app=", "web/first=", "mail/first="),
    }
    assert [item.value for item in some] == ["mail/app=", "mail/first="]


@pytest.mark.parametrize("name", ["attach", "probe"])
def test_arguments_of_a_command_are_completed_with_containers(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)

    shell = ShellComplete(group, {}, "probetui", "_PROBETUI_COMPLETE")
    offered = shell.get_completions([name, "-f", str(path)], "a")

    assert [item.value for item in offered] == ["app="]


@pytest.mark.parametrize(
    "filenames", [(), ("-",), ("/no/such/file",), ("/dev/null",)], ids=str
)
def test_nothing_is_completed_if_nothing_can_be_read(
    filenames: tuple[str, ...],
) -> None:
    assert completions.complete_containers(context(*filenames), OPTION, "") == []


def test_themes_and_lessons_are_completed_by_prefix() -> None:
    themes = completions.complete_themes(context(), OPTION, "nor")
    lessons = completions.complete_lessons(context(), OPTION, "rea")
    scripts = completions.complete_version_scripts(context(), OPTION, "nev")
    files = completions.complete_version_scripts(context(), OPTION, "my.")

    assert [theme.value for theme in themes] == ["nord"]
    assert [lesson.value for lesson in lessons] == ["readiness"]
    assert [script.value for script in scripts] == ["never-ready"]
    assert [(file.value, file.type) for file in files] == [("my.", "file")]


def test_the_subcommand_of_images_is_completed_with_its_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def offered(line: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        monkeypatch.setenv("_PROBETUI_COMPLETE", "bash_complete")
        with pytest.raises(SystemExit):
            main()
        return capsys.readouterr().out.split()

    assert offered("probetui images ") == ["plain,gc"]
    assert "plain,--dry-run" in offered("probetui images gc --d")


def test_cases_of_the_files_on_the_command_line_are_completed(tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text(
        f"{POD}---\ncases: [{{name: starts}}, {{name: stays up}}, {{}}, 3]\n"
    )

    every = completions.complete_cases(context("-", str(path)), OPTION, "")
    some = completions.complete_cases(context(str(path)), OPTION, "star")

    assert [item.value for item in every] == ["starts", "stays up"]
    assert [item.value for item in some] == ["starts"]
    assert completions.complete_cases(context("gone.yaml"), OPTION, "") == []
