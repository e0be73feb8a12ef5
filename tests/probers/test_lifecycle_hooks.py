"""Lifecycle hooks, with fake commands and on real sockets."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import ContainerPort
from probetui.k8s.probe import (
    ExecAction,
    HTTPGetAction,
    HTTPHeader,
    LifecycleHandler,
    SleepAction,
    TCPSocketAction,
)
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import RunHook
from probetui.kubelet.outcome import PeerBehavior
from probetui.ports import ExecResult, HookResult
from probetui.probers.lifecycle_hooks import LifecycleHookRunner
from tests.builders import a_container, a_pod
from tests.probers.peers import Peer, TLSPeer, server_context
from tests.probers.scripted_server import Listeners, listening
from tests.probers.servers import LOOPBACK, refusing, serving

CONTAINER_ID = ContainerID("docker://abc")
DONE = HookResult("HTTP 204")
PLAIN_ANSWER = "http: server gave HTTP response to HTTPS client"
NO_CONTENT = "HTTP/1.1 204 No Content\r\n\r\n"


class Runner:
    """Answers every command with the same result or error, and records the commands."""

    def __init__(self, answer: ExecResult | Exception) -> None:
        self._answer = answer
        self.calls: list[tuple[ContainerID, tuple[str, ...], int]] = []

    async def exec_sync(
        self, container_id: ContainerID, command: tuple[str, ...], timeout_seconds: int
    ) -> ExecResult:
        self.calls.append((container_id, command, timeout_seconds))
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def a_hook(
    handler: LifecycleHandler, *ports: ContainerPort, pod_ip: str = LOOPBACK
) -> RunHook:
    container = a_container(ports=ports)
    return RunHook(a_pod(container), container, CONTAINER_ID, handler, pod_ip)


def a_get(port: int | str, **fields: Any) -> HTTPGetAction:
    return HTTPGetAction(port, "/hook", **fields)


async def run(
    hook: RunHook, answer: ExecResult | Exception | None = None
) -> HookResult:
    return await LifecycleHookRunner(
        Runner(answer or AssertionError("no command"))
    ).run(hook)


async def get(
    text: str, *ports: ContainerPort, port: int | str = 0, **fields: Any
) -> tuple[HookResult, Listeners]:
    """Run an httpGet hook on a server that gives this answer; 0 is its port."""
    spec = {"kind": "script", "routes": {"*": [{"send": text}]}}
    async with listening({"A": spec, "B": {"kind": "refused"}}) as listeners:
        action = a_get(port or listeners.ports["A"], **fields)
        return await run(a_hook(action, *ports)), listeners


# -- exec


async def test_a_command_that_exits_with_zero_is_a_success() -> None:
    result = await run(a_hook(ExecAction(("true",))), ExecResult(0, b"out", b"err"))

    assert result == HookResult("outerr")


async def test_a_command_is_run_as_it_is_and_without_a_limit() -> None:
    runner = Runner(ExecResult(0, b"", b""))
    command = ("echo", "$(HOSTNAME)", "$$")

    await LifecycleHookRunner(runner).run(a_hook(ExecAction(command)))

    assert runner.calls == [(CONTAINER_ID, command, 0)]


async def test_a_failed_command_has_its_exit_code_and_stderr() -> None:
    command = ExecAction(("/bin/sh", "-c", "exit 7"))

    result = await run(a_hook(command), ExecResult(7, b"out\n", b"bad\n"))

    assert result == HookResult(
        "out\nbad\n", "command '/bin/sh -c exit 7' exited with 7: bad\n"
    )


async def test_the_output_of_a_command_is_truncated() -> None:
    result = await run(a_hook(ExecAction(("x",))), ExecResult(7, b"", b"a" * 65536))

    cut = "a" * 16384 + " (cut: 49152 characters)"
    assert result == HookResult(cut, f"command 'x' exited with 7: {cut}")


async def test_a_command_that_cannot_be_run_fails_in_the_runtime_s_words() -> None:
    refused = ContainerRuntimeError("no such executable")

    result = await run(a_hook(ExecAction(("x",))), refused)

    assert result == HookResult(error="no such executable")


async def test_bytes_that_are_no_text_are_kept() -> None:
    result = await run(a_hook(ExecAction(("x",))), ExecResult(1, b"\xfe", b"\xff"))

    assert result == HookResult("\udcfe\udcff", "command 'x' exited with 1: \udcff")


# -- httpGet


@pytest.mark.parametrize("status", [204, 302, 404, 500])
async def test_any_answer_to_a_request_is_a_success(status: int) -> None:
    body = "" if status == 204 else "hi"

    result, _ = await get(
        f"HTTP/1.1 {status} S\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )

    answer = f"HTTP {status}: {body}" if body else f"HTTP {status}"
    assert result == HookResult(answer)


async def test_a_request_names_the_kubelet_s_lifecycle_and_has_the_hook_s_headers() -> (
    None
):
    header = HTTPHeader("x-reason", "stopping")

    _, listeners = await get(NO_CONTENT, http_headers=(header,))

    (request,) = listeners.requests
    assert request["requestLine"] == "GET /hook HTTP/1.1"
    assert {"User-Agent: kube-lifecycle/1.32", "X-Reason: stopping"} < {
        *request["headers"]
    }


async def test_the_agent_can_be_another_one() -> None:
    agent = HTTPHeader("User-Agent", "mine")

    _, listeners = await get(NO_CONTENT, http_headers=(agent,))

    (request,) = listeners.requests
    assert "User-Agent: mine" in request["headers"]


async def test_a_host_of_its_own_wins_over_the_pod() -> None:
    spec = {"kind": "script", "routes": {"*": [{"send": NO_CONTENT}]}}
    async with listening({"A": spec}) as listeners:
        action = a_get(listeners.ports["A"], host=LOOPBACK)

        result = await run(a_hook(action, pod_ip="192.0.2.1"))

    assert result == DONE
    assert len(listeners.requests) == 1


async def test_a_pod_without_an_ip_is_not_dialled() -> None:
    """Quirk: so no httpGet hook of a pod in the host's network can succeed."""
    spec = {"kind": "script", "routes": {"*": [{"send": NO_CONTENT}]}}
    async with listening({"A": spec}) as listeners:
        result = await run(a_hook(a_get(listeners.ports["A"]), pod_ip=""))

    assert result == HookResult(error="failed to find networking container")
    assert listeners.requests == []


async def test_a_connection_that_is_refused_fails_in_go_s_words() -> None:
    with refusing() as port:
        result = await run(a_hook(a_get(port)))

    assert result == HookResult(
        error=f'Get "http://127.0.0.1:{port}/hook": '
        f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    )


async def test_a_header_that_cannot_be_sent_fails_in_go_s_words() -> None:
    bad = HTTPHeader("a b", "c")

    result, listeners = await get(NO_CONTENT, http_headers=(bad,))

    assert result.error is not None
    assert listeners.unfill(result.error) == (
        'Get "http://127.0.0.1:{PORT:A}/hook": '
        'net/http: invalid header field name "a b"'
    )


async def test_a_port_may_be_the_name_of_one_of_the_container() -> None:
    spec = {"kind": "script", "routes": {"*": [{"send": NO_CONTENT}]}}
    async with listening({"A": spec}) as listeners:
        named = ContainerPort(listeners.ports["A"], "admin")

        result = await run(a_hook(a_get("admin"), named))

    assert result == DONE
    assert len(listeners.requests) == 1


async def test_a_port_that_nobody_has_fails_in_go_s_words() -> None:
    result, _ = await get(NO_CONTENT, ContainerPort(80, "admin"), port="nobody")

    assert result.error == 'strconv.Atoi: parsing "nobody": invalid syntax'


@pytest.mark.parametrize(
    ("length", "waits"),
    [
        pytest.param(10240, True, id="short"),
        pytest.param(10241, False, id="long"),
    ],
)
async def test_a_short_body_is_waited_for(length: int, *, waits: bool) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"
    finish = asyncio.Event()

    async def answer(peer: Peer) -> None:
        await peer.receive()
        await peer.send(head.encode())
        await finish.wait()
        await peer.send(b"x" * length)

    async with serving(answer) as port:
        hook = asyncio.ensure_future(run(a_hook(a_get(port))))
        with suppress(TimeoutError):
            async with asyncio.timeout(0.1):
                await asyncio.shield(hook)
        was_waiting = not hook.done()
        finish.set()
        result = await hook

    assert was_waiting is waits
    body = f": {'x' * length}" if waits else ""
    assert result == HookResult(f"HTTP 200{body}")


# -- https


class PlainServer:
    """Answers in plain HTTP, to TLS as well; the TLS clients' bytes are not kept."""

    def __init__(self, *, answers_plain: bool = True) -> None:
        self._answers_plain = answers_plain
        self.requests: list[str] = []
        self.tls_clients = 0

    async def __call__(self, peer: Peer) -> None:
        received = await peer.receive()
        if received.startswith(b"\x16"):
            self.tls_clients += 1
            await peer.send(b"HTTP/1.0 400 Bad Request\r\n\r\nnot TLS\n")
            return
        self.requests.append(received.decode())
        if self._answers_plain:
            await peer.send(NO_CONTENT.encode())


async def test_a_request_to_a_server_without_tls_is_repeated_without_credentials() -> (
    None
):
    """Quirk: https means http where nobody speaks it."""
    server = PlainServer()
    headers = (HTTPHeader("Authorization", "Bearer x"), HTTPHeader("X-A", "1"))
    async with serving(server) as port:
        action = a_get(port, scheme="HTTPS", http_headers=headers)
        result = await run(a_hook(action))

    (request,) = server.requests
    assert result == HookResult("HTTP 204", fallback_host=f"{LOOPBACK}:{port}")
    assert server.tls_clients == 1
    assert request.startswith("GET /hook HTTP/1.1\r\n")
    assert "X-A: 1" in request
    assert "kube-lifecycle" in request
    assert "Authorization" not in request


async def test_when_the_second_request_fails_too_the_first_error_counts() -> None:
    server = PlainServer(answers_plain=False)
    async with serving(server) as port:
        result = await run(a_hook(a_get(port, scheme="HTTPS")))

    url = f"https://127.0.0.1:{port}/hook"
    assert len(server.requests) == 1
    assert result == HookResult(error=f'Get "{url}": {PLAIN_ANSWER}')


async def test_a_server_with_tls_needs_no_valid_certificate() -> None:
    spec = {
        "kind": "script",
        "tls": {"cert": "expired"},
        "routes": {"*": [{"send": NO_CONTENT}]},
    }
    async with listening({"A": spec}) as listeners:
        action = a_get(listeners.ports["A"], scheme="HTTPS")

        result = await run(a_hook(action))

    assert result == DONE
    assert len(listeners.requests) == 1


async def test_other_troubles_with_tls_are_errors() -> None:
    async def hang_up(peer: Peer) -> None:
        await peer.receive()

    async with serving(hang_up) as port:
        result = await run(a_hook(a_get(port, scheme="HTTPS")))

    assert result == HookResult(error=f'Get "https://127.0.0.1:{port}/hook": EOF')


async def test_a_port_that_closes_a_plain_request_is_asked_for_tls() -> None:
    async def speak_tls(peer: Peer) -> None:
        with suppress(OSError):  # the hook has not come for TLS
            await TLSPeer(peer, server_context()).handshake()

    async with serving(speak_tls) as port:
        result = await run(a_hook(a_get(port)))

    error = f'Get "http://127.0.0.1:{port}/hook": EOF'
    assert result == HookResult(error=error, peer=PeerBehavior.TLS)


# -- neither


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(SleepAction(1), id="sleep"),
        pytest.param(TCPSocketAction(80), id="tcpSocket"),
    ],
)
async def test_what_the_engine_does_itself_is_not_run_here(
    handler: LifecycleHandler,
) -> None:
    result = await run(a_hook(handler))

    assert result.error is not None
    assert result.error.startswith("invalid handler")
