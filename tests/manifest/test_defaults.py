from __future__ import annotations

import pytest
from lightkube.models import core_v1

from probetui.manifest.defaults import pull_policy, set_defaults
from tests.manifest.yaml_pods import pod_model

_DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        pytest.param("nginx", "Always", id="no-tag"),
        pytest.param("nginx:latest", "Always", id="latest"),
        pytest.param("nginx:1.25", "IfNotPresent", id="tag"),
        pytest.param("host:5000/nginx", "Always", id="port-is-no-tag"),
        pytest.param("host:5000/a/nginx:2", "IfNotPresent", id="port-and-tag"),
        pytest.param("localhost/nginx", "Always", id="localhost"),
        pytest.param("HOST/nginx", "Always", id="host-in-capitals"),
        pytest.param("[::1]:5000/nginx", "Always", id="address-as-host"),
        pytest.param(f"nginx@{_DIGEST}", "IfNotPresent", id="digest"),
        pytest.param(f"nginx:latest@{_DIGEST}", "Always", id="latest-and-digest"),
        pytest.param("NGINX", "IfNotPresent", id="no-image-name"),
        pytest.param("bad_.host-:1/nginx", "IfNotPresent", id="no-host-name"),
        pytest.param("", "IfNotPresent", id="nothing"),
    ],
)
def test_the_tag_decides_when_an_image_is_pulled(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


def test_a_silent_pod_gets_every_default() -> None:
    pod = core_v1.Pod()

    set_defaults(pod)

    assert pod.metadata is not None
    assert pod.spec == core_v1.PodSpec(
        containers=[],
        dnsPolicy="ClusterFirst",
        enableServiceLinks=True,
        restartPolicy="Always",
        schedulerName="default-scheduler",
        securityContext=core_v1.PodSecurityContext(),
        terminationGracePeriodSeconds=30,
    )


def test_what_is_written_stays() -> None:
    spec = pod_model(
        spec="terminationGracePeriodSeconds: 0, enableServiceLinks: false,"
        " restartPolicy: Never, dnsPolicy: Default"
    ).spec

    assert spec is not None
    assert spec.terminationGracePeriodSeconds == 0
    assert spec.enableServiceLinks is False
    assert (spec.restartPolicy, spec.dnsPolicy) == ("Never", "Default")


def test_a_zero_in_a_probe_counts_as_not_written() -> None:
    container = _container(
        "livenessProbe: {grpc: {port: 1}, timeoutSeconds: 0, periodSeconds: 0,"
        " successThreshold: 0, failureThreshold: 0}"
    )

    assert container.livenessProbe == core_v1.Probe(
        grpc=core_v1.GRPCAction(port=1, service=""),
        timeoutSeconds=1,
        periodSeconds=10,
        successThreshold=1,
        failureThreshold=3,
    )


def test_http_probes_and_hooks_get_path_and_scheme() -> None:
    container = _container(
        "readinessProbe: {httpGet: {port: 80, path: ''}},"
        " lifecycle: {preStop: {httpGet: {port: 80}}}"
    )

    expected = core_v1.HTTPGetAction(port=80, path="/", scheme="HTTP")
    assert container.readinessProbe is not None
    assert container.readinessProbe.httpGet == expected
    assert container.lifecycle is not None
    assert container.lifecycle.preStop == core_v1.LifecycleHandler(httpGet=expected)


def test_on_the_hosts_network_ports_are_the_hosts() -> None:
    container = _container("ports: [{containerPort: 80}]", spec="hostNetwork: true")

    assert container.ports == [
        core_v1.ContainerPort(containerPort=80, hostPort=80, protocol="TCP")
    ]


def test_requests_follow_limits() -> None:
    container = _container(
        "resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}"
    )

    assert container.resources is not None
    assert container.resources.requests == {"cpu": "500m", "memory": "1Gi"}


def test_sources_of_variables_get_version_and_divisor() -> None:
    container = _container(
        "env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}},"
        " {name: B, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]"
    )

    first, second = [var.valueFrom for var in container.env or ()]
    assert first is not None
    assert second is not None
    assert first.fieldRef is not None
    assert first.fieldRef.apiVersion == "v1"
    assert second.resourceFieldRef is not None
    assert second.resourceFieldRef.divisor == "0"


@pytest.mark.parametrize(
    ("volume", "defaulted"),
    [
        pytest.param("", {"emptyDir": {}}, id="no-source"),
        pytest.param(
            "hostPath: {path: /a}", {"hostPath": {"path": "/a", "type": ""}}, id="host"
        ),
        pytest.param(
            "secret: {secretName: s}",
            {"secret": {"secretName": "s", "defaultMode": 420}},
            id="secret",
        ),
        pytest.param(
            "configMap: {name: c, defaultMode: 256}",
            {"configMap": {"name": "c", "defaultMode": 256}},
            id="config-map",
        ),
        pytest.param(
            "downwardAPI: {items: [{path: a, fieldRef: {fieldPath: f}},"
            " {path: b, resourceFieldRef: {resource: r}}]}",
            {
                "downwardAPI": {
                    "defaultMode": 420,
                    "items": [
                        {
                            "path": "a",
                            "fieldRef": {"fieldPath": "f", "apiVersion": "v1"},
                        },
                        {
                            "path": "b",
                            "resourceFieldRef": {"resource": "r", "divisor": "0"},
                        },
                    ],
                }
            },
            id="downward",
        ),
        pytest.param(
            "projected: {sources: [{serviceAccountToken: {path: t}},"
            " {downwardAPI: {items: [{path: a, fieldRef: {fieldPath: f}}]}}]}",
            {
                "projected": {
                    "defaultMode": 420,
                    "sources": [
                        {
                            "serviceAccountToken": {
                                "path": "t",
                                "expirationSeconds": 3600,
                            }
                        },
                        {
                            "downwardAPI": {
                                "items": [
                                    {
                                        "path": "a",
                                        "fieldRef": {
                                            "fieldPath": "f",
                                            "apiVersion": "v1",
                                        },
                                    }
                                ]
                            }
                        },
                    ],
                }
            },
            id="projected",
        ),
    ],
)
def test_volumes(volume: str, defaulted: dict[str, object]) -> None:
    fields = ", ".join(filter(None, ["name: v", volume]))

    spec = pod_model(spec=f"volumes: [{{{fields}}}]").spec

    assert spec is not None
    assert [volume.to_dict() for volume in spec.volumes or ()] == [
        {"name": "v"} | defaulted
    ]


def _container(container: str, spec: str = "") -> core_v1.Container:
    model = pod_model(container, spec)
    assert model.spec is not None
    return model.spec.containers[0]


@pytest.mark.parametrize(
    ("written", "kept"),
    [("0.0001", "1m"), ("-0.0001", "-1m"), ("1.5", "1500m"), ("100u", "1m")],
)
def test_amounts_are_rounded_up_to_thousandths(written: str, kept: str) -> None:
    pod = pod_model(f"resources: {{limits: {{cpu: {written}}}}}")

    assert pod.spec is not None
    resources = pod.spec.containers[0].resources
    assert resources is not None
    assert resources.limits == {"cpu": kept}
    assert resources.requests == {"cpu": kept}
