"""Label selectors, as kubectl reads them."""

from __future__ import annotations

import pytest

from probetui.errors import UsageError
from probetui.k8s.selector import parse_selector

LABELS = {"app": "web", "tier": "front", "example.com/team": "a-b_c.d", "empty": ""}


def matches(selector: str) -> bool:
    return all(requirement.matches(LABELS) for requirement in parse_selector(selector))


@pytest.mark.parametrize(
    "selector",
    [
        "app=web",
        "app==web",
        "app = web",
        "app=web,tier=front",
        "app!=db",
        "missing!=db",
        "app",
        "!missing",
        "example.com/team=a-b_c.d",
        "app in (db, web)",
        "app in(db,web)",
        "app notin (db)",
        "missing notin (db)",
        "tier in (front),app=web",
        "empty=",
    ],
)
def test_a_selector_matches(selector: str) -> None:
    assert matches(selector)


@pytest.mark.parametrize(
    "selector",
    [
        "app=db",
        "app=web,tier=back",
        "app!=web",
        "missing",
        "!app",
        "missing=db",
        "app in (db, mail)",
        "app notin (web)",
        "missing in (db)",
    ],
)
def test_a_selector_does_not_match(selector: str) -> None:
    assert not matches(selector)


@pytest.mark.parametrize(
    "selector",
    [
        "",
        ",",
        "app=web,",
        "app=a b",
        "=web",
        "app in web",
        "app>1",
        "a=b=c",
        "a in (b c)",
    ],
)
def test_what_is_no_selector_is_refused_with_the_forms_there_are(
    selector: str,
) -> None:
    with pytest.raises(UsageError, match="is not a label requirement"):
        parse_selector(selector)
