"""Which version of Kubernetes knows which field of an object.

The models are of 1.37. A field that came after 1.15 is in `LATER`, below the first of
the versions that can be chosen here which has it; those that are gone are in `GONE`. A
type that came later is known by the field that holds it.

Derived from the models of lightkube-models 1.15.12, 1.19.6, 1.20.1, 1.28.1, 1.32.0,
1.33.1, 1.34.0, 1.35.0, 1.36.3 and 1.37.0, which are made of the OpenAPI of each
(docs/decisions/api-objects.md). Statuses and managedFields are left out: nobody writes
them.
"""

from __future__ import annotations

from collections.abc import Mapping

MODELS_VERSION = "1.37"
"""The version that the installed models are of."""

LATER: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "1.19": {
        "ConfigMap": ("immutable",),
        "Container": ("startupProbe",),
        "PodSecurityContext": (
            "fsGroupChangePolicy",
            "seccompProfile",
        ),
        "PodSpec": (
            "ephemeralContainers",
            "overhead",
            "setHostnameAsFQDN",
            "topologySpreadConstraints",
        ),
        "Secret": ("immutable",),
        "SecurityContext": ("seccompProfile",),
        "Volume": ("ephemeral",),
        "WindowsSecurityContextOptions": ("runAsUserName",),
    },
    "1.28": {
        "Container": (
            "resizePolicy",
            "restartPolicy",
        ),
        "CronJobSpec": ("timeZone",),
        "EphemeralContainer": (
            "resizePolicy",
            "restartPolicy",
        ),
        "JobSpec": (
            "backoffLimitPerIndex",
            "completionMode",
            "maxFailedIndexes",
            "podFailurePolicy",
            "podReplacementPolicy",
            "suspend",
        ),
        "PersistentVolumeClaimSpec": ("dataSourceRef",),
        "PodAffinityTerm": ("namespaceSelector",),
        "PodSpec": (
            "hostUsers",
            "os",
            "resourceClaims",
            "schedulingGates",
        ),
        "Probe": (
            "grpc",
            "terminationGracePeriodSeconds",
        ),
        "ResourceRequirements": ("claims",),
        "RollingUpdateDaemonSet": ("maxSurge",),
        "RollingUpdateStatefulSetStrategy": ("maxUnavailable",),
        "StatefulSetSpec": (
            "minReadySeconds",
            "ordinals",
            "persistentVolumeClaimRetentionPolicy",
        ),
        "TopologySpreadConstraint": (
            "matchLabelKeys",
            "minDomains",
            "nodeAffinityPolicy",
            "nodeTaintsPolicy",
        ),
        "WindowsSecurityContextOptions": ("hostProcess",),
    },
    "1.32": {
        "JobSpec": (
            "managedBy",
            "successPolicy",
        ),
        "LifecycleHandler": ("sleep",),
        "PersistentVolumeClaimSpec": ("volumeAttributesClassName",),
        "PodAffinityTerm": (
            "matchLabelKeys",
            "mismatchLabelKeys",
        ),
        "PodResourceClaim": (
            "resourceClaimName",
            "resourceClaimTemplateName",
        ),
        "PodSecurityContext": (
            "appArmorProfile",
            "seLinuxChangePolicy",
            "supplementalGroupsPolicy",
        ),
        "PodSpec": ("resources",),
        "ResourceClaim": ("request",),
        "SecurityContext": ("appArmorProfile",),
        "Volume": ("image",),
        "VolumeMount": ("recursiveReadOnly",),
        "VolumeProjection": ("clusterTrustBundle",),
    },
    "1.33": {
        "Lifecycle": ("stopSignal",),
    },
    "1.34": {
        "Container": ("restartPolicyRules",),
        "EnvVarSource": ("fileKeyRef",),
        "EphemeralContainer": ("restartPolicyRules",),
        "PodSpec": ("hostnameOverride",),
        "VolumeProjection": ("podCertificate",),
    },
    "1.35": {
        "PodCertificateProjection": ("userAnnotations",),
    },
    "1.36": {
        "PodSpec": ("schedulingGroup",),
    },
    "1.37": {
        "ClusterTrustBundleProjection": ("user",),
        "ConfigMapVolumeSource": ("defaultUser",),
        "DownwardAPIVolumeFile": ("user",),
        "DownwardAPIVolumeSource": ("defaultUser",),
        "EmptyDirVolumeSource": ("mode",),
        "GRPCAction": ("mode",),
        "HTTPGetAction": ("protocol",),
        "JobSpec": ("scheduling",),
        "KeyToPath": ("user",),
        "PodCertificateProjection": ("user",),
        "PodSpec": ("evictionResponders",),
        "ProjectedVolumeSource": ("defaultUser",),
        "SecretVolumeSource": ("defaultUser",),
        "ServiceAccountTokenProjection": ("user",),
        "VolumeMount": ("bindMountOptions",),
    },
}
"""By version and type."""

GONE: Mapping[tuple[str, str], tuple[str, str]] = {
    ("EphemeralVolumeSource", "readOnly"): ("1.19", "1.20"),
    ("ObjectMeta", "clusterName"): ("1.15", "1.20"),
    ("ObjectMeta", "initializers"): ("1.15", "1.15"),
    ("PodResourceClaim", "source"): ("1.28", "1.28"),
    ("PodSpec", "workloadRef"): ("1.35", "1.35"),
}
"""The first and the last version that knows a field, by type and name."""

_SINCE = {
    (owner, name): version
    for version, types in LATER.items()
    for owner, fields in types.items()
    for name in fields
}


def is_later(owner: str, name: str, version: str) -> bool:
    """Return whether a field of the models came after a version, as `1.32`."""
    since = _SINCE.get((owner, name))
    return since is not None and _minor(version) < _minor(since)


def is_gone(owner: str, name: str, version: str) -> bool:
    """Return whether a version knows a field that the models do not have any more."""
    first, last = GONE.get((owner, name), (MODELS_VERSION, ""))
    return bool(last) and _minor(first) <= _minor(version) <= _minor(last)


def _minor(version: str) -> int:
    return int(version.partition(".")[2])
