"""Live sessions, the composition root: a runtime, an engine and a front end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from random import SystemRandom
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from probetui.cli import gc_tuning
from probetui.cli.printing import NoteLevel, Notes
from probetui.cli.runtimes import (
    OwnPodsRuntime,
    open_runtime,
    runtime_kind,
    undo_leftover_faults,
)
from probetui.cli.session.ending import (
    SIGNALLED,
    CollectedErrors,
    EarlyEnd,
    Interrupts,
    end_pods,
    remove_session_pods,
)
from probetui.cli.session.kubelet_neighbour import refuse_beside_kubelet
from probetui.cli.session.leases import LeaseRenewal
from probetui.cli.session.leftovers import replace_leftovers
from probetui.cli.session.locks import PodLocks
from probetui.cli.session.outputs import ScreenFault, SessionOutputs
from probetui.cli.session.parts import PartMaker, SessionPart, SessionScope
from probetui.cli.session.plan import (
    AttachPlan,
    ClusterPodPlan,
    LivePlan,
    NodePlan,
    RunPlan,
)
from probetui.cli.session.pod_registry import DesiredState, PodRegistry
from probetui.cli.session.signal_watch import Signals, SignalWatch
from probetui.cli.terminal import Form
from probetui.debugger.commands import AddNote, PauseProbes
from probetui.descriptor_limit import raise_descriptor_limit
from probetui.drive.clocks import SystemClock
from probetui.drive.executor import Executor
from probetui.drive.lateness import LoopWatch
from probetui.drive.realtime import RealtimeSession
from probetui.engine.engine import Engine
from probetui.engine.inputs import SetObjects
from probetui.errors import ContainerRuntimeError, PodInUseError
from probetui.headless.follow import Follower
from probetui.headless.verdict import (
    EXIT_BUG,
    EXIT_NOT_STARTED,
    EXIT_TIME_LIMIT,
    Verdict,
    decide_exit_status,
)
from probetui.k8s.pod import Pod
from probetui.ports import Clock, HookRunner, Prober, Runtime, UnmanagedSource
from probetui.probers.lifecycle_hooks import LifecycleHookRunner
from probetui.probers.prober import ProbeDispatcher
from probetui.suggestions import removal_command

if TYPE_CHECKING:
    from probetui.cli.images.maintenance import ImageMaintenance
    from probetui.runtimes.attached.runtime import AttachedRuntime

CLOSE_SECONDS = 10
"""How long to wait for a runtime to close its connections."""

_SEEDS = 2**32


def run_session(plan: RunPlan | AttachPlan) -> int:
    """Run a session from its beginning to its end and return the exit status.

    Raises:
        RuntimeUnavailableError: no container runtime answers.
        ContainerRuntimeError: what an earlier run left cannot be removed.
        UsageError: another probetui runs one of the pods.
        ManifestError: with `--strict`, the runtime does not support some fields.
    """
    raise_descriptor_limit()
    with SignalWatch() as signals:
        return asyncio.run(run_live(plan, signals))


async def run_live(plan: RunPlan | AttachPlan, signals: Signals) -> int:
    """Run a session on the running loop, and return the exit status.

    Raises:
        RuntimeUnavailableError: and the others that `run_session` raises.
    """
    clock = SystemClock()
    early = EarlyEnd(signals)
    try:
        match plan:
            case ClusterPodPlan():
                return await _run_on_cluster_pod(plan, clock, signals)
            case AttachPlan():
                async with _opened_runtime(plan, clock) as runtime:
                    await _undo_leftover_faults(runtime, plan.notes)
                    return await _run_attached(plan, runtime, clock, signals)
            case RunPlan():
                async with open_session_runtime(plan, clock) as runtime:
                    return await run_on_runtime(plan, runtime, clock, signals)
    except asyncio.CancelledError:
        if early.received is None:
            raise
        plan.notes.note("ended by a signal before any pod was started")
        return SIGNALLED + early.received


@asynccontextmanager
async def open_session_runtime(plan: RunPlan, clock: Clock) -> AsyncIterator[Runtime]:
    """Open the runtime on which pods are to be created, and close it at the end.

    Raises:
        RuntimeUnavailableError: no container runtime answers.
        ManifestError: with `--strict`, the runtime does not support some fields.
        UsageError: a kubelet uses the runtime too.
    """
    async with _opened_runtime(plan, clock) as runtime:
        if plan.warn_for_runtime is not None:
            plan.warn_for_runtime(runtime_kind(runtime))
        await refuse_beside_kubelet(
            runtime, plan.notes, is_accepted=plan.options.beside_kubelet
        )
        await _undo_leftover_faults(runtime, plan.notes)
        yield runtime


@asynccontextmanager
async def _opened_runtime(plan: LivePlan, clock: Clock) -> AsyncIterator[Runtime]:
    runtime = await open_runtime(
        plan.runtime, clock, exec_errors=plan.exec_errors, rules=plan.rules
    )
    runtime.on_clock_offset(
        lambda offset: plan.notes.warning(format_clock_offset(runtime.name, offset))
    )
    try:
        yield runtime
    finally:
        await _close(runtime, plan.notes)


async def _undo_leftover_faults(runtime: Runtime, notes: Notes) -> None:
    for sentence in await undo_leftover_faults(runtime):
        notes.note(sentence)


async def run_on_runtime(
    plan: RunPlan, runtime: Runtime, clock: Clock, signals: Signals
) -> int:
    """Run a session's pods on a runtime, which others may use too; return the status.

    Raises:
        ContainerRuntimeError: what an earlier run left cannot be removed.
        UsageError: another probetui runs one of the pods.
    """
    pod_registry = PodRegistry(plan.desired, keeps_pods=plan.options.keep)
    async with AsyncExitStack() as stack:
        parts = [*plan.parts()]
        if isinstance(plan, NodePlan):
            # Late: few sessions are a node.
            from probetui.cli.session.node import open_node

            node = await stack.enter_async_context(
                open_node(plan, pod_registry, runtime, clock)
            )
            parts.append(node.join)
        await _lock_pods(runtime, pod_registry, plan.notes, stack)
        await replace_leftovers(runtime, plan.pods, plan.notes)
        try:
            return await _LiveSession(
                plan, pod_registry, runtime, clock, signals, parts
            ).run()
        except BaseException as error:
            # A bug, not an end: nothing may be left behind all the same.
            if not pod_registry.keeps_pods:
                await _remove_after_bug(runtime, pod_registry, plan.notes)
            raise _first_cause(error) from error


async def _lock_pods(
    runtime: Runtime, pod_registry: PodRegistry, notes: Notes, stack: AsyncExitStack
) -> None:
    """Lock and lease the pods for as long as the stack lasts.

    Raises:
        PodInUseError: another probetui runs one of them.
    """
    locks = stack.enter_context(PodLocks(runtime.name, pod_registry.pods))
    lease = await stack.enter_async_context(
        LeaseRenewal(runtime, pod_registry.pods, notes, pod_registry.drop_pod)
    )

    def admit(wanted: DesiredState) -> DesiredState:
        held = locks.add(wanted.pods)
        for pod, holder in held:
            notes.error(str(PodInUseError(pod.namespace, pod.name, holder)))
        theirs = {pod.uid for pod, _ in held}
        pods = tuple(pod for pod in wanted.pods if pod.uid not in theirs)
        lease.add([pod for pod in pods if pod not in pod_registry.all_known])
        return wanted._replace(pods=pods)

    pod_registry.set_admission(admit)


async def _close(runtime: UnmanagedSource, notes: Notes) -> None:
    """Close a runtime, which may have to undo faults that were injected."""
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


async def _run_on_cluster_pod(
    plan: ClusterPodPlan, clock: Clock, signals: Signals
) -> int:
    """Run a session on the containers of a cluster's pod.

    Raises:
        ClusterError: the cluster cannot be used; a right that is missing is named.
    """
    # Late: few sessions attach to a cluster's pod.
    from probetui.cli.session.cluster_attachment import open_cluster_pod

    containers = await open_cluster_pod(plan, clock)
    try:
        return await _run_attached(plan, containers, clock, signals)
    finally:
        await _close(containers, plan.notes)


async def _run_attached(
    plan: AttachPlan, runtime: UnmanagedSource, clock: Clock, signals: Signals
) -> int:
    """Run a session on containers that exist; nothing of them is ever removed."""
    # Late: few sessions attach to anything.
    from probetui.cli.session.attachment import attach, confirm_actions

    attached = await attach(runtime, plan.pods, plan.attachment, clock, plan.notes)
    if not await confirm_actions(attached, plan.attachment, plan.notes):
        plan.notes.note("nothing was changed")
        return 0
    try:
        return await _AttachedSession(plan, attached, clock, signals).run()
    except BaseExceptionGroup as error:
        raise _first_cause(error) from error


async def _remove_after_bug(
    runtime: Runtime, pod_registry: PodRegistry, notes: Notes
) -> None:
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await remove_session_pods(runtime, pod_registry.all_known)
    except TimeoutError:
        notes.error(
            f"containers may be left: {runtime.name} does not answer; see `probetui ls`"
        )
    except Exception as error:  # noqa: BLE001  # the bug before is what is reported
        notes.error(f"containers may be left: {error}; see `probetui ls`")


def format_clock_offset(runtime_name: str, offset: timedelta) -> str:
    """Return a warning that a runtime's clock differs from this machine's."""
    seconds = offset.total_seconds()
    if abs(seconds) < 1:
        return (
            f"the clock of {runtime_name} agrees with the clock of this session again"
        )
    way = "ahead of" if seconds > 0 else "behind"
    return (
        f"the clock of {runtime_name} is {abs(seconds):.1f}s {way} the clock of "
        "this session; its times are corrected"
    )


def _first_cause(error: BaseException) -> BaseException:
    """Return the first error of a group; the others stay with it as its context."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class _LiveSession:
    """One session on a runtime, which creates its pods and removes them.

    Args:
        plan: what was asked for.
        pod_registry: the pods, as they change.
        runtime: where they run.
        clock: the time of the session.
        signals: delivers signals.
        parts: make its optional parts, in their order.
    """

    def __init__(
        self,
        plan: LivePlan,
        pod_registry: PodRegistry,
        runtime: Runtime,
        clock: Clock,
        signals: Signals,
        parts: Sequence[PartMaker],
    ) -> None:
        self._plan = plan
        self._pod_registry = pod_registry
        self._runtime = runtime
        self._clock = clock
        self._signals = signals
        self._parts = parts
        self._started_at = clock.now()
        self._mask = pod_registry.make_mask(hides=not plan.options.show_secrets)
        self._config = plan.kubelet_config(
            default_seed=SystemRandom().randrange(_SEEDS)
        )
        self._images = self._image_maintenance()
        self._is_shown = asyncio.Event()
        self._outputs = SessionOutputs(plan, pod_registry, self._mask, self._started_at)

    async def run(self) -> int:
        """Run the session and return the exit status."""
        session = await self._make_session()
        # Records and lines first: what parts make of an entry comes after it.
        sinks = self._outputs.open(session.runtime_name, self._config)
        errors, verdict = CollectedErrors(), Verdict("bug", EXIT_BUG)
        async with asyncio.TaskGroup() as tasks, AsyncExitStack() as stack:
            parts = self._make_parts(session)
            for part in parts:
                await stack.enter_async_context(part)
                sinks += part.sinks()
            follower = Follower(
                session,
                sinks,
                self._plan.watch,
                ends_with_pods=self._plan.ends_with_pods,
            )
            session.on_bug = follower.fail

            async def supervise(work: Awaitable[None]) -> None:
                """End the session on an error, so that its pods are stopped."""
                try:
                    await work
                except Exception as error:  # noqa: BLE001  # it is raised in the end
                    follower.fail(error)

            tasks.create_task(supervise(session.run()))
            background = []
            for part in parts:
                for work in part.tasks():
                    task = tasks.create_task(supervise(work))
                    if part.needed_to_the_end:
                        stack.callback(task.cancel)
                    else:
                        background.append(task)
            interrupts = Interrupts(follower, self._signals, self._remaining_pods)
            stack.callback(session.stop)
            with errors.caught(), self._outputs, follower, interrupts:
                fault = ScreenFault(
                    session, self._outputs, follower, self._plan.notes, self._on_lines
                )
                try:
                    verdict = await self._show(session, follower, fault)
                except Exception as error:  # noqa: BLE001  # the pods are stopped first
                    follower.fail(error)
                    verdict = await follower.verdict()
                with errors.caught():
                    verdict = decide_exit_status(
                        verdict, session.snapshot, follower.creation_failures
                    )
                for task in background:
                    task.cancel()
                verdict = fault.judge(
                    await self._end(session, parts, interrupts, verdict, errors)
                )
        with errors.caught():
            self._outputs.close(verdict, self._clock.now())
        errors.errors[:0] = follower.errors
        errors.raise_first()
        return verdict.exit_status

    def _on_lines(self) -> None:
        self._plan = self._plan.without_screen()

    def _make_parts(self, session: RealtimeSession) -> list[SessionPart]:
        def report(text: str, *, level: NoteLevel, pod_uid: str = "") -> None:
            # The screen has it whole in the event log; what goes by itself is one line,
            # and lines are those of the journal.
            is_warning = level is NoteLevel.WARNING
            note = f"{level}: {text}" if is_warning else text
            is_fault = level is NoteLevel.ERROR
            session.send(AddNote(note, is_fault=is_fault, pod_uid=pod_uid))
            if self._plan.form is Form.SCREEN:
                self._plan.notes.show(level, text.partition("\n")[0])

        scope = SessionScope(
            self._plan,
            session,
            self._runtime,
            self._config.node,
            self._pod_registry,
            self._mask,
            self._clock,
            self._started_at,
            report,
        )
        parts = [make(scope) for make in self._parts]
        # Not the plan's: only a runtime that is open is known to have images.
        return parts if self._images is None else [*parts, self._images]

    def _remaining_pods(self) -> str:
        """Return the names of the pods that stay if the program ends now."""
        return ", ".join(pod.name for pod in self._pod_registry.all_known)

    async def _make_session(self) -> RealtimeSession:
        """Return the session; its pods have been sent to the engine."""
        own = OwnPodsRuntime(self._runtime)
        self._pod_registry.subscribe(own.add_pods)
        runtime = cast("Runtime", own)
        if self._images is not None:
            runtime = self._images.recording_pulls(runtime)
        node = await self._runtime.node()
        self._config = replace(
            self._config,
            node=self._plan.name_node(node),
            finds_listeners=True,
            polls_runtime=runtime.supports(Runtime.conditions),
            lists_images=runtime.supports(Runtime.list_images),
        )
        loop_watch = LoopWatch(self._clock)
        prober: Prober = ProbeDispatcher(
            runtime, self._clock, runtime, lost_time=loop_watch
        )
        hooks: HookRunner = LifecycleHookRunner(runtime, runtime)
        prober, hooks = self._at_addresses(prober, hooks)
        session = RealtimeSession(
            Engine(self._config, self._started_at),
            Executor(runtime, prober, hooks, self._clock),
            runtime,
            self._clock,
            runtime_name=await self._runtime_name(),
            watches_execs=self._watches_execs(),
            loop_watch=loop_watch,
            held_until=self._is_shown,
            on_input=lambda item, now: self._outputs.on_input(
                item, now, len(session.journal)
            ),
        )
        if self._plan.options.paused:
            session.send(PauseProbes())
        for remark in self._runtime.remarks:
            session.send(AddNote(remark))
        self._pod_registry.subscribe_objects(
            lambda objects: session.send(SetObjects(tuple(objects)))
        )

        def send_pods(_pods: Sequence[Pod]) -> None:
            for update in self._pod_registry.desired.updates():
                session.send(update)

        self._pod_registry.subscribe(send_pods)
        return session

    def _at_addresses(
        self, prober: Prober, hooks: HookRunner
    ) -> tuple[Prober, HookRunner]:
        """Return what probes and runs hooks where the containers are reached."""
        return prober, hooks

    def _watches_execs(self) -> bool:
        """Return whether commands that others run are shown; warn if they cannot be."""
        if not self._plan.options.runtime_events:
            return False
        if self._runtime.supports(Runtime.watch_execs):
            return True
        self._plan.notes.warning(
            f"--runtime-events: {self._runtime.name} does not report commands that "
            "others run"
        )
        return False

    def _image_maintenance(self) -> ImageMaintenance | None:
        """Return what collects the images, None for a runtime without images."""
        wanted, notes = self._plan.options.image_gc, self._plan.notes
        if self._runtime.supports(Runtime.list_images):
            # Late: plain processes have no images.
            from probetui.cli.images.maintenance import ImageMaintenance

            return ImageMaintenance(self._runtime, self._clock, notes, collects=wanted)
        if wanted:
            notes.warning(f"--image-gc: {self._runtime.name} has no images")
        return None

    async def _runtime_name(self) -> str:
        """Return what the containers run on, and whether they are only watched."""
        name = await self._runtime.version()
        return name if self._config.kills else f"{name}, only watched"

    async def _show(
        self, session: RealtimeSession, follower: Follower, fault: ScreenFault
    ) -> Verdict:
        plan = self._plan
        if plan.form is Form.WEB:
            # Late: few sessions are shown in a browser.
            from probetui.cli.session.web_screens import show_in_browser

            self._is_shown.set()
            plan.print_intro()
            return await show_in_browser(
                plan, session, follower, self._mask, self._pod_registry
            )
        if plan.form is Form.LINES:
            self._is_shown.set()
            plan.print_intro()
            gc_tuning.freeze()
            if not plan.options.step:
                return await follower.verdict(plan.options.timeout)
            # Late: few sessions are stepped by lines.
            from probetui.cli.session.stepping import step_by_lines

            return await step_by_lines(
                plan, session, follower, self._mask, plan.options.timeout
            )
        # Late: the screen's library is slow to import.
        from probetui.cli.session.screen import show_screen

        for problem in plan.manifests.warnings:
            pod = plan.manifests.pod_of(problem)
            pod_uid = "" if pod is None else pod.uid
            session.send(AddNote(f"{NoteLevel.WARNING}: {problem}", pod_uid=pod_uid))
        save = self._outputs.saver(follower.drain)
        record = self._outputs.record_so_far(follower.drain)
        try:
            verdict: Verdict = await show_screen(
                plan,
                session,
                follower,
                self._mask,
                fault,
                save,
                record,
                pod_registry=self._pod_registry,
                stop_pods=session.shutdown,
                on_drawn=self._is_shown.set,
            )
        finally:
            self._is_shown.set()
        self._outputs.leave(session)
        return verdict

    async def _end(
        self,
        session: RealtimeSession,
        parts: Sequence[SessionPart],
        interrupts: Interrupts,
        verdict: Verdict,
        errors: CollectedErrors,
    ) -> Verdict:
        notes = self._plan.notes
        session.journal_lateness()
        names_cause_last = verdict.exit_status == EXIT_NOT_STARTED
        if verdict.message and not names_cause_last:
            notes.error(verdict.message)
        if verdict.exit_status == EXIT_TIME_LIMIT and self._plan.watch is not None:
            # Late: most sessions meet their condition.
            from probetui.cli.session.unmet import note_obstacles

            note_obstacles(self._plan.watch, session, self._mask, notes)
        try:
            for part in parts:
                # A part that fails keeps no pod from being ended.
                with errors.caught():
                    await part.before_pods_end(interrupts.leave)
            verdict = await self._end_pods(session, interrupts, verdict)
            for part in parts:
                await part.after_pods_end(interrupts.leave)
            return verdict
        finally:
            if names_cause_last:
                notes.error(verdict.message)

    async def _end_pods(
        self, session: RealtimeSession, interrupts: Interrupts, verdict: Verdict
    ) -> Verdict:
        plan = self._plan
        if self._pod_registry.keeps_pods:
            names = ", ".join(pod.name for pod in self._pod_registry.pods)
            plan.notes.note(f"kept: {names}; {removal_command(names)} removes them")
            return verdict
        return await end_pods(
            session,
            self._pod_registry.all_known,
            self._runtime,
            interrupts,
            plan.notes,
            verdict,
        )


class _AttachedSession(_LiveSession):
    """One session on containers that exist, and stay when it ends."""

    def __init__(
        self,
        plan: AttachPlan,
        attached: AttachedRuntime,
        clock: Clock,
        signals: Signals,
    ) -> None:
        pod_registry = PodRegistry(plan.desired)
        super().__init__(plan, pod_registry, attached, clock, signals, [*plan.parts()])
        self._attached = attached
        self._config = replace(self._config, restarts=attached.can_start, creates=False)

    def _at_addresses(
        self, prober: Prober, hooks: HookRunner
    ) -> tuple[Prober, HookRunner]:
        from probetui.runtimes.attached.addresses import dial_containers

        return dial_containers(prober, hooks, self._attached.address_of)

    def _remaining_pods(self) -> str:
        return ""

    async def _end_pods(
        self,
        session: RealtimeSession,  # noqa: ARG002  # nothing is ended
        interrupts: Interrupts,  # noqa: ARG002
        verdict: Verdict,
    ) -> Verdict:
        return verdict
