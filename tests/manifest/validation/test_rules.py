"""Tables of rules: the paths of errors, and the fields that the tables name."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import UnionType
from typing import Any, get_args

import pytest
from lightkube.models import core_v1

from probetui.manifest import validation
from probetui.manifest.schema import fields_of
from probetui.manifest.validation.field_error import (
    FieldError,
    GoPath,
    invalid,
    required,
)
from probetui.manifest.validation.rules import (
    Always,
    Each,
    Errors,
    IfFilled,
    IfSet,
    Remembering,
    Required,
    Rules,
    Section,
    Unindexed,
    ValidationRule,
    When,
    check,
    choice,
    in_context,
    unique,
    valid,
)


def pod(**spec: Any) -> core_v1.Pod:
    return core_v1.Pod(spec=core_v1.PodSpec(containers=[], **spec))


def named(*names: str) -> list[core_v1.Container]:
    return [core_v1.Container(name=name) for name in names]


def paths(rule: ValidationRule, value: object, context: object = None) -> list[str]:
    return [error.field for error in check(rule, value, context)]


NEVER = valid(lambda _: ["is wrong"])


def test_an_error_has_the_path_of_its_field() -> None:
    table = Rules(
        core_v1.Pod,
        Section(
            "spec", Rules(core_v1.PodSpec, Each("containers", Always("name", NEVER)))
        ),
    )
    two = core_v1.Pod(spec=core_v1.PodSpec(containers=named("a", "b")))

    assert check(table, two) == [
        invalid("spec.containers[0].name", "a", "is wrong"),
        invalid("spec.containers[1].name", "b", "is wrong"),
    ]


def test_a_function_names_fields_relative_to_its_object() -> None:
    def find(spec: core_v1.PodSpec) -> Iterator[FieldError]:
        yield required("")
        yield required("containers[2].image")
        yield invalid("[key]", GoPath("os"), str(spec.hostname))

    table = Rules(core_v1.Pod, IfSet("spec", find))

    assert check(table, pod(hostname="a")) == [
        required("spec"),
        required("spec.containers[2].image"),
        invalid("spec[key]", GoPath("spec.os"), "a"),
    ]


def test_a_rule_within_another_begins_at_the_path_it_is_given() -> None:
    inner = Rules(core_v1.PodSpec, Always("hostname", NEVER))

    def find(of: core_v1.Pod) -> Errors:
        return check(inner, of.spec, at="template.spec")

    assert paths(Rules(core_v1.Pod, find), pod()) == ["template.spec.hostname"]


def test_rules_are_applied_in_their_order() -> None:
    table = Rules(
        core_v1.PodSpec,
        Always("subdomain", NEVER),
        Rules(core_v1.PodSpec, Always("nodeName", NEVER)),
        Always("hostname", NEVER),
    )

    assert paths(table, pod().spec) == ["subdomain", "nodeName", "hostname"]


@pytest.mark.parametrize(
    ("rule", "of_none", "of_empty", "of_text"),
    [
        (Always("hostname", NEVER), 1, 1, 1),
        (IfSet("hostname", NEVER), 0, 1, 1),
        (IfFilled("hostname", NEVER), 0, 0, 1),
    ],
)
def test_whether_a_field_may_be_absent(
    rule: ValidationRule, of_none: int, of_empty: int, of_text: int
) -> None:
    found = [len(check(rule, pod(hostname=text).spec)) for text in (None, "", "a")]

    assert found == [of_none, of_empty, of_text]


def test_a_required_field_that_is_absent_has_one_error() -> None:
    rule = Required("hostname", NEVER, detail="is needed")

    assert check(rule, pod().spec) == [required("hostname", "is needed")]
    assert check(rule, pod(hostname="a").spec) == [invalid("hostname", "a", "is wrong")]


def test_an_absent_section_is_checked_as_an_empty_one() -> None:
    table = Section("spec", Rules(core_v1.PodSpec, Required("containers")))

    assert paths(table, core_v1.Pod()) == ["spec.containers"]


def test_items_may_be_reported_for_their_list_or_its_owner() -> None:
    containers = core_v1.PodSpec(containers=named("a"))

    assert paths(Each("containers", Unindexed(NEVER)), containers) == ["containers"]
    assert paths(Each("containers", NEVER, at="container"), containers) == ["container"]
    assert paths(Each("containers", NEVER, at=""), containers) == [""]


def test_a_rule_that_remembers_begins_anew_with_each_list() -> None:
    starts = []

    def start(spec: core_v1.PodSpec, context: object) -> Any:
        starts.append((spec.hostname, context))
        seen: list[str] = []

        def find(container: core_v1.Container) -> Iterator[FieldError]:
            if seen:
                yield invalid("name", seen[-1], "came before")
            seen.append(container.name)

        return find

    rule = Each("containers", Unindexed(Remembering(start)))
    spec = core_v1.PodSpec(containers=named("a", "b"), hostname="h")

    assert check(rule, spec, "context") == [
        invalid("containers.name", "a", "came before")
    ]
    assert len(check(rule, spec, "context")) == 1
    assert starts == [("h", "context")] * 2


def test_names_that_are_taken() -> None:
    spec = core_v1.PodSpec(containers=named("a", "b", "a"))

    assert paths(Each("containers", unique("name")), spec) == ["containers[2].name"]
    assert paths(Each("containers", unique("name", at="")), spec) == ["containers[2]"]


def test_a_rule_may_depend_on_the_context() -> None:
    @in_context
    def only(value: str, context: str) -> Errors:
        return choice(context)(value)

    rule = When(lambda context: context != "off", Always("hostname", only))

    assert paths(rule, pod(hostname="a").spec, "a") == []
    assert paths(rule, pod(hostname="a").spec, "b") == ["hostname"]
    assert paths(rule, pod(hostname="a").spec, "off") == []


def _all_tables() -> Iterator[tuple[str, Rules]]:
    for module in pkgutil.iter_modules(validation.__path__):
        name = f"{validation.__name__}.{module.name}"
        for own, value in vars(import_module(name)).items():
            tables = value.values() if isinstance(value, Mapping) else (value,)
            for table in tables:
                if isinstance(table, Rules):
                    yield f"{module.name}.{own}", table


def _unknown_fields(
    rules: tuple[ValidationRule, ...], models: tuple[Any, ...]
) -> list[str]:
    """Return the fields of rules that one of the models does not have."""
    unknown = []
    for rule in rules:
        own: tuple[ValidationRule, ...] = getattr(rule, "rules", ())
        name: str | None = getattr(rule, "name", None)
        if name is None:
            unknown += _unknown_fields(own, models)
            continue
        if not models:
            unknown.append(name)
            continue
        fields = [fields_of(model).get(name) for model in models]
        unknown += [
            f"{model.__name__}.{name}"
            for model, known in zip(models, fields, strict=True)
            if known is None
        ]
        below = tuple(known.model for known in fields if known and known.model)
        unknown += _unknown_fields(own, below)
    return unknown


def test_each_table_names_fields_of_its_type() -> None:
    tables = list(_all_tables())

    assert len(tables) > 50
    for name, table in tables:
        model = table.model
        models = get_args(model) if isinstance(model, UnionType) else (model,)
        assert _unknown_fields(table.rules, models) == [], name
