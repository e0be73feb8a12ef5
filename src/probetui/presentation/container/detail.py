"""The subject of the detail panes: a container, one of its probes, one of its ticks."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.container_history import (
    NO_HISTORY,
    ContainerHistory,
    SessionHistory,
)
from probetui.analysis.reproduce import reproduce_command
from probetui.analysis.timeline import Timeline
from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot, ProbeSnapshot
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.journal import TickEntry
from probetui.presentation.container.health import probe_urgency
from probetui.presentation.container.table import probe_of
from probetui.presentation.probe.state import (
    format_handler,
    format_timing_briefly,
)
from probetui.presentation.text.spans import (
    Line,
    Role,
    Span,
    muted,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import PROBE_LETTERS

_MOST_TICKS_BACK = 100


class Subject(Struct, frozen=True):
    """The selected container and probe; `probe` is None for a container without any.

    `timeline` has all ticks of the session, None for only those of the snapshot;
    `cursor` is the number of the selected tick, None for the newest one. `past` is the
    session's journal, None where there is none.
    """

    pod: PodSnapshot
    container: ContainerSnapshot
    probe: ProbeSnapshot | None
    timeline: Timeline | None = None
    cursor: int | None = None
    history: ContainerHistory = NO_HISTORY
    past: SessionHistory | None = None

    @property
    def ticks(self) -> Timeline:
        """The known ticks of the probe."""
        if self.timeline is not None:
            return self.timeline
        return Timeline.of(() if self.probe is None else self.probe.history)

    @property
    def tick(self) -> TickEntry | None:
        """The selected tick: the one at the cursor, else the newest."""
        if self.cursor is not None:
            return self.ticks.tick(self.cursor)
        if self.probe is None:
            return None
        if self.probe.history:
            return self.probe.history[-1]
        # The snapshot of a probe without a worker has no history.
        indexes = self.ticks.indexes
        return self.ticks.tick(indexes[-1]) if indexes else None


def with_last_run(probe: ProbeSnapshot, timeline: Timeline) -> ProbeSnapshot:
    """Return a probe with its last run, even after its worker has stopped.

    Then only the timeline has the run.
    """
    if probe.worker_alive or probe.last_run is not None:
        return probe
    for index in reversed(timeline.indexes[-_MOST_TICKS_BACK:]):
        tick = timeline.tick(index)
        if tick is not None and tick.attempts:
            return replace(probe, last_run=tick)
    return probe


def choose_probe(
    container: ContainerSnapshot,
    wanted: ProbeType | None,
    shown: ProbeType | None = None,
) -> ProbeSnapshot | None:
    """Return the wanted probe if the container has it, else the most urgent one.

    Of equally urgent probes the one that is `shown` stays, so that the choice does not
    change as soon as a probe recovers. None for a container without probes.
    """
    if wanted is not None and (probe := probe_of(container, wanted)) is not None:
        return probe
    return min(
        container.probes,
        key=lambda probe: (
            probe_urgency(container, probe),
            probe.key.probe_type is not shown,
        ),
        default=None,
    )


def container_title(subject: Subject, view: View) -> str:
    """Return `pod/container`."""
    return view.safe(f"{subject.pod.pod.name}/{subject.container.container.name}")


def probe_tabs(subject: Subject, *, in_letters: bool) -> Line:
    """Return the names of the container's probes, the shown one in brackets."""
    spans: list[Span] = []
    for probe in subject.container.probes:
        kind = probe.key.probe_type
        word = PROBE_LETTERS[kind] if in_letters else kind.lower()
        if probe is subject.probe:
            spans.append(Span(f"[{word}]", Role.STRONG))
        else:
            spans.append(muted(f" {word} "))
    return tuple(spans)


def probe_summary(subject: Subject, view: View) -> str:
    """Format handler type and timing: `exec every 5s, 3 failures`."""
    if subject.probe is None:
        return ""
    kind = format_handler(subject.probe.probe, view).partition(" ")[0]
    return f"{kind} {format_timing_briefly(subject.probe.probe)}"


def handler_summary(subject: Subject, view: View) -> str:
    """Format the handler: `exec cat /tmp/healthy`; empty without a probe."""
    return "" if subject.probe is None else format_handler(subject.probe.probe, view)


def subject_command(subject: Subject, view: View) -> str:
    """Return the command that repeats the probe, safe to print; empty without one."""
    container, probe = subject.container, subject.probe
    if probe is None:
        return ""
    status = container.status
    return reproduce_command(
        container.container,
        probe.probe,
        ContainerID(status.container_id if status else ""),
        subject.pod.status.pod_ip,
        pod=subject.pod.pod,
        mask=view.mask,
        reach=view.reach,
        rules=view.rules,
    )
