"""Diagnostics of probes beside their results."""

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
from tests.drive.engine_bench import EngineBench, always, probing

FINDS_LISTENERS = KubeletConfig(finds_listeners=True)
THERE = SocketAddress("10.1.2.3", 8080)
OTHER = SocketAddress("10.1.2.3", 9090)
FIRST, SECOND = ContainerID("fake://1"), ContainerID("fake://2")
LOOPBACK = Listeners((SocketAddress("127.0.0.1", 8080),), ListenerScope.POD)
APP = a_container(liveness_probe=an_http_probe())


class Bench:
    """The diagnostics of one pod, with their `requests` for listeners and `entries`."""

    def __init__(
        self, config: KubeletConfig = FINDS_LISTENERS, *containers: Container
    ) -> None:
        self.pod = a_pod(*(containers or (APP,)))
        self.turn_builder = TurnBuilder()
        self.pods: dict[str, Pod] = {self.pod.uid: self.pod}
        self.diagnostics = ProbeDiagnostics(self.turn_builder, config, self.pods)
        self.requests: list[ContainerID] = []
        self.entries: list[ListenersEntry] = []
        self._sequence = 100

    def record_refusal(self, seconds: float, **fields: Any) -> None:
        """Report a dry run whose connection was refused at that second."""
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
        self.diagnostics.on_entries([replace(entry, **fields)], at(seconds))
        self._finish_turn()

    def record_listeners(
        self, seconds: float, listeners: Listeners | None = LOOPBACK, problem: str = ""
    ) -> None:
        """Answer the request for the listeners of the first container."""
        self.diagnostics.on_listeners_found(
            ListenersFound(FIRST, listeners, problem), at(seconds)
        )
        self._finish_turn()

    def _finish_turn(self) -> None:
        turn = self.turn_builder.finish()
        self.requests += [
            effect.container_id
            for effect in turn.effects
            if isinstance(effect, FindListeners)
        ]
        self.entries += [
            entry for entry in turn.entries if isinstance(entry, ListenersEntry)
        ]


def test_a_refused_connection_starts_a_request_for_listeners() -> None:
    bench = Bench()

    bench.record_refusal(0)
    bench.record_listeners(0.1)

    own = replace(LOOPBACK, extent=ListenerScope.CONTAINER)
    assert bench.requests == [FIRST]
    assert bench.entries == [
        ListenersEntry(1, at(0.1), a_key(), FIRST, THERE, own, "", 101)
    ]


def test_the_network_belongs_to_the_pod_if_it_has_several_containers() -> None:
    bench = Bench(FINDS_LISTENERS, APP, a_container("other"))

    bench.record_refusal(0)
    bench.record_listeners(0.1)

    assert [entry.listeners for entry in bench.entries] == [LOOPBACK]


def test_nothing_is_inspected_if_it_is_disabled() -> None:
    bench = Bench(KubeletConfig())

    bench.record_refusal(0)

    assert bench.requests == []


def test_other_failures_start_no_request() -> None:
    bench = Bench()

    bench.record_refusal(0, there=None)

    assert bench.requests == []


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(HTTPGetAction(8080, host="db.example"), id="http"),
        pytest.param(TCPSocketAction(8080, host="db.example"), id="tcp"),
    ],
)
def test_a_probe_of_another_host_has_no_finding_about_the_container(
    handler: HTTPGetAction | TCPSocketAction,
) -> None:
    elsewhere = a_container(liveness_probe=a_probe(handler))
    bench = Bench(FINDS_LISTENERS, elsewhere)

    bench.record_refusal(0)

    assert bench.requests == []


def test_one_request_at_a_time_answers_all_waiting_probes() -> None:
    bench = Bench()

    bench.record_refusal(0)
    bench.record_refusal(0.05, there=OTHER)
    bench.record_listeners(0.1)

    assert bench.requests == [FIRST]
    assert [(entry.refused_at, entry.cause) for entry in bench.entries] == [
        (THERE, 101),
        (OTHER, 102),
    ]


def test_listeners_are_cached_for_three_seconds() -> None:
    bench = Bench()
    bench.record_refusal(0)
    bench.record_listeners(0.1)

    bench.record_refusal(1)
    bench.record_refusal(2, there=OTHER)
    bench.record_refusal(3.1)

    assert bench.requests == [FIRST, FIRST]
    assert [(entry.at, entry.refused_at) for entry in bench.entries] == [
        (at(0.1), THERE),
        (at(2), OTHER),
    ]


def test_unchanged_listeners_are_not_reported_again() -> None:
    bench = Bench()
    bench.record_refusal(0)
    bench.record_listeners(0.1)

    bench.record_refusal(5)
    bench.record_listeners(5.1)
    bench.record_refusal(10)
    bench.record_listeners(10.1, Listeners((), ListenerScope.POD))

    assert [entry.at for entry in bench.entries] == [at(0.1), at(10.1)]


def test_listeners_on_other_ports_are_ignored_if_the_port_is_in_use() -> None:
    bench = Bench()
    bench.record_refusal(0)
    bench.record_listeners(0.1)

    bench.record_refusal(5)
    others = SocketAddress("0.0.0.0", 9), *LOOPBACK.endpoints
    bench.record_listeners(5.1, Listeners(others, ListenerScope.POD))

    assert [entry.at for entry in bench.entries] == [at(0.1)]


def test_each_container_instance_is_inspected_separately() -> None:
    bench = Bench()

    bench.record_refusal(0)
    bench.record_refusal(0, container_id=SECOND)

    assert bench.requests == [FIRST, SECOND]


def test_an_earlier_instance_is_forgotten_with_its_answer() -> None:
    bench = Bench()
    bench.record_refusal(0)
    bench.record_refusal(1, container_id=SECOND)

    bench.record_listeners(1.1)

    assert bench.entries == []


def test_what_is_known_of_a_container_is_kept_once_it_is_being_stopped() -> None:
    bench = Bench()
    bench.record_refusal(0)
    bench.record_listeners(0.1)

    bench.record_refusal(10)
    bench.diagnostics.on_listeners_found(
        ListenersFound(FIRST, None, is_ending=True), at(10)
    )

    assert [(entry.at, entry.problem) for entry in bench.entries] == [(at(0.1), "")]
    assert bench.turn_builder.finish().entries == ()


def test_an_error_of_the_inspection_is_reported_once() -> None:
    bench = Bench()
    bench.record_refusal(0)

    bench.record_listeners(0.1, None, "another machine")
    bench.record_refusal(5)
    bench.record_listeners(5.1, None, "another machine")

    assert [(entry.listeners, entry.problem) for entry in bench.entries] == [
        (None, "another machine")
    ]


def test_a_refusal_of_a_pod_that_is_gone_starts_no_request() -> None:
    bench = Bench()
    bench.pods.clear()

    bench.record_refusal(0)

    assert bench.requests == []


def test_listeners_of_a_removed_pod_are_ignored() -> None:
    bench = Bench()
    bench.record_refusal(0)
    bench.diagnostics.forget_pod(bench.pod.uid)

    bench.record_listeners(0.1)

    assert bench.entries == []


def test_listeners_of_a_refused_probe_are_journaled_after_its_result() -> None:
    refused = ProbeAnswer(Attempt(ProbeResult.FAILURE, refused_at=THERE))
    bench = EngineBench(
        a_pod(APP), config=FINDS_LISTENERS, probing=probing(liveness=always(refused))
    )

    bench.run_until(30)

    entries = bench.of(ListenersEntry)
    assert [entry.problem for entry in entries] == [
        "a scripted container has no network"
    ]
    assert entries[0].at >= START
    kinds = [type(entry).__name__ for entry in bench.journal]
    assert kinds.index("TickEntry") < kinds.index("ListenersEntry")


class TestFindings:
    """Findings that need a running container."""

    FINDS = KubeletConfig(tells_findings=True)
    MISSING = Attempt(ProbeResult.UNKNOWN, error="not there", is_missing=True)
    EXEC = a_container(liveness_probe=an_exec_probe("nope", "-x"))
    HTTP = a_container(liveness_probe=an_http_probe())

    def redirect(self, status: int, location: str = "", *followed: str) -> Attempt:
        headers = (HTTPHeader("Location", location),) if location else ()
        answer = HTTPAnswer(status, headers, redirects=followed)
        return Attempt(ProbeResult.WARNING, http=answer)

    def findings_of(self, container: Container, attempt: Attempt) -> list[FindingEntry]:
        bench = EngineBench(
            a_pod(container),
            config=self.FINDS,
            probing=probing(liveness=always(ProbeAnswer(attempt))),
        )
        bench.run_until(60)
        return bench.of(FindingEntry)

    def test_a_missing_executable_is_reported_once(self) -> None:
        (finding,) = self.findings_of(self.EXEC, self.MISSING)

        assert finding.rule == "exec-missing-in-image"
        assert finding.path == "spec.containers[0].livenessProbe.exec.command"
        assert finding.message == (
            '"nope" is not in the container: the probe errors, and what errors never '
            "counts"
        )

    def test_a_missing_executable_that_fails_has_its_own_message(self) -> None:
        fails = Attempt(ProbeResult.FAILURE, detail="exit 126", is_missing=True)

        (finding,) = self.findings_of(self.EXEC, fails)

        assert finding.message == (
            '"nope" is not in the container: as on Docker it is a failure; a CRI '
            "runtime makes it an error"
        )

    def test_a_redirect_to_another_host_is_reported_once(self) -> None:
        (finding,) = self.findings_of(self.HTTP, self.redirect(302, "http://other/"))

        assert finding.rule == "redirect-seen"
        assert finding.path == "spec.containers[0].livenessProbe.httpGet"
        assert finding.message == (
            'is redirected to "http://other/", another host: not followed, and '
            "counted as a success"
        )

    def test_a_followed_redirect_is_reported_too(self) -> None:
        (finding,) = self.findings_of(
            self.HTTP, self.redirect(200, "", "/login", "/form")
        )

        assert finding.message == (
            'is redirected to "/login", which is followed on the same host'
        )

    def test_a_redirect_without_a_location_is_reported_with_its_status(self) -> None:
        (finding,) = self.findings_of(self.HTTP, self.redirect(304))

        assert finding.message == (
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
        assert self.findings_of(container, attempt) == []

    def test_without_the_option_nothing_is_reported(self) -> None:
        bench = EngineBench(
            a_pod(self.EXEC),
            probing=probing(liveness=always(ProbeAnswer(self.MISSING))),
        )

        bench.run_until(30)

        assert bench.of(FindingEntry) == []

    def test_a_finding_has_its_position_in_the_manifest(self) -> None:
        pod = a_pod(self.EXEC)
        path = "spec.containers[0].livenessProbe.exec.command"
        bench = EngineBench(
            config=self.FINDS,
            probing=probing(liveness=always(ProbeAnswer(self.MISSING))),
        )

        bench.send(SetPods((pod,), {f"{pod.uid} {path}": "pod.yaml:12:9"}))
        bench.run_until(30)

        assert [entry.place for entry in bench.of(FindingEntry)] == ["pod.yaml:12:9"]

    def test_a_chosen_result_shows_nothing(self) -> None:
        bench = EngineBench(a_pod(self.HTTP), config=self.FINDS)
        bench.send(InjectResults(a_key(), (Injected.WARNING, Injected.ERRORED)))

        bench.run_until(30)

        assert bench.of(FindingEntry) == []


class TestExecs:
    """Exec commands of others."""

    def test_what_somebody_else_runs_is_a_line_of_its_container(self) -> None:
        bench = EngineBench(a_pod(APP))
        bench.run_until(5)
        (instance,) = bench.world.pods(at(5))[0].containers

        bench.simulation.submit(ExecSeen(instance.container_id, "sh -c date"))

        (finding,) = [
            entry for entry in bench.of(StateEntry) if entry.what is StateField.EXEC
        ]
        assert (finding.container_name, finding.after) == ("app", "sh -c date")
        assert (finding.subject, finding.before) == ("", "")

    def test_in_a_container_that_is_not_ours_it_is_nothing(self) -> None:
        bench = EngineBench(a_pod(APP))
        bench.run_until(5)

        bench.simulation.submit(ExecSeen(ContainerID("fake://other"), "true"))

        assert [
            entry for entry in bench.of(StateEntry) if entry.what is StateField.EXEC
        ] == []
