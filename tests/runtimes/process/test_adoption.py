"""More than one probetui: what one leaves, another finds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack

import pytest

from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.runtimes.process import records
from probetui.runtimes.process.runtime import ProcessRuntime
from probetui.runtimes.process_identity import identify
from tests.runtimes.bench import IS_READY, POLITE
from tests.runtimes.process.bench import AnotherProbetui, ProcessBench, runs

SCRIPT = f"echo $$ > pid; {POLITE}"

Start = Callable[[str], AnotherProbetui]


@pytest.fixture
def another(bench: ProcessBench) -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(AnotherProbetui(bench.base, script))


@pytest.fixture
async def observer(bench: ProcessBench) -> AsyncIterator[ProcessRuntime]:
    runtime = ProcessRuntime(bench.base, SystemClock(), sees_all=True)
    yield runtime
    await runtime.close()


@pytest.fixture
def innocent() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "300"]) as process:
        yield process
        process.kill()


async def pid_of(bench: ProcessBench, container_id: ContainerID) -> int:
    """Return the ID of a container's main process, once it is ready."""

    async def is_ready() -> bool:
        return (bench.home(container_id) / "ready").exists()

    await bench.until(is_ready)
    pid = bench.pid_in(container_id, "pid")
    assert pid
    return pid


async def test_what_a_crashed_probetui_left_is_adopted(
    bench: ProcessBench, another: Start
) -> None:
    other = another(SCRIPT)
    pid = await pid_of(bench, other.container_id)

    other.crash()

    pod = await bench.pod()
    assert (pod.name, pod.sandboxes[0].is_ready) == ("other", True)
    assert [container.state for container in pod.containers] == [RuntimeState.RUNNING]
    assert (await bench.sh(other.container_id, IS_READY)).exit_code == 0
    assert runs(pid)


async def test_what_was_adopted_can_be_stopped(
    bench: ProcessBench, another: Start
) -> None:
    other = another(SCRIPT)
    pid = await pid_of(bench, other.container_id)
    other.crash()

    await bench.runtime.stop_container(other.container_id, 30)

    # Nobody but its parent, which is gone, could have known that it was 7.
    status = await bench.ended(other.container_id)
    assert (status.exit_code, status.reason) == (255, "Unknown")
    assert not runs(pid)


async def test_what_a_probetui_left_on_purpose_is_adopted(
    bench: ProcessBench, another: Start
) -> None:
    other = another(SCRIPT)
    pid = await pid_of(bench, other.container_id)

    other.leave()

    assert await bench.state(other.container_id) is RuntimeState.RUNNING
    await bench.runtime.remove_pod_sandbox((await bench.pod()).sandboxes[0].sandbox_id)
    assert not runs(pid)
    assert list(bench.base.iterdir()) == []


async def test_what_was_left_goes_to_who_runs_that_pod_and_to_nobody_else(
    bench: ProcessBench, another: Start
) -> None:
    other = another(SCRIPT)
    await pid_of(bench, other.container_id)
    other.leave()
    (file,) = bench.base.glob(f"*/{records.SANDBOX_FILE}")
    before = records.read_sandbox(file)
    of_other_pods = ProcessRuntime(
        bench.base, SystemClock(), adopts=lambda _namespace, name: name != "other"
    )

    (listed,) = await of_other_pods.relist()
    untouched = records.read_sandbox(file)
    pod = await bench.pod()
    adopted = records.read_sandbox(file)
    await of_other_pods.close()

    assert listed.containers[0].container_id == other.container_id
    assert untouched == before
    assert pod.containers[0].container_id == other.container_id
    assert adopted is not None
    assert adopted.owner == identify(os.getpid())


async def test_an_exit_during_an_outage_has_an_unknown_status(
    bench: ProcessBench, another: Start
) -> None:
    other = another(f"sleep 300 & echo $! > child; {SCRIPT}")
    pid = await pid_of(bench, other.container_id)
    child = bench.pid_in(other.container_id, "child")
    other.crash()
    os.kill(pid, signal.SIGKILL)
    await bench.until_dead(pid)
    assert runs(child)

    (container,) = (await bench.pod()).containers

    assert container.state is RuntimeState.EXITED
    assert (container.exit_code, container.reason) == (255, "Unknown")
    await bench.until_dead(child)


async def test_pods_of_a_probetui_that_runs_are_left_to_it(
    bench: ProcessBench, another: Start
) -> None:
    other = another(SCRIPT)
    pid = await pid_of(bench, other.container_id)
    ours = await bench.run_ready(POLITE)

    await bench.runtime.stop_container(other.container_id, 0)
    await bench.runtime.remove_container(other.container_id)
    with pytest.raises(ContainerRuntimeError):
        await bench.sh(other.container_id, IS_READY)

    pod = await bench.pod()
    assert [container.container_id for container in pod.containers] == [ours]
    assert runs(pid)


async def test_an_observer_lists_the_pods_of_a_running_probetui(
    bench: ProcessBench, another: Start, observer: ProcessRuntime
) -> None:
    other = another(SCRIPT)
    pid = await pid_of(bench, other.container_id)

    (pod,) = await observer.relist()
    await observer.remove_pod_sandbox(pod.sandboxes[0].sandbox_id)

    assert [container.container_id for container in pod.containers] == [
        other.container_id
    ]
    assert not runs(pid)
    assert list(bench.base.iterdir()) == []


async def test_the_parent_reports_the_exit_of_a_container_stopped_by_another_session(
    bench: ProcessBench, another: Start, observer: ProcessRuntime
) -> None:
    other = another(SCRIPT)
    await pid_of(bench, other.container_id)
    other.freeze()

    await observer.stop_container(other.container_id, 30)

    record = json.loads(
        bench.home(other.container_id).with_name("container.json").read_text()
    )
    assert (await bench.ended(other.container_id, observer)).reason == "Unknown"
    assert record["finished_at"] is None  # it is not for the observer to say
    other.thaw()

    async def has_exit_code() -> bool:
        status = await bench.ended(other.container_id, observer)
        return status.exit_code == 7

    await bench.until(has_exit_code)


async def test_a_number_that_was_used_again_is_not_the_container(
    bench: ProcessBench, innocent: subprocess.Popen[bytes]
) -> None:
    container_id = await bench.run_ready(SCRIPT)
    await bench.runtime.close()
    file = bench.home(container_id).with_name("container.json")
    fields = json.loads(file.read_text())
    real = fields["process"]["pid"]
    fields["process"] = {"pid": innocent.pid, "born": "at another time"}
    file.write_text(json.dumps(fields))
    next_one = bench.another()

    status = await bench.ended(container_id, next_one)
    await next_one.stop_container(container_id, 1)
    await next_one.remove_container(container_id)

    assert status.reason == "Unknown"
    assert innocent.poll() is None
    await bench.until_dead(real)
    await next_one.close()
