"""Declarations of the commands about a cluster: watch."""

from __future__ import annotations

from typing import Any

import click

from probetui.cli.options import (
    appearance_options,
    cluster_options,
    ending_options,
    output_options,
    program_options,
)
from probetui.cli.parameters import SectionedCommand, examples, option

_CLUSTER = "Cluster"


@click.command(
    "watch",
    cls=SectionedCommand,
    epilog=examples(
        "probetui watch",
        "probetui watch web-7d4b9 -n shop",
        "probetui watch deployment/web --plain",
        "probetui watch -A -l app=web --via-node-proxy",
    ),
)
@click.argument("words", nargs=-1, metavar="[POD|TYPE/NAME]...")
@option(
    "-n",
    "--namespace",
    section=_CLUSTER,
    metavar="NS",
    help="Namespace of the pods.  [default: the context's]",
)
@option(
    "-A",
    "--all-namespaces",
    section=_CLUSTER,
    is_flag=True,
    help="Watch pods of all namespaces.",
)
@option(
    "-l",
    "--selector",
    section=_CLUSTER,
    metavar="LABELS",
    help="Only pods with these labels: app=web,tier!=db,canary",
)
@cluster_options
@option(
    "--via-node-proxy",
    section=_CLUSTER,
    is_flag=True,
    help="Read the kubelets' counters through the API server. That needs the right to "
    "get nodes/proxy, which is as good as root on the nodes.",
)
@option(
    "--kubelet-insecure-tls",
    section=_CLUSTER,
    is_flag=True,
    help="Send the credentials to kubelets whose certificates nobody has verified. "
    "Without it they go to kubelets whose certificates the kubeconfig's authority has "
    "signed.",
)
@option(
    "--no-counters",
    section=_CLUSTER,
    is_flag=True,
    help="Do not read the kubelets' counters: probe results from events alone.",
)
@ending_options
@output_options
@appearance_options
@program_options
def watch(words: tuple[str, ...], **params: Any) -> int:
    """Watch the probes of a cluster's pods; change nothing.

    Shows what `run` shows, of pods that a real kubelet runs. Specs and statuses come
    from the API server. Results of probes come from the counters that each kubelet
    serves at /metrics/probes, for which you need the right to get nodes/metrics;
    without them only failures are known, from events.
    """
    from probetui.cli.session.cluster_watch import watch_cluster

    return watch_cluster(words, params)
