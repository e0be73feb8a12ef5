from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.k8s.environment import MAX_EXPANSION_BYTES, ExpansionTooLargeError, expand
from probetui.k8s.pod import EnvVar
from probetui.kubelet.kuberuntime.expansion import expand_command
from tests.builders import env

VARIABLES = {b"A": b"1", b"B": b"$(A)", b"": b"nameless", b"$": b"dollar"}
TEXTS = st.text(st.sampled_from("$()AB é\udcff")).map(
    lambda text: text.encode("utf-8", "surrogateescape")
)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        pytest.param(b"$(A)", b"1", id="a known name gives its value"),
        pytest.param(b"$(C)", b"$(C)", id="an unknown name stays as written"),
        pytest.param(b"$(B)", b"$(A)", id="a value is not expanded again"),
        pytest.param(b"$$(A)", b"$(A)", id="two dollars are one"),
        pytest.param(b"$$$(A)", b"$1", id="two dollars and a reference"),
        pytest.param(b"$()", b"nameless", id="a name may be empty"),
        pytest.param(b"$($)", b"dollar", id="a name may be a dollar"),
        pytest.param(b"$(A))", b"1)", id="a name ends at the first parenthesis"),
        pytest.param(b"$(A $(A)", b"$(A $(A)", id="and not before"),
        pytest.param(b"$(A", b"$(A", id="an opener without its end stays"),
        pytest.param(b"$($(A)", b"$($(A)", id="a name may hold an opener"),
        pytest.param(b"A$", b"A$", id="a last dollar stays"),
        pytest.param(b"$A", b"$A", id="a dollar before anything else stays"),
    ],
)
def test_a_reference_is_replaced_once(text: bytes, expanded: bytes) -> None:
    assert expand(text, VARIABLES) == expanded


def test_the_byte_after_a_lone_dollar_becomes_a_character() -> None:
    """Quirk: `$é` loses its shape, as the kubelet writes its first byte as a rune."""
    assert expand("$é".encode(), {}) == b"$\xc3\x83\xa9"


def test_a_variable_with_a_source_is_defined_and_empty() -> None:
    """Quirk: `valueFrom` is not looked up, but the reference goes away."""
    variables = (EnvVar("A", has_value_from=True),)

    assert expand_command(("x$(A)y",), variables) == ("xy",)


def test_the_last_of_two_variables_of_one_name_counts() -> None:
    variables = (*env(A="1"), *env(A="2"))

    assert expand_command(("$(A)",), variables) == ("2",)


def test_elements_are_never_split_or_dropped() -> None:
    assert expand_command(("$(A)", "", "$(A)"), env(A="two words")) == (
        "two words",
        "",
        "two words",
    )


@given(TEXTS)
def test_expansion_of_anything_ends_without_an_error(text: bytes) -> None:
    assert isinstance(expand(text, VARIABLES), bytes)


@given(TEXTS.filter(lambda text: b"$" not in text))
def test_a_text_without_a_dollar_stays_as_it_is(text: bytes) -> None:
    assert expand(text, VARIABLES) == text


@given(st.text(st.characters(exclude_categories=[])))
def test_a_command_of_any_text_can_be_expanded(text: str) -> None:
    (element,) = expand_command((text,), ())

    assert element.count("$") <= text.count("$")


@given(TEXTS)
def test_what_was_expanded_without_references_stays_when_doubled(text: bytes) -> None:
    assert expand(text.replace(b"$", b"$$"), VARIABLES) == text


def test_what_doubles_again_and_again_is_given_up_on() -> None:
    variables = {b"A": b"x" * (MAX_EXPANSION_BYTES // 2 + 1)}

    with pytest.raises(ExpansionTooLargeError, match="expands to more than 1 MiB"):
        expand(b"$(A)$(A)", variables)


def test_all_elements_of_a_command_together_have_the_limit() -> None:
    with pytest.raises(ExpansionTooLargeError):
        expand_command(("$(A)",) * 1_000_000, env(A="xx"))
