"""What is fitted of one container, and the commands that prove it."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from probetui.analysis.container_fit import (
    ContainerFit,
    ProbedContainer,
    fit_container,
)
from probetui.analysis.probe_fit import (
    FitGoal,
    LivenessFit,
    MeasuredProbe,
    NotFitted,
    StartEvidence,
    StartupFit,
)
from probetui.k8s.probe import Probe, ProbeType
from tests.builders import an_exec_probe

RECORDED = an_exec_probe("check", period_seconds=5, timeout_seconds=2)
GOAL = FitGoal(timedelta(days=1), timedelta(minutes=5))
HOUR = timedelta(hours=1)


def probed(**records: object) -> ProbedContainer:
    probes = {ProbeType.LIVENESS: RECORDED, ProbeType.STARTUP: RECORDED}
    return ProbedContainer("shop", "web", "app", probes, **records)  # type: ignore[arg-type]


def liveness(probe: Probe) -> LivenessFit:
    return LivenessFit(probe, 0.1, HOUR, HOUR)


def fit_of(
    own: LivenessFit | NotFitted | None, startup: StartupFit | NotFitted
) -> ContainerFit:
    container = probed(records=["a.jsonl", "b c.jsonl", "a.jsonl"])
    return ContainerFit(container, None, StartEvidence(), own, startup)


def test_each_record_is_tried_once_with_all_that_is_changed() -> None:
    fit = fit_of(
        liveness(replace(RECORDED, failure_threshold=7, period_seconds=4)),
        StartupFit(replace(RECORDED, failure_threshold=20), HOUR),
    )

    options = (
        "--set web/app.startupProbe.failureThreshold=20 "
        "--set web/app.livenessProbe.periodSeconds=4 "
        "--set web/app.livenessProbe.failureThreshold=7"
    )
    assert list(fit.proofs()) == [
        f"probetui whatif a.jsonl {options}",
        f"probetui whatif 'b c.jsonl' {options}",
    ]
    assert list(fit.probes) == ["startupProbe", "livenessProbe"]
    assert fit.missing == ()


def test_settings_that_stay_as_they_are_need_no_proof() -> None:
    fit = fit_of(liveness(RECORDED), NotFitted(("a start is missing",)))

    assert list(fit.proofs()) == ["the recorded settings are already these"]
    assert fit.probes == {"livenessProbe": RECORDED}
    assert fit.missing == ("startupProbe: a start is missing",)


def test_without_a_fit_there_is_nothing_to_prove() -> None:
    fit = fit_of(NotFitted(("one", "two")), NotFitted(("three",)))

    assert list(fit.proofs()) == []
    assert fit.missing == (
        "livenessProbe: one",
        "livenessProbe: two",
        "startupProbe: three",
    )


def test_nothing_is_missing_of_a_probe_that_it_does_not_have() -> None:
    container = ProbedContainer("shop", "web", "app", {ProbeType.LIVENESS: RECORDED})

    fit = fit_container(container, GOAL)

    assert [text.partition(":")[0] for text in fit.missing] == ["livenessProbe"]


def life(first: float, count: int = 60) -> list[MeasuredProbe]:
    """Return the probes of an instance that is up at an age, each taking 0.4 s."""
    ages = [first - 1, *(first + 5 * number for number in range(count))]
    return [MeasuredProbe(age, age >= first, 0.4) for age in ages]


def test_starts_are_measured_by_the_startup_probe_where_there_is_one() -> None:
    lives = {
        ProbeType.STARTUP: [life(age, 1) for age in (8.0, 8.0, 8.0, 8.0, 8.0)],
        ProbeType.LIVENESS: [life(20.0), life(20.0)],
    }

    fit = fit_container(probed(lives=lives), GOAL)

    assert fit.starts == StartEvidence((8.0,) * 5)
    assert isinstance(fit.startup, StartupFit)
    assert fit.startup.needed == timedelta(seconds=12)
    assert fit.evidence is not None
    assert fit.evidence.probes == 120
    assert isinstance(fit.liveness, LivenessFit)
    assert fit.liveness.probe.timeout_seconds == 1


def test_without_a_startup_probe_liveness_measures_starts() -> None:
    lives = {ProbeType.LIVENESS: [life(20.0)] * 5}
    container = ProbedContainer(
        "shop", "web", "app", {ProbeType.LIVENESS: RECORDED}, lives, ended=1
    )

    fit = fit_container(container, GOAL)

    assert fit.starts == StartEvidence((20.0,) * 5, unfinished=1)
    assert isinstance(fit.startup, NotFitted)


def test_without_a_liveness_probe_only_starts_are_fitted() -> None:
    lives = {ProbeType.STARTUP: [life(8.0, 1)] * 5}
    container = ProbedContainer(
        "shop", "web", "app", {ProbeType.STARTUP: RECORDED}, lives
    )

    fit = fit_container(container, GOAL)

    assert (fit.evidence, fit.liveness) == (None, None)
    assert list(fit.probes) == ["startupProbe"]
