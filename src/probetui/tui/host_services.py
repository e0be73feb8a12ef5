"""The services that the program around the screen offers to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from probetui.analysis.lanes import Lanes
from probetui.debugger.timing import Timing
from probetui.drive.session import SupportsLogs
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import Fault
from probetui.presentation.pod import PodChange

if TYPE_CHECKING:
    from probetui.analysis.quiz import Quiz
    from probetui.analysis.session_outcome import ContainerTotals

Timings = Mapping[ProbeKey, Timing]
"""The new timing of some probes."""


class ManifestReload(Struct, frozen=True):
    """Manifests that were read again: their changes, and how to apply them.

    `changes_objects` tells whether ConfigMaps or Secrets have changed; `warnings` are
    likely mistakes.
    """

    changes: Sequence[PodChange]
    apply: Callable[[], None]
    changes_objects: bool = False
    warnings: Sequence[str] = ()


class ManifestCopy(Struct, frozen=True):
    """A written copy of a manifest, and the number of its changed fields."""

    path: Path
    fields: int


class Tried(Struct, frozen=True):
    """A session so far, as it is and under another timing of one probe.

    Attributes:
        started_at: when it began.
        ended_at: up to when it was looked at.
        lanes: what happened.
        other_lanes: what would have happened.
        totals: the totals of the probe's container.
        other_totals: what they would have been.
    """

    started_at: datetime
    ended_at: datetime
    lanes: Lanes
    other_lanes: Lanes
    totals: ContainerTotals
    other_totals: ContainerTotals


TryTiming = Callable[[ProbeKey, Timing], Tried]
"""Tries another timing of a probe; it takes its time, and belongs into a thread."""


class CurrentLesson(Struct, frozen=True):
    """The current lesson.

    `text` says what to watch and `exercise` what to try. `number` counts from 1 to
    `count`; `turn_page` ends the lesson and starts the one that many lessons later.
    `quiz` has its questions and goals.
    """

    name: str
    text: str
    number: int
    count: int
    turn_page: Callable[[int], None]
    exercise: str = ""
    quiz: Quiz | None = None


class HostServices(Struct, frozen=True):
    """Services beyond snapshots and the engine's commands.

    The program that starts the screen provides them; the keys of a service that is None
    are off.

    Attributes:
        remaining_pods: returns the names of the pods that remain after the screen.
        keep_pods: has the pods remain that would be stopped after the screen; None
            where nothing is lost with them, as in a lesson, or none is stopped.
        reread: reads the manifests again; raises `ProbetuiError`.
        logs: reads the logs of containers.
        lesson: the current lesson.
        copy_edited: writes a copy of the manifest of a pod (by UID) with new timings;
            raises `ProbetuiError`.
        session_so_far: returns what tries other timings on the session up to now, which
            raises `ProbetuiError`; None if the session is not recorded.
        save: writes the session's record to a new file, and returns the file's name.
        shell: returns the command for a shell in a container, empty if there is none.
        fault_refusal: returns why a fault cannot be injected into a pod's containers,
            empty if it can be tried; None if every fault can be injected.
    """

    remaining_pods: Callable[[], Sequence[str]] | None = None
    keep_pods: Callable[[], None] | None = None
    reread: Callable[[], ManifestReload] | None = None
    logs: SupportsLogs | None = None
    lesson: CurrentLesson | None = None
    save: Callable[[], str] | None = None
    shell: Callable[[ContainerID], Sequence[str]] | None = None
    fault_refusal: Callable[[Pod, Fault], str] | None = None
    copy_edited: Callable[[str, Timings], ManifestCopy] | None = None
    session_so_far: Callable[[], TryTiming] | None = None
