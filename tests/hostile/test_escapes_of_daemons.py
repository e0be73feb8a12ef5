"""Text in responses of daemons is never obeyed: names, labels, images, errors, logs."""

from __future__ import annotations

import asyncio
import socketserver
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from json import dumps
from pathlib import Path

import grpc
import pytest
import yaml

from probetui.cli.commands import listing
from probetui.cli.images import commands as image_commands
from probetui.cli.main import run
from probetui.cli.printing import Notes
from probetui.cli.session.attachment import AttachOptions, attach
from probetui.errors import ContainerRuntimeError, ProbetuiError
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.ports import Runtime
from tests.builders import a_container, a_pod
from tests.cli.images.fake_store import FakeImageStore
from tests.fakes import FakeClock, FakeEngine, FakeRuntime
from tests.hostile.payloads import EVERYTHING, LONE, MEGABYTE, PAYLOADS, obeyed
from tests.runtimes.fake_unmanaged import FakeUnmanaged, RuntimeOfOthers

pytestmark = pytest.mark.usefixtures("_own_home")

Captured = pytest.CaptureFixture[str]

TEXT = EVERYTHING + "".join(LONE.values())
TEXTS = {**PAYLOADS, **LONE, "everything": TEXT, "a megabyte": MEGABYTE["a megabyte"]}
OUTPUTS = ("wide", "json", "yaml", "name")

every_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())


class Hostile(FakeRuntime):
    """A runtime that returns one text in every field."""

    def __init__(self, text: str, *, refuses: bool = False) -> None:
        super().__init__(FakeEngine(FakeClock()))
        self.name = text[:1000]
        self._text = text
        self._refuses = refuses

    async def relist(self) -> tuple[RuntimePodStatus, ...]:
        if self._refuses:
            raise ContainerRuntimeError(self._text)
        text = self._text
        status = RuntimeContainerStatus(
            ContainerID(f"docker://{text}"),
            text,
            RuntimeState.EXITED,
            reason=text,
            message=text,
            image=text,
            image_ref=text,
        )
        sandbox = SandboxStatus(text, is_ready=True, ip=text)
        return (RuntimePodStatus(text, text, text, (sandbox,), (status,), (text,)),)

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        raise ContainerRuntimeError(f"{self._text} {sandbox_id}")

    async def remove_container(self, container_id: ContainerID) -> None:
        raise ContainerRuntimeError(f"{self._text} {container_id}")


def serve(monkeypatch: pytest.MonkeyPatch, runtime: Runtime) -> None:
    """Let the program find this runtime only."""

    async def found(*_: object) -> tuple[list[Runtime], ProbetuiError | None]:
        return [runtime], None

    monkeypatch.setattr(listing, "open_runtimes", found)


def printed(capsys: Captured, *args: str) -> str:
    run(args)
    captured = capsys.readouterr()
    return str(captured.out + captured.err)


@every_text
def test_names_and_labels_of_pods_are_listed_and_not_obeyed(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    serve(monkeypatch, Hostile(text))

    output_texts = [printed(capsys, "ls")]
    output_texts += [printed(capsys, "ls", "-o", output) for output in OUTPUTS]

    assert [obeyed(text) for text in output_texts] == [[]] * len(output_texts)
    assert all(output_texts)


@every_text
def test_pods_with_hostile_names_are_removed_and_not_obeyed(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    serve(monkeypatch, Hostile(text))

    output_text = printed(capsys, "down", "--all")

    assert output_text
    assert obeyed(output_text) == []


@every_text
def test_the_error_of_a_daemon_is_not_obeyed(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    serve(monkeypatch, Hostile(text, refuses=True))

    output_text = printed(capsys, "ls") + printed(capsys, "down", "--all")

    assert "probetui: error: " in output_text
    assert obeyed(output_text) == []


@every_text
def test_names_of_images_are_not_obeyed(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    store = FakeImageStore(FakeClock())
    store.bring(text)

    async def found(*_: object) -> Runtime:
        return store

    monkeypatch.setattr(image_commands, "open_runtime", found)

    output_texts = [printed(capsys, "images", "--all")]
    output_texts += [printed(capsys, "images", "-o", output) for output in OUTPUTS]
    output_texts.append(printed(capsys, "images", "gc", "--all"))

    assert [obeyed(text) for text in output_texts] == [[]] * len(output_texts)


@every_text
def test_unmanaged_containers_are_attached_to_and_not_obeyed(
    text: str, capsys: Captured
) -> None:
    unmanaged = FakeUnmanaged("web", text)
    unmanaged.run(f"{text}2", ip=text, image=text)
    pod = a_pod(a_container("web", image="nginx:1"), name="shop")

    asyncio.run(
        attach(
            RuntimeOfOthers(unmanaged),
            [pod],
            AttachOptions(),
            FakeClock(),
            Notes(quiet=False),
        )
    )

    captured = capsys.readouterr()
    assert captured.err
    assert obeyed(captured.out + captured.err) == []


class _Daemon(BaseHTTPRequestHandler):
    """A Docker API with a version; every other request is an error."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.endswith("/_ping"):
            self._answer(200, {})
        elif path.endswith("/version"):
            self._answer(200, {"ApiVersion": "1.44", "Version": TEXT, "Os": TEXT})
        else:
            self._answer(500, {"message": TEXT})

    do_POST = do_DELETE = do_HEAD = do_GET  # noqa: N815  # the framework's

    def _answer(self, status: int, body: object) -> None:
        data = dumps(body).encode()
        self.send_response(status, "forged \x1b[2J")
        self.send_header("Api-Version", "1.44")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@pytest.fixture
def docker(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "d.sock"
    with _Server(str(path), _Daemon) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"unix://{path}"
        server.shutdown()


class _Refuses(grpc.GenericRpcHandler):  # type: ignore[misc]  # it has no types
    """Answers every call with an error that contains the text."""

    def service(self, _details: object) -> grpc.RpcMethodHandler:
        def refuse(_request: object, context: grpc.ServicerContext) -> bytes:
            context.abort(grpc.StatusCode.INTERNAL, EVERYTHING)
            return b""

        return grpc.unary_unary_rpc_method_handler(refuse)


@pytest.fixture
def cri(tmp_path: Path) -> Iterator[str]:
    endpoint = f"unix://{tmp_path / 'c.sock'}"
    server = grpc.server(ThreadPoolExecutor(4), handlers=(_Refuses(),))
    server.add_insecure_port(endpoint)
    server.start()
    yield endpoint
    server.stop(0).wait()


@pytest.fixture
def pod(tmp_path: Path) -> str:
    path = tmp_path / "pod.yaml"
    container = {
        "name": "app",
        "image": "busybox",
        "livenessProbe": {"exec": {"command": ["ls"]}},
    }
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "escape-daemon"},
                "spec": {"containers": [container]},
            }
        )
    )
    return str(path)


@pytest.mark.parametrize(
    "args",
    [
        ("ls",),
        ("down", "--all"),
        ("images",),
        ("info",),
        ("run", "--plain", "--timeout", "3s", "-f", "POD"),
        ("attach", "--no-wait", "--plain", "-f", "POD"),
        ("probe", "-f", "POD"),
    ],
    ids=lambda args: args[0],
)
def test_a_daemon_behind_dockers_socket_is_not_obeyed(
    args: tuple[str, ...], docker: str, pod: str, capfd: Captured
) -> None:
    words = [pod if word == "POD" else word for word in args]

    output_text = printed(capfd, *words, "--host", docker)

    assert output_text
    assert obeyed(output_text) == []


@pytest.mark.parametrize(
    "args",
    [("ls",), ("info",), ("run", "--plain", "--timeout", "3s", "-f", "POD")],
    ids=lambda args: args[0],
)
def test_a_daemon_behind_the_socket_of_a_cri_is_not_obeyed(
    args: tuple[str, ...], cri: str, pod: str, capfd: Captured
) -> None:
    words = [pod if word == "POD" else word for word in args]
    kind = () if args[0] == "info" else ("--runtime", "cri")

    output_text = printed(capfd, *words, *kind, "--runtime-endpoint", cri)

    assert output_text
    assert obeyed(output_text) == []
