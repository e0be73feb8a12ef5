"""The explanations of a container: its answer, then the facts of its ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from probetui.analysis.causes.answer import tells_end_of
from probetui.analysis.causes.cause import Ending
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.container_history import (
    ContainerInstance,
    SessionHistory,
    fold_instances,
)
from probetui.analysis.next_failure import Outlook, OutlookEvent
from probetui.durations import format_age
from probetui.k8s.pod import Container
from probetui.k8s.probe import ProbeKey, TCPSocketAction
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    ContainerEntry,
    ExitCause,
    HookType,
    TickEntry,
)
from probetui.kubelet.kuberuntime.grace_period import GraceSource
from probetui.kubelet.prober.gates import short_id
from probetui.presentation.cause.answer import (
    end_sentences,
    explain_answer,
    page_command,
)
from probetui.presentation.cause.restart import (
    next_window_sentences,
    restart_sentences,
    wait_text,
)
from probetui.presentation.container.back_off import range_of_wait
from probetui.presentation.container.evidence import (
    hook_sentences,
    last_line,
    last_line_sentence,
    output_lines,
)
from probetui.presentation.container.exits import (
    never_started,
    runs_pre_stop,
    signal_name,
)
from probetui.presentation.container.instances import format_run
from probetui.presentation.container.status_lines import NORMAL_WAITS
from probetui.presentation.outlook import outlook_sentences
from probetui.presentation.text.view import View
from probetui.presentation.tick.why import (
    Explanation,
    WhyContext,
    delay_sentence,
    explain_tick,
    probe_command,
    tick_history,
)

_SECOND = timedelta(seconds=1)
_DEFAULT_GRACE = 30
_MOST_LINES = 20
_INDENT = "  "
_PAST_GRACE = {CauseKind.SIGTERM_IGNORED, CauseKind.PRE_STOP_HOOK_CUT_OFF}
"""Quirks that say that a grace period was not enough."""

_SOURCES: Mapping[str, str] = {
    GraceSource.LIVENESS_PROBE: "from the liveness probe",
    GraceSource.STARTUP_PROBE: "from the startup probe",
    GraceSource.DELETION: "from the deletion request",
    GraceSource.MINIMUM: "the kubelet's minimum, as the pod sets none",
    GraceSource.KILL: "requested by a user",
}


def end_facts(
    instance: ContainerInstance,
    container: Container | None,
    view: View,
    quirk: CauseKind | None = None,
) -> Iterator[str]:
    """Yield the facts of an end: grace period, hooks, exit code; not who caused it.

    `quirk` is what the cause of the end says of how it went.
    """
    if instance.kill is not None:
        yield from _about_kill(instance, instance.kill)
    if instance.stopping is not None:
        yield from _grace(instance.stopping, container, view)
    for hook in instance.hooks:
        if hook.error is not None or hook.hook is HookType.PRE_STOP:
            yield from hook_sentences(hook, view)
    exited, output = instance.exited, instance.output
    if exited is None:
        return
    yield _exit(exited, instance.stopping, container, view, quirk)
    if output is None or never_started(exited):
        return
    # What ended by itself said why in its last line, which is a part of the cause.
    is_part_of_cause = instance.stopping is None and bool(last_line(output))
    is_silent_as_asked = instance.stopping is not None and not last_line(output)
    if not (is_part_of_cause or is_silent_as_asked):
        yield last_line_sentence(output, view)


def _about_kill(instance: ContainerInstance, kill: TickEntry) -> Iterator[str]:
    by = None if instance.end is None else instance.end.by
    if by is ExitCause.POD:
        yield "No other container of the pod was to run, so the whole pod was stopped."
    elif by not in {*PROBE_CAUSES, ExitCause.ITSELF, ExitCause.UNCERTAIN, None}:
        yield (
            "A probe had reached its failureThreshold before, but did not cause this "
            "exit."
        )
    elif by in PROBE_CAUSES and kill.overridden.delay:
        yield delay_sentence(kill)


def _grace(
    stopping: ContainerEntry, container: Container | None, view: View
) -> Iterator[str]:
    if stopping.grace_period_seconds is None:
        return
    seconds = stopping.grace_period_seconds
    yield (
        f"The kubelet began to stop it{view.times.when(stopping)}, "
        f"grace period {seconds}s "
        f"({_source(stopping, seconds)})."
    )
    hook = None if container is None else container.pre_stop
    can_run = not isinstance(hook, TCPSocketAction)
    if can_run and runs_pre_stop(container, seconds):
        yield "The preStop hook runs first; its time counts against the grace period."


def _source(stopping: ContainerEntry, seconds: int) -> str:
    source = stopping.grace_source
    # The end of a whole pod reports its period as a deletion's, without a deletion.
    is_of_pod = source == GraceSource.DELETION and stopping.by is ExitCause.POD
    if source == GraceSource.POD or is_of_pod:
        usual = ", the default" if seconds == _DEFAULT_GRACE else ""
        return f"the pod's terminationGracePeriodSeconds{usual}"
    return _SOURCES.get(source, source or "source unknown")


def _exit(
    exited: ContainerEntry,
    stopping: ContainerEntry | None,
    container: Container | None,
    view: View,
    quirk: CauseKind | None,
) -> str:
    if exited.exit_code is None:
        return "When it ended, and how, the samples do not tell."
    code = exited.exit_code
    signal = signal_name(code, exited.signal)
    ended = f"Exit seen at {view.times.stamp(exited.at)}: exit code {code}"
    ended += f", {signal}" if signal else ""
    if exited.oom_killed:
        return f"{ended}. The runtime set the OOM flag."
    remarks = [_within_grace(exited, stopping, container, signal, quirk)]
    if signal == "SIGKILL":
        remarks.append("Not out of memory: the runtime set no OOM flag.")
    return " ".join((f"{ended}.", *filter(None, remarks)))


def _within_grace(
    exited: ContainerEntry,
    stopping: ContainerEntry | None,
    container: Container | None,
    signal: str,
    quirk: CauseKind | None,
) -> str:
    """Return how an exit relates to the grace period, unless a quirk says so."""
    seconds = None if stopping is None else stopping.grace_period_seconds
    if stopping is None or (seconds is None and signal == "SIGKILL"):
        return ""
    if seconds == 0:
        return "It had no grace period."
    if signal != "SIGKILL":
        is_by_another = signal not in {"", "SIGTERM"}
        return "" if is_by_another else "It stopped within the grace period."
    begin_at = stopping.not_before or stopping.at
    lasted, grace = exited.at - begin_at, (seconds or 0) * _SECOND
    # The exit is seen by a relist each second, the grace period begins with the call;
    # what is known from statuses alone has whole seconds, besides.
    late = _SECOND if stopping.not_before is None else 2 * _SECOND
    if lasted + late < grace:
        hooked = runs_pre_stop(container, seconds)
        begin = "the start of its preStop hook" if hooked else "SIGTERM"
        return (
            f"That is {format_age(lasted)} after {begin}, before the grace period "
            f"of {format_age(grace)} was over, so something else sent it."
        )
    return "" if quirk in _PAST_GRACE else "It did not stop within the grace period."


def explain_exit(ending: Ending, context: WhyContext) -> Explanation:
    """Explain the end of an instance: who ended it, how, and what followed.

    Who did is left out where the answer says so.
    """
    instance, view = ending.instance, context.view
    what = "Stop" if instance.exited is None else "Exit"
    later = " or later" if instance.or_newer else ""
    subject = (
        f"{what} of {context.shown_name}, instance {instance.number} "
        f"({short_id(instance.container_id)}){later}"
    )
    answer, quirk, waits = context.answer, ending.cause.quirk, context.history.waits
    is_told = answer is not None and tells_end_of(answer, instance)
    sentences = [] if is_told else [*end_sentences("It", ending.cause, view)]
    if answer is not None and answer.before is not None and instance.is_deleted:
        quirk = None  # The answer is about what was before.
    sentences += end_facts(instance, context.container, view, quirk)
    if ending.restart is not None:
        is_newest = ending in context.endings[:1] and explain_backoff(context) is None
        sentences += restart_sentences(ending.restart, view, is_newest=is_newest)
    elif answer and answer.now.kind is CauseKind.BACK_OFF and waits is not None:
        sentences += next_window_sentences(waits)
    said = {line for told in _about_now(context) for line in told.sentences}
    sentences = [sentence for sentence in sentences if sentence not in said]
    command = (
        ("", "") if instance.kill is None else probe_command(instance.kill, context)
    )
    output = instance.output
    printed = () if output is None else output_lines(output, view)
    return Explanation(
        subject, tuple(dict.fromkeys(sentences)), *command, tuple(printed)
    )


def explain_backoff(context: WhyContext) -> Explanation | None:
    """Explain why a container waits for its restart.

    None if it does not wait, or if the explanation of an exit covers it.
    """
    history = context.history
    if history.decision is None or not history.decision.waits or not history.instances:
        return None
    last = history.instances[-1]
    began_at = last.created_at or last.started_at
    has_ended_wait = began_at is not None and began_at >= history.decision.at
    if last.exited is not None or has_ended_wait:
        return None
    wait, view = history.waits or history.decision, context.view
    waited = (end.restart.waited for end in context.endings if end.restart)
    if any(told is not None and told.until == wait.until for told in waited):
        return None
    due = range_of_wait(wait, view.rules)
    outlook = Outlook(OutlookEvent.RESTARTED, *(due or ()))
    is_over = due is not None and view.now >= due.earliest
    sentences = (
        f"It {'was' if is_over else 'is'} in back-off{wait_text(wait, view)}.",
        *outlook_sentences(outlook, view),
        *next_window_sentences(wait),
    )
    return Explanation(f"Back-off of {context.shown_name}", sentences)


def explain_waiting(context: WhyContext) -> Explanation | None:
    """Explain why a container cannot start; None if nothing prevents it."""
    waiting = context.history.waiting
    if waiting is None or waiting.reason in NORMAL_WAITS:
        return None
    message = context.view.safe(waiting.message)
    sentences = [f"It does not start. {waiting.reason}: {message or 'no message'}"]
    return Explanation(f"State of {context.shown_name}", tuple(sentences))


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
    explanations += [explain_exit(ending, context) for ending in context.endings]
    if (backoff := explain_backoff(context)) is not None:
        explanations.append(backoff)
    if not explanations:
        nothing = "No tick and no exit yet."
        explanations.append(Explanation(f"State of {context.shown_name}", (nothing,)))
    return explanations


def why_report(context: WhyContext, session: SessionHistory, pod_uid: str) -> list[str]:
    """Format the report of `why`: the cause, then last exits or else last ticks."""
    first, *others = (*_about_now(context), Explanation(context.shown_name, ()))
    lines = list(first.sentences)
    for explanation in others[:-1]:
        lines += _paragraph(explanation)
    if context.answer and (page := page_command(context.answer)):
        lines.append(f"More: {page}")
    if context.endings:
        lines += _report_exits(context, session)
    else:
        lines += _report_ticks(context, session, pod_uid)
    return [first.subject, *_indented(lines)]


def _report_exits(context: WhyContext, session: SessionHistory) -> Iterator[str]:
    for ending in context.endings:
        explanation = explain_exit(ending, context)
        yield from _paragraph(explanation)
        if (kill := ending.instance.kill) is not None:
            yield "Tick by tick:"
            timeline = session.timeline(kill.key)
            yield from _indented(tick_history(timeline, kill, context.view))
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
    if context.endings or not keys:
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
