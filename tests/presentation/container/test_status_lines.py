"""What is being done to a container, besides its probes (UX-05)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from probetui.k8s.probe import SleepAction
from probetui.kubelet.journal import ExitCause, StoppingSnapshot
from probetui.presentation.container.status_lines import (
    container_lines,
    format_stopping,
)
from probetui.presentation.container.table import state
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
def test_what_a_person_did_to_it_is_said_instead_of_that_it_runs(
    fields: dict[str, Any], in_short: str, in_words: str
) -> None:
    pod = demo(container=fields)
    container = pod.containers[0]

    lines = [text_of(line).strip() for line in container_lines(pod, container, VIEW)]

    assert state(pod, container, VIEW).text == in_short
    assert in_words in lines
