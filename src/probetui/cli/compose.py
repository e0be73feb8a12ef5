"""The composition root: a runtime, an engine and a front end become one session."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from probetui.cli import collector
from probetui.cli.collected_errors import CollectedErrors
from probetui.cli.ending import Interrupts, end_pods, remove_own
from probetui.cli.leases import SessionLease
from probetui.cli.locks import PodLocks
from probetui.cli.notes import Notes
from probetui.cli.outputs import Outputs
from probetui.cli.plan import Plan
from probetui.cli.roster import Roster, Wanted
from probetui.cli.runtimes import (
    SIM,
    OwnPods,
    all_pods,
    kind_of,
    open_runtime,
    remove_pods,
    undo_left_disruptions,
    unowned_pods,
)
from probetui.cli.signal_watch import SignalWatch
from probetui.cli.terminal import Form
from probetui.descriptor_limit import raise_descriptor_limit
from probetui.drive.clocks import SystemClock
from probetui.drive.executor import Executor
from probetui.drive.loop_watch import LoopWatch
from probetui.drive.masking import Mask, secrets_of, secrets_of_objects
from probetui.drive.realtime import RealtimeSession
from probetui.errors import ContainerRuntimeError, PodHeldError, UsageError
from probetui.headless.follow import Follower, Sink
from probetui.headless.verdict import BUG, Verdict, final_verdict
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.engine import Engine
from probetui.kubelet.inputs import PauseProbes, SetObjects, SetPods
from probetui.ports import (
    Claim,
    Clock,
    ClockSource,
    DialAddress,
    Disruptor,
    EventSource,
    ExecSource,
    HookRunner,
    ImageStore,
    ImageUsers,
    ListenerSource,
    LogSource,
    NodeSource,
    Prober,
    Runtime,
    UnownedPod,
    VolumeHost,
)
from probetui.probers.dispatch import Dispatch
from probetui.probers.hooks import Hooks

if TYPE_CHECKING:
    from probetui.cli.image_upkeep import ImageUpkeep
    from probetui.runtimes.attached.runtime import AttachedRuntime

CLOSE_SECONDS = 10
"""For how long a runtime is waited for that is let go of."""

_SEEDS = 2**32


def run_session(plan: Plan) -> int:
    """Run a session from its beginning to its end and return the exit status.

    Where no runtime is wanted, it is simulated.

    Raises:
        RuntimeUnavailableError: no container runtime answers.
        ContainerRuntimeError: what an earlier run left cannot be removed.
        UsageError: another probetui runs one of the pods.
        ManifestError: the runtime cannot carry out some fields, and is to be strict.
    """
    if plan.runtime.runtime == SIM:
        # Late: whoever has a runtime needs none of it.
        from probetui.cli.playing import run_simulation  # noqa: PLC0415

        return run_simulation(plan)
    raise_descriptor_limit()
    with SignalWatch() as signals:
        return asyncio.run(_live(plan, signals))


async def _live(plan: Plan, signals: SignalWatch) -> int:
    clock = SystemClock()
    runtime = await open_runtime(
        plan.runtime, clock, exec_errors=plan.options.exec_errors
    )
    if isinstance(runtime, ClockSource):
        name = runtime.name
        runtime.on_clock_offset(
            lambda offset: plan.notes.warning(format_clock_offset(name, offset))
        )
    try:
        if plan.told_later is not None:
            plan.told_later(kind_of(runtime))
        for sentence in await undo_left_disruptions(runtime):
            plan.notes.note(sentence)
        roster = Roster(plan.wanted)
        if plan.attachment is not None:
            return await _attached(plan, roster, runtime, clock, signals)
        async with AsyncExitStack() as stack:
            await _take_pods(runtime, roster, plan.notes, stack)
            await _replace_leftovers(runtime, plan)
            try:
                return await _Live(plan, roster, runtime, clock, signals).run()
            except BaseException as error:
                # A bug, not an end: nothing may be left behind all the same.
                if not plan.options.keep:
                    await _remove_after_bug(runtime, roster, plan.notes)
                raise _cause(error) from error
    finally:
        await _close(runtime, plan.notes)


async def _take_pods(
    runtime: Runtime, roster: Roster, notes: Notes, stack: AsyncExitStack
) -> None:
    """Have the pods to ourselves for as long as the stack lasts.

    Raises:
        PodHeldError: another probetui runs one of them.
    """
    locks = stack.enter_context(PodLocks(runtime.name, roster.pods))
    lease = await stack.enter_async_context(
        SessionLease(runtime, roster.pods, notes, roster.leave_out)
    )

    def admit(wanted: Wanted) -> Wanted:
        held = locks.add(wanted.pods)
        for pod, holder in held:
            notes.error(str(PodHeldError(pod.namespace, pod.name, holder)))
        theirs = {pod.uid for pod, _ in held}
        pods = tuple(pod for pod in wanted.pods if pod.uid not in theirs)
        lease.add([pod for pod in pods if pod not in roster.all_seen])
        return wanted._replace(pods=pods)

    roster.admit(admit)


async def _close(runtime: Runtime, notes: Notes) -> None:
    """Let go of a runtime, which may have to undo what was done to containers."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await runtime.close()
    except TimeoutError:
        notes.warning(
            f"{runtime.name} does not answer: what was frozen or cut off here may "
            "still be so"
        )
    except ContainerRuntimeError as error:
        notes.error(f"what was frozen or cut off here may still be so: {error}")


async def _attached(
    plan: Plan, roster: Roster, runtime: Runtime, clock: Clock, signals: SignalWatch
) -> int:
    """Run a session on containers that exist; nothing of them is ever removed."""
    # Late: few sessions attach to anything.
    from probetui.cli.attachment import attach, is_allowed  # noqa: PLC0415

    assert plan.attachment is not None, "it is attached"  # noqa: S101  # for the type
    attached = await attach(runtime, plan.pods, plan.attachment, clock, plan.notes)
    if not await is_allowed(attached, plan.attachment, plan.notes):
        plan.notes.note("nothing was touched")
        return 0
    try:
        return await _Live(plan, roster, attached, clock, signals, attached).run()
    except BaseExceptionGroup as error:
        raise _cause(error) from error


async def _remove_after_bug(runtime: Runtime, roster: Roster, notes: Notes) -> None:
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await remove_own(runtime, roster.all_seen)
    except TimeoutError:
        notes.error(
            f"containers may be left: {runtime.name} does not answer; see `probetui ls`"
        )
    except Exception as error:  # noqa: BLE001  # the bug before is what is reported
        notes.error(f"containers may be left: {error}; see `probetui ls`")


def format_clock_offset(runtime_name: str, offset: timedelta) -> str:
    """Say that a runtime's clock is another one than this machine's."""
    seconds = offset.total_seconds()
    if abs(seconds) < 1:
        return f"the clock of {runtime_name} is that of this session again"
    way = "ahead of" if seconds > 0 else "behind"
    return (
        f"the clock of {runtime_name} is {abs(seconds):.1f}s {way} that of this "
        "session; its times are corrected by that"
    )


def _cause(error: BaseException) -> BaseException:
    """Return the first of what went wrong; the rest stays with it as its context."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _replace_leftovers(runtime: Runtime, plan: Plan) -> None:
    """Remove pods of our names that an earlier run left, unless they are the same."""
    uids = {each.uid for each in plan.pods}
    names = {(each.namespace, each.name) for each in plan.pods}
    for other in await unowned_pods(runtime):
        status = other.status
        if status.pod_uid in uids or (status.namespace, status.name) in names:
            raise UsageError(_whose(runtime, other))
    found = await all_pods(runtime)
    old = [
        each
        for each in found
        if each.pod_uid not in uids and (each.namespace, each.name) in names
    ]
    for each in old:
        plan.notes.note(f"removing {each.namespace}/{each.name} of an earlier run")
    await remove_pods(runtime, old, grace_period_seconds=0)


def _whose(runtime: Runtime, pod: UnownedPod) -> str:
    """Say why a pod that is there already is not taken over, and what to do."""
    name = f"{pod.status.namespace}/{pod.status.name}"
    if pod.claim is Claim.UNVERIFIED:
        return (
            f"pod {name} is on {runtime.name} already: it looks as if version 0.1 made "
            "it, which noted nothing; `probetui down --unverified -f FILE` removes it"
        )
    return (
        f"pod {name} is on {runtime.name} already: {pod.made_by or 'another user'} "
        "made it; `probetui down --all-users -f FILE` removes it"
    )


class _Live:
    """One session while it lasts; `attached` is the runtime of one that attaches."""

    def __init__(
        self,
        plan: Plan,
        roster: Roster,
        runtime: Runtime,
        clock: Clock,
        signals: SignalWatch,
        attached: AttachedRuntime | None = None,
    ) -> None:
        options = plan.options
        self._plan = plan
        self._roster = roster
        self._runtime = runtime
        self._clock = clock
        self._signals = signals
        self._started_at = clock.now()
        self._mask = Mask(hides=not options.show_secrets)
        if not options.show_secrets:
            roster.tell(lambda pods: self._mask.learn(secrets_of(pods)))
            roster.tell_objects(
                lambda objects: self._mask.learn(secrets_of_objects(objects))
            )
        seed = secrets.randbelow(_SEEDS) if options.seed is None else options.seed
        self._config = KubeletConfig(seed=seed)
        if options.kubelet_age == "fresh":
            self._config = replace(self._config, age=timedelta())
        self._config = replace(
            self._config,
            kills=options.act,
            restarts=options.act,
            freezes=options.freeze,
        )
        self._config = replace(self._config, tells_findings=not options.no_findings)
        self._attached = attached
        if attached is not None:
            self._config = replace(
                self._config, restarts=attached.can_start, creates=False
            )
        self._images = self._image_upkeep()
        self._outputs = Outputs(plan, roster, self._mask, self._started_at)

    async def run(self) -> int:
        """Run it and return the exit status."""
        session = await self._session()
        options = self._plan.options
        sinks = self._outputs.open(session.runtime_name, self._config)
        errors, verdict = CollectedErrors(), Verdict("bug", BUG)
        async with asyncio.TaskGroup() as tasks, AsyncExitStack() as stack:
            if options.metrics is not None:
                sinks.append(await self._serve_metrics(options.metrics, stack))
            follower = Follower(
                session,
                sinks,
                self._plan.watch,
                ends_with_pods=self._plan.form is Form.LINES and not options.watch,
            )
            session.on_bug = follower.fail

            async def go_on(work: Awaitable[None]) -> None:
                """Let work end the session by its error, and its pods be stopped."""
                try:
                    await work
                except Exception as error:  # noqa: BLE001  # it is raised in the end
                    follower.fail(error)

            tasks.create_task(go_on(session.run()))
            beside = [tasks.create_task(go_on(work)) for work in self._beside()]
            interrupts = Interrupts(follower, self._signals, self._what_stays)
            stack.callback(session.stop)
            with errors.caught(), self._outputs, follower, interrupts:
                try:
                    verdict = await self._show(session, follower)
                except Exception as error:  # noqa: BLE001  # the pods are stopped first
                    follower.fail(error)
                    verdict = await follower.verdict()
                with errors.caught():
                    verdict = final_verdict(verdict, session.snapshot)
                for task in beside:
                    task.cancel()
                with errors.caught():
                    if self._images is not None:
                        await self._images.finish()
                verdict = await self._end(session, interrupts, verdict)
        with errors.caught():
            self._outputs.close(verdict, self._clock.now())
        errors.errors[:0] = follower.errors
        errors.raise_first()
        return verdict.exit_status

    def _beside(self) -> Iterator[Coroutine[Any, Any, None]]:
        """Yield what goes on while the session does."""
        plan = self._plan
        if plan.options.watch and plan.source is not None:
            # Late: few sessions watch anything.
            from probetui.cli.watching import watch_manifests  # noqa: PLC0415

            yield watch_manifests(
                plan.source.filenames, plan.reload, self._roster.change, plan.notes
            )
        if self._images is not None:
            yield self._images.run()

    def _what_stays(self) -> str:
        """Name the pods that are there if the program ends now."""
        if self._attached is not None:
            return ""
        return ", ".join(pod.name for pod in self._roster.all_seen)

    async def _serve_metrics(self, address: str, stack: AsyncExitStack) -> Sink:
        """Serve metrics until the stack ends, and return what counts them."""
        # Late: few sessions are scraped.
        from prometheus_client import CollectorRegistry  # noqa: PLC0415

        from probetui.cli.metrics_server import serve_metrics  # noqa: PLC0415
        from probetui.drive.metrics import ProbeMetrics  # noqa: PLC0415

        metrics = ProbeMetrics()
        self._roster.tell(metrics.know)
        registry = CollectorRegistry()
        registry.register(metrics)
        host, port = await stack.enter_async_context(serve_metrics(address, registry))
        self._plan.notes.note(f"metrics at http://{host}:{port}/metrics")
        return metrics

    async def _session(self) -> RealtimeSession:
        """Return the session, its pods already on their way to the engine."""
        own = OwnPods(self._runtime)
        self._roster.tell(own.own)
        runtime = cast("Runtime", own)
        if self._images is not None:
            runtime = self._images.noting_pulls(runtime)
        capable = self._runtime
        listeners = capable if isinstance(capable, ListenerSource) else None
        if listeners is not None:
            self._config = replace(self._config, finds_listeners=True)
        if isinstance(capable, NodeSource):
            self._config = replace(self._config, node=await capable.node())
        dial_address = capable if isinstance(capable, DialAddress) else None
        loop_watch = LoopWatch(self._clock)
        prober: Prober = Dispatch(
            runtime, self._clock, dial_address, lost_time=loop_watch
        )
        hooks: HookRunner = Hooks(runtime, dial_address)
        if self._attached is not None:
            # Late: few sessions attach to anything.
            from probetui.runtimes.attached.addresses import (  # noqa: PLC0415
                HooksAtOwnAddress,
                ProbesAtOwnAddress,
            )

            prober = ProbesAtOwnAddress(prober, self._attached.address_of)
            hooks = HooksAtOwnAddress(hooks, self._attached.address_of)
        session = RealtimeSession(
            Engine(self._config, self._started_at),
            Executor(
                runtime,
                prober,
                hooks,
                self._clock,
                capable if isinstance(capable, VolumeHost) else None,
                capable if isinstance(capable, ImageUsers) else None,
                capable if isinstance(capable, Disruptor) else None,
                listeners,
            ),
            self._clock,
            runtime_name=await self._runtime_name(),
            events=capable if isinstance(capable, EventSource) else None,
            execs=self._exec_source(),
            logs=capable if isinstance(capable, LogSource) else None,
            disruptor=capable if isinstance(capable, Disruptor) else None,
            loop_watch=loop_watch,
            on_input=lambda item, now: self._outputs.hear(
                item, now, len(session.journal)
            ),
        )
        if self._plan.options.paused:
            session.send(PauseProbes())
        self._roster.tell_objects(
            lambda objects: session.send(SetObjects(tuple(objects)))
        )
        self._roster.tell(
            lambda pods: session.send(SetPods(tuple(pods), dict(self._roster.places)))
        )
        return session

    def _exec_source(self) -> ExecSource | None:
        """Return who tells of commands that others run, if that was asked for."""
        if not self._plan.options.runtime_events:
            return None
        attached, runtime = self._attached, self._runtime
        if isinstance(runtime, ExecSource) and (
            attached is None or attached.tells_of_execs
        ):
            return runtime
        self._plan.notes.warning(
            f"--runtime-events: {runtime.name} tells of no commands that others run"
        )
        return None

    def _image_upkeep(self) -> ImageUpkeep | None:
        """Return what looks after the images, if the runtime has any."""
        wanted, notes = self._plan.options.image_gc, self._plan.notes
        if isinstance(self._runtime, ImageStore):
            # Late: processes have no images.
            from probetui.cli.image_upkeep import ImageUpkeep  # noqa: PLC0415

            return ImageUpkeep(self._runtime, self._clock, notes, collects=wanted)
        if wanted:
            notes.warning(f"--image-gc: {self._runtime.name} has no images")
        return None

    async def _runtime_name(self) -> str:
        """Return what the containers run on, and whether they are only watched."""
        name = await self._runtime.version()
        return name if self._config.kills else f"{name}, only watched"

    async def _show(self, session: RealtimeSession, follower: Follower) -> Verdict:
        plan = self._plan
        if plan.form is Form.LINES:
            if plan.intro:
                plan.notes.note(plan.intro)
            collector.settle()
            return await follower.verdict(plan.options.timeout)
        # Late: the screen's library is slow to import and lines do not need it.
        from probetui.cli.screen import show_screen  # noqa: PLC0415

        save = self._outputs.saver(follower.drain)
        return await show_screen(
            plan, session, follower, self._mask, save, roster=self._roster
        )

    async def _end(
        self, session: RealtimeSession, interrupts: Interrupts, verdict: Verdict
    ) -> Verdict:
        plan = self._plan
        if verdict.message:
            plan.notes.error(verdict.message)
        if plan.attachment is not None:
            return verdict
        if plan.options.keep:
            names = ", ".join(each.name for each in self._roster.pods)
            plan.notes.note(f"kept: {names}; `probetui down` removes them")
            return verdict
        return await end_pods(
            session,
            self._roster.all_seen,
            self._runtime,
            interrupts,
            plan.notes,
            verdict,
        )
