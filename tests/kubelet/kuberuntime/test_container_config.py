from __future__ import annotations

from typing import Any

import pytest

from probetui.k8s.environment import ConfigMapEnvSource, ConfigMapKeyRef, EnvFrom
from probetui.k8s.pod import Container, EnvVar, PodSecurityContext, VolumeMount
from probetui.k8s.runtime import Node
from probetui.k8s.volume import Volume
from probetui.kubelet.kuberuntime.container_config import make_container_config
from probetui.kubelet.kuberuntime.downward_api import PodLocation
from probetui.kubelet.object_store import ConfigRefusal, ObjectStore
from tests.builders import a_container, a_pod, env

WHERE = PodLocation(Node())


def make(container: Container) -> Container | ConfigRefusal:
    pod = a_pod(
        container,
        volumes=(Volume("data"),),
        security_context=PodSecurityContext(run_as_user=7),
    )
    return make_container_config(pod, container, ObjectStore(), WHERE)


def mounting(**fields: Any) -> Container:
    return a_container(
        env=env(DAY="monday", NOTHING=""),
        volume_mounts=(VolumeMount("data", "/data", **fields),),
    )


def test_command_and_arguments_have_no_references_any_more() -> None:
    container = a_container(
        command=("run", "$(A)"),
        args=("$(B)", "$$(A)", "$(C)"),
        env=env(A="1", B="$(A)2"),
    )

    made = make(container)

    assert isinstance(made, Container)
    assert made.command == ("run", "1")
    assert made.args == ("12", "$(A)", "$(C)")


def test_variables_have_values_and_no_sources() -> None:
    source = ConfigMapKeyRef("none", "x", optional=True)
    container = a_container(
        env=(*env(A="1"), EnvVar("B", has_value_from=True, value_from=source)),
        env_from=(EnvFrom(ConfigMapEnvSource("none", optional=True)),),
    )

    made = make(container)

    assert isinstance(made, Container)
    assert (made.env, made.env_from) == (env(A="1"), ())


def test_the_security_context_is_all_that_counts() -> None:
    made = make(a_container())

    assert isinstance(made, Container)
    assert made.security_context.run_as_user == 7


@pytest.mark.parametrize(
    ("fields", "sub_path"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"sub_path": "a/$(DAY)"}, "a/$(DAY)", id="taken as it is"),
        pytest.param({"sub_path_expr": "a/$(DAY)"}, "a/monday", id="expanded"),
    ],
)
def test_a_mount_has_a_plain_sub_path(fields: dict[str, str], sub_path: str) -> None:
    made = make(mounting(**fields))

    assert isinstance(made, Container)
    assert made.volume_mounts == (VolumeMount("data", "/data", sub_path=sub_path),)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param(
            {"sub_path_expr": "$(WEEK)/$(DAY)/$(NOTHING)"},
            "missing value for NOTHING, WEEK",
            id="variables without a value",
        ),
        pytest.param(
            {"sub_path_expr": "/$(DAY)"},
            "error SubPath `/monday` must not be an absolute path",
            id="absolute",
        ),
        pytest.param(
            {"sub_path": "a/../b"},
            "unable to provision SubPath `a/../b`: must not contain '..'",
            id="outside",
        ),
    ],
)
def test_a_sub_path_that_cannot_be_is_refused(
    fields: dict[str, str], message: str
) -> None:
    assert make(mounting(**fields)) == ConfigRefusal(message)


def test_a_volume_that_the_pod_does_not_have_is_refused() -> None:
    container = a_container(volume_mounts=(VolumeMount("other", "/other"),))

    assert make(container) == ConfigRefusal(
        'cannot find volume "other" to mount into container "app"'
    )


def test_a_reference_that_cannot_be_resolved_is_refused() -> None:
    container = a_container(env_from=(EnvFrom(ConfigMapEnvSource("none")),))

    assert make(container) == ConfigRefusal(
        'configmap "none" not found', is_missing=True
    )
