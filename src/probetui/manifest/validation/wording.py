"""Error texts of API servers before 1.36 that differ from those of 1.36.

Source: errors of kube-apiserver 1.36.2 as recorded; k8s.io/apimachinery v0.32.10,
pkg/util/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import structs

from probetui.manifest.validation.field_error import FieldError
from probetui.manifest.validation.names import MAX_LABEL

_OLDER_WORDS = {
    "a valid label key must consist": "a qualified name must consist",
    f"must be no more than {MAX_LABEL} bytes": (
        f"must be no more than {MAX_LABEL} characters"
    ),
    "when `hostUsers` is false": "when `pod.Spec.HostUsers` is false",
}
"""The texts of 1.36, and those of earlier versions."""


def in_older_words(errors: Iterable[FieldError]) -> Iterator[FieldError]:
    """Yield errors with the details of versions before 1.36."""
    for error in errors:
        detail = error.detail
        for ours, older in _OLDER_WORDS.items():
            detail = detail.replace(ours, older)
        yield structs.replace(error, detail=detail) if detail != error.detail else error
