"""Plain output: one line per fact, the same facts as on the screen.

It is the form for pipes, for logs, and for people who listen to a screen reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.probe_failure import tick_failure
from probetui.analysis.findings import finding_text, severity_of
from probetui.analysis.timeline import is_warning
from probetui.analysis.timing import kill_grace_period, ticks_lost
from probetui.durations import format_duration
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    BackoffEntry,
    ContainerEntry,
    DryRunEntry,
    EventEntry,
    ExitCause,
    FindingEntry,
    HookEntry,
    JournalEntry,
    LastOutputEntry,
    LifecycleStep,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    Skip,
    StateEntry,
    StateField,
    StatusEntry,
    TickAction,
    TickEntry,
    Trigger,
    UnfinishedTickEntry,
    UserEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.kubelet.runtime.go_format import go_quote
from probetui.kubelet_rules import KubeletRules
from probetui.presentation.cause.probe_failure import failure_clause
from probetui.presentation.container.back_off import range_of_wait, rounded_up
from probetui.presentation.container.evidence import (
    hook_outcome,
    hook_text,
    last_line,
    own_message,
    unfinished_text,
)
from probetui.presentation.container.exits import (
    grace_fields,
    is_after_grace,
    signal_name,
)
from probetui.presentation.container.table import (
    ContainerBoundEntry,
    container_of,
    object_name,
    pod_names,
)
from probetui.presentation.plain.detail import PlainDetail
from probetui.presentation.probe.refusals import refusal_text
from probetui.presentation.text.cells import one_line
from probetui.presentation.text.view import TimeFormat, TimeFormatter, View
from probetui.presentation.tick.report import run_count
from probetui.record.masking import Mask

_SECOND = timedelta(seconds=1)
_SHOWN_OTHERWISE = {"Created", "Started", "Killing"}
_SHOWN_STATES = {
    StateField.READY,
    StateField.STARTED,
    StateField.PHASE,
    StateField.EXEC,
}
_SHOWN_LIVES = {
    LifecycleStep.STARTED,
    LifecycleStep.EXITED,
    LifecycleStep.GONE,
    LifecycleStep.WOULD_START,
}
_LONGEST_OUTPUT = 400
_PRESENT = "already present on machine"


def format_rfc3339(at: datetime) -> str:
    """Return an instant as RFC 3339 with milliseconds, in UTC."""
    text = at.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"


def format_elapsed(at: datetime, started_at: datetime) -> str:
    """Return an instant as seconds since the start: `+41.2s`."""
    tenths = (at - started_at) // timedelta(milliseconds=100)
    return f"+{tenths // 10}.{tenths % 10}s"


def format_entry(
    entry: JournalEntry,
    names: Mapping[str, str],
    pods: Mapping[str, Pod],
    rules: KubeletRules,
) -> str | None:
    """Return the fact without its time, or None for an entry that has no line.

    `names` says what to call each pod and `pods` what is in it, both by UID; without
    the pod, the grace period of a kill is left out, and that a hook comes before it.
    Notes have no line, as they are not data; bookmarks are people's own, and have one.
    """
    match entry:
        case UserEntry():
            return f"user {entry.command} {entry.target}".rstrip()
        case NoteEntry(is_bookmark=True, text=text):
            return f"bookmark {go_quote(text)}"
        case NoteEntry() | StatusEntry():
            return None
        case _:
            pod_uid, container_name = container_of(entry)
            where = object_name(names, pod_uid, container_name)
            return f"{where} {_format_fact(entry, pods.get(pod_uid), rules)}"


def _format_fact(  # noqa: C901  # one arm per kind
    entry: ContainerBoundEntry, pod: Pod | None, rules: KubeletRules
) -> str:
    match entry:
        case TickEntry(key=key):
            return f"{key.probe_type.lower()} #{entry.n} {_tick(entry, pod, rules)}"
        case DryRunEntry(key=key):
            return f"{key.probe_type.lower()} {_dry_run(entry)}"
        case EventEntry(event=event):
            message = go_quote(event.message.rstrip("\n"))
            return f"event {event.type} {event.reason} {message}"
        case StateEntry():
            return _state(entry)
        case ContainerEntry():
            return _container(entry, pod)
        case BackoffEntry():
            return _backoff(entry, rules)
        case ListenersEntry(key=key):
            return f"{key.probe_type.lower()} refused {go_quote(refusal_text(entry))}"
        case FindingEntry(key=key):
            return f"{key.probe_type.lower()} {_finding(entry)}"
        case LastOutputEntry():
            return _last_output(entry)
        case UnfinishedTickEntry(key=key):
            return f"{key.probe_type.lower()} probe {unfinished_text(entry)}"
        case HookEntry(hook=hook):
            return f"{hook} hook {hook_outcome(entry)}"
        case PodGoneEntry():
            return "gone"


class PlainLines:
    """Turns entries into lines as they come, and folds ticks that repeat themselves.

    Of a run of ticks skipped for one reason the first is printed when it comes, all
    others in one line when the run ends: each tick is printed once. What a probe
    printed is repeated only when it changes. When a container first starts it is said
    how it is probed, and when a worker ends what its ticks came to.

    Args:
        started_at: write times as seconds since then instead of wall time.
        is_verbose: write every skipped tick, every output whole, every entry, and what
            the next failure would do: all that the detail pane says.
        mask: takes secrets out of what is written.
        acts: whether kills and restarts are carried out.
        rules: those of the kubelet's version.
    """

    def __init__(
        self,
        *,
        started_at: datetime | None = None,
        is_verbose: bool = False,
        mask: Mask | None = None,
        acts: bool = True,
        rules: KubeletRules,
    ) -> None:
        self._rules = rules
        self._started_at = started_at
        self._is_verbose = is_verbose
        self._mask = mask or Mask()
        self._acts = acts
        self._view = View.timeless(self._mask, rules=rules)
        self._pods: dict[str, Pod] = {}
        self._names: dict[str, str] = {}
        self._skips: dict[ProbeKey, _Skips] = {}
        self._outputs: dict[ProbeKey, str] = {}
        self._causes: dict[ProbeKey, str] = {}
        self._waits: dict[tuple[str, str], datetime | None] = {}
        self._detail = PlainDetail(acts=acts, rules=rules)

    def view(self, now: datetime) -> View:
        """Return the settings for a text beside the lines, with the same times."""
        started_at = self._started_at or now
        form = TimeFormat.WALL if self._started_at is None else TimeFormat.SINCE_START
        times = TimeFormatter(now, started_at, form)
        return View(times, mask=self._mask, acts=self._acts, rules=self._rules)

    def register_pods(self, pods: Iterable[Pod]) -> None:
        """Add pods; they keep their names when they are gone."""
        self._pods.update((pod.uid, pod) for pod in pods)
        self._names = pod_names(self._pods.values())

    def format_entry(self, entry: JournalEntry) -> list[str]:
        """Return the lines of an entry, often none."""
        self._detail.remember(entry)
        if isinstance(entry, TickEntry):
            return self._tick(entry)
        if not self._is_verbose and not self._is_worth_a_line(entry):
            return []
        lines = self._lines(entry)
        if isinstance(entry, PodGoneEntry):
            return [*self._close_skips(entry.pod_uid, entry.at), *lines]
        if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.STARTED:
            lines += self._introduction(entry)
        return lines

    def flush(self, now: datetime) -> list[str]:
        """Return the lines that close the output."""
        closing = [*self._close_skips(None, now)]
        if self._is_verbose:
            summaries = [self._summary(key, now) for key in self._detail.probes]
            closing += [summary for summary in summaries if summary is not None]
        return closing

    def _close_skips(self, pod_uid: str | None, now: datetime) -> Iterator[str]:
        """Yield the ends of runs of skipped ticks: those of one pod, or all."""
        keys = [key for key in self._skips if pod_uid in {None, key.pod_uid}]
        for key in keys:
            line = self._closing_line(key, self._skips.pop(key), now)
            if line is not None:
                yield line

    def _tick(self, tick: TickEntry) -> list[str]:
        skips = self._skips.get(tick.key)
        if tick.skip is not None and not self._is_verbose:
            is_same = skips is not None and skips.reason is tick.skip
            if skips is not None and is_same and not tick.timing.late_drops:
                skips.further += 1
                return []
            self._skips[tick.key] = _Skips(tick.skip, tick.n)
        else:
            self._skips.pop(tick.key, None)
        closing = skips and self._closing_line(tick.key, skips, tick.at)
        return [
            *([closing] if closing else []),
            *self._lines(tick),
            *self._about(tick),
        ]

    def _about(self, tick: TickEntry) -> Iterator[str]:
        """Yield what the detail pane sums up at this tick."""
        pod = self._pods.get(tick.key.pod_uid)
        self._detail.count(tick)
        if cause := self._cause(tick, pod):
            yield self._of_probe(tick.key, tick.at, cause)
        if tick.exit is not None and (summary := self._summary(tick.key, tick.at)):
            yield summary
        if self._is_verbose and (words := self._detail.next_failure(tick, pod)):
            yield self._of_probe(tick.key, tick.at, words)

    def _cause(self, tick: TickEntry, pod: Pod | None) -> str:
        """Return why a tick failed, unless it is why the one before it failed.

        Where a container listens, which explains a refused connection, comes later.
        """
        if not tick.attempts:
            return ""
        container = None if pod is None else pod.container(tick.key.container_name)
        failure = tick_failure(tick, container, rules=self._rules)
        clause = ""
        if failure is not None and failure.kind is not CauseKind.CONNECTION_REFUSED:
            clause = failure_clause(failure, self._view)
        if clause == self._causes.get(tick.key, "") and not self._is_verbose:
            return ""
        self._causes[tick.key] = clause
        return f"because {go_quote(clause)}" if clause else ""

    def _introduction(self, entry: ContainerEntry) -> Iterator[str]:
        """Yield how a container is probed, at its first start."""
        if entry.restart_count and not self._is_verbose:
            return
        where = object_name(self._names, entry.pod_uid, entry.container_name)
        for fact in self._detail.started(entry, self._pods.get(entry.pod_uid)):
            yield self._finished(entry.at, f"{where} {fact}")

    def _summary(self, key: ProbeKey, at: datetime) -> str | None:
        words = self._detail.summary(key, self._pods.get(key.pod_uid))
        return self._of_probe(key, at, words) if words else None

    def _of_probe(self, key: ProbeKey, at: datetime, words: str) -> str:
        where = object_name(self._names, key.pod_uid, key.container_name)
        return self._finished(at, f"{where} {key.probe_type.lower()} {words}")

    def _closing_line(self, key: ProbeKey, skips: _Skips, now: datetime) -> str | None:
        if not skips.further:
            return None
        last = skips.first + skips.further
        words = f"#{last} skipped {skips.reason}"
        if skips.further > 1:
            words = f"#{skips.first + 1}-{words} x{skips.further}"
        return self._of_probe(key, now, words)

    def _lines(self, entry: JournalEntry) -> list[str]:
        text = format_entry(entry, self._names, self._pods, self._rules)
        if text is None:
            return []
        if isinstance(entry, TickEntry):
            text += self._output(entry)
        elif isinstance(entry, DryRunEntry):
            text += self._printed(entry.attempts)
        elif isinstance(entry, LastOutputEntry):
            text += self._last_output(entry)
        elif isinstance(entry, HookEntry):
            text += self._quoted(hook_text(entry))
        return [self._finished(entry.at, text)]

    def _finished(self, at: datetime, text: str) -> str:
        stamp = (
            format_rfc3339(at)
            if self._started_at is None
            else format_elapsed(at, self._started_at)
        )
        return f"{stamp} {one_line(self._mask.text(text))}"

    def _output(self, tick: TickEntry) -> str:
        """Return what the probe printed, unless it is what it printed before."""
        if not tick.attempts:
            return ""
        text = self._text(tick.attempts)
        if text == self._outputs.get(tick.key, "") and not self._is_verbose:
            return ""
        self._outputs[tick.key] = text
        return self._printed(tick.attempts)

    def _text(self, attempts: tuple[Attempt, ...]) -> str:
        last = attempts[-1]
        text = last.output if last.error is None else last.error
        return self._mask.text(text.rstrip("\r\n"))

    def _printed(self, attempts: tuple[Attempt, ...]) -> str:
        return self._quoted(self._text(attempts))

    def _last_output(self, entry: LastOutputEntry) -> str:
        """Return the last line that an instance printed; all of them if verbose."""
        if self._is_verbose:
            printed = "\n".join(line.text for line in entry.lines or ())
            message = own_message(entry)
            text = self._quoted(printed)
            return (
                f"{text} termination-message{self._quoted(message)}"
                if message
                else text
            )
        return self._quoted(last_line(entry))

    def _quoted(self, text: str) -> str:
        """Return a text without secrets, in quotes after a blank; cut if it is long."""
        text = self._mask.text(text)
        if len(text) > _LONGEST_OUTPUT and not self._is_verbose:
            text = text[:_LONGEST_OUTPUT] + "…"
        return f" {go_quote(text)}" if text else ""

    def _is_worth_a_line(self, entry: JournalEntry) -> bool:
        """Return whether no other line says the same."""
        match entry:
            case EventEntry(tick=tick, event=event):
                # Since 1.35 the sentence goes on.
                is_no_news = event.reason == "Pulled" and _PRESENT in event.message
                return (
                    tick is None
                    and event.reason not in _SHOWN_OTHERWISE
                    and not is_no_news
                )
            case StateEntry():
                return entry.what in _SHOWN_STATES
            case ContainerEntry(
                what=LifecycleStep.STOPPING | LifecycleStep.WOULD_STOP, by=by
            ):
                return by not in PROBE_CAUSES
            case ContainerEntry():
                return entry.what in _SHOWN_LIVES
            case LastOutputEntry():
                return bool(entry.problem or last_line(entry))
            case HookEntry():
                return entry.ended_at is not None
            case UnfinishedTickEntry():
                return entry.is_overdue
            case BackoffEntry():
                key = (entry.pod_uid, entry.container_name)
                is_known = entry.waits and self._waits.get(key) == entry.until
                self._waits[key] = entry.until
                return not is_known
            case _:
                return True


class _Skips(Struct):
    """Ticks of one probe skipped in a row for one reason.

    `first` is the number of the first, `further` how many came after it.
    """

    reason: Skip
    first: int
    further: int = 0


def _tick(tick: TickEntry, pod: Pod | None, rules: KubeletRules) -> str:
    """Return what a tick came to, without what the probe printed."""
    if tick.skip is not None:
        return f"skipped {tick.skip}{_unusual(tick)}"
    if tick.exit is not None:
        return f"ended {tick.exit}"
    is_timed = not tick.attempts or tick.attempts[-1].is_timed
    duration = format_duration(tick.timing.duration) if is_timed else "-"
    unusual = f"{_lost(tick, pod)}{_unusual(tick)}"
    if tick.result is None:
        times = len(tick.attempts)
        return f"errored x{times} {duration} {tick.action}{unusual}"
    result = "warning" if is_warning(tick) else tick.result.name.lower()
    kills = tick.action in {TickAction.KILL, TickAction.WOULD_KILL}
    grace = _grace(tick, pod, rules) if kills else ""
    run = f"run {run_count(tick)}/{tick.run.threshold}"
    return f"{result} {duration} {run} {tick.action}{grace}{unusual}"


def _lost(tick: TickEntry, pod: Pod | None) -> str:
    """Return how many ticks fell due in vain while the probe took too long."""
    if tick.timing.duration <= _SECOND:  # the shortest period
        return ""
    container = None if pod is None else pod.container(tick.key.container_name)
    probe = None if container is None else container.probe(tick.key.probe_type)
    if probe is None:
        return ""
    ended_at = tick.timing.started_at + tick.timing.duration
    lost = ticks_lost(tick, ended_at, probe.period_seconds)
    return f" lost-ticks={lost}" if lost else ""


def _unusual(tick: TickEntry) -> str:
    trigger = "" if tick.trigger is Trigger.PERIODIC else f" trigger={tick.trigger}"
    muted = (
        " muted"
        if tick.overridden.muted and tick.action is not TickAction.MUTED
        else ""
    )
    delayed = (
        f" delayed={format_duration(tick.overridden.delay)}"
        if tick.overridden.delay
        else ""
    )
    held = tick.overridden.held
    paused = f" paused={format_duration(held)}" if held else ""
    injected = " injected" if tick.overridden.injected else ""
    dropped = (
        f" late-dropped={tick.timing.late_drops}" if tick.timing.late_drops else ""
    )
    return f"{trigger}{paused}{dropped}{injected}{delayed}{muted}"


def _dry_run(entry: DryRunEntry) -> str:
    """Return what a try came to, without what the probe printed."""
    duration = format_duration(entry.duration)
    if entry.result is None:
        return f"try errored x{len(entry.attempts)} {duration} not-counted"
    is_warning = entry.attempts[-1].result is ProbeResult.WARNING
    result = "warning" if is_warning else entry.result.name.lower()
    return f"try {result} {duration} not-counted"


def _state(entry: StateEntry) -> str:
    if entry.what is StateField.EXEC:
        return f"exec by=somebody-else {go_quote(entry.after)}"
    what = f"{entry.subject.lower()} {entry.what}".strip()
    return f"{what} {entry.before or 'none'}->{entry.after}"


def _last_output(entry: LastOutputEntry) -> str:
    """Return the verb before what an instance printed last."""
    if entry.lines is None:
        return f"last output unreadable {go_quote(entry.problem)}"
    return "printed" if entry.lines or entry.message else "printed nothing"


def _finding(entry: FindingEntry) -> str:
    words = go_quote(finding_text(entry))
    return f"finding {severity_of(entry.rule)} {entry.rule} {words}"


def _grace(tick: TickEntry, pod: Pod | None, rules: KubeletRules) -> str:
    container = pod.container(tick.key.container_name) if pod is not None else None
    if pod is None or container is None:
        return ""
    seconds, _ = kill_grace_period(pod, container, tick.key.probe_type, rules)
    return f" {grace_fields(container, seconds)}"


def _container(entry: ContainerEntry, pod: Pod | None) -> str:
    match entry.what:
        case LifecycleStep.STARTED:
            return f"started restart={entry.restart_count}"
        case LifecycleStep.EXITED:
            return _exited(entry)
        case LifecycleStep.STOPPING | LifecycleStep.WOULD_STOP:
            grace = entry.grace_period_seconds
            container = None if pod is None else pod.container(entry.container_name)
            fields = "" if grace is None else f" {grace_fields(container, grace)}"
            return f"{entry.what}{fields} reason={entry.by or ExitCause.ITSELF}"
        case _:
            return f"{entry.what} restart={entry.restart_count}"


def _exited(entry: ContainerEntry) -> str:
    code = entry.exit_code or 0
    words = "exit unknown" if entry.exit_code is None else f"exit {code}"
    if entry.oom_killed:
        words += " oom"
    elif is_after_grace(entry):
        words += " after-grace"
    elif name := signal_name(code, entry.signal):
        words += f" signal={name}"
    return f"{words} reason={entry.by or ExitCause.ITSELF}"


def _backoff(entry: BackoffEntry, rules: KubeletRules) -> str:
    due = range_of_wait(entry, rules)
    waits = "none"
    if due is not None:
        latest = rounded_up(due.latest - entry.at)
        waits = f"waits {_seconds(entry.left)}-{_seconds(latest)}"
    words = f"backoff {waits} backoff={_seconds(entry.window)}"
    if entry.since is not None:
        words += f" since-previous-exit={_seconds(entry.at - entry.since)}"
    words += f" next-backoff={_seconds(entry.next_window)}"
    return f"{words} reset" if entry.is_reset else words


def _seconds(length: timedelta) -> str:
    return f"{length // _SECOND}s"
