"""`probetui test`: reads cases, runs them, reports them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from probetui.analysis.reproduce import quote_shell_line
from probetui.cli.case_files import Case, built_in_cases, read_cases
from probetui.cli.commands.testing import TestOptions
from probetui.cli.folders import make_private_directory
from probetui.cli.option_groups import pick_options
from probetui.cli.pods import ManifestOptions, load_pods, report_problems
from probetui.cli.printing import Notes, print_line, print_text
from probetui.cli.reports import emit
from probetui.cli.runtimes import AUTO, SIM
from probetui.cli.session.case_runs import CaseRun, CaseRunner, output_file, skipped
from probetui.errors import ManifestError, NothingToDoError, UsageError
from probetui.headless.cases.report import (
    CasesReport,
    as_github,
    as_junit,
    count,
    format_case,
    summary,
)
from probetui.headless.cases.result import CaseResult, Outcome
from probetui.manifest.load import CASES_RULE
from probetui.output_files import OutputKind, check_output, replace_output
from probetui.presentation.plain.check_reports import is_junit_beginning
from probetui.record.writer import SUFFIX
from probetui.suggestions import nearest_hint

JUNIT_KIND = OutputKind("a JUnit report of probetui", is_junit_beginning)
_FAILED = 1
_GITHUB = "GITHUB_ACTIONS"
_REPEATED = {
    "static": "--static",
    "namespace": "-n",
    "selector": "-l",
    "changes": "--set",
    "kubelet": "--kubelet",
    "feature_gates": "--feature-gates",
    "host": "-H",
    "docker_context": "--docker-context",
    "runtime_endpoint": "-r",
    "pull": "--pull",
    "exec_errors": "--exec-errors",
    "seed": "--seed",
}
_REPEATED_FLAGS = {
    "recursive": "-R",
    "strict": "--strict",
    "stub_missing": "--stub-missing",
}
"""Options that change what a case comes to, and have no default to repeat."""


def run_cases(options: TestOptions) -> int:
    """Run the cases of the files and return the exit status.

    Raises:
        UsageError: an option cannot be used.
        ManifestError: what is wrong with the files, all of it.
        NothingToDoError: there is no pod, or no case for the runtime.
        RuntimeUnavailableError: no container runtime answers.
    """
    files = pick_options(ManifestOptions, options)
    reader = files.reader()
    manifests = load_pods(files, reader)
    notes = Notes(quiet=options.quiet)
    problems = [problem for problem in manifests.problems if problem.rule != CASES_RULE]
    report_problems(replace(manifests, problems=tuple(problems)), notes)
    read = read_cases(reader.read(), manifests.pods)
    cases = _chosen(
        read or built_in_cases(manifests.loaded, files.rules), options.cases
    )
    results: list[CaseResult] = []
    is_text = options.output == "text"

    def report(result: CaseResult) -> None:
        results.append(result)
        if is_text:
            for line in format_case(result):
                print_line(line)

    runner = CaseRunner(options, reader, manifests, report)
    _check_settings(cases, runner)
    if (junit := options.junit) is not None:
        with _report_named(junit):  # now, and not when all cases have run
            check_output(junit, JUNIT_KIND)
    runs = list(_runs(cases, options))
    left_out = [skipped(run, why) for run, why in _not_here(cases, runs, options)]
    if not runs:
        raise NothingToDoError(f"no case is for --runtime {options.runtime}")
    status = runner.run(runs, options.jobs)
    for result in left_out:
        report(result)
    _write_reports([*runner.results, *left_out], options)
    notes.note(summary(results))
    if status:
        return status
    return _FAILED if count(results, Outcome.FAILED) else 0


def _chosen(cases: Sequence[Case], names: Sequence[str]) -> Sequence[Case]:
    known = [case.name for case in cases]
    for name in names:
        if name not in known:
            hint = nearest_hint(name, known)
            raise UsageError(
                f'--case: no case is called "{name}" (has: {", ".join(known)}){hint}'
            )
    return [case for case in cases if not names or case.name in names]


def _check_settings(cases: Sequence[Case], runner: CaseRunner) -> None:
    """Refuse what cases cannot set.

    Raises:
        ManifestError: names each case with a problem.
    """
    problems = []
    for case in cases:
        if case.settings:
            try:
                runner.load(case)
            except ManifestError as error:
                problems += [
                    f"{case.position}: set: {problem}" for problem in error.problems
                ]
    if problems:
        raise ManifestError(problems)


def _runs(cases: Sequence[Case], options: TestOptions) -> Iterator[CaseRun]:
    """Yield the runs of cases: on the runtime that is named, or on those they name."""
    wanted = options.runtime
    run_name = secrets.token_hex(3)
    folders = {"--record": options.record_dir, "--report": options.report_dir}
    for option, folder in folders.items():
        try:
            if folder is not None:
                make_private_directory(folder)
        except OSError as error:
            raise UsageError(f"{option} {folder}: {error.strerror or error}") from error
    for number, case in enumerate(cases):
        runtimes = case.runtimes or (wanted,)
        for runtime in runtimes if wanted == AUTO else (wanted,):
            if runtime in runtimes:
                yield CaseRun(
                    case,
                    runtime,
                    _command(case, runtime, options),
                    "" if runtime == SIM else f"-test-{run_name}-{number}",
                    *(
                        output_file(folder, number + 1, case, runtime, suffix)
                        for folder, suffix in (
                            (options.record_dir, f".jsonl{SUFFIX}"),
                            (options.report_dir, ".html"),
                        )
                    ),
                )


def _not_here(
    cases: Sequence[Case], runs: Sequence[CaseRun], options: TestOptions
) -> Iterator[tuple[CaseRun, str]]:
    """Yield the cases that are for other runtimes than the one that is named."""
    there = {run.case.name for run in runs}
    for case in cases:
        if case.name not in there:
            run = CaseRun(case, options.runtime, "", "", None, None)
            yield run, f"runs on {', '.join(case.runtimes)}"


def _command(case: Case, runtime: str, options: TestOptions) -> str:
    """Return the command that repeats one case."""
    words = ["probetui", "test"]
    for name in options.filenames:
        words += ["-f", name]
    words += [flag for name, flag in _REPEATED_FLAGS.items() if getattr(options, name)]
    for name, option in _REPEATED.items():
        given = getattr(options, name)
        for value in given if isinstance(given, tuple) else (given,):
            words += [] if value is None else [option, str(value)]
    return quote_shell_line([*words, "--runtime", runtime, "--case", case.name])


def _write_reports(results: Sequence[CaseResult], options: TestOptions) -> None:
    if options.output != "text":
        emit(CasesReport(results), options.output)
    if os.environ.get(_GITHUB) == "true" and options.output != "github":
        print_text(as_github(results), err=True)
    path: Path | None = options.junit
    if path is None:
        return
    with _report_named(path):
        replace_output(path, JUNIT_KIND, as_junit(results).encode())


@contextmanager
def _report_named(path: Path) -> Iterator[None]:
    """Report why a file of `--junit` cannot be written."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"--junit {path}: {error.strerror or error}") from error
