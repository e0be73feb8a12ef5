"""The exit status of a session."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.headless.verdict import CreationFailures, Verdict, decide_exit_status
from probetui.k8s.event import Event, EventType
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import ContainerStatus, PodStatus, Running, Terminated, Waiting
from probetui.kubelet.journal import (
    ContainerEntry,
    EventEntry,
    JournalEntry,
    LifecycleStep,
)
from tests.builders import a_pod, at
from tests.headless.fake_session import a_snapshot

WEB = a_pod(name="web")


def waiting(reason: str, message: str = "") -> PodStatus:
    status = ContainerStatus("app", state=Waiting(reason, message))
    return PodStatus(container_statuses=(status,))


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict("pods ended", 0),
        Verdict("pods ended", 1, "ended as Failed: db"),
        Verdict("timeout", 4),
    ],
    ids=str,
)
def test_a_container_that_could_not_be_started_gives_status_6(verdict: Verdict) -> None:
    snapshot = a_snapshot((WEB, waiting("ErrImageNeverPull", "image is not here")))

    final = decide_exit_status(verdict, snapshot)

    assert final.exit_status == 6
    assert final.message == (
        "web/app could not be started: ErrImageNeverPull: image is not here"
    )


def event(
    reason: str, message: str = "", kind: EventType = EventType.WARNING
) -> EventEntry:
    return EventEntry(1, at(1), Event(kind, reason, message, WEB.uid, "", at(1)))


CREATED = ContainerEntry(
    1, at(1), WEB.uid, "app", ContainerID("x://1"), 0, LifecycleStep.CREATED
)


@pytest.mark.parametrize(
    ("entries", "status"),
    [
        pytest.param([event("FailedMount", "no claim")], 6, id="a volume"),
        pytest.param([event("FailedMount", "no claim"), CREATED], 4, id="made later"),
        pytest.param(
            [
                event("FailedMount", "no claim"),
                event("Pulling", kind=EventType.NORMAL),
            ],
            4,
            id="being made",
        ),
        pytest.param([event("Unhealthy", "500")], 4, id="another warning"),
    ],
)
def test_a_pod_that_could_not_be_created_gives_status_6_and_the_cause(
    entries: list[JournalEntry], status: int
) -> None:
    failures = CreationFailures()
    for entry in entries:
        failures.observe(entry)
    snapshot = a_snapshot((WEB, waiting("ContainerCreating")))

    final = decide_exit_status(Verdict("timeout", 4), snapshot, failures)

    assert final.exit_status == status
    assert (final.message == "web could not be started: FailedMount: no claim") == (
        status == 6
    )


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict("until", 0),
        Verdict("interrupted", 130),
        Verdict("terminated", 143),
        Verdict("left", 0),
    ],
    ids=str,
)
def test_a_met_condition_a_signal_and_a_key_take_precedence(
    verdict: Verdict,
) -> None:
    snapshot = a_snapshot(
        (WEB, waiting("ErrImagePull")), runtime_error="connection refused"
    )

    assert decide_exit_status(verdict, snapshot) == verdict


def test_a_lost_runtime_gives_status_3() -> None:
    snapshot = a_snapshot(
        (WEB, waiting("ErrImagePull")), runtime_error="connection refused"
    )

    final = decide_exit_status(Verdict("timeout", 4), snapshot)

    assert final.exit_status == 3
    assert final.message == "the runtime does not answer: connection refused"


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(waiting("ContainerCreating"), id="being created"),
        pytest.param(waiting("CrashLoopBackOff"), id="started often enough"),
        pytest.param(
            PodStatus(container_statuses=(ContainerStatus("app", state=Running()),)),
            id="running",
        ),
        pytest.param(PodStatus(container_statuses=None), id="no statuses"),
    ],
)
def test_a_container_that_waits_for_another_reason_changes_nothing(
    status: PodStatus,
) -> None:
    verdict = Verdict("timeout", 4)

    assert decide_exit_status(verdict, a_snapshot((WEB, status))) == verdict


def test_a_container_in_back_off_that_was_never_started_counts() -> None:
    status = ContainerStatus(
        "app",
        state=Waiting("CrashLoopBackOff", "back-off 10s"),
        last_state=Terminated(128, "StartError", "no such file"),
    )

    final = decide_exit_status(
        Verdict("timeout", 4),
        a_snapshot((WEB, PodStatus(container_statuses=(status,)))),
    )

    assert final.exit_status == 6
    assert final.message == "web/app could not be started: StartError: no such file"


def test_a_container_that_has_run_could_not_be_started_again() -> None:
    status = ContainerStatus("app", state=Waiting("CreateContainerError", "no such"))
    snapshot = a_snapshot((WEB, PodStatus(container_statuses=(status,))))
    failures = CreationFailures()
    failures.observe(CREATED)
    before = decide_exit_status(Verdict("timeout", 4), snapshot, failures)

    failures.observe(replace(CREATED, what=LifecycleStep.STARTED))
    after = decide_exit_status(Verdict("timeout", 4), snapshot, failures)

    reason = "CreateContainerError: no such"
    assert before.message == f"web/app could not be started: {reason}"
    assert after.message == f"web/app could not be started again: {reason}"
    assert before.exit_status == after.exit_status == 6


def test_init_containers_count_too() -> None:
    init = ContainerStatus("first", state=Waiting("CreateContainerError", "no"))

    final = decide_exit_status(
        Verdict("timeout", 4),
        a_snapshot((WEB, PodStatus(init_container_statuses=(init,)))),
    )

    assert "web/first" in final.message
