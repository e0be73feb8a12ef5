"""What a CRI runtime does otherwise than in a cluster."""

from __future__ import annotations

from decimal import Decimal

import pytest

from probetui.k8s.network import DNSConfig
from probetui.k8s.pod import VolumeMount
from probetui.k8s.volume import MEMORY, EmptyDir, HostPath, Volume
from probetui.ports import Shortcoming
from probetui.runtimes.cri.shortcomings import shortcomings
from tests.builders import a_container, a_pod

NOT_ENFORCED = "is not enforced, nobody is evicted for what is on disk"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(EmptyDir(), [], id="on disk"),
        pytest.param(EmptyDir(MEMORY, Decimal(1)), [], id="in memory, with a limit"),
        pytest.param(HostPath("/a"), [], id="of the host"),
        pytest.param(
            EmptyDir("HugePages"),
            [("medium", "is not carried out, it is on disk")],
            id="another medium",
        ),
        pytest.param(
            EmptyDir(size_limit=Decimal(1)),
            [("sizeLimit", NOT_ENFORCED)],
            id="on disk, with a limit",
        ),
    ],
)
def test_what_a_volume_lacks_is_said(
    source: EmptyDir | HostPath, expected: list[tuple[str, str]]
) -> None:
    pod = a_pod(volumes=(Volume("other"), Volume("data", source)))

    assert list(shortcomings(pod)) == [
        Shortcoming(f"spec.volumes[1].emptyDir.{field}", message)
        for field, message in expected
    ]


def test_names_and_propagation_are_carried_out() -> None:
    mount = VolumeMount("data", "/data", mount_propagation="HostToContainer")
    pod = a_pod(
        a_container(volume_mounts=(mount,)),
        volumes=(Volume("data"),),
        dns_config=DNSConfig(("192.0.2.53",)),
    )

    assert list(shortcomings(pod)) == []
