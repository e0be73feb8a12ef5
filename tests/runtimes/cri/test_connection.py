"""Where a CRI runtime is looked for, and what is said of each place."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import grpc.aio
import pytest

from probetui.drive.clocks import SystemClock
from probetui.errors import RuntimeUnavailableError
from probetui.k8s.runtime import RuntimeCondition
from probetui.runtimes.cri import connection
from probetui.runtimes.cri.client import IMAGE_SERVICE, RUNTIME_SERVICE
from probetui.runtimes.cri.connection import (
    KNOWN_SOCKETS,
    CriEndpoint,
    connect,
    describe_endpoints,
)
from probetui.runtimes.cri.errors import HAS_NO_CRI, diagnose_socket
from probetui.runtimes.cri.runtime import CriOptions
from tests.runtimes.cri.server import CriServer

MISSING = "unix:///nowhere/cri.sock"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a path short enough for sockets in it."""
    with tempfile.TemporaryDirectory(prefix="cri-") as name:
        yield Path(name)


@pytest.fixture(autouse=True)
def crictl_config(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Return where crictl's configuration would be; there is none yet."""
    path = folder / "crictl.yaml"
    monkeypatch.setattr(connection, "CRICTL_CONFIG", path)
    return path


@dataclass
class Place:
    """A socket, and what listens there."""

    path: Path

    @property
    def url(self) -> str:
        return f"unix://{self.path}"

    @contextlib.asynccontextmanager
    async def runtime(self, *lacks: str) -> AsyncIterator[CriServer]:
        """Have a runtime there that lacks some methods or services."""
        server = CriServer(str(self.path), frozenset(lacks))
        await server.start()
        try:
            yield server
        finally:
            await server.stop()


@pytest.fixture
def place(folder: Path) -> Place:
    return Place(folder / "cri.sock")


@pytest.fixture
def options(tmp_path: Path) -> CriOptions:
    return CriOptions(tmp_path)


async def refused(
    options: CriOptions, url: str, **environ: str
) -> RuntimeUnavailableError:
    """Return what is said of an endpoint that is of no use."""
    with pytest.raises(RuntimeUnavailableError) as caught:
        await connect(SystemClock(), options, endpoint=url, environ=environ)
    assert caught.value.exit_status == 3
    assert "\n" not in str(caught.value)
    return caught.value


class TestPlaces:
    """Which endpoints are tried."""

    def test_by_default_the_known_sockets_are_tried_in_order(self) -> None:
        found = connection.list_endpoints(None, {})

        assert [(endpoint.url, endpoint.source) for endpoint in found] == list(
            KNOWN_SOCKETS
        )

    def test_the_option_comes_before_all_else(self, crictl_config: Path) -> None:
        crictl_config.write_text("runtime-endpoint: unix:///config\n")
        environ = {"CONTAINER_RUNTIME_ENDPOINT": "unix:///variable"}

        found = connection.list_endpoints("unix:///option", environ)

        assert found == (CriEndpoint("unix:///option", "option --runtime-endpoint"),)

    def test_the_variable_comes_before_the_configuration(
        self, crictl_config: Path
    ) -> None:
        crictl_config.write_text("runtime-endpoint: unix:///config\n")
        environ = {"CONTAINER_RUNTIME_ENDPOINT": "unix:///variable"}

        (found,) = connection.list_endpoints(None, environ)

        assert str(found) == "unix:///variable (CONTAINER_RUNTIME_ENDPOINT)"

    def test_crictls_configuration_is_read(self, crictl_config: Path) -> None:
        crictl_config.write_text(
            "runtime-endpoint: unix:///config\nimage-endpoint: unix:///images\n"
        )

        (found,) = connection.list_endpoints(None, {})

        assert found == CriEndpoint(
            "unix:///config", str(crictl_config), "unix:///images", str(crictl_config)
        )

    def test_another_configuration_may_be_named(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.yaml"
        path.write_text("runtime-endpoint: unix:///mine\n")

        (found,) = connection.list_endpoints(None, {"CRI_CONFIG_FILE": str(path)})

        assert str(found) == f"unix:///mine ({path})"

    def test_an_empty_configuration_changes_nothing(self, crictl_config: Path) -> None:
        crictl_config.write_text("")

        assert len(connection.list_endpoints(None, {})) == len(KNOWN_SOCKETS)

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            pytest.param("runtime-endpoint: [", "it is not YAML", id="no YAML"),
            pytest.param("just words", "it has no settings", id="no settings"),
            pytest.param("[" * 100_000, "it is not YAML", id="too deep"),
            pytest.param("#" * 1_048_577, "more than 1048576 bytes", id="too long"),
            pytest.param(None, "there is no such file", id="missing"),
        ],
    )
    def test_a_named_configuration_must_be_readable(
        self, tmp_path: Path, text: str | None, reason: str
    ) -> None:
        path = tmp_path / "mine.yaml"
        path.write_text(text or "")
        if text is None:
            path.unlink()

        with pytest.raises(RuntimeUnavailableError, match=reason) as caught:
            connection.list_endpoints(None, {"CRI_CONFIG_FILE": str(path)})

        assert str(path) in str(caught.value)

    @pytest.mark.parametrize(
        ("url", "path"),
        [
            pytest.param("unix:///run/a.sock", "/run/a.sock", id="URL"),
            pytest.param("/run/a.sock", "/run/a.sock", id="path"),
            pytest.param("tcp://host:1", None, id="TCP"),
            pytest.param("a.sock", None, id="relative"),
        ],
    )
    def test_endpoints_are_unix_sockets(self, url: str, path: str | None) -> None:
        assert connection.socket_path(url) == path


class TestRefusals:
    """What is said of a place that is of no use, and what to do."""

    async def test_every_socket_is_listed_with_its_error(
        self, options: CriOptions, monkeypatch: pytest.MonkeyPatch, folder: Path
    ) -> None:
        places = tuple((f"unix://{folder}/{n}.sock", n) for n in ("one", "two"))
        monkeypatch.setattr(connection, "KNOWN_SOCKETS", places)

        with pytest.raises(RuntimeUnavailableError) as caught:
            await connect(SystemClock(), options, environ={})

        assert caught.value.tried == (
            f"unix://{folder}/one.sock (one): no such socket",
            f"unix://{folder}/two.sock (two): no such socket",
        )
        assert all(place in str(caught.value) for place in caught.value.tried)
        assert "start a CRI runtime" in str(caught.value)

    async def test_nobody_listens(self, options: CriOptions, place: Place) -> None:
        # A server of asyncio would remove it, from Python 3.13 on.
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place.path))

        error = await refused(options, place.url)

        assert "nobody listens there" in str(error)

    async def test_another_kind_of_address(self, options: CriOptions) -> None:
        error = await refused(options, "tcp://127.0.0.1:1")

        assert "tcp://127.0.0.1:1 (option --runtime-endpoint): is not a unix" in str(
            error
        )

    @pytest.mark.parametrize(
        ("error", "outcome", "advice"),
        [
            pytest.param(
                PermissionError(errno.EACCES, "Permission denied"),
                "permission denied",
                "run as root",
                id="permission",
            ),
            pytest.param(
                OSError(errno.ENOTSOCK, "Not a socket"),
                "not a socket",
                "check the address",
                id="a file",
            ),
            pytest.param(
                OSError(errno.EIO, "Input/output error"),
                "Input/output error",
                "check the address",
                id="anything else",
            ),
        ],
    )
    def test_messages_of_the_system_about_a_socket(
        self, error: OSError, outcome: str, advice: str
    ) -> None:
        found = diagnose_socket(error)

        assert found.outcome == outcome
        assert advice in found.advice

    async def test_something_that_does_not_speak_grpc(
        self, options: CriOptions, place: Place
    ) -> None:
        async def hang_up(
            _: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        async with await asyncio.start_unix_server(hang_up, place.path):
            error = await refused(options, place.url)

        assert "does not speak the CRI" in str(error)

    async def test_a_daemon_whose_cri_is_switched_off(
        self, options: CriOptions, place: Place
    ) -> None:
        async with place.runtime(RUNTIME_SERVICE, IMAGE_SERVICE):
            error = await refused(options, place.url)

        assert "answers, but has no CRI v1 (runtime.v1)" in str(error)
        assert "disabled_plugins" in str(error)

    async def test_a_runtime_that_is_too_old(
        self, options: CriOptions, place: Place
    ) -> None:
        async def version(_request: bytes, _context: object) -> bytes:
            return b""

        server = grpc.aio.server()
        handler = grpc.unary_unary_rpc_method_handler(version)
        server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(
                    "runtime.v1alpha2.RuntimeService", {"Version": handler}
                ),
            )
        )
        server.add_insecure_port(place.url)
        await server.start()

        error = await refused(options, place.url)
        await server.stop(None)

        assert "speaks the CRI v1alpha2 only, and v1 is needed" in str(error)
        assert "upgrade the runtime" in str(error)

    async def test_a_runtime_that_is_not_ready(
        self, options: CriOptions, place: Place
    ) -> None:
        async with place.runtime() as server:
            server.conditions["RuntimeReady"] = "it starts"
            error = await refused(options, place.url)

        assert "fake is not ready: NotYet: it starts; see its log" in str(error)

    async def test_a_runtime_that_refuses(
        self, options: CriOptions, place: Place
    ) -> None:
        async with place.runtime() as server:
            server.refusing["Version"] = grpc.StatusCode.INTERNAL
            error = await refused(options, place.url)

        assert "Version is refused" in str(error)

    async def test_images_that_are_elsewhere(
        self, options: CriOptions, place: Place
    ) -> None:
        async with place.runtime(IMAGE_SERVICE):
            error = await refused(options, place.url)

        assert "has no image service (runtime.v1.ImageService)" in str(error)
        assert "IMAGE_SERVICE_ENDPOINT" in str(error)

    async def test_an_image_service_missing_at_its_named_socket(
        self, options: CriOptions, place: Place
    ) -> None:
        async with place.runtime(IMAGE_SERVICE):
            error = await refused(options, place.url, IMAGE_SERVICE_ENDPOINT=MISSING)

        assert (
            f"its image service at {MISSING} (IMAGE_SERVICE_ENDPOINT): no such socket"
        ) in str(error)

    def test_advice_is_about_the_runtime_that_is_there(self) -> None:
        tried = [
            connection.CriConnectionAttempt(
                CriEndpoint("unix:///a", "a"), connection.NO_SOCKET
            ),
            connection.CriConnectionAttempt(CriEndpoint("unix:///b", "b"), HAS_NO_CRI),
        ]

        message = str(connection.unavailable_error(tried))

        assert message.endswith(HAS_NO_CRI.advice)


class TestConnections:
    """What answers is used."""

    async def test_a_runtime_that_is_ready_is_used(
        self, options: CriOptions, place: Place
    ) -> None:
        async with place.runtime():
            runtime = await connect(
                SystemClock(), options, endpoint=place.url, environ={}
            )
            version = await runtime.version()
            await runtime.close()

        assert runtime.name == "fake"
        assert version == "fake 0 (CRI v1)"

    async def test_images_may_be_on_a_socket_of_their_own(
        self, options: CriOptions, place: Place, folder: Path
    ) -> None:
        images = Place(folder / "images.sock")
        async with place.runtime(IMAGE_SERVICE), images.runtime(RUNTIME_SERVICE):
            runtime = await connect(
                SystemClock(),
                options,
                endpoint=place.url,
                environ={"IMAGE_SERVICE_ENDPOINT": images.url},
            )
            found = await runtime.image_status("busybox:1.36")
            await runtime.close()

        assert found is not None

    async def test_endpoints_are_reported_up_to_the_first_usable_one(
        self, monkeypatch: pytest.MonkeyPatch, place: Place
    ) -> None:
        known = ((MISSING, "one"), (place.url, "two"), (MISSING, "three"))
        monkeypatch.setattr(connection, "KNOWN_SOCKETS", known)

        async with place.runtime():
            found = await describe_endpoints(environ={})

        assert found == (
            (f"{MISSING} (one)", "no such socket"),
            (f"{place.url} (two)", "answers, fake 0"),
        )

    async def test_a_runtime_without_a_ready_network_is_used_with_a_note(
        self, options: CriOptions, place: Place
    ) -> None:
        async with place.runtime() as server:
            server.conditions["NetworkReady"] = "cni plugin not initialized"
            ((_, outcome),) = await describe_endpoints(endpoint=place.url, environ={})
            runtime = await connect(
                SystemClock(), options, endpoint=place.url, environ={}
            )
            conditions = await runtime.conditions()
            await runtime.close()

        assert outcome.startswith(
            "answers, fake 0; its network is not ready: NotYet: cni plugin not "
            "initialized; "
        )
        assert "CNI configuration" in outcome
        assert conditions == (
            RuntimeCondition("RuntimeReady", status=True, reason="NotYet"),
            RuntimeCondition(
                "NetworkReady",
                status=False,
                reason="NotYet",
                message="cni plugin not initialized",
            ),
        )

    async def test_an_unreadable_configuration_is_reported(self) -> None:
        ((name, outcome),) = await describe_endpoints(
            environ={"CRI_CONFIG_FILE": "/nowhere/x"}
        )

        assert name == "cri"
        assert outcome.endswith("/nowhere/x cannot be read: there is no such file")
