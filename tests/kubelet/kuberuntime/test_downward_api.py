from __future__ import annotations

from decimal import Decimal

import pytest

from probetui.k8s.environment import FieldRef, ResourceFieldRef
from probetui.k8s.pod import Resources
from probetui.k8s.runtime import Node
from probetui.kubelet.kuberuntime.downward_api import (
    PodLocation,
    container_resource,
    metadata_field,
    pod_field,
)
from probetui.kubelet.object_store import ConfigRefusal
from tests.builders import a_container, a_pod

NODE = Node("here", "172.17.0.1", {"cpu": Decimal(2), "memory": Decimal(1 << 30)})
WHERE = PodLocation(NODE, ("10.0.0.2", "fd00::2"))
POD = a_pod(
    namespace="shop",
    uid="u-1",
    labels={"tier": "front", "app": 'a "b"'},
    annotations={"note": "two\nlines"},
    service_account_name="robot",
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("metadata.name", "web", id="name"),
        pytest.param("metadata.namespace", "shop", id="namespace"),
        pytest.param("metadata.uid", "u-1", id="uid"),
        pytest.param("metadata.labels['tier']", "front", id="one label"),
        pytest.param("metadata.labels['none']", "", id="a label it does not have"),
        pytest.param("metadata.annotations['note']", "two\nlines", id="an annotation"),
        pytest.param(
            "metadata.labels", 'app="a \\"b\\""\ntier="front"', id="all labels, sorted"
        ),
        pytest.param("metadata.annotations", 'note="two\\nlines"', id="annotations"),
    ],
)
def test_metadata_is_available_in_variables_and_files(path: str, value: str) -> None:
    assert pod_field(POD, FieldRef(path), WHERE) == value
    assert metadata_field(POD, FieldRef(path)) == value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("spec.nodeName", "here", id="node"),
        pytest.param("spec.host", "here", id="node by its old name"),
        pytest.param("spec.serviceAccountName", "robot", id="service account"),
        pytest.param("status.hostIP", "172.17.0.1", id="host IP"),
        pytest.param("status.hostIPs", "172.17.0.1", id="host IPs"),
        pytest.param("status.podIP", "10.0.0.2", id="pod IP"),
        pytest.param("status.podIPs", "10.0.0.2,fd00::2", id="pod IPs"),
    ],
)
def test_the_node_of_a_pod_is_available_in_variables_only(
    path: str, value: str
) -> None:
    assert pod_field(POD, FieldRef(path), WHERE) == value
    assert metadata_field(POD, FieldRef(path)) == ConfigRefusal(
        f"unsupported fieldPath: {path}"
    )


def test_a_pod_without_an_address_has_an_empty_one() -> None:
    nowhere = PodLocation(NODE)

    assert pod_field(POD, FieldRef("status.podIP"), nowhere) == ""
    assert pod_field(POD, FieldRef("status.podIPs"), nowhere) == ""


@pytest.mark.parametrize(
    ("resource", "divisor", "value"),
    [
        pytest.param("limits.cpu", "0", "1", id="cores are rounded up"),
        pytest.param("limits.cpu", "0.001", "250", id="thousandths of a core"),
        pytest.param("limits.memory", "0", "1048577", id="bytes"),
        pytest.param("limits.memory", "1048576", "2", id="MiB are rounded up"),
        pytest.param("requests.cpu", "0.001", "100", id="request"),
        pytest.param("requests.memory", "0", "0", id="no request"),
        pytest.param("limits.ephemeral-storage", "0", "0", id="unknown to the node"),
        pytest.param("limits.hugepages-2Mi", "0", "4", id="huge pages"),
    ],
)
def test_resources_are_whole_numbers_of_the_divisor(
    resource: str, divisor: str, value: str
) -> None:
    limits = {
        "cpu": Decimal("0.25"),
        "memory": Decimal(1024 * 1024 + 1),
        "hugepages-2Mi": Decimal(4),
    }
    app = a_container(resources=Resources({"cpu": Decimal("0.1")}, limits))
    ref = ResourceFieldRef(resource, divisor=Decimal(divisor))

    assert container_resource(a_pod(app), app, ref, NODE) == value


@pytest.mark.parametrize(
    ("resource", "value"),
    [
        pytest.param("limits.cpu", "2", id="cpu"),
        pytest.param("limits.memory", str(1 << 30), id="memory"),
    ],
)
def test_without_a_limit_all_of_the_node_may_be_used(resource: str, value: str) -> None:
    app, ref = a_container(), ResourceFieldRef(resource)

    assert container_resource(a_pod(app), app, ref, NODE) == value


def test_another_container_may_be_named() -> None:
    side = a_container("side", resources=Resources(limits={"cpu": Decimal(3)}))
    pod = a_pod(a_container(), init_containers=(side,))
    ref = ResourceFieldRef("limits.cpu", "side")

    assert container_resource(pod, pod.containers[0], ref, NODE) == "3"


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        pytest.param(
            ResourceFieldRef("limits.cpu", "nobody"),
            "container nobody not found",
            id="no such container",
        ),
        pytest.param(
            ResourceFieldRef("limits.gpu"),
            "Unsupported container resource : limits.gpu",
            id="no such resource",
        ),
        pytest.param(
            ResourceFieldRef("usage.cpu"),
            "Unsupported container resource : usage.cpu",
            id="neither limit nor request",
        ),
    ],
)
def test_an_unknown_field_is_refused(ref: ResourceFieldRef, message: str) -> None:
    pod = a_pod()

    assert container_resource(pod, pod.containers[0], ref, NODE) == ConfigRefusal(
        message
    )


def test_a_file_has_to_name_its_container() -> None:
    refused = container_resource(a_pod(), None, ResourceFieldRef("limits.cpu"), NODE)

    assert refused == ConfigRefusal("container  not found")
