"""`why` says why a container is not ready."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, timedelta
from typing import Any

import pytest

from probetui.analysis.container_history import SessionHistory
from probetui.drive.scenario.behavior import InstanceBehavior, ProbeAnswer
from probetui.engine.inputs import DeletePod
from probetui.k8s.pod import Pod, RestartPolicy
from probetui.presentation.container.why import report_explanations, why_report
from probetui.presentation.text.view import TimeFormatter, View
from probetui.presentation.tick.why import WhyContext
from tests.builders import START, a_container, a_pod, an_exec_probe
from tests.drive.engine_bench import (
    ERRS,
    FAILS,
    SUCCEEDS,
    EngineBench,
    always,
    in_turn,
    probing,
)

VIEW = View(TimeFormatter(START, START, zone=UTC))
SUBJECT = "Readiness of web/app"


def a_probed_pod(policy: RestartPolicy = RestartPolicy.ALWAYS, **fields: Any) -> Pod:
    probe = an_exec_probe(period_seconds=5, **fields)
    return a_pod(a_container("app", readiness_probe=probe), restart_policy=policy)


def explained(
    pod: Pod, *, delete_at: float | None = None, seconds: float = 40, **script: Any
) -> list[str]:
    """Return what a session's `why` says of readiness, as sentences."""
    bench = EngineBench(pod, **script)
    if delete_at is not None:
        bench.run_until(delete_at)
        bench.send(DeletePod(pod.uid))
    bench.run_until(seconds)
    past = SessionHistory(bench.journal)
    past.add_entries(bench.journal, 0)
    context = WhyContext(
        pod,
        "web/app",
        "app",
        past.pod_ip(pod.uid),
        past.container(pod.uid, "app"),
        VIEW,
    )
    explanations = report_explanations(context, past, pod.uid)
    lines = why_report(context, past, pod.uid)
    about = [given for given in explanations if given.subject == SUBJECT]
    assert (f"  {SUBJECT}" in lines) == bool(about)
    return [sentence for given in about for sentence in given.sentences]


def readiness(answer: Callable[[float], ProbeAnswer]) -> dict[str, Any]:
    return {"probing": probing(readiness=answer)}


def test_a_container_that_fails_its_probe_shows_the_run_and_the_last_answer() -> None:
    first, outlook = explained(a_probed_pod(), **readiness(always(FAILS)))

    assert first.startswith("It is not ready: its readiness probe failed ")
    assert " times in a row since " in first
    assert first.endswith("the last one failed after 0ms: not well.")
    assert outlook == (
        "One success, and it is ready. No failure of this probe restarts it."
    )


def test_a_container_that_has_failed_once_has_no_run() -> None:
    first, _ = explained(a_probed_pod(), seconds=1, **readiness(always(FAILS)))

    assert "failed once; the last one" in first


def test_successes_before_the_threshold_are_counted() -> None:
    pod = a_probed_pod(success_threshold=20, failure_threshold=1)

    first, outlook = explained(pod, **readiness(in_turn(FAILS, SUCCEEDS)))

    assert "its readiness probe succeeded " in first
    assert first.endswith(" of 20 times in a row.")
    assert outlook.startswith("20 successes in a row, and it is ready.")


def test_a_probe_that_cannot_run_counts_as_nothing() -> None:
    first, meaning, _ = explained(a_probed_pod(), **readiness(always(ERRS)))

    assert "its readiness probe could not run" in first
    assert "cannot be run" in first
    assert (
        meaning == "A probe that cannot run counts as neither a success nor a failure."
    )


def test_a_probe_that_has_not_run_yet_names_its_delay() -> None:
    first, _ = explained(a_probed_pod(initial_delay_seconds=300))

    assert first == (
        "It is not ready: its readiness probe has not run yet, as initialDelaySeconds "
        "is 300."
    )


def test_a_startup_probe_comes_before_readiness() -> None:
    pod = a_pod(
        a_container(
            "app",
            startup_probe=an_exec_probe(period_seconds=5, failure_threshold=30),
            readiness_probe=an_exec_probe(period_seconds=5),
        )
    )

    first, outlook = explained(pod, probing=probing(startup=always(FAILS)))

    assert "its startup probe failed " in first
    assert outlook == (
        "One success, and it counts as started; its other probes wait for that."
    )


def test_of_a_deleted_container_it_says_how_it_was_and_nothing_of_the_future() -> None:
    sentences = explained(
        a_probed_pod(), delete_at=30, seconds=100, **readiness(always(FAILS))
    )

    (sentence,) = sentences
    assert sentence.startswith("It was not ready when deleted: its readiness")


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
def test_a_container_that_is_ready_or_not_running_is_not_explained(
    script: dict[str, Any],
) -> None:
    assert explained(a_probed_pod(RestartPolicy.NEVER), **script) == []


def test_a_container_without_probes_is_ready() -> None:
    assert explained(a_pod(a_container("app"))) == []
