"""TCP probes: a handshake is a success.

Source: pkg/probe/tcp/tcp.go, v1.32.10, DoTCPProbe.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from probetui.errors import GoError
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.probers.connection import RefusedError, Route, dial, straight
from probetui.probers.go_address import join_host_port


async def probe_tcp(
    host: str, port: int, time_limit: timedelta, route: Route = straight
) -> Attempt:
    """Connect and close; whatever prevents it is a failure, never an error.

    A time limit of zero is none, a negative one is over before it begins.
    """
    seconds = time_limit.total_seconds() if time_limit else None
    try:
        async with asyncio.timeout(seconds):
            (await dial(host, port, route)).close()
    except TimeoutError:
        output = f"dial tcp {join_host_port(host, port)}: i/o timeout"
    except RefusedError as error:
        return Attempt(ProbeResult.FAILURE, str(error), refused_at=error.endpoint)
    except GoError as error:
        output = str(error)
    else:
        return Attempt(ProbeResult.SUCCESS, detail="connected")
    return Attempt(ProbeResult.FAILURE, output)
