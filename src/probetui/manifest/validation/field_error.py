"""The API server's errors and warnings about fields.

Source: k8s.io/apimachinery v0.32.10, pkg/util/validation/field/errors.go, Error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple, Self

from msgspec import Struct, structs

from probetui.kubelet_rules import KubeletRules
from probetui.manifest.problem import quote


class GoSyntax(Struct, frozen=True):
    """The API server's form of a value that is not a text, number or boolean.

    `json` is the value as JSON, which the API server writes since 1.34; before, it
    writes `text`, Go's syntax, of which we leave out addresses and what is long.
    """

    text: str
    json: str = ""


class GoPath(GoSyntax, frozen=True):
    """A path as a value, relative to its error's; its JSON is empty.

    All that Go's type of a path has is private.
    """

    json: str = "{}"


Value = str | int | bool | GoSyntax | None

OMITTED = GoSyntax("")
"""The value of an error that shows none."""


class ErrorType(StrEnum):
    """The type of an error, in the API's words."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    DUPLICATE = "FieldValueDuplicate"
    NOT_FOUND = "FieldValueNotFound"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"


_WORDS = {
    ErrorType.REQUIRED: "Required value",
    ErrorType.INVALID: "Invalid value",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_MANY: "Too many",
}
_WITHOUT_VALUE = frozenset(
    {ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG}
)
_OMITTED = "<value omitted>"


class FieldError(Struct, frozen=True):
    """An error as the API server reports it.

    `is_named` means that the value has a named type in Go, like every enumeration: such
    a text is formatted like other values, not like texts.
    """

    type: ErrorType
    field: str
    bad_value: Value = ""
    detail: str = ""
    is_named: bool = False

    def below(self, start: str) -> FieldError:
        """Return the error with its paths begun at another one."""
        value = self.bad_value
        if isinstance(value, GoPath):
            value = GoPath(join_paths(start, value.text))
        whole = join_paths(start, self.field)
        return FieldError(self.type, whole, value, self.detail, self.is_named)

    @property
    def message(self) -> str:
        """The whole line, in the API server's words."""
        parts = [self.field, _WORDS[self.type]]
        if self.type not in _WITHOUT_VALUE and self.bad_value != OMITTED:
            parts.append(_go_text(self.bad_value))
        if self.detail:
            parts.append(self.detail)
        return ": ".join(parts)


class ApiWarning(NamedTuple):
    """A warning as the API server reports it: a field's path, and the text about it."""

    field: str
    text: str

    def below(self, start: str) -> ApiWarning:
        """Return the warning with its path begun at another one."""
        return ApiWarning(join_paths(start, self.field), self.text)


class FieldWarning(Struct, frozen=True):
    """A warning of our own about a field; `rule` is its stable ID."""

    path: str
    message: str
    rule: str

    def below(self, start: str) -> FieldWarning:
        """Return the warning with its path begun at another one."""
        return FieldWarning(join_paths(start, self.path), self.message, self.rule)


class AnnotationWarning(ApiWarning):
    """A warning about an annotation of the pod, wherever it is found."""

    __slots__ = ()

    def below(self, start: str) -> Self:
        """Return the warning as it is."""
        del start
        return self


def annotation_warning(key: str, text: str) -> AnnotationWarning:
    """Warn of an annotation."""
    return AnnotationWarning(f"metadata.annotations[{key}]", text)


def join_paths(start: str, rest: str) -> str:
    """Join two paths, of which either may be empty or begin with an index."""
    dot = "." if start and rest and not rest.startswith("[") else ""
    return f"{start}{dot}{rest}"


def required(field: str, detail: str = "") -> FieldError:
    """Report a missing field."""
    return FieldError(ErrorType.REQUIRED, field, "", detail)


def invalid(
    field: str, value: Value, detail: str, *, is_named: bool = False
) -> FieldError:
    """Report a value that is malformed or out of range."""
    return FieldError(ErrorType.INVALID, field, value, detail, is_named)


def not_supported(
    field: str, value: Value, choices: Iterable[str], *, is_named: bool = True
) -> FieldError:
    """Report a value that is not in a list."""
    listed = ", ".join(quote(choice) for choice in choices)
    detail = f"supported values: {listed}"
    return FieldError(ErrorType.NOT_SUPPORTED, field, value, detail, is_named)


def forbidden(field: str, detail: str) -> FieldError:
    """Report a field that must not be set."""
    return FieldError(ErrorType.FORBIDDEN, field, "", detail)


def duplicate(field: str, value: Value) -> FieldError:
    """Report a value that must be unique."""
    return FieldError(ErrorType.DUPLICATE, field, value)


def not_found(field: str, value: Value, detail: str = "") -> FieldError:
    """Report the name of something that does not exist."""
    return FieldError(ErrorType.NOT_FOUND, field, value, detail)


def too_long(field: str, most: int) -> FieldError:
    """Report a value with more than `most` bytes."""
    detail = f"may not be more than {most} bytes"
    return FieldError(ErrorType.TOO_LONG, field, _OMITTED, detail)


def too_many(field: str, count: int, most: int) -> FieldError:
    """Report a list with `count` items that may have `most`."""
    return FieldError(
        ErrorType.TOO_MANY, field, count, f"must have at most {most} items"
    )


def go_strings(values: Iterable[str]) -> GoSyntax:
    """Return a list of texts in the form of a bad value."""
    listed = list(values)
    text = f"[]string{{{', '.join(quote(value) for value in listed)}}}"
    return GoSyntax(text, go_json(listed))


_IN_JSON = str.maketrans({
    character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"
})  # fmt: skip
"""The additional characters that Go escapes in JSON."""


def go_json(value: object) -> str:
    """Format a value like Go's JSON encoder; names keep their order."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_IN_JSON)


def _with_json_values(errors: Iterable[FieldError]) -> Iterator[FieldError]:
    """Yield errors with values in JSON, except texts and numbers."""
    for error in errors:
        value, written = error.bad_value, ""
        if isinstance(value, GoSyntax):
            written = value.json
        elif error.is_named and isinstance(value, str):
            written = go_json(value)
        if written and written != _go_text(value):
            yield structs.replace(error, bad_value=GoSyntax(written))
        else:
            yield error


def in_words_of(
    rules: KubeletRules, errors: Iterable[FieldError]
) -> Iterator[FieldError]:
    """Yield errors with the texts and value formats of a version."""
    adapted = iter(errors)
    if not rules.content_texts:
        # Imported late: the default version does not need it.
        from probetui.manifest.validation.wording import (  # noqa: PLC0415
            in_older_words,
        )

        adapted = in_older_words(adapted)
    return _with_json_values(adapted) if rules.json_values else adapted


def _go_text(value: Value) -> str:
    match value:
        case str():
            return quote(value)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case GoSyntax(text=text):
            return text
