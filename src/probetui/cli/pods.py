"""The pods that a command line means, or everything that is wrong with it at once."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from probetui.cli.files import STDIN, read_sources
from probetui.cli.notes import Notes
from probetui.errors import ManifestError, NothingToDoError, UsageError
from probetui.k8s.pod import Pod
from probetui.k8s.selector import parse_selector
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import LoadedPod, Manifests, Validation
from probetui.manifest.problem import Problem


@dataclass(frozen=True, slots=True)
class ManifestOptions:
    """The options that say which pods are meant."""

    filenames: tuple[str, ...]
    recursive: bool = False
    namespace: str | None = None
    selector: str | None = None
    changes: tuple[str, ...] = ()
    validate: str = "warn"
    strict: bool = False
    quiet: bool = False

    @property
    def reads_stdin(self) -> bool:
        """Whether a manifest comes from standard input."""
        return STDIN in self.filenames


def load_pods(options: ManifestOptions) -> Manifests:
    """Read the manifests and return those pods that the options select.

    Raises:
        UsageError: an option cannot be used.
        ManifestError: what is wrong with the files, all of it.
        NothingToDoError: nothing is left to run.
    """
    if options.selector:
        parse_selector(options.selector)  # refused before anything is read
    sources = read_sources(options.filenames, recursive=options.recursive)
    validation = Validation.STRICT if options.strict else Validation(options.validate)
    manifests = load_manifests(
        sources,
        namespace=options.namespace,
        validation=validation,
        settings=options.changes,
        host=platform.node(),
    )
    manifests.raise_for_errors(with_warnings=not options.quiet)
    names = names_of(options.filenames)
    if not manifests.documents:
        raise NothingToDoError(f"{names}: no YAML received")
    if not manifests.loaded:
        notes = "; ".join(each.message for each in manifests.notes)
        raise NothingToDoError(f"{names}: no pod in it{': ' if notes else ''}{notes}")
    selected = select_pods(manifests.loaded, options.selector)
    if options.strict:
        _be_strict(selected)
    return replace(manifests, loaded=selected)


def tell_problems(
    manifests: Manifests, notes: Notes, *, unsupported: bool = False
) -> None:
    """Tell what is odd about manifests that can be used, and what of them is not."""
    for problem in manifests.warnings:
        notes.warning(str(problem))
    for problem in manifests.unsupported if unsupported else ():
        notes.warning(str(problem))
    for problem in manifests.notes:
        notes.note(str(problem))


def names_of(filenames: Sequence[str]) -> str:
    """Return files as people call them."""
    return ", ".join("standard input" if each == STDIN else each for each in filenames)


def select_pods(
    loaded: Sequence[LoadedPod], selector: str | None
) -> tuple[LoadedPod, ...]:
    """Return those pods that a selector selects; without one, all of them.

    Raises:
        UsageError: it is none.
        NothingToDoError: no pod has such labels.
    """
    requirements = parse_selector(selector) if selector else ()
    selected = tuple(
        each
        for each in loaded
        if all(requirement.matches(each.pod.labels) for requirement in requirements)
    )
    if not selected:
        raise NothingToDoError(f'no pod has the labels "{selector}"')
    return selected


def check_containers(names: Sequence[str], pods: Sequence[Pod]) -> None:
    """Raise `UsageError` for a name that no container has."""
    known = list(dict.fromkeys(_container_names(pods)))
    for name in names:
        if name not in known:
            raise UsageError(
                f'--container: no container is called "{name}" '
                f"(has: {', '.join(known)})"
            )


def _container_names(pods: Sequence[Pod]) -> Iterator[str]:
    for pod in pods:
        for container in pod.all_containers():
            yield container.name


def _be_strict(loaded: Sequence[LoadedPod]) -> None:
    unsupported: list[Problem] = [
        problem for each in loaded for problem in each.unsupported
    ]
    if unsupported:
        raise ManifestError([str(each) for each in unsupported])
    if not any(
        container.liveness_probe or container.readiness_probe or container.startup_probe
        for each in loaded
        for container in each.pod.all_containers()
    ):
        raise NothingToDoError("no container has a probe")
