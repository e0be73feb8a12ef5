"""The pods that a command line selects, or all problems with its manifests."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from probetui.cli.files import STDIN, SourceReader, format_filenames
from probetui.cli.option_values import rules_by
from probetui.cli.options import PodOptions, Quiet, VersionOptions
from probetui.cli.printing import Notes
from probetui.errors import ManifestError, NothingToDoError, UsageError
from probetui.k8s.pod import Pod
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import FieldValidation, LoadedPod, Manifests
from probetui.manifest.problem import Problem

if TYPE_CHECKING:
    from probetui.k8s.selector import LabelRequirement


class ManifestOptions(PodOptions, VersionOptions):
    """The options that say which pods are meant."""

    quiet: Quiet = False

    @property
    def names(self) -> str:
        """All that is named, for a message."""
        return format_filenames((*self.filenames, *self.static))

    @property
    def rules(self) -> KubeletRules:
        """The rules of the chosen version.

        Raises:
            UsageError: the version has no such feature gate.
        """
        return rules_by(self)

    @property
    def reads_stdin(self) -> bool:
        """Whether a manifest comes from standard input."""
        return STDIN in self.filenames

    def reader(self, *, awaits_urls: bool = False) -> SourceReader:
        """Return what reads the files; see `SourceReader`."""
        return SourceReader(
            self.filenames,
            self.static,
            recursive=self.recursive,
            verifies_tls=not self.insecure_skip_tls_verify,
            awaits_urls=awaits_urls,
        )


def load_pods(
    options: ManifestOptions,
    reader: SourceReader | None = None,
    *,
    only_static: bool = False,
    host: str = "",
    namespace_suffix: str = "",
) -> Manifests:
    """Read the manifests and return those pods that the options select.

    Args:
        options: what is read, and how.
        reader: what read them before, None to read all for the first time.
        only_static: of what has been read before, read again only static pods.
        host: the node's name, empty for this machine's.
        namespace_suffix: sets the pods apart from themselves; see `load_manifests`.

    Raises:
        UsageError: an option cannot be used.
        ManifestError: what is wrong with the files, all of it.
        NothingToDoError: nothing is left to run.
    """
    if options.selector:
        # Refused before anything is read.
        _parse_selector(options.selector)
    sources = (reader or options.reader()).read(only_static=only_static)
    validation = (
        FieldValidation.STRICT if options.strict else FieldValidation(options.validate)
    )
    manifests = load_manifests(
        sources,
        namespace=options.namespace,
        namespace_suffix=namespace_suffix,
        validation=validation,
        settings=options.changes,
        rules=options.rules,
        host=host or platform.node(),
        stub_missing=options.stub_missing,
    )
    manifests.raise_for_errors(with_warnings=not options.quiet)
    names = options.names
    if not manifests.documents:
        raise NothingToDoError(f"{names}: no YAML received")
    if not manifests.loaded:
        notes = "; ".join(note.message for note in manifests.notes)
        raise NothingToDoError(f"{names}: no pod in it{': ' if notes else ''}{notes}")
    selected = select_pods(manifests.loaded, options.selector)
    if options.strict:
        _check_strict(selected)
    return replace(manifests, loaded=selected)


def report_problems(
    manifests: Manifests, notes: Notes, *, unsupported: bool = False
) -> None:
    """Report warnings and notes about valid manifests, and unsupported fields."""
    for problem in manifests.warnings:
        notes.warning(str(problem))
    for problem in manifests.unsupported if unsupported else ():
        notes.warning(str(problem))
    for problem in manifests.notes:
        notes.note(str(problem))


def select_pods(
    loaded: Sequence[LoadedPod], selector: str | None
) -> tuple[LoadedPod, ...]:
    """Return those pods that a selector selects; without one, all of them.

    Raises:
        UsageError: it is none.
        NothingToDoError: no pod has such labels.
    """
    selected = tuple(loaded)
    if selector:
        wanted = _parse_selector(selector)
        selected = tuple(
            pod
            for pod in loaded
            if all(requirement.matches(pod.pod.labels) for requirement in wanted)
        )
    if not selected:
        raise NothingToDoError(f'no pod has the labels "{selector}"')
    return selected


def _parse_selector(selector: str) -> Sequence[LabelRequirement]:
    # Late: most commands select by names.
    from probetui.k8s.selector import parse_selector

    return parse_selector(selector)


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


def _check_strict(loaded: Sequence[LoadedPod]) -> None:
    unsupported: list[Problem] = [
        problem for pod in loaded for problem in pod.unsupported
    ]
    if unsupported:
        raise ManifestError([str(problem) for problem in unsupported])
    if not any(
        container.liveness_probe or container.readiness_probe or container.startup_probe
        for pod in loaded
        for container in pod.pod.all_containers()
    ):
        raise NothingToDoError("no container has a probe")
