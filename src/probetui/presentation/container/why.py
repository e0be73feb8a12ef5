"""Explain a container: who ended it and how, and the back-off after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from probetui.analysis.container_history import (
    NO_HISTORY,
    ContainerHistory,
    ContainerInstance,
    SessionHistory,
    fold_instances,
)
from probetui.durations import format_age, format_duration
from probetui.k8s.pod import Container, RestartPolicy
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    BackoffEntry,
    ContainerEntry,
    ExitCause,
    HookType,
    TickEntry,
)
from probetui.kubelet.kuberuntime.grace_period import GraceSource, KillReason
from probetui.kubelet.kuberuntime.restart import (
    InstantRange,
    effective_restart_policy,
    pull_range,
    restarts_all_after,
)
from probetui.kubelet.prober.gates import short_id
from probetui.presentation.cause.answer import explain_answer, page_command
from probetui.presentation.container.back_off import format_due, range_of_wait
from probetui.presentation.container.evidence import (
    hook_sentences,
    last_line,
    last_line_sentence,
    output_lines,
)
from probetui.presentation.container.exits import (
    NEVER_STARTED,
    may_be_stopped_by_others,
    never_started,
    runs_pre_stop,
    signal_name,
)
from probetui.presentation.container.instances import format_run
from probetui.presentation.container.status_lines import IMAGE_REASONS, NORMAL_WAITS
from probetui.presentation.text.view import View
from probetui.presentation.tick.why import (
    Explanation,
    WhyContext,
    attempt_predicate,
    explain_tick,
    hints,
    probe_command,
    tick_history,
)

_SECOND, _MINUTE = timedelta(seconds=1), timedelta(minutes=1)
_DEFAULT_GRACE = 30
_MOST_LINES = 20
_INDENT = "  "
_WHO = {
    ExitCause.ITSELF: "The container exited on its own.",
    ExitCause.USER: "A user requested it.",
    ExitCause.DELETE: "The pod was deleted.",
    ExitCause.DEFINITION: "The container's spec changed, so it had to be recreated.",
    ExitCause.POD: "The whole pod was stopped.",
    ExitCause.POST_START_HOOK: "Its postStart hook failed, so the kubelet killed it.",
    ExitCause.RESTART_ALL: (
        "Another container exited with a code on which its restart rule restarts all "
        "containers of the pod."
    ),
    ExitCause.UNSEEN: "It ended before probetui watched it; the cause is not known.",
}
_NOT_STARTED = "It has not been restarted"
_NOT_YET = f"{_NOT_STARTED} yet."

_SOURCES: Mapping[str, str] = {
    GraceSource.LIVENESS_PROBE: "from the liveness probe",
    GraceSource.STARTUP_PROBE: "from the startup probe",
    GraceSource.DELETION: "from the deletion request",
    GraceSource.MINIMUM: "the kubelet's minimum, as the pod sets none",
    GraceSource.KILL: "requested by a user",
}


def end_sentences(
    instance: ContainerInstance,
    container: Container | None,
    view: View,
    history: ContainerHistory = NO_HISTORY,
) -> Iterator[str]:
    """Yield sentences about who caused an exit, the grace period, and the end.

    The `history` may know where the container listened.
    """
    yield from _who(instance, container, view, history)
    exited, output = instance.exited, instance.output
    last: tuple[str, ...] = ()
    if exited is not None and output is not None and not never_started(exited):
        last = (last_line_sentence(output, view),)
    if instance.stopping is None:
        # It ended by itself: what it said is the reason.
        yield from last
    else:
        yield from _grace(instance.stopping, container, view)
    for hook in instance.hooks:
        if hook.error is not None or hook.hook is HookType.PRE_STOP:
            yield from hook_sentences(hook, view)
    if exited is not None:
        yield _exit(exited, instance.stopping, container, view)
        if instance.stopping is not None and output is not None and last_line(output):
            yield from last
    elif instance.stopping is not None:
        yield from _still_stopping(instance.stopping, view)


def _who(
    instance: ContainerInstance,
    container: Container | None,
    view: View,
    history: ContainerHistory,
) -> Iterator[str]:
    asked = instance.end
    by = ExitCause.ITSELF if asked is None or asked.by is None else asked.by
    if by is ExitCause.POD and instance.kill is not None:
        # No other container was to run, so the kill became one of the whole pod.
        kind = instance.kill.key.probe_type.lower()
        yield from _killed_by_probe(kind, instance.kill, container, view, history)
        yield "No other container of the pod was to run, so the whole pod was stopped."
        return
    if by not in PROBE_CAUSES:
        yield _who_else(by, instance, history)
        if instance.kill is not None and by is not ExitCause.ITSELF:
            yield (
                "A probe had reached its failureThreshold before, but did not cause "
                "this exit."
            )
        return
    if instance.kill is None:
        yield f"The {by} probe killed it."
        return
    yield from _killed_by_probe(by, instance.kill, container, view, history)


def _who_else(
    by: ExitCause, instance: ContainerInstance, history: ContainerHistory
) -> str:
    """Describe who ended an instance, if no probe did."""
    stopping = instance.stopping
    if stopping is not None and stopping.reason == KillReason.FAILED_POST_START_HOOK:
        # Old records have it as an end of the whole pod.
        return _WHO[ExitCause.POST_START_HOOK]
    if by is ExitCause.POD:
        return _pod_stopped(history)
    exited = instance.exited
    if exited is not None and never_started(exited):
        return f"The container {NEVER_STARTED}: {exited.reason}."
    if by is ExitCause.ITSELF and exited is not None:
        signal = signal_name(exited.exit_code or 0, exited.signal)
        if exited.oom_killed and signal == "SIGKILL":
            return "The kernel killed the container: it was out of memory."
        if may_be_stopped_by_others(signal):
            return f"The container ended with the exit code of {signal}."
    return _WHO[by]


def _pod_stopped(history: ContainerHistory) -> str:
    if history.pod_reason:
        return f"The whole pod was stopped: {history.pod_reason}."
    if history.pod_has_ended:
        return (
            "The whole pod was stopped: its other containers had ended for good, and "
            f"it is {history.pod_phase}."
        )
    return _WHO[ExitCause.POD]


def _killed_by_probe(
    by: str,
    kill: TickEntry,
    container: Container | None,
    view: View,
    history: ContainerHistory,
) -> Iterator[str]:
    times = f"failure {kill.run.count} of {kill.run.threshold} in a row"
    at = view.times.stamp(kill.timing.started_at)
    yield f"The {by} probe killed it: {times}, tick #{kill.n} at {at}."
    if kill.overridden.injected:
        yield "The last of these results was injected by a user."
    if kill.overridden.delay:
        late = format_duration(kill.overridden.delay)
        yield f"A user delayed its answers, the last one by {late}."
    if kill.attempts:
        yield f"The probe {attempt_predicate(kill.attempts[-1], view)}"
    yield from hints(kill, container, view, history)


def _grace(
    stopping: ContainerEntry, container: Container | None, view: View
) -> Iterator[str]:
    if stopping.grace_period_seconds is None:
        return
    seconds = stopping.grace_period_seconds
    at = view.times.stamp(stopping.at)
    yield (
        f"The kubelet began to stop it at {at}, grace period {seconds}s "
        f"({_source(stopping, seconds)})."
    )
    if runs_pre_stop(container, seconds):
        yield "The preStop hook runs first; its time counts against the grace period."


def _source(stopping: ContainerEntry, seconds: int) -> str:
    source = stopping.grace_source
    # The end of a whole pod reports its period as a deletion's, without a deletion.
    is_of_pod = source == GraceSource.DELETION and stopping.by is ExitCause.POD
    if source == GraceSource.POD or is_of_pod:
        usual = ", the default" if seconds == _DEFAULT_GRACE else ""
        return f"the pod's terminationGracePeriodSeconds{usual}"
    return _SOURCES.get(source, source or "source unknown")


def _still_stopping(stopping: ContainerEntry, view: View) -> Iterator[str]:
    if stopping.grace_period_seconds is None:
        return
    ends_at = stopping.at + stopping.grace_period_seconds * _SECOND
    yield f"It is still running; SIGKILL follows at {view.times.stamp(ends_at)}."


def _exit(
    exited: ContainerEntry,
    stopping: ContainerEntry | None,
    container: Container | None,
    view: View,
) -> str:
    code = exited.exit_code or 0
    at = view.times.stamp(exited.at)
    ended = f"Exit seen at {at}: exit code {code}"
    signal = signal_name(code, exited.signal)
    if exited.oom_killed:
        return f"{ended}. Out of memory: the runtime set the OOM flag."
    if signal == "SIGKILL":
        return f"{ended}, SIGKILL. {_killed(exited, stopping, container)}"
    if signal == "SIGTERM" and stopping is not None:
        return f"{ended}, SIGTERM. It stopped within the grace period."
    if signal:
        return f"{ended}, {signal}."
    if stopping is None:
        return f"{ended}."
    if stopping.grace_period_seconds == 0:
        return f"{ended}. It had no grace period."
    return f"{ended}. It stopped within the grace period."


def _killed(
    exited: ContainerEntry, stopping: ContainerEntry | None, container: Container | None
) -> str:
    not_memory = "Not out of memory: the runtime set no OOM flag."
    if exited.by is ExitCause.UNSEEN:
        return not_memory
    if stopping is None or stopping.grace_period_seconds is None:
        return (
            "The kubelet did not send it: another process did, or the program exited "
            f"with that code, which looks the same. {not_memory}"
        )
    if not stopping.grace_period_seconds:
        return f"It had no grace period. {not_memory}"
    lasted = exited.at - stopping.at
    grace = stopping.grace_period_seconds * _SECOND
    # The exit is seen by a relist each second, the grace period begins with the call.
    if lasted + _SECOND < grace:
        hooked = runs_pre_stop(container, stopping.grace_period_seconds)
        begin = "the start of its preStop hook" if hooked else "SIGTERM"
        return (
            f"That is {format_age(lasted)} after {begin}, before the grace period "
            f"of {format_age(grace)} was over, so something else sent it. {not_memory}"
        )
    return f"It did not stop within the grace period. {not_memory}"


def backoff_sentences(
    history: ContainerHistory,
    instance: ContainerInstance,
    view: View,
    context: WhyContext | None = None,
) -> Iterator[str]:
    """Yield sentences about the wait of the next instance, and its reason.

    The `context` tells whether there will be a next instance, if that is known.
    """
    # A created instance may not have started yet, or never will.
    following = history.next_after(instance)
    restart = "It was restarted"
    if following is None or (
        following.created_at and not (following.started_at or following.exited)
    ):
        restart = "A restart was tried"
    decision, waited = history.decision, history.waits
    if following is not None:
        decision, waited = following.allowed, following.waited
    if following is not None and _restarts_all(instance, context):
        yield f"{restart} without back-off, as all containers of the pod were."
        return
    # Without a restart there is no wait, even though one was decided.
    if following is None and (
        decision is None or _is_final(history, instance, context)
    ):
        yield _not_restarted(history, instance, context)
        return
    if decision is None:
        yield f"{restart}; the back-off at that time is not known."
        return
    if waited is not None:
        due = range_of_wait(waited, view.rules)
        is_waiting = following is None and (due is None or view.now < due.earliest)
        yield _wait(waited, view, is_waiting=is_waiting)
        if following is None and due is not None and decision.waits:
            yield _restart(due, view)
        if not decision.waits:
            yield _after_the_wait(decision, waited, view, restart)
    elif not decision.waits:
        yield _no_wait(decision, instance, view, restart)
        yield from _remark_on_probe_kill(instance)
    yield from _next_window(decision)


def _remark_on_probe_kill(instance: ContainerInstance) -> Iterator[str]:
    if instance.end is not None and instance.end.by in PROBE_CAUSES:
        yield (
            "After a kill by a probe the kubelet counts back-off from the exit of the "
            "instance before: its cached status still shows the killed one as "
            "running. So such restarts are often immediate."
        )


def _next_window(decision: BackoffEntry) -> Iterator[str]:
    if decision.next_window:
        expiry = KubeletConfig().backoff_expiry
        yield (
            f"Next window: {format_age(decision.next_window)}; it resets when an "
            f"instance exits more than {expiry // _MINUTE} minutes after its start."
        )


def _is_final(
    history: ContainerHistory, instance: ContainerInstance, context: WhyContext | None
) -> bool:
    return _not_restarted(history, instance, context) != _NOT_YET


def _not_restarted(
    history: ContainerHistory, instance: ContainerInstance, context: WhyContext | None
) -> str:
    """Say that there is no next instance, with the reason if it is known."""
    exited = instance.exited
    pod = None if context is None else context.pod
    container = None if context is None else context.container
    policy = None if pod is None else effective_restart_policy(pod, container)
    has_succeeded = exited is not None and exited.exit_code == 0
    if instance.is_deleted:
        return f"{_NOT_STARTED}: the pod was deleted."
    has_rule = container is not None and bool(container.restart_rules)
    if policy is RestartPolicy.NEVER and not has_rule:
        return f"{_NOT_STARTED}: restartPolicy is Never."
    if has_succeeded and context is not None and context.is_plain_init:
        return f"{_NOT_STARTED}: it is an init container and has succeeded."
    if policy is RestartPolicy.ON_FAILURE and has_succeeded:
        return f"{_NOT_STARTED}: restartPolicy is OnFailure, and it exited with 0."
    answer = None if context is None else context.answer
    if history.pod_has_ended and answer is not None and answer.before is not None:
        # A deletion ends the pod, too, as Failed or Succeeded.
        return f"{_NOT_STARTED}: the pod was deleted."
    if history.pod_has_ended:
        return f"{_NOT_STARTED}: the pod has ended, it is {history.pod_phase}."
    return _NOT_YET


def _restarts_all(instance: ContainerInstance, context: WhyContext | None) -> bool:
    """Return whether all containers were restarted after this instance's end."""
    exited = instance.exited
    container = None if context is None else context.container
    if exited is None or container is None:
        return False
    return exited.by is ExitCause.RESTART_ALL or restarts_all_after(
        container, exited.exit_code or 0
    )


def _wait(waited: BackoffEntry, view: View, *, is_waiting: bool) -> str:
    since = _since(waited, view)
    until = "" if waited.until is None else f" until {view.times.stamp(waited.until)}"
    verb = "is" if is_waiting else "was"
    return f"It {verb} in back-off{until}: window {format_age(waited.window)}{since}."


def _restart(due: InstantRange, view: View) -> str:
    """Describe when the restart is due that has not come yet."""
    if view.now > due.latest:
        return f"{_NOT_YET} The first pod sync after the wait is late."
    earliest, latest = map(view.times.stamp, due)
    lead = "" if view.now < due.earliest else f"{_NOT_YET} "
    return (
        f"{lead}The first pod sync after the wait restarts it, between {earliest} "
        f"and {latest}."
    )


def _since(entry: BackoffEntry, view: View) -> str:
    if entry.since is None:
        return ""
    return f", counted from the exit at {view.times.stamp(entry.since)}"


def _after_the_wait(
    decision: BackoffEntry, waited: BackoffEntry, view: View, restart: str
) -> str:
    at = view.times.stamp(decision.at)
    if waited.until is not None and decision.at < waited.until:
        return f"{restart} at {at}: its back-off had been cleared."
    started = f"{restart} at {at} by the first pod sync after the wait"
    if decision.since is None:
        return f"{started}."
    passed, window = format_age(decision.at - decision.since), decision.window
    end = view.times.stamp(decision.since)
    return f"{started}: {passed} after the exit at {end}, window {format_age(window)}."


def _no_wait(
    decision: BackoffEntry, instance: ContainerInstance, view: View, restart: str
) -> str:
    started = f"{restart} at {view.times.stamp(decision.at)} without back-off"
    if decision.since is None:
        return (
            f"{started}: back-off counts from the exit of an earlier instance, and "
            "none had exited when the kubelet checked."
        )
    passed = format_age(decision.at - decision.since)
    if decision.is_reset or (not decision.window and _has_lasted(instance, decision)):
        return f"{started}: the window had been reset."
    if not decision.window:
        return f"{started}: no window yet, this restart opens the first one."
    end = view.times.stamp(decision.since)
    which = " of the previous instance" if _is_of_before(decision, instance) else ""
    return (
        f"{started}: the window of {format_age(decision.window)} counts from the "
        f"exit{which} at {end}, {passed} before."
    )


def _has_lasted(instance: ContainerInstance, decision: BackoffEntry) -> bool:
    """Return whether this instance ran long enough to reset the window."""
    if instance.started_at is None or decision.since is None:
        return False
    return decision.since - instance.started_at > KubeletConfig().backoff_expiry


def _is_of_before(decision: BackoffEntry, instance: ContainerInstance) -> bool:
    """Return whether a window counts from an exit before that of this instance."""
    if decision.since is None or instance.exited is None:
        return False
    started_at = instance.started_at or instance.created_at
    return started_at is not None and decision.since <= started_at


def explain_exit(instance: ContainerInstance, context: WhyContext) -> Explanation:
    """Explain the end of an instance: who ended it, how, and what followed."""
    what = "Stop" if instance.exited is None else "Exit"
    subject = (
        f"{what} of {context.shown_name}, instance {instance.number} "
        f"({short_id(instance.container_id)})"
    )
    history = context.history
    sentences = [*end_sentences(instance, context.container, context.view, history)]
    if instance.exited is not None:
        sentences += backoff_sentences(history, instance, context.view, context)
    command = (
        ("", "") if instance.kill is None else probe_command(instance.kill, context)
    )
    output = instance.output
    printed = () if output is None else output_lines(output, context.view)
    return Explanation(subject, tuple(sentences), *command, tuple(printed))


def explain_backoff(context: WhyContext) -> Explanation | None:
    """Explain why a container waits for its restart.

    None if it does not wait, or if the explanation of its last exit covers it.
    """
    history = context.history
    if history.decision is None or not history.decision.waits or not history.instances:
        return None
    last = history.instances[-1]
    began_at = last.created_at or last.started_at
    has_ended_wait = began_at is not None and began_at >= history.decision.at
    if last.exited is not None or has_ended_wait:
        return None
    sentences = tuple(backoff_sentences(history, last, context.view, context))
    return Explanation(f"Back-off of {context.shown_name}", sentences)


def explain_waiting(context: WhyContext) -> Explanation | None:
    """Explain why a container cannot start; None if nothing prevents it."""
    waiting = context.history.waiting
    if waiting is None or waiting.reason in NORMAL_WAITS:
        return None
    message = context.view.safe(waiting.message)
    sentences = [f"It does not start. {waiting.reason}: {message or 'no message'}"]
    if waiting.reason in IMAGE_REASONS:
        sentences.append(_next_pull(context))
    return Explanation(f"State of {context.shown_name}", tuple(sentences))


def _next_pull(context: WhyContext) -> str:
    at = context.next_pull_at
    if at is None:
        return "The pull is tried again, with back-off: 10s, 20s, 40s, up to 5m."
    due, now = pull_range(at), context.view.now
    when, latest = map(context.view.times.stamp, due)
    if now > due.latest:
        return f"The back-off ended at {when}; the next pod sync pulls again."
    return (
        f"The next pull is between {when} and {latest}, {format_due(due, now)}: it is "
        "in back-off."
    )


def explain_container(
    context: WhyContext, tick: TickEntry | None, *, is_tick_chosen: bool = False
) -> list[Explanation]:
    """Explain a container: why it is as it is, its tick, its last exits.

    A tick that was chosen comes first.
    """
    explanations = [*_about_now(context)]
    if tick is not None:
        place = 0 if is_tick_chosen else len(explanations)
        explanations.insert(place, explain_tick(tick, context))
    explanations += [explain_exit(end, context) for end in context.history.last_ends]
    if (backoff := explain_backoff(context)) is not None:
        explanations.append(backoff)
    if not explanations:
        nothing = "No tick and no exit yet."
        explanations.append(Explanation(f"State of {context.shown_name}", (nothing,)))
    return explanations


def why_report(context: WhyContext, session: SessionHistory, pod_uid: str) -> list[str]:
    """Format the report of `why`: the cause, then last exits or else last ticks."""
    ends = context.history.last_ends
    first, *others = (*_about_now(context), Explanation(context.shown_name, ()))
    lines = list(first.sentences)
    for explanation in others[:-1]:
        lines += _paragraph(explanation)
    if context.answer and (page := page_command(context.answer)):
        lines.append(f"More: {page}")
    if ends:
        lines += _report_exits(context, session, ends)
    else:
        lines += _report_ticks(context, session, pod_uid)
    return [first.subject, *_indented(lines)]


def _report_exits(
    context: WhyContext, session: SessionHistory, ends: Iterable[ContainerInstance]
) -> Iterator[str]:
    for end in ends:
        explanation = explain_exit(end, context)
        yield from _paragraph(explanation)
        if end.kill is not None:
            yield "Tick by tick:"
            timeline = session.timeline(end.kill.key)
            yield from _indented(tick_history(timeline, end.kill, context.view))
        yield from _repeat_lines(explanation)
    if (backoff := explain_backoff(context)) is not None:
        yield from _paragraph(backoff)
    yield "Instances:"
    yield from _indented(instance_lines(context))


def report_explanations(
    context: WhyContext, session: SessionHistory, pod_uid: str
) -> list[Explanation]:
    """Return the explanations of `why_report`: exits and waits, else the last ticks."""
    keys = session.probes(pod_uid, context.container_name)
    if context.history.last_ends or not keys:
        return explain_container(context, None)
    return [*_about_now(context), *_last_ticks(context, session, keys)]


def _about_now(context: WhyContext) -> Iterator[Explanation]:
    """Yield why a container is as it is."""
    if context.answer is not None:
        yield from explain_answer(context.answer, context.shown_name, context.view)
    elif (waiting := explain_waiting(context)) is not None:
        yield waiting


def _last_ticks(
    context: WhyContext, session: SessionHistory, keys: Iterable[ProbeKey]
) -> Iterator[Explanation]:
    for key in keys:
        timeline = session.timeline(key)
        tick = timeline.tick(timeline.indexes[-1])
        if tick is not None:
            yield explain_tick(tick, context)


def _report_ticks(
    context: WhyContext, session: SessionHistory, pod_uid: str
) -> Iterator[str]:
    keys = session.probes(pod_uid, context.container_name)
    for explanation in _last_ticks(context, session, keys):
        yield from _paragraph(explanation)
        yield from _repeat_lines(explanation)


def _paragraph(explanation: Explanation) -> Iterator[str]:
    yield explanation.subject
    yield from _indented(explanation.sentences)
    yield from _indented(explanation.printed)


def instance_lines(context: WhyContext) -> Iterator[str]:
    """Yield a line for each instance, or for each run of those that ended alike."""
    runs = fold_instances(context.history.instances)
    earlier = runs[:-_MOST_LINES]
    if earlier:
        yield f"({sum(len(run.instances) for run in earlier)} earlier ones)"
    for run in runs[-_MOST_LINES:]:
        yield format_run(run, context.view)


def _repeat_lines(explanation: Explanation) -> Iterator[str]:
    if explanation.command:
        yield "To repeat the probe by hand:"
        yield f"{_INDENT}{explanation.command}"
    if explanation.note:
        yield f"{_INDENT}{explanation.note}"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"{_INDENT}{line}" for line in lines)
