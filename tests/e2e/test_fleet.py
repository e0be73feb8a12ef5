"""`fleet` on a real terminal: the table, why a container was killed, and the end."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.prometheus.server import refusal, stored_answer, told_prometheus
from tests.e2e.program import PROGRAM, Program
from tests.e2e.screen import PROMPT, Terminal, terminal

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.tmux]

_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop}
spec:
  containers:
  - name: app
    image: app
    livenessProbe: {httpGet: {port: 80}, periodSeconds: 10, failureThreshold: 3}
"""
_NAMES = {"namespace": "shop", "pod": "web-0", "container": "app"}
_TIMES = ("--from", "1970-01-01T00:00:00Z", "--to", "1970-01-01T01:00:00Z")
_ENDED_AT = 84


def _answer() -> Callable[[str], bytes]:
    """Return the answers of a store with one kill: three failures, then a restart."""
    of_probe = {**_NAMES, "pod_uid": "u", "probe_type": "Liveness"}
    counter = {"__name__": "prober_probe_total", **of_probe}
    status = {**_NAMES, "uid": "u"}
    counters = [
        (
            {**counter, "result": "successful"},
            [(at, str(n)) for at, n in ((30.0, 3), (60.0, 3), (90.0, 3), (120.0, 6))],
        ),
        (
            {**counter, "result": "failed"},
            [(at, str(n)) for at, n in ((60.0, 3), (90.0, 3), (120.0, 3))],
        ),
    ]
    states = [
        (
            {"__name__": f"kube_pod_container_status_{what}", **status},
            [(float(at), str(value)) for at, value in values],
        )
        for what, values in (
            ("restarts_total", ((35, 0), (65, 0), (95, 1), (125, 1))),
            ("ready", ((35, 1), (65, 1), (95, 1), (125, 1))),
            ("last_terminated_timestamp", ((95, _ENDED_AT), (125, _ENDED_AT))),
            ("last_terminated_exitcode", ((95, 137), (125, 137))),
        )
    ]
    return stored_answer({**_NAMES, "pod_uid": "u"}, counters, states)


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    with told_prometheus(_answer()) as url:
        yield url


@pytest.fixture(scope="module")
def refusing_store() -> Iterator[str]:
    """The same, but it has no answer about durations."""
    answer = _answer()

    def refuse(query: str) -> bytes:
        if "prober_probe_duration" in query:
            return refusal("execution", "too many samples")
        return answer(query)

    with told_prometheus(refuse) as url:
        yield url


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "web.yaml"
    path.write_text(_POD)
    return str(path)


@pytest.fixture
def tty(program: Program) -> Iterator[Terminal]:
    with terminal(program.environment, 80, 24) as opened:
        yield opened


def _words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_enter_says_what_why_says_and_q_leaves_with_0(
    program: Program, tty: Terminal, store: str, manifest: str
) -> None:
    asked = ["--prometheus", store, "-f", manifest]
    line = shlex.join([str(PROGRAM), "fleet", *asked, *_TIMES])
    at = "1970-01-01T00:01:24+00:00"
    why = subprocess.run(
        [PROGRAM, "why", "shop/web-0/app", *asked, "--at", at],
        env=program.environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    tty.enter(f"{line}; echo status $?")
    tty.wait_for("1 of 1 containers killed by probes", "shop/web-0/app", "o sort")
    assert tty.is_covered
    tty.type("Enter")
    tty.wait_for("was killed between")
    shown = _words(tty.text)
    tty.type("Escape")
    tty.wait_without("was killed between")
    tty.type("q")
    tty.wait_for("status 0")

    assert _words(why)[:120] in shown
    assert not tty.is_covered


def test_what_a_store_refuses_is_named_and_strict_ends_with_1(
    tty: Terminal, refusing_store: str, manifest: str
) -> None:
    asked = ["--prometheus", refusing_store, "-f", manifest, "--strict"]
    line = shlex.join([str(PROGRAM), "fleet", *asked, *_TIMES])

    tty.enter(f"{line}; echo status $?")
    tty.wait_for("cannot answer", "shop/web-0/app", "o sort")
    tty.type("Enter")
    tty.wait_for("was killed between")
    tty.type("Escape")
    tty.wait_without("was killed between")
    tty.type("q")

    tty.wait_for("warning: ", "status 1")


def test_a_pipe_and_a_form_get_text(tty: Terminal, store: str) -> None:
    line = shlex.join([str(PROGRAM), "fleet", "--prometheus", store, *_TIMES])
    for more in ("-o table", "--plain", "| cat"):
        tty.enter("clear")
        tty.enter(f"{line} {more}; echo status $?")
        tty.wait_for("NAMESPACE", "status 0")
        assert not tty.is_covered


@pytest.mark.parametrize(
    ("ends", "status"),
    [pytest.param("", 3, id="no store"), pytest.param("TERM", 143, id="a signal")],
)
def test_the_terminal_is_restored_whatever_ends_it(
    tty: Terminal, store: str, tmp_path: Path, ends: str, status: int
) -> None:
    url, pid = store if ends else "http://127.0.0.1:1", tmp_path / "pid"
    words = f"echo $$ > {pid}; exec {PROGRAM} fleet --prometheus {url}"
    tty.enter(f"sh -c {shlex.quote(words)}; echo status $?")
    if ends:
        tty.wait_for("o sort")
        os.kill(int(pid.read_text()), signal.Signals[f"SIG{ends}"])
    tty.wait_for(f"status {status}", PROMPT)

    assert not tty.is_covered
