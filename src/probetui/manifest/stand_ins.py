"""Stand-ins for objects of every cluster, and stubs of missing objects.

A cluster mounts into each container a volume with a token of the pod's service account
and the certificate of the API server: `kube-api-access-*` (projected) since 1.21, a
Secret before.

Difference: without a cluster they are generated; the kubelet waits until they exist.

Source: plugin/pkg/admission/serviceaccount/admission.go, v1.32.10,
TokenVolumeSource; v1.20.2, DefaultAPITokenMountPath.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence

from lightkube.models import core_v1
from msgspec.structs import replace

from probetui.k8s.volume import (
    STAND_IN_CERTIFICATE,
    STAND_IN_TOKEN,
    ConfigMap,
    ConfigObject,
    Secret,
)
from probetui.manifest.draft import PodDraft
from probetui.manifest.manifests import LoadedConfigObject, LoadedPod
from probetui.manifest.problem import Position, Problem, Severity, quote_short
from probetui.manifest.validation.references import (
    ObjectKey,
    ObjectReference,
    find_references,
)
from probetui.manifest.validation.warnings import containers_with_paths

ROOT_CA = "kube-root-ca.crt"
"""The ConfigMap that a cluster maintains in each namespace."""

SERVICE_ACCOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
"""The directory in which a cluster mounts the service account of a pod."""

STAND_IN_RULE = "cluster-stand-in"
"""The rule of the one problem about all stand-ins."""

STUB = "stub"
"""The value of each entry of a stub."""

_TOKEN_KEYS = ("ca.crt", "namespace", "token")
"""The entries of a Secret with a service account token."""

_PROJECTIONS = {
    "serviceAccountToken": "a service account token that no API server accepts",
    "clusterTrustBundle": "a trust bundle whose certificate has signed nothing",
    "podCertificate": "a pod certificate that nobody trusts",
}
"""What stands in for what only a cluster makes, by the source of a volume."""


def add_stand_ins(
    drafts: Sequence[PodDraft], objects: MutableMapping[ObjectKey, LoadedConfigObject]
) -> Iterator[Problem]:
    """Add the objects of every cluster to `objects`; one problem names all."""
    problems: dict[str, Problem] = {}
    for draft in drafts:
        injected = tuple(_injected_volumes(draft.pod))
        for reference in _absent(draft, objects):
            if reference.name == ROOT_CA or reference.path.startswith(injected):
                _add(draft, reference, objects, _stand_in_entries(draft, reference))
                what = f"{reference.kind} {quote_short(reference.name)}"
                problems.setdefault(what, _stand_in_problem(draft, reference.path))
        for path, what in _projections(draft.pod):
            problems.setdefault(what, _stand_in_problem(draft, path))
    if problems:
        first, *_ = problems.values()
        text = f"a cluster has it, here is a stand-in: {', '.join(sorted(problems))}"
        yield Problem(first.position, first.path, text, first.severity, STAND_IN_RULE)


def add_stubs(
    drafts: Sequence[PodDraft], objects: MutableMapping[ObjectKey, LoadedConfigObject]
) -> Iterator[Problem]:
    """Add a stub for each missing object; yield a problem that describes it."""
    for draft in drafts:
        absent: dict[ObjectKey, list[ObjectReference]] = {}
        for reference in _absent(draft, objects):
            absent.setdefault(_key(draft, reference), []).append(reference)
        for references in absent.values():
            first = references[0]
            keys = sorted({item.key for item in references if item.key is not None})
            _add(draft, first, objects, dict.fromkeys(keys, STUB))
            entries = f' with "{STUB}" as {", ".join(keys)}' if keys else ", empty"
            text = f"{first.kind} {quote_short(first.name)} is a stub{entries}"
            yield draft.problem(first.path, text, Severity.WARNING, "stub-missing")
        for path, claim in find_claims(draft.pod):
            name = quote_short(claim.claimName)
            text = f"PersistentVolumeClaim {name} is a stub, an empty volume"
            yield draft.problem(path, text, Severity.WARNING, "stub-missing")


def without_claims(loaded: LoadedPod) -> LoadedPod:
    """Return a pod whose claims are stubs and therefore no unsupported fields."""
    kept = (
        problem
        for problem in loaded.unsupported
        if not problem.path.endswith(".persistentVolumeClaim")
    )
    return replace(loaded, unsupported=tuple(kept))


def find_claims(
    pod: core_v1.Pod,
) -> Iterator[tuple[str, core_v1.PersistentVolumeClaimVolumeSource]]:
    """Yield the claims in a pod's volumes, with their paths."""
    for path, volume in _volumes(pod):
        if volume.persistentVolumeClaim is not None:
            yield f"{path}.persistentVolumeClaim", volume.persistentVolumeClaim


def _absent(
    draft: PodDraft, objects: MutableMapping[ObjectKey, LoadedConfigObject]
) -> list[ObjectReference]:
    """Return the required references to objects that nothing defines."""
    return [
        reference
        for reference in find_references(draft.pod)
        if not reference.is_optional and _key(draft, reference) not in objects
    ]


def _key(draft: PodDraft, reference: ObjectReference) -> ObjectKey:
    return reference.kind, draft.key[0], reference.name


def _add(
    draft: PodDraft,
    reference: ObjectReference,
    objects: MutableMapping[ObjectKey, LoadedConfigObject],
    entries: dict[str, str],
) -> None:
    namespace, name = draft.key[0], reference.name
    value: ConfigObject
    if reference.kind == ConfigMap.__name__:
        value = ConfigMap(name, namespace, entries)
    else:
        data = {key: text.encode() for key, text in entries.items()}
        value = Secret(name, namespace, data)
    position: Position = draft.position(reference.path)
    objects[_key(draft, reference)] = LoadedConfigObject(value, position)


def _stand_in_entries(draft: PodDraft, reference: ObjectReference) -> dict[str, str]:
    """Return the entries of a stand-in, including all referenced ones."""
    known = {"namespace": draft.key[0], "token": STAND_IN_TOKEN.decode()}
    named = {
        other.key
        for other in find_references(draft.pod)
        if other.key is not None and _key(draft, other) == _key(draft, reference)
    }
    usual = ("ca.crt",) if reference.kind == ConfigMap.__name__ else _TOKEN_KEYS
    return {
        key: known.get(key, STAND_IN_CERTIFICATE) for key in sorted({*usual, *named})
    }


def _stand_in_problem(draft: PodDraft, path: str) -> Problem:
    return draft.problem(path, "", Severity.WARNING, STAND_IN_RULE)


def _injected_volumes(pod: core_v1.Pod) -> Iterator[str]:
    """Yield the path prefixes of the volumes that a cluster mounts."""
    if pod.spec is None:
        return
    mounted = {
        mount.name
        for _, container in containers_with_paths(pod.spec)
        for mount in container.volumeMounts or ()
        if mount.mountPath == SERVICE_ACCOUNT_PATH
    }
    for path, volume in _volumes(pod):
        if volume.name in mounted:
            yield f"{path}."


def _projections(pod: core_v1.Pod) -> Iterator[tuple[str, str]]:
    for path, volume in _volumes(pod):
        projected = volume.projected or core_v1.ProjectedVolumeSource()
        for index, source in enumerate(projected.sources or ()):
            for name, what in _PROJECTIONS.items():
                if getattr(source, name) is not None:
                    yield f"{path}.projected.sources[{index}].{name}", what


def _volumes(pod: core_v1.Pod) -> Iterator[tuple[str, core_v1.Volume]]:
    for index, volume in enumerate((pod.spec and pod.spec.volumes) or ()):
        yield f"spec.volumes[{index}]", volume
