"""A `Dispatch` on fake parts, for tests that bring handlers of their own."""

from __future__ import annotations

from typing import Any

from tests.fakes import FakeClock, FakeEngine, FakeRuntime

from probetui.kubelet.outcome import Attempt
from probetui.ports import DialAddress, LostTime
from probetui.probers.dispatch import Dispatch, Handlers


def a_dispatch(
    *,
    clock: FakeClock | None = None,
    dial_address: DialAddress | None = None,
    lost_time: LostTime | None = None,
    **handlers: Any,
) -> Dispatch:
    """Return a dispatch with some handlers; any other one fails the test."""
    clock = clock or FakeClock()
    runtime = FakeRuntime(FakeEngine(clock))
    kinds = ("exec_", "http_get", "tcp_socket", "grpc")
    given = Handlers(**{kind: handlers.get(kind, _unexpected) for kind in kinds})
    return Dispatch(runtime, clock, dial_address, given, lost_time)


async def _unexpected(*arguments: object) -> Attempt:
    raise AssertionError(arguments)
