"""The API server's rules for volume plugins, which are empty directories here.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateVolumeSource and the
functions that it calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lightkube.models import core_v1

from probetui.kubelet_rules import KubeletRules
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    go_strings,
    invalid,
    not_supported,
    required,
    too_long,
)
from probetui.manifest.validation.paths import descending

_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "image": ("reference",),
    "iscsi": ("targetPortal",),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "storageos": ("volumeName",),
    "vsphereVolume": ("volumePath",),
}
_PATHS = {"gcePersistentDisk": "persistentDisk"}
"""The names of sources in the paths of their fields. Quirk, kept."""

_MAX_PART = 255
_MAX_DRIVER = 63
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")
_MANAGED = "Managed"
_MANAGED_DISK = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/"
    "microsoft.compute/disks/{disk-id}"
)
_DISK_IN_BLOB = (
    "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
)
_DISK_URIS = {
    True: ("/subscriptions/", _MANAGED_DISK),
    False: ("https://", _DISK_IN_BLOB),
}
"""The prefix and the form of a disk's URI, by whether the disk is managed."""

_INITIATORS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)\Z", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}\Z"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}\Z"),
}
_MAX_LUN = 255
_MAX_TENANT = 64
_HOST_PORT = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")
"""The form that Go's `net.SplitHostPort` accepts."""
_PAIRS = "must be a host:port pair or multiple pairs separated by commas"


def validate_plugin(
    name: str, source: Any, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    """Check the source `name` of the volume at a path."""
    at = f"{path}.{_PATHS.get(name, name)}"
    for field in _REQUIRED.get(name, ()):
        if not getattr(source, field):
            yield required(f"{at}.{field}")
    if name == "ephemeral":
        yield from _ephemeral(source, at, rules)
    elif name == "csi":
        yield from _csi(source, at, rules)
    elif name in _RULES:
        yield from _RULES[name](source, at)


def _nfs(source: core_v1.NFSVolumeSource, path: str) -> Iterator[FieldError]:
    if not source.path.startswith("/"):
        yield invalid(f"{path}.path", source.path, "must be an absolute path")


def _git(source: core_v1.GitRepoVolumeSource, path: str) -> Iterator[FieldError]:
    yield from descending(source.directory or "", f"{path}.directory")


def _partition(
    source: core_v1.GCEPersistentDiskVolumeSource
    | core_v1.AWSElasticBlockStoreVolumeSource,
    path: str,
) -> Iterator[FieldError]:
    if not 0 <= (source.partition or 0) <= _MAX_PART:
        detail = f"must be between 1 and {_MAX_PART}, inclusive"
        yield invalid(f"{path}.partition", source.partition, detail)


def _azure_disk(
    source: core_v1.AzureDiskVolumeSource, path: str
) -> Iterator[FieldError]:
    for field, choices in (("cachingMode", _CACHING_MODES), ("kind", _DISK_KINDS)):
        value = getattr(source, field)
        if value is not None and value not in choices:
            yield not_supported(f"{path}.{field}", value, choices)
    if source.kind is not None:
        start, looks = _DISK_URIS[source.kind == _MANAGED]
        if not source.diskURI.startswith(start):
            yield not_supported(
                f"{path}.diskURI", source.diskURI, (looks,), is_named=False
            )


def _iscsi(source: core_v1.ISCSIVolumeSource, path: str) -> Iterator[FieldError]:
    if not source.iqn:
        yield required(f"{path}.iqn")
    else:
        yield from _initiator(source.iqn, f"{path}.iqn")
    yield from _lun(source.lun, f"{path}.lun")
    has_chap = source.chapAuthDiscovery or source.chapAuthSession
    if has_chap and source.secretRef is None:
        yield required(f"{path}.secretRef")
    if source.initiatorName is not None:
        yield from _initiator(source.initiatorName, f"{path}.initiatorname")


def _initiator(name: str, path: str) -> Iterator[FieldError]:
    """Check the name of an iSCSI node."""
    pattern = _INITIATORS.get(name[:3])
    if pattern is None:
        detail = "must be valid format starting with iqn, eui, or naa"
        yield invalid(path, name, detail)
    elif not pattern.search(name):
        yield invalid(path, name, "must be valid format")


def _lun(lun: int | None, path: str) -> Iterator[FieldError]:
    if lun is not None and not 0 <= lun <= _MAX_LUN:
        yield invalid(path, lun, f"must be between 0 and {_MAX_LUN}, inclusive")


def _fibre_channel(source: core_v1.FCVolumeSource, path: str) -> Iterator[FieldError]:
    names_, ids = source.targetWWNs or [], source.wwids or []
    at = f"{path}.targetWWNs"
    if not names_ and not ids:
        detail = "must specify either targetWWNs or wwids, but not both"
        yield required(at, detail)
    if names_ and ids:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        yield invalid(at, go_strings(names_), detail)
    if names_ and source.lun is None:
        yield required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif names_:
        yield from _lun(source.lun, f"{path}.lun")


def _quobyte(source: core_v1.QuobyteVolumeSource, path: str) -> Iterator[FieldError]:
    """Check a Quobyte volume.

    Quirk, kept: the tenant is checked only if there is a registry, and one that is too
    long is reported as missing.
    """
    if not source.registry:
        yield required(f"{path}.registry", _PAIRS)
    elif names.byte_length(source.tenant or "") > _MAX_TENANT:
        detail = "must be a UUID and may not exceed a length of 64 characters"
        yield required(f"{path}.tenant", detail)
    else:
        for pair in source.registry.split(","):
            if not _HOST_PORT.fullmatch(pair):
                yield invalid(f"{path}.registry", source.registry, _PAIRS)
    if not source.volume:
        yield required(f"{path}.volume")


def _image(source: core_v1.ImageVolumeSource, path: str) -> Iterator[FieldError]:
    if source.pullPolicy not in _PULL_POLICIES:
        yield not_supported(f"{path}.pullPolicy", source.pullPolicy, _PULL_POLICIES)


def _flocker(source: core_v1.FlockerVolumeSource, path: str) -> Iterator[FieldError]:
    if not source.datasetName and not source.datasetUUID:
        yield required(path, "one of datasetName and datasetUUID is required")
    if source.datasetName and source.datasetUUID:
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        yield invalid(path, "resource", detail)
    if "/" in (source.datasetName or ""):
        yield invalid(f"{path}.datasetName", source.datasetName, "must not contain '/'")


def _csi(
    source: core_v1.CSIVolumeSource, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    driver = source.driver
    if not driver:
        yield required(f"{path}.driver")
        if rules.one_error_of_csi_driver:
            return
    if names.byte_length(driver) > _MAX_DRIVER:
        yield too_long(f"{path}.driver", _MAX_DRIVER)
    errors = names.check_subdomain(driver.lower())
    yield from names.invalid_names(f"{path}.driver", driver, errors)
    secret = source.nodePublishSecretRef
    if secret is not None:
        if not secret.name:
            yield required(f"{path}.nodePublishSecretRef.name")
        else:
            errors = names.check_subdomain(secret.name)
            yield from names.invalid_names(f"{path}.name", secret.name, errors)


def _secret(
    source: core_v1.CinderVolumeSource | core_v1.StorageOSVolumeSource, path: str
) -> Iterator[FieldError]:
    if source.secretRef is not None and not source.secretRef.name:
        yield required(f"{path}.secretRef.name")


def _flex(source: core_v1.FlexVolumeSource, path: str) -> Iterator[FieldError]:
    for key in sorted(source.options or {}):
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            yield invalid(f"{path}.options[{key}]", key, detail)


def _storage_os(
    source: core_v1.StorageOSVolumeSource, path: str
) -> Iterator[FieldError]:
    for name in ("volumeName", "volumeNamespace"):
        if value := getattr(source, name):
            errors = names.check_label(value)
            yield from names.invalid_names(f"{path}.{name}", value, errors)
    yield from _secret(source, path)


def _ephemeral(
    source: core_v1.EphemeralVolumeSource, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    at = f"{path}.volumeClaimTemplate"
    if source.volumeClaimTemplate is None:
        yield required(at)
        return
    # Imported late: few pods have one.
    from probetui.manifest.validation.claim_template import (  # noqa: PLC0415
        validate_claim_template,
    )

    yield from validate_claim_template(source.volumeClaimTemplate, at, rules)


_RULES: Mapping[str, Callable[[Any, str], Iterator[FieldError]]] = {
    "awsElasticBlockStore": _partition,
    "azureDisk": _azure_disk,
    "cinder": _secret,
    "fc": _fibre_channel,
    "flexVolume": _flex,
    "flocker": _flocker,
    "gcePersistentDisk": _partition,
    "gitRepo": _git,
    "image": _image,
    "iscsi": _iscsi,
    "nfs": _nfs,
    "quobyte": _quobyte,
    "storageos": _storage_os,
}
"""The checks of a source in addition to its required fields."""
