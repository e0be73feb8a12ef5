"""Resources of pods, summed as component-helpers sums them."""

from typing import Any

import pytest

from probetui.kubelet.status.pod_resources import pod_resources


def _container(name: str, **resources: Any) -> dict[str, Any]:
    return {"name": name, "resources": resources}


def _sidecar(name: str, **resources: Any) -> dict[str, Any]:
    return {**_container(name, **resources), "restartPolicy": "Always"}


def _resources(spec: dict[str, Any], phase: str = "Pending") -> Any:
    return pod_resources(spec, phase, has_pod_level=True)


TWO = [_container("a", requests={"cpu": "1"}), _container("b", requests={"cpu": "1"})]


@pytest.mark.parametrize(
    ("inits", "cpu"),
    [
        pytest.param([], "2", id="containers alone"),
        pytest.param([_container("i", requests={"cpu": "1500m"})], "2", id="less"),
        pytest.param([_container("i", requests={"cpu": "3"})], "3", id="more"),
        pytest.param([_sidecar("s", requests={"cpu": "1"})], "3", id="a sidecar"),
        pytest.param(
            [
                _sidecar("s", requests={"cpu": "1"}),
                _container("i", requests={"cpu": "2500m"}),
            ],
            "3500m",
            id="beside a sidecar",
        ),
        pytest.param(
            [
                _container("i", requests={"cpu": "2500m"}),
                _sidecar("s", requests={"cpu": "500m"}),
            ],
            "2500m",
            id="before a sidecar",
        ),
    ],
)
def test_init_containers_need_room_one_after_the_other(
    inits: list[dict[str, Any]], cpu: str
) -> None:
    spec = {"containers": TWO, "initContainers": inits}
    resources, allocated = _resources(spec)
    assert allocated == {"cpu": cpu}
    assert resources == {"requests": {"cpu": cpu}}


def test_a_sum_is_written_in_the_form_of_its_first_quantity() -> None:
    containers = [
        _container("a", requests={"memory": "1000Ki"}),
        _container("b", requests={"memory": "24k"}),
    ]
    _, allocated = _resources({"containers": containers})
    assert allocated == {"memory": "1048000"}


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded"])
def test_what_a_pod_asks_for_as_a_whole_comes_first(phase: str) -> None:
    own = {"requests": {"cpu": "5", "hugepages-2Mi": "4Mi"}, "limits": {"cpu": "6"}}
    resources, allocated = _resources({"containers": TWO, "resources": own}, phase)
    assert resources == own
    assert allocated == own["requests"]


def test_a_gate_that_is_off_hides_what_a_pod_asks_for_as_a_whole() -> None:
    spec = {"containers": TWO, "resources": {"requests": {"cpu": "5"}}}
    assert pod_resources(spec, "Running", has_pod_level=False)[1] == {"cpu": "2"}


def test_the_overhead_is_added_where_something_is_limited() -> None:
    app = _container("a", requests={"cpu": "1"}, limits={"memory": "1Gi"})
    overhead = {"cpu": "250m", "memory": "64Mi"}
    resources, allocated = _resources({"containers": [app], "overhead": overhead})
    assert allocated == {"cpu": "1250m", "memory": "64Mi"}
    assert resources["limits"] == {"memory": "1088Mi"}


@pytest.mark.parametrize(("cpu", "is_reported"), [("2m", False), ("3m", True)])
def test_the_least_that_a_cgroup_has_is_not_read_back(
    cpu: str, *, is_reported: bool
) -> None:
    app = _container("a", requests={"cpu": cpu})
    resources, allocated = _resources({"containers": [app]}, "Running")
    assert allocated == {"cpu": cpu}
    assert ("requests" in resources) is is_reported
