"""One pod on its way from a document to a value, with what was found wrong so far."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lightkube.models import core_v1, meta_v1

from probetui.manifest import (
    api_warnings,
    defaults,
    identity,
    notices,
    objects,
    render,
    supported,
    translate,
    validate,
    wording,
)
from probetui.manifest.decode import decode
from probetui.manifest.expanded_size import too_large
from probetui.manifest.manifests import LoadedPod, Origin, Validation
from probetui.manifest.nodes import (
    Document,
    Entry,
    MapNode,
    Node,
    join,
    steps,
)
from probetui.manifest.objects import PodObject
from probetui.manifest.parse import Source
from probetui.manifest.problem import Position, Problem, Severity, clipped
from probetui.manifest.settings import Setting, apply_setting

_UID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,126}")


@dataclass(frozen=True, slots=True)
class FoundPod:
    """An object with a pod in it, and the document and file where it stood."""

    object: PodObject
    document: Document
    source: Source

    @property
    def template(self) -> Node | None:
        """The part that describes the pod."""
        node: Node | None = self.object.node
        for key in self.object.workload.template:
            node = node.get(key) if isinstance(node, MapNode) else None
        return node

    def changed(self, setting: Setting) -> FoundPod:
        """Return it with a `--set` made; raises `SettingError`."""
        template = self.template
        if not isinstance(template, MapNode):
            template = MapNode((), setting.position)
        node = _with_template(
            self.object.node,
            self.object.workload.template,
            apply_setting(setting, template),
        )
        return replace(self, object=replace(self.object, node=node))


@dataclass(slots=True)
class Draft:
    """A pod being made; `bad` are the steps to what could not be read in it.

    `is_refused` when something is wrong that is told elsewhere: a double key in its
    document, a name that is taken. Owned by the loader, which names a draft before
    anything is validated.
    """

    found: FoundPod
    pod: core_v1.Pod
    replicas: int
    problems: list[Problem]
    bad: frozenset[tuple[str, ...]] = frozenset()
    metadata: meta_v1.ObjectMeta = field(default_factory=meta_v1.ObjectMeta)
    is_refused: bool = False
    around_bad: frozenset[tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        """Know the fields in which something could not be read."""
        self.around_bad = frozenset(
            path[:length] for path in self.bad for length in range(len(path) + 1)
        )

    @property
    def is_derived(self) -> bool:
        """Whether the pod's name was chosen here, for a workload."""
        return not self.found.object.workload.is_pod

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name: what no two pods may share."""
        return self.metadata.namespace or "default", self.metadata.name or ""

    def position(self, path: str) -> Position:
        """Return where a field of the pod stands in its file."""
        return self.found.object.position(path)

    def follows_from_bad(self, path: str) -> bool:
        """Tell whether a rule only fails because a field there could not be read."""
        ours = tuple(steps(path))
        if ours in self.around_bad:
            return True
        return any(ours[:length] in self.bad for length in range(len(ours)))

    def problem(
        self, path: str, message: str, severity: Severity, rule: str
    ) -> Problem:
        """Return a problem with a field of the pod, as its document names it."""
        return self.found.object.problem(path, message, severity, rule)


def draft(found: FoundPod, validation: Validation, namespace: str | None) -> Draft:
    """Decode one object and fill in its defaults."""
    own = found.object
    decoded = decode(own.node, own.workload.model, own.path)
    pod = objects.pod_template(own.workload, decoded.value)
    defaults.set_defaults(pod)
    metadata = pod.metadata = pod.metadata or meta_v1.ObjectMeta()
    if namespace:
        metadata.namespace = namespace
    problems = list(decoded.problems)
    if validation.severity is not None:
        problems += (
            Problem(
                each.position,
                each.path,
                each.message,
                validation.severity,
                "unknown-field",
            )
            for each in decoded.unknown
        )
    return Draft(
        found,
        pod,
        objects.replicas_of(own.workload, decoded.value),
        problems,
        frozenset(_steps_in_pod(own, each.path) for each in decoded.problems),
        metadata,
        bool(found.document.duplicates) and validation is Validation.STRICT,
    )


def identify(made: Draft, host: str) -> None:
    """Give a pod the uid, and if need be the name, that it did not bring."""
    metadata, source = made.metadata, made.found.source
    if not metadata.uid:
        location = source.location or source.name
        metadata.uid = identity.pod_uid(made.pod, host, location)
    if not metadata.name and metadata.generateName:
        base = metadata.generateName
        metadata.name = identity.generated_name(base, metadata.uid)


def finish(made: Draft) -> LoadedPod | None:
    """Validate a pod and return its value, None if it cannot be run.

    What is wrong or worth a word is added to the draft's problems.
    """
    made.problems += _errors(made)
    made.problems += _warnings(made)
    is_bad = any(each.severity is Severity.ERROR for each in made.problems)
    if is_bad or made.is_refused:
        return None
    found = made.found
    own = found.object
    path = join_all(own.path, *own.workload.template)
    fields = supported.unsupported_fields(found.template or own.node, path)
    return LoadedPod(
        pod=translate.translate(made.pod),
        origin=Origin(own.workload.kind, own.name),
        position=own.node.position,
        document=found.document.text,
        manifest=render.as_yaml(made.pod),
        object=own,
        source=found.source,
        unsupported=(*fields, *supported.unsupported_claims(own.node, own.path)),
    )


def join_all(path: str, *keys: str) -> str:
    """Extend a path by several keys."""
    for key in keys:
        path = join(path, key)
    return path


def _errors(made: Draft) -> Iterator[Problem]:
    workload = made.found.object.workload
    found = (
        *validate.validate_pod(made.pod),
        *objects.template_errors(workload, made.pod),
    )
    for each in found:
        if not made.follows_from_bad(each.field):
            yield made.problem(
                each.field, wording.sentence(each), Severity.ERROR, each.type.value
            )
    for notice in too_large(made.pod):
        if not made.follows_from_bad(notice.path):
            yield made.problem(notice.path, notice.message, Severity.ERROR, notice.rule)
    uid = made.metadata.uid or ""
    if not _UID.fullmatch(uid):
        message = f"is {clipped(uid)}, must be letters, digits, '-', '_' and '.'"
        yield made.problem("metadata.uid", message, Severity.ERROR, "uid")


def _warnings(made: Draft) -> Iterator[Problem]:
    for notice in notices.notices_for(made.pod):
        if not made.follows_from_bad(notice.path):
            yield made.problem(
                notice.path, notice.message, Severity.WARNING, notice.rule
            )
    for path, text in api_warnings.warnings_for(made.pod):
        yield made.problem(path, text, Severity.WARNING, "api-warning")


def _steps_in_pod(own: PodObject, path: str) -> tuple[str, ...]:
    """Return the steps to a field from the pod, given its path in the document."""
    from_object = tuple(steps(path))[len(tuple(steps(own.path))) :]
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
    return node.with_entry(Entry(keys[0], position, changed))
