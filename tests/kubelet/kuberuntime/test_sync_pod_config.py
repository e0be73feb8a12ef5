"""What of a container is looked up before it is created."""

from __future__ import annotations

import pytest

from probetui.k8s.environment import FieldRef
from probetui.k8s.pod import Container, EnvVar, Pod, SecurityContext
from probetui.kubelet.effects import CreateContainer, GetImageUser
from probetui.kubelet.kuberuntime.sync_pod import SyncResult
from tests.builders import a_container, a_pod, env
from tests.kubelet.kuberuntime.test_sync_pod import Bench

NON_ROOT = a_container(security_context=SecurityContext(run_as_non_root=True))
POD_IP = EnvVar("IP", has_value_from=True, value_from=FieldRef("status.podIP"))


def created(bench: Bench) -> Container:
    (operation,) = [
        operation
        for operation in bench.result_of_sync
        if isinstance(operation, CreateContainer)
    ]
    return operation.container


def answering(bench: Bench, pod: Pod, user: str | None, error: str | None) -> None:
    """Sync a pod, answering who its image's user is."""
    bench.begin(pod)
    while not isinstance(bench.pending_operations()[0], GetImageUser):
        bench.obey_one()
    bench.answer(user, error=error)
    bench.obey()


def test_a_container_is_created_with_all_resolved_values() -> None:
    bench = Bench()
    app = a_container(args=("$(A)", "$(IP)"), env=(*env(A="1"), POD_IP))

    bench.sync(a_pod(app))

    made = created(bench)
    assert made.args == ("1", "10.0.0.9")
    assert made.env == env(A="1", IP="10.0.0.9")


def test_a_pod_in_the_network_of_its_node_has_the_nodes_address() -> None:
    bench = Bench()

    bench.sync(a_pod(a_container(env=(POD_IP,)), host_network=True))

    assert created(bench).env == env(IP="127.0.0.1")


def test_hooks_and_probes_keep_the_container_as_it_is_written() -> None:
    bench = Bench()
    pod = a_pod(a_container(env=(POD_IP,)))

    bench.sync(pod)

    (operation,) = [
        operation
        for operation in bench.result_of_sync
        if isinstance(operation, CreateContainer)
    ]
    assert operation.pod is pod


def test_a_container_that_cannot_be_made_out_fails_and_others_go_on() -> None:
    bench = Bench()
    bad = a_container(
        env=(EnvVar("A", has_value_from=True, value_from=FieldRef("no.such")),)
    )

    result = bench.sync(a_pod(bad, a_container("other")))

    assert bench.created() == [("other", 0, "sandbox-1")]
    assert result.results[-2:] == [
        SyncResult(
            "StartContainer",
            "app",
            "CreateContainerConfigError",
            "unsupported fieldPath: no.such",
        ),
        SyncResult("StartContainer", "other"),
    ]
    assert ("Warning", "Failed", "Error: unsupported fieldPath: no.such") in (
        bench.events()
    )


@pytest.mark.parametrize(
    ("user", "error", "message"),
    [
        pytest.param(
            "",
            None,
            "container has runAsNonRoot and image will run as root (pod:"
            ' "web_default(uid-of-web)", container: app)',
            id="root",
        ),
        pytest.param(None, "no such image", "no such image", id="unknown"),
    ],
)
def test_a_container_whose_image_runs_as_root_may_be_refused(
    user: str | None, error: str | None, message: str
) -> None:
    bench = Bench()

    answering(bench, a_pod(NON_ROOT), user, error)

    assert bench.created() == []
    assert ("Warning", "Failed", f"Error: {message}") in bench.events()


@pytest.mark.parametrize(
    ("user", "context"),
    [
        pytest.param(
            "7:8", SecurityContext(run_as_non_root=True, run_as_user=7), id="number"
        ),
        pytest.param(None, SecurityContext(run_as_non_root=True), id="not known"),
    ],
)
def test_a_container_runs_as_its_image_does(
    user: str | None, context: SecurityContext
) -> None:
    bench = Bench()

    answering(bench, a_pod(NON_ROOT), user, None)

    assert created(bench).security_context == context
