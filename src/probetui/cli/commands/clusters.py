"""Declarations of the commands about a cluster: watch."""

from typing import Annotated

import click

from probetui.cli.commands.fleet import StoreOptions
from probetui.cli.option_groups import Opt, OptionGroup, takes_options
from probetui.cli.options import (
    AppearanceOptions,
    ClusterOptions,
    EndOptions,
    Metrics,
    OutputOptions,
    ProgramOptions,
    WebOptions,
)
from probetui.cli.parameters import SectionedCommand, examples


class WatchedNamespace(OptionGroup, section="Cluster"):
    """Which pods of a cluster are watched."""

    namespace: Annotated[
        str | None,
        Opt(
            "-n",
            metavar="NS",
            help="Namespace of the pods.  [default: the context's]",
        ),
    ] = None
    all_namespaces: Annotated[bool, Opt("-A", help="Watch pods of all namespaces.")] = (
        False
    )
    selector: Annotated[
        str | None,
        Opt(
            "-l",
            metavar="LABELS",
            help="Only pods with these labels: app=web,tier!=db,canary",
        ),
    ] = None


class WatchedPodOptions(WatchedNamespace, ClusterOptions, section="Cluster"):
    """Which pods of which cluster are watched, and how."""

    via_node_proxy: Annotated[
        bool,
        Opt(
            help="Read the kubelets' counters through the API server. That needs the "
            "right to get nodes/proxy, which is as good as root on the nodes.",
        ),
    ] = False
    kubelet_insecure_tls: Annotated[
        bool,
        Opt(
            help="Send the credentials to kubelets whose certificates nobody has "
            "verified. Without it they go to kubelets whose certificates the "
            "kubeconfig's authority has signed.",
        ),
    ] = False
    no_counters: Annotated[
        bool,
        Opt(
            help="Do not read the kubelets' counters: probe results from events alone.",
        ),
    ] = False
    metrics: Metrics = None


class WatchedPastOptions(StoreOptions):
    """With how much of the past a session begins."""

    since: Annotated[
        str | None,
        Opt(
            metavar="DUR",
            help="With --prometheus: begin so long before now, at most a day.  "
            "[default: 1h]",
        ),
    ] = None


class WatchCommandOptions(
    WatchedPodOptions,
    WatchedPastOptions,
    EndOptions,
    OutputOptions,
    AppearanceOptions,
    WebOptions,
    ProgramOptions,
):
    """The options of `watch`, and that no pod of the cluster is probed."""

    cluster_pod: str = ""


@click.command(
    "watch",
    cls=SectionedCommand,
    epilog=examples(
        "probetui watch",
        "probetui watch web-7d4b9 -n shop",
        "probetui watch deployment/web --plain",
        "probetui watch -A -l app=web --via-node-proxy",
        "probetui watch deployment/web --prometheus auto --since 3h",
    ),
)
@click.argument("words", nargs=-1, metavar="[POD|TYPE/NAME]...")
@takes_options
def watch(words: tuple[str, ...], options: WatchCommandOptions) -> int:
    """Watch the probes of a cluster's pods; change nothing.

    Shows what `run` shows, of pods that a real kubelet runs. Specs and statuses come
    from the API server. Results of probes come from the counters that each kubelet
    serves at /metrics/probes, for which you need the right to get nodes/metrics;
    without them only failures are known, from events. With --prometheus the session
    begins with the last hour, as a store has it: what happened between two scrapes is
    bounded.
    """
    from probetui.cli.session.cluster_watch import watch_cluster

    return watch_cluster(words, options)
