"""`probetui check` and `probetui explain`: validation, findings, effective settings."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from probetui.analysis.findings import FINDING_RULES
from probetui.analysis.host_access import host_access_findings
from probetui.cli.cause_pages import pages_of_rules
from probetui.cli.manifest_findings import manifest_findings, problem_of
from probetui.cli.option_groups import pick_options
from probetui.cli.option_values import rules_by
from probetui.cli.pods import (
    ManifestOptions,
    check_containers,
    load_pods,
    report_problems,
    select_pods,
)
from probetui.cli.printing import Notes
from probetui.cli.reports import emit
from probetui.errors import NothingToDoError
from probetui.manifest.alert_rules import StoredRule
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import FieldValidation, LoadedPod, Manifests
from probetui.manifest.problem import Problem, Severity, quote_short
from probetui.presentation.plain.check_reports import CheckReport
from probetui.presentation.probe.explain import ExplainReport
from probetui.presentation.text.view import View
from probetui.record.masking import Mask, find_pod_secrets

if TYPE_CHECKING:
    from probetui.cli.commands.inspection import CheckOptions, ExplainOptions

_WRONG = 1
_UNUSABLE = 2

_STRICT_RULES = frozenset({"unknown-field", "later-field", "duplicate-key"})
"""What an API server refuses if it is asked to be strict, as kubectl asks it."""

_UNUSABLE_RULES = frozenset({"yaml", "twice", "set", "duplicate-key"})
"""Errors about the input, not about a pod: nobody knows what is meant."""


def check_manifests(options: CheckOptions) -> int:
    """Print the problems of manifests and return the exit status.

    Raises:
        UsageError: an option cannot be used, or names no container.
        ManifestError: files that cannot be read, all of them.
        NothingToDoError: there is nothing to check.
    """
    files = pick_options(ManifestOptions, options)
    sources = files.reader().read()
    # Read leniently, so that findings are reported beside errors.
    is_ignored = options.validate == FieldValidation.IGNORE
    manifests = load_manifests(
        sources,
        namespace=options.namespace,
        validation=FieldValidation.IGNORE if is_ignored else FieldValidation.WARN,
        settings=options.changes,
        rules=files.rules,
        host=platform.node(),
        stub_missing=options.stub_missing,
    )
    if not (manifests.loaded or manifests.stored_rules or manifests.errors):
        names = files.names
        if not manifests.documents:
            raise NothingToDoError(f"{names}: no YAML received")
        notes = "; ".join(note.message for note in manifests.notes)
        raise NothingToDoError(f"{names}: no pod to check: {notes}")
    problems = list(manifests.problems)
    if options.validate == FieldValidation.STRICT:
        problems = [
            _as_error(problem) if problem.rule in _STRICT_RULES else problem
            for problem in problems
        ]
    if manifests.loaded:
        check_containers(options.containers, manifests.pods)
        pods = select_pods(manifests.loaded, options.selector)
        problems += _findings(
            manifests, _with_containers(pods, options.containers), options
        )
    if manifests.stored_rules and not (options.no_findings or options.containers):
        problems += _about_rules(manifests.stored_rules)
    if options.strict:
        problems = [
            _as_error(problem) if problem.severity is Severity.WARNING else problem
            for problem in problems
        ]
    order = {source.name: number for number, source in enumerate(sources)}

    def place(problem: Problem) -> tuple[int, int, int]:
        return order.get(problem.file, len(order)), problem.line, problem.column

    if options.quiet:
        problems = [
            problem for problem in problems if problem.severity is Severity.ERROR
        ]
    report = CheckReport(
        tuple(order),
        sorted(problems, key=place),
        {name: rule.about for name, rule in FINDING_RULES.items()},
        {name: rule.advice for name, rule in FINDING_RULES.items()},
        pages_of_rules() if options.output == "sarif" else {},
    )
    emit(report, options.output)
    Notes(quiet=options.quiet).note(_summary(report))
    return _status(report.problems)


def _as_error(problem: Problem) -> Problem:
    """Return a problem as an error."""
    return replace(problem, severity=Severity.ERROR)


def _with_containers(
    pods: Iterable[LoadedPod], names: Sequence[str]
) -> Iterator[LoadedPod]:
    for pod in pods:
        if not names or any(pod.pod.container(name) for name in names):
            yield pod


def _findings(
    manifests: Manifests, pods: Iterable[LoadedPod], options: CheckOptions
) -> Iterator[Problem]:
    checked = tuple(pods)
    for loaded in checked:
        if options.verbose:
            yield from loaded.unsupported
        if not options.no_findings:
            for finding in host_access_findings(loaded.pod):
                yield problem_of(loaded, finding)
    if not options.no_findings:
        for loaded, finding in manifest_findings(manifests, checked, rules_by(options)):
            yield problem_of(loaded, finding)


def _about_rules(rules: Sequence[StoredRule]) -> Iterator[Problem]:
    # Late: most files have none, and their parser is large.
    from probetui.analysis.rule_findings import rule_findings

    recorded = {rule.name for rule in rules if rule.records}
    for rule in rules:
        for finding in rule_findings(rule.expression, rule.path, recorded):
            message = f"{quote_short(rule.name)}: {finding.message}"
            yield Problem(
                rule.position, rule.path, message, finding.severity, finding.rule
            )


def _status(problems: Sequence[Problem]) -> int:
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if any(error.rule in _UNUSABLE_RULES for error in errors):
        return _UNUSABLE
    return _WRONG if errors else 0


def _summary(report: CheckReport) -> str:
    counts = [
        f"{count} {severity}{'' if count == 1 else 's'}"
        for severity in Severity
        if (count := report.count(severity))
    ]
    return ", ".join(counts) or "nothing found"


def explain_probes(options: ExplainOptions) -> int:
    """Print the effective settings of all probes; the exit status is 0."""
    manifests = load_pods(pick_options(ManifestOptions, options))
    report_problems(manifests, Notes(quiet=options.quiet))
    names = options.containers
    check_containers(names, manifests.pods)
    pods = [
        pod
        for pod in manifests.pods
        if not names or any(pod.container(name) for name in names)
    ]
    view = View.timeless(Mask(find_pod_secrets(pods)))
    view = replace(view, rules=rules_by(options), services=manifests.services)
    emit(ExplainReport(pods, view), options.output)
    return 0
