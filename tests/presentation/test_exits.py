"""How a container ended, and never more than is known of it (UX-02)."""

from __future__ import annotations

from typing import Any

import pytest

from probetui.kubelet.journal import By, ContainerEntry, Lifecycle
from probetui.kubelet.snapshot import LastExit
from probetui.presentation.exits import (
    asked_by,
    exit_in_short,
    exit_words,
    is_after_grace,
    last_exit_words,
    signal_of,
)
from tests.tui.states import FIRST, NOW


def an_exit(exit_code: int, by: By = By.ITSELF, **fields: Any) -> ContainerEntry:
    return ContainerEntry(
        1,
        NOW,
        "uid",
        "app",
        FIRST,
        0,
        Lifecycle.EXITED,
        exit_code=exit_code,
        by=by,
        **fields,
    )


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        pytest.param(
            an_exit(0), "exit 0, ended by itself, no probe asked for it", id="by itself"
        ),
        pytest.param(
            an_exit(137, By.LIVENESS, grace_period_seconds=30),
            "exit 137 (SIGKILL after 30s grace, not OOM), liveness probe",
            id="liveness, after the grace",
        ),
        pytest.param(
            an_exit(143, By.STARTUP, grace_period_seconds=30),
            "exit 143 (SIGTERM), startup probe",
            id="startup, within the grace",
        ),
        pytest.param(
            an_exit(137, oom_killed=True),
            "exit 137 (OOM: out of memory), ended by itself, no probe asked for it",
            id="out of memory",
        ),
        pytest.param(
            an_exit(137),
            "exit 137 (as by SIGKILL, not from here, no OOM flag), "
            "ended by itself, no probe asked for it",
            id="killed by somebody else",
        ),
        pytest.param(
            an_exit(0, By.USER, signal=50),
            "exit 0 (signal 50), restarted by hand",
            id="a signal without a name",
        ),
        pytest.param(an_exit(3, By.DELETE), "exit 3, pod deleted", id="deleted"),
    ],
)
def test_exit_words(entry: ContainerEntry, words: str) -> None:
    assert exit_words(entry) == words


@pytest.mark.parametrize(
    "exit_code", [pytest.param(each, id=str(each)) for each in (1, 137, 139, 143, 255)]
)
def test_out_of_memory_is_said_only_with_the_flag(exit_code: int) -> None:
    assert "out of memory" not in exit_words(an_exit(exit_code))


def test_the_instance_before_is_told_of_without_its_grace() -> None:
    last_exit = LastExit(NOW, 137, By.LIVENESS, "Error", False, FIRST)  # noqa: FBT003  # a field

    assert last_exit_words(last_exit) == (
        "exit 137 (SIGKILL after the grace, not OOM), liveness probe"
    )


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param(
            an_exit(137, By.LIVENESS, grace_period_seconds=30), True, id="killed"
        ),
        pytest.param(
            an_exit(143, By.LIVENESS, grace_period_seconds=30), False, id="in time"
        ),
        pytest.param(an_exit(137), False, id="nobody asked"),
        pytest.param(
            an_exit(137, By.USER, grace_period_seconds=30, oom_killed=True),
            False,
            id="out of memory",
        ),
    ],
)
def test_the_grace_was_used_up(entry: ContainerEntry, expected: bool) -> None:  # noqa: FBT001  # a column
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
    assert signal_of(exit_code) == name


@pytest.mark.parametrize("by", [pytest.param(each, id=each) for each in By])
def test_everybody_who_can_ask_for_an_end_has_words(by: By) -> None:
    assert asked_by(by)


def ended(exit_code: int, by: By, *, oom_killed: bool = False) -> LastExit:
    return LastExit(NOW, exit_code, by, "", oom_killed=oom_killed, container_id=FIRST)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        pytest.param(ended(137, By.LIVENESS), "137 probe", id="liveness"),
        pytest.param(ended(0, By.STARTUP), "0 probe", id="startup"),
        pytest.param(ended(1, By.ITSELF), "1 itself", id="itself"),
        pytest.param(ended(137, By.ITSELF, oom_killed=True), "137 OOM", id="memory"),
        pytest.param(ended(143, By.USER), "143 user", id="user"),
        pytest.param(ended(143, By.DELETE), "143 pod", id="pod deleted"),
        pytest.param(ended(143, By.DEFINITION), "143 spec", id="definition"),
        pytest.param(ended(255, By.POD), "255 pod", id="pod stopped"),
    ],
)
def test_an_end_in_nine_cells(known: LastExit, words: str) -> None:
    assert exit_in_short(known) == words
    assert len(words) <= 9
