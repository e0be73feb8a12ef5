"""The API server's rules for volume plugins, which are empty directories here.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateVolumeSource and the
functions that it calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lightkube.models import core_v1

from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    go_strings,
    invalid,
    not_supported,
    required,
    too_long,
)
from probetui.manifest.validation.rules import (
    Always,
    Errors,
    IfFilled,
    IfSet,
    PodContext,
    Required,
    Rules,
    between,
    check,
    choice,
    in_context,
    must,
    valid,
)

_MAX_PART = 255
_MAX_DRIVER = 63
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
_MAX_TENANT = 64
_HOST_PORT = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")
"""The form that Go's `net.SplitHostPort` accepts."""
_PAIRS = "must be a host:port pair or multiple pairs separated by commas"


_LUN = between(0, 255)
_PARTITION = must(
    lambda partition: 0 <= partition <= _MAX_PART,
    f"must be between 1 and {_MAX_PART}, inclusive",
)
_SECRET = Rules(
    core_v1.LocalObjectReference | core_v1.SecretReference, Required("name")
)


def _disk_uri(source: core_v1.AzureDiskVolumeSource) -> Iterator[FieldError]:
    if source.kind is not None:
        start, form = _DISK_URIS[source.kind == _MANAGED]
        if not source.diskURI.startswith(start):
            yield not_supported("diskURI", source.diskURI, (form,), is_named=False)


def _initiator(name: str) -> Iterator[FieldError]:
    """Check the name of an iSCSI node."""
    pattern = _INITIATORS.get(name[:3])
    if pattern is None:
        detail = "must be valid format starting with iqn, eui, or naa"
        yield invalid("", name, detail)
    elif not pattern.search(name):
        yield invalid("", name, "must be valid format")


def _chap_secret(source: core_v1.ISCSIVolumeSource) -> Iterator[FieldError]:
    has_chap = source.chapAuthDiscovery or source.chapAuthSession
    if has_chap and source.secretRef is None:
        yield required("secretRef")


def _fibre_channel(source: core_v1.FCVolumeSource) -> Iterator[FieldError]:
    targets, ids = source.targetWWNs or [], source.wwids or []
    if not targets and not ids:
        detail = "must specify either targetWWNs or wwids, but not both"
        yield required("targetWWNs", detail)
    if targets and ids:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        yield invalid("targetWWNs", go_strings(targets), detail)
    if targets and source.lun is None:
        yield required("lun", "lun is required if targetWWNs is specified")
    elif targets:
        yield from check(_FIBRE_CHANNEL_LUN, source)


_FIBRE_CHANNEL_LUN = Rules(core_v1.FCVolumeSource, IfSet("lun", _LUN))


def _quobyte(source: core_v1.QuobyteVolumeSource) -> Iterator[FieldError]:
    """Check a registry and a tenant.

    Quirk, kept: the tenant is checked only if there is a registry, and one that is too
    long is reported as missing.
    """
    if not source.registry:
        yield required("registry", _PAIRS)
    elif names.byte_length(source.tenant or "") > _MAX_TENANT:
        detail = "must be a UUID and may not exceed a length of 64 characters"
        yield required("tenant", detail)
    else:
        for pair in source.registry.split(","):
            if not _HOST_PORT.fullmatch(pair):
                yield invalid("registry", source.registry, _PAIRS)


def _flocker(source: core_v1.FlockerVolumeSource) -> Iterator[FieldError]:
    if not source.datasetName and not source.datasetUUID:
        yield required("", "one of datasetName and datasetUUID is required")
    if source.datasetName and source.datasetUUID:
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        yield invalid("", "resource", detail)
    if "/" in (source.datasetName or ""):
        yield invalid("datasetName", source.datasetName, "must not contain '/'")


@in_context
def _csi_driver(
    source: core_v1.CSIVolumeSource, context: PodContext
) -> Iterator[FieldError]:
    driver = source.driver
    if not driver:
        yield required("driver")
        if context.version.one_error_of_csi_driver:
            return
    if names.byte_length(driver) > _MAX_DRIVER:
        yield too_long("driver", _MAX_DRIVER)
    errors = names.check_subdomain(driver.lower())
    yield from names.invalid_names("driver", driver, errors)
    secret = source.nodePublishSecretRef
    if secret is not None:
        if not secret.name:
            yield required("nodePublishSecretRef.name")
        else:
            errors = names.check_subdomain(secret.name)
            yield from names.invalid_names("name", secret.name, errors)


def _flex_options(options: Mapping[str, str]) -> Iterator[FieldError]:
    for key in sorted(options):
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            yield invalid(f"[{key}]", key, detail)


@in_context
def _claim_template(
    template: core_v1.PersistentVolumeClaimTemplate, context: PodContext
) -> Errors:
    # Late: few pods have one.
    from probetui.manifest.validation.claim_template import (  # noqa: PLC0415
        CLAIM_TEMPLATE,
    )

    return check(CLAIM_TEMPLATE, template, context)


PLUGINS: Mapping[str, Rules] = {
    "awsElasticBlockStore": Rules(
        core_v1.AWSElasticBlockStoreVolumeSource,
        Required("volumeID"),
        IfSet("partition", _PARTITION),
    ),
    "azureDisk": Rules(
        core_v1.AzureDiskVolumeSource,
        Required("diskName"),
        Required("diskURI"),
        IfSet("cachingMode", choice("None", "ReadOnly", "ReadWrite")),
        IfSet("kind", choice("Dedicated", _MANAGED, "Shared")),
        _disk_uri,
    ),
    "azureFile": Rules(
        core_v1.AzureFileVolumeSource,
        Required("secretName"),
        Required("shareName"),
    ),
    "cephfs": Rules(core_v1.CephFSVolumeSource, Required("monitors")),
    "cinder": Rules(
        core_v1.CinderVolumeSource,
        Required("volumeID"),
        IfSet("secretRef", _SECRET),
    ),
    "csi": Rules(core_v1.CSIVolumeSource, _csi_driver),
    "ephemeral": Rules(
        core_v1.EphemeralVolumeSource,
        Required("volumeClaimTemplate", _claim_template),
    ),
    "fc": Rules(core_v1.FCVolumeSource, _fibre_channel),
    "flexVolume": Rules(
        core_v1.FlexVolumeSource,
        Required("driver"),
        IfFilled("options", _flex_options),
    ),
    "flocker": Rules(core_v1.FlockerVolumeSource, _flocker),
    "gcePersistentDisk": Rules(
        core_v1.GCEPersistentDiskVolumeSource,
        Required("pdName"),
        IfSet("partition", _PARTITION),
    ),
    "gitRepo": Rules(
        core_v1.GitRepoVolumeSource,
        Required("repository"),
        IfFilled("directory", valid(names.check_descending)),
    ),
    "glusterfs": Rules(
        core_v1.GlusterfsVolumeSource,
        Required("endpoints"),
        Required("path"),
    ),
    "image": Rules(
        core_v1.ImageVolumeSource,
        Required("reference"),
        Always("pullPolicy", choice("Always", "IfNotPresent", "Never")),
    ),
    "iscsi": Rules(
        core_v1.ISCSIVolumeSource,
        Required("targetPortal"),
        Required("iqn", _initiator),
        IfSet("lun", _LUN),
        _chap_secret,
        IfSet("initiatorName", _initiator, at="initiatorname"),
    ),
    "nfs": Rules(
        core_v1.NFSVolumeSource,
        Required("server"),
        Required("path"),
        Always(
            "path", must(lambda path: path.startswith("/"), "must be an absolute path")
        ),
    ),
    "persistentVolumeClaim": Rules(
        core_v1.PersistentVolumeClaimVolumeSource, Required("claimName")
    ),
    "photonPersistentDisk": Rules(
        core_v1.PhotonPersistentDiskVolumeSource, Required("pdID")
    ),
    "portworxVolume": Rules(core_v1.PortworxVolumeSource, Required("volumeID")),
    "quobyte": Rules(core_v1.QuobyteVolumeSource, _quobyte, Required("volume")),
    "rbd": Rules(core_v1.RBDVolumeSource, Required("monitors"), Required("image")),
    "scaleIO": Rules(
        core_v1.ScaleIOVolumeSource,
        Required("gateway"),
        Required("system"),
        Required("volumeName"),
    ),
    "storageos": Rules(
        core_v1.StorageOSVolumeSource,
        Required("volumeName", valid(names.check_label)),
        IfFilled("volumeNamespace", valid(names.check_label)),
        IfSet("secretRef", _SECRET),
    ),
    "vsphereVolume": Rules(
        core_v1.VsphereVirtualDiskVolumeSource, Required("volumePath")
    ),
}
"""The rules of each plugin, by its field."""
