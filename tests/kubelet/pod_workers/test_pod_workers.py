from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.k8s.status import PodPhase
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.pod_workers.pod_update import (
    PodWorkerState,
    SyncCall,
    SyncCallKind,
    SyncCallResult,
    UpdatePodOptions,
    UpdateType,
)
from probetui.kubelet.pod_workers.pod_workers import PodWorkers
from tests.builders import START, a_pod, at

CREATE, UPDATE, SYNC, KILL = UpdateType
OK, TERMINAL, ERROR, NETWORK_NOT_READY, _ = SyncCallResult
WEB = "uid-of-web"


class Bench:
    """Pod workers whose calls are recorded, and ended by the test.

    `fresh_at` is the second of the last relist; None is newer than everything.
    """

    def __init__(self, *, is_idle: bool = True) -> None:
        self.calls: list[SyncCall] = []
        self.now = START
        self.fresh_at: float | None = None
        self.workers = PodWorkers(
            KubeletConfig(),
            Random(0),
            start_call=lambda call, _now: self.calls.append(call),
            has_fresh_status=self.has_fresh_status,
            is_idle=lambda _uid: is_idle,
        )

    def has_fresh_status(self, _uid: str, since: datetime | None) -> bool:
        return self.fresh_at is None or since is None or at(self.fresh_at) >= since

    def update(
        self, update_type: UpdateType = UPDATE, pod: Pod | None = None, **fields: Any
    ) -> None:
        self.workers.update(
            UpdatePodOptions(update_type, pod or a_pod(), **fields), self.now
        )

    def delete(self, grace: int | None = None) -> None:
        self.update(
            pod=a_pod(deletion_requested_at=START, deletion_grace_period_seconds=grace)
        )

    def finish(self, *results: SyncCallResult, uid: str = WEB) -> None:
        for result in results:
            self.workers.finish(uid, result, self.now)

    def sync_known_pods(self, *pods: Pod) -> dict[str, PodWorkerState]:
        return self.workers.sync_known_pods({pod.uid: pod for pod in pods}, self.now)

    def kinds(self) -> list[SyncCallKind]:
        return [call.kind for call in self.calls]

    def state(self) -> PodWorkerState | None:
        return self.workers.state(WEB)


def syncing() -> Bench:
    """Return workers that are in the middle of the first sync of a pod."""
    bench = Bench()
    bench.update(CREATE)
    return bench


def synced() -> Bench:
    """Return workers that have synced a pod once."""
    bench = syncing()
    bench.finish(OK)
    return bench


def finished() -> Bench:
    """Return workers that have brought a deleted pod to its end."""
    bench = synced()
    bench.delete()
    bench.finish(OK, OK)
    return bench


class TestOneCallAtATime:
    def test_a_new_pod_is_synced_at_once(self) -> None:
        bench = syncing()

        assert bench.kinds() == [SyncCallKind.SYNC]
        assert bench.workers.call_of(WEB) is bench.calls[0]
        assert bench.calls[0].pod == a_pod()

    def test_of_the_updates_during_a_call_the_last_one_is_delivered(self) -> None:
        bench = syncing()
        for name in ("second", "third"):
            bench.update(pod=a_pod(uid=WEB, name=name))
        assert len(bench.calls) == 1

        bench.finish(OK)

        assert [call.pod.name for call in bench.calls] == ["web", "third"]

    def test_the_next_call_waits_for_facts_newer_than_the_end_of_the_last(self) -> None:
        bench = syncing()
        bench.now = at(5)
        bench.fresh_at = 4
        bench.finish(OK)
        bench.update(SYNC)
        waiting = len(bench.calls)

        bench.fresh_at = 5
        bench.workers.run_ready(at(6))

        assert (waiting, len(bench.calls)) == (1, 2)

    def test_pods_do_not_wait_for_each_other(self) -> None:
        bench = syncing()

        bench.update(CREATE, a_pod(name="other"))

        assert len(bench.calls) == 2
        assert bench.workers.uids() == (WEB, "uid-of-other")

    def test_an_unknown_call_cannot_end(self) -> None:
        bench = synced()

        with pytest.raises(AssertionError, match="no call is running"):
            bench.finish(OK)


class TestWhenNext:
    @pytest.mark.parametrize(
        ("result", "least", "most"),
        [
            pytest.param(OK, 60, 90, id="resync"),
            pytest.param(ERROR, 10, 15, id="retry"),
            pytest.param(NETWORK_NOT_READY, 1, 1.5, id="network"),
        ],
    )
    def test_it_depends_on_how_the_call_ended(
        self, result: SyncCallResult, least: float, most: float
    ) -> None:
        delays = set()
        bench = syncing()
        for _ in range(20):
            bench.finish(result)
            delays.add(bench.workers.queue.deadline(WEB))
            bench.update(SYNC)

        assert all(at(least) <= delay < at(most) for delay in delays if delay)
        assert len(delays) == 20

    def test_after_a_change_of_state_it_is_now(self) -> None:
        bench = syncing()

        bench.finish(TERMINAL)

        assert bench.workers.queue.deadline(WEB) == START

    def test_a_finished_pod_is_never_synced_again(self) -> None:
        bench = finished()

        assert bench.workers.queue.deadline(WEB) is None


class TestStates:
    def test_a_deleted_pod_goes_from_state_to_state(self) -> None:
        bench = synced()
        states = [bench.state()]

        bench.delete()
        states.append(bench.state())
        for _ in range(2):
            bench.finish(OK)
            states.append(bench.state())

        assert states == [
            PodWorkerState.SYNC,
            PodWorkerState.TERMINATING,
            PodWorkerState.TERMINATED,
            PodWorkerState.FINISHED,
        ]
        assert bench.kinds() == [
            SyncCallKind.SYNC,
            SyncCallKind.TERMINATING,
            SyncCallKind.TERMINATED,
        ]

    def test_a_sync_that_finds_the_pod_ended_ends_it(self) -> None:
        bench = syncing()

        bench.finish(TERMINAL)

        assert bench.kinds()[-1] is SyncCallKind.TERMINATING
        assert bench.calls[-1].pod == bench.calls[0].pod

    def test_a_waiting_update_is_processed_before_the_last_one(self) -> None:
        bench = syncing()
        bench.update(pod=a_pod(uid=WEB, name="changed"))

        bench.finish(TERMINAL)

        assert bench.calls[-1].kind is SyncCallKind.TERMINATING
        assert bench.calls[-1].pod.name == "changed"

    def test_the_grace_period_of_an_update_that_runs_again_is_lost(self) -> None:
        """Quirk: the next state's call is made without it."""
        bench = synced()
        bench.delete(grace=5)
        assert bench.calls[-1].update.grace_period_override == 5

        bench.finish(OK)

        assert bench.calls[-1].update.grace_period_override is None

    @pytest.mark.parametrize("result", [ERROR, NETWORK_NOT_READY])
    def test_an_error_keeps_the_state(self, result: SyncCallResult) -> None:
        bench = synced()
        bench.delete()

        bench.finish(result)

        assert bench.state() is PodWorkerState.TERMINATING

    @pytest.mark.parametrize(
        "fields",
        [
            pytest.param({"phase": PodPhase.FAILED}, id="failed"),
            pytest.param({"phase": PodPhase.SUCCEEDED}, id="succeeded"),
            pytest.param({"update_type": KILL}, id="kill"),
        ],
    )
    def test_other_things_end_a_pod_too(self, fields: dict[str, Any]) -> None:
        bench = synced()

        bench.update(**fields)

        assert bench.state() is PodWorkerState.TERMINATING
        assert bench.kinds()[-1] is SyncCallKind.TERMINATING

    def test_a_pod_that_ended_before_its_first_update_has_terminated(self) -> None:
        bench = Bench()

        bench.update(CREATE, phase=PodPhase.FAILED)

        assert bench.kinds() == [SyncCallKind.TERMINATED]

    def test_unless_something_of_it_runs(self) -> None:
        bench = Bench(is_idle=False)

        bench.update(CREATE, phase=PodPhase.FAILED)

        assert bench.kinds() == [SyncCallKind.TERMINATING]

    def test_after_the_end_updates_are_ignored(self) -> None:
        bench = finished()

        bench.update()

        assert len(bench.calls) == 3


class TestGracePeriod:
    def graces(self, bench: Bench) -> list[int | None]:
        return [call.grace_period_seconds for call in bench.calls]

    def test_without_a_wish_it_is_the_pod_s_own(self) -> None:
        bench = synced()

        bench.update(KILL)

        assert self.graces(bench) == [None, 30]

    def test_a_shorter_one_cancels_the_call_in_progress(self) -> None:
        bench = synced()
        bench.delete(grace=20)
        assert not bench.workers.is_cancelled(WEB)

        bench.delete(grace=5)

        assert bench.workers.is_cancelled(WEB)
        bench.finish(ERROR)
        assert self.graces(bench)[-1] == 5

    def test_a_longer_one_changes_nothing(self) -> None:
        bench = synced()
        bench.delete(grace=5)

        bench.delete(grace=20)

        assert not bench.workers.is_cancelled(WEB)
        bench.finish(ERROR)
        assert self.graces(bench)[-1] == 5

    def test_the_end_of_a_pod_cancels_its_sync(self) -> None:
        bench = syncing()

        bench.delete()

        assert bench.workers.is_cancelled(WEB)
        bench.finish(ERROR)
        assert not bench.workers.is_cancelled(WEB)


class TestPodsOfTheRuntimeOnly:
    def test_they_are_killed_and_forgotten(self) -> None:
        bench = Bench()

        bench.update(KILL, is_runtime_only=True, grace_period_override=1)

        assert bench.kinds() == [SyncCallKind.TERMINATING_RUNTIME]
        assert bench.calls[0].grace_period_seconds == 1
        bench.finish(OK)
        assert not bench.workers.has_worker(WEB)

    def test_a_failed_kill_is_retried(self) -> None:
        bench = Bench()
        bench.update(KILL, is_runtime_only=True)

        bench.finish(ERROR)

        assert bench.workers.has_worker(WEB)
        assert bench.workers.queue.deadline(WEB) is not None

    def test_they_need_no_fresh_facts(self) -> None:
        bench = Bench()
        bench.fresh_at = -60
        bench.update(KILL, is_runtime_only=True)
        bench.finish(ERROR)

        bench.update(KILL, is_runtime_only=True)

        assert len(bench.calls) == 2

    def test_a_known_definition_is_used(self) -> None:
        bench = synced()

        bench.update(KILL, Pod(WEB, "web"), is_runtime_only=True)

        assert bench.calls[-1].kind is SyncCallKind.TERMINATING
        assert bench.calls[-1].pod == a_pod()


class TestKnownPods:
    def test_a_desired_pod_continues(self) -> None:
        bench = synced()

        assert bench.sync_known_pods(a_pod()) == {WEB: PodWorkerState.SYNC}

    def test_one_that_is_not_is_ended(self) -> None:
        bench = synced()

        assert bench.sync_known_pods() == {WEB: PodWorkerState.TERMINATING}
        assert bench.kinds()[-1] is SyncCallKind.TERMINATING
        assert bench.calls[-1].grace_period_seconds is None

    def test_its_sync_is_cancelled(self) -> None:
        bench = syncing()

        bench.sync_known_pods()

        assert bench.workers.is_cancelled(WEB)

    def test_a_pod_that_is_terminating_gets_the_update_again(self) -> None:
        bench = synced()
        bench.delete()
        bench.finish(ERROR)

        bench.sync_known_pods()

        assert bench.kinds()[1:] == [SyncCallKind.TERMINATING] * 2

    def test_a_finished_pod_is_forgotten(self) -> None:
        bench = finished()

        assert bench.sync_known_pods() == {}

    def test_a_finished_pod_that_is_desired_stays(self) -> None:
        bench = finished()

        assert bench.sync_known_pods(a_pod()) == {WEB: PodWorkerState.FINISHED}

    def test_a_pod_that_is_added_again_during_termination_may_start_again(self) -> None:
        bench = synced()
        bench.delete()
        bench.update(CREATE)
        assert bench.sync_known_pods(a_pod()) == {WEB: PodWorkerState.TERMINATING}

        bench.finish(OK, OK)

        assert bench.sync_known_pods(a_pod()) == {}


class TestQuestions:
    QUESTIONS = (
        "could_have_running_containers",
        "is_known_terminated",
        "is_termination_requested",
        "should_be_terminating",
        "should_runtime_be_removed",
        "should_content_be_removed",
        "should_be_finished",
    )

    def answers(self, bench: Bench, uid: str = WEB) -> list[str]:
        """Return the questions that are answered with yes."""
        return [
            question
            for question in self.QUESTIONS
            if getattr(bench.workers, question)(uid)
        ]

    def test_states_of_a_running_pod(self) -> None:
        assert self.answers(synced()) == ["could_have_running_containers"]

    def test_states_of_a_pod_whose_termination_is_requested(self) -> None:
        bench = syncing()

        bench.delete()

        assert self.answers(bench) == [
            "could_have_running_containers",
            "is_termination_requested",
        ]

    def test_of_a_pod_that_ends(self) -> None:
        bench = synced()

        bench.delete()

        assert self.answers(bench) == [
            "could_have_running_containers",
            "is_termination_requested",
            "should_be_terminating",
        ]

    def test_states_of_a_deleted_pod_that_has_terminated(self) -> None:
        bench = synced()
        bench.delete()

        bench.finish(OK)

        assert self.answers(bench) == [
            "is_known_terminated",
            "is_termination_requested",
            "should_be_terminating",
            "should_runtime_be_removed",
            "should_content_be_removed",
        ]

    def test_of_a_pod_that_ended_by_itself_the_content_stays(self) -> None:
        bench = syncing()

        bench.finish(TERMINAL, OK, OK)

        assert "should_content_be_removed" not in self.answers(bench)
        assert "should_be_finished" in self.answers(bench)

    def test_the_content_of_an_evicted_pod_is_removed_at_once(self) -> None:
        bench = synced()

        bench.update(KILL, evict=True)

        assert "should_content_be_removed" in self.answers(bench)

    def test_states_of_an_unknown_pod_are_open_until_the_first_sync_of_known_pods(
        self,
    ) -> None:
        bench = Bench()
        before = self.answers(bench, "stranger")

        bench.sync_known_pods()

        assert before == ["could_have_running_containers"]
        assert self.answers(bench, "stranger") == [
            "should_be_terminating",
            "should_runtime_be_removed",
            "should_content_be_removed",
            "should_be_finished",
        ]
        assert bench.workers.call_of("stranger") is None
        assert bench.workers.state("stranger") is None
        assert not bench.workers.is_cancelled("stranger")


class TestStaticPods:
    """Of pods of one name, only one runs at a time."""

    OTHER = replace(a_pod(), uid="other")
    THIRD = replace(a_pod(), uid="third")

    def started(self, bench: Bench) -> list[str]:
        return [call.pod.uid for call in bench.calls]

    def one_waits(self) -> Bench:
        bench = Bench()
        bench.update(CREATE, is_static=True)
        bench.update(CREATE, self.OTHER, is_static=True)
        return bench

    def end_first(self, bench: Bench) -> None:
        bench.finish(OK)
        bench.update(KILL, is_static=True)
        bench.finish(OK, OK)

    def test_the_second_waits_and_asks_again_later(self) -> None:
        bench = self.one_waits()

        deadline = bench.workers.queue.deadline("other")

        assert self.started(bench) == [WEB]
        assert deadline is not None
        assert timedelta(seconds=10) <= deadline - START < timedelta(seconds=15)

    def test_a_second_pod_starts_at_its_first_retry_after_the_end_of_the_first(
        self,
    ) -> None:
        bench = self.one_waits()
        self.end_first(bench)
        bench.workers.run_ready(bench.now)
        assert "other" not in self.started(bench)

        bench.update(SYNC, self.OTHER, is_static=True)

        assert self.started(bench)[-1] == "other"

    def test_a_second_pod_of_an_api_server_starts_as_soon_as_the_first_is_removed(
        self,
    ) -> None:
        bench = Bench()
        bench.update(CREATE, is_static=True, is_in_api=True)
        bench.update(CREATE, self.OTHER, is_static=True, is_in_api=True)

        self.end_first(bench)

        assert bench.workers.queue.deadline("other") == bench.now

    def test_pods_start_in_the_order_of_their_updates(self) -> None:
        bench = self.one_waits()
        bench.update(CREATE, self.THIRD, is_static=True)
        self.end_first(bench)

        bench.update(SYNC, self.THIRD, is_static=True)
        bench.update(SYNC, self.OTHER, is_static=True)

        assert self.started(bench)[-1] == "other"
        assert "third" not in self.started(bench)

    def test_those_that_do_not_want_to_any_more_are_passed_over(self) -> None:
        bench = self.one_waits()
        bench.update(CREATE, self.THIRD, is_static=True)
        bench.update(KILL, self.OTHER, is_static=True)
        self.end_first(bench)

        bench.update(SYNC, self.THIRD, is_static=True)

        assert self.started(bench)[-1] == "third"
        assert bench.workers.state("other") is PodWorkerState.FINISHED

    def test_one_that_is_replaced_while_it_waits_for_its_name_ends_without_a_word(
        self,
    ) -> None:
        bench = Bench()
        bench.update(CREATE, is_static=True, is_in_api=True)
        bench.update(CREATE, self.OTHER, is_static=True, is_in_api=True)

        bench.update(KILL, self.OTHER, is_static=True, is_in_api=True)

        assert self.started(bench) == [WEB]
        assert bench.workers.state("other") is PodWorkerState.FINISHED

    def test_a_pod_that_never_started_is_forgotten_if_it_is_not_desired(self) -> None:
        bench = self.one_waits()

        bench.sync_known_pods(a_pod())

        assert not bench.workers.has_worker("other")
        assert bench.workers.queue.deadline("other") is None

    def test_the_name_of_one_that_is_forgotten_is_free(self) -> None:
        bench = self.one_waits()
        self.end_first(bench)
        bench.sync_known_pods(self.OTHER)

        bench.update(SYNC, self.OTHER, is_static=True)

        assert self.started(bench)[-1] == "other"

    def test_while_one_runs_none_of_its_name_starts(self) -> None:
        bench = self.one_waits()

        bench.update(SYNC, self.OTHER, is_static=True)

        assert self.started(bench) == [WEB]

    def test_the_running_pod_is_synced_on(self) -> None:
        bench = self.one_waits()
        bench.finish(OK)

        bench.update(SYNC, is_static=True)

        assert self.started(bench) == [WEB, WEB]

    def test_one_that_waits_for_facts_keeps_its_name(self) -> None:
        bench = Bench()
        bench.workers._is_fresh = lambda _uid, _since: False
        bench.update(CREATE, is_static=True)

        bench.workers._is_fresh = lambda _uid, _since: True
        bench.workers.run_ready(bench.now)

        assert self.started(bench) == [WEB]
