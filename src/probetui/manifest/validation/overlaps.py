"""The API server's warnings about overlapping files in volumes.

Source: pkg/api/pod/warnings.go, v1.32.10, warningsForPodSpecAndMeta; since 1.33,
warningsForOverlappingVirtualPaths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lightkube.models import core_v1
from msgspec import Struct

from probetui.manifest.problem import quote
from probetui.manifest.validation.field_error import ApiWarning


class _File(Struct, frozen=True):
    """The path of a file in a volume, and its source, empty if it is obvious."""

    path: str
    source: str = ""

    def __str__(self) -> str:
        source = f" ({self.source})" if self.source else ""
        return f"{quote(self.path)}{source}"


def overlapping_paths(volume: core_v1.Volume) -> Iterator[ApiWarning]:
    """Yield files with equal paths, or with one path inside the other.

    The API server names the volume, not its field; the field is ours.
    """
    name = f"volume {quote(volume.name)}"
    kind, files = _files(volume)
    for pair in _overlaps(files):
        yield ApiWarning("", f"{name} ({kind}): overlapping paths: {pair}")
    for source in (volume.projected.sources or ()) if volume.projected else ():
        if not _has_source(source):
            yield ApiWarning("", f"{name} (Projected) has no sources provided")


def files_under_tokens(volumes: Iterable[core_v1.Volume]) -> Iterator[ApiWarning]:
    """Yield projected files with the path of a token, in any volume."""
    projected = [
        (index, source)
        for index, volume in enumerate(volumes)
        for source in (volume.projected.sources or () if volume.projected else ())
    ]
    tokens = {
        source.serviceAccountToken.path
        for _, source in projected
        if source.serviceAccountToken is not None
    }
    for index, source in projected:
        for where, path in _projected_paths(source):
            if path in tokens:
                text = f"has duplicated path with ServiceAccountToken {quote(path)}"
                yield ApiWarning(f"[{index}].projected.sources.{where}", text)


def _overlaps(files: Iterable[_File]) -> Iterator[str]:
    earlier: list[_File] = []
    for written in files:
        file = _File(written.path.rstrip("/"), written.source)
        for other in earlier:
            if _is_within(file.path, other.path) or _is_within(other.path, file.path):
                yield f"{file} with {other}"
        earlier.append(file)


def _is_within(path: str, folder: str) -> bool:
    return bool(path and folder) and f"{path}/".startswith(f"{folder}/")


def _files(volume: core_v1.Volume) -> tuple[str, list[_File]]:
    """Return the kind of a volume, and the files of its items."""
    if volume.configMap is not None:
        kind = f"ConfigMap {quote(volume.configMap.name or '')}"
        return kind, _items(volume.configMap.items)
    if volume.secret is not None:
        kind = f"Secret {quote(volume.secret.secretName or '')}"
        return kind, _items(volume.secret.items)
    if volume.downwardAPI is not None:
        return "DownwardAPI", _items(volume.downwardAPI.items)
    sources = (volume.projected.sources or ()) if volume.projected else ()
    return "Projected", [file for source in sources for file in _projected(source)]


def _items(
    items: Iterable[core_v1.KeyToPath | core_v1.DownwardAPIVolumeFile] | None,
    source: str = "",
) -> list[_File]:
    return [_File(item.path, source) for item in items or ()]


def _projected(source: core_v1.VolumeProjection) -> Iterator[_File]:
    if source.configMap is not None and source.configMap.items is not None:
        name = f"ConfigMap {quote(source.configMap.name or '')}"
        yield from _items(source.configMap.items, name)
    elif source.secret is not None and source.secret.items is not None:
        name = f"Secret {quote(source.secret.name or '')}"
        yield from _items(source.secret.items, name)
    elif source.downwardAPI is not None and source.downwardAPI.items is not None:
        yield from _items(source.downwardAPI.items, "DownwardAPI")
    elif source.serviceAccountToken is not None:
        yield _File(source.serviceAccountToken.path, "ServiceAccountToken")
    elif source.clusterTrustBundle is not None:
        bundle = source.clusterTrustBundle
        name = bundle.name if bundle.name is not None else bundle.signerName or ""
        yield _File(bundle.path, f"ClusterTrustBundle {quote(name)}")
    elif source.podCertificate is not None:
        certificate = source.podCertificate
        for path, what in (
            (certificate.certificateChainPath, "chain"),
            (certificate.keyPath, "key"),
            (certificate.credentialBundlePath, "credential bundle"),
        ):
            if path:
                yield _File(path, f"PodCertificate {what}")


def _has_source(source: core_v1.VolumeProjection) -> bool:
    return any(
        part is not None
        for part in (
            source.secret,
            source.configMap,
            source.downwardAPI,
            source.serviceAccountToken,
            source.clusterTrustBundle,
            source.podCertificate,
        )
    )


def _projected_paths(source: core_v1.VolumeProjection) -> Iterator[tuple[str, str]]:
    """Yield the paths of a source's files, with the API server's source names."""
    for name, part in (
        ("configMap", source.configMap),
        ("secrets", source.secret),
        ("downwardAPI", source.downwardAPI),
    ):
        for index, file in enumerate(_items(part.items if part is not None else None)):
            yield f"{name}[{index}]", file.path
    if source.clusterTrustBundle is not None:
        yield "ClusterTrustBundle", source.clusterTrustBundle.path
