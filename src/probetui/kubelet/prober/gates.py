"""Gates: the checks of `doProbe` before a probe, formatted as text."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from probetui.k8s.runtime import NO_CONTAINER, ContainerID
from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    PodPhase,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.journal import Exit, Gate, Skip


class TickFacts(Struct, frozen=True):
    """The facts behind one decision, up to the deciding check.

    `age_seconds` is the container's, at most the initial delay: older makes no
    difference, and so the facts of most ticks are those of the tick before.
    """

    phase: PodPhase | None = None
    container: ContainerStatus | None = None
    container_id: ContainerID = NO_CONTAINER
    new_container: bool = False
    on_hold: bool = False
    deleting: bool = False
    initial_delay_seconds: int = 0
    age_seconds: int | None = None


class GateCache:
    """A cache of the last tick's gates, valid while the facts are the same."""

    __slots__ = ("_decision", "_facts", "_gates")

    def __init__(self) -> None:
        self._facts: TickFacts | None = None
        self._decision: Skip | Exit | None = None
        self._gates: tuple[Gate, ...] = ()

    def gates_of(
        self, facts: TickFacts, decision: Skip | Exit | None
    ) -> tuple[Gate, ...]:
        """Return the result of the function of this name, cached."""
        if decision is not self._decision or facts != self._facts:
            self._facts = facts
            self._decision = decision
            self._gates = gates_of(facts, decision)
        return self._gates


def gates_of(facts: TickFacts, decision: Skip | Exit | None) -> tuple[Gate, ...]:
    """Return the checks in order; the last one decided unless it passed.

    `decision` None means that all were passed and the container was probed.
    """
    is_known = facts.phase is not None
    gates = [_gate("pod status known", "yes" if is_known else "no", passed=is_known)]
    if facts.phase is None:
        return tuple(gates)
    gates.append(_gate("phase", facts.phase, passed=decision is not Exit.POD_ENDED))
    if decision is Exit.POD_ENDED:
        return tuple(gates)
    if facts.container is None:
        return (*gates, _gate("container id", "none yet", passed=False))
    which = "new" if facts.new_container else "same as last tick"
    gates.append(
        Gate("container id", f"{short_id(facts.container_id)}, {which}", passed=True)
    )
    return (*gates, *_container_gates(facts, facts.container, decision))


def short_id(container_id: str) -> str:
    """Return the first twelve characters of the runtime's own ID."""
    return container_id.rpartition("://")[2][:12]


@lru_cache(maxsize=1024)
def _gate(name: str, value: str, *, passed: bool) -> Gate:
    """Return a gate; equal gates share one object, as most answers repeat."""
    return Gate(name, value, passed)


def _container_gates(
    facts: TickFacts, container: ContainerStatus, decision: Skip | Exit | None
) -> tuple[Gate, ...]:
    hold = _gate("on hold", "yes" if facts.on_hold else "no", passed=not facts.on_hold)
    if decision is Skip.ON_HOLD:
        return (hold,)
    running = _gate(
        "container running",
        _state_words(container.state),
        passed=isinstance(container.state, Running),
    )
    if decision in {Skip.NOT_RUNNING, Exit.CONTAINER_WILL_NOT_RESTART}:
        return hold, running
    deleting = _gate(
        "pod being deleted",
        "yes" if facts.deleting else "no",
        passed=decision is not Exit.POD_DELETED,
    )
    if decision is Exit.POD_DELETED:
        return hold, running, deleting
    delay = _gate(
        "initial delay", _delay_words(facts), passed=decision is not Skip.INITIAL_DELAY
    )
    # This is not checked if the status does not contain it, as before 1.16.
    asks_for_startup = container.started is not None or decision is not None
    if decision is Skip.INITIAL_DELAY or not asks_for_startup:
        return hold, running, deleting, delay
    startup = _gate(
        "startup gate",
        "started" if container.started else "not started",
        passed=decision not in {Skip.NOT_STARTED, Skip.ALREADY_STARTED},
    )
    return hold, running, deleting, delay, startup


def _state_words(state: ContainerState | None) -> str:
    match state:
        case Running():
            return "yes"
        case Waiting(reason):
            return f"waiting ({reason})" if reason else "waiting"
        case Terminated(exit_code):
            return f"terminated (exit {exit_code})"
        case None:
            return "no"


def _delay_words(facts: TickFacts) -> str:
    delay = facts.initial_delay_seconds
    if facts.age_seconds is None:
        return "start time unknown"
    if facts.age_seconds >= delay:
        return f"{delay}s, over"
    return f"{facts.age_seconds} of {delay}s"
