"""The old annotation for a pod's tolerations, as JSON.

It is parsed as by Go's encoding/json, with Go's errors.

Source: pkg/apis/core/validation/validation.go, v1.32.10,
ValidateTolerationsInPodAnnotations; pkg/apis/core/helper/helpers.go,
GetTolerationsFromPodAnnotations; encoding/json, scanner.go, decode.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import NoReturn

from lightkube.models import core_v1
from msgspec import Struct

from probetui.manifest.problem import quote
from probetui.manifest.validation.field_error import FieldError, invalid
from probetui.manifest.validation.metadata import TOLERATIONS
from probetui.manifest.validation.rules import PodContext, check, in_context
from probetui.manifest.validation.scheduling import TOLERATION

_TYPES = {
    "key": "string",
    "operator": "core.TolerationOperator",
    "value": "string",
    "effect": "core.TaintEffect",
    "tolerationSeconds": "int64",
}
"""The fields of a toleration, and their types in Go."""

_INT64 = re.compile("-?[0-9]{1,19}")
_RANGE = range(-(2**63), 2**63)
_LITERALS = ("true", "false", "null")
_PLACES = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name": "looking for beginning of object key string",
    "Expecting ':'": "after object key",
    "Extra data": "after top-level value",
    "Invalid control character": "in string literal",
    "Invalid \\escape": "in string escape code",
    "Invalid \\uXXXX": "in \\u hexadecimal character escape",
}
"""Where Go's scanner is when Python's says so."""


def _tolerations(text: str, context: PodContext) -> Iterator[FieldError]:
    try:
        tolerations = _read(text)
    except _JsonError as error:
        yield invalid("", TOLERATIONS, str(error))
        return
    for index, toleration in enumerate(tolerations):
        yield from check(TOLERATION, toleration, context, f"{TOLERATIONS}[{index}]")


TOLERATIONS_ANNOTATION = in_context(_tolerations)
"""The rule of the annotation's text: its tolerations are checked like the field's."""


class _JsonError(Exception):
    """Go's error about invalid JSON."""


class _Number(Struct):
    """A number as written, which may be too long for Python."""

    text: str


def _read(text: str) -> list[core_v1.Toleration]:
    try:
        decoded = json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=_refuse
        )
    except json.JSONDecodeError as error:
        raise _JsonError(_syntax_error(text, error)) from None
    except RecursionError:
        raise _JsonError("exceeded max depth") from None
    if decoded is None:
        return []
    if not isinstance(decoded, list):
        raise _mismatch(_kind(decoded), "Go value", "[]core.Toleration")
    return [_toleration(item) for item in decoded]


def _toleration(item: object) -> core_v1.Toleration:
    toleration = core_v1.Toleration()
    if item is None:
        return toleration
    if not isinstance(item, dict):
        raise _mismatch(_kind(item), "Go value", "core.Toleration")
    known = {name.lower(): name for name in _TYPES}
    for key, value in item.items():
        name = known.get(key.lower())
        if name is None or value is None:
            continue
        kind = _kind(value)
        field = f"Go struct field Toleration.{name[0].upper()}{name[1:]}"
        if name != "tolerationSeconds":
            if not isinstance(value, str):
                raise _mismatch(kind, field, _TYPES[name])
            setattr(toleration, name, value)
        elif not isinstance(value, _Number):
            raise _mismatch(kind, field, _TYPES[name])
        elif not _INT64.fullmatch(value.text) or int(value.text) not in _RANGE:
            raise _mismatch(f"{kind} {value.text}", field, _TYPES[name])
        else:
            toleration.tolerationSeconds = int(value.text)
    return toleration


def _mismatch(kind: str, place: str, wanted: str) -> _JsonError:
    return _JsonError(f"json: cannot unmarshal {kind} into {place} of type {wanted}")


_KINDS: Mapping[type, str] = {
    bool: "bool",
    str: "string",
    list: "array",
    dict: "object",
}


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "number")


def _refuse(constant: str) -> NoReturn:
    raise _JsonError(
        f"invalid character {_character(constant[0])} looking for beginning of value"
    )


def _syntax_error(text: str, error: json.JSONDecodeError) -> str:
    """Return the error of Go's scanner at the position of Python's error."""
    rest = text[error.pos :].lstrip(" \t\r\n")
    if error.msg.startswith("Illegal trailing comma"):
        rest = rest[1:].lstrip(" \t\r\n")
        last = "property name" if "object" in error.msg else "value"
        return _at(rest, _PLACES[f"Expecting {last}"])
    if error.msg.startswith("Unterminated"):
        return _at("", "")
    if error.msg.startswith("Expecting ','"):
        is_list = _innermost(text[: error.pos]) == "["
        place = "after array element" if is_list else "after object key:value pair"
        return _at(rest, place)
    place = next(
        (place for start, place in _PLACES.items() if error.msg.startswith(start)), ""
    )
    if error.msg.startswith("Invalid \\escape"):
        rest = rest[1:]
    if error.msg.startswith("Expecting value") and rest[:1] == "-":
        return _at(rest[1:], "in numeric literal")
    for literal in _LITERALS if error.msg.startswith("Expecting value") else ():
        if rest[:1] == literal[0]:
            same = next(i for i in range(1, 6) if rest[i : i + 1] != literal[i : i + 1])
            expected = f"in literal {literal} (expecting '{literal[same]}')"
            return _at(rest[same:], expected)
    return _at(rest, place)


def _at(rest: str, place: str) -> str:
    if not rest:
        return "unexpected end of JSON input"
    return f"invalid character {_character(rest[0])} {place}"


def _character(character: str) -> str:
    """Quote a character as Go does, between single quotes.

    Quirk, kept: Go's scanner treats each byte as a character.
    """
    character = chr(character.encode(errors="surrogatepass")[0])
    if character == "'":
        return "'\\''"
    return "'\"'" if character == '"' else f"'{quote(character)[1:-1]}'"


def _innermost(text: str) -> str:
    """Return the innermost open bracket at the end of a JSON text."""
    opened: list[str] = []
    in_string = is_escaped = False
    for character in text:
        if in_string:
            in_string = is_escaped or character != '"'
            is_escaped = character == "\\" and not is_escaped
        elif character == '"':
            in_string = True
        elif character in "[{":
            opened.append(character)
        elif character in "]}" and opened:
            opened.pop()
    return opened[-1] if opened else ""
