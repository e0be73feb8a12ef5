"""What an API server says of values of a wrong type, in Go's words."""

from __future__ import annotations

import re

import pytest

from probetui.kubelet_rules import rules_of
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [SPEC]}"
FORMAT = "([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)"
NO_QUANTITY = f"quantities must match the regular expression '^{FORMAT}$'"
_SAID = re.compile(r" \((?=json: |parsing |quantities |unable )")
LAYOUT = 'as "2006-01-02T15:04:05Z07:00"'


def said(text: str, version: str = "1.36") -> list[str]:
    """Return what is said in parentheses of each value of a wrong type."""
    found = load_manifests([SourceFile("a.yaml", text)], rules=rules_of(version))
    return [
        _SAID.split(one.message)[-1].removesuffix(")")
        for one in found.errors
        if one.rule == "type"
    ]


def in_container(fields: str, version: str = "1.36") -> list[str]:
    return said(POD.replace("SPEC", f"{{name: c, image: i, {fields}}}"), version)


def in_spec(fields: str) -> list[str]:
    return said(POD.replace("containers: [SPEC]", fields))


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ("tty: 1", "number into Go struct field Container.spec.containers.tty of type"),
        ("command: a", "string into Go struct field Container.spec.containers.command"),
        ("args: [a, 1]", "number into Go struct field Container.spec.containers.args"),
        ("ports: [{protocol: {}}]", "object into Go struct field ContainerPort.spec"),
    ],
)
def test_the_struct_and_the_whole_path_are_named(fields: str, error: str) -> None:
    (found,) = in_container(fields)

    assert found.startswith(f"json: cannot unmarshal {error}")


@pytest.mark.parametrize(
    ("fields", "type_"),
    [
        ("command: a", "[]string"),
        ("command: [{}]", "string"),
        ("env: a", "[]v1.EnvVar"),
        ("env: [a]", "v1.EnvVar"),
        ("resources: []", "v1.ResourceRequirements"),
        ("resources: {limits: 1}", "v1.ResourceList"),
        ("imagePullPolicy: 1", "v1.PullPolicy"),
        ("restartPolicy: 1", "v1.ContainerRestartPolicy"),
        ("lifecycle: {stopSignal: 9}", "v1.Signal"),
        ("resizePolicy: [{resourceName: 1}]", "v1.ResourceName"),
        ("securityContext: {capabilities: {drop: [1]}}", "v1.Capability"),
        ("securityContext: {capabilities: {drop: ALL}}", "[]v1.Capability"),
        ("securityContext: {runAsUser: a}", "int64"),
        ("securityContext: {runAsNonRoot: 'true'}", "bool"),
        ("volumeMounts: [{recursiveReadOnly: 1}]", "v1.RecursiveReadOnlyMode"),
        ("ports: [{containerPort: '80'}]", "int32"),
        ("ports: 80", "[]v1.ContainerPort"),
    ],
)
def test_types_have_their_names_in_go(fields: str, type_: str) -> None:
    (found,) = in_container(fields)

    assert found.rpartition(" of type ")[2] == type_


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ("preemptionPolicy: 1", "PodSpec.spec.preemptionPolicy"),
        ("nodeSelector: {a: 1}", "PodSpec.spec.nodeSelector"),
        ("overhead: a", "PodSpec.spec.overhead"),
        (
            "ephemeralContainers: [{terminationMessagePolicy: 1}]",
            (
                "EphemeralContainer.spec.ephemeralContainers.EphemeralContainerCommon"
                ".terminationMessagePolicy"
            ),
        ),
        (
            "ephemeralContainers: [{targetContainerName: 1}]",
            "EphemeralContainer.spec.ephemeralContainers.targetContainerName",
        ),
        ("volumes: [{name: 1}]", "Volume.spec.volumes.name"),
        (
            "volumes: [{name: a, secret: {items: 1}}]",
            "SecretVolumeSource.spec.volumes.VolumeSource.secret.items",
        ),
        (
            "volumes: [{name: a, projected: {sources: [{secret: {name: 1}}]}}]",
            (
                "SecretProjection.spec.volumes.VolumeSource.projected.sources.secret"
                ".LocalObjectReference.name"
            ),
        ),
    ],
)
def test_what_is_embedded_is_a_step(fields: str, place: str) -> None:
    (found,) = in_spec(fields)

    assert f" into Go struct field {place} of type " in found


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("{a: 1}", "json: cannot unmarshal object into Go struct field"),
        ("[1]", "json: cannot unmarshal array into Go struct field"),
        ("true", "json: cannot unmarshal bool into Go struct field"),
        ("1.5", "json: cannot unmarshal number 1.5 into Go struct field"),
        ("4294967296", "json: cannot unmarshal number 4294967296 into Go struct field"),
    ],
)
def test_a_port_is_a_number_or_a_text(value: str, error: str) -> None:
    (found,) = in_container(f"livenessProbe: {{httpGet: {{port: {value}}}}}")

    path = "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port"
    assert found == f"{error} {path} of type int32"


def test_what_is_embedded_is_named_since_1_36() -> None:
    fields = "livenessProbe: {httpGet: {port: true}}"

    assert ".ProbeHandler." in in_container(fields, "1.36")[0]
    assert ".livenessProbe.httpGet.port" in in_container(fields, "1.32")[0]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("''", NO_QUANTITY),
        ("a", NO_QUANTITY),
        ("1.2.3", NO_QUANTITY),
        ("1X", NO_QUANTITY),
        ("true", NO_QUANTITY),
        ("[1]", NO_QUANTITY),
        ("10mm", "unable to parse quantity's suffix"),
    ],
)
def test_quantities(value: str, error: str) -> None:
    assert in_container(f"resources: {{limits: {{cpu: {value}}}}}") == [error]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("x", f'{LAYOUT}: cannot parse "x" as "2006"'),
        ("2026-1-01T00:00:00Z", f'{LAYOUT}: cannot parse "1-01T00:00:00Z" as "01"'),
        ("'2026-01-01'", f'{LAYOUT}: cannot parse "" as "T"'),
        ("2026-01-01T00:00:00", f'{LAYOUT}: cannot parse "" as "Z07:00"'),
        ("2026-01-01T00:00:00Zx", ': extra text: "x"'),
        ("2026-02-30T00:00:00Z", ": day out of range"),
    ],
)
def test_times(value: str, error: str) -> None:
    text = POD.replace("name: p", f"name: p, creationTimestamp: {value}")
    shown = value.strip("'")
    (found,) = said(text.replace("SPEC", "{name: c, image: i}"))

    assert found == f'parsing time "{shown}"{error if error[0] == ":" else f" {error}"}'


def test_a_workloads_path_is_that_of_its_document() -> None:
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"
        "spec: {replicas: a, strategy: {type: 1},"
        " template: {spec: {containers: [{name: c, image: 1}]}}}"
    )

    assert [one.partition(" into Go struct field ")[2] for one in said(text)] == [
        "DeploymentSpec.spec.replicas of type int32",
        "DeploymentStrategy.spec.strategy.type of type v1.DeploymentStrategyType",
        "Container.spec.template.spec.containers.image of type string",
    ]


def test_bytes_are_no_texts() -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: 1}"

    assert said(text)[:1] == [
        (
            "json: cannot unmarshal number into Go struct field Secret.data of type"
            " []uint8"
        )
    ]
