"""Probe hooks: the interface through which a debugger changes probing.

The prober asks its hooks for a probe's timing, for an outcome that replaces a run, for
a delay, hold or withholding of a result, and for whether ticks are held. The kubelet
has no hooks: with `NoHooks`, the prober behaves like the kubelet's.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol

from probetui.k8s.probe import Probe, ProbeKey
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.journal import NOT_OVERRIDDEN, Overridden, Trigger
from probetui.kubelet.outcome import ProbeOutcome, Result
from probetui.kubelet.prober.worker import Worker

NO_TIME = timedelta()


class ProbeHooks(Protocol):
    """The changes to probing from outside the kubelet."""

    @property
    def holds_ticks(self) -> bool:
        """Whether ticks are held; stops and manual triggers are not."""

    def apply_timing(self, key: ProbeKey, probe: Probe) -> Probe:
        """Return a probe of the manifest with its effective timing."""

    def replace_run(self, effect: RunProbe, now: datetime) -> ProbeOutcome | None:
        """Return an outcome that replaces a run, None to run the probe."""

    def delay_outcome(
        self, effect: RunProbe, outcome: ProbeOutcome
    ) -> tuple[ProbeOutcome, timedelta]:
        """Return an outcome with each attempt delayed, and the delay."""

    def hold_result(self, worker: Worker, result: Result, now: datetime) -> bool:
        """Return whether a result waits until it is released."""

    def stores_result(self, key: ProbeKey) -> bool:
        """Return whether a result that reaches its threshold is stored."""

    def held_for(
        self, key: ProbeKey, trigger: Trigger, due: datetime, now: datetime
    ) -> timedelta:
        """Return how long a tick that starts now was held."""

    def overridden(self, key: ProbeKey, outcome: ProbeOutcome | None) -> Overridden:
        """Return what was changed of a tick that ends; `outcome` is None for a skip."""


class NoHooks:
    """Default hooks: change nothing."""

    holds_ticks = False

    def apply_timing(self, _key: ProbeKey, probe: Probe) -> Probe:
        """Leave the timing to the manifest."""
        return probe

    def replace_run(self, _effect: RunProbe, _now: datetime) -> ProbeOutcome | None:
        """Run every probe."""
        return None

    def delay_outcome(
        self, _effect: RunProbe, outcome: ProbeOutcome
    ) -> tuple[ProbeOutcome, timedelta]:
        """Delay nothing."""
        return outcome, NO_TIME

    def hold_result(self, _worker: Worker, _result: Result, _now: datetime) -> bool:
        """Hold nothing back."""
        return False

    def stores_result(self, _key: ProbeKey) -> bool:
        """Store every result."""
        return True

    def held_for(
        self, _key: ProbeKey, _trigger: Trigger, _due: datetime, _now: datetime
    ) -> timedelta:
        """Hold no tick back."""
        return NO_TIME

    def overridden(self, _key: ProbeKey, _outcome: ProbeOutcome | None) -> Overridden:
        """Report no change."""
        return NOT_OVERRIDDEN
