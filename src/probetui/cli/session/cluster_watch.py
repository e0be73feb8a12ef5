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
from probetui.headless.follow import EndCondition, Follower
from probetui.headless.verdict import Verdict
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import JournalEntry
from probetui.ports import Clock
from probetui.record.masking import find_pod_secrets

if TYPE_CHECKING:
    from probetui.cli.commands.clusters import WatchCommandOptions
    from probetui.cli.session.watched_past import AskedPast

_Seen = tuple[ObservedInput | None, datetime, int]


def watch_cluster(words: tuple[str, ...], options: WatchCommandOptions) -> int:
    """Watch pods of a cluster and return the exit status.

    Args:
        words: POD or TYPE/NAME each.
        options: those of the command.
    """
    past = None
    if options.prometheus or options.since is not None:
        # Late: few sessions begin with a past.
        from probetui.cli.session.watched_past import asked_past

        past = asked_past(options, Notes(quiet=options.quiet))
    with SignalWatch() as signals:
        return asyncio.run(_watch(words, options, signals, past))


async def _watch(
    words: tuple[str, ...],
    options: WatchCommandOptions,
    signals: SignalWatch,
    past: AskedPast | None,
) -> int:
    access = load_access(options.kubeconfig, options.kube_context)
    clock = SystemClock(awake_ns)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(ApiClient(access, clock))
        notes = Notes(quiet=options.quiet)
        warn_of_waits(client, notes)
        namespace = "" if options.all_namespaces else options.namespace
        if namespace is None:
            namespace = access.namespace
        selection = await select(client, words, namespace, options.selector or "")
        watched_past = None
        if past is not None:
            from probetui.cli.session.watched_past import WatchedPast

            watched_past = WatchedPast(past, options, clock, notes)
            await watched_past.read(client, selection)
        started_at = clock.now() if watched_past is None else watched_past.begin
        observation = ClusterObservation(started_at, selection.matches)
        seen: list[_Seen] = []
        observation.on_input = lambda *item: seen.append(item)
        if watched_past is not None:
            await watched_past.feed(observation)
        past_entries = observation.snapshot(clock.now()).sequence
        feed = Feed(
            client,
            observation,
            selection,
            clock,
            await _counters(client, options, stack),
            SystemRandom(),
        )
        await feed.begin(None if watched_past is None else watched_past.listed)
        name = f"{access.context} ({access.cluster.server}), only watched"
        session = ObservedSession(observation, feed, client, clock, name)
        pods = [pod.pod for pod in session.snapshot.pods]
        where = f"namespace {namespace}" if namespace else "all namespaces"
        count = f"{len(pods)} pod{'' if len(pods) == 1 else 's'}"
        plan = make_watch_plan(pods, options, f"{count} of {where}, {name}")
        watching = _Watching(plan, session, observation, clock, past_entries)
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


class _AfterThePast:
    """A condition that is decided by the entries after those of a past.

    Args:
        condition: decides.
        past_entries: the number of the last entry of the past.
    """

    def __init__(self, condition: EndCondition, past_entries: int) -> None:
        self._decider = condition
        self._past_entries = past_entries

    @property
    def due_at(self) -> datetime | None:
        """When `advance` has to be called, None for never."""
        return self._decider.due_at

    @property
    def verdict(self) -> Verdict | None:
        """Why the session is over; None while it is not."""
        return self._decider.verdict

    @property
    def condition(self) -> object:
        """The awaited condition."""
        return self._decider.condition

    def observe(self, entry: JournalEntry) -> None:
        """Evaluate the next entry, unless it is of the past."""
        if entry.sequence > self._past_entries:
            self._decider.observe(entry)

    def advance(self, now: datetime) -> None:
        """Advance the clock to `now`; no entry came."""
        self._decider.advance(now)


class _Watching:
    """One session, from its start to its end."""

    def __init__(
        self,
        plan: WatchPlan,
        session: ObservedSession,
        observation: ClusterObservation,
        clock: Clock,
        past_entries: int,
    ) -> None:
        self._plan = plan
        self._past_entries = past_entries
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
        past = (self._clock.now(), self._past_entries) if self._past_entries else None
        sinks = self._outputs.open(session.runtime_name, KubeletConfig())
        self._record_inputs(seen)
        session.on_new_pods = self._register_pods
        # --until is about what is watched, not about what was.
        watch = plan.watch and _AfterThePast(plan.watch, self._past_entries)
        follower = Follower(session, sinks, watch, ends_with_pods=False)
        session.on_bug = follower.fail
        fault = ScreenFault(session, self._outputs, follower, plan.notes)
        async with self._metrics(), asyncio.TaskGroup() as tasks:
            with self._outputs, follower, Interrupts(follower, signals):
                running = tasks.create_task(self._supervise(follower))
                verdict = await self._show(follower, fault)
                self._outputs.leave(session, past)
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
