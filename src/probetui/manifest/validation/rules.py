"""Tables of rules, and the walk over an object that knows the path.

The rules of a type stand in a `Rules`, in the API server's order. What they find is
errors (`check`) or warnings (`find_warnings`). A rule is one of:

- a rule of a field: whether it may be absent, and the rules of its value or of each of
  its items: `Required("name", valid(check_label))`, `Each("ports", PORT)`;
- a function from a value or an object to its errors, where fields depend on each other;
  one that needs the version or the pod is `in_context`, one that compares the items of
  a list is `Remembering`;
- another table: `IfSet("lifecycle", LIFECYCLE)`.

No rule knows where its object is. The errors of a function name fields relative to
what it is given (`ports[0].name`, or nothing for the value itself), and the walk puts
the path before them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import UnionType
from typing import Any, cast

from lightkube.models import core_v1
from msgspec import Struct
from msgspec import field as struct_field

from probetui.kubelet_rules import KubeletRules
from probetui.manifest.validation.field_error import (
    ApiWarning,
    FieldError,
    FieldWarning,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_many,
)

Errors = Iterable[FieldError]
Warnings = Iterable[ApiWarning]
Report = FieldError | ApiWarning | FieldWarning
"""What a rule finds; a table has one kind of it."""
Check = Callable[[Any], Errors]
"""A function from a value to its errors."""
WarningCheck = Callable[[Any], Warnings | Iterable[FieldWarning]]
"""A function from a value to its warnings."""

Path = tuple[Any, str | int] | None
"""The path of a value as its owner's path and a step: `.name`, an index or nothing.

It becomes a text only if there is an error.
"""


class Context(Struct):
    """What rules may know besides the value: the rules of the version."""

    version: KubeletRules


class PodContext(Context):
    """What the rules of a pod may know: the pod, and its valid volumes by name."""

    spec: core_v1.PodSpec
    pod_name: str = ""
    strict_env_names: bool = False
    is_admitted: bool = False
    volumes: dict[str, core_v1.Volume] = struct_field(default_factory=dict)

    @property
    def claims(self) -> set[str]:
        """The names of the pod's resource claims."""
        return {claim.name for claim in self.spec.resourceClaims or () if claim.name}

    @property
    def os_name(self) -> str:
        """The pod's operating system, empty if it names none."""
        return (self.spec.os.name or "") if self.spec.os is not None else ""


class ValidationRule(ABC):
    """A rule of an object or of a value."""

    __slots__ = ()
    remembers = False
    """Whether the rule is made anew for each list."""

    @abstractmethod
    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        """Add the errors of a value at a path."""

    def begin(self, owner: Any, context: Any) -> ValidationRule:  # noqa: ARG002  # of few rules
        """Return the rule for the items of one list."""
        return self


Row = ValidationRule | Check | WarningCheck
"""What stands in a table: a rule, or a function from a value."""


def check(
    rule: ValidationRule, value: Any, context: Any = None, at: str = ""
) -> list[FieldError]:
    """Return the errors of a value; `at` is its path."""
    errors: list[Report] = []
    rule.visit(value, (None, f".{at}") if at else None, context, errors)
    return cast("list[FieldError]", errors)


def find_warnings(rule: ValidationRule, value: Any, context: Any) -> list[Any]:
    """Return the warnings of a table that has warnings, which are all of one type."""
    warnings: list[Report] = []
    rule.visit(value, None, context, warnings)
    return warnings


class _Function(ValidationRule):
    """A function of a value or of an object."""

    __slots__ = ("_function",)

    def __init__(self, function: Check | WarningCheck) -> None:
        self._function = function

    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        del context
        for error in self._function(value):
            errors.append(_placed(error, path))  # noqa: PERF401  # mostly none


class _InContext(ValidationRule):
    """A function of a value or of an object, and of the context."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[Any, Any], Errors | Warnings]) -> None:
        self._function = function

    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        for error in self._function(value, context):
            errors.append(_placed(error, path))  # noqa: PERF401  # mostly none


def in_context(
    function: Callable[[Any, Any], Errors | Warnings],
) -> ValidationRule:
    """Make a rule of a function that is also given the context."""
    return _InContext(function)


def format_path(path: Path) -> str:
    """Return a path as a text, empty for the object that the walk began with."""
    text = ""
    while path is not None:
        path, step = path
        text = f"[{step}]{text}" if isinstance(step, int) else step + text
    return text.removeprefix(".")


def _placed(error: Report, path: Path) -> Report:
    """Return an error with the path of its object before that of its field."""
    return error if path is None else error.below(format_path(path))


def _rules(
    rules: Iterable[Row],
) -> tuple[ValidationRule, ...]:
    """Return rules with functions as rules, and those of tables in place of these."""
    flat: list[ValidationRule] = []
    for rule in rules:
        if isinstance(rule, Rules):
            flat += rule.rules
        else:
            flat.append(rule if isinstance(rule, ValidationRule) else _Function(rule))
    return tuple(flat)


class Rules(ValidationRule):
    """The rules of a type, in the API server's order.

    `model` is the type, or the types that have the fields in common.
    """

    __slots__ = ("_visits", "model", "rules")

    def __init__(self, model: type | UnionType, *rules: Row) -> None:
        self.model = model
        self.rules = _rules(rules)
        self._visits = tuple(rule.visit for rule in self.rules)

    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        """Add the errors of an object at a path."""
        for visit in self._visits:
            visit(value, path, context, errors)


class Always(ValidationRule):
    """Rules of a field, which may be absent; `at` is its name in errors."""

    __slots__ = ("_step", "_visits", "name", "rules")

    def __init__(
        self,
        name: str,
        *rules: Row,
        at: str | None = None,
    ) -> None:
        self.name = name
        self.rules = _rules(rules)
        self._visits = tuple(rule.visit for rule in self.rules)
        place = name if at is None else at
        self._step = f".{place}" if place else ""

    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        """Add the errors of the field of an object at a path."""
        own, below = getattr(value, self.name), (path, self._step)
        for visit in self._visits:
            visit(own, below, context, errors)


class IfSet(Always):
    """Rules of a field that are skipped if it is absent."""

    __slots__ = ()

    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        """Add the errors of the field of an object at a path."""
        own = getattr(value, self.name)
        if own is not None:
            below = (path, self._step)
            for visit in self._visits:
                visit(own, below, context, errors)


class IfFilled(Always):
    """Rules of a field that are skipped if it is absent, empty, 0 or false."""

    __slots__ = ()

    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        """Add the errors of the field of an object at a path."""
        own = getattr(value, self.name)
        if own:
            below = (path, self._step)
            for visit in self._visits:
                visit(own, below, context, errors)


class Required(Always):
    """Rules of a field that must not be absent, empty or 0."""

    __slots__ = ("_detail",)

    def __init__(
        self,
        name: str,
        *rules: Row,
        at: str | None = None,
        detail: str = "",
    ) -> None:
        super().__init__(name, *rules, at=at)
        self._detail = detail

    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        """Add the errors of the field of an object at a path."""
        own, below = getattr(value, self.name), (path, self._step)
        if not own:
            errors.append(required(format_path(below), self._detail))
            return
        for visit in self._visits:
            visit(own, below, context, errors)


class Section(Always):
    """The rules of an object in a field, an empty one if it is absent."""

    __slots__ = ("_table",)

    def __init__(self, name: str, table: Rules) -> None:
        super().__init__(name, table)
        self._table = table

    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        """Add the errors of the field of an object at a path."""
        own = getattr(value, self.name)
        own = own if own is not None else _empty(self._table.model)
        self._table.visit(own, (path, self._step), context, errors)


@cache
def _empty(model: Any) -> Any:
    # Late: most objects have what they may have.
    from probetui.manifest.schema import empty_object  # noqa: PLC0415

    return empty_object(model)


class Each(Always):
    """Rules of each item of a list.

    `at` is the place of all items in errors, for lists whose items have no index there.
    """

    __slots__ = ("_is_indexed", "_remembering")

    def __init__(
        self,
        name: str,
        *rules: Row,
        at: str | None = None,
    ) -> None:
        super().__init__(name, *rules, at=at)
        self._is_indexed = at is None
        self._remembering = [
            position for position, rule in enumerate(self.rules) if rule.remembers
        ]

    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        """Add the errors of the items of a list at a path."""
        items = getattr(value, self.name)
        if not items:
            return
        visits = [*self._visits]
        for position in self._remembering:
            visits[position] = self.rules[position].begin(value, context).visit
        whole = (path, self._step)
        for index, item in enumerate(items):
            below: Path = (whole, index if self._is_indexed else "")
            for visit in visits:
                visit(item, below, context, errors)


class Remembering(ValidationRule):
    """A rule in `Each` that knows the items before.

    `start` is called for each list, with the owner of the list and the context, and
    returns the check of an item.
    """

    __slots__ = ("_start",)
    remembers = True

    def __init__(self, start: Callable[[Any, Any], Check | WarningCheck]) -> None:
        self._start = start

    def begin(self, owner: Any, context: Any) -> ValidationRule:
        """Return the rule for the items of one list."""
        return _Function(self._start(owner, context))

    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        """Add the errors of a value that no other came before."""
        self.begin(None, context).visit(value, path, context, errors)


def unique(name: str, at: str | None = None) -> ValidationRule:
    """Return a rule in `Each` that no two items have the same value in a field."""
    place = name if at is None else at

    def start(_owner: Any, _context: Any) -> Check:
        seen: set[Any] = set()

        def find(item: Any) -> Iterator[FieldError]:
            value = getattr(item, name)
            if value in seen:
                yield duplicate(place, value)
            seen.add(value)

        return find

    return Remembering(start)


class Unindexed(ValidationRule):
    """Rules in `Each` whose errors name the list, without the item's index."""

    __slots__ = ("remembers", "rules")

    def __init__(self, *rules: Row) -> None:
        self.rules = _rules(rules)
        self.remembers = any(rule.remembers for rule in self.rules)

    def begin(self, owner: Any, context: Any) -> ValidationRule:
        """Return the rules for the items of one list."""
        return Unindexed(*(rule.begin(owner, context) for rule in self.rules))

    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        """Add the errors of an item, at the path of its list."""
        whole = path[0] if path is not None else None
        for rule in self.rules:
            rule.visit(value, whole, context, errors)


class When(ValidationRule):
    """Rules that hold if the context meets a condition."""

    __slots__ = ("_condition", "rules")

    def __init__(
        self,
        condition: Callable[[Any], bool],
        *rules: Row,
    ) -> None:
        self._condition = condition
        self.rules = _rules(rules)

    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        """Add the errors of a value at a path, if the rules hold."""
        if self._condition(context):
            for rule in self.rules:
                rule.visit(value, path, context, errors)


class _Valid(ValidationRule):
    """A function that yields messages about a text or a number."""

    __slots__ = ("_check",)

    def __init__(self, check_value: Callable[[Any], Iterable[str]]) -> None:
        self._check = check_value

    def visit(self, value: Any, path: Path, context: Any, errors: list[Report]) -> None:
        del context
        value = "" if value is None else value
        for detail in self._check(value):
            errors.append(invalid(format_path(path), value, detail))  # noqa: PERF401  # as above


def valid(check_value: Callable[[Any], Iterable[str]]) -> ValidationRule:
    """Return the rule of a text or a number by a function that yields messages.

    An absent text is empty, as in Go.
    """
    return _Valid(check_value)


def must(is_right: Callable[[Any], bool], detail: str) -> Check:
    """Return the check that a value meets a condition."""

    def find(value: Any) -> Errors:
        return () if is_right(value) else (invalid("", value, detail),)

    return find


def at_least(least: int) -> Check:
    """Return the check of the lower bound of a number."""
    detail = f"must be greater than or equal to {least}"
    return must(lambda value: value >= least, detail)


def between(least: int, most: int) -> Check:
    """Return the check of both bounds of a number."""
    detail = f"must be between {least} and {most}, inclusive"
    return must(lambda value: least <= value <= most, detail)


def at_most(most: int) -> Check:
    """Return the check of the length of a list."""

    def find(items: Any) -> Errors:
        count = len(items)
        return (too_many("", count, most),) if count > most else ()

    return find


def choice(*choices: str) -> Check:
    """Return the check of an enumeration."""

    def find(value: Any) -> Errors:
        return () if value in choices else (not_supported("", value, choices),)

    return find


def deprecated(text: str) -> WarningCheck:
    """Return the check that warns of any value."""

    def find(_: Any) -> Warnings:
        return (ApiWarning("", text),)

    return find


def absent(detail: str) -> Check:
    """Return the check that refuses any value."""

    def find(_: Any) -> Errors:
        return (forbidden("", detail),)

    return find
