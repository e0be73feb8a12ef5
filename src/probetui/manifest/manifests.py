"""What loading manifests gives: pods, what they refer to, and all there is to say."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from probetui.errors import ManifestError
from probetui.k8s.config import ConfigObject
from probetui.k8s.pod import Pod
from probetui.manifest.objects import PodObject
from probetui.manifest.parse import Source
from probetui.manifest.problem import Position, Problem, Severity


class Validation(StrEnum):
    """What becomes of unknown fields and of keys that are there twice."""

    STRICT = "strict"
    WARN = "warn"
    IGNORE = "ignore"

    @property
    def severity(self) -> Severity | None:
        """How bad such a field is, None if it is not worth a word."""
        match self:
            case Validation.STRICT:
                return Severity.ERROR
            case Validation.WARN:
                return Severity.WARNING
            case Validation.IGNORE:
                return None


@dataclass(frozen=True, slots=True)
class Origin:
    """The object that a pod was made from: itself, or the workload around it."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class LoadedPod:
    """A pod that can be run, and what it came from.

    `document` is the text that was read, before `--set`; `manifest` the whole pod as
    YAML with `--set`, defaults, name and uid in it: loaded again it is the same pod.
    `object` knows where its fields stand in `source`. `unsupported` warns of each field
    that probetui does not carry out.
    """

    pod: Pod
    origin: Origin
    position: Position
    document: str
    manifest: str
    object: PodObject
    source: Source
    unsupported: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedObject:
    """A ConfigMap or Secret, for pods that refer to it, and where it stood."""

    value: ConfigObject
    position: Position


@dataclass(frozen=True, slots=True)
class Manifests:
    """All that the files held; `problems` stand in the order of files and lines.

    A pod with an error is not among `loaded`, nor a ConfigMap or Secret with one among
    `objects`. `documents` counts those that said anything: none means that no YAML was
    received.
    """

    loaded: tuple[LoadedPod, ...] = ()
    objects: tuple[LoadedObject, ...] = ()
    problems: tuple[Problem, ...] = ()
    documents: int = 0

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods, in the order of the files."""
        return tuple(each.pod for each in self.loaded)

    @property
    def config_objects(self) -> tuple[ConfigObject, ...]:
        """The ConfigMaps and Secrets that pods may refer to."""
        return tuple(each.value for each in self.objects)

    @property
    def errors(self) -> tuple[Problem, ...]:
        """What keeps anything from being started."""
        return self._of(Severity.ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What is likely not meant so."""
        return self._of(Severity.WARNING)

    @property
    def notes(self) -> tuple[Problem, ...]:
        """What was done with documents that are not plain pods."""
        return self._of(Severity.NOTE)

    @property
    def unsupported(self) -> tuple[Problem, ...]:
        """The fields in use that probetui does not carry out, of all pods."""
        return tuple(each for loaded in self.loaded for each in loaded.unsupported)

    def raise_for_errors(self, *, with_warnings: bool = True) -> None:
        """Raise `ManifestError` with every error's line, if there is one.

        Warnings stand between them: what is wrong may come from what is odd.
        """
        if not self.errors:
            return
        told = [Severity.ERROR, *([Severity.WARNING] if with_warnings else [])]
        raise ManifestError(
            [str(each) for each in self.errors],
            [
                (each.severity, str(each))
                for each in self.problems
                if each.severity in told
            ],
        )

    def _of(self, severity: Severity) -> tuple[Problem, ...]:
        return tuple(each for each in self.problems if each.severity is severity)
