"""Declarations of the command that asks a store about a cluster's past: fleet."""

from pathlib import Path
from typing import Annotated

import click
from click.core import ParameterSource

from probetui.cli.option_groups import Opt, OptionGroup, Setting, takes_options
from probetui.cli.options import (
    ClusterOptions,
    FilenameOptions,
    ListedNamespace,
    LookOptions,
    ProgramOptions,
    Quiet,
    ShownForm,
    VersionOptions,
    output_forms,
)
from probetui.cli.parameters import SectionedCommand, examples

_FILE = click.Path(path_type=Path, dir_okay=False)


class StoreOptions(ClusterOptions, section="Store"):
    """Which store is asked, and how; the cluster is that of `auto`."""

    prometheus: Annotated[
        str | None,
        Setting(
            metavar="URL|auto|demo",
            help="Prometheus, or Thanos, Mimir or VictoriaMetrics with the prefix of "
            "its API, as https://mimir.example/prometheus. auto finds its Service in "
            "the cluster and asks through the API server, by the kubeconfig's rights; "
            "auto:NAMESPACE/NAME[:PORT][/PREFIX] names the Service. demo is a night of "
            "the package.",
        ),
    ] = None
    prometheus_label: Annotated[
        tuple[str, ...],
        Opt(
            metavar="NAME=VALUE",
            help="Only series with this label, as cluster=eu-1. Repeatable.",
        ),
    ] = ()
    prometheus_header: Annotated[
        tuple[str, ...],
        Opt(
            is_rare=True,
            metavar="NAME:VALUE",
            help="Send this header, too. Repeatable.",
        ),
    ] = ()
    prometheus_tenant: Annotated[
        str | None,
        Opt(
            is_rare=True,
            metavar="ID",
            help="Tenant of a Mimir or Thanos: the header X-Scope-OrgID.",
        ),
    ] = None
    prometheus_token_file: Annotated[
        Path | None,
        Opt(
            is_rare=True,
            metavar="FILE",
            type=_FILE,
            help="Send the bearer token of this file.  [default: that of the variable "
            "PROBETUI_PROMETHEUS_TOKEN]",
        ),
    ] = None
    prometheus_ca: Annotated[
        Path | None,
        Opt(
            is_rare=True,
            metavar="FILE",
            type=_FILE,
            help="Trust these certificate authorities.  [default: the system's]",
        ),
    ] = None
    prometheus_cert: Annotated[
        Path | None,
        Opt(
            is_rare=True,
            metavar="FILE",
            type=_FILE,
            help="Client certificate, with its key unless --prometheus-key has that.",
        ),
    ] = None
    prometheus_key: Annotated[
        Path | None,
        Opt(
            is_rare=True,
            metavar="FILE",
            type=_FILE,
            help="Key of the client certificate.",
        ),
    ] = None
    prometheus_insecure_tls: Annotated[
        bool,
        Opt(is_rare=True, help="Do not verify the store's certificate."),
    ] = False
    explain_queries: Annotated[
        bool,
        Opt(is_rare=True, help="Print each query on standard error, and their number."),
    ] = False


class AskedTime(OptionGroup, section="Time"):
    """Which time is asked about."""

    since: Annotated[
        str | None,
        Opt(
            metavar="DUR",
            help="So long before now, or before --to: 7d, 12h, 90m.  [default: 1d]",
        ),
    ] = None
    begin: Annotated[
        str | None,
        Opt(
            "--from",
            metavar="TIME",
            help='From then on: RFC 3339, "2026-08-31 03:12", 03:12, "yesterday 03:12" '
            "or -12h.",
        ),
    ] = None
    end: Annotated[
        str | None,
        Opt("--to", metavar="TIME", help="Until then.  [default: now]"),
    ] = None


class FleetOutput(OptionGroup, section="Output"):
    """How the containers are printed."""

    form: ShownForm = None

    output: Annotated[
        str, output_forms("table", "wide", "json", "yaml", "csv", "html")
    ] = "table"
    no_headers: Annotated[
        bool, Opt(is_rare=True, help="Do not print column headings.")
    ] = False
    strict: Annotated[
        bool,
        Opt(help="Exit with status 1 if something could not be answered."),
    ] = False


class SettingsOptions(FilenameOptions, VersionOptions):
    """The manifests of the settings, and by which kubelet's rules they are read."""


class FleetPods(FilenameOptions):
    """Whose containers are listed, and the manifests of their settings."""

    namespace: ListedNamespace = None


class FleetOptions(
    StoreOptions,
    AskedTime,
    FleetPods,
    SettingsOptions,
    FleetOutput,
    LookOptions,
    ProgramOptions,
):
    """The options of `fleet`."""

    quiet: Quiet = False


def asks_store(options: SettingsOptions) -> bool:
    """Return whether a store is asked: a setting alone names one that may be."""
    if options.filenames or options.static:
        return True
    context = click.get_current_context(silent=True)
    if context is None:
        return False
    given = context.get_parameter_source("prometheus")
    return given is ParameterSource.COMMANDLINE


@click.command(
    "fleet",
    cls=SectionedCommand,
    epilog=examples(
        "probetui fleet --prometheus auto",
        "probetui fleet --prometheus http://127.0.0.1:9090 -f k8s/",
        "probetui fleet --prometheus http://127.0.0.1:9090 --since 7d -n shop -o json",
        "probetui fleet --prometheus http://127.0.0.1:9090 -o html > fleet.html",
        "probetui fleet -n shop",
    ),
)
@takes_options
def fleet(options: FleetOptions) -> int:
    """List the containers of a cluster whose probes hurt, the worst first.

    With --prometheus the results of probes are those that it has scraped from the
    kubelets (/metrics/probes) and from kube-state-metrics. What happened between two
    scrapes is bounded: 1-3 kills are at least one and at most three. Thresholds and
    periods come from the manifests of -f, else from pods and templates in the cluster
    of the kubeconfig; ~ marks those of a template that may have changed since. Without
    either a kill cannot be told from another restart.

    Without it the API server of the kubeconfig is asked for its pods, and through it
    each kubelet for what it has counted since its start, for which you need the right
    to get nodes/proxy. That has no order and no times, so bounds are wide.

    On a terminal the table is a screen: sorted (o), filtered (/), and Enter says why a
    container was killed last. With -o, --plain or a pipe it is text.
    """
    from probetui.cli.commands.fleet_report import print_fleet

    return print_fleet(options)
