"""The header of the screen: runtime, counts, mode of the clock, time, and banners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import NamedTuple

from msgspec import Struct

from probetui.durations import format_age, format_countdown, format_stopwatch
from probetui.engine.snapshot import (
    ContainerSnapshot,
    PlaybackKind,
    PlaybackSnapshot,
    PodSnapshot,
    ProbeSnapshot,
    Snapshot,
)
from probetui.k8s.status import Running, Terminated, Waiting
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import DEFAULT_VERSION, rules_of
from probetui.presentation.container.health import Health, container_health
from probetui.presentation.container.status_lines import IMAGE_REASONS
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
)
from probetui.presentation.text.view import View

_LATE = timedelta(milliseconds=100)
"""Lateness from which on it may explain why probes time out."""

_SHORTEST_PERIOD = timedelta(seconds=1)
"""Lateness from which on ticks may be lost: the shortest period."""

_SEVERAL = 3
"""The least number of containers that time out at once to blame the machine."""

NOT_ISOLATED = "plain processes are not isolated"
NO_BOUNDS = "the commands of the manifests can do anything on this machine that you can"
ISOLATION_MARK, SHORT_ISOLATION_MARK = " (not isolated)", "!"
"""The marks after a runtime of plain processes, for wide and for narrow headers."""

SHORT = 4
"""The first level with short words and without the runtime's version."""

_WITHOUT_RESTARTS, _WITHOUT_PODS, _FOLDED, _IN_SHORT_WORDS = 3, 5, 6, 7
_TINY, _LEAST, _WITHOUT_CLOCK = 8, 9, 10


class SessionInfo(Struct, frozen=True):
    """What the header shows besides the snapshot.

    Attributes:
        sources: the names of the manifests.
        record: the file of the session's record, empty if there is none.
        is_read_only: whether keys that change something are disabled.
        is_isolated: False if containers are plain processes of this machine.
    """

    sources: Sequence[str] = ()
    record: str = ""
    is_read_only: bool = False
    is_isolated: bool = True


NO_SESSION_INFO = SessionInfo()
_MOST_SOURCES = 3


def clock_badge(snapshot: Snapshot, *, is_short: bool = False) -> Span:
    """Return the badge of the clock: live, paused, watch-only, or a playback's time."""
    if snapshot.playback is not None:
        return _played(snapshot, snapshot.playback, is_short=is_short)
    if snapshot.is_paused:
        # Only probes are: pulls, restarts and the ends of containers go on.
        frozen = ", frozen" if _is_frozen(snapshot) else ""
        return Span(f"[PROBES PAUSED{frozen}]", Role.ACCENT)
    if snapshot.is_running_to_change:
        return Span("[TO A CHANGE]", Role.ACCENT)
    if not snapshot.acts:
        return Span("[WATCH]" if is_short else "[WATCH ONLY]", Role.ACCENT)
    return Span("[LIVE 1x]", Role.SUCCESS)


def _is_frozen(snapshot: Snapshot) -> bool:
    """Return whether the processes of a container stand still."""
    containers = (container for pod in snapshot.pods for container in pod.containers)
    return any(container.frozen_since is not None for container in containers)


def _speed(snapshot: Snapshot) -> str:
    """Format the speed of a paused simulation.

    A replay has no room for it, because its badge also shows the length.
    """
    playback = snapshot.playback
    is_simulated = playback is not None and playback.kind is PlaybackKind.SIM
    if playback is None or not is_simulated or not playback.is_paused:
        return ""
    return f"speed {_pace(playback)}  "


def _pace(playback: PlaybackSnapshot) -> str:
    return "max" if playback.pace is None else f"{playback.pace:g}x"


def _played(snapshot: Snapshot, playback: PlaybackSnapshot, *, is_short: bool) -> Span:
    elapsed = format_stopwatch(snapshot.taken_at - snapshot.started_at)
    if is_short:
        clock = elapsed
    elif playback.length is not None:
        clock = f"{elapsed} of {format_stopwatch(playback.length)}"
    else:
        clock = f"clock {elapsed}" if playback.is_paused else elapsed
    name = playback.kind.value
    if playback.seeking is not None:
        return Span(f"[SEEKING {playback.seeking:.0%}  {name} {clock}]", Role.ACCENT)
    if playback.has_ended:
        return Span(f"[END  {name} {clock}]", Role.ACCENT)
    if playback.is_paused:
        return Span(f"[PAUSED  {name} {clock}]", Role.ACCENT)
    return Span(f"[{name.upper()} {_pace(playback)}  {clock}]", Role.SUCCESS)


def _limits(snapshot: Snapshot, about: SessionInfo, *, is_short: bool) -> Line:
    """Return the badges of restrictions that the clock's badge does not show."""
    badges = []
    if not snapshot.acts and (snapshot.is_paused or snapshot.is_running_to_change):
        badges.append(" [WATCH]" if is_short else " [WATCH ONLY]")
    if about.is_read_only:
        badges.append(" [RO]" if is_short else " [READ-ONLY]")
    return tuple(Span(badge, Role.ACCENT) for badge in badges)


def lateness_mark(snapshot: Snapshot) -> Line:
    """Return how late ticks are, empty unless that matters."""
    if snapshot.lateness < _SHORTEST_PERIOD:
        return EMPTY
    late = f"late {format_countdown(snapshot.lateness)}"
    return line(Span(late, Role.WARNING))


LEVELS = 11
"""The number of levels of the header, from the longest to the shortest."""


class Counts(NamedTuple):
    """The counts of the header, of one pod or of all pods."""

    pods: int = 0
    ready: int = 0
    failing: int = 0
    erroring: int = 0
    stopping: int = 0
    back_off: int = 0
    not_pulled: int = 0
    failed: int = 0
    not_ready: int = 0
    starting: int = 0
    waiting: int = 0
    done: int = 0
    frozen: int = 0
    cut_off: int = 0
    muted: int = 0
    injected: int = 0
    delayed: int = 0

    @property
    def chosen(self) -> str:
        """The counts of the user's faults and overrides: `  frozen 1  muted 2`."""
        counts = {
            "frozen": self.frozen,
            "cut off": self.cut_off,
            "muted": self.muted,
            "injected": self.injected,
            "delayed": self.delayed,
        }
        return "".join(f"  {word} {count}" for word, count in counts.items() if count)


_STATES = {
    "ready": ("ready", Role.SUCCESS, "ready"),
    "failing": ("failing", Role.WARNING, "failing"),
    "erroring": ("erroring", Role.WARNING, "failing"),
    "stopping": ("stopping", Role.ERROR, "down"),
    "back_off": ("back-off", Role.ERROR, "down"),
    "not_pulled": ("pull failed", Role.ERROR, "down"),
    "failed": ("failed", Role.ERROR, "down"),
    "not_ready": ("not ready", Role.WARNING, "failing"),
    "starting": ("starting", Role.STRONG, "starting"),
    "waiting": ("waiting", Role.MUTED, "starting"),
    "done": ("done", Role.MUTED, ""),
}
"""The words of a state and of several where room is short, empty for no word."""

_SHORT_WORDS = {"ready": "ok", "failing": "fail", "starting": "wait"}
"""Shorter words of several, where that keeps everything else in its place."""

_IMAGE_REASONS = IMAGE_REASONS | {"ErrImageNeverPull", "InvalidImageName"}
_HEALTHS = {
    Health.KILLED: "stopping",
    Health.LAST_CHANCE: "failing",
    Health.COUNTING: "failing",
    Health.ERRORED: "erroring",
    Health.NOT_READY: "not_ready",
}


def _state_of(pod: PodSnapshot, container: ContainerSnapshot) -> str:
    """Return the field of `Counts` in which a container is counted."""
    health = container_health(pod, container)
    if health in _HEALTHS:
        return _HEALTHS[health]
    state = None if container.status is None else container.status.state
    match state:
        case Waiting(reason) if reason in _IMAGE_REASONS:
            return "not_pulled"
        case _ if container.backoff is not None and container.backoff.until is not None:
            return "back_off"
        case Waiting("CrashLoopBackOff"):
            return "back_off"
        case Waiting() if health is Health.BACK_OFF:
            return "failed"
        case Terminated(exit_code):
            return "failed" if exit_code else "done"
        case Running():
            return "ready" if health is Health.CALM else "starting"
        case _:
            return "waiting"


def count_pod(pod: PodSnapshot) -> Counts:
    """Return the counts of one pod."""
    containers = pod.containers
    probes = [probe for container in containers for probe in container.probes]
    return Counts(
        pods=1,
        frozen=sum(container.frozen_since is not None for container in containers),
        cut_off=sum(container.cut_off_since is not None for container in containers),
        muted=sum(probe.muted for probe in probes),
        injected=sum(bool(probe.injections) for probe in probes),
        delayed=sum(bool(probe.delay) for probe in probes),
        **Counter(_state_of(pod, container) for container in containers),
    )


def _states(counts: Counts, level: int) -> Iterator[Span]:
    """Yield how many containers are in each state: `  4 ready`, `  1 failing`."""
    shown: dict[str, tuple[int, Role]] = {}
    for name, (word, role, folded) in _STATES.items():
        key, count = folded if level >= _FOLDED else word, getattr(counts, name)
        if level >= _IN_SHORT_WORDS:
            key = _SHORT_WORDS.get(key, key)
        before, role_before = shown.get(key, (0, role))
        if count and key:
            shown[key] = before + count, role_before
    for word, (count, role) in shown.items():
        yield Span(f"  {count} {word}", role)


def add_up(counts: Iterable[Counts]) -> Counts:
    """Return the sum of the counts of pods."""
    return Counts(*map(sum, zip(*counts, strict=True)))


def header(
    snapshot: Snapshot,
    runtime_name: str,
    view: View,
    level: int,
    about: SessionInfo = NO_SESSION_INFO,
    counts: Counts | None = None,
    at: datetime | None = None,
) -> tuple[Line, Line]:
    """Return the left and the right part of the header: what runs where, and how.

    Args:
        snapshot: the state of the session.
        runtime_name: the name and version of the runtime.
        view: how text is shown.
        level: 0 for the longest header, up to `LEVELS` - 1 for the shortest.
        about: what the snapshot does not have.
        counts: the snapshot's counts, if the caller has them already.
        at: the instant in the past that is looked at, None for now.
    """
    if counts is None:
        counts = add_up(map(count_pod, snapshot.pods))
    is_short = level >= SHORT
    runtime = view.safe(runtime_name)
    if is_short:
        runtime = runtime.partition(" ")[0]
    mark = _isolation(about, level)
    # The short mark takes the place of a blank, so that the rest still fits.
    rest = [
        _kubelet(snapshot, level),
        f"  {_sources(about, view)}" if level == 0 and about.sources else "",
        f"  {_count(counts.pods, 'pod')}" if level < _WITHOUT_PODS else "",
        "   ",
    ]
    if mark == SHORT_ISOLATION_MARK:
        rest = ["".join(rest)[1:]]
    left = [
        f"  {runtime}" if level < _TINY else "",
        Span(mark, Role.WARNING),
        *rest,
    ]
    restarts = f"  restarts {snapshot.restarts}" if level < _WITHOUT_RESTARTS else ""
    speed = _speed(snapshot) if level < _TINY else ""
    is_real = snapshot.playback is None
    wall = f"  {view.times.wall(snapshot.taken_at)}"
    past = EMPTY if at is None else line("  ", _at(at, snapshot, view))
    has_record = bool(about.record) and level <= 1
    clock = wall if level < _WITHOUT_CLOCK and (is_real or not is_short) else ""
    return (
        line(
            strong(" probetui" if level < _LEAST else " "),
            *(left if level < _LEAST else ()),
            clock_badge(snapshot, is_short=is_short),
            *_limits(snapshot, about, is_short=is_short),
        ),
        line(
            Span(counts.chosen, Role.ACCENT),
            f"  {speed.rstrip()}" if speed else "",
            *_states(counts, level),
            muted(restarts),
            muted(f"   rec {view.safe(about.record)}" if has_record else ""),
            *(past or line(clock)),
            " ",
        ),
    )


def _at(at: datetime, snapshot: Snapshot, view: View) -> Span:
    """Return which instant of the past is shown: `AT 08:12:58 (28s ago)`."""
    ago = format_age(max(snapshot.taken_at - at, timedelta()))
    return Span(
        f" AT {view.times.wall(at)} ({ago} ago) ", Role.ACCENT, is_reversed=True
    )


def _isolation(about: SessionInfo, level: int) -> str:
    """Return the mark after a runtime of plain processes, empty for others."""
    if about.is_isolated or level >= _TINY:
        return ""
    return ISOLATION_MARK if level < SHORT else SHORT_ISOLATION_MARK


def _kubelet(snapshot: Snapshot, level: int) -> str:
    """Format the kubelet's version; a short header omits the default version."""
    release = snapshot.rules.release
    if level <= 1:
        return f"  kubelet v{release} rules"
    if release == rules_of(DEFAULT_VERSION).release or level >= _TINY:
        return ""
    return f"  v{release}" if level >= SHORT else f"  kubelet v{release}"


def runtime_lost_banner(snapshot: Snapshot, runtime_name: str, view: View) -> Line:
    """Return the banner of a runtime that does not answer, empty while it does."""
    since = snapshot.runtime_lost_since
    if since is None:
        return EMPTY
    name = view.safe(runtime_name).partition(" ")[0]
    error = view.safe(snapshot.runtime_error)
    state = "nothing newer is known" if snapshot.is_observed else "probes error"
    return line(
        Span(
            f" {name} has not answered for {format_age(view.now - since)}", Role.ERROR
        ),
        f"; {state}, retrying: {error}",
    )


def timed_out_probes(pod: PodSnapshot) -> Sequence[ProbeSnapshot]:
    """Return the probes of a pod whose last run took their whole timeout."""
    return [
        probe
        for container in pod.containers
        for probe in container.probes
        if _has_timed_out(probe)
    ]


def overload_banner(
    snapshot: Snapshot, timed_out: Iterable[Sequence[ProbeSnapshot]] | None = None
) -> Line:
    """Return the banner of a likely overload, empty if there is none.

    A single container that hangs has its own problem. If most probes of several
    containers time out at once, the machine is the likelier cause. `timed_out` has the
    `timed_out_probes` of each pod, if the caller knows them already.
    """
    at = snapshot.taken_at
    if timed_out is None:
        timed_out = map(timed_out_probes, snapshot.pods)
    late = [
        probe for probe in chain.from_iterable(timed_out) if _probed_lately(probe, at)
    ]
    if len({probe.key[:2] for probe in late}) < _SEVERAL:
        return EMPTY
    running = sum(
        _probed_lately(probe, at)
        for pod in snapshot.pods
        for container in pod.containers
        for probe in container.probes
    )
    if len(late) * 2 <= running:
        return EMPTY
    ticks = ""
    if snapshot.lateness > _LATE:
        ticks = f", its ticks are {format_countdown(snapshot.lateness)} late"
    return line(
        Span(f" {len(late)} of {running} probes time out at once", Role.WARNING),
        f": {_overload_cause(snapshot)}{ticks}",
    )


def _overload_cause(snapshot: Snapshot) -> str:
    """Return why probes time out at once: the cause of late ticks, if it is known."""
    cause = snapshot.lateness_cause
    return "this machine may be busy" if cause is None else str(cause)


def lateness_banner(snapshot: Snapshot) -> Line:
    """Return the banner of ticks so late that some may be lost; empty otherwise."""
    if snapshot.lateness < _SHORTEST_PERIOD:
        return EMPTY
    late = f" ticks come {format_countdown(snapshot.lateness)} late"
    cause = snapshot.lateness_cause
    why = cause if cause is not None else "the cause is not known"
    return line(Span(late, Role.WARNING), f"; {why}")


def _probed_lately(probe: ProbeSnapshot, now: datetime) -> bool:
    """Return whether a probe's last run is at most two periods and a time-out old."""
    if not probe.worker_alive or probe.last_run is None:
        return False
    spec = probe.probe
    lately = timedelta(seconds=2 * spec.period_seconds + spec.timeout_seconds)
    return now - probe.last_run.at <= lately


def _has_timed_out(probe: ProbeSnapshot) -> bool:
    """Return whether a probe's last run took its whole timeout without success."""
    run = probe.last_run
    if run is None or run.result is Result.SUCCESS or not run.attempts:
        return False
    limit = timedelta(seconds=probe.probe.timeout_seconds)
    return run.attempts[-1].duration >= limit


def playback_banner(snapshot: Snapshot, view: View) -> Line:
    """Return the banner of a problem with a replayed record; empty if there is none."""
    note = "" if snapshot.playback is None else snapshot.playback.note
    return line(Span(f" {view.safe(note)}", Role.WARNING)) if note else EMPTY


def breakpoint_banner(snapshot: Snapshot, view: View) -> Line:
    """Return the banner of a pause by a break-point; empty if there is none."""
    reason = snapshot.stopped_by
    if reason is None:
        return EMPTY
    return line(Span(" stopped ", Role.WARNING), view.safe(reason.text))


def _sources(about: SessionInfo, view: View) -> str:
    names = [view.safe(source) for source in about.sources[:_MOST_SOURCES]]
    more = len(about.sources) - len(names)
    return "  ".join([*names, *([f"+{more} more"] if more else [])])


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
