"""Whole nodes whose kubelet API is attacked, also by clients that may run commands.

Whatever a client sends, a pod that answers is probed on time, the memory that the
client took comes back, and the program ends when it is interrupted.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import pytest
from msgspec import Struct

from probetui.runtimes.proc_net import listeners_of
from tests.cluster.servers import write_kubeconfig
from tests.e2e.program import PATIENCE_SECONDS, Program, wait_until
from tests.hostile.clients import EXEC_ATTACKS, HTTP_ATTACKS, TLS_ATTACKS
from tests.hostile.test_api_servers import attacking
from tests.hostile.test_sessions_with_api_servers import (
    LONGEST_END_SECONDS,
    LONGEST_GAP_SECONDS,
    MOST_GROWTH,
    probed_server,
    static_pod,
)
from tests.lateness import Lateness

pytestmark = pytest.mark.e2e

NODE = "hostile-clients"
POD = f"beside-{NODE}"
MOST_LEFT_BYTES = 64 << 20
"""Of resident memory, after all attacks: the allocator keeps what was in use at once,
and uses it again. What is still referred to `test_hostile_clients` counts."""

RETURN_SECONDS = 300
"""Until the memory is back: what clients had sent before they left is read at a pace
that leaves the loop to probes."""

_GIVES_BACK = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": str(1 << 17)}
"""For glibc, whose own threshold grows with what is freed."""

_SHORT_SECONDS, _LONG_SECONDS = 2, 6
_STREAMS = "input=1&output=1&error=1&tty=1"
_PATHS = {
    # It reads all that is sent, and sends it back.
    "cat": f"/exec/default/{POD}/app?command=cat&{_STREAMS}",
    # It reads nothing.
    "sleep": f"/exec/default/{POD}/app?command=sleep&command=1000&{_STREAMS}",
    "attach": f"/attach/default/{POD}/app?{_STREAMS}",
}
_SOME = (
    *(("websocket-pings", "cat"), ("websocket-stdin", "cat"), ("spdy-sizes", "sleep")),
    *(("spdy-settings", "attach"), ("many-headers", "sleep"), ("half-open", "sleep")),
)


class _Node(Struct):
    """A node that runs; `probed_at` grows with each probe of its pod."""

    process: subprocess.Popen[str]
    port: int
    probed_at: list[float]
    printed: list[str]

    def memory(self) -> int:
        """Return its resident memory, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024


@contextmanager
def _running_node(folder: Path) -> Iterator[_Node]:
    """Run a node with a pod that is probed; the API server is a quiet one."""
    with probed_server() as (port, probed_at), attacking("nothing", "nowhere") as url:
        config = write_kubeconfig(folder / "config", url)
        arguments = (
            *("node", "--runtime", "process", "--name", NODE, "--plain"),
            *("--address", "127.0.0.1", "--static", str(static_pod(folder, port))),
            *("--kubeconfig", str(config), "--keep-node"),
        )
        with Program(folder, _GIVES_BACK).started(*arguments) as process:
            printed: list[str] = []
            for stream in (process.stdout, process.stderr):
                assert stream is not None
                threading.Thread(
                    target=printed.extend, args=(stream,), daemon=True
                ).start()
            wait_until(lambda: len(probed_at) > 1, "the first probes")
            endpoints = listeners_of([process.pid]).endpoints
            (kubelet_port,) = {endpoint.port for endpoint in endpoints}
            yield _Node(process, kubelet_port, probed_at, printed)
        Program(folder).run("down", POD)


def _attack(name: str, node: _Node, path: str, seconds: float) -> int:
    """Attack from a process of its own; return what the clients counted.

    On a busy machine the command may take longer to start than the attack lasts: then
    the attack is made again, for longer.
    """
    lasts = seconds
    while True:
        attack = subprocess.run(
            [
                *(sys.executable, "-m", "tests.hostile.clients", name),
                *(f"127.0.0.1:{node.port}", path, "token", "--seconds", str(lasts)),
            ],
            check=True,
            capture_output=True,
            timeout=lasts + PATIENCE_SECONDS,
        )
        taken, lasts = int(attack.stdout), 4 * lasts
        if taken or lasts > PATIENCE_SECONDS:
            return taken


@contextmanager
def _followed(measure: Callable[[], int]) -> Iterator[list[int]]:
    """Measure ten times a second while the block lasts."""
    found = [measure()]
    is_over = threading.Event()

    def follow() -> None:
        while not is_over.wait(0.1):
            found.append(measure())

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield found
    finally:
        is_over.set()
        thread.join()


def test_some_attacks_leave_probes_memory_and_the_end_of_a_node(tmp_path: Path) -> None:
    check_node(tmp_path, _SOME, _SHORT_SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize("command", _PATHS)
def test_all_attacks_of_clients_of_a_command_do(command: str, tmp_path: Path) -> None:
    check_node(tmp_path, [(attack, command) for attack in EXEC_ATTACKS], _LONG_SECONDS)


@pytest.mark.slow
def test_all_attacks_on_connections_do(tmp_path: Path) -> None:
    attacks = (*HTTP_ATTACKS, *TLS_ATTACKS)
    check_node(tmp_path, [(attack, "sleep") for attack in attacks], _LONG_SECONDS)


def check_node(
    folder: Path, attacks: Sequence[tuple[str, str]], seconds: float
) -> None:
    """Attack a node, interrupt it, and assert that nobody has suffered."""
    with Lateness() as lateness, _running_node(folder) as node:
        before = node.memory()
        for attack, command in attacks:
            began_at, since = perf_counter(), lateness.now
            with _followed(node.memory) as memory:
                taken = _attack(attack, node, _PATHS[command], seconds)
            assert taken > 0, f"{attack} is refused"
            probed_at = [at for at in node.probed_at if at > began_at]
            gaps = [later - earlier for earlier, later in pairwise(probed_at)]
            longest = LONGEST_GAP_SECONDS + lateness.worst(since)
            assert max(gaps) < longest, attack
            assert max(memory) - before < MOST_GROWTH, attack
        wait_until(
            lambda: node.memory() - before < MOST_LEFT_BYTES,
            "memory to return",
            RETURN_SECONDS,
        )
        interrupted_at, since = perf_counter(), lateness.now
        node.process.send_signal(signal.SIGINT)
        status = node.process.wait(PATIENCE_SECONDS)
        ended_at, lost = perf_counter(), lateness.lost(since)

    errors = "".join(node.printed)
    assert "Traceback" not in errors
    assert status == 128 + signal.SIGINT, errors
    assert ended_at - interrupted_at < LONGEST_END_SECONDS + lost
