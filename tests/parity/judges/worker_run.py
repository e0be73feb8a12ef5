"""The loop of a worker on virtual time, compared with the kubelet's in real time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ExecAction, Probe, ProbeKey, ProbeType
from probetui.k8s.status import ContainerStatus, PodPhase, PodStatus, Running
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult
from probetui.kubelet.prober.prober_manager import ProbeManager
from probetui.kubelet.runtime.turn import TurnBuilder
from tests.parity.prober_cases import handler_result

START = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
TOLERANCE_MS = 60
SEEDS = range(24)
"""Enough seeds for all random choices of the kubelet."""

FIELDS = ("resultsAtEnd", "workersAtEnd", "metricSeriesAtEnd", "updates")


def judge(case: dict[str, Any]) -> None:
    if case["periodSeconds"] > case["managerAgeSeconds"]:
        _judge_random_starts(case)
        return
    observed = case["observed"]
    ours = [Bench(case, seed).run() for seed in SEEDS]
    for our_run in ours:
        assert any(_agree(our_run, observed_run) for observed_run in observed), (
            our_run,
            observed,
        )
    for observed_run in observed:
        assert any(_agree(our_run, observed_run) for our_run in ours), (
            observed_run,
            ours,
        )


def _judge_random_starts(case: dict[str, Any]) -> None:
    """Judge a worker that first waits for a random part of its period.

    A run of ours that waits as long as an observed one goes on as that does.
    """
    firsts = [_first_step(Bench(case, seed).run()) for seed in SEEDS]
    period_ms = case["periodSeconds"] * 1000
    if any(_first_step(observed_run) is not None for observed_run in case["observed"]):
        assert len(set(firsts)) == len(SEEDS)
        assert all(first is None or 0 <= first <= period_ms for first in firsts)
    for observed_run in case["observed"]:
        first = _first_step(observed_run)
        part = None if first is None else first / period_ms
        ours = [Bench(case, seed, part).run() for seed in SEEDS]
        assert any(_agree(our_run, observed_run) for our_run in ours), (
            observed_run,
            ours,
        )


def _first_step(run: dict[str, Any]) -> int | None:
    """Return when a worker is first seen to step: it probes, or it leaves."""
    first: int | None = (run["callsMs"] or [run["exitMs"]])[0]
    return first


def _agree(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    calls, expected = ours["callsMs"], theirs["callsMs"] or []
    if len(calls) != len(expected):
        return False
    if any(abs(a - b) > TOLERANCE_MS for a, b in zip(calls, expected, strict=True)):
        return False
    if (ours["exitMs"] is None) != (theirs["exitMs"] is None):
        return False
    if ours["exitMs"] is not None and abs(ours["exitMs"] - theirs["exitMs"]) > (
        TOLERANCE_MS
    ):
        return False
    if ours["triggerTaken"] != theirs.get("triggerTaken", []):
        return False
    return all(
        ours[field] == (theirs.get(field) or type(ours[field])()) for field in FIELDS
    )


class _FirstWait(Random):
    """Random numbers of which the first is known: the part of a worker's period."""

    def __init__(self, seed: int, part: float) -> None:
        super().__init__(seed)
        self._first: float | None = part

    def random(self) -> float:
        """Return the known number once, then others."""
        first, self._first = self._first, None
        return super().random() if first is None else first


class Bench:
    """One worker with one seed, and a handler that answers from the case.

    `first_wait` is the part of its period that it waits before the first step; random
    if None.
    """

    def __init__(
        self, case: dict[str, Any], seed: int, first_wait: float | None = None
    ) -> None:
        self.case = case
        self.probe_type = ProbeType(case["probeType"])
        spec = case["probe"]
        probe = Probe(
            ExecAction(("x",)),
            initial_delay_seconds=spec.get("initialDelaySeconds", 0),
            success_threshold=spec.get("successThreshold", 1),
            failure_threshold=spec.get("failureThreshold", 1),
            period_seconds=case["periodSeconds"],
        )
        kinds = {self.probe_type: probe}
        container = Container(
            "c",
            startup_probe=kinds.get(ProbeType.STARTUP),
            liveness_probe=kinds.get(ProbeType.LIVENESS),
            readiness_probe=kinds.get(ProbeType.READINESS),
        )
        self.pod = Pod("u1", "p", containers=(container,))
        self.key = ProbeKey("u1", "c", self.probe_type)
        self.status: PodStatus | None = self._status("containerd://a1")
        self.turn_builder = TurnBuilder()
        config = KubeletConfig(
            seed=seed, age=timedelta(seconds=case["managerAgeSeconds"])
        )
        self.manager = ProbeManager(
            config,
            START,
            status_of=lambda _uid: self.status,
            turn=self.turn_builder,
            rng=None if first_wait is None else _FirstWait(seed, first_wait),
        )
        self.answers: list[tuple[int, RunProbe, Attempt]] = []
        self.calls: list[int] = []
        self.triggers_accepted: list[bool] = []
        self.exit_ms: int | None = None
        self.updates: list[str] = []

    def run(self) -> dict[str, Any]:
        self.manager.add_pod(self.pod, START)
        actions = {action["atMs"]: action for action in self.case["actions"] or ()}
        for ms in range(self.case["observeMs"] + 1):
            if ms in actions:
                self._act(actions[ms])
            self._advance(ms)
        results = self.manager.results[self.probe_type]
        loops = list(self.manager.scheduler.loops.values())
        container_ids = {update.partition("=")[0] for update in self.updates}
        return {
            "callsMs": self.calls,
            "exitMs": self.exit_ms,
            "triggerTaken": self.triggers_accepted,
            "resultsAtEnd": {
                container_id: str(stored_result)
                for container_id in sorted(container_ids)
                if (stored_result := results.get(container_id)) is not None  # type: ignore[arg-type]  # IDs are their texts
            },
            "workersAtEnd": len(loops),
            # One series per result label, and one for the durations of successes.
            "metricSeriesAtEnd": sum(
                2 * (loop.successes > 0) + (loop.failures > 0) for loop in loops
            ),
            "updates": self.updates,
        }

    def _advance(self, ms: int) -> None:
        now = START + timedelta(milliseconds=ms)
        progress = True
        while progress:
            progress = False
            self.manager.scheduler.run_due(now)
            for effect in self.turn_builder.finish().effects:
                assert isinstance(effect, RunProbe)
                self._run_probe(effect, ms)
            due = [answer for answer in self.answers if answer[0] <= ms]
            self.answers = [answer for answer in self.answers if answer[0] > ms]
            for _, effect, attempt in due:
                progress = True
                if self._retries(attempt):
                    self._run_probe(effect, ms)
                    continue
                self.attempts = 0
                outcome = ProbeOutcome((attempt,), started_at=now)
                self.manager.scheduler.finish(
                    ProbeFinished(effect.probe_id, outcome), now
                )
        for update in self.manager.results[self.probe_type].take_updates():
            self.updates.append(f"{update.container_id}={update.result}")
        if self.exit_ms is None and self.manager.worker(self.key) is None:
            self.exit_ms = ms

    attempts = 0

    def _retries(self, attempt: Attempt) -> bool:
        return attempt.error not in {None, "panic"} and self.attempts < 3

    def _run_probe(self, effect: RunProbe, ms: int) -> None:
        script = self.case["attempts"]
        answer = script[min(len(self.calls), len(script) - 1)]
        self.attempts += 1
        self.calls.append(ms)
        outcome = answer["outcome"]
        if outcome in {"error", "panic"}:
            attempt = Attempt(ProbeResult.UNKNOWN, error=outcome)
        else:
            attempt = Attempt(handler_result(outcome))
        self.answers.append((ms + answer["lastsMs"], effect, attempt))

    def _act(self, action: dict[str, Any]) -> None:
        match action["op"]:
            case "trigger":
                self.triggers_accepted.append(self.manager.scheduler.trigger(self.key))
            case "stop":
                self.manager.remove_pod(self.pod)
            case "newContainer":
                self.status = self._status(action["containerID"])
            case "phaseFailed":
                self.status = self._status("containerd://a1", PodPhase.FAILED)
            case "statusGone":
                self.status = None
            case "statusBack":
                self.status = self._status("containerd://a1")
            case other:
                raise AssertionError(other)

    def _status(
        self, container_id: str, phase: PodPhase = PodPhase.RUNNING
    ) -> PodStatus:
        return PodStatus(
            phase,
            container_statuses=(
                ContainerStatus(
                    "c",
                    container_id,
                    Running(START - timedelta(seconds=3600.5)),
                    started=self.probe_type is not ProbeType.STARTUP,
                ),
            ),
        )
