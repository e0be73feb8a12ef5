"""Connections that somebody else makes, as connections of probes."""

from __future__ import annotations

import asyncio

import pytest

from probetui.errors import ContainerRuntimeError, ForwardRefusedError
from probetui.k8s.probe import GRPCAction, HTTPGetAction, TCPSocketAction
from probetui.k8s.runtime import SocketAddress
from probetui.kubelet.outcome import FORWARDED, Attempt, ProbeResult
from probetui.ports import Destination
from probetui.probers.go.forwarded import MOST_OF_A_LIMIT
from probetui.probers.prober import ProbeDispatcher
from tests.builders import a_probe
from tests.fakes import FakeClock
from tests.probers.test_prober import an_effect
from tests.virtual_loop import run_in_virtual_time

POD_IP = "10.244.0.7"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HANDLERS = [
    pytest.param(TCPSocketAction(80), id="tcp"),
    pytest.param(HTTPGetAction(80), id="http"),
    pytest.param(GRPCAction(80), id="grpc"),
]


class FakeForward:
    """The far end: it refuses, breaks, answers, or stays silent."""

    quiet_seconds = 0.05

    def __init__(self, response: bytes | Exception | None) -> None:
        self._response = response
        self.is_closed = False

    async def connect(self) -> FakeForward:
        return self

    async def send(self, data: bytes) -> None:
        assert data

    async def receive(self) -> bytes:
        if isinstance(self._response, Exception):
            raise self._response
        if self._response is None:
            await asyncio.Event().wait()
        response, self._response = self._response, b""
        assert isinstance(response, bytes)
        return response

    async def finish_sending(self) -> None:
        pass

    def close(self) -> None:
        self.is_closed = True

    def dial_address(self, pod_ip: str, port: int) -> Destination:
        assert (pod_ip, port) == (POD_IP, 80)
        return self.connect


async def probe(
    far: FakeForward, handler: TCPSocketAction | HTTPGetAction | GRPCAction
) -> Attempt:
    dispatcher = ProbeDispatcher(None, FakeClock(), far)  # type: ignore[arg-type]  # no exec
    effect = an_effect(handler, pod_ip=POD_IP)
    return (await dispatcher.probe(effect)).attempts[-1]


@pytest.mark.parametrize("handler", HANDLERS)
async def test_a_refusal_at_the_far_end_is_a_refusal(
    handler: TCPSocketAction | HTTPGetAction | GRPCAction,
) -> None:
    text = "error forwarding port 80 to pod web: connect: Connection refused"
    far = FakeForward(ForwardRefusedError(text))

    attempt = await probe(far, handler)

    assert attempt.result is ProbeResult.FAILURE
    assert attempt.error is None
    assert attempt.refused_at == SocketAddress(POD_IP, 80)
    assert attempt.is_forwarded
    assert far.is_closed


@pytest.mark.parametrize("handler", HANDLERS[:2])
async def test_a_broken_tunnel_is_no_result_of_the_container(
    handler: TCPSocketAction | HTTPGetAction,
) -> None:
    far = FakeForward(ContainerRuntimeError("the API server has gone"))

    attempt = await probe(far, handler)

    assert attempt.result is ProbeResult.UNKNOWN
    assert attempt.error == "port-forward: the API server has gone"


async def test_an_answer_of_the_far_end_is_marked_as_forwarded() -> None:
    attempt = await probe(FakeForward(ANSWER), HTTPGetAction(80))

    assert (attempt.result, attempt.output) == (ProbeResult.SUCCESS, "ok")
    assert attempt.detail == f"HTTP 200, {FORWARDED}"


def test_who_is_not_refused_for_long_enough_has_connected() -> None:
    far = FakeForward(None)

    attempt, seconds = run_in_virtual_time(probe(far, TCPSocketAction(80)))

    assert attempt.result is ProbeResult.SUCCESS
    assert attempt.detail == f"connected, {FORWARDED}"
    assert seconds == pytest.approx(far.quiet_seconds)


def test_a_quiet_time_ends_before_the_probes_limit() -> None:
    far = FakeForward(None)
    far.quiet_seconds = 60.0
    limit_seconds = a_probe().timeout_seconds

    attempt, seconds = run_in_virtual_time(probe(far, TCPSocketAction(80)))

    assert attempt.result is ProbeResult.SUCCESS
    assert seconds == pytest.approx(MOST_OF_A_LIMIT * limit_seconds)
