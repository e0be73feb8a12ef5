"""Tolerations in an annotation, and what Go says of JSON that is none."""

from __future__ import annotations

import pytest

from probetui.kubelet_rules import rules_of
from probetui.manifest.validation.rules import Context, check
from probetui.manifest.validation.tolerations_annotation import TOLERATIONS_ANNOTATION


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (" ", "unexpected end of JSON input"),
        ("-", "unexpected end of JSON input"),
        ("-a", "invalid character 'a' in numeric literal"),
        ("10Mi", "invalid character 'M' after top-level value"),
        ("1.2.3", "invalid character '.' after top-level value"),
        ("\a", r"invalid character '\a' looking for beginning of value"),
        # A byte is taken for a character.
        ("é", "invalid character 'Ã' looking for beginning of value"),
        ("[€", "invalid character 'â' looking for beginning of value"),
        ("true", "json: cannot unmarshal bool into Go value of type []core.Toleration"),
        (
            '[{"key": 1}]',
            (
                "json: cannot unmarshal number into Go struct field Toleration.Key of"
                " type string"
            ),
        ),
    ],
)
def test_what_go_says(text: str, error: str) -> None:
    found = check(TOLERATIONS_ANNOTATION, text, Context(rules_of("1.36")))

    assert [one.detail for one in found] == [error]


def test_an_empty_list_is_taken() -> None:
    rules = rules_of("1.36")

    assert check(TOLERATIONS_ANNOTATION, "[]", Context(rules)) == []
    assert check(TOLERATIONS_ANNOTATION, "null", Context(rules)) == []
