"""Who runs which pods on an engine of this machine."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

from probetui.errors import ContainerRuntimeError, PodInUseError
from probetui.runtimes import machine_lease
from probetui.runtimes.lease_holder import host_name, user_name
from probetui.runtimes.machine_lease import MachineLease, machine_lease_holders
from tests.builders import a_pod

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux has abstract sockets"
)

WEB, DB = a_pod(name="web" * 80), a_pod(name="db")
KEY = (WEB.namespace, WEB.name)

HOLDING = """
import asyncio, sys
from probetui.runtimes.machine_lease import MachineLease
from tests.builders import a_pod
async def main():
    lease = MachineLease(sys.argv[1])
    await lease.add([a_pod(name="web" * 80)])
    print("held", flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.fixture
def engine() -> str:
    """Return an engine that no other test has."""
    return uuid.uuid4().hex


@pytest.fixture
def holder(engine: str) -> Iterator[subprocess.Popen[str]]:
    """Return another process that runs the pod."""
    command = [sys.executable, "-c", HOLDING, engine]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


async def test_a_name_held_by_a_silent_process_is_reported_as_in_use(
    engine: str,
) -> None:
    lease = MachineLease(engine)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as squatter:
        squatter.bind(machine_lease._address(engine, KEY))

        with pytest.raises(PodInUseError, match="a process that does not answer"):
            await lease.add([WEB])


async def test_without_a_descriptor_it_is_an_error_of_the_engine(engine: str) -> None:
    """Which a command tells in a line, with its own status."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(ContainerRuntimeError, match="cannot be leased"):
            await MachineLease(engine).add([WEB])
        with pytest.raises(ContainerRuntimeError, match="cannot be read"):
            machine_lease_holders(engine, [KEY])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_lease_of_another_process_is_visible_until_its_end(
    engine: str, holder: subprocess.Popen[str]
) -> None:
    lease = MachineLease(engine)
    who = f"process {holder.pid} of {user_name()}@{host_name()}"

    during = machine_lease_holders(engine, {KEY, ("default", "db")})
    with pytest.raises(PodInUseError, match=who):
        await lease.add([DB, WEB])
    between = machine_lease_holders(engine, {("default", "db")})
    holder.kill()  # nothing of it has a chance to clean up
    holder.wait()
    await lease.add([WEB])

    assert during == {KEY: who}
    assert between == {}, "all or none"
    me = f"process {os.getpid()} of {user_name()}@{host_name()}"
    assert machine_lease_holders(engine, {KEY}) == {KEY: me}
    await lease.release()
    assert machine_lease_holders(engine, {KEY}) == {}


async def test_a_pod_of_one_engine_is_not_that_of_another(engine: str) -> None:
    first, second = MachineLease(engine), MachineLease(f"{engine}-2")

    await first.add([WEB])
    await second.add([WEB])

    await first.release()
    await second.release()


async def test_frequent_requests_are_still_answered_that_it_is_held(
    engine: str,
) -> None:
    """Nobody is turned away meanwhile: the loop of the holder stands still here."""
    lease = MachineLease(engine)
    await lease.add([WEB])

    answers = [machine_lease_holders(engine, {KEY}) for _ in range(300)]

    assert all(KEY in answer for answer in answers)
    await lease.release()
