"""The versions of Kubernetes that know each field of an object.

The models are of 1.37. A field added after 1.15 is in `LATER`, below the first minor
release that has it; removed fields are in `GONE`. A type added later is covered by the
field that has it.

Derived from lightkube-models of each minor release from 1.15 to 1.37, which are made of
its OpenAPI (docs/decisions/api-objects.md). Statuses and managedFields are omitted, as
manifests do not set them.
"""

from __future__ import annotations

from collections.abc import Mapping

MODELS_VERSION = "1.37"
"""The version of the installed models."""

LATER: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "1.16": {
        "Container": ("startupProbe",),
        "PodSpec": (
            "ephemeralContainers",
            "overhead",
            "topologySpreadConstraints",
        ),
        "WindowsSecurityContextOptions": ("runAsUserName",),
    },
    "1.18": {
        "ConfigMap": ("immutable",),
        "PodSecurityContext": ("fsGroupChangePolicy",),
        "Secret": ("immutable",),
    },
    "1.19": {
        "PodSecurityContext": ("seccompProfile",),
        "PodSpec": ("setHostnameAsFQDN",),
        "SecurityContext": ("seccompProfile",),
        "Volume": ("ephemeral",),
    },
    "1.21": {
        "JobSpec": (
            "completionMode",
            "suspend",
        ),
        "PodAffinityTerm": ("namespaceSelector",),
        "Probe": ("terminationGracePeriodSeconds",),
        "RollingUpdateDaemonSet": ("maxSurge",),
    },
    "1.22": {
        "PersistentVolumeClaimSpec": ("dataSourceRef",),
        "StatefulSetSpec": ("minReadySeconds",),
        "WindowsSecurityContextOptions": ("hostProcess",),
    },
    "1.23": {
        "PodSpec": ("os",),
        "Probe": ("grpc",),
        "StatefulSetSpec": ("persistentVolumeClaimRetentionPolicy",),
    },
    "1.24": {
        "CronJobSpec": ("timeZone",),
        "RollingUpdateStatefulSetStrategy": ("maxUnavailable",),
        "TopologySpreadConstraint": ("minDomains",),
    },
    "1.25": {
        "JobSpec": ("podFailurePolicy",),
        "PodSpec": ("hostUsers",),
        "TopologySpreadConstraint": (
            "matchLabelKeys",
            "nodeAffinityPolicy",
            "nodeTaintsPolicy",
        ),
    },
    "1.26": {
        "PodSpec": (
            "resourceClaims",
            "schedulingGates",
        ),
        "ResourceRequirements": ("claims",),
        "StatefulSetSpec": ("ordinals",),
    },
    "1.27": {
        "Container": ("resizePolicy",),
        "EphemeralContainer": ("resizePolicy",),
    },
    "1.28": {
        "Container": ("restartPolicy",),
        "EphemeralContainer": ("restartPolicy",),
        "JobSpec": (
            "backoffLimitPerIndex",
            "maxFailedIndexes",
            "podReplacementPolicy",
        ),
    },
    "1.29": {
        "LifecycleHandler": ("sleep",),
        "PersistentVolumeClaimSpec": ("volumeAttributesClassName",),
        "PodAffinityTerm": (
            "matchLabelKeys",
            "mismatchLabelKeys",
        ),
        "VolumeProjection": ("clusterTrustBundle",),
    },
    "1.30": {
        "JobSpec": (
            "managedBy",
            "successPolicy",
        ),
        "PodSecurityContext": ("appArmorProfile",),
        "SecurityContext": ("appArmorProfile",),
        "VolumeMount": ("recursiveReadOnly",),
    },
    "1.31": {
        "PodResourceClaim": (
            "resourceClaimName",
            "resourceClaimTemplateName",
        ),
        "PodSecurityContext": ("supplementalGroupsPolicy",),
        "ResourceClaim": ("request",),
        "Volume": ("image",),
    },
    "1.32": {
        "PodSecurityContext": ("seLinuxChangePolicy",),
        "PodSpec": ("resources",),
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
    ("ObjectMeta", "clusterName"): ("1.15", "1.24"),
    ("ObjectMeta", "initializers"): ("1.15", "1.15"),
    ("PodResourceClaim", "source"): ("1.26", "1.30"),
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
    """Return whether a field was added after a version such as `1.32`."""
    since = _SINCE.get((owner, name))
    return since is not None and _minor(version) < _minor(since)


def is_gone(owner: str, name: str, version: str) -> bool:
    """Return whether a version knows a field that is gone from the models."""
    first, last = GONE.get((owner, name), (MODELS_VERSION, ""))
    return bool(last) and _minor(first) <= _minor(version) <= _minor(last)


def _minor(version: str) -> int:
    return int(version.partition(".")[2])
