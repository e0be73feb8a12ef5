"""`probetui diff`: what a change of manifests does to containers."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.settings_diff import (
    Change,
    ContainerDiff,
    Direction,
    WorkloadPod,
    diff_workloads,
)
from probetui.cli.commands.difference import DASHES
from probetui.cli.files import STDIN, is_url, read_sources
from probetui.cli.option_values import rules_by
from probetui.cli.pods import select_pods
from probetui.cli.printing import PRINTERS, Notes
from probetui.cli.reports import emit
from probetui.cli.revisions import files_at, find_revision
from probetui.errors import ManifestError, NothingToDoError, UsageError
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import LoadedPod
from probetui.manifest.yaml.parser import SourceFile
from probetui.presentation.settings_diff import MARKDOWN, DiffReport
from probetui.presentation.text.view import View
from probetui.record.masking import Mask, find_pod_secrets

if TYPE_CHECKING:
    from probetui.cli.commands.difference import DiffOptions

_CLUSTER = "cluster"
_FAILED = 1
_MOST_SIDES = 2

_IS_FAILURE: dict[str, Callable[[ContainerDiff], bool]] = {
    "stricter": lambda diff: diff.has(Direction.STRICTER),
    "looser": lambda diff: diff.has(Direction.LOOSER),
    "added": lambda diff: diff.change is Change.ADDED,
    "removed": lambda diff: diff.change is Change.REMOVED,
    "found": lambda diff: bool(diff.found),
    "any": lambda diff: diff.change is not Change.SAME,
}


class _Side(Struct, frozen=True):
    """One side of a comparison: paths, in a revision or as they are here.

    `cluster` is the word that stands for a cluster's objects instead, those of the
    names that the other side has, or that its paths have.
    """

    paths: Sequence[str]
    revision: str = ""
    commit: str = ""
    cluster: str = ""

    @property
    def name(self) -> str:
        """How the report calls it."""
        paths = " ".join(self.paths)
        return self.cluster or (f"{self.revision}:{paths}" if self.revision else paths)

    @property
    def place(self) -> str:
        """Where its paths are, for a sentence."""
        return f"in {self.revision}" if self.revision else "here"

    @property
    def context(self) -> str:
        """The context of the kubeconfig that it names, empty for the current one."""
        return self.cluster.partition(":")[2]


def print_diff(words: Sequence[str], options: DiffOptions) -> int:
    """Print what differs and return the exit status.

    Raises:
        UsageError: the words name nothing to compare.
        ManifestError: nothing of a side can be read as manifests.
        NothingToDoError: neither side has a pod.
    """
    if options.md and options.output in PRINTERS:
        raise UsageError(f"--md and -o {options.output} are two forms; choose one")
    old, new = sides = _sides(words)
    notes = Notes(quiet=options.quiet)
    if old.cluster or new.cluster:
        before, after = _load_with_clusters(sides, options, notes)
    else:
        before, after = (
            _load(sources, options, notes) for sources in _read(sides, options, notes)
        )
    if not (before or after):
        raise NothingToDoError(f"no pod in {old.name} nor in {new.name}")
    containers = diff_workloads(
        _workloads(before), _workloads(after), rules_by(options)
    )
    secrets = find_pod_secrets([loaded.pod for loaded in (*before, *after)])
    view = replace(View.timeless(Mask(secrets)), rules=rules_by(options))
    history = None
    if asks_past(options):
        # Late: it is seldom asked.
        from probetui.cli.commands.diff_history import read_history

        history = read_history(containers, before, options, notes)
    report = DiffReport(old.name, new.name, containers, view, history)
    emit(report, MARKDOWN if options.md else options.output)
    holes = () if history is None else history.holes
    for hole in holes:
        notes.warning(hole)
    is_failure = any(
        _IS_FAILURE[kind](diff) for kind in options.fail_on for diff in containers
    )
    return _FAILED if is_failure or (options.strict and holes) else 0


def asks_past(options: DiffOptions) -> bool:
    """Return whether a store is asked: a setting alone names one that may be."""
    context = click.get_current_context(silent=True)
    if context is None:
        return options.prometheus is not None
    given = context.get_parameter_source("prometheus")
    return given is ParameterSource.COMMANDLINE


def _sides(words: Sequence[str]) -> tuple[_Side, _Side]:
    """Return what is compared: two paths, or paths in one revision or two."""
    if DASHES in words:
        at = words.index(DASHES)
        revisions, paths = words[:at], words[at + 1 :]
    else:
        count = next(
            (number for number, word in enumerate(words) if _is_path(word)), len(words)
        )
        revisions, paths = words[:count], words[count:]
        if not revisions and len(paths) == _MOST_SIDES:
            if _is_cluster(paths[1]):
                return _Side(paths[:1]), _Side(paths[:1], cluster=paths[1])
            if not _is_path(paths[1]):
                raise UsageError(f"{paths[1]}: No such file or directory")
            return _Side(paths[:1]), _Side(paths[1:])
        if not revisions:
            raise UsageError(
                "name what to compare: OLD and NEW, or a revision of Git or `cluster` "
                "and a path, as in `probetui diff main -- k8s/`"
            )
    if not 0 < len(revisions) <= _MOST_SIDES:
        raise UsageError("one revision or two stand before the paths")
    if not paths:
        raise UsageError(f"name a file or folder of {revisions[-1]}, as in -- k8s/")
    old, *later = (
        _Side(paths, cluster=word) if _is_cluster(word) else _in_revision(word, paths)
        for word in revisions
    )
    return old, later[0] if later else _Side(paths)


def _is_path(word: str) -> bool:
    """Return whether a word names a file rather than a revision."""
    return word == STDIN or is_url(word) or Path(word).exists()


def _is_cluster(word: str) -> bool:
    """Return whether a word stands for a cluster's objects: no file is called so."""
    return (word == _CLUSTER or word.startswith(f"{_CLUSTER}:")) and not _is_path(word)


def _in_revision(name: str, paths: Sequence[str]) -> _Side:
    commit = find_revision(name)
    if commit is None:
        raise UsageError(f"{name}: is no file here, and no revision that Git knows")
    return _Side(paths, name, commit)


def _load(
    sources: Sequence[SourceFile], options: DiffOptions, notes: Notes
) -> tuple[LoadedPod, ...]:
    """Return the pods of a side; what of it is no manifest is noted, and left out."""
    manifests = load_manifests(
        sources,
        namespace=options.namespace,
        rules=rules_by(options),
        host=platform.node(),
        stub_missing=True,
    )
    if manifests.errors and not manifests.loaded:
        raise ManifestError([str(problem) for problem in manifests.errors])
    for problem in manifests.errors:
        notes.warning(f"{problem}: left out")
    loaded = manifests.loaded
    return select_pods(loaded, options.selector) if loaded else ()


def _load_with_clusters(
    sides: tuple[_Side, _Side], options: DiffOptions, notes: Notes
) -> list[tuple[LoadedPod, ...]]:
    """Return the pods of two sides, of which one or both are of a cluster.

    Raises:
        ClusterError: a cluster cannot be asked, or refuses an object.
    """
    named = next((side for side in sides if not side.cluster), _Side(sides[0].paths))
    (sources,) = _read((named,), options, notes)
    wanted = _load(sources, options, notes)
    # Late: most comparisons need no client of a cluster.
    from probetui.cli.live_pods import LiveCluster

    clusters = {
        side.cluster: LiveCluster(side.cluster, side.context, options, notes)
        for side in sides
        if side.cluster
    }
    # A manifest without a namespace goes to the context's, as with kubectl.
    namespace = options.namespace or next(iter(clusters.values())).namespace
    wanted = tuple(
        loaded
        if loaded.object.namespace
        else replace(loaded, pod=replace(loaded.pod, namespace=namespace))
        for loaded in wanted
    )
    return [
        clusters[side.cluster].pods_like(wanted) if side.cluster else wanted
        for side in sides
    ]


def _read(
    sides: Sequence[_Side], options: DiffOptions, notes: Notes
) -> list[list[SourceFile]]:
    """Return the files of each side; what only one of them has is noted.

    Raises:
        UsageError: a path is on no side.
    """
    read = [[_files(side, path, options) for path in side.paths] for side in sides]
    for number, path in enumerate(sides[0].paths):
        there = [files[number] for files in read]
        if all(files is None for files in there):
            where = " nor ".join(side.place for side in sides)
            raise UsageError(f"{path}: is not {where}")
        for side, files in zip(sides, there, strict=True):
            if not files:
                said = f"is not {side.place}" if files is None else "has no manifest"
                notes.note(f"{path} {said}")
    return [[source for files in side for source in files or ()] for side in read]


def _files(side: _Side, path: str, options: DiffOptions) -> list[SourceFile] | None:
    """Return the files of a path, None if there is no such path."""
    recursive = options.recursive
    if side.commit:
        return files_at(side.commit, side.revision, path, recursive=recursive)
    if not _is_path(path):
        return None
    with suppress(NothingToDoError):  # a folder without manifests
        return read_sources([path], recursive=recursive)
    return []


def _workloads(loaded: Sequence[LoadedPod]) -> list[WorkloadPod]:
    return [
        WorkloadPod(pod.object.workload.kind, pod.object.name or pod.pod.name, pod.pod)
        for pod in loaded
    ]
