"""What the process runtime promises beyond the contract."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.kubelet.effects import PulledImage, PullImage, RunPodSandbox
from probetui.runtimes.process import container, descendant_killer, logs
from probetui.runtimes.process.runtime import ProcessRuntime
from probetui.runtimes.process_identity import Process, is_alive
from tests.builders import a_pod
from tests.runtimes.bench import FAILS, MISSING_PROGRAM, POLITE, SLOW, STUBBORN
from tests.runtimes.process.bench import ProcessBench, runs

UNTIL_END = "touch ready; while ! test -e end; do sleep 0.02; done"
"""Goes on until there is a file `end`."""


async def test_the_version_names_the_system(bench: ProcessBench) -> None:
    assert (await bench.runtime.version()).startswith("processes on ")


async def test_no_image_is_needed(bench: ProcessBench) -> None:
    image_id = await bench.runtime.image_status("no/such/image")
    pulled = await bench.runtime.pull_image(
        PullImage(a_pod(), "no/such/image"), lambda _text: None
    )

    assert image_id
    assert pulled == PulledImage(image_id, 0)


async def test_a_signal_that_comes_while_it_is_blocked_has_no_default_effect_later(
    bench: ProcessBench,
) -> None:
    """Shells block signals for a moment when they start a program."""
    unblocks = (
        "import pathlib, signal, time; "
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); "
        'pathlib.Path("ready").touch(); time.sleep(0.5); '
        "signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM}); "
        "time.sleep(300)"
    )
    container_id = await bench.run_ready(f"exec {sys.executable} -c '{unblocks}'")

    await bench.runtime.stop_container(container_id, 1)

    assert (await bench.ended(container_id)).exit_code == 137


async def test_a_program_that_waits_for_signals_gets_them(bench: ProcessBench) -> None:
    waits = (
        "import pathlib, signal; "
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); "
        'pathlib.Path("ready").touch(); '
        "exit(signal.sigwait({signal.SIGTERM}))"
    )
    container_id = await bench.run_ready(f"exec {sys.executable} -c '{waits}'")

    await bench.runtime.stop_container(container_id, 30)

    assert (await bench.ended(container_id)).exit_code == signal.SIGTERM


@pytest.mark.parametrize(
    "leave",
    [
        pytest.param("sleep 300 & echo $! > pid", id="in its group"),
        pytest.param(
            "setsid sh -c 'echo $$ > pid; exec sleep 300' & "
            "while ! test -s pid; do sleep 0.01; done",
            id="in a session of its own",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"),
        ),
    ],
)
async def test_the_end_of_the_main_process_is_the_end_of_all(
    bench: ProcessBench, leave: str
) -> None:
    container_id = await bench.run_ready(f"{leave}; {UNTIL_END}")
    pid = bench.pid_in(container_id, "pid")
    assert runs(pid)

    await bench.sh(container_id, "touch end")

    assert (await bench.ended(container_id)).exit_code == 0
    await bench.until_dead(pid)


def alive_until_checked() -> Callable[[Process], bool]:
    """Return an `is_alive` whose first process ends right after it was found alive."""
    checked: list[Process] = []

    def check(process: Process) -> bool:
        if checked:
            return is_alive(process)
        checked.append(process)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return True

    return check


@pytest.mark.parametrize("ends_after_the_check", [False, True])
async def test_the_search_for_what_is_left_does_not_hold_up_the_loop(
    bench: ProcessBench, monkeypatch: pytest.MonkeyPatch, *, ends_after_the_check: bool
) -> None:
    """With many processes on the machine it takes as long as a probe may."""
    searched_by: list[threading.Thread] = []

    def kill_numbered(*_: object, **__: object) -> dict[int, object]:
        searched_by.append(threading.current_thread())
        return {}

    monkeypatch.setattr(descendant_killer, "kill_numbered", kill_numbered)
    if ends_after_the_check:
        monkeypatch.setattr(container, "is_alive", alive_until_checked())

    status = await bench.ended(await bench.run("exit 3"))

    assert status.exit_code == 3
    assert searched_by
    assert threading.main_thread() not in searched_by


async def test_what_a_command_leaves_running_ends_with_the_container(
    bench: ProcessBench,
) -> None:
    container_id = await bench.run_ready(POLITE)
    await bench.sh(container_id, "sleep 300 & echo $! > pid")
    pid = bench.pid_in(container_id, "pid")
    assert runs(pid)

    await bench.runtime.stop_container(container_id, 30)

    await bench.until_dead(pid)


async def test_a_command_ends_with_its_container(bench: ProcessBench) -> None:
    container_id = await bench.run_ready(UNTIL_END)

    command, _ = await asyncio.gather(
        bench.sh(container_id, "touch end; sleep 300", limit=0),
        bench.ended(container_id),
    )

    assert command.exit_code == 137


async def test_without_readable_marks_groups_and_commands_are_killed_too(
    bench: ProcessBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "kill_marked", lambda _marker: None)
    container_id = await bench.run_ready(f"sleep 300 & echo $! > pid; {UNTIL_END}")
    pid = bench.pid_in(container_id, "pid")

    command, _ = await asyncio.gather(
        bench.sh(container_id, "touch end; sleep 300", limit=0),
        bench.ended(container_id),
    )

    assert command.exit_code == 137
    await bench.until_dead(pid)


async def test_removing_a_container_ends_the_commands_in_it(
    bench: ProcessBench,
) -> None:
    container_id = await bench.run_ready(POLITE)

    command, _ = await asyncio.gather(
        bench.sh(container_id, SLOW, limit=0),
        bench.runtime.remove_container(container_id),
    )

    assert command.exit_code == 137
    assert (await bench.pod()).containers == ()


async def test_closing_ends_commands_but_not_the_container(
    bench: ProcessBench,
) -> None:
    container_id = await bench.run_ready("echo $$ > pid; " + POLITE)

    command, _ = await asyncio.gather(
        bench.sh(container_id, SLOW, limit=0), bench.runtime.close()
    )

    assert command.exit_code == 137
    assert runs(bench.pid_in(container_id, "pid"))


async def test_a_container_has_a_folder_of_its_own(bench: ProcessBench) -> None:
    sandbox_id = await bench.sandbox(a_pod())
    first = await bench.run("touch mine; exit 1", sandbox_id=sandbox_id)
    await bench.ended(first)

    script = 'pwd; echo "$HOME"; touch "$TMPDIR/x"; ls -A . "$TMPDIR"'
    second = await bench.run(script, sandbox_id=sandbox_id, attempt=1)

    home = bench.home(second)
    tmp = home.with_name("tmp")
    assert await bench.printed(second) == [
        str(home),
        str(home),
        ".:",
        "dev",
        "",
        f"{tmp}:",
        "x",
    ]


async def test_a_pod_keeps_its_address_and_shares_it_with_nobody(
    bench: ProcessBench,
) -> None:
    first = await bench.sandbox(a_pod(name="one"))
    await bench.runtime.stop_pod_sandbox(first)

    await bench.sandbox(a_pod(name="two"))
    await bench.sandbox(a_pod(name="one"), attempt=1)

    one, two = await bench.runtime.relist()
    assert {sandbox.ip for sandbox in one.sandboxes} == set(one.ips)
    assert one.ips != two.ips


async def test_a_container_that_cannot_be_started_has_a_reason_and_stays_so(
    bench: ProcessBench,
) -> None:
    null_device = replace(bench.container(""), command=(MISSING_PROGRAM,))
    container_id = await bench.create(null_device)

    for _ in range(2):
        with pytest.raises(ContainerRuntimeError):
            await bench.runtime.start_container(container_id)

    status = await bench.ended(container_id)
    assert (status.exit_code, status.reason) == (128, "StartError")
    assert MISSING_PROGRAM in status.message
    assert status.started_at is None


async def test_a_container_is_started_once(bench: ProcessBench) -> None:
    container_id = await bench.run_ready(POLITE)

    with pytest.raises(ContainerRuntimeError, match="CONTAINER_RUNNING"):
        await bench.runtime.start_container(container_id)


async def test_no_container_is_made_in_a_sandbox_that_was_stopped(
    bench: ProcessBench,
) -> None:
    sandbox_id = await bench.sandbox(a_pod())
    created = await bench.create(bench.container(POLITE), sandbox_id=sandbox_id)
    await bench.runtime.stop_pod_sandbox(sandbox_id)

    with pytest.raises(ContainerRuntimeError, match="is not running"):
        await bench.create(bench.container(POLITE, "late"), sandbox_id=sandbox_id)
    with pytest.raises(ContainerRuntimeError, match="is not running"):
        await bench.runtime.start_container(created)


async def test_a_container_without_a_command_is_not_created(
    bench: ProcessBench,
) -> None:
    with pytest.raises(ContainerRuntimeError, match="no command"):
        await bench.create(replace(bench.container(""), command=()))

    assert (await bench.pod()).containers == ()


@pytest.mark.parametrize(
    ("policy", "script", "expected"),
    [
        pytest.param("FallbackToLogsOnError", "echo why; exit 1", "why\n", id="log"),
        pytest.param("FallbackToLogsOnError", "echo why; exit 0", "", id="no error"),
        pytest.param("File", "echo why; exit 1", "", id="file"),
    ],
)
async def test_a_termination_message_comes_from_the_log_where_it_may(
    bench: ProcessBench, policy: str, script: str, expected: str
) -> None:
    container_id = await bench.run(script, termination_message_policy=policy)

    assert (await bench.ended(container_id)).message == expected


async def test_a_log_is_bounded(
    bench: ProcessBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_FILE_BYTES", 1000)
    script = f"head -c 50000 /dev/zero | tr '\\0' x; {UNTIL_END}"
    container_id = await bench.run_ready(script, attempt=4)

    log = bench.home(container_id).parent / "4.log"

    async def is_shortened() -> bool:
        return log.stat().st_blocks * 512 <= 3 * 4096

    await bench.runtime.relist()  # begins to look at logs

    await bench.until(is_shortened)
    assert log.read_bytes()[-1000:] == b"x" * 1000


async def test_watchers_are_notified_at_once_of_an_exit(
    bench: ProcessBench,
) -> None:
    container_id = await bench.run_ready(UNTIL_END)
    change = asyncio.ensure_future(anext(bench.runtime.watch()))
    await bench.sh(container_id, "touch end")

    async with asyncio.timeout(10):
        await change

    assert await bench.state(container_id) is RuntimeState.EXITED


async def test_a_watch_ends_when_the_runtime_is_closed(bench: ProcessBench) -> None:
    watch = bench.runtime.watch()

    async def listen() -> None:
        async for _ in watch:
            pass

    listener = asyncio.ensure_future(listen())
    await asyncio.sleep(0)

    await bench.runtime.close()

    async with asyncio.timeout(10):
        await listener


async def test_only_the_user_can_look_into_the_folder(bench: ProcessBench) -> None:
    container_id = await bench.run(FAILS)
    await bench.ended(container_id)

    for folder in bench.base, *bench.home(container_id).parents[:2]:
        assert folder.stat().st_mode & 0o077 == 0


async def test_a_folder_that_was_removed_by_hand_is_a_pod_that_is_gone(
    bench: ProcessBench,
) -> None:
    sandbox_id = await bench.sandbox(a_pod())
    container_id = await bench.create(bench.container(POLITE), sandbox_id=sandbox_id)
    home = bench.home(container_id)

    for path in (home, home.with_name("tmp")):
        shutil.rmtree(path)  # noqa: TID251  # the test's own
    for file in ("container.json", "../sandbox.json"):
        (home.parent / file).unlink()

    await bench.runtime.stop_container(container_id, 1)
    await bench.runtime.remove_container(container_id)
    await bench.runtime.remove_pod_sandbox(sandbox_id)
    assert await bench.runtime.relist() == ()


async def test_folders_that_were_closed_are_removed_with_the_rest(
    bench: ProcessBench,
) -> None:
    container_id = await bench.run("mkdir -p a/b; touch a/b/c; chmod 0 a/b a")
    await bench.ended(container_id)
    home = bench.home(container_id)

    await bench.runtime.remove_container(container_id)

    assert not home.exists()


async def test_what_the_system_refuses_is_refused_as_a_runtime_does(
    tmp_path: Path,
) -> None:
    file = tmp_path / "file"
    file.touch()
    runtime = ProcessRuntime(file, SystemClock())

    with pytest.raises(ContainerRuntimeError, match="Not a directory"):
        await runtime.relist()
    with pytest.raises(ContainerRuntimeError):
        await runtime.run_pod_sandbox(RunPodSandbox(a_pod(), 0))


async def test_sandboxes_can_be_removed_by_two_at_once(bench: ProcessBench) -> None:
    sandbox_id = await bench.sandbox(a_pod())
    await bench.run_ready(STUBBORN, sandbox_id=sandbox_id)

    await asyncio.gather(
        bench.runtime.remove_pod_sandbox(sandbox_id),
        bench.runtime.remove_pod_sandbox(sandbox_id),
    )

    assert await bench.runtime.relist() == ()
    assert list(bench.base.iterdir()) == []


async def test_fifty_pods_are_listed_quickly(bench: ProcessBench) -> None:
    for number in range(50):
        pod = a_pod(name=f"pod-{number}")
        sandbox_id = await bench.sandbox(pod)
        await bench.create(bench.container(POLITE), sandbox_id=sandbox_id)
    before = time.process_time()

    pods = await asyncio.gather(*(bench.runtime.relist() for _ in range(10)))

    # A hundredth of a second each is ten times of what it takes.
    assert time.process_time() - before < 10 * 0.01
    assert [len(pod) for pod in pods] == [50] * 10


async def test_an_id_of_another_runtime_is_unknown(bench: ProcessBench) -> None:
    await bench.runtime.stop_container(ContainerID("docker://c0c0"), 1)

    with pytest.raises(ContainerRuntimeError, match="docker://c0c0"):
        await bench.runtime.start_container(ContainerID("docker://c0c0"))
