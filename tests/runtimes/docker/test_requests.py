"""What Docker is asked to make."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import probetui
from probetui.k8s.pod import (
    ContainerPort,
    DNSConfig,
    DNSOption,
    HostAlias,
    PodSecurityContext,
    Resources,
    SecurityContext,
)
from probetui.kubelet.kuberuntime.container_hash import container_hash
from probetui.runtimes.docker.port_publishing import DockerDaemon
from probetui.runtimes.docker.requests import limit_log, sandbox_request
from probetui.runtimes.translation import OWNER, VERSION, hostname
from tests.builders import a_container, a_pod, env
from tests.runtimes.docker.asked import IMAGE_ID, SANDBOX_ID, created, sandbox


class TestSandboxRequest:
    """What makes a sandbox."""

    def test_it_shares_its_namespaces_and_is_named_after_the_pod(self) -> None:
        request = sandbox(attempt=3, labels={"app": "shop"})

        assert request["HostConfig"]["NetworkMode"] == "default"
        assert request["HostConfig"]["IpcMode"] == "shareable"
        assert request["Hostname"] == "web"
        assert {
            "app": "shop",
            "io.kubernetes.pod.name": "web",
            "io.kubernetes.pod.namespace": "default",
            "io.kubernetes.pod.uid": "uid-of-web",
            "io.kubernetes.docker.type": "podsandbox",
            OWNER: "me",
            VERSION: probetui.__version__,
        }.items() <= request["Labels"].items()

    def test_labels_of_the_pod_never_replace_ours(self) -> None:
        request = sandbox(labels={OWNER: "you", "io.kubernetes.pod.uid": "other"})

        assert request["Labels"][OWNER] == "me"
        assert request["Labels"]["io.kubernetes.pod.uid"] == "uid-of-web"

    def test_the_nodes_network_comes_with_the_nodes_name(self) -> None:
        request = sandbox(host_network=True)

        assert request["HostConfig"]["NetworkMode"] == "host"
        assert request["Hostname"] is None

    def test_ports_are_published_on_free_ports_of_the_requested_address(self) -> None:
        request = sandbox_request(
            a_pod(),
            0,
            image="pause",
            command=(),
            owner="me",
            published=(80, 9090),
            publish_on="127.0.0.1",
        )

        anywhere = [{"HostIp": "127.0.0.1", "HostPort": ""}]
        assert request["ExposedPorts"] == {"80/tcp": {}, "9090/tcp": {}}
        assert request["HostConfig"]["PortBindings"] == {
            "80/tcp": anywhere,
            "9090/tcp": anywhere,
        }

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            pytest.param({"name": "web-0"}, "web-0", id="pod name"),
            pytest.param({"hostname": "db"}, "db", id="own host name"),
            pytest.param({"name": "x" * 70}, "x" * 63, id="too long"),
            pytest.param(
                {"name": "x" * 61 + "-." + "y"}, "x" * 61, id="cut at a bad end"
            ),
        ],
    )
    def test_host_names_are_cut_as_the_kubelet_cuts_them(
        self, fields: dict[str, str], expected: str
    ) -> None:
        assert hostname(a_pod(**fields)) == expected


class TestContainerRequest:
    """What makes a container."""

    def test_it_joins_network_and_ipc_of_its_sandbox(self) -> None:
        host_config = created(a_container())["HostConfig"]

        assert host_config["NetworkMode"] == f"container:{SANDBOX_ID}"
        assert host_config["IpcMode"] == f"container:{SANDBOX_ID}"
        assert host_config["PidMode"] == ""

    def test_processes_are_shared_if_the_pod_sets_it(self) -> None:
        request = created(a_container(), share_process_namespace=True)

        assert request["HostConfig"]["PidMode"] == f"container:{SANDBOX_ID}"

    @pytest.mark.parametrize(
        ("command", "args", "entrypoint", "cmd"),
        [
            pytest.param((), (), None, None, id="image's own"),
            pytest.param(("a", "b"), (), ["a", "b"], None, id="command"),
            pytest.param((), ("c",), None, ["c"], id="args"),
            pytest.param(("a",), ("c",), ["a"], ["c"], id="both"),
        ],
    )
    def test_command_is_the_entrypoint_and_args_are_the_command(
        self,
        command: tuple[str, ...],
        args: tuple[str, ...],
        entrypoint: list[str] | None,
        cmd: list[str] | None,
    ) -> None:
        request = created(a_container(command=command, args=args))

        assert (request["Entrypoint"], request["Cmd"]) == (entrypoint, cmd)

    def test_environment_and_folder_are_the_containers(self) -> None:
        request = created(a_container(env=env(A="1", B=""), working_dir="/srv"))

        assert request["Env"] == ["A=1", "B="]
        assert request["WorkingDir"] == "/srv"

    def test_the_image_is_the_inspected_one(self) -> None:
        assert created(a_container())["Image"] == IMAGE_ID

    def test_the_images_own_health_check_does_not_run(self) -> None:
        assert created(a_container())["Healthcheck"] == {"Test": ["NONE"]}

    def test_what_the_kubelet_reads_back_is_in_its_labels(self) -> None:
        labels = created(a_container(), attempt=4)["Labels"]

        hash_hex = f"{container_hash(a_container()):x}"
        assert {
            "io.kubernetes.container.name": "app",
            "io.kubernetes.docker.type": "container",
            "io.kubernetes.sandbox.id": SANDBOX_ID,
            "annotation.io.kubernetes.container.hash": hash_hex,
            "annotation.io.kubernetes.container.restartCount": "4",
            "annotation.io.kubernetes.pod.terminationGracePeriod": "30",
        }.items() <= labels.items()

    @pytest.mark.parametrize(
        ("resources", "expected"),
        [
            pytest.param(Resources(), {"CpuShares": 2}, id="none"),
            pytest.param(
                Resources(requests={"cpu": Decimal("0.5")}),
                {"CpuShares": 512},
                id="asked",
            ),
            pytest.param(
                Resources(limits={"cpu": Decimal("0.1"), "memory": Decimal(2**24)}),
                {
                    "CpuShares": 102,
                    "NanoCpus": 100_000_000,
                    "Memory": 2**24,
                    "MemorySwap": 2**24,
                },
                id="limits",
            ),
            pytest.param(
                Resources(
                    requests={"cpu": Decimal("0.001")}, limits={"cpu": Decimal(1)}
                ),
                {"CpuShares": 2, "NanoCpus": 1_000_000_000},
                id="less than the least",
            ),
        ],
    )
    def test_resources_are_in_dockers_units(
        self, resources: Resources, expected: dict[str, int]
    ) -> None:
        host_config = created(a_container(resources=resources))["HostConfig"]

        keys = {"CpuShares", "NanoCpus", "Memory", "MemorySwap"}
        assert {key: host_config[key] for key in host_config.keys() & keys} == expected


class TestNames:
    """How names are resolved in a pod."""

    def test_a_pod_without_dns_settings_resolves_names_as_the_machine(self) -> None:
        assert {"Dns", "DnsSearch", "DnsOptions", "ExtraHosts"}.isdisjoint(
            sandbox()["HostConfig"]
        )

    def test_servers_domains_and_options_are_handed_over(self) -> None:
        config = DNSConfig(
            ("1.1.1.1",), ("a.b",), (DNSOption("ndots", "2"), DNSOption("edns0"))
        )

        asked = sandbox(dns_policy="None", dns_config=config)["HostConfig"]

        assert asked["Dns"] == ["1.1.1.1"]
        assert asked["DnsSearch"] == ["a.b"]
        assert asked["DnsOptions"] == ["ndots:2", "edns0"]

    def test_a_pod_without_a_policy_has_none_of_the_machines_domains(self) -> None:
        config = DNSConfig(("1.1.1.1",))

        asked = sandbox(dns_policy="None", dns_config=config)["HostConfig"]

        assert asked["DnsSearch"] == ["."]

    def test_every_name_of_an_alias_leads_to_its_address(self) -> None:
        aliases = (HostAlias("1.2.3.4", ("a", "b")), HostAlias("::1", ("c",)))

        asked = sandbox(host_aliases=aliases)["HostConfig"]

        assert asked["ExtraHosts"] == ["a:1.2.3.4", "b:1.2.3.4", "c:::1"]


class TestHostPorts:
    """Ports of the daemon's machine that containers ask for."""

    def test_a_port_of_the_machine_leads_to_that_of_the_container(self) -> None:
        ports = (
            ContainerPort(80, host_port=8080),
            ContainerPort(53, protocol="UDP", host_port=5353, host_ip="127.0.0.1"),
            ContainerPort(81),
        )

        asked = sandbox_request(
            a_pod(a_container(ports=ports)), 0, image="pause", command=(), owner="me"
        )

        assert asked["HostConfig"]["PortBindings"] == {
            "80/tcp": [{"HostIp": "", "HostPort": "8080"}],
            "53/udp": [{"HostIp": "127.0.0.1", "HostPort": "5353"}],
        }
        assert asked["ExposedPorts"] == {"80/tcp": {}, "53/udp": {}}

    def test_a_port_may_be_published_for_probes_as_well(self) -> None:
        port = ContainerPort(80, host_port=8080)

        asked = sandbox_request(
            a_pod(a_container(ports=(port,))),
            0,
            image="pause",
            command=(),
            owner="me",
            published=[80],
            publish_on="127.0.0.1",
        )

        assert asked["HostConfig"]["PortBindings"] == {
            "80/tcp": [
                {"HostIp": "127.0.0.1", "HostPort": ""},
                {"HostIp": "", "HostPort": "8080"},
            ]
        }

    def test_in_the_network_of_the_machine_there_is_nothing_to_lead_to(self) -> None:
        app = a_container(ports=(ContainerPort(80, host_port=80),))
        pod = a_pod(app, host_network=True)

        asked = sandbox_request(pod, 0, image="pause", command=(), owner="me")

        assert asked["HostConfig"]["PortBindings"] == {}


class TestSecurity:
    """As whom a container runs, and what it may do."""

    @pytest.mark.parametrize(
        ("context", "user"),
        [
            pytest.param(SecurityContext(), None, id="as the image says"),
            pytest.param(SecurityContext(run_as_user=0), "0", id="root"),
            pytest.param(
                SecurityContext(run_as_user=7, run_as_group=8), "7:8", id="and group"
            ),
            pytest.param(
                SecurityContext(run_as_user_name="www", run_as_group=8),
                "www:8",
                id="by name",
            ),
            pytest.param(
                SecurityContext(run_as_group=8), None, id="a group of nobody known"
            ),
        ],
    )
    def test_user_and_group(self, context: SecurityContext, user: str | None) -> None:
        assert created(a_container(security_context=context))["User"] == user

    def test_groups_of_the_pod_are_the_users_too(self) -> None:
        of_pod = PodSecurityContext(supplemental_groups=(5, 6), fs_group=0)

        asked = created(a_container(), security_context=of_pod)["HostConfig"]

        assert asked["GroupAdd"] == ["0", "5", "6"]

    def test_a_container_without_a_security_context_has_the_defaults_of_docker(
        self,
    ) -> None:
        asked = created(a_container())["HostConfig"]

        assert {
            "Privileged": False,
            "ReadonlyRootfs": False,
            "CapAdd": [],
            "CapDrop": [],
            "SecurityOpt": [],
            "GroupAdd": [],
        }.items() <= asked.items()

    def test_a_container_may_do_more_or_less(self) -> None:
        context = SecurityContext(
            privileged=True,
            read_only_root_filesystem=True,
            allow_privilege_escalation=False,
            add_capabilities=("NET_ADMIN",),
            drop_capabilities=("ALL",),
            seccomp_profile="Unconfined",
        )

        asked = created(a_container(security_context=context))["HostConfig"]

        assert {
            "Privileged": True,
            "ReadonlyRootfs": True,
            "CapAdd": ["NET_ADMIN"],
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges", "seccomp=unconfined"],
        }.items() <= asked.items()

    @pytest.mark.parametrize(
        ("fields", "processes", "messages"),
        [
            pytest.param({}, "", f"container:{SANDBOX_ID}", id="own"),
            pytest.param(
                {"share_process_namespace": True},
                f"container:{SANDBOX_ID}",
                f"container:{SANDBOX_ID}",
                id="shared",
            ),
            pytest.param(
                {"host_pid": True, "host_ipc": True}, "host", "host", id="the machine's"
            ),
        ],
    )
    def test_namespaces(
        self, fields: dict[str, Any], processes: str, messages: str
    ) -> None:
        asked = created(a_container(), **fields)["HostConfig"]

        assert (asked["PidMode"], asked["IpcMode"]) == (processes, messages)

    def test_a_sandbox_may_be_in_the_machines_namespace_for_messages(self) -> None:
        assert sandbox(host_ipc=True)["HostConfig"]["IpcMode"] == "host"


@pytest.mark.parametrize(
    ("driver", "is_limited"),
    [("json-file", True), ("local", False), ("journald", False), ("", False)],
)
def test_a_log_is_limited_where_it_would_grow_without_end(
    driver: str, *, is_limited: bool
) -> None:
    daemon = DockerDaemon.of("unix:///run/docker.sock", {"LoggingDriver": driver})
    assert daemon.keeps_logs_without_limit is is_limited


def test_the_limits_of_a_log_are_a_kubelets() -> None:
    request = created(a_container())
    limit_log(request)
    assert request["HostConfig"]["LogConfig"] == {
        "Type": "json-file",
        "Config": {"max-size": "10485760", "max-file": "5"},
    }
