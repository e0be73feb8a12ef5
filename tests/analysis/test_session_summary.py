"""The summary of a session: its figures, and which container fared worst."""

from __future__ import annotations

from typing import Any

from probetui.analysis.causes.kinds import CauseKind as Kind
from probetui.analysis.session_summary import SessionSummary, summarize_session
from probetui.k8s.pod import Pod, RestartPolicy
from probetui.kubelet_rules import PORTED_RULES
from tests.analysis.causes.bench import STUBBORN, exits
from tests.builders import START, a_container, a_pod, a_probe, at
from tests.drive.engine_bench import FAILS, SUCCEEDS, EngineBench, always, probing

PROBED = a_container(
    liveness_probe=a_probe(period_seconds=2), readiness_probe=a_probe(period_seconds=2)
)


def summarized(pod: Pod, seconds: float, **script: Any) -> SessionSummary:
    bench = EngineBench(pod, **script)
    bench.run_until(seconds)
    return summarize_session(bench.journal, [pod], START, at(seconds), PORTED_RULES)


def test_a_session_in_which_nothing_failed_has_no_worst_container() -> None:
    summary = summarized(a_pod(PROBED), 20)

    assert summary == SessionSummary(at(20) - START, 0, 0, None)


def test_a_pod_that_has_done_its_work_is_no_trouble() -> None:
    pod = a_pod(a_container(), restart_policy=RestartPolicy.NEVER)

    summary = summarized(pod, 20, lives={"app": (exits(0),)})

    assert summary.worst is None


def test_kills_and_restarts_are_counted_and_the_last_kill_is_the_worst() -> None:
    failing = probing(liveness=always(FAILS), readiness=always(SUCCEEDS))

    summary = summarized(a_pod(PROBED), 15, probing=failing)

    assert (summary.kills, summary.restarts) == (2, 2)
    assert summary.worst is not None
    assert summary.worst.cause.kind is Kind.KILLED_BY_LIVENESS


def test_what_was_before_a_session_is_not_counted_as_of_it() -> None:
    failing = probing(liveness=always(FAILS), readiness=always(SUCCEEDS))
    pod, bench = a_pod(PROBED), EngineBench(a_pod(PROBED), probing=failing)
    bench.run_until(11)
    before = len(bench.journal)
    bench.run_until(15)

    summary = summarize_session(
        bench.journal, [pod], at(11), at(15), PORTED_RULES, before
    )

    assert summary.lasted == at(15) - at(11)
    assert (summary.kills, summary.restarts) == (1, 1)
    assert summary.worst is not None
    assert summary.worst.cause.kind is Kind.KILLED_BY_LIVENESS


def test_a_container_that_was_killed_is_worse_than_one_that_is_not_ready() -> None:
    late = a_container("late", image="late:1", readiness_probe=a_probe())
    pod = a_pod(late, PROBED)
    failing = probing(liveness=always(FAILS), readiness=always(FAILS))

    summary = summarized(pod, 30, probing=failing)

    assert summary.worst is not None
    assert summary.worst.container.name == "app"


def test_what_failed_for_a_while_is_told_as_of_then() -> None:
    recovers = probing(
        liveness=always(SUCCEEDS),
        readiness=lambda seconds: FAILS if 5 < seconds < 15 else SUCCEEDS,
    )

    summary = summarized(a_pod(PROBED), 40, probing=recovers)

    assert (summary.kills, summary.restarts) == (0, 0)
    assert summary.worst is not None
    assert summary.worst.cause.kind is Kind.READINESS_PROBE_FAILS
    assert summary.worst.until is not None
    assert at(10) < summary.worst.until < at(16)


def test_of_two_that_failed_for_a_while_the_one_that_failed_oftener_is_worse() -> None:
    often, rare = (
        a_container(name, readiness_probe=a_probe(period_seconds=period))
        for name, period in (("often", 1), ("rare", 4))
    )
    recovers = probing(
        readiness=lambda seconds: FAILS if 5 < seconds < 15 else SUCCEEDS
    )

    for containers in ((often, rare), (rare, often)):
        summary = summarized(a_pod(*containers), 40, probing=recovers)

        assert summary.worst is not None
        assert summary.worst.container == often


def test_a_container_that_is_being_killed_is_the_worst() -> None:
    failing = probing(liveness=always(FAILS), readiness=always(SUCCEEDS))

    summary = summarized(a_pod(PROBED), 9, probing=failing, lives={"app": (STUBBORN,)})

    assert summary.kills == 1
    assert summary.worst is not None
    assert summary.worst.cause.kind is Kind.SIGTERM_IGNORED


def test_a_container_that_was_never_created_is_the_worst() -> None:
    pod = a_pod(init_containers=(a_container("seed"),))

    summary = summarized(pod, 9, lives={"seed": (STUBBORN,)})

    assert summary.worst is not None
    assert summary.worst.container.name == "app"
    assert summary.worst.cause.kind is Kind.WAITS_FOR_INIT_CONTAINER
