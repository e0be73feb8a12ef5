"""The instance whose log is shown (kubectl logs, with and without --previous)."""

from __future__ import annotations

import pytest

from probetui.engine.snapshot import ContainerSnapshot
from probetui.k8s.pod import Container
from probetui.k8s.runtime import NO_CONTAINER, ContainerID
from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.presentation.container.logs import (
    LogTarget,
    current_log,
    previous_log,
)
from tests.ticks import FIRST, SECOND

ENDED = Terminated(1, container_id=FIRST)


def a_container(
    state: ContainerState | None, last: ContainerState | None = None
) -> ContainerSnapshot:
    status = ContainerStatus("app", SECOND, state, last)
    return with_status(status)


def with_status(status: ContainerStatus | None) -> ContainerSnapshot:
    return ContainerSnapshot(
        Container("app"),
        is_init=False,
        status=status,
        probes=(),
        stopping=None,
        backoff=None,
        last_exit=None,
    )


@pytest.mark.parametrize(
    ("container", "target"),
    [
        pytest.param(a_container(Running(), ENDED), LogTarget(SECOND), id="running"),
        pytest.param(a_container(Terminated(0)), LogTarget(SECOND), id="ended"),
        pytest.param(
            a_container(Waiting("CrashLoopBackOff"), ENDED),
            LogTarget(FIRST),
            id="waiting for its next start",
        ),
        pytest.param(
            a_container(Waiting("ImagePullBackOff")),
            LogTarget(problem="the container is waiting to start: ImagePullBackOff"),
            id="never started",
        ),
        pytest.param(
            a_container(Waiting()),
            LogTarget(problem="the container is waiting to start: no logs yet"),
            id="waiting for nothing",
        ),
        pytest.param(
            with_status(None),
            LogTarget(problem="the container is waiting to start: no logs yet"),
            id="no status",
        ),
    ],
)
def test_the_current_log(container: ContainerSnapshot, target: LogTarget) -> None:
    assert current_log(container) == target


@pytest.mark.parametrize(
    ("container", "container_id"),
    [
        pytest.param(a_container(Running(), ENDED), FIRST, id="running again"),
        pytest.param(a_container(Waiting("x"), ENDED), FIRST, id="waiting"),
        pytest.param(a_container(Running()), NO_CONTAINER, id="the first instance"),
        pytest.param(
            a_container(Running(), Terminated(1)), NO_CONTAINER, id="without an id"
        ),
        pytest.param(with_status(None), NO_CONTAINER, id="no status"),
    ],
)
def test_the_previous_log(
    container: ContainerSnapshot, container_id: ContainerID
) -> None:
    target = previous_log(container)

    assert target.container_id == container_id
    assert bool(target.problem) is not bool(container_id)
