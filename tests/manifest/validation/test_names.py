from __future__ import annotations

import pytest

from probetui.manifest.validation import names

_NOT_CONFIG_KEY = next(names.check_config_key("a b"))
_NOT_ENV = next(names.check_env_name("1a", is_strict=True))
_NOT_RELAXED = next(names.check_env_name("a=b", is_strict=False))
_NOT_VALUE = next(names.check_label_value("a b"))
_NOT_NAME_PART = next(names.check_qualified_name("a b"))


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        pytest.param("web-1", [], id="good"),
        pytest.param("a" * 63, [], id="longest"),
        pytest.param("a" * 64, ["must be no more than 63 characters"], id="too-long"),
        pytest.param("a.b", ["must not contain dots"], id="dots"),
        pytest.param(
            "é" * 32,
            ["must be no more than 63 characters", names.NOT_A_LABEL],
            id="too-many-bytes",
        ),
        pytest.param("-a", [names.NOT_A_LABEL], id="hyphen-first"),
        pytest.param("a\n", [names.NOT_A_LABEL], id="line-break-at-the-end"),
    ],
)
def test_labels(value: str, wrong: list[str]) -> None:
    assert list(names.check_label(value)) == wrong


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        pytest.param("web.example", [], id="good"),
        pytest.param("a" * 254, ["must be no more than 253 characters"], id="too-long"),
        pytest.param("A", [names.NOT_A_SUBDOMAIN], id="capital"),
    ],
)
def test_subdomains(value: str, wrong: list[str]) -> None:
    assert list(names.check_subdomain(value)) == wrong


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        pytest.param("App_1.x", [], id="good"),
        pytest.param("example.com/App", [], id="with-a-prefix"),
        pytest.param("/a", ["prefix part must be non-empty"], id="empty-prefix"),
        pytest.param("A/a", [f"prefix part {names.NOT_A_SUBDOMAIN}"], id="bad-prefix"),
        pytest.param(
            "a/", ["name part must be non-empty", _NOT_NAME_PART], id="empty-name"
        ),
        pytest.param(
            "a" * 64, ["name part must be no more than 63 bytes"], id="too-long"
        ),
    ],
)
def test_qualified_names(value: str, wrong: list[str]) -> None:
    assert list(names.check_qualified_name(value)) == wrong


def test_a_qualified_name_has_one_slash_at_most() -> None:
    (wrong,) = names.check_qualified_name("a/b/c")

    assert wrong.startswith("a valid label key must consist of")
    assert wrong.endswith("and '/' (e.g. 'example.com/MyName')")


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("v1.2_3", [], id="good"),
        pytest.param("-", [_NOT_VALUE], id="bad"),
        pytest.param("a" * 64, ["must be no more than 63 bytes"], id="too-long"),
    ],
)
def test_label_values(value: str, wrong: list[str]) -> None:
    assert list(names.check_label_value(value)) == wrong


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        pytest.param("app.conf", [], id="good"),
        pytest.param(".", ["must not be '.'"], id="dot"),
        pytest.param("..", ["must not be '..'"], id="two-dots"),
        pytest.param("..a", ["must not start with '..'"], id="dots-first"),
        pytest.param("a/b", [_NOT_CONFIG_KEY], id="slash"),
        pytest.param("a" * 254, ["must be no more than 253 characters"], id="too-long"),
    ],
)
def test_config_keys(value: str, wrong: list[str]) -> None:
    assert list(names.check_config_key(value)) == wrong


@pytest.mark.parametrize(
    ("value", "strict", "relaxed"),
    [
        pytest.param("PATH", [], [], id="good"),
        pytest.param("1A", [_NOT_ENV], [], id="digit-first"),
        pytest.param("a b", [_NOT_ENV], [], id="space"),
        pytest.param("a=b", [_NOT_ENV], [_NOT_RELAXED], id="equals-sign"),
        pytest.param("é", [_NOT_ENV], [_NOT_RELAXED], id="not-ascii"),
        pytest.param("..", ["must not be '..'"], [], id="two-dots"),
    ],
)
def test_environment_names(value: str, strict: list[str], relaxed: list[str]) -> None:
    assert list(names.check_env_name(value, is_strict=True)) == strict
    assert list(names.check_env_name(value, is_strict=False)) == relaxed


@pytest.mark.parametrize("number", [1, 8080, 65535])
def test_port_numbers(number: int) -> None:
    assert list(names.check_port_number(number)) == []


@pytest.mark.parametrize("number", [-1, 0, 65536])
def test_port_numbers_out_of_range(number: int) -> None:
    assert list(names.check_port_number(number)) == [
        "must be between 1 and 65535, inclusive"
    ]


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        pytest.param("http-1", [], id="good"),
        pytest.param("80", ["must contain at least one letter (a-z)"], id="digits"),
        pytest.param("a--b", ["must not contain consecutive hyphens"], id="hyphens"),
        pytest.param("a-", ["must not begin or end with a hyphen"], id="hyphen-last"),
        pytest.param("a" * 16, ["must be no more than 15 characters"], id="too-long"),
    ],
)
def test_port_names(value: str, wrong: list[str]) -> None:
    assert list(names.check_port_name(value)) == wrong


def test_header_names() -> None:
    assert list(names.check_header_name("X-Good")) == []
    assert len(list(names.check_header_name("x_bad"))) == 1
