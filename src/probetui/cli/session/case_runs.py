"""Runs of cases: each a session of its own, on virtual time or beside the others."""

from __future__ import annotations

import asyncio
import re
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from probetui.cli.case_files import Case
from probetui.cli.commands.testing import TestOptions
from probetui.cli.files import SourceReader
from probetui.cli.option_groups import pick_options
from probetui.cli.pods import ManifestOptions, load_pods
from probetui.cli.printing import NoteLevel, Notes
from probetui.cli.runtimes import PROCESS, SIM, runtime_kind
from probetui.cli.session.ending import SIGNALLED
from probetui.cli.session.live import open_session_runtime, run_on_runtime
from probetui.cli.session.outputs import SessionOutputs
from probetui.cli.session.parts import SessionPart, SessionScope
from probetui.cli.session.plan import CasePlan, EnginePlan
from probetui.cli.session.planning import make_plan, make_sim_plan
from probetui.cli.session.playback import begin_simulation
from probetui.cli.session.pod_registry import PodRegistry
from probetui.cli.session.signal_watch import SharedSignals, SignalWatch
from probetui.descriptor_limit import raise_descriptor_limit
from probetui.drive.clocks import SystemClock
from probetui.drive.scenario.script import NO_SCENARIO
from probetui.engine.inputs import Input
from probetui.errors import ManifestError, ProbetuiError
from probetui.headless.cases.case import FAULTS
from probetui.headless.cases.progress import CaseProgress
from probetui.headless.cases.result import CaseResult, Outcome
from probetui.k8s.pod import Pod
from probetui.k8s.probe import GRPCAction, HTTPGetAction, TCPSocketAction
from probetui.kubelet.journal import JournalEntry
from probetui.manifest.manifests import Manifests
from probetui.ports import Clock, Runtime
from probetui.presentation.plain.lines import PlainLines

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_NAME = 100


class CaseRun(Struct, frozen=True):
    """A case on a runtime.

    Attributes:
        case: what is done and expected.
        runtime: the value of `--runtime`.
        command: what repeats it alone.
        suffix: of the namespaces of its pods, so that they meet no others.
        record: the file of its record, None for none.
        report: that of its page, likewise.
    """

    case: Case
    runtime: str
    command: str
    suffix: str
    record: Path | None
    report: Path | None


def output_file(
    folder: Path | None, number: int, case: Case, runtime: str, suffix: str
) -> Path | None:
    """Return a file about a case, None without a folder; `number` counts the cases."""
    if folder is None:
        return None
    name = _UNFIT.sub("-", case.name)[:_MOST_NAME]
    return folder / f"{number}-{name}-{runtime}{suffix}"


class CasePart(SessionPart):
    """Begins a case once its session can be given commands."""

    def __init__(self, case: CaseProgress, scope: SessionScope) -> None:
        self._case = case
        self._scope = scope

    async def __aenter__(self) -> Self:
        """Begin the case."""
        self._case.begin(self._scope.started_at, self._scope.session.send)
        return self


class _CaseOptions(TestOptions):
    """The options of a case's session."""

    form: str = "plain"
    record: str | None = None
    report: str | None = None
    act: bool = True


class CaseRunner:
    """Runs cases and reports each as it ends.

    Args:
        options: those of the command.
        reader: what reads it.
        manifests: what was read, whose problems have been reported.
        report: called with each result.
    """

    def __init__(
        self,
        options: TestOptions,
        reader: SourceReader,
        manifests: Manifests,
        report: Callable[[CaseResult], None],
    ) -> None:
        self._options = options
        self._reader = reader
        self._manifests = replace(manifests, problems=())
        self._report = report
        self._results: dict[int, CaseResult] = {}

    @property
    def results(self) -> list[CaseResult]:
        """The results so far, in the order of the cases."""
        return [self._results[number] for number in sorted(self._results)]

    def run(self, runs: Sequence[CaseRun], jobs: int) -> int:
        """Run cases, so many at a time; return the status of a signal, else 0.

        Raises:
            RuntimeUnavailableError: no container runtime answers.
            ManifestError: a runtime cannot do what a case says.
        """
        live = []
        for number, run in enumerate(runs):
            if run.runtime == SIM:
                self._add(number, self._simulate(run))
            else:
                live.append((number, run))
        if not live:
            return 0
        raise_descriptor_limit()
        with SignalWatch() as watch:
            return asyncio.run(self._run_live(live, jobs, watch))

    def _add(self, number: int, result: CaseResult) -> None:
        self._results[number] = result
        self._report(result)

    # -- plans

    def load(self, case: Case, suffix: str = "") -> Manifests:
        """Return the pods of a case, with what the case changes of them."""
        changes = (*self._options.changes, *case.settings)
        options = pick_options(ManifestOptions, self._options)
        options = options.replace(changes=changes, quiet=True)
        plain = load_pods(options, self._reader)
        wanted = [
            index
            for index, loaded in enumerate(plain.loaded)
            if (loaded.pod.namespace, loaded.pod.name) in case.pods
        ]
        apart = plain
        if suffix:
            apart = load_pods(options, self._reader, namespace_suffix=suffix)
        return replace(apart, loaded=tuple(apart.loaded[index] for index in wanted))

    def _session_options(self, run: CaseRun) -> _CaseOptions:
        """Return the options of a case's session: nothing of it is printed."""
        return self._runtime_options(run.runtime).replace(
            quiet=True,
            changes=(*self._options.changes, *run.case.settings),
            record=None if run.record is None else str(run.record),
            report=None if run.report is None else str(run.report),
        )

    def _runtime_options(self, runtime: str) -> _CaseOptions:
        """Return the options of a session without a case, to open its runtime."""
        return pick_options(_CaseOptions, self._options).replace(
            runtime=runtime, output="plain", record_dir=None, report_dir=None
        )

    def _progress(self, run: CaseRun, plan: EnginePlan) -> CaseProgress:
        mask = PodRegistry(plan.desired).make_mask(hides=not plan.options.show_secrets)
        return CaseProgress(
            run.case.steps,
            plan.pods,
            run.case.timeout,
            lambda began_at: PlainLines(
                started_at=began_at, mask=mask, rules=plan.rules
            ),
        )

    def _result(
        self, run: CaseRun, progress: CaseProgress, now: datetime, errors: Sequence[str]
    ) -> CaseResult:
        progress.stop(now, "; ".join(errors) or "the session ended before that")
        failure = progress.failure
        if failure is not None:
            rest = tuple(line for line in errors if line not in failure.came)
            failure = replace(failure, lines=(*failure.lines, *rest))
        return CaseResult(
            run.case.name,
            run.case.position,
            run.runtime,
            Outcome.PASSED if failure is None else Outcome.FAILED,
            (progress.ended_at or now) - progress.began_at,
            progress.all_results(),
            failure,
            command=run.command,
            record="" if run.record is None else str(run.record),
        )

    # -- virtual time

    def _simulate(self, run: CaseRun) -> CaseResult:
        """Run a case on virtual time, as fast as possible."""
        errors: list[str] = []
        plan = make_sim_plan(
            self.load(run.case),
            self._session_options(run),
            run.case.scenario,
            reader=self._reader,
        )
        plan = replace(plan, notes=_error_lines(errors))
        progress = self._progress(run, plan)
        registry = PodRegistry(plan.desired)
        mask = registry.make_mask(hides=not plan.options.show_secrets)
        config = plan.kubelet_config(default_seed=0)
        scenario = plan.scenario or NO_SCENARIO
        outputs = SessionOutputs(plan, registry, mask, scenario.start)
        simulation = begin_simulation(plan, scenario, config)
        journal: list[JournalEntry] = []

        def on_input(item: Input | None, now: datetime) -> None:
            outputs.on_input(item, now, simulation.entries)

        simulation.attach(journal, on_input)
        sinks = outputs.open(SIM, config)
        with outputs:
            progress.begin(simulation.now, simulation.submit)
            while not progress.is_over:
                due_at, next_at = progress.due_at, simulation.next_at()
                if due_at is not None and (next_at is None or due_at < next_at):
                    simulation.pass_until(due_at)
                    progress.advance(due_at)
                elif next_at is not None:
                    simulation.turn()
                else:
                    break
                # What is observed may give commands, which add entries.
                for entry in journal:
                    progress.observe(entry)
                for sink in sinks:
                    sink.consume(journal)
                journal.clear()
        result = self._result(run, progress, simulation.now, errors)
        verdict = progress.verdict
        if verdict is not None:
            outputs.close(verdict, simulation.now)
        return result

    # -- real time

    async def _run_live(
        self, runs: Sequence[tuple[int, CaseRun]], jobs: int, watch: SignalWatch
    ) -> int:
        clock = SystemClock()
        signals = SharedSignals(watch)
        slots = asyncio.Semaphore(jobs)
        ports = _PortLocks()
        async with AsyncExitStack() as stack:
            runtimes = {}
            for kind in dict.fromkeys(run.runtime for _, run in runs):
                plan = make_plan(self._manifests, self._runtime_options(kind))
                runtimes[kind] = await stack.enter_async_context(
                    open_session_runtime(plan, clock)
                )
            self._check_faults(runs, runtimes)

            async def run_one(number: int, run: CaseRun) -> None:
                runtime = runtimes[run.runtime]
                run = replace(run, runtime=runtime_kind(runtime))
                manifests = self.load(run.case, run.suffix)
                used = set(_host_ports(manifests.pods, run.runtime))
                async with ports.held(used), slots:
                    if signals.received is not None:
                        self._add(number, skipped(run, "interrupted"))
                        return
                    result = await self._run_case(
                        run, manifests, runtime, clock, signals
                    )
                    self._add(number, result)

            async with asyncio.TaskGroup() as tasks:
                for number, run in runs:
                    tasks.create_task(run_one(number, run))
        return 0 if signals.received is None else SIGNALLED + signals.received

    async def _run_case(
        self,
        run: CaseRun,
        manifests: Manifests,
        runtime: Runtime,
        clock: Clock,
        signals: SharedSignals,
    ) -> CaseResult:
        errors: list[str] = []
        plan = make_plan(manifests, self._session_options(run), reader=self._reader)
        progress = self._progress(run, plan)
        plan = replace(plan, watch=progress, notes=_error_lines(errors))
        plan = CasePlan.of(plan, case=progress)
        with signals.member(progress.abandon) as member:
            try:
                await run_on_runtime(plan, runtime, clock, member)
            except ProbetuiError as error:
                errors.append(str(error))
        if progress.is_abandoned:
            return skipped(run, "interrupted")
        return self._result(run, progress, clock.now(), errors)

    def _check_faults(
        self, runs: Sequence[tuple[int, CaseRun]], runtimes: Mapping[str, Runtime]
    ) -> None:
        """Refuse cases that do what their runtime cannot do.

        Raises:
            ManifestError: names each of them, before anything is started.
        """
        problems = [
            f"{action.place}: {action.text}: {why}; runtimes: says where a case runs"
            for _, run in runs
            for step in run.case.steps
            if (action := step.action) is not None and action.kind in FAULTS
            for pod in self.load(run.case).pods
            if pod.name == action.pod
            and (why := runtimes[run.runtime].fault_refusal(pod, FAULTS[action.kind]))
        ]
        if problems:
            raise ManifestError(list(dict.fromkeys(problems)))


def _error_lines(errors: list[str]) -> Notes:
    """Return notes of which nothing is printed, and errors are added to a list."""

    def show(level: NoteLevel, text: str) -> None:
        if level is NoteLevel.ERROR:
            errors.extend(text.splitlines())

    return Notes(quiet=True, show=show)


def skipped(run: CaseRun, reason: str) -> CaseResult:
    """Return the result of a case that was not run."""
    return CaseResult(
        run.case.name,
        run.case.position,
        run.runtime,
        Outcome.SKIPPED,
        reason=reason,
        command=run.command,
    )


class _PortLocks:
    """Ports of this machine, each used by one case at a time."""

    def __init__(self) -> None:
        self._locks: dict[int, asyncio.Lock] = {}

    @asynccontextmanager
    async def held(self, ports: Collection[int]) -> AsyncIterator[None]:
        """Hold ports, in one order for all: no two cases wait for each other."""
        async with AsyncExitStack() as stack:
            for port in sorted(ports):
                lock = self._locks.setdefault(port, asyncio.Lock())
                await stack.enter_async_context(lock)
            yield


def _host_ports(pods: Sequence[Pod], runtime: str) -> Iterator[int]:
    """Yield the ports of this machine that pods take there."""
    for pod in pods:
        is_on_host = pod.host_network or runtime == PROCESS
        for container in pod.all_containers():
            for port in container.ports:
                if is_on_host:
                    yield port.container_port
                elif port.host_port:
                    yield port.host_port
            for probe in container.probes() if is_on_host else ():
                handler = probe.handler
                if isinstance(
                    handler, HTTPGetAction | TCPSocketAction | GRPCAction
                ) and isinstance(handler.port, int):  # a name is one of those above
                    yield handler.port
