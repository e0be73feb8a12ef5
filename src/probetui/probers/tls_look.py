"""Whether a port speaks TLS, asked after a server has closed the connection of a probe.

A server that speaks TLS rarely says so to a client that does not: most close the
connection, as OpenSSL makes them. One ClientHello tells.

Difference: a kubelet does not ask; it is after the probe, and once for each port of a
container.
"""

from __future__ import annotations

import asyncio

from probetui.errors import GoError, LocalResourceError
from probetui.probers.go.dial import dial
from probetui.probers.go.tls import TLSConnection, client_context, to_server_name
from probetui.probers.route import Route

LONGEST_SECONDS = 0.5


async def speaks_tls(host: str, port: int, route: Route) -> bool:
    """Return whether a port answers a ClientHello as TLS does.

    Args:
        host: a pod's IP, or a name.
        port: a number, of unchecked range.
        route: where to connect instead.
    """
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            connection = await dial(host, port, route)
            try:
                context, name = client_context(()), to_server_name(host)
                await TLSConnection(connection, context, name).check_first_record()
            finally:
                connection.close()
    except (GoError, LocalResourceError, TimeoutError):
        return False
    return True
