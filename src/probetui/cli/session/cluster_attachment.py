"""`probetui attach pod/NAME`: a cluster's pod as containers to attach to."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from probetui.cli.option_values import rules_by
from probetui.cli.printing import Notes, confirm
from probetui.cli.session.attachment import AttachOptions
from probetui.cli.session.plan import ClusterPodPlan
from probetui.cli.session.planning import make_attach_plan
from probetui.cli.session.server_waits import warn_of_waits
from probetui.cli.terminal import Terminal
from probetui.cluster.api_objects import check_pod
from probetui.cluster.attach.containers import ClusterContainers
from probetui.cluster.attach.reach import PodReach, ReachMode
from probetui.cluster.attach.removal import PodRemoval, RemovalMode
from probetui.cluster.attach.rights import check_right
from probetui.cluster.client import PODS, ApiClient, Object
from probetui.cluster.errors import ClusterError, ForbiddenError
from probetui.cluster.kubeconfig import ClusterAccess, load_access
from probetui.cluster.node.contact import ServerContact
from probetui.cluster.observe.kubelet_counters import read_node
from probetui.drive.clocks import SystemClock
from probetui.errors import NothingToDoError, UsageError
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ExecAction
from probetui.kubelet_rules import DEFAULT_VERSION, rules_for_kubelet
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import FieldValidation, Manifests
from probetui.manifest.yaml.parser import SourceFile
from probetui.ports import Clock
from probetui.runtimes.probed_ports import probed_ports

if TYPE_CHECKING:
    from probetui.cli.commands.sessions import AttachCommandOptions

_WORD = re.compile(r"(?:pods?|po)/([^/]+)", re.IGNORECASE)


class ClusterTarget(Struct, frozen=True):
    """The pod that a session attaches to."""

    access: ClusterAccess
    options: AttachCommandOptions
    pod: Pod


def attach_cluster_pod(
    words: Sequence[str], options: AttachCommandOptions, *, waits: bool
) -> int:
    """Probe a pod of a cluster and return the exit status.

    Args:
        words: `pod/NAME`, and nothing else.
        options: those of the command.
        waits: wait for containers that are not running, instead of failing.
    """
    name = _pod_name(words, options)
    access = load_access(options.kubeconfig, options.kube_context)
    namespace = options.namespace or access.namespace
    notes = Notes(quiet=options.quiet)
    json, kubelet = asyncio.run(_find(access, namespace, name, notes))
    if not options.kubelet:
        options = options.replace(kubelet=rules_for_kubelet(kubelet).release)
    manifests = _read(json, options)
    (pod,) = manifests.pods
    if options.act and not _agrees(pod, options, notes):
        notes.note("nothing was changed")
        return 0
    named = f"{pod.namespace}/{pod.name}"
    attachment = AttachOptions(acts=options.act, waits=waits, has_consent=True)
    options = options.replace(cluster_pod=named)
    plan = make_attach_plan(manifests, options, attachment)
    target = ClusterTarget(access, options, pod)
    from probetui.cli.session.live import run_session

    return run_session(ClusterPodPlan.of(plan, target=target))


async def open_cluster_pod(plan: ClusterPodPlan, clock: Clock) -> ClusterContainers:
    """Return the containers of a pod, which are attached to.

    Raises:
        ClusterError: the cluster cannot be used; a right that is missing is named.
    """
    client = await ApiClient(plan.target.access, clock).__aenter__()
    warn_of_waits(client, plan.notes)
    try:
        return await _open(plan, clock, client)
    except BaseException:
        await client.__aexit__()
        raise


async def _open(
    plan: ClusterPodPlan, clock: Clock, client: ApiClient
) -> ClusterContainers:
    options, (pod,) = plan.target.options, plan.pods
    if any(isinstance(probe.handler, ExecAction) for probe in pod.probes()):
        await _check(client, pod, "exec")
    if options.act:
        removal = RemovalMode(options.act_by)
        await _check(client, pod, "eviction" if removal is RemovalMode.EVICT else "")
    warn = plan.notes.warning
    reach = PodReach(ReachMode(options.reach), probed_ports(pod), warn)
    containers = ClusterContainers(
        client,
        pod,
        reach,
        PodRemoval(client, RemovalMode(options.act_by)),
        ServerContact(clock, warn),
        warn,
    )
    await containers.open()
    if reach.remarks:
        await _check(client, pod, "portforward")
    return containers


async def _check(client: ApiClient, pod: Pod, subresource: str) -> None:
    verb = "create" if subresource else "delete"
    access = PODS.access(verb, pod.namespace, pod.name, subresource)
    streamed = subresource in {"exec", "portforward"}
    # Before 1.35 the API server authorizes a WebSocket request as "get".
    await check_right(client, access, or_verb="get" if streamed else "")


def _pod_name(words: Sequence[str], options: AttachCommandOptions) -> str:
    names = [match[1] for word in words if (match := _WORD.fullmatch(word))]
    if len(names) != 1 or len(words) != 1:
        raise UsageError("attach pod/NAME: one pod, and nothing else")
    if options.filenames or options.static or options.selector:
        raise UsageError(
            "attach pod/NAME: its manifest is the cluster's; leave out -f, --static, -l"
        )
    return names[0]


async def _find(
    access: ClusterAccess, namespace: str, name: str, notes: Notes
) -> tuple[Object, str]:
    """Return a pod as the API has it, and the version of its kubelet."""
    async with ApiClient(access, SystemClock()) as client:
        warn_of_waits(client, notes)
        json = check_pod(await client.get(PODS, namespace, name))
        node = (json.get("spec") or {}).get("nodeName")
        if not node:
            raise NothingToDoError(f"pod {name} is not on a node yet")
        try:
            return json, (await read_node(client, node)).version
        except ForbiddenError as error:
            notes.warning(
                f"the version of its kubelet is not known ({error}): the rules are "
                f"those of {DEFAULT_VERSION}; --kubelet says otherwise"
            )
            return json, ""
        except ClusterError as error:
            if getattr(error, "code", None) is None:
                raise
            notes.warning(f"node {node}: {error}: the rules are of {DEFAULT_VERSION}")
            return json, ""


def _read(json: Object, options: AttachCommandOptions) -> Manifests:
    """Return a pod of the API with those of its containers that are wanted."""
    metadata = json["metadata"]
    name = f"pod {metadata.get('namespace')}/{metadata['name']}"
    content = msgspec.json.encode({**json, "apiVersion": "v1", "kind": "Pod"})
    manifests = load_manifests(
        [SourceFile(name, content)],
        validation=FieldValidation.IGNORE,
        settings=options.changes,
        rules=rules_by(options),
    )
    manifests.raise_for_errors()
    (loaded,) = manifests.loaded
    pod, containers = loaded.pod, options.containers
    if unknown := set(containers) - set(pod.container_names()):
        has = ", ".join(pod.container_names())
        raise UsageError(f"-c {min(unknown)}: {name} has {has}")
    if containers:
        pod = replace(
            pod,
            init_containers=tuple(
                container
                for container in pod.init_containers
                if container.name in containers
            ),
            containers=tuple(
                container
                for container in pod.containers
                if container.name in containers
            ),
        )
    if not any(pod.probes()):
        raise NothingToDoError(f"{name} has no probe")
    return replace(manifests, loaded=(replace(loaded, pod=pod),))


def _agrees(pod: Pod, options: AttachCommandOptions, notes: Notes) -> bool:
    """Return whether the user agrees to the pod's end; `--yes` needs no question."""
    text = f"probes may {options.act_by} the pod {pod.namespace}/{pod.name}"
    if options.yes:
        notes.warning(f"--act: {text}")
        return True
    terminal = Terminal.here()
    if not (terminal.stdin and terminal.stderr):
        raise UsageError("--act on a cluster's pod asks first; --yes answers")
    try:
        return confirm(f"P{text[1:]}. The API stops no single container. Continue?")
    except click.Abort as error:
        raise KeyboardInterrupt from error
