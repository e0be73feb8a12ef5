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
from probetui.manifest.translate import translate
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
    written = ", ".join(f"{{name: A, valueFrom: {{{each}}}}}" for each in sources)

    (container,) = translate(pod_model(f"env: [{written}]")).containers

    assert [each.value_from for each in container.env] == [
        FieldRef("metadata.name"),
        ResourceFieldRef("limits.cpu", "b", Decimal("0.001")),
        ResourceFieldRef("limits.cpu"),
        ConfigMapKeyRef("c", "k", optional=True),
        SecretKeyRef("s", "k"),
        None,
    ]
    assert all(each.has_value_from for each in container.env)


def test_both_sources_of_many_variables() -> None:
    model = pod_model(
        "envFrom: [{configMapRef: {name: c}, prefix: P_}, {secretRef: {name: s,"
        " optional: true}}]"
    )

    (container,) = translate(model).containers

    assert container.env_from == (
        EnvFrom(ConfigMapEnvSource("c"), "P_"),
        EnvFrom(SecretEnvSource("s", optional=True)),
    )
