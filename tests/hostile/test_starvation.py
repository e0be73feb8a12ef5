"""Missing resources and delays of this process never fail probes of healthy servers."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from probetui.errors import LocalResourceError
from probetui.k8s.probe import HTTPGetAction
from probetui.kubelet.outcome import ProbeResult
from probetui.probers.exec_probe import probe_exec
from probetui.probers.go.dial import dial
from probetui.probers.go.http_transport import OneShotTransport
from probetui.probers.grpc_probe import probe_grpc
from probetui.probers.http_probe import probe_http
from probetui.probers.http_request import build_request
from probetui.probers.tcp_probe import probe_tcp
from tests.e2e.program import PROGRAM, Program, wait_for
from tests.probers.go.test_dial import echo
from tests.probers.servers import LOOPBACK, serving
from tests.requirements import require_root
from tests.runtimes.bench import POLITE, sh
from tests.runtimes.process.bench import ProcessBench

DESCRIPTORS = 256
SECOND = timedelta(seconds=1)
TIME_IS_UP = 4

SERVER = """\
import http.server, sys, time

class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(float(sys.argv[2]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Slow).serve_forever()
"""
LOOPBACK_UP = """\
import fcntl, socket, struct
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket() as sock:
    fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
"""
"""Of a network namespace that is new."""

SILENT_SERVER = (
    LOOPBACK_UP
    + """\
import socket
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.bind(("127.0.0.1", 53))
while True:
    sink.recv(512)
"""
)


@pytest.fixture
def _root() -> None:
    """Make a network namespace possible."""
    require_root()


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Use up all descriptors, so that nothing can be opened in the block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))
    taken: list[int] = []
    try:
        while True:
            try:
                taken.append(os.dup(0))
            except OSError:
                break
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_connection_without_a_descriptor_is_an_own_error() -> None:
    async with serving(echo) as port:
        with (
            no_descriptor_left(),
            pytest.raises(LocalResourceError, match="too many open files"),
        ):
            await dial(LOOPBACK, port)


async def test_a_name_lookup_without_a_descriptor_is_an_own_error() -> None:
    with no_descriptor_left(), pytest.raises(LocalResourceError, match="not looked up"):
        await dial("probetui-hostile.invalid", 80)


async def test_a_tcp_probe_without_a_descriptor_is_no_failure() -> None:
    async with serving(echo) as port:
        with no_descriptor_left(), pytest.raises(LocalResourceError):
            await probe_tcp(LOOPBACK, port, SECOND)
        attempt = await probe_tcp(LOOPBACK, port, SECOND * 30)

    assert attempt.result is ProbeResult.SUCCESS


async def test_an_http_probe_without_a_descriptor_is_no_failure() -> None:
    request = build_request(HTTPGetAction(1), LOOPBACK, 1)
    with no_descriptor_left(), pytest.raises(LocalResourceError):
        await probe_http(request, SECOND, OneShotTransport())


async def test_a_command_without_a_descriptor_is_no_failure(tmp_path: Path) -> None:
    bench = ProcessBench(tmp_path)
    try:
        container_id = await bench.run(POLITE)
        with no_descriptor_left():
            attempt = await probe_exec(bench.runtime, container_id, sh("exit 0"), 5)
    finally:
        await bench.clean_up()

    assert attempt.error is not None


NO_LOCAL_PORT = (
    LOOPBACK_UP
    + """\
import asyncio, pathlib
from probetui.errors import LocalResourceError
from probetui.probers.go.dial import dial

LOCAL_PORTS = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")

async def main():
    LOCAL_PORTS.write_text("30000 30009")
    server = socket.create_server(("127.0.0.1", 40000), backlog=100)
    kept = []
    try:
        for _ in range(100):
            kept.append(await dial("127.0.0.1", 40000))
    except LocalResourceError as error:
        print(error)

asyncio.run(main())
"""
)


@pytest.mark.usefixtures("_root")
def test_a_connection_without_a_local_port_is_an_own_error() -> None:
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", NO_LOCAL_PORT],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert "could not connect to 127.0.0.1:40000: cannot assign" in done.stdout


async def test_a_grpc_probe_without_a_descriptor_is_no_failure() -> None:
    with no_descriptor_left(), pytest.raises(LocalResourceError):
        await probe_grpc(LOOPBACK, 1, "", SECOND * 30)


def a_container(name: str, *, host: str, port: int, delay: float = 0) -> dict[str, Any]:
    """Return a container whose server responds after a delay, with a liveness probe."""
    return {
        "name": name,
        "image": "none",
        "command": [sys.executable, "-c", SERVER, str(port), str(delay)],
        "startupProbe": {
            "tcpSocket": {"host": LOOPBACK, "port": port},
            "periodSeconds": 1,
            "failureThreshold": 60,
        },
        "livenessProbe": {
            "httpGet": {"host": host, "port": port},
            "periodSeconds": 1,
            "timeoutSeconds": 1,
            "failureThreshold": 1,
        },
    }


def a_pod(*containers: dict[str, Any]) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "starving", "namespace": "hostile-starvation"},
            "spec": {
                "terminationGracePeriodSeconds": 1,
                "containers": list(containers),
            },
        }
    )


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind((LOOPBACK, 0))
        port: int = sock.getsockname()[1]
        return port


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.usefixtures("_root")
def test_silent_names_do_not_kill_a_healthy_container(tmp_path: Path) -> None:
    """The test has its own network namespace and /etc/resolv.conf."""
    program = Program(tmp_path)
    silent = [
        a_container(
            f"silent-{number}", host=f"silent-{number}.invalid", port=9000 + number
        )
        for number in range(12)
    ]
    for container in silent:
        container["livenessProbe"]["failureThreshold"] = 1000
    healthy = a_container("healthy", host="healthy.invalid", port=8999)
    healthy["livenessProbe"]["failureThreshold"] = 3
    manifest = tmp_path / "pod.json"
    manifest.write_text(a_pod(*silent, healthy))
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    (tmp_path / "hosts").write_text("127.0.0.1 localhost healthy.invalid\n")
    (tmp_path / "silent.py").write_text(SILENT_SERVER)
    script = """
        mount --make-rprivate /
        mount --bind "$1/resolv.conf" /etc/resolv.conf
        mount --bind "$1/hosts" /etc/hosts
        "$2" "$1/silent.py" & sink=$!
        shift 2
        "$@"; status=$?
        kill $sink
        exit $status
    """

    done = subprocess.run(
        [
            "unshare", "--mount", "--net", "sh", "-c", script, "sh",
            str(tmp_path), sys.executable, str(PROGRAM), "run",
            "-f", str(manifest), "--runtime", "process",
            "--until", "starving/healthy:killed", "--timeout", "12s",
        ],
        env=program.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )  # fmt: skip

    assert done.returncode == TIME_IS_UP, done.stdout[-4000:] + done.stderr
    assert "starving/silent-0 liveness" in done.stdout


@pytest.mark.e2e
@pytest.mark.slow
def test_a_program_that_is_stopped_for_a_while_kills_no_container(
    tmp_path: Path,
) -> None:
    program = Program(tmp_path)
    port = free_port()
    manifest = tmp_path / "pod.json"
    manifest.write_text(a_pod(a_container("slow", host=LOOPBACK, port=port, delay=0.4)))
    arguments = ("run", "-f", str(manifest), "--runtime", "process", "--plain")

    with program.started(*arguments) as process:
        assert process.stdout is not None
        wait_for("started false->true", process.stdout)
        for _ in range(6):
            # Probes are running four tenths of the time.
            process.send_signal(signal.SIGSTOP)
            time.sleep(1.3)  # noqa: TID251  # longer than the probe's time limit
            process.send_signal(signal.SIGCONT)
            time.sleep(0.25)  # noqa: TID251  # another one begins
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()

    assert re.search(r"liveness #\S+ success", rest), rest
    assert not re.search(r"liveness #\S+ failure", rest), rest


def test_the_limit_of_descriptors_is_raised_and_children_have_the_old_one() -> None:
    script = """
import resource, subprocess
from probetui.descriptor_limit import original_descriptor_limit, raise_descriptor_limit
raise_descriptor_limit()
with original_descriptor_limit():
    child = subprocess.run(["sh", "-c", "ulimit -Sn"], capture_output=True, text=True)
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], child.stdout.strip())
"""

    done = subprocess.run(
        ["sh", "-c", 'ulimit -Sn 300; exec "$0" -c "$1"', sys.executable, script],
        capture_output=True,
        text=True,
        check=True,
    )

    own, of_child = map(int, done.stdout.split())
    assert own > 300
    assert of_child == 300
