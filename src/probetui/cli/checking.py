"""Manifests checked: the API server's rules, then what is unwise about probes."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from probetui.cli.files import read_sources
from probetui.cli.notes import Notes
from probetui.cli.pods import (
    ManifestOptions,
    check_containers,
    names_of,
    select_pods,
)
from probetui.cli.printing import print_text
from probetui.cli.session_options import pick
from probetui.errors import NothingToDoError
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import LoadedPod, Validation
from probetui.manifest.problem import Problem, Severity
from probetui.presentation.findings import RULES, findings_for
from probetui.presentation.host_access import host_access
from probetui.presentation.reports import FORMS, Report

_WRONG = 1
_UNUSABLE = 2

_STRICT_RULES = frozenset({"unknown-field", "duplicate-key", "port-name"})
"""What Kubernetes accepts, or drops in silence, and is wrong all the same."""

_UNUSABLE_RULES = frozenset({"yaml", "twice", "set", "duplicate-key"})
"""Errors about the input, not about a pod: nobody knows what is meant."""

_NO_PROBE = "no-probe"


def check(params: Mapping[str, Any]) -> int:
    """Print what is found and return the exit status.

    Raises:
        UsageError: an option cannot be used, or names no container.
        ManifestError: files that cannot be read, all of them.
        NothingToDoError: there is nothing to check.
    """
    options = pick(ManifestOptions, params)
    sources = read_sources(options.filenames, recursive=options.recursive)
    # Read leniently, so that there are findings beside what is made an error of.
    is_ignored = options.validate == Validation.IGNORE
    manifests = load_manifests(
        sources,
        namespace=options.namespace,
        validation=Validation.IGNORE if is_ignored else Validation.WARN,
        settings=options.changes,
        host=platform.node(),
    )
    if not (manifests.loaded or manifests.errors):
        names = names_of(options.filenames)
        if not manifests.documents:
            raise NothingToDoError(f"{names}: no YAML received")
        notes = "; ".join(each.message for each in manifests.notes)
        raise NothingToDoError(f"{names}: no pod to check: {notes}")
    problems = list(manifests.problems)
    if options.validate == Validation.STRICT:
        is_probed = any(map(_has_probe, manifests.pods))
        problems = [_strictly(each, is_probed=is_probed) for each in problems]
    if manifests.loaded:
        check_containers(params["containers"], manifests.pods)
        pods = select_pods(manifests.loaded, options.selector)
        problems += _about(_with_containers(pods, params["containers"]), params)
    order = {each.name: number for number, each in enumerate(sources)}

    def place(problem: Problem) -> tuple[int, int, int]:
        return order.get(problem.file, len(order)), problem.line, problem.column

    report = Report(
        tuple(order),
        sorted(problems, key=place),
        {name: rule.about for name, rule in RULES.items()},
    )
    print_text(FORMS[params["output"]](report))
    Notes(quiet=params["quiet"]).note(_summary(report))
    return _status(report.problems)


def _strictly(problem: Problem, *, is_probed: bool) -> Problem:
    """Return a problem as bad as it is; to have no probe anywhere is an error."""
    is_error = problem.rule in _STRICT_RULES or (
        problem.rule == _NO_PROBE and not is_probed
    )
    return replace(problem, severity=Severity.ERROR) if is_error else problem


def _has_probe(pod: Pod) -> bool:
    return any(
        container.probe(each) is not None
        for container in pod.all_containers()
        for each in ProbeType
    )


def _with_containers(
    pods: Iterable[LoadedPod], names: Sequence[str]
) -> Iterator[LoadedPod]:
    for each in pods:
        if not names or any(each.pod.container(name) for name in names):
            yield each


def _about(pods: Iterable[LoadedPod], params: Mapping[str, Any]) -> Iterator[Problem]:
    for loaded in pods:
        if params["verbose"]:
            yield from loaded.unsupported
        if params["no_findings"]:
            continue
        for each in (*host_access(loaded.pod), *findings_for(loaded.pod)):
            yield loaded.object.problem(
                each.path, each.message, each.severity, each.rule
            )


def _status(problems: Sequence[Problem]) -> int:
    errors = [each for each in problems if each.severity is Severity.ERROR]
    if any(each.rule in _UNUSABLE_RULES for each in errors):
        return _UNUSABLE
    return _WRONG if errors else 0


def _summary(report: Report) -> str:
    counts = [
        f"{count} {severity}{'' if count == 1 else 's'}"
        for severity in Severity
        if (count := report.count(severity))
    ]
    return ", ".join(counts) or "nothing found"
