"""Programs that try to outlive their container."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from probetui.drive.clocks import SystemClock
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import RunPodSandbox
from probetui.runtimes.process.descendants import (
    kill_numbered,
    new_number,
    numbered,
    numbering,
)
from probetui.runtimes.process.runtime import ProcessRuntime
from probetui.runtimes.process_identity import Process, identify
from tests.builders import a_pod
from tests.requirements import require_root
from tests.runtimes.bench import POLITE, UNAWARE
from tests.runtimes.process.bench import AnotherProbetui, ProcessBench, runs

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"),
    pytest.mark.slow,
]

LASTS = "exec sleep 300"
AWAY = "env -i PATH=/bin:/usr/bin setsid"
DAEMON = f"({AWAY} sh -c 'echo $$ > {{0}}/pid; cd /; {LASTS}' </dev/null >&0 2>&0 &)"

FLIGHTS = [
    pytest.param(f"{DAEMON}", id="without its environment, in a session of its own"),
    pytest.param(
        f"{AWAY} sh -c \"({AWAY} sh -c 'echo \\$\\$ > {{0}}/pid; {LASTS}' &)\" &",
        id="twice, so that its parent is dead",
    ),
    pytest.param(
        f'({AWAY} sh -c \'trap "" TERM HUP INT; echo $$ > {{0}}/pid; '
        "while :; do sleep 1; done' &)",
        id="deaf to signals",
    ),
    pytest.param(
        f"({AWAY} sh -c 'echo $$ > {{0}}/pid; kill -STOP $$' &)",
        id="stopped",
    ),
    pytest.param(
        f"({AWAY} sh -c 'echo $$ > {{0}}/pid; while :; do "
        f"{AWAY} sleep 300 & sleep 0.01; done' &)",
        id="and starts others all the time",
    ),
]


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """Return an unmanaged process that resembles a container's as much as possible."""
    child = subprocess.Popen(
        ["sleep", "300"], env={"PROBETUI_CONTAINER": "0" * 12}, start_new_session=True
    )
    yield child
    child.kill()
    child.wait()


@pytest.fixture
def another(bench: ProcessBench) -> Iterator[Callable[[str], AnotherProbetui]]:
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(AnotherProbetui(bench.base, script))


async def fled(bench: ProcessBench, container_id: ContainerID) -> int:
    """Wait until a script has started an escaped process, and return its PID."""

    async def has_fled() -> bool:
        return bench.pid_in(container_id, "pid") is not None

    await bench.until(has_fled)
    pid = bench.pid_in(container_id, "pid")
    assert pid is not None
    assert runs(pid)
    return pid


async def has(path: Path) -> bool:
    return path.exists()  # noqa: ASYNC240  # a moment


async def until_none_is_left(bench: ProcessBench, number: int) -> None:
    """Wait until the killed processes have exited."""

    async def none_is_left() -> bool:
        return not left_of(number)

    await bench.until(none_is_left)


def fleeing(flight: str, then: str) -> str:
    return f"{flight.format('$PWD')}\n{then}"


def left_of(number: int) -> list[Process]:
    return [process for _, process in numbered({number}, ())]


def number_of(pid: int) -> int:
    return resource.prlimit(pid, resource.RLIMIT_RTTIME)[0]


@pytest.mark.parametrize("flight", FLIGHTS)
@pytest.mark.parametrize("then", [POLITE, UNAWARE], ids=["polite", "unaware"])
async def test_an_escaped_process_ends_when_its_container_is_stopped(
    bench: ProcessBench,
    bystander: subprocess.Popen[bytes],
    flight: str,
    then: str,
) -> None:
    container_id = await bench.run(f"export PWD; {fleeing(flight, then)}")
    pid = await fled(bench, container_id)
    number = number_of(pid)

    await bench.runtime.stop_container(container_id, 1)

    assert not runs(pid)
    assert left_of(number) == []
    assert bystander.poll() is None


CHAIN = """\
test -e {0}/stop && exit
: > {0}/beat
setsid /bin/sh {0}/chain </dev/null >/dev/null 2>&1 &
"""


async def test_a_chain_of_processes_that_each_start_the_next_is_killed(
    bench: ProcessBench,
) -> None:
    container_id = await bench.run(POLITE)
    home = bench.home(container_id)
    (home / "chain").write_text(CHAIN.format(home))
    beat = home / "beat"
    try:
        await bench.sh(container_id, "sh chain")
        await bench.until(lambda: has(beat))

        await bench.runtime.stop_container(container_id, 1)

        beat.unlink(missing_ok=True)
        await bench.wait(timedelta(seconds=0.5))
        assert not beat.exists()
    finally:
        (home / "stop").touch()


@pytest.mark.parametrize("flight", FLIGHTS)
async def test_an_escaped_process_ends_with_the_main_process(
    bench: ProcessBench, bystander: subprocess.Popen[bytes], flight: str
) -> None:
    wait_for_file = "while ! test -e end; do sleep 0.02; done; exit 3"
    container_id = await bench.run(f"export PWD; {fleeing(flight, wait_for_file)}")
    pid = await fled(bench, container_id)
    number = number_of(pid)

    await bench.sh(container_id, "touch end")
    status = await bench.ended(container_id)

    assert status.exit_code == 3
    await bench.until_dead(pid)
    await until_none_is_left(bench, number)
    assert bystander.poll() is None


@pytest.mark.parametrize("flight", FLIGHTS)
async def test_an_escaped_process_is_killed_by_another_probetui_too(
    bench: ProcessBench,
    bystander: subprocess.Popen[bytes],
    another: Callable[[str], AnotherProbetui],
    flight: str,
) -> None:
    theirs = another(f"export PWD; {fleeing(flight, POLITE)}")
    pid = await fled(bench, theirs.container_id)
    number = number_of(pid)
    theirs.crash()
    later = ProcessRuntime(bench.base, SystemClock(), sees_all=True)

    for pod in await later.relist():
        for sandbox in pod.sandboxes:
            await later.stop_pod_sandbox(sandbox.sandbox_id)
            await later.remove_pod_sandbox(sandbox.sandbox_id)
    await later.close()

    assert not runs(pid)
    assert left_of(number) == []
    assert bystander.poll() is None


async def test_leftovers_of_a_main_process_with_an_unnoticed_exit_are_killed_too(
    bench: ProcessBench, another: Callable[[str], AnotherProbetui]
) -> None:
    theirs = another(f"export PWD; {DAEMON.format('$PWD')}; echo $$ > main; {POLITE}")
    pid = await fled(bench, theirs.container_id)
    main = bench.pid_in(theirs.container_id, "main")
    assert main is not None
    theirs.crash()
    os.kill(main, 9)
    await bench.until_dead(main)
    assert runs(pid)

    later = ProcessRuntime(bench.base, SystemClock(), sees_all=True)
    for pod in await later.relist():
        for sandbox in pod.sandboxes:
            await later.remove_pod_sandbox(sandbox.sandbox_id)
    await later.close()

    assert not runs(pid)


async def test_leftovers_of_a_probe_end_with_its_container(
    bench: ProcessBench,
) -> None:
    container_id = await bench.run(POLITE)
    await bench.sh(container_id, f"export PWD; {DAEMON.format('$PWD')}")
    pid = await fled(bench, container_id)

    await bench.runtime.stop_container(container_id, 1)

    assert not runs(pid)


async def test_containers_do_not_end_each_other(bench: ProcessBench) -> None:
    pod = a_pod(name="two")
    sandbox_id = await bench.runtime.run_pod_sandbox(RunPodSandbox(pod, 0))
    script = f"export PWD; {DAEMON.format('$PWD')}; {POLITE}"
    one = await bench.run(script, sandbox_id=sandbox_id, name="one")
    other = await bench.run(script, sandbox_id=sandbox_id, name="other")
    in_one, in_other = await fled(bench, one), await fled(bench, other)

    await bench.runtime.stop_container(one, 1)

    assert not runs(in_one)
    assert runs(in_other)


async def test_probetui_never_kills_itself_while_it_starts_a_process(
    bench: ProcessBench,
) -> None:
    me = identify(os.getpid())
    assert me is not None
    number = new_number()

    with numbering(number):
        assert left_of(number) == [me]
        assert kill_numbered({number}, {me}) == {}

    assert left_of(number) == []


def test_the_limit_of_this_process_is_restored() -> None:
    before = resource.getrlimit(resource.RLIMIT_RTTIME)

    with contextlib.suppress(KeyError), numbering(new_number()):
        assert resource.getrlimit(resource.RLIMIT_RTTIME) != before
        raise KeyError

    assert resource.getrlimit(resource.RLIMIT_RTTIME) == before


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(0, id="none"),
        pytest.param(resource.RLIM_INFINITY, id="that of all others"),
        pytest.param(200_000, id="that of a program with such a limit"),
    ],
)
def test_a_record_cannot_name_the_pid_of_another_process(
    bystander: subprocess.Popen[bytes], number: int
) -> None:
    usual = resource.prlimit(bystander.pid, resource.RLIMIT_RTTIME)[1]
    limits = (number if number > 0 else usual, usual)
    resource.prlimit(bystander.pid, resource.RLIMIT_RTTIME, limits)

    assert kill_numbered({number}, ()) == {}

    assert bystander.poll() is None


def test_a_process_that_may_not_be_killed_is_named(
    bystander: subprocess.Popen[bytes],
) -> None:
    require_root()
    number = new_number()
    with numbering(number):
        theirs = subprocess.Popen(["sleep", "300"])
    code = (
        "import os\n"
        "from probetui.runtimes.process.descendants import kill_numbered\n"
        "from probetui.runtimes.process_identity import identify\n"
        "identify(os.getpid())\n"  # what is not read yet cannot be afterwards
        "os.setuid(65534)\n"
        f"(left,) = kill_numbered({{{number}}}, ())[{number}]\n"
        "print(left.process.pid, left.reason)\n"
    )
    try:
        refused = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert refused.stdout == f"{theirs.pid} Operation not permitted\n"
        assert theirs.poll() is None
    finally:
        theirs.kill()
        theirs.wait()
    assert bystander.poll() is None
