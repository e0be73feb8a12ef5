"""The API server's rules for security contexts, of pods and of containers.

Source: pkg/apis/core/validation/validation.go, v1.32.10,
validatePodSpecSecurityContext, ValidateSecurityContext, validateHostUsers, validateOS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lightkube.models import core_v1

from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    duplicate,
    forbidden,
    go_json,
    invalid,
    not_supported,
    required,
)
from probetui.manifest.validation.rules import (
    Each,
    Errors,
    IfSet,
    PodContext,
    Remembering,
    Rules,
    between,
    check,
    choice,
    in_context,
)
from probetui.manifest.validation.seccomp import SECCOMP_PROFILE
from probetui.manifest.validation.warnings import containers_with_paths
from probetui.manifest.validation.windows import WINDOWS_OPTIONS

_SYSCTL_PART = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"({_SYSCTL_PART}[\./])*{_SYSCTL_PART}"
_NET_SYSCTLS = ("net.",)
_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "fs.mqueue.")
_IPC_SYSCTL = "kernel.sem"
_LABEL_CHANGES = ("MountOption", "Recursive")
_SYSTEMS = ("linux", "windows")
_NO_WINDOWS = "windows options cannot be set for a linux pod"
_NOT_ON_WINDOWS = "cannot be set for a windows pod"
_LINUX_POD = (
    "appArmorProfile", "seLinuxOptions", "hostUsers", "hostPID", "hostIPC",
    "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls",
    "shareProcessNamespace", "runAsUser", "runAsGroup", "supplementalGroups",
    "supplementalGroupsPolicy", "seLinuxChangePolicy",
)  # fmt: skip
_LINUX_CONTAINER = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities",
    "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount",
    "runAsUser", "runAsGroup",
)  # fmt: skip


_GO_FIELDS: Mapping[str, Mapping[str, str]] = {
    "SecurityContext": {
        "Capabilities": "capabilities",
        "Privileged": "privileged",
        "SELinuxOptions": "seLinuxOptions",
        "WindowsOptions": "windowsOptions",
        "RunAsUser": "runAsUser",
        "RunAsGroup": "runAsGroup",
        "RunAsNonRoot": "runAsNonRoot",
        "ReadOnlyRootFilesystem": "readOnlyRootFilesystem",
        "AllowPrivilegeEscalation": "allowPrivilegeEscalation",
        "ProcMount": "procMount",
        "SeccompProfile": "seccompProfile",
        "AppArmorProfile": "appArmorProfile",
    },
    "Capabilities": {"Add": "add", "Drop": "drop"},
    "SELinuxOptions": {
        "User": "user", "Role": "role", "Type": "type", "Level": "level",
    },
    "WindowsSecurityContextOptions": {
        "GMSACredentialSpecName": "gmsaCredentialSpecName",
        "GMSACredentialSpec": "gmsaCredentialSpec",
        "RunAsUserName": "runAsUserName",
        "HostProcess": "hostProcess",
    },
    "SeccompProfile": {"Type": "type", "LocalhostProfile": "localhostProfile"},
    "AppArmorProfile": {"Type": "type", "LocalhostProfile": "localhostProfile"},
}  # fmt: skip
"""The API server's own names of fields, in their order.

Source: pkg/apis/core/types.go, v1.34.0, SecurityContext.
"""


def _go_fields(value: Any) -> Any:
    """Return an object with the API server's internal field names."""
    fields = _GO_FIELDS.get(type(value).__name__)
    if fields is None:
        return value
    absent = "" if isinstance(value, core_v1.SELinuxOptions) else None
    own = {go: getattr(value, name) for go, name in fields.items()}
    return {
        go: absent if item is None else _go_fields(item) for go, item in own.items()
    }


@in_context
def _shared_processes(_: Any, context: PodContext) -> Iterator[FieldError]:
    if context.spec.shareProcessNamespace and context.spec.hostPID:
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid("shareProcessNamespace", value=True, detail=detail)


def _sysctls(
    _: core_v1.PodSecurityContext, context: PodContext
) -> Callable[[core_v1.Sysctl], Errors]:
    seen: set[str] = set()
    spec = context.spec

    def find(sysctl: core_v1.Sysctl) -> Iterator[FieldError]:
        name = sysctl.name
        if not name:
            yield required("name")
        elif names.byte_length(name) > names.MAX_SUBDOMAIN or not re.fullmatch(
            _SYSCTL, name
        ):
            detail = f"must have at most {names.MAX_SUBDOMAIN} characters and match"
            yield invalid("name", name, f"{detail} regex ^{_SYSCTL}$")
        elif name in seen:
            yield duplicate("name", name)
        plain = _plain_sysctl(name)
        if spec.hostNetwork and plain.startswith(_NET_SYSCTLS):
            detail = "may not be specified when 'hostNetwork' is true"
            yield invalid("name", name, detail)
        elif spec.hostIPC and (plain == _IPC_SYSCTL or plain.startswith(_IPC_SYSCTLS)):
            yield invalid("name", name, "may not be specified when 'hostIPC' is true")
        seen.add(name)

    return find


def _plain_sysctl(name: str) -> str:
    """Return a sysctl name with dots if its first separator is a slash.

    Source: k8s.io/component-helpers v0.32.10, node/util/sysctl/sysctl.go,
    NormalizeName.
    """
    separator = next((character for character in name if character in "./"), ".")
    return name if separator == "." else name.translate(_SWAPPED)


_SWAPPED = str.maketrans("./", "/.")


@in_context
def _label_change(policy: str, context: PodContext) -> Errors:
    changes = _LABEL_CHANGES if context.version.selinux_mount else _LABEL_CHANGES[1:]
    return choice(*changes)(policy)


def _app_armor(profile: core_v1.AppArmorProfile) -> Errors:
    # Late: few pods have one.
    from probetui.manifest.validation.app_armor import (  # noqa: PLC0415
        APP_ARMOR_PROFILE,
    )

    return check(APP_ARMOR_PROFILE, profile)


@in_context
def _unmasked(mount: str, context: PodContext) -> Iterator[FieldError]:
    if mount == "Unmasked" and context.spec.hostUsers is not False:
        yield invalid("", mount, "`hostUsers` must be false to use `Unmasked`")


def _escalation(context: core_v1.SecurityContext) -> Iterator[FieldError]:
    if context.allowPrivilegeEscalation is not False:
        return
    start = "cannot set `allowPrivilegeEscalation` to false and"
    whole = GoSyntax("core.SecurityContext{...}", go_json(_go_fields(context)))
    if context.privileged:
        yield invalid("", whole, f"{start} `privileged` to true")
    capabilities = context.capabilities or core_v1.Capabilities()
    for added in capabilities.add or ():
        if added == "CAP_SYS_ADMIN":
            yield invalid("", whole, f"{start} `capabilities.Add` {added}")


_ID = between(0, names.MAX_INT32)
POD_SECURITY_CONTEXT = Rules(
    core_v1.PodSecurityContext,
    IfSet("fsGroup", _ID),
    IfSet("runAsUser", _ID),
    IfSet("runAsGroup", _ID),
    Each("supplementalGroups", _ID),
    _shared_processes,
    Each("sysctls", Remembering(_sysctls)),
    IfSet("fsGroupChangePolicy", choice("Always", "OnRootMismatch")),
    IfSet("seccompProfile", SECCOMP_PROFILE),
    IfSet("windowsOptions", WINDOWS_OPTIONS),
    IfSet("appArmorProfile", _app_armor),
    IfSet("supplementalGroupsPolicy", choice("Merge", "Strict")),
    IfSet("seLinuxChangePolicy", _label_change),
)
SECURITY_CONTEXT = Rules(
    core_v1.SecurityContext,
    IfSet("runAsUser", _ID),
    IfSet("runAsGroup", _ID),
    IfSet("procMount", choice("Default", "Unmasked"), _unmasked),
    IfSet("seccompProfile", SECCOMP_PROFILE),
    _escalation,
    IfSet("windowsOptions", WINDOWS_OPTIONS),
    IfSet("appArmorProfile", _app_armor),
)


def host_users(spec: core_v1.PodSpec) -> Iterator[FieldError]:
    """Check that a pod with a user namespace shares no namespace with the host."""
    if spec.hostUsers is not False:
        return
    for name, is_shared in (
        ("hostNetwork", spec.hostNetwork),
        ("HostPID", spec.hostPID),
        ("HostIPC", spec.hostIPC),
    ):
        if is_shared:
            yield forbidden(name, "when `hostUsers` is false")


@in_context
def operating_system(
    spec: core_v1.PodSpec, context: PodContext
) -> Iterator[FieldError]:
    """Check the operating system, and the fields that it forbids."""
    if spec.os is None:
        return
    if not spec.os.name:
        detail = "" if context.version.content_texts else "cannot be empty"
        yield required("os.name", detail)
    elif spec.os.name not in _SYSTEMS:
        yield not_supported("os", spec.os.name, _SYSTEMS)
    elif spec.os.name == "linux":
        yield from _linux(spec)
    else:
        yield from _windows(spec)


def _linux(spec: core_v1.PodSpec) -> Iterator[FieldError]:
    contexts: list[
        tuple[str, core_v1.PodSecurityContext | core_v1.SecurityContext | None]
    ] = [("securityContext", spec.securityContext)]
    for at, container in containers_with_paths(spec, ""):
        contexts.append((f"{at}.securityContext", container.securityContext))
    for at, context in contexts:
        if context is not None and context.windowsOptions is not None:
            yield forbidden(f"{at}.windowsOptions", _NO_WINDOWS)


def _windows(spec: core_v1.PodSpec) -> Iterator[FieldError]:
    context = spec.securityContext or core_v1.PodSecurityContext()
    for name in _LINUX_POD:
        is_own = hasattr(context, name)
        value = getattr(context if is_own else spec, name)
        is_flag = name in {"hostPID", "hostIPC"}
        is_empty = value is None or (name == "sysctls" and not value)
        if value if is_flag else not is_empty:
            where = f"securityContext.{name}" if is_own else name
            yield forbidden(where, _NOT_ON_WINDOWS)
    for at, container in containers_with_paths(spec, ""):
        own = container.securityContext or core_v1.SecurityContext()
        for name in _LINUX_CONTAINER:
            if getattr(own, name) is not None:
                yield forbidden(f"{at}.securityContext.{name}", _NOT_ON_WINDOWS)
