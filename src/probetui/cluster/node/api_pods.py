"""Conversion of the API server's pods, with the objects that they refer to.

They are loaded as manifests: the JSON is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import msgspec
from lightkube.models import core_v1
from msgspec import Struct
from msgspec.structs import replace

from probetui.cluster.api_objects import UnreadableObjectError, read_object
from probetui.cluster.client import ApiClient, Object, Resource
from probetui.cluster.errors import ApiError, ClusterError
from probetui.k8s.api.pod import POD
from probetui.k8s.pod_source import CONFIG_MIRROR
from probetui.k8s.status import PodPhase
from probetui.k8s.volume import ConfigMap, Secret
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import FieldValidation, LoadedConfigObject, LoadedPod
from probetui.manifest.problem import Position
from probetui.manifest.stand_ins import STAND_IN_RULE
from probetui.manifest.validation.references import (
    ObjectKey,
    find_references,
    pull_secret_names,
)
from probetui.manifest.yaml.parser import SourceFile

_KINDS = {"ConfigMap": Resource("configmaps"), "Secret": Resource("secrets")}
_VALUES: Mapping[str, type[ConfigMap | Secret]] = {
    "ConfigMap": ConfigMap,
    "Secret": Secret,
}
_MODELS: Mapping[str, type[Struct]] = {
    "ConfigMap": core_v1.ConfigMap,
    "Secret": core_v1.Secret,
}
_NOT_FOUND = 404
_OF_THE_SERVER = frozenset({401, 429, 502, 503, 504})
"""Statuses of answers that are about the server or its user, not about one object."""
_CHANGES_ALONE = frozenset({"managedFields", "resourceVersion"})


class ReadPod(Struct, frozen=True):
    """The result of reading a pod of the API server.

    `loaded` is None if it cannot run; `problems` has the reasons. `stand_ins` names the
    cluster objects that are replaced by stand-ins, empty for none.
    """

    loaded: LoadedPod | None
    objects: tuple[LoadedConfigObject, ...] = ()
    problems: tuple[str, ...] = ()
    stand_ins: str = ""


def is_mirror(pod: Object) -> bool:
    """Return whether a pod is the mirror of a static pod."""
    return CONFIG_MIRROR in (pod["metadata"].get("annotations") or {})


def has_ended(pod: Object) -> bool:
    """Return whether a pod's phase is final."""
    return (pod.get("status") or {}).get("phase") in {
        PodPhase.SUCCEEDED,
        PodPhase.FAILED,
    }


class PodReader:
    """Reads pods; a change of the status alone returns the same value.

    Args:
        rules: those of the kubelet's version.
        node_name: the node's name.
    """

    def __init__(self, rules: KubeletRules, node_name: str) -> None:
        self._rules = rules
        self._node_name = node_name
        self._read: dict[str, tuple[object, ReadPod]] = {}

    def read(self, pod: Object, objects: Mapping[ObjectKey, Object | None]) -> ReadPod:
        """Read a pod with the objects that it refers to.

        Args:
            pod: the API server's pod.
            objects: the existing objects; None for one that the API server refuses.
        """
        metadata = pod["metadata"]
        keys = [key for key in sorted(object_keys(pod)) if key in objects]
        wanted = [value for key in keys if (value := objects[key]) is not None]
        refused = [key for key in keys if objects[key] is None]
        content = (_without_status(pod), wanted, refused)
        earlier = self._read.get(metadata["uid"])
        if earlier is not None and earlier[0] == content:
            return earlier[1]
        name = f"{metadata.get('namespace', 'default')}/{metadata['name']}"
        plain = {**pod, "apiVersion": "v1", "kind": "Pod"}
        sources = [
            SourceFile(name, msgspec.json.encode(plain)),
            *(
                SourceFile(_title(reference), msgspec.json.encode(reference))
                for reference in wanted
            ),
        ]
        manifests = load_manifests(
            sources,
            validation=FieldValidation.IGNORE,
            rules=self._rules,
            host=self._node_name,
        )
        loaded = next(iter(manifests.loaded), None)
        read = ReadPod(
            None if loaded is None else _with_server_fields(loaded, metadata),
            (*manifests.objects, *map(_refused_object, refused)),
            tuple(str(error) for error in manifests.errors),
            "".join(
                problem.message
                for problem in manifests.problems
                if problem.rule == STAND_IN_RULE
            ),
        )
        if loaded is None and earlier is not None:
            # A change that cannot be applied must not stop a running pod.
            read = replace(earlier[1], problems=read.problems)
        self._read[metadata["uid"]] = content, read
        return read

    def forget_others(self, uids: Iterable[str]) -> None:
        """Forget all pods but these."""
        kept = set(uids)
        self._read = {uid: read for uid, read in self._read.items() if uid in kept}


async def fetch_objects(
    api: ApiClient,
    pods: Iterable[Object],
    on_failure: Callable[[ClusterError], None],
) -> dict[ObjectKey, Object | None]:
    """Fetch the ConfigMaps and Secrets that pods refer to; skip missing ones.

    Invalid ones are skipped, too. One that the API server refuses is None: only the
    pods that need it wait for it. `on_failure` is called for both.

    Raises:
        ClusterError: the API server does not answer, or refuses every request now.
    """
    keys = {key for pod in pods for key in object_keys(pod)}
    objects: dict[ObjectKey, Object | None] = {}
    for key in sorted(keys):
        kind, namespace, name = key
        try:
            value = await api.get(_KINDS[kind], namespace, name)
        except ApiError as error:
            if error.code in _OF_THE_SERVER:
                raise
            if error.code != _NOT_FOUND:
                on_failure(error)
                objects[key] = None
            continue
        try:
            read_object(_MODELS[kind], value)
        except UnreadableObjectError as error:
            on_failure(error)
            continue
        value["metadata"].pop("managedFields", None)
        objects[key] = {**value, "apiVersion": "v1", "kind": kind}
    return objects


def object_keys(pod: Object) -> set[ObjectKey]:
    """Return the kind, namespace and name of each object that a pod refers to."""
    namespace = pod["metadata"].get("namespace", "default")
    spec = {"spec": pod.get("spec") or {}}
    model = cast("core_v1.Pod", core_v1.Pod.from_dict(spec))
    return {
        (reference.kind, namespace, reference.name)
        for reference in find_references(model)
        if reference.kind in _KINDS
    } | {("Secret", namespace, name) for name in pull_secret_names(model)}


def _refused_object(key: ObjectKey) -> LoadedConfigObject:
    kind, namespace, name = key
    value = _VALUES[kind](name, namespace, is_refused=True)
    return LoadedConfigObject(value, Position(f"{kind} {namespace}/{name}"))


def _with_server_fields(loaded: LoadedPod, metadata: Mapping[str, Any]) -> LoadedPod:
    """Return a pod with the fields that the API server sets: times and generation."""
    at_server = POD.read({"metadata": metadata})
    pod = replace(
        loaded.pod,
        created_at=at_server.created_at,
        deletion_requested_at=at_server.deletion_requested_at,
        deletion_grace_period_seconds=at_server.deletion_grace_period_seconds,
        generation=at_server.generation,
    )
    return replace(loaded, pod=pod)


def _without_status(pod: Object) -> Object:
    """Return a pod without its status, except the conditions of its readiness gates."""
    metadata = {
        key: value
        for key, value in pod["metadata"].items()
        if key not in _CHANGES_ALONE
    }
    gates = {
        gate.get("conditionType") for gate in pod["spec"].get("readinessGates") or ()
    }
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return {
        "metadata": metadata,
        "spec": pod["spec"],
        "gates": [
            condition for condition in conditions if condition.get("type") in gates
        ],
    }


def _title(value: Object) -> str:
    metadata = value["metadata"]
    return f"{value['kind']} {metadata.get('namespace')}/{metadata.get('name')}"
