from __future__ import annotations

from decimal import Decimal

import pytest

from probetui.k8s.network import DNSConfig, DNSOption
from probetui.k8s.pod import Pod, VolumeMount
from probetui.k8s.security import PodSecurityContext, SecurityContext
from probetui.k8s.volume import MEMORY, EmptyDir, HostPath, Volume
from probetui.runtimes.docker.shortcomings import shortcomings
from tests.builders import a_container, a_pod

CONFIG = DNSConfig(("1.1.1.1",), ("a.b",), (DNSOption("ndots"),))


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
def test_nothing_is_to_be_said(pod: Pod) -> None:
    assert list(shortcomings(pod)) == []


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
def test_what_is_done_otherwise_is_told_by_field(pod: Pod, paths: list[str]) -> None:
    assert [each.path for each in shortcomings(pod)] == paths
