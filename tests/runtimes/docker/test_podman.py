"""Podman, which speaks Docker's API with an accent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError
from probetui.runtimes.daemon_clock import DaemonClock
from probetui.runtimes.docker.containers import DockerContainers, stop_container
from probetui.runtimes.docker.errors import CONFLICT, SERVER_ERROR, DockerStatusError
from probetui.runtimes.docker.execution import has_run
from probetui.runtimes.docker.listing import DockerListing
from probetui.runtimes.docker.ownership import DockerOwnership
from probetui.runtimes.docker.port_publishing import DockerDaemon
from probetui.runtimes.docker.requests import set_shared_hostname
from probetui.runtimes.docker.translate import NAME as LABEL_OF_NAME
from probetui.runtimes.ownership_ledger import OwnershipLedger
from probetui.runtimes.translation import NONCE, OWNER
from tests.builders import a_container
from tests.runtimes.docker.asked import SANDBOX_ID, created

DOCKER_SAYS = {"Components": [{"Name": "Engine"}, {"Name": "containerd"}]}
PODMAN_SAYS = {"Components": [{"Name": "Podman Engine"}, {"Name": "Conmon"}]}
NAME = "k8s_app_web_default_uid_0"


@pytest.mark.parametrize(
    ("version", "engine", "keeps"),
    [
        pytest.param(DOCKER_SAYS, "Docker", True, id="docker"),
        pytest.param(PODMAN_SAYS, "Podman", False, id="podman"),
        pytest.param({}, "Docker", True, id="an old one that does not say"),
    ],
)
def test_an_engine_is_recognized_by_its_components(
    version: dict[str, Any], engine: str, *, keeps: bool
) -> None:
    daemon = DockerDaemon.of("unix:///run/podman/podman.sock", {}, version)

    assert (daemon.engine, daemon.keeps_exec_pids) == (engine, keeps)
    assert daemon.shares_hostnames is keeps
    assert daemon.starts_joined_containers is not keeps


def test_a_missing_name_of_a_network_is_requested() -> None:
    request = created(a_container())

    set_shared_hostname(request, SANDBOX_ID)

    assert request["HostConfig"]["UTSMode"] == f"container:{SANDBOX_ID}"
    assert request["HostConfig"]["NetworkMode"] == f"container:{SANDBOX_ID}"


@pytest.mark.parametrize(
    ("state", "keeps_exec_pids", "expected"),
    [
        pytest.param({"Pid": 7, "ExitCode": 127}, True, True, id="it had a number"),
        pytest.param({"Pid": 0, "ExitCode": 127}, True, False, id="it had none"),
        pytest.param({"Pid": 0, "ExitCode": 0}, False, True, id="forgotten, well"),
        pytest.param({"Pid": 0, "ExitCode": 1}, False, True, id="forgotten, failed"),
        pytest.param({"Pid": 0, "ExitCode": 126}, False, False, id="not executable"),
        pytest.param({"Pid": 0, "ExitCode": 127}, False, False, id="not found"),
    ],
)
def test_a_command_has_run_if_it_had_a_number_or_ended_like_one(
    state: dict[str, int], *, keeps_exec_pids: bool, expected: bool
) -> None:
    assert has_run(state, keeps_exec_pids=keeps_exec_pids) is expected


ContainersOn = Callable[[Any], DockerContainers]


class Engine:
    """As much of an engine as has containers by name.

    Args:
        taken: what there is: its owner and its state, None for no container.
        status: what is answered about a name that is taken, or to any call.
    """

    def __init__(
        self, taken: tuple[str, str] | None, status: int, *, refuses: bool = False
    ) -> None:
        self.taken = taken
        self.made: list[str] = []
        self._status = status
        self._refuses = refuses

    async def call(self, work: Callable[[Any], Any], **_options: object) -> Any:
        return work(self)

    call_long = call_or_none = call

    def create_container_from_config(self, request: object, name: str) -> Any:
        if self._refuses or (self.taken is not None and name == NAME):
            raise DockerStatusError("no", self._status)
        self.made.append(name)
        return {"Id": "new"}

    def containers(self, **_filters: object) -> Any:
        if self.taken is None:
            return []
        owner, state = self.taken
        labels = {OWNER: owner, LABEL_OF_NAME: NAME, NONCE: owner}
        return [{"Id": "old", "Names": [f"/{NAME}"], "Labels": labels, "State": state}]

    def inspect_container(self, _docker_id: str) -> Any:
        assert self.taken is not None
        return {
            "Id": "old",
            "Config": {"Labels": {OWNER: self.taken[0]}, "Tty": False},
        }

    def remove_container(self, _docker_id: str, **_options: object) -> None:
        self.taken = None


@pytest.fixture
def containers_on(tmp_path: Path) -> ContainersOn:
    """Return what makes containers on an engine where the one of "me" is ours."""

    def on(engine: Any) -> DockerContainers:
        ledger = OwnershipLedger(tmp_path)
        if engine.taken is not None and engine.taken[0] == "me":
            ledger.take_over("old", NAME)
        ownership = DockerOwnership(engine, ledger, "")
        daemon_clock = DaemonClock(SystemClock())
        listing = DockerListing(engine, "me", daemon_clock, ownership)
        return DockerContainers(engine, listing, "me", ownership)

    return on


STATUSES = [
    pytest.param(CONFLICT, id="as Docker says it"),
    pytest.param(SERVER_ERROR, id="as Podman says it"),
]


@pytest.mark.parametrize("status", STATUSES)
async def test_a_dead_leftover_of_ours_makes_room_for_its_name(
    containers_on: ContainersOn, status: int
) -> None:
    engine = Engine(("me", "exited"), status)

    await containers_on(engine).create(NAME, {"Labels": {}})

    assert (engine.made, engine.taken) == ([NAME], None)


@pytest.mark.parametrize("status", STATUSES)
async def test_a_name_in_use_gets_a_suffix(
    containers_on: ContainersOn, status: int
) -> None:
    engine = Engine(("me", "running"), status)

    await containers_on(engine).create(NAME, {"Labels": {}})

    (made,) = engine.made
    assert made.startswith(f"{NAME}_")


async def test_a_name_that_was_taken_for_a_moment_is_not_tried_again(
    containers_on: ContainersOn,
) -> None:
    """Others may be after it: two sessions that make a pod of one name."""

    class Fleeting(Engine):
        def containers(self, **_filters: object) -> Any:
            return []

    engine = Fleeting(("another", "running"), CONFLICT)

    await containers_on(engine).create(NAME, {"Labels": {}})

    (made,) = engine.made
    assert made.startswith(f"{NAME}_")


async def test_a_refusal_that_is_not_about_the_name_stays_one(
    containers_on: ContainersOn,
) -> None:
    engine = Engine(None, SERVER_ERROR, refuses=True)

    with pytest.raises(ContainerRuntimeError, match="no"):
        await containers_on(engine).create(NAME, {"Labels": {}})

    assert engine.made == []


class PausedEngine:
    """As much of an engine as has one container that is paused, or refuses to stop."""

    def __init__(self, *, is_paused: bool) -> None:
        self.is_paused = is_paused
        self.has_stopped = False

    async def call(self, work: Callable[[Any], Any]) -> Any:
        return work(self)

    call_long = call_or_none = call

    def inspect_container(self, _docker_id: str) -> Any:
        return {"State": {"Paused": self.is_paused}}

    def unpause(self, _docker_id: str) -> None:
        self.is_paused = False
        self.has_stopped = False

    def stop(self, _docker_id: str, *, timeout: int) -> None:
        if self.is_paused or timeout < 0:
            raise DockerStatusError("container state improper", SERVER_ERROR)
        self.has_stopped = True


async def test_what_is_paused_and_not_stopped_for_that_is_woken_first() -> None:
    engine: Any = PausedEngine(is_paused=True)

    await stop_container(engine, "frozen", 1)

    assert engine.has_stopped


async def test_what_is_not_stopped_for_another_reason_is_refused() -> None:
    engine: Any = PausedEngine(is_paused=False)

    with pytest.raises(ContainerRuntimeError, match="improper"):
        await stop_container(engine, "stubborn", -1)
