"""Subscriptions to pods and objects."""

from __future__ import annotations

from probetui.cli.session.pod_registry import DesiredState, PodRegistry
from probetui.engine.inputs import SetPods
from probetui.k8s.status import ConditionStatus, PodCondition
from probetui.k8s.volume import ConfigMap
from tests.builders import a_pod

WEB, DB = a_pod(name="web"), a_pod(name="db")
CONFIG = ConfigMap("config")


def test_a_subscriber_gets_the_current_pods_and_every_change() -> None:
    pod_registry = PodRegistry(DesiredState((WEB,)))
    notifications: list[list[str]] = []

    pod_registry.subscribe(
        lambda pods: notifications.append([pod.name for pod in pods])
    )
    pod_registry.apply(DesiredState((DB,)))

    assert notifications == [["web"], ["db"]]


def test_objects_are_published_before_the_pods_that_need_them() -> None:
    pod_registry = PodRegistry(DesiredState())
    notifications: list[str] = []
    pod_registry.subscribe(lambda pods: notifications.extend(pod.name for pod in pods))
    pod_registry.subscribe_objects(
        lambda objects: notifications.extend(resource.name for resource in objects)
    )

    pod_registry.apply(DesiredState((WEB,), (CONFIG,)))

    assert notifications == ["config", "web"]


def test_positions_change_with_the_pods_before_subscribers_are_notified() -> None:
    pod_registry = PodRegistry(DesiredState((WEB,), places={"web a": "web.yaml:1:1"}))
    notifications: list[dict[str, str]] = []

    pod_registry.subscribe(
        lambda _pods: notifications.append(dict(pod_registry.desired.places))
    )
    pod_registry.apply(DesiredState((DB,), places={"db a": "db.yaml:2:1"}))

    assert notifications == [{"web a": "web.yaml:1:1"}, {"db a": "db.yaml:2:1"}]


def test_earlier_pods_are_remembered() -> None:
    pod_registry = PodRegistry(DesiredState((WEB,)))

    pod_registry.apply(DesiredState((DB,)))

    assert pod_registry.pods == (DB,)
    assert pod_registry.all_known == (WEB, DB)


class TestSources:
    ETCD = a_pod(name="etcd-node")
    GATE = (PodCondition("open", ConditionStatus.TRUE),)

    def test_every_source_is_notified_of_its_own_pods(self) -> None:
        desired = DesiredState(
            (WEB, self.ETCD),
            places={"uid-of-web a": "w:1:1", "uid-of-etcd-node a": "e:1:1"},
            conditions={"uid-of-web": self.GATE},
            static={"uid-of-etcd-node": "file"},
            sources=("api", "file"),
        )

        assert list(desired.updates()) == [
            SetPods(
                (WEB,),
                {"uid-of-web a": "w:1:1"},
                "api",
                {"uid-of-web": self.GATE},
            ),
            SetPods((self.ETCD,), {"uid-of-etcd-node a": "e:1:1"}, "file"),
        ]

    def test_a_source_without_pods_is_reported_as_empty(self) -> None:
        desired = DesiredState(sources=("api", "http"))

        assert list(desired.updates()) == [SetPods(()), SetPods((), source="http")]

    def test_a_source_that_is_not_read_yet_is_not_complete(self) -> None:
        desired = DesiredState(sources=("http",), unread=frozenset({"http"}))

        assert list(desired.updates()) == [
            SetPods((), source="http", is_complete=False)
        ]
