"""Checks of names and of paths in volumes; they yield the API server's messages.

Source: k8s.io/apimachinery v0.32.10, pkg/util/validation/validation.go;
pkg/apis/core/validation/validation.go, v1.32.10, validateLocalDescendingPath,
validatePathNoBacksteps, ValidateLocalNonReservedPath.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from probetui.manifest.validation.field_error import FieldError, invalid

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_SEARCH_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH = rf"{_SEARCH_LABEL}(\.{_SEARCH_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_QUALIFIED})?"
_HEADER = "[-A-Za-z0-9]+"
_ENV_NAME = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"

MAX_LABEL = 63
MAX_SUBDOMAIN = 253
MAX_PORT_NAME = 15
MAX_PORT = 65535
MAX_INT32 = 2**31 - 1


def byte_length(text: str) -> int:
    """Return the length of a text in bytes, which Go also calls characters."""
    return len(text.encode("utf-8", "replace"))


_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)


def trim_space(text: str) -> str:
    """Return a text without leading and trailing white space, as Go defines it."""
    return text.strip(_SPACE)


def _example(sentence: str, pattern: str, *examples: str) -> str:
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{sentence} (e.g. {listed}regex used for validation is '{pattern}')"


NOT_A_LABEL = _example(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or"
    " '-', and must start and end with an alphanumeric character",
    _LABEL, "my-name", "123-abc",
)  # fmt: skip
NOT_A_SUBDOMAIN = _example(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric"
    " characters, '-' or '.', and must start and end with an alphanumeric character",
    _SUBDOMAIN, "example.com",
)  # fmt: skip
_NOT_A_SEARCH = _example(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric"
    " characters, '_', '-' or '.', and must start and end with an alphanumeric"
    " character",
    _SEARCH, "example.com",
)  # fmt: skip
_NOT_QUALIFIED = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end"
    " with an alphanumeric character"
)
_NOT_A_NAME_PART = _example(_NOT_QUALIFIED, _QUALIFIED, "MyName", "my.name", "123-abc")
_NOT_A_LABEL_KEY = (
    "a valid label key "
    + _example(_NOT_QUALIFIED, _QUALIFIED, "MyName", "my.name", "123-abc")
    + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_NOT_A_LABEL_VALUE = _example(
    "a valid label must be an empty string or consist of alphanumeric characters, '-',"
    " '_' or '.', and must start and end with an alphanumeric character",
    _LABEL_VALUE, "MyValue", "my_value", "12345",
)  # fmt: skip
_NOT_A_HEADER = _example(
    "a valid HTTP header must consist of alphanumeric characters or '-'",
    _HEADER, "X-Header-Name",
)  # fmt: skip
_NOT_AN_ENV_NAME = _example(
    "a valid environment variable name must consist of alphabetic characters, digits,"
    " '_', '-', or '.', and must not start with a digit",
    _ENV_NAME, "my.env-name", "MY_ENV.NAME", "MyEnvName1",
)  # fmt: skip
_NOT_A_CONFIG_KEY = _example(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY, "key.name", "KEY_NAME", "key-name",
)  # fmt: skip
_NOT_A_RELAXED_ENV_NAME = (
    "a valid environment variable name must consist only of printable ASCII characters"
    " other than '='"
)


def check_label(value: str) -> Iterator[str]:
    """Check the name of a container, a namespace, a volume."""
    if byte_length(value) > MAX_LABEL:
        yield f"must be no more than {MAX_LABEL} characters"
    if not re.fullmatch(_LABEL, value):
        is_subdomain = re.fullmatch(_SUBDOMAIN, value) is not None
        yield "must not contain dots" if is_subdomain else NOT_A_LABEL


def check_subdomain(value: str) -> Iterator[str]:
    """Check the name of a pod and of most other objects."""
    if byte_length(value) > MAX_SUBDOMAIN:
        yield f"must be no more than {MAX_SUBDOMAIN} characters"
    if not re.fullmatch(_SUBDOMAIN, value):
        yield NOT_A_SUBDOMAIN


def mask_dash(value: str) -> str:
    """Return the prefix of a generated name for the check, ended by a letter."""
    return f"{value[:-2]}a" if len(value) > 1 and value.endswith("-") else value


def check_search(value: str) -> Iterator[str]:
    """Check a DNS search path where underscores are allowed."""
    if byte_length(value) > MAX_SUBDOMAIN:
        yield f"must be no more than {MAX_SUBDOMAIN} characters"
    if not re.fullmatch(_SEARCH, value):
        yield _NOT_A_SEARCH


def check_qualified_name(value: str) -> Iterator[str]:
    """Check the key of a label, an annotation, a readiness gate."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        yield _NOT_A_LABEL_KEY
        return
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif slash:
        yield from (f"prefix part {error}" for error in check_subdomain(prefix))
    if not name:
        yield "name part must be non-empty"
    elif byte_length(name) > MAX_LABEL:
        yield f"name part must be no more than {MAX_LABEL} bytes"
    if not re.fullmatch(_QUALIFIED, name):
        yield f"name part {_NOT_A_NAME_PART}"


def check_label_value(value: str) -> Iterator[str]:
    """Check the value of a label."""
    if byte_length(value) > MAX_LABEL:
        yield f"must be no more than {MAX_LABEL} bytes"
    if not re.fullmatch(_LABEL_VALUE, value):
        yield _NOT_A_LABEL_VALUE


def check_header_name(value: str) -> Iterator[str]:
    """Check the name of an HTTP header."""
    if not re.fullmatch(_HEADER, value):
        yield _NOT_A_HEADER


def check_config_key(value: str) -> Iterator[str]:
    """Check a key of a ConfigMap or a Secret."""
    if byte_length(value) > MAX_SUBDOMAIN:
        yield f"must be no more than {MAX_SUBDOMAIN} characters"
    if not re.fullmatch(_CONFIG_KEY, value):
        yield _NOT_A_CONFIG_KEY
    yield from _no_dots(value)


def check_env_name(value: str, *, is_strict: bool) -> Iterator[str]:
    """Check the name of an environment variable.

    The API server of 1.32 accepts any printable ASCII but `=`; the kubelet's file
    source is strict.
    """
    if not is_strict:
        if not value or any(
            not " " <= character <= "~" or character == "=" for character in value
        ):
            yield _NOT_A_RELAXED_ENV_NAME
        return
    if not re.fullmatch(_ENV_NAME, value):
        yield _NOT_AN_ENV_NAME
    yield from _no_dots(value)


def check_port_number(value: int) -> Iterator[str]:
    """Check the number of a port."""
    if not 1 <= value <= MAX_PORT:
        yield f"must be between 1 and {MAX_PORT}, inclusive"


def check_port_name(value: str) -> Iterator[str]:
    """Check the name of a port."""
    if byte_length(value) > MAX_PORT_NAME:
        yield f"must be no more than {MAX_PORT_NAME} characters"
    if not re.fullmatch("[-a-z0-9]+", value):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not re.search("[a-z]", value):
        yield "must contain at least one letter (a-z)"
    if "--" in value:
        yield "must not contain consecutive hyphens"
    if value.startswith("-") or value.endswith("-"):
        yield "must not begin or end with a hyphen"


def check_not_reserved(path: str) -> Iterator[str]:
    """Check that a path in a volume is not reserved by Kubernetes."""
    yield from check_descending(path)
    if path.startswith("..") and not path.startswith("../"):
        yield "must not start with '..'"


def check_descending(path: str) -> Iterator[str]:
    """Check a path that must stay below a folder."""
    if path.startswith("/"):
        yield "must be a relative path"
    yield from check_no_backsteps(path)


def check_no_backsteps(path: str) -> Iterator[str]:
    """Check that a path has no `..` element."""
    if has_backsteps(path):
        yield "must not contain '..'"


def has_backsteps(path: str) -> bool:
    """Return whether a path has a `..` element."""
    return ".." in path.split("/")


def invalid_names(
    field: str, value: str | int, errors: Iterator[str]
) -> Iterator[FieldError]:
    """Return the errors of a check as errors of a field."""
    return (invalid(field, value, error) for error in errors)


def _no_dots(value: str) -> Iterator[str]:
    if value == ".":
        yield "must not be '.'"
    elif value == "..":
        yield "must not be '..'"
    elif value.startswith(".."):
        yield "must not start with '..'"
