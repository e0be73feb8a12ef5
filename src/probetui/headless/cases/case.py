"""Test cases: steps, each with an action and the expectations after it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from probetui.debugger.commands import Injected
from probetui.headless.condition import Condition
from probetui.k8s.probe import ProbeType
from probetui.kubelet.effects import Fault


class Relation(StrEnum):
    """A comparison of a count with a number; the value is its operator."""

    EQUAL = "=="
    UNEQUAL = "!="
    AT_MOST = "<="
    AT_LEAST = ">="
    LESS = "<"
    MORE = ">"

    def holds(self, count: int, number: int) -> bool:
        """Return whether the comparison is true."""
        return {
            Relation.EQUAL: count == number,
            Relation.UNEQUAL: count != number,
            Relation.AT_MOST: count <= number,
            Relation.AT_LEAST: count >= number,
            Relation.LESS: count < number,
            Relation.MORE: count > number,
        }[self]


class Expectation(Struct, frozen=True):
    """An expected state, occurrence or count, with a limit or a duration.

    Attributes:
        text: the text in the case file.
        place: its position: `cases.yaml:7:9`.
        condition: the state, or what is counted.
        within: the time limit, which starts when the previous expectation was met.
        lasting: how long it must hold.
        is_negated: whether the state must be lost.
        again: whether the state must be lost and regained.
        relation: the comparison of a count; None if a new occurrence is expected.
        number: the number to compare with.
    """

    text: str
    place: str
    condition: Condition
    within: timedelta | None = None
    lasting: timedelta | None = None
    is_negated: bool = False
    again: bool = False
    relation: Relation | None = None
    number: int = 0


class ActionKind(StrEnum):
    """The kind of an action; the value is its name in case files."""

    FREEZE = "freeze"
    UNFREEZE = "unfreeze"
    KILL = "kill"
    STOP = "stop"
    RESTART = "restart"
    CUT_NETWORK = "cut-network"
    RESTORE_NETWORK = "restore-network"
    INJECT = "inject"
    DELAY = "delay"
    WAIT = "wait"

    @property
    def ends_container(self) -> bool:
        """Whether it ends the instance of the container."""
        return self in {ActionKind.KILL, ActionKind.STOP, ActionKind.RESTART}


FAULTS: Mapping[ActionKind, Fault] = MappingProxyType(
    {
        ActionKind.FREEZE: Fault.FREEZE,
        ActionKind.UNFREEZE: Fault.UNFREEZE,
        ActionKind.KILL: Fault.KILL,
        ActionKind.STOP: Fault.STOP,
        ActionKind.CUT_NETWORK: Fault.CUT_NETWORK,
        ActionKind.RESTORE_NETWORK: Fault.RESTORE_NETWORK,
    }
)
"""The fault that each action injects; other actions inject none."""

UNDOING: Mapping[ActionKind, Fault] = MappingProxyType(
    {
        ActionKind.FREEZE: Fault.UNFREEZE,
        ActionKind.CUT_NETWORK: Fault.RESTORE_NETWORK,
    }
)
"""The fault that undoes each action that can have a duration."""


class CaseAction(Struct, frozen=True):
    """An action on a container.

    Attributes:
        text: the text in the case file: `freeze app 20s`.
        place: its position: `cases.yaml:7:9`.
        kind: the kind of action.
        pod: the name of the pod; empty for `wait`.
        container: the name of the container.
        lasting: its duration; None if it is unlimited or has none.
        probe_type: the probe concerned; None for all of the container.
        result: the injected result.
        times: how many ticks get it.
        delay: the delay of each probe.
    """

    text: str
    place: str
    kind: ActionKind
    pod: str = ""
    container: str = ""
    lasting: timedelta | None = None
    probe_type: ProbeType | None = None
    result: Injected | None = None
    times: int = 1
    delay: timedelta = timedelta()


class CaseStep(Struct, frozen=True):
    """An action, None at the beginning of a case, and the expectations after it."""

    action: CaseAction | None
    expectations: tuple[Expectation, ...]
