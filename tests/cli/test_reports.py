"""A report is printed in each form of `-o`."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import yaml
from msgspec import Struct

from probetui.cli.reports import emit
from probetui.presentation.report import Document, Part, Table, separated

ODD = "\x1b[2J\udc80\n"


class Food(Struct, frozen=True, rename="camel"):
    """A value with a name of two words."""

    best_before: str
    tags: tuple[str, ...] = ()


class FoodReport(Struct, frozen=True):
    """A report whose parts are of each kind."""

    foods: tuple[Food, ...]

    def value(self) -> tuple[Food, ...]:
        return self.foods

    def parts(self, form: str) -> Iterator[Part]:
        yield form
        yield Table([{"BEFORE": food.best_before} for food in self.foods])
        yield Document("".join(f"{food.best_before}\n" for food in self.foods))


def printed(capsys: pytest.CaptureFixture[str], form: str, before: str = "May") -> str:
    emit(FoodReport((Food(before, ("raw",)),)), form)
    return capsys.readouterr().out


def test_programs_get_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    expected = [{"bestBefore": "May", "tags": ["raw"]}]

    assert json.loads(printed(capsys, "json")) == expected
    assert yaml.safe_load(printed(capsys, "yaml")) == expected


def test_people_get_its_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "wide") == "wide\nBEFORE\nMay\nMay\n"


@pytest.mark.parametrize("form", ["json", "yaml", "text"])
def test_every_form_escapes_what_a_terminal_would_obey(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    out = printed(capsys, form, ODD)

    assert not {"\x1b", "\udc80"} & set(out)


def test_json_has_the_text_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    (food,) = json.loads(printed(capsys, "json", ODD))

    assert food["bestBefore"] == ODD


def test_groups_are_separated_by_an_empty_line() -> None:
    assert list(separated([["a", "b"], ["c"]])) == ["a", "b", "", "c"]
