"""Declarations of the commands that explain pods: check, explain, probe, why."""

from pathlib import Path
from typing import Annotated

import click

from probetui.cli import completions
from probetui.cli.commands.fleet import SettingsOptions, StoreOptions
from probetui.cli.option_groups import Opt, OptionGroup, Setting, takes_options
from probetui.cli.options import (
    ChosenPodOptions,
    EngineOptions,
    ExecErrors,
    FeatureGates,
    NoFindings,
    PodOptions,
    ProgramOptions,
    RecordOptions,
    StubMissing,
    TableOptions,
    TextOptions,
    Validate,
    VersionOptions,
    container_filter,
    output_forms,
    takes_files,
    takes_files_among,
)
from probetui.cli.parameters import KubeletVersion, OneOf, SectionedCommand, examples

CHECK_FORMATS = (
    *("text", "wide", "json", "yaml"),
    *("junit", "tap", "sarif", "github"),
)


class CheckedPods(PodOptions):
    """The pods of the files, and what of them is an error."""

    strict: Annotated[
        bool,
        Setting(help="Report warnings, findings too, as errors; notes stay notes."),
    ] = False
    validate: Validate = "strict"


class CheckOutputOptions(OptionGroup, section="Output"):
    """What is reported."""

    containers: Annotated[
        tuple[str, ...],
        container_filter("Only findings about pods with such a container. Repeatable."),
    ] = ()
    output: Annotated[str, output_forms(*CHECK_FORMATS)] = "text"
    no_findings: Annotated[
        bool, Opt(help="Report only what is invalid, no findings.")
    ] = False
    verbose: Annotated[
        bool,
        Opt(
            "-v",
            help="Also print notes, and fields that probetui does not support.",
        ),
    ] = False


class CheckOptions(CheckedPods, VersionOptions, CheckOutputOptions, ProgramOptions):
    """The options of `check`."""


@click.command(
    "check",
    cls=SectionedCommand,
    epilog=examples(
        "probetui check -f pod.yaml",
        "probetui check -f pods/ -R -o junit > report.xml",
    ),
)
@takes_files
@takes_options
def check(options: CheckOptions) -> int:
    """Validate manifests as the API server does, and check probes for bad practice.

    Of PrometheusRules and rule files it says what can never fire. Nothing is started.
    The exit status is 0 if an API server would take everything, 1
    if it would refuse something, and 2 if a file cannot be read as manifests: no YAML,
    a key or a pod twice. Warnings and findings change it with --strict only.
    """
    from probetui.cli.commands.manifest_reports import check_manifests

    return check_manifests(options)


class ExplainFilter(OptionGroup):
    """Which pods are explained."""

    containers: Annotated[
        tuple[str, ...],
        container_filter("Only pods with such a container. Repeatable."),
    ] = ()


class ExplainOptions(
    PodOptions, VersionOptions, ExplainFilter, TextOptions, ProgramOptions
):
    """The options of `explain`."""


@click.command(
    "explain",
    cls=SectionedCommand,
    epilog=examples(
        "probetui explain -f pod.yaml",
        "probetui explain -f pod.yaml --set web.livenessProbe.periodSeconds=2",
    ),
)
@takes_files
@takes_options
def explain(options: ExplainOptions) -> int:
    """Print the effective settings of all probes, and the timing that follows.

    That is when a container is first probed, how long it takes at least and at most to
    notice that the app fails, to kill and to restart it, and how long it may take to
    start. Nothing is started.
    """
    from probetui.cli.commands.manifest_reports import explain_probes

    return explain_probes(options)


class ComparisonChoices(OptionGroup, section="Versions"):
    """Which versions are compared, and how."""

    stub_missing: StubMissing = False
    first: Annotated[
        str | None,
        Opt(
            "--from",
            type=KubeletVersion(),
            metavar="VERSION",
            help="The first version.  [default: the oldest]",
        ),
    ] = None
    last: Annotated[
        str | None,
        Opt(
            "--to",
            type=KubeletVersion(),
            metavar="VERSION",
            help="The last version.  [default: the newest]",
        ),
    ] = None
    scripts: Annotated[
        tuple[str, ...],
        Opt(
            "--script",
            metavar="NAME|FILE",
            shell_complete=completions.complete_version_scripts,
            help="What containers and probes do: healthy, never-ready, slow-start, "
            "dies, crash-loop, unhealthy, times-out, errored, deleted, or a file as "
            "for `sim`. Repeatable.  [default: all of these]",
        ),
    ] = ()
    texts: Annotated[
        bool,
        Opt(
            help="List what only the words of messages differ in, too, after all else.",
        ),
    ] = False


class ComparisonTable(TableOptions):
    """How differences are printed."""

    feature_gates: FeatureGates = None


class VersionsOptions(
    ChosenPodOptions, ComparisonChoices, ComparisonTable, ProgramOptions
):
    """The options of `versions`."""


@click.command(
    "versions",
    cls=SectionedCommand,
    epilog=examples(
        "probetui versions -f pod.yaml",
        "probetui versions -f pod.yaml --from 1.34 --to 1.36",
        "probetui versions -f pod.yaml --script crash-loop -o json",
    ),
)
@takes_files
@takes_options
def versions(options: VersionsOptions) -> int:
    """Compare what the versions of the kubelet do with pods.

    Each version is simulated for three minutes with the same scripts. Each difference
    is listed as soon as it is found, with what it is about and the first thing that
    one sees of it. Nothing is started. With --from or --to the exit status is 1 if
    something is listed.
    """
    from probetui.cli.commands.version_report import compare_versions

    return compare_versions(options)


class ProbeChoices(OptionGroup, section="Probe"):
    """Which probe is run."""

    container: Annotated[
        str | None,
        Opt(
            "-c",
            metavar="NAME",
            shell_complete=completions.complete_containers,
            help="The container, if more than one has a probe.",
        ),
    ] = None
    probe_type: Annotated[
        str | None,
        Opt(
            "-t",
            "--type",
            type=OneOf(("liveness", "readiness", "startup")),
            help="The type of probe, if the container has more than one.",
        ),
    ] = None


class ProbeRules(VersionOptions):
    """The rules by which a probe is run and judged."""

    exec_errors: ExecErrors = None
    no_findings: NoFindings = False


class ProbeOptions(
    PodOptions, ProbeChoices, EngineOptions, ProbeRules, TextOptions, ProgramOptions
):
    """The options of `probe`."""


@click.command(
    "probe",
    cls=SectionedCommand,
    epilog=examples(
        "probetui probe pod.yaml -t readiness",
        "probetui probe -f pod.yaml -c web -t liveness web=shop-web-1",
    ),
)
@click.argument(
    "words",
    nargs=-1,
    metavar="[FILE | CONTAINER=NAME_OR_ID]...",
    shell_complete=completions.complete_container_targets,
)
@takes_files_among("words")
@takes_options
def probe(words: tuple[str, ...], options: ProbeOptions) -> int:
    """Run one probe once and print its result.

    The container must be running: in a pod that probetui runs or has kept, or as one
    that `probetui attach` would find. It is not changed, and no threshold is counted.
    The exit status is 0 for a success, 1 for a failure, 125 for a probe that could not
    be run (the kubelet ignores such a result), 3 if the container is not running.
    """
    from probetui.cli.commands.single_probe import probe_once

    return probe_once(words, options)


class WhyForms(TextOptions):
    """Forms of the answer for people elsewhere."""

    md: Annotated[
        bool,
        Opt(help="Print Markdown for a ticket, with the settings in force."),
    ] = False
    short: Annotated[bool, Opt(help="Print three lines for each container.")] = False
    page: Annotated[
        str | None,
        Opt(
            is_flag=False,
            flag_value="",
            metavar="[KIND]",
            shell_complete=completions.complete_causes,
            help="Print the page about a kind of cause, or list the kinds.",
        ),
    ] = None


class WhyInstant(OptionGroup):
    """The instant that the answer is about."""

    at: Annotated[
        str | None,
        Opt(
            metavar="TIME",
            help="Answer as of then, not of the end: `40s` or `1:30` after the start, "
            "`-10s` before the end, or in RFC 3339. With --prometheus: RFC 3339, "
            '"2026-08-31 03:12", 03:12, "yesterday 03:12" or -12h.',
        ),
    ] = None


class PastRecordOptions(OptionGroup, section="Record"):
    """Whether the record of a store's samples is kept, and may lack something."""

    record: Annotated[
        str | None,
        Opt(
            metavar="FILE",
            type=click.Path(dir_okay=False),
            help="Keep what a store's samples show as a record, which `why`, `replay` "
            "and `report` read.",
        ),
    ] = None
    strict: Annotated[
        bool,
        Opt(help="Exit with status 1 if a store could not answer something."),
    ] = False


class WhyOptions(
    WhyInstant,
    RecordOptions,
    PastRecordOptions,
    StoreOptions,
    SettingsOptions,
    WhyForms,
    ProgramOptions,
):
    """The options of `why`."""


@click.command(
    "why",
    cls=SectionedCommand,
    epilog=examples(
        "probetui why",
        "probetui why session.jsonl shop/web",
        "probetui why shop/web --at 40s",
        "probetui why --md > ticket.md",
        "probetui why --page killed-by-liveness",
        'probetui why shop/web-0 --at "yesterday 03:12" --prometheus auto',
    ),
)
@click.argument("arguments", nargs=-1, metavar="[FILE.jsonl] [POD/CONTAINER]")
@takes_options
def why(arguments: tuple[str, ...], options: WhyOptions) -> int:
    """Explain why containers are not up, not ready, or were killed.

    It reads the record of a session (without FILE, that of the last one) and reports on
    the containers that ended or are not well, or on the one that is named. That may be
    one that was never created.

    With --prometheus it asks a store of a cluster's past about NAMESPACE/POD or
    NAMESPACE/POD/CONTAINER, by the settings of -f, else by those of the pod or of its
    template in the cluster of the kubeconfig: the hour before --at and three minutes
    after it become a record. What happened between two scrapes is bounded.
    """
    if options.page is not None:
        from probetui.cli.cause_pages import print_page

        return print_page(options.page)
    from probetui.cli.commands.why_report import print_report

    return print_report(arguments, options)


class ReportOutputOptions(OptionGroup, section="Output"):
    """Where the report goes."""

    output: Annotated[
        str | None,
        Opt(
            "-o",
            metavar="FILE",
            type=click.Path(allow_dash=True),
            help="The page, or the lanes alone as a picture if the name ends in .svg; "
            "- is standard output.  [default: report.html]",
        ),
    ] = None


class ReportOptions(RecordOptions, ReportOutputOptions, ProgramOptions):
    """The options of `report`."""


@click.command(
    "report",
    cls=SectionedCommand,
    epilog=examples(
        "probetui report",
        "probetui report session.jsonl.gz -o report.html",
        "probetui report -o lanes.svg",
    ),
)
@click.argument("record", type=click.Path(path_type=Path), required=False)
@takes_options
def report(record: Path | None, options: ReportOptions) -> int:
    """Write a recorded session as one HTML page: to show, to send, to keep.

    Without RECORD, the last session is used. The page has the verdict, the lanes, the
    causes, what containers printed last, settings and manifests; it loads nothing, and
    is read without scripts. It holds the record, too: `replay`, `why`, `whatif`, `fit`
    and `report` take it as they take a record. Secrets are masked as in the record.
    """
    from probetui.cli.commands.session_report import print_session_report

    return print_session_report(record, options)
