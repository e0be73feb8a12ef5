"""TCP probes: a handshake is a success.

Source: pkg/probe/tcp/tcp.go, v1.32.10, DoTCPProbe.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from probetui.errors import GoError
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.kubelet.prober.timeout_text import tcp_timeout
from probetui.probers.go.dial import dial
from probetui.probers.go.errors import DialRefusedError
from probetui.probers.route import Route, direct_route


async def probe_tcp(
    host: str, port: int, time_limit: timedelta, route: Route = direct_route
) -> Attempt:
    """Connect and close; any error of the connection is a failure.

    A time limit of zero is none; a negative one expires at once.
    """
    seconds = time_limit.total_seconds() if time_limit else None
    try:
        async with asyncio.timeout(seconds):
            connection = await dial(host, port, route)
            try:
                await connection.established(time_limit.total_seconds())
            finally:
                connection.close()
            if time_limit < timedelta():
                raise TimeoutError  # noqa: TRY301  # dialling may not have waited
    except TimeoutError:
        output = tcp_timeout(host, port)
    except DialRefusedError as error:
        return Attempt(ProbeResult.FAILURE, str(error), refused_at=error.endpoint)
    except GoError as error:
        output = str(error)
    else:
        return Attempt(ProbeResult.SUCCESS, detail="connected")
    return Attempt(ProbeResult.FAILURE, output)
