from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimeState
from probetui.k8s.status import (
    ConditionStatus,
    PodCondition,
    PodPhase,
    PodStatus,
)
from probetui.kubelet.kuberuntime.reason_cache import ReasonCache
from probetui.kubelet.status.generate import (
    generate_api_pod_status,
    past_active_deadline,
)
from tests.builders import a_pod, a_runtime_status, an_instance, at

TRUE, FALSE, _ = ConditionStatus
NEW = PodStatus()
ENDED = an_instance(state=RuntimeState.EXITED)


def all_ready(_pod: Pod, status: PodStatus) -> PodStatus:
    """Stands in for the probe manager of a pod without probes."""
    statuses = status.container_statuses or ()
    ready = tuple(
        replace(container_status, ready=True, started=True)
        for container_status in statuses
    )
    return replace(status, container_statuses=ready)


def generate(
    *instances: RuntimeContainerStatus,
    pod: Pod | None = None,
    published: PodStatus | None = None,
    api_status: PodStatus = NEW,
    ips: tuple[str, ...] = ("10.0.0.2",),
    **choices: Any,
) -> PodStatus:
    return generate_api_pod_status(
        pod or a_pod(),
        a_runtime_status(*instances, ips=ips),
        published,
        ReasonCache(),
        all_ready,
        api_status=api_status,
        **choices,
    )


def test_a_running_pod_has_all_its_conditions_in_order() -> None:
    status = generate(an_instance())

    assert (status.phase, status.pod_ip) == (PodPhase.RUNNING, "10.0.0.2")
    assert status.qos_class == "BestEffort"
    assert [(condition.type, condition.status) for condition in status.conditions] == [
        ("PodReadyToStartContainers", TRUE),
        ("Initialized", TRUE),
        ("Ready", TRUE),
        ("ContainersReady", TRUE),
        ("PodScheduled", TRUE),
    ]


def test_conditions_follow_the_results_of_probes() -> None:
    status = generate_api_pod_status(
        a_pod(),
        a_runtime_status(an_instance()),
        None,
        ReasonCache(),
        lambda _pod, generated: generated,
        api_status=NEW,
    )

    ready = status.condition("Ready")
    assert ready is not None
    assert ready.message == "containers with unready status: [app]"


def test_conditions_of_others_stay_in_front() -> None:
    others = PodCondition("x.io/gate", TRUE)
    api_status = PodStatus(conditions=(others, PodCondition("Ready", FALSE)))

    status = generate(an_instance(), api_status=api_status)

    assert status.conditions[0] is others
    assert sum(condition.type == "Ready" for condition in status.conditions) == 1


@pytest.mark.parametrize(
    "given",
    [
        pytest.param((), id="new"),
        pytest.param((PodCondition("DisruptionTarget", FALSE),), id="replaced"),
        pytest.param((PodCondition("x.io/gate", TRUE),), id="behind-others"),
    ],
)
def test_a_published_disruption_is_kept(given: tuple[PodCondition, ...]) -> None:
    disruption = PodCondition("DisruptionTarget", TRUE, "TerminationByKubelet")
    published = PodStatus(conditions=(disruption,))

    status = generate(
        an_instance(), published=published, api_status=PodStatus(conditions=given)
    )

    types = [condition.type for condition in status.conditions]
    assert types.count("DisruptionTarget") == 1
    assert status.condition("DisruptionTarget") is disruption


@pytest.mark.parametrize(
    ("ips", "expected"),
    [
        pytest.param((), (), id="none"),
        pytest.param(("fd00::1", "10.0.0.2"), ("10.0.0.2", "fd00::1"), id="four-first"),
        pytest.param(("10.0.0.2", "10.0.0.3"), ("10.0.0.2",), id="one-of-a-family"),
        pytest.param(("fd00::1",), ("fd00::1",), id="only-six"),
        pytest.param(("nonsense",), (), id="no-address"),
    ],
)
def test_the_addresses_of_a_pod(
    ips: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    status = generate(an_instance(), ips=ips)

    assert status.pod_ips == expected
    assert status.pod_ip == next(iter(expected), "")


@pytest.mark.parametrize("kept_by", ["published", "api_status"])
def test_a_pod_that_has_ended_does_not_come_back(kept_by: str) -> None:
    ended = {kept_by: PodStatus(PodPhase.SUCCEEDED)}

    status = generate(an_instance(), **ended)  # type: ignore[arg-type]  # one of two names

    assert status.phase is PodPhase.SUCCEEDED


def test_the_api_server_has_the_last_word_on_how_a_pod_ended() -> None:
    status = generate(
        ENDED,
        pod=a_pod(restart_policy=RestartPolicy.NEVER),
        api_status=PodStatus(PodPhase.FAILED),
    )

    assert status.phase is PodPhase.FAILED


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        pytest.param(
            PodStatus(PodPhase.RUNNING, reason="R", message="M"), ("R", "M"), id="same"
        ),
        pytest.param(
            PodStatus(PodPhase.PENDING, reason="R", message="M"), ("", ""), id="other"
        ),
    ],
)
def test_reason_and_message_belong_to_a_phase(
    published: PodStatus, expected: tuple[str, str]
) -> None:
    status = generate(an_instance(), published=published)

    assert (status.reason, status.message) == expected


def test_the_reason_may_come_with_the_pod() -> None:
    status = generate(
        an_instance(),
        published=PodStatus(PodPhase.RUNNING),
        api_status=PodStatus(PodPhase.RUNNING, reason="R", message="M"),
    )

    assert (status.reason, status.message) == ("R", "M")


def test_the_quality_of_service_does_not_change() -> None:
    status = generate(an_instance(), api_status=PodStatus(qos_class="Burstable"))

    assert status.qos_class == "Burstable"


def test_a_pod_past_its_deadline_has_failed() -> None:
    status = generate(an_instance(), is_past_deadline=True)

    assert (status.phase, status.reason) == (PodPhase.FAILED, "DeadlineExceeded")
    assert status.message == (
        "Pod was active on the node longer than the specified deadline"
    )


def test_a_terminated_pod_has_ended() -> None:
    assert generate(ENDED, is_terminal=True).phase is PodPhase.SUCCEEDED


@pytest.mark.parametrize(
    ("deadline", "started", "expected"),
    [
        pytest.param(60, True, True, id="reached"),
        pytest.param(61, True, False, id="not-yet"),
        pytest.param(None, True, False, id="none"),
        pytest.param(1, False, False, id="not-started"),
    ],
)
def test_when_a_deadline_is_past(
    deadline: int | None,
    started: bool,  # noqa: FBT001  # a column of the table
    expected: bool,  # noqa: FBT001  # a column of the table
) -> None:
    pod = a_pod(active_deadline_seconds=deadline)
    status = PodStatus(start_time=at(0) if started else None)

    assert past_active_deadline(pod, status, at(60)) is expected
