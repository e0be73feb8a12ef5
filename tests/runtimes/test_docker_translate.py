"""Between Docker's JSON and our values."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

import probetui
from probetui.k8s.pod import Container, Resources
from probetui.k8s.runtime import ContainerID, RuntimeState, SandboxStatus
from probetui.kubelet.container_hash import container_hash
from probetui.kubelet.effects import CreateContainer
from probetui.runtimes.docker.instants import instant
from probetui.runtimes.docker.translate import (
    OWNER,
    VERSION,
    container_request,
    container_status,
    hostname,
    pod_statuses,
    published_ports,
    sandbox_request,
    sandbox_status,
    seen,
    to_container_id,
    to_docker_id,
)
from tests.builders import a_container, a_pod, env

NEVER = "0001-01-01T00:00:00Z"
CREATED = "2026-11-20T10:38:46.900000000Z"
STARTED = "2026-11-20T10:38:47.079604977Z"
FINISHED = "2026-11-20T10:38:48.5Z"
SANDBOX_ID = "5a" * 32
IMAGE_ID = "sha256:" + "1c" * 32


def created(container: Container, attempt: int = 0, **fields: Any) -> dict[str, Any]:
    """Return what is asked of Docker for a container of the pod `web`."""
    operation = CreateContainer(
        a_pod(container, **fields), container, SANDBOX_ID, attempt, IMAGE_ID
    )
    return container_request(operation, "me")


def sandbox(attempt: int = 0, **fields: Any) -> dict[str, Any]:
    """Return what is asked of Docker for the sandbox of the pod `web`."""
    pod = a_pod(**fields)
    return sandbox_request(pod, attempt, image="pause", command=(), owner="me")


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


class TestSandboxRequest:
    """What makes a sandbox."""

    def test_it_shares_its_namespaces_and_is_named_after_the_pod(self) -> None:
        request = sandbox(attempt=3, labels={"app": "shop"})

        assert request["HostConfig"]["NetworkMode"] == "default"
        assert request["HostConfig"]["IpcMode"] == "shareable"
        assert request["Hostname"] == "web"
        assert {
            "app": "shop",
            "io.kubernetes.pod.name": "web",
            "io.kubernetes.pod.namespace": "default",
            "io.kubernetes.pod.uid": "uid-of-web",
            "io.kubernetes.docker.type": "podsandbox",
            OWNER: "me",
            VERSION: probetui.__version__,
        }.items() <= request["Labels"].items()

    def test_labels_of_the_pod_never_replace_ours(self) -> None:
        request = sandbox(labels={OWNER: "you", "io.kubernetes.pod.uid": "other"})

        assert request["Labels"][OWNER] == "me"
        assert request["Labels"]["io.kubernetes.pod.uid"] == "uid-of-web"

    def test_the_nodes_network_comes_with_the_nodes_name(self) -> None:
        request = sandbox(host_network=True)

        assert request["HostConfig"]["NetworkMode"] == "host"
        assert request["Hostname"] is None

    def test_ports_are_published_on_free_ports_of_the_address_asked_for(self) -> None:
        request = sandbox_request(
            a_pod(),
            0,
            image="pause",
            command=(),
            owner="me",
            published=(80, 9090),
            publish_on="127.0.0.1",
        )

        anywhere = [{"HostIp": "127.0.0.1", "HostPort": ""}]
        assert request["ExposedPorts"] == {"80/tcp": {}, "9090/tcp": {}}
        assert request["HostConfig"]["PortBindings"] == {
            "80/tcp": anywhere,
            "9090/tcp": anywhere,
        }

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            pytest.param({"name": "web-0"}, "web-0", id="pod name"),
            pytest.param({"hostname": "db"}, "db", id="own host name"),
            pytest.param({"name": "x" * 70}, "x" * 63, id="too long"),
            pytest.param(
                {"name": "x" * 61 + "-." + "y"}, "x" * 61, id="cut at a bad end"
            ),
        ],
    )
    def test_host_names_are_cut_as_the_kubelet_cuts_them(
        self, fields: dict[str, str], expected: str
    ) -> None:
        assert hostname(a_pod(**fields)) == expected


class TestContainerRequest:
    """What makes a container."""

    def test_it_joins_network_and_ipc_of_its_sandbox(self) -> None:
        host_config = created(a_container())["HostConfig"]

        assert host_config["NetworkMode"] == f"container:{SANDBOX_ID}"
        assert host_config["IpcMode"] == f"container:{SANDBOX_ID}"
        assert host_config["PidMode"] == ""

    def test_processes_are_shared_if_the_pod_says_so(self) -> None:
        request = created(a_container(), share_process_namespace=True)

        assert request["HostConfig"]["PidMode"] == f"container:{SANDBOX_ID}"

    @pytest.mark.parametrize(
        ("command", "args", "entrypoint", "cmd"),
        [
            pytest.param((), (), None, None, id="image's own"),
            pytest.param(("a", "b"), (), ["a", "b"], None, id="command"),
            pytest.param((), ("c",), None, ["c"], id="args"),
            pytest.param(("a",), ("c",), ["a"], ["c"], id="both"),
        ],
    )
    def test_command_is_the_entrypoint_and_args_are_the_command(
        self,
        command: tuple[str, ...],
        args: tuple[str, ...],
        entrypoint: list[str] | None,
        cmd: list[str] | None,
    ) -> None:
        request = created(a_container(command=command, args=args))

        assert (request["Entrypoint"], request["Cmd"]) == (entrypoint, cmd)

    def test_environment_and_folder_are_the_containers(self) -> None:
        request = created(a_container(env=env(A="1", B=""), working_dir="/srv"))

        assert request["Env"] == ["A=1", "B="]
        assert request["WorkingDir"] == "/srv"

    def test_the_image_is_the_one_that_was_looked_up(self) -> None:
        assert created(a_container())["Image"] == IMAGE_ID

    def test_the_images_own_health_check_does_not_run(self) -> None:
        assert created(a_container())["Healthcheck"] == {"Test": ["NONE"]}

    def test_what_the_kubelet_reads_back_is_in_its_labels(self) -> None:
        labels = created(a_container(), attempt=4)["Labels"]

        hash_hex = f"{container_hash(a_container()):x}"
        assert {
            "io.kubernetes.container.name": "app",
            "io.kubernetes.docker.type": "container",
            "io.kubernetes.sandbox.id": SANDBOX_ID,
            "annotation.io.kubernetes.container.hash": hash_hex,
            "annotation.io.kubernetes.container.restartCount": "4",
            "annotation.io.kubernetes.pod.terminationGracePeriod": "30",
        }.items() <= labels.items()

    @pytest.mark.parametrize(
        ("resources", "expected"),
        [
            pytest.param(Resources(), {"CpuShares": 2}, id="none"),
            pytest.param(
                Resources(requests={"cpu": Decimal("0.5")}),
                {"CpuShares": 512},
                id="asked",
            ),
            pytest.param(
                Resources(limits={"cpu": Decimal("0.1"), "memory": Decimal(2**24)}),
                {
                    "CpuShares": 102,
                    "NanoCpus": 100_000_000,
                    "Memory": 2**24,
                    "MemorySwap": 2**24,
                },
                id="limits",
            ),
            pytest.param(
                Resources(
                    requests={"cpu": Decimal("0.001")}, limits={"cpu": Decimal(1)}
                ),
                {"CpuShares": 2, "NanoCpus": 1_000_000_000},
                id="less than the least",
            ),
        ],
    )
    def test_resources_are_in_dockers_units(
        self, resources: Resources, expected: dict[str, int]
    ) -> None:
        host_config = created(a_container(resources=resources))["HostConfig"]

        keys = {"CpuShares", "NanoCpus", "Memory", "MemorySwap"}
        assert {key: host_config[key] for key in host_config.keys() & keys} == expected


class TestContainerStatus:
    """What an inspection says of a container."""

    @pytest.mark.parametrize(
        ("docker_state", "expected", "reason", "exit_code"),
        [
            pytest.param(state(), RuntimeState.RUNNING, "", 0, id="running"),
            pytest.param(state("paused"), RuntimeState.RUNNING, "", 0, id="paused"),
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
    def test_states_are_told_in_the_words_of_the_cri(
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
            created_at=instant(CREATED),
            ip="172.17.0.5",
        )

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

        (pod,) = pod_statuses(map(seen, parts))

        assert [each.sandbox_id for each in pod.sandboxes] == ["s1", "s0"]
        assert [each.container_id for each in pod.containers] == [
            "docker://c1",
            "docker://c0",
        ]

    def test_of_what_was_made_at_once_the_later_attempt_is_newer(self) -> None:
        parts = [
            inspected(created(a_container(), attempt=9), Id="nine"),
            inspected(created(a_container(), attempt=10), Id="ten"),
        ]

        (pod,) = pod_statuses(map(seen, parts))

        assert [each.restart_count for each in pod.containers] == [10, 9]

    def test_the_pods_address_is_that_of_its_newest_sandbox_if_it_is_ready(
        self,
    ) -> None:
        old = "2026-11-20T10:00:00Z"
        ready = on_network("172.17.0.5")
        ended = state("exited", finished=FINISHED)
        older = inspected(sandbox(), Id="older", Created=old, NetworkSettings=ready)

        (with_dead_one_on_top,) = pod_statuses(
            map(seen, [older, inspected(sandbox(attempt=1), State=ended)])
        )
        (alone,) = pod_statuses([seen(older)])

        assert with_dead_one_on_top.ips == ()
        assert alone.ips == ("172.17.0.5",)

    def test_pods_of_one_name_are_told_apart_by_their_uid(self) -> None:
        parts = [
            inspected(sandbox(uid="uid-1"), Id="s1"),
            inspected(sandbox(uid="uid-2"), Id="s2"),
        ]

        pods = pod_statuses(map(seen, parts))

        assert [each.pod_uid for each in pods] == ["uid-1", "uid-2"]

    def test_a_container_without_labels_is_neither_ours_nor_a_part_of_a_pod(
        self,
    ) -> None:
        foreign = seen(inspected({"Labels": None, "HostConfig": {}}))

        assert foreign.owner == ""
        assert (foreign.sandbox, foreign.container) == (None, None)


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
    found = instant(text)

    assert found == expected
    assert found is None or found.tzinfo is UTC
