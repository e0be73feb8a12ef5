from __future__ import annotations

import pytest

from probetui.manifest.validation import field_error
from probetui.manifest.validation.field_error import FieldError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(
            field_error.required("spec.x"), "spec.x: Required value", id="required"
        ),
        pytest.param(
            field_error.required("spec.x", "say it"),
            "spec.x: Required value: say it",
            id="required-with-detail",
        ),
        pytest.param(
            field_error.invalid("spec.x", "a\tb", "bad"),
            'spec.x: Invalid value: "a\\tb": bad',
            id="invalid-text",
        ),
        pytest.param(
            field_error.invalid("spec.x", 3, "bad"),
            "spec.x: Invalid value: 3: bad",
            id="invalid-number",
        ),
        pytest.param(
            field_error.invalid("spec.x", value=True, detail="bad"),
            "spec.x: Invalid value: true: bad",
            id="invalid-boolean",
        ),
        pytest.param(
            field_error.invalid("spec.x", None, "bad"),
            "spec.x: Invalid value: null: bad",
            id="invalid-nothing",
        ),
        pytest.param(
            field_error.not_supported("spec.x", "c", ("a", "b")),
            'spec.x: Unsupported value: "c": supported values: "a", "b"',
            id="not-supported",
        ),
        pytest.param(
            field_error.forbidden("spec.x", "no"),
            "spec.x: Forbidden: no",
            id="forbidden",
        ),
        pytest.param(
            field_error.duplicate("spec.x", "a"),
            'spec.x: Duplicate value: "a"',
            id="duplicate",
        ),
        pytest.param(
            field_error.not_found("spec.x", "a"),
            'spec.x: Not found: "a"',
            id="not-found",
        ),
        pytest.param(
            field_error.too_long("spec.x", 3),
            "spec.x: Too long: may not be more than 3 bytes",
            id="too-long",
        ),
    ],
)
def test_the_message_is_the_api_servers(error: FieldError, message: str) -> None:
    assert error.message == message
