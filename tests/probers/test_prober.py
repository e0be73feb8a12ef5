from __future__ import annotations

import asyncio
import contextlib
import logging
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError, LocalResourceError
from probetui.k8s.pod import ContainerPort
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    HTTPHeader,
    Probe,
    ProbeHandler,
    TCPSocketAction,
)
from probetui.k8s.runtime import ContainerID, SocketAddress
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.outcome import (
    Attempt,
    HTTPAnswer,
    PeerBehavior,
    ProbeResult,
    Redirect,
)
from probetui.kubelet_rules import KubeletRules
from probetui.ports import Destination, ExecResult
from probetui.probers.http_request import ProbeRequest
from probetui.probers.prober import ProbeDispatcher
from probetui.probers.route import Route
from tests.builders import a_container, a_grpc_probe, a_key, a_pod, a_probe, env
from tests.fakes import FakeClock
from tests.probers.dispatching import a_dispatch
from tests.probers.grpc_server import SERVING, HealthServer, status
from tests.probers.peers import Peer, TLSPeer, server_context
from tests.probers.servers import LOOPBACK, Serve, not_accepting, serving

CONTAINER_ID = ContainerID("docker://abc")
POD_IP = "10.1.2.3"
OK = Attempt(ProbeResult.SUCCESS, "fine")
FAILED = Attempt(ProbeResult.FAILURE, "not fine")
ERROR = Attempt(ProbeResult.UNKNOWN, error="e")


def an_effect(
    handler: ProbeHandler | Probe | None = None, *, pod_ip: str = POD_IP
) -> RunProbe:
    probe = handler if isinstance(handler, Probe) else a_probe(handler)
    container = a_container(
        ports=(ContainerPort(8080, "http"),), env=env(A="1"), liveness_probe=probe
    )
    return RunProbe(
        7, a_key(), a_pod(container), container, probe, CONTAINER_ID, pod_ip
    )


class Answers:
    """An exec handler that gives attempts in order, each after a second."""

    def __init__(self, clock: FakeClock, *attempts: Attempt) -> None:
        self._clock = clock
        self._attempts = list(attempts)
        self.commands: list[tuple[str, ...]] = []

    async def __call__(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        seconds: int,
        _rules: KubeletRules,
    ) -> Attempt:
        self.commands.append(command)
        await self._clock.advance(timedelta(seconds=1))
        return self._attempts.pop(0)


@pytest.mark.parametrize(
    ("given", "results"),
    [
        pytest.param([OK, FAILED], ["success"], id="a success ends it"),
        pytest.param([FAILED, OK], ["failure"], id="a failure is not tried again"),
        pytest.param([ERROR, OK], ["unknown", "success"], id="an error is"),
        pytest.param([ERROR] * 4, ["unknown"] * 3, id="three times at most"),
    ],
)
async def test_only_errors_are_tried_again(
    given: list[Attempt], results: list[str]
) -> None:
    clock = FakeClock()
    dispatch = a_dispatch(clock=clock, exec_=Answers(clock, *given))

    outcome = await dispatch.probe(an_effect())

    assert [attempt.result.value for attempt in outcome.attempts] == results
    assert outcome.duration == timedelta(seconds=len(results))
    assert {attempt.duration for attempt in outcome.attempts} == {timedelta(seconds=1)}


async def test_an_error_without_words_is_an_error() -> None:
    clock = FakeClock()
    wordless = Attempt(ProbeResult.UNKNOWN, error="")
    dispatch = a_dispatch(clock=clock, exec_=Answers(clock, wordless, OK))

    outcome = await dispatch.probe(an_effect())

    assert len(outcome.attempts) == 2


async def test_a_command_is_expanded_with_the_container_s_variables() -> None:
    clock = FakeClock()
    answers = Answers(clock, OK)
    command = ExecAction(("echo", "$(A)"))

    await a_dispatch(clock=clock, exec_=answers).probe(an_effect(command))

    assert answers.commands == [("echo", "1")]


@pytest.mark.parametrize(
    ("handler", "error"),
    [
        pytest.param(
            HTTPGetAction("https"),
            'strconv.Atoi: parsing "https": invalid syntax',
            id="port",
        ),
        pytest.param(
            HTTPGetAction(80, host="a b"),
            'parse "http://a%20b:80/": invalid URL escape "%20"',
            id="URL",
        ),
        pytest.param(
            Probe(None),
            "missing probe handler for web_default(uid-of-web):app",
            id="no handler",
        ),
    ],
)
async def test_what_is_wrong_before_a_handler_is_an_error_three_times(
    handler: ProbeHandler | Probe, error: str
) -> None:
    outcome = await a_dispatch().probe(an_effect(handler))

    assert outcome.attempts == (Attempt(ProbeResult.UNKNOWN, error=error),) * 3


async def speak_tls(peer: Peer) -> None:
    with contextlib.suppress(OSError):  # a probe has not come for TLS
        await TLSPeer(peer, server_context()).handshake()


async def hang_up(peer: Peer) -> None:
    await peer.close()


@pytest.mark.parametrize("kind", ["http", "grpc"])
@pytest.mark.parametrize(
    ("serve", "expected"),
    [
        pytest.param(speak_tls, PeerBehavior.TLS, id="TLS"),
        pytest.param(hang_up, None, id="hangs up"),
    ],
)
async def test_a_port_that_closes_the_connection_is_asked_once_for_tls(
    serve: Serve, expected: PeerBehavior | None, kind: str
) -> None:
    connections: list[Peer] = []

    async def count(peer: Peer) -> None:
        connections.append(peer)
        await serve(peer)

    closed = Attempt(ProbeResult.FAILURE, 'Get "http://10.1.2.3:8080/": EOF')
    broken = Attempt(ProbeResult.FAILURE, "timeout", peer=PeerBehavior.CLOSES)
    given = closed if kind == "http" else broken

    async def fail(*_: object) -> Attempt:
        return given

    async with serving(count) as port:
        handler = HTTPGetAction(port) if kind == "http" else GRPCAction(port)
        dispatch = a_dispatch(http_get=fail, grpc=fail)
        effect = an_effect(handler, pod_ip=LOOPBACK)
        outcomes = [await dispatch.probe(effect), await dispatch.probe(effect)]

    assert [outcome.last.peer for outcome in outcomes] == [expected or given.peer] * 2
    assert len(connections) == 1


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param(OK, id="a success"),
        pytest.param(FAILED, id="another failure"),
        pytest.param(
            Attempt(ProbeResult.FAILURE, "x: EOF", http=HTTPAnswer(503)), id="an answer"
        ),
        pytest.param(
            Attempt(ProbeResult.FAILURE, "x: EOF", followed=(Redirect(302, "a", "b"),)),
            id="a redirect elsewhere",
        ),
    ],
)
async def test_nobody_is_asked_for_tls_after_other_results(attempt: Attempt) -> None:
    async def give(*_: object) -> Attempt:
        return attempt

    async with serving(speak_tls) as port:
        dispatch = a_dispatch(http_get=give)
        effect = an_effect(HTTPGetAction(port), pod_ip=LOOPBACK)
        outcome = await dispatch.probe(effect)

    assert outcome.last.peer is None


async def test_a_broken_handler_is_an_error_and_not_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.CRITICAL):
        outcome = await a_dispatch().probe(an_effect())

    assert outcome.last.error is not None
    assert outcome.last.error.startswith("prober panicked: AssertionError(")


async def test_a_probe_can_be_cancelled() -> None:
    async def hang(*_: object) -> Attempt:
        return await asyncio.Future()

    probing = asyncio.create_task(a_dispatch(exec_=hang).probe(an_effect()))
    await asyncio.sleep(0)

    probing.cancel()

    await asyncio.wait([probing])
    assert probing.cancelled()


class Reached:
    """Handlers that keep where a probe would have connected."""

    def __init__(self) -> None:
        self.places: list[Destination] = []

    async def http_get(
        self, request: ProbeRequest, limit: timedelta, route: Route
    ) -> Attempt:
        self.places.append(route(request.url.hostname, int(request.url.port)))
        return OK

    async def tcp_socket(
        self, host: str, port: int, limit: timedelta, route: Route
    ) -> Attempt:
        self.places.append(route(host, port))
        return OK

    async def grpc(
        self,
        host: str,
        action: GRPCAction,
        _limit: timedelta,
        route: Route,
        _rules: KubeletRules,
    ) -> Attempt:
        self.places.append(route(host, action.port))
        return OK


class Published:
    """`ports.DialAddress` of a runtime that publishes ports on loopback."""

    def dial_address(self, pod_ip: str, port: int) -> tuple[str, int]:
        return LOOPBACK, port + 10_000


async def places(
    handler: ProbeHandler, *, pod_ip: str = POD_IP, published: bool
) -> list[Destination]:
    reached = Reached()
    dispatch = a_dispatch(
        dial_address=Published() if published else None,
        http_get=reached.http_get,
        tcp_socket=reached.tcp_socket,
        grpc=reached.grpc,
    )
    await dispatch.probe(an_effect(handler, pod_ip=pod_ip))
    return reached.places


@pytest.mark.parametrize(
    ("handler", "place"),
    [
        pytest.param(HTTPGetAction("http"), (POD_IP, 8080), id="HTTP, pod"),
        pytest.param(HTTPGetAction(80, host="h"), ("h", 80), id="HTTP, own host"),
        pytest.param(TCPSocketAction("http"), (POD_IP, 8080), id="TCP, pod"),
        pytest.param(TCPSocketAction(80, "h"), ("h", 80), id="TCP, own host"),
        pytest.param(GRPCAction(80), (POD_IP, 80), id="gRPC"),
    ],
)
async def test_a_probe_goes_to_the_pod_unless_it_has_a_host(
    handler: ProbeHandler, place: tuple[str, int]
) -> None:
    assert await places(handler, published=False) == [place]


@pytest.mark.parametrize(
    ("handler", "place"),
    [
        pytest.param(HTTPGetAction(80), (LOOPBACK, 10_080), id="HTTP, pod"),
        pytest.param(HTTPGetAction(80, host="h"), ("h", 80), id="HTTP, own host"),
        pytest.param(TCPSocketAction(80), (LOOPBACK, 10_080), id="TCP, pod"),
        pytest.param(TCPSocketAction(80, "h"), ("h", 80), id="TCP, own host"),
        pytest.param(GRPCAction(80), (LOOPBACK, 10_080), id="gRPC"),
    ],
)
async def test_a_pod_is_dialled_at_the_address_of_its_runtime(
    handler: ProbeHandler, place: tuple[str, int]
) -> None:
    assert await places(handler, published=True) == [place]


async def test_a_pod_without_an_address_is_this_machine() -> None:
    """Quirk: Go dials the local host for an empty one, and so the node itself."""
    assert await places(TCPSocketAction(80), pod_ip="", published=True) == [("", 80)]


class Runner:
    """A runtime that prints `hi`, or has no executable."""

    async def exec_sync(
        self, container_id: ContainerID, command: tuple[str, ...], timeout_seconds: int
    ) -> ExecResult:
        if command != ("echo", "hi"):
            raise ContainerRuntimeError(f"{command[0]} not found")
        return ExecResult(0, b"hi\n", b"")


async def test_commands_are_run_by_the_runtime() -> None:
    dispatch = ProbeDispatcher(Runner(), FakeClock())

    outcome = await dispatch.probe(an_effect(ExecAction(("echo", "hi"))))

    assert outcome.last == Attempt(ProbeResult.SUCCESS, "hi\n", detail="exit 0")


async def test_connections_are_made_for_real() -> None:
    dispatch = ProbeDispatcher(Runner(), FakeClock())

    with not_accepting() as port:
        handler = TCPSocketAction(port)
        outcome = await dispatch.probe(an_effect(handler, pod_ip=LOOPBACK))

    assert outcome.last.result is ProbeResult.SUCCESS


async def test_grpc_calls_are_made_for_real() -> None:
    dispatch = ProbeDispatcher(Runner(), FakeClock())

    server = HealthServer(lambda _: status(SERVING))
    async with serving(server.serve) as port:
        probe = a_grpc_probe(port, "web", timeout_seconds=10)
        outcome = await dispatch.probe(an_effect(probe, pod_ip=LOOPBACK))

    assert outcome.last.result is ProbeResult.SUCCESS
    assert [call.service for call in server.calls] == ["web"]


async def test_what_a_server_answered_is_kept_beside_the_output() -> None:
    answer = HTTPAnswer(200, (HTTPHeader("Server", "nginx"),))
    answered = Attempt(ProbeResult.SUCCESS, "ok", detail="HTTP 200", http=answer)

    async def http_get(
        _request: ProbeRequest, _limit: timedelta, _route: Route
    ) -> Attempt:
        return answered

    dispatch = a_dispatch(http_get=http_get)

    outcome = await dispatch.probe(an_effect(HTTPGetAction(80)))

    assert [replace(attempt, duration=timedelta()) for attempt in outcome.attempts] == [
        answered
    ]


class Stall:
    """A handler during which this process is late, with its lateness."""

    def __init__(self, seconds: float, *attempts: Attempt) -> None:
        self._seconds = seconds
        self._attempts = list(attempts)
        self._lost = timedelta(seconds=100)

    def lost(self, _now: datetime) -> timedelta:
        return self._lost

    async def __call__(self, *_: object) -> Attempt:
        self._lost += timedelta(seconds=self._seconds)
        return self._attempts.pop(0)


SILENCE = Attempt(ProbeResult.FAILURE, "i/o timeout")
EXITED = Attempt(ProbeResult.FAILURE, detail="exit 1")
KILLED = Attempt(ProbeResult.FAILURE, "timed out", detail="timed out, killed")
ANSWERED = Attempt(ProbeResult.FAILURE, http=HTTPAnswer(500))
OURS, ITS_OWN = ProbeResult.UNKNOWN, ProbeResult.FAILURE
REFUSED = Attempt(ProbeResult.FAILURE, refused_at=SocketAddress("10.0.0.1", 80))


@pytest.mark.parametrize(
    ("seconds", "timeout_seconds", "attempt", "result"),
    [
        pytest.param(0.2, 1, SILENCE, OURS, id="a fifth of the limit"),
        pytest.param(0.19, 1, SILENCE, ITS_OWN, id="less"),
        pytest.param(1.9, 10, SILENCE, ITS_OWN, id="less of a longer limit"),
        pytest.param(2.0, 10, SILENCE, OURS, id="a fifth of a longer limit"),
        pytest.param(0.2, 0, SILENCE, OURS, id="no limit counts as a second"),
        pytest.param(5.0, 1, KILLED, OURS, id="a command that ran too long"),
        pytest.param(5.0, 1, EXITED, ITS_OWN, id="a command that ended"),
        pytest.param(5.0, 1, ANSWERED, ITS_OWN, id="an answer"),
        pytest.param(5.0, 1, REFUSED, ITS_OWN, id="a refused connection"),
    ],
)
async def test_a_failure_that_may_be_our_lateness_is_an_error(
    seconds: float, timeout_seconds: int, attempt: Attempt, result: ProbeResult
) -> None:
    stall = Stall(seconds, *[attempt] * 3)
    probe = a_probe(timeout_seconds=timeout_seconds)

    outcome = await a_dispatch(exec_=stall, lost_time=stall).probe(an_effect(probe))

    assert outcome.last.result is result
    assert (outcome.last.error is None) == (result is ProbeResult.FAILURE)


async def test_what_was_missed_is_tried_again_at_once() -> None:
    stall = Stall(1.2, SILENCE, OK)

    outcome = await a_dispatch(exec_=stall, lost_time=stall).probe(an_effect())

    missed, last = outcome.attempts
    assert missed.error == (
        "probetui was busy or stopped for 1.2s of this probe and may have missed the "
        "answer (i/o timeout)"
    )
    assert last.result is ProbeResult.SUCCESS


async def test_what_happened_before_a_probe_does_not_matter() -> None:
    stall = Stall(0, SILENCE)

    outcome = await a_dispatch(exec_=stall, lost_time=stall).probe(an_effect())

    assert outcome.last.result is ProbeResult.FAILURE


async def test_our_own_trouble_is_an_error() -> None:
    async def out_of_descriptors(*_: object) -> Attempt:
        raise LocalResourceError("probetui could not connect: too many open files")

    outcome = await a_dispatch(exec_=out_of_descriptors).probe(an_effect())

    assert outcome.last == Attempt(
        ProbeResult.UNKNOWN, error="probetui could not connect: too many open files"
    )
