"""Lines about the lifecycle of a container, besides its probes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from probetui.k8s.probe import SleepAction
from probetui.k8s.status import Waiting
from probetui.kubelet.journal import ExitCause, Skip, StoppingSnapshot
from probetui.presentation.container.status_lines import (
    container_lines,
    format_stopping,
    format_waiting,
    operation_lines,
)
from probetui.presentation.container.table import state
from probetui.presentation.probe.verdict import verdict_of
from probetui.presentation.text.spans import text_of
from tests.presentation.looking import VIEW
from tests.tui.snapshots import clock, demo

STOPPING = StoppingSnapshot(clock("08:21:00"), 30, "pod", ExitCause.LIVENESS)


def test_a_container_without_a_hook_gets_sigterm_at_once() -> None:
    container = demo(container={"stopping": STOPPING}).containers[0]

    assert format_stopping(container, VIEW) == (
        "SIGTERM 08:21:00, SIGKILL 08:21:30, 23s of 30s grace left (pod)"
    )


def test_a_container_with_a_hook_gets_sigterm_after_it() -> None:
    container = demo(container={"stopping": STOPPING}).containers[0]
    hooked = replace(container.container, pre_stop=SleepAction(3))

    words = format_stopping(replace(container, container=hooked), VIEW)

    assert words == (
        "preStop, then SIGTERM, SIGKILL 08:21:30, 23s of 30s grace left (pod)"
    )


@pytest.mark.parametrize(
    ("state_now", "next_pull_at", "words"),
    [
        pytest.param(
            Waiting("ErrImagePull", "no such host"),
            "08:21:17",
            "ErrImagePull: no such host, next pull in 10s to 26s",
            id="back-off of the image",
        ),
        pytest.param(
            Waiting("ImagePullBackOff", "no such host"),
            "08:21:01",
            "ImagePullBackOff: no such host, next pull within 10s",
            id="its back-off is over",
        ),
        pytest.param(
            Waiting("RunContainerError", "no such file"),
            "08:21:17",
            "RunContainerError: no such file",
            id="not the image",
        ),
        pytest.param(Waiting("ContainerCreating"), "08:21:17", "", id="on its way"),
        pytest.param(Waiting("CrashLoopBackOff", "x"), "08:21:17", "", id="back-off"),
    ],
)
def test_the_reason_that_a_container_does_not_start_is_shown_with_the_next_try(
    state_now: Waiting, next_pull_at: str, words: str
) -> None:
    pod = demo()
    status = pod.containers[0].status
    assert status is not None
    container = replace(
        pod.containers[0],
        status=replace(status, state=state_now),
        next_pull_at=clock(next_pull_at),
    )

    lines = [text_of(row) for row in operation_lines(pod, container, VIEW)]

    assert format_waiting(container, VIEW) == words
    assert any(words in row for row in lines) is bool(words)


@pytest.mark.parametrize(
    ("fields", "in_short", "in_words"),
    [
        pytest.param(
            {"frozen_since": clock("08:20:55")},
            "Frozen 12s",
            "frozen        for 12s, by you (x unfreezes)",
            id="frozen",
        ),
        pytest.param(
            {"cut_off_since": clock("08:21:00")},
            "Cut off 7s",
            "cut off       for 7s, by you (x restores the network)",
            id="cut off",
        ),
    ],
)
def test_an_injected_fault_is_shown_instead_of_running(
    fields: dict[str, Any], in_short: str, in_words: str
) -> None:
    pod = demo(container=fields)
    container = pod.containers[0]

    lines = [text_of(line).strip() for line in container_lines(pod, container, VIEW)]

    assert state(pod, container, VIEW).text == in_short
    assert in_words in lines


def test_the_verdict_names_what_keeps_the_container_from_starting() -> None:
    pod = demo("n", upcoming_skip=Skip.NOT_RUNNING)
    status = pod.containers[0].status
    assert status is not None
    state_now = Waiting("ErrImagePull", "no such host")
    container = replace(pod.containers[0], status=replace(status, state=state_now))

    verdict = verdict_of(pod, container, container.probes[0], VIEW, 40)

    assert verdict.sentence == "ErrImagePull: no such host"
