"""The configuration file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import click
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from probetui.cli.commands.sessions import run as run_command
from probetui.cli.parameters import Option
from probetui.cli.settings import ALL_SETTINGS, JsonSchema, config_schema, load_settings
from probetui.errors import ManifestError, ProbetuiError, UsageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def load(path: Path | None, command: click.Command = run_command) -> dict[str, object]:
    return load_settings(path, known=ALL_SETTINGS, wanted=command.params)


def test_settings_have_the_names_of_their_options(path: Path) -> None:
    path.write_text("runtime: process\nno-motion: true\nseed: 7\n")

    assert load(path) == {"runtime": "process", "no_motion": "true", "seed": "7"}


def test_settings_of_other_commands_are_ignored(path: Path) -> None:
    path.write_text("runtime: process\n")

    assert load(path, click.Command("version")) == {}


@pytest.mark.parametrize("content", ["", "# nothing yet\n"])
def test_an_empty_file_sets_nothing(path: Path, content: str) -> None:
    path.write_text(content)

    assert load(path) == {}


def test_the_default_file_is_optional(home: Path) -> None:
    without = load(None)
    usual = home / "config" / "probetui" / "config.yaml"
    usual.parent.mkdir(parents=True)
    usual.write_text("theme: nord\n")

    assert without == {}
    assert load(None) == {"theme": "nord"}


def test_all_problems_are_reported_at_once(path: Path) -> None:
    path.write_text(
        "runtme: docker\npull: sometimes\nascii: 3\nseed: -1\n1: 2\ntheme: [nord]\n"
    )

    with pytest.raises(ManifestError) as caught:
        load(path)

    assert caught.value.problems == (
        f'{path}:1:1: "runtme" is not a setting (nearest: runtime)',
        f'{path}:2:1: pull: "sometimes" is not one of missing, always, never',
        f'{path}:3:1: ascii: "3" is not true or false',
        f"{path}:4:1: seed: -1 is not in the range x>=0",
        f'{path}:5:1: "1" is not a setting',
        f"{path}:6:1: theme: is a list, not a value",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("a: b: c\n", ":1:5: mapping values are not", id="syntax"),
        pytest.param("- a\n", "is not a mapping of settings", id="a list"),
        pytest.param("a: \x07\n", "config.yaml", id="control characters"),
    ],
)
def test_an_invalid_configuration_is_refused_with_its_name(
    path: Path, content: str, message: str
) -> None:
    path.write_text(content)

    with pytest.raises(UsageError) as caught:
        load(path)

    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_given_file_must_exist(path: Path) -> None:
    with pytest.raises(ProbetuiError, match="No such file"):
        load(path)


ALL_KINDS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    st.dates(),
    st.lists(st.text(max_size=3), max_size=3),
    # YAML refuses `<<` with anything but a mapping, at any position.
    st.dictionaries(
        st.text(max_size=3).filter(lambda key: key != "<<"), st.integers(), max_size=3
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("key", [setting.key for setting in ALL_SETTINGS])
@given(value=ALL_KINDS)
@example(value=2**64)
@example(value=1.36)
def test_valid_values_are_accepted_and_any_other_is_accepted_or_refused_by_name(
    key: str, value: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any-kind.yaml"
    # In quotes, as not all that YAML 1.1 takes for text is that to Kubernetes.
    style = '"' if isinstance(value, str) else None
    content = yaml.safe_dump({key: value}, default_style=style)
    path.write_text(content, encoding="utf-8")
    schema = config_schema()["properties"][key]

    found = problems_of(path)

    assert not (found and fits(schema, value))
    assert all(problem.startswith(f"{path}:1:1: {key}: ") for problem in found)


def test_an_invalid_path_is_refused(path: Path) -> None:
    path.write_text('log-file: "a\\0b"\n')

    assert problems_of(path) == (f"{path}:1:1: log-file: is not a path",)


SWITCH = ("true", "false", "1", "0", "yes", "no", "on", "off", "True")
WRITTEN = {
    "kubelet": ("1.36", "1.20", "v1.32", "1.32.4"),
    "autosave-limit": ("1000", "1Gi"),
    "seed": ("7", "007"),
    "keymap": ("5", "keys.yaml"),
    "max-container-restart-period": ("60", "90s", "1.5m"),
}


def written(setting: Option) -> Sequence[str]:
    """Return values of a setting as they are written in the file."""
    if setting.is_flag:
        return SWITCH
    if isinstance(setting.type, click.Choice):
        return setting.type.choices
    return WRITTEN.get(setting.key, ("1", "1.50", "2026-11-20", "no", "text"))


@pytest.mark.parametrize("setting", ALL_SETTINGS, ids=lambda setting: setting.key)
def test_the_file_the_environment_and_the_command_line_accept_the_same_values(
    setting: Option, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = click.Command("any", params=[setting, *program_params()])

    def taken(*args: str) -> object:
        with command.make_context("any", ["--config", str(path), *args]) as ctx:
            return ctx.params[str(setting.name)]

    for value in written(setting):
        path.write_text(f"{setting.key}: {value}\n")
        in_file = taken()
        path.write_text("")
        monkeypatch.setenv(str(setting.envvar), value)
        in_environment = taken()
        monkeypatch.delenv(str(setting.envvar))

        assert in_file == in_environment, value
        if not setting.is_flag:
            assert in_file == taken(f"--{setting.key}", value), value


def program_params() -> Sequence[click.Parameter]:
    return [parameter for parameter in run_command.params if parameter.name == "config"]


def test_a_version_that_looks_like_a_number_is_read_as_text(
    path: Path,
) -> None:
    path.write_text("kubelet: 1.20\n")

    assert load(path) == {"kubelet": "1.20"}


def test_an_invalid_version_is_refused_with_its_line(path: Path) -> None:
    path.write_text("# mine\n\nkubelet: 1.2\n")

    (problem,) = problems_of(path)

    assert problem.startswith(f"{path}:3:1: kubelet: ")
    assert '"1.2"' in problem


def problems_of(path: Path) -> Sequence[str]:
    try:
        load_settings(path, known=ALL_SETTINGS, wanted=ALL_SETTINGS)
    except ManifestError as error:
        return error.problems
    return ()


def fits(schema: JsonSchema, value: object) -> bool:
    if isinstance(value, date):  # text to Kubernetes, and in JSON
        value = str(value)
    if "anyOf" in schema:
        return any(fits(alternative, value) for alternative in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    kinds = {"boolean": bool, "integer": int, "string": str, "object": dict}
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        return False
    if isinstance(value, int) and not (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
    ):
        return False
    return type(value) in {kinds[name] for name in names}
