"""`why` says why a container is not ready."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from probetui.drive.scenario.behavior import InstanceBehavior, ProbeAnswer
from probetui.engine.inputs import DeletePod
from probetui.k8s.pod import Pod, RestartPolicy
from probetui.presentation.container.why import report_explanations, why_report
from tests.builders import a_container, a_pod, an_exec_probe
from tests.drive.engine_bench import (
    ERRS,
    FAILS,
    SUCCEEDS,
    EngineBench,
    always,
    in_turn,
    probing,
)
from tests.presentation.container.test_why import case_of, past_of


def a_probed_pod(policy: RestartPolicy = RestartPolicy.ALWAYS, **fields: Any) -> Pod:
    probe = an_exec_probe(period_seconds=5, **fields)
    return a_pod(a_container("app", readiness_probe=probe), restart_policy=policy)


def explained(
    pod: Pod, *, delete_at: float | None = None, seconds: float = 40, **script: Any
) -> list[str]:
    """Return the first explanation of a session's `why`, line by line."""
    bench = EngineBench(pod, **script)
    if delete_at is not None:
        bench.run_until(delete_at)
        bench.send(DeletePod(pod.uid))
    bench.run_until(seconds)
    past = past_of(bench.journal)
    context = case_of(past, pod)
    first, *_ = report_explanations(context, past, pod.uid)
    assert why_report(context, past, pod.uid)[0] == first.subject
    return [first.subject, *first.sentences]


def readiness(answer: Callable[[float], ProbeAnswer]) -> dict[str, Any]:
    return {"probing": probing(readiness=answer)}


def test_a_container_that_fails_its_probe_shows_the_run_and_the_last_answer() -> None:
    first, last, outlook = explained(a_probed_pod(), **readiness(always(FAILS)))

    assert first.startswith("web/app is not ready: its readiness probe failed ")
    assert " times in a row since " in first
    assert last == "because the probe failed after 0ms: not well"
    assert outlook == (
        "One success of its readiness probe, and it is ready; no failure of this probe "
        "restarts it."
    )


def test_a_container_that_has_failed_once_has_no_run() -> None:
    first, *_ = explained(a_probed_pod(), seconds=1, **readiness(always(FAILS)))

    assert "failed once at " in first


def test_successes_before_the_threshold_are_counted() -> None:
    pod = a_probed_pod(success_threshold=20, failure_threshold=1)

    first, outlook = explained(pod, **readiness(in_turn(FAILS, SUCCEEDS)))

    assert "its readiness probe succeeded " in first
    assert first.endswith(" of 20 times in a row")
    assert "successes in a row of its readiness probe, and it is ready" in outlook


def test_a_probe_that_cannot_run_counts_as_nothing() -> None:
    first, last, _ = explained(a_probed_pod(), **readiness(always(ERRS)))

    assert first.endswith(
        "its readiness probe could not be run, which counts as neither a success nor a "
        "failure"
    )
    assert "cannot be run" in last


def test_a_probe_that_has_not_run_yet_names_its_delay() -> None:
    first, *_ = explained(a_probed_pod(initial_delay_seconds=300))

    assert first == (
        "web/app is not ready: its readiness probe has not run yet, as "
        "initialDelaySeconds is 300; its next tick is due at 12:05:02.0"
    )


def test_a_startup_probe_comes_before_readiness() -> None:
    pod = a_pod(
        a_container(
            "app",
            startup_probe=an_exec_probe(period_seconds=5, failure_threshold=30),
            readiness_probe=an_exec_probe(period_seconds=5),
        )
    )

    first, _, outlook, kill = explained(pod, probing=probing(startup=always(FAILS)))

    assert "its startup probe failed " in first
    assert " of 30 times in a row" in first
    assert outlook == (
        "One success of its startup probe, and it counts as started; its other probes "
        "wait for that."
    )
    assert "more failures in a row, and it is killed, at " in kill


def test_of_a_deleted_container_it_says_how_it_was_and_nothing_of_the_future() -> None:
    first, because, end = explained(
        a_probed_pod(), delete_at=30, seconds=100, **readiness(always(FAILS))
    )

    assert first.startswith("web/app was not ready: its readiness probe failed ")
    assert because == "because the probe failed after 0ms: not well"
    assert end == "That was so until its pod was deleted at 12:00:30.0."


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(readiness(always(SUCCEEDS)), id="ready"),
        pytest.param(
            {
                **readiness(always(FAILS)),
                "lives": {"app": (InstanceBehavior(timedelta(seconds=20)),)},
            },
            id="exited by itself",
        ),
    ],
)
def test_a_container_that_is_ready_or_not_running_is_not_called_unready(
    script: dict[str, Any],
) -> None:
    lines = explained(a_probed_pod(RestartPolicy.NEVER), **script)

    assert "not ready" not in "\n".join(lines)


def test_a_container_without_probes_is_ready() -> None:
    first, *_ = explained(a_pod(a_container("app")))

    assert first == "web/app is up and ready; it was started at 12:00:00.0"
