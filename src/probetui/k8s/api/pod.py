"""`v1.Pod` in the API's JSON, without its status and as far as probetui supports it.

Source: k8s.io/api core/v1/types.go, v0.32.10, Pod.
"""

from __future__ import annotations

from probetui.k8s.api.codec import (
    SECONDS,
    ApiType,
    Field,
    enum_codec,
    list_of,
    wrapped,
)
from probetui.k8s.api.probe import LIFECYCLE_HANDLER, PROBE
from probetui.k8s.api.volume import ENV_FROM, ENV_VAR, VOLUME
from probetui.k8s.pod import (
    Container,
    ContainerPort,
    DNSConfig,
    DNSOption,
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
_CONTAINER = ApiType(
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
_CONTAINERS = list_of(_CONTAINER.codec)
_HOST_ALIAS = ApiType(HostAlias, "ip", "hostnames")
_DNS_CONFIG = ApiType(
    DNSConfig,
    "nameservers?",
    "searches?",
    Field("options?", list_of(ApiType(DNSOption, "name", "value").codec)),
)
POD = ApiType(
    Pod,
    "metadata.name",
    "metadata.namespace",
    "metadata.uid?",
    "metadata.labels?",
    "metadata.annotations?",
    "metadata.generation?",
    Field("metadata.creationTimestamp", attribute="created_at"),
    Field("metadata.deletionTimestamp", attribute="deletion_requested_at"),
    "metadata.deletionGracePeriodSeconds",
    "spec.activeDeadlineSeconds?",
    Field("spec.dnsConfig?", _DNS_CONFIG.codec),
    Field("spec.hostAliases?", list_of(_HOST_ALIAS.codec)),
    "spec.hostIPC?",
    "spec.hostNetwork?",
    "spec.hostPID?",
    "spec.hostname?",
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
