from __future__ import annotations

from decimal import Decimal

import pytest

from probetui.k8s.pod import Container, Resources
from probetui.kubelet.status.generate import qos_class
from tests.builders import a_container, a_pod


def using(
    cpu: str, memory: str, *, limit_cpu: str = "", limit_memory: str = ""
) -> Resources:
    """Requests of that much, and limits of the same unless given."""
    return Resources(
        {"cpu": Decimal(cpu), "memory": Decimal(memory)},
        {"cpu": Decimal(limit_cpu or cpu), "memory": Decimal(limit_memory or memory)},
    )


def with_resources(resources: Resources, name: str = "app") -> Container:
    return a_container(name, resources=resources)


ONE = with_resources(using("1", "1e6"))


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        pytest.param([a_container()], "BestEffort", id="nothing-asked-for"),
        pytest.param([with_resources(using("0", "0"))], "BestEffort", id="zero"),
        pytest.param(
            [with_resources(Resources({"example.com/gpu": Decimal(1)}))],
            "BestEffort",
            id="only-another-resource",
        ),
        pytest.param([ONE], "Guaranteed", id="limits-as-requests"),
        pytest.param(
            [with_resources(using("1.0", "1000000"))], "Guaranteed", id="written-apart"
        ),
        pytest.param([ONE, a_container("b")], "Burstable", id="one-without"),
        pytest.param(
            [with_resources(using("1", "1", limit_cpu="2"))],
            "Burstable",
            id="higher-limit",
        ),
        pytest.param(
            [with_resources(Resources({"cpu": Decimal(1)}))],
            "Burstable",
            id="requests-only",
        ),
        pytest.param(
            [with_resources(Resources({}, {"memory": Decimal(1)}))],
            "Burstable",
            id="limits-only",
        ),
    ],
)
def test_the_class_that_requests_and_limits_give(
    containers: list[Container], expected: str
) -> None:
    assert qos_class(a_pod(*containers)) == expected


def test_init_containers_count_as_well() -> None:
    pod = a_pod(ONE, init_containers=(a_container("init"),))

    assert qos_class(pod) == "Burstable"
