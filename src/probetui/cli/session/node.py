"""`probetui node`: a session whose pods a cluster assigns to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from probetui.cli.printing import Notes
from probetui.cli.runtimes import PROCESS, runtime_kind
from probetui.cli.session.leftovers import replace_leftovers
from probetui.cli.session.parts import SessionPart, SessionScope
from probetui.cli.session.pod_registry import DesiredState, PodRegistry
from probetui.cli.session.server_waits import warn_of_waits
from probetui.cluster.client import ApiClient
from probetui.cluster.errors import ClusterError
from probetui.cluster.kubeconfig import load_access
from probetui.cluster.node.agent import NodeAgent
from probetui.cluster.node.api_pods import ReadPod
from probetui.cluster.node.authorization import (
    KubeletAuthorization,
    client_authority,
)
from probetui.cluster.node.kubelet_api import (
    KubeletApi,
    KubeletSources,
    serve_kubelet,
)
from probetui.cluster.node.machine import address_towards, node_facts
from probetui.cluster.node.registration import NodeExistsError
from probetui.cluster.serving.runtime_access import RuntimeAccess
from probetui.drive.metrics import ProbeMetrics
from probetui.drive.session import Session
from probetui.engine.snapshot import PodSnapshot
from probetui.errors import ContainerRuntimeError, UsageError
from probetui.headless.follow import Sink
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.manifests import LoadedConfigObject
from probetui.ports import Clock, Runtime

if TYPE_CHECKING:
    from probetui.cli.session.plan import NodePlan

_NO_SANDBOX = (
    "plain processes are not isolated: the pods that the cluster assigns to this node "
    "can do anything on this machine that you can"
)


class NodePods:
    """The pods of a node: static ones from files, the others from the API server.

    Args:
        plan: what was asked for.
        pod_registry: the pods that the session runs.
        runtime: where they run.
    """

    def __init__(
        self, plan: NodePlan, pod_registry: PodRegistry, runtime: Runtime
    ) -> None:
        self._plan = plan
        self._pod_registry = pod_registry
        self._runtime = runtime
        self._static = plan.desired
        self._read: Sequence[ReadPod] | None = None
        self._is_ending = False
        pod_registry.on_manifests = self.apply_static

    @property
    def are_kept(self) -> bool:
        """Whether the pods and the node stay when the session ends."""
        return self._pod_registry.keeps_pods

    def refuse_new(self) -> None:
        """Refuse new pods: with them a session that ends would never end."""
        self._is_ending = True

    def apply_static(self, desired: DesiredState) -> None:
        """Run what the files of static pods ask for now."""
        self._static = desired.beside_api()
        self._apply()

    async def apply_api(self, read: Sequence[ReadPod]) -> None:
        """Run what the API server has now."""
        notes = self._plan.notes
        known = {pod.uid for pod in self._pod_registry.all_known}
        new = [
            pod.loaded
            for pod in read
            if pod.loaded is not None and pod.loaded.pod.uid not in known
        ]
        if new and not self._is_ending:
            self._plan.host_access.warn_again(new)
            try:
                pods = [loaded.pod for loaded in new]
                await replace_leftovers(self._runtime, pods, notes, known)
            except (UsageError, ContainerRuntimeError) as error:
                notes.error(str(error))
        if self._is_ending:
            read = [pod for pod in read if pod.loaded and pod.loaded.pod.uid in known]
        self._read = read
        self._apply()

    def _apply(self) -> None:
        desired = self._static
        if self._read is not None:
            objects: dict[tuple[str, ...], LoadedConfigObject] = {}
            for pod in self._read:
                for config in pod.objects:
                    value = config.value
                    key = (type(value).__name__, value.namespace, value.name)
                    objects[key] = config
            desired = desired.with_api_pods(
                [pod.loaded for pod in self._read if pod.loaded is not None],
                [config.value for config in objects.values()],
            )
        if desired != self._pod_registry.desired:
            self._pod_registry.apply(desired)


class _Shown:
    """What the kubelet's API shows: nothing before there is a session."""

    def __init__(self, rules: KubeletRules) -> None:
        self.session: Session | None = None
        self.metrics = ProbeMetrics(rules)
        self._registry = CollectorRegistry()
        self._registry.register(self.metrics)

    def pods(self) -> Sequence[PodSnapshot]:
        """Return the pods as they stand."""
        return () if self.session is None else self.session.snapshot.pods

    def text(self) -> bytes:
        """Return the metrics as text."""
        return generate_latest(self._registry)


class NodeSession(SessionPart):
    """A session as a node, from its registration to its end.

    It is registered before its session is there; as a part of this it talks to the API
    server until the pods have ended.
    """

    needed_to_the_end = True

    def __init__(
        self,
        name: str,
        agent: NodeAgent,
        pods: NodePods,
        shown: _Shown,
        notes: Notes,
    ) -> None:
        self.name = name
        self._pods = pods
        self._notes = notes
        self._agent = agent
        self._shown = shown
        self._is_lost = False
        self._has_left = False

    def join(self, scope: SessionScope) -> NodeSession:
        """Report what happens in a session, and show it; return this as its part."""
        self._shown.session = scope.session
        self._agent.attach(scope.session)
        return self

    def sinks(self) -> Sequence[Sink]:
        """Return what counts the results of probes."""
        return (self._shown.metrics,)

    def tasks(self) -> Iterable[Coroutine[Any, Any, None]]:
        """Yield the talk with the API server."""
        yield self._talk()

    async def _talk(self) -> None:
        """Talk to the API server until cancelled.

        Raises:
            NodeExistsError: another node of that name has come.
        """
        try:
            await self._agent.run()
        except* NodeExistsError as group:
            self._is_lost = True
            error = group.exceptions[0]
            raise NodeExistsError(str(error)) from error

    async def before_pods_end(self, leave: asyncio.Event) -> None:
        """End the pods in the cluster, unless they are kept or the user insists."""
        self._pods.refuse_new()
        self._agent.refuse_new()
        if self._pods.are_kept or self._is_lost:
            self._agent.detach()
            return
        try:
            await _until(leave, self._agent.drain())
        finally:
            self._agent.detach()

    async def after_pods_end(self, leave: asyncio.Event) -> None:
        """Deregister the node, or let go of it; another's is left alone.

        If the user insists, the last events are not waited for, and a node that is
        left in the cluster is only noted.

        Raises:
            ClusterError: the API server does not answer, or refuses.
        """
        if self._is_lost:
            return
        await _until(leave, self._agent.finish_events())
        if leave.is_set():
            await self.withdraw()
            return
        self._has_left = True
        await self._withdraw()

    async def withdraw(self) -> None:
        """Deregister the node of a session that has not come to its end."""
        if self._has_left or self._is_lost or not self._agent.registration.uid:
            return
        self._has_left = True
        try:
            await self._withdraw()
        except ClusterError as error:
            self._notes.error(f"node {self.name} may be left in the cluster: {error}")

    async def _withdraw(self) -> None:
        if not await self._agent.withdraw(keeps_node=self._pods.are_kept):
            self._notes.note(
                f"node {self.name} is left in the cluster, not ready: this user may "
                f"not delete it; kubectl delete node {self.name} removes it"
            )


async def _until(leave: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Await work, and cancel it once `leave` is set."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(leave.wait())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        working.cancel()
    await asyncio.wait({working})
    if not working.cancelled():
        working.result()


@asynccontextmanager
async def open_node(
    plan: NodePlan,
    pod_registry: PodRegistry,
    runtime: Runtime,
    clock: Clock,
) -> AsyncIterator[NodeSession]:
    """Register this session as a node of a cluster.

    Raises:
        ClusterError: the cluster cannot be used, or does not let us.
        NodeExistsError: a node of that name is there.
    """
    name, options, notes = plan.name, plan.node, plan.notes
    access = load_access(options.kubeconfig, options.kube_context)
    if runtime_kind(runtime) == PROCESS:
        notes.warning(_NO_SANDBOX)
    address = options.address or address_towards(access.cluster.server)
    shown = _Shown(plan.rules)
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(ApiClient(access, clock))
        warn_of_waits(api, notes)
        kubelet = KubeletApi(
            KubeletAuthorization(api, name, clock),
            clock,
            KubeletSources(shown.pods, shown.text),
            RuntimeAccess(runtime),
        )
        authority = await client_authority(api, access.cluster.ca_data)
        try:
            port = await stack.enter_async_context(
                serve_kubelet(kubelet.handle, [address, name], clock, authority)
            )
        except OSError as error:
            raise UsageError(f"--address {address}: {error.strerror}") from error
        node = await runtime.node()
        version = await runtime.version()
        facts = node_facts(
            name, address, node, (runtime.name, version), plan.rules, port
        )
        pods = NodePods(plan, pod_registry, runtime)
        agent = NodeAgent(api, clock, facts, plan.rules, pods.apply_api, notes.warning)
        node_session = NodeSession(name, agent, pods, shown, notes)
        stack.push_async_callback(node_session.withdraw)
        await _finish(agent.register(adopts=options.adopt))
        if not options.keep_node and await agent.registration.may_delete() is False:
            notes.note(
                f"this user may not delete node {name}: at the end it is left in the "
                "cluster, not ready"
            )
        pod_registry.subscribe(
            lambda current: agent.on_pods(current, pod_registry.desired.static)
        )
        pod_registry.subscribe(shown.metrics.register_pods)
        await agent.start()
        notes.note(f"node {name} of {access.context or access.cluster.server}")
        yield node_session


async def _finish(work: Coroutine[Any, Any, None]) -> None:
    """Do work to its end even if the task is cancelled meanwhile.

    What a server has made of a request is known only by its answer.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
