from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from probetui.k8s.pod import (
    ContainerPort,
    DNSConfig,
    DNSOption,
    HostAlias,
    Pod,
    PodSecurityContext,
    Resources,
    SecurityContext,
    VolumeMount,
)
from probetui.k8s.volume import MEMORY, EmptyDir, HostPath, Volume
from probetui.ports import UnsupportedField
from probetui.runtimes.unsupported_fields import (
    unsupported_by_cri,
    unsupported_by_docker,
    unsupported_by_processes,
)
from tests.builders import a_container, a_pod, an_http_probe, env

CONFIG = DNSConfig(("1.1.1.1",), ("a.b",), (DNSOption("ndots"),))

# -- Docker


def mounting(source: EmptyDir | HostPath, propagation: str) -> Pod:
    mounts = (
        VolumeMount("other", "/o"),
        VolumeMount("v", "/v", mount_propagation=propagation),
    )
    return a_pod(
        a_container(),
        init_containers=(a_container("init", volume_mounts=mounts),),
        volumes=(Volume("other"), Volume("v", source)),
    )


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod(), id="plain"),
        pytest.param(
            a_pod(
                a_container(
                    tty=True, security_context=SecurityContext(privileged=True)
                ),
                host_network=True,
                security_context=PodSecurityContext(fs_group=1),
                volumes=(Volume("m", EmptyDir(MEMORY, Decimal(1))),),
                dns_policy="None",
                dns_config=CONFIG,
            ),
            id="all that containers can do",
        ),
        pytest.param(mounting(HostPath("/"), "Bidirectional"), id="host path"),
        pytest.param(mounting(EmptyDir(), "None"), id="no propagation"),
    ],
)
def test_docker_supports_the_fields(pod: Pod) -> None:
    assert list(unsupported_by_docker(pod)) == []


@pytest.mark.parametrize(
    ("pod", "paths"),
    [
        pytest.param(
            a_pod(dns_config=CONFIG),
            [
                "spec.dnsConfig.nameservers",
                "spec.dnsConfig.searches",
                "spec.dnsConfig.options",
            ],
            id="names",
        ),
        pytest.param(
            a_pod(
                volumes=(
                    Volume("a"),
                    Volume("b", EmptyDir(size_limit=Decimal(1))),
                    Volume("c", EmptyDir("HugePages")),
                )
            ),
            ["spec.volumes[1].emptyDir.sizeLimit", "spec.volumes[2].emptyDir.medium"],
            id="empty volumes",
        ),
        pytest.param(
            mounting(EmptyDir(), "HostToContainer"),
            ["spec.initContainers[0].volumeMounts[1].mountPropagation"],
            id="propagation",
        ),
    ],
)
def test_fields_that_docker_does_not_support(pod: Pod, paths: list[str]) -> None:
    assert [field.path for field in unsupported_by_docker(pod)] == paths


# -- CRI runtimes

NOT_ENFORCED = "is not enforced: no pod is evicted for what is on disk"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(EmptyDir(), [], id="on disk"),
        pytest.param(EmptyDir(MEMORY, Decimal(1)), [], id="in memory, with a limit"),
        pytest.param(HostPath("/a"), [], id="of the host"),
        pytest.param(
            EmptyDir("HugePages"),
            [("medium", "is not supported: the volume is on disk")],
            id="another medium",
        ),
        pytest.param(
            EmptyDir(size_limit=Decimal(1)),
            [("sizeLimit", NOT_ENFORCED)],
            id="on disk, with a limit",
        ),
    ],
)
def test_fields_of_volumes_that_cri_runtimes_do_not_support(
    source: EmptyDir | HostPath, expected: list[tuple[str, str]]
) -> None:
    pod = a_pod(volumes=(Volume("other"), Volume("data", source)))

    assert list(unsupported_by_cri(pod)) == [
        UnsupportedField(f"spec.volumes[1].emptyDir.{field}", message)
        for field, message in expected
    ]


def test_older_cri_runtimes_do_not_know_the_stop_signal() -> None:
    (found,) = unsupported_by_cri(a_pod(a_container(stop_signal="SIGUSR1")))

    assert found.path == "spec.containers[0].lifecycle.stopSignal"
    assert found.message.endswith("they send the image's signal")
    assert list(unsupported_by_docker(a_pod(a_container(stop_signal="SIGUSR1")))) == []


def test_cri_runtimes_support_names_and_propagation() -> None:
    mount = VolumeMount("data", "/data", mount_propagation="HostToContainer")
    pod = a_pod(
        a_container(volume_mounts=(mount,)),
        volumes=(Volume("data"),),
        dns_config=DNSConfig(("192.0.2.53",)),
    )

    assert list(unsupported_by_cri(pod)) == []


# -- processes


def test_processes_support_the_fields() -> None:
    app = a_container(
        env=env(A="1"),
        liveness_probe=an_http_probe(),
        ports=(ContainerPort(80), ContainerPort(81, host_port=81)),
        resources=Resources(requests={"cpu": Decimal(1)}),
        security_context=SecurityContext(
            privileged=False,
            allow_privilege_escalation=True,
            read_only_root_filesystem=False,
        ),
    )
    pod = a_pod(
        app, host_network=True, volumes=(Volume("a"), Volume("b", HostPath("/")))
    )

    assert list(unsupported_by_processes(pod)) == []


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        pytest.param(
            {"hostname": "h", "host_aliases": (HostAlias("1.1.1.1", ("a",)),)},
            ["hostname", "hostAliases"],
            id="own-names",
        ),
        pytest.param(
            {"dns_policy": "None", "dns_config": DNSConfig(("1.1.1.1",))},
            ["dnsPolicy", "dnsConfig"],
            id="name-servers",
        ),
        pytest.param(
            {
                "security_context": PodSecurityContext(
                    run_as_user=0,
                    run_as_group=0,
                    supplemental_groups=(1,),
                    fs_group=0,
                    seccomp_profile="Unconfined",
                )
            },
            [
                "securityContext.runAsUser",
                "securityContext.runAsGroup",
                "securityContext.supplementalGroups",
                "securityContext.fsGroup",
                "securityContext.seccompProfile",
            ],
            id="security",
        ),
        pytest.param(
            {"volumes": (Volume("a", EmptyDir(MEMORY, Decimal(1))),)},
            ["volumes[0].emptyDir.medium", "volumes[0].emptyDir.sizeLimit"],
            id="volumes",
        ),
    ],
)
def test_fields_of_a_pod_that_processes_do_not_support(
    fields: dict[str, Any], names: list[str]
) -> None:
    found = unsupported_by_processes(a_pod(**fields))

    assert [field.path for field in found] == [f"spec.{name}" for name in names]


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        pytest.param({"tty": True, "stdin": True}, ["stdin", "tty"], id="terminal"),
        pytest.param(
            {"resources": Resources(limits={"cpu": Decimal(1)})},
            ["resources.limits"],
            id="limits",
        ),
        pytest.param(
            {
                "security_context": SecurityContext(
                    run_as_user=0,
                    run_as_group=0,
                    privileged=True,
                    read_only_root_filesystem=True,
                    allow_privilege_escalation=False,
                    drop_capabilities=("ALL",),
                    seccomp_profile="Unconfined",
                )
            },
            [
                "securityContext.runAsUser",
                "securityContext.runAsGroup",
                "securityContext.privileged",
                "securityContext.capabilities",
                "securityContext.allowPrivilegeEscalation",
                "securityContext.readOnlyRootFilesystem",
                "securityContext.seccompProfile",
            ],
            id="security",
        ),
        pytest.param(
            {"ports": (ContainerPort(80), ContainerPort(80, host_port=8080))},
            ["ports[1].hostPort"],
            id="port",
        ),
        pytest.param(
            {"volume_mounts": (VolumeMount("a", "/a", read_only=True),)},
            ["volumeMounts[0].mountPath", "volumeMounts[0].readOnly"],
            id="mount",
        ),
    ],
)
def test_fields_of_a_container_that_processes_do_not_support(
    fields: dict[str, Any], names: list[str]
) -> None:
    found = unsupported_by_processes(a_pod(a_container(), a_container("b", **fields)))

    assert [field.path for field in found] == [
        f"spec.containers[1].{name}" for name in names
    ]


def test_paths_of_processes_are_below_the_home() -> None:
    app = a_container(
        volume_mounts=(VolumeMount("a", "/srv/a"),), termination_message_path="/m"
    )

    words, mount = unsupported_by_processes(a_pod(app))

    assert words == UnsupportedField(
        "spec.containers[0].terminationMessagePath", "is $HOME/m for a process"
    )
    assert mount.message.startswith("is $HOME/srv/a for a process")
