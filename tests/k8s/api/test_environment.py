from __future__ import annotations

from decimal import Decimal

from probetui.k8s.environment import (
    ConfigMapEnvSource,
    ConfigMapKeyRef,
    EnvFrom,
    FieldRef,
    ResourceFieldRef,
    SecretEnvSource,
    SecretKeyRef,
)
from probetui.manifest.draft import build_pod
from tests.manifest.yaml_pods import pod_model


def test_every_source_of_a_variable() -> None:
    sources = (
        "fieldRef: {fieldPath: metadata.name}",
        "resourceFieldRef: {resource: limits.cpu, containerName: b, divisor: 1m}",
        "resourceFieldRef: {resource: limits.cpu}",
        "configMapKeyRef: {name: c, key: k, optional: true}",
        "secretKeyRef: {name: s, key: k}",
        "fileKeyRef: {key: k, path: p, volumeName: v}",
    )
    written = ", ".join(f"{{name: A, valueFrom: {{{source}}}}}" for source in sources)

    (container,) = build_pod(pod_model(f"env: [{written}]")).containers

    assert [var.value_from for var in container.env] == [
        FieldRef("metadata.name"),
        ResourceFieldRef("limits.cpu", "b", Decimal("0.001")),
        ResourceFieldRef("limits.cpu"),
        ConfigMapKeyRef("c", "k", optional=True),
        SecretKeyRef("s", "k"),
        None,
    ]
    assert all(var.has_value_from for var in container.env)


def test_both_sources_of_many_variables() -> None:
    model = pod_model(
        "envFrom: [{configMapRef: {name: c}, prefix: P_}, {secretRef: {name: s,"
        " optional: true}}]"
    )

    (container,) = build_pod(model).containers

    assert container.env_from == (
        EnvFrom(ConfigMapEnvSource("c"), "P_"),
        EnvFrom(SecretEnvSource("s", optional=True)),
    )
