"""The API server's defaults; the model is changed in place.

Source: pkg/apis/core/v1/defaults.go and zz_generated.defaults.go, v1.32.10,
SetObjectDefaults_Pod.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_UP

from lightkube.models import core_v1, meta_v1

from probetui.k8s.api.pod_resources import aggregate, is_for_pods, is_huge_page
from probetui.k8s.api.quantity import is_whole, parse_quantity

DEFAULT_GRACE_PERIOD_SECONDS = 30
_FILE_MODE = 0o644
_TOKEN_LIFETIME_SECONDS = 3600
_VOLUME_NAME_FIELD = "name"
_PLUGIN_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "azureDisk": {
        "cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4",
        "readOnly": False,
    },
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}  # fmt: skip
_POINTERS = frozenset({"azureDisk"})
"""Plugins whose fields are pointers in Go: an empty text is not an absent one."""

_PATH_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST_PART = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = re.compile(
    rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
)
_REPOSITORY = re.compile(
    rf"(?P<path>{_PATH_PART}(?:/{_PATH_PART})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
_IDENTIFIER = re.compile("[a-f0-9]{64}")
"""An image ID is not the name of a repository."""
_MAX_PATH = 255


def set_defaults(pod: core_v1.Pod) -> None:
    """Set the defaults of a pod."""
    if pod.metadata is None:
        pod.metadata = meta_v1.ObjectMeta()
    if pod.spec is None:
        pod.spec = core_v1.PodSpec(containers=[])
    spec = pod.spec
    spec.restartPolicy = spec.restartPolicy or "Always"
    spec.dnsPolicy = spec.dnsPolicy or "ClusterFirst"
    spec.schedulerName = spec.schedulerName or "default-scheduler"
    if spec.terminationGracePeriodSeconds is None:
        spec.terminationGracePeriodSeconds = DEFAULT_GRACE_PERIOD_SECONDS
    if spec.enableServiceLinks is None:
        spec.enableServiceLinks = True
    if spec.securityContext is None:
        spec.securityContext = core_v1.PodSecurityContext()
    # The old field is an alias of the new one, which takes precedence.
    spec.serviceAccountName = spec.serviceAccountName or spec.serviceAccount
    spec.overhead = _rounded(spec.overhead)
    for volume in spec.volumes or ():
        _default_volume(volume)
    for container in (*spec.containers, *(spec.initContainers or ())):
        _default_container(container, host_network=bool(spec.hostNetwork))
    for ephemeral in spec.ephemeralContainers or ():
        _default_container(ephemeral, host_network=False)
    _default_pod_resources(spec)


def pull_policy(image: str) -> str:
    """Return the default imagePullPolicy of an image.

    Source: pkg/util/parsers/parsers.go, v1.32.10, ParseImageName; defaults.go,
    SetDefaults_Container.
    """
    return "Always" if _tag(image) == "latest" else "IfNotPresent"


def _tag(image: str) -> str:
    """Return an image's tag, `latest` by default.

    Empty for an image with a digest only, and for an invalid name.

    Source: github.com/distribution/reference v0.6.0, normalize.go,
    ParseNormalizedNamed.
    """
    host, slash, rest = image.partition("/")
    is_host = {".", ":"} & set(host) or host == "localhost" or host != host.lower()
    if slash and is_host:
        if not _HOST.fullmatch(host):
            return ""
    else:
        rest = image
    match = _REPOSITORY.fullmatch(rest)
    if match is None or _IDENTIFIER.fullmatch(image):
        return ""
    path = (
        match["path"]
        if (is_host and slash) or "/" in rest
        else f"library/{match['path']}"
    )
    if len(path) > _MAX_PATH:
        return ""
    return match["tag"] or ("" if match["digest"] else "latest")


def _default_container(
    container: core_v1.Container | core_v1.EphemeralContainer, *, host_network: bool
) -> None:
    if not container.imagePullPolicy:
        container.imagePullPolicy = pull_policy(container.image or "")
    container.terminationMessagePath = (
        container.terminationMessagePath or "/dev/termination-log"
    )
    container.terminationMessagePolicy = container.terminationMessagePolicy or "File"
    for port in container.ports or ():
        port.protocol = port.protocol or "TCP"
        if host_network and not port.hostPort:
            port.hostPort = port.containerPort
    for variable in container.env or ():
        _default_env_source(variable.valueFrom)
    for probe in (
        container.livenessProbe,
        container.readinessProbe,
        container.startupProbe,
    ):
        if probe is not None:
            _default_probe(probe)
    if container.lifecycle is not None:
        for hook in (container.lifecycle.postStart, container.lifecycle.preStop):
            _default_http_get(hook.httpGet if hook is not None else None)
    if container.resources is not None:
        _default_requests(container.resources)


def _default_probe(probe: core_v1.Probe) -> None:
    """Set a probe's defaults; 0 counts as absent.

    Source: defaults.go, v1.32.10, SetDefaults_Probe.
    """
    probe.timeoutSeconds = probe.timeoutSeconds or 1
    probe.periodSeconds = probe.periodSeconds or 10
    probe.successThreshold = probe.successThreshold or 1
    probe.failureThreshold = probe.failureThreshold or 3
    _default_http_get(probe.httpGet)
    if probe.grpc is not None and probe.grpc.service is None:
        probe.grpc.service = ""


def _default_http_get(action: core_v1.HTTPGetAction | None) -> None:
    if action is not None:
        action.path = action.path or "/"
        action.scheme = action.scheme or "HTTP"


def _default_env_source(source: core_v1.EnvVarSource | None) -> None:
    if source is None:
        return
    if source.fieldRef is not None:
        source.fieldRef.apiVersion = source.fieldRef.apiVersion or "v1"
    if source.resourceFieldRef is not None:
        source.resourceFieldRef.divisor = source.resourceFieldRef.divisor or "0"


def _rounded(amounts: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return amounts rounded up to thousandths, as the API server keeps them."""
    if amounts is None:
        return None
    return {name: _round_up(value) for name, value in amounts.items()}


def _round_up(value: str) -> str:
    thousandths = parse_quantity(value) * 1000
    if is_whole(thousandths):
        return value
    return f"{thousandths.to_integral_value(ROUND_UP)}m"


def _default_requests(resources: core_v1.ResourceRequirements) -> None:
    resources.limits = _rounded(resources.limits)
    resources.requests = _rounded(resources.requests)
    limits: Mapping[str, str] = resources.limits or {}
    if limits:
        resources.requests = {**limits, **(resources.requests or {})}


def _default_pod_resources(spec: core_v1.PodSpec) -> None:
    """Set the pod-level resources that the manifest gives only in part.

    Source: defaults.go, v1.36.2, defaultHugePagePodLimits, defaultPodRequests.
    """
    resources = spec.resources
    if resources is None:
        return
    limits = _rounded(resources.limits) or {}
    requests = _rounded(resources.requests) or {}
    if limits or requests:
        for name, amount in aggregate(spec, "limits").items():
            if is_huge_page(name) and name not in requests:
                limits.setdefault(name, amount)
    if limits:
        needed = {
            name: amount
            for name, amount in aggregate(spec, "requests").items()
            if is_for_pods(name) and not is_huge_page(name)
        }
        most = {name: amount for name, amount in limits.items() if is_for_pods(name)}
        requests = {**most, **needed, **requests}
    resources.limits, resources.requests = limits or None, requests or None


def _default_volume(volume: core_v1.Volume) -> None:
    """Set a volume's defaults; one without a source is an emptyDir."""
    if not volume_sources(volume):
        volume.emptyDir = core_v1.EmptyDirVolumeSource()
    if volume.hostPath is not None and volume.hostPath.type is None:
        volume.hostPath.type = ""
    for source in (
        volume.secret,
        volume.configMap,
        volume.downwardAPI,
        volume.projected,
    ):
        if source is not None and source.defaultMode is None:
            source.defaultMode = _FILE_MODE
    _default_plugin(volume)
    if volume.downwardAPI is not None:
        _default_downward_items(volume.downwardAPI.items)
    if volume.projected is not None:
        for projection in volume.projected.sources or ():
            _default_projection(projection)


def _default_plugin(volume: core_v1.Volume) -> None:
    for name, values in _PLUGIN_DEFAULTS.items():
        source = getattr(volume, name)
        for field, value in values.items() if source is not None else ():
            absent = {None} if name in _POINTERS else {None, ""}
            if getattr(source, field) in absent:
                setattr(source, field, value)
    if volume.image is not None and not volume.image.pullPolicy:
        volume.image.pullPolicy = pull_policy(volume.image.reference or "")
    template = volume.ephemeral and volume.ephemeral.volumeClaimTemplate
    if template and template.spec.volumeMode is None:
        template.spec.volumeMode = "Filesystem"
    if template and template.spec.resources is not None:
        amounts = template.spec.resources
        amounts.limits = _rounded(amounts.limits)
        amounts.requests = _rounded(amounts.requests)


def _default_projection(projection: core_v1.VolumeProjection) -> None:
    if projection.downwardAPI is not None:
        _default_downward_items(projection.downwardAPI.items)
    token = projection.serviceAccountToken
    if token is not None and token.expirationSeconds is None:
        token.expirationSeconds = _TOKEN_LIFETIME_SECONDS


def _default_downward_items(
    items: Iterable[core_v1.DownwardAPIVolumeFile] | None,
) -> None:
    for item in items or ():
        if item.fieldRef is not None:
            item.fieldRef.apiVersion = item.fieldRef.apiVersion or "v1"
        if item.resourceFieldRef is not None:
            item.resourceFieldRef.divisor = item.resourceFieldRef.divisor or "0"


def volume_sources(volume: core_v1.Volume) -> tuple[str, ...]:
    """Return the names of a volume's sources, in the model's order."""
    return tuple(
        name
        for name in core_v1.Volume.__struct_fields__
        if name != _VOLUME_NAME_FIELD and getattr(volume, name) is not None
    )
