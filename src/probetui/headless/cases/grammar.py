"""Parse the expectations and actions of case files.

    ready within 30s            also started; succeeded: the pod ended successfully
    ready again within 15s      the state is lost and regained
    not ready within 20s        the state is lost
    ready for 2m                the state holds throughout; `holds for 2m`: the last one
    killed within 40s           by a probe; also restarted, backoff, event REASON
    restarts == 0               also kills, backoffs, events REASON; == != <= >= < >
    restarts == 0 for 1h        throughout that time; kills >= 2 within 5m: at some time

An expectation may begin with its pod or container: `web/app: ready within 30s`. Without
one it concerns all pods of the case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import replace

from probetui.debugger.commands import Injected
from probetui.durations import parse_duration
from probetui.errors import UsageError
from probetui.headless.cases.case import (
    UNDOING,
    ActionKind,
    CaseAction,
    Expectation,
    Relation,
)
from probetui.headless.condition import Condition, ConditionKind
from probetui.k8s.pod import Pod
from probetui.k8s.pod_names import find_pods
from probetui.k8s.probe import ProbeType
from probetui.suggestions import nearest_hint

_STATES = {"ready": ConditionKind.READY, "started": ConditionKind.STARTED}
_OCCURRENCES = {
    "killed": ConditionKind.KILLED,
    "restarted": ConditionKind.RESTARTS,
    "backoff": ConditionKind.BACKOFF,
    "event": ConditionKind.EVENT,
    "succeeded": ConditionKind.SUCCEEDED,
}
_COUNTS = {
    "kills": ConditionKind.KILLED,
    "restarts": ConditionKind.RESTARTS,
    "backoffs": ConditionKind.BACKOFF,
    "events": ConditionKind.EVENT,
}
_HOLDS = "holds"
_FIRST_WORDS = (*_STATES, "not", _HOLDS, *_OCCURRENCES, *_COUNTS)
_PROBE_TYPES = {probe_type.lower(): probe_type for probe_type in ProbeType}
_MOST_TIMES = 1000
_NUMBER = re.compile("[0-9]{1,9}")
_RELATION = re.compile(r"\s*(==|!=|<=|>=|<|>)\s*")


def parse_expectation(
    text: str, place: str, pods: Sequence[Pod], state: Condition | None
) -> Expectation:
    """Parse an expectation.

    Args:
        text: the text in the case file.
        place: its position: `cases.yaml:7:9`.
        pods: the pods of the case.
        state: the last state that was expected, for `holds`.

    Raises:
        UsageError: the text is not an expectation, or names an unknown pod or
            container.
    """
    target, colon, rest = text.rpartition(":")
    about = _find_target(target.strip(), pods) if colon else ""
    words: Sequence[str] = _RELATION.sub(r" \1 ", rest).split()
    if not words:
        raise UsageError(f"nothing is expected; write one of {', '.join(_FIRST_WORDS)}")
    first = words[0]
    if first == _HOLDS:
        if state is None:
            raise UsageError(
                "holds needs a state before it, as in ready within 30s; or write "
                "ready for 2m"
            )
        expected = _bounded(Condition(state.kind, target=state.target), words[1:])
        if expected.lasting is None:
            raise UsageError("holds needs a length, as in holds for 2m")
    elif first == "not" and len(words) > 1:
        kind = _known(words[1], _STATES)
        expected = _bounded(Condition(kind, target=about), words[2:])
        if expected.within is None:
            raise UsageError(f"not {words[1]} needs a limit: within 20s")
        expected = replace(expected, is_negated=True)
    elif first in _STATES:
        expected = _state(Condition(_STATES[first], target=about), words[1:])
    elif first in _COUNTS:
        expected = _count(_COUNTS[first], about, words)
    else:
        kind = _known(first, _OCCURRENCES)
        reason, words = _reason(kind, words)
        expected = _bounded(Condition(kind, reason=reason, target=about), words[1:])
        if expected.within is None:
            raise UsageError(f"{first} needs a limit, as in {first} within 40s")
    return replace(expected, text=" ".join(text.split()), place=place)


def _state(condition: Condition, words: Sequence[str]) -> Expectation:
    again = words[:1] == ["again"]
    rest = words[1:] if again else words
    if rest[:1] == [_HOLDS]:
        rest = rest[1:]
    expected = _bounded(condition, rest)
    if again and expected.within is None:
        raise UsageError(f"{condition.kind} again needs a limit: within 15s")
    return replace(expected, again=again)


def _count(kind: ConditionKind, about: str, words: Sequence[str]) -> Expectation:
    name = words[0]
    reason, words = _reason(kind, words)
    relations = {relation.value: relation for relation in Relation}
    condition = Condition(kind, reason=reason, target=about)
    match words:
        case [_, relation, number, *bound] if (
            relation in relations and _NUMBER.fullmatch(number)
        ):
            expected = Expectation("", "", condition)
            expected = _bounded(condition, bound) if bound else expected
            return replace(expected, relation=relations[relation], number=int(number))
        case _:
            raise UsageError(
                f"{name} needs a relation and a number, as in {name} == 0 "
                f"(relations: {', '.join(relations)})"
            )


def _reason(kind: ConditionKind, words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the reason of an event, empty for other kinds, and the other words."""
    if kind is not ConditionKind.EVENT:
        return "", words
    match words:
        case [first, reason, *rest] if reason[0].isalpha():
            return reason, [first, *rest]
        case _:
            example = "as in event Unhealthy within 20s"
            raise UsageError(f"{words[0]} needs a reason, {example}")


def _bounded(condition: Condition, words: Sequence[str]) -> Expectation:
    """Return an expectation with the limit or duration in `words`."""
    match words:
        case ["within", text]:
            return Expectation("", "", condition, within=_duration(text))
        case ["for", text]:
            return Expectation("", "", condition, lasting=_duration(text))
        case _:
            hints = ("within", "for")
            hint = nearest_hint(words[0], hints) if words else ""
            given = f'"{" ".join(words)}"' if words else "nothing"
            raise UsageError(f"needs within 30s or for 2m, but has {given}{hint}")


def _known(word: str, words: dict[str, ConditionKind]) -> ConditionKind:
    if word not in words:
        listed = ", ".join(words if words is _STATES else _FIRST_WORDS)
        hint = nearest_hint(word, _FIRST_WORDS)
        raise UsageError(f'"{word}" is not one of {listed}{hint}')
    return words[word]


def _duration(text: str) -> timedelta:
    length = parse_duration(text)
    if length is None or not length:
        raise UsageError(f'"{text}" is not a duration; write 90s, 5m, 250ms')
    return length


def _find_target(text: str, pods: Sequence[Pod]) -> str:
    """Resolve a pod, `pod/container` or container to `pod` or `pod/container`.

    Raises:
        UsageError: the name is unknown or ambiguous.
    """
    if "/" in text or any(pod.name == text for pod in pods):
        find_pods(text, pods)
        return text
    owners = [pod.name for pod in pods if pod.container(text) is not None]
    if len(owners) > 1:
        forms = ", ".join(f"{owner}/{text}" for owner in owners)
        raise UsageError(f'several pods have a container "{text}": say {forms}')
    if owners:
        return f"{owners[0]}/{text}"
    names = [pod.name for pod in pods]
    names += [name for pod in pods for name in pod.container_names()]
    known = list(dict.fromkeys(names))
    raise UsageError(
        f'no pod and no container is called "{text}" (has: {", ".join(known)})'
        f"{nearest_hint(text, known)}"
    )


def parse_action(text: str, place: str, pods: Sequence[Pod]) -> CaseAction:
    """Parse the action after `after`.

    Raises:
        UsageError: the text is not an action, or names an unknown container or probe.
    """
    words = text.split()
    joined = " ".join(words)
    if len(words) == 1 and (length := parse_duration(words[0])) is not None:
        return CaseAction(joined, place, ActionKind.WAIT, lasting=length)
    kinds = {kind.value: kind for kind in ActionKind if kind is not ActionKind.WAIT}
    if not words or words[0] not in kinds:
        first = words[0] if words else ""
        raise UsageError(
            f'"{first}" is not one of {", ".join(kinds)}, or a duration'
            f"{nearest_hint(first, kinds)}"
        )
    kind = kinds[words[0]]
    if len(words) == 1:
        names = (name for pod in pods for name in pod.container_names())
        example = f"{kind} {next(names, 'app')}"
        raise UsageError(f"{kind} needs a container, as in {example}")
    pod, container = _find_container(words[1], pods)
    action = CaseAction(joined, place, kind, pod.name, container)
    rest = words[2:]
    if kind is ActionKind.INJECT:
        return _inject(action, pod, rest)
    if kind is ActionKind.DELAY:
        return _delay(action, pod, rest)
    if rest and kind in UNDOING:
        action = replace(action, lasting=_duration(rest[0]))
        rest = rest[1:]
    if rest:
        raise UsageError(f'{kind} does not take "{" ".join(rest)}"')
    return action


def _inject(action: CaseAction, pod: Pod, words: Sequence[str]) -> CaseAction:
    results = {result.value: result for result in Injected}
    match words:
        case [type_name, result]:
            times = "1"
        case [type_name, result, times]:
            pass
        case _:
            raise UsageError(
                "inject needs a probe and a result, as in "
                f"inject {action.container} liveness failure 3"
            )
    probe_type = _probe_type(type_name, action, pod)
    if result not in results:
        hint = nearest_hint(result, results)
        raise UsageError(f'"{result}" is not one of {", ".join(results)}{hint}')
    if not _NUMBER.fullmatch(times) or not 0 < int(times) <= _MOST_TIMES:
        raise UsageError(f'"{times}" is not a number of ticks from 1 to {_MOST_TIMES}')
    return replace(
        action, probe_type=probe_type, result=results[result], times=int(times)
    )


def _delay(action: CaseAction, pod: Pod, words: Sequence[str]) -> CaseAction:
    if words and parse_duration(words[0]) is None:
        action = replace(action, probe_type=_probe_type(words[0], action, pod))
        words = words[1:]
    match words:
        case [delay]:
            return replace(action, delay=_duration(delay))
        case [delay, lasting]:
            return replace(action, delay=_duration(delay), lasting=_duration(lasting))
        case _:
            raise UsageError(
                f"delay needs a length, as in delay {action.container} readiness 3s; "
                "a second one says for how long"
            )


def _probe_type(word: str, action: CaseAction, pod: Pod) -> ProbeType:
    if word not in _PROBE_TYPES:
        hint = nearest_hint(word, _PROBE_TYPES)
        raise UsageError(f'"{word}" is not one of {", ".join(_PROBE_TYPES)}{hint}')
    probe_type = _PROBE_TYPES[word]
    container = pod.container(action.container)
    if container is None or container.probe(probe_type) is None:
        raise UsageError(f"{action.pod}/{action.container} has no {word} probe")
    return probe_type


def _find_container(text: str, pods: Sequence[Pod]) -> tuple[Pod, str]:
    target = _find_target(text, pods)
    (pod, *_), container = find_pods(target, pods)
    if container:
        return pod, container
    names = pod.container_names()
    if len(names) > 1:
        forms = ", ".join(f"{pod.name}/{name}" for name in names)
        raise UsageError(f"{pod.name} has several containers: say {forms}")
    return pod, names[0]
