"""The API server's rules for volumes, mounts and devices.

Source: pkg/apis/core/validation/validation.go, v1.32.10, ValidateVolumes,
validateVolumeSource, ValidateVolumeMounts, ValidateVolumeDevices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from lightkube.models import core_v1

from probetui.k8s.api.quantity import parse_quantity
from probetui.kubelet_rules import KubeletRules
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
from probetui.manifest.validation.paths import descending, has_backsteps, no_backsteps

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
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIONS = ("Disabled", "Enabled", "IfPossible")
_MAX_INITIATOR = 64

Volumes = Mapping[str, core_v1.Volume]
"""The valid volumes of a pod by name."""


def validate_volumes(
    volumes: Collection[core_v1.Volume],
    path: str,
    usable: dict[str, core_v1.Volume],
    pod_name: str,
    rules: KubeletRules,
) -> Iterator[FieldError]:
    """Check the volumes of a pod and add the valid ones to `usable`.

    As in the API server, a volume with an error counts as absent for the mounts.
    """
    made = {f"{pod_name}-{volume.name}" for volume in volumes if volume.ephemeral}
    for index, volume in enumerate(volumes):
        at = f"{path}[{index}]"
        errors = list(_volume(volume, at, pod_name, rules))
        if volume.name in usable:
            errors.append(duplicate(f"{at}.name", volume.name))
        if not errors:
            usable[volume.name] = volume
        yield from errors
        claim = volume.persistentVolumeClaim
        if claim is not None and pod_name and claim.claimName in made:
            detail = (
                "must not reference a PVC that gets created for an ephemeral volume"
            )
            field = f"{at}.persistentVolumeClaim.claimName"
            yield invalid(field, claim.claimName, detail)


def validate_mounts(
    container: core_v1.Container, path: str, volumes: Volumes, rules: KubeletRules
) -> Iterator[FieldError]:
    """Check the mounts of a container; `volumes` are the pod's valid volumes.

    Quirk, kept: an invalid subPath, or a way to mount, is reported without the index of
    its mount.
    """
    taken: set[str] = set()
    devices = {
        device.name: device.devicePath for device in container.volumeDevices or ()
    }
    for index, mount in enumerate(container.volumeMounts or ()):
        at = f"{path}[{index}]"
        if not mount.name:
            yield required(f"{at}.name")
        if mount.name not in volumes:
            yield not_found(f"{at}.name", mount.name)
        if not mount.mountPath:
            yield required(f"{at}.mountPath")
        if mount.mountPath in taken:
            yield invalid(f"{at}.mountPath", mount.mountPath, "must be unique")
        taken.add(mount.mountPath)
        if mount.name in devices:
            detail = "must not already exist in volumeDevices"
            yield invalid(f"{at}.name", mount.name, detail)
        if mount.mountPath in devices.values():
            detail = "must not already exist as a path in volumeDevices"
            yield invalid(f"{at}.mountPath", mount.mountPath, detail)
        volume = volumes.get(mount.name)
        if volume is not None and volume.image is not None:
            yield from _image_sub_paths(mount, at, rules)
        yield from _sub_paths(mount, at, path)
        yield from _propagation(mount, container, f"{path}.mountPropagation")
        yield from _recursion(mount, f"{path}.recursiveReadOnly")


def validate_devices(
    container: core_v1.Container, path: str, volumes: Volumes
) -> Iterator[FieldError]:
    """Check the block devices of a container."""
    seen: set[str] = set()
    paths: set[str] = set()
    mounts = {mount.name: mount.mountPath for mount in container.volumeMounts or ()}
    for index, device in enumerate(container.volumeDevices or ()):
        at, name, target = f"{path}[{index}]", device.name, device.devicePath
        yield from _device_name(name, seen, volumes, f"{at}.name")
        if not target:
            yield required(f"{at}.devicePath")
        if target in paths:
            yield invalid(f"{at}.devicePath", target, "must be unique")
        if has_backsteps(target):
            detail = "can not contain backsteps ('..')"
            yield invalid(f"{at}.devicePath", target, detail)
        else:
            paths.add(target)
        if name in mounts:
            yield invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if target in mounts.values():
            detail = "must not already exist as a path in volumeMounts"
            yield invalid(f"{at}.devicePath", target, detail)
        seen.update({name} - {""})


def _device_name(
    name: str, seen: Collection[str], volumes: Volumes, path: str
) -> Iterator[FieldError]:
    volume = volumes.get(name)
    if not name:
        yield required(path)
    if name in seen:
        yield invalid(path, name, "must be unique")
    if volume is None:
        yield not_found(path, name)
    elif not volume.persistentVolumeClaim and not volume.ephemeral:
        detail = (
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for"
            " block mode"
        )
        yield invalid(path, name, detail)


def _image_sub_paths(
    mount: core_v1.VolumeMount, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    if rules.image_sub_paths:
        return
    for name in ("subPath", "subPathExpr"):
        value = getattr(mount, name)
        if value:
            detail = "not allowed in image volume sources"
            yield invalid(f"{path}.{name}", value, detail)


def _sub_paths(mount: core_v1.VolumeMount, at: str, path: str) -> Iterator[FieldError]:
    if mount.subPath:
        yield from descending(mount.subPath, f"{path}.subPath")
    if mount.subPathExpr:
        if mount.subPath:
            detail = "subPathExpr and subPath are mutually exclusive"
            yield invalid(f"{at}.subPathExpr", mount.subPathExpr, detail)
        yield from descending(mount.subPathExpr, f"{path}.subPathExpr")


def _propagation(
    mount: core_v1.VolumeMount, container: core_v1.Container, path: str
) -> Iterator[FieldError]:
    wanted = mount.mountPropagation
    if wanted is None:
        return
    if wanted not in _PROPAGATIONS:
        yield not_supported(path, wanted, _PROPAGATIONS)
    context = container.securityContext or core_v1.SecurityContext()
    if wanted == _PROPAGATIONS[0] and not context.privileged:
        detail = "Bidirectional mount propagation is available only to privileged"
        yield forbidden(path, f"{detail} containers")


def _recursion(mount: core_v1.VolumeMount, path: str) -> Iterator[FieldError]:
    wanted = mount.recursiveReadOnly
    if wanted is None or wanted == _RECURSIONS[0]:
        return
    if wanted not in _RECURSIONS:
        yield not_supported(path, wanted, _RECURSIONS)
        return
    if not mount.readOnly:
        yield forbidden(path, "may only be specified when readOnly is true")
    if (mount.mountPropagation or "None") != "None":
        detail = "may only be specified when mountPropagation is None or not specified"
        yield forbidden(path, detail)


def _volume(
    volume: core_v1.Volume, path: str, pod_name: str, rules: KubeletRules
) -> Iterator[FieldError]:
    """Check one volume: the first of its sources in the API server's order."""
    written = [name for name in _SOURCES if getattr(volume, name) is not None]
    for index, name in enumerate(written):
        if index == 0:
            yield from _source(volume, name, path, rules)
            yield from _claim_name(volume, name, path, pod_name)
        else:
            field = f"{path}.{_SECOND_SOURCES.get(name, name)}"
            yield forbidden(field, "may not specify more than 1 volume type")
        if name == "iscsi":
            yield from _initiator_length(volume, path)
    if not volume.name:
        yield required(f"{path}.name")
    else:
        errors = names.check_label(volume.name)
        yield from names.invalid_names(f"{path}.name", volume.name, errors)


def _source(
    volume: core_v1.Volume, name: str, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    # Late: most pods have no volumes.
    from probetui.manifest.validation import (  # noqa: PLC0415
        volume_files,
        volume_plugins,
    )

    at = f"{path}.{name}"
    match getattr(volume, name):
        case core_v1.EmptyDirVolumeSource(sizeLimit=limit):
            if limit is not None and parse_quantity(limit) < 0:
                detail = "SizeLimit field must be a valid resource quantity"
                yield forbidden(f"{at}.sizeLimit", detail)
        case core_v1.HostPathVolumeSource() as source:
            yield from _host_path(source, at)
        case (core_v1.SecretVolumeSource() | core_v1.ConfigMapVolumeSource()) as source:
            yield from volume_files.validate_entries(source, at)
        case core_v1.DownwardAPIVolumeSource() as source:
            yield from volume_files.validate_downward_files(source, at)
        case core_v1.ProjectedVolumeSource() as source:
            yield from volume_files.validate_projected(source, at, rules)
        case source:
            yield from volume_plugins.validate_plugin(name, source, path, rules)


def _claim_name(
    volume: core_v1.Volume, source: str, path: str, pod_name: str
) -> Iterator[FieldError]:
    """Check the name of the claim created for an ephemeral volume."""
    if source != "ephemeral" or not pod_name or not volume.name:
        return
    claim = f"{pod_name}-{volume.name}"
    for error in names.check_subdomain(claim):
        detail = f"PVC name {quote(claim)}: {error}"
        yield invalid(f"{path}.name", volume.name, detail)


def _initiator_length(volume: core_v1.Volume, path: str) -> Iterator[FieldError]:
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
        yield invalid(f"{path}.name", volume.name, detail)


def _host_path(source: core_v1.HostPathVolumeSource, path: str) -> Iterator[FieldError]:
    if not source.path:
        yield required(f"{path}.path")
        return
    yield from no_backsteps(source.path, f"{path}.path")
    if source.type is not None and source.type not in _HOST_PATH_TYPES:
        yield not_supported(f"{path}.type", source.type, _HOST_PATH_TYPES)
