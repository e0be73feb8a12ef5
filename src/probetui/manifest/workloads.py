"""Kinds of objects, and the pods that workloads describe."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, cast

import msgspec
from lightkube.models import core_v1, meta_v1
from msgspec import Struct

from probetui.manifest import schema
from probetui.manifest.problem import Position, Problem, Severity, quote, quote_short
from probetui.manifest.validation.field_error import (
    FieldError,
    forbidden,
    not_supported,
    required,
)
from probetui.manifest.yaml.nodes import (
    ListNode,
    MapEntry,
    MapNode,
    ScalarNode,
    YamlNode,
    is_null,
    locate_field,
)
from probetui.suggestions import FIELD_CUTOFF, nearest

if TYPE_CHECKING:
    from lightkube.models import apps_v1

_VERSION = re.compile(
    r"(?:(?P<group>[a-z0-9.-]+)/)?v[1-9][0-9]*(?:(?:alpha|beta)[0-9]+)?"
)
_LIST = "List"


class WorkloadKind(Struct, frozen=True):
    """A kind of object that describes a pod.

    `template` is the path of the pod template, `replicas` that of their number; both
    may be empty.
    """

    kind: str
    api_version: str
    template: tuple[str, ...] = ("spec", "template")
    replicas: tuple[str, ...] = ("spec", "replicas")

    @property
    def model(self) -> type[msgspec.Struct]:
        """The model of a document of this kind."""
        model: type[msgspec.Struct] = getattr(_models(self.api_version), self.kind)
        return model

    @property
    def is_pod(self) -> bool:
        """Whether the document is a pod itself."""
        return not self.template


_JOB_TEMPLATE = ("spec", "jobTemplate", "spec")
WORKLOADS: Mapping[str, WorkloadKind] = MappingProxyType({
    workload.kind: workload
    for workload in (
        WorkloadKind("Pod", "v1", (), ()),
        WorkloadKind("PodTemplate", "v1", ("template",), ()),
        WorkloadKind("ReplicationController", "v1"),
        WorkloadKind("Deployment", "apps/v1"),
        WorkloadKind("StatefulSet", "apps/v1"),
        WorkloadKind("DaemonSet", "apps/v1", replicas=()),
        WorkloadKind("ReplicaSet", "apps/v1"),
        WorkloadKind("Job", "batch/v1", replicas=("spec", "parallelism")),
        WorkloadKind(
            "CronJob",
            "batch/v1",
            (*_JOB_TEMPLATE, "template"),
            (*_JOB_TEMPLATE, "parallelism"),
        ),
    )
})  # fmt: skip
_MODULES: Mapping[str, str] = MappingProxyType(
    {"v1": "core_v1", "apps/v1": "apps_v1", "batch/v1": "batch_v1"}
)
_OWN_GROUPS = frozenset({"", "apps", "batch", "extensions"})
_JOBS = frozenset({"Job", "CronJob"})


class WorkloadObject(Struct, frozen=True):
    """An object that describes a pod; `path` is its own path in the document."""

    workload: WorkloadKind
    node: MapNode
    path: str = ""

    @property
    def name(self) -> str:
        """The object's own name, as written."""
        return name_of(self.node)

    @property
    def namespace(self) -> str:
        """The namespace as written, empty where there is none."""
        metadata = self.node.get("metadata")
        return metadata.text("namespace") if isinstance(metadata, MapNode) else ""

    def position(self, field: str) -> Position:
        """Return the position of a field of the pod in its file."""
        return locate_field(self.node, object_path(self.workload, field))

    @property
    def has_selector(self) -> bool:
        """Whether the object names a selector, which may be empty."""
        node: YamlNode | None = self.node
        for key in (*self.workload.template[:-1], "selector"):
            node = node.get(key) if isinstance(node, MapNode) else None
        return node is not None and not is_null(node)

    def problem(
        self, field: str, message: str, severity: Severity, rule: str
    ) -> Problem:
        """Return a problem with a field of the pod, with the path in its document."""
        path = object_path(self.workload, field)
        return self.own_problem(path, message, severity, rule)

    def own_problem(
        self, field: str, message: str, severity: Severity, rule: str
    ) -> Problem:
        """Return a problem with a field of the object itself."""
        whole = f"{self.path}.{field}" if self.path else field
        position = locate_field(self.node, field)
        return Problem(position, whole, message, severity, rule)


class OtherObject(Struct, frozen=True):
    """An object that describes no pod."""

    api_version: str
    kind: str
    node: MapNode

    @property
    def name(self) -> str:
        """The object's name, as written."""
        return name_of(self.node)


class ListObject(Struct, frozen=True):
    """The items of a list, treated as documents."""

    items: tuple[YamlNode, ...]


Classified = WorkloadObject | OtherObject | ListObject | Problem


def classify_object(node: YamlNode, path: str = "") -> Classified:
    """Classify an object by its `apiVersion` and `kind`, or return the problem."""
    if not isinstance(node, MapNode):
        message = (
            "a Kubernetes object is a mapping that begins with apiVersion and kind"
        )
        return Problem(node.position, path, message, rule="kind")
    for field, example in (("kind", "Pod"), ("apiVersion", "v1")):
        if not node.text(field):
            return _missing(node, path, field, example)
    api_version, kind = node.text("apiVersion"), node.text("kind")
    version = _VERSION.fullmatch(api_version)
    if version is None or (version["group"] or "") in _OWN_GROUPS:
        return _classify_own(node, path, api_version, kind)
    return OtherObject(api_version, kind, node)


def extract_pod(workload: WorkloadKind, decoded: msgspec.Struct) -> core_v1.Pod:
    """Return the pod that a workload describes, with its name and namespace."""
    if workload.is_pod:
        return cast("core_v1.Pod", decoded)
    template = cast(
        "core_v1.PodTemplateSpec | None", _get_nested(decoded, workload.template)
    )
    template = template or core_v1.PodTemplateSpec()
    own = cast("meta_v1.ObjectMeta | None", _get_nested(decoded, ("metadata",)))
    own = own or meta_v1.ObjectMeta()
    written = template.metadata or meta_v1.ObjectMeta()
    metadata = meta_v1.ObjectMeta(
        name=_pod_name(workload, decoded, own.name or ""),
        namespace=own.namespace,
        labels=written.labels,
        annotations=written.annotations,
    )
    spec = template.spec
    if workload.kind == "StatefulSet" and spec is not None:
        stateful_set = cast("apps_v1.StatefulSet", decoded)
        spec.volumes = _with_claims(stateful_set, spec, metadata.name or "")
    return core_v1.Pod(apiVersion="v1", kind="Pod", metadata=metadata, spec=spec)


def count_replicas(workload: WorkloadKind, decoded: msgspec.Struct) -> int:
    """Return the replicas of a workload, 1 by default."""
    count = _get_nested(decoded, workload.replicas) if workload.replicas else 1
    return count if isinstance(count, int) else 1


def validate_template(
    workload: WorkloadKind, pod: core_v1.Pod
) -> tuple[FieldError, ...]:
    """Validate the limits of workloads on pods; `pod` has its defaults.

    Source: pkg/apis/apps/validation/validation.go, pkg/apis/batch/validation/
    validation.go, v1.32.10.
    """
    if workload.template in {(), ("template",)} or pod.spec is None:
        return ()
    policy = pod.spec.restartPolicy or ""
    if workload.kind in _JOBS:
        if policy != "Always":
            return ()
        return (required("spec.restartPolicy", 'valid values: "OnFailure", "Never"'),)
    problems = []
    if policy != "Always":
        problems.append(not_supported("spec.restartPolicy", policy, ("Always",)))
    if pod.spec.activeDeadlineSeconds is not None:
        detail = f"activeDeadlineSeconds in {workload.kind} is not Supported"
        problems.append(forbidden("spec.activeDeadlineSeconds", detail))
    return tuple(problems)


def object_path(workload: WorkloadKind, field: str) -> str:
    """Return the path of a pod's field in its workload."""
    if field in {"metadata.name", "metadata.namespace"}:
        return field
    return ".".join((*workload.template, field))


def name_of(node: MapNode) -> str:
    """Return `metadata.name` as written, empty where there is none."""
    metadata = node.get("metadata")
    return metadata.text("name") if isinstance(metadata, MapNode) else ""


def _classify_own(node: MapNode, path: str, api_version: str, kind: str) -> Classified:
    """Classify an object of an API group with known kinds."""
    workload = WORKLOADS.get(kind)
    if workload is not None:
        if api_version == workload.api_version:
            return WorkloadObject(workload, node, path)
        message = (
            f"is {quote_short(api_version)}, must be {quote(workload.api_version)}"
            f" for a {kind}"
        )
        return _at(node, path, "apiVersion", message)
    module = _models(api_version)
    if module is None:
        message = f"unknown API version {quote_short(api_version)}"
        return _at(node, path, "apiVersion", message)
    if kind == _LIST or (kind.endswith(_LIST) and _is_kind(module, kind)):
        return _list(node, path, api_version, kind)
    if not _is_kind(module, kind):
        kinds = (name for name in dir(module) if _is_kind(module, name))
        known = nearest(kind, kinds, cutoff=FIELD_CUTOFF)
        hint = f" (did you mean {quote(known)}?)" if known else ""
        message = f"no kind {quote_short(kind)} in {api_version}{hint}"
        return _at(node, path, "kind", message)
    return OtherObject(api_version, kind, node)


def _list(node: MapNode, path: str, api_version: str, kind: str) -> Classified:
    items = node.get("items")
    if items is None:
        return ListObject(())
    if not isinstance(items, ListNode):
        return _at(node, path, "items", "must be a list (lines that begin with `- `)")
    if kind == _LIST:
        return ListObject(items.items)
    given = {"apiVersion": api_version, "kind": kind.removesuffix(_LIST)}
    return ListObject(tuple(_with_kind(item, given) for item in items.items))


def _with_kind(node: YamlNode, given: Mapping[str, str]) -> YamlNode:
    """Add the apiVersion and kind that an item of a typed list leaves out."""
    if not isinstance(node, MapNode):
        return node
    for key, value in given.items():
        if node.get(key) is None:
            scalar = ScalarNode(value, value, node.position)
            node = node.with_entry(MapEntry(key, node.position, scalar))
    return node


def _missing(node: MapNode, path: str, field: str, example: str) -> Problem:
    if node.get(field) is not None:
        return _at(node, path, field, "must be a string")
    message = f"is missing, set it as in `{field}: {example}`"
    return _at(node, path, field, message)


def _at(node: MapNode, path: str, field: str, message: str) -> Problem:
    position: Position = locate_field(node, field)
    whole = f"{path}.{field}" if path else field
    return Problem(position, whole, message, rule="kind")


def _is_kind(module: ModuleType, name: str) -> bool:
    model = getattr(module, name, None)
    if not isinstance(model, type) or not issubclass(model, msgspec.Struct):
        return False
    return {"apiVersion", "kind", "metadata"} <= schema.fields_of(model).keys()


def _models(api_version: str) -> ModuleType | None:
    """Return the module of a version's kinds, imported on first use."""
    name = _MODULES.get(api_version)
    return None if name is None else import_module(f"lightkube.models.{name}")


def _get_nested(value: object, attributes: tuple[str, ...]) -> object:
    return reduce(lambda owner, name: getattr(owner, name, None), attributes, value)


def _with_claims(
    stateful_set: apps_v1.StatefulSet, spec: core_v1.PodSpec, pod_name: str
) -> list[core_v1.Volume]:
    """Return a pod's volumes with the claims of its StatefulSet.

    Source: pkg/controller/statefulset/stateful_set_utils.go, v1.32.10, updateStorage.
    """
    templates = stateful_set.spec.volumeClaimTemplates
    claims = [
        core_v1.Volume(
            name=name,
            persistentVolumeClaim=core_v1.PersistentVolumeClaimVolumeSource(
                claimName=f"{name}-{pod_name}"
            ),
        )
        for template in templates or ()
        if template.metadata is not None and (name := template.metadata.name)
    ]
    claimed = {claim.name for claim in claims}
    return claims + [
        volume for volume in spec.volumes or () if volume.name not in claimed
    ]


def _pod_name(workload: WorkloadKind, decoded: msgspec.Struct, name: str) -> str:
    """Return the workload's name, with the first ordinal for a StatefulSet.

    The suffixes of all other pods are random in a cluster.
    """
    if workload.kind != "StatefulSet" or not name:
        return name
    start = _get_nested(decoded, ("spec", "ordinals", "start"))
    return f"{name}-{start if isinstance(start, int) else 0}"
