from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.k8s.pod import Pod, PodSecurityContext, VolumeMount
from probetui.k8s.volume import (
    MEMORY,
    EmptyDir,
    HostPath,
    OtherVolume,
    Projected,
    Volume,
    VolumeSource,
)
from probetui.runtimes.docker.mounts import (
    FILES_FOLDER,
    DockerMounts,
    container_mounts,
    driver_options,
    sandbox_mounts,
    volume_labels,
)
from tests.builders import a_container, a_pod


def a_pod_mounting(source: VolumeSource, **mount: Any) -> Pod:
    mounts = (VolumeMount("data", **{"mount_path": "/data", **mount}),)
    return a_pod(a_container(volume_mounts=mounts), volumes=(Volume("data", source),))


def asked(source: VolumeSource, *, resolved: str = "", **mount: Any) -> DockerMounts:
    pod = a_pod_mounting(source, **mount)
    (only,) = pod.containers[0].volume_mounts
    sources = {only: resolved} if resolved else {}
    return container_mounts(pod, pod.containers[0], "me", sources)


def a_volume(*, read_only: bool = False, **options: Any) -> DockerMounts:
    mount = {
        "Type": "volume",
        "Source": "me_uid-of-web_data",
        "Target": "/data",
        "ReadOnly": read_only,
        "VolumeOptions": {"NoCopy": True, **options},
    }
    return DockerMounts((mount,))


@pytest.mark.parametrize(
    ("source", "mount", "expected"),
    [
        pytest.param(EmptyDir(), {}, a_volume(), id="empty"),
        pytest.param(OtherVolume("nfs"), {}, a_volume(), id="of another kind"),
        pytest.param(
            EmptyDir(), {"read_only": True}, a_volume(read_only=True), id="read-only"
        ),
        pytest.param(Projected(), {}, a_volume(read_only=True), id="files"),
        pytest.param(
            EmptyDir(), {"mount_path": "data"}, a_volume(), id="path without a slash"
        ),
    ],
)
def test_a_volume_of_the_pods_is_one_of_dockers(
    source: VolumeSource, mount: dict[str, Any], expected: DockerMounts
) -> None:
    assert asked(source, **mount) == expected


def test_a_sub_path_is_requested_as_such() -> None:
    found = asked(EmptyDir(), sub_path="a/b")

    assert found == a_volume(Subpath="a/b")


@pytest.mark.parametrize(
    ("source", "read_only"),
    [
        pytest.param(EmptyDir(), False, id="may be written"),
        pytest.param(Projected(), True, id="files"),
        pytest.param(HostPath("/srv"), False, id="of the host"),
    ],
)
def test_what_a_sub_path_was_resolved_to_is_bound_and_has_to_exist(
    source: VolumeSource, *, read_only: bool
) -> None:
    found = asked(source, sub_path="a:b", resolved="/run/ours/0")

    assert found == DockerMounts((
        {
            "Type": "bind",
            "Source": "/run/ours/0",
            "Target": "/data",
            "ReadOnly": read_only,
            "BindOptions": {},
        },
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("path", "mount", "bind"),
    [
        pytest.param("/srv", {}, "/srv:/data:rw", id="as it is"),
        pytest.param("/srv", {"read_only": True}, "/srv:/data:ro", id="read-only"),
        pytest.param("srv", {}, "/srv:/data:rw", id="not a volume of Docker's"),
        pytest.param(
            "/srv",
            {"mount_propagation": "HostToContainer"},
            "/srv:/data:rw,rslave",
            id="mounts of the host show",
        ),
        pytest.param(
            "/srv",
            {"mount_propagation": "Bidirectional"},
            "/srv:/data:rw,rshared",
            id="mounts show both ways",
        ),
        pytest.param(
            "/srv", {"mount_propagation": "None"}, "/srv:/data:rw", id="no mounts show"
        ),
    ],
)
def test_a_path_of_the_host_is_bound(
    path: str, mount: dict[str, Any], bind: str
) -> None:
    assert asked(HostPath(path), **mount) == DockerMounts(binds=(bind,))


def test_a_path_with_a_colon_is_bound_in_the_long_form() -> None:
    found = asked(HostPath("/a:b"), mount_propagation="HostToContainer")

    (mount,) = found.mounts
    assert (mount["Type"], mount["Source"]) == ("bind", "/a:b")
    assert mount["BindOptions"] == {"Propagation": "rslave"}
    assert found.binds == ()


@pytest.mark.parametrize(
    ("source", "group", "options"),
    [
        pytest.param(EmptyDir(), None, {}, id="on disk"),
        pytest.param(
            EmptyDir(MEMORY),
            None,
            {"type": "tmpfs", "device": "tmpfs", "o": "mode=777"},
            id="in memory",
        ),
        pytest.param(
            EmptyDir(MEMORY, Decimal("1024.5")),
            4711,
            {"type": "tmpfs", "device": "tmpfs", "o": "mode=2777,gid=4711,size=1024"},
            id="in memory, of a size and a group",
        ),
        pytest.param(EmptyDir("HugePages"), None, {}, id="of another medium"),
    ],
)
def test_what_is_in_memory_is_so_by_the_driver(
    source: VolumeSource, group: int | None, options: dict[str, str]
) -> None:
    pod = a_pod(security_context=PodSecurityContext(fs_group=group))

    assert driver_options(pod, Volume("data", source)) == options


def test_a_sandbox_has_a_place_for_files_and_holds_on_to_what_is_in_memory() -> None:
    pod = a_pod_mounting(EmptyDir(MEMORY))
    pod = replace(
        pod, volumes=(*pod.volumes, Volume("unused", EmptyDir(MEMORY)), Volume("disk"))
    )

    own, held = sandbox_mounts(pod, "me").mounts

    assert own == {"Type": "volume", "Target": FILES_FOLDER}
    assert held["Source"] == "me_uid-of-web_data"


def test_a_volume_has_the_label_of_its_owner() -> None:
    labels = volume_labels(a_pod(namespace="shop"), Volume("data"), "me")

    assert {
        "dev.probetui.owner": "me",
        "dev.probetui.volume": "data",
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "shop",
        "io.kubernetes.pod.uid": "uid-of-web",
    }.items() <= labels.items()
