"""Manifest files to pods, with everything there is to say about them at once.

    sources ── parse ──► documents ── classify ──► objects ── --set ──► changed objects
      ── decode, defaults ──► drafts ── names, uids ──► validate ──► translate ──► pods

Nothing here reads a file: whoever may do I/O hands over names and contents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from probetui.manifest import objects
from probetui.manifest.config_objects import KINDS, ConfigReader
from probetui.manifest.draft import Draft, FoundPod, draft, finish, identify
from probetui.manifest.manifests import LoadedObject, Manifests, Validation
from probetui.manifest.nodes import Document, Node, join
from probetui.manifest.objects import ListObject, OtherObject, PodObject
from probetui.manifest.parse import Source, parse
from probetui.manifest.problem import Problem, Severity, clipped
from probetui.manifest.references import ObjectKey, key_of, missing, references_of
from probetui.manifest.settings import (
    Setting,
    SettingError,
    applies_to,
    container_names,
    no_container,
    parse_setting,
)


def load_manifests(
    sources: Sequence[Source],
    *,
    namespace: str | None = None,
    validation: Validation = Validation.WARN,
    settings: Sequence[str] = (),
    host: str = "localhost",
) -> Manifests:
    """Read the pods of some files.

    Args:
        sources: the files, in the order in which they were named.
        namespace: the namespace of every pod, whatever its manifest says.
        validation: what becomes of unknown fields and double keys.
        settings: `PATH=VALUE` each, made in this order before decoding.
        host: this machine's name; it goes into the uid of pods that have none.
    """
    reader = _Reader(validation, namespace)
    for source in sources:
        reader.read(source)
    found, problems = _with_settings(reader.pods, settings)
    drafts = [draft(each, validation, namespace) for each in found]
    problems += _name(drafts, host)
    loaded = [finish(each) for each in drafts]
    problems += _about_references(drafts, reader.objects)
    problems += reader.problems
    problems += (problem for each in drafts for problem in each.problems)
    order = {source.name: index for index, source in enumerate(sources)}

    def place(problem: Problem) -> tuple[int, int, int]:
        return order.get(problem.file, len(order)), problem.line, problem.column

    return Manifests(
        loaded=tuple(each for each in loaded if each is not None),
        objects=tuple(reader.objects.values()),
        problems=tuple(sorted(problems, key=place)),
        documents=reader.documents,
    )


@dataclass(slots=True)
class _Reader:
    """Sorts what is in the files into pods, objects and problems."""

    validation: Validation
    namespace: str | None
    pods: list[FoundPod] = field(default_factory=list)
    objects: dict[ObjectKey, LoadedObject] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    documents: int = 0

    def read(self, source: Source) -> None:
        """Take in one file."""
        parsed = parse(source)
        self.problems += parsed.problems
        self.documents += len(parsed.documents)
        for document in parsed.documents:
            self.problems += self._duplicates(document)
            self._take(document.root, "", document, source)

    def _take(self, node: Node, path: str, document: Document, source: Source) -> None:
        found = objects.classify(node, path)
        match found:
            case Problem():
                self.problems.append(found)
            case PodObject():
                self.pods.append(FoundPod(found, document, source))
            case OtherObject():
                self._other(found, path)
            case ListObject(items=items):
                for index, item in enumerate(items):
                    where = join(f"{path}.items" if path else "items", index)
                    self._take(item, where, document, source)

    def _other(self, found: OtherObject, path: str) -> None:
        if found.kind in KINDS and found.api_version == "v1":
            self._config_object(found, path)
            return
        message = f"{_titled(found.kind, found.name)} has no pod template, skipped"
        self.problems.append(
            Problem(found.node.position, "", message, Severity.NOTE, "kind-skipped")
        )

    def _config_object(self, found: OtherObject, path: str) -> None:
        reader = ConfigReader(found.kind, found.node, path, self.validation.severity)
        value = reader.read(self.namespace)
        self.problems += reader.problems
        if value is None:
            return
        position = found.node.position
        first = self.objects.get(key_of(value))
        if first is not None:
            message = (
                f"{_titled(found.kind, found.name)} is there already"
                f" ({first.position}), the last one counts"
            )
            self.problems.append(
                Problem(position, "", message, Severity.WARNING, "twice")
            )
        self.objects[key_of(value)] = LoadedObject(value, position)

    def _duplicates(self, document: Document) -> Iterator[Problem]:
        severity = self.validation.severity
        if severity is None:
            return
        for each in document.duplicates:
            message = f"is there already in line {each.first.line}, the last one counts"
            path = join(each.path, each.key)
            yield Problem(each.position, path, message, severity, "duplicate-key")


def _about_references(
    drafts: Sequence[Draft], objects: Mapping[ObjectKey, LoadedObject]
) -> Iterator[Problem]:
    """Yield what is wrong between pods and the objects they refer to."""
    values = {key: each.value for key, each in objects.items()}
    unused = dict(objects)
    for made in drafts:
        for reference in references_of(made.pod):
            unused.pop((reference.kind, made.key[0], reference.name), None)
        for notice in missing(made.pod, values):
            yield made.problem(
                notice.path, notice.message, Severity.WARNING, notice.rule
            )
    for (kind, _, name), each in unused.items():
        message = f"{_titled(kind, name)} is used by no pod"
        yield Problem(each.position, "", message, Severity.NOTE, "unused")


def _with_settings(
    pods: Sequence[FoundPod], settings: Iterable[str]
) -> tuple[list[FoundPod], list[Problem]]:
    """Make every `--set` in every pod that it is about."""
    changed, problems = list(pods), []
    for text in settings:
        try:
            setting = parse_setting(text)
            changed = _with_setting(changed, setting)
        except SettingError as error:
            problems.append(Problem(error.position, "", str(error), rule="set"))
    return changed, problems


def _with_setting(pods: Sequence[FoundPod], setting: Setting) -> list[FoundPod]:
    templates = [each.template or each.object.node for each in pods]
    concerned = [applies_to(setting, each) for each in templates]
    if pods and setting.container is not None and not any(concerned):
        known = [name for each in templates for name in container_names(each)]
        raise SettingError(setting.text, no_container(setting.container, known))
    return [
        each.changed(setting) if is_concerned else each
        for each, is_concerned in zip(pods, concerned, strict=True)
    ]


def _name(drafts: Sequence[Draft], host: str) -> list[Problem]:
    """Give every pod a name and uid of its own, or say why that cannot be."""
    names = Counter(each.key for each in drafts)
    for each in drafts:
        if each.is_derived and names[each.key] > 1:
            # a cluster keeps a Deployment's and a Job's pods apart by random endings
            kind = each.found.object.workload.kind.lower()
            each.metadata.name = f"{each.metadata.name}-{kind}"
    problems = []
    seen: dict[tuple[str, str], Draft] = {}
    for each in drafts:
        identify(each, host)
        if each.is_derived:
            problems.append(_template_note(each))
        problems += _taken(each, seen)
    return problems


def _taken(made: Draft, seen: dict[tuple[str, str], Draft]) -> list[Problem]:
    """Say that an earlier pod has the name, or else the uid, of this one."""
    for key, path, what in (
        (made.key, "metadata.name", "name"),
        (("", made.metadata.uid or ""), "metadata.uid", "uid"),
    ):
        first = seen.setdefault(key, made)
        if first is not made and key[1]:
            where = first.position(path)
            message = f"{clipped(key[1])} is the {what} of another pod ({where})"
            made.is_refused = True
            return [made.problem(path, message, Severity.ERROR, "twice")]
    return []


def _template_note(made: Draft) -> Problem:
    own = made.found.object
    instead = "" if made.replicas == 1 else f" instead of {made.replicas}"
    message = (
        f"{_titled(own.workload.kind, own.name)} is run as one pod"
        f"{instead}, named {clipped(made.metadata.name or '')}"
    )
    position = own.node.position
    return Problem(position, "", message, Severity.NOTE, "template-used")


def _titled(kind: str, name: str) -> str:
    return f"{clipped(kind)[1:-1]} {clipped(name)}" if name else clipped(kind)[1:-1]
