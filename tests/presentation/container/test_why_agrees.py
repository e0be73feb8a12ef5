"""No two sentences of an answer of `why` contradict, however a container ended.

Every kind of exit is simulated with every restart policy, and `why` is called at every
step: at the exit, in back-off, waiting for a sync, running again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, timedelta
from typing import Any

import pytest
from msgspec import Struct, field
from msgspec.structs import replace

from probetui.debugger.commands import ClearBackoff, KillContainer, RestartContainer
from probetui.drive.scenario.behavior import (
    IMMEDIATE,
    CallBehavior,
    InstanceBehavior,
    RuntimeBehavior,
    answer_calls_at_once,
)
from probetui.engine.inputs import Command, DeletePod
from probetui.k8s.pod import Container, Pod, PullPolicy, RestartPolicy
from probetui.k8s.probe import ExecAction
from probetui.kubelet.effects import CreateContainer, PullImage, RunHook, StartContainer
from probetui.kubelet.journal import ContainerEntry, JournalEntry, LifecycleStep
from probetui.presentation.container.why import explain_container
from probetui.presentation.text.view import TimeFormatter, View
from tests.builders import START, a_container, a_pod, a_probe, at
from tests.drive.engine_bench import FAILS, EngineBench, always, probing
from tests.presentation.container.test_why import case_of, past_of

POLICIES = [pytest.param(policy, id=policy.lower()) for policy in RestartPolicy]
PROBE = a_probe(ExecAction(("cat", "/tmp/healthy")), period_seconds=5)
STUBBORN = InstanceBehavior(stops_after=None)


def exits(code: int, seconds: float = 4) -> InstanceBehavior:
    return InstanceBehavior(timedelta(seconds=seconds), exit_code=code)


def fails(kind: type, *, times: int = 2, after: int = 0) -> RuntimeBehavior:
    """Fail `times` calls of a kind, after `after` calls that succeed."""
    calls = [0]

    def answer(call: object) -> CallBehavior:
        if isinstance(call, kind):
            calls[0] += 1
            if after < calls[0] <= after + times:
                return CallBehavior(error="refused: no such host")
        return IMMEDIATE

    return answer


class End(Struct, frozen=True):
    """A way in which a container ends or fails to start."""

    container: Container = field(default_factory=a_container)
    behavior: InstanceBehavior = InstanceBehavior()
    probed: dict[str, Callable[[float], object]] = {}
    calls: RuntimeBehavior = answer_calls_at_once
    commands: dict[float, Callable[[Pod], Command]] = {}
    pod: dict[str, Any] = {}
    is_oom: bool = False


def restart(pod: Pod) -> Command:
    return RestartContainer(pod.uid, "app")


def kill(pod: Pod) -> Command:
    return KillContainer(pod.uid, "app")


def clear(pod: Pod) -> Command:
    return ClearBackoff(pod.uid, "app")


def delete(pod: Pod) -> Command:
    return DeletePod(pod.uid)


LIVE = a_container(liveness_probe=PROBE)
ENDS: dict[str, Callable[[], End]] = {
    "exit 0": lambda: End(behavior=exits(0)),
    "exit 1": lambda: End(behavior=exits(1)),
    "exit 137": lambda: End(behavior=exits(137)),
    "segmentation fault": lambda: End(behavior=exits(139)),
    "out of memory": lambda: End(behavior=exits(137), is_oom=True),
    "after a long time": lambda: End(behavior=exits(1, 700)),
    "liveness": lambda: End(LIVE, probed={"liveness": always(FAILS)}),
    "liveness, stubborn": lambda: End(LIVE, STUBBORN, {"liveness": always(FAILS)}),
    "startup": lambda: End(
        a_container(startup_probe=PROBE), probed={"startup": always(FAILS)}
    ),
    "start error": lambda: End(calls=fails(StartContainer)),
    "create error": lambda: End(calls=fails(CreateContainer)),
    "image error": lambda: End(calls=fails(PullImage)),
    "post-start hook": lambda: End(
        a_container(post_start=ExecAction(("false",))), calls=fails(RunHook)
    ),
    "start error after a run": lambda: End(
        behavior=exits(1), calls=fails(StartContainer, after=1)
    ),
    "create error after a run": lambda: End(
        behavior=exits(1), calls=fails(CreateContainer, after=1)
    ),
    "post-start hook after a run": lambda: End(
        a_container(post_start=ExecAction(("false",))),
        exits(1),
        calls=fails(RunHook, after=1),
    ),
    "image error after a run": lambda: End(
        a_container(image_pull_policy=PullPolicy.ALWAYS),
        exits(1),
        calls=fails(PullImage, after=1),
    ),
    "deletion": lambda: End(LIVE, STUBBORN, commands={12: delete}),
    "deletion in back-off": lambda: End(behavior=exits(1), commands={25: delete}),
    "pre-stop hook": lambda: End(
        a_container(pre_stop=ExecAction(("true",)), liveness_probe=PROBE),
        STUBBORN,
        {"liveness": always(FAILS)},
    ),
    "restart by the user": lambda: End(LIVE, commands={12: restart, 40: restart}),
    "restart of a stubborn one": lambda: End(LIVE, STUBBORN, commands={12: restart}),
    "kill by the user": lambda: End(LIVE, commands={12: kill}),
    "back-off cleared": lambda: End(behavior=exits(1), commands={25: clear}),
    "deadline": lambda: End(LIVE, STUBBORN, pod={"active_deadline_seconds": 12}),
}
CONTRADICTIONS: Sequence[tuple[str, str]] = (
    (r"has not been restarted", r"It was restarted|A restart was tried"),
    (r"It was restarted at", r"\bis in back-off|does not start"),
    (r"not (?:known|recorded)", r"\b(?:is|was) in back-off|without back-off"),
    (r"without back-off", r"(?:is|was) in back-off until"),
    (
        r"^It (?:exited by itself|ended with the exit code of)",
        r"began to stop it|a user asked for it|It was killed",
    ),
    (r"pod was deleted", r"is in back-off|Next window"),
    (r"restartPolicy is", r"Next window|\bis in back-off|It was restarted| yet\."),
    (r"set the OOM flag", r"no OOM flag|began to stop it"),
    (r"stopped within the grace period", r"did not stop within|SIGKILL follows"),
    (r"grace period 0s", r"within the grace period"),
    (r"No tick and no exit yet", r"Exit|Tick|back-off|restarted|does not start"),
)


ACROSS: Sequence[tuple[str, str]] = (
    (r"app is up and ready", r"app is in back-off|It is in back-off until|not started"),
    (
        r"has not been restarted: (?:restartPolicy|its pod)",
        r"is restarted by|\bis in back-off|It was restarted at .* by the first",
    ),
    (
        r"was deleted with its pod|That was so until",
        r"is restarted by|One success|SIGKILL follows|\bis in back-off|is tried again",
    ),
    (r"was never created", r"Exit of|Stop of|is created once"),
    (r"could not be started", r"is up and ready"),
    (r"has not been created", r"Exit of|Stop of"),
    (r"being stopped|being killed", r"is up and ready|is restarted by"),
)
"""What may not stand in one answer, in whichever of its paragraphs."""


def answers(end: End, policy: RestartPolicy) -> Iterator[tuple[str, list[str]]]:
    """Yield the instant and the answer at every step of a simulation."""
    pod = a_pod(
        replace(end.container, image="shop:1"), restart_policy=policy, **end.pod
    )
    bench = EngineBench(
        pod,
        lives={"app": (end.behavior,)},
        probing=probing(**end.probed),  # type: ignore[arg-type]  # answers of any type
        dealing=end.calls,
        absent=["shop:1"],
    )
    lasts = (
        800 if end.behavior.lasts and end.behavior.lasts > timedelta(minutes=1) else 90
    )
    orders = dict(end.commands)
    for second in (*range(90), *range(90, lasts, 30)):
        if second in orders:
            bench.send(orders[second](pod))
        bench.run_until(second + 0.5)
        explanations = answer_at(
            flagged(bench.journal, is_oom=end.is_oom), pod, second + 0.5
        )
        yield f"{second}.5s", explanations


def flagged(journal: Sequence[JournalEntry], *, is_oom: bool) -> Sequence[JournalEntry]:
    if not is_oom:
        return journal
    return [
        replace(entry, oom_killed=True)
        if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.EXITED
        else entry
        for entry in journal
    ]


def answer_at(journal: Sequence[JournalEntry], pod: Pod, seconds: float) -> list[str]:
    """Return the answer, a text for each of its subjects."""
    view = View(TimeFormatter(at(seconds), START, zone=UTC))
    context = case_of(past_of(journal), pod, view=view)
    return [
        "\n".join((answer.subject, *answer.sentences))
        for answer in explain_container(context, None)
    ]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ENDS)
def test_no_two_sentences_of_an_answer_contradict(
    name: str, policy: RestartPolicy
) -> None:
    for when, explanations in answers(ENDS[name](), policy):
        whole = "\n".join(explanations)
        for one, other in ACROSS:
            contradict = re.search(one, whole) and re.search(other, whole)
            assert not contradict, f"{when}: {one} beside {other}:\n{whole}"
        for explanation in explanations:
            for one, other in CONTRADICTIONS:
                contradict = re.search(one, explanation) and re.search(
                    other, explanation
                )
                assert not contradict, f"{when}: {one} beside {other}:\n{explanation}"


@pytest.mark.parametrize(
    ("name", "policy", "words"),
    [
        pytest.param(
            "liveness", RestartPolicy.NEVER, "its liveness probe failed 3", id="never"
        ),
        pytest.param(
            "exit 1", RestartPolicy.NEVER, "restartPolicy is Never", id="no restart"
        ),
        pytest.param(
            "exit 0", RestartPolicy.ON_FAILURE, "it exited with 0", id="success"
        ),
        pytest.param(
            "post-start hook", RestartPolicy.ALWAYS, "postStart hook failed", id="hook"
        ),
        pytest.param(
            "deadline",
            RestartPolicy.ALWAYS,
            "longer than activeDeadline",
            id="deadline",
        ),
        pytest.param(
            "deadline",
            RestartPolicy.ALWAYS,
            "grace period 30s (the pod's terminationGracePeriodSeconds",
            id="grace period of a deadline",
        ),
        pytest.param(
            "kill by the user",
            RestartPolicy.ALWAYS,
            "It had no grace period.",
            id="no grace period",
        ),
        pytest.param(
            "image error", RestartPolicy.ALWAYS, "(ErrImagePull): refused", id="image"
        ),
        pytest.param(
            "start error", RestartPolicy.ALWAYS, "(RunContainerError): ref", id="start"
        ),
        pytest.param(
            "create error after a run",
            RestartPolicy.ALWAYS,
            "not been restarted: the runtime refused to create it",
            id="not yet restarted",
        ),
    ],
)
def test_the_cause_is_named(name: str, policy: RestartPolicy, words: str) -> None:
    answered = [explanations for _, explanations in answers(ENDS[name](), policy)]

    assert any(
        words in explanation
        for explanations in answered
        for explanation in explanations
    )
