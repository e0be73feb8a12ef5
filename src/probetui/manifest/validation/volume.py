"""The API server's rules for volumes, mounts and devices.

Source: pkg/apis/core/validation/validation.go, v1.32.10, ValidateVolumes,
validateVolumeSource, ValidateVolumeMounts, ValidateVolumeDevices.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from lightkube.models import core_v1

from probetui.k8s.api.quantity import parse_quantity
from probetui.manifest.problem import quote
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from probetui.manifest.validation.rules import (
    Each,
    Errors,
    IfFilled,
    IfSet,
    PodContext,
    Remembering,
    Required,
    Rules,
    Unindexed,
    check,
    choice,
    in_context,
    valid,
)

_HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
    "FileOrCreate", "Socket",
)  # fmt: skip
_SOURCES = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore",
    "secret", "nfs", "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd",
    "cinder", "cephfs", "quobyte", "downwardAPI", "fc", "flexVolume", "configMap",
    "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk",
    "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
"""The sources of a volume in the order in which the API server checks them."""
_SECOND_SOURCES = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""The names of sources in errors about more than one source. Quirk, kept."""
_PATHS = {"gcePersistentDisk": "persistentDisk"}
"""The names of sources in the paths of their fields. Quirk, kept."""

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIONS = ("Disabled", "Enabled", "IfPossible")
_MAX_INITIATOR = 64


def _size_limit(limit: str) -> Iterator[FieldError]:
    if parse_quantity(limit) < 0:
        yield forbidden("", "SizeLimit field must be a valid resource quantity")


def _host_path_type(source: core_v1.HostPathVolumeSource) -> Iterator[FieldError]:
    if source.path and source.type is not None and source.type not in _HOST_PATH_TYPES:
        yield not_supported("type", source.type, _HOST_PATH_TYPES)


_PLAIN_VOLUMES: Mapping[str, Rules] = {
    "emptyDir": Rules(core_v1.EmptyDirVolumeSource, IfSet("sizeLimit", _size_limit)),
    "hostPath": Rules(
        core_v1.HostPathVolumeSource,
        Required("path", valid(names.check_no_backsteps)),
        _host_path_type,
    ),
}


def _rules_of_source(name: str) -> Rules:
    """Return the rules of a volume's source; most pods have none but plain ones."""
    if name in _PLAIN_VOLUMES:
        return _PLAIN_VOLUMES[name]
    # Late: most pods have no volumes.
    from probetui.manifest.validation.volume_files import (  # noqa: PLC0415
        FILE_VOLUMES,
    )
    from probetui.manifest.validation.volume_plugins import PLUGINS  # noqa: PLC0415

    return FILE_VOLUMES[name] if name in FILE_VOLUMES else PLUGINS[name]


@in_context
def _one_source(volume: core_v1.Volume, context: PodContext) -> Iterator[FieldError]:
    """Check the first of a volume's sources, and report the others."""
    written = [name for name in _SOURCES if getattr(volume, name) is not None]
    for index, name in enumerate(written):
        if index == 0:
            source, at = getattr(volume, name), _PATHS.get(name, name)
            yield from check(_rules_of_source(name), source, context, at)
            if name == "ephemeral":
                yield from _claim_name(volume, context.pod_name)
        else:
            at = _SECOND_SOURCES.get(name, name)
            yield forbidden(at, "may not specify more than 1 volume type")
        if name == "iscsi":
            yield from _initiator_length(volume)


def _claim_name(volume: core_v1.Volume, pod_name: str) -> Iterator[FieldError]:
    """Check the name of the claim created for an ephemeral volume."""
    if not pod_name or not volume.name:
        return
    claim = f"{pod_name}-{volume.name}"
    for error in names.check_subdomain(claim):
        yield invalid("name", volume.name, f"PVC name {quote(claim)}: {error}")


def _initiator_length(volume: core_v1.Volume) -> Iterator[FieldError]:
    """Check the length of an iSCSI volume's initiator name."""
    source = volume.iscsi
    if source is None or source.initiatorName is None:
        return
    name = f"{volume.name}:{source.targetPortal}"
    if names.byte_length(name) > _MAX_INITIATOR:
        detail = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under"
            f" {_MAX_INITIATOR} characters if iscsi.initiatorName is specified."
        )
        yield invalid("name", volume.name, detail)


_VOLUME = Rules(core_v1.Volume, _one_source, Required("name", valid(names.check_label)))


def _usable_volumes(
    spec: core_v1.PodSpec, context: PodContext
) -> Callable[[core_v1.Volume], Errors]:
    """Check the volumes of a pod and add the valid ones to the context.

    As in the API server, a volume with an error counts as absent for the mounts.
    """
    usable = context.volumes
    made = {
        f"{context.pod_name}-{volume.name}"
        for volume in spec.volumes or ()
        if volume.ephemeral
    }

    def find(volume: core_v1.Volume) -> Iterator[FieldError]:
        errors = check(_VOLUME, volume, context)
        if volume.name in usable:
            errors.append(duplicate("name", volume.name))
        if not errors:
            usable[volume.name] = volume
        yield from errors
        claim = volume.persistentVolumeClaim
        if claim is not None and context.pod_name and claim.claimName in made:
            detail = (
                "must not reference a PVC that gets created for an ephemeral volume"
            )
            at = "persistentVolumeClaim.claimName"
            yield invalid(at, claim.claimName, detail)

    return find


VOLUMES = Rules(core_v1.PodSpec, Each("volumes", Remembering(_usable_volumes)))


def _mounts(
    container: core_v1.Container, context: PodContext
) -> Callable[[core_v1.VolumeMount], Errors]:
    taken: set[str] = set()
    devices = {
        device.name: device.devicePath for device in container.volumeDevices or ()
    }

    def find(mount: core_v1.VolumeMount) -> Iterator[FieldError]:
        if not mount.name:
            yield required("name")
        if mount.name not in context.volumes:
            yield not_found("name", mount.name)
        if not mount.mountPath:
            yield required("mountPath")
        if mount.mountPath in taken:
            yield invalid("mountPath", mount.mountPath, "must be unique")
        taken.add(mount.mountPath)
        if mount.name in devices:
            detail = "must not already exist in volumeDevices"
            yield invalid("name", mount.name, detail)
        if mount.mountPath in devices.values():
            detail = "must not already exist as a path in volumeDevices"
            yield invalid("mountPath", mount.mountPath, detail)

    return find


@in_context
def _image_sub_paths(
    mount: core_v1.VolumeMount, context: PodContext
) -> Iterator[FieldError]:
    volume = context.volumes.get(mount.name)
    if volume is None or volume.image is None or context.version.image_sub_paths:
        return
    for name in ("subPath", "subPathExpr"):
        value = getattr(mount, name)
        if value:
            yield invalid(name, value, "not allowed in image volume sources")


def _one_sub_path(mount: core_v1.VolumeMount) -> Iterator[FieldError]:
    if mount.subPath and mount.subPathExpr:
        detail = "subPathExpr and subPath are mutually exclusive"
        yield invalid("subPathExpr", mount.subPathExpr, detail)


def _propagation(
    container: core_v1.Container, _: PodContext
) -> Callable[[core_v1.VolumeMount], Errors]:
    context = container.securityContext or core_v1.SecurityContext()

    def find(mount: core_v1.VolumeMount) -> Iterator[FieldError]:
        if mount.mountPropagation == _PROPAGATIONS[0] and not context.privileged:
            detail = "Bidirectional mount propagation is available only to privileged"
            yield forbidden("mountPropagation", f"{detail} containers")

    return find


def _recursion(mount: core_v1.VolumeMount) -> Iterator[FieldError]:
    at, mode = "recursiveReadOnly", mount.recursiveReadOnly
    if mode is None or mode == _RECURSIONS[0]:
        return
    if mode not in _RECURSIONS:
        yield not_supported(at, mode, _RECURSIONS)
        return
    if not mount.readOnly:
        yield forbidden(at, "may only be specified when readOnly is true")
    if (mount.mountPropagation or "None") != "None":
        detail = "may only be specified when mountPropagation is None or not specified"
        yield forbidden(at, detail)


def _devices(
    container: core_v1.Container, context: PodContext
) -> Callable[[core_v1.VolumeDevice], Errors]:
    seen: set[str] = set()
    paths: set[str] = set()
    mounts = {mount.name: mount.mountPath for mount in container.volumeMounts or ()}

    def find(device: core_v1.VolumeDevice) -> Iterator[FieldError]:
        name, target = device.name, device.devicePath
        yield from _device_name(name, seen, context.volumes)
        if not target:
            yield required("devicePath")
        if target in paths:
            yield invalid("devicePath", target, "must be unique")
        if names.has_backsteps(target):
            yield invalid("devicePath", target, "can not contain backsteps ('..')")
        else:
            paths.add(target)
        if name in mounts:
            yield invalid("name", name, "must not already exist in volumeMounts")
        if target in mounts.values():
            detail = "must not already exist as a path in volumeMounts"
            yield invalid("devicePath", target, detail)
        seen.update({name} - {""})

    return find


def _device_name(
    name: str, seen: Collection[str], volumes: Mapping[str, core_v1.Volume]
) -> Iterator[FieldError]:
    volume = volumes.get(name)
    if not name:
        yield required("name")
    if name in seen:
        yield invalid("name", name, "must be unique")
    if volume is None:
        yield not_found("name", name)
    elif not volume.persistentVolumeClaim and not volume.ephemeral:
        detail = (
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for"
            " block mode"
        )
        yield invalid("name", name, detail)


MOUNTS_AND_DEVICES = Rules(
    core_v1.Container,
    # Quirk, kept: an invalid subPath, or a way to mount, is reported without the index
    # of its mount.
    Each(
        "volumeMounts",
        Remembering(_mounts),
        _image_sub_paths,
        Unindexed(IfFilled("subPath", valid(names.check_descending))),
        _one_sub_path,
        Unindexed(
            IfFilled("subPathExpr", valid(names.check_descending)),
            IfSet("mountPropagation", choice(*_PROPAGATIONS)),
            Remembering(_propagation),
            _recursion,
        ),
    ),
    Each("volumeDevices", Remembering(_devices)),
)
"""The rules of a container's mounts and devices; only valid volumes are there."""
