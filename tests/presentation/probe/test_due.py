"""A countdown stops at zero while an overdue step waits for something."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from probetui.engine.snapshot import BackoffSnapshot, PodSnapshot
from probetui.k8s.status import Waiting
from probetui.presentation.container.status_lines import format_backoff_wait
from probetui.presentation.container.table import container_cells
from probetui.presentation.probe.verdict import verdict_of
from probetui.presentation.text.spans import text_of
from tests.presentation.looking import VIEW
from tests.ticks import NOW
from tests.tui.snapshots import demo

_SECOND = timedelta(seconds=1)


def waiting(seconds_left: int) -> Any:
    """Return the demo pod with a container that starts again in `seconds_left`."""
    until = NOW + seconds_left * _SECOND
    backoff = BackoffSnapshot(40 * _SECOND, until - 40 * _SECOND, until, 80 * _SECOND)
    state = Waiting("CrashLoopBackOff")
    return demo(container={"backoff": backoff, "state": state, "ready": False})


def sentence(pod: PodSnapshot) -> str:
    """Return the sentence on the card of the pod's first probe."""
    container = pod.containers[0]
    return verdict_of(pod, container, container.probes[0], VIEW, 40).sentence


@pytest.mark.parametrize(
    ("seconds_left", "cell", "on_the_card", "words"),
    [
        pytest.param(
            14, ">14s", "restart in 14s to 30s", "retry in 14s to 30s", id="before"
        ),
        pytest.param(
            0,
            "sync",
            "restart within 16s",
            "retry within 16s",
            id="at the end",
        ),
        pytest.param(
            -30,
            "sync",
            "restart at the pod's next sync",
            "retry at the pod's next sync",
            id="after",
        ),
    ],
)
def test_a_retry_that_is_due_waits_for_a_pod_sync(
    seconds_left: int, cell: str, on_the_card: str, words: str
) -> None:
    pod = waiting(seconds_left)
    container = pod.containers[0]

    assert text_of(container_cells(pod, container, VIEW).next) == cell
    assert sentence(pod) == on_the_card
    assert words in format_backoff_wait(container, VIEW)


def test_a_tick_that_is_due_is_shown_as_due() -> None:
    pod = demo(next_tick_at=NOW)
    container = pod.containers[0]

    assert text_of(container_cells(pod, container, VIEW).next) == "due"
    assert sentence(pod) == "kill if the probe that is due fails"
