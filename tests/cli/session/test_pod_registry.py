"""Who hears of pods and objects, and when."""

from __future__ import annotations

from probetui.cli.session.pod_registry import DesiredState, PodRegistry
from probetui.engine.inputs import SetPods
from probetui.k8s.status import ConditionStatus, PodCondition
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
        lambda objects: heard.extend(pod.name for pod in objects)
    )

    pod_registry.apply(DesiredState((WEB,), (CONFIG,)))

    assert heard == ["config", "web"]


def test_places_change_with_the_pods_and_before_anybody_hears() -> None:
    pod_registry = PodRegistry(DesiredState((WEB,), places={"web a": "web.yaml:1:1"}))
    heard: list[dict[str, str]] = []

    pod_registry.subscribe(
        lambda _pods: heard.append(dict(pod_registry.desired.places))
    )
    pod_registry.apply(DesiredState((DB,), places={"db a": "db.yaml:2:1"}))

    assert heard == [{"web a": "web.yaml:1:1"}, {"db a": "db.yaml:2:1"}]


def test_pods_that_were_there_once_are_remembered() -> None:
    pod_registry = PodRegistry(DesiredState((WEB,)))

    pod_registry.apply(DesiredState((DB,)))

    assert pod_registry.pods == (DB,)
    assert pod_registry.all_known == (WEB, DB)


class TestSources:
    ETCD = a_pod(name="etcd-node")
    GATE = (PodCondition("open", ConditionStatus.TRUE),)

    def test_each_is_told_its_own_pods(self) -> None:
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

    def test_one_without_pods_says_so(self) -> None:
        desired = DesiredState(sources=("api", "http"))

        assert list(desired.updates()) == [SetPods(()), SetPods((), source="http")]

    def test_one_that_is_not_read_yet_is_not_complete(self) -> None:
        desired = DesiredState(sources=("http",), unread=frozenset({"http"}))

        assert list(desired.updates()) == [
            SetPods((), source="http", is_complete=False)
        ]
