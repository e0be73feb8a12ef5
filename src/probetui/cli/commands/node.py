"""Declaration of the command `node`."""

import click

from probetui.cli.option_groups import OptionGroup, takes_options
from probetui.cli.options import (
    Act,
    CommonSessionOptions,
    CreationOptions,
    EngineOptions,
    Freeze,
    Metrics,
    NodeOptions,
    RuntimeEvents,
    SkipTlsVerify,
    Static,
)
from probetui.cli.parameters import SectionedCommand, examples


class StaticPodOptions(OptionGroup):
    """The pods of a node that are in files."""

    static: Static = ()
    insecure_skip_tls_verify: SkipTlsVerify = False


class NodePodOptions(CreationOptions):
    """How the pods of a node are run."""

    act: Act = True
    metrics: Metrics = None
    runtime_events: RuntimeEvents = False
    freeze: Freeze = False


class NodeCommandOptions(
    NodeOptions,
    StaticPodOptions,
    EngineOptions,
    NodePodOptions,
    CommonSessionOptions,
):
    """The options of `node`.

    The containers of a node that is kept go on, as those of a kubelet do.
    """

    keep: bool = False


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
@takes_options
def node(options: NodeCommandOptions) -> int:
    """Be a node of a cluster: run the pods that the API server assigns to it.

    The node is registered with the taint probetui/node:NoSchedule: a pod runs here
    if it names the node (spec.nodeName) or tolerates the taint, as pods of DaemonSets
    that tolerate every taint do. Statuses and events are written as a kubelet writes
    them. At the end the pods are deleted and the node is removed.
    """
    from probetui.cli.session.start import run_node

    return run_node(options)
