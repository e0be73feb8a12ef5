"""What may happen in a scripted world: how containers live and what probes meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType

from probetui.k8s.probe import ProbeType
from probetui.kubelet.effects import (
    Operation,
    Relist,
    RunProbe,
)
from probetui.kubelet.outcome import Attempt, ProbeResult

NO_TIME = timedelta()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a probe meets: an attempt's result, and the time it takes."""

    attempt: Attempt
    takes: timedelta = NO_TIME


Probing = Callable[[RunProbe, timedelta], Answer]
"""Answers a probe; the second argument is the age of its container's instance."""


@dataclass(frozen=True, slots=True)
class Spell:
    """A while in which the probes of one type meet the same.

    Attributes:
        answer: what they meet.
        times: for so many probes; None for any number.
        until: while the instance is younger than this; None for any age.
    """

    answer: Probing
    times: int | None = 1
    until: timedelta | None = None

    def is_over(self, times: int, age: timedelta) -> bool:
        """Tell whether so many probes, or this age, are the end of it."""
        return (self.times is not None and times >= self.times) or (
            self.until is not None and age >= self.until
        )


@dataclass(frozen=True, slots=True)
class Spells:
    """What the probes of one type meet, one spell after the other.

    The last one goes on for ever, or the first one follows it again.
    """

    spells: tuple[Spell, ...]
    repeat: bool = False


NO_ANSWERS: Mapping[ProbeType, Spells] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Life:
    """How one instance of a container lives.

    Attributes:
        lasts: until it ends by itself; None for ever.
        exit_code: with which it does.
        stops_after: how long it takes to end once it is asked to; None until it is
            killed at the end of its grace period.
        stop_code: its exit code when it ends on being asked.
        answers: what its probes meet; those of a type that is not here are answered
            by the world's `probing`.
    """

    lasts: timedelta | None = None
    exit_code: int = 0
    stops_after: timedelta | None = NO_TIME
    stop_code: int = 0
    answers: Mapping[ProbeType, Spells] = field(
        default_factory=lambda: NO_ANSWERS, hash=False
    )


HEALTHY = Answer(Attempt(ProbeResult.SUCCESS))


def always_healthy(_effect: RunProbe, _age: timedelta) -> Answer:
    """Let every probe succeed at once."""
    return HEALTHY


@dataclass(frozen=True, slots=True)
class Manner:
    """How the runtime deals with one call.

    Attributes:
        takes: how long its answer takes, beside what a stop needs; what it changes is
            changed at once.
        error: why it is refused; empty if it is not.
    """

    takes: timedelta = NO_TIME
    error: str = ""


SWIFT = Manner()
Dealing = Callable[[Operation | Relist], Manner]


def always_swift(_call: Operation | Relist) -> Manner:
    """Let every call be done at once."""
    return SWIFT
