"""Pod drafts: a pod during loading, from decoding to validation."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator

import msgspec
from lightkube.models import core_v1, meta_v1
from msgspec import Struct, field
from msgspec.structs import replace

from probetui.k8s.api.pod import POD
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import CONFIG_HASH, FILE_SOURCE, HTTP_SOURCE
from probetui.k8s.status import ConditionStatus, PodCondition
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest import defaults, supported_fields, workloads
from probetui.manifest.admission import prepare_pod, unique_owners
from probetui.manifest.decode import decode
from probetui.manifest.edit.set_option import SetOption, apply_set_option
from probetui.manifest.manifests import FieldValidation, LoadedPod
from probetui.manifest.problem import Position, Problem, Severity, quote_short
from probetui.manifest.validation import messages, pod, warnings
from probetui.manifest.validation.api_warnings import find_api_warnings
from probetui.manifest.validation.names import MAX_LABEL
from probetui.manifest.validation.warnings import find_oversized_values
from probetui.manifest.version_fields import drop_disabled_fields
from probetui.manifest.workloads import WorkloadObject
from probetui.manifest.yaml import dump
from probetui.manifest.yaml.nodes import (
    MapEntry,
    MapNode,
    YamlDocument,
    YamlNode,
    join_path,
    split_path,
)
from probetui.manifest.yaml.parser import SourceFile

_SERVER_METADATA = ("deletionTimestamp", "deletionGracePeriodSeconds", "generation")
_UID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,126}")


class PodManifest(Struct, frozen=True):
    """An object that describes a pod, with its document and file."""

    object: WorkloadObject
    document: YamlDocument
    source: SourceFile

    @property
    def template(self) -> YamlNode | None:
        """The part of the object that describes the pod."""
        node: YamlNode | None = self.object.node
        for key in self.object.workload.template:
            node = node.get(key) if isinstance(node, MapNode) else None
        return node

    def apply_setting(self, setting: SetOption) -> PodManifest:
        """Return a copy with a `--set` applied; raises `SetOptionError`."""
        template = self.template
        if not isinstance(template, MapNode):
            template = MapNode((), setting.position)
        node = _with_template(
            self.object.node,
            self.object.workload.template,
            apply_set_option(setting, template),
        )
        return replace(self, object=replace(self.object, node=node))


class PodDraft(Struct):
    """A pod during loading; owned by the loader.

    `unreadable` are the paths of fields that could not be decoded. `is_refused` where
    an error is reported elsewhere: a duplicate key in its document, a name that
    another pod has. `workload` is the decoded object whose template the pod is of.
    """

    manifest: PodManifest
    pod: core_v1.Pod
    replicas: int
    problems: list[Problem]
    unreadable: frozenset[tuple[str, ...]] = frozenset()
    metadata: meta_v1.ObjectMeta = field(default_factory=meta_v1.ObjectMeta)
    is_refused: bool = False
    rules: KubeletRules = PORTED_RULES
    workload: msgspec.Struct | None = None
    _parents: frozenset[tuple[str, ...]] = frozenset()

    def __post_init__(self) -> None:
        """Compute the paths that contain an unreadable field."""
        self._parents = frozenset(
            path[:length] for path in self.unreadable for length in range(len(path) + 1)
        )

    @property
    def is_derived(self) -> bool:
        """Whether the pod comes from a workload's template."""
        return not self.manifest.object.workload.is_pod

    @property
    def is_stored(self) -> bool:
        """Whether the pod is from an API server, as of `kubectl get -o yaml`."""
        return self.metadata.creationTimestamp is not None

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name, which are unique."""
        return self.metadata.namespace or "default", self.metadata.name or ""

    def set_apart(self, suffix: str) -> None:
        """Move the pod to a suffixed namespace and clear its uid."""
        self.metadata.namespace = suffixed_namespace(self.key[0], suffix)
        self.metadata.uid = None

    def position(self, path: str) -> Position:
        """Return the position of a field of the pod in its file."""
        return self.manifest.object.position(path)

    def is_unreadable(self, path: str) -> bool:
        """Return whether the field, or one around or below it, could not be decoded."""
        ours = tuple(split_path(path))
        if ours in self._parents:
            return True
        return any(ours[:length] in self.unreadable for length in range(len(ours)))

    def problem(
        self, path: str, message: str, severity: Severity, rule: str
    ) -> Problem:
        """Return a problem with a field of the pod, with the path in its document."""
        return self.manifest.object.problem(path, message, severity, rule)

    def api_warning(self, path: str, text: str) -> Problem:
        """Return a warning of the API server's about a field of the pod."""
        return self.problem(path, text, Severity.WARNING, "api-warning")


def draft_pod(
    manifest: PodManifest,
    validation: FieldValidation,
    namespace: str | None,
    rules: KubeletRules = PORTED_RULES,
) -> PodDraft:
    """Decode one object and set its defaults."""
    own = manifest.object
    decoded = decode(
        own.node,
        own.workload.model,
        own.path,
        rules.version,
        embeds=rules.names_embedded,
    )
    pod = workloads.extract_pod(own.workload, decoded.value)
    dropped = drop_disabled_fields(pod, rules)
    defaults.set_defaults(pod)
    metadata = pod.metadata = pod.metadata or meta_v1.ObjectMeta()
    if namespace:
        metadata.namespace = namespace
    warned = list(unique_owners(metadata))
    if own.workload.is_pod and not metadata.uid:
        # Admission changes the pods of a template, not the template; an object with a
        # uid was changed when it got that.
        prepare_pod(pod, rules)
    unknown = decoded.unknown_problems(validation.severity)
    draft = PodDraft(
        manifest,
        pod,
        workloads.count_replicas(own.workload, decoded.value),
        [*decoded.problems, *unknown],
        frozenset(_steps_in_pod(own, problem.path) for problem in decoded.problems),
        metadata,
        bool(manifest.document.duplicates) and validation is FieldValidation.STRICT,
        rules,
        None if own.workload.is_pod else decoded.value,
    )
    draft.problems += [draft.api_warning(path, text) for path, text in warned]
    if draft.is_stored and pod.spec is not None:
        # They were added to the running pod, and end with it.
        pod.spec.ephemeralContainers = None
    if validation.severity is not None:
        what = f"its feature gate is off in Kubernetes {rules.version}"
        draft.problems += [
            draft.problem(path, what + consequence, Severity.WARNING, "disabled-field")
            for path, consequence in dropped
        ]
    return draft


def suffixed_namespace(namespace: str, suffix: str) -> str:
    """Return a namespace with a suffix, truncated to the allowed length."""
    return namespace[: MAX_LABEL - len(suffix)] + suffix


def assign_identity(draft: PodDraft, host: str) -> None:
    """Set a missing uid, and the name for a `generateName`.

    A static pod gets the suffix and annotations that distinguish it on its node.
    """
    metadata, source = draft.metadata, draft.manifest.source
    if not metadata.uid:
        metadata.uid = pod_uid(draft.pod, host, source)
    if source.is_static:
        _make_static(draft, host)
    elif not metadata.name and metadata.generateName:
        base = metadata.generateName
        metadata.name = generate_name(base, metadata.uid)


def _make_static(draft: PodDraft, host: str) -> None:
    """Set the name, annotation, node and toleration of a static pod.

    Source: kubelet/config/common.go, v1.32.10, applyDefaults.
    """
    metadata, spec, node = draft.metadata, draft.pod.spec, host.lower()
    if metadata.name:
        metadata.name = f"{metadata.name}-{node}"
    annotations = metadata.annotations or {}
    metadata.annotations = {**annotations, CONFIG_HASH: metadata.uid or ""}
    if spec is None:
        return
    spec.nodeName = node
    if draft.manifest.source.kubelet_source == FILE_SOURCE:
        stays = core_v1.Toleration(operator="Exists", effect="NoExecute")
        spec.tolerations = [
            toleration for toleration in spec.tolerations or () if toleration != stays
        ] + [stays]


def finish_draft(draft: PodDraft) -> LoadedPod | None:
    """Validate a pod and return its value, None if it cannot be run.

    Errors and warnings are added to the draft's problems.
    """
    draft.problems += _errors(draft)
    draft.problems += _warnings(draft)
    is_bad = any(problem.severity is Severity.ERROR for problem in draft.problems)
    if is_bad or draft.is_refused:
        return None
    manifest = draft.manifest
    own = manifest.object
    if draft.is_derived:
        prepare_pod(draft.pod, draft.rules)
    if draft.rules.app_armor_fields and draft.metadata.annotations:
        _name_profiles(draft.pod)
    path = join_steps(own.path, *own.workload.template)
    unknown = {
        problem.path for problem in draft.problems if problem.rule == "unknown-field"
    }
    fields = [
        problem
        for problem in supported_fields.unsupported_fields(
            manifest.template or own.node, path
        )
        if problem.path not in unknown
    ]
    return LoadedPod(
        pod=build_pod(draft.pod),
        position=own.node.position,
        manifest=dump.dump_pod(draft.pod),
        object=own,
        source=manifest.source,
        unsupported=(*fields, *supported_fields.unsupported_claims(own.node, own.path)),
        conditions=() if manifest.source.is_static else api_conditions(draft),
    )


def _name_profiles(pod: core_v1.Pod) -> None:
    # Late: few pods have a profile.
    from probetui.manifest.validation.app_armor import (  # noqa: PLC0415
        annotations_to_fields,
    )

    annotations_to_fields(pod)


def api_conditions(draft: PodDraft) -> tuple[PodCondition, ...]:
    """Return the relevant conditions of a pod: of readiness gates, and Ready.

    In a cluster, the controller of a gate sets its condition. Ready is the last
    kubelet's, which the next one may keep.
    """
    spec, status = draft.pod.spec, draft.pod.status
    if spec is None or status is None:
        return ()
    gates = {gate.conditionType for gate in spec.readinessGates or ()}
    if draft.is_stored:
        gates.add("Ready")
    return tuple(
        PodCondition(
            condition.type,
            ConditionStatus(condition.status),
            condition.reason or "",
            condition.message or "",
        )
        for condition in status.conditions or ()
        if condition.type in gates and condition.status in set(ConditionStatus)
    )


def build_pod(model: core_v1.Pod) -> Pod:
    """Convert the model of a valid, defaulted pod to a `Pod`.

    The API server's own fields are omitted, except the age: pods added together are
    added in that order.
    """
    json = model.to_dict()
    for key in _SERVER_METADATA:
        json.get("metadata", {}).pop(key, None)
    return POD.read(json)


def join_steps(path: str, *keys: str) -> str:
    """Extend a path by several keys."""
    for key in keys:
        path = join_path(path, key)
    return path


def _errors(draft: PodDraft) -> Iterator[Problem]:
    workload = draft.manifest.object.workload
    is_admitted = not draft.manifest.source.is_static
    errors = (
        *pod.validate_pod(draft.pod, rules=draft.rules, is_admitted=is_admitted),
        *workloads.validate_template(workload, draft.pod),
    )
    for field_error in errors:
        if not draft.is_unreadable(field_error.field):
            yield draft.problem(
                field_error.field,
                messages.format_field_error(field_error),
                Severity.ERROR,
                field_error.type.value,
            )
    if draft.workload is not None:
        yield from _workload_errors(draft)
    for warning in find_oversized_values(draft.pod):
        if not draft.is_unreadable(warning.path):
            yield draft.problem(
                warning.path, warning.message, Severity.ERROR, warning.rule
            )
    uid = draft.metadata.uid or ""
    if not _UID.fullmatch(uid):
        message = f"is {quote_short(uid)}, must be letters, digits, '-', '_' and '.'"
        yield draft.problem("metadata.uid", message, Severity.ERROR, "uid")


def _workload_errors(draft: PodDraft) -> Iterator[Problem]:
    # Late: many files have pods alone.
    from probetui.manifest.validation.workload import (  # noqa: PLC0415
        validate_workload,
    )

    own = draft.manifest.object
    errors = validate_workload(
        draft.workload, draft.rules, has_selector=own.has_selector
    )
    for error in errors:
        if not draft.is_unreadable(error.field):
            message = messages.format_field_error(error)
            yield own.own_problem(
                error.field, message, Severity.ERROR, error.type.value
            )


def _warnings(draft: PodDraft) -> Iterator[Problem]:
    for warning in warnings.lint_pod(draft.pod, draft.rules):
        if not draft.is_unreadable(warning.path):
            yield draft.problem(
                warning.path, warning.message, Severity.WARNING, warning.rule
            )
    name = "the Pod's hostname"
    if draft.is_derived:
        # Of other kinds, only the template is checked.
        is_named = draft.manifest.object.workload.kind in _WARNED_OF_NAMES
        name = "Pod names and hostnames" if is_named else ""
    for path, text in find_api_warnings(draft.pod, draft.rules, named_after=name):
        yield draft.api_warning(path, text)
    if draft.workload is not None:
        yield from _workload_warnings(draft)


def _workload_warnings(draft: PodDraft) -> Iterator[Problem]:
    # Late: many files have pods alone.
    from probetui.manifest.validation.workload import (  # noqa: PLC0415
        find_workload_warnings,
    )

    own = draft.manifest.object
    for path, text in find_workload_warnings(draft.workload, draft.rules):
        yield own.own_problem(path, text, Severity.WARNING, "api-warning")


_WARNED_OF_NAMES = frozenset({
    "CronJob", "Deployment", "Job", "ReplicaSet", "ReplicationController",
})  # fmt: skip
"""The workloads whose name, if it is no DNS label, the API server warns of."""


def _steps_in_pod(own: WorkloadObject, path: str) -> tuple[str, ...]:
    """Return the steps from the pod to a field, given its path in the document."""
    from_object = tuple(split_path(path))[len(tuple(split_path(own.path))) :]
    template = own.workload.template
    if from_object[: len(template)] == template:
        return from_object[len(template) :]
    return from_object


def _with_template(node: MapNode, keys: tuple[str, ...], template: MapNode) -> MapNode:
    if not keys:
        return template
    old = node.entry(keys[0])
    below = old.value if old is not None and isinstance(old.value, MapNode) else None
    inner = below or MapNode((), template.position)
    changed = _with_template(inner, keys[1:], template)
    position = old.position if old is not None else template.position
    return node.with_entry(MapEntry(keys[0], position, changed))


_GENERATED = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of generated names, which cannot spell a word."""
_SUFFIX = 5
_MAX_BASE = 63 - _SUFFIX


def _json_of(pod: core_v1.Pod) -> bytes:
    """Return a pod as canonical JSON; bytes that are not UTF-8 are allowed."""
    try:
        return msgspec.json.encode(pod, order="deterministic")
    except UnicodeEncodeError:
        # Lone surrogates are from an option that is not UTF-8; it is refused later.
        return json.dumps(msgspec.to_builtins(pod), sort_keys=True).encode()


def pod_uid(pod: core_v1.Pod, host: str, source: SourceFile) -> str:
    """Return the uid of a pod from a file: 32 hexadecimal digits.

    The same content on the same host from the same file has the same uid, so that an
    earlier run's containers are recognized; any change gives a new uid.

    Difference: the kubelet hashes Go's dump of the pod, we its JSON.

    Source: pkg/kubelet/config/common.go, v1.32.10, applyDefaults.
    """
    digest = hashlib.md5(_json_of(pod), usedforsecurity=False)
    location = source.location or source.name
    place = f"host:{host}file:{location}"
    if source.kubelet_source == HTTP_SOURCE:
        place = f"url:{location}"
    digest.update(place.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def generate_name(base: str, uid: str) -> str:
    """Return a name for `generateName`, in the form of an API server's.

    Difference: it follows from the uid instead of chance, so that it stays.

    Source: k8s.io/apiserver v0.32.10, pkg/storage/names/generate.go.
    """
    number = int(hashlib.sha256(uid.encode("utf-8", "surrogatepass")).hexdigest(), 16)
    letters = []
    for _ in range(_SUFFIX):
        number, index = divmod(number, len(_GENERATED))
        letters.append(_GENERATED[index])
    return base[:_MAX_BASE] + "".join(letters)
