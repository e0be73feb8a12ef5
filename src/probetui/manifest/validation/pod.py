"""The API server's rules for new pods.

Source: pkg/apis/core/validation/validation.go, v1.32.10, ValidatePodCreate,
ValidatePodSpec.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lightkube.models import core_v1, meta_v1

from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.validation import names
from probetui.manifest.validation.container import (
    RESTART_POLICIES,
    PodContext,
    validate_containers,
    validate_ephemeral_containers,
    validate_image_names,
    validate_init_containers,
)
from probetui.manifest.validation.environment import validate_env_files
from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    duplicate,
    forbidden,
    go_json,
    go_strings,
    in_words_of,
    invalid,
    not_supported,
    required,
    too_long,
)
from probetui.manifest.validation.metadata import (
    validate_labels,
    validate_metadata,
    validate_pod_annotations,
)
from probetui.manifest.validation.resources import (
    validate_overhead,
    validate_pod_resources,
)
from probetui.manifest.validation.scheduling import (
    validate_affinity,
    validate_scheduling_gates,
    validate_spread,
    validate_tolerations,
)
from probetui.manifest.validation.seccomp import validate_profile_matches
from probetui.manifest.validation.security import (
    validate_host_users,
    validate_os,
    validate_pod_security,
)
from probetui.manifest.validation.volume import validate_volumes
from probetui.manifest.validation.windows import validate_host_processes

_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTIONS = ("PreemptLowerPriority", "Never")
_MAX_HOSTNAME = 64
_MAX_SERVERS = 3
_MAX_SEARCHES = 32
_MAX_SEARCH_BYTES = 2048


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
    errors = _pod(
        pod, rules, strict_env_names=strict_env_names, is_admitted=is_admitted
    )
    return in_words_of(rules, errors)


def _pod(
    pod: core_v1.Pod,
    rules: KubeletRules,
    *,
    strict_env_names: bool,
    is_admitted: bool,
) -> Iterator[FieldError]:
    metadata = pod.metadata or meta_v1.ObjectMeta()
    spec = pod.spec or core_v1.PodSpec(containers=[])
    annotations = metadata.annotations or {}
    yield from validate_metadata(metadata, "metadata")
    yield from validate_pod_annotations(
        annotations, spec, "metadata.annotations", rules
    )
    yield from _spec(spec, metadata, rules, strict_env_names=strict_env_names)
    if not spec.serviceAccountName and not is_admitted:
        yield from _tokens(spec.volumes or ())
    yield from validate_image_names(spec.containers, "spec.containers")
    yield from validate_image_names(spec.initContainers or (), "spec.initContainers")
    if spec.ephemeralContainers:
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.nodeName and spec.schedulingGates:
        detail = "cannot be set until all schedulingGates have been cleared"
        yield forbidden("spec.nodeName", detail)
    yield from validate_profile_matches(annotations, spec)


def _spec(
    spec: core_v1.PodSpec,
    metadata: meta_v1.ObjectMeta,
    rules: KubeletRules,
    *,
    strict_env_names: bool,
) -> Iterator[FieldError]:
    volumes: dict[str, core_v1.Volume] = {}
    name = metadata.name or ""
    yield from validate_volumes(
        spec.volumes or (), "spec.volumes", volumes, name, rules
    )
    yield from _claims(spec.resourceClaims or (), "spec.resourceClaims")
    pod_context = PodContext(
        spec.terminationGracePeriodSeconds,
        volumes,
        strict_env_names,
        rules,
        frozenset(claim.name for claim in spec.resourceClaims or () if claim.name),
        spec.restartPolicy or "",
        spec.hostUsers is not False,
        (spec.os.name or "") if spec.os is not None else "",
    )
    yield from validate_containers(spec.containers, "spec.containers", pod_context)
    yield from validate_init_containers(
        spec.initContainers or [], spec.containers, "spec.initContainers", pod_context
    )
    yield from validate_ephemeral_containers(
        spec, "spec.ephemeralContainers", pod_context
    )
    if rules.pod_level_resources:
        yield from validate_pod_resources(spec, "spec.resources")
    if spec.hostNetwork:
        yield from _host_network_ports(spec.containers)
    if spec.restartPolicy not in RESTART_POLICIES:
        yield not_supported("spec.restartPolicy", spec.restartPolicy, RESTART_POLICIES)
    if spec.dnsPolicy not in _DNS_POLICIES:
        yield not_supported("spec.dnsPolicy", spec.dnsPolicy, _DNS_POLICIES)
    yield from validate_labels(spec.nodeSelector or {}, "spec.nodeSelector")
    yield from validate_pod_security(spec, "spec.securityContext", rules)
    yield from validate_affinity(spec.affinity, "spec.affinity", rules)
    yield from _dns(spec, "spec.dnsConfig", rules)
    for index, gate in enumerate(spec.readinessGates or ()):
        errors = names.check_qualified_name(gate.conditionType)
        field = f"spec.readinessGates[{index}].conditionType"
        yield from names.invalid_names(field, gate.conditionType, errors)
    yield from validate_scheduling_gates(
        spec.schedulingGates or (), "spec.schedulingGates"
    )
    yield from validate_spread(
        spec.topologySpreadConstraints or [],
        "spec.topologySpreadConstraints",
        rules,
    )
    yield from validate_host_processes(spec, "spec")
    yield from validate_host_users(spec, "spec")
    yield from _hostname_override(spec, "spec.hostnameOverride")
    yield from _names_and_deadline(spec)
    yield from validate_tolerations(spec.tolerations or (), "spec.tolerations", rules)
    yield from _host_aliases(spec.hostAliases or (), "spec.hostAliases", rules)
    yield from _classes(spec)
    yield from validate_overhead(spec.overhead, "spec.overhead")
    yield from validate_os(spec, "spec", rules)
    yield from validate_env_files(spec)


def _tokens(volumes: Iterable[core_v1.Volume]) -> Iterator[FieldError]:
    for index, volume in enumerate(volumes):
        projected = volume.projected or core_v1.ProjectedVolumeSource()
        for number, source in enumerate(projected.sources or ()):
            if source.serviceAccountToken is not None:
                at = f"spec.volumes[{index}].projected.sources[{number}]"
                detail = "must not be specified when serviceAccountName is not set"
                yield forbidden(f"{at}.serviceAccountToken", detail)


def _claims(
    claims: Iterable[core_v1.PodResourceClaim], path: str
) -> Iterator[FieldError]:
    """Check the devices that a pod claims."""
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at = f"{path}[{index}]"
        if not claim.name:
            yield required(f"{at}.name")
        elif claim.name in seen:
            yield duplicate(f"{at}.name", claim.name)
        else:
            errors = names.check_label(claim.name)
            yield from names.invalid_names(f"{at}.name", claim.name, errors)
            seen.add(claim.name)
        sources = ("resourceClaimName", "resourceClaimTemplateName")
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
            yield invalid(at, value, f"{start} {listed}{end}")
        for name in written:
            value_text = getattr(claim, name)
            errors = names.check_subdomain(value_text)
            yield from names.invalid_names(f"{at}.{name}", value_text, errors)


def _dns(spec: core_v1.PodSpec, path: str, rules: KubeletRules) -> Iterator[FieldError]:
    config = spec.dnsConfig
    if spec.dnsPolicy == "None":
        if config is None:
            detail = "must provide `dnsConfig` when `dnsPolicy` is None"
            yield required(path, detail)
            return
        if not config.nameservers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{path}.nameservers", detail)
            return
    if config is None:
        return
    servers = config.nameservers or []
    if len(servers) > _MAX_SERVERS:
        detail = f"must not have more than {_MAX_SERVERS} nameservers"
        yield invalid(f"{path}.nameservers", go_strings(servers), detail)
    for index, server in enumerate(servers):
        yield from _address(server, f"{path}.nameservers[{index}]", rules)
    yield from _searches(config.searches or [], f"{path}.searches", rules)
    for index, option in enumerate(config.options or ()):
        if not option.name:
            yield required(f"{path}.options[{index}]", "must not be empty")


def _searches(
    searches: list[str], path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    if len(searches) > _MAX_SEARCHES:
        detail = f"must not have more than {_MAX_SEARCHES} search paths"
        yield invalid(path, go_strings(searches), detail)
    if names.byte_length(" ".join(searches)) > _MAX_SEARCH_BYTES:
        detail = f"must not have more than {_MAX_SEARCH_BYTES} characters (including"
        value = go_strings(searches)
        yield invalid(path, value, f"{detail} spaces) in the search list")
    for index, written in enumerate(searches):
        search = written.removesuffix(".")
        if rules.relaxed_dns_searches:
            errors = names.check_search(search) if written != "." else iter(())
        else:
            errors = names.check_subdomain(search)
        yield from names.invalid_names(f"{path}[{index}]", search, errors)


def _host_aliases(
    aliases: Iterable[core_v1.HostAlias], path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    for index, alias in enumerate(aliases):
        yield from _address(alias.ip, f"{path}[{index}].ip", rules)
        for number, name in enumerate(alias.hostnames or ()):
            field = f"{path}[{index}].hostnames[{number}]"
            yield from names.invalid_names(field, name, names.check_subdomain(name))


def _address(text: str, path: str, rules: KubeletRules) -> Iterator[FieldError]:
    # Late: few pods have any.
    from probetui.manifest.validation.addresses import (  # noqa: PLC0415
        validate_address,
    )

    yield from validate_address(text, path, rules)


def _hostname_override(spec: core_v1.PodSpec, path: str) -> Iterator[FieldError]:
    """Check the hostname override of a pod.

    Source: validation.go, v1.36.2, validatePodHostName.
    """
    name = spec.hostnameOverride
    if name is None:
        return
    for other, is_set in (
        ("setHostnameAsFQDN", spec.setHostnameAsFQDN),
        ("hostNetwork", spec.hostNetwork),
    ):
        if is_set:
            yield forbidden(path, f"may not be specified when {other} is true")
    if names.byte_length(name) > _MAX_HOSTNAME:
        yield too_long(path, _MAX_HOSTNAME)
    yield from names.invalid_names(path, name, names.check_subdomain(name))


def _classes(spec: core_v1.PodSpec) -> Iterator[FieldError]:
    for field, value in (
        ("spec.priorityClassName", spec.priorityClassName or None),
        ("spec.runtimeClassName", spec.runtimeClassName),
    ):
        if value is not None:
            yield from names.invalid_names(field, value, names.check_subdomain(value))
    policy = spec.preemptionPolicy
    if policy is not None and policy not in _PREEMPTIONS:
        field = "spec.preemptionPolicy"
        yield not_supported(field, policy, _PREEMPTIONS) if policy else required(field)


def _names_and_deadline(spec: core_v1.PodSpec) -> Iterator[FieldError]:
    """Check referenced names and the deadline, in the API server's order."""
    for field, value in (
        ("spec.serviceAccountName", spec.serviceAccountName),
        ("spec.nodeName", spec.nodeName),
    ):
        if value:
            yield from names.invalid_names(field, value, names.check_subdomain(value))
    deadline = spec.activeDeadlineSeconds
    if deadline is not None and not 1 <= deadline <= names.MAX_INT32:
        detail = f"must be between 1 and {names.MAX_INT32}, inclusive"
        yield invalid("spec.activeDeadlineSeconds", deadline, detail)
    for field, value in (
        ("spec.hostname", spec.hostname),
        ("spec.subdomain", spec.subdomain),
    ):
        if value:
            yield from names.invalid_names(field, value, names.check_label(value))


def _host_network_ports(
    containers: Iterable[core_v1.Container],
) -> Iterator[FieldError]:
    for index, container in enumerate(containers):
        for number, port in enumerate(container.ports or ()):
            if port.hostPort != port.containerPort:
                yield invalid(
                    f"spec.containers[{index}].ports[{number}].hostPort",
                    port.hostPort or 0,
                    "must match `containerPort` when `hostNetwork` is true",
                )
