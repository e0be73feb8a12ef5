from __future__ import annotations

from probetui.k8s.volume import Volume
from tests.builders import a_container, a_pod

FIRST, APP, OTHER = map(a_container, ("first", "app", "other"))
POD = a_pod(APP, OTHER, init_containers=(FIRST,), volumes=(Volume("data"),))


def test_containers_come_with_their_paths_init_containers_first() -> None:
    assert list(POD.containers_with_paths()) == [
        ("spec.initContainers[0]", FIRST),
        ("spec.containers[0]", APP),
        ("spec.containers[1]", OTHER),
    ]


def test_a_volume_is_found_by_its_name() -> None:
    assert POD.volume("data") == Volume("data")
    assert POD.volume("other") is None
