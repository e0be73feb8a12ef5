from __future__ import annotations

import pytest

from probetui.manifest.edit.set_option import (
    SetOptionError,
    apply_set_option,
    container_names,
    has_container,
    parse_set_option,
)
from probetui.manifest.yaml.nodes import MapNode, to_plain
from probetui.manifest.yaml.parser import SourceFile, parse_yaml

_POD = """\
metadata:
  name: web
spec:
  containers:
    - name: app
      image: a
      command: [sleep, "1"]
    - name: db
      livenessProbe: {tcpSocket: {port: 1}}
    - 5
  initContainers:
    - name: setup
"""


def _pod(text: str = _POD) -> MapNode:
    (document,) = parse_yaml(SourceFile("pod.yaml", text)).documents
    assert isinstance(document.root, MapNode)
    return document.root


def _changed(setting: str, text: str = _POD) -> object:
    plain: object = to_plain(apply_set_option(parse_set_option(setting), _pod(text)))
    return plain


def _at(value: object, *path: str | int) -> object:
    for step in path:
        assert isinstance(value, dict | list)
        value = value[step]  # type: ignore[index]  # a dict by text, a list by number
    return value


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        pytest.param("app.image=b", ("spec", "containers", 0, "image"), "b", id="text"),
        pytest.param(
            "db.livenessProbe.periodSeconds=2",
            ("spec", "containers", 1, "livenessProbe"),
            {"tcpSocket": {"port": 1}, "periodSeconds": 2},
            id="field-beside-another",
        ),
        pytest.param(
            "app.readinessProbe.httpGet.port=80",
            ("spec", "containers", 0, "readinessProbe"),
            {"httpGet": {"port": 80}},
            id="the-way-is-made",
        ),
        pytest.param(
            "db.livenessProbe=null",
            ("spec", "containers", 1, "livenessProbe"),
            None,
            id="removed",
        ),
        pytest.param(
            "app.command=[a, b]",
            ("spec", "containers", 0, "command"),
            ["a", "b"],
            id="list",
        ),
        pytest.param(
            'app.command[1]="9"',
            ("spec", "containers", 0, "command", 1),
            "9",
            id="item",
        ),
        pytest.param(
            "setup.image=x", ("spec", "initContainers", 0, "image"), "x", id="init"
        ),
        pytest.param(
            "spec.restartPolicy=Never",
            ("spec", "restartPolicy"),
            "Never",
            id="whole-path",
        ),
        pytest.param(
            "spec.containers[1].image=c",
            ("spec", "containers", 1, "image"),
            "c",
            id="index",
        ),
        pytest.param(
            r"metadata.labels.a\.b/c=x=y",
            ("metadata", "labels", "a.b/c"),
            "x=y",
            id="dot",
        ),
        pytest.param(
            "app.image=", ("spec", "containers", 0, "image"), None, id="nothing"
        ),
    ],
)
def test_one_field_is_changed(
    setting: str, path: tuple[str | int, ...], value: object
) -> None:
    assert _at(_changed(setting), *path) == value


def test_the_pod_it_was_made_from_stays() -> None:
    pod = _pod()

    apply_set_option(parse_set_option("app.image=b"), pod)

    assert to_plain(pod) == to_plain(_pod())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "app",
        "app=5",
        "=5",
        "app.image",
        "[0].image=a",
        "app..image[x]=5",
        "a]b.c=1",
    ],
)
def test_what_is_no_setting_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SetOptionError) as caught:
        parse_set_option(text)

    assert str(caught.value) == (
        "must be PATH=VALUE, as in web.livenessProbe.periodSeconds=2 or"
        " spec.restartPolicy=Never"
    )
    assert caught.value.position.file == f"--set {text}"


def test_a_value_that_is_no_yaml_is_refused() -> None:
    with pytest.raises(SetOptionError, match=r"^the value is not YAML: did not find"):
        parse_set_option("app.image=[")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        pytest.param(
            "web.image=a",
            'there is no container "web" (has: app, db, setup)',
            id="container",
        ),
        pytest.param(
            "app.livenessProbe.perodSeconds=1",
            "spec.containers[0].livenessProbe has no field"
            ' "perodSeconds", did you mean "periodSeconds"? (has: exec,'
            " failureThreshold, grpc, httpGet, initialDelaySeconds, periodSeconds,"
            " successThreshold, tcpSocket, terminationGracePeriodSeconds,"
            " timeoutSeconds)",
            id="field",
        ),
        pytest.param(
            "app.image.tag=1", "spec.containers[0].image has no fields", id="below-text"
        ),
        pytest.param(
            "app.image[0]=1",
            "spec.containers[0].image is not a list",
            id="item-of-text",
        ),
        pytest.param(
            "app.command[2]=1",
            "there is no spec.containers[0].command[2], the last one is"
            " spec.containers[0].command[1]",
            id="item",
        ),
        pytest.param(
            "db.command[0]=1",
            "there is no spec.containers[1].command[0], spec.containers[1].command has"
            " no items",
            id="item-of-nothing",
        ),
        pytest.param(
            "spec.containers.image=1",
            "spec.containers has no fields, an item is chosen by [0]",
            id="list-without-an-index",
        ),
        pytest.param(
            "spec.containers[2].image=1",
            "spec.containers[2] has no fields",
            id="item-that-is-no-mapping",
        ),
    ],
)
def test_an_error_lists_the_valid_names(setting: str, message: str) -> None:
    with pytest.raises(SetOptionError) as caught:
        _changed(setting)

    assert str(caught.value) == message


def test_a_pod_as_a_whole_has_fields_too() -> None:
    with pytest.raises(SetOptionError, match=r'^spec has no field "containrs"'):
        _changed("spec.containrs=1")


def test_a_setting_is_for_pods_that_have_its_container() -> None:
    assert has_container(parse_set_option("app.image=a"), _pod())
    assert has_container(parse_set_option("spec.hostname=a"), _pod())
    assert not has_container(parse_set_option("web.image=a"), _pod())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param(_POD, ("app", "db", "setup"), id="all-kinds"),
        pytest.param("spec: 5\n", (), id="no-spec"),
        pytest.param("spec: {containers: {name: a}}\n", (), id="no-list"),
        pytest.param("spec: {containers: [{image: a}]}\n", (), id="no-names"),
    ],
)
def test_names_of_containers(text: str, names: tuple[str, ...]) -> None:
    assert container_names(_pod(text)) == names
