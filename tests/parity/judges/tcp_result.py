"""The TCP prober against servers of all kinds."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from probetui.probers.tcp_probe import probe_tcp
from tests.parity.elapsed import took_as_long
from tests.parity.prober_cases import dialled_port, with_placeholder
from tests.probers.peers import Peer
from tests.probers.servers import (
    LOOPBACK,
    full,
    not_accepting,
    refusing,
    serving,
)

IPV6 = "::1"


async def judge(case: dict[str, Any]) -> None:
    inputs, out, saw = case["in"], case["out"], asyncio.Queue[str]()
    if inputs["host"] == IPV6 and not _has_ipv6():
        pytest.skip("this machine has no IPv6")
    async with _listening(case["server"]["kind"], inputs["host"], saw) as port:
        dialled = dialled_port(inputs, port)
        limit = timedelta(milliseconds=inputs["timeoutMs"])

        with took_as_long(out.get("elapsedMs", 0)):
            attempt = await probe_tcp(inputs["host"], dialled, limit)

        for expected in out.get("serverSaw") or ():
            assert await saw.get() == expected
    assert attempt.error == out["error"]
    results = [out["result"]]
    results += [outcome["result"] for outcome in out.get("otherOutcomesSeen", ())]
    assert attempt.result in results
    if "portability" not in case:
        assert with_placeholder(attempt.output, inputs, port) == out["output"]


def _has_ipv6() -> bool:
    with socket.socket(socket.AF_INET6) as sock:
        return sock.connect_ex((IPV6, 9)) != 99  # EADDRNOTAVAIL


@contextlib.asynccontextmanager
async def _listening(
    kind: str, host: str, saw: asyncio.Queue[str]
) -> AsyncIterator[int]:
    async def accept(peer: Peer) -> None:
        await saw.put(f"{await peer.drain_until_end()} bytes then EOF")

    async def send_banner(peer: Peer) -> None:
        await peer.send(b"220 hello\r\n")

    async def close(peer: Peer) -> None:
        await peer.close()

    async def reset(peer: Peer) -> None:
        await peer.reset()

    waiting = {"noAccept": not_accepting, "refused": refusing, "blackhole": full}
    accepting = {
        "accept": accept,
        "banner": send_banner,
        "closeAtOnce": close,
        "resetAtOnce": reset,
    }
    if kind in accepting:
        where = IPV6 if host == IPV6 else LOOPBACK
        async with serving(accepting[kind], where) as port:
            yield port
    elif kind in waiting:
        with waiting[kind]() as port:
            yield port
    else:
        assert kind == "none"
        yield 0
