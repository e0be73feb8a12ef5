"""Groups of options: what a field says is all that is said of an option."""

import inspect
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, get_args

import click
import pytest
from click.testing import CliRunner

from probetui.cli.main import COMMANDS
from probetui.cli.option_groups import (
    Opt,
    OptionGroup,
    Setting,
    options_of,
    pick_options,
    takes_options,
    values_of,
)
from probetui.cli.parameters import Option, SectionedCommand
from tests.cli.contexts import context_of


class Place(OptionGroup, section="Place"):
    """A group that two commands share."""

    near: Annotated[bool, Opt("-n", help="Near.")] = False
    wait_for: Annotated[timedelta | None, Opt(metavar="DUR", help="Wait.")] = None
    files: Annotated[tuple[Path, ...], Opt("--file", help="Files.")] = ()


class Colours(OptionGroup, section="Look", is_rare=True):
    """Another group."""

    hue: Annotated[str, Setting(help="The hue.")] = "blue"


class Both(Place, Colours):
    """The options of a command, and a value that no option gives."""

    reason: str = "none"


@click.command("paint", cls=SectionedCommand)
@click.argument("names", nargs=-1)
@takes_options
def paint(names: tuple[str, ...], options: Both) -> tuple[tuple[str, ...], Both]:
    """Return what was given."""
    return names, options


@click.command("look", cls=SectionedCommand)
@takes_options
def look(options: Place) -> Place:
    """Return what was given."""
    return options


def painted(*args: str) -> Both:
    """Return the group that a command line makes."""
    _, options = paint.main(list(args), standalone_mode=False)
    return options  # type: ignore[no-any-return]  # of click


def test_a_field_is_an_option_of_every_command_with_its_group() -> None:
    for command in (paint, look):
        page = CliRunner().invoke(command, ["--help"]).output

        assert "-n, --near" in page
        assert "--wait-for DUR" in page


def test_a_command_gets_its_group_with_values_of_the_types_of_the_fields() -> None:
    options = painted("one", "-n", "--wait-for", "2m", "--file", "a", "--file", "b")

    assert options.near is True
    assert options.wait_for == timedelta(minutes=2)
    assert options.files == (Path("a"), Path("b"))
    assert (options.hue, options.reason) == ("blue", "none")


def test_the_help_has_the_sections_of_the_groups_in_the_order_of_the_bases() -> None:
    page = CliRunner().invoke(paint, ["--help"]).output

    assert page.index("Place:") < page.index("--file") < page.index("Look:")
    assert "[default: blue]" in page


def test_an_option_is_a_setting_or_rare_by_its_field_and_group() -> None:
    made = {option.name: option for option in options_of(Both)}

    assert made["hue"].envvar == "PROBETUI_HUE"
    assert (made["hue"].is_setting, made["near"].is_setting) == (True, False)
    assert (made["hue"].is_rare, made["near"].is_rare) == (True, False)


def test_values_are_in_the_order_of_the_line_and_those_of_no_option_are_last() -> None:
    given = painted("--hue", "red", "-n")

    assert list(values_of(given)) == ["hue", "near", "wait_for", "files", "reason"]


def test_a_changed_group_keeps_the_order_and_the_other_values() -> None:
    changed = painted("--hue", "red").replace(reason="late")

    assert (changed.hue, changed.reason) == ("red", "late")
    assert next(iter(values_of(changed))) == "hue"


def test_a_part_of_a_group_has_its_values_and_the_defaults_of_what_is_missing() -> None:
    part = pick_options(Colours, painted("--hue", "red"))

    assert values_of(part) == {"hue": "red"}
    assert pick_options(Both, Place(near=True)).hue == "blue"


def test_a_group_refuses_a_value_that_is_no_field() -> None:
    with pytest.raises(TypeError, match="Place has no colour"):
        Place(colour="red")  # type: ignore[call-arg]  # as intended


def test_a_group_is_frozen() -> None:
    with pytest.raises(AttributeError, match="frozen"):
        Place().near = True  # type: ignore[misc]  # as intended


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_takes_its_options_as_a_mapping(name: str) -> None:
    function = COMMANDS[name].load().callback
    assert function is not None

    signature = inspect.signature(inspect.unwrap(function))

    for parameter in signature.parameters.values():
        assert parameter.kind is not inspect.Parameter.VAR_KEYWORD
        assert not {parameter.annotation, *get_args(parameter.annotation)} & {Mapping}


def test_an_option_of_two_commands_is_one_object() -> None:
    run, serve = (COMMANDS[name].load() for name in ("run", "serve"))
    timeouts = [
        option
        for command in (run, serve)
        for option in context_of(command, "pod.yaml").command.params
        if isinstance(option, Option) and option.name == "timeout"
    ]

    assert len(timeouts) == len({id(option) for option in timeouts}) + 1
