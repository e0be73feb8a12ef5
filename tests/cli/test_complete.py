"""What a shell is offered (UX-68)."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from probetui.cli import complete
from probetui.cli.main import group, main
from probetui.cli.run import command

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers: [{name: first, image: busybox}]
  containers: [{name: app, image: busybox}, {name: log, image: busybox}]
"""
OPTION = command.params[0]


def context(*filenames: str) -> click.Context:
    made = click.Context(command)
    made.params = {"filenames": filenames, "recursive": False}
    return made


def test_the_containers_of_the_manifests_on_the_line_are_offered(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)

    every = complete.containers(context(str(path)), OPTION, "")
    some = complete.containers(context("-", str(path)), OPTION, "l")

    assert [each.value for each in every] == ["app", "first", "log"]
    assert [each.value for each in some] == ["log"]


def test_words_that_name_a_container_begin_with_it(tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    other = POD.replace("name: web", "name: mail").replace("name: log", "name: queue")
    path.write_text(f"{POD}---\n{other}")

    every = complete.container_words(context(str(path)), OPTION, "")
    some = complete.container_words(context(str(path)), OPTION, "mail/")

    assert {each.value for each in every} == {
        *("log=", "queue="),
        *("web/app=", "mail/app=", "web/first=", "mail/first="),
    }
    assert [each.value for each in some] == ["mail/app=", "mail/first="]


@pytest.mark.parametrize("name", ["attach", "probe"])
def test_a_shell_is_offered_containers_for_the_words_of_a_command(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)

    shell = ShellComplete(group, {}, "probetui", "_PROBETUI_COMPLETE")
    offered = shell.get_completions([name, "-f", str(path)], "a")

    assert [each.value for each in offered] == ["app="]


@pytest.mark.parametrize(
    "filenames", [(), ("-",), ("/no/such/file",), ("/dev/null",)], ids=str
)
def test_where_nothing_can_be_read_nothing_is_offered(
    filenames: tuple[str, ...],
) -> None:
    assert complete.containers(context(*filenames), OPTION, "") == []


def test_themes_and_lessons_are_offered_by_how_they_begin() -> None:
    themes = complete.themes(context(), OPTION, "nor")
    lessons = complete.lessons(context(), OPTION, "rea")

    assert [each.value for each in themes] == ["nord"]
    assert [each.value for each in lessons] == ["readiness"]


def test_the_command_below_images_is_offered_with_its_options(
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
