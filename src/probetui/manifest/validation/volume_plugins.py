"""The API server's rules for volumes of plugins, which get an empty folder here.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateVolumeSource and the
functions that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lightkube.models import core_v1

from probetui.k8s.api.quantity import canonical_quantity, parse_quantity
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    invalid,
    not_supported,
    required,
    too_long,
)
from probetui.manifest.validation.paths import descending

SOURCES = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore",
    "secret", "nfs", "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd",
    "cinder", "cephfs", "quobyte", "downwardAPI", "fc", "flexVolume", "configMap",
    "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk",
    "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
"""The sources of a volume in the order in which the API server checks them."""

SECOND_SOURCES = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""How a source is called where it is one too many. Quirk, kept."""

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
    "iscsi": ("targetPortal", "iqn"),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "quobyte": ("registry", "volume"),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "storageos": ("volumeName",),
    "vsphereVolume": ("volumePath",),
}
_PATHS = {"gcePersistentDisk": "persistentDisk"}
"""How a source is called in the paths of its fields. Quirk, kept."""

_MAX_PART = 255
_MAX_DRIVER = 63
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")


def validate_plugin(name: str, source: Any, path: str) -> Iterator[FieldError]:
    """Check the source `name` of the volume at a path.

    What of iSCSI, Fibre Channel, Quobyte and Azure disks is more than a missing field
    is checked as far as a machine could tell that it is wrong.
    """
    at = f"{path}.{_PATHS.get(name, name)}"
    for field in _REQUIRED.get(name, ()):
        if not getattr(source, field):
            yield required(f"{at}.{field}")
    more = _RULES.get(name)
    if more is not None:
        yield from more(source, at)


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


def _csi(source: core_v1.CSIVolumeSource, path: str) -> Iterator[FieldError]:
    driver = source.driver
    if not driver:
        yield required(f"{path}.driver")
    if len(driver.encode("utf-8", "replace")) > _MAX_DRIVER:
        yield too_long(f"{path}.driver", _MAX_DRIVER)
    found = names.check_subdomain(driver.lower())
    yield from names.invalid_names(f"{path}.driver", driver, found)
    secret = source.nodePublishSecretRef
    if secret is not None:
        if not secret.name:
            yield required(f"{path}.nodePublishSecretRef.name")
        else:
            found = names.check_subdomain(secret.name)
            yield from names.invalid_names(f"{path}.name", secret.name, found)


def _ephemeral(
    source: core_v1.EphemeralVolumeSource, path: str
) -> Iterator[FieldError]:
    template = source.volumeClaimTemplate
    at = f"{path}.volumeClaimTemplate"
    if template is None:
        yield required(at)
        return
    modes = template.spec.accessModes or ()
    if not modes:
        detail = "at least 1 access mode is required"
        yield required(f"{at}.spec.accessModes", detail)
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(f"{at}.spec.accessModes", mode, _ACCESS_MODES)
    resources = template.spec.resources or core_v1.VolumeResourceRequirements()
    size = (resources.requests or {}).get("storage")
    field = f"{at}.spec.resources[storage]"
    if size is None:
        yield required(field)
    elif parse_quantity(size) <= 0:
        yield invalid(field, canonical_quantity(size), "must be greater than zero")


_RULES: Mapping[str, Callable[[Any, str], Iterator[FieldError]]] = {
    "awsElasticBlockStore": _partition,
    "azureDisk": _azure_disk,
    "csi": _csi,
    "ephemeral": _ephemeral,
    "flocker": _flocker,
    "gcePersistentDisk": _partition,
    "gitRepo": _git,
    "image": _image,
    "nfs": _nfs,
}
"""What is checked of a source beside its required fields."""
