"""`probetui versions`: what versions of the kubelet do differently with pods."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from probetui.cli.files import read_sources
from probetui.cli.option_groups import pick_options
from probetui.cli.pods import ManifestOptions, select_pods
from probetui.cli.printing import Notes
from probetui.cli.reports import emit
from probetui.drive.scenario.reader import read_scenario
from probetui.drive.scenario.script import Scenario
from probetui.drive.version_comparison import (
    KNOWN_FIELDS,
    Observation,
    VersionDifference,
    VersionInput,
    built_in_scripts,
    find_differences,
)
from probetui.errors import NothingToDoError, UsageError
from probetui.k8s.pod import Pod
from probetui.kubelet_rules import (
    ROWS,
    VERSIONS,
    KubeletRules,
    release_of,
    rules_of_each,
)
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import Manifests
from probetui.manifest.problem import Severity
from probetui.manifest.yaml.parser import SourceFile
from probetui.presentation.report import Part, Table
from probetui.suggestions import nearest_hint

if TYPE_CHECKING:
    from probetui.cli.commands.inspection import VersionsOptions

_DIFFERS = 1
_NOT_SIMULATED = "-"
_DROPPED = {
    "later-field": "which it does not know",
    "disabled-field": "whose feature gate is off",
}
"""What happens to a field, by the rule of its problem."""

_ABOUT_KNOWN_FIELDS = (
    "A field of the manifest came with a later version; before, an API server drops it "
    "(field_versions.py, from the OpenAPI of each version)."
)
_MISSING = "no-object"
_WARNED = "api-warning"


class VersionsReport(Struct):
    """Differences between versions, which take long to find.

    Attributes:
        names: the versions, as they were asked for.
        versions: their rules.
        scripts: the names of the scripts that are simulated.
        found: finds the differences; read once, by the one form that is printed.
        has_headings: whether tables have any.
        differences: those that were found so far.
    """

    names: Sequence[str]
    versions: Sequence[KubeletRules]
    scripts: Sequence[str]
    found: Iterator[VersionDifference]
    has_headings: bool
    differences: list[VersionDifference] = field(default_factory=list)

    def value(self) -> dict[str, Any]:
        """Return all differences."""
        return {
            "versions": self.names,
            "scripts": self.scripts,
            "differences": [
                _value_of(difference, self.versions) for difference in self._read()
            ],
        }

    def parts(self, form: str) -> Iterator[Part]:
        """Yield the names of fields, a wide table, or each difference when found."""
        match form:
            case "name":
                yield from dict.fromkeys(
                    difference.field for difference in self._read()
                )
            case "wide":
                rows = [
                    row
                    for difference in self._read()
                    for row in _rows(difference, self.versions)
                ]
                yield Table(rows, self.has_headings)
            case _:
                yield from self._lines()

    def _lines(self) -> Iterator[str]:
        """Yield each difference as it is found, under its sentence."""
        longest = max(len(rules.release) for rules in self.versions)
        of_range = 2 * longest + len(" to ")
        of_script = max(map(len, (*self.scripts, "SCRIPT")))
        widths = of_range, of_script, len("+180.0s")
        about = ""
        for number, difference in enumerate(self._read()):
            if self.has_headings and not number:
                yield _columns(("VERSIONS", "SCRIPT", "AT", "WHAT"), widths)
            if about != (about := _sentence(difference.field)):
                yield about
            for row in _rows(difference, self.versions):
                cells = (row["VERSIONS"], row["SCRIPT"], row["AT"], row["WHAT"])
                yield _columns(cells, widths)

    def _read(self) -> Iterator[VersionDifference]:
        for difference in self.found:
            self.differences.append(difference)
            yield difference


def compare_versions(options: VersionsOptions) -> int:
    """Print the differences between versions and return the exit status.

    Raises:
        UsageError: an option cannot be used.
        ManifestError: what is wrong with the files, all of it.
        NothingToDoError: there is no pod.
    """
    names = _versions(options.first, options.last)
    pods = pick_options(ManifestOptions, options)
    gates = (options.feature_gates or "").split(",")
    versions = rules_of_each(names, tuple(gate.strip() for gate in gates if gate))
    sources = pods.reader().read()
    accepted = _accepted(sources, pods, versions)
    if not accepted.pods:
        raise NothingToDoError(f"{pods.names}: no pod in it")
    select_pods(accepted.loaded, options.selector)
    notes = Notes(quiet=options.quiet)
    for problem in accepted.warnings:
        if problem.rule == _MISSING:
            notes.warning(str(problem))

    def load(rules: KubeletRules) -> VersionInput:
        return _version_input(_read(sources, pods, rules), pods)

    scripts = _scripts(options.scripts, accepted.pods)
    report = VersionsReport(
        names,
        versions,
        tuple(scripts),
        find_differences(versions, scripts, load, texts=options.texts),
        has_headings=not options.no_headers,
    )
    emit(report, options.output)
    count = len(report.differences)
    if options.output in {"table", "wide"}:
        left_out = "" if options.texts else "; --texts adds the words of messages"
        notes.note(
            f"{count} difference{'' if count == 1 else 's'} from {names[0]} to "
            f"{names[-1]}{left_out}"
        )
    is_asked = options.first is not None or options.last is not None
    return _DIFFERS if count and is_asked else 0


def _versions(first: str | None, last: str | None) -> tuple[str, ...]:
    first, last = first or VERSIONS[0], last or VERSIONS[-1]
    begin, end = release_of(first), release_of(last)
    if begin >= end:
        raise UsageError(
            f"--from {first} --to {last}: not an earlier version and a later one"
        )
    between = (version for version in VERSIONS if begin < release_of(version) < end)
    return first, *between, last


def _scripts(wanted: Sequence[str], pods: Sequence[Pod]) -> dict[str, Scenario]:
    built_in = built_in_scripts(pods)
    if not wanted:
        return built_in
    scripts = {}
    for name in wanted:
        if name in built_in:
            scripts[name] = built_in[name]
            continue
        if not Path(name).is_file():
            hint = nearest_hint(name, built_in) or f" (built in: {', '.join(built_in)})"
            raise UsageError(f'--script "{name}" is no script and no file{hint}')
        (source,) = read_sources([name], recursive=False)
        scripts[name] = read_scenario(source, pods)
    return scripts


def _read(
    sources: Sequence[SourceFile], options: ManifestOptions, rules: KubeletRules
) -> Manifests:
    return load_manifests(
        sources,
        namespace=options.namespace,
        settings=options.changes,
        rules=rules,
        host=platform.node(),
        stub_missing=options.stub_missing,
    )


def _accepted(
    sources: Sequence[SourceFile],
    options: ManifestOptions,
    versions: Sequence[KubeletRules],
) -> Manifests:
    """Return the manifests as the newest version reads them that refuses none.

    Raises:
        ManifestError: all versions refuse something; the error is the newest one's.
    """
    newest = _read(sources, options, versions[-1])
    if not newest.errors:
        return newest
    for rules in reversed(versions[:-1]):
        older = _read(sources, options, rules)
        if not older.errors:
            return older
    newest.raise_for_errors()
    return newest


def _version_input(manifests: Manifests, options: ManifestOptions) -> VersionInput:
    """Return what a version runs of the manifests, and what it refuses."""
    try:
        loaded = select_pods(manifests.loaded, options.selector)
    except NothingToDoError:
        loaded = ()
    problems = {}
    for problem in manifests.problems:
        if problem.severity is Severity.ERROR:
            what, why = f"refuses {problem.path}", f": {problem.message}"
        elif problem.rule in _DROPPED:
            what, why = f"drops {problem.path}", f", {_DROPPED[problem.rule]}"
        elif problem.rule == _WARNED:
            what, why = f"warns of {problem.path}", f": {problem.message}"
        else:
            continue
        problems[what] = f"{what}{why}"
    return VersionInput(
        tuple(pod.pod for pod in loaded), manifests.config_objects, problems
    )


def _ranges(
    difference: VersionDifference, versions: Sequence[KubeletRules]
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the first and last versions that do the earlier and the later thing."""
    names = [rules.release for rules in versions]
    turn = names.index(difference.since)
    if difference.field == KNOWN_FIELDS:
        return (names[0], names[turn - 1]), (names[turn], names[-1])
    values = [getattr(rules, difference.field) for rules in versions]
    begin, end = turn - 1, turn
    while begin > 0 and values[begin - 1] == values[turn - 1]:
        begin -= 1
    while end + 1 < len(names) and values[end + 1] == values[turn]:
        end += 1
    return (names[begin], names[turn - 1]), (names[turn], names[end])


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
    return "  ".join(("", *padded, cells[-1]))


def _rows(
    difference: VersionDifference, versions: Sequence[KubeletRules]
) -> Iterator[dict[str, str]]:
    for (first, last), observation in zip(
        _ranges(difference, versions),
        (difference.before, difference.later),
        strict=True,
    ):
        yield {
            "VERSIONS": first if first == last else f"{first} to {last}",
            "SCRIPT": difference.script or _NOT_SIMULATED,
            "AT": _format_time(observation),
            "WHAT": "nothing" if observation is None else observation.text,
            "DIFFERENCE": _about(difference.field),
        }


def _format_time(observation: Observation | None) -> str:
    if observation is None or observation.after is None:
        return "-"
    return f"+{observation.after:.1f}s"


def _sentence(field: str) -> str:
    """Return what a difference is about, without what shows it."""
    if field == KNOWN_FIELDS:
        return _ABOUT_KNOWN_FIELDS
    return ROWS[field].about


def _about(field: str) -> str:
    if field == KNOWN_FIELDS:
        return _ABOUT_KNOWN_FIELDS
    return ROWS[field].text


def _value_of(
    difference: VersionDifference, versions: Sequence[KubeletRules]
) -> dict[str, Any]:
    before, later = _ranges(difference, versions)
    return {
        "field": difference.field,
        "about": _about(difference.field),
        "since": difference.since,
        "script": difference.script or None,
        "before": _observation_value(before, difference.before),
        "after": _observation_value(later, difference.later),
    }


def _observation_value(
    versions: tuple[str, str], observation: Observation | None
) -> dict[str, Any]:
    return {
        "versions": versions,
        "at": None if observation is None else observation.after,
        "what": None if observation is None else observation.text,
    }
