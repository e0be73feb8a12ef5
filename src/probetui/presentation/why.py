"""Why a tick, a kill or a wait came about: plain sentences, and a command to try.

The same words whether the entries come from a session that runs or from a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from probetui.k8s.pod import Container, Pod
from probetui.kubelet.gates import short_id
from probetui.kubelet.journal import Action, Exit, Skip, TickEntry, Trigger
from probetui.kubelet.outcome import Attempt, HTTPAnswer, Result
from probetui.presentation.attempts import came_to
from probetui.presentation.durations import took
from probetui.presentation.hints import hints
from probetui.presentation.lives import ContainerPast, Life
from probetui.presentation.marks import is_warning
from probetui.presentation.reproduce import needs, reproduce
from probetui.presentation.sentences import GOES_ON, why
from probetui.presentation.timeline import Timeline
from probetui.presentation.trace import cluster_words, event_of, stopped_at
from probetui.presentation.view import View
from probetui.presentation.why_ended import backoff_sentences, end_sentences

_REDIRECTION = 3
_FOLLOWED = {
    Action.KILL: "the container is killed, and the probe goes on hold",
    Action.WOULD_KILL: "nothing, as nobody acts here; it would have been killed",
    Action.READY: "the container becomes ready",
    Action.NOT_READY: "the container becomes not ready; it is never killed for that",
    Action.STARTED: "the container counts as started, and its other probes may begin",
}
_TRIGGERS = {
    Trigger.PERIODIC: "It came on schedule",
    Trigger.READINESS: "It came out of schedule: the kubelet brings readiness forward "
    "whenever it updates the status of a container that is started and not ready",
    Trigger.USER: "It came out of schedule: somebody asked for it",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One container, and what is known of it.

    `pod` is None where its manifest is not known; the grace periods are then those of
    the journal, and no command can be named. `name` is `pod/container`.
    """

    pod: Pod | None
    name: str
    container_name: str
    pod_ip: str
    past: ContainerPast
    view: View

    @property
    def container(self) -> Container | None:
        """The container's definition, if it is known."""
        return None if self.pod is None else self.pod.container(self.container_name)

    @property
    def shown_name(self) -> str:
        """The name, made harmless."""
        return self.view.safe(self.name)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was asked, the answer, and the command that repeats the probe by hand.

    `command` is empty where there is none. `needs` is what to know about it.
    """

    question: str
    sentences: tuple[str, ...]
    command: str = ""
    needs: str = ""


def answers(case: Case, tick: TickEntry | None) -> list[Answer]:
    """Return all that can be said: of the tick, of the last end, of the back-off."""
    given = [] if tick is None else [why_tick(tick, case)]
    given += [why_ended(each, case) for each in case.past.last_ends]
    if (waiting := why_waits(case)) is not None:
        given.append(waiting)
    if not given:
        nothing = "Nothing has happened to it yet: no tick, and no end."
        given.append(Answer(f"Why is {case.shown_name} as it is?", (nothing,)))
    return given


def why_tick(tick: TickEntry, case: Case) -> Answer:
    """Say why a tick did what it did."""
    kind = tick.key.probe_type.lower()
    at = case.view.times.stamp(tick.started_at)
    question = (
        f"Why did {kind} tick #{tick.n} of {case.shown_name} at {at} do what it did?"
    )
    sentences = (*_tick_sentences(tick, case),)
    return Answer(question, sentences, *_by_hand(tick, case))


def why_ended(life: Life, case: Case) -> Answer:
    """Say who ended an instance of a container, how, and what came after."""
    question = (
        f"Why did {case.shown_name} end, instance {life.number} "
        f"({short_id(life.container_id)})?"
    )
    if life.exited is None:
        question = question.replace("did", "is", 1).replace("end,", "being stopped,", 1)
    sentences = [*end_sentences(life, case.container, case.view, case.past)]
    if life.exited is not None:
        sentences += backoff_sentences(case.past, life, case.view)
    by_hand = () if life.kill is None else _by_hand(life.kill, case)
    return Answer(question, tuple(sentences), *by_hand)


def why_waits(case: Case) -> Answer | None:
    """Say why a container waits for its next start.

    None if it does not, or if that is part of the answer about its last end.
    """
    decision = case.past.decision
    if decision is None or not decision.waits or not case.past.lives:
        return None
    if case.past.lives[-1].exited is not None:
        return None
    last = case.past.lives[-1]
    sentences = tuple(backoff_sentences(case.past, last, case.view))
    return Answer(f"Why is {case.shown_name} not started again yet?", sentences)


def _by_hand(tick: TickEntry, case: Case) -> tuple[str, str]:
    """Return the command that repeats a probe, and what it needs; empty if none."""
    container = case.container
    probe = None if container is None else container.probe(tick.key.probe_type)
    if container is None or probe is None:
        return "", ""
    answers = (each.http for each in tick.attempts if each.http is not None)
    redirects = max((len(each.redirects) for each in answers), default=0)
    command = reproduce(
        container,
        probe,
        tick.container_id,
        case.pod_ip,
        mask=case.view.mask,
        reach=case.view.reach,
        redirects=redirects,
    )
    return command, needs(probe, command)


def _tick_sentences(tick: TickEntry, case: Case) -> Iterator[str]:
    yield f"{_TRIGGERS[tick.trigger]}."
    if tick.held:
        yield (
            f"A pause held it back for {took(tick.held)}; the clock did not stop, nor "
            "did delays, grace and back-off."
        )
    if tick.new_container:
        which = short_id(tick.container_id)
        yield (
            f"It was the first tick to see container {which}: the run of results goes "
            "on, a hold is lifted, and the stored result begins anew."
        )
    if tick.skip is not None or tick.exit is not None:
        yield from _not_probed(tick, case)
    else:
        yield from _probed(tick, case)
    yield f"A cluster shows of it: {cluster_words(tick)}."


def _not_probed(tick: TickEntry, case: Case) -> Iterator[str]:
    gate = stopped_at(tick)
    asked = "" if gate is None else f" It stopped at: {gate.name} = {gate.value}."
    yield f"Nothing was probed: {why(tick).partition(': ')[2]}.{case.view.safe(asked)}"
    if tick.skip is Skip.ON_HOLD:
        yield from _who_put_it_on_hold(tick, case)
    if tick.skip is not None:
        yield f"Probing goes on {GOES_ON[tick.skip]}."
    elif tick.exit is not Exit.STOPPED:
        yield "The worker left: there will be no further tick."


def _who_put_it_on_hold(tick: TickEntry, case: Case) -> Iterator[str]:
    life = case.past.life(tick.container_id)
    kill = None if life is None else life.kill
    if kill is None or kill.key != tick.key or kill.sequence > tick.sequence:
        return
    at = case.view.times.stamp(kill.started_at)
    yield (
        f"Tick #{kill.n} at {at} put it on hold: "
        f"failure {kill.run} of {kill.threshold} in a row."
    )


def _probed(tick: TickEntry, case: Case) -> Iterator[str]:
    if tick.injected:
        yield "Somebody chose the result: the container was not asked."
    if tick.delay:
        yield f"Somebody held its answers back: each came {took(tick.delay)} later."
    yield from attempt_sentences(tick, case.view)
    yield from run_sentences(tick)
    if (event := event_of(tick)) is not None:
        reason, message = event
        yield f"Its event is Warning {reason}: {case.view.safe(message)}"
    yield from hints(tick, case.container, case.past)


def attempt_sentences(tick: TickEntry, view: View) -> Iterator[str]:
    """Yield what each attempt of a tick came to, and what it printed."""
    many = len(tick.attempts)
    for number, each in enumerate(tick.attempts, start=1):
        which = f"Attempt {number} of {many}" if many > 1 else "It"
        # What a program printed has no stop of ours at its end.
        stop = "" if each.output or each.error else "."
        yield f"{which} {came_to(each, view)}{stop}"
        yield from _answered(each, view)
    if tick.result is None:
        yield (
            "Only what cannot be run is tried again, three times in all; "
            "then it is thrown away."
        )


def _answered(attempt: Attempt, view: View) -> Iterator[str]:
    """Yield what a server said that neither output nor event tell."""
    answer = attempt.http
    if answer is None:
        return
    if answer.redirects:
        chain = ", then ".join(answer.redirects)
        yield f"It followed redirects on the same host: {view.safe(chain)}."
    if is_redirect(answer.status):
        yield f"It was sent on to {view.safe(location_of(answer))}, another host."
    if answer.body:
        yield f"The body, which no event shows, began: {view.safe(answer.body[:200])}"


def is_redirect(status: int) -> bool:
    """Tell whether an answer sends its reader elsewhere."""
    return status // 100 == _REDIRECTION


def location_of(answer: HTTPAnswer) -> str:
    """Return where an answer sends its reader, `nowhere` if it does not say."""
    places = (each.value for each in answer.headers if each.name.lower() == "location")
    return next(places, "nowhere")


def run_sentences(tick: TickEntry) -> Iterator[str]:
    """Yield how a tick moved the run, and what that led to."""
    if tick.result is None:
        yield "The run and the stored result are unchanged: an error never restarts it."
        return
    word = "failure" if tick.result is Result.FAILURE else "success"
    if is_warning(tick):
        word = "success (with a warning)"
    run = f"That was {word} {_so_many(tick)} in a row"
    if tick.run < tick.threshold:
        yield f"{run}: too few, so that nothing was done."
        yield f"The stored result stays {tick.stored_after}."
        return
    if tick.action is Action.MUTED:
        yield f"{run}, but the probe is muted: nothing is stored, nothing follows."
        return
    if tick.stored_before == tick.stored_after:
        yield f"{run}, and the stored result was {tick.stored_after} already."
    else:
        yield f"{run}: the stored result, {tick.stored_before}, became {tick.result}."
    if tick.action in _FOLLOWED:
        yield f"What followed: {_FOLLOWED[tick.action]}."


def _so_many(tick: TickEntry) -> str:
    if tick.run > tick.threshold:
        return f"{tick.run} (of {tick.threshold} that are needed)"
    return f"{tick.run} of {tick.threshold}"


def tick_by_tick(
    timeline: Timeline, last: TickEntry, view: View, most: int = 12
) -> Iterator[str]:
    """Yield the ticks that led to one, oldest first: a line each.

    It goes back to where the run began, but no further than `most` ticks.
    """
    index = timeline.index_of(last)
    if index is None:
        return
    first = max(index - max(last.run, 1), timeline.indexes.start, index - most + 1)
    for each in range(first, index + 1):
        if (tick := timeline.tick(each)) is not None:
            at = view.times.stamp(tick.started_at)
            yield f"#{tick.n} {at} {why(tick)}{_said(tick, view)}"


def _said(tick: TickEntry, view: View) -> str:
    if not tick.attempts:
        return ""
    last = tick.attempts[-1]
    said = view.safe(last.output if last.error is None else last.error)
    how = f"{view.safe(last.detail)}: " if last.detail else ""
    return f" ({how}{said})" if said else ""
