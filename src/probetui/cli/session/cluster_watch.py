"""`probetui watch`: a cluster's pods as a session, shown and ended as any other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from random import SystemRandom
from typing import TYPE_CHECKING

from probetui.cli import gc_tuning
from probetui.cli.printing import Notes
from probetui.cli.session.ending import Interrupts
from probetui.cli.session.outputs import ScreenFault, SessionOutputs
from probetui.cli.session.plan import WatchPlan
from probetui.cli.session.planning import make_watch_plan
from probetui.cli.session.pod_registry import PodRegistry
from probetui.cli.session.server_waits import warn_of_waits
from probetui.cli.session.signal_watch import SignalWatch
from probetui.cli.terminal import Form
from probetui.cluster.client import ApiClient
from probetui.cluster.kubeconfig import load_access
from probetui.cluster.observe.feed import Feed
from probetui.cluster.observe.inputs import ObservedInput, ObservedInputEncoder, PodSeen
from probetui.cluster.observe.kubelet_counters import (
    CounterSource,
    KubeletCounters,
    ProxyCounters,
)
from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.observe.session import ObservedSession
from probetui.cluster.selection import select
from probetui.drive.clocks import SystemClock, awake_ns
from probetui.headless.follow import Follower
from probetui.headless.verdict import Verdict
from probetui.kubelet.config import KubeletConfig
from probetui.ports import Clock
from probetui.record.masking import find_pod_secrets

if TYPE_CHECKING:
    from probetui.cli.commands.clusters import WatchCommandOptions

_Seen = tuple[ObservedInput | None, datetime, int]


def watch_cluster(words: tuple[str, ...], options: WatchCommandOptions) -> int:
    """Watch pods of a cluster and return the exit status.

    Args:
        words: POD or TYPE/NAME each.
        options: those of the command.
    """
    with SignalWatch() as signals:
        return asyncio.run(_watch(words, options, signals))


async def _watch(
    words: tuple[str, ...], options: WatchCommandOptions, signals: SignalWatch
) -> int:
    access = load_access(options.kubeconfig, options.kube_context)
    clock = SystemClock(awake_ns)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(ApiClient(access, clock))
        warn_of_waits(client, Notes(quiet=options.quiet))
        namespace = "" if options.all_namespaces else options.namespace
        if namespace is None:
            namespace = access.namespace
        selection = await select(client, words, namespace, options.selector or "")
        observation = ClusterObservation(clock.now(), selection.matches)
        seen: list[_Seen] = []
        observation.on_input = lambda *item: seen.append(item)
        feed = Feed(
            client,
            observation,
            selection,
            clock,
            await _counters(client, options, stack),
            SystemRandom(),
        )
        await feed.begin()
        name = f"{access.context} ({access.cluster.server}), only watched"
        session = ObservedSession(observation, feed, client, clock, name)
        pods = [pod.pod for pod in session.snapshot.pods]
        where = f"namespace {namespace}" if namespace else "all namespaces"
        count = f"{len(pods)} pod{'' if len(pods) == 1 else 's'}"
        plan = make_watch_plan(pods, options, f"{count} of {where}, {name}")
        watching = _Watching(plan, session, observation, clock)
        return await watching.run(signals, seen)


async def _counters(
    client: ApiClient, options: WatchCommandOptions, stack: AsyncExitStack
) -> CounterSource | None:
    if options.no_counters:
        return None
    if options.via_node_proxy:
        return ProxyCounters(client)
    verifies = not options.kubelet_insecure_tls
    return await stack.enter_async_context(KubeletCounters(client, verifies=verifies))


class _Watching:
    """One session, from its start to its end."""

    def __init__(
        self,
        plan: WatchPlan,
        session: ObservedSession,
        observation: ClusterObservation,
        clock: Clock,
    ) -> None:
        self._plan = plan
        self._observation = observation
        self._session = session
        self._clock = clock
        self._pod_registry = PodRegistry(plan.desired)
        hides = not plan.options.show_secrets
        self._mask = self._pod_registry.make_mask(hides=hides)
        self._outputs = SessionOutputs(
            plan,
            self._pod_registry,
            self._mask,
            session.snapshot.started_at,
            is_observed=True,
        )

    async def run(self, signals: SignalWatch, seen: Sequence[_Seen]) -> int:
        """Run the session; `seen` was observed before. Return the exit status."""
        plan, session = self._plan, self._session
        sinks = self._outputs.open(session.runtime_name, KubeletConfig())
        self._record_inputs(seen)
        session.on_new_pods = self._register_pods
        follower = Follower(session, sinks, plan.watch, ends_with_pods=False)
        session.on_bug = follower.fail
        fault = ScreenFault(session, self._outputs, follower, plan.notes)
        async with self._metrics(), asyncio.TaskGroup() as tasks:
            with self._outputs, follower, Interrupts(follower, signals):
                running = tasks.create_task(self._supervise(follower))
                verdict = await self._show(follower, fault)
                self._outputs.leave(session)
                session.stop()
                await running
        if verdict.message:
            plan.notes.error(verdict.message)
        verdict = fault.judge(verdict)
        self._outputs.close(verdict, self._clock.now())
        for error in follower.errors:
            raise error
        return verdict.exit_status

    @asynccontextmanager
    async def _metrics(self) -> AsyncIterator[None]:
        """Serve metrics while the context lasts, if they are asked for.

        The kubelets have their own counters, so these are not served again.
        """
        address = self._plan.options.metrics
        if address is None:
            yield
            return
        # Late: few sessions are scraped.
        from probetui.cli.session.metrics_server import (
            note_address,
            serve_metrics,
            worker_registry,
        )

        registry = worker_registry(lambda: self._session.snapshot)
        async with serve_metrics(address, registry) as bound:
            note_address(self._plan.notes, bound)
            yield

    def _record_inputs(self, seen: Sequence[_Seen]) -> None:
        mask = None if self._plan.options.show_secrets else self._mask
        encoder = ObservedInputEncoder(mask)

        def on_input(item: ObservedInput | None, now: datetime, sequence: int) -> None:
            if mask is not None and isinstance(item, PodSeen):
                mask.learn(find_pod_secrets([item.pod]))
            json = None if item is None else encoder.encode(item)
            self._outputs.on_input(json, now, sequence)

        for item in seen:
            on_input(*item)
        self._observation.on_input = on_input

    async def _supervise(self, follower: Follower) -> None:
        try:
            await self._session.run()
        except Exception as error:  # noqa: BLE001  # it is raised in the end
            while isinstance(error, ExceptionGroup):
                error = error.exceptions[0]
            follower.fail(error)

    def _register_pods(self) -> None:
        """Register pods with the outputs before their entries arrive."""
        known = {pod.uid for pod in self._pod_registry.all_known}
        pods = tuple(pod.pod for pod in self._session.snapshot.pods)
        if any(pod.uid not in known for pod in pods):
            self._pod_registry.apply(self._pod_registry.desired._replace(pods=pods))

    async def _show(self, follower: Follower, fault: ScreenFault) -> Verdict:
        plan = self._plan
        if plan.form is Form.WEB:
            # Late: few sessions are shown in a browser.
            from probetui.cli.session.web_screens import show_in_browser

            plan.print_intro()
            return await show_in_browser(plan, self._session, follower, self._mask)
        if plan.form is Form.LINES:
            plan.print_intro()
            gc_tuning.freeze()
            return await follower.verdict(plan.options.timeout)
        # Late: the screen's library is slow to import.
        from probetui.cli.session.screen import show_screen

        return await show_screen(plan, self._session, follower, self._mask, fault)
