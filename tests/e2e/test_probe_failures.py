"""Why a probe failed, on plain processes, on Docker and on containerd."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import Program
from tests.engines import cri_variables
from tests.probers.peers import CERTIFICATES
from tests.runtimes.cri.bench import alone

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

CERTIFICATE = CERTIFICATES / "selfsigned.pem"
AGNHOST = "registry.k8s.io/e2e-test-images/agnhost:2.53"
PORT = 18443
LOOPBACK = """\
apiVersion: v1
kind: Pod
metadata: {{name: e2e-loopback, namespace: {namespace}}}
spec:
  terminationGracePeriodSeconds: 5
  containers:
    - name: app
      image: busybox:1.36
      imagePullPolicy: Never
      command: {command}
      livenessProbe:
        httpGet: {{path: /, port: 18443}}
        periodSeconds: 1
        initialDelaySeconds: 3
        failureThreshold: 1
"""
TLS = """\
apiVersion: v1
kind: Pod
metadata: {{name: e2e-tls, namespace: {namespace}}}
spec:
  terminationGracePeriodSeconds: 1
  {volumes}
  containers:
    - name: app
      image: {image}
      imagePullPolicy: Never
      {command}
      {mounts}
      readinessProbe:
        httpGet: {{path: /, port: 18443}}
        periodSeconds: 1
        initialDelaySeconds: 3
"""
SERVER = """\
import http.server, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
handler = http.server.BaseHTTPRequestHandler
server = http.server.ThreadingHTTPServer(("", 18443), handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""

RUNTIMES = [
    pytest.param("process", id="process"),
    pytest.param("docker", id="docker", marks=pytest.mark.docker),
    pytest.param("cri", id="cri", marks=pytest.mark.cri),
]


@pytest.fixture
def program(
    tmp_path: Path, namespace: str, request: pytest.FixtureRequest
) -> Iterator[Program]:
    """Return the program for a runtime; pods of this test are removed at the end."""
    runtime = request.node.callspec.params["runtime"]
    if runtime == "cri":
        program = Program(tmp_path, cri_variables())
        with alone():
            yield program
            program.run("down", "-n", namespace, "--all", "--runtime", runtime)
    else:
        program = Program(tmp_path)
        yield program
        program.run("down", "-n", namespace, "--all", "--runtime", runtime)


def causes(program: Program, runtime: str, until: str, text: str) -> tuple[str, str]:
    """Run pods until a condition; return what lines said, and then what why says."""
    record = str(program.home / "record.jsonl")
    session = program.run(
        "run", "--plain", "--runtime", runtime, "--until", until, "--timeout", "60s",
        "--record", record, "-f", "-", stdin=text,
    )  # fmt: skip
    assert session.returncode == 0, session.stderr
    answer = program.run("why", record)
    assert answer.returncode == 0, answer.stderr
    return session.stdout, answer.stdout


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_first_failure_kills_an_app_that_listens_on_loopback_only(
    program: Program, namespace: str, runtime: str
) -> None:
    httpd = f"httpd -f -p 127.0.0.1:{PORT} -h /tmp"
    if runtime == "process":
        httpd = f"{sys.executable} -m http.server --bind 127.0.0.1 {PORT}"
    script = f"{httpd} & p=$!; trap 'kill $p; exit 0' TERM; wait $p"
    command = json.dumps(["sh", "-c", script])
    manifest = LOOPBACK.format(namespace=namespace, command=command)

    lines, answer = causes(program, runtime, "killed", manifest)

    only = f"listens on 127.0.0.1:{PORT} only"
    assert only in lines
    assert "no port at all" not in lines
    assert only in "\n".join(answer.splitlines()[:5])


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_http_probe_at_a_port_that_speaks_tls(
    program: Program, namespace: str, runtime: str
) -> None:
    if runtime == "process":
        command = [sys.executable, "-c", SERVER, str(CERTIFICATE)]
        manifest = TLS.format(
            namespace=namespace,
            image="none",
            command=f"command: {json.dumps(command)}",
            volumes="",
            mounts="",
        )
    else:
        path = "/tls/both.pem"
        arguments = [
            "netexec", f"--http-port={PORT}", f"--tls-cert-file={path}",
            f"--tls-private-key-file={path}",
        ]  # fmt: skip
        pem = textwrap.indent(CERTIFICATE.read_text(), "    ")
        manifest = TLS.format(
            namespace=namespace,
            image=AGNHOST,
            command=f"args: {json.dumps(arguments)}",
            volumes="volumes: [{name: tls, configMap: {name: tls}}]",
            mounts="volumeMounts: [{name: tls, mountPath: /tls}]",
        )
        manifest += (
            "---\napiVersion: v1\nkind: ConfigMap\n"
            f"metadata: {{name: tls, namespace: {namespace}}}\n"
            f"data:\n  both.pem: |\n{pem}"
        )

    lines, answer = causes(program, runtime, "event=Unhealthy", manifest)

    assert "the port speaks TLS: scheme HTTPS" in lines
    assert "the port speaks TLS: scheme HTTPS" in "\n".join(answer.splitlines()[:5])
