"""The command that repeats a probe by hand, quoted for a shell."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probetui.analysis.reproduce import (
    CommandLineReach,
    command_note,
    quote_shell_line,
    reproduce_command,
)
from probetui.k8s.pod import ContainerPort
from probetui.k8s.probe import (
    HTTP_2,
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    HTTPHeader,
    Probe,
    ProbeHandler,
    TCPSocketAction,
)
from probetui.k8s.runtime import NO_CONTAINER, ContainerID
from probetui.kubelet.runtime.go_format import to_bytes
from probetui.record.masking import Mask
from tests.builders import a_container, a_pod, env

DOCKER = ContainerID("docker://0123456789abcdef0123")
CONTAINER = a_container(
    ports=(ContainerPort(8080, "web"),), env=env(FILE="/tmp/it's here")
)


def command(handler: ProbeHandler | None, container_id: ContainerID = DOCKER) -> str:
    probe = Probe(handler, timeout_seconds=2)
    return reproduce_command(CONTAINER, probe, container_id, "10.0.0.2")


@pytest.mark.parametrize(
    ("container_id", "words"),
    [
        pytest.param(DOCKER, "docker exec 0123456789ab true", id="docker"),
        pytest.param("containerd://0a1b2c", "crictl exec 0a1b2c true", id="containerd"),
        pytest.param("cri-o://0a1b2c", "crictl exec 0a1b2c true", id="CRI-O"),
        pytest.param(
            "process://0a1b2c", "probetui exec 0a1b2c true", id="a plain process"
        ),
        pytest.param(
            "process://77@2", "probetui exec 77 true", id="a process of others"
        ),
        pytest.param("sim://container-1", "true", id="a simulation"),
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
            "curl -sv --max-time 2 --noproxy '*' -A kube-probe/1.32 'http://10.0.0.2:8080/ready?a=1&b=2'",
            id="a named port, and what a shell would take apart",
        ),
        pytest.param(
            HTTPGetAction(443, "healthz", scheme="HTTPS", host="example.org"),
            "curl -sv --max-time 2 -k --noproxy '*' -A kube-probe/1.32 "
            "https://example.org:443/healthz",
            id="certificates are not looked at",
        ),
        pytest.param(
            HTTPGetAction(80, http_headers=(HTTPHeader("X-A", "it's; on"),)),
            "curl -sv --max-time 2 --noproxy '*' -A kube-probe/1.32 "
            "-H 'X-A: it'\"'\"'s; on' http://10.0.0.2:80/",
            id="headers",
        ),
        pytest.param(
            HTTPGetAction(80, scheme="", path=""),
            "curl -sv --max-time 2 --noproxy '*' -A kube-probe/1.32 "
            "http://10.0.0.2:80/",
            id="what is not given",
        ),
        pytest.param(
            HTTPGetAction(
                80,
                http_headers=(
                    HTTPHeader("Accept", ""),
                    HTTPHeader("HOST", ""),
                    HTTPHeader("User-Agent", ""),
                    HTTPHeader("X-Empty", ""),
                ),
            ),
            "curl -sv --max-time 2 --noproxy '*' -H Accept: -H HOST: -H User-Agent: "
            "-H 'X-Empty;' http://10.0.0.2:80/",
            id="headers without a value",
        ),
        pytest.param(
            HTTPGetAction(80, host="fd00::1"),
            "curl -sv --max-time 2 --noproxy '*' -A kube-probe/1.32 'http://[fd00::1]:80/'",
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


@pytest.mark.parametrize(
    ("path", "options", "requested"),
    [
        pytest.param("/a/b", "", "/a/b", id="plain"),
        pytest.param("a", "", "/a", id="relative"),
        pytest.param("?a=1", "", "?a=1", id="a query alone"),
        pytest.param("/a#b", "", "/a", id="a fragment"),
        pytest.param("/a{1}/b", "", "/a%7B1%7D/b", id="braces"),
        pytest.param("/a[1]/b", "-g", "/a[1]/b", id="brackets"),
        pytest.param("/a/b?c={d}", "-g", "/a/b?c={d}", id="braces in the query"),
        pytest.param("/a/../b", "--path-as-is", "/a/../b", id="up"),
        pytest.param("/./b", "--path-as-is", "/./b", id="here"),
        pytest.param("/a/..", "--path-as-is", "/a/..", id="up at the end"),
        pytest.param("/..?a", "--path-as-is", "/..?a", id="up before a query"),
        pytest.param("/a../..b/...", "", "/a../..b/...", id="other dots"),
        pytest.param("/a b", "", "/a%20b", id="a space"),
        pytest.param("/%41 b", "", "/A%20b", id="an escape beside a space"),
        pytest.param("/%41b", "", "/%41b", id="an escape"),
        pytest.param("/a%zz?b=c", "", "/a%25zz%3Fb=c", id="a broken escape"),
        pytest.param("/a?b=%zz c", "", "/a?b=%zz%20c", id="one in the query"),
        pytest.param("/é?é", "", "/%C3%A9?%C3%A9", id="other letters"),
    ],
)
def test_a_path_is_asked_for_as_the_kubelet_asks_for_it(
    path: str, options: str, requested: str
) -> None:
    line = command(HTTPGetAction(80, path))

    words = shlex.split(line)
    assert words[:6] == ["curl", "-sv", "--max-time", "2", "--noproxy", "*"]
    assert words[6:-3] == options.split()
    assert words[-1] == f"http://10.0.0.2:80{requested}"


@pytest.mark.parametrize(
    ("scheme", "protocol", "redirects", "options"),
    [
        pytest.param("HTTP", "", [], "", id="plain"),
        pytest.param("https", "", [], "-k", id="TLS"),
        pytest.param("HTTP", HTTP_2, [], "--http2-prior-knowledge", id="HTTP/2"),
        pytest.param("HTTPS", HTTP_2, [], "-k", id="HTTP/2 by TLS"),
        pytest.param("HTTP", "", ["/a", "/b"], "-L --max-redirs 2", id="redirects"),
        pytest.param(
            "HTTP", "", ["/", "HTTPS://x/"], "-k -L --max-redirs 2", id="redirected"
        ),
    ],
)
def test_curl_follows_what_the_kubelet_followed(
    scheme: str, protocol: str, redirects: list[str], options: str
) -> None:
    handler = HTTPGetAction(80, scheme=scheme, protocol=protocol)

    line = reproduce_command(
        CONTAINER, Probe(handler), DOCKER, "10.0.0.2", redirects=redirects
    )

    words = shlex.split(line)
    mine = [word for word in words[4:-3] if word not in {"--noproxy", "*"}]
    assert mine == options.split()


@pytest.mark.parametrize(
    ("mode", "option"), [("TLS", "-insecure"), ("Plaintext", "-plaintext")]
)
def test_grpc_is_asked_as_the_kubelet_asks(mode: str, option: str) -> None:
    assert command(GRPCAction(9000, mode=mode)) == (
        f"grpcurl {option} -max-time 2 10.0.0.2:9000 grpc.health.v1.Health/Check"
    )


def test_a_service_of_any_name_is_quoted_as_json_and_for_the_shell() -> None:
    words = shlex.split(command(GRPCAction(9000, "a\"b'c")))

    assert json.loads(words[words.index("-d") + 1]) == {"service": "a\"b'c"}


def test_a_script_of_several_lines_is_one_that_can_be_pasted() -> None:
    script = "cd '/tmp' &&\n\techo \x1b[2J\u202e\udcff é\\n"

    line = command(ExecAction(("sh", "-c", script)))

    assert line.isprintable()
    output = subprocess.run(
        ["bash", "-c", f"printf '%s' {line.partition('-c ')[2]}"],
        capture_output=True,
        check=True,
    ).stdout
    assert output == script.encode("utf-8", "surrogateescape")


@given(
    st.lists(
        st.text(
            st.characters(exclude_characters="\0", exclude_categories=()), max_size=8
        )
    )
)
@settings(max_examples=20, deadline=None)
def test_a_shell_reads_words_back_as_they_were(words: list[str]) -> None:
    line = quote_shell_line(words)

    output = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' end {line}"], capture_output=True, check=True
    ).stdout
    assert line.isprintable()
    assert output.split(b"\0")[1:-1] == [to_bytes(word) for word in words]


@pytest.mark.parametrize(
    ("handler", "secret"),
    [
        pytest.param(
            ExecAction(("curl", "-H", "$(API_TOKEN)")), "it's", id="variable, quoted"
        ),
        pytest.param(
            HTTPGetAction(80, http_headers=(HTTPHeader("X-Token", "it's"),)),
            "it's",
            id="header, quoted",
        ),
        pytest.param(ExecAction(("echo", "hunter's")), "hunter", id="known"),
    ],
)
def test_what_is_secret_is_masked_before_it_is_quoted(
    handler: ProbeHandler, secret: str
) -> None:
    container = a_container(env=env(API_TOKEN="it's"))

    line = reproduce_command(
        container, Probe(handler), DOCKER, "10.0.0.2", mask=Mask(["hunter's"])
    )

    assert "***" in line
    assert secret not in line


@pytest.mark.parametrize(
    ("options", "container_id", "words"),
    [
        pytest.param(
            {"host": "tcp://box:2375", "context": "other"},
            DOCKER,
            "docker -H tcp://box:2375 exec 0123456789ab true",
            id="a daemon elsewhere",
        ),
        pytest.param(
            {"context": "other"},
            DOCKER,
            "docker --context other exec 0123456789ab true",
            id="a context",
        ),
        pytest.param(
            {"runtime_endpoint": "unix:///run/it.sock"},
            "containerd://0a1b2c",
            "crictl -r unix:///run/it.sock exec 0a1b2c true",
            id="a socket of CRI",
        ),
    ],
)
def test_a_runtime_that_was_chosen_is_named(
    options: dict[str, str], container_id: ContainerID, words: str
) -> None:
    probe = Probe(ExecAction(("true",)))

    line = reproduce_command(
        CONTAINER, probe, container_id, "", reach=CommandLineReach.by(**options)
    )

    assert line == words


@pytest.mark.parametrize("container_id", [DOCKER, "containerd://0a1b2c"])
def test_a_command_runs_in_a_clusters_pod_by_kubectl_whatever_its_node_runs(
    container_id: ContainerID,
) -> None:
    line = reproduce_command(
        CONTAINER,
        Probe(ExecAction(("true",))),
        container_id,
        "",
        pod=a_pod(CONTAINER, name="web", namespace="shop"),
        reach=CommandLineReach(kubectl=("--context", "far")),
    )

    assert line == (
        f"kubectl exec --context far -n shop web -c {CONTAINER.name} -- true"
    )


def test_a_pod_of_a_cluster_that_is_not_known_is_not_reached_by_its_runtime() -> None:
    probe, reach = Probe(ExecAction(("true",))), CommandLineReach(kubectl=())

    assert reproduce_command(CONTAINER, probe, DOCKER, "", reach=reach) == "true"


def test_a_command_that_is_too_long_is_not_there_to_be_pasted() -> None:
    long = command(ExecAction(("echo", "a" * 12_000)))

    assert long == "# command too long to paste (12030 characters)"
    assert command(ExecAction(("echo", "a" * 11_970))).endswith("a")
    assert command(ExecAction(("echo", "a" * 11_971))).startswith("# command too long")


def test_a_command_that_the_kubelet_does_not_expand_cannot_be_repeated() -> None:
    container = a_container(env=env(BIG="a" * 4096))
    probe = Probe(ExecAction(("echo", "$(BIG)" * 1000)))

    assert reproduce_command(container, probe, DOCKER, "") == ""


def test_only_a_grpc_command_has_its_requirements() -> None:
    assert command_note(Probe(GRPCAction(9000))) == (
        "(grpcurl needs server reflection, the kubelet does not; without it, add "
        "-proto with gRPC's health.proto)"
    )
    assert command_note(Probe(ExecAction(("true",)))) == ""


def test_a_command_with_a_masked_value_has_a_hint() -> None:
    probe = Probe(ExecAction(("login", "***")))

    assert command_note(probe, "login '***'") == (
        "(*** replaces a secret: fill in its value)"
    )


def test_without_an_address_the_command_has_a_placeholder_and_a_hint() -> None:
    probe = Probe(TCPSocketAction(80))

    assert reproduce_command(CONTAINER, probe, DOCKER, "") == "nc -zv -w 1 POD_IP 80"


def test_without_a_container_there_is_nothing_to_run_a_command_in() -> None:
    assert command(ExecAction(("cat", "/x")), NO_CONTAINER) == ""
