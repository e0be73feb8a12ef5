"""The engine: a kubelet, its debugger, and snapshots of both.

Submit every fact and command with the instant it happened, advance it at its deadline,
carry out its effects and submit their results. It does no I/O and never waits. The
same inputs at the same instants give the same turns.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from probetui.debugger.active_faults import ActiveFaults
from probetui.debugger.commands import (
    ClearBackoff,
    DebuggerCommand,
    InjectContainerFault,
    KillContainer,
    RestartContainer,
    RunToChange,
    StepProbe,
)
from probetui.debugger.container_commands import ContainerCommands
from probetui.debugger.dry_runs import DryRuns
from probetui.debugger.freezer import Freezer
from probetui.debugger.overrides import ProbeOverrides
from probetui.debugger.probe_debugger import ProbeDebugger
from probetui.debugger.watch_only import WatchOnlyPolicy
from probetui.engine.diagnostics import ProbeDiagnostics
from probetui.engine.evidence import EvidenceCollector
from probetui.engine.inputs import (
    AddPod,
    Command,
    DeletePod,
    ExecSeen,
    Input,
    LastOutputRead,
    ListenersFound,
    ProbeStillRuns,
    SetObjects,
    SetPods,
)
from probetui.engine.snapshot import LastStep, Snapshot
from probetui.engine.snapshot_builder import SnapshotBuilder
from probetui.k8s.pod import Pod
from probetui.k8s.status import PodStatus
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.facts import (
    ImagesListed,
    OperationFinished,
    OperationProgress,
    ProbeFinished,
    Relisted,
    RelistFailed,
    RuntimeChanged,
    RuntimeStatusRead,
)
from probetui.kubelet.kubelet import Kubelet
from probetui.kubelet.pod_workers.pod_config import (
    PodOperation,
    SourcedPod,
    SourceUpdate,
)
from probetui.kubelet.runtime.turn import Turn, TurnBuilder


class Engine:
    """A kubelet with a debugger and snapshots; owned by the driver.

    Args:
        config: how this kubelet behaves.
        started_at: when this session begins.
    """

    def __init__(self, config: KubeletConfig, started_at: datetime) -> None:
        self.config = config
        self._turn = TurnBuilder()
        pods: dict[str, Pod] = {}
        self._overrides = ProbeOverrides(pods)
        self._kubelet = Kubelet(
            config,
            started_at,
            pods=pods,
            turn=self._turn,
            hooks=self._overrides,
            make_policy=partial(WatchOnlyPolicy, config),
            on_pod_removed=self._forget_pod,
        )
        self._scheduler = self._kubelet.probes.scheduler
        self._dry_runs = DryRuns(self._turn, self._overrides, config.rules)
        self._debugger = ProbeDebugger(self._kubelet, self._overrides, self._dry_runs)
        self._faults = ActiveFaults(self._kubelet.cache, shares_network=config.creates)
        self._containers = ContainerCommands(self._kubelet, self._faults)
        self._freezer = Freezer(self._kubelet, self._faults, self._containers.dispatch)
        self._diagnostics = ProbeDiagnostics(self._turn, config, pods)
        self._evidence = EvidenceCollector(self._turn, config)
        self._snapshots = SnapshotBuilder(
            started_at, self._kubelet, self._overrides, self._dry_runs, self._faults
        )
        self._last_step: LastStep | None = None

    # -- the four doors

    def submit(self, item: Input, now: datetime) -> Turn:
        """Process one input; return effects to carry out and journal entries."""
        match item:
            case ProbeFinished():
                if not self._dry_runs.under_way or not self._dry_runs.finish(item, now):
                    self._scheduler.finish(item, now)
            case ListenersFound():
                self._diagnostics.on_listeners_found(item, now)
            case LastOutputRead():
                self._evidence.on_output_read(item, now)
            case ProbeStillRuns(probe_id):
                self._evidence.on_probe_still_runs(
                    self._scheduler.flight(probe_id), now
                )
            case ExecSeen():
                self._diagnostics.on_exec_seen(item, self._kubelet.in_runtime, now)
            case (
                OperationFinished()
                | OperationProgress()
                | Relisted()
                | RelistFailed()
                | RuntimeChanged()
                | RuntimeStatusRead()
                | ImagesListed()
            ):
                if isinstance(item, OperationFinished):
                    # Before what the kubelet concludes from it.
                    self._evidence.on_operation_finished(item, now)
                self._snapshots.on_operation(item)
                self._kubelet.observe(item, now)
                self._kubelet.due_at = now
            case _:
                self._dispatch(item, now)
                self._kubelet.due_at = now
        return self.advance(now)

    def advance(self, now: datetime) -> Turn:
        """Advance to `now`; return effects to carry out and journal entries."""
        self._run_due(now)
        if self._freezes:
            self._freeze(now)
        turn = self._turn.finish()
        self._diagnostics.on_entries(turn.entries, now)
        self._evidence.on_turn(turn, now)
        turn = turn.joined_with(self._turn.finish())
        self._snapshots.on_turn(turn)
        return turn

    def next_deadline(self) -> datetime | None:
        """Return the latest time for the next `advance`, None if none is due."""
        probes_at = self._scheduler.next_deadline()
        if probes_at is None or self._kubelet.due_at < probes_at:
            return self._kubelet.due_at
        return probes_at

    def snapshot(self, now: datetime) -> Snapshot:
        """Return a snapshot; unchanged parts are the same objects."""
        return self._snapshots.build(now, last_step=self._last_step)

    def pod_uids(self) -> tuple[str, ...]:
        """Return the pods that are known or to be recreated, and not gone yet."""
        return self._kubelet.pod_uids()

    def longest_grace_period(self) -> timedelta:
        """Return the longest time that a pod may take to end."""
        return self._kubelet.longest_grace_period()

    def running_probes(self) -> tuple[int, ...]:
        """Return the IDs of the probes whose ticks have not ended."""
        return self._scheduler.running_probes()

    # -- commands

    def _dispatch(self, command: Command, now: datetime) -> None:
        if self._freezes and self._freezer.defers(command):
            return
        match command:
            case AddPod(pod):
                self._kubelet.add_pod(pod, now, waits_for_name=False)
            case SetPods():
                self._diagnostics.register_places(command.places)
                self._kubelet.update_source(_source_update(command), now)
            case SetObjects(objects):
                self._kubelet.objects.replace(objects)
            case DeletePod(pod_uid, grace_period_seconds):
                self._kubelet.delete_pod(pod_uid, grace_period_seconds, now)
            case (
                RestartContainer()
                | KillContainer()
                | ClearBackoff()
                | InjectContainerFault()
            ):
                self._containers.dispatch(command, now)
            case _:
                self._debug(command, now)

    def _debug(self, command: DebuggerCommand, now: datetime) -> None:
        """Run a debugger command; before a step, save the state."""
        if not isinstance(command, StepProbe | RunToChange):
            self._debugger.dispatch(command, now)
            return
        pods = self.snapshot(now).pods
        before = self._debugger.last_step
        self._debugger.dispatch(command, now)
        step = self._debugger.last_step
        if step is not None and step is not before:
            self._last_step = LastStep(*step, pods)

    # -- time

    def _run_due(self, now: datetime) -> None:
        self._kubelet.run_due(now)
        if self._overrides.holds_ticks:
            self._debugger.journal_pause(now)

    @property
    def _freezes(self) -> bool:
        return self.config.freezes and self.config.kills

    def _freeze(self, now: datetime) -> None:
        """Freeze or unfreeze containers, then run the deferred commands."""
        if deferred := self._freezer.follow(now, is_still=self._is_still):
            for command in deferred:
                self._debug(command, now)
            self._kubelet.due_at = now
            self._run_due(now)
            self._freezer.follow(now, is_still=self._is_still)

    @property
    def _is_still(self) -> bool:
        is_probing = self._scheduler.is_probing or bool(self._dry_runs.under_way)
        return self._overrides.holds_ticks and not is_probing

    def _forget_pod(self, pod_uid: str) -> None:
        self._snapshots.forget(pod_uid)
        self._debugger.forget_pod(pod_uid)
        self._diagnostics.forget_pod(pod_uid)
        self._evidence.forget_pod(pod_uid)


def _source_update(command: SetPods) -> SourceUpdate:
    pods = tuple(
        SourcedPod(pod, PodStatus(conditions=command.conditions.get(pod.uid, ())))
        for pod in command.pods
    )
    operation = PodOperation.SET if command.is_complete else PodOperation.ADD
    return SourceUpdate(operation, command.source, pods)
