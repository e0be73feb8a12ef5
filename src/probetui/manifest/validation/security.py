"""The API server's rules for security contexts, of pods and of containers.

Source: pkg/apis/core/validation/validation.go, v1.32.10,
validatePodSpecSecurityContext, ValidateSecurityContext, validateHostUsers, validateOS.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lightkube.models import core_v1

from probetui.kubelet_rules import KubeletRules
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
from probetui.manifest.validation.seccomp import validate_seccomp
from probetui.manifest.validation.warnings import containers_with_paths
from probetui.manifest.validation.windows import validate_windows_options

_SYSCTL_PART = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"({_SYSCTL_PART}[\./])*{_SYSCTL_PART}"
_NET_SYSCTLS = ("net.",)
_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "fs.mqueue.")
_IPC_SYSCTL = "kernel.sem"
_OWNER_CHANGES = ("Always", "OnRootMismatch")
_GROUP_POLICIES = ("Merge", "Strict")
_LABEL_CHANGES = ("MountOption", "Recursive")
_PROC_MOUNTS = ("Default", "Unmasked")
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


def validate_pod_security(
    spec: core_v1.PodSpec, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    """Check a pod's security context and shared namespaces."""
    context = spec.securityContext or core_v1.PodSecurityContext()
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from _id(getattr(context, name), f"{path}.{name}")
    for index, group in enumerate(context.supplementalGroups or ()):
        yield from _id(group, f"{path}.supplementalGroups[{index}]")
    if spec.shareProcessNamespace and spec.hostPID:
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", value=True, detail=detail)
    yield from _sysctls(context.sysctls or (), spec, f"{path}.sysctls")
    if context.fsGroupChangePolicy is not None:
        policy, at = context.fsGroupChangePolicy, f"{path}.fsGroupChangePolicy"
        yield from _one_of(policy, _OWNER_CHANGES, at)
    yield from validate_seccomp(context.seccompProfile, f"{path}.seccompProfile")
    yield from validate_windows_options(
        context.windowsOptions, f"{path}.windowsOptions"
    )
    yield from _app_armor(context.appArmorProfile, f"{path}.appArmorProfile")
    if context.supplementalGroupsPolicy is not None:
        policy, at = context.supplementalGroupsPolicy, "supplementalGroupsPolicy"
        yield from _one_of(policy, _GROUP_POLICIES, f"{path}.{at}")
    if context.seLinuxChangePolicy is not None:
        policy, at = context.seLinuxChangePolicy, f"{path}.seLinuxChangePolicy"
        changes = _LABEL_CHANGES if rules.selinux_mount else _LABEL_CHANGES[1:]
        yield from _one_of(policy, changes, at)


def validate_container_security(
    context: core_v1.SecurityContext | None, path: str, *, host_users: bool
) -> Iterator[FieldError]:
    """Check a container's context; `host_users` unless the pod has a user namespace."""
    if context is None:
        return
    yield from _id(context.runAsUser, f"{path}.runAsUser")
    yield from _id(context.runAsGroup, f"{path}.runAsGroup")
    if context.procMount is not None:
        yield from _one_of(context.procMount, _PROC_MOUNTS, f"{path}.procMount")
        if host_users and context.procMount == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            yield invalid(f"{path}.procMount", context.procMount, detail)
    yield from validate_seccomp(context.seccompProfile, f"{path}.seccompProfile")
    if context.allowPrivilegeEscalation is False:
        start = "cannot set `allowPrivilegeEscalation` to false and"
        whole = GoSyntax("core.SecurityContext{...}", go_json(_go_fields(context)))
        if context.privileged:
            yield invalid(path, whole, f"{start} `privileged` to true")
        capabilities = context.capabilities or core_v1.Capabilities()
        for added in capabilities.add or ():
            if added == "CAP_SYS_ADMIN":
                yield invalid(path, whole, f"{start} `capabilities.Add` {added}")
    yield from validate_windows_options(
        context.windowsOptions, f"{path}.windowsOptions"
    )
    yield from _app_armor(context.appArmorProfile, f"{path}.appArmorProfile")


def _app_armor(
    profile: core_v1.AppArmorProfile | None, path: str
) -> Iterator[FieldError]:
    if profile is None:
        return
    # Late: few pods have one.
    from probetui.manifest.validation.app_armor import (  # noqa: PLC0415
        validate_app_armor,
    )

    yield from validate_app_armor(profile, path)


def validate_host_users(spec: core_v1.PodSpec, path: str) -> Iterator[FieldError]:
    """Check that a pod with a user namespace shares no namespace with the host."""
    if spec.hostUsers is not False:
        return
    for name, is_shared in (
        ("hostNetwork", spec.hostNetwork),
        ("HostPID", spec.hostPID),
        ("HostIPC", spec.hostIPC),
    ):
        if is_shared:
            yield forbidden(f"{path}.{name}", "when `hostUsers` is false")


def validate_os(
    spec: core_v1.PodSpec, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    """Check the operating system, and the fields that it forbids."""
    if spec.os is None:
        return
    if not spec.os.name:
        detail = "" if rules.content_texts else "cannot be empty"
        yield required(f"{path}.os.name", detail)
    elif spec.os.name not in _SYSTEMS:
        yield not_supported(f"{path}.os", spec.os.name, _SYSTEMS)
    elif spec.os.name == "linux":
        yield from _linux(spec, path)
    else:
        yield from _windows(spec, path)


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
    found = {go: getattr(value, name) for go, name in fields.items()}
    return {go: absent if one is None else _go_fields(one) for go, one in found.items()}


def _linux(spec: core_v1.PodSpec, path: str) -> Iterator[FieldError]:
    contexts: list[
        tuple[str, core_v1.PodSecurityContext | core_v1.SecurityContext | None]
    ] = [
        (path, spec.securityContext),
        *(
            (at, container.securityContext)
            for at, container in containers_with_paths(spec)
        ),
    ]
    for at, context in contexts:
        if context is not None and context.windowsOptions is not None:
            yield forbidden(f"{at}.securityContext.windowsOptions", _NO_WINDOWS)


def _windows(spec: core_v1.PodSpec, path: str) -> Iterator[FieldError]:
    context = spec.securityContext or core_v1.PodSecurityContext()
    for name in _LINUX_POD:
        is_own = hasattr(context, name)
        value = getattr(context if is_own else spec, name)
        is_flag = name in {"hostPID", "hostIPC"}
        is_empty = value is None or (name == "sysctls" and not value)
        if value if is_flag else not is_empty:
            where = f"{path}.securityContext" if is_own else path
            yield forbidden(f"{where}.{name}", _NOT_ON_WINDOWS)
    for at, container in containers_with_paths(spec):
        own = container.securityContext or core_v1.SecurityContext()
        for name in _LINUX_CONTAINER:
            if getattr(own, name) is not None:
                yield forbidden(f"{at}.securityContext.{name}", _NOT_ON_WINDOWS)


def _sysctls(
    sysctls: Iterable[core_v1.Sysctl], spec: core_v1.PodSpec, path: str
) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        at, name = f"{path}[{index}].name", sysctl.name
        if not name:
            yield required(at)
        elif names.byte_length(name) > names.MAX_SUBDOMAIN or not re.fullmatch(
            _SYSCTL, name
        ):
            detail = f"must have at most {names.MAX_SUBDOMAIN} characters and match"
            yield invalid(at, name, f"{detail} regex ^{_SYSCTL}$")
        elif name in seen:
            yield duplicate(at, name)
        plain = _plain_sysctl(name)
        if spec.hostNetwork and plain.startswith(_NET_SYSCTLS):
            yield invalid(at, name, "may not be specified when 'hostNetwork' is true")
        elif spec.hostIPC and (plain == _IPC_SYSCTL or plain.startswith(_IPC_SYSCTLS)):
            yield invalid(at, name, "may not be specified when 'hostIPC' is true")
        seen.add(name)


def _plain_sysctl(name: str) -> str:
    """Return a sysctl name with dots if its first separator is a slash.

    Source: k8s.io/component-helpers v0.32.10, node/util/sysctl/sysctl.go,
    NormalizeName.
    """
    separator = next((character for character in name if character in "./"), ".")
    return name if separator == "." else name.translate(_SWAPPED)


_SWAPPED = str.maketrans("./", "/.")


def _id(value: int | None, path: str) -> Iterator[FieldError]:
    if value is not None and not 0 <= value <= names.MAX_INT32:
        detail = f"must be between 0 and {names.MAX_INT32}, inclusive"
        yield invalid(path, value, detail)


def _one_of(value: str, choices: tuple[str, ...], path: str) -> Iterator[FieldError]:
    if value not in choices:
        yield not_supported(path, value, choices)
