"""Several sources of pods: their first updates, and which pods each may terminate."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from probetui.drive.scenario.behavior import InstanceBehavior
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import DeletePod, SetPods
from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.pod_source import (
    API_SOURCE,
    CONFIG_SEEN,
    CONFIG_SOURCE,
    FILE_SOURCE,
    HTTP_SOURCE,
)
from probetui.k8s.probe import ExecAction, Probe
from probetui.k8s.runtime import StoredImage
from probetui.k8s.status import ConditionStatus, PodCondition, PodPhase
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.facts import ImagesListed, RuntimeStatusRead
from probetui.kubelet.journal import (
    EventEntry,
    Skip,
    TickEntry,
)
from probetui.kubelet.pod_workers.pod_update import PodWorkerState

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
WEB = Pod("of-api", "web", containers=(Container("app", "a:1"),))
ETCD = Pod("of-file", "etcd-node", containers=(Container("db", "b:1"),))
PROXY = Pod("of-url", "proxy-node", containers=(Container("proxy", "c:1"),))
STUBBORN = InstanceBehavior(stops_after=timedelta(seconds=20))
GATE = "example.com/in-service"
OPEN = PodCondition(GATE, ConditionStatus.TRUE)
CLOSED = PodCondition(GATE, ConditionStatus.FALSE)


def simulate(*sources: str, **behaviors: InstanceBehavior) -> Simulation:
    """Return a kubelet that waits for the first updates of these sources."""
    world = World({name: (behavior,) for name, behavior in behaviors.items()})
    config = KubeletConfig(sources=sources)
    return Simulation(Engine(config, START), world, START)


def run_for(simulation: Simulation, seconds: float) -> None:
    simulation.run_for(timedelta(seconds=seconds))


def started(simulation: Simulation) -> list[str]:
    return [
        entry.event.pod_uid
        for entry in simulation.journal
        if isinstance(entry, EventEntry) and entry.event.reason == "Started"
    ]


def states(simulation: Simulation) -> dict[str, PodWorkerState]:
    snapshot = simulation.engine.snapshot(simulation.now)
    return {pod.pod.uid: pod.state for pod in snapshot.pods}


def ready(simulation: Simulation) -> str:
    (pod,) = simulation.engine.snapshot(simulation.now).pods
    condition = pod.status.condition("Ready")
    assert condition is not None
    return f"{condition.status} {condition.reason}".rstrip()


class TestSeveralSources:
    def test_pods_of_all_of_them_run_side_by_side(self) -> None:
        simulation = simulate(API_SOURCE, FILE_SOURCE, HTTP_SOURCE)

        for pod, source in (
            (WEB, API_SOURCE),
            (ETCD, FILE_SOURCE),
            (PROXY, HTTP_SOURCE),
        ):
            simulation.submit(SetPods((pod,), source=source))
        run_for(simulation, 5)

        assert sorted(started(simulation)) == ["of-api", "of-file", "of-url"]
        pods = simulation.engine.snapshot(simulation.now).pods
        assert {pod.pod.uid: pod.pod.annotations[CONFIG_SOURCE] for pod in pods} == {
            "of-api": "api",
            "of-file": "file",
            "of-url": "http",
        }
        assert all(CONFIG_SEEN in pod.pod.annotations for pod in pods)

    def test_one_ends_only_its_own_pods(self) -> None:
        simulation = simulate(API_SOURCE, FILE_SOURCE)
        simulation.submit(SetPods((WEB,)))
        simulation.submit(SetPods((ETCD,), source=FILE_SOURCE))
        run_for(simulation, 5)

        simulation.submit(SetPods((), source=FILE_SOURCE))
        run_for(simulation, 60)

        assert simulation.engine.pod_uids() == ("of-api",)

    def test_pods_of_one_snapshot_are_added_in_the_order_of_their_creation(
        self,
    ) -> None:
        simulation = simulate(API_SOURCE)
        later = replace(WEB, created_at=START - timedelta(minutes=1))
        early = replace(ETCD, created_at=START - timedelta(hours=1))

        simulation.submit(SetPods((later, early, PROXY)))

        # A missing creation time is the zero time in Go, which is before all others.
        assert simulation.engine.pod_uids() == ("of-url", "of-file", "of-api")


class TestStaticPods:
    def test_a_removed_file_kills_its_pod_and_drops_the_status(self) -> None:
        pod = replace(
            ETCD,
            containers=(
                Container(
                    "db",
                    "b:1",
                    readiness_probe=Probe(ExecAction(("true",)), period_seconds=1),
                ),
            ),
        )
        simulation = simulate(FILE_SOURCE, db=STUBBORN)
        simulation.submit(SetPods((pod,), source=FILE_SOURCE))
        run_for(simulation, 10)

        simulation.submit(SetPods((), source=FILE_SOURCE))
        run_for(simulation, 5)

        assert states(simulation) == {"of-file": PodWorkerState.TERMINATING}
        (shown,) = simulation.engine.snapshot(simulation.now).pods
        assert shown.pod.deletion_requested_at is None
        assert shown.status.phase is PodPhase.RUNNING, "what was known last is shown"
        skips = [e.skip for e in simulation.journal if isinstance(e, TickEntry)]
        assert skips[-1] is Skip.NO_STATUS
        run_for(simulation, 40)
        assert simulation.engine.pod_uids() == ()

    def test_a_completed_pod_is_removed_with_its_file(self) -> None:
        pod = replace(ETCD, restart_policy=RestartPolicy.NEVER)
        completing = InstanceBehavior(lasts=timedelta(seconds=1), exit_code=0)
        simulation = simulate(FILE_SOURCE, db=completing)
        simulation.submit(SetPods((pod,), source=FILE_SOURCE))
        run_for(simulation, 30)

        simulation.submit(SetPods((), source=FILE_SOURCE))
        run_for(simulation, 90)

        assert simulation.engine.pod_uids() == ()

    def test_a_file_that_is_restored_during_termination_starts_its_pod_again(
        self,
    ) -> None:
        simulation = simulate(FILE_SOURCE, db=STUBBORN)
        simulation.submit(SetPods((ETCD,), source=FILE_SOURCE))
        run_for(simulation, 10)
        simulation.submit(SetPods((), source=FILE_SOURCE))
        run_for(simulation, 5)

        simulation.submit(SetPods((ETCD,), source=FILE_SOURCE))
        run_for(simulation, 60)

        assert started(simulation) == ["of-file", "of-file"]
        assert states(simulation) == {"of-file": PodWorkerState.SYNC}

    def test_a_pod_of_an_api_server_is_deleted_and_keeps_its_status(self) -> None:
        simulation = simulate(API_SOURCE, app=STUBBORN)
        simulation.submit(SetPods((WEB,)))
        run_for(simulation, 10)

        simulation.submit(SetPods(()))
        run_for(simulation, 5)

        (shown,) = simulation.engine.snapshot(simulation.now).pods
        assert shown.pod.deletion_requested_at is not None
        assert shown.status.container_statuses

    def test_a_person_can_delete_one(self) -> None:
        simulation = simulate(FILE_SOURCE)
        simulation.submit(SetPods((ETCD,), source=FILE_SOURCE))
        run_for(simulation, 10)

        simulation.submit(DeletePod("of-file"))
        run_for(simulation, 60)

        assert simulation.engine.pod_uids() == ()


class TestSourcesBeforeTheirFirstUpdate:
    def test_a_removed_static_pod_runs_on_until_all_are(self) -> None:
        simulation = simulate(FILE_SOURCE, HTTP_SOURCE)
        simulation.submit(SetPods((ETCD,), source=FILE_SOURCE))
        run_for(simulation, 10)

        simulation.submit(SetPods((), source=FILE_SOURCE))
        run_for(simulation, 60)
        before = states(simulation)
        simulation.submit(SetPods((), source=HTTP_SOURCE))
        run_for(simulation, 60)

        assert before == {"of-file": PodWorkerState.SYNC}
        assert simulation.engine.pod_uids() == ()

    def test_a_removed_static_pod_leaves_nothing_as_soon_as_it_has_ended(self) -> None:
        simulation = simulate(FILE_SOURCE)
        simulation.submit(SetPods((ETCD,), source=FILE_SOURCE))
        run_for(simulation, 10)

        simulation.submit(SetPods((), source=FILE_SOURCE))
        run_for(simulation, 1)

        assert simulation.engine.pod_uids() == ()

    def test_orphans_are_left_alone_until_all_are(self) -> None:
        world = World({})
        first = Simulation(Engine(KubeletConfig(), START), world, START)
        first.submit(SetPods((PROXY,)))
        run_for(first, 10)
        config = KubeletConfig(sources=(FILE_SOURCE, HTTP_SOURCE))
        second = Simulation(Engine(config, first.now), world, first.now)

        second.submit(SetPods((), source=FILE_SOURCE))
        run_for(second, 30)
        kept = [pod.running() for pod in world.pods(second.now)]
        second.submit(SetPods((), source=HTTP_SOURCE))
        run_for(second, 30)

        assert [len(running) for running in kept] == [1]
        assert not any(pod.running() for pod in world.pods(second.now))

    def test_a_source_whose_pods_run_may_still_have_no_update(self) -> None:
        simulation = simulate(HTTP_SOURCE)

        simulation.submit(SetPods((PROXY,), source=HTTP_SOURCE, is_complete=False))
        run_for(simulation, 5)
        sources = simulation.engine.snapshot(simulation.now).node.sources
        simulation.submit(SetPods((PROXY,), source=HTTP_SOURCE))
        run_for(simulation, 5)

        assert started(simulation) == ["of-url"]
        assert [source.is_heard for source in sources] == [False]
        node = simulation.engine.snapshot(simulation.now).node
        assert [source.is_heard for source in node.sources] == [True]


class TestConditionsOfOthers:
    POD = replace(WEB, readiness_gates=(GATE,))

    def test_a_readiness_gate_set_by_another_client_makes_the_pod_ready(self) -> None:
        simulation = simulate(API_SOURCE)

        simulation.submit(SetPods((self.POD,), conditions={"of-api": (OPEN,)}))
        run_for(simulation, 5)

        assert ready(simulation) == "True"

    def test_a_gate_that_changes_is_reconciled_at_once(self) -> None:
        simulation = simulate(API_SOURCE)
        simulation.submit(SetPods((self.POD,)))
        run_for(simulation, 30)
        before = ready(simulation)

        simulation.submit(SetPods((self.POD,), conditions={"of-api": (OPEN,)}))
        run_for(simulation, 1)
        opened = ready(simulation)
        simulation.submit(SetPods((self.POD,), conditions={"of-api": (CLOSED,)}))
        run_for(simulation, 1)

        assert before == "False ReadinessGatesNotReady"
        assert opened == "True"
        assert ready(simulation) == "False ReadinessGatesNotReady"
        assert started(simulation) == ["of-api"]

    def test_a_condition_that_is_no_gate_syncs_nothing(self) -> None:
        simulation = simulate(API_SOURCE)
        simulation.submit(SetPods((WEB,)))
        run_for(simulation, 30)
        entries = len(simulation.journal)

        simulation.submit(SetPods((WEB,), conditions={"of-api": (OPEN,)}))
        run_for(simulation, 0.5)

        assert len(simulation.journal) == entries


class TestWhatAnApiServerHolds:
    def test_no_pod_is_reported_as_ended_while_its_containers_may_run(self) -> None:
        pod = replace(
            WEB,
            restart_policy=RestartPolicy.NEVER,
            active_deadline_seconds=5,
        )
        simulation = simulate(API_SOURCE, app=STUBBORN)
        simulation.submit(SetPods((pod,)))
        run_for(simulation, 15)

        (ending,) = simulation.engine.snapshot(simulation.now).pods
        run_for(simulation, 60)
        (ended,) = simulation.engine.snapshot(simulation.now).pods

        assert ending.api_status is not None
        assert ended.api_status is not None
        assert ending.status.phase is PodPhase.FAILED
        assert ending.api_status.phase is PodPhase.RUNNING
        assert ended.api_status.phase is PodPhase.FAILED
        condition = ended.api_status.condition("Ready")
        assert condition is not None
        assert (condition.status, condition.reason) == ("False", "PodFailed")


class TestNode:
    def test_workers_are_shown_with_what_they_do_and_when_they_sync(self) -> None:
        simulation = simulate(API_SOURCE, app=STUBBORN)
        simulation.submit(SetPods((WEB,)))
        run_for(simulation, 10)
        (idle,) = simulation.engine.snapshot(simulation.now).node.workers
        simulation.submit(DeletePod("of-api"))
        run_for(simulation, 2)
        (ending,) = simulation.engine.snapshot(simulation.now).node.workers
        run_for(simulation, 60)
        node = simulation.engine.snapshot(simulation.now).node

        assert (idle.state, idle.call) == (PodWorkerState.SYNC, "")
        assert idle.due_at is not None
        assert timedelta(seconds=40) < idle.due_at - START < timedelta(seconds=110)
        assert (ending.state, ending.call) == (
            PodWorkerState.TERMINATING,
            "SyncTerminatingPod",
        )
        assert node.workers == ()
        assert [source.pods for source in node.sources] == [0]

    def test_a_source_does_not_count_a_pod_whose_file_is_gone(self) -> None:
        simulation = simulate(FILE_SOURCE, db=STUBBORN)
        counts = []

        for pods in ((ETCD, PROXY), (PROXY,)):
            simulation.submit(SetPods(pods, source=FILE_SOURCE))
            run_for(simulation, 5)
            (source,) = simulation.engine.snapshot(simulation.now).node.sources
            counts.append(source.pods)

        assert counts == [2, 1]
        assert states(simulation)["of-file"] is PodWorkerState.TERMINATING

    def test_images_and_conditions_of_a_node_are_the_last_reported_ones(self) -> None:
        config = KubeletConfig(polls_runtime=True, lists_images=True)
        simulation = Simulation(Engine(config, START), World({}), START)
        run_for(simulation, 1)
        simulation.submit(
            ImagesListed((StoredImage("i", ("busybox",), 4),), count=3, size_bytes=9)
        )

        node = simulation.engine.snapshot(simulation.now).node

        assert (node.image_count, node.image_bytes) == (3, 9)
        assert node.images[0].names == ("busybox",)
        assert [one.type for one in node.conditions] == ["RuntimeReady", "NetworkReady"]
        assert node.not_ready == ""

    def test_a_pod_that_waits_for_a_network_has_a_message(self) -> None:
        config = KubeletConfig(polls_runtime=True)
        simulation = Simulation(Engine(config, START), World({}), START)
        simulation.submit(SetPods((WEB, replace(ETCD, host_network=True))))
        run_for(simulation, 1)
        before = simulation.engine.snapshot(simulation.now)

        simulation.submit(RuntimeStatusRead(before.node.conditions[:1]))
        after = simulation.engine.snapshot(simulation.now)

        assert [pod.operation for pod in before.pods] == ["", ""]
        assert [pod.operation for pod in after.pods] == ["network is not ready", ""]
