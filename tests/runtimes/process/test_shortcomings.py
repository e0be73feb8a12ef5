from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from probetui.k8s.network import DNSConfig, HostAlias
from probetui.k8s.pod import ContainerPort, Resources, VolumeMount
from probetui.k8s.security import PodSecurityContext, SecurityContext
from probetui.k8s.volume import MEMORY, EmptyDir, HostPath, Volume
from probetui.ports import Shortcoming
from probetui.runtimes.process.shortcomings import shortcomings
from tests.builders import a_container, a_pod, an_http_probe, env


def test_a_pod_for_which_processes_will_do() -> None:
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

    assert list(shortcomings(pod)) == []


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
def test_fields_of_a_pod(fields: dict[str, Any], names: list[str]) -> None:
    found = shortcomings(a_pod(**fields))

    assert [each.path for each in found] == [f"spec.{each}" for each in names]


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
def test_fields_of_a_container(fields: dict[str, Any], names: list[str]) -> None:
    found = shortcomings(a_pod(a_container(), a_container("b", **fields)))

    assert [each.path for each in found] == [
        f"spec.containers[1].{each}" for each in names
    ]


def test_it_is_said_where_things_are_instead() -> None:
    app = a_container(
        volume_mounts=(VolumeMount("a", "/srv/a"),), termination_message_path="/m"
    )

    words, mount = shortcomings(a_pod(app))

    assert words == Shortcoming(
        "spec.containers[0].terminationMessagePath", "is $HOME/m for a process"
    )
    assert mount.message.startswith("is $HOME/srv/a for a process")
