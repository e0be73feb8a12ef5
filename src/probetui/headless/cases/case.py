"""Cases: steps, each with an action and what is expected after it."""

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
    """How a count is compared with a number; the value is how it is written."""

    EQUAL = "=="
    UNEQUAL = "!="
    AT_MOST = "<="
    AT_LEAST = ">="
    LESS = "<"
    MORE = ">"

    def holds(self, count: int, number: int) -> bool:
        """Return whether it holds of a count and a number."""
        return {
            Relation.EQUAL: count == number,
            Relation.UNEQUAL: count != number,
            Relation.AT_MOST: count <= number,
            Relation.AT_LEAST: count >= number,
            Relation.LESS: count < number,
            Relation.MORE: count > number,
        }[self]


class Expectation(Struct, frozen=True):
    """What is expected, and by when or for how long.

    Attributes:
        text: as it was written.
        place: where it stands: `cases.yaml:7:9`.
        condition: the state, or what is counted.
        within: by when it has to be so, from the expectation before on.
        lasting: for how long it has to be so.
        is_negated: the state has to be lost.
        again: the state has to be lost first.
        relation: how the count is compared; None where a new occurrence is expected.
        number: what it is compared with.
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
    """What is done; the value is its name in case files."""

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
        """Whether the instance that it is done to ends by it."""
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
"""The faults that a runtime injects."""

UNDOING: Mapping[ActionKind, Fault] = MappingProxyType(
    {
        ActionKind.FREEZE: Fault.UNFREEZE,
        ActionKind.CUT_NETWORK: Fault.RESTORE_NETWORK,
    }
)
"""What takes a fault back that may last for a time."""


class CaseAction(Struct, frozen=True):
    """What is done to a container.

    Attributes:
        text: as it was written: `freeze app 20s`.
        place: where it stands: `cases.yaml:7:9`.
        kind: what is done.
        pod: the name of the pod; empty for `wait`.
        container: the name of the container.
        lasting: for how long; None for ever, or for what has no length.
        probe_type: of a probe; None for all that there are.
        result: what is injected.
        times: into so many ticks.
        delay: by how much probes are delayed.
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
    """An action, None at the beginning of a case, and what is expected after it."""

    action: CaseAction | None
    expectations: tuple[Expectation, ...]
