"""The command that repeats a probe by hand, quoted for a shell (UX-19)."""

from __future__ import annotations

import json
import shlex

import pytest

from probetui.k8s.pod import ContainerPort
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    HTTPHeader,
    Probe,
    ProbeHandler,
    TCPSocketAction,
)
from probetui.k8s.runtime import ContainerID
from probetui.presentation.reproduce import reproduce
from tests.builders import a_container, env

DOCKER = ContainerID("docker://0123456789abcdef0123")
CONTAINER = a_container(
    ports=(ContainerPort(8080, "web"),), env=env(FILE="/tmp/it's here")
)


def command(handler: ProbeHandler | None, container_id: ContainerID = DOCKER) -> str:
    probe = Probe(handler, timeout_seconds=2)
    return reproduce(CONTAINER, probe, container_id, "10.0.0.2")


@pytest.mark.parametrize(
    ("container_id", "words"),
    [
        pytest.param(DOCKER, "docker exec 0123456789ab true", id="docker"),
        pytest.param("containerd://0a1b2c", "crictl exec 0a1b2c true", id="containerd"),
        pytest.param("cri-o://0a1b2c", "crictl exec 0a1b2c true", id="CRI-O"),
        pytest.param("process://7", "true", id="a plain process"),
    ],
)
def test_a_command_runs_where_the_container_is(
    container_id: ContainerID, words: str
) -> None:
    assert command(ExecAction(("true",)), container_id) == words


def test_what_the_kubelet_expands_is_expanded_and_quoted() -> None:
    words = shlex.split(command(ExecAction(("cat", "$(FILE)", "a;b", ""))))

    assert words == [
        "docker", "exec", "0123456789ab", "cat", "/tmp/it's here", "a;b", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        pytest.param(
            HTTPGetAction("web", "/ready?a=1&b=2"),
            "curl -sv --max-time 2 'http://10.0.0.2:8080/ready?a=1&b=2'",
            id="a named port, and what a shell would take apart",
        ),
        pytest.param(
            HTTPGetAction(443, "healthz", scheme="HTTPS", host="example.org"),
            "curl -sv --max-time 2 -k https://example.org:443/healthz",
            id="certificates are not looked at",
        ),
        pytest.param(
            HTTPGetAction(80, http_headers=(HTTPHeader("X-A", "it's; on"),)),
            "curl -sv --max-time 2 -H 'X-A: it'\"'\"'s; on' http://10.0.0.2:80/",
            id="headers",
        ),
        pytest.param(
            HTTPGetAction(80, host="fd00::1"),
            "curl -sv --max-time 2 'http://[fd00::1]:80/'",
            id="IPv6",
        ),
        pytest.param(
            TCPSocketAction("web"), "nc -zv -w 2 10.0.0.2 8080", id="a connection"
        ),
        pytest.param(
            TCPSocketAction("other", "db"), "nc -zv -w 2 db other", id="unknown name"
        ),
        pytest.param(
            GRPCAction(9000),
            "grpcurl -plaintext -max-time 2 10.0.0.2:9000 grpc.health.v1.Health/Check",
            id="gRPC",
        ),
        pytest.param(None, "", id="nothing to run"),
    ],
)
def test_a_probe_over_the_network(handler: ProbeHandler | None, words: str) -> None:
    assert command(handler) == words


def test_a_service_of_any_name_is_quoted_as_json_and_for_the_shell() -> None:
    words = shlex.split(command(GRPCAction(9000, "a\"b'c")))

    assert json.loads(words[words.index("-d") + 1]) == {"service": "a\"b'c"}


def test_without_an_address_the_command_says_what_to_put_in() -> None:
    probe = Probe(TCPSocketAction(80))

    assert reproduce(CONTAINER, probe, DOCKER, "") == "nc -zv -w 1 POD_IP 80"
