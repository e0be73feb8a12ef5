"""The runtime's conditions, and what waits for them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from probetui.k8s.pod import Pod
from probetui.k8s.runtime import RuntimeCondition, StoredImage
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import (
    GetRuntimeStatus,
    ListImages,
    RunOperation,
    RunPodSandbox,
)
from probetui.kubelet.facts import ImagesListed, Relisted, RuntimeStatusRead
from probetui.kubelet.journal import EventEntry, NoteEntry
from probetui.kubelet.kubelet import Kubelet
from probetui.kubelet.runtime.turn import Turn, TurnBuilder
from probetui.kubelet.runtime_health import RuntimeHealth, node_ready_message
from tests.builders import START, a_pod, at

READY = RuntimeCondition("RuntimeReady", status=True)
NETWORK = RuntimeCondition("NetworkReady", status=True)
NO_NETWORK = RuntimeCondition(
    "NetworkReady",
    status=False,
    reason="NetworkPluginNotReady",
    message="Network plugin returns error: cni plugin not initialized",
)
NOT_READY = RuntimeCondition("RuntimeReady", False, "Stopping", "is stopping")  # noqa: FBT003  # the condition's status
NO_NETWORK_TEXT = (
    "container runtime network not ready: NetworkReady=false "
    "reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not "
    "initialized"
)


class Bench:
    """A kubelet that polls its runtime."""

    def __init__(self, *pods: Pod) -> None:
        config = KubeletConfig(polls_runtime=True, lists_images=True)
        self.kubelet = Kubelet(config, START)
        self.now = START
        self.turns: list[Turn] = []
        for pod in pods:
            self.kubelet.add_pod(pod, START, waits_for_name=False)

    def run(self, seconds: float = 0) -> None:
        self.now += timedelta(seconds=seconds)
        self.kubelet.due_at = self.now
        self.kubelet.run_due(self.now)
        self.turns.append(self.kubelet.turn.finish())

    def read(self, *conditions: RuntimeCondition, error: str = "") -> None:
        self.kubelet.observe(RuntimeStatusRead(conditions, error), self.now)
        self.run()

    def relist(self) -> None:
        self.kubelet.observe(Relisted((), self.now), self.now)
        self.run()

    def count_of_requests(self, kind: type) -> int:
        return sum(
            isinstance(effect, kind) for turn in self.turns for effect in turn.effects
        )

    def sandboxes(self) -> list[str]:
        """Return the pods for which a sandbox was wanted."""
        return [
            effect.pod_uid
            for turn in self.turns
            for effect in turn.effects
            if isinstance(effect, RunOperation)
            and isinstance(effect.operation, RunPodSandbox)
        ]

    def events(self) -> list[tuple[str, str, datetime]]:
        return [
            (entry.event.reason, entry.event.message, entry.at)
            for turn in self.turns
            for entry in turn.entries
            if isinstance(entry, EventEntry)
        ]

    def notes(self) -> list[str]:
        return [
            entry.text
            for turn in self.turns
            for entry in turn.entries
            if isinstance(entry, NoteEntry)
        ]


class TestPolls:
    def test_conditions_are_requested_five_seconds_after_each_answer(self) -> None:
        bench = Bench()
        bench.run()
        bench.run(60)
        while_waiting = bench.count_of_requests(GetRuntimeStatus)
        bench.read(READY, NETWORK)
        bench.run(4.9)
        before = bench.count_of_requests(GetRuntimeStatus)
        bench.run(0.1)

        assert (while_waiting, before, bench.count_of_requests(GetRuntimeStatus)) == (
            1,
            1,
            2,
        )

    def test_images_are_listed_thirty_seconds_after_each_answer(self) -> None:
        bench = Bench()
        bench.run()
        bench.kubelet.observe(
            ImagesListed((StoredImage("i"),), count=7, size_bytes=9), START
        )
        bench.run(29.9)
        before = bench.count_of_requests(ListImages)
        bench.run(0.1)

        assert (before, bench.count_of_requests(ListImages)) == (1, 2)
        assert bench.kubelet.health.images.count == 7
        assert bench.kubelet.health.images_at == START

    def test_a_list_that_fails_leaves_the_one_before(self) -> None:
        bench = Bench()
        bench.kubelet.observe(ImagesListed((StoredImage("i"),), count=1), START)

        bench.kubelet.observe(ImagesListed(error="no answer"), at(30))

        health = bench.kubelet.health
        assert (health.images.count, health.images_at) == (1, START)
        assert health.images_error == "no answer"

    def test_a_kubelet_that_polls_nothing_asks_nothing_and_waits_for_nothing(
        self,
    ) -> None:
        health = RuntimeHealth(
            TurnBuilder(), START, polls_status=False, polls_images=False
        )

        assert health.next_deadline() is None
        assert health.syncs_pods
        assert not health.network_error


class TestNetwork:
    def test_a_pod_waits_for_it_and_asks_again_after_a_second(self) -> None:
        bench = Bench(a_pod())
        bench.run()
        bench.read(READY, NO_NETWORK)
        bench.relist()
        for _ in range(4):
            bench.run(0.5)
            bench.relist()

        texts = {(reason, message) for reason, message, _ in bench.events()}
        times = [when for _, _, when in bench.events()]
        assert texts == {
            ("NetworkNotReady", f"network is not ready: {NO_NETWORK_TEXT}")
        }
        assert bench.sandboxes() == []
        assert len(times) == 2
        assert times[1] - times[0] >= timedelta(seconds=1)

    def test_a_pod_in_the_host_network_is_synced(self) -> None:
        bench = Bench(a_pod(host_network=True, name="host"), a_pod())
        bench.run()
        bench.read(READY, NO_NETWORK)
        bench.relist()

        assert bench.sandboxes() == ["uid-of-host"]

    def test_it_starts_once_there_is_one(self) -> None:
        bench = Bench(a_pod())
        bench.run()
        bench.read(READY, NO_NETWORK)
        bench.relist()
        bench.read(READY, NETWORK)
        for _ in range(4):
            bench.run(1)
            bench.relist()

        assert bench.sandboxes() == ["uid-of-web"]
        assert bench.notes() == [
            NO_NETWORK_TEXT,
            "container runtime network ready again",
        ]

    def test_a_missing_network_condition_is_nil_in_the_event(self) -> None:
        bench = Bench(a_pod())
        bench.run()
        bench.read(READY)
        bench.relist()

        ((_, message, _),) = bench.events()
        assert message == (
            "network is not ready: container runtime network not ready: <nil>"
        )


class TestRuntime:
    @pytest.mark.parametrize(
        ("conditions", "error"),
        [
            pytest.param((), "no answer", id="never-answered"),
            pytest.param((NOT_READY, NETWORK), "", id="not-ready"),
        ],
    )
    def test_no_pod_is_synced_while_it_is_not_ready(
        self, conditions: tuple[RuntimeCondition, ...], error: str
    ) -> None:
        bench = Bench(a_pod())
        bench.run()
        bench.relist()
        bench.read(*conditions, error=error)
        bench.run(1)
        bench.relist()
        before = bench.sandboxes()
        bench.read(READY, NETWORK)

        assert before == []
        assert bench.sandboxes() == ["uid-of-web"]

    def test_a_late_answer_changes_nothing_at_first(self) -> None:
        bench = Bench(a_pod())
        bench.run()
        bench.read(READY, NETWORK)
        bench.read(error="no answer")
        bench.relist()

        assert bench.sandboxes() == ["uid-of-web"]

    @pytest.mark.parametrize(
        ("seconds", "relisted", "expected"),
        [
            pytest.param(1, 0, "", id="well"),
            pytest.param(29.9, 29, "", id="late"),
            pytest.param(30, 29, "container runtime is down", id="down"),
            pytest.param(
                185.5,
                0,
                "[container runtime is down, PLEG is not healthy: pleg was last seen "
                "active 3m5.5s ago; threshold is 3m0s]",
                id="no-relist",
            ),
        ],
    )
    def test_the_node_has_the_message_of_the_runtime(
        self, seconds: float, relisted: float, expected: str
    ) -> None:
        health = RuntimeHealth(
            TurnBuilder(), START, polls_status=True, polls_images=False
        )
        health.on_status_read(RuntimeStatusRead((READY, NETWORK)), START)

        errors = health.runtime_errors(at(relisted), at(seconds))

        assert node_ready_message(errors, health.network_error) == expected

    def test_the_message_of_the_node_has_all_problems(self) -> None:
        health = RuntimeHealth(
            TurnBuilder(), START, polls_status=True, polls_images=False
        )
        at_first = node_ready_message(
            health.runtime_errors(None, START), health.network_error
        )
        health.on_status_read(RuntimeStatusRead((READY, NETWORK)), START)
        health.on_status_read(RuntimeStatusRead((NOT_READY, NO_NETWORK)), at(5))

        errors = health.runtime_errors(at(4), at(6))

        assert at_first == (
            "[container runtime status check may not have completed yet, PLEG is not "
            "healthy: pleg has yet to be successful, network state unknown]"
        )
        assert node_ready_message(errors, health.network_error) == (
            "[container runtime not ready: RuntimeReady=false reason:Stopping "
            f"message:is stopping, {NO_NETWORK_TEXT}]"
        )
