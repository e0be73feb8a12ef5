"""Values of options: their formats and sources."""

from datetime import timedelta

import click
import pytest
from click.testing import CliRunner

from probetui.cli.commands.sessions import run as run_command
from probetui.cli.main import group
from probetui.cli.option_groups import takes_options
from probetui.cli.options import KubeletOptions
from probetui.cli.parameters import Duration, OneOf, SectionedCommand
from probetui.cli.settings import ALL_SETTINGS


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("5m", 300),
        ("1h30m", 5400),
        ("1m30s", 90),
        ("500ms", 0.5),
        ("1.5s", 1.5),
        ("90", 90),
        (" 90 ", 90),
        ("0", 0),
    ],
)
def test_a_duration_is_parsed(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5x", "s", "-5s", "5s3", "1 h", "½", "٣", "٣s"])
def test_an_invalid_duration_is_refused_with_the_valid_formats(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a duration; write 90s, 5m"):
        Duration().convert(text, None, None)


def test_a_duration_that_is_too_long_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="longer than ten years"):
        Duration().convert("99999999h", None, None)


def test_an_invalid_choice_is_refused_with_all_choices_and_a_suggestion() -> None:
    with pytest.raises(click.BadParameter) as caught:
        OneOf(("plain", "jsonl")).convert("json", None, None)

    assert caught.value.message == (
        '"json" is not one of plain, jsonl (nearest: jsonl)'
    )


def test_a_setting_may_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @click.command(cls=SectionedCommand)
    @takes_options
    def command(options: KubeletOptions) -> str:
        return options.kubelet_age

    monkeypatch.setenv("PROBETUI_KUBELET_AGE", "fresh")

    assert command.main([], standalone_mode=False) == "fresh"
    assert command.main(["--kubelet-age", "old"], standalone_mode=False) == "old"


def test_every_setting_is_an_option_of_run() -> None:
    names = {parameter.name for parameter in run_command.params}

    assert {all_setting.name for all_setting in ALL_SETTINGS} <= names


def test_every_option_of_run_has_a_help_text_and_a_section() -> None:
    context = click.Context(run_command)

    for parameter in run_command.params:
        if not isinstance(parameter, click.Option):
            continue  # arguments are explained in the help text of the command
        assert parameter.hidden or parameter.get_help_record(context)[1]  # type: ignore[index]  # None only if hidden
        assert getattr(parameter, "section", "")


def test_the_help_has_no_ranges_of_numbers() -> None:
    # As the program does: click keeps the help option that a command had first.
    help_text = CliRunner().invoke(group, ["run", "--help-all"]).output

    assert "--seed N" in help_text
    assert "x>=" not in help_text
    assert "<=x" not in help_text
