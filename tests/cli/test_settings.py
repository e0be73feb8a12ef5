"""The configuration file."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from probetui.cli.options import ALL_SETTINGS
from probetui.cli.run import command as run_command
from probetui.cli.settings import load_settings
from probetui.errors import ManifestError, ProbetuiError, UsageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def load(path: Path | None, command: click.Command = run_command) -> dict[str, object]:
    return load_settings(path, known=ALL_SETTINGS, wanted=command.params)


def test_settings_are_written_by_the_names_of_their_options(path: Path) -> None:
    path.write_text("runtime: process\nno-motion: true\nseed: 7\n")

    assert load(path) == {"runtime": "process", "no_motion": True, "seed": 7}


def test_settings_of_other_commands_are_passed_over(path: Path) -> None:
    path.write_text("runtime: process\n")

    assert load(path, click.Command("version")) == {}


@pytest.mark.parametrize("content", ["", "# nothing yet\n"])
def test_an_empty_file_sets_nothing(path: Path, content: str) -> None:
    path.write_text(content)

    assert load(path) == {}


def test_the_usual_file_need_not_be_there_but_counts_if_it_is(home: Path) -> None:
    without = load(None)
    usual = home / "config" / "probetui" / "config.yaml"
    usual.parent.mkdir(parents=True)
    usual.write_text("theme: nord\n")

    assert without == {}
    assert load(None) == {"theme": "nord"}


def test_all_that_is_wrong_is_said_at_once(path: Path) -> None:
    path.write_text("runtme: docker\npull: sometimes\nascii: 3\nseed: -1\n1: 2\n")

    with pytest.raises(ManifestError) as caught:
        load(path)

    assert caught.value.problems == (
        f'{path}: "runtme" is not a setting (nearest: runtime)',
        f'{path}: pull: "sometimes" is not one of missing, always, never',
        f'{path}: ascii: "3" is not true or false',
        f"{path}: seed: -1 is not in the range x>=0.",
        f'{path}: "1" is not a setting',
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("a: b: c\n", ":1:5: mapping values are not", id="syntax"),
        pytest.param("- a\n", "is not a mapping of settings", id="a list"),
        pytest.param("a: \x07\n", "config.yaml", id="control characters"),
    ],
)
def test_what_is_no_configuration_is_refused_with_its_name(
    path: Path, content: str, message: str
) -> None:
    path.write_text(content)

    with pytest.raises(UsageError) as caught:
        load(path)

    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_was_named_must_be_there(path: Path) -> None:
    with pytest.raises(ProbetuiError, match="No such file"):
        load(path)
