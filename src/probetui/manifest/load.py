"""Load manifest files: pods, referenced objects, and every problem.

    sources ── parse ──► documents ── classify ──► objects ── --set ──► changed objects
      ── decode, defaults ──► drafts ── names, uids ──► validate ──► pods

Nothing here does I/O: the caller passes names and contents of files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from probetui.k8s.pod_source import FILE_SOURCE
from probetui.k8s.service import Service
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest import workloads
from probetui.manifest.admission import Classes, admit
from probetui.manifest.config_objects import KINDS, ConfigObjectReader
from probetui.manifest.draft import (
    PodDraft,
    PodManifest,
    assign_identity,
    draft_pod,
    finish_draft,
    suffixed_namespace,
)
from probetui.manifest.edit.set_option import (
    SetOption,
    SetOptionError,
    container_names,
    has_container,
    parse_set_option,
    unknown_container_text,
)
from probetui.manifest.manifests import FieldValidation, LoadedConfigObject, Manifests
from probetui.manifest.other_formats import (
    find_other_format,
    find_template,
    is_case_document,
)
from probetui.manifest.problem import Position, Problem, Severity, quote_short
from probetui.manifest.stand_ins import add_stand_ins, add_stubs, without_claims
from probetui.manifest.validation.references import (
    ObjectKey,
    find_missing_objects,
    find_references,
    object_key,
    pull_secret_names,
)
from probetui.manifest.workloads import ListObject, OtherObject, WorkloadObject
from probetui.manifest.yaml.nodes import MapNode, YamlDocument, YamlNode, join_path
from probetui.manifest.yaml.parser import SourceFile, parse_yaml

if TYPE_CHECKING:
    from probetui.manifest.alert_rules import StoredRule

CASES_RULE = "test-cases"
"""The rule of the note about a document with cases of `probetui test`."""


def load_manifests(
    sources: Sequence[SourceFile],
    *,
    namespace: str | None = None,
    namespace_suffix: str = "",
    validation: FieldValidation = FieldValidation.WARN,
    settings: Sequence[str] = (),
    rules: KubeletRules = PORTED_RULES,
    host: str = "localhost",
    stub_missing: bool = False,
) -> Manifests:
    """Return the pods of some files, with every problem in the files.

    Args:
        sources: the files, in the order in which they were named.
        namespace: the namespace of every pod, instead of the manifest's.
        namespace_suffix: appended to the namespace of every pod, which then has its own
            uid, and of its referenced objects: so the pods can run twice.
        validation: how to treat unknown fields and duplicate keys.
        settings: texts `PATH=VALUE`, applied in this order before decoding.
        rules: those of the version of Kubernetes.
        host: this machine's name; it goes into the uid of pods that have none.
        stub_missing: add stubs for ConfigMaps, Secrets and claims that no file has.
    """
    reader = _ManifestReader(
        validation,
        namespace,
        namespace_suffix,
        rules.version,
    )
    for source in sources:
        reader.read(source)
    pod_manifests, problems = _apply_settings(reader.pods, settings)
    drafts = [draft_pod(pod, validation, namespace, rules) for pod in pod_manifests]
    for draft in drafts if namespace_suffix else ():
        draft.set_apart(namespace_suffix)
    problems += _assign_names(drafts, host)
    problems += _admit(drafts, reader.classes)
    loaded = [finish_draft(draft) for draft in drafts]
    problems += add_stand_ins(drafts, reader.objects)
    if stub_missing:
        problems += add_stubs(drafts, reader.objects)
        loaded = [pod and without_claims(pod) for pod in loaded]
    problems += _check_references(drafts, reader.objects)
    problems += _static_references(drafts)
    problems += reader.problems
    problems += (problem for draft in drafts for problem in draft.problems)
    order = {source.name: index for index, source in enumerate(sources)}

    def sort_key(problem: Problem) -> tuple[int, int, int]:
        return order.get(problem.file, len(order)), problem.line, problem.column

    return Manifests(
        loaded=tuple(pod for pod in loaded if pod is not None),
        objects=tuple(reader.objects.values()),
        problems=tuple(sorted(problems, key=sort_key)),
        documents=reader.documents,
        services=tuple(reader.services),
        stored_rules=tuple(reader.stored_rules),
    )


class _ManifestReader(Struct):
    """Collects pods, objects and problems from files."""

    validation: FieldValidation
    namespace: str | None
    namespace_suffix: str
    version: str
    pods: list[PodManifest] = field(default_factory=list)
    objects: dict[ObjectKey, LoadedConfigObject] = field(default_factory=dict)
    classes: Classes = field(default_factory=Classes)
    services: list[Service] = field(default_factory=list)
    stored_rules: list[StoredRule] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    documents: int = 0

    def read(self, source: SourceFile) -> None:
        """Read one file."""
        parsed = parse_yaml(source)
        # A template is rarely valid YAML, and its syntax errors are of no use.
        templates = [find_template(source, problem.line) for problem in parsed.problems]
        if template := next(filter(None, templates), None):
            self.problems.append(template)
            self.documents += 1
            return
        self.problems += parsed.problems
        self.documents += len(parsed.documents)
        documents = parsed.documents
        if source.kubelet_source == FILE_SOURCE and len(documents) > 1:
            self.problems.append(_ignored_documents(documents[1]))
            documents = documents[:1]
        for document in documents:
            self.problems += self._find_duplicates(document)
            if is_case_document(document.root):
                self.problems.append(_case_document(document.root))
            elif rules := _rule_file(document.root):
                self.stored_rules += rules
                self.problems.append(_rule_document(document.root))
            elif other := find_other_format(document.root, source):
                self.problems.append(other)
            else:
                self._add_object(document.root, "", document, source)
        if parsed.starts_empty and parsed.documents:
            self.problems.append(_empty_first_document(source))

    def _add_object(
        self, node: YamlNode, path: str, document: YamlDocument, source: SourceFile
    ) -> None:
        classified = workloads.classify_object(node, path)
        match classified:
            case Problem():
                self.problems.append(classified)
            case _ if source.is_static and not _can_be_static(classified, source):
                self.problems.append(_not_static(node))
            case WorkloadObject():
                self.pods.append(PodManifest(classified, document, source))
            case OtherObject():
                self._add_other(classified, path)
            case ListObject(items=items):
                for index, item in enumerate(items):
                    where = join_path(f"{path}.items" if path else "items", index)
                    self._add_object(item, where, document, source)

    def _add_other(self, other: OtherObject, path: str) -> None:
        if other.kind in KINDS and other.api_version == "v1":
            self._add_config_object(other, path)
            return
        if self.classes.add(other):
            return
        # Imported late, like the next one: most files have none.
        from probetui.manifest.alert_rules import find_rules  # noqa: PLC0415

        self.stored_rules += find_rules(other.node, path)
        if other.kind == "Service":
            from probetui.manifest.services import read_service  # noqa: PLC0415

            service = read_service(other, self.namespace, self.namespace_suffix)
            self.services += [] if service is None else [service]
        message = (
            f"{_format_title(other.kind, other.name)} has no pod template, skipped"
        )
        self.problems.append(
            Problem(other.node.position, "", message, Severity.NOTE, "kind-skipped")
        )

    def _add_config_object(self, other: OtherObject, path: str) -> None:
        reader = ConfigObjectReader(
            other.kind, other.node, path, self.validation.severity, self.version
        )
        value = reader.read(self.namespace)
        if value is not None and self.namespace_suffix:
            home = suffixed_namespace(value.namespace, self.namespace_suffix)
            value = replace(value, namespace=home)
        self.problems += reader.problems
        if value is None:
            return
        position = other.node.position
        first = self.objects.get(object_key(value))
        if first is not None:
            message = (
                f"{_format_title(other.kind, other.name)} is defined twice"
                f" (first in {first.position}); the last one is used"
            )
            self.problems.append(
                Problem(position, "", message, Severity.WARNING, "twice")
            )
        self.objects[object_key(value)] = LoadedConfigObject(value, position)

    def _find_duplicates(self, document: YamlDocument) -> Iterator[Problem]:
        severity = self.validation.severity
        if severity is None:
            return
        for duplicate in document.duplicates:
            message = (
                f"duplicate key, first in line {duplicate.first.line};"
                " the last one is used"
            )
            path = join_path(duplicate.path, duplicate.key)
            yield Problem(duplicate.position, path, message, severity, "duplicate-key")


def _case_document(root: YamlNode) -> Problem:
    message = "has cases for `probetui test`, skipped"
    return Problem(root.position, "", message, Severity.NOTE, CASES_RULE)


def _rule_file(root: YamlNode) -> tuple[StoredRule, ...]:
    """Return the rules of a document that has nothing else; an object has a kind."""
    if isinstance(root, MapNode) and root.get("kind") is None:
        # Late, too.
        from probetui.manifest.alert_rules import find_rules  # noqa: PLC0415

        return find_rules(root)
    return ()


def _rule_document(root: YamlNode) -> Problem:
    message = "has rules for Prometheus and no pod"
    return Problem(root.position, "", message, Severity.NOTE, "kind-skipped")


def _empty_first_document(source: SourceFile) -> Problem:
    message = (
        "the first document is empty: kubectl skips it, a kubelet's static pod file and"
        " an API server that is given the whole file end there"
    )
    where = Position(source.name, 1, 1)
    return Problem(where, "", message, Severity.NOTE, "empty-document")


def _can_be_static(
    classified: WorkloadObject | OtherObject | ListObject, source: SourceFile
) -> bool:
    """Return whether a kubelet accepts an object from a source of static pods."""
    match classified:
        case WorkloadObject():
            return classified.workload.is_pod
        case ListObject():
            return source.kubelet_source != FILE_SOURCE
        case OtherObject():
            return False


def _not_static(node: YamlNode) -> Problem:
    entry = node.entry("kind") if isinstance(node, MapNode) else None
    position = node.position if entry is None else entry.position
    message = "a static pod is a Pod, and nothing else is taken from its file"
    return Problem(position, "kind", message, rule="static-pod")


def _ignored_documents(second: YamlDocument) -> Problem:
    return Problem(
        second.root.position,
        "",
        "left out: of a static pod's file a kubelet reads the first document only",
        Severity.WARNING,
        "static-pod",
    )


def _admit(drafts: Iterable[PodDraft], classes: Classes) -> Iterator[Problem]:
    """Apply admission to pods; yield the refusals."""
    for draft in drafts:
        is_new = not (draft.manifest.source.is_static or draft.is_stored)
        if draft.pod.spec is None or not is_new:
            continue
        for path, text in admit(draft.pod.spec, classes):
            message = (
                "a cluster with these objects alone answers: pods"
                f" {quote_short(draft.key[1])} is forbidden: {text}"
            )
            if not draft.is_unreadable(path):
                yield draft.problem(path, message, Severity.WARNING, "admission")


def _static_references(drafts: Sequence[PodDraft]) -> Iterator[Problem]:
    """Yield references of static pods that a kubelet does not resolve."""
    for draft in drafts:
        if not draft.manifest.source.is_static:
            continue
        references = {
            f"{reference.kind} {quote_short(reference.name)}": reference.path
            for reference in find_references(draft.pod)
        }
        account = draft.pod.spec and draft.pod.spec.serviceAccountName
        if account:
            what = f"ServiceAccount {quote_short(account)}"
            references[what] = "spec.serviceAccountName"
        for what, path in references.items():
            message = f"{what}: a static pod cannot refer to objects of the API"
            yield draft.problem(path, message, Severity.WARNING, "static-pod")


def _check_references(
    drafts: Sequence[PodDraft], objects: Mapping[ObjectKey, LoadedConfigObject]
) -> Iterator[Problem]:
    """Yield references to missing objects, and objects that no pod refers to."""
    values = {key: loaded_object.value for key, loaded_object in objects.items()}
    unused = dict(objects)
    for draft in drafts:
        for reference in find_references(draft.pod):
            unused.pop((reference.kind, draft.key[0], reference.name), None)
        for name in pull_secret_names(draft.pod):
            unused.pop(("Secret", draft.key[0], name), None)
        for warning in find_missing_objects(draft.pod, values):
            yield draft.problem(
                warning.path, warning.message, Severity.WARNING, warning.rule
            )
    for (kind, _, name), loaded_object in unused.items():
        message = f"{_format_title(kind, name)} is not used by any pod"
        yield Problem(loaded_object.position, "", message, Severity.NOTE, "unused")


def _apply_settings(
    pods: Sequence[PodManifest], settings: Iterable[str]
) -> tuple[list[PodManifest], list[Problem]]:
    """Apply every `--set` to the pods that have its container."""
    changed, problems = list(pods), []
    for text in settings:
        try:
            setting = parse_set_option(text)
            changed = _apply_setting(changed, setting)
        except SetOptionError as error:
            problems.append(Problem(error.position, "", str(error), rule="set"))
    return changed, problems


def _apply_setting(
    pods: Sequence[PodManifest], setting: SetOption
) -> list[PodManifest]:
    templates = [pod.template or pod.object.node for pod in pods]
    concerned = [has_container(setting, template) for template in templates]
    if pods and setting.container is not None and not any(concerned):
        known = [name for template in templates for name in container_names(template)]
        raise SetOptionError(
            setting.text, unknown_container_text(setting.container, known)
        )
    return [
        pod.apply_setting(setting) if is_concerned else pod
        for pod, is_concerned in zip(pods, concerned, strict=True)
    ]


def _assign_names(drafts: Sequence[PodDraft], host: str) -> list[Problem]:
    """Assign every pod a unique name and UID; return the problems that prevent it."""
    names = Counter(draft.key for draft in drafts)
    for draft in drafts:
        if draft.is_derived and names[draft.key] > 1:
            # a cluster distinguishes a Deployment's and a Job's pods by random suffixes
            kind = draft.manifest.object.workload.kind.lower()
            draft.metadata.name = f"{draft.metadata.name}-{kind}"
    problems = []
    earlier: dict[tuple[str, str], PodDraft] = {}
    for draft in drafts:
        assign_identity(draft, host)
        if draft.is_derived:
            problems.append(_template_note(draft))
        problems += _check_unique(draft, earlier)
    return problems


def _check_unique(
    draft: PodDraft, seen: dict[tuple[str, str], PodDraft]
) -> list[Problem]:
    """Report an earlier pod with the name or uid of this one."""
    for key, path, what in (
        (draft.key, "metadata.name", "name"),
        (("", draft.metadata.uid or ""), "metadata.uid", "uid"),
    ):
        first = seen.setdefault(key, draft)
        if first is not draft and key[1]:
            where = first.position(path)
            message = f"{quote_short(key[1])} is the {what} of another pod ({where})"
            if where == draft.position(path):
                message = "the pod is read twice: its file is in -f and in --static"
            draft.is_refused = True
            return [draft.problem(path, message, Severity.ERROR, "twice")]
    return []


def _template_note(draft: PodDraft) -> Problem:
    own = draft.manifest.object
    instead = "" if draft.replicas == 1 else f" instead of {draft.replicas}"
    message = (
        f"{_format_title(own.workload.kind, own.name)} is run as one pod"
        f"{instead}, named {quote_short(draft.metadata.name or '')}"
    )
    position = own.node.position
    return Problem(position, "", message, Severity.NOTE, "template-used")


def _format_title(kind: str, name: str) -> str:
    return (
        f"{quote_short(kind)[1:-1]} {quote_short(name)}"
        if name
        else quote_short(kind)[1:-1]
    )
