from __future__ import annotations

from probetui.k8s.volume import ConfigMap, Secret
from probetui.kubelet.object_store import ConfigRefusal, ObjectStore


def test_objects_are_found_by_kind_namespace_and_name() -> None:
    objects = ObjectStore()
    config, secret = (
        ConfigMap("x", "shop", {"a": "b"}),
        Secret("x", "shop", {"a": b"b"}),
    )

    objects.replace((config, secret))

    assert objects.config_map("shop", "x") is config
    assert objects.secret("shop", "x") is secret


def test_of_two_that_are_called_alike_the_last_one_counts() -> None:
    objects = ObjectStore()

    objects.replace((ConfigMap("x", data={"a": "1"}), ConfigMap("x", data={"a": "2"})))

    assert objects.config_map("default", "x") == ConfigMap("x", data={"a": "2"})


def test_what_is_not_among_the_new_objects_is_gone() -> None:
    objects = ObjectStore()
    objects.replace((ConfigMap("x"), Secret("x")))

    objects.replace(())

    assert objects.config_map("default", "x") == ConfigRefusal(
        'configmap "x" not found', is_missing=True
    )
    assert objects.secret("default", "x") == ConfigRefusal(
        'secret "x" not found', is_missing=True
    )


def test_an_object_of_another_namespace_is_not_there() -> None:
    objects = ObjectStore()
    objects.replace((ConfigMap("x", "shop"),))

    assert isinstance(objects.config_map("default", "x"), ConfigRefusal)
