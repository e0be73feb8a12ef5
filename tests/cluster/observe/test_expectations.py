"""What should have been is told where it differs, and only there.

A kubelet is simulated whose results, polls and statuses are at random instants: its
statuses are late, and leave out what has changed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, field

from probetui.cluster.observe.expectations import StatusLag
from probetui.cluster.observe.observation import ClusterObservation
from probetui.kubelet.journal import NoteEntry
from tests.builders import START

_SECOND = timedelta(seconds=1)
_LONG = 150.0
"""Seconds that a simulation goes on for."""


class Life(Struct):
    """What a simulated kubelet does to one container, in seconds from the start.

    Attributes:
        period: between two readiness probes.
        results: of the readiness probes, over and over.
        failures: the failureThreshold.
        successes: the successThreshold.
        ends: the instants at which the container exits by itself.
        lags: how late statuses are, over and over; the first ones set the patience.
        poll: between two polls of the counters.
        phase: of the polls.
        shows: the statuses tell of changes of readiness.
    """

    period: int
    results: list[bool]
    failures: int = 3
    successes: int = 1
    ends: list[float] = field(default_factory=list)
    lags: list[float] = field(default_factory=lambda: [0.1])
    poll: float = 0.45
    phase: float = 0.0
    shows: bool = True


class _Happening(NamedTuple):
    at: float
    order: int
    kind: str
    value: Any


class SimulatedKubelet:
    """One container with a readiness probe: counters and statuses of its life."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._instance = 0
        self._began = self._ended = 0.0
        self._runs = self._ready = False
        self._counted = [0, 0]
        self._last, self._run = True, 0
        self._sent_at = 0.0
        self._lags = 0

    def happenings(self) -> Iterator[_Happening]:
        """Yield statuses, as they arrive, and polls, in the order of their instants."""
        life = self._life
        instants = [(0.5, 0, "start")]
        for end in life.ends:
            instants += [(end, 0, "end"), (end + 1.5, 0, "start")]
        tick, count = 1.25, 0
        while tick < _LONG:
            instants.append((tick, count, "tick"))
            tick, count = tick + life.period, count + 1
        poll = life.phase
        while poll < _LONG:
            instants.append((poll, 0, "poll"))
            poll += life.poll
        found = [_Happening(0.0, 0, "status", self._status())]
        for at, number, kind in sorted(instants):
            before = self._shown()
            match kind:
                case "tick" if self._runs:
                    self._probe(life.results[number % len(life.results)])
                case "start":
                    self._instance += 1
                    self._began, self._runs, self._ready = at, True, False
                case "end" if self._runs:
                    self._ended, self._runs, self._ready = at, False, False
                case "poll":
                    found.append(_Happening(at, len(found), "poll", self._counters()))
                case _:
                    pass
            if self._shown() != before:
                lag = life.lags[self._lags % len(life.lags)]
                self._lags += 1
                # One that is sent later has all that an earlier one would have had.
                self._sent_at = max(self._sent_at, at + lag)
                status = self._status()
                found.append(_Happening(self._sent_at, len(found), "status", status))
        yield from sorted(found)

    def _probe(self, succeeds: bool) -> None:  # noqa: FBT001  # a result
        self._counted[not succeeds] += 1
        self._run = self._run + 1 if succeeds is self._last else 1
        self._last = succeeds
        life = self._life
        if self._run >= (life.successes if succeeds else life.failures):
            self._ready = succeeds

    def _shown(self) -> tuple[int, bool, bool]:
        return self._instance, self._runs, self._ready and self._life.shows

    def _counters(self) -> bytes:
        labels = 'container="app",namespace="d",pod="p",pod_uid="u"'
        return "".join(
            f'prober_probe_total{{{labels},probe_type="Readiness",result="{name}"}} '
            f"{count}\n"
            for name, count in zip(("successful", "failed"), self._counted, strict=True)
            if count
        ).encode()

    def _status(self) -> dict[str, Any]:
        own_id = f"containerd://{self._instance:064x}"
        state: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}
        if self._runs:
            state = {"running": {"startedAt": _stamp(self._began)}}
        elif self._instance:
            ended = {"exitCode": 1, "reason": "Error", "containerID": own_id}
            instants = {
                "startedAt": _stamp(self._began),
                "finishedAt": _stamp(self._ended),
            }
            state = {"terminated": {**ended, **instants}}
        container = {
            "name": "app",
            "ready": self._ready and self._life.shows,
            "started": self._runs,
            "restartCount": max(self._instance - 1, 0),
            "image": "i",
            "imageID": "i",
            "containerID": own_id if self._instance else "",
            "state": state,
        }
        return {"phase": "Running", "containerStatuses": [container]}


def _stamp(seconds: float) -> str:
    return f"{_instant(seconds):%Y-%m-%dT%H:%M:%SZ}"


def _instant(seconds: float) -> datetime:
    return START + seconds * _SECOND


def faults(life: Life) -> list[str]:
    """Return what an observation of a life says that should not be."""
    probe = {
        "exec": {"command": ["true"]},
        "periodSeconds": life.period,
        "failureThreshold": life.failures,
        "successThreshold": life.successes,
    }
    pod = {
        "metadata": {"name": "p", "namespace": "d", "uid": "u"},
        "spec": {
            "nodeName": "n",
            "containers": [{"name": "app", "image": "i", "readinessProbe": probe}],
        },
    }
    observation = ClusterObservation(START)
    for happening in SimulatedKubelet(life).happenings():
        now = _instant(happening.at)
        while (due := observation.next_deadline()) is not None and due <= now:
            observation.check(due)
        if happening.kind == "poll":
            observation.record_counters("n", happening.value, now, now)
        else:
            observation.set_pod({**pod, "status": happening.value}, now)
    return [
        entry.text
        for entry in observation.take_entries()
        if isinstance(entry, NoteEntry) and entry.is_fault
    ]


@st.composite
def _lives(draw: st.DrawFn) -> Life:
    period = draw(st.integers(1, 15))
    ends = draw(st.lists(st.floats(3, _LONG), max_size=12))
    latest = draw(st.sampled_from([0.1, 3.0, 9.0]))
    return Life(
        period=period,
        results=draw(st.lists(st.booleans(), min_size=1, max_size=40)),
        failures=draw(st.integers(1, 4)),
        successes=draw(st.integers(1, 3)),
        ends=sorted(end for end in ends if end < _LONG - 2),
        lags=draw(st.lists(st.floats(0, latest), min_size=1, max_size=10)),
        poll=max(0.45, period / draw(st.sampled_from([2.2, 2.0, 1.1, 0.4]))),
        phase=draw(st.floats(0, 2)),
    )


@given(life=_lives())
def test_late_statuses_and_restarts_between_polls_are_no_difference(life: Life) -> None:
    assert faults(life) == []


@given(
    period=st.integers(1, 10),
    phase=st.floats(0, 2),
    ends=st.lists(st.floats(60, _LONG - 2), max_size=3),
)
def test_a_readiness_that_never_comes_is_told(
    period: int, phase: float, ends: list[float]
) -> None:
    life = Life(
        period, [True], ends=sorted(ends), poll=max(0.45, period / 2.2), phase=phase,
        shows=False,
    )  # fmt: skip
    told = faults(life)

    assert 1 <= len(told) <= 1 + len(ends)
    assert all("p/app readiness: should have been ready at" in text for text in told)


def test_a_failure_and_a_success_after_a_restart_between_two_polls() -> None:
    # The poll at 10 s has the failure of before and the success of after.
    life = Life(4, [True, False, True], failures=1, ends=[5.5], poll=4.9, phase=4.7)

    assert faults(life) == []


def test_a_node_whose_statuses_are_late_is_waited_for() -> None:
    late = Life(5, [True] * 9 + [False] * 9, ends=[40.0], lags=[9.0], poll=2.2)

    assert faults(late) == []


@pytest.mark.parametrize(
    ("lags", "patience"), [([], 10), ([0.1, 2], 10), ([5, 1], 15), ([600], 300)]
)
def test_patience_is_measured(lags: list[float], patience: float) -> None:
    lag = StatusLag()
    for seconds in lags:
        lag.learn(seconds * _SECOND)

    assert lag.patience == patience * _SECOND


def test_lateness_of_long_ago_is_forgotten() -> None:
    lag = StatusLag()
    lag.learn(60 * _SECOND)
    for _ in range(20):
        lag.learn(-_SECOND)

    assert lag.patience == 10 * _SECOND


class _Watched:
    """An observation of one container with a liveness probe of each second."""

    def __init__(self) -> None:
        probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
        container = {"name": "app", "image": "i"}
        self._pod = {
            "metadata": {"name": "p", "namespace": "d", "uid": "u"},
            "spec": {
                "nodeName": "n",
                "containers": [
                    {**container, "livenessProbe": {**probe, "failureThreshold": 1}}
                ],
            },
        }
        self._container = {**container, "imageID": "i", "containerID": "containerd://a"}
        self.observation = ClusterObservation(START)

    def show(self, seconds: float, state: dict[str, Any]) -> None:
        runs = "running" in state
        status = {"ready": runs, "started": runs, "restartCount": 0, "state": state}
        statuses = [{**self._container, **status}]
        pod = {**self._pod, "status": {"containerStatuses": statuses}}
        self.observation.set_pod(pod, _instant(seconds))

    def poll(self, seconds: float, successes: int, failures: int) -> None:
        labels = 'container="app",namespace="d",pod="p",pod_uid="u"'
        text = "".join(
            f'prober_probe_total{{{labels},probe_type="Liveness",result="{name}"}} '
            f"{count}\n"
            for name, count in (("successful", successes), ("failed", failures))
        )
        now = _instant(seconds)
        self.observation.record_counters("n", text.encode(), now, now)

    def faults(self) -> list[str]:
        """Return what is said within an hour."""
        self.observation.check(_instant(3600))
        return [
            entry.text
            for entry in self.observation.take_entries()
            if isinstance(entry, NoteEntry) and entry.is_fault
        ]


_RUNS = {"running": {"startedAt": _stamp(0)}}
_ENDED = {
    "terminated": {
        "exitCode": 1,
        "startedAt": _stamp(0),
        "finishedAt": _stamp(2),
        "containerID": "containerd://a",
    }
}


@pytest.mark.parametrize("is_shown_first", [True, False])
def test_who_ends_at_the_threshold_needs_no_kill(
    is_shown_first: bool,  # noqa: FBT001  # a parameter
) -> None:
    watched = _Watched()
    watched.show(0.1, _RUNS)
    watched.poll(1.2, 0, 0)
    watched.poll(1.7, 1, 0)
    if is_shown_first:
        watched.show(2.1, _ENDED)
    watched.poll(2.2, 1, 1)
    if not is_shown_first:
        watched.show(9.0, _ENDED)

    assert watched.faults() == []


def test_a_kill_that_never_comes_is_told_once() -> None:
    watched = _Watched()
    watched.show(0.1, _RUNS)
    watched.poll(1.2, 0, 0)
    for second in range(1, 9):
        watched.poll(second + 0.7, 1, second - 1)

    (told,) = watched.faults()
    assert told.startswith("p/app liveness: should have been killed at 12:00:02 (1 in")
