"""`v1.Pod` in the API's JSON, without its status and as far as probetui supports it.

Source: k8s.io/api core/v1/types.go, v0.32.10, Pod, VolumeSource, EnvVarSource.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from probetui.k8s.api.codec import (
    SECONDS,
    ApiCodec,
    ApiType,
    Field,
    Json,
    enum_codec,
    list_of,
    union_codec,
    wrapped,
)
from probetui.k8s.api.probe import LIFECYCLE_HANDLER, PROBE
from probetui.k8s.environment import (
    ConfigMapEnvSource,
    ConfigMapKeyRef,
    EnvFrom,
    FieldRef,
    ResourceFieldRef,
    SecretEnvSource,
    SecretKeyRef,
)
from probetui.k8s.pod import (
    Container,
    ContainerPort,
    DNSConfig,
    DNSOption,
    EnvVar,
    HostAlias,
    Pod,
    PodSecurityContext,
    PullPolicy,
    Resources,
    RestartPolicy,
    RestartRule,
    SecurityContext,
    VolumeMount,
)
from probetui.k8s.volume import (
    FILE_MODE,
    ClusterFiles,
    ConfigMapFiles,
    DownwardAPIFile,
    DownwardAPIFiles,
    EmptyDir,
    HostPath,
    KeyToPath,
    OtherVolume,
    PodCertificateFiles,
    Projected,
    SecretFiles,
    ServiceAccountTokenFile,
    TrustBundleFile,
    Volume,
    VolumeSource,
)

_FIELD_REF = ApiType(FieldRef, "fieldPath", apiVersion="v1")
_RESOURCE_REF = ApiType(ResourceFieldRef, "containerName?", "resource", "divisor")
ENV_VAR = ApiType(
    EnvVar,
    "name",
    "value?",
    Field("valueFrom", ApiCodec(lambda _: None, lambda _: True), "has_value_from"),
    Field(
        "valueFrom?",
        union_codec(
            fieldRef=_FIELD_REF,
            resourceFieldRef=_RESOURCE_REF,
            configMapKeyRef=ApiType(ConfigMapKeyRef, "name", "key", "optional?"),
            secretKeyRef=ApiType(SecretKeyRef, "name", "key", "optional?"),
        ),
    ),
)
ENV_FROM = ApiType(
    EnvFrom,
    "prefix?",
    Field(
        "",
        union_codec(
            secretRef=ApiType(SecretEnvSource, "name", "optional?"),
            configMapRef=ApiType(ConfigMapEnvSource, "name", "optional?"),
        ),
        "source",
    ),
)

_ITEMS = Field("items?", list_of(ApiType(KeyToPath, "key", "path", "mode").codec))
_CONFIG_MAP = ApiType(ConfigMapFiles, "name", _ITEMS, "optional?")
_SECRET = ApiType(SecretFiles, "name", _ITEMS, "optional?")
_SECRET_VOLUME = ApiType(
    SecretFiles, Field("secretName", attribute="name"), _ITEMS, "optional?"
)
_DOWNWARD_FILE = ApiType(
    DownwardAPIFile,
    "path",
    Field("", union_codec(fieldRef=_FIELD_REF, resourceFieldRef=_RESOURCE_REF), "ref"),
    "mode",
)
_DOWNWARD = ApiType(DownwardAPIFiles, Field("items", list_of(_DOWNWARD_FILE.codec)))
_PROJECTIONS: dict[str, ApiType[Any]] = {
    "configMap": _CONFIG_MAP,
    "secret": _SECRET,
    "downwardAPI": _DOWNWARD,
}
_TOKEN = ApiType(ServiceAccountTokenFile, "path", "audience?", "expirationSeconds")
_TRUST_BUNDLE = ApiType(TrustBundleFile, "path", "name?", "signerName?", "optional?")
_POD_CERTIFICATE = ApiType(
    PodCertificateFiles,
    "signerName",
    "keyType",
    "credentialBundlePath?",
    "keyPath?",
    "certificateChainPath?",
)
_PROJECTED: dict[str, ApiType[Any]] = {
    **_PROJECTIONS,
    "serviceAccountToken": _TOKEN,
    "clusterTrustBundle": _TRUST_BUNDLE,
    "podCertificate": _POD_CERTIFICATE,
}
_PROJECTION = union_codec(**_PROJECTED)
_FILES = union_codec(**{**_PROJECTIONS, "secret": _SECRET_VOLUME})
_FOLDER = union_codec(
    emptyDir=ApiType(EmptyDir, "medium?", "sizeLimit"),
    hostPath=ApiType(HostPath, "path", "type"),
)


def _write_source(source: VolumeSource) -> Json:
    match source:
        case OtherVolume(kind):
            return {kind: {}}
        case Projected((only,), mode) if not isinstance(only, ClusterFiles):
            ((kind, files),) = _FILES.write(only).items()
            return {kind: {**files, "defaultMode": mode}}
        case Projected(sources, mode):
            written = [_PROJECTION.write(files) for files in sources]
            return {"projected": {"sources": written, "defaultMode": mode}}
        case _:
            folder: Json = _FOLDER.write(source)
            return folder


def _read_source(json: Json) -> VolumeSource:
    folder: EmptyDir | HostPath | None = _FOLDER.read(json)
    if folder is not None:
        return folder
    for kind in _PROJECTIONS:
        if (written := json.get(kind)) is not None:
            return Projected((_FILES.read(json),), _mode(written))
    if (written := json.get("projected")) is not None:
        sources = (
            projection.read(source[kind])
            for source in written.get("sources") or ()
            for kind, projection in _PROJECTED.items()
            if source.get(kind) is not None
        )
        return Projected(tuple(sources), _mode(written))
    kinds = [key for key in json if key != "name"]
    return OtherVolume(kinds[0]) if kinds else EmptyDir()


def _mode(written: Json) -> int:
    mode: int | None = written.get("defaultMode")
    return FILE_MODE if mode is None else mode


VOLUME = ApiType(
    Volume, "name", Field("", ApiCodec(_write_source, _read_source), "source")
)
"""A source of one kind is written as that kind if it has volumes of its own; several
are written as `projected`."""


CONTAINER_PORT = ApiType(
    ContainerPort, "name?", "hostPort?", "containerPort", "protocol?", "hostIP?"
)
_SECCOMP_PROFILE = Field("seccompProfile.type", attribute="seccomp_profile")
_SECURITY_CONTEXT = ApiType(
    SecurityContext,
    "allowPrivilegeEscalation",
    Field("capabilities.add?", attribute="add_capabilities"),
    Field("capabilities.drop?", attribute="drop_capabilities"),
    "privileged",
    "readOnlyRootFilesystem",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    _SECCOMP_PROFILE,
)
_POD_SECURITY_CONTEXT = ApiType(
    PodSecurityContext,
    "fsGroup",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    _SECCOMP_PROFILE,
    "supplementalGroups?",
)
_VOLUME_MOUNT = ApiType(
    VolumeMount,
    "name", "mountPath", "readOnly?", "subPath?", "subPathExpr?", "mountPropagation?",
)  # fmt: skip
RESOURCES = ApiType(Resources, "limits?", "requests?")
_RESTART_POLICY = enum_codec(RestartPolicy)
_RESTART_RULE = ApiType(
    RestartRule, "action", "exitCodes.operator?", Field("exitCodes.values?")
)
CONTAINER = ApiType(
    Container,
    "name",
    "image",
    Field("imagePullPolicy", enum_codec(PullPolicy)),
    "command?",
    "args?",
    "workingDir?",
    Field("env?", list_of(ENV_VAR.codec)),
    Field("envFrom?", list_of(ENV_FROM.codec)),
    Field("ports?", list_of(CONTAINER_PORT.codec)),
    Field("restartPolicy", _RESTART_POLICY),
    Field("restartPolicyRules?", list_of(_RESTART_RULE.codec), "restart_rules"),
    Field("lifecycle.postStart?", LIFECYCLE_HANDLER),
    Field("lifecycle.preStop?", LIFECYCLE_HANDLER),
    Field("lifecycle.stopSignal?", attribute="stop_signal"),
    "stdin?",
    "stdinOnce?",
    "tty?",
    Field("volumeMounts?", list_of(_VOLUME_MOUNT.codec)),
    Field("securityContext?", _SECURITY_CONTEXT.codec),
    Field("startupProbe", PROBE.codec),
    Field("livenessProbe", PROBE.codec),
    Field("readinessProbe", PROBE.codec),
    Field("resources", RESOURCES.codec),
    "terminationMessagePath",
    "terminationMessagePolicy",
)
_CONTAINERS = list_of(CONTAINER.codec)
_HOST_ALIAS = ApiType(HostAlias, "ip", "hostnames")
_DNS_CONFIG = ApiType(
    DNSConfig,
    "nameservers?",
    "searches?",
    Field("options?", list_of(ApiType(DNSOption, "name", "value").codec)),
)


class _PodType(ApiType[Pod]):
    """A pod, whose deletionTimestamp is when its grace period will be over.

    Source: k8s.io/apiserver pkg/registry/rest/delete.go, v0.36.2, BeforeDelete.
    """

    def write(self, value: Pod) -> Json:
        return super().write(_with_deletion_moved(value, later=True))

    def read(self, json: Any) -> Pod:
        return _with_deletion_moved(super().read(json), later=False)


def _with_deletion_moved(pod: Pod, *, later: bool) -> Pod:
    at, grace = pod.deletion_requested_at, pod.deletion_grace_period_seconds
    if at is None or not grace:
        return pod
    lasts = timedelta(seconds=grace)
    try:
        return replace(pod, deletion_requested_at=at + lasts if later else at - lasts)
    except OverflowError:  # whoever writes to the API may write any year
        return pod


POD = _PodType(
    Pod,
    "metadata.name",
    "metadata.namespace",
    "metadata.uid?",
    "metadata.labels?",
    "metadata.annotations?",
    "metadata.generation?",
    Field("metadata.creationTimestamp", attribute="created_at"),
    Field("metadata.deletionTimestamp", attribute="deletion_requested_at"),
    Field("metadata.deletionGracePeriodSeconds", SECONDS),
    "spec.activeDeadlineSeconds?",
    Field("spec.dnsConfig?", _DNS_CONFIG.codec),
    Field("spec.hostAliases?", list_of(_HOST_ALIAS.codec)),
    "spec.hostIPC?",
    "spec.hostNetwork?",
    "spec.hostPID?",
    "spec.hostname?",
    Field("spec.imagePullSecrets?", wrapped("name")),
    Field("spec.readinessGates?", wrapped("conditionType")),
    "spec.shareProcessNamespace?",
    Field("spec.volumes?", list_of(VOLUME.codec)),
    Field("spec.initContainers?", _CONTAINERS),
    Field("spec.terminationGracePeriodSeconds", SECONDS),
    "spec.dnsPolicy",
    Field("spec.restartPolicy", _RESTART_POLICY),
    Field("spec.securityContext", _POD_SECURITY_CONTEXT.codec),
    "spec.serviceAccountName",
    Field("spec.containers", _CONTAINERS),
    apiVersion="v1",
    kind="Pod",
)
