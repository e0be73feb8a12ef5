"""A `ProbeDispatcher` on fake parts, for tests that bring handlers of their own."""

from __future__ import annotations

from typing import Any

from probetui.kubelet.outcome import Attempt
from probetui.ports import DialAddress, LagSource
from probetui.probers.prober import ProbeDispatcher, ProbeHandlers
from tests.fakes import FakeClock, FakeEngine, FakeRuntime


def a_dispatch(
    *,
    clock: FakeClock | None = None,
    dial_address: DialAddress | None = None,
    lost_time: LagSource | None = None,
    **handlers: Any,
) -> ProbeDispatcher:
    """Return a dispatch with some handlers; any other one fails the test."""
    clock = clock or FakeClock()
    runtime = FakeRuntime(FakeEngine(clock))
    kinds = ("exec_", "http_get", "tcp_socket", "grpc")
    given = ProbeHandlers(**{kind: handlers.get(kind, _unexpected) for kind in kinds})
    return ProbeDispatcher(runtime, clock, dial_address, given, lost_time)


async def _unexpected(*arguments: object) -> Attempt:
    raise AssertionError(arguments)
