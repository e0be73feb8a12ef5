"""The explanation of one tick: plain sentences, and a command that repeats the probe.

The same words whether the entries come from a running session or from a record.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from probetui.analysis.causes.cause import Ending, WhyAnswer
from probetui.analysis.causes.probe_failure import tick_failure
from probetui.analysis.container_history import NO_HISTORY, ContainerHistory
from probetui.analysis.reproduce import command_note, reproduce_command
from probetui.analysis.timeline import Timeline
from probetui.analysis.timing import ticks_lost
from probetui.durations import format_duration
from probetui.k8s.pod import Container, Pod
from probetui.kubelet.journal import Exit, Skip, TickAction, TickEntry, Trigger
from probetui.kubelet.outcome import FORWARDED, Attempt, HTTPAnswer, ProbeResult
from probetui.kubelet.prober.gates import short_id
from probetui.kubelet.prober.prober import MAX_PROBE_RETRIES
from probetui.presentation.cause.probe_failure import failure_clause
from probetui.presentation.probe.endpoints import endpoints_text
from probetui.presentation.probe.refusals import as_sentence
from probetui.presentation.text.view import View
from probetui.presentation.tick.report import (
    NOBODY_PROBED,
    TickVerdict,
    blocking_gate,
    report_tick,
    skip_text,
    tick_event,
)

_REDIRECTION = 3
_TRIGGERS = {
    Trigger.PERIODIC: "Trigger: the probe's period.",
    Trigger.READINESS: "Trigger: the kubelet probes readiness early whenever it "
    "updates the status of a container that is started and not ready.",
    Trigger.USER: "Trigger: requested by a user.",
}


class WhyContext(Struct, frozen=True):
    """One container, and what is known of it.

    `pod` is None where its manifest is not known; the grace periods are then those of
    the journal, and no command can be named. `name` is `pod/container`. `answer` is why
    the container is as it is, None if its manifest is not known. `endings` are how its
    last instances ended.
    """

    pod: Pod | None
    name: str
    container_name: str
    pod_ip: str
    history: ContainerHistory
    view: View
    answer: WhyAnswer | None = None
    endings: tuple[Ending, ...] = ()

    @property
    def container(self) -> Container | None:
        """The container's definition, if it is known."""
        return None if self.pod is None else self.pod.container(self.container_name)

    @property
    def is_plain_init(self) -> bool:
        """Whether it is an init container, and no sidecar."""
        container, pod = self.container, self.pod
        if container is None or pod is None or container.is_sidecar:
            return False
        return container in pod.init_containers

    @property
    def shown_name(self) -> str:
        """The name, made harmless."""
        return self.view.safe(self.name)


class Explanation(Struct, frozen=True):
    """Sentences about one subject, and the command that repeats the probe.

    `command` is empty where there is none, `note` is what to know to use it. `printed`
    is what the container printed last, line by line, with a heading.
    """

    subject: str
    sentences: tuple[str, ...]
    command: str = ""
    note: str = ""
    printed: tuple[str, ...] = ()


def explain_tick(tick: TickEntry, context: WhyContext) -> Explanation:
    """Return why a tick did what it did."""
    kind = tick.key.probe_type.lower()
    at = context.view.times.stamp(tick.timing.started_at)
    subject = f"Tick #{tick.n}, {kind} of {context.shown_name}, at {at}"
    sentences = (*_tick_sentences(tick, context),)
    return Explanation(subject, sentences, *probe_command(tick, context))


def probe_command(tick: TickEntry, context: WhyContext) -> tuple[str, str]:
    """Return the command that repeats a probe, and a note on it; empty if none.

    It is for the instance that runs, if one does: no other can be entered.
    """
    container, instances = context.container, context.history.instances
    probe = None if container is None else container.probe(tick.key.probe_type)
    if container is None or probe is None:
        return "", ""
    redirects = max(map(_redirects_of, tick.attempts), key=len, default=())
    container_id = tick.container_id
    if container_id and instances and instances[-1].exited is None:
        container_id = instances[-1].container_id
    command = reproduce_command(
        container,
        probe,
        container_id,
        context.pod_ip,
        pod=context.pod,
        mask=context.view.mask,
        reach=context.view.reach,
        redirects=redirects,
        rules=context.view.rules,
    )
    return command, command_note(probe, command)


def _redirects_of(attempt: Attempt) -> tuple[str, ...]:
    if attempt.http is not None:
        return attempt.http.redirects
    return tuple(redirect.location for redirect in attempt.followed)


def _tick_sentences(tick: TickEntry, context: WhyContext) -> Iterator[str]:
    report = report_tick(tick)
    yield _TRIGGERS[tick.trigger]
    if tick.overridden.held:
        yield (
            f"A pause delayed it by {format_duration(tick.overridden.held)}; initial "
            "delays, grace periods and back-off continued."
        )
    if tick.new_container:
        container_id = short_id(tick.container_id)
        yield (
            f"First tick of container {container_id}: the result run continues, the "
            "hold is released, the stored result is reset to its initial value."
        )
    if report.verdict is TickVerdict.NOT_PROBED:
        yield from _not_probed(tick, report.summary, context)
    else:
        yield from _probed(tick, context)
    where = "The cluster shows" if tick.is_observed else "In a cluster"
    yield f"{where}: {report.cluster}."
    if tick.action in {TickAction.READY, TickAction.NOT_READY}:
        is_ready = tick.action is TickAction.READY
        follows = endpoints_text(context.pod, context.view.services, is_ready=is_ready)
        yield f"So the pod is {follows}."


def _not_probed(tick: TickEntry, summary: str, context: WhyContext) -> Iterator[str]:
    gate = blocking_gate(tick)
    stopped = "" if gate is None else f" Check that failed: {gate.name} = {gate.value}."
    reason = summary.partition(": ")[2]
    yield f"The probe did not run: {reason}.{context.view.safe(stopped)}"
    if tick.skip is Skip.ON_HOLD:
        yield from _who_put_it_on_hold(tick, context)
    if tick.skip is not None:
        yield f"Probing resumes {skip_text(tick.skip, tick).resumes}."
    elif tick.exit is not Exit.STOPPED:
        yield "The worker exited: there will be no further tick."


def _who_put_it_on_hold(tick: TickEntry, context: WhyContext) -> Iterator[str]:
    instance = context.history.instance(tick.container_id)
    kill = None if instance is None else instance.kill
    if kill is None or kill.key != tick.key or kill.sequence > tick.sequence:
        return
    at = context.view.times.stamp(kill.timing.started_at)
    yield (f"Tick #{kill.n} at {at} put it on hold: {report_tick(kill).counted}.")


def _probed(tick: TickEntry, context: WhyContext) -> Iterator[str]:
    if tick.overridden.injected:
        yield "The result was injected by a user; the probe did not run."
    if tick.overridden.delay:
        yield delay_sentence(tick)
    yield from attempt_sentences(tick, context.view)
    yield from source_sentences(tick, context.view)
    yield from _lost_ticks(tick, context.container)
    yield from run_sentences(tick)
    if (event := tick_event(tick, context.view.rules)) is not None:
        message = context.view.safe(event.message)
        yield f"Event: Warning {event.reason}: {message}"
    yield from hints(tick, context.container, context.view, context.history)


def delay_sentence(tick: TickEntry) -> str:
    """Return by how much a user delayed the answers to a probe."""
    late = format_duration(tick.overridden.delay)
    return f"A user delayed the answer to each attempt by {late}."


def _lost_ticks(tick: TickEntry, container: Container | None) -> Iterator[str]:
    """Yield how many ticks fell due in vain, and why."""
    if tick.timing.late_drops:
        ticks = (
            "1 tick"
            if tick.timing.late_drops == 1
            else f"{tick.timing.late_drops} ticks"
        )
        yield f"{ticks} fell due before it and did not run: {NOBODY_PROBED}."
    probe = None if container is None else container.probe(tick.key.probe_type)
    if probe is None:
        return
    ended_at = tick.timing.started_at + tick.timing.duration
    period_seconds = tick.timing.period_seconds or probe.period_seconds
    if lost := ticks_lost(tick, ended_at, period_seconds):
        ticks = "1 tick was" if lost == 1 else f"{lost} ticks were"
        yield (
            f"It took {format_duration(tick.timing.duration)}, longer than its period "
            f"of {period_seconds}s: {ticks} lost, which the kubelet does not make "
            "up for."
        )


def attempt_sentences(tick: TickEntry, view: View) -> Iterator[str]:
    """Yield how each attempt of a tick ended, and what it printed."""
    many = len(tick.attempts)
    for number, attempt in enumerate(tick.attempts, start=1):
        subject = f"Attempt {number} of {many}" if many > 1 else "The probe"
        # What a program printed has no stop of ours at its end.
        stop = "" if attempt.output or attempt.error else "."
        yield f"{subject} {attempt_predicate(attempt, view)}{stop}"
        yield from _answer_lines(attempt, view)
    if tick.result is None:
        yield (
            f"Only errors are retried, up to {MAX_PROBE_RETRIES} attempts; then the "
            "tick is not counted."
        )


def attempt_predicate(attempt: Attempt, view: View) -> str:
    """Return what follows `The probe`: `gave exit 1 after 34ms, output: not well`."""
    length = format_duration(attempt.duration)
    if not attempt.is_timed:
        return _seen_predicate(attempt, view)
    if attempt.error is not None:
        return f"could not run ({length}): {view.safe(attempt.error)}"
    detail, output = view.safe(attempt.detail), view.safe(attempt.output)
    if attempt.is_forwarded:
        detail = detail.removesuffix(FORWARDED).removesuffix(", ")
        length += f" {FORWARDED}"
    if detail.startswith("exit "):
        printed = f"output: {output}" if output else "no output"
        return f"gave {detail} after {length}, {printed}"
    more = f": {output}" if output else ""
    if detail.startswith("timed out"):
        return f"{detail} (after {length}){more}"
    if detail == "connected":
        return f"{detail} after {length}{more}"
    if detail:
        return f"got {detail} after {length}{more}"
    did = "failed" if attempt.result is ProbeResult.FAILURE else "succeeded"
    return f"{did} after {length}{more}"


def _seen_predicate(attempt: Attempt, view: View) -> str:
    """Return the same of an attempt that was seen from outside."""
    if attempt.error is not None:
        return f"could not run: {view.safe(attempt.error)}"
    if attempt.result is not ProbeResult.FAILURE:
        return "succeeded"
    if attempt.output:
        return f"failed: {view.safe(attempt.output)}"
    return "failed; no event tells what it printed"


def source_sentences(tick: TickEntry, view: View) -> Iterator[str]:
    """Yield where a tick of a cluster is known from, and what cannot be known."""
    gates = {gate.name: view.safe(gate.value) for gate in tick.gates}
    if not tick.is_observed:
        return
    yield f"Known from the kubelet's {gates['source']}."
    if "order" in gates:
        yield f"The order of the results in that time is {gates['order']}."
    if "instance" in gates:
        yield f"The instance that was killed: {gates['instance']}."
    if tick.run.doubt:
        yield f"The run may be longer: {view.safe(tick.run.doubt)}."
    yield "How long it took, and its retries, cannot be known from outside."


def _answer_lines(attempt: Attempt, view: View) -> Iterator[str]:
    """Yield what a server answered that neither output nor event has."""
    answer = attempt.http
    if answer is None:
        return
    if answer.redirects:
        chain = ", then ".join(answer.redirects)
        yield f"Redirects followed on the same host: {view.safe(chain)}."
    if answer.status // 100 == _REDIRECTION:
        location = view.safe(_location_of(answer))
        yield f"Redirect to another host, not followed: {location}."
    if answer.body:
        body = view.safe(answer.body[:200])
        yield f"Response body (in no event): {body}"


def _location_of(answer: HTTPAnswer) -> str:
    locations = (
        header.value for header in answer.headers if header.name.lower() == "location"
    )
    return next(locations, "nowhere")


def run_sentences(tick: TickEntry) -> Iterator[str]:
    """Yield how a tick moved the result run, and what that led to."""
    report = report_tick(tick)
    counted = report.counted.capitalize()
    match report.verdict:
        case TickVerdict.NOT_COUNTED:
            yield "An error is not counted: result run and stored result are unchanged."
        case TickVerdict.IGNORED:
            yield f"{counted}, below the threshold: no action."
            yield f"The {report.result}."
        case TickVerdict.MUTED:
            yield f"{counted}, but the probe is muted: {report.result}."
        case _ if tick.stored.before == tick.stored.after:
            yield f"{counted}; the stored result is {tick.result} already."
        case _:
            change = f"from {tick.stored.before} to {tick.stored.after}"
            yield f"{counted}: the stored result changes {change}."
    if report.verdict is TickVerdict.ACTED:
        yield f"Effect: {report.effect.text}."
    elif report.verdict is TickVerdict.WATCH_ONLY:
        yield f"Effect: none, watch only; the {report.effect.text}."


def hints(
    tick: TickEntry,
    container: Container | None,
    view: View,
    history: ContainerHistory = NO_HISTORY,
) -> Iterator[str]:
    """Yield why the last attempt of a tick failed, as far as more is known."""
    failure = tick_failure(tick, container, history, view.rules)
    if failure is None:
        return
    attempt = failure.failed.attempt
    if attempt.is_forwarded and attempt.error is None:
        yield (
            "The kubelet connects to the pod's IP: what listens on 127.0.0.1 only "
            "succeeds here and fails there, what does not listen on it the reverse."
        )
    if clause := failure_clause(failure, view):
        yield as_sentence(clause)


def tick_history(
    timeline: Timeline, last: TickEntry, view: View, most: int = 12
) -> Iterator[str]:
    """Yield the ticks that led to one, oldest first: a line each.

    It goes back to where the run began, but no further than `most` ticks.
    """
    last_index = timeline.index_of(last)
    if last_index is None:
        return
    first = max(
        last_index - max(last.run.count, 1),
        timeline.indexes.start,
        last_index - most + 1,
    )
    for index in range(first, last_index + 1):
        if (tick := timeline.tick(index)) is not None:
            at = view.times.stamp(tick.timing.started_at)
            yield f"#{tick.n} {at} {report_tick(tick).summary}{_output(tick, view)}"


def _output(tick: TickEntry, view: View) -> str:
    if not tick.attempts:
        return ""
    last = tick.attempts[-1]
    output = view.safe(last.output if last.error is None else last.error)
    detail = f"{view.safe(last.detail)}: " if last.detail and last.is_timed else ""
    return f" ({detail}{output})" if output else ""
