"""The API server's rules for windowsOptions.

Pods never run on Windows here, but a manifest with a wrong value is refused.

Source: pkg/apis/core/validation/validation.go, v1.32.10,
validateWindowsSecurityContextOptions, validateWindowsHostProcessPod.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lightkube.models import core_v1

from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import FieldError, invalid
from probetui.manifest.validation.rules import IfSet, Rules, valid
from probetui.manifest.validation.warnings import containers_with_paths

_MAX_SPEC_KIB = 64
_MAX_DOMAIN = 256
_MAX_USER = 104
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NET_BIOS = re.compile(r"""[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}""")
_DNS_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS_NAME = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_NOT_IN_USERS = re.compile(r"""["/\\:;|=,+*?<>@\[\]]""")
_DOTS_AND_SPACES = re.compile(r"[. ]+")


def _spec_size(spec: str) -> Iterator[FieldError]:
    if not spec:
        yield invalid("", spec, "gmsaCredentialSpec cannot be an empty string")
    elif names.byte_length(spec) > _MAX_SPEC_KIB * 1024:
        detail = f"gmsaCredentialSpec size must be under {_MAX_SPEC_KIB} KiB"
        yield invalid("", spec, detail)


def host_processes(spec: core_v1.PodSpec) -> Iterator[FieldError]:
    """Check that all containers are host processes, or none."""
    of_pod = _is_host_process(spec.securityContext)
    inherits = of_pod is True
    kinds = []
    for at, container in containers_with_paths(spec, ""):
        own = _is_host_process(container.securityContext)
        if None not in {of_pod, own} and of_pod is not own:
            detail = (
                "pod hostProcess value must be identical if both are specified, was"
            )
            field = f"{at}.securityContext.windowsOptions.hostProcess"
            yield invalid(field, own, f"{detail} {str(of_pod).lower()}")
        kinds.append(inherits if own is None else own)
    if not any(kinds):
        return
    if not all(kinds):
        detail = (
            "If pod contains any hostProcess containers then all containers must be "
            "HostProcess containers"
        )
        yield invalid("", "", detail)
    if not spec.hostNetwork:
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        yield invalid("hostNetwork", value=False, detail=detail)


def _is_host_process(
    context: core_v1.PodSecurityContext | core_v1.SecurityContext | None,
) -> bool | None:
    options = context.windowsOptions if context is not None else None
    return options.hostProcess if options is not None else None


def _check_user_name(name: str) -> Iterator[str]:
    """Yield the errors in a user name with an optional domain."""
    *domains, user = name.split("\\")
    if not name:
        yield "runAsUserName cannot be an empty string"
    elif _CONTROL.search(name):
        yield "runAsUserName cannot contain control characters"
    elif len(domains) > 1:
        yield "runAsUserName cannot contain more than one backslash"
    else:
        for domain in domains:
            yield from _check_domain(domain)
        yield from _check_user(user)


def _check_domain(domain: str) -> Iterator[str]:
    if names.byte_length(domain) >= _MAX_DOMAIN:
        yield f"runAsUserName's Domain length must be under {_MAX_DOMAIN} characters"
    if not _NET_BIOS.fullmatch(domain) and not _DNS_NAME.fullmatch(domain):
        yield "runAsUserName's Domain doesn't match the NetBios nor the DNS format"


def _check_user(user: str) -> Iterator[str]:
    if not user:
        yield "runAsUserName's User cannot be empty"
    elif names.byte_length(user) > _MAX_USER:
        most = f"must not be longer than {_MAX_USER} characters"
        yield f"runAsUserName's User length {most}"
    if _DOTS_AND_SPACES.fullmatch(user):
        yield "runAsUserName's User cannot contain only periods or spaces"
    if _NOT_IN_USERS.search(user):
        yield (
            "runAsUserName's User cannot contain the following characters:"
            ' "/\\:;|=,+*?<>@[]'
        )


WINDOWS_OPTIONS = Rules(
    core_v1.WindowsSecurityContextOptions,
    IfSet("gmsaCredentialSpecName", valid(names.check_subdomain)),
    IfSet("gmsaCredentialSpec", _spec_size),
    IfSet("runAsUserName", valid(_check_user_name)),
)
