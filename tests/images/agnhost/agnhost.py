"""A replacement for Kubernetes' test server of the same name, as far as tests use it.

Subcommands, options, ports, paths and responses are those of the original; nothing else
is implemented. It is run as `/agnhost` in its own image, and by its path where
containers are plain processes: then it listens at `POD_IP`. It needs grpcio for
`grpc-health-checking`, and only Python for everything else.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import socket
import socketserver
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote_plus, urlsplit

now = time.monotonic  # noqa: TID251  # a program of its own, not a part of probetui

TERMINATED = 128 + signal.SIGTERM
"""The exit code of a server that was asked to exit."""

HEALTHY_SECONDS = 10
IDLE_SECONDS = 30

SERVING = b"\x08\x01"
"""A HealthCheckResponse: field 1, a varint, is the status."""

NOT_SERVING = b"\x08\x02"


def main() -> None:
    """Run the subcommand that the arguments name."""
    parser = argparse.ArgumentParser("agnhost")
    commands = parser.add_subparsers(required=True)
    _command(commands, "pause", pause)
    _command(commands, "liveness", liveness)
    options = _command(commands, "test-webserver", test_webserver)
    options.add_argument("--port", type=int, default=80)
    options = _command(commands, "netexec", netexec)
    options.add_argument("--http-port", type=int, default=8080)
    options.add_argument("--udp-port", type=int, default=8081, help="not served")
    options.add_argument("--tls-cert-file", default="")
    options.add_argument("--tls-private-key-file", default="")
    options = _command(commands, "grpc-health-checking", grpc_health_checking)
    options.add_argument("--port", type=int, default=5000)
    options.add_argument("--http-port", type=int, default=8080)
    options.add_argument("--delay-unhealthy-sec", type=int, default=-1)
    options.add_argument("--service", default="")
    chosen = parser.parse_args()
    chosen.run(chosen)


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: object,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name)
    parser.set_defaults(run=run)
    return parser


def pause(_options: argparse.Namespace) -> None:
    """Do nothing until a signal arrives."""
    awaited = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    signal.sigwait(awaited)


def liveness(_options: argparse.Namespace) -> None:
    """Be healthy for ten seconds and unhealthy from then on."""
    _end_on_signals()
    serve(8080, liveness_routes())


def test_webserver(options: argparse.Namespace) -> None:
    """Serve the files of the folder it was started in."""
    _end_on_signals()
    serve_files(options.port)


def netexec(options: argparse.Namespace) -> None:
    """Serve information about the machine, and run commands on it."""
    _end_on_signals()
    certificate = (options.tls_cert_file, options.tls_private_key_file)
    serve(
        options.http_port,
        netexec_routes(),
        certificate if options.tls_cert_file else None,
    )


def grpc_health_checking(options: argparse.Namespace) -> None:
    """Serve the gRPC health check, and HTTP paths that switch its result."""
    _end_on_signals()
    service = Health(options.service, options.delay_unhealthy_sec)
    with service.serving(address(), options.port):
        serve(options.http_port, service.routes())


def _end_on_signals() -> None:
    """Let SIGTERM end the program, which it does not by default for process 1."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True, slots=True)
class Request:
    """A request: its query, with every name once, and the client."""

    query: Mapping[str, str]
    client: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of a route."""

    body: str = ""
    status: int = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


Route = Callable[[Request], Answer]
Routes = Mapping[str, Route]
"""Routes by path; `/` gets all requests that no other route handles."""


def liveness_routes() -> Routes:
    """Return the routes of `liveness`; its time starts now."""
    started = now()

    def healthz(_request: Request) -> Answer:
        age = now() - started
        if age > HEALTHY_SECONDS:
            return Answer(f"error: {age}", HTTPStatus.INTERNAL_SERVER_ERROR)
        return Answer("ok")

    def since_start(_request: Request) -> Answer:
        return Answer(f"{now() - started}s")

    def redirect(request: Request) -> Answer:
        location = unquote_plus(request.query.get("loc", ""))
        return Answer(status=HTTPStatus.FOUND, headers={"Location": location})

    return {"/healthz": healthz, "/started": since_start, "/redirect": redirect}


def netexec_routes() -> Routes:
    """Return the routes of `netexec`."""
    return {
        "/": lambda _: Answer(f"NOW: {time.ctime()}"),
        "/clientip": lambda request: Answer(request.client),
        "/echo": _echo,
        "/exit": _exit,
        "/healthz": lambda _: Answer(),
        "/hostname": lambda _: Answer(socket.gethostname()),
        "/redirect": _redirect,
        "/shell": _shell,
    }


def _echo(request: Request) -> Answer:
    status = int(request.query.get("code") or HTTPStatus.OK)
    return Answer(request.query.get("msg", ""), status)


def _exit(request: Request) -> Answer:
    os._exit(int(request.query.get("code") or 0))


def _redirect(request: Request) -> Answer:
    status = int(request.query.get("code") or HTTPStatus.FOUND)
    location = request.query.get("location", "")
    return Answer(status=status, headers={"Location": location})


def _shell(request: Request) -> Answer:
    command = request.query.get("shellCommand") or request.query.get("cmd", "")
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    answer = {}
    if done.stdout:
        answer["output"] = done.stdout.decode(errors="replace")
    if done.returncode:
        answer["error"] = f"exit status {done.returncode}"
    return Answer(json.dumps(answer))


def address() -> str:
    """Return the address to listen on: the pod's if it is set, otherwise all."""
    return os.environ.get("POD_IP", "0.0.0.0")


class Server(socketserver.ThreadingTCPServer):
    """A TCP server without DNS lookups, with optional TLS."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128
    tls: ssl.SSLContext | None = None

    def get_request(self) -> tuple[socket.socket, tuple[str, int]]:
        """Accept a connection; its thread does the TLS handshake."""
        connection, client = super().get_request()
        if self.tls is not None:
            connection = self.tls.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        return connection, client


class Handler(BaseHTTPRequestHandler):
    """Handles requests by routes."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    routes: ClassVar[Routes] = {}

    def do_GET(self) -> None:
        """Handle a request."""
        url = urlsplit(self.path)
        route = self.routes.get(url.path) or self.routes.get("/", _not_found)
        query = dict(reversed(parse_qsl(url.query, keep_blank_values=True)))
        answer = route(Request(query, self.client_address[0]))
        body = answer.body.encode()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815  # the name that the base class looks for


def _not_found(_request: Request) -> Answer:
    return Answer("404 page not found\n", HTTPStatus.NOT_FOUND)


def serve(
    port: int, routes: Routes, certificate: tuple[str, str] | None = None
) -> None:
    """Serve routes until the program ends.

    `certificate` is a pair of files, certificate and key; it enables TLS.
    """
    handler = type("RoutesHandler", (Handler,), {"routes": routes})
    with Server((address(), port), handler) as server:
        if certificate is not None:
            server.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            server.tls.load_cert_chain(*certificate)
        server.serve_forever()


def serve_files(port: int) -> None:
    """Serve the files of the current folder until the program ends."""
    with Server((address(), port), SimpleHTTPRequestHandler) as server:
        server.serve_forever()


class Health:
    """The health of one service, which may become unhealthy after some seconds.

    `delay_unhealthy_sec` below zero means never.
    """

    def __init__(self, service: str, delay_unhealthy_sec: int) -> None:
        name = service.encode()
        # A HealthCheckRequest: field 1, a string, left out where it is empty.
        self._request = b"\x0a" + bytes([len(name)]) + name if name else b""
        self._delay = delay_unhealthy_sec
        self._started = now()
        self._is_forced_bad: bool | None = None
        # Late and by name: it is slow to import, only this needs it, it has no types.
        self._grpc = importlib.import_module("grpc")

    def check(self, request: bytes, context: Any) -> bytes:
        """Handle a health check."""
        if request != self._request:
            context.abort(self._grpc.StatusCode.NOT_FOUND, "unknown service")
        age = now() - self._started
        is_late = 0 <= self._delay <= age
        return NOT_SERVING if self._is_forced_bad or is_late else SERVING

    @contextmanager
    def serving(self, host: str, port: int) -> Iterator[None]:
        """Serve the check in the background."""
        server = self._grpc.server(ThreadPoolExecutor(max_workers=4))
        check = self._grpc.unary_unary_rpc_method_handler(self.check)
        server.add_generic_rpc_handlers(
            (
                self._grpc.method_handlers_generic_handler(
                    "grpc.health.v1.Health", {"Check": check}
                ),
            )
        )
        server.add_insecure_port(f"{host}:{port}")
        server.start()
        try:
            yield
        finally:
            server.stop(grace=None)

    def routes(self) -> Routes:
        """Return the paths that make the service healthy and unhealthy."""

        def make(*, bad: bool) -> Answer:
            self._is_forced_bad = bad
            return Answer(f"{now() - self._started}s")

        def make_serving(_request: Request) -> Answer:
            return make(bad=False)

        def make_not_serving(_request: Request) -> Answer:
            return make(bad=True)

        return {"/make-serving": make_serving, "/make-not-serving": make_not_serving}


if __name__ == "__main__":
    main()
