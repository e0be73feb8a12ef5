"""Events for a server that takes them slowly or not at all."""

from __future__ import annotations

import asyncio
import logging

import pytest

from probetui.cluster.node.contact import ServerContact
from probetui.cluster.node.event_writer import MOST_WAITING, EventWriter
from probetui.kubelet.events.event_recorder import EventWrite
from tests.cluster.node.bench import NodeBench

MORE = 5_000


async def test_of_dropped_events_the_log_has_the_first_and_their_number(
    bench: NodeBench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with bench.client:
        contact = ServerContact(bench.clock, bench.messages.append)
        writer = EventWriter(bench.client, contact)
        for number in range(MOST_WAITING + MORE):
            name = f"event-{number}"
            body = {"metadata": {"name": name, "namespace": "default"}}
            writer.put(EventWrite("default", name, body, None))
        running = asyncio.create_task(writer.run())
        await writer.finish()
        await asyncio.sleep(0)
        running.cancel()

    written = bench.cluster.writes("POST", "/events")
    assert len(written) == MOST_WAITING
    assert [record.getMessage() for record in caplog.records] == [
        f"event event-{MOST_WAITING} is dropped: too many are waiting",
        f"{MORE} events were dropped",
    ]
