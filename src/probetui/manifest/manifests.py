"""Loaded manifests: pods, the objects they refer to, and problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from probetui.errors import ManifestError
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.service import Service
from probetui.k8s.status import PodCondition
from probetui.k8s.volume import ConfigObject
from probetui.manifest.problem import Position, Problem, Severity
from probetui.manifest.workloads import WorkloadObject
from probetui.manifest.yaml.parser import SourceFile

if TYPE_CHECKING:
    from probetui.manifest.alert_rules import StoredRule


class FieldValidation(StrEnum):
    """How to treat unknown fields and duplicate keys."""

    STRICT = "strict"
    WARN = "warn"
    IGNORE = "ignore"

    @property
    def severity(self) -> Severity | None:
        """The severity of such a field, None to ignore it."""
        match self:
            case FieldValidation.STRICT:
                return Severity.ERROR
            case FieldValidation.WARN:
                return Severity.WARNING
            case FieldValidation.IGNORE:
                return None


class LoadedPod(Struct, frozen=True):
    """A runnable pod and its origin.

    `manifest` is the whole pod as YAML with `--set`, defaults, name and uid in it:
    loaded again it is the same pod.
    `object` has the positions of its fields in `source`. `unsupported` are warnings of
    fields that probetui does not support. `conditions` are those of its readiness gates
    in its status.
    """

    pod: Pod
    position: Position
    manifest: str
    object: WorkloadObject
    source: SourceFile
    unsupported: tuple[Problem, ...] = ()
    conditions: tuple[PodCondition, ...] = ()


def pod_of(loaded: Iterable[LoadedPod], problem: Problem) -> Pod | None:
    """Return the pod in whose document a problem is, None if it is in no pod's."""
    before = [
        pod
        for pod in loaded
        if pod.position.file == problem.file and pod.position.line <= problem.line
    ]
    nearest = max(before, key=lambda pod: pod.position.line, default=None)
    if nearest is None:
        return None
    data = nearest.source.data
    text = data if isinstance(data, str) else data.decode(errors="replace")
    between = text.splitlines()[nearest.position.line - 1 : problem.line - 1]
    is_elsewhere = any(line.startswith("---") for line in between)
    return None if is_elsewhere else nearest.pod


class LoadedConfigObject(Struct, frozen=True):
    """A ConfigMap or Secret with its position."""

    value: ConfigObject
    position: Position


class Manifests(Struct, frozen=True):
    """The content of the files; `problems` are in the order of files and lines.

    A pod with an error is not among `loaded`, nor a ConfigMap or Secret with one among
    `objects`. `services` are those that select pods, `stored_rules` those of rule files
    and PrometheusRules. `documents` counts the documents that are not empty.
    """

    loaded: tuple[LoadedPod, ...] = ()
    objects: tuple[LoadedConfigObject, ...] = ()
    problems: tuple[Problem, ...] = ()
    documents: int = 0
    services: tuple[Service, ...] = ()
    stored_rules: tuple[StoredRule, ...] = ()

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods, in the order of the files."""
        return tuple(pod.pod for pod in self.loaded)

    @property
    def config_objects(self) -> tuple[ConfigObject, ...]:
        """The ConfigMaps and Secrets that pods may refer to."""
        return tuple(loaded_object.value for loaded_object in self.objects)

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that prevent a start."""
        return self._problems_of(Severity.ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The problems that are probable mistakes."""
        return self._problems_of(Severity.WARNING)

    @property
    def warned(self) -> dict[Problem, str]:
        """The warnings about pods, with the UIDs of these."""
        return {
            problem: pod.uid
            for problem in self.warnings
            if (pod := pod_of(self.loaded, problem)) is not None
        }

    @property
    def notes(self) -> tuple[Problem, ...]:
        """How documents that are not plain pods were treated."""
        return self._problems_of(Severity.NOTE)

    @property
    def unsupported(self) -> tuple[Problem, ...]:
        """Warnings of the unsupported fields of all pods."""
        return tuple(
            problem for loaded in self.loaded for problem in loaded.unsupported
        )

    def raise_for_errors(self, *, with_warnings: bool = True) -> None:
        """Raise `ManifestError` with every error's line, if there is one.

        Warnings are included in order: an error may be the consequence of one.
        """
        if not self.errors:
            return
        severities = [Severity.ERROR, *([Severity.WARNING] if with_warnings else [])]
        raise ManifestError(
            [str(error) for error in self.errors],
            [
                (problem.severity, str(problem))
                for problem in self.problems
                if problem.severity in severities
            ],
        )

    def _problems_of(self, severity: Severity) -> tuple[Problem, ...]:
        return tuple(
            problem for problem in self.problems if problem.severity is severity
        )


_HANDLERS = ("exec.command", "httpGet")


def format_probe_positions(loaded: Iterable[LoadedPod]) -> dict[str, str]:
    """Return the positions of handlers, by UID, a blank and the field's path.

    They are `file:line:column`.
    """
    return {
        f"{pod.pod.uid} {path}": str(pod.object.position(path))
        for pod in loaded
        for path in _paths(pod)
    }


def _paths(loaded: LoadedPod) -> Iterator[str]:
    for path, container in loaded.pod.containers_with_paths():
        for probe_type in ProbeType:
            if container.probe(probe_type) is not None:
                for handler in _HANDLERS:
                    yield f"{path}.{probe_type.lower()}Probe.{handler}"
