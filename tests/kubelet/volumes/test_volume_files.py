from __future__ import annotations

from decimal import Decimal

import pytest

from probetui.k8s.environment import FieldRef, ResourceFieldRef
from probetui.k8s.pod import Resources
from probetui.k8s.runtime import Node
from probetui.k8s.volume import (
    ConfigMap,
    ConfigMapFiles,
    DownwardAPIFile,
    DownwardAPIFiles,
    FileSource,
    KeyToPath,
    Projected,
    Secret,
    SecretFiles,
    VolumeFile,
)
from probetui.kubelet.object_store import ConfigRefusal, ObjectStore
from probetui.kubelet.volumes.volume_files import volume_files
from tests.builders import a_container, a_pod

NODE = Node(allocatable={"cpu": Decimal(4)})
POD = a_pod(
    a_container(resources=Resources(limits={"memory": Decimal(64)})),
    labels={"b": "2", "a": "1"},
    annotations={"lines": "z\na"},
)
OBJECTS = (
    ConfigMap("config", data={"z": "last", "a": "ä"}, binary_data={"raw": b"\xff"}),
    ConfigMap("config", "shop", data={"other": "namespace"}),
    Secret("secret", data={"a": b"hidden", "key": b"\0"}),
)


def files(
    *sources: FileSource, mode: int = 0o644
) -> tuple[VolumeFile, ...] | ConfigRefusal:
    objects = ObjectStore()
    objects.replace(OBJECTS)
    return volume_files(POD, Projected(sources, mode), objects, NODE)


def test_without_items_every_entry_is_a_file() -> None:
    assert files(ConfigMapFiles("config"), mode=0o400) == (
        VolumeFile("a", "ä".encode(), 0o400),
        VolumeFile("raw", b"\xff", 0o400),
        VolumeFile("z", b"last", 0o400),
    )


def test_items_choose_entries_their_paths_and_modes() -> None:
    items = (KeyToPath("key", "deep//down/./here"), KeyToPath("a", "a", 0o600))

    assert files(SecretFiles("secret", items)) == (
        VolumeFile("a", b"hidden", 0o600),
        VolumeFile("deep/down/here", b"\0", 0o644),
    )


def test_a_mode_of_zero_is_a_mode() -> None:
    made = files(SecretFiles("secret", (KeyToPath("a", "a", 0),)))

    assert made == (VolumeFile("a", b"hidden", 0),)


@pytest.mark.parametrize(
    ("ref", "content"),
    [
        pytest.param(FieldRef("metadata.name"), b"web", id="name"),
        pytest.param(FieldRef("metadata.labels"), b'a="1"\nb="2"', id="labels"),
        pytest.param(
            FieldRef("metadata.annotations['lines']"), b"a\nz", id="lines are sorted"
        ),
        pytest.param(ResourceFieldRef("limits.memory", "app"), b"64", id="limit"),
        pytest.param(ResourceFieldRef("limits.cpu", "app"), b"4", id="of the node"),
        pytest.param(None, b"", id="nothing"),
    ],
)
def test_files_about_the_pod(
    ref: FieldRef | ResourceFieldRef | None, content: bytes
) -> None:
    source = DownwardAPIFiles((DownwardAPIFile("about", ref, 0o444),))

    assert files(source) == (VolumeFile("about", content, 0o444),)


def test_of_two_files_with_one_path_that_of_the_last_source_counts() -> None:
    made = files(
        ConfigMapFiles("config", (KeyToPath("a", "x"), KeyToPath("z", "y"))),
        SecretFiles("secret", (KeyToPath("a", "./x"),)),
    )

    assert made == (VolumeFile("x", b"hidden"), VolumeFile("y", b"last"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(
            ConfigMapFiles("gone"), 'configmap "gone" not found', id="ConfigMap"
        ),
        pytest.param(SecretFiles("gone"), 'secret "gone" not found', id="Secret"),
        pytest.param(
            ConfigMapFiles("config", (KeyToPath("no", "x"),)),
            "configmap references non-existent config key: no",
            id="entry of a ConfigMap",
        ),
        pytest.param(
            SecretFiles("secret", (KeyToPath("no", "x"),)),
            "references non-existent secret key: no",
            id="entry of a Secret",
        ),
        pytest.param(
            DownwardAPIFiles((DownwardAPIFile("x", FieldRef("status.podIP")),)),
            "unsupported fieldPath: status.podIP",
            id="field",
        ),
        pytest.param(
            DownwardAPIFiles(
                (
                    DownwardAPIFile("x", FieldRef("status.podIP")),
                    DownwardAPIFile("y", ResourceFieldRef("limits.cpu", "none")),
                )
            ),
            "[unsupported fieldPath: status.podIP, container none not found]",
            id="all that is wrong",
        ),
    ],
)
def test_what_is_not_there_is_refused(source: FileSource, message: str) -> None:
    refused = files(source)

    assert isinstance(refused, ConfigRefusal)
    assert refused.message == message


def test_errors_of_several_sources_are_one_event() -> None:
    refused = files(ConfigMapFiles("gone"), SecretFiles("gone"), ConfigMapFiles("gone"))

    assert refused == ConfigRefusal(
        '[configmap "gone" not found, secret "gone" not found]'
    )


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(ConfigMapFiles("gone", optional=True), id="ConfigMap"),
        pytest.param(SecretFiles("gone", optional=True), id="Secret"),
        pytest.param(
            ConfigMapFiles("config", (KeyToPath("no", "x"),), optional=True),
            id="entry of a ConfigMap",
        ),
        pytest.param(
            SecretFiles("secret", (KeyToPath("no", "x"),), optional=True),
            id="entry of a Secret",
        ),
    ],
)
def test_what_is_optional_is_left_out(source: FileSource) -> None:
    assert files(source) == ()


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        pytest.param(
            ConfigMapFiles("held", optional=True), "configmap", id="ConfigMap"
        ),
        pytest.param(SecretFiles("held", optional=True), "secret", id="Secret"),
    ],
)
def test_what_is_refused_is_not_left_out(source: FileSource, kind: str) -> None:
    objects = ObjectStore()
    objects.replace(
        (ConfigMap("held", is_refused=True), Secret("held", is_refused=True))
    )

    refused = volume_files(POD, Projected((source,)), objects, NODE)

    assert refused == ConfigRefusal(
        f"failed to sync {kind} cache: timed out waiting for the condition"
    )
