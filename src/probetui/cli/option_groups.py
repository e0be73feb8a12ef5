"""Options as fields of typed groups: each is declared once, and all else is derived.

A field of a group whose annotation has an `Opt` is an option:

    class EndOptions(OptionGroup, section="When to stop"):
        timeout: Annotated[timedelta | None, Opt(metavar="DUR", help="Stop ...")] = None

The name and the type of the field say what the option is called and what it takes:
`--timeout`, a duration. A `bool` is a flag, a `tuple` may be given several times. A
group that is made of others inherits from them; the help lists the options in the
order of its bases, then its own. A field without an `Opt` is a value that the program
sets and no option. Modules with groups do without `from __future__ import annotations`:
annotations that are text would have to be compiled once more.

A command's function takes one group, of that command; `takes_options` declares its
options to click, and calls the function with the group that click's values make. What
the command calls takes the groups that it needs: a group is also each of its bases.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from datetime import timedelta
from functools import cache, wraps
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    NamedTuple,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

import click

from probetui.cli.parameters import Duration, F, Option

G = TypeVar("G", bound="OptionGroup")
_TYPES: dict[object, click.ParamType[Any]] = {
    timedelta: Duration(),
    Path: click.Path(path_type=Path),
}


class Opt:
    """How the command line gives a field.

    Args:
        flags: its names; `--name-of-the-field` is added where no long one is among
            them.
        section: the heading of the help it is listed under, by default its group's.
        attributes: others of an `Option`.
    """

    is_setting = False

    def __init__(self, *flags: str, section: str = "", **attributes: Any) -> None:
        self.flags = flags
        self.section = section
        self.attributes = attributes


class Setting(Opt):
    """The same, of an option with a variable and a configuration key of its name."""

    is_setting = True


class _Field(NamedTuple):
    """The annotation of a field, and what its group says of its options."""

    hint: Any
    section: str
    is_rare: bool


@dataclass_transform(eq_default=False, frozen_default=True, kw_only_default=True)
class OptionGroup:
    """Options that belong together; every field has a default.

    It is a dataclass to type checkers. Python's own take as long to make as all the
    rest of a command line does.

    Attributes:
        given_order: the names of a command's options, those first that its line has,
            in its order; empty where no command made the group.
    """

    section: ClassVar[str] = ""
    _fields: ClassVar[Mapping[str, _Field]] = {}
    given_order: tuple[str, ...] = ()

    def __init_subclass__(cls, *, section: str = "", is_rare: bool = False) -> None:
        """Collect the fields, those of the bases first.

        Args:
            section: the heading of the help that the group's own options are under.
            is_rare: all of its options are rare.
        """
        super().__init_subclass__()
        if section:
            cls.section = section
        known: dict[str, _Field] = {}
        for base in cls.__bases__:
            if issubclass(base, OptionGroup):
                # A name stays where it came first.
                known |= {**base._fields, **known}
        for name, hint in inspect.get_annotations(cls).items():
            known[name] = _Field(hint, cls.section, is_rare=False)
        if is_rare:
            known = {
                name: field._replace(is_rare=True) for name, field in known.items()
            }
        cls._fields = known

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - self._fields.keys() - {"given_order"}
        if unknown:
            raise TypeError(
                f"{type(self).__name__} has no {', '.join(sorted(unknown))}"
            )
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name}: a group of options is frozen")

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Return the names of the values, in the order of the help text."""
        return tuple(cls._fields)

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Self:
        """Make a group of click's values, among which there may be others."""
        given = {name: params[name] for name in params if name in cls._fields}
        return cls(**given, given_order=tuple(given))

    def replace(self, **values: Any) -> Self:
        """Return the same options but for some values."""
        return type(self)(**self.__dict__ | values)


def values_of(group: OptionGroup) -> dict[str, Any]:
    """Return the values of a group by name, in the order of the command line.

    Those that no option gives are last.
    """
    known = group.field_names()
    given = (name for name in group.given_order if name in known)
    return {name: getattr(group, name) for name in dict.fromkeys((*given, *known))}


def pick_options(kind: type[G], group: OptionGroup) -> G:
    """Make a group of those fields of another that it has, too.

    A command without one of them leaves it at its default.
    """
    theirs = group.field_names()
    values = {
        name: getattr(group, name) for name in kind.field_names() if name in theirs
    }
    return kind(**values, given_order=group.given_order)


def options_of(kind: type[OptionGroup]) -> tuple[Option, ...]:
    """Return the options of a group in the order of the help text."""
    return tuple(
        option
        for name, field in kind._fields.items()  # the class is above
        for option in _options(name, field, getattr(kind, name))
    )


@cache
def _options(name: str, field: _Field, default: object) -> tuple[Option, ...]:
    """Return the options that give a field, none for a value of the program.

    All commands that have them share the objects: they take long to make.
    """
    if get_origin(field.hint) is not Annotated:
        return ()
    kind, *rest = get_args(field.hint)
    return tuple(
        _make(name, kind, default, opt, field) for opt in rest if isinstance(opt, Opt)
    )


def _make(name: str, kind: object, default: object, opt: Opt, field: _Field) -> Option:
    """Return an option as click knows it."""
    flags = opt.flags
    if not any(flag.startswith("--") for flag in flags):
        flags = (*flags, f"--{name.replace('_', '-')}")
    derived: dict[str, Any] = {"is_rare": field.is_rare, "is_setting": opt.is_setting}
    is_switch = any("/" in flag for flag in flags)
    if kind is bool and not is_switch:
        derived["is_flag"] = True
    elif default not in {None, ()}:
        derived["default"] = default
        derived["show_default"] = "[default:" not in opt.attributes["help"]
    if get_origin(kind) is tuple:
        derived["multiple"] = True
    taken = next((part for part in _parts(kind) if part in _TYPES), None)
    if taken is not None:
        derived["type"] = _TYPES[taken]
    return Option(
        (*flags, name), section=opt.section or field.section, **derived | opt.attributes
    )


def _parts(kind: object) -> tuple[object, ...]:
    """Return a type, or those that it is a union or a tuple of."""
    return get_args(kind) or (kind,)


def takes_options(function: F) -> F:
    """Declare the options of the group that a command's function takes, and make it.

    Its other parameters are arguments of click's.
    """
    ((parameter, kind),) = (
        (name, hint)
        for name, hint in inspect.get_annotations(function).items()
        if name != "return" and isinstance(hint, type) and issubclass(hint, OptionGroup)
    )
    options = options_of(kind)

    @wraps(function)
    def with_group(*args: Any, **params: Any) -> Any:
        group = kind.of(params)
        rest = {name: params[name] for name in params.keys() - kind.field_names()}
        return function(*args, **{parameter: group}, **rest)

    command = cast("F", with_group)
    for option in reversed(options):
        made = cast("type[Option]", lambda _names, option=option: option)
        command = click.option(cls=made)(command)
    return command
