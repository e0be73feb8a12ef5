"""Whole sessions with API servers that attack: probes keep their period, ^C ends them.

Whatever a server sends, a pod that answers is probed on time, the program ends when it
is interrupted, and its memory stays bounded.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import pytest
from msgspec import Struct

from tests.cluster.servers import write_kubeconfig
from tests.e2e.program import PATIENCE_SECONDS, Program
from tests.hostile.api_servers import NAME
from tests.hostile.test_api_servers import attacking
from tests.lateness import Lateness

LONGEST_GAP_SECONDS = 1.5
"""Between two probes with a period of a second."""

LONGEST_END_SECONDS = 5
"""More than a session with a quiet server takes on the same machine."""

MOST_GROWTH = 150 * 10**6
_LASTS_SECONDS = 8
_START_SECONDS = 5
"""Of `watch`, which probes nothing."""

_QUIET = ("nothing", "nowhere")
_OF_LISTS = ("gzip-thrice", "objects", "values", "annotation", "continue")
_OF_WATCHES = (
    *("gzip-thrice", "values", "strings", "annotation", "escapes"),
    *("updates", "new-pods", "one-line", "small-chunks"),
)
_SHORT = {("attach", "watch", "gzip-thrice"), ("node", "watch", "values")}
_CASES = [
    *(("watch", "list", attack) for attack in _OF_LISTS),
    *(("watch", "watch", attack) for attack in _OF_WATCHES),
    *(("watch", "metrics", attack) for attack in ("gzip-thrice", "small-chunks")),
    *(("attach", "watch", attack) for attack in _OF_WATCHES),
    *(("node", "list", attack) for attack in _OF_LISTS),
    *(("node", "watch", attack) for attack in _OF_WATCHES),
]


class Measured(Struct):
    """What came of a session.

    `memory` is the largest, `memory_left` the last, in bytes; gaps are between probes.
    `lost_seconds` is what the machine took from programs in the worst ten seconds.
    """

    memory: int
    memory_left: int
    longest_gap: float
    probes: int
    end_seconds: float
    lost_seconds: float
    status: int
    errors: str


@contextlib.contextmanager
def probed_server() -> Iterator[tuple[int, list[float]]]:
    """Serve a pod's probes; yield the port and when they came."""
    times: list[float] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            times.append(perf_counter())
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            del format, args

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port, times
        finally:
            server.shutdown()


def static_pod(folder: Path, port: int) -> Path:
    """Write a pod whose process sleeps, and whose probe is answered by the test."""
    probe = {"httpGet": {"path": "/", "port": port, "host": "127.0.0.1"}}
    container = {
        "name": "app",
        "image": "none",
        "command": ["sleep", "1000"],
        "livenessProbe": {**probe, "periodSeconds": 1},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "beside"},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
    }
    path = folder / "static.yaml"
    path.write_text(json.dumps(pod), encoding="utf-8")
    return path


def measure(
    folder: Path,
    command: str,
    attack: str,
    place: str,
    *,
    seconds: float = _LASTS_SECONDS,
    times: float = float("inf"),
) -> Measured:
    """Run a session under an attack, interrupt it, and return what came of it."""
    with (
        Lateness() as lateness,
        probed_server() as (port, probed_at),
        attacking(attack, place, port, times) as url,
    ):
        config = write_kubeconfig(folder / "config", url)
        static = static_pod(folder, port)
        options = {
            "watch": ("watch", "--via-node-proxy"),
            "attach": ("attach", f"pod/{NAME}", "--reach", "direct"),
            "node": (
                *("node", "--runtime", "process", "--name", "hostile-api"),
                *("--address", "127.0.0.1", "--static", str(static)),
                # Who drains a node waits for the API server, up to a second ^C.
                "--keep-node",
            ),
        }[command]
        arguments = (*options, "--kubeconfig", str(config), "--plain")
        with Program(folder).started(*arguments) as process:
            printed: list[str] = []
            for stream in (process.stdout, process.stderr):
                assert stream is not None
                threading.Thread(
                    target=printed.extend, args=(stream,), daemon=True
                ).start()
            memory = _follow_memory(process, seconds, probed_at, command)
            interrupted_at = perf_counter()
            process.send_signal(signal.SIGINT)
            status = process.wait(PATIENCE_SECONDS)
            ended_at = perf_counter()
        if command == "node":  # it keeps its static pod, too
            Program(folder).run("down", "beside-hostile-api")
    on_time = [at for at in probed_at if at < interrupted_at]
    gaps = [
        later - earlier for earlier, later in pairwise(on_time[:: _PROBES[command]])
    ]
    return Measured(
        max(memory),
        memory[-1],
        max(gaps, default=0),
        len(gaps),
        ended_at - interrupted_at,
        lateness.worst(),
        status,
        "".join(printed),
    )


_PROBES = {"watch": 1, "attach": 2, "node": 1}
"""Of the pod at the probed server, each once a second."""


def _follow_memory(
    process: subprocess.Popen[str],
    seconds: float,
    probed_at: Sequence[float],
    command: str,
) -> list[int]:
    """Return the resident memory, four times a second; less if the process ends.

    Seconds are counted from the first probe on: on a busy machine a start takes long.
    """
    memory = [0]
    status = Path(f"/proc/{process.pid}/status")
    latest = perf_counter() + PATIENCE_SECONDS
    while process.poll() is None:
        if found := re.search(r"VmRSS:\s+(\d+) kB", status.read_text("ascii")):
            memory.append(int(found[1]) * 1024)
        begins_at = latest
        if probed_at:
            begins_at = probed_at[0]
        elif command == "watch":
            begins_at = latest - PATIENCE_SECONDS + _START_SECONDS
        if perf_counter() > begins_at + seconds:
            break
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.25)
    return memory


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Measured]:
    """Measure each command with a server that attacks nowhere."""
    return {
        command: measure(tmp_path_factory.mktemp(command), command, *_QUIET)
        for command in ("watch", "attach", "node")
    }


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("command", "place", "attack"),
    [
        pytest.param(
            *case, id="-".join(case), marks=() if case in _SHORT else pytest.mark.slow
        )
        for case in _CASES
    ],
)
def test_probes_are_on_time_and_an_interrupt_ends_a_session(
    command: str,
    place: str,
    attack: str,
    tmp_path: Path,
    quiet: dict[str, Measured],
) -> None:
    found = measure(tmp_path, command, attack, place)

    assert "Traceback" not in found.errors
    assert "bug in probetui" not in found.errors
    assert found.status != 70, found.errors
    assert found.end_seconds < (
        quiet[command].end_seconds + LONGEST_END_SECONDS + found.lost_seconds
    )
    assert found.memory - quiet[command].memory < MOST_GROWTH
    if (command, place) == ("node", "list"):
        # It cannot learn what to run, says so and ends.
        assert found.status == 3, found.errors
    elif command != "watch":
        assert found.probes >= _LASTS_SECONDS / 2
        assert found.longest_gap < LONGEST_GAP_SECONDS + found.lost_seconds
