"""What is being done to a container, besides its probes (UX-05)."""

from __future__ import annotations

from dataclasses import replace

from probetui.k8s.probe import SleepAction
from probetui.kubelet.journal import By
from probetui.kubelet.snapshot import StoppingSnapshot
from probetui.presentation.container_detail import stopping_words
from tests.presentation.looking import VIEW
from tests.tui.states import clock, demo

STOPPING = StoppingSnapshot(clock("08:21:00"), 30, "pod", By.LIVENESS)


def test_a_container_without_a_hook_gets_sigterm_at_once() -> None:
    container = demo(container={"stopping": STOPPING}).containers[0]

    assert stopping_words(container, VIEW) == (
        "SIGTERM 08:21:00, SIGKILL 08:21:30, 23s of 30s grace left (pod)"
    )


def test_a_container_with_a_hook_gets_sigterm_after_it() -> None:
    container = demo(container={"stopping": STOPPING}).containers[0]
    hooked = replace(container.container, pre_stop=SleepAction(3))

    words = stopping_words(replace(container, container=hooked), VIEW)

    assert words == (
        "preStop, then SIGTERM, SIGKILL 08:21:30, 23s of 30s grace left (pod)"
    )
