"""The API server's rules for new pods.

Source: pkg/apis/core/validation/validation.go, v1.32.10, ValidatePodCreate,
ValidatePodSpec; v1.36.2, validatePodHostName.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lightkube.models import core_v1

from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.validation import names
from probetui.manifest.validation.container import (
    CONTAINERS,
    EPHEMERAL_CONTAINERS,
    IMAGE_NAMES,
    INIT_CONTAINERS,
)
from probetui.manifest.validation.environment import env_files
from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    duplicate,
    forbidden,
    go_json,
    go_strings,
    in_words_of,
    invalid,
    required,
    too_long,
)
from probetui.manifest.validation.metadata import POD_METADATA, valid_labels
from probetui.manifest.validation.resources import overhead, pod_resources
from probetui.manifest.validation.rules import (
    Always,
    Each,
    Errors,
    IfFilled,
    IfSet,
    PodContext,
    Remembering,
    Required,
    Rules,
    Section,
    When,
    absent,
    between,
    check,
    choice,
    in_context,
    valid,
)
from probetui.manifest.validation.scheduling import (
    AFFINITY,
    SCHEDULING_GATES,
    SPREAD_CONSTRAINTS,
    TOLERATION,
)
from probetui.manifest.validation.seccomp import profile_matches
from probetui.manifest.validation.security import (
    POD_SECURITY_CONTEXT,
    host_users,
    operating_system,
)
from probetui.manifest.validation.volume import VOLUMES
from probetui.manifest.validation.windows import host_processes

_PREEMPTIONS = ("PreemptLowerPriority", "Never")
_MAX_HOSTNAME = 64
_MAX_SERVERS = 3
_MAX_SEARCHES = 32
_MAX_SEARCH_BYTES = 2048
_LABEL = valid(names.check_label)
_SUBDOMAIN = valid(names.check_subdomain)


def validate_pod(
    pod: core_v1.Pod,
    *,
    strict_env_names: bool = False,
    rules: KubeletRules = PORTED_RULES,
    is_admitted: bool = False,
) -> Iterator[FieldError]:
    """Return every rule that a defaulted pod breaks, in the API server's order.

    Args:
        pod: it has its defaults.
        strict_env_names: apply the kubelet's rule for pod files.
        rules: those of the version.
        is_admitted: the pod goes through an API server, whose admission has given it a
            service account; a static pod has none.
    """
    context = PodContext(
        rules,
        pod.spec or core_v1.PodSpec(containers=[]),
        (pod.metadata.name or "") if pod.metadata is not None else "",
        strict_env_names,
        is_admitted,
    )
    return in_words_of(rules, check(POD, pod, context))


def _resource_claims(
    _owner: core_v1.PodSpec, _context: PodContext
) -> Callable[[core_v1.PodResourceClaim], Errors]:
    """Check the devices that a pod claims."""
    seen: set[str] = set()
    sources = ("resourceClaimName", "resourceClaimTemplateName")

    def find(claim: core_v1.PodResourceClaim) -> Iterator[FieldError]:
        if not claim.name:
            yield required("name")
        elif claim.name in seen:
            yield duplicate("name", claim.name)
        else:
            yield from names.invalid_names(
                "name", claim.name, names.check_label(claim.name)
            )
            seen.add(claim.name)
        written = [name for name in sources if getattr(claim, name) is not None]
        if len(written) != 1:
            start = "at most one of" if written else "must specify one of:"
            end = " may be specified" if written else ""
            listed = (" or " if written else ", ").join(f"`{name}`" for name in sources)
            whole = {
                "Name": claim.name,
                "ResourceClaimName": claim.resourceClaimName,
                "ResourceClaimTemplateName": claim.resourceClaimTemplateName,
            }
            value = GoSyntax("core.PodResourceClaim{...}", go_json(whole))
            yield invalid("", value, f"{start} {listed}{end}")

    return find


def _host_network_ports(spec: core_v1.PodSpec) -> Iterator[FieldError]:
    if not spec.hostNetwork:
        return
    for index, container in enumerate(spec.containers):
        for number, port in enumerate(container.ports or ()):
            if port.hostPort != port.containerPort:
                yield invalid(
                    f"containers[{index}].ports[{number}].hostPort",
                    port.hostPort or 0,
                    "must match `containerPort` when `hostNetwork` is true",
                )


@in_context
def _address(text: str, context: PodContext) -> Errors:
    # Late: few pods have any.
    from probetui.manifest.validation.addresses import (  # noqa: PLC0415
        validate_address,
    )

    return validate_address(text, context.version)


def _most_servers(servers: list[str]) -> Iterator[FieldError]:
    if len(servers) > _MAX_SERVERS:
        detail = f"must not have more than {_MAX_SERVERS} nameservers"
        yield invalid("", go_strings(servers), detail)


def _most_searches(searches: list[str]) -> Iterator[FieldError]:
    if len(searches) > _MAX_SEARCHES:
        detail = f"must not have more than {_MAX_SEARCHES} search paths"
        yield invalid("", go_strings(searches), detail)
    if names.byte_length(" ".join(searches)) > _MAX_SEARCH_BYTES:
        detail = f"must not have more than {_MAX_SEARCH_BYTES} characters (including"
        value = go_strings(searches)
        yield invalid("", value, f"{detail} spaces) in the search list")


@in_context
def _search(written: str, context: PodContext) -> Errors:
    search = written.removesuffix(".")
    if not context.version.relaxed_dns_searches:
        return names.invalid_names("", search, names.check_subdomain(search))
    if written == ".":
        return ()
    return names.invalid_names("", search, names.check_search(search))


_DNS_CONFIG = Rules(
    core_v1.PodDNSConfig,
    IfFilled("nameservers", _most_servers),
    Each("nameservers", _address),
    IfFilled("searches", _most_searches),
    Each("searches", _search),
    Each("options", Required("name", at="", detail="must not be empty")),
)


@in_context
def _dns(spec: core_v1.PodSpec, context: PodContext) -> Iterator[FieldError]:
    """Check the configuration of DNS, which one of the policies requires."""
    config, is_alone = spec.dnsConfig, spec.dnsPolicy == "None"
    if config is None:
        if is_alone:
            detail = "must provide `dnsConfig` when `dnsPolicy` is None"
            yield required("dnsConfig", detail)
    elif is_alone and not config.nameservers:
        detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield required("dnsConfig.nameservers", detail)
    else:
        yield from check(_DNS_CONFIG, config, context, "dnsConfig")


def _hostname_override(spec: core_v1.PodSpec) -> Iterator[FieldError]:
    name, at = spec.hostnameOverride, "hostnameOverride"
    if name is None:
        return
    for other, is_set in (
        ("setHostnameAsFQDN", spec.setHostnameAsFQDN),
        ("hostNetwork", spec.hostNetwork),
    ):
        if is_set:
            yield forbidden(at, f"may not be specified when {other} is true")
    if names.byte_length(name) > _MAX_HOSTNAME:
        yield too_long(at, _MAX_HOSTNAME)
    yield from names.invalid_names(at, name, names.check_subdomain(name))


def _preemption(policy: str) -> Errors:
    return choice(*_PREEMPTIONS)(policy) if policy else (required(""),)


_SPEC = Rules(
    core_v1.PodSpec,
    VOLUMES,
    Each(
        "resourceClaims",
        Remembering(_resource_claims),
        IfSet("resourceClaimName", _SUBDOMAIN),
        IfSet("resourceClaimTemplateName", _SUBDOMAIN),
    ),
    CONTAINERS,
    INIT_CONTAINERS,
    EPHEMERAL_CONTAINERS,
    When(lambda context: context.version.pod_level_resources, pod_resources),
    _host_network_ports,
    Always("restartPolicy", choice("Always", "OnFailure", "Never")),
    Always(
        "dnsPolicy",
        choice("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
    ),
    IfFilled("nodeSelector", valid_labels),
    Section("securityContext", POD_SECURITY_CONTEXT),
    IfSet("affinity", AFFINITY),
    _dns,
    Each("readinessGates", Always("conditionType", valid(names.check_qualified_name))),
    SCHEDULING_GATES,
    SPREAD_CONSTRAINTS,
    host_processes,
    host_users,
    _hostname_override,
    IfFilled("serviceAccountName", _SUBDOMAIN),
    IfFilled("nodeName", _SUBDOMAIN),
    IfSet("activeDeadlineSeconds", between(1, names.MAX_INT32)),
    IfFilled("hostname", _LABEL),
    IfFilled("subdomain", _LABEL),
    Each("tolerations", TOLERATION),
    Each("hostAliases", Always("ip", _address), Each("hostnames", _SUBDOMAIN)),
    IfFilled("priorityClassName", _SUBDOMAIN),
    IfSet("runtimeClassName", _SUBDOMAIN),
    IfSet("preemptionPolicy", _preemption),
    overhead,
    operating_system,
    env_files,
)


def _gated_node(spec: core_v1.PodSpec) -> Iterator[FieldError]:
    if spec.nodeName and spec.schedulingGates:
        detail = "cannot be set until all schedulingGates have been cleared"
        yield forbidden("nodeName", detail)


_TOKENS = Each(
    "volumes",
    IfSet(
        "projected",
        Rules(
            core_v1.ProjectedVolumeSource,
            Each(
                "sources",
                IfSet(
                    "serviceAccountToken",
                    absent("must not be specified when serviceAccountName is not set"),
                ),
            ),
        ),
    ),
)
_NEW_SPEC = Rules(
    core_v1.PodSpec,
    _SPEC,
    When(
        lambda context: not (context.spec.serviceAccountName or context.is_admitted),
        _TOKENS,
    ),
    IMAGE_NAMES,
    IfFilled("ephemeralContainers", absent("cannot be set on create")),
    _gated_node,
)
POD = Rules(
    core_v1.Pod,
    Section("metadata", POD_METADATA),
    Section("spec", _NEW_SPEC),
    profile_matches,
)
"""The rules of a new pod."""
