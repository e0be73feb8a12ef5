"""Option classes: sections of the help, settings, and types of values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource
from click.types import BoolParamType

from probetui.durations import MAX_DURATION, parse_duration
from probetui.errors import UsageError
from probetui.suggestions import nearest_hint

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])

_BYTE_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BYTE_UNITS |= {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
_FOR_PEOPLE = {"table", "text"}
_NAME_WIDTH = 26
_MANY_OPTIONS = 15
_SLOWEST, _FASTEST = 0.001, 10_000.0


class Option(click.Option):
    """An option with a place in the help text.

    Args:
        section: the heading it is listed under.
        is_rare: of a command with many options only `--help-all` lists it.
        is_setting: it may also come from `PROBETUI_NAME` in the environment and from
            `name:` in the configuration file, in this order.
    """

    def __init__(
        self,
        *args: Any,
        section: str,
        is_rare: bool = False,
        is_setting: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.section = section
        self.is_rare = is_rare
        self.is_setting = is_setting
        if self.is_flag and isinstance(self.type, BoolParamType):
            self.type = _Switch()
        self.key = next(name[2:] for name in self.opts if name.startswith("--"))
        if is_setting:
            self.envvar = "PROBETUI_" + self.key.replace("-", "_").upper()

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Return what follows the help text: the default, and no range of numbers."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


def examples(*lines: str) -> str:
    """Return the examples at the end of a command's help."""
    # The first line keeps click from wrapping the others.
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


_SESSIONS = frozenset(
    {"run", "attach", "watch", "test", "node", "serve", "sim", "replay", "demo"}
)
"""They begin to log themselves, once their input is known: no log is written there."""


class SectionedCommand(click.Command):
    """A command whose help lists its options under headings."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what it logs goes to a file that the user named."""
        path = ctx.params.get("log_file")
        if path is not None and self.name not in _SESSIONS:
            # Late: few name a file.
            from probetui.cli.log import start_log

            start_log(path, ctx.params["log_level"])
        return super().invoke(ctx)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with `--help-all` where `--help` leaves some out."""
        params = super().get_params(ctx)
        return [*params, _HELP_ALL] if self._is_long else params

    @property
    def _is_long(self) -> bool:
        """Whether `--help` leaves the rare options out."""
        return sum(isinstance(known, Option) for known in self.params) > _MANY_OPTIONS

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options, a section each, in the order of their declaration."""
        lists_all = not self._is_long or SHOWS_ALL in ctx.meta
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Argument):
                continue  # the text above says what it is
            if not lists_all and getattr(parameter, "is_rare", False):
                continue
            row = parameter.get_help_record(ctx)
            if row is not None:
                section = getattr(parameter, "section", "Program")
                sections.setdefault(section, []).append(row)
        for section, rows in sections.items():
            with formatter.section(section):
                # Padded, so that each section has its texts in the same column.
                padded = [(name.ljust(_NAME_WIDTH), text) for name, text in rows]
                formatter.write_dl(padded, col_max=_NAME_WIDTH + 2)


SHOWS_ALL = "probetui.cli.parameters.SHOWS_ALL"
"""The key of `click.Context.meta` with which a help text lists every option."""


def _print_whole_help(
    ctx: click.Context,
    _option: click.Parameter,
    is_given: bool,  # noqa: FBT001  # click's signature
) -> None:
    """Print the help text with every option, and exit."""
    if is_given and not ctx.resilient_parsing:
        from probetui.cli.printing import print_text

        ctx.meta[SHOWS_ALL] = True
        print_text(f"{ctx.get_help()}\n")
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_whole_help,
    help="Show this message with all options and exit.",
)


class _Switch(BoolParamType):
    """True or false, in the words that click takes for it."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> bool:
        """Read one."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f'"{value}" is not true or false', param, ctx)


class OneOf(click.Choice[str]):
    """One of some words; the error names them all and the nearest."""

    def get_invalid_choice_message(
        self,
        value: Any,
        ctx: click.Context | None,  # noqa: ARG002  # click hands it over
    ) -> str:
        """Return what is wrong with a word that is none of them."""
        known = ", ".join(self.choices)
        return (
            f'"{value}" is not one of {known}{nearest_hint(str(value), self.choices)}'
        )


class OutputForm(OneOf):
    """An output format; `table` and `text` both mean the one for people."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Read one."""
        is_for_people = value in _FOR_PEOPLE
        return super().convert(self.choices[0] if is_for_people else value, param, ctx)


class Duration(click.ParamType[timedelta]):
    """A length of time: `90s`, `5m`, `1h30m`, `500ms`, or a number of seconds."""

    name = "duration"
    pattern = r"^([0-9]{1,8}|([0-9]{1,4}(\.[0-9]{1,3})?(h|m|s|ms))+)$"
    """What is surely one; more is taken, up to ten years."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Read one; a value that is one already stays as it is."""
        if isinstance(value, timedelta):
            return value
        duration = parse_duration(str(value).strip(), limit=timedelta.max)
        if duration is None:
            forms = "write 90s, 5m, 1h30m or a number of seconds"
            self.fail(f'"{value}" is not a duration; {forms}', param, ctx)
        if duration > MAX_DURATION:
            self.fail(f'"{value}" is longer than ten years', param, ctx)
        return duration


class WholeNumber(click.IntRange):
    """A whole number in a range."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Read one."""
        try:
            int(value)
        except ValueError:
            self.fail(f'"{value}" is not a whole number', param, ctx)
        return super().convert(value, param, ctx)


class Pace(click.FloatRange):
    """How many times as fast as real time: a number, and none that is not finite."""

    name = "number"

    def __init__(self) -> None:
        super().__init__(_SLOWEST, _FASTEST)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read one."""
        if str(value).strip().lower().lstrip("+-") == "nan":
            self.fail(f'"{value}" is not a number', param, ctx)
        return super().convert(value, param, ctx)


class Cells(NamedTuple):
    """The size of a screen."""

    columns: int
    rows: int


class ScreenSize(click.ParamType[Cells]):
    """Columns and rows of a screen: `100x30`."""

    name = "size"
    pattern = r"^[0-9]{1,3}x[0-9]{1,3}$"
    """What is surely one, if it is not too small or too large."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Cells:
        """Read one; a value that is one already stays as it is."""
        if isinstance(value, Cells):
            return value
        match = re.fullmatch(r"([0-9]{1,3})x([0-9]{1,3})", str(value).strip())
        columns, rows = map(int, match.groups()) if match else (0, 0)
        if not (40 <= columns <= 300 and 10 <= rows <= 100):  # noqa: PLR2004
            bounds = "COLUMNSxROWS, from 40x10 to 300x100"
            self.fail(f'"{value}" is not a size: {bounds}', param, ctx)
        return Cells(columns, rows)


class KubeletVersion(click.ParamType[str]):
    """A version of the kubelet: `1.36`, `v1.36` or `1.36.2`; given as `1.36`."""

    name = "version"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Read one."""
        from probetui.kubelet_rules import parse_version

        try:
            return str(parse_version(str(value)))
        except UsageError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self, _ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the versions that begin with what is written."""
        # Late, as the path below: `version` and `--help` need neither.
        from click.shell_completion import CompletionItem

        from probetui.kubelet_rules import VERSIONS

        return [
            CompletionItem(version)
            for version in VERSIONS
            if version.startswith(incomplete)
        ]


class ByteCount(click.ParamType[int]):
    """A number of bytes: `500M`, `1Gi`, or the number itself."""

    name = "bytes"
    pattern = "^[0-9]{1,15}([kMGT]|[KMGT]i)?$"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Read one."""
        text = str(value)
        if re.search(self.pattern, text) is None or "\n" in text:
            forms = "write 500M, 1Gi or a number of bytes"
            self.fail(f'"{value}" is not a size; {forms}', param, ctx)
        number = text.rstrip("kKMGTi")
        return int(number) * _BYTE_UNITS[text.removeprefix(number)]


class KeymapSource(click.ParamType["Path | Mapping[str, object]"]):
    """A file with keys; the configuration file may have the keys themselves."""

    name = "keymap"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path | Mapping[str, object]:
        """Return a path, or a mapping of actions to keys as it is."""
        if isinstance(value, Mapping):
            return value
        if not isinstance(value, str | PathLike):
            self.fail("is neither a file nor a mapping of actions to keys", param, ctx)
        from pathlib import Path

        return Path(value)


class GroupWithOptions(SectionedCommand, click.Group):
    """A command with options and subcommands of its own."""

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options, then the subcommands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def refuse_options_before_subcommand(ctx: click.Context) -> None:
    """Refuse options that stand before a subcommand, where they would be ignored."""
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(str(parameter.name))
        if source is ParameterSource.COMMANDLINE:
            name = next(name for name in parameter.opts if name.startswith("--"))
            raise click.UsageError(f"{name}: write it after {ctx.invoked_subcommand}")
