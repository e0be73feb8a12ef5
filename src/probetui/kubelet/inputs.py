"""What can go into the engine: commands of people and facts of the world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from probetui.k8s.config import ConfigObject
from probetui.k8s.listeners import Listeners
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.k8s.runtime import ContainerID, RuntimePodStatus, SandboxStatus
from probetui.kubelet.effects import Disruption, PulledImage
from probetui.kubelet.outcome import ProbeOutcome
from probetui.kubelet.scope import EVERYTHING, Scope
from probetui.kubelet.timing import Timing


@dataclass(frozen=True, slots=True)
class AddPod:
    """Run this pod."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class SetPods:
    """These are all the pods of the manifests now: run what is new, end the others.

    A pod that takes the name of another one begins when that one is gone. `places`
    says where fields of probes stand in the manifests (`pod.yaml:12:9`), by the UID of
    the pod, a blank and the field's path.
    """

    pods: tuple[Pod, ...]
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SetObjects:
    """These are all the ConfigMaps and Secrets of the manifests now.

    Containers that are created from now on see them; files in volumes follow when
    their pods are synced.
    """

    objects: tuple[ConfigObject, ...]


@dataclass(frozen=True, slots=True)
class DeletePod:
    """End a pod gracefully; None is the pod's own grace period."""

    pod_uid: str
    grace_period_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class TriggerProbe:
    """Probe now, as the kubelet does when readiness may have changed."""

    key: ProbeKey


@dataclass(frozen=True, slots=True)
class RestartContainer:
    """Stop a running container now, through the normal kill path."""

    pod_uid: str
    container_name: str


@dataclass(frozen=True, slots=True)
class PauseProbes:
    """Hold back all probe ticks; what is in flight finishes."""


@dataclass(frozen=True, slots=True)
class ResumeProbes:
    """Let ticks go again; each worker runs at most one that was held back."""


@dataclass(frozen=True, slots=True)
class StepProbe:
    """Let exactly one tick go, the next in time; pauses first when running.

    A result that a break-point holds back goes before any tick.
    """


@dataclass(frozen=True, slots=True)
class RunToChange:
    """Let ticks go until something changes in a scope, and pause then.

    A change is one of a stored result, of a ready flag, of a hold, a restart, or what
    back-off says.
    """

    scope: Scope = EVERYTHING


class Injected(StrEnum):
    """What a probe comes to because a person says so."""

    SUCCESS = "success"
    FAILURE = "failure"
    WARNING = "warning"
    ERRORED = "errored"
    TIMED_OUT = "timed-out"


@dataclass(frozen=True, slots=True)
class InjectResults:
    """Let the next runs of a probe come to these results, in order; empty clears.

    It takes the place of what was still to come. A probe is not run for a tick with an
    injected result; ticks that are skipped, and tries, use none up.
    """

    key: ProbeKey
    results: tuple[Injected, ...]


@dataclass(frozen=True, slots=True)
class DelayProbes:
    """Let every attempt of these probes be answered so much later; zero takes it back.

    The container is asked all the same. An attempt that is not answered within the
    probe's limit is over then. A probe whose answer is held already keeps its delay;
    tries and injected results have none.
    """

    scope: Scope
    delay: timedelta


@dataclass(frozen=True, slots=True)
class MuteProbes:
    """Go on probing, but let results have no consequences.

    They are counted, shown and told in events, but what is stored stays as it is: so
    nothing is killed, becomes ready or unready, or starts up, and no worker goes on
    hold. A new container has the initial values all the same. What was decided before
    goes on.
    """

    scope: Scope


@dataclass(frozen=True, slots=True)
class UnmuteProbes:
    """Let results have consequences again, from the next one on.

    The run is as it was counted: a liveness probe that is past its threshold kills at
    its next failure, and not before.
    """

    scope: Scope


@dataclass(frozen=True, slots=True)
class TryProbe:
    """Probe the running container now and show the result, without counting it."""

    key: ProbeKey


@dataclass(frozen=True, slots=True)
class EditProbe:
    """Give a probe another timing, until its pod is gone; None is the manifest's.

    The worker goes by it from its next tick, a period from now; no container restarts.
    A timing that the API server would refuse is refused.
    """

    key: ProbeKey
    timing: Timing | None


@dataclass(frozen=True, slots=True)
class KillContainer:
    """Kill a running container at once: no hook, no grace period."""

    pod_uid: str
    container_name: str


@dataclass(frozen=True, slots=True)
class ClearBackoff:
    """Forget the back-off of a container and of its image, and start it if it waits."""

    pod_uid: str
    container_name: str


@dataclass(frozen=True, slots=True)
class DisruptContainer:
    """Do something to a running container behind the kubelet's back."""

    pod_uid: str
    container_name: str
    disruption: Disruption


class BreakPoint(StrEnum):
    """What to stop at."""

    BEFORE_KILL = "before-kill"
    FIRST_FAILURE = "first-failure"
    READINESS = "readiness"


@dataclass(frozen=True, slots=True)
class SetBreakPoints:
    """Pause when one of these happens in a scope; takes the place of those set there.

    Before a kill, the result that would make it is held back until `ResumeProbes` or
    `StepProbe`.
    """

    points: frozenset[BreakPoint]
    scope: Scope = EVERYTHING


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Write a note of a person's own into the journal."""

    text: str


PlayCommand = (
    TriggerProbe
    | PauseProbes
    | ResumeProbes
    | StepProbe
    | RunToChange
    | InjectResults
    | DelayProbes
    | MuteProbes
    | UnmuteProbes
    | TryProbe
    | EditProbe
    | SetBreakPoints
    | Bookmark
)
ContainerCommand = RestartContainer | KillContainer | ClearBackoff | DisruptContainer
Command = AddPod | SetPods | SetObjects | DeletePod | PlayCommand | ContainerCommand


@dataclass(frozen=True, slots=True)
class ProbeFinished:
    """A `RunProbe` has come to its end."""

    probe_id: int
    outcome: ProbeOutcome


OperationValue = ContainerID | SandboxStatus | PulledImage | str | bool | None


@dataclass(frozen=True, slots=True)
class OperationFinished:
    """A `RunOperation` has come to its end.

    `error` is the runtime's own words. `value` is what the operation says it is.
    `not_found` tells an error about something that does not exist, `config_error` one
    of what a container asks for, before a runtime was asked. `fallback_host` is set
    when a hook's request that was meant for HTTPS got its answer without: the host and
    port.
    """

    operation_id: int
    value: OperationValue = None
    error: str | None = None
    not_found: bool = False
    fallback_host: str = ""
    config_error: bool = False


@dataclass(frozen=True, slots=True)
class OperationProgress:
    """A running operation has something to show (an image pull, in percent)."""

    operation_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Relisted:
    """Everything of ours that the runtime has; `started_at` is when we asked."""

    pods: tuple[RuntimePodStatus, ...]
    started_at: datetime


@dataclass(frozen=True, slots=True)
class RelistFailed:
    """The runtime could not be asked; it may be gone."""

    error: str


@dataclass(frozen=True, slots=True)
class RuntimeChanged:
    """The runtime says that something happened; brings the relist forward."""


@dataclass(frozen=True, slots=True)
class ListenersFound:
    """A `FindListeners` has come to its end; None is for what cannot be seen."""

    container_id: ContainerID
    listeners: Listeners | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ExecSeen:
    """Somebody else has started a command in a container; `text` are its words."""

    container_id: ContainerID
    text: str


RuntimeFact = (
    OperationFinished | OperationProgress | Relisted | RelistFailed | RuntimeChanged
)
Fact = ProbeFinished | RuntimeFact | ListenersFound | ExecSeen
Input = Command | Fact
