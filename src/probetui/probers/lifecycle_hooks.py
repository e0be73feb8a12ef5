"""Lifecycle hooks: exec and httpGet handlers of postStart and preStop.

Source: kubelet/lifecycle/handlers.go, v1.32.10, Run, runHTTPHandler.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from probetui.errors import (
    ContainerRuntimeError,
    ExecTimeoutError,
    GoError,
    LocalResourceError,
)
from probetui.k8s.probe import ExecAction, HTTPGetAction, SleepAction, TCPSocketAction
from probetui.kubelet.effects import RunHook
from probetui.kubelet.outcome import PeerBehavior
from probetui.kubelet.prober.container_port import resolve_port
from probetui.kubelet.runtime.go_format import to_text
from probetui.ports import DialAddress, HookResult
from probetui.probers.exec_probe import CommandRunner
from probetui.probers.prober import BROKEN_OFF
from probetui.probers.route import PodRoute, Route
from probetui.probers.truncation import truncate_text

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport

    from probetui.probers.http_request import ProbeRequest

NO_LIMIT = 0


class LifecycleHookRunner:
    """Runs lifecycle hooks; implements `ports.HookRunner`, stateless.

    Args:
        runtime: runs the commands.
        dial_address: where to connect instead of pod IPs.
        open_transport: replaces the connections of requests, by their route.
    """

    def __init__(
        self,
        runtime: CommandRunner,
        dial_address: DialAddress | None = None,
        open_transport: Callable[[Route], AsyncBaseTransport] | None = None,
    ) -> None:
        self._runtime = runtime
        self._dial_address = dial_address
        self._open_transport = open_transport

    async def run(self, operation: RunHook) -> HookResult:
        """Run a hook to its end, without a time limit."""
        match operation.handler:
            case ExecAction(command):
                return await self._exec(operation, command)
            case HTTPGetAction() as action:
                try:
                    return await self._get(operation, action)
                except (GoError, LocalResourceError) as error:
                    peer = await self._look(operation, action, str(error))
                    return HookResult(error=str(error), peer=peer)
            case SleepAction() | TCPSocketAction():
                # The engine handles sleep, and refuses tcpSocket as the kubelet does.
                return HookResult(error=f"invalid handler: {operation.handler}")

    async def _exec(self, operation: RunHook, command: tuple[str, ...]) -> HookResult:
        """Run a command; unlike a probe's, its variables are not expanded."""
        try:
            done = await self._runtime.exec_sync(
                operation.container_id, command, NO_LIMIT
            )
        except (ContainerRuntimeError, ExecTimeoutError) as error:
            return HookResult(error=str(error))
        output = truncate_text(to_text(done.stdout + done.stderr))
        if done.exit_code == 0:
            return HookResult(output)
        joined = " ".join(command)
        stderr = truncate_text(to_text(done.stderr))
        return HookResult(
            output, f"command '{joined}' exited with {done.exit_code}: {stderr}"
        )

    async def _look(
        self, operation: RunHook, action: HTTPGetAction, error: str
    ) -> PeerBehavior | None:
        """Return that a server that has closed the connection speaks TLS."""
        if action.scheme != "HTTP" or not error.endswith(BROKEN_OFF):
            return None
        # Late: a server that closes connections is rare.
        from probetui.probers.tls_look import speaks_tls  # noqa: PLC0415

        host = action.host or operation.pod_ip
        port = resolve_port(action.port, operation.container, operation.rules)
        route = PodRoute(operation.pod_ip, self._dial_address)
        return PeerBehavior.TLS if await speaks_tls(host, port, route) else None

    async def _get(self, operation: RunHook, action: HTTPGetAction) -> HookResult:
        """Send a request; any response is a success.

        Quirk, kept: if a server speaks plain HTTP instead of HTTPS, the request is
        repeated without TLS and credentials; if that fails too, the first error counts.
        A pod without an IP, as in the host's network, is not dialled.

        Raises:
            GoError: there is no response.
        """
        # Late: 25 ms to import, and few pods have hooks that send requests.
        from probetui.probers.go.http_transport import OneShotTransport  # noqa: PLC0415
        from probetui.probers.go.tls import PlainHTTPResponseError  # noqa: PLC0415
        from probetui.probers.http_probe import send_request  # noqa: PLC0415
        from probetui.probers.http_request import (  # noqa: PLC0415
            build_bare_request,
            build_request,
        )

        host = action.host or operation.pod_ip
        if not host:
            raise GoError("failed to find networking container")
        port = resolve_port(action.port, operation.container, operation.rules)
        rules = operation.rules
        build = partial(
            build_request,
            host=host,
            port=port,
            rules=rules,
            user_agent=rules.hook_user_agent,
        )
        open_transport = self._open_transport or OneShotTransport
        transport = open_transport(PodRoute(operation.pod_ip, self._dial_address))
        if not rules.consistent_http_hooks:
            bare = build_bare_request(action, host, port)
            return HookResult(await send_request(bare, transport))
        try:
            return HookResult(await send_request(build(action), transport))
        except PlainHTTPResponseError as refused:
            plain = build(replace(action, scheme="HTTP"))
            try:
                answer = await send_request(_remove_authorization(plain), transport)
            except GoError:
                raise refused from None
            return HookResult(answer, fallback_host=plain.url.host)


def _remove_authorization(request: ProbeRequest) -> ProbeRequest:
    headers = {
        name: values
        for name, values in request.headers.items()
        if name != "Authorization"
    }
    return replace(request, headers=headers)
