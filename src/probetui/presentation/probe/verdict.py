"""The verdict on a probe: a word, a sentence, a meter and a tone.

What comes next is an `Outlook` in the words of `presentation.outlook`; the
sentences of this module say what the next tick does, such as that it is due.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.next_failure import (
    FailureEffect,
    NextFailure,
    Outlook,
    OutlookCondition,
    OutlookEvent,
    outlook_of_failures,
)
from probetui.analysis.timing import HELD_FOR
from probetui.durations import format_age, format_countdown
from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot, ProbeSnapshot
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ExecAction, ProbeType
from probetui.k8s.status import (
    ContainerStatus,
    PodPhase,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.journal import PROBE_CAUSES, Exit, ExitCause, Skip
from probetui.kubelet.kuberuntime.grace_period import GracePeriod
from probetui.kubelet.kuberuntime.restart import (
    effective_restart_policy,
    is_restarted_after,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.prober import MAX_PROBE_RETRIES
from probetui.presentation.container.back_off import range_of_wait
from probetui.presentation.container.exits import format_exit_cell
from probetui.presentation.container.status_lines import format_waiting, unprobed_text
from probetui.presentation.container.table import WAITING_IN_TROUBLE
from probetui.presentation.outlook import (
    brief_event,
    brief_outlook,
    format_effect,
    next_failure_of,
)
from probetui.presentation.probe.endpoints import endpoints_text
from probetui.presentation.probe.state import (
    is_running_towards_change,
    is_startup_done,
    run_count,
    threshold,
    would_be_killed,
)
from probetui.presentation.text.meters import bar, segments, waited
from probetui.presentation.text.spans import EMPTY, Line, Role, Span, line, muted
from probetui.presentation.text.view import View

_SECOND = timedelta(seconds=1)
_MOST_OF_A_BAR = 12
_LEAST_OF_A_BAR = 3
_NO_CONTAINER = {Skip.NO_STATUS, Skip.CONTAINER_MISSING}


class Tone(StrEnum):
    """How alarming a verdict is; it colours the card, whose words say the same."""

    CALM = "calm"
    WAITING = "waiting"
    COUNTING = "counting"
    KILL = "kill"
    HOLD = "hold"
    PAUSED = "paused"


ROLES = {
    Tone.CALM: Role.SUCCESS,
    Tone.WAITING: Role.STRONG,
    Tone.COUNTING: Role.WARNING,
    Tone.KILL: Role.ERROR,
    Tone.HOLD: Role.HOLD,
    Tone.PAUSED: Role.ACCENT,
}
WORDS = (
    "HEALTHY",
    "READY",
    "NOT READY",
    "STARTING",
    "FAILING",
    "ERROR",
    "KILLING",
    "STOPPING",
    "ON HOLD",
    "BACK-OFF",
    "PAUSED",
    "DONE",
    "DELAYED",
    "WAITING",
    "DOWN",
    "COMPLETED",
    "EXITED 255",
    "FAILED",
    "NOT PROBED",
    "NO PROBE",
)
"""Every word of a verdict; the widest gives the badge its width."""

BADGE = max(map(len, WORDS)) + 2


class ProbeVerdict(Struct, frozen=True):
    """The verdict on a probe or container.

    `meter` is the run or the countdown, with its numbers; empty if there is neither.
    """

    word: str
    tone: Tone
    sentence: str
    meter: Line = EMPTY

    @property
    def badge(self) -> Span:
        """The word in a field of fixed width; in reverse colours if it is alarming."""
        role = ROLES[self.tone]
        if self.tone in {Tone.CALM, Tone.WAITING}:
            return Span(self.word.ljust(BADGE), role)
        return Span(f" {self.word}".ljust(BADGE), role, is_reversed=True)


def unprobed_verdict(
    pod: PodSnapshot, container: ContainerSnapshot, view: View, width: int
) -> ProbeVerdict:
    """Return the verdict on a container without probes."""
    wait = wait_verdict(container, view, width) or _ended(pod, container, view)
    if wait is not None:
        return wait
    match container.status:
        case ContainerStatus(state=Waiting(reason)) if reason in WAITING_IN_TROUBLE:
            tone = Tone.KILL
        case ContainerStatus(state=Running()):
            why = unprobed_text(pod, container)
            return ProbeVerdict("NO PROBE", Tone.WAITING, why)
        case _:
            tone = Tone.WAITING
    return ProbeVerdict("WAITING", tone, _why_not_running(pod, container, view))


def verdict_of(
    pod: PodSnapshot,
    container: ContainerSnapshot,
    probe: ProbeSnapshot,
    view: View,
    width: int,
) -> ProbeVerdict:
    """Return the verdict on a probe; its meter takes about `width` cells at most."""
    wait = wait_verdict(container, view, width)
    if wait is not None:
        return wait
    return own_verdict(pod, container, probe, view, width)


def own_verdict(
    pod: PodSnapshot,
    container: ContainerSnapshot,
    probe: ProbeSnapshot,
    view: View,
    width: int,
) -> ProbeVerdict:
    """Return the verdict on a probe alone, regardless of a stop or back-off."""
    verdict = _idle(pod, container, probe, view)
    if verdict is None:
        failure = next_failure_of(pod.pod, container, probe, view)
        verdict = _probing(pod.pod, probe, failure, view, width)
    if view.is_paused and probe.worker_alive and not is_startup_done(probe):
        return replace(verdict, word="PAUSED", tone=Tone.PAUSED)
    return verdict


def wait_verdict(
    container: ContainerSnapshot, view: View, width: int
) -> ProbeVerdict | None:
    """Return the verdict on a container that is being stopped or in back-off, or None.

    It is the same for each of its probes, and for a container without any.
    """
    if container.stopping is not None:
        return _stopping(container, view, width)
    if container.backoff is not None and container.backoff.until is not None:
        return _waiting_in_backoff(container, view, width)
    return None


def _ended(
    pod: PodSnapshot, container: ContainerSnapshot, view: View
) -> ProbeVerdict | None:
    """Return the verdict on a container that has exited, None on any other.

    Of a pod that failed as a whole, such as an evicted one, it is that of the pod.
    """
    status = container.status
    state = None if status is None else status.state
    exited = state if isinstance(state, Terminated) else None
    has_failed = pod.status.phase is PodPhase.FAILED and pod.status.reason
    if isinstance(state, Running) or not (exited or has_failed):
        return None
    parts = []
    if exited is not None:
        parts.append(_exit_of(exited, container, view))
    if has_failed:
        parts.append(f"pod failed: {view.safe(pod.status.reason)}")
        return ProbeVerdict("FAILED", Tone.KILL, "; ".join(parts))
    assert exited is not None  # noqa: S101  # without it only a failed pod has ended
    parts.append(_after_exit(pod, container, exited.exit_code))
    word = f"EXITED {exited.exit_code}" if exited.exit_code else "COMPLETED"
    tone = Tone.KILL if exited.exit_code else Tone.WAITING
    return ProbeVerdict(word, tone, "; ".join(parts))


def _exit_of(exited: Terminated, container: ContainerSnapshot, view: View) -> str:
    """Return who ended an instance, if it did not exit by itself, and when."""
    last = container.last_exit
    by_itself = last is None or last.by is ExitCause.ITSELF
    words = "ended" if last is None or by_itself else format_exit_cell(last)
    # A status has whole seconds.
    at = exited.finished_at if last is None else last.at
    if at is None:
        return words
    age = format_age(max(view.now - at, timedelta()))
    return f"{words} {view.times.clock(at)}, {age} ago"


def _after_exit(pod: PodSnapshot, container: ContainerSnapshot, exit_code: int) -> str:
    """Return what follows an exit, or why nothing does."""
    is_init = container.is_init and not container.container.is_sidecar
    if is_init and not exit_code:
        return "it succeeded, as an init container must"
    is_restarted = is_restarted_after(pod.pod, container.container, exit_code)
    if is_restarted and not pod.status.phase.is_terminal:
        return "the restart comes next"
    if is_restarted:
        return f"the pod has {str(pod.status.phase).lower()}: no restart"
    policy = effective_restart_policy(pod.pod, container.container)
    return f"no restart: restartPolicy {policy}"


def _stopping(container: ContainerSnapshot, view: View, width: int) -> ProbeVerdict:
    stopping = container.stopping
    assert stopping is not None  # noqa: S101  # the caller's condition
    grace = stopping.grace_period_seconds * _SECOND
    left = max(stopping.since + grace - view.now, timedelta())
    word = "KILLING" if stopping.by in PROBE_CAUSES else "STOPPING"
    meter = _wait_meter(left, grace, f"{grace // _SECOND}s", view, width)
    outlook = Outlook(
        OutlookEvent.SIGKILL, view.now + left, condition=OutlookCondition.STILL_RUNS
    )
    return ProbeVerdict(word, Tone.KILL, brief_outlook(outlook, view), meter)


def _waiting_in_backoff(
    container: ContainerSnapshot, view: View, width: int
) -> ProbeVerdict:
    backoff = container.backoff
    assert backoff is not None  # noqa: S101  # the caller's condition
    assert backoff.until is not None  # noqa: S101  # the caller's condition
    left = backoff.until - view.now
    meter = _wait_meter(left, backoff.window, format_age(backoff.window), view, width)
    due = range_of_wait(backoff, view.rules) or ()
    outlook = Outlook(OutlookEvent.RESTARTED, *due)
    return ProbeVerdict("BACK-OFF", Tone.KILL, brief_outlook(outlook, view), meter)


def _wait_meter(
    left: timedelta, whole: timedelta, words: str, view: View, width: int
) -> Line:
    """Draw how much of a wait is over, with a bar before it if both fit."""
    text = f"{format_countdown(min(max(whole - left, timedelta()), whole))} of {words}"
    room = min(width - len(text) - 2, _MOST_OF_A_BAR)
    if room < _LEAST_OF_A_BAR:
        return line(Span(text, Role.ERROR))
    drawn = bar(waited(left, whole), Role.ERROR, view.marks, room)
    return line(*drawn, Span(f"  {text}", Role.ERROR))


def _idle(
    pod: PodSnapshot, container: ContainerSnapshot, probe: ProbeSnapshot, view: View
) -> ProbeVerdict | None:
    """Return the verdict on a probe whose next tick does not probe, or None."""
    if is_startup_done(probe):
        return ProbeVerdict("DONE", Tone.CALM, "startup succeeded: not probed again")
    if not probe.worker_alive:
        return _ended(pod, container, view) or ProbeVerdict(
            "NOT PROBED", Tone.WAITING, _why_not_running(pod, container, view)
        )
    is_running = container.status is not None and isinstance(
        container.status.state, Running
    )
    if probe.is_hold_ending and is_running:
        why = f"restarted: the next tick ends the hold ({_when(probe, view)})"
        return ProbeVerdict("ON HOLD", Tone.HOLD, why)
    if probe.on_hold and is_running:
        return ProbeVerdict(
            "ON HOLD", Tone.HOLD, "no probe runs until the container has restarted"
        )
    if probe.on_hold:
        return ProbeVerdict("ON HOLD", Tone.KILL, "killed: the restart comes next")
    match probe.upcoming_skip:
        case Skip.NOT_STARTED | Skip.ALREADY_STARTED:
            return ProbeVerdict(
                "WAITING", Tone.WAITING, "waits for the startup probe to succeed"
            )
        case Skip.INITIAL_DELAY:
            return ProbeVerdict("DELAYED", Tone.WAITING, _delay(probe, view))
        case Skip.NOT_RUNNING | Exit.CONTAINER_WILL_NOT_RESTART | Exit.POD_ENDED:
            why = _why_not_running(pod, container, view)
            return ProbeVerdict("DOWN", Tone.COUNTING, why)
        case skip if skip in _NO_CONTAINER:
            return ProbeVerdict(
                "WAITING", Tone.WAITING, _why_not_running(pod, container, view)
            )
        case _:
            return None


def _delay(probe: ProbeSnapshot, view: View) -> str:
    whole = f"initial delay {probe.probe.initial_delay_seconds}s"
    if probe.delay_until is None:
        return whole
    left = format_countdown(max(probe.delay_until - view.now, timedelta()))
    return f"first probe after {left} ({whole})"


def _why_not_running(pod: PodSnapshot, container: ContainerSnapshot, view: View) -> str:
    """Explain why a container is not running, as far as the pod's status tells."""
    if problem := format_waiting(container, view):
        return problem
    if pod.operation:
        return view.safe(pod.operation)
    status = container.status
    if status is not None and isinstance(status.state, Waiting):
        reason = view.safe(status.state.reason)
        return f"container waits: {reason or 'not created yet'}"
    if status is None:
        return "container not created yet"
    return "container not running"


def _probing(
    pod: Pod, probe: ProbeSnapshot, failure: NextFailure, view: View, width: int
) -> ProbeVerdict:
    if probe.last_run is None:
        word = "STARTING" if probe.key.probe_type is ProbeType.STARTUP else "WAITING"
        return ProbeVerdict(word, Tone.WAITING, f"first probe {_when(probe, view)}")
    if probe.last_run.result is None:
        # An error tells nothing about the container and does not change the run.
        return ProbeVerdict(
            "ERROR",
            Tone.COUNTING,
            f"error after {MAX_PROBE_RETRIES} attempts: not counted, no action",
            _errors(probe, width),
        )
    limit = threshold(probe, probe.last_result)
    if would_be_killed(probe):
        meter = _run_meter(limit, limit, f"{limit} of {limit}", Role.ERROR, view, width)
        return ProbeVerdict(
            "FAILING",
            Tone.KILL,
            "would be killed now (watch only); failures count from 0 again",
            meter,
        )
    is_towards = 0 < probe.result_run < limit
    is_towards = is_towards and probe.last_result is not probe.stored_result
    if not is_towards:
        return _settled(pod, probe, failure, view, width)
    role = Role.SUCCESS
    tone, word = Tone.CALM, "NOT READY"
    sentence = _sentence_of_successes(probe, limit, view)
    if probe.last_result is Result.FAILURE:
        kills = failure.effect in {FailureEffect.KILL, FailureEffect.WOULD_KILL}
        tone = Tone.KILL if kills else Tone.COUNTING
        role = ROLES[tone]
        is_startup = probe.key.probe_type is ProbeType.STARTUP
        word = "STARTING" if is_startup and not kills else "FAILING"
        sentence = _sentence_of_failures(probe, failure, view)
    count = f"{run_count(probe)} of {limit}"
    meter = _run_meter(probe.result_run, limit, count, role, view, width)
    return ProbeVerdict(word, tone, sentence, meter)


def _run_meter(
    run: int, limit: int, count: str, role: Role, view: View, width: int
) -> Line:
    """Draw a run against its threshold, with segments before the count if both fit."""
    room = width - len(count) - 2
    if room < min(limit, _LEAST_OF_A_BAR):
        return line(Span(count, role))
    bar = segments(run, limit, role, view.marks, room)
    return line(*bar, Span(f"  {count}", role))


def _settled(
    pod: Pod, probe: ProbeSnapshot, failure: NextFailure, view: View, width: int
) -> ProbeVerdict:
    """Return the verdict on a probe whose run leads to no change."""
    kind, is_good = probe.key.probe_type, probe.stored_result is not Result.FAILURE
    word, tone = {
        (ProbeType.LIVENESS, True): ("HEALTHY", Tone.CALM),
        (ProbeType.LIVENESS, False): ("FAILING", Tone.COUNTING),
        (ProbeType.READINESS, True): ("READY", Tone.CALM),
        (ProbeType.READINESS, False): ("NOT READY", Tone.COUNTING),
        (ProbeType.STARTUP, True): ("STARTING", Tone.WAITING),
        (ProbeType.STARTUP, False): ("FAILING", Tone.COUNTING),
    }[kind, is_good]
    is_failing = probe.last_result is Result.FAILURE
    if is_good and is_failing and is_running_towards_change(probe):
        # A muted run continues beyond its threshold without being stored.
        word, tone = "FAILING", Tone.COUNTING
    which = "next probe" if probe.in_flight_since is None else "probe"
    sentence = f"{which} {_when(probe, view)}"
    most = probe.probe.failure_threshold
    if is_good:
        times = "one failure" if most == 1 else f"{most} failures in a row"
        sentence += f"; {times}: {_effect_at_threshold(probe, failure, view)}"
    elif kind is ProbeType.READINESS:
        enough = probe.probe.success_threshold
        times = "one success" if enough == 1 else f"{enough} successes in a row"
        follows = endpoints_text(pod, view.services, is_ready=False)
        sentence += f"; {times}: ready; until then {follows}"
    return ProbeVerdict(word, tone, sentence, _in_a_row(probe, width))


def _errors(probe: ProbeSnapshot, width: int) -> Line:
    count = _counted(probe.error_run, "error", "errors", width)
    return line(Span(count, Role.WARNING))


def _counted(count: int, singular: str, plural: str, width: int) -> str:
    """Format `1 error`, `7 errors in a row`, or `7 errors` if that does not fit."""
    if count == 1:
        return f"1 {singular}"
    full = f"{count} {plural} in a row"
    return full if len(full) <= width else f"{count} {plural}"


def _in_a_row(probe: ProbeSnapshot, width: int) -> Line:
    """Format the run as a number, because it leads to no change."""
    if not probe.result_run:
        return EMPTY
    word = "failure" if probe.last_result is Result.FAILURE else "success"
    plural = "failures" if word == "failure" else "successes"
    count = _counted(probe.result_run, word, plural, width)
    unchanged = f"{count}, state unchanged"
    if probe.last_result is not probe.stored_result and len(unchanged) <= width:
        count = unchanged
    return line(muted(count))


def _effect_at_threshold(probe: ProbeSnapshot, failure: NextFailure, view: View) -> str:
    """Return what a run of failures comes to, or why that is nothing."""
    if probe.muted or failure.at_threshold is FailureEffect.MUTED:
        return "no action (muted)"
    outlook = outlook_of_failures(failure)
    if outlook.what is OutlookEvent.NOTHING:
        return format_effect(replace(failure, effect=failure.at_threshold))
    return brief_event(outlook, view)


def _sentence_of_failures(
    probe: ProbeSnapshot, failure: NextFailure, view: View
) -> str:
    outlook = outlook_of_failures(failure)
    effect = _effect_at_threshold(probe, failure, view)
    if probe.run_doubt:
        effect += " at the latest"
    if outlook.count == 1 and probe.is_result_held:
        return f"{effect} on resume: the failure is paused"
    if outlook.count == 1 and probe.in_flight_since is not None:
        under_way = brief_outlook(
            outlook, view, what=effect, which="the probe under way"
        )
        return f"{under_way} ({_spent(probe, view)})"
    outlook = outlook_of_failures(failure, _time_of_last(probe, outlook.count, view))
    return brief_outlook(outlook, view, what=effect, which=_next_probe(probe, view))


def _sentence_of_successes(probe: ProbeSnapshot, limit: int, view: View) -> str:
    more = limit - probe.result_run
    outlook = Outlook(
        OutlookEvent.READY,
        _time_of_last(probe, more, view),
        condition=OutlookCondition.SUCCESSES,
        count=more,
    )
    return brief_outlook(outlook, view, which=_next_probe(probe, view))


def _next_probe(probe: ProbeSnapshot, view: View) -> str:
    at = probe.next_tick_at
    is_due = at is not None and at <= view.now and not _is_held(probe, view)
    return "the probe that is due" if is_due else "the next probe"


def _time_of_last(probe: ProbeSnapshot, more: int, view: View) -> datetime | None:
    """Return when the last of the next `more` probes is due, None if unknown."""
    if probe.next_tick_at is None or _is_held(probe, view):
        return None
    return probe.next_tick_at + (more - 1) * probe.probe.period_seconds * _SECOND


def _when(probe: ProbeSnapshot, view: View) -> str:
    if probe.is_result_held:
        return "done, its result paused"
    if probe.in_flight_since is not None:
        return f"under way ({_spent(probe, view)})"
    if probe.next_tick_at is None:
        return "not planned"
    if _is_held(probe, view):
        return "is paused"
    if probe.next_tick_at <= view.now:
        return "is due"
    return f"in {format_countdown(probe.next_tick_at - view.now)}"


def _is_held(probe: ProbeSnapshot, view: View) -> bool:
    is_due = probe.next_tick_at is not None and probe.next_tick_at <= view.now
    return view.is_paused or (is_due and probe.is_held_back)


def _spent(probe: ProbeSnapshot, view: View) -> str:
    assert probe.in_flight_since is not None  # noqa: S101  # the caller's condition
    length, limit = view.now - probe.in_flight_since, probe.probe.timeout_seconds
    spent = f"{format_countdown(length)} of {limit}s"
    is_command = isinstance(probe.probe.handler, ExecAction)
    if is_command and length - limit * _SECOND >= HELD_FOR:
        return f"{spent}, held open"
    return spent


def result_span(probe: ProbeSnapshot, *, is_over: bool) -> Span:
    """Return the stored result as the kubelet takes it: `healthy`, `not ready`.

    `is_over` tells that a probe without a worker will never get one again.
    """
    good, bad = {
        ProbeType.LIVENESS: ("healthy", "unhealthy"),
        ProbeType.READINESS: ("ready", "not ready"),
        ProbeType.STARTUP: ("started", "not started"),
    }[probe.key.probe_type]
    match probe.stored_result:
        case Result.SUCCESS:
            return Span(good, Role.SUCCESS)
        case Result.FAILURE:
            return Span(bad, Role.ERROR)
        case Result.UNKNOWN:
            return Span("not started" if good == "started" else "unknown")
        case None:
            has_left = is_over and not probe.worker_alive
            return muted("probing ended" if has_left else "nothing yet")


def grace_text(grace: GracePeriod) -> str:
    """Format a grace period with its source: `30s pod`."""
    return f"{grace.seconds}s {grace.source}"
