"""The access of a pod to its host."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.analysis.findings import FINDING_RULES
from probetui.analysis.host_access import host_access_findings
from probetui.k8s.pod import (
    Container,
    ContainerPort,
    Pod,
    PodSecurityContext,
    SecurityContext,
    VolumeMount,
)
from probetui.k8s.volume import EmptyDir, HostPath, Volume
from probetui.manifest.problem import Severity
from tests.builders import a_container, a_pod

APP = a_container("app")


def found(pod: Pod) -> dict[str, str]:
    return {finding.rule: finding.path for finding in host_access_findings(pod)}


def with_folder(
    path: str, *, type_: str = "", read_only: bool = False, app: Container = APP
) -> Pod:
    mount = VolumeMount("folder", "/in", read_only=read_only)
    app = replace(app, volume_mounts=(mount,))
    return replace(a_pod(app), volumes=(Volume("folder", HostPath(path, type_)),))


def secured(**fields: object) -> Container:
    return replace(APP, security_context=SecurityContext(**fields))  # type: ignore[arg-type]  # a row's own


def test_a_pod_that_asks_for_nothing_may_do_nothing() -> None:
    pod = replace(a_pod(APP), volumes=(Volume("a", EmptyDir()),))

    assert found(pod) == {}


@pytest.mark.parametrize(
    ("pod", "rule", "path"),
    [
        pytest.param(
            replace(a_pod(APP), host_pid=True), "host-pid", "spec.hostPID", id="pid"
        ),
        pytest.param(
            replace(a_pod(APP), host_ipc=True), "host-ipc", "spec.hostIPC", id="ipc"
        ),
        pytest.param(
            replace(a_pod(APP), host_network=True),
            "host-network",
            "spec.hostNetwork",
            id="network",
        ),
        pytest.param(
            a_pod(secured(privileged=True)),
            "host-privileged",
            "spec.containers[0].securityContext.privileged",
            id="privileged",
        ),
        pytest.param(
            replace(a_pod(APP), init_containers=(secured(privileged=True),)),
            "host-privileged",
            "spec.initContainers[0].securityContext.privileged",
            id="privileged init container",
        ),
        pytest.param(
            a_pod(secured(add_capabilities=("CHOWN", "cap_sys_admin"))),
            "host-capability",
            "spec.containers[0].securityContext.capabilities.add[1]",
            id="capability",
        ),
        pytest.param(
            a_pod(secured(seccomp_profile="Unconfined")),
            "host-seccomp",
            "spec.containers[0].securityContext.seccompProfile.type",
            id="seccomp",
        ),
        pytest.param(
            replace(
                a_pod(APP),
                security_context=PodSecurityContext(seccomp_profile="Unconfined"),
            ),
            "host-seccomp",
            "spec.securityContext.seccompProfile.type",
            id="seccomp of the pod",
        ),
        pytest.param(
            a_pod(replace(APP, ports=(ContainerPort(80, host_port=8080),))),
            "host-port",
            "spec.containers[0].ports[0].hostPort",
            id="port",
        ),
        pytest.param(
            with_folder("/data", app=secured(run_as_user=0)),
            "host-path-as-root",
            "spec.containers[0].securityContext.runAsUser",
            id="root on a hostPath",
        ),
        pytest.param(
            replace(
                with_folder("/data"), security_context=PodSecurityContext(run_as_user=0)
            ),
            "host-path-as-root",
            "spec.securityContext.runAsUser",
            id="root of the pod on a hostPath",
        ),
        pytest.param(
            with_folder("/data", app=secured(allow_privilege_escalation=True)),
            "host-path-as-root",
            "spec.containers[0].securityContext.allowPrivilegeEscalation",
            id="escalation on a hostPath",
        ),
        pytest.param(
            with_folder("/data", type_="BlockDevice"),
            "host-device",
            "spec.volumes[0].hostPath.path",
            id="device",
        ),
    ],
)
def test_what_reaches_the_machine_is_named(pod: Pod, rule: str, path: str) -> None:
    assert found(pod) == {rule: path}
    assert FINDING_RULES[rule].severity is not Severity.ERROR


@pytest.mark.parametrize(
    "path",
    [
        "/", "//", "/.", "/etc", "/etc/", "/etc/shadow", "/x/../etc", "/proc", "/sys",
        "/dev/sda", "/run/user/1000", "/root", "/root/x", "/home", "/home/me",
        "/home/me/.ssh", "/home/me/project/.kube", "/boot", "/var", "/var/lib/docker",
        "/usr/bin", "/Users/me",
    ],
)  # fmt: skip
def test_folders_of_the_system_are_known(path: str) -> None:
    assert found(with_folder(path)) == {
        "host-path-system": "spec.volumes[0].hostPath.path"
    }


@pytest.mark.parametrize(
    "path",
    [
        "/data",
        "/home/me/project",
        "/tmp/x",
        "/srv/etc",
        "/etcetera",
        "/opt/app",
        "/mnt",
    ],
)
def test_any_other_folder_is_not_reported(path: str) -> None:
    assert found(with_folder(path)) == {}


@pytest.mark.parametrize(
    "path",
    [
        "/var/run/docker.sock",
        "/run/containerd/containerd.sock",
        "/run/k3s/containerd/containerd.sock",
        "/var/run/crio/crio.sock",
        "/run/user/1000/podman/podman.sock",
        "/somewhere/docker.sock",
        "/var/run",
        "/run/containerd",
    ],
)
@pytest.mark.parametrize("read_only", [True, False])
def test_sockets_of_runtimes_are_known(path: str, read_only: bool) -> None:  # noqa: FBT001  # a row of the table
    assert found(with_folder(path, read_only=read_only)) == {
        "host-runtime-socket": "spec.volumes[0].hostPath.path"
    }


def test_a_read_only_folder_is_reported_as_such() -> None:
    (reads,) = host_access_findings(with_folder("/etc", read_only=True))
    (changes,) = host_access_findings(with_folder("/etc"))

    assert reads.message == 'reads this machine\'s "/etc"'
    assert changes.message == 'reads and changes this machine\'s "/etc"'


def test_a_volume_without_a_mount_is_not_reported() -> None:
    pod = replace(a_pod(APP), volumes=(Volume("folder", HostPath("/")),))

    assert found(pod) == {}


def test_ports_of_the_loopback_or_of_the_host_network_are_not_reported() -> None:
    local = ContainerPort(80, host_port=8080, host_ip="127.0.0.1")
    of_host = ContainerPort(80, host_port=80)

    assert found(a_pod(replace(APP, ports=(local,)))) == {}
    pod = replace(a_pod(replace(APP, ports=(of_host,))), host_network=True)
    assert set(found(pod)) == {"host-network"}


@pytest.mark.parametrize(
    ("pod", "messages"),
    [
        pytest.param(
            replace(a_pod(APP), host_pid=True, host_ipc=True, host_network=True),
            [
                "sees every process of this machine",
                "uses the network of this machine, its loopback included",
                "reads and changes shared memory of this machine's programs",
            ],
            id="the machine's own",
        ),
        pytest.param(
            a_pod(
                secured(
                    privileged=True,
                    add_capabilities=("cap_sys_admin", "net_raw"),
                    seccomp_profile="Unconfined",
                )
            ),
            [
                "has every device and capability: all that root may do here",
                (
                    '"cap_sys_admin" mounts, changes name spaces: nearly all that '
                    "root may do"
                ),
                '"net_raw" forges packets in its network',
                "is Unconfined: may make every system call of this machine's kernel",
            ],
            id="privileges",
        ),
        pytest.param(
            a_pod(replace(APP, ports=(ContainerPort(80, host_port=8080),))),
            ["8080 is open to all who reach this machine"],
            id="port",
        ),
        pytest.param(
            with_folder(
                "/data", app=secured(run_as_user=0, allow_privilege_escalation=True)
            ),
            [
                'writes to "/data" as this machine\'s root',
                'may become root, and write to "/data" as this machine\'s',
            ],
            id="root",
        ),
        pytest.param(
            with_folder("/dev/sda", type_="BlockDevice"),
            ['reads and changes this machine\'s device "/dev/sda"'],
            id="device",
        ),
        pytest.param(
            with_folder("/var/run/docker.sock"),
            [
                (
                    '"/var/run/docker.sock" commands the container runtime, as root, '
                    "also if read-only"
                )
            ],
            id="socket",
        ),
    ],
)
def test_what_it_may_do_to_the_machine_is_said(pod: Pod, messages: list[str]) -> None:
    assert [finding.message for finding in host_access_findings(pod)] == messages


def test_a_folder_is_changed_if_one_of_two_mounts_is_not_read_only() -> None:
    mounts = VolumeMount("a", "/in", read_only=True), VolumeMount("a", "/out")
    other = VolumeMount("b", "/b", read_only=True)
    pod = replace(
        a_pod(replace(APP, volume_mounts=(*mounts, other))),
        volumes=(
            Volume("empty", EmptyDir()),
            Volume("b", HostPath("/usr")),
            Volume("a", HostPath("etc")),
        ),
    )

    assert [
        f"{finding.path}: {finding.message}" for finding in host_access_findings(pod)
    ] == [
        'spec.volumes[1].hostPath.path: reads this machine\'s "/usr"',
        'spec.volumes[2].hostPath.path: reads and changes this machine\'s "etc"',
    ]


def test_who_is_not_root_writes_as_nobody_else() -> None:
    own = with_folder("/data", app=secured(run_as_user=1000))
    pod = replace(own, security_context=PodSecurityContext(run_as_user=0))

    assert found(pod) == {}
    assert found(with_folder("/data", app=secured(run_as_user=0), read_only=True)) == {}
