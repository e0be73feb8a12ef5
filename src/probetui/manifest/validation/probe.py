"""The API server's rules for probes and lifecycle hooks.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateProbe,
validateHandler, validateLifecycle; v1.36.2, validateStopSignal.
"""

from __future__ import annotations

from collections.abc import Iterator

from lightkube.models import core_v1

from probetui.k8s.probe import GRPC_PLAINTEXT, GRPC_TLS, HTTP_1, HTTP_2
from probetui.k8s.stop_signals import LINUX_STOP_SIGNALS, WINDOWS_STOP_SIGNALS
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
)
from probetui.manifest.validation.rules import (
    Always,
    Each,
    IfSet,
    PodContext,
    Required,
    Rules,
    ValidationRule,
    at_least,
    check,
    choice,
    in_context,
    must,
    valid,
)

NO_HANDLER = "must specify a handler type"
SECOND_HANDLER = "may not specify more than 1 handler type"
ONE_SUCCESS = "must be 1"
NO_READINESS_GRACE = "must not be set for readinessProbes"
SCHEMES = ("HTTP", "HTTPS")
HTTP_PROTOCOLS = (HTTP_1, HTTP_2)
GRPC_MODES = (GRPC_PLAINTEXT, GRPC_TLS)


def _check_port(port: int | str) -> Iterator[str]:
    """Check the number or the name of a port."""
    if isinstance(port, int):
        return names.check_port_number(port)
    return names.check_port_name(port)


_PORT = Always("port", valid(_check_port))


def _protocol(action: core_v1.HTTPGetAction) -> Iterator[FieldError]:
    """Check the protocol: HTTP/2 is cleartext only, and for the pod only."""
    if action.protocol is None:
        return
    if action.protocol not in HTTP_PROTOCOLS:
        yield not_supported("protocol", action.protocol, HTTP_PROTOCOLS)
    elif action.protocol == HTTP_2 and action.scheme != "HTTP":
        yield invalid("protocol", action.protocol, "is only supported with HTTP (H2C)")
    elif action.protocol == HTTP_2 and action.host:
        detail = f'must be empty when `protocol` is "{HTTP_2}"'
        yield invalid("host", action.host, detail)


@in_context
def _sleep(action: core_v1.SleepAction, context: PodContext) -> Iterator[FieldError]:
    grace = context.spec.terminationGracePeriodSeconds
    if grace is None:
        return
    if context.version.zero_sleep:
        if not 0 <= action.seconds <= grace:
            detail = "must be non-negative and less than terminationGracePeriodSeconds"
            yield invalid("", action.seconds, f"{detail} ({grace})")
    elif not 0 < action.seconds <= grace:
        yield invalid(
            "",
            action.seconds,
            "must be greater than 0 and less than terminationGracePeriodSeconds"
            f" ({grace}). Enable AllowPodLifecycleSleepActionZeroValue feature"
            " gate for zero sleep.",
        )


HANDLERS = {
    "exec": Rules(core_v1.ExecAction, Required("command")),
    "httpGet": Rules(
        core_v1.HTTPGetAction,
        _PORT,
        Always("scheme", choice(*SCHEMES)),
        Each(
            "httpHeaders",
            Always("name", valid(names.check_header_name), at=""),
            at="httpHeaders",
        ),
        _protocol,
    ),
    "tcpSocket": Rules(core_v1.TCPSocketAction, _PORT),
    "grpc": Rules(
        core_v1.GRPCAction,
        _PORT,
        IfSet("mode", choice(*GRPC_MODES)),
    ),
    "sleep": Rules(core_v1.SleepAction, _sleep),
}
"""The rules of each handler, by its field."""


def _one_handler(*handlers: str) -> ValidationRule:
    """Return the rule that checks the first handler, and reports the others."""

    def find(
        owner: core_v1.Probe | core_v1.LifecycleHandler, context: PodContext
    ) -> Iterator[FieldError]:
        written = [name for name in handlers if getattr(owner, name) is not None]
        if not written:
            yield required("", NO_HANDLER)
            return
        first, *others = written
        yield from check(HANDLERS[first], getattr(owner, first), context, first)
        for name in others:
            yield forbidden(name, SECOND_HANDLER)

    return in_context(find)


PROBE = Rules(
    core_v1.Probe,
    _one_handler("exec", "httpGet", "tcpSocket", "grpc"),
    IfSet("initialDelaySeconds", at_least(0)),
    IfSet("timeoutSeconds", at_least(0)),
    IfSet("periodSeconds", at_least(0)),
    IfSet("successThreshold", at_least(0)),
    IfSet("failureThreshold", at_least(0)),
    IfSet(
        "terminationGracePeriodSeconds",
        must(lambda seconds: seconds > 0, "must be greater than 0"),
    ),
)
_KILLING_PROBE = Rules(
    core_v1.Probe,
    PROBE,
    Always("successThreshold", must(lambda count: count == 1, ONE_SUCCESS)),
)
"""The rules of the probes that kill a container."""

_READINESS_PROBE = Rules(
    core_v1.Probe,
    PROBE,
    IfSet("terminationGracePeriodSeconds", must(lambda _: False, NO_READINESS_GRACE)),
)


@in_context
def _stop_signal(signal: str, context: PodContext) -> Iterator[FieldError]:
    """Check the stop signal, which depends on the pod's operating system."""
    if not context.os_name:
        detail = "may not be set for containers with empty `spec.os.name`"
        yield forbidden("", detail)
        return
    is_windows = context.os_name == "windows"
    known = WINDOWS_STOP_SIGNALS if is_windows else tuple(LINUX_STOP_SIGNALS)
    if signal not in known:
        yield not_supported("", signal, tuple(sorted(known)))


_HOOK = Rules(
    core_v1.LifecycleHandler, _one_handler("exec", "httpGet", "tcpSocket", "sleep")
)
LIFECYCLE_AND_PROBES = Rules(
    core_v1.Container,
    IfSet(
        "lifecycle",
        Rules(
            core_v1.Lifecycle,
            IfSet("postStart", _HOOK),
            IfSet("preStop", _HOOK),
            IfSet("stopSignal", _stop_signal),
        ),
    ),
    IfSet("livenessProbe", _KILLING_PROBE),
    IfSet("readinessProbe", _READINESS_PROBE),
    IfSet("startupProbe", _KILLING_PROBE),
)
