"""Declarations of the commands that explain pods: check, explain, probe, why."""

from __future__ import annotations

from typing import Any

import click

from probetui.cli import completions
from probetui.cli.options import (
    container_filter_option,
    exec_errors_option,
    feature_gates_option,
    filename_options,
    findings_option,
    manifest_options,
    namespace_option,
    pod_choice_options,
    program_options,
    record_limit_option,
    runtime_options,
    stub_missing_option,
    table_options,
    takes_files,
    takes_files_among,
    validate_option,
    version_options,
)
from probetui.cli.parameters import (
    KubeletVersion,
    OneOf,
    SectionedCommand,
    examples,
    option,
    output_option,
    setting,
)

CHECK_FORMATS = (
    *("text", "wide", "json", "yaml"),
    *("junit", "tap", "sarif", "github"),
)
_OUTPUT, _PROBE, _VERSIONS = "Output", "Probe", "Versions"

_text_or_data_option = output_option("text", "json", "yaml")


@click.command(
    "check",
    cls=SectionedCommand,
    epilog=examples(
        "probetui check -f pod.yaml",
        "probetui check -f pods/ -R -o junit > report.xml",
    ),
)
@filename_options
@namespace_option
@pod_choice_options
@validate_option("strict")
@setting(
    "--strict",
    section="Pods",
    is_flag=True,
    help="Report warnings, findings too, as errors; notes stay notes.",
)
@stub_missing_option
@version_options
@container_filter_option("Only findings about pods with such a container. Repeatable.")
@output_option(*CHECK_FORMATS)
@option(
    "--no-findings",
    section=_OUTPUT,
    is_flag=True,
    help="Report only what is invalid, no findings.",
)
@option(
    "-v",
    "--verbose",
    section=_OUTPUT,
    is_flag=True,
    help="Also print notes, and fields that probetui does not support.",
)
@program_options
@takes_files
def check(**params: Any) -> int:
    """Validate manifests as the API server does, and check probes for bad practice.

    Nothing is started. The exit status is 0 if an API server would take everything, 1
    if it would refuse something, and 2 if a file cannot be read as manifests: no YAML,
    a key or a pod twice. Warnings and findings change it with --strict only.
    """
    from probetui.cli.commands.manifest_reports import check_manifests

    return check_manifests(params)


@click.command(
    "explain",
    cls=SectionedCommand,
    epilog=examples(
        "probetui explain -f pod.yaml",
        "probetui explain -f pod.yaml --set web.livenessProbe.periodSeconds=2",
    ),
)
@manifest_options
@version_options
@container_filter_option("Only pods with such a container. Repeatable.")
@_text_or_data_option
@program_options
@takes_files
def explain(**params: Any) -> int:
    """Print the effective settings of all probes, and the timing that follows.

    That is when a container is first probed, how long it takes at least and at most to
    notice that the app fails, to kill and to restart it, and how long it may take to
    start. Nothing is started.
    """
    from probetui.cli.commands.manifest_reports import explain_probes

    return explain_probes(params)


@click.command(
    "versions",
    cls=SectionedCommand,
    epilog=examples(
        "probetui versions -f pod.yaml",
        "probetui versions -f pod.yaml --from 1.34 --to 1.36",
        "probetui versions -f pod.yaml --script crash-loop -o json",
    ),
)
@filename_options
@namespace_option
@pod_choice_options
@stub_missing_option
@option(
    "--from",
    "first",
    section=_VERSIONS,
    type=KubeletVersion(),
    metavar="VERSION",
    help="The first version.  [default: the oldest]",
)
@option(
    "--to",
    "last",
    section=_VERSIONS,
    type=KubeletVersion(),
    metavar="VERSION",
    help="The last version.  [default: the newest]",
)
@option(
    "--script",
    "scripts",
    section=_VERSIONS,
    multiple=True,
    metavar="NAME|FILE",
    shell_complete=completions.complete_version_scripts,
    help="What containers and probes do: healthy, never-ready, slow-start, dies, "
    "crash-loop, unhealthy, times-out, errored, deleted, or a file as for `sim`. "
    "Repeatable.  [default: all of these]",
)
@option(
    "--texts",
    section=_VERSIONS,
    is_flag=True,
    help="List what only the words of messages differ in, too, after all else.",
)
@table_options
@feature_gates_option
@program_options
@takes_files
def versions(**params: Any) -> int:
    """Compare what the versions of the kubelet do with pods.

    Each version is simulated for three minutes with the same scripts. Each difference
    is listed as soon as it is found, with what it is about and the first thing that
    one sees of it. Nothing is started. With --from or --to the exit status is 1 if
    something is listed.
    """
    from probetui.cli.commands.version_report import compare_versions

    return compare_versions(params)


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
@manifest_options
@option(
    "-c",
    "--container",
    section=_PROBE,
    metavar="NAME",
    shell_complete=completions.complete_containers,
    help="The container, if more than one has a probe.",
)
@option(
    "-t",
    "--type",
    "probe_type",
    section=_PROBE,
    type=OneOf(("liveness", "readiness", "startup")),
    help="The type of probe, if the container has more than one.",
)
@runtime_options
@version_options
@exec_errors_option
@findings_option
@_text_or_data_option
@program_options
@takes_files_among("words")
def probe(words: tuple[str, ...], **params: Any) -> int:
    """Run one probe once and print its result.

    The container must be running: in a pod that probetui runs or has kept, or as one
    that `probetui attach` would find. It is not changed, and no threshold is counted.
    The exit status is 0 for a success, 1 for a failure, 125 for a probe that could not
    be run (the kubelet ignores such a result), 3 if the container is not running.
    """
    from probetui.cli.commands.single_probe import probe_once

    return probe_once(words, params)


@click.command(
    "why",
    cls=SectionedCommand,
    epilog=examples(
        "probetui why",
        "probetui why session.jsonl shop/web",
    ),
)
@click.argument("arguments", nargs=-1, metavar="[FILE.jsonl] [POD/CONTAINER]")
@record_limit_option
@_text_or_data_option
@program_options
def why(**params: Any) -> int:
    """Explain why containers were killed or waited, tick by tick.

    It reads the record of a session (without FILE, that of the last one) and reports on
    the containers that ended, or on the one that is named.
    """
    from probetui.cli.commands.why_report import print_report

    return print_report(params)
