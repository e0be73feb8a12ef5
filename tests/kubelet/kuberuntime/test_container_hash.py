from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.k8s.pod import Container
from probetui.kubelet.kuberuntime.container_hash import (
    container_hash,
    has_changed,
    stable_key,
)
from tests.builders import a_container, a_pod, a_probe, an_instance


@pytest.mark.parametrize(
    ("name", "image", "expected"),
    [
        pytest.param("app", "busybox:1.36", 0x395745, id="plain"),
        pytest.param("sidecar", "busybox:1.36", 0x7621D729, id="another-name"),
    ],
)
def test_the_hash_is_that_of_a_real_kubelet(
    name: str, image: str, expected: int
) -> None:
    assert container_hash(a_container(name, image=image)) == expected


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(a_container(command=("sh",)), id="command"),
        pytest.param(a_container(liveness_probe=a_probe()), id="probe"),
        pytest.param(a_container(working_dir="/w"), id="working-directory"),
    ],
)
def test_only_image_and_name_make_another_container(changed: Container) -> None:
    assert container_hash(changed) == container_hash(a_container())


def test_another_image_is_another_container() -> None:
    instance = an_instance(a_container(image="busybox:1.36"))

    assert has_changed(a_container(image="busybox:1.37"), instance)
    assert not has_changed(a_container(image="busybox:1.36"), instance)


def test_the_key_of_back_off_has_pod_name_and_hash() -> None:
    pod = replace(a_pod(), uid="uid1", namespace="ns")

    key = stable_key(pod, a_container("sidecar"))

    assert key == "web_ns_uid1_sidecar_7621d729"
