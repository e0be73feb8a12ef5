from __future__ import annotations

import pytest

from probetui.k8s.volume import ConfigMap, Secret
from probetui.manifest.validation.references import (
    find_missing_objects,
    find_references,
    object_key,
)
from tests.manifest.yaml_pods import pod_model

OBJECTS = {
    object_key(object_): object_
    for object_ in (
        ConfigMap("config", data={"a": "1"}, binary_data={"b": b"2"}),
        Secret("secret", data={"s": b"3"}),
        ConfigMap("elsewhere", "shop"),
    )
}
MOUNTED = "volumeMounts: [{name: v, mountPath: /v}]"


def _missing(container: str, spec: str = "") -> list[tuple[str, str]]:
    model = pod_model(container, spec)
    return [
        (notice.path, notice.message) for notice in find_missing_objects(model, OBJECTS)
    ]


@pytest.mark.parametrize(
    ("container", "spec"),
    [
        pytest.param("envFrom: [{configMapRef: {name: config}}]", "", id="envFrom"),
        pytest.param(
            "env: [{name: A, valueFrom: {configMapKeyRef: {name: config, key: a}}},"
            " {name: B, valueFrom: {secretKeyRef: {name: secret, key: s}}}]",
            "",
            id="env",
        ),
        pytest.param(
            MOUNTED,
            "volumes: [{name: v, configMap: {name: config, items: [{key: a, path: x},"
            " {key: b, path: z}]}}]",
            id="files, binary ones too",
        ),
        pytest.param(
            f"{MOUNTED}, envFrom: [{{secretRef: {{name: gone, optional: true}}}}], env:"
            " [{name: A, valueFrom: {secretKeyRef: {name: secret, key: gone, optional:"
            " true}}}]",
            "volumes: [{name: v, secret: {secretName: gone, optional: true}}]",
            id="optional",
        ),
        pytest.param(
            "", "volumes: [{name: v, secret: {secretName: gone}}]", id="not mounted"
        ),
    ],
)
def test_nothing_is_missing(container: str, spec: str) -> None:
    assert _missing(container, spec) == []


@pytest.mark.parametrize(
    ("container", "spec", "path", "message"),
    [
        pytest.param(
            "envFrom: [{secretRef: {name: gone}}]",
            "",
            "spec.containers[0].envFrom[0].secretRef",
            'Secret "gone" is not in the given files, so the container cannot be'
            " created (--stub-missing makes a stub)",
            id="envFrom",
        ),
        pytest.param(
            "env: [{name: A, valueFrom: {configMapKeyRef: {name: elsewhere, key: a}}}]",
            "",
            "spec.containers[0].env[0].valueFrom.configMapKeyRef",
            'ConfigMap "elsewhere" is not in the given files, so the container cannot'
            " be created (--stub-missing makes a stub)",
            id="in another namespace",
        ),
        pytest.param(
            "env: [{name: A, valueFrom: {configMapKeyRef: {name: config, key: b}}}]",
            "",
            "spec.containers[0].env[0].valueFrom.configMapKeyRef",
            'ConfigMap "config" has no key "b", so the container cannot be created',
            id="a binary entry is no variable",
        ),
        pytest.param(
            MOUNTED,
            "volumes: [{name: v, secret: {secretName: secret, items: [{key: t, path:"
            " t}]}}]",
            "spec.volumes[0].secret.items[0].key",
            'Secret "secret" has no key "t", so the pod cannot start',
            id="file",
        ),
        pytest.param(
            MOUNTED,
            "volumes: [{name: v, projected: {sources: [{downwardAPI: {}}, {configMap:"
            " {name: gone}}]}}]",
            "spec.volumes[0].projected.sources[1].configMap",
            'ConfigMap "gone" is not in the given files, so the pod cannot start'
            " (--stub-missing makes a stub)",
            id="projected",
        ),
    ],
)
def test_a_missing_object_is_reported_with_its_consequence(
    container: str, spec: str, path: str, message: str
) -> None:
    assert _missing(container, spec) == [(path, message)]


def test_every_kind_of_reference_is_found() -> None:
    model = pod_model(
        f"{MOUNTED}, envFrom: [{{configMapRef: {{name: c1}}}}]",
        "initContainers: [{name: i, envFrom: [{secretRef: {name: s1}}]}], volumes:"
        " [{name: v, projected: {sources: [{secret: {name: s2}}, {configMap: {name:"
        " c2}}]}}]",
    )

    found = [(reference.kind, reference.name) for reference in find_references(model)]

    assert found == [
        ("Secret", "s2"),
        ("ConfigMap", "c2"),
        ("Secret", "s1"),
        ("ConfigMap", "c1"),
    ]
