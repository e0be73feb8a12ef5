"""What a CRI runtime is asked to make."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

import probetui
from probetui.k8s.pod import (
    Container,
    ContainerPort,
    EnvVar,
    PodSecurityContext,
    Resources,
    SecurityContext,
)
from probetui.k8s.stop_signals import LINUX_STOP_SIGNALS
from probetui.kubelet.effects import CreateContainer
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.configs import (
    MASKED_PATHS,
    READONLY_PATHS,
    container_config,
    sandbox_config,
    stop_signal_name,
)
from probetui.runtimes.cri.dns import ResolvConf
from tests.builders import a_container, a_pod

IMAGE_ID = "sha256:" + "1c" * 32
NO_NAMES = ResolvConf()


def as_dict(message: Any) -> dict[str, Any]:
    """Return what a message says, and nothing of what it does not."""
    found: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    return found


def sandbox(attempt: int = 0, *containers: Container, **fields: Any) -> Any:
    """Return what is asked for the sandbox of the pod `web`."""
    return sandbox_config(a_pod(*containers, **fields), attempt, "me", NO_NAMES)


def sandbox_security(**fields: Any) -> dict[str, Any]:
    return as_dict(sandbox(**fields).linux.security_context)


def created(container: Container, attempt: int = 0, **fields: Any) -> Any:
    """Return what is asked for a container of the pod `web`."""
    operation = CreateContainer(
        a_pod(container, **fields), container, "5a", attempt, IMAGE_ID
    )
    return container_config(operation, "me", [])


def security(context: SecurityContext | None = None, **fields: Any) -> dict[str, Any]:
    container = a_container(security_context=context or SecurityContext())
    return as_dict(created(container, **fields).linux.security_context)


def resources(**fields: dict[str, str]) -> dict[str, int]:
    quantities = {
        kind: {name: Decimal(value) for name, value in field.items()}
        for kind, field in fields.items()
    }
    found = created(a_container(resources=Resources(**quantities))).linux.resources
    return {name.name: value for name, value in found.ListFields()}  # only what is said


class TestSandboxes:
    """Sandboxes."""

    def test_a_sandbox_is_named_as_the_kubelet_names_it(self) -> None:
        config = sandbox(2, namespace="shop", labels={"app": "web"})

        assert config.metadata == cri.PodSandboxMetadata(
            name="web", uid="uid-of-web", namespace="shop", attempt=2
        )
        assert config.log_directory == "/var/log/pods/shop_web_uid-of-web"
        assert dict(config.labels) == {
            "app": "web",
            "io.kubernetes.pod.name": "web",
            "io.kubernetes.pod.namespace": "shop",
            "io.kubernetes.pod.uid": "uid-of-web",
            "dev.probetui.owner": "me",
            "dev.probetui.version": probetui.__version__,
        }

    def test_a_sandbox_has_the_pods_annotations(self) -> None:
        assert dict(sandbox(annotations={"a": "b"}).annotations) == {"a": "b"}

    @pytest.mark.parametrize(
        ("fields", "hostname"),
        [
            pytest.param({}, "web", id="name"),
            pytest.param({"hostname": "db-0"}, "db-0", id="its own"),
            pytest.param({"hostname": "a" * 62 + "-b"}, "a" * 62, id="too long"),
            pytest.param({"host_network": True}, "", id="network of the machine"),
        ],
    )
    def test_a_sandbox_has_a_host_name(
        self, fields: dict[str, Any], hostname: str
    ) -> None:
        assert sandbox(**fields).hostname == hostname

    def test_ports_of_containers_are_passed_on(self) -> None:
        container = a_container(
            ports=(
                ContainerPort(80, host_port=8080, host_ip="127.0.0.1"),
                ContainerPort(53, protocol="UDP"),
            )
        )

        found = sandbox(0, container).port_mappings

        assert list(found) == [
            cri.PortMapping(container_port=80, host_port=8080, host_ip="127.0.0.1"),
            cri.PortMapping(protocol=cri.UDP, container_port=53),
        ]

    def test_in_the_network_of_the_machine_no_port_is_mapped(self) -> None:
        container = a_container(ports=(ContainerPort(80, host_port=80),))

        assert not sandbox(0, container, host_network=True).port_mappings

    def test_dns_settings_are_passed_on(self) -> None:
        names = ResolvConf(("192.0.2.53",), ("a.test",), ("ndots:3",))

        found = sandbox_config(a_pod(), 0, "me", names).dns_config

        assert found == cri.DNSConfig(
            servers=["192.0.2.53"], searches=["a.test"], options=["ndots:3"]
        )

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            pytest.param({}, {"pid": "CONTAINER"}, id="usual"),
            pytest.param({"share_process_namespace": True}, {}, id="shared processes"),
            pytest.param({"host_pid": True}, {"pid": "NODE"}, id="node's processes"),
            pytest.param(
                {"host_network": True, "host_ipc": True},
                {"network": "NODE", "pid": "CONTAINER", "ipc": "NODE"},
                id="node's network and memory",
            ),
        ],
    )
    def test_namespaces_are_those_of_the_pod(
        self, fields: dict[str, Any], expected: dict[str, str]
    ) -> None:
        assert sandbox_security(**fields)["namespace_options"] == expected
        assert security(**fields)["namespace_options"] == expected

    def test_a_sandbox_runs_as_the_pods_user(self) -> None:
        context = PodSecurityContext(
            run_as_user=1, run_as_group=2, fs_group=3, supplemental_groups=(4,)
        )

        found = sandbox_security(security_context=context)

        assert found["run_as_user"] == {"value": "1"}
        assert found["run_as_group"] == {"value": "2"}
        assert found["supplemental_groups"] == ["3", "4"]

    def test_a_group_without_a_user_is_left_out_of_a_sandbox(self) -> None:
        found = sandbox_security(security_context=PodSecurityContext(run_as_group=2))

        assert "run_as_group" not in found

    def test_a_privileged_container_needs_a_privileged_sandbox(self) -> None:
        strong = a_container(security_context=SecurityContext(privileged=True))

        assert sandbox(0, strong).linux.security_context.privileged
        assert not sandbox().linux.security_context.privileged


class TestContainers:
    """Containers."""

    def test_a_container_is_named_as_the_kubelet_names_it(self) -> None:
        config = created(a_container(), attempt=3, namespace="shop")

        assert config.metadata == cri.ContainerMetadata(name="app", attempt=3)
        assert config.log_path == "app/3.log"
        assert dict(config.labels) == {
            "io.kubernetes.container.name": "app",
            "io.kubernetes.pod.name": "web",
            "io.kubernetes.pod.namespace": "shop",
            "io.kubernetes.pod.uid": "uid-of-web",
            "dev.probetui.owner": "me",
            "dev.probetui.version": probetui.__version__,
        }
        assert config.annotations["io.kubernetes.container.restartCount"] == "3"
        assert config.annotations["io.kubernetes.container.hash"] == "395745"
        assert config.annotations["dev.probetui.image"] == "busybox:1.36"

    def test_a_container_is_created_from_the_inspected_image(self) -> None:
        found = created(a_container()).image

        assert found == cri.ImageSpec(
            image=IMAGE_ID, user_specified_image="busybox:1.36"
        )

    def test_a_container_runs_its_command(self) -> None:
        config = created(
            a_container(
                command=("sh", "-c"),
                args=("env",),
                working_dir="/tmp",
                env=(EnvVar("A", "1"), EnvVar("B", "")),
                stdin=True,
                stdin_once=True,
                tty=True,
            )
        )

        assert (list(config.command), list(config.args)) == (["sh", "-c"], ["env"])
        assert config.working_dir == "/tmp"
        assert [(env.key, env.value) for env in config.envs] == [
            ("A", "1"),
            ("B", ""),
        ]
        assert (config.stdin, config.stdin_once, config.tty) == (True, True, True)

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            pytest.param({}, {"cpu_shares": 2}, id="nothing said"),
            pytest.param({"requests": {"cpu": "0.5"}}, {"cpu_shares": 512}, id="asked"),
            pytest.param(
                {"limits": {"cpu": "0.25", "memory": "1024"}},
                {
                    "cpu_shares": 256,
                    "cpu_period": 100_000,
                    "cpu_quota": 25_000,
                    "memory_limit_in_bytes": 1024,
                },
                id="limits",
            ),
            pytest.param(
                {"limits": {"cpu": "0.001"}},
                {"cpu_shares": 2, "cpu_period": 100_000, "cpu_quota": 1_000},
                id="the least there is",
            ),
        ],
    )
    def test_limits_are_in_the_kernels_units(
        self, fields: dict[str, dict[str, str]], expected: dict[str, int]
    ) -> None:
        assert resources(**fields) == expected


class TestSecurity:
    """What containers may do, and as whom."""

    def test_without_a_word_system_calls_are_free_and_sensitive_paths_are_not(
        self,
    ) -> None:
        assert security() == {
            "capabilities": {},
            "namespace_options": {"pid": "CONTAINER"},
            "masked_paths": list(MASKED_PATHS),
            "readonly_paths": list(READONLY_PATHS),
            "seccomp": {"profile_type": "Unconfined"},
        }

    @pytest.mark.parametrize(
        ("context", "expected"),
        [
            pytest.param(
                SecurityContext(run_as_user=0, run_as_group=2),
                {"run_as_user": {}, "run_as_group": {"value": "2"}},
                id="numbers",
            ),
            pytest.param(
                SecurityContext(run_as_user_name="app", run_as_group=2),
                {"run_as_username": "app", "run_as_group": {"value": "2"}},
                id="name of the image's user",
            ),
            pytest.param(
                SecurityContext(privileged=True), {"privileged": True}, id="privileged"
            ),
            pytest.param(
                SecurityContext(read_only_root_filesystem=True),
                {"readonly_rootfs": True},
                id="read-only",
            ),
            pytest.param(
                SecurityContext(allow_privilege_escalation=False),
                {"no_new_privs": True},
                id="no more privileges",
            ),
            pytest.param(
                SecurityContext(add_capabilities=("KILL",), drop_capabilities=("ALL",)),
                {
                    "capabilities": {
                        "add_capabilities": ["KILL"],
                        "drop_capabilities": ["ALL"],
                    }
                },
                id="capabilities",
            ),
            pytest.param(
                SecurityContext(seccomp_profile="RuntimeDefault"),
                {"seccomp": {}},
                id="profile of the runtime",
            ),
        ],
    )
    def test_a_container_has_its_security_context(
        self, context: SecurityContext, expected: dict[str, Any]
    ) -> None:
        assert security(context) == {**security(), **expected}

    def test_a_group_without_a_user_is_left_out(self) -> None:
        assert security(SecurityContext(run_as_group=2)) == security()

    def test_groups_are_the_pods(self) -> None:
        context = PodSecurityContext(fs_group=3, supplemental_groups=(4,))

        assert security(security_context=context)["supplemental_groups"] == ["3", "4"]


@pytest.mark.parametrize(
    ("signal", "number"),
    [
        pytest.param("", cri.RUNTIME_DEFAULT, id="the image's"),
        pytest.param("SIGUSR1", cri.SIGUSR1, id="named"),
        pytest.param("SIGRTMIN+3", cri.SIGRTMINPLUS3, id="after the first"),
        pytest.param("SIGRTMAX-1", cri.SIGRTMAXMINUS1, id="before the last"),
    ],
)
def test_the_runtime_gets_the_stop_signal(signal: str, number: int) -> None:
    config = created(a_container(stop_signal=signal))

    assert config.stop_signal == number
    assert stop_signal_name(number) == signal


def test_the_cri_has_every_signal_that_a_manifest_may_name() -> None:
    numbers = cri.Signal.values()

    assert set(map(stop_signal_name, numbers)) == {"", *LINUX_STOP_SIGNALS}


def test_a_signal_of_a_later_cri_has_no_name() -> None:
    assert stop_signal_name(66) == ""
