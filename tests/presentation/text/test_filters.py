"""Filters that a user types to see fewer lines."""

from __future__ import annotations

import pytest

from probetui.presentation.text.filters import Filter


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        pytest.param("", {"demo/liveness", "shop/web"}, id="nothing"),
        pytest.param("web", {"shop/web"}, id="plain"),
        pytest.param("WEB", {"shop/web"}, id="case does not matter"),
        pytest.param("!web", {"demo/liveness"}, id="inverse"),
        pytest.param("^demo|web$", {"demo/liveness", "shop/web"}, id="regex"),
        pytest.param("!", {"demo/liveness", "shop/web"}, id="a bare inverse"),
        pytest.param("zzz", set(), id="no hit"),
        pytest.param("~dlv", {"demo/liveness"}, id="fuzzy"),
        pytest.param("~D L V", {"demo/liveness"}, id="fuzzy, with spaces"),
        pytest.param("~vld", set(), id="fuzzy, in another order"),
        pytest.param("!~dlv", {"shop/web"}, id="fuzzy inverse"),
        pytest.param("~", {"demo/liveness", "shop/web"}, id="a bare fuzzy"),
        pytest.param(r"\w+/web", {"shop/web"}, id="a class"),
    ],
)
def test_a_filter_keeps(typed: str, kept: set[str]) -> None:
    wanted = Filter.parse(typed)

    assert {pod for pod in ("demo/liveness", "shop/web") if wanted.keeps(pod)} == kept


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        pytest.param("-l app=web", {"web"}, id="a label"),
        pytest.param("-l app!=web", {"db"}, id="another value"),
        pytest.param("-l  tier", {"web"}, id="any value"),
        pytest.param("-l app in (web, db),!tier", {"db"}, id="several"),
        pytest.param("-l", {"web", "db"}, id="nothing yet"),
    ],
)
def test_a_label_filter_keeps_matching_objects(typed: str, kept: set[str]) -> None:
    labels = {"web": {"app": "web", "tier": "front"}, "db": {"app": "db"}}
    wanted = Filter.parse(typed, has_labels=True)

    assert {name for name, of in labels.items() if wanted.keeps(name, of)} == kept


def test_an_invalid_label_selector_is_reported_and_keeps_everything() -> None:
    wanted = Filter.parse("-l =web", has_labels=True)

    assert wanted.error.startswith('-l: "=web" is not a label requirement')
    assert not wanted.is_active
    assert wanted.keeps("demo")


def test_a_label_selector_is_plain_text_if_nothing_has_labels() -> None:
    assert Filter.parse("-l app").keeps("kubectl get pods -l app=web")


def test_an_invalid_regular_expression_is_reported_and_keeps_everything() -> None:
    wanted = Filter.parse("web(")

    assert wanted.error.startswith("not a regular expression: missing )")
    assert not wanted.is_active
    assert wanted.keeps("demo")


@pytest.mark.parametrize(
    "typed",
    [
        pytest.param("a{9999999999}", id="too many repeats"),
        pytest.param("(" * 2000 + ")" * 2000, id="too deep"),
    ],
)
def test_a_regular_expression_that_is_too_large_is_reported(typed: str) -> None:
    assert Filter.parse(typed).error


@pytest.mark.parametrize(
    ("typed", "places"),
    [
        pytest.param("o", ((2, 3), (5, 6)), id="plain"),
        pytest.param("O.", ((2, 4), (5, 7)), id="regex"),
        pytest.param("x*", (), id="nothing long"),
        pytest.param("!o", (), id="inverse"),
        pytest.param("~so", (), id="fuzzy"),
        pytest.param("", (), id="empty"),
    ],
)
def test_a_filter_returns_the_positions_of_its_matches(
    typed: str, places: tuple[tuple[int, int], ...]
) -> None:
    assert Filter.parse(typed).hits("shop/or") == places


def test_letters_of_other_alphabets_match_in_any_case() -> None:
    assert Filter.parse("ÄPFEL").keeps("grüne äpfel")
