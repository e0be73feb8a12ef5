"""The API server's rules for probes and lifecycle hooks.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateProbe,
validateHandler, validateLifecycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lightkube.models import core_v1

from probetui.k8s.probe import GRPC_PLAINTEXT, GRPC_TLS, HTTP_1, HTTP_2
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
)

NO_HANDLER = "must specify a handler type"
SECOND_HANDLER = "may not specify more than 1 handler type"
ONE_SUCCESS = "must be 1"
NO_READINESS_GRACE = "must not be set for readinessProbes"
SCHEMES = ("HTTP", "HTTPS")
HTTP_PROTOCOLS = (HTTP_1, HTTP_2)
GRPC_MODES = (GRPC_PLAINTEXT, GRPC_TLS)
_NUMBERS = (
    "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold",
    "failureThreshold",
)  # fmt: skip

_Action = (
    core_v1.ExecAction
    | core_v1.HTTPGetAction
    | core_v1.TCPSocketAction
    | core_v1.GRPCAction
    | core_v1.SleepAction
)


def validate_probes(container: core_v1.Container, path: str) -> Iterator[FieldError]:
    """Check the three probes of a container, in the API server's order."""
    if container.livenessProbe is not None:
        at = f"{path}.livenessProbe"
        yield from _validate_probe(container.livenessProbe, at)
        yield from _one_success(container.livenessProbe, at)
    if container.readinessProbe is not None:
        at = f"{path}.readinessProbe"
        yield from _validate_probe(container.readinessProbe, at)
        grace = container.readinessProbe.terminationGracePeriodSeconds
        if grace is not None:
            field = f"{at}.terminationGracePeriodSeconds"
            yield invalid(field, grace, NO_READINESS_GRACE)
    if container.startupProbe is not None:
        at = f"{path}.startupProbe"
        yield from _validate_probe(container.startupProbe, at)
        yield from _one_success(container.startupProbe, at)


def validate_lifecycle(
    lifecycle: core_v1.Lifecycle,
    grace: int | None,
    path: str,
    rules: KubeletRules = PORTED_RULES,
) -> Iterator[FieldError]:
    """Check both hooks; `grace` is the pod's grace period in seconds."""
    for name in ("postStart", "preStop"):
        hook = getattr(lifecycle, name)
        if hook is not None:
            yield from _validate_hook(hook, grace, f"{path}.{name}", rules)


def _one_success(probe: core_v1.Probe, path: str) -> Iterator[FieldError]:
    if probe.successThreshold != 1:
        yield invalid(f"{path}.successThreshold", probe.successThreshold, ONE_SUCCESS)


def _validate_probe(probe: core_v1.Probe, path: str) -> Iterator[FieldError]:
    handlers = ("exec", "httpGet", "tcpSocket", "grpc")
    yield from _one_handler(probe, handlers, path, None, PORTED_RULES)
    for name in _NUMBERS:
        value = getattr(probe, name)
        if value is not None and value < 0:
            yield invalid(f"{path}.{name}", value, "must be greater than or equal to 0")
    grace = probe.terminationGracePeriodSeconds
    if grace is not None and grace <= 0:
        field = f"{path}.terminationGracePeriodSeconds"
        yield invalid(field, grace, "must be greater than 0")


def _validate_hook(
    hook: core_v1.LifecycleHandler, grace: int | None, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    handlers = ("exec", "httpGet", "tcpSocket", "sleep")
    yield from _one_handler(hook, handlers, path, grace, rules)


def _one_handler(
    owner: core_v1.Probe | core_v1.LifecycleHandler,
    handlers: Iterable[str],
    path: str,
    grace: int | None,
    rules: KubeletRules,
) -> Iterator[FieldError]:
    """Check the first handler, and report the others."""
    written = [(name, action) for name in handlers if (action := getattr(owner, name))]
    if not written:
        yield required(path, NO_HANDLER)
        return
    name, action = written[0]
    yield from _handler(action, f"{path}.{name}", grace, rules)
    for name, _ in written[1:]:
        yield forbidden(f"{path}.{name}", SECOND_HANDLER)


def _handler(
    action: _Action, path: str, grace: int | None, rules: KubeletRules
) -> Iterator[FieldError]:
    match action:
        case core_v1.ExecAction():
            if not action.command:
                yield required(f"{path}.command")
        case core_v1.HTTPGetAction():
            yield from _http(action, path)
        case core_v1.TCPSocketAction():
            yield from _port(action.port, f"{path}.port")
        case core_v1.GRPCAction():
            yield from _port(action.port, f"{path}.port")
            if action.mode is not None and action.mode not in GRPC_MODES:
                yield not_supported(f"{path}.mode", action.mode, GRPC_MODES)
        case core_v1.SleepAction():
            yield from _sleep(action, path, grace, rules)


def _http(action: core_v1.HTTPGetAction, path: str) -> Iterator[FieldError]:
    yield from _port(action.port, f"{path}.port")
    if action.scheme not in SCHEMES:
        yield not_supported(f"{path}.scheme", action.scheme, SCHEMES)
    for header in action.httpHeaders or ():
        errors = names.check_header_name(header.name)
        yield from names.invalid_names(f"{path}.httpHeaders", header.name, errors)
    if action.protocol is not None:
        yield from _protocol(action, path)


def _protocol(action: core_v1.HTTPGetAction, path: str) -> Iterator[FieldError]:
    """Check the protocol: HTTP/2 is cleartext only, and for the pod only."""
    at = f"{path}.protocol"
    if action.protocol not in HTTP_PROTOCOLS:
        yield not_supported(at, action.protocol, HTTP_PROTOCOLS)
    elif action.protocol == HTTP_2 and action.scheme != "HTTP":
        yield invalid(at, action.protocol, "is only supported with HTTP (H2C)")
    elif action.protocol == HTTP_2 and action.host:
        detail = f'must be empty when `protocol` is "{HTTP_2}"'
        yield invalid(f"{path}.host", action.host, detail)


def _sleep(
    action: core_v1.SleepAction, path: str, grace: int | None, rules: KubeletRules
) -> Iterator[FieldError]:
    if grace is None:
        return
    if rules.zero_sleep:
        if not 0 <= action.seconds <= grace:
            detail = "must be non-negative and less than terminationGracePeriodSeconds"
            yield invalid(path, action.seconds, f"{detail} ({grace})")
    elif not 0 < action.seconds <= grace:
        yield invalid(
            path,
            action.seconds,
            "must be greater than 0 and less than terminationGracePeriodSeconds"
            f" ({grace}). Enable AllowPodLifecycleSleepActionZeroValue feature"
            " gate for zero sleep.",
        )


def _port(port: int | str, path: str) -> Iterator[FieldError]:
    if isinstance(port, int):
        return names.invalid_names(path, port, names.check_port_number(port))
    return names.invalid_names(path, port, names.check_port_name(port))
