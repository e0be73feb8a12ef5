"""From operations to records."""

from __future__ import annotations

from pathlib import Path

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Container, EnvVar, Pod
from probetui.kubelet.effects import CreateContainer, RunPodSandbox
from probetui.runtimes.process.records import ProcessContainerRecord
from probetui.runtimes.process.translate import (
    container_record,
    sandbox_record,
)
from probetui.runtimes.process_identity import Process
from probetui.runtimes.translation import host_memory_bytes, hostname
from tests.builders import START, a_container, a_pod, a_script

FOLDER = Path("/base/5a5a/c0c0")
ME = Process(1, "")


def record(container: Container, pod: Pod | None = None) -> ProcessContainerRecord:
    pod = pod or a_pod(container)
    sandbox = sandbox_record(RunPodSandbox(pod, 0), "5a5a", "127.3.2.1", ME, START)
    return container_record(
        CreateContainer(pod, container, "5a5a", 0, ""),
        sandbox,
        FOLDER,
        {"PATH": "/users/bin", "SECRET": "probetui's own"},
        START,
    )


def test_the_environment_is_small_and_the_containers_own_wins() -> None:
    env = (
        EnvVar("GREETING", "hello"),
        EnvVar("PATH", "/mine"),
        EnvVar("EMPTY", ""),
        EnvVar("POD_IP", has_value_from=True),
    )

    environment = record(a_script("exit 0", env=env)).env

    assert environment == {
        "PATH": "/mine",
        "HOSTNAME": "web",
        "HOME": "/base/5a5a/c0c0/home",
        "TMPDIR": "/base/5a5a/c0c0/tmp",
        "POD_IP": "127.3.2.1",
        "GREETING": "hello",
        "EMPTY": "",
        "PROBETUI_CONTAINER": "c0c0",
    }


def test_programs_are_found_where_the_user_has_them() -> None:
    assert record(a_script("exit 0")).env["PATH"] == "/users/bin"


def test_a_container_cannot_hide_from_its_end() -> None:
    env = (EnvVar("PROBETUI_CONTAINER", "another"),)

    assert record(a_script("exit 0", env=env)).env["PROBETUI_CONTAINER"] == "c0c0"


def test_a_pod_of_the_hosts_network_listens_at_this_machine() -> None:
    container = a_script("exit 0")

    on_host = record(container, a_pod(container, host_network=True))

    assert on_host.env["POD_IP"] == "127.0.0.1"


@pytest.mark.parametrize(
    ("working_dir", "expected"),
    [
        pytest.param("", "/base/5a5a/c0c0/home", id="none"),
        pytest.param("app", "/base/5a5a/c0c0/home/app", id="relative"),
        pytest.param("/srv/app", "/srv/app", id="absolute"),
    ],
)
def test_a_container_runs_in_its_own_folder_or_in_its_working_dir(
    working_dir: str, expected: str
) -> None:
    container = a_script("exit 0", working_dir=working_dir)

    assert record(container).working_dir == expected


def test_without_a_command_there_is_nothing_to_run() -> None:
    with pytest.raises(ContainerRuntimeError, match=r"no command.*no image"):
        record(a_container())


def test_arguments_alone_are_a_command() -> None:
    assert record(a_container(args=("sleep", "5"))).command == ("sleep", "5")


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(a_pod(name="web"), "web", id="the pod's name"),
        pytest.param(a_pod(hostname="other"), "other", id="its host name"),
        pytest.param(a_pod(name="a" * 70), "a" * 63, id="cut"),
        pytest.param(a_pod(name="a" * 62 + "-b"), "a" * 62, id="cut at a dash"),
    ],
)
def test_the_host_name_is_the_pods(pod: Pod, expected: str) -> None:
    assert hostname(pod) == expected


def test_the_memory_of_a_system_may_be_unknown() -> None:
    def refuse(name: str) -> int:
        raise ValueError(name)

    assert host_memory_bytes({"SC_PAGE_SIZE": 4, "SC_PHYS_PAGES": 5}.__getitem__) == 20
    assert host_memory_bytes(refuse) == 0
