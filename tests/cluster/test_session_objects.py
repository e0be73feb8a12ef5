"""A session's pods as objects, while one takes the place of another."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from probetui.cluster.api_server.object_feed import ObjectFeed
from probetui.cluster.api_server.resources import PODS
from probetui.cluster.api_server.selection import ALL
from probetui.cluster.local_api.session_objects import SessionObjects
from probetui.drive.scenario.behavior import InstanceBehavior
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import SetPods
from probetui.k8s.pod import Container, Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet_rules import DEFAULT_VERSION, rules_of
from probetui.record.masking import Mask
from tests.builders import START
from tests.cluster.node.bench import FACTS
from tests.tui.fake_session import FakeSession

OLD_POD = Pod("old", "web", containers=(Container("app", "a:1"),))
NEW_POD = replace(OLD_POD, uid="new", containers=(Container("app", "a:2"),))
SLOW = InstanceBehavior(stops_after=timedelta(seconds=4))


class Served:
    """A simulation, and the feed that has its pods after each turn."""

    def __init__(self) -> None:
        world = World({"app": (SLOW,)})
        self.simulation = Simulation(Engine(KubeletConfig(), START), world, START)
        self.feed = ObjectFeed(lambda: self.simulation.now)
        self._session = FakeSession(self.simulation.engine.snapshot(START))
        rules = rules_of(DEFAULT_VERSION)
        self._objects = SessionObjects(self.feed, self._session, FACTS, rules, Mask())

    def set_pods(self, *pods: Pod) -> None:
        self.simulation.submit(SetPods(pods))
        self.show()

    def run(self, seconds: int) -> None:
        for _ in range(seconds):
            self.simulation.run_for(timedelta(seconds=1))
            self.show()

    def show(self) -> None:
        now = self.simulation.now
        self._session.publish(self.simulation.engine.snapshot(now))
        self._objects.consume(())

    @property
    def uids(self) -> list[str]:
        """The pods that are served."""
        return [pod["metadata"]["uid"] for pod in self.feed.list(PODS).items]

    def changes_after(self, version: int) -> list[tuple[str, str]]:
        """Return type and uid of each change of a pod that a watch gets."""
        return [
            (change.type, change.object["metadata"]["uid"])
            for change in self.feed.watch(PODS, "", ALL, version).take_changes()
        ]


def test_the_end_of_a_pod_leaves_another_of_its_name() -> None:
    served = Served()
    served.set_pods(OLD_POD)
    served.run(10)
    served.set_pods(NEW_POD)
    while "old" in served.simulation.engine.pod_uids():
        assert served.uids == ["new"]
        served.run(1)
    assert served.uids == ["new"]


def test_a_pod_that_ends_is_not_shown_again_in_place_of_the_newer() -> None:
    served = Served()
    served.set_pods(OLD_POD)
    served.run(10)
    version = served.feed.version
    served.set_pods(NEW_POD)
    served.run(30)
    before, *after = served.changes_after(version)
    assert before == ("DELETED", "old")
    assert after[0] == ("ADDED", "new")
    assert set(after[1:]) == {("MODIFIED", "new")}


def test_a_pod_that_is_gone_is_removed() -> None:
    served = Served()
    served.set_pods(OLD_POD)
    served.run(10)
    served.set_pods()
    served.run(30)
    assert served.uids == []
