"""Where pods are reached, and which of their ports must be published for it."""

from __future__ import annotations

import os
from typing import Any

import pytest

from probetui.k8s.pod import Container, ContainerPort
from probetui.k8s.probe import (
    ExecAction,
    HTTPGetAction,
    SleepAction,
    TCPSocketAction,
)
from probetui.k8s.runtime import SandboxStatus
from probetui.runtimes.docker.port_publishing import (
    DockerDaemon,
    PortPublishing,
    PublishedPorts,
    ReachMode,
    choose_publishing,
)
from probetui.runtimes.docker.translate import InspectedContainer
from probetui.runtimes.probed_ports import probed_ports
from probetui.runtimes.translation import PodName
from tests.builders import (
    a_container,
    a_grpc_probe,
    a_pod,
    a_probe,
    a_tcp_probe,
    an_exec_probe,
    an_http_probe,
)

SOCKET = "unix:///var/run/docker.sock"
HERE = os.uname().release
ON_LOOPBACK = PortPublishing("127.0.0.1", "127.0.0.1")


def a_daemon(
    url: str = SOCKET,
    system: str = "Debian GNU/Linux 12 (bookworm)",
    kernel: str = HERE,
    *options: str,
) -> DockerDaemon:
    """Return a daemon from what Docker would say of it."""
    info = {
        "OperatingSystem": system,
        "KernelVersion": kernel,
        "SecurityOptions": list(options),
    }
    return DockerDaemon.of(url, info)


def a_sandbox(ip: str, **published: int) -> InspectedContainer:
    """Return a sandbox; a port's name is `p80` or the like."""
    return InspectedContainer(
        "id",
        "me",
        PodName("default", "web", "uid"),
        sandbox=SandboxStatus("id", is_ready=True, ip=ip),
        published={int(name[1:]): port for name, port in published.items()},
    )


@pytest.mark.parametrize(
    ("daemon", "mode", "expected"),
    [
        pytest.param(a_daemon(), "auto", None, id="local"),
        pytest.param(a_daemon("http+unix:///run/d.sock"), "auto", None, id="SDK's URL"),
        pytest.param(
            a_daemon(SOCKET, "Docker Desktop"), "auto", ON_LOOPBACK, id="desktop"
        ),
        pytest.param(
            a_daemon(SOCKET, "Ubuntu 24.04", "6.8.0-vm"),
            "auto",
            ON_LOOPBACK,
            id="virtual machine",
        ),
        pytest.param(
            a_daemon(
                SOCKET, "Debian", HERE, "name=seccomp,profile=default", "name=rootless"
            ),
            "auto",
            ON_LOOPBACK,
            id="rootless",
        ),
        pytest.param(
            a_daemon("tcp://localhost:2375"), "auto", ON_LOOPBACK, id="loopback name"
        ),
        pytest.param(
            a_daemon("tcp://127.0.0.1:2375"), "auto", ON_LOOPBACK, id="loopback"
        ),
        pytest.param(
            a_daemon("tcp://build.example:2376"),
            "auto",
            PortPublishing("0.0.0.0", "build.example"),
            id="remote",
        ),
        pytest.param(a_daemon(), "published", ON_LOOPBACK, id="published by option"),
        pytest.param(
            a_daemon("tcp://build.example:2376"), "direct", None, id="direct by option"
        ),
    ],
)
def test_ports_are_published_where_addresses_do_not_answer(
    daemon: DockerDaemon, mode: ReachMode, expected: PortPublishing | None
) -> None:
    assert choose_publishing(daemon, mode) == expected


@pytest.mark.parametrize(
    ("daemon", "expected"),
    [
        pytest.param(a_daemon(), True, id="local"),
        pytest.param(
            a_daemon(SOCKET, "Debian", HERE, "name=rootless"), True, id="rootless"
        ),
        pytest.param(a_daemon(SOCKET, "Docker Desktop"), False, id="desktop"),
        pytest.param(a_daemon(SOCKET, "Debian", "6.8.0-vm"), False, id="other kernel"),
        pytest.param(a_daemon("tcp://127.0.0.1:2375"), False, id="over TCP"),
    ],
)
def test_processes_are_searched_only_if_they_can_be_visible(
    daemon: DockerDaemon, *, expected: bool
) -> None:
    assert daemon.is_on_this_kernel is expected


NAMED = (ContainerPort(8080, name="http"), ContainerPort(9000, name="9001"))


def probed(**fields: Any) -> Container:
    """Return a container with named ports."""
    return a_container(ports=NAMED, **fields)


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        pytest.param(probed(), (), id="no probe"),
        pytest.param(probed(liveness_probe=an_exec_probe("true")), (), id="exec"),
        pytest.param(probed(liveness_probe=an_http_probe(80)), (80,), id="number"),
        pytest.param(probed(startup_probe=a_tcp_probe("http")), (8080,), id="name"),
        pytest.param(
            probed(readiness_probe=a_tcp_probe("9001")), (9000,), id="digits as name"
        ),
        pytest.param(probed(readiness_probe=a_tcp_probe("9002")), (9002,), id="digits"),
        pytest.param(
            probed(readiness_probe=a_tcp_probe("nope")), (), id="unknown name"
        ),
        pytest.param(probed(liveness_probe=a_grpc_probe(50051)), (50051,), id="grpc"),
        pytest.param(
            probed(liveness_probe=a_probe(HTTPGetAction(80, host="example.org"))),
            (),
            id="another host",
        ),
        pytest.param(
            probed(
                post_start=HTTPGetAction("http"),
                pre_stop=TCPSocketAction(81),
                readiness_probe=an_http_probe(8080),
            ),
            (81, 8080),
            id="hooks",
        ),
        pytest.param(
            probed(post_start=ExecAction(("true",)), pre_stop=SleepAction(1)),
            (),
            id="hooks without ports",
        ),
    ],
)
def test_the_ports_that_probes_and_hooks_connect_to_are_found(
    container: Container, expected: tuple[int, ...]
) -> None:
    assert probed_ports(a_pod(container)) == expected


def test_ports_of_all_containers_are_found_once() -> None:
    pod = a_pod(
        a_container("one", liveness_probe=an_http_probe(80)),
        a_container("two", liveness_probe=an_http_probe(80)),
        init_containers=(a_container("side", startup_probe=an_http_probe(70)),),
    )

    assert probed_ports(pod) == (70, 80)


class TestReach:
    """From a pod's address to where it is reached."""

    def test_nothing_changes_where_addresses_answer(self) -> None:
        reach = PublishedPorts(None)
        reach.update([a_sandbox("172.17.0.5", p80=32768)])

        assert reach.dial_address("172.17.0.5", 80) == ("172.17.0.5", 80)
        assert reach.needed_ports(a_pod(probed(liveness_probe=an_http_probe(80)))) == ()
        assert reach.publish_on == ""

    def test_published_ports_are_dialled_instead(self) -> None:
        reach = PublishedPorts(PortPublishing("0.0.0.0", "build.example"))
        reach.update(
            [a_sandbox("172.17.0.5", p80=32768), a_sandbox("172.17.0.6", p80=9)]
        )

        assert reach.dial_address("172.17.0.5", 80) == ("build.example", 32768)
        assert reach.dial_address("172.17.0.6", 80) == ("build.example", 9)
        assert reach.publish_on == "0.0.0.0"

    @pytest.mark.parametrize(
        ("address", "port"),
        [
            pytest.param("172.17.0.5", 81, id="another port"),
            pytest.param("172.17.0.7", 80, id="another pod"),
            pytest.param("", 80, id="no address"),
        ],
    )
    def test_what_is_not_published_is_left_as_it_is(
        self, address: str, port: int
    ) -> None:
        reach = PublishedPorts(ON_LOOPBACK)
        reach.update([a_sandbox("172.17.0.5", p80=32768), a_sandbox("", p80=1)])

        assert reach.dial_address(address, port) == (address, port)

    def test_a_sandbox_that_is_gone_is_forgotten(self) -> None:
        reach = PublishedPorts(ON_LOOPBACK)
        reach.update([a_sandbox("172.17.0.5", p80=32768)])

        reach.update([])
        reach.add(a_sandbox("172.17.0.6", p80=32769))

        assert reach.dial_address("172.17.0.5", 80) == ("172.17.0.5", 80)
        assert reach.dial_address("172.17.0.6", 80) == ("127.0.0.1", 32769)

    def test_the_nodes_network_needs_no_publishing(self) -> None:
        pod = a_pod(probed(liveness_probe=an_http_probe(80)), host_network=True)

        assert PublishedPorts(ON_LOOPBACK).needed_ports(pod) == ()
