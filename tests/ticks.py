"""Builders of ticks for journals: one tick, or one per letter of a string."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

from probetui.k8s.probe import ExecAction, Probe, ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    PodPhase,
    Running,
    Terminated,
)
from probetui.kubelet.journal import (
    Exit,
    Gate,
    HoldChange,
    Overridden,
    Probed,
    Skip,
    StoredChange,
    TickAction,
    TickEntry,
    TickRun,
    TickTiming,
    Trigger,
)
from probetui.kubelet.outcome import Attempt, ProbeResult, Result
from probetui.kubelet.prober.gates import TickFacts, gates_of
from tests.builders import a_key, at

NOW = datetime(2026, 11, 20, 8, 21, 7, tzinfo=UTC)
STARTED_AT = datetime(2026, 11, 20, 8, 18, 0, tzinfo=UTC)
FIRST = ContainerID("docker://0000aaaabbbbccccdddd")
SECOND = ContainerID("docker://d71cb34f0e1122334455")
NO_FILE = "cat: can't open '/tmp/healthy': No such file or directory\n"
_MS = timedelta(milliseconds=1)

DEMO_KEY = ProbeKey("uid-demo", "liveness", ProbeType.LIVENESS)
LIVENESS = Probe(ExecAction(("cat", "/tmp/healthy")), 5, 1, 5, 1, 3)
_LETTERS = {
    "h": Skip.ON_HOLD,
    "d": Skip.INITIAL_DELAY,
    "g": Skip.NOT_STARTED,
    "G": Skip.ALREADY_STARTED,
    "n": Skip.NOT_RUNNING,
    "m": Skip.CONTAINER_MISSING,
}
_RESULTS = {"s": Result.SUCCESS, "w": Result.SUCCESS, "f": Result.FAILURE}
_ATTEMPTS = {
    "s": Attempt(ProbeResult.SUCCESS, "ok\n", None, _MS * 28, "exit 0"),
    "w": Attempt(ProbeResult.WARNING, "elsewhere", None, _MS * 9, "302 Found"),
    "f": Attempt(ProbeResult.FAILURE, NO_FILE, None, _MS * 34, "exit 1"),
    "e": Attempt(
        ProbeResult.UNKNOWN, "", 'exec: "cat": executable file not found', _MS * 2
    ),
}


_FIELDS = {
    "sequence": "sequence",
    "at": "at",
    "key": "key",
    "n": "n",
    "trigger": "trigger",
    "started_at": "timing.started_at",
    "duration": "timing.duration",
    "period_seconds": "timing.period_seconds",
    "late_drops": "timing.late_drops",
    "container_id": "container_id",
    "new_container": "new_container",
    "gates": "gates",
    "skip": "skip",
    "exit": "exit",
    "attempts": "attempts",
    "result": "result",
    "action": "action",
    "run": "run.count",
    "threshold": "run.threshold",
    "run_doubt": "run.doubt",
    "stored_before": "stored.before",
    "stored_after": "stored.after",
    "hold_before": "hold.before",
    "hold_after": "hold.after",
    "injected": "overridden.injected",
    "muted": "overridden.muted",
    "delay": "overridden.delay",
    "held": "overridden.held",
}
"""What tests call the fields of a tick and its parts, and where each one is."""


def history(
    key: ProbeKey, probe: Probe, letters: str, last_at: datetime
) -> tuple[TickEntry, ...]:
    """Return one tick for each letter, a period apart, the last one at `last_at`.

    `s` success, `f` failure, `w` warning, `e` errored, `h d g G n m` skipped; `|`
    before a letter is a new container, `K` after one a kill, `'` out of schedule.
    """
    ticks: list[TickEntry] = []
    steps = [letter for letter in letters if letter not in "|K'"]
    period = timedelta(seconds=probe.period_seconds)
    at = last_at - period * (len(steps) - 1)
    run, last = 0, Result.SUCCESS
    for index, letter in enumerate(letters):
        if letter in "|K'":
            continue
        skip = _LETTERS.get(letter)
        result = _RESULTS.get(letter)
        if result is not None:
            run, last = (run + 1, result) if result is last else (1, result)
        after = letters[index + 1 : index + 2]
        ticks.append(
            a_tick(
                key,
                at,
                letter,
                n=len(ticks) + 1,
                run=run,
                threshold=(
                    probe.success_threshold
                    if result is Result.SUCCESS
                    else probe.failure_threshold
                ),
                skip=skip,
                gates=gates_up_to_skip(SECOND, skip, probe.initial_delay_seconds),
                result=result,
                new_container=letters[index - 1 : index] == "|",
                action=_action(letter, after),
                trigger=Trigger.READINESS if after == "'" else Trigger.PERIODIC,
            )
        )
        run = 0 if after == "K" else run
        at += period
    return tuple(ticks)


def gates_up_to_skip(
    container: ContainerID, skip: Skip | None, delay_seconds: int
) -> tuple[Gate, ...]:
    """Return the gates that a tick checked, up to the one that stopped it."""
    state: ContainerState = Running(STARTED_AT)
    if skip is Skip.NOT_RUNNING:
        state = Terminated(137)
    status = ContainerStatus(
        "any", container, state, started=skip is not Skip.NOT_STARTED
    )
    age = 3 if skip is Skip.INITIAL_DELAY else delay_seconds
    tick_facts = TickFacts(
        None if skip is Skip.NO_STATUS else PodPhase.RUNNING,
        None if skip is Skip.CONTAINER_MISSING else status,
        container,
        on_hold=skip is Skip.ON_HOLD,
        initial_delay_seconds=delay_seconds,
        age_seconds=age,
    )
    return gates_of(tick_facts, skip)


def _action(letter: str, after: str) -> TickAction:
    if after == "K":
        return TickAction.KILL
    return TickAction.DISCARDED if letter == "e" else TickAction.NONE


def a_tick(key: ProbeKey, at: datetime, letter: str = "s", **fields: Any) -> TickEntry:
    """Return a tick; `letter` determines its attempts, if any."""
    attempt = _ATTEMPTS.get(letter)
    attempts = () if attempt is None else (attempt,) * (3 if letter == "e" else 1)
    defaults: dict[str, Any] = {
        "sequence": 0,
        "at": at,
        "key": key,
        "n": 1,
        "trigger": Trigger.PERIODIC,
        "started_at": at,
        "duration": sum((attempt.duration for attempt in attempts), timedelta()),
        "container_id": SECOND,
        "new_container": False,
        "gates": (Gate("initial delay", "3 of 5s", passed=False),),
        "skip": None,
        "exit": None,
        "attempts": attempts,
        "result": _RESULTS.get(letter),
        "run": 1,
        "threshold": 1,
        "stored_before": Result.SUCCESS,
        "stored_after": Result.SUCCESS,
        "hold_before": False,
        "hold_after": False,
        "action": TickAction.NONE,
    }
    return _tick_of(**{**defaults, **fields})


def changed_tick(tick: TickEntry, **fields: Any) -> TickEntry:
    """Return a tick with some fields replaced, named as for `a_tick`."""
    kept = {name: attrgetter(path)(tick) for name, path in _FIELDS.items()}
    return _tick_of(**{**kept, **fields})


def _tick_of(
    *,
    started_at: datetime,
    duration: timedelta,
    skip: Skip | None,
    exit: Exit | None,  # noqa: A002  # as the record calls it
    attempts: tuple[Attempt, ...],
    result: Result | None,
    action: TickAction,
    run: int,
    threshold: int,
    stored_before: Result | None,
    stored_after: Result | None,
    hold_before: bool,
    hold_after: bool,
    period_seconds: int = 0,
    late_drops: int = 0,
    run_doubt: str = "",
    injected: bool = False,
    muted: bool = False,
    delay: timedelta = timedelta(),
    held: timedelta = timedelta(),
    **fields: Any,
) -> TickEntry:
    """Return a tick of the fields of its parts."""
    return TickEntry(
        **fields,
        timing=TickTiming(started_at, duration, period_seconds, late_drops),
        outcome=skip or exit or Probed(attempts, result, action),
        run=TickRun(run, threshold, run_doubt),
        stored=StoredChange(stored_before, stored_after),
        hold=HoldChange(hold_before, hold_after),
        overridden=Overridden(injected, muted, delay, held),
    )


def demo_tick(letters: str, **fields: Any) -> TickEntry:
    """Return the last tick of the demo's history, with some fields replaced."""
    return changed_tick(history(DEMO_KEY, LIVENESS, letters, NOW)[-1], **fields)


def demo_ticks(letters: str) -> list[TickEntry]:
    """Return the demo's history, with sequence numbers as in a journal."""
    return [
        changed_tick(entry, sequence=number)
        for number, entry in enumerate(history(DEMO_KEY, LIVENESS, letters, NOW))
    ]


def skipped_tick(
    n: int = 1, probe: ProbeType = ProbeType.LIVENESS, container: str = "app"
) -> TickEntry:
    """Return tick `n` of a probe whose container does not run, at second `n`."""
    return a_tick(
        a_key(probe, container=container),
        at(n),
        "n",
        sequence=n,
        n=n,
        gates=(),
        skip=Skip.NOT_RUNNING,
        run=0,
        threshold=3,
        stored_before=None,
        stored_after=None,
    )
