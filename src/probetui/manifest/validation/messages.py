"""The API server's errors as messages for the authors of manifests.

A message follows file, line and field, so it begins with the value:
`is 3, must be 1 for a liveness probe`.
"""

from __future__ import annotations

from probetui.manifest.problem import escape_unprintable, quote_short
from probetui.manifest.validation import names
from probetui.manifest.validation.container import PLAIN_INIT
from probetui.manifest.validation.field_error import ErrorType, FieldError, GoSyntax
from probetui.manifest.validation.probe import (
    NO_HANDLER,
    NO_READINESS_GRACE,
    ONE_SUCCESS,
    SECOND_HANDLER,
)

_ENDS = "with a letter or digit at both ends"
_PLAINER = {
    names.NOT_A_LABEL: f"must be lower-case letters, digits and '-', {_ENDS}",
    names.NOT_A_SUBDOMAIN: f"must be lower-case letters, digits, '-' and '.', {_ENDS}",
}
_SUPPORTED = "supported values: "
_VALID = "valid values: "


def format_field_error(error: FieldError) -> str:
    """Return the message about a field, without its name."""
    match error.type:
        case ErrorType.REQUIRED:
            return _required(error)
        case ErrorType.INVALID:
            return _invalid(error)
        case ErrorType.NOT_SUPPORTED:
            choices = error.detail.removeprefix(_SUPPORTED)
            return f"is {_value(error)}, must be {_format_choices(choices.split(', '))}"
        case ErrorType.FORBIDDEN:
            return _forbidden(error)
        case ErrorType.DUPLICATE:
            return f"duplicate {_value(error)}"
        case ErrorType.NOT_FOUND:
            return _not_found(error)
        case ErrorType.TOO_LONG:
            return error.detail
        case ErrorType.TOO_MANY:
            return f"has {error.bad_value} items, {error.detail}"


def _not_found(error: FieldError) -> str:
    if error.detail:
        return f"is {_value(error)}, {error.detail}"
    is_target = error.field.endswith(".targetContainerName")
    what = "container" if is_target else "valid volume"
    return f"{_value(error)} is not the name of a {what} of the pod"


def _required(error: FieldError) -> str:
    if error.detail == NO_HANDLER:
        last = "sleep" if ".lifecycle." in error.field else "grpc"
        return f"has no handler, must have one of exec, httpGet, tcpSocket and {last}"
    if error.field.endswith(".containers"):
        return "is empty, a pod needs at least one container"
    if error.detail.startswith(_VALID):
        choices = error.detail.removeprefix(_VALID)
        return (
            f"must be {_format_choices(choices.split(', '))} in this kind of workload"
        )
    detail = f": {error.detail}" if error.detail else ""
    return f"is missing{detail}"


def _invalid(error: FieldError) -> str:
    if error.detail == ONE_SUCCESS:
        return f"is {_value(error)}, must be 1 for a {_probe_type(error.field)} probe"
    if error.detail == NO_READINESS_GRACE:
        return (
            f"is {_value(error)}, must not be set on a readiness probe: only liveness"
            " and startup probes kill a container"
        )
    detail = _PLAINER.get(error.detail, error.detail)
    if error.bad_value == "" or isinstance(error.bad_value, GoSyntax):
        return detail
    if detail.startswith(("must", "may")):
        return f"is {_value(error)}, {detail}"
    return f"is {_value(error)}: {detail}"


def _forbidden(error: FieldError) -> str:
    owner, _, name = error.field.rpartition(".")
    if error.detail == SECOND_HANDLER:
        kind = "hook" if ".lifecycle." in error.field else "probe"
        return f"only one handler is allowed in a {kind}"
    if error.detail == PLAIN_INIT:
        what = "hooks" if name == "lifecycle" else "probes"
        return f"only an init container with restartPolicy: Always may have {what}"
    if name == "restartPolicy" and ".containers[" in owner:
        return "only init containers may have a restartPolicy; the pod's applies here"
    return error.detail


def _probe_type(field: str) -> str:
    return "startup" if ".startupProbe." in field else "liveness"


def _value(error: FieldError) -> str:
    value = error.bad_value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, GoSyntax):
        return escape_unprintable(value.text)
    return quote_short(value) if isinstance(value, str) else str(value)


def _format_choices(choices: list[str]) -> str:
    if len(choices) == 1:
        return choices[0]
    return f"{', '.join(choices[:-1])} or {choices[-1]}"
