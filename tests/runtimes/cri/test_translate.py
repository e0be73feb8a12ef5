"""From the CRI's messages to our values."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from probetui.k8s.runtime import Node, RuntimeState
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.translate import (
    container_status,
    pod_statuses,
    to_container,
    to_container_id,
    to_cri_id,
    to_sandbox,
)
from probetui.runtimes.translation import EPOCH, build_node

SECOND = 1_000_000_000


def second(number: int) -> datetime:
    return datetime.fromtimestamp(number, UTC)


def a_container(**fields: Any) -> cri.ContainerStatus:
    """Return a container that runs."""
    return cri.ContainerStatus(
        **{
            "id": "c1",
            "metadata": cri.ContainerMetadata(name="app"),
            "state": cri.CONTAINER_RUNNING,
            "created_at": SECOND,
            "started_at": 2 * SECOND,
            "image": cri.ImageSpec(image="docker.io/library/busybox:1.36"),
            "image_ref": "sha256:1c",
            **fields,
        }
    )


def a_sandbox(**fields: Any) -> cri.PodSandboxStatus:
    """Return a sandbox that is ready."""
    return cri.PodSandboxStatus(
        **{
            "id": "s1",
            "metadata": cri.PodSandboxMetadata(name="web", uid="u", attempt=2),
            "created_at": SECOND,
            "network": cri.PodSandboxNetworkStatus(ip="10.0.0.2"),
            "labels": {"io.kubernetes.pod.uid": "u", "dev.probetui.owner": "me"},
            **fields,
        }
    )


def test_ids_have_the_runtimes_name() -> None:
    assert to_container_id("containerd", "c1") == "containerd://c1"
    assert to_cri_id("containerd://c1") == "c1"
    assert to_cri_id("c1") == "c1"


class TestSandboxes:
    """Sandboxes."""

    def test_a_sandbox_that_is_ready(self) -> None:
        translated = to_sandbox(a_sandbox())

        assert translated.owner == "me"
        assert translated.pod.uid == "u"
        assert (translated.status.is_ready, translated.status.ip) == (True, "10.0.0.2")
        assert (translated.status.attempt, translated.status.created_at) == (
            2,
            second(1),
        )

    @pytest.mark.parametrize(
        ("fields", "ip"),
        [
            pytest.param({"state": cri.SANDBOX_NOTREADY}, "", id="not ready"),
            pytest.param({"network": None}, None, id="nothing said"),
            pytest.param(
                {"network": cri.PodSandboxNetworkStatus()}, "", id="no address"
            ),
            pytest.param(
                {
                    "linux": cri.LinuxPodSandboxStatus(
                        namespaces=cri.Namespace(
                            options=cri.NamespaceOption(network=cri.NODE)
                        )
                    )
                },
                "",
                id="network of the machine",
            ),
        ],
    )
    def test_not_every_sandbox_has_an_address(
        self, fields: dict[str, Any], ip: str | None
    ) -> None:
        assert to_sandbox(a_sandbox(**fields)).status.ip == ip


class TestContainers:
    """Containers."""

    def test_one_that_was_not_started(self) -> None:
        status = container_status(a_container(state=cri.CONTAINER_CREATED), "x")

        assert status.state is RuntimeState.CREATED
        assert (status.started_at, status.finished_at) == (None, None)

    def test_one_that_is_stopped_by_another_signal(self) -> None:
        found = a_container(stop_signal=cri.SIGRTMINPLUS3)

        assert container_status(found, "x").stop_signal == "SIGRTMIN+3"
        assert container_status(a_container(), "x").stop_signal == ""

    def test_one_that_runs(self) -> None:
        status = container_status(a_container(), "containerd")

        assert status.container_id == "containerd://c1"
        assert (status.name, status.state) == ("app", RuntimeState.RUNNING)
        assert (status.created_at, status.started_at) == (second(1), second(2))
        assert status.image == "docker.io/library/busybox:1.36"
        assert status.image_ref == status.image_id == "sha256:1c"

    @pytest.mark.parametrize(
        ("fields", "reason"),
        [
            pytest.param({}, "Completed", id="zero"),
            pytest.param({"exit_code": 3}, "Error", id="not zero"),
            pytest.param({"reason": "StartError"}, "StartError", id="of its own"),
        ],
    )
    def test_one_that_has_ended_has_a_reason(
        self, fields: dict[str, Any], reason: str
    ) -> None:
        ended = a_container(
            state=cri.CONTAINER_EXITED, finished_at=3 * SECOND, **fields
        )

        status = container_status(ended, "x")

        assert (status.state, status.reason) == (RuntimeState.EXITED, reason)
        assert status.finished_at == second(3)
        assert not status.oom_killed

    def test_one_that_was_out_of_memory(self) -> None:
        ended = a_container(
            state=cri.CONTAINER_EXITED, reason="OOMKilled", exit_code=137
        )

        assert container_status(ended, "x").oom_killed

    def test_a_start_is_not_after_its_end(self) -> None:
        ended = a_container(state=cri.CONTAINER_EXITED, finished_at=SECOND)

        status = container_status(ended, "x")

        assert status.started_at == status.finished_at == second(1)

    def test_what_could_not_be_started_was_started_in_1970(self) -> None:
        """Quirk: Go's zero nanoseconds are an instant like any other."""
        failed = a_container(
            state=cri.CONTAINER_EXITED, started_at=0, finished_at=3 * SECOND
        )

        assert container_status(failed, "x").started_at == EPOCH

    def test_a_container_with_an_unknown_state(self) -> None:
        status = container_status(a_container(state=cri.CONTAINER_UNKNOWN), "x")

        assert status.state is RuntimeState.UNKNOWN

    def test_fields_of_the_manifest_are_in_the_annotations(self) -> None:
        found = a_container(
            annotations={
                "dev.probetui.image": "busybox:1.36",
                "io.kubernetes.container.hash": "ff",
                "io.kubernetes.container.restartCount": "3",
            }
        )

        status = container_status(found, "x")

        assert (status.image, status.hash, status.restart_count) == (
            "busybox:1.36",
            255,
            3,
        )

    def test_last_words_are_where_the_message_path_is_mounted(self) -> None:
        found = a_container(
            annotations={
                "io.kubernetes.container.terminationMessagePath": "/dev/log",
                "io.kubernetes.container.terminationMessagePolicy": "File",
            },
            mounts=[
                cri.Mount(container_path="/data", host_path="/a"),
                cri.Mount(container_path="/dev/log", host_path="/b"),
            ],
            log_path="/var/log/x",
        )

        translated = to_container(found, "x")

        assert (translated.message_file, translated.message_policy) == ("/b", "File")
        assert translated.log_file == "/var/log/x"

    def test_without_a_message_path_there_are_no_last_words(self) -> None:
        found = a_container(mounts=[cri.Mount(host_path="/a")])

        assert to_container(found, "x").message_file == ""


def test_pods_are_listed_by_name_with_the_newest_first() -> None:
    labels = {"io.kubernetes.pod.uid": "u", "io.kubernetes.pod.name": "web"}
    other = {"io.kubernetes.pod.uid": "v", "io.kubernetes.pod.name": "db"}
    old = a_sandbox(id="old", labels=labels, state=cri.SANDBOX_NOTREADY)
    new = a_sandbox(id="new", labels=labels, created_at=2 * SECOND)
    first = a_container(id="first", labels=labels)
    second_one = a_container(id="second", labels=labels, created_at=2 * SECOND)

    db, web = pod_statuses(
        map(to_sandbox, (old, new, a_sandbox(labels=other))),
        (to_container(status, "x") for status in (first, second_one)),
    )

    assert (db.name, db.pod_uid, db.containers) == ("db", "v", ())
    assert [sandbox.sandbox_id for sandbox in web.sandboxes] == ["new", "old"]
    assert [container.container_id for container in web.containers] == [
        "x://second",
        "x://first",
    ]
    assert web.ips == ("10.0.0.2",)


def test_a_pod_whose_newest_sandbox_is_not_ready_has_no_address() -> None:
    (pod,) = pod_statuses([to_sandbox(a_sandbox(state=cri.SANDBOX_NOTREADY))], ())

    assert pod.ips == ()


def test_this_machine_is_the_node() -> None:
    assert build_node("Box", "192.0.2.1", 2, 0) == Node(
        "box", "192.0.2.1", {"cpu": Decimal(2)}
    )
    assert build_node("", "127.0.0.1", None, 0) == Node("localhost", "127.0.0.1", {})
