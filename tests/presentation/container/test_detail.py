"""The selection: a container, one of its probes, one of its ticks."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.timeline import Timeline
from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot
from probetui.k8s.probe import ProbeType
from probetui.kubelet.outcome import Result
from probetui.presentation.container.card import lone_card_lines
from probetui.presentation.container.detail import (
    Subject,
    choose_probe,
    container_title,
    probe_summary,
    probe_tabs,
    with_last_run,
)
from probetui.presentation.text.spans import text_of
from tests.presentation.looking import VIEW
from tests.tui.snapshots import demo, shop


def the_subject(pod: PodSnapshot, wanted: ProbeType | None = None) -> Subject:
    container = pod.containers[0]
    return Subject(pod, container, choose_probe(container, wanted))


@pytest.mark.parametrize(
    ("wanted", "in_letters", "shown"),
    [
        pytest.param(None, False, " liveness [readiness]", id="not the first"),
        pytest.param(None, True, " L [R]", id="letters"),
    ],
)
def test_the_probe_that_is_shown_is_in_brackets(
    wanted: ProbeType | None,
    in_letters: bool,  # noqa: FBT001  # a column of the table
    shown: str,
) -> None:
    subject = the_subject(shop(), ProbeType.READINESS)

    assert (
        text_of(probe_tabs(subject, in_letters=in_letters)).replace("  ", " ") == shown
    )


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        pytest.param(ProbeType.READINESS, ProbeType.READINESS, id="the wanted one"),
        pytest.param(ProbeType.STARTUP, ProbeType.LIVENESS, id="not defined"),
        pytest.param(None, ProbeType.LIVENESS, id="the first"),
    ],
)
def test_the_probe_to_show(wanted: ProbeType | None, found: ProbeType) -> None:
    probe = choose_probe(shop_with(), wanted)

    assert probe is not None
    assert probe.key.probe_type is found


FAILS = {"last_result": Result.FAILURE, "stored_result": Result.SUCCESS}
READY = {"stored_result": Result.SUCCESS, "last_result": Result.SUCCESS}


def shop_with(**changed: dict[str, Any]) -> ContainerSnapshot:
    """Return a container whose probes all succeed, with changed fields."""
    container = shop().containers[0]
    return replace(
        container,
        probes=tuple(
            replace(
                probe,
                **{**READY, "result_run": 5, "error_run": 0}
                | changed.get(probe.key.probe_type.lower(), {}),
            )
            for probe in container.probes
        ),
    )


@pytest.mark.parametrize(
    ("changed", "shown", "found"),
    [
        pytest.param({}, None, ProbeType.LIVENESS, id="the first"),
        pytest.param({}, ProbeType.READINESS, ProbeType.READINESS, id="stays"),
        pytest.param(
            {"readiness": {**FAILS, "result_run": 1}},
            ProbeType.LIVENESS,
            ProbeType.READINESS,
            id="counts towards not ready",
        ),
        pytest.param(
            {"readiness": {"stored_result": Result.FAILURE}},
            None,
            ProbeType.READINESS,
            id="not ready",
        ),
        pytest.param(
            {"readiness": {"error_run": 2}},
            None,
            ProbeType.READINESS,
            id="errors",
        ),
        pytest.param(
            {
                "liveness": {**FAILS, "result_run": 1},
                "readiness": {"stored_result": Result.FAILURE},
            },
            ProbeType.READINESS,
            ProbeType.LIVENESS,
            id="nearest to a kill",
        ),
        pytest.param(
            {"liveness": {"on_hold": True, "stored_result": Result.FAILURE}},
            ProbeType.READINESS,
            ProbeType.LIVENESS,
            id="kills",
        ),
    ],
)
def test_the_probe_that_matters_most_is_shown(
    changed: dict[str, dict[str, Any]], shown: ProbeType | None, found: ProbeType
) -> None:
    probe = choose_probe(shop_with(**changed), None, shown)

    assert probe is not None
    assert probe.key.probe_type is found


def test_title_and_summary() -> None:
    subject = the_subject(demo())

    assert (container_title(subject, VIEW), probe_summary(subject, VIEW)) == (
        "demo/liveness",
        "exec every 5s, 3 failures",
    )


def test_the_last_run_of_a_worker_that_has_left_is_known() -> None:
    past = Timeline.of(demo("|ssfn").containers[0].probes[0].history)
    subject = the_subject(demo("", worker_alive=False, stored_result=None))
    assert subject.probe is not None
    probe = with_last_run(subject.probe, past)
    subject = replace(subject, probe=probe, timeline=past)

    lines = [text_of(line) for line in lone_card_lines(subject, VIEW, 76, 5)]

    assert lines[0].startswith("NOT PROBED")
    assert lines[3].startswith("last ✗ exit 1 in 34ms  cat: ")
    assert "skipped: container not running" in lines[4]


def test_a_worker_that_probes_has_its_own_last_run() -> None:
    subject = the_subject(demo())
    assert subject.probe is not None

    assert with_last_run(subject.probe, Timeline.of(())) is subject.probe


def test_a_worker_that_left_without_a_run_has_none() -> None:
    past = Timeline.of(demo("|dd").containers[0].probes[0].history)
    subject = the_subject(demo("", worker_alive=False))
    assert subject.probe is not None

    assert with_last_run(subject.probe, past).last_run is None
