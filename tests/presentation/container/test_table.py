"""Pods and containers as cells of a table."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.engine.snapshot import BackoffSnapshot, PodSnapshot, ProbeSnapshot
from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.status import (
    ContainerState,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.journal import ExitCause, StoppingSnapshot
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from probetui.presentation.container.table import (
    container_cells,
    most_urgent_state,
    object_name,
    pod_names,
)
from probetui.presentation.container.table import (
    state as state_of,
)
from probetui.presentation.text.spans import text_of
from tests.presentation.looking import VIEW
from tests.ticks import DEMO_KEY, LIVENESS, NOW
from tests.tui.snapshots import (
    DEMO,
    a_container_snapshot,
    a_pod_snapshot,
    a_probe_snapshot,
    shop,
)

_SECOND = timedelta(seconds=1)
STOPPING = StoppingSnapshot(NOW - 7 * _SECOND, 30, "pod", ExitCause.LIVENESS)
BACKOFF = BackoffSnapshot(20 * _SECOND, None, NOW + 71 * _SECOND, 40 * _SECOND)


def pod_with_container(operation: str = "", **fields: Any) -> PodSnapshot:
    probe = a_probe_snapshot(DEMO_KEY, LIVENESS, "s", **fields.pop("probe", {}))
    container = a_container_snapshot(DEMO.containers[0], probe, **fields)
    return a_pod_snapshot(DEMO, container, operation=operation)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        pytest.param(Running(NOW - 41 * _SECOND), "Running 41s", id="running"),
        pytest.param(Running(), "Running", id="running since nobody knows when"),
        pytest.param(Waiting("CrashLoopBackOff"), "Back-off", id="crash loop"),
        pytest.param(Waiting("ImagePullBackOff"), "Pull back-off", id="pull"),
        pytest.param(Waiting("PodInitializing"), "Initializing", id="waiting"),
        pytest.param(Waiting(), "Waiting", id="waiting without a reason"),
        pytest.param(Terminated(0, "Completed"), "Exited 0", id="completed"),
        pytest.param(Terminated(0), "Exited 0", id="completed without a reason"),
        pytest.param(Terminated(3, "Error"), "Exited 3", id="error"),
        pytest.param(
            Terminated(137, "OOMKilled"), "Out of memory 137", id="out of memory"
        ),
        pytest.param(Waiting("ErrImagePull"), "Pull failed", id="pull failed"),
        pytest.param(Waiting("SomeReason"), "SomeReason", id="any other reason"),
    ],
)
def test_the_state_of_a_container(state: ContainerState, words: str) -> None:
    pod = pod_with_container(state=state)

    assert text_of(container_cells(pod, pod.containers[0], VIEW).state) == words


SIDECAR = Container("sql-proxy", "proxy:1", restart_policy=RestartPolicy.ALWAYS)
SEED = Container("seed", "seed:1")


@pytest.mark.parametrize(
    ("init", "of_init", "words"),
    [
        pytest.param(
            SEED, {"state": Running()}, "Waiting for seed", id="init container runs"
        ),
        pytest.param(
            SEED,
            {"state": Terminated(1, "Error")},
            "Waiting for seed",
            id="init container has failed",
        ),
        pytest.param(
            SEED,
            {"state": Terminated(0, "Completed")},
            "Initializing",
            id="init container is through",
        ),
        pytest.param(
            SIDECAR,
            {"state": Waiting("CrashLoopBackOff"), "started": False},
            "For sql-proxy",
            id="sidecar in back-off, in a narrow column",
        ),
        pytest.param(
            SIDECAR, {"started": True}, "Initializing", id="sidecar has started up"
        ),
    ],
)
def test_a_container_waits_for_the_init_container_before_it(
    init: Container, of_init: dict[str, Any], words: str
) -> None:
    started = of_init.pop("started", True)
    before = a_container_snapshot(init, is_init=True, **of_init)
    assert before.status is not None
    before = replace(before, status=replace(before.status, started=started))
    app = a_container_snapshot(DEMO.containers[0], state=Waiting("PodInitializing"))
    pod = a_pod_snapshot(replace(DEMO, init_containers=(init,)), before, app)

    assert text_of(container_cells(pod, app, VIEW).state) == words


def test_a_container_of_a_failed_pod_waits_for_nothing() -> None:
    before = a_container_snapshot(SEED, state=Terminated(1, "Error"), is_init=True)
    app = a_container_snapshot(DEMO.containers[0], state=Waiting("PodInitializing"))
    pod = a_pod_snapshot(
        replace(DEMO, init_containers=(SEED,)),
        *(before, app),
        status=PodStatus(PodPhase.FAILED),
    )

    assert text_of(container_cells(pod, app, VIEW).state) == "Initializing"


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        pytest.param(Terminated(0, "Completed"), "ended", id="container has ended"),
        pytest.param(Waiting("PodInitializing"), "·", id="container is still to come"),
    ],
)
def test_a_missing_worker_has_left_only_if_its_container_ended(
    state: ContainerState, shown: str
) -> None:
    pod = pod_with_container(state=state, probe={"worker_alive": False, "ticks": 0})

    cells = container_cells(pod, pod.containers[0], VIEW)

    assert text_of(cells.probes[0]) == shown


GOING: dict[str, Any] = {"state": PodWorkerState.TERMINATING}


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        pytest.param(pod_with_container(), "✓ ready", id="all is well"),
        pytest.param(
            pod_with_container(ready=False),
            "Running 41s",
            id="not ready, and no probe why",
        ),
        pytest.param(
            pod_with_container(probe={"muted": True}),
            "L ✓ ok M",
            id="a choice is not hidden",
        ),
        pytest.param(
            pod_with_container(frozen_since=NOW - 9 * _SECOND), "Frozen 9s", id="frozen"
        ),
        pytest.param(
            pod_with_container(stopping=STOPPING), "Stopping", id="being stopped"
        ),
        pytest.param(
            replace(pod_with_container(), **GOING),
            "Terminating",
            id="pod being deleted",
        ),
        pytest.param(
            replace(pod_with_container(stopping=STOPPING), **GOING),
            "Stopping",
            id="both of them",
        ),
        pytest.param(
            pod_with_container(state=Waiting("CrashLoopBackOff")),
            "Back-off",
            id="crash loop",
        ),
        pytest.param(
            pod_with_container("pulling x 40%", state=Waiting("ContainerCreating")),
            "Pulling x 40%",
            id="image on its way",
        ),
        pytest.param(
            pod_with_container(
                state=Terminated(0, "Completed"), probe={"worker_alive": False}
            ),
            "Exited 0",
            id="over",
        ),
        pytest.param(
            replace(shop(), containers=shop().containers[:1]),
            "R ✓ 1/2",
            id="readiness before a delay",
        ),
    ],
)
def test_a_narrow_cell_has_the_most_important_word(
    pod: PodSnapshot, words: str
) -> None:
    assert text_of(most_urgent_state(pod, pod.containers[0], VIEW)) == words


@pytest.mark.parametrize(
    ("operated_on", "words"),
    [
        pytest.param("db", "Waiting for db", id="another container"),
        pytest.param(DEMO.containers[0].name, "Hook of app runs", id="this one"),
    ],
)
def test_a_container_that_does_not_exist_yet_is_not_called_running(
    operated_on: str, words: str
) -> None:
    """A postStart hook of an earlier container holds up the others."""
    pod = replace(
        pod_with_container("hook of app runs", state=Waiting("ContainerCreating")),
        operation_container=operated_on,
    )

    assert state_of(pod, pod.containers[0], VIEW).text == words


def test_a_waiting_container_shows_the_operation_of_its_pod() -> None:
    pod = pod_with_container("pulling busybox 40%", state=Waiting("ContainerCreating"))

    assert text_of(container_cells(pod, pod.containers[0], VIEW).state) == (
        "Pulling 40%"
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [
        pytest.param(Running(NOW - 41 * _SECOND), "Running 41s", id="seconds"),
        pytest.param(Running(NOW - 242 * _SECOND), "Running 4m02s", id="minutes"),
        pytest.param(Running(NOW - 9_000 * _SECOND), "Running 2h30m", id="hours"),
        pytest.param(Waiting("CrashLoopBackOff"), "Back-off", id="crash loop"),
        pytest.param(Waiting("ContainerCreating"), "Creating", id="creating"),
        pytest.param(
            Waiting("CreateContainerConfigError"), "Config error", id="bad config"
        ),
        pytest.param(Terminated(137, "OOMKilled"), "Out of memory", id="out of memory"),
        pytest.param(Terminated(3, "Error"), "Exited 3", id="error"),
    ],
)
def test_a_state_is_a_short_word_in_a_narrow_column(
    state: ContainerState, words: str
) -> None:
    pod = pod_with_container(state=state)

    cells = container_cells(pod, pod.containers[0], VIEW, state_room=13)

    assert text_of(cells.state) == words


def test_a_container_without_a_status_is_waiting() -> None:
    pod = pod_with_container(status=None)

    cells = container_cells(pod, pod.containers[0], VIEW)

    assert text_of(cells.state) == "Waiting"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({}, "3.1s", id="next tick"),
        pytest.param({"stopping": STOPPING}, "23s", id="what is left of the grace"),
        pytest.param({"backoff": BACKOFF}, ">71s", id="retry"),
        pytest.param(
            {
                "state": Waiting("ImagePullBackOff"),
                "next_pull_at": NOW + timedelta(seconds=33),
            },
            ">33s",
            id="pull",
        ),
        pytest.param(
            {"state": Waiting("ErrImagePull"), "next_pull_at": NOW},
            "sync",
            id="pull at the next sync",
        ),
        pytest.param(
            {"next_pull_at": NOW + timedelta(seconds=33)}, "3.1s", id="pulled"
        ),
        pytest.param({"probe": {"next_tick_at": None}}, "-", id="nothing"),
        pytest.param({"probe": {"in_flight_since": NOW}}, "now", id="in flight"),
        pytest.param(
            {"probe": {"in_flight_since": NOW, "is_result_held": True}},
            "paused",
            id="a result is held back",
        ),
        pytest.param({"probe": {"is_held_back": True}}, "3.1s", id="paused, not due"),
        pytest.param(
            {"probe": {"is_held_back": True, "next_tick_at": NOW}}, "paused", id="held"
        ),
    ],
)
def test_what_comes_next(fields: dict[str, Any], words: str) -> None:
    pod = pod_with_container(**fields)

    assert text_of(container_cells(pod, pod.containers[0], VIEW).next) == words


def test_a_sidecar_is_called_one() -> None:
    pod = shop()

    kinds = [container_cells(pod, container, VIEW).kind for container in pod.containers]

    assert kinds == ["sidecar", "", "", ""]


def test_escape_sequences_in_names_are_harmless() -> None:
    pod = a_pod_snapshot(
        replace(DEMO, name="[red]\x1b[31m"),
        a_container_snapshot(Container("a\nb")),
    )

    assert container_cells(pod, pod.containers[0], VIEW).name == "a⏎b"


def test_a_namespace_is_shown_only_if_names_are_ambiguous() -> None:
    pods = [Pod("1", "web"), Pod("2", "web", "other"), Pod("3", "db")]

    assert pod_names(pods) == {"1": "default:web", "2": "other:web", "3": "db"}


@pytest.mark.parametrize(
    ("uid", "container", "name"),
    [
        pytest.param("1", "app", "web/app", id="a container"),
        pytest.param("1", "", "web", id="the pod itself"),
        pytest.param("9", "app", "9/app", id="a pod that nobody knows"),
    ],
)
def test_the_name_of_an_object(uid: str, container: str, name: str) -> None:
    assert object_name({"1": "web"}, uid, container) == name


def test_probes_of_a_pod_that_is_deleted_have_ended() -> None:
    probe = ProbeSnapshot(DEMO_KEY, LIVENESS)
    pod = a_pod_snapshot(DEMO, a_container_snapshot(DEMO.containers[0], probe))

    for state, words in (
        (PodWorkerState.SYNC, "·"),
        (PodWorkerState.TERMINATING, "ended"),
    ):
        shown = replace(pod, state=state)
        cells = container_cells(shown, shown.containers[0], VIEW)
        assert text_of(cells.probes[0]) == words
