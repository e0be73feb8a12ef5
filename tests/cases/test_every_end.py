"""Every end by every policy by every version: no answer is untrue at any second.

A quick run looks at one version and each few seconds, `--sweeps` at all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from probetui.analysis.container_history import SessionHistory
from probetui.drive.scenario.behavior import (
    CallBehavior,
    InstanceBehavior,
    RuntimeBehavior,
)
from probetui.k8s.pod import RestartPolicy
from probetui.k8s.probe import ExecAction
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import Operation, PullImage, Relist, RunHook
from probetui.kubelet_rules import VERSIONS, rules_for_kubelet
from tests.builders import a_container, a_pod, a_probe, at
from tests.cases.truth import Observed, of_summary, untruths
from tests.drive.engine_bench import FAILS, EngineBench, always, probing
from tests.drive.random_sessions import (
    INTERVENTIONS,
    LENGTH_SECONDS,
    USUAL,
    SessionPlan,
    plans,
    simulate,
)
from tests.presentation.container.test_why_agrees import (
    ENDS,
    LIVE,
    PROBE,
    STUBBORN,
    End,
    delete,
    exits,
    fails,
)

SECONDS = 90
Lives = dict[str, tuple[InstanceBehavior, ...]]
COMPARED = [
    version for version in VERSIONS if VERSIONS.index(version) >= VERSIONS.index("1.20")
]


def takes(kind: type, seconds: float) -> RuntimeBehavior:
    """Let each call of a kind take so long."""

    def answer(call: Operation | Relist) -> CallBehavior:
        lasts = timedelta(seconds=seconds) if isinstance(call, kind) else timedelta()
        return CallBehavior(lasts)

    return answer


SIDECAR = a_container(
    "proxy", restart_policy=RestartPolicy.ALWAYS, startup_probe=PROBE, image="proxy:1"
)
INIT = a_container("seed", image="seed:1")
HOOKED = a_container(
    post_start=ExecAction(("warm-up",)), pre_stop=ExecAction(("drain",))
)
SECOND = a_container("web", image="web:1", readiness_probe=PROBE)

PODS: dict[str, tuple[End, Lives]] = {
    "init container fails": (
        End(pod={"init_containers": (INIT,)}),
        {"seed": (exits(1, 3),)},
    ),
    "init container hangs": (
        End(pod={"init_containers": (INIT,)}),
        {"seed": (STUBBORN,)},
    ),
    "init container, deleted": (
        End(pod={"init_containers": (INIT,)}, commands={12: delete}),
        {"seed": (STUBBORN,)},
    ),
    "sidecar exits": (
        End(pod={"init_containers": (SIDECAR,)}),
        {"proxy": (exits(0, 2),)},
    ),
    "sidecar fails to start up": (
        End(pod={"init_containers": (SIDECAR,)}, probed={"startup": always(FAILS)}),
        {},
    ),
    "sidecar, deleted": (
        End(
            SECOND, STUBBORN, pod={"init_containers": (SIDECAR,)}, commands={20: delete}
        ),
        {"proxy": (STUBBORN,)},
    ),
    "sidecar, deleted at once": (
        End(pod={"init_containers": (SIDECAR,)}, commands={0: delete}),
        {},
    ),
    "hook runs, deleted": (
        End(HOOKED, calls=takes(RunHook, 15), commands={8: delete}),
        {},
    ),
    "hooks of a live one": (
        End(
            replace(HOOKED, liveness_probe=PROBE),
            STUBBORN,
            {"liveness": always(FAILS)},
            calls=takes(RunHook, 6),
        ),
        {},
    ),
    "slow pull, deleted": (
        End(LIVE, calls=takes(PullImage, 30), commands={12: delete}),
        {},
    ),
    "not ready, deleted": (
        End(SECOND, probed={"readiness": always(FAILS)}, commands={40: delete}),
        {},
    ),
    "image of the second": (End(SECOND, calls=fails(PullImage, after=1, times=9)), {}),
}


def instants(
    end: End,
    lives: Lives,
    policy: RestartPolicy,
    version: str,
    step: int,
) -> Iterator[Observed]:
    """Yield the instants of a simulation."""
    rules = rules_for_kubelet(version)
    app = replace(end.container, image="shop:1")
    beside = a_container("beside", image="beside:1", readiness_probe=a_probe())
    pod = a_pod(app, beside, restart_policy=policy, **end.pod)
    bench = EngineBench(
        pod,
        config=KubeletConfig(version=rules.release, queues_while_waiting=True),
        lives={app.name: (end.behavior,), **lives},
        probing=probing(**end.probed),  # type: ignore[arg-type]  # answers of any type
        dealing=end.calls,
        absent=["shop:1"],
        init_life=InstanceBehavior(timedelta(seconds=1)),
    )
    past, read = SessionHistory(bench.simulation.journal), 0
    for second in range(SECONDS):
        if second in end.commands:
            bench.send(end.commands[second](pod))
        bench.run_until(second + 0.5)
        if second % step:
            continue
        entries = bench.simulation.journal
        past.add_entries(entries[read:], read)
        read = len(entries)
        yield Observed(past, entries, at(second + 0.5), rules, (pod,))


def assert_true(observed: Observed) -> None:
    wrong = next(untruths(observed), None)
    assert wrong is None, wrong


NAMES = [*ENDS, *PODS]
SWEPT = [
    (name, version)
    for name in NAMES
    for version in COMPARED
    # Before 1.29 an API server drops the restart policy of an init container.
    if "sidecar" not in name or version in VERSIONS[VERSIONS.index("1.29") :]
]


def an_end(name: str) -> tuple[End, Lives]:
    return PODS[name] if name in PODS else (ENDS[name](), {})


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_is_untrue(name: str) -> None:
    end, lives = an_end(name)
    for observed in instants(end, lives, RestartPolicy.ALWAYS, "1.36", 7):
        assert_true(observed)


@pytest.mark.parametrize("name", NAMES)
def test_no_summary_is_untrue(name: str) -> None:
    end, lives = an_end(name)
    for observed in instants(end, lives, RestartPolicy.ALWAYS, "1.36", 22):
        wrong = next(of_summary(observed), None)
        assert wrong is None, wrong


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "version"), SWEPT)
def test_no_answer_is_untrue_at_any_second_of_any_version(
    name: str, version: str
) -> None:
    for policy in RestartPolicy:
        end, lives = an_end(name)
        for observed in instants(end, lives, policy, version, 1):
            assert_true(observed)


rarely = settings(max_examples=settings().max_examples // 4)
"""A simulation takes longer than an ordinary example."""


@rarely
@given(plans(kinds=(*USUAL, *INTERVENTIONS)))
def test_no_schedule_leaves_a_container_without_a_true_answer(
    plan: SessionPlan,
) -> None:
    bench, _ = simulate(plan)
    rules = plan.config.rules
    slowest = max((call.takes.total_seconds() for call in plan.calls), default=0.0)
    for second in range(1, LENGTH_SECONDS, 8):
        entries = [entry for entry in bench.journal if entry.at <= at(second)]
        past = SessionHistory(entries)
        past.add_entries(entries, 0)
        assert_true(Observed(past, entries, at(second), rules, (plan.pod,), slowest))
