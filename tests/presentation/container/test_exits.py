"""Texts about exits, which never claim more than is known."""

from __future__ import annotations

from typing import Any

import pytest

from probetui.kubelet.journal import ContainerEntry, ExitCause, LastExit, LifecycleStep
from probetui.presentation.container.exits import (
    EXIT_CELLS,
    exit_cause,
    format_exit,
    format_exit_cell,
    format_last_exit,
    is_after_grace,
    signal_name,
    stop_reason_text,
)
from tests.ticks import FIRST, NOW


def an_exit(
    exit_code: int, by: ExitCause = ExitCause.ITSELF, **fields: Any
) -> ContainerEntry:
    return ContainerEntry(
        1,
        NOW,
        "uid",
        "app",
        FIRST,
        0,
        LifecycleStep.EXITED,
        exit_code=exit_code,
        by=by,
        **fields,
    )


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        pytest.param(an_exit(0), "exit 0, exited by itself", id="by itself"),
        pytest.param(
            an_exit(127, reason="ContainerCannotRun"),
            "exit 127, could not be started",
            id="never started, on Docker",
        ),
        pytest.param(
            an_exit(128, reason="StartError"),
            "exit 128, could not be started",
            id="never started, on containerd",
        ),
        pytest.param(
            an_exit(137, ExitCause.LIVENESS, grace_period_seconds=30),
            "exit 137 (SIGKILL after 30s grace, not OOM), liveness probe",
            id="liveness, after the grace",
        ),
        pytest.param(
            an_exit(143, ExitCause.STARTUP, grace_period_seconds=30),
            "exit 143 (SIGTERM), startup probe",
            id="startup, within the grace",
        ),
        pytest.param(
            an_exit(137, oom_killed=True),
            "exit 137 (OOM: out of memory)",
            id="out of memory",
        ),
        pytest.param(
            an_exit(3, oom_killed=True),
            "exit 3 (OOM: out of memory), exited by itself",
            id="out of memory in a child process",
        ),
        pytest.param(
            an_exit(137),
            "exit 137 (SIGKILL not sent by the kubelet, no OOM flag)",
            id="killed by somebody else",
        ),
        pytest.param(
            an_exit(0, ExitCause.USER, signal=50),
            "exit 0 (signal 50), stopped by you",
            id="a signal without a name",
        ),
        pytest.param(an_exit(3, ExitCause.DELETE), "exit 3, pod deleted", id="deleted"),
    ],
)
def test_the_text_of_an_exit(entry: ContainerEntry, words: str) -> None:
    assert format_exit(entry) == words


@pytest.mark.parametrize(
    "exit_code", [pytest.param(code, id=str(code)) for code in (1, 137, 139, 143, 255)]
)
def test_out_of_memory_is_reported_only_with_the_flag(exit_code: int) -> None:
    assert "out of memory" not in format_exit(an_exit(exit_code))


def test_the_previous_instance_is_described_without_its_grace_period() -> None:
    last_exit = LastExit(NOW, 137, ExitCause.LIVENESS, "Error", False, FIRST)  # noqa: FBT003  # a field,

    assert format_last_exit(last_exit) == (
        "exit 137 (SIGKILL after the grace, not OOM), liveness probe"
    )


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        pytest.param(
            an_exit(137, ExitCause.USER), "SIGKILL, not OOM", id="killed at once"
        ),
        pytest.param(
            an_exit(128, reason="StartError"), "could not be started", id="start"
        ),
        pytest.param(an_exit(0, ExitCause.USER), "stopped by you", id="its process"),
        pytest.param(
            an_exit(0, ExitCause.USER, grace_period_seconds=30),
            "ended within its grace, stopped by you",
            id="as the kubelet does",
        ),
    ],
)
def test_no_grace_period_is_shown_if_none_was_given(
    entry: ContainerEntry, words: str
) -> None:
    assert exit_cause(entry) == words


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param(
            an_exit(137, ExitCause.LIVENESS, grace_period_seconds=30), True, id="killed"
        ),
        pytest.param(
            an_exit(143, ExitCause.LIVENESS, grace_period_seconds=30),
            False,
            id="in time",
        ),
        pytest.param(an_exit(137), False, id="nobody asked"),
        pytest.param(
            an_exit(137, ExitCause.USER, grace_period_seconds=30, oom_killed=True),
            False,
            id="out of memory",
        ),
    ],
)
def test_whether_the_grace_period_was_used_up(
    entry: ContainerEntry,
    expected: bool,  # noqa: FBT001  # a column
) -> None:
    assert is_after_grace(entry) is expected


@pytest.mark.parametrize(
    ("exit_code", "name"),
    [
        pytest.param(137, "SIGKILL", id="kill"),
        pytest.param(139, "SIGSEGV", id="segmentation fault"),
        pytest.param(128, "", id="no signal"),
        pytest.param(255, "", id="not a signal"),
    ],
)
def test_the_signal_behind_an_exit_code(exit_code: int, name: str) -> None:
    assert signal_name(exit_code) == name


@pytest.mark.parametrize("by", [pytest.param(cause, id=cause) for cause in ExitCause])
def test_every_cause_of_an_exit_has_a_text(by: ExitCause) -> None:
    assert stop_reason_text(by)


def ended(
    exit_code: int, by: ExitCause, *, reason: str = "", oom_killed: bool = False
) -> LastExit:
    return LastExit(
        NOW, exit_code, by, reason, oom_killed=oom_killed, container_id=FIRST
    )


@pytest.mark.parametrize(
    ("known", "words"),
    [
        pytest.param(
            ended(137, ExitCause.LIVENESS), "killed by probe (137)", id="liveness"
        ),
        pytest.param(ended(0, ExitCause.STARTUP), "killed by probe (0)", id="startup"),
        pytest.param(ended(1, ExitCause.ITSELF), "exited by itself (1)", id="itself"),
        pytest.param(
            ended(137, ExitCause.ITSELF, oom_killed=True),
            "out of memory (137)",
            id="memory",
        ),
        pytest.param(
            ended(128, ExitCause.ITSELF, reason="StartError"),
            "start failed (128)",
            id="start",
        ),
        pytest.param(ended(143, ExitCause.USER), "stopped by you (143)", id="user"),
        pytest.param(
            ended(143, ExitCause.DELETE), "pod deleted (143)", id="pod deleted"
        ),
        pytest.param(
            ended(143, ExitCause.DEFINITION), "spec changed (143)", id="definition"
        ),
        pytest.param(ended(255, ExitCause.POD), "pod stopped (255)", id="pod stopped"),
    ],
)
def test_an_exit_in_a_cell(known: LastExit, words: str) -> None:
    assert format_exit_cell(known) == words
    assert len(words) <= EXIT_CELLS
