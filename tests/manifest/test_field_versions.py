"""Known fields follow the chosen version of Kubernetes, not the installed models."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from lightkube.models import apps_v1, batch_v1, core_v1, meta_v1

from probetui.kubelet_rules import ROWS, VERSIONS, rules_of
from probetui.manifest import field_versions, schema
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import FieldValidation, Manifests
from probetui.manifest.problem import Severity
from probetui.manifest.version_fields import disabled_fields
from probetui.manifest.yaml.parser import SourceFile
from tests.manifest.yaml_pods import pod_yaml


def _load(
    text: str, kubelet: str, validation: FieldValidation, *gates: str
) -> Manifests:
    source = SourceFile("pod.yaml", text)
    rules = rules_of(kubelet, gates)
    return load_manifests([source], validation=validation, rules=rules)


def test_the_table_is_of_the_models_that_are_installed() -> None:
    assert version("lightkube-models").startswith(f"{field_versions.MODELS_VERSION}.")
    assert VERSIONS[-1] == field_versions.MODELS_VERSION


def test_the_table_names_fields_that_the_models_have() -> None:
    modules = (core_v1, meta_v1, apps_v1, batch_v1)
    for since, types in field_versions.LATER.items():
        assert since in VERSIONS
        for owner, fields in types.items():
            (model,) = (
                found for one in modules if (found := getattr(one, owner, None))
            )
            assert set(fields) <= schema.fields_of(model).keys(), owner
    for owner, name in field_versions.GONE:
        (model,) = (found for one in modules if (found := getattr(one, owner, None)))
        assert name not in schema.fields_of(model)


@pytest.mark.parametrize(
    ("field", "last_without", "first_with", "spec"),
    [
        pytest.param(
            "spec.containers[0].startupProbe", "1.15", "1.18",
            ("startupProbe: {tcpSocket: {port: 80}}", ""), id="startup-probe",
        ),
        pytest.param(
            "spec.containers[0].livenessProbe.grpc", "1.22", "1.24",
            ("livenessProbe: {grpc: {port: 80}}", ""), id="grpc",
        ),
        pytest.param(
            "spec.initContainers[0].restartPolicy", "1.27", "1.29",
            ("", "initContainers: [{name: a, image: x, restartPolicy: Always}]"),
            id="sidecar",
        ),
        pytest.param(
            "spec.containers[0].lifecycle.preStop.sleep", "1.28", "1.30",
            ("lifecycle: {preStop: {sleep: {seconds: 1}}}", ""), id="sleep",
        ),
        pytest.param(
            "spec.hostnameOverride", "1.33", "1.34",
            ("", "hostnameOverride: a"), id="hostname-override",
        ),
    ],
)  # fmt: skip
def test_a_field_that_came_later_is_unknown(
    field: str, last_without: str, first_with: str, spec: tuple[str, str]
) -> None:
    text = pod_yaml(*spec)

    older = _load(text, last_without, FieldValidation.WARN)
    strict = _load(text, last_without, FieldValidation.STRICT)
    newer = _load(text, first_with, FieldValidation.STRICT)

    (warning,) = (one for one in older.problems if one.rule == "later-field")
    assert (warning.path, warning.severity) == (field, Severity.WARNING)
    assert warning.message.startswith(f"unknown to Kubernetes {last_without}")
    assert warning.line
    assert field in {error.path for error in strict.errors}
    assert [one for one in newer.problems if one.rule == "later-field"] == []


def test_a_later_field_is_dropped() -> None:
    text = pod_yaml("startupProbe: {tcpSocket: {port: 80}}")

    (pod,) = _load(text, "1.15", FieldValidation.WARN).pods

    assert pod.containers[0].startup_probe is None


def test_a_field_whose_gate_is_off_is_dropped_even_by_a_strict_server() -> None:
    text = pod_yaml("startupProbe: {tcpSocket: {port: 80}}")

    loaded = _load(text, "1.19", FieldValidation.STRICT, "StartupProbe=false")

    (warning,) = (one for one in loaded.problems if one.rule == "disabled-field")
    assert warning.severity is Severity.WARNING
    assert warning.message == "its feature gate is off in Kubernetes 1.19"
    assert loaded.pods[0].containers[0].startup_probe is None


@pytest.mark.parametrize(
    ("container", "spec", "path"),
    [
        pytest.param(
            "volumeMounts: [{name: v, mountPath: /v, bindMountOptions: [noexec]}]",
            "volumes: [{name: v, emptyDir: {}}]",
            "spec.containers[0].volumeMounts[0].bindMountOptions",
            id="options of a mount",
        ),
        pytest.param(
            "",
            "volumes: [{name: v, emptyDir: {mode: 448}}]",
            "spec.volumes[0].emptyDir.mode",
            id="the mode of a folder",
        ),
        pytest.param(
            "",
            "volumes: [{name: v, configMap: {name: c, defaultUser: 5}}]",
            "spec.volumes[0].configMap.defaultUser",
            id="the owner of files",
        ),
        pytest.param(
            "",
            "volumes: [{name: v, projected: {sources: [{secret: {name: s, items: "
            "[{key: a, path: b, user: 5}]}}]}}]",
            "spec.volumes[0].projected.sources[0].secret.items[0].user",
            id="the owner of a projected file",
        ),
    ],
)
def test_an_alpha_field_of_volumes_is_dropped_with_a_warning(
    container: str, spec: str, path: str
) -> None:
    text = pod_yaml(container, spec)

    problems = {
        kubelet: {
            one.rule
            for one in _load(text, kubelet, FieldValidation.WARN).problems
            if one.path == path
        }
        for kubelet in ("1.36", "1.37")
    }

    assert problems == {"1.36": {"later-field"}, "1.37": {"disabled-field"}}


def test_the_handling_of_a_probe_is_reported() -> None:
    text = pod_yaml("livenessProbe: {grpc: {port: 80, mode: TLS}}")

    messages = {
        kubelet: [
            one.message
            for one in _load(text, kubelet, FieldValidation.WARN).problems
            if one.rule in {"later-field", "disabled-field"}
        ]
        for kubelet in ("1.36", "1.37")
    }

    end = ": the probe goes on in plaintext"
    assert messages == {
        "1.36": [f"unknown to Kubernetes 1.36{end}"],
        "1.37": [f"its feature gate is off in Kubernetes 1.37{end}"],
    }


def test_a_field_that_is_gone_is_known_to_its_version() -> None:
    text = pod_yaml(spec="workloadRef: {name: a}")

    assert _load(text, "1.35", FieldValidation.STRICT).errors == ()
    (error,) = _load(text, "1.36", FieldValidation.STRICT).errors
    assert (error.rule, error.path) == ("unknown-field", "spec.workloadRef")


def test_a_config_map_is_read_as_the_version_reads_it() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: true\n"

    (error,) = _load(text, "1.15", FieldValidation.STRICT).errors

    assert (error.rule, error.path) == ("later-field", "immutable")


@pytest.mark.parametrize(
    "rule", [name for name, row in ROWS.items() if row.field], ids=str
)
def test_the_field_of_a_rule_is_one_of_the_models_that_its_releases_know(
    rule: str,
) -> None:
    row = ROWS[rule]
    owner, _, name = row.field.partition(".")

    assert name in schema.fields_of(getattr(core_v1, owner))
    for kubelet in VERSIONS:
        rules = rules_of(kubelet)
        is_dropped = name in disabled_fields(rules).get(owner, ())
        assert is_dropped is not getattr(rules, rule)
        if not is_dropped:
            assert not field_versions.is_later(owner, name, kubelet)
