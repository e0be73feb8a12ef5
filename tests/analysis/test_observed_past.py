"""What `why` says of an instant that lies between samples, beside what was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random

import pytest
from msgspec.structs import replace

from probetui.analysis.causes.answer import explain
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.observed_past import history_at
from probetui.analysis.readiness import why_not_ready
from probetui.cluster.observe.sampled_container import ANSWER_SECONDS, Sample
from probetui.cluster.prometheus.fleet import StoredContainer
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import ConditionStatus, PodCondition
from probetui.kubelet.journal import (
    ContainerEntry,
    ExitCause,
    Gate,
    JournalEntry,
    LifecycleStep,
    StatusEntry,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import PORTED_RULES
from probetui.presentation.cause.answer import explain_answer
from probetui.presentation.text.view import TimeFormatter, View
from tests.builders import (
    START,
    a_container,
    a_container_status,
    a_key,
    a_pod,
    a_probe,
    a_status,
    at,
)
from tests.cluster.observe.sampled_pods import (
    INTERVALS,
    Faults,
    Story,
    a_life_that_hangs,
    a_pod_that_hangs,
    a_random_life,
    a_random_pod,
    simulate,
)
from tests.cluster.prometheus.test_past_of_simulations import journal_of, stored
from tests.ticks import a_tick, changed_tick

_SECONDS = 1200.0
_PODS = 4
_TIMES = 40
_KNOWN = 0.7
"""Of how many containers kube-state-metrics has starts, and ends."""
_NO_FAULTS = Faults(knows_process=True)
_SOME = Faults(jitter=2.0, lost=0.1, knows_process=True)
_A_SECOND = 1.0
"""An instant is meant to the second, as that of statuses is."""
_BOUNDS = re.compile(r"between (\d\d:\d\d:\d\d\.\d) and (\d\d:\d\d:\d\d\.\d)")


def first_line(entries: list[JournalEntry], story: Story, at: float) -> str:
    instant = datetime.fromtimestamp(at, UTC)
    times = TimeFormatter(instant, datetime.fromtimestamp(0, UTC), zone=UTC)
    past = history_at(entries, instant)
    pod = story.pod
    answer = explain(pod, pod.containers[0], past, instant, PORTED_RULES)
    return next(explain_answer(answer, "app", View(times))).subject


def is_ready(story: Story, at: float) -> bool:
    return [(0.0, False), *(each for each in story.ready if each[0] <= at)][-1][1]


def states(story: Story, at: float) -> Iterator[bool]:
    """Yield each readiness in the second that begins at an instant."""
    yield is_ready(story, at)
    yield from (ready for when, ready in story.ready if at < when <= at + _A_SECOND)


def runs(story: Story, at: float) -> bool:
    """Return whether an instance ran, by the whole seconds of statuses."""
    began = max([when for _, when in story.starts if when <= at], default=-1.0)
    ended = max([when for _, when, _ in story.ends if when <= at], default=-1.0)
    return began > ended or (began == ended >= 0)


def is_contradicted(line: str, story: Story, at: float) -> bool:
    """Return whether a first line says what was not so, or has no bounds of it."""
    if any(words in line for words in ("was up, and", "was either", "had either")):
        bounds = _BOUNDS.search(line)
        assert bounds is not None, line
        first, last = bounds.groups()
        now = f"{datetime.fromtimestamp(at, UTC):%H:%M:%S.%f}"[:10]
        return not first <= now <= last
    if " is up and ready" in line or " is up, and" in line:
        return True not in states(story, at)
    if " is not ready" in line:
        return False not in states(story, at)
    if " is not running" in line or "has not been" in line:
        return all(runs(story, at + part) for part in (0.0, 0.5, 1.0))
    return False


@pytest.mark.parametrize("faults", [_NO_FAULTS, _SOME], ids=["calm", "faults"])
@pytest.mark.parametrize("interval", INTERVALS)
def test_the_first_line_of_why_never_contradicts_what_was(
    interval: float, faults: Faults
) -> None:
    chance, wrong, said = Random(3), list[str](), list[str]()
    for place in range(_PODS):
        of_both = (a_pod_that_hangs, a_life_that_hangs)
        if place % 2:
            of_both = (a_random_pod, a_random_life)
        story = simulate(chance, _SECONDS, faults, *of_both)
        container = stored(story, interval, faults, chance)
        if chance.random() < _KNOWN:
            container = replace(container, starts=starts_of(story, container))
        if chance.random() > _KNOWN:
            container = replace(container, ends=())
        entries = journal_of(story, container)
        readiness = container.samples.ready
        first = max(readiness[0].at, container.samples.restarts[0].at) + ANSWER_SECONDS
        for _ in range(_TIMES):
            at = chance.uniform(first, readiness[-1].at)
            line = first_line(entries, story, at)
            said.append(line)
            if is_contradicted(line, story, at):
                wrong.append(f"{place} {at:.1f} {line}")
    assert not wrong, "\n".join(wrong)
    assert sum(" is up and ready" in line for line in said) > len(said) / 5


def starts_of(story: Story, container: StoredContainer) -> tuple[Sample, ...]:
    """Return the samples of when the instance that runs was started."""
    found = []
    for sample in container.samples.restarts:
        known = [began for seen, began in story.starts if seen <= sample.at]
        if known:
            found.append(Sample(sample.at, known[-1]))
    return tuple(found)


def test_one_success_of_a_startup_probe_is_enough_in_any_order() -> None:
    container = a_container(startup_probe=a_probe(), liveness_probe=a_probe())
    key = a_key(ProbeType.STARTUP)

    mixed = a_tick(key, START, stored_after=Result.FAILURE)

    assert why_not_ready(container, {ProbeType.STARTUP: mixed}) is None


def a_stop(sequence: int, seconds: float, by: ExitCause, name: str) -> ContainerEntry:
    """Return a stop that was between an instant and ten seconds later."""
    return ContainerEntry(
        sequence,
        at(seconds + 10),
        "uid-of-web",
        name,
        ContainerID(f"sim://{name}"),
        0,
        LifecycleStep.STOPPING,
        by=by,
        not_before=at(seconds),
        not_after=at(seconds + 10),
    )


@pytest.mark.parametrize(
    ("now", "is_known", "is_undecided", "ticks"),
    [
        pytest.param(9, False, False, 0, id="before"),
        pytest.param(10, False, False, 0, id="as-it-may-begin"),
        pytest.param(11, True, True, 1, id="within"),
        pytest.param(19.9, True, True, 1, id="still-within"),
        pytest.param(20, True, False, 1, id="as-it-is-sure"),
    ],
)
def test_a_stop_that_may_have_been_is_known_with_the_failure_that_asked_for_it(
    now: float, *, is_known: bool, is_undecided: bool, ticks: int
) -> None:
    key = a_key()
    entries: list[JournalEntry] = [
        changed_tick(a_tick(key, at(15), "f"), sequence=1),
        a_stop(2, 10, ExitCause.LIVENESS, "app"),
        a_stop(3, 12, ExitCause.LIVENESS, "beside"),
        changed_tick(a_tick(key, at(15), "f"), sequence=4),
        a_stop(5, 60, ExitCause.LIVENESS, "later"),
    ]

    past = history_at(entries, at(now))

    app = past.container("uid-of-web", "app").instances
    assert bool(app) is is_known
    assert past.container("uid-of-web", "later").instances == ()
    assert past.undecided is not None
    assert (("uid-of-web", "app") in past.undecided) is is_undecided
    known = [*past.timeline(key).ran_backwards()]
    # One that came after the stop is known by then alone.
    later = [4] * (now >= 15)
    assert [tick.sequence for tick in known] == later + [1] * ticks


@pytest.mark.parametrize(
    ("ready", "kind"),
    [
        pytest.param(ConditionStatus.FALSE, CauseKind.BETWEEN_SAMPLES, id="not-ready"),
        pytest.param(None, CauseKind.BETWEEN_SAMPLES, id="no-condition"),
        pytest.param(ConditionStatus.UNKNOWN, CauseKind.READY, id="nobody-knows"),
    ],
)
def test_a_container_that_is_not_ready_by_its_samples_has_no_other_reason(
    ready: ConditionStatus | None, kind: CauseKind
) -> None:
    pod = a_pod(container := a_container(liveness_probe=a_probe()))
    own = a_container_status(ready=False)
    container_id = ContainerID(own.container_id)
    conditions = () if ready is None else (PodCondition("Ready", ready),)
    entries: list[JournalEntry] = [
        ContainerEntry(
            1, at(0), pod.uid, "app", container_id, 0, LifecycleStep.STARTED
        ),
        changed_tick(
            a_tick(a_key(), at(1), container_id=container_id),
            sequence=2,
            gates=(Gate("source", "counters", passed=True),),
        ),
        StatusEntry(3, at(2), pod.uid, a_status(own, conditions=conditions)),
    ]

    past = history_at(entries, at(5))

    assert explain(pod, container, past, at(5), PORTED_RULES).now.kind is kind
