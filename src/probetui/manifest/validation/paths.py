"""The API server's rules for paths below a folder.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateLocalDescendingPath,
validatePathNoBacksteps, ValidateLocalNonReservedPath.
"""

from __future__ import annotations

from collections.abc import Iterator

from probetui.manifest.validation.field_error import FieldError, invalid


def not_reserved(value: str, path: str) -> Iterator[FieldError]:
    """Check that a path in a volume is not reserved by Kubernetes."""
    yield from descending(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield invalid(path, value, "must not start with '..'")


def descending(value: str, path: str) -> Iterator[FieldError]:
    """Check a path that must stay below a folder."""
    if value.startswith("/"):
        yield invalid(path, value, "must be a relative path")
    yield from no_backsteps(value, path)


def no_backsteps(value: str, path: str) -> Iterator[FieldError]:
    """Check that a path has no `..` element."""
    if has_backsteps(value):
        yield invalid(path, value, "must not contain '..'")


def has_backsteps(value: str) -> bool:
    """Return whether a path has a `..` element."""
    return ".." in value.split("/")
