from __future__ import annotations

import pytest

from probetui.k8s.pod import ContainerPort, Pod
from probetui.k8s.probe import (
    ExecAction,
    HTTPGetAction,
    HTTPHeader,
    LifecycleHandler,
    SleepAction,
    TCPSocketAction,
)
from probetui.kubelet.kuberuntime.container_hash import container_hash
from probetui.kubelet.kuberuntime.labels import (
    ContainerAnnotations,
    PortMapping,
    annotations_of_docker_labels,
    container_annotations,
    container_labels,
    container_log_path,
    docker_container_labels,
    docker_container_name,
    docker_sandbox_labels,
    docker_sandbox_name,
    legacy_log_symlink,
    parse_container_annotations,
    port_mappings,
    sandbox_labels,
    sandbox_log_directory,
)
from tests.builders import a_container, a_pod

POD = a_pod(labels={"app": "web"}, uid="uid1")
APP = a_container()
NAMING = {
    "io.kubernetes.pod.name": "web",
    "io.kubernetes.pod.namespace": "default",
    "io.kubernetes.pod.uid": "uid1",
}


def test_a_sandbox_has_the_labels_of_its_pod_and_its_names() -> None:
    assert sandbox_labels(POD) == {"app": "web", **NAMING}


def test_a_pod_cannot_take_another_name_by_its_labels() -> None:
    pod = a_pod(labels={"io.kubernetes.pod.uid": "other"}, uid="uid1")

    assert sandbox_labels(pod) == NAMING


def test_a_container_has_only_names() -> None:
    assert container_labels(POD, APP) == {
        **NAMING,
        "io.kubernetes.container.name": "app",
    }


def test_the_names_on_docker_are_unique() -> None:
    assert docker_sandbox_name(POD, 2) == "k8s_POD_web_default_uid1_2"
    assert docker_container_name(POD, APP, 3) == "k8s_app_web_default_uid1_3"


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(POD, id="running"),
        pytest.param(
            a_pod(termination_grace_period_seconds=None), id="no-grace-period"
        ),
        pytest.param(a_pod(deletion_grace_period_seconds=7), id="deleted"),
    ],
)
def test_what_a_container_was_made_from_can_be_read_back(pod: Pod) -> None:
    annotations = container_annotations(pod, APP, 3, container_hash(APP))

    assert parse_container_annotations(annotations) == ContainerAnnotations(
        hash=0x395745,
        restart_count=3,
        termination_message_path="/dev/termination-log",
        termination_message_policy="File",
        termination_grace_period_seconds=pod.termination_grace_period_seconds,
        deletion_grace_period_seconds=pod.deletion_grace_period_seconds,
    )


@pytest.mark.parametrize(
    "annotations",
    [
        pytest.param({}, id="absent"),
        pytest.param({"io.kubernetes.container.hash": "xyz"}, id="nonsense"),
    ],
)
def test_annotations_of_others_read_as_nothing(annotations: dict[str, str]) -> None:
    assert parse_container_annotations(annotations) == ContainerAnnotations()


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        pytest.param(
            ExecAction(("sh", "-c", "a && b")),
            '{"exec":{"command":["sh","-c","a \\u0026\\u0026 b"]}}',
            id="exec",
        ),
        pytest.param(
            HTTPGetAction("http", "/bye", "host", "HTTP", (HTTPHeader("A", ""),)),
            '{"httpGet":{"path":"/bye","port":"http","host":"host","scheme":"HTTP",'
            '"httpHeaders":[{"name":"A","value":""}]}}',
            id="http",
        ),
        pytest.param(TCPSocketAction(80), '{"tcpSocket":{"port":80}}', id="tcp"),
        pytest.param(SleepAction(5), '{"sleep":{"seconds":5}}', id="sleep"),
    ],
)
def test_the_hook_before_the_end_is_kept_with_the_container(
    hook: LifecycleHandler, expected: str
) -> None:
    annotations = container_annotations(POD, a_container(pre_stop=hook), 0, 1)

    assert annotations["io.kubernetes.container.preStopHandler"] == expected


def test_ports_are_kept_with_the_container() -> None:
    ports = (ContainerPort(80, "http"), ContainerPort(53, protocol="UDP"))

    annotations = container_annotations(POD, a_container(ports=ports), 0, 1)

    assert annotations["io.kubernetes.container.ports"] == (
        '[{"name":"http","containerPort":80,"protocol":"TCP"},'
        '{"containerPort":53,"protocol":"UDP"}]'
    )


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        pytest.param(
            [ContainerPort(80, host_port=8080, host_ip="127.0.0.1")],
            [PortMapping("TCP", 80, 8080, "127.0.0.1")],
            id="host-port",
        ),
        pytest.param(
            [ContainerPort(80), ContainerPort(80), ContainerPort(80, protocol="UDP")],
            [PortMapping("TCP", 80, 0, ""), PortMapping("UDP", 80, 0, "")],
            id="equal-ones",
        ),
        pytest.param(
            [ContainerPort(80, "a"), ContainerPort(81, "a")],
            [PortMapping("TCP", 80, 0, "")],
            id="one-name",
        ),
        pytest.param(
            [ContainerPort(80, host_ip="::1"), ContainerPort(80, host_ip="127.0.0.1")],
            [PortMapping("TCP", 80, 0, "::1"), PortMapping("TCP", 80, 0, "127.0.0.1")],
            id="two-families",
        ),
    ],
)
def test_the_ports_that_a_sandbox_publishes(
    ports: list[ContainerPort], expected: list[PortMapping]
) -> None:
    assert port_mappings(a_pod(a_container(ports=tuple(ports)))) == expected


def test_every_attempt_has_a_log_of_its_own() -> None:
    assert sandbox_log_directory(POD) == "/var/log/pods/default_web_uid1"
    assert container_log_path(APP, 3) == "app/3.log"


def test_the_link_to_a_log_is_no_longer_than_a_file_name_may_be() -> None:
    short = legacy_log_symlink(POD, APP, "abc")
    long = legacy_log_symlink(POD, APP, "a" * 300)

    assert short == "/var/log/containers/web_default_app-abc.log"
    assert len(long.rpartition("/")[2]) == 255
    assert long.endswith("a.log")


def test_docker_keeps_annotations_as_labels() -> None:
    labels = docker_container_labels(POD, APP, 3, 1, "sandbox-id")

    annotations = annotations_of_docker_labels(labels)

    assert annotations == container_annotations(POD, APP, 3, 1)
    assert labels["io.kubernetes.docker.type"] == "container"
    assert labels["io.kubernetes.sandbox.id"] == "sandbox-id"
    assert labels["io.kubernetes.container.logpath"] == (
        "/var/log/pods/default_web_uid1/app/3.log"
    )


def test_a_sandbox_on_docker_has_its_label() -> None:
    labels = docker_sandbox_labels(a_pod(annotations={"a": "b"}, uid="uid1"))

    assert labels == {
        **NAMING,
        "annotation.a": "b",
        "io.kubernetes.docker.type": "podsandbox",
    }
