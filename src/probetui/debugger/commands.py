"""Debugger commands on probes and containers."""

from __future__ import annotations

from enum import StrEnum

from msgspec import field

from probetui.debugger.scope import ALL_PROBES, Scope
from probetui.debugger.timing import Timing
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.effects import Fault
from probetui.values import Kind, TimeSpan


class TriggerProbe(Kind, frozen=True):
    """Probe now, as the kubelet does when readiness may have changed."""

    key: ProbeKey


class RestartContainer(Kind, frozen=True):
    """Stop a running container now, through the normal kill path."""

    pod_uid: str
    container_name: str


class PauseProbes(Kind, frozen=True):
    """Hold back all probe ticks; probes in flight finish.

    `is_internal`: a seek stops the clock, not the user, so it is not journaled.
    """

    is_internal: bool = False


class ResumeProbes(Kind, frozen=True):
    """Resume ticks; each worker runs at most one that was held back.

    `is_internal`: a seek starts the clock, not the user, so it is not journaled.
    """

    is_internal: bool = False


class StepProbe(Kind, frozen=True):
    """Run exactly one tick; pause first if needed.

    It is the next tick in time or, with a `key`, the next one of that probe. A result
    that a break-point holds back goes before any tick that could be the one.
    """

    key: ProbeKey | None = None


class RunToChange(Kind, frozen=True):
    """Run ticks until something changes in a scope, then pause.

    A change is one of a stored result, of a ready flag, of a hold, a restart, or what
    back-off says.
    """

    scope: Scope = ALL_PROBES


class Injected(StrEnum):
    """A result to inject."""

    SUCCESS = "success"
    FAILURE = "failure"
    WARNING = "warning"
    ERRORED = "errored"
    TIMED_OUT = "timed-out"


class InjectResults(Kind, frozen=True):
    """Inject results for the next runs of a probe, in order; empty clears them.

    They replace the pending ones. A tick with an injected result does not run its
    probe; skipped ticks and dry runs consume none.
    """

    key: ProbeKey
    results: tuple[Injected, ...]


class DelayProbes(Kind, frozen=True):
    """Delay every attempt of these probes; zero ends the delay.

    The container is probed nevertheless. An attempt that is not answered within the
    probe's limit ends there. A probe whose answer is held already keeps its delay; dry
    runs and injected results have none.
    """

    scope: Scope
    delay: TimeSpan


class MuteProbes(Kind, frozen=True):
    """Keep probing, ignore results.

    Results are counted, shown and recorded as events, but the stored result stays as
    it is: nothing is killed, becomes ready or unready, or starts up, and no worker goes
    on hold. A new container still gets its initial results. Earlier decisions are
    carried out.
    """

    scope: Scope


class UnmuteProbes(Kind, frozen=True):
    """Stop ignoring results, from the next one on.

    The run is as it was counted: a liveness probe that is past its threshold kills at
    its next failure, and not before.
    """

    scope: Scope


class DryRunProbe(Kind, frozen=True, tag="TryProbe"):
    """Probe the running container now and show the result, without counting it."""

    key: ProbeKey


class EditProbe(Kind, frozen=True):
    """Change a probe's timing until its pod is gone; None restores the manifest's.

    The worker applies it from its next tick, a period from now; no container restarts.
    A timing that the API server would refuse is refused.
    """

    key: ProbeKey
    timing: Timing | None


class KillContainer(Kind, frozen=True):
    """Kill a running container at once: no hook, no grace period."""

    pod_uid: str
    container_name: str


class ClearBackoff(Kind, frozen=True):
    """Forget the back-off of a container and of its image, and start it if it waits."""

    pod_uid: str
    container_name: str


class InjectContainerFault(Kind, frozen=True, tag="DisruptContainer"):
    """Inject a fault into a running container; the kubelet's probes will notice."""

    pod_uid: str
    container_name: str
    fault: Fault = field(name="disruption")


class BreakpointKind(StrEnum):
    """The kind of event to pause at."""

    BEFORE_KILL = "before-kill"
    FIRST_FAILURE = "first-failure"
    READINESS = "readiness"


class SetBreakpoints(Kind, frozen=True, tag="SetBreakPoints"):
    """Pause when one of these happens in a scope; replaces those set there.

    Before a kill, the result that would make it is held back until `ResumeProbes` or
    `StepProbe`.
    """

    points: frozenset[BreakpointKind]
    scope: Scope = ALL_PROBES


class Bookmark(Kind, frozen=True):
    """Write a user's note into the journal."""

    text: str


class AddNote(Kind, frozen=True):
    """Write a note of the program that runs the session into the journal.

    `pod_uid` is that of the pod that it warns of, if any.
    """

    text: str
    is_fault: bool = False
    pod_uid: str = ""


DebuggerCommand = (
    TriggerProbe
    | PauseProbes
    | ResumeProbes
    | StepProbe
    | RunToChange
    | InjectResults
    | DelayProbes
    | MuteProbes
    | UnmuteProbes
    | DryRunProbe
    | EditProbe
    | SetBreakpoints
    | Bookmark
    | AddNote
)


ContainerCommand = (
    RestartContainer | KillContainer | ClearBackoff | InjectContainerFault
)
