"""Why a container is not ready, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.analysis.container_history import SessionHistory
from probetui.analysis.readiness import NotReady, Obstacle, instance_not_ready
from probetui.k8s.probe import ProbeType
from probetui.presentation.container.status_lines import NORMAL_WAITS
from probetui.presentation.probe.refusals import as_sentence, refusal_text
from probetui.presentation.text.view import View
from probetui.presentation.tick.why import Explanation, WhyContext, attempt_predicate


def explain_readiness(
    context: WhyContext, session: SessionHistory, pod_uid: str
) -> Explanation | None:
    """Return why a container is not ready, or was not when it was deleted.

    None if it was ready, and if it ended otherwise: what ended it is the reason then.
    """
    container, instances = context.container, context.history.instances
    if container is None or not instances or context.is_plain_init:
        return None
    last = instances[-1]
    if last.started_at is None or (last.end is not None and not last.is_deleted):
        return None
    reason = instance_not_ready(session, pod_uid, container, last)
    if reason is None:
        return None
    text = not_ready_text(reason, context.view)
    when = "It is not ready" if last.end is None else "It was not ready when deleted"
    sentences = [f"{when}: {text}.", *_about(reason, context)]
    if last.end is None:
        sentences.append(_outlook(reason))
    return Explanation(f"Readiness of {context.shown_name}", tuple(sentences))


def obstacle_of(context: WhyContext, session: SessionHistory, pod_uid: str) -> str:
    """Return in a clause why a container is not ready, or not started, now.

    Empty if nothing is known to keep it from that: it is ready, or waits for others.
    """
    waiting, instances = context.history.waiting, context.history.instances
    last = instances[-1] if instances else None
    if waiting is not None and waiting.reason not in NORMAL_WAITS:
        reason_and_message = filter(None, (waiting.reason, waiting.message))
        return f"it does not start: {context.view.safe(': '.join(reason_and_message))}"
    if last is None or last.started_at is None:
        return "it has not been started yet"
    if last.end is not None:
        exited = last.exited
        if exited is None:
            return "it is being stopped"
        return f"it has exited with {exited.exit_code or 0}"
    container = context.container
    reason = container and instance_not_ready(session, pod_uid, container, last)
    if not reason:
        return ""
    is_started = reason.probe_type is not ProbeType.STARTUP
    state = "it is not ready" if is_started else "it has not started"
    return f"{state}: {not_ready_text(reason, context.view)}"


def not_ready_text(reason: NotReady, view: View) -> str:
    """Return what keeps a container from being ready, as the rest of a sentence."""
    probe, tick = f"its {reason.probe_type.lower()} probe", reason.tick
    if tick is None:
        delay = reason.probe.initial_delay_seconds
        why = f", as initialDelaySeconds is {delay}" if delay else ""
        return f"{probe} has not run yet{why}"
    last = attempt_predicate(tick.attempts[-1], view) if tick.attempts else ""
    match reason.obstacle:
        case Obstacle.ERRORED:
            return f"{probe} {last}" if last else f"{probe} could not run"
        case Obstacle.TOO_FEW_SUCCESSES:
            run = f"{tick.run.count} of {tick.run.threshold}"
            return f"{probe} succeeded {run} times in a row"
        case _:
            count = tick.run.count
            times = "once" if count == 1 else f"{count} times in a row"
            since = "" if reason.since is None else view.times.stamp(reason.since)
            when = f" since {since}" if since and count > 1 else ""
            return f"{probe} failed {times}{when}; the last one {last or 'failed'}"


def _about(reason: NotReady, context: WhyContext) -> Iterator[str]:
    looked = None if reason.tick is None else context.history.listeners(reason.tick)
    if looked is not None and looked.listeners is not None:
        yield context.view.safe(as_sentence(refusal_text(looked)))
    if reason.obstacle is Obstacle.ERRORED:
        yield "A probe that cannot run counts as neither a success nor a failure."


def _outlook(reason: NotReady) -> str:
    needed = reason.probe.success_threshold
    after = "One success" if needed == 1 else f"{needed} successes in a row"
    if reason.probe_type is ProbeType.STARTUP:
        return f"{after}, and it counts as started; its other probes wait for that."
    return f"{after}, and it is ready. No failure of this probe restarts it."
