"""Finding a daemon, and saying why there is none."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import docker.errors
import pytest
import requests
import urllib3.exceptions

from probetui.drive.clocks import SystemClock
from probetui.errors import RuntimeUnavailableError
from probetui.runtimes.docker.api import OLDEST_API_VERSION
from probetui.runtimes.docker.connection import (
    DEFAULT_SOCKET,
    DockerEndpoint,
    connect,
    describe_endpoints,
    list_endpoints,
    try_endpoints,
    unavailable_error,
)
from probetui.runtimes.docker.errors import (
    CHECK_TLS,
    JOIN_GROUP,
    START_DOCKER,
    DockerStatusError,
    diagnose,
    to_runtime_error,
)
from probetui.runtimes.docker.runtime import DockerOptions
from probetui.untrusted_files import SETTINGS_BYTES

OPTIONS = DockerOptions(Path("/nowhere"))
DEAD = "unix:///nowhere/docker.sock"


def caused(outer: Exception, *causes: Exception) -> Exception:
    """Return an error with a chain of causes."""
    error = outer
    for cause in causes:
        error.__cause__ = cause
        error = cause
    return outer


def refused(status: int, words: str = "words of the daemon") -> docker.errors.APIError:
    """Return the SDK's error for an answer with an HTTP error status."""
    response = requests.Response()
    response.status_code = status
    return docker.errors.APIError("API", response=response, explanation=words)


def as_requests_wraps(error: OSError) -> Exception:
    """Return an error of the operating system as the SDK hands it on."""
    below = urllib3.exceptions.ProtocolError("Connection aborted.", error)
    return caused(docker.errors.DockerException("no"), requests.ConnectionError(below))


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder of Docker's configuration."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


@pytest.fixture
def add_context(config: Path) -> Callable[[str, str], None]:
    def add(name: str, host: str) -> None:
        folder = config / "contexts/meta" / hashlib.sha256(name.encode()).hexdigest()
        folder.mkdir(parents=True)
        endpoint = {"Host": host, "SkipTLSVerify": False}
        meta = {"Name": name, "Metadata": {}, "Endpoints": {"docker": endpoint}}
        (folder / "meta.json").write_text(json.dumps(meta))

    return add


class TestWhere:
    """Where is looked, in which order."""

    @pytest.mark.parametrize(
        ("host", "context", "environ", "expected"),
        [
            pytest.param(
                "tcp://a:1",
                "there",
                {"DOCKER_HOST": "tcp://b:1", "DOCKER_CONTEXT": "there"},
                DockerEndpoint("tcp://a:1", "option --host"),
                id="option host",
            ),
            pytest.param(
                None,
                "there",
                {"DOCKER_HOST": "tcp://b:1"},
                DockerEndpoint("unix:///there.sock", "option --docker-context there"),
                id="option context",
            ),
            pytest.param(
                None,
                None,
                {"DOCKER_HOST": "tcp://b:1", "DOCKER_CONTEXT": "there"},
                DockerEndpoint("tcp://b:1", "DOCKER_HOST"),
                id="DOCKER_HOST",
            ),
            pytest.param(
                None,
                None,
                {"DOCKER_CONTEXT": "there"},
                DockerEndpoint("unix:///there.sock", "DOCKER_CONTEXT there"),
                id="DOCKER_CONTEXT",
            ),
        ],
    )
    def test_what_somebody_named_is_the_only_place(
        self,
        add_context: Callable[[str, str], None],
        host: str | None,
        context: str | None,
        environ: dict[str, str],
        expected: DockerEndpoint,
    ) -> None:
        add_context("there", "unix:///there.sock")

        assert list_endpoints(host, context, environ) == (expected,)

    def test_the_current_context_counts_when_nothing_is_named(
        self, config: Path, add_context: Callable[[str, str], None]
    ) -> None:
        add_context("mine", "unix:///mine.sock")
        (config / "config.json").write_text('{"currentContext": "mine"}')

        (found,) = list_endpoints(None, None, {})

        assert found == DockerEndpoint("unix:///mine.sock", "current context mine")

    def test_otherwise_the_default_socket_comes_first_and_known_ones_follow(
        self, config: Path, tmp_path: Path
    ) -> None:
        run, home = tmp_path / "run", tmp_path / "home"
        for path in (run / "docker.sock", home / ".docker/run/docker.sock"):
            path.parent.mkdir(parents=True)
            path.touch()

        found = list_endpoints(
            None, None, {"XDG_RUNTIME_DIR": str(run), "HOME": str(home)}
        )

        assert [str(endpoint) for endpoint in found] == [
            f"{DEFAULT_SOCKET} (default)",
            f"unix://{run}/docker.sock (rootless)",
            f"unix://{home}/.docker/run/docker.sock (Docker Desktop)",
        ]

    def test_a_context_that_does_not_exist_is_an_error_that_names_the_others(
        self, add_context: Callable[[str, str], None]
    ) -> None:
        add_context("there", "unix:///there.sock")

        with pytest.raises(RuntimeUnavailableError, match=r'"mine".*default, there'):
            list_endpoints(None, "mine", {})

    def test_a_current_context_that_does_not_exist_is_an_error_too(
        self, config: Path
    ) -> None:
        (config / "config.json").write_text('{"currentContext": "gone"}')

        with pytest.raises(RuntimeUnavailableError, match="gone"):
            list_endpoints(None, None, {})

    def test_a_broken_context_is_an_error(
        self, config: Path, add_context: Callable[[str, str], None]
    ) -> None:
        add_context("there", "unix:///there.sock")
        (meta,) = config.glob("contexts/meta/*/meta.json")
        meta.write_text("{")

        with pytest.raises(RuntimeUnavailableError, match="settings cannot be read"):
            list_endpoints(None, "there", {})

    @pytest.mark.parametrize("kind", ["large", "FIFO"])
    @pytest.mark.parametrize("name", ["config.json", "meta.json"])
    @pytest.mark.parametrize(
        ("host", "context"), [(None, "there"), (None, "gone"), ("tcp://a:1", None)]
    )
    def test_settings_that_cannot_be_read_whole_are_an_error(
        self,
        config: Path,
        add_context: Callable[[str, str], None],
        name: str,
        kind: str,
        host: str | None,
        context: str | None,
    ) -> None:
        add_context("there", "unix:///there.sock")
        (path,) = config.rglob(name)
        path.unlink()
        if kind == "large":
            path.touch()
            os.truncate(path, SETTINGS_BYTES + 1)  # noqa: TID251  # of this test
        else:
            os.mkfifo(path)
        if host is not None and name == "meta.json":
            assert list_endpoints(host, context, {}), "it is not asked for"
            return

        with pytest.raises(RuntimeUnavailableError, match=name):
            list_endpoints(host, context, {})

    def test_missing_certificates_are_an_error(self, tmp_path: Path) -> None:
        environ = {
            "DOCKER_HOST": "tcp://a:1",
            "DOCKER_TLS_VERIFY": "1",
            "DOCKER_CERT_PATH": str(tmp_path),
        }

        with pytest.raises(RuntimeUnavailableError, match="TLS"):
            list_endpoints(None, None, environ)


@contextmanager
def answering(
    *, status: int = 200, info_status: int = 200, **answers: Any
) -> Iterator[str]:
    """Have a server answer to everything with one JSON document."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(answers).encode()
            self.send_response(info_status if self.path.endswith("/info") else status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def outcome(url: str) -> str:
    """Return what comes of trying an endpoint that does not answer."""
    (found,) = try_endpoints((DockerEndpoint(url, "test"),))
    assert found.api is None
    return found.outcome


class TestTrying:
    """Real sockets that are not Docker's."""

    def test_a_socket_that_is_not_there(self, tmp_path: Path) -> None:
        assert outcome(f"unix://{tmp_path}/docker.sock") == "no such socket"

    def test_a_socket_that_nobody_listens_on(self, tmp_path: Path) -> None:
        path = tmp_path / "docker.sock"
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(str(path))

        assert outcome(f"unix://{path}") == "nobody listens there"

    def test_a_file_that_is_no_socket(self, tmp_path: Path) -> None:
        path = tmp_path / "docker.sock"
        path.touch()

        # Linux refuses the connection.
        assert outcome(f"unix://{path}") == "nobody listens there"

    def test_an_address_that_makes_no_sense(self) -> None:
        assert "carrier-pigeon" in outcome("carrier-pigeon://coop")

    @pytest.mark.parametrize(
        "url",
        [
            pytest.param("tcp://[x:1", id="an-open-bracket"),
            pytest.param("\x1b]52;c;QQ\a\x1b[31mX", id="an-escape-sequence"),
            pytest.param("tcp://[x]:1", id="no-address"),
            pytest.param("tcp://localhost:x", id="no-port"),
        ],
    )
    def test_an_endpoint_that_is_no_url(self, url: str) -> None:
        (found,) = try_endpoints((DockerEndpoint(url, "test"),))

        assert found.api is None
        assert "tcp://HOST:2375" in found.advice

    def test_an_endpoint_over_ssh(self) -> None:
        (found,) = try_endpoints((DockerEndpoint("ssh://me@build.example", "test"),))

        assert found.outcome == "ssh:// is not supported"
        assert "ssh -L" in found.advice

    def test_a_server_that_is_not_docker(self) -> None:
        expected = "answers with HTTP status 400, not as Docker does"
        with answering(message="Client sent an HTTP request", status=400) as url:
            assert outcome(url) == expected
        with answering(error="bad", status=400) as url:
            assert outcome(url) == expected

    def test_a_server_with_another_protocol(self) -> None:
        with answering(hello="world") as url:
            assert "ApiVersion" in outcome(url)

    def test_a_daemon_that_is_too_old(self) -> None:
        with answering(ApiVersion="1.30") as url:
            assert outcome(url) == "its API 1.30 is older than 1.32"

    def test_the_docs_name_the_oldest_one_that_is_taken(self) -> None:
        root = Path(__file__).parents[3]
        page = (root / "docs" / "reference" / "runtimes.md").read_text("utf-8")
        with answering(ApiVersion=OLDEST_API_VERSION) as url:
            (found,) = try_endpoints((DockerEndpoint(url, "test"),))
            assert found.api is not None
            found.api.close()

        assert found.outcome == f"answers, API {OLDEST_API_VERSION}"
        assert f"17.09 (API {OLDEST_API_VERSION}) to 19.03 are accepted" in page

    def test_the_first_that_answers_is_the_last_that_is_tried(self) -> None:
        with answering(ApiVersion="1.41") as url:
            found = list(
                try_endpoints(
                    (
                        DockerEndpoint(DEAD, "a"),
                        DockerEndpoint(url, "b"),
                        DockerEndpoint(DEAD, "c"),
                    )
                )
            )

        assert [attempt.endpoint.source for attempt in found] == ["a", "b"]
        assert found[-1].api is not None
        found[-1].api.close()


class TestConnecting:
    """Messages for the user."""

    async def test_the_error_names_what_was_tried_and_what_to_do(self) -> None:
        with pytest.raises(RuntimeUnavailableError) as caught:
            await connect(SystemClock(), OPTIONS, host=DEAD)

        assert caught.value.tried == (f"{DEAD} (option --host): no such socket",)
        assert f"{DEAD} (option --host): no such socket" in str(caught.value)
        assert START_DOCKER in str(caught.value)
        assert "\n" not in str(caught.value)
        assert caught.value.exit_status == 3

    async def test_the_error_lists_all_attempts_in_order(self) -> None:
        tried = list(
            try_endpoints((DockerEndpoint(DEAD, "a"), DockerEndpoint(DEAD, "b")))
        )

        error = unavailable_error(tried)

        assert error.tried == (
            f"{DEAD} (a): no such socket",
            f"{DEAD} (b): no such socket",
        )

    async def test_missing_fields_of_the_daemon_version_are_no_error(self) -> None:
        with answering(ApiVersion="1.41") as url:
            runtime = await connect(SystemClock(), OPTIONS, host=url)

        assert ("endpoint", url) in runtime.facts()
        await runtime.close()

    async def test_a_daemon_without_any_version_is_no_daemon(self) -> None:
        with (
            answering(ApiVersion="1.41", info_status=500) as url,
            pytest.raises(RuntimeUnavailableError, match="HTTP status 500"),
        ):
            await connect(SystemClock(), OPTIONS, host=url)

    async def test_a_daemon_that_answers_is_a_step_too(self) -> None:
        with answering(ApiVersion="1.41") as url:
            steps = await describe_endpoints(host=url)

        assert steps == ((f"{url} (option --host)", "answers, API 1.41"),)

    async def test_the_steps_can_be_shown_without_connecting(self) -> None:
        assert await describe_endpoints(host=DEAD) == (
            (f"{DEAD} (option --host)", "no such socket"),
        )

    async def test_a_context_that_does_not_exist_is_a_step(self, config: Path) -> None:
        ((name, what),) = await describe_endpoints(context="mine")

        assert name == "docker"
        assert '"mine"' in what


@pytest.mark.parametrize(
    ("error", "outcome_words", "advice"),
    [
        pytest.param(
            as_requests_wraps(PermissionError(errno.EACCES, "Permission denied")),
            "permission denied",
            JOIN_GROUP,
            id="permission",
        ),
        pytest.param(
            as_requests_wraps(FileNotFoundError(errno.ENOENT, "No such file")),
            "no such socket",
            START_DOCKER,
            id="missing",
        ),
        pytest.param(
            as_requests_wraps(ConnectionRefusedError(errno.ECONNREFUSED, "refused")),
            "nobody listens there",
            START_DOCKER,
            id="refused",
        ),
        pytest.param(
            as_requests_wraps(socket.gaierror(-2, "Name or service not known")),
            "the host name is not known",
            "check the address",
            id="name",
        ),
        pytest.param(
            caused(docker.errors.DockerException("no"), requests.ReadTimeout("slow")),
            "no answer in time",
            "check the address and the network",
            id="timeout",
        ),
        pytest.param(
            as_requests_wraps(OSError(errno.EHOSTUNREACH, "No route to host")),
            "No route to host",
            "check the address and the network",
            id="no route",
        ),
        pytest.param(
            as_requests_wraps(OSError(errno.ENOTSOCK, "Socket operation")),
            "not a socket",
            "check the address",
            id="no socket",
        ),
        pytest.param(
            as_requests_wraps(ssl.SSLCertVerificationError(1, "bad certificate")),
            "TLS: bad certificate",
            CHECK_TLS,
            id="certificate",
        ),
        pytest.param(
            docker.errors.TLSParameterError("no key"),
            "TLS: no key",
            CHECK_TLS,
            id="key",
        ),
        pytest.param(
            docker.errors.DockerException("who knows"),
            "who knows",
            "check the address",
            id="unknown",
        ),
    ],
)
def test_a_connection_error_is_described_by_type_and_number(
    error: Exception, outcome_words: str, advice: str
) -> None:
    found = diagnose(error)

    assert (found.outcome, found.advice) == (outcome_words, advice)


class TestErrors:
    """What errors of calls become."""

    def test_a_refusal_keeps_its_status_and_the_daemons_words(self) -> None:
        error = to_runtime_error(refused(404))

        assert isinstance(error, DockerStatusError)
        assert (error.status, str(error)) == (404, "words of the daemon")
        assert not error.unreachable

    @pytest.mark.parametrize(
        "error",
        [
            pytest.param(
                requests.ConnectionError(ConnectionRefusedError(111, "refused")),
                id="connection",
            ),
            pytest.param(requests.ReadTimeout("slow"), id="timeout"),
            pytest.param(requests.exceptions.ChunkedEncodingError("cut"), id="chunk"),
            pytest.param(urllib3.exceptions.ProtocolError("cut"), id="protocol"),
            pytest.param(ConnectionResetError(errno.ECONNRESET, "reset"), id="reset"),
        ],
    )
    def test_a_stopped_daemon_is_unreachable(self, error: Exception) -> None:
        assert to_runtime_error(error).unreachable

    @pytest.mark.parametrize(
        "error",
        [
            pytest.param(docker.errors.InvalidVersion("old"), id="SDK"),
            pytest.param(requests.exceptions.InvalidJSONError("{"), id="answer"),
        ],
    )
    def test_other_errors_do_not_mean_that_it_is_gone(self, error: Exception) -> None:
        found = to_runtime_error(error)

        assert not found.unreachable
        assert str(found) == str(error)

    def test_an_error_has_the_message_of_the_operating_system(self) -> None:
        error = to_runtime_error(
            requests.ConnectionError(
                urllib3.exceptions.ProtocolError(
                    "Connection aborted.", FileNotFoundError(2, os.strerror(2))
                )
            )
        )

        assert str(error) == "Docker does not answer: No such file or directory"
