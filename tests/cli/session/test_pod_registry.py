"""Who hears of pods and objects, and when."""

from __future__ import annotations

from probetui.cli.session.pod_registry import DesiredState, PodRegistry
from probetui.k8s.volume import ConfigMap
from tests.builders import a_pod

WEB, DB = a_pod(name="web"), a_pod(name="db")
CONFIG = ConfigMap("config")


def test_whoever_asks_hears_of_what_there_is_and_of_every_change() -> None:
    pod_registry = PodRegistry(DesiredState((WEB,)))
    heard: list[list[str]] = []

    pod_registry.subscribe(lambda pods: heard.append([pod.name for pod in pods]))
    pod_registry.apply(DesiredState((DB,)))

    assert heard == [["web"], ["db"]]


def test_objects_are_told_of_before_the_pods_that_need_them() -> None:
    pod_registry = PodRegistry(DesiredState())
    heard: list[str] = []
    pod_registry.subscribe(lambda pods: heard.extend(pod.name for pod in pods))
    pod_registry.subscribe_objects(
        lambda objects: heard.extend(each.name for each in objects)
    )

    pod_registry.apply(DesiredState((WEB,), (CONFIG,)))

    assert heard == ["config", "web"]


def test_places_change_with_the_pods_and_before_anybody_hears() -> None:
    pod_registry = PodRegistry(DesiredState((WEB,), places={"web a": "web.yaml:1:1"}))
    heard: list[dict[str, str]] = []

    pod_registry.subscribe(lambda _pods: heard.append(dict(pod_registry.places)))
    pod_registry.apply(DesiredState((DB,), places={"db a": "db.yaml:2:1"}))

    assert heard == [{"web a": "web.yaml:1:1"}, {"db a": "db.yaml:2:1"}]


def test_pods_that_were_there_once_are_remembered() -> None:
    pod_registry = PodRegistry(DesiredState((WEB,)))

    pod_registry.apply(DesiredState((DB,)))

    assert pod_registry.pods == (DB,)
    assert pod_registry.all_known == (WEB, DB)
