"""`probetui logs`: what a container has printed, on every runtime."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

import pytest

from tests.e2e.program import RUNTIMES, Program, wait_for, wait_until

# The probe ends the first life, and nobody probes the second one, which is kept.
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: logspod, namespace: e2e-logs}
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: app
      image: busybox:1.36
      command:
        - sh
        - -c
        - |
          cat /proc/sys/kernel/random/uuid
          echo 'cannot open /data' >&2
          while :; do echo goes on; sleep 1; done
      livenessProbe: {exec: {command: ["false"]}, periodSeconds: 1, failureThreshold: 2}
    - name: other
      image: busybox:1.36
      command: [sleep, "300"]
"""


@pytest.fixture(params=RUNTIMES)
def runtime(
    request: pytest.FixtureRequest, program: Program
) -> Iterator[tuple[str, ...]]:
    """Run the pod on a runtime until its second life, and keep it."""
    with program.keeping(POD, request.param, until="restarts=1") as options:
        yield options


def test_the_lines_of_each_life_are_printed(
    program: Program, runtime: tuple[str, ...]
) -> None:
    def printed(*options: str) -> list[str]:
        logs = program.run("logs", *runtime, "logspod", *options)
        assert logs.returncode == 0, logs.stderr
        return logs.stdout.splitlines()

    first = printed("-c", "app", "-p")
    last = printed("-c", "app", "-p", "--tail", "1")
    wait_until(lambda: "goes on" in printed("-c", "app"), "the second life")
    second = printed("-c", "app")

    # Engines keep no order between the two streams of a container.
    assert {"cannot open /data", "goes on"} <= {*first} & {*second}
    assert len({*first} - {*second}) == len({*second} - {*first}) == 1
    assert last == first[-1:]


def test_new_lines_are_followed_until_an_interrupt(
    program: Program, runtime: tuple[str, ...]
) -> None:
    with program.started("logs", *runtime, "logspod/app", "-f", "--tail", "0") as logs:
        assert logs.stdout is not None
        wait_for("goes on", logs.stdout)
        wait_for("goes on", logs.stdout)
        logs.send_signal(signal.SIGINT)
        status = logs.wait(60)

    assert status == 130


def test_lines_have_times_where_the_runtime_keeps_them(
    program: Program, runtime: tuple[str, ...]
) -> None:
    timed = program.run("logs", *runtime, "logspod/app", "--timestamps")
    recent = program.run("logs", *runtime, "logspod/app", "--since", "1h")

    if "process" in runtime:
        assert (timed.returncode, recent.returncode) == (2, 2)
        assert "the lines of a plain process have no times" in timed.stderr
        return
    stamps, texts = zip(
        *(line.split(maxsplit=1) for line in timed.stdout.splitlines()), strict=True
    )
    stamp = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
    assert all(map(stamp.fullmatch, stamps))
    assert {*texts} <= {*recent.stdout.splitlines()}


def test_what_is_not_there_is_named(program: Program, runtime: tuple[str, ...]) -> None:
    no_earlier = program.run("logs", *runtime, "logspod/other", "-p")
    unclear = program.run("logs", *runtime, "logspod")
    nobody = program.run("logs", *runtime, "nobody")

    assert no_earlier.returncode == 5
    assert "e2e-logs/logspod/other: no earlier instance of it is left" in (
        no_earlier.stderr
    )
    assert unclear.returncode == 2
    assert "-c: which container of e2e-logs/logspod (has: app, other)" in unclear.stderr
    assert nobody.returncode == 2
