"""What cannot be done to the containers of a CRI runtime, and why."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import Fault
from probetui.runtimes.cri import fault_injection
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import CriClient
from probetui.runtimes.cri.runtime import CriOptions, CriRuntime, CriVersion
from probetui.runtimes.ownership_ledger import OwnershipLedger
from probetui.runtimes.translation import OWNER
from tests.builders import a_pod
from tests.runtimes.cri.server import CriServer

OURS = {OWNER: "me"}


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be root as far as anybody asks: what is refused here is so for who may."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.fixture
async def runtime(server: CriServer, tmp_path: Path) -> AsyncIterator[CriRuntime]:
    server.ownership = OwnershipLedger(tmp_path / "owned")
    made = CriRuntime(
        CriClient(server.socket),
        CriVersion("fake", "0"),
        SystemClock(),
        CriOptions(tmp_path, owner="me"),
    )
    yield made
    await made.close()


def id_of(cri_id: str) -> ContainerID:
    return ContainerID(f"fake://{cri_id}")


@pytest.mark.parametrize("fault", Fault)
async def test_a_process_of_this_machine_that_is_not_the_containers_is_left_alone(
    server: CriServer, runtime: CriRuntime, fault: Fault
) -> None:
    cri_id = server.add_container(OURS)
    server.info[cri_id] = json.dumps({"pid": os.getpid()})

    with pytest.raises(ContainerRuntimeError, match="to run on another machine"):
        await runtime.inject_fault(id_of(cri_id), fault)


@pytest.mark.parametrize(
    "info",
    [
        pytest.param("", id="nothing"),
        pytest.param("no JSON", id="something else"),
        pytest.param("[]", id="a list"),
        pytest.param("{}", id="no number"),
        pytest.param('{"pid": "7"}', id="a text"),
        pytest.param('{"pid": 0}', id="none"),
    ],
)
async def test_a_runtime_that_hides_its_process_is_reported(
    server: CriServer, runtime: CriRuntime, info: str
) -> None:
    cri_id = server.add_container(OURS)
    server.info[cri_id] = info

    with pytest.raises(ContainerRuntimeError, match="does not report the PID"):
        await runtime.inject_fault(id_of(cri_id), Fault.FREEZE)


async def test_ended_processes_are_left_alone(
    server: CriServer, runtime: CriRuntime
) -> None:
    cri_id = server.add_container(OURS, state=cri.CONTAINER_EXITED)

    with pytest.raises(ContainerRuntimeError, match="in CONTAINER_EXITED state"):
        await runtime.inject_fault(id_of(cri_id), Fault.FREEZE)


async def test_an_error_for_other_users_names_root(
    server: CriServer, runtime: CriRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    cri_id = server.add_container(OURS)

    with pytest.raises(ContainerRuntimeError, match="need root"):
        await runtime.inject_fault(id_of(cri_id), Fault.FREEZE)

    assert runtime.fault_refusal(a_pod(), Fault.FREEZE) == fault_injection.NOT_ROOT
    theirs = runtime.unmanaged()
    assert theirs.fault_refusal(a_pod(), Fault.KILL) == fault_injection.NOT_ROOT
