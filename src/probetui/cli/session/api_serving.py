"""`probetui serve`: a session as a read-only Kubernetes API on this machine."""

from __future__ import annotations

import base64
import json
import os
import secrets
import shlex
from collections.abc import Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from probetui.cli.folders import make_private_directory, state_folder
from probetui.cli.options import ServeOptions
from probetui.cli.session.parts import SessionPart, SessionScope
from probetui.cluster.api_server.api import ADMIN, ApiServer
from probetui.cluster.api_server.object_feed import ObjectFeed
from probetui.cluster.api_server.pod_connections import log_connection
from probetui.cluster.local_api.session_connections import SessionLogs, node_connection
from probetui.cluster.local_api.session_objects import SessionObjects
from probetui.cluster.node.machine import node_facts
from probetui.cluster.serving.certificate import self_signed
from probetui.cluster.serving.http_server import serve_http
from probetui.drive.metrics import ProbeMetrics
from probetui.errors import UsageError
from probetui.headless.follow import Sink
from probetui.kubelet.nodestatus.node_status import LEASE_RENEW_PERIOD
from probetui.output_files import OutputKind, replace_output
from probetui.untrusted_files import DirectoryRoot, read_regular

HOST = "127.0.0.1"
READ_ONLY = (
    "this is a session of probetui, which is read-only here: its pods come from "
    "manifests, and its own screen or commands act on them"
)
_OWN_MODE = 0o600
_TOKEN_BYTES = 32
_NAME = "probetui"
_LONGEST = 1 << 20
_EXTENSIONS = [{"name": "probetui/serve", "extension": {}}]
"""What marks a kubeconfig as one of ours."""


class ServedApi(SessionPart):
    """Serves a session as a Kubernetes API.

    Args:
        options: where, and to whom.
        scope: the session.

    Raises on entering:
        UsageError: the port cannot be used, or the kubeconfig not be written.
    """

    def __init__(self, options: ServeOptions, scope: SessionScope) -> None:
        self._options = options
        self._scope = scope
        self._stack = AsyncExitStack()
        self._sinks: list[Sink] = []

    async def __aenter__(self) -> Self:
        """Start to serve, and print where."""
        scope, options, clock = self._scope, self._options, self._scope.clock
        rules, pods, runtime = scope.plan.rules, scope.pod_registry, scope.runtime
        version = await runtime.version()
        facts = node_facts(
            scope.node.name, HOST, scope.node, (runtime.name, version), rules, 0
        )
        feed = ObjectFeed(clock.now)
        self._objects = SessionObjects(feed, scope.session, facts, rules, scope.mask)
        metrics = ProbeMetrics(rules)
        registry = CollectorRegistry()
        registry.register(metrics)
        pods.subscribe(self._objects.register_pods)
        pods.subscribe(metrics.register_pods)
        self._objects.consume(())
        self._objects.beat()
        self._sinks = [self._objects, metrics]
        token = "" if options.no_token else secrets.token_urlsafe(_TOKEN_BYTES)
        api = ApiServer(
            feed,
            version=rules.full_version,
            tokens={token: ADMIN} if token else None,
            connect={
                **log_connection(SessionLogs(runtime, scope.mask), clock.now),
                **node_connection(
                    feed, lambda: generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4
                ),
            },
            read_only=READ_ONLY,
        )
        certificate = self_signed([HOST, "localhost"], clock.now())
        async with AsyncExitStack() as stack:
            server = serve_http(
                api.handle,
                HOST,
                options.port,
                tls=certificate.tls_context(),
                now=clock.now,
            )
            try:
                address = await stack.enter_async_context(server)
            except OSError as error:
                raise UsageError(f"--port {options.port}: {error.strerror}") from error
            api.allowed_hosts = frozenset(
                {f"{HOST}:{address.port}", f"localhost:{address.port}"}
            )
            namespaces = {pod.namespace for pod in pods.pods}
            text = kubeconfig(address.url, certificate.certificate, token, namespaces)
            path = stack.enter_context(written(options.write_kubeconfig, text))
            self._stack = stack.pop_all()
        scope.plan.notes.note(
            f"read-only Kubernetes API at {address.url}; "
            f"in another terminal: export KUBECONFIG={shlex.quote(str(path))}"
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop serving, and remove the kubeconfig."""
        await self._stack.aclose()

    def sinks(self) -> Sequence[Sink]:
        """Return what makes objects and metrics of the journal."""
        return self._sinks

    def tasks(self) -> Iterable[Coroutine[Any, Any, None]]:
        """Yield what renews the node's lease."""
        yield self._renew_lease()

    async def _renew_lease(self) -> None:
        at = self._scope.clock.now()
        while True:
            at += LEASE_RENEW_PERIOD
            await self._scope.clock.sleep_until(at)
            self._objects.beat()


@contextmanager
def written(wanted: Path | None, text: str) -> Iterator[Path]:
    """Write a kubeconfig that only its user may read, and remove it at the end.

    Raises:
        UsageError: it cannot be written, or something else is there.
    """
    path = wanted or state_folder() / "serve" / f"{os.getpid()}.yaml"
    try:
        if wanted is None:
            make_private_directory(path.parent)
        replace_output(path, _KUBECONFIG_KIND, text.encode(), _OWN_MODE)
    except OSError as error:
        option = "" if wanted is None else "--write-kubeconfig "
        raise UsageError(f"{option}{path}: {error.strerror or error}") from error
    try:
        yield path
    finally:
        with suppress(OSError):
            if read_regular(path, _LONGEST) == text.encode():
                target = Path(os.path.realpath(path))
                DirectoryRoot(target.parent).unlink(target.name, missing_ok=True)


def _is_ours(content: bytes) -> bool:
    """Return whether a file is a kubeconfig that `probetui serve` has written."""
    try:
        config = json.loads(content)
    except ValueError:
        return False
    return isinstance(config, dict) and config.get("extensions") == _EXTENSIONS


_KUBECONFIG_KIND = OutputKind("a kubeconfig of `probetui serve`", _is_ours)


def kubeconfig(
    server: str, authority: bytes, token: str, namespaces: Collection[str]
) -> str:
    """Return a kubeconfig for a server, which is JSON and so YAML."""
    context = {"cluster": _NAME, "user": _NAME}
    if len(namespaces) == 1:
        (context["namespace"],) = namespaces
    cluster = {
        "server": server,
        "certificate-authority-data": base64.b64encode(authority).decode(),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "users": [{"name": _NAME, "user": {"token": token} if token else {}}],
        "contexts": [{"name": _NAME, "context": context}],
        "current-context": _NAME,
        "extensions": _EXTENSIONS,
    }
    return json.dumps(config, indent=2) + "\n"
