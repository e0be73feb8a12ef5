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
from probetui.kubelet.effects import Disruption
from probetui.runtimes.cri import disruptions
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import Client
from probetui.runtimes.cri.runtime import CriOptions, CriRuntime, Engine
from probetui.runtimes.cri.translate import OWNER
from probetui.runtimes.ownership_ledger import OwnershipLedger
from tests.builders import a_pod
from tests.runtimes.cri_server import CriServer

OURS = {OWNER: "me"}


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be root as far as anybody asks: what is refused here is so for who may."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.fixture
async def runtime(server: CriServer, tmp_path: Path) -> AsyncIterator[CriRuntime]:
    server.ledger = OwnershipLedger(tmp_path / "owned")
    made = CriRuntime(
        Client(server.socket),
        Engine("fake", "0"),
        SystemClock(),
        CriOptions(tmp_path, owner="me"),
    )
    yield made
    await made.close()


def id_of(cri_id: str) -> ContainerID:
    return ContainerID(f"fake://{cri_id}")


@pytest.mark.parametrize("disruption", Disruption)
async def test_a_process_of_this_machine_that_is_not_the_containers_is_left_alone(
    server: CriServer, runtime: CriRuntime, disruption: Disruption
) -> None:
    cri_id = server.add_container(OURS)
    server.info[cri_id] = json.dumps({"pid": os.getpid()})

    with pytest.raises(ContainerRuntimeError, match="to run on another machine"):
        await runtime.disrupt(id_of(cri_id), disruption)


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
async def test_a_runtime_that_does_not_say_which_process_it_is_is_told_of(
    server: CriServer, runtime: CriRuntime, info: str
) -> None:
    cri_id = server.add_container(OURS)
    server.info[cri_id] = info

    with pytest.raises(ContainerRuntimeError, match="does not say which process"):
        await runtime.disrupt(id_of(cri_id), Disruption.FREEZE)


async def test_what_has_ended_is_left_alone(
    server: CriServer, runtime: CriRuntime
) -> None:
    cri_id = server.add_container(OURS, state=cri.CONTAINER_EXITED)

    with pytest.raises(ContainerRuntimeError, match="in CONTAINER_EXITED state"):
        await runtime.disrupt(id_of(cri_id), Disruption.FREEZE)


async def test_somebody_who_is_not_root_is_told_that_one_has_to_be(
    server: CriServer, runtime: CriRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    cri_id = server.add_container(OURS)

    with pytest.raises(ContainerRuntimeError, match="only root may"):
        await runtime.disrupt(id_of(cri_id), Disruption.FREEZE)

    assert runtime.why_not(a_pod(), Disruption.FREEZE) == disruptions.NOT_ROOT
    theirs = runtime.foreign()
    assert theirs.why_not(a_pod(), Disruption.KILL) == disruptions.NOT_ROOT
