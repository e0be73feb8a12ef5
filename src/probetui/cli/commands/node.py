"""Declaration of the command `node`."""

from __future__ import annotations

from typing import Any

import click

from probetui.cli.options import (
    act_option,
    beside_kubelet_option,
    cluster_options,
    freeze_option,
    image_gc_option,
    metrics_option,
    pull_option,
    runtime_events_option,
    runtime_options,
    session_options,
    skip_tls_verify_option,
    static_option,
)
from probetui.cli.parameters import SectionedCommand, examples, option

_NODE = "Node"


@click.command(
    "node",
    cls=SectionedCommand,
    epilog=examples(
        "probetui node",
        "probetui node --name demo --context kind-kind --runtime process --plain",
        "kubectl run web --image nginx "
        """--overrides '{"spec": {"nodeName": "demo"}}'""",
    ),
)
@option(
    "--name",
    "node_name",
    section=_NODE,
    metavar="NAME",
    help="Name of the node.  [default: probetui- and the name of this machine]",
)
@option(
    "--address",
    section=_NODE,
    metavar="IP",
    help="Address at which the API server reaches this machine, for logs and exec.  "
    "[default: that of the route to it]",
)
@option(
    "--adopt",
    section=_NODE,
    is_flag=True,
    help="Take over a node of that name, unless its lease is alive.",
)
@option(
    "--keep-node",
    section=_NODE,
    is_flag=True,
    help="Keep the node, its pods and their containers at the end; --adopt resumes.",
)
@cluster_options
@static_option
@skip_tls_verify_option
@runtime_options
@pull_option
@beside_kubelet_option
@image_gc_option
@act_option(default=True)
@metrics_option
@runtime_events_option
@freeze_option
@session_options
def node(**params: Any) -> int:
    """Be a node of a cluster: run the pods that the API server assigns to it.

    The node is registered with the taint probetui/node:NoSchedule: a pod runs here
    if it names the node (spec.nodeName) or tolerates the taint, as pods of DaemonSets
    that tolerate every taint do. Statuses and events are written as a kubelet writes
    them. At the end the pods are deleted and the node is removed.
    """
    from probetui.cli.session.start import run_node

    return run_node(params)
