"""From Docker's JSON to our values."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from probetui.k8s.runtime import ContainerID, Node, RuntimeState, SandboxStatus
from probetui.kubelet.kuberuntime.container_hash import container_hash
from probetui.runtimes.docker.translate import (
    ATTEMPT,
    conditions_of,
    container_status,
    node_of,
    parse_docker_time,
    pod_statuses,
    published_ports,
    sandbox_status,
    to_container_id,
    to_docker_id,
    to_inspected_container,
)
from tests.builders import a_container
from tests.runtimes.docker.asked import IMAGE_ID, created, sandbox

NEVER = "0001-01-01T00:00:00Z"
CREATED = "2026-11-20T10:38:46.900000000Z"
STARTED = "2026-11-20T10:38:47.079604977Z"
FINISHED = "2026-11-20T10:38:48.5Z"


def state(
    status: str = "running",
    *,
    started: str = STARTED,
    finished: str = NEVER,
    exit_code: int = 0,
    **fields: Any,
) -> dict[str, Any]:
    """Return the state of a container as Docker has it."""
    return {
        "Status": status,
        "Running": status in {"running", "paused"},
        "OOMKilled": False,
        "Pid": 0,
        "ExitCode": exit_code,
        "Error": "",
        "StartedAt": started,
        "FinishedAt": finished,
        **fields,
    }


def inspected(request: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return what Docker says of something that was made as requested."""
    return {
        "Id": "ab" * 32,
        "Created": CREATED,
        "Image": IMAGE_ID,
        "State": state(),
        "Config": {"Labels": request["Labels"], "Tty": request.get("Tty", False)},
        "HostConfig": request["HostConfig"],
        "NetworkSettings": {"Ports": {}, "Networks": {}},
        **fields,
    }


def on_network(address: str, **ports: int) -> dict[str, Any]:
    """Return Docker's network settings; a port's name is `tcp80` or the like."""
    return {
        "Networks": {"bridge": {"IPAddress": address}},
        "Ports": {
            f"{name[3:]}/{name[:3]}": [{"HostIp": "127.0.0.1", "HostPort": str(port)}]
            for name, port in ports.items()
        },
    }


class TestContainerStatus:
    """What an inspection says of a container."""

    @pytest.mark.parametrize(
        ("docker_state", "expected", "reason", "exit_code"),
        [
            pytest.param(state(), RuntimeState.RUNNING, "", 0, id="running"),
            pytest.param(state("paused"), RuntimeState.RUNNING, "", 0, id="paused"),
            pytest.param(
                state("stopping"),
                RuntimeState.RUNNING,
                "",
                0,
                id="being stopped, as Podman says it",
            ),
            pytest.param(
                state(finished=FINISHED, exit_code=137),
                RuntimeState.RUNNING,
                "",
                0,
                id="running again",
            ),
            pytest.param(
                state("created", started=NEVER), RuntimeState.CREATED, "", 0, id="new"
            ),
            pytest.param(
                state("exited", finished=FINISHED),
                RuntimeState.EXITED,
                "Completed",
                0,
                id="completed",
            ),
            pytest.param(
                state("exited", finished=FINISHED, exit_code=3),
                RuntimeState.EXITED,
                "Error",
                3,
                id="failed",
            ),
            pytest.param(
                state("exited", finished=FINISHED, exit_code=137, OOMKilled=True),
                RuntimeState.EXITED,
                "OOMKilled",
                137,
                id="out of memory",
            ),
            pytest.param(
                state("created", started=NEVER, exit_code=127, Error="no such file"),
                RuntimeState.EXITED,
                "ContainerCannotRun",
                127,
                id="could not start",
            ),
        ],
    )
    def test_states_have_the_names_of_the_cri(
        self,
        docker_state: dict[str, Any],
        expected: RuntimeState,
        reason: str,
        exit_code: int,
    ) -> None:
        status = container_status(inspected(created(a_container()), State=docker_state))

        assert (status.state, status.reason, status.exit_code) == (
            expected,
            reason,
            exit_code,
        )

    @pytest.mark.parametrize(
        ("signal", "name"), [("SIGUSR1", "SIGUSR1"), ("37", ""), (None, "")]
    )
    def test_the_stop_signal_is_named_where_the_daemon_names_it(
        self, signal: str | None, name: str
    ) -> None:
        found = inspected(created(a_container()))
        found["Config"]["StopSignal"] = signal

        assert container_status(found).stop_signal == name

    def test_what_it_was_made_from_is_read_back(self) -> None:
        status = container_status(inspected(created(a_container(), attempt=2)))

        assert status.container_id == "docker://" + "ab" * 32
        assert status.name == "app"
        assert status.restart_count == 2
        assert status.hash == container_hash(a_container())
        assert status.image == "busybox:1.36"
        assert status.image_id == IMAGE_ID

    def test_instants_are_in_utc_and_microseconds(self) -> None:
        exited = state("exited", finished=FINISHED)

        status = container_status(inspected(created(a_container()), State=exited))

        assert status.started_at == datetime(
            2026, 11, 20, 10, 38, 47, 79604, tzinfo=UTC
        )
        assert status.finished_at == datetime(
            2026, 11, 20, 10, 38, 48, 500000, tzinfo=UTC
        )

    def test_what_could_not_start_began_and_ended_when_it_was_made(self) -> None:
        failed = state("created", started=NEVER, exit_code=127, Error="no such file")

        status = container_status(inspected(created(a_container()), State=failed))

        assert status.started_at == status.finished_at == status.created_at
        assert status.message == "no such file"

    def test_nothing_ends_before_it_began(self) -> None:
        quick = state("exited", finished="2026-11-20T10:38:47.079Z")

        status = container_status(inspected(created(a_container()), State=quick))

        assert status.started_at == status.finished_at

    def test_what_runs_has_not_finished_even_if_it_ran_before(self) -> None:
        again = state(finished=FINISHED)

        status = container_status(inspected(created(a_container()), State=again))

        assert status.finished_at is None


class TestSandboxStatus:
    """What an inspection says of a sandbox."""

    def test_a_sandbox_that_runs_has_its_address(self) -> None:
        status = sandbox_status(
            inspected(sandbox(attempt=2), NetworkSettings=on_network("172.17.0.5"))
        )

        assert status == SandboxStatus(
            "ab" * 32,
            is_ready=True,
            attempt=2,
            created_at=parse_docker_time(CREATED),
            ip="172.17.0.5",
        )

    @pytest.mark.parametrize(
        "attempt",
        ["", "-1", "x", "\u00b2", pytest.param("9" * 5000, id="5000 digits")],
    )
    def test_a_label_that_is_no_attempt_counts_for_none(self, attempt: str) -> None:
        found = inspected(sandbox())
        found["Config"]["Labels"][ATTEMPT] = attempt

        assert sandbox_status(found).attempt == 0

    def test_a_network_may_have_only_addresses_of_version_6(self) -> None:
        network = {"IPAddress": "", "GlobalIPv6Address": "fd00::5"}
        settings = {"Networks": {"bridge": network}, "Ports": {}}

        status = sandbox_status(inspected(sandbox(), NetworkSettings=settings))

        assert status.ip == "fd00::5"

    def test_a_sandbox_that_ended_has_none(self) -> None:
        status = sandbox_status(
            inspected(
                sandbox(),
                State=state("exited", finished=FINISHED),
                NetworkSettings=on_network("172.17.0.5"),
            )
        )

        assert not status.is_ready
        assert status.ip == ""

    def test_the_nodes_network_gives_no_address(self) -> None:
        status = sandbox_status(
            inspected(sandbox(host_network=True), NetworkSettings=on_network(""))
        )

        assert status.host_network
        assert status.ip == ""

    def test_published_ports_are_known_by_number(self) -> None:
        found = published_ports(
            inspected(
                sandbox(),
                NetworkSettings=on_network("", tcp80=32768, tcp9090=32769, udp53=1),
            )
        )

        assert found == {80: 32768, 9090: 32769}

    def test_ports_that_are_only_exposed_are_not_published(self) -> None:
        settings = {"Networks": {}, "Ports": {"80/tcp": None}}

        assert published_ports(inspected(sandbox(), NetworkSettings=settings)) == {}


class TestPods:
    """Pods put together from what is there."""

    def test_each_list_is_newest_first(self) -> None:
        old = "2026-11-20T10:00:00Z"
        parts = [
            inspected(sandbox(attempt=0), Id="s0", Created=old),
            inspected(sandbox(attempt=1), Id="s1"),
            inspected(created(a_container(), attempt=0), Id="c0", Created=old),
            inspected(created(a_container(), attempt=1), Id="c1"),
        ]

        (pod,) = pod_statuses(map(to_inspected_container, parts))

        assert [status.sandbox_id for status in pod.sandboxes] == ["s1", "s0"]
        assert [container.container_id for container in pod.containers] == [
            "docker://c1",
            "docker://c0",
        ]

    def test_of_what_was_made_at_once_the_later_attempt_is_newer(self) -> None:
        parts = [
            inspected(created(a_container(), attempt=9), Id="nine"),
            inspected(created(a_container(), attempt=10), Id="ten"),
        ]

        (pod,) = pod_statuses(map(to_inspected_container, parts))

        assert [container.restart_count for container in pod.containers] == [10, 9]

    def test_the_pods_address_is_that_of_its_newest_sandbox_if_it_is_ready(
        self,
    ) -> None:
        old = "2026-11-20T10:00:00Z"
        ready = on_network("172.17.0.5")
        ended = state("exited", finished=FINISHED)
        older = inspected(sandbox(), Id="older", Created=old, NetworkSettings=ready)

        (with_dead_one_on_top,) = pod_statuses(
            map(
                to_inspected_container,
                [older, inspected(sandbox(attempt=1), State=ended)],
            )
        )
        (alone,) = pod_statuses([to_inspected_container(older)])

        assert with_dead_one_on_top.ips == ()
        assert alone.ips == ("172.17.0.5",)

    def test_pods_with_one_name_are_distinguished_by_uid(self) -> None:
        parts = [
            inspected(sandbox(uid="uid-1"), Id="s1"),
            inspected(sandbox(uid="uid-2"), Id="s2"),
        ]

        pods = pod_statuses(map(to_inspected_container, parts))

        assert [pod.pod_uid for pod in pods] == ["uid-1", "uid-2"]

    def test_a_container_without_labels_is_neither_ours_nor_a_part_of_a_pod(
        self,
    ) -> None:
        unmanaged = to_inspected_container(
            inspected({"Labels": None, "HostConfig": {}})
        )

        assert unmanaged.owner == ""
        assert (unmanaged.sandbox, unmanaged.container) == (None, None)


def test_ids_carry_the_runtimes_name() -> None:
    assert to_container_id("abc") == ContainerID("docker://abc")
    assert to_docker_id("docker://abc") == "abc"
    assert to_docker_id("abc") == "abc"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(NEVER, None, id="never"),
        pytest.param("", None, id="nothing"),
        pytest.param("yesterday", None, id="no instant"),
        pytest.param("2026-11-20T10:38:47", None, id="no zone"),
        pytest.param(
            "2026-11-20T10:38:47.079604977Z",
            datetime(2026, 11, 20, 10, 38, 47, 79604, tzinfo=UTC),
            id="nanoseconds",
        ),
        pytest.param(
            "2026-11-20T12:38:47.1+02:00",
            datetime(2026, 11, 20, 10, 38, 47, 100000, tzinfo=UTC),
            id="another zone",
        ),
    ],
)
def test_instants_are_read(text: str, expected: datetime | None) -> None:
    found = parse_docker_time(text)

    assert found == expected
    assert found is None or found.tzinfo is UTC


@pytest.mark.parametrize(
    ("network", "ip"),
    [
        pytest.param(
            {"IPAM": {"Config": [{"Gateway": "10.1.0.9", "Subnet": "10.1.0.0/16"}]}},
            "10.1.0.9",
            id="given",
        ),
        pytest.param(
            {"IPAM": {"Config": [{"Subnet": "172.17.0.0/16"}]}},
            "172.17.0.1",
            id="the first of the network",
        ),
        pytest.param({"IPAM": {"Config": None}}, "127.0.0.1", id="not given"),
        pytest.param(None, "127.0.0.1", id="no network"),
    ],
)
def test_the_machine_is_where_its_network_says(
    network: dict[str, Any] | None, ip: str
) -> None:
    info = {"Name": "Big-Box", "NCPU": 4, "MemTotal": 1024}

    assert node_of(info, network) == Node(
        "big-box", ip, {"cpu": Decimal(4), "memory": Decimal(1024)}
    )


def test_of_a_machine_nothing_may_be_known() -> None:
    assert node_of({}, None) == Node("localhost", "127.0.0.1", {})


class TestConditions:
    def test_a_daemon_that_answers_is_ready_and_so_is_its_network(self) -> None:
        info = {"Plugins": {"Network": ["bridge", "host", "null"]}}

        assert list(map(str, conditions_of(info))) == [
            "RuntimeReady=true reason: message:",
            "NetworkReady=true reason: message:",
        ]

    @pytest.mark.parametrize(
        ("info", "found"),
        [
            pytest.param({"Plugins": {"Network": ["host", "null"]}}, "host, null"),
            pytest.param({}, "none"),
        ],
        ids=["without-bridge", "without-networks"],
    )
    def test_pods_need_its_bridge(self, info: dict[str, Any], found: str) -> None:
        _, network = conditions_of(info)

        assert str(network) == (
            "NetworkReady=false reason:NetworkPluginNotReady message:docker: there is "
            f"no network driver bridge (has: {found})"
        )
