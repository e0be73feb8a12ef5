from __future__ import annotations

import pytest

from probetui.k8s.status import ConditionStatus, PodCondition, PodPhase, PodStatus
from probetui.kubelet.journal import StateField
from probetui.kubelet.pod_workers.pod_sync import StatusChange, status_changes
from tests.builders import a_container_status, a_status

TRUE, FALSE, UNKNOWN = ConditionStatus


def changes(old: PodStatus | None, new: PodStatus) -> list[StatusChange]:
    return list(status_changes(old, new))


def test_of_the_first_status_everything_is_new() -> None:
    status = a_status(
        a_container_status(ready=True),
        conditions=(PodCondition("Ready", TRUE),),
    )

    assert changes(None, status) == [
        StatusChange("", "", StateField.PHASE, "", "Running"),
        StatusChange("", "Ready", StateField.CONDITION, "", "True"),
        StatusChange("app", "", StateField.READY, "false", "true"),
        StatusChange("app", "", StateField.STARTED, "false", "true"),
    ]


def test_the_same_again_changes_nothing() -> None:
    status = a_status(a_container_status(ready=True))

    assert changes(status, status) == []


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        pytest.param(
            a_status(),
            a_status(phase=PodPhase.FAILED),
            StatusChange("", "", StateField.PHASE, "Running", "Failed"),
            id="phase",
        ),
        pytest.param(
            a_status(conditions=(PodCondition("Ready", TRUE),)),
            a_status(conditions=(PodCondition("Ready", FALSE),)),
            StatusChange("", "Ready", StateField.CONDITION, "True", "False"),
            id="condition",
        ),
        pytest.param(
            a_status(),
            a_status(conditions=(PodCondition("Ready", UNKNOWN),)),
            StatusChange("", "Ready", StateField.CONDITION, "", "Unknown"),
            id="new-condition",
        ),
        pytest.param(
            a_status(a_container_status(ready=True)),
            a_status(a_container_status(ready=False)),
            StatusChange("app", "", StateField.READY, "true", "false"),
            id="ready",
        ),
        pytest.param(
            a_status(a_container_status(started=None)),
            a_status(a_container_status(started=True)),
            StatusChange("app", "", StateField.STARTED, "false", "true"),
            id="started",
        ),
        pytest.param(
            a_status(),
            a_status(init_container_statuses=(a_container_status("i", started=True),)),
            StatusChange("i", "", StateField.STARTED, "false", "true"),
            id="init-container",
        ),
    ],
)
def test_each_change_is_journaled_with_before_and_after(
    old: PodStatus, new: PodStatus, change: StatusChange
) -> None:
    assert changes(old, new) == [change]


def test_an_unset_value_is_not_distinguished_from_false() -> None:
    old = a_status(a_container_status(started=None))
    new = a_status(a_container_status(started=False))

    assert changes(old, new) == []


def test_other_differences_are_left_to_the_status_itself() -> None:
    old = a_status(
        a_container_status(),
        conditions=(PodCondition("Ready", FALSE, "ContainersNotReady", "[app]"),),
        pod_ip="",
    )
    new = a_status(
        a_container_status(number=1),
        conditions=(PodCondition("Ready", FALSE, "PodFailed"),),
    )

    assert changes(old, new) == []


def test_statuses_that_are_null_have_no_containers() -> None:
    null = a_status(container_statuses=None, init_container_statuses=None)

    assert changes(null, null) == []
