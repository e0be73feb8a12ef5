"""What is said of an instance is its own, though events name the container alone."""

from __future__ import annotations

import pytest

from probetui.cluster.observe.inputs import (
    CountersLost,
    CountersPolled,
    PodSeen,
    SeenEvent,
    SeriesCounts,
    ServerLost,
)
from probetui.cluster.observe.observation import ClusterObservation
from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.status import ContainerState, Running, Terminated, Waiting
from probetui.kubelet.journal import (
    ContainerEntry,
    ExitCause,
    JournalEntry,
    LifecycleStep,
    TickAction,
    TickEntry,
)
from tests.builders import (
    a_container,
    a_container_status,
    a_key,
    a_pod,
    a_probe,
    a_status,
    at,
)

_NODE = "node1"
_POD = a_pod(
    a_container(
        liveness_probe=a_probe(period_seconds=5, failure_threshold=1),
        startup_probe=a_probe(period_seconds=5, failure_threshold=1),
    )
)
STOPPING, EXITED = LifecycleStep.STOPPING, LifecycleStep.EXITED


class Watched:
    """A pod that is watched; times are seconds."""

    def __init__(self) -> None:
        self.observation = ClusterObservation(at(0))
        self.entries: list[JournalEntry] = []

    def show(
        self,
        now: float,
        number: int,
        state: ContainerState,
        before: Terminated | None = None,
        *,
        pod: Pod = _POD,
    ) -> None:
        status = a_container_status(number=number, state=state, last_state=before)
        self._submit(PodSeen(pod, a_status(status), _NODE, is_news=True), now)

    def tell(
        self,
        now: float,
        second: int,
        reason: str = "Killing",
        message: str = "Container app failed liveness probe, will be restarted",
        *,
        count: int = 1,
        first: int | None = None,
    ) -> None:
        event = Event(
            EventType.NORMAL,
            reason,
            message,
            _POD.uid,
            "spec.containers{app}",
            at(second),
            "app",
        )
        self._submit(SeenEvent(event, count, at(first or second)), now)

    def poll(self, now: float, **counts: tuple[int, int]) -> None:
        changed = tuple(
            SeriesCounts(a_key(ProbeType(kind)), *counted)
            for kind, counted in counts.items()
        )
        gone = () if counts else (a_key(),)
        self._submit(CountersPolled(_NODE, at(now), changed, gone), now)

    def lose_counters(self) -> None:
        self._submit(CountersLost(_NODE, "forbidden"), 0)

    def lose_server(self, now: float) -> None:
        self._submit(ServerLost("it does not answer"), now)

    def _submit(self, item: object, now: float) -> None:
        self.observation.submit(item, at(now))  # type: ignore[arg-type]
        self.observation.check(at(now))
        self.entries += self.observation.take_entries()

    @property
    def ends(self) -> list[tuple[LifecycleStep, int, ExitCause | None]]:
        """The stops and exits with their instances."""
        return [
            (entry.what, entry.restart_count, entry.by)
            for entry in self.entries
            if isinstance(entry, ContainerEntry) and entry.what in {STOPPING, EXITED}
        ]

    @property
    def or_newer(self) -> list[bool]:
        """Whether each stop and exit may be one of a newer instance."""
        return [
            entry.or_newer
            for entry in self.entries
            if isinstance(entry, ContainerEntry) and entry.what in {STOPPING, EXITED}
        ]

    @property
    def stopping(self) -> ExitCause | None:
        """Why the container is being stopped."""
        (pod,) = self.observation.snapshot(at(0)).pods
        stopping = pod.containers[0].stopping
        return None if stopping is None else stopping.by

    @property
    def kills(self) -> list[str]:
        """The instances that ticks killed."""
        return [
            entry.container_id
            for entry in self.entries
            if isinstance(entry, TickEntry) and entry.action is TickAction.KILL
        ]


def _ended(number: int, began: int, ended: int, code: int = 143) -> Terminated:
    return Terminated(
        code,
        "Error",
        started_at=at(began),
        finished_at=at(ended),
        container_id=f"fake://app-{number}",
    )


def test_a_stop_in_the_second_of_the_next_start_is_of_the_one_that_ended() -> None:
    watched = Watched()
    watched.show(1, 0, Running(at(1)))
    watched.show(20.2, 1, Running(at(20)), _ended(0, 1, 20))
    watched.tell(20.3, 20)
    watched.show(30.1, 1, Waiting("CrashLoopBackOff"), _ended(1, 20, 30, 1))

    assert [entry[:2] for entry in watched.ends] == [(EXITED, 0), (EXITED, 1)]
    assert watched.ends[-1][2] is not ExitCause.LIVENESS


def test_a_stop_after_the_start_of_another_waits_for_the_status_of_that() -> None:
    watched = Watched()
    watched.lose_counters()
    watched.show(1, 0, Running(at(1)))
    watched.tell(15.1, 15, "Created", "Container created")
    watched.tell(20.1, 20)
    assert watched.ends == []

    watched.show(21, 1, Running(at(15)), _ended(0, 1, 9, 1))
    assert watched.ends[1:] == [(STOPPING, 1, ExitCause.LIVENESS)]
    assert watched.stopping == ExitCause.LIVENESS

    watched.show(30, 1, Waiting("CrashLoopBackOff"), _ended(1, 15, 22))
    assert watched.ends[2:] == [(EXITED, 1, ExitCause.LIVENESS)]


def test_a_stop_may_be_of_a_newer_instance_until_a_status_shows_an_end() -> None:
    watched = Watched()
    watched.lose_counters()
    watched.show(1, 0, Running(at(1)))
    watched.tell(20.1, 20)
    assert watched.ends == [(STOPPING, 0, ExitCause.LIVENESS)]
    assert watched.or_newer == [True]

    watched.show(21, 1, _ended(1, 3, 21), _ended(0, 1, 2, 1))

    assert watched.ends[1:] == [
        (EXITED, 0, ExitCause.ITSELF),
        (STOPPING, 1, ExitCause.LIVENESS),
        (EXITED, 1, ExitCause.LIVENESS),
    ]
    assert watched.or_newer == [True, False, False, False]


def test_a_kill_may_be_of_a_newer_instance_until_a_status_shows_an_end() -> None:
    watched = Watched()
    watched.poll(0.5, Liveness=(1, 0))
    watched.show(1, 0, Running(at(1)))
    watched.poll(18, Liveness=(2, 0))
    watched.poll(20, Liveness=(2, 1))
    watched.show(21, 1, Running(at(21)), _ended(0, 1, 21))
    watched.poll(30, Liveness=(3, 1))
    watched.show(31, 1, _ended(1, 21, 31), _ended(0, 1, 21))
    watched.poll(31, Liveness=(3, 2))

    assert watched.kills == ["fake://app-0", "fake://app-1"]
    ticks = [each for each in watched.entries if isinstance(each, TickEntry)]
    assert [each.or_newer for each in ticks] == [False, True, False, False]


def test_a_stop_after_another_start_in_the_second_of_the_first_is_not_of_that() -> None:
    watched = Watched()
    watched.lose_counters()
    watched.show(1, 0, Running(at(1)))
    watched.tell(1.1, 1, "Started", "Container started")
    watched.tell(1.9, 1, "Started", "Container started", count=2)
    watched.tell(20.1, 20)

    assert watched.ends == []


def test_a_stop_is_not_in_the_future() -> None:
    watched = Watched()
    watched.lose_counters()
    watched.show(1, 0, Running(at(1)))
    watched.tell(20, 21)

    stops = [each for each in watched.entries if getattr(each, "what", "") is STOPPING]
    assert [stop.at for stop in stops] == [at(20)]


def test_a_stop_of_a_pod_in_the_second_of_the_next_start_is_perhaps_of_that() -> None:
    watched = Watched()
    watched.lose_counters()
    watched.show(1, 0, Waiting("ContainerCreating"))
    watched.tell(6.1, 6, message="Stopping container app")
    watched.show(6.2, 1, Running(at(6)), _ended(0, 6, 6, 1))
    watched.show(6.3, 1, _ended(1, 6, 7, 0), _ended(0, 6, 6, 1))

    assert watched.ends == [
        (EXITED, 0, ExitCause.UNKNOWN),
        (EXITED, 1, ExitCause.UNKNOWN),
    ]


def test_a_stop_while_no_status_can_come_is_of_no_instance_yet() -> None:
    watched = Watched()
    watched.show(1, 0, Running(at(1)))
    watched.lose_server(10)
    watched.tell(20.1, 20)

    assert watched.ends == []


def test_a_stop_whose_instance_is_not_known_is_perhaps_of_each() -> None:
    watched = Watched()
    watched.lose_counters()
    watched.show(1, 0, Running(at(1)))
    # Instance 1 began, was killed and ended while no status came.
    watched.show(20.2, 2, Running(at(20)), None)
    watched.tell(20.3, 20)
    watched.show(25, 2, _ended(2, 20, 24))

    assert watched.ends == [(EXITED, 2, ExitCause.UNCERTAIN)]


def test_stops_that_only_a_count_tells_of_are_perhaps_of_an_instance() -> None:
    watched = Watched()
    watched.lose_counters()
    watched.show(1, 0, Running(at(1)))
    watched.tell(1.1, 1, "Started", "Container started")
    watched.tell(40, 39, count=3, first=2)
    watched.show(41, 1, Running(at(31)), _ended(0, 1, 30))

    assert watched.ends[1:] == [
        (EXITED, 0, ExitCause.LIVENESS),  # the first of three
        (STOPPING, 1, ExitCause.LIVENESS),
    ]
    watched.show(41, 3, Running(at(40)), _ended(2, 33, 36))
    assert watched.ends[-1] == (EXITED, 2, ExitCause.UNCERTAIN)


def test_an_instance_that_ended_is_the_newest_until_the_next_is_created() -> None:
    watched = Watched()
    watched.show(1, 3, Running(at(1)))
    watched.show(9, 3, Waiting("CrashLoopBackOff"), _ended(3, 1, 8, 1))

    assert [number for _, number, _ in watched.ends] == [3]


def test_a_kill_that_counters_alone_show_has_bounds() -> None:
    watched = Watched()
    watched.poll(0.5, Liveness=(1, 0), Startup=(1, 0))
    watched.show(1, 0, Running(at(1)))
    watched.poll(18, Liveness=(2, 0))
    watched.poll(20, Liveness=(2, 1))
    watched.show(24, 0, Waiting("CrashLoopBackOff"), _ended(0, 1, 23))

    stop = next(
        entry
        for entry in watched.entries
        if isinstance(entry, ContainerEntry) and entry.what is STOPPING
    )
    assert stop.by is ExitCause.LIVENESS
    assert (stop.not_before, stop.not_after) == (at(18), at(24))
    assert watched.kills == ["fake://app-0"]


def test_a_kill_counted_around_a_restart_is_of_no_instance_for_certain() -> None:
    watched = Watched()
    watched.poll(0.5, Liveness=(1, 0))
    watched.show(1, 0, Running(at(1)))
    watched.poll(18, Liveness=(2, 0))
    watched.show(20.1, 1, Running(at(20)), _ended(0, 1, 20))
    watched.poll(23, Liveness=(2, 1))

    assert watched.kills == [""]
    assert watched.ends == [(EXITED, 0, ExitCause.UNCERTAIN)]


def test_a_kill_is_moved_with_the_clock_that_has_its_time() -> None:
    watched = Watched()
    watched.lose_counters()
    watched.show(3, 0, Running(at(101)))  # its clock is ahead by 98s, it seems
    watched.tell(20.2, 120, "Unhealthy", "Liveness probe failed: no")
    watched.show(20.3, 1, Running(at(120)), _ended(0, 101, 120))  # and by 100s
    watched.show(24.1, 1, Waiting("CrashLoopBackOff"), _ended(1, 120, 124, 1))

    assert watched.ends == [
        (STOPPING, 0, ExitCause.LIVENESS),
        (EXITED, 0, ExitCause.LIVENESS),
        (EXITED, 1, ExitCause.UNCERTAIN),
    ]


def test_two_probes_that_killed_at_once_are_not_told_apart() -> None:
    watched = Watched()
    watched.poll(0.5, Liveness=(1, 0), Startup=(1, 0))
    watched.show(1, 0, Running(at(1)))
    watched.poll(18, Liveness=(2, 0))
    watched.poll(20, Liveness=(2, 1), Startup=(1, 1))
    watched.show(24, 0, Waiting("CrashLoopBackOff"), _ended(0, 1, 23))

    assert watched.ends == [(EXITED, 0, ExitCause.UNCERTAIN)]


@pytest.mark.parametrize(
    ("requested", "by"), [(20, ExitCause.UNKNOWN), (60, ExitCause.ITSELF)]
)
def test_an_end_after_the_deletion_is_perhaps_one_that_was_asked_for(
    requested: int, by: ExitCause
) -> None:
    watched = Watched()
    pod = a_pod(a_container(), deletion_requested_at=at(requested))
    watched.show(1, 0, Running(at(1)), pod=a_pod(a_container()))
    watched.show(61, 0, _ended(0, 1, 30, 0), pod=pod)

    assert watched.ends == [(EXITED, 0, by)]


@pytest.mark.parametrize(
    ("code", "told", "by"),
    [
        (1, 29, ExitCause.ITSELF),
        (1, 1, ExitCause.UNCERTAIN),
        (143, 1, ExitCause.UNCERTAIN),
    ],
)
def test_without_counters_an_end_is_by_itself_if_events_go_on_until_then(
    code: int, told: int, by: ExitCause
) -> None:
    watched = Watched()
    watched.lose_counters()
    watched.show(1, 0, Running(at(1)))
    watched.tell(told + 0.1, told, "Pulled", "Image is there")
    watched.show(60, 0, _ended(0, 1, 27, code))

    assert watched.ends == [(EXITED, 0, by)]


@pytest.mark.parametrize(
    ("code", "by"), [(1, ExitCause.ITSELF), (0, ExitCause.UNCERTAIN)]
)
def test_without_counters_an_end_like_a_stop_waits_for_no_late_event(
    code: int, by: ExitCause
) -> None:
    slow = a_probe(period_seconds=20, failure_threshold=3)
    watched, pod = Watched(), a_pod(a_container(liveness_probe=slow))
    watched.lose_counters()
    watched.show(1, 0, Running(at(1)), pod=pod)
    watched.tell(1.1, 1, "Started", "Container started")
    watched.show(70, 0, _ended(0, 1, 61, code), pod=pod)

    assert watched.ends == [(EXITED, 0, by)]


@pytest.mark.parametrize(
    ("code", "count", "first", "by"),
    [
        (1, 2, 1, ExitCause.ITSELF),
        (0, 2, 1, ExitCause.ITSELF),
        (1, 1, 60, ExitCause.UNCERTAIN),
        (0, 1, 60, ExitCause.UNCERTAIN),
    ],
)
def test_a_kubelet_that_ended_may_have_killed_and_told_nobody(
    code: int, count: int, first: int, by: ExitCause
) -> None:
    watched = Watched()
    watched.lose_counters()
    watched.show(1, 0, Running(at(1)))
    watched.tell(1.1, 1, "Pulled", "Image is there")
    watched.tell(60.1, 60, "Pulled", "Image is there", count=count, first=first)
    watched.show(60.2, 1, Running(at(60)), _ended(0, 1, 27, code))

    assert watched.ends == [(EXITED, 0, by)]


def test_who_sent_a_signal_is_not_known_without_events() -> None:
    watched = Watched()
    watched.show(1, 0, Running(at(1)), pod=a_pod(a_container()))
    watched.show(9, 0, _ended(0, 1, 8, 137), pod=a_pod(a_container()))

    assert watched.ends == [(EXITED, 0, ExitCause.UNKNOWN)]


@pytest.mark.parametrize(
    ("number", "by"), [(0, ExitCause.ITSELF), (1, ExitCause.UNCERTAIN)]
)
def test_a_new_container_has_no_run_from_before(number: int, by: ExitCause) -> None:
    slow = a_probe(period_seconds=10, failure_threshold=3)
    watched, pod = Watched(), a_pod(a_container(liveness_probe=slow))
    watched.show(1, number, Waiting("ContainerCreating"), pod=pod)
    watched.poll(2, Readiness=(1, 0))
    watched.show(5.1, number, Running(at(5)), pod=pod)
    watched.show(9.1, number, _ended(number, 5, 9, 1), pod=pod)

    assert watched.ends == [(EXITED, number, by)]


def test_a_restarted_kubelet_has_a_series_of_events_of_its_own() -> None:
    watched = Watched()
    watched.lose_counters()
    watched.show(1, 0, Running(at(1)))
    watched.tell(5, 5, count=4, first=2)
    watched.show(9, 1, Running(at(9)), _ended(0, 1, 6))
    watched.tell(20, 20)

    assert watched.ends[-1] == (STOPPING, 1, ExitCause.LIVENESS)


def test_a_probe_that_is_counted_no_more_has_no_run_that_is_exact() -> None:
    watched = Watched()
    watched.show(1, 0, Running(at(1)))
    watched.poll(2, Liveness=(1, 0))
    watched.poll(3, Liveness=(2, 0))

    def doubt() -> str:
        pod = watched.observation.snapshot(at(9)).pods[0]
        return pod.containers[0].probes[0].run_doubt

    assert not doubt()
    watched.poll(8)
    assert doubt()
