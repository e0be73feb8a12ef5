"""The API server's rules for volumes, mounts and devices.

Source: pkg/apis/core/validation/validation.go, v1.32.10, ValidateVolumes,
validateVolumeSource, ValidateVolumeMounts, ValidateVolumeDevices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from lightkube.models import core_v1

from probetui.k8s.api.quantity import parse_quantity
from probetui.manifest.validation import names
from probetui.manifest.validation.environment import (
    FILES,
    validate_field_ref,
    validate_resource_ref,
)
from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from probetui.manifest.validation.paths import (
    descending,
    has_backsteps,
    no_backsteps,
    not_reserved,
)
from probetui.manifest.validation.volume_plugins import (
    SECOND_SOURCES,
    SOURCES,
    validate_plugin,
)

_HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
    "FileOrCreate", "Socket",
)  # fmt: skip
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIONS = ("Disabled", "Enabled", "IfPossible")
_MAX_MODE = 0o777
_LEAST_TOKEN_SECONDS = 600
_MOST_TOKEN_SECONDS = 1 << 32

Volumes = Mapping[str, core_v1.Volume]
"""The valid volumes of a pod by name."""


def validate_volumes(
    volumes: Collection[core_v1.Volume],
    path: str,
    usable: dict[str, core_v1.Volume],
    pod_name: str = "",
) -> Iterator[FieldError]:
    """Check the volumes of a pod and add the valid ones to `usable`.

    As in the API server, a volume with an error counts as absent for the mounts.
    """
    made = {f"{pod_name}-{volume.name}" for volume in volumes if volume.ephemeral}
    for index, volume in enumerate(volumes):
        at = f"{path}[{index}]"
        found = list(_volume(volume, at, pod_name))
        if volume.name in usable:
            found.append(duplicate(f"{at}.name", volume.name))
        if not found:
            usable[volume.name] = volume
        yield from found
        claim = volume.persistentVolumeClaim
        if claim is not None and pod_name and claim.claimName in made:
            detail = (
                "must not reference a PVC that gets created for an ephemeral volume"
            )
            field = f"{at}.persistentVolumeClaim.claimName"
            yield invalid(field, claim.claimName, detail)


def validate_mounts(
    container: core_v1.Container, path: str, volumes: Volumes
) -> Iterator[FieldError]:
    """Check the mounts of a container; `volumes` are the pod's valid volumes.

    Quirk, kept: an invalid subPath, or a way to mount, is reported without the index of
    its mount.
    """
    taken: set[str] = set()
    devices = {one.name: one.devicePath for one in container.volumeDevices or ()}
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
        yield from _sub_paths(mount, at, path)
        yield from _propagation(mount, container, f"{path}.mountPropagation")
        yield from _recursion(mount, f"{path}.recursiveReadOnly")


def validate_devices(
    container: core_v1.Container, path: str, volumes: Volumes
) -> Iterator[FieldError]:
    """Check the block devices of a container."""
    seen: set[str] = set()
    paths: set[str] = set()
    mounts = {one.name: one.mountPath for one in container.volumeMounts or ()}
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


def _volume(volume: core_v1.Volume, path: str, pod_name: str) -> Iterator[FieldError]:
    """Check one volume: the first of its sources in the API server's order."""
    written = [name for name in SOURCES if getattr(volume, name) is not None]
    for index, name in enumerate(written):
        if index == 0:
            yield from _source(volume, name, path)
        else:
            field = f"{path}.{SECOND_SOURCES.get(name, name)}"
            yield forbidden(field, "may not specify more than 1 volume type")
    if volume.ephemeral is not None and pod_name and volume.name:
        claim = f"{pod_name}-{volume.name}"
        for error in names.check_subdomain(claim):
            detail = f'PVC name "{claim}": {error}'
            yield invalid(f"{path}.name", volume.name, detail)
    if not volume.name:
        yield required(f"{path}.name")
    else:
        found = names.check_label(volume.name)
        yield from names.invalid_names(f"{path}.name", volume.name, found)


def _source(volume: core_v1.Volume, name: str, path: str) -> Iterator[FieldError]:
    at = f"{path}.{name}"
    match getattr(volume, name):
        case core_v1.EmptyDirVolumeSource(sizeLimit=limit):
            if limit is not None and parse_quantity(limit) < 0:
                detail = "SizeLimit field must be a valid resource quantity"
                yield forbidden(f"{at}.sizeLimit", detail)
        case core_v1.HostPathVolumeSource() as source:
            yield from _host_path(source, at)
        case (core_v1.SecretVolumeSource() | core_v1.ConfigMapVolumeSource()) as source:
            yield from _files(source, at)
        case core_v1.DownwardAPIVolumeSource() as source:
            yield from _mode(source.defaultMode, f"{at}.defaultMode")
            for file in source.items or ():
                yield from _downward_file(file, at)
        case core_v1.ProjectedVolumeSource() as source:
            yield from _projected(source, at)
        case source:
            yield from validate_plugin(name, source, path)


def _host_path(source: core_v1.HostPathVolumeSource, path: str) -> Iterator[FieldError]:
    if not source.path:
        yield required(f"{path}.path")
        return
    yield from no_backsteps(source.path, f"{path}.path")
    if source.type is not None and source.type not in _HOST_PATH_TYPES:
        yield not_supported(f"{path}.type", source.type, _HOST_PATH_TYPES)


def _files(
    source: core_v1.SecretVolumeSource | core_v1.ConfigMapVolumeSource, path: str
) -> Iterator[FieldError]:
    is_secret = isinstance(source, core_v1.SecretVolumeSource)
    name = "secretName" if is_secret else "name"
    if not getattr(source, name):
        yield required(f"{path}.{name}")
    yield from _mode(source.defaultMode, f"{path}.defaultMode")
    for index, item in enumerate(source.items or ()):
        yield from _item(item, f"{path}.items[{index}]")


def _item(item: core_v1.KeyToPath, path: str) -> Iterator[FieldError]:
    if not item.key:
        yield required(f"{path}.key")
    yield from _file_path(item.path, f"{path}.path")
    yield from _mode(item.mode, f"{path}.mode")


def _projected(
    source: core_v1.ProjectedVolumeSource, path: str
) -> Iterator[FieldError]:
    """Check the sources of a projected volume; paths must be unique.

    Source: validation.go, v1.32.10, validateProjectionSources.
    """
    yield from _mode(source.defaultMode, f"{path}.defaultMode")
    taken: set[str] = set()
    for index, projection in enumerate(source.sources or ()):
        at = f"{path}.sources[{index}]"
        yield from _projected_entries(projection, at, taken, path)
        if projection.downwardAPI is not None:
            for file in projection.downwardAPI.items or ():
                yield from _downward_file(file, f"{at}.downwardAPI")
                yield from _conflict(file.path, taken, path, file.path)
        if projection.serviceAccountToken is not None:
            yield from _token(projection.serviceAccountToken, at, path)
        if projection.clusterTrustBundle is not None:
            bundle = projection.clusterTrustBundle
            yield from _trust_bundle(bundle, f"{at}.clusterTrustBundlePEM")
            yield from _conflict(bundle.path, taken, path, bundle.path)
        parts = (
            projection.secret, projection.configMap, projection.downwardAPI,
            projection.serviceAccountToken, projection.clusterTrustBundle,
            projection.podCertificate,
        )  # fmt: skip
        if len(parts) - parts.count(None) > 1:
            yield forbidden(at, "may not specify more than 1 volume type")


def _projected_entries(
    projection: core_v1.VolumeProjection, path: str, taken: set[str], volume: str
) -> Iterator[FieldError]:
    for kind, part in (
        ("secret", projection.secret),
        ("configMap", projection.configMap),
    ):
        if part is None:
            continue
        if not part.name:
            yield required(f"{path}.{kind}.name")
        for number, item in enumerate(part.items or ()):
            yield from _item(item, f"{path}.{kind}.items[{number}]")
            yield from _conflict(item.path, taken, volume, part.name or "")


def _token(
    token: core_v1.ServiceAccountTokenProjection, path: str, volume: str
) -> Iterator[FieldError]:
    """Check a token; its path is reported for the volume, as the API server does."""
    at = f"{path}.serviceAccountToken.expirationSeconds"
    seconds = token.expirationSeconds or 0
    if seconds < _LEAST_TOKEN_SECONDS:
        detail = "may not specify a duration less than 10 minutes"
        yield invalid(at, seconds, detail)
    if seconds > _MOST_TOKEN_SECONDS:
        detail = "may not specify a duration larger than 2^32 seconds"
        yield invalid(at, seconds, detail)
    if not token.path:
        yield required(f"{volume}.path")
    else:
        yield from not_reserved(token.path, f"{volume}.path")


def _trust_bundle(
    bundle: core_v1.ClusterTrustBundleProjection, path: str
) -> Iterator[FieldError]:
    if bundle.name is not None and bundle.signerName is not None:
        whole = GoSyntax("core.ClusterTrustBundleProjection{...}")
        yield invalid(path, whole, "only one of name and signerName may be used")
    elif bundle.name is not None:
        if not bundle.name:
            yield required(f"{path}.name", "must be a valid object name")
        if bundle.labelSelector is not None:
            value = GoSyntax("v1.LabelSelector{...}")
            detail = "labelSelector must be unset if name is specified"
            yield invalid(f"{path}.labelSelector", value, detail)
    elif bundle.signerName is None:
        yield required(path, "either name or signerName must be specified")
    elif not bundle.signerName:
        yield required(f"{path}.signerName", "must be a valid signer name")
    if not bundle.path:
        yield required(f"{path}.path")
    yield from not_reserved(bundle.path, f"{path}.path")


def _conflict(
    file: str, taken: set[str], field: str, shown: str
) -> Iterator[FieldError]:
    """Report a duplicate path, by the name of its source or by itself."""
    if file in taken:
        yield invalid(field, shown, "conflicting duplicate paths")
    elif file:
        taken.add(file)


def _downward_file(
    file: core_v1.DownwardAPIVolumeFile, path: str
) -> Iterator[FieldError]:
    """Check one file.

    Quirk, kept: it is reported for the volume, without its index.
    """
    yield from _file_path(file.path, f"{path}.path")
    if file.fieldRef is not None:
        yield from validate_field_ref(file.fieldRef, f"{path}.fieldRef", FILES)
        if file.resourceFieldRef is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid(path, "resource", detail)
    elif file.resourceFieldRef is not None:
        at = f"{path}.resourceFieldRef"
        yield from validate_resource_ref(file.resourceFieldRef, at, is_file=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _mode(file.mode, f"{path}.mode")


def _file_path(value: str, path: str) -> Iterator[FieldError]:
    if not value:
        yield required(path)
        return
    yield from not_reserved(value, path)


def _mode(mode: int | None, path: str) -> Iterator[FieldError]:
    if mode is not None and not 0 <= mode <= _MAX_MODE:
        detail = "must be a number between 0 and 0777 (octal), both inclusive"
        yield invalid(path, mode, detail)
