from __future__ import annotations

import pytest
from lightkube.models import core_v1

from probetui.manifest.validation.api_warnings import find_api_warnings
from tests.manifest.yaml_pods import pod_model


@pytest.mark.parametrize(
    ("container", "spec", "expected"),
    [
        pytest.param("", "", [], id="nothing"),
        pytest.param(
            "env: [{name: A, value: x}, {name: A, value: z}, {name: A, value: $(A)},"
            " {name: A, value: $(A)1}, {name: A, valueFrom: {}}]",
            "",
            [
                f'spec.containers[0].env[{index}]: hides previous definition of "A",'
                f' which'
                " may be dropped when using apply"
                for index in (1, 2, 4)
            ],
            id="variable-twice",
        ),
        pytest.param(
            "ports: [{containerPort: 80}, {containerPort: 80}, {containerPort: 80,"
            " hostPort: 1}, {containerPort: 80, protocol: UDP}]",
            "",
            [
                ("spec.containers[0].ports[1]: duplicate port definition with"
                " spec.containers[0].ports[0]"),
                ("spec.containers[0].ports[2]: overlapping port definition with"
                " spec.containers[0].ports[0]"),
                ("spec.containers[0].ports[2]: overlapping port definition with"
                " spec.containers[0].ports[1]"),
            ],
            id="port-twice",
        ),
        pytest.param(
            "ports: [{containerPort: 80, hostPort: 1}, {containerPort: 80, hostPort: 1,"
            " hostIP: 127.0.0.1}, {containerPort: 80, hostPort: 1, hostIP: 10.0.0.1}]",
            "",
            [
                f"spec.containers[0].ports[{index}]: dangerously ambiguous port"
                " definition with spec.containers[0].ports[0]"
                for index in (1, 2)
            ],
            id="host-port-with-and-without-address",
        ),
        pytest.param(
            "ports: [{containerPort: 80}]",
            "initContainers: [{name: i, ports: [{containerPort: 80}]}]",
            [
                ("spec.containers[0].ports[0]: duplicate port definition with"
                " spec.initContainers[0].ports[0]")
            ],
            id="port-of-an-init-container",
        ),
        pytest.param(
            "",
            "imagePullSecrets: [{name: x}, {}, {name: x}], hostAliases: [{ip: 1.1.1.1},"
            " {ip: 1.1.1.1}]",
            [
                'spec.hostAliases[1].ip: duplicate ip "1.1.1.1"',
                'spec.imagePullSecrets[2].name: duplicate name "x"',
                'spec.imagePullSecrets[1].name: invalid empty name ""',
            ],
            id="lists-of-the-spec",
        ),
    ],
)  # fmt: skip
def test_the_api_server_warns(container: str, spec: str, expected: list[str]) -> None:
    found = find_api_warnings(pod_model(container, spec))

    assert [f"{path}: {text}" for path, text in found] == expected


def test_without_a_spec_there_is_nothing_to_warn_of() -> None:
    assert list(find_api_warnings(core_v1.Pod())) == []
