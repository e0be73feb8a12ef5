"""What probes show beside their results (UX-28, UX-35)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.debugger.commands import Injected, InjectResults
from probetui.drive.scenario.behavior import ProbeAnswer
from probetui.engine.diagnostics import ProbeDiagnostics
from probetui.engine.inputs import ExecSeen, ListenersFound, SetPods
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import HTTPGetAction, HTTPHeader, TCPSocketAction
from probetui.k8s.runtime import ContainerID, Listeners, ListenerScope, SocketAddress
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import FindListeners
from probetui.kubelet.journal import (
    DryRunEntry,
    FindingEntry,
    ListenersEntry,
    StateEntry,
    StateField,
)
from probetui.kubelet.outcome import Attempt, HTTPAnswer, ProbeResult, Result
from probetui.kubelet.runtime.turn import TurnBuilder
from tests.builders import (
    START,
    a_container,
    a_key,
    a_pod,
    a_probe,
    an_exec_probe,
    an_http_probe,
    at,
)
from tests.drive.stage import Stage, always, probing

LOOKS = KubeletConfig(finds_listeners=True)
THERE = SocketAddress("10.1.2.3", 8080)
OTHER = SocketAddress("10.1.2.3", 9090)
FIRST, SECOND = ContainerID("fake://1"), ContainerID("fake://2")
LOOPBACK = Listeners((SocketAddress("127.0.0.1", 8080),), ListenerScope.POD)
APP = a_container(liveness_probe=an_http_probe())


class Bench:
    """Sightings of one pod; `asked` and `told` are what has come of them."""

    def __init__(self, config: KubeletConfig = LOOKS, *containers: Container) -> None:
        self.pod = a_pod(*(containers or (APP,)))
        self.ledger = TurnBuilder()
        self.pods: dict[str, Pod] = {self.pod.uid: self.pod}
        self.sightings = ProbeDiagnostics(self.ledger, config, self.pods)
        self.asked: list[ContainerID] = []
        self.told: list[ListenersEntry] = []
        self._sequence = 100

    def refuse(self, seconds: float, **fields: Any) -> None:
        """Let a try be refused at that second."""
        self._sequence += 1
        there = fields.pop("there", THERE)
        attempt = Attempt(ProbeResult.FAILURE, refused_at=there)
        entry = DryRunEntry(
            self._sequence,
            at(seconds),
            a_key(),
            fields.pop("container_id", FIRST),
            at(seconds),
            timedelta(),
            (attempt,),
            Result.FAILURE,
        )
        self.sightings.on_entries([replace(entry, **fields)], at(seconds))
        self._take()

    def find(
        self, seconds: float, listeners: Listeners | None = LOOPBACK, problem: str = ""
    ) -> None:
        """Answer what was asked about the first container."""
        self.sightings.on_listeners_found(
            ListenersFound(FIRST, listeners, problem), at(seconds)
        )
        self._take()

    def _take(self) -> None:
        turn = self.ledger.finish()
        self.asked += [
            effect.container_id
            for effect in turn.effects
            if isinstance(effect, FindListeners)
        ]
        self.told += [
            entry for entry in turn.entries if isinstance(entry, ListenersEntry)
        ]


def test_after_a_refused_connection_it_is_looked_who_listens() -> None:
    bench = Bench()

    bench.refuse(0)
    bench.find(0.1)

    own = replace(LOOPBACK, extent=ListenerScope.CONTAINER)
    assert bench.asked == [FIRST]
    assert bench.told == [
        ListenersEntry(1, at(0.1), a_key(), FIRST, THERE, own, "", 101)
    ]


def test_the_network_is_the_pods_where_it_has_several_containers() -> None:
    bench = Bench(LOOKS, APP, a_container("other"))

    bench.refuse(0)
    bench.find(0.1)

    assert [entry.listeners for entry in bench.told] == [LOOPBACK]


def test_nobody_looks_where_that_is_not_wanted() -> None:
    bench = Bench(KubeletConfig())

    bench.refuse(0)

    assert bench.asked == []


def test_what_was_not_refused_is_not_looked_at() -> None:
    bench = Bench()

    bench.refuse(0, there=None)

    assert bench.asked == []


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(HTTPGetAction(8080, host="db.example"), id="http"),
        pytest.param(TCPSocketAction(8080, host="db.example"), id="tcp"),
    ],
)
def test_a_probe_of_another_host_tells_nothing_of_the_container(
    handler: HTTPGetAction | TCPSocketAction,
) -> None:
    elsewhere = a_container(liveness_probe=a_probe(handler))
    bench = Bench(LOOKS, elsewhere)

    bench.refuse(0)

    assert bench.asked == []


def test_one_look_is_under_way_at_a_time_and_answers_all_who_wait() -> None:
    bench = Bench()

    bench.refuse(0)
    bench.refuse(0.05, there=OTHER)
    bench.find(0.1)

    assert bench.asked == [FIRST]
    assert [(entry.refused_at, entry.cause) for entry in bench.told] == [
        (THERE, 101),
        (OTHER, 102),
    ]


def test_what_is_known_for_three_seconds_is_not_looked_up_again() -> None:
    bench = Bench()
    bench.refuse(0)
    bench.find(0.1)

    bench.refuse(1)
    bench.refuse(2, there=OTHER)
    bench.refuse(3.2)

    assert bench.asked == [FIRST, FIRST]
    assert [entry.refused_at for entry in bench.told] == [THERE, OTHER]


def test_nothing_is_told_again_that_has_not_changed() -> None:
    bench = Bench()
    bench.refuse(0)
    bench.find(0.1)

    bench.refuse(5)
    bench.find(5.1)
    bench.refuse(10)
    bench.find(10.1, Listeners((), ListenerScope.POD))

    assert [entry.at for entry in bench.told] == [at(0.1), at(10.1)]


def test_who_listens_on_other_ports_does_not_matter_where_the_port_is_taken() -> None:
    bench = Bench()
    bench.refuse(0)
    bench.find(0.1)

    bench.refuse(5)
    others = SocketAddress("0.0.0.0", 9), *LOOPBACK.endpoints
    bench.find(5.1, Listeners(others, ListenerScope.POD))

    assert [entry.at for entry in bench.told] == [at(0.1)]


def test_each_container_instance_is_looked_at_by_itself() -> None:
    bench = Bench()

    bench.refuse(0)
    bench.refuse(0, container_id=SECOND)

    assert bench.asked == [FIRST, SECOND]


def test_an_earlier_instance_is_forgotten_with_its_answer() -> None:
    bench = Bench()
    bench.refuse(0)
    bench.refuse(1, container_id=SECOND)

    bench.find(1.1)

    assert bench.told == []


def test_why_it_cannot_be_seen_is_told_once() -> None:
    bench = Bench()
    bench.refuse(0)

    bench.find(0.1, None, "another machine")
    bench.refuse(5)
    bench.find(5.1, None, "another machine")

    assert [(entry.listeners, entry.problem) for entry in bench.told] == [
        (None, "another machine")
    ]


def test_an_answer_about_a_pod_that_is_gone_is_nothing() -> None:
    bench = Bench()
    bench.refuse(0)
    bench.sightings.forget_pod(bench.pod.uid)

    bench.find(0.1)

    assert bench.told == []


def test_a_refused_probe_of_a_session_is_looked_into_behind_its_result() -> None:
    refused = ProbeAnswer(Attempt(ProbeResult.FAILURE, refused_at=THERE))
    stage = Stage(a_pod(APP), config=LOOKS, probing=probing(liveness=always(refused)))

    stage.run_until(30)

    told = stage.of(ListenersEntry)
    assert [entry.problem for entry in told] == ["a scripted container has no network"]
    assert told[0].at >= START
    kinds = [type(entry).__name__ for entry in stage.journal]
    assert kinds.index("TickEntry") < kinds.index("ListenersEntry")


class TestFindings:
    """What only a running container shows (UX-35)."""

    FINDS = KubeletConfig(tells_findings=True)
    MISSING = Attempt(ProbeResult.UNKNOWN, error="not there", is_missing=True)
    EXEC = a_container(liveness_probe=an_exec_probe("nope", "-x"))
    HTTP = a_container(liveness_probe=an_http_probe())

    def redirect(self, status: int, location: str = "", *followed: str) -> Attempt:
        headers = (HTTPHeader("Location", location),) if location else ()
        answer = HTTPAnswer(status, headers, redirects=followed)
        return Attempt(ProbeResult.WARNING, http=answer)

    def told(self, container: Container, attempt: Attempt) -> list[FindingEntry]:
        stage = Stage(
            a_pod(container),
            config=self.FINDS,
            probing=probing(liveness=always(ProbeAnswer(attempt))),
        )
        stage.run_until(60)
        return stage.of(FindingEntry)

    def test_a_missing_executable_is_told_once(self) -> None:
        (told,) = self.told(self.EXEC, self.MISSING)

        assert told.rule == "exec-missing-in-image"
        assert told.path == "spec.containers[0].livenessProbe.exec.command"
        assert told.message == (
            '"nope" is not in the container: the probe errors, and what errors never '
            "counts"
        )

    def test_where_it_is_a_failure_that_is_said(self) -> None:
        fails = Attempt(ProbeResult.FAILURE, detail="exit 126", is_missing=True)

        (told,) = self.told(self.EXEC, fails)

        assert told.message == (
            '"nope" is not in the container: as on Docker it is a failure; a CRI '
            "runtime makes it an error"
        )

    def test_a_redirect_elsewhere_is_told_once(self) -> None:
        (told,) = self.told(self.HTTP, self.redirect(302, "http://other/"))

        assert told.rule == "redirect-seen"
        assert told.path == "spec.containers[0].livenessProbe.httpGet"
        assert told.message == (
            'is redirected to "http://other/", another host: not followed, and '
            "counted as a success"
        )

    def test_a_redirect_that_was_followed_is_told_too(self) -> None:
        (told,) = self.told(self.HTTP, self.redirect(200, "", "/login", "/form"))

        assert told.message == (
            'is redirected to "/login", which is followed on the same host'
        )

    def test_a_redirect_to_nowhere_is_told_by_its_status(self) -> None:
        (told,) = self.told(self.HTTP, self.redirect(304))

        assert told.message == (
            "is answered with status 304, which counts as a success"
        )

    @pytest.mark.parametrize(
        ("container", "attempt"),
        [
            pytest.param(EXEC, Attempt(ProbeResult.FAILURE), id="a failure"),
            pytest.param(
                EXEC, Attempt(ProbeResult.UNKNOWN, error="no"), id="another error"
            ),
            pytest.param(
                HTTP,
                Attempt(ProbeResult.SUCCESS, http=HTTPAnswer(200)),
                id="an answer",
            ),
        ],
    )
    def test_all_else_is_no_finding(
        self, container: Container, attempt: Attempt
    ) -> None:
        assert self.told(container, attempt) == []

    def test_without_being_asked_nothing_is_told(self) -> None:
        stage = Stage(
            a_pod(self.EXEC),
            probing=probing(liveness=always(ProbeAnswer(self.MISSING))),
        )

        stage.run_until(30)

        assert stage.of(FindingEntry) == []

    def test_its_place_in_the_manifest_is_named_where_it_is_known(self) -> None:
        pod = a_pod(self.EXEC)
        path = "spec.containers[0].livenessProbe.exec.command"
        stage = Stage(
            config=self.FINDS,
            probing=probing(liveness=always(ProbeAnswer(self.MISSING))),
        )

        stage.send(SetPods((pod,), {f"{pod.uid} {path}": "pod.yaml:12:9"}))
        stage.run_until(30)

        assert [entry.place for entry in stage.of(FindingEntry)] == ["pod.yaml:12:9"]

    def test_a_chosen_result_shows_nothing(self) -> None:
        stage = Stage(a_pod(self.HTTP), config=self.FINDS)
        stage.send(InjectResults(a_key(), (Injected.WARNING, Injected.ERRORED)))

        stage.run_until(30)

        assert stage.of(FindingEntry) == []


class TestExecs:
    """Commands that others run (UX-34)."""

    def test_what_somebody_else_runs_is_a_line_of_its_container(self) -> None:
        stage = Stage(a_pod(APP))
        stage.run_until(5)
        (instance,) = stage.world.pods(at(5))[0].containers

        stage.simulation.submit(ExecSeen(instance.container_id, "sh -c date"))

        (told,) = [
            entry for entry in stage.of(StateEntry) if entry.what is StateField.EXEC
        ]
        assert (told.container_name, told.after) == ("app", "sh -c date")

    def test_in_a_container_that_is_not_ours_it_is_nothing(self) -> None:
        stage = Stage(a_pod(APP))
        stage.run_until(5)

        stage.simulation.submit(ExecSeen(ContainerID("fake://other"), "true"))

        assert [
            entry for entry in stage.of(StateEntry) if entry.what is StateField.EXEC
        ] == []
