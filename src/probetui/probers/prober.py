"""Run a probe with the handler of its kind, at most three times.

Source: prober/prober.go, v1.32.10, runProbeWithRetries and runProbe.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from sys import intern
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from probetui.errors import GoError, LocalResourceError
from probetui.k8s.environment import ExpansionTooLargeError
from probetui.k8s.probe import ExecAction, GRPCAction, HTTPGetAction, TCPSocketAction
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.kuberuntime.expansion import expand_command
from probetui.kubelet.outcome import (
    FORWARDED,
    Attempt,
    PeerBehavior,
    ProbeOutcome,
    ProbeResult,
)
from probetui.kubelet.prober.container_port import resolve_port
from probetui.kubelet.prober.prober import MAX_PROBE_RETRIES
from probetui.kubelet_rules import KubeletRules
from probetui.ports import Clock, DialAddress, LagSource
from probetui.probers.exec_probe import EXITED, CommandRunner, probe_exec
from probetui.probers.route import PodRoute, Route
from probetui.probers.truncation import truncate_text

if TYPE_CHECKING:
    from probetui.probers.http_request import ProbeRequest

LOST_SHARE = 5
"""A failure during which we were unresponsive for this part of the limit (1/5)
is an error."""

SHORTEST_LIMIT = timedelta(seconds=1)
"""The limit assumed for an attempt without one."""

MOST_TLS_PORTS = 1000
"""The most ports of which is remembered whether they speak TLS."""

BROKEN_OFF = (": EOF", ": connection reset by peer", ": broken pipe")
"""How errors end that say that a server has closed the connection."""

_log = logging.getLogger(__name__)


class ProbeHandlers(Struct, frozen=True):
    """The handlers of one attempt, by kind of probe.

    A time limit of 0 is none; for gRPC it expires at once.
    """

    exec_: Callable[
        [ContainerID, tuple[str, ...], int, KubeletRules], Awaitable[Attempt]
    ]
    http_get: Callable[[ProbeRequest, timedelta, Route], Awaitable[Attempt]]
    tcp_socket: Callable[[str, int, timedelta, Route], Awaitable[Attempt]]
    grpc: Callable[
        [str, GRPCAction, timedelta, Route, KubeletRules], Awaitable[Attempt]
    ]

    @classmethod
    def for_runtime(cls, runtime: CommandRunner) -> ProbeHandlers:
        """Return the real handlers; exec uses the runtime."""
        return cls(partial(probe_exec, runtime), _probe_http, _probe_tcp, _probe_grpc)


async def _probe_http(
    request: ProbeRequest, time_limit: timedelta, route: Route
) -> Attempt:
    # 25 ms to import, and many pods have no HTTP probe.
    from probetui.probers.go.http_transport import OneShotTransport
    from probetui.probers.http_probe import probe_http

    return await probe_http(request, time_limit, OneShotTransport(route))


async def _probe_tcp(
    host: str, port: int, time_limit: timedelta, route: Route
) -> Attempt:
    # It needs the resolver, which the first screen does not wait for.
    from probetui.probers.tcp_probe import probe_tcp

    return await probe_tcp(host, port, time_limit, route)


async def _probe_grpc(
    host: str,
    action: GRPCAction,
    time_limit: timedelta,
    route: Route,
    rules: KubeletRules,
) -> Attempt:
    # 40 ms to import, and few pods have gRPC probes.
    from probetui.probers.grpc_probe import probe_grpc

    port, service, is_tls = action.port, action.service, action.uses_tls
    return await probe_grpc(
        host, port, service, time_limit, route, rules, is_tls=is_tls
    )


class ProbeDispatcher:
    """Runs the probes of `RunProbe` effects; implements `ports.Prober`.

    Its only state is which ports speak TLS where a probe did not expect it.

    Difference: a failure without a response is an error, which counts for nothing, if
    this process was unresponsive for a fifth of the time limit: the response may have
    been there, unread. A kubelet that is late fails the probe.

    Args:
        runtime: runs the commands of exec probes.
        clock: measures how long attempts take.
        dial_address: where to connect instead of pod IPs.
        handlers: replaces the real handlers.
        lost_time: reports how long this process was unresponsive, None if unknown.
    """

    def __init__(
        self,
        runtime: CommandRunner,
        clock: Clock,
        dial_address: DialAddress | None = None,
        handlers: ProbeHandlers | None = None,
        lost_time: LagSource | None = None,
    ) -> None:
        self._clock = clock
        self._dial_address = dial_address
        self._lost_time = lost_time
        self._handlers = handlers or ProbeHandlers.for_runtime(runtime)
        self._tls_ports: dict[tuple[ContainerID, str, int], bool] = {}

    async def probe(self, effect: RunProbe) -> ProbeOutcome:
        """Run attempts until one has no error, at most three, without a pause.

        A failure is a result, not an error: it is not retried.

        Difference: a bug in a handler is an error like another, with its event. A
        kubelet recovers from a panic in a handler once, and nobody hears of it.
        """
        if isinstance(effect.probe.handler, HTTPGetAction):
            # Before the clock is read: the import is no part of the first probe.
            import probetui.probers.go.http_transport  # noqa: F401
        started_at = ended_at = self._clock.now()
        attempts: list[Attempt] = []
        for _ in range(MAX_PROBE_RETRIES):
            attempts.append(await self._timed_attempt(effect, ended_at))
            ended_at += attempts[-1].duration
            if attempts[-1].error is None:
                break
        return ProbeOutcome(tuple(attempts), started_at, ended_at - started_at)

    async def _timed_attempt(self, effect: RunProbe, started_at: datetime) -> Attempt:
        lost_before = self._lost(started_at)
        try:
            attempt = await self._attempt(effect)
            if _is_without_answer(attempt):
                lost = self._lost(self._clock.now()) - lost_before
                self._raise_if_late(effect, attempt, lost)
        except (GoError, LocalResourceError) as error:
            attempt = Attempt(ProbeResult.UNKNOWN, error=str(error))
        except Exception as error:  # noqa: BLE001  # see below
            # A bug in a handler must not end the loop that awaits the outcome.
            _log.exception("probe of %s broke", effect.key)
            attempt = Attempt(ProbeResult.UNKNOWN, error=f"prober panicked: {error!r}")
        attempt = replace(
            attempt,
            # Ticks with the same text, which most have, share one object.
            output=intern(truncate_text(attempt.output)),
            error=None if attempt.error is None else truncate_text(attempt.error),
            duration=self._clock.now() - started_at,
            detail=intern(attempt.detail),
        )
        if has_broken_off(attempt) and await self._speaks_tls(effect):
            return replace(attempt, peer=PeerBehavior.TLS)
        return attempt

    async def _speaks_tls(self, effect: RunProbe) -> bool:
        """Return whether a server that has closed the connection speaks TLS.

        Each port of a container is asked once, as the server may write a line for it.
        """
        handler, container = effect.probe.handler, effect.container
        match handler:
            case HTTPGetAction(scheme="HTTP"):
                host = handler.host or effect.pod_ip
                port = resolve_port(handler.port, container, effect.rules)
            case GRPCAction(port=port) if not handler.uses_tls:
                host = effect.pod_ip
            case _:
                return False
        asked = effect.container_id, host, port
        if asked not in self._tls_ports:
            # A server that closes connections is rare.
            from probetui.probers.tls_look import speaks_tls

            if len(self._tls_ports) >= MOST_TLS_PORTS:
                self._tls_ports.clear()
            route = PodRoute(effect.pod_ip, self._dial_address)
            self._tls_ports[asked] = await speaks_tls(host, port, route)
        return self._tls_ports[asked]

    def _lost(self, now: datetime) -> timedelta:
        return timedelta() if self._lost_time is None else self._lost_time.lost(now)

    @staticmethod
    def _raise_if_late(effect: RunProbe, attempt: Attempt, lost: timedelta) -> None:
        """Raise `LocalResourceError` for a failure that our delay may have caused."""
        limit = max(timedelta(seconds=effect.probe.timeout_seconds), SHORTEST_LIMIT)
        if lost * LOST_SHARE < limit:
            return
        raise LocalResourceError(
            f"probetui was busy or stopped for {lost.total_seconds():.1f}s of "
            f"this probe and may have missed the answer ({attempt.output})"
        )

    async def _attempt(self, effect: RunProbe) -> Attempt:
        """Call the handler; raises `GoError` for an invalid port, URL or command."""
        route = PodRoute(effect.pod_ip, self._dial_address)
        attempt = await self._call_handler(effect, route)
        if route.has_forwarded:
            detail = ", ".join(filter(None, (attempt.detail, FORWARDED)))
            return replace(attempt, detail=detail)
        return attempt

    async def _call_handler(self, effect: RunProbe, route: PodRoute) -> Attempt:
        probe, container = effect.probe, effect.container
        timeout = timedelta(seconds=probe.timeout_seconds)
        match probe.handler:
            case ExecAction(command):
                try:
                    command = expand_command(command, container.env)
                except ExpansionTooLargeError as error:
                    raise GoError(f"the command {error}") from None
                return await self._handlers.exec_(
                    effect.container_id, command, probe.timeout_seconds, effect.rules
                )
            case HTTPGetAction() as action:
                port = resolve_port(action.port, container, effect.rules)
                host = action.host or effect.pod_ip
                from probetui.probers.http_request import build_request

                request = build_request(action, host, port, effect.rules)
                return await self._handlers.http_get(request, timeout, route)
            case TCPSocketAction(port=named) as action:
                port = resolve_port(named, container, effect.rules)
                return await self._handlers.tcp_socket(
                    action.host or effect.pod_ip, port, timeout, route
                )
            case GRPCAction() as action:
                return await self._handlers.grpc(
                    effect.pod_ip, action, timeout, route, effect.rules
                )
            case None:
                pod = effect.pod
                who = f"{pod.full_name}({pod.uid}):{container.name}"
                raise GoError(f"missing probe handler for {who}")


def has_broken_off(attempt: Attempt) -> bool:
    """Return whether a server accepted a connection and gave no answer to the probe."""
    is_closed = attempt.peer in {PeerBehavior.CLOSES, PeerBehavior.OTHER}
    return is_closed or (
        attempt.result is ProbeResult.FAILURE
        and attempt.http is None
        and not attempt.followed
        and attempt.output.endswith(BROKEN_OFF)
    )


def _is_without_answer(attempt: Attempt) -> bool:
    """Return whether an attempt failed without any response from the server."""
    return (
        attempt.result is ProbeResult.FAILURE
        and attempt.error is None
        and attempt.http is None
        and attempt.refused_at is None
        and not attempt.detail.startswith(EXITED)
    )
