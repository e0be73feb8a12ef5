"""ConfigMaps and Secrets of the manifests, and the containers that need them."""

from __future__ import annotations

from probetui.engine.inputs import AddPod, SetObjects
from probetui.k8s.environment import ConfigMapEnvSource, EnvFrom
from probetui.k8s.status import Waiting
from probetui.k8s.volume import ConfigMap
from tests.builders import a_container, a_pod
from tests.drive.engine_bench import EngineBench

NEEDY = a_pod(a_container(env_from=(EnvFrom(ConfigMapEnvSource("config")),)))
REFUSED = 'Error: configmap "config" not found'


def test_a_container_whose_config_map_is_missing_is_not_created() -> None:
    bench = EngineBench(NEEDY)

    bench.run_until(5)

    status = bench.container().status
    assert status is not None
    assert {message for _, message in bench.events("Failed")} == {REFUSED}
    assert status.state == Waiting(
        "CreateContainerConfigError", 'configmap "config" not found'
    )
    assert list(bench.running()) == []


def test_it_is_created_once_the_config_map_is_there() -> None:
    bench = EngineBench(NEEDY)
    bench.run_until(5)

    bench.send(SetObjects((ConfigMap("config", data={"A": "1"}),)))
    bench.run_until(30)

    assert list(bench.running()) == ["app"]


def test_objects_that_are_there_first_are_used_at_once() -> None:
    bench = EngineBench()
    bench.send(SetObjects((ConfigMap("config", data={"A": "1"}),)))

    bench.send(AddPod(NEEDY))
    bench.run_until(5)

    assert bench.events("Failed") == []
    assert list(bench.running()) == ["app"]
