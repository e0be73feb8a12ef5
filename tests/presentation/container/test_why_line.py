"""The Why line of the screen, of a container that was never created."""

from __future__ import annotations

from typing import Any

from probetui.presentation.container.detail import Subject
from probetui.presentation.container.ticks import why_line
from probetui.presentation.text.spans import text_of
from probetui.presentation.text.view import TimeFormatter, View
from tests.builders import START, a_container, a_pod, an_exec_probe, at
from tests.drive.engine_bench import EngineBench
from tests.presentation.container.test_why import past_of
from tests.presentation.container.test_why_agrees import exits


def line_of(seconds: float, **fields: Any) -> str:
    """Return the line of `app`, which waits for an init container that crashes."""
    migrate = a_container("migrate")
    pod = a_pod(a_container(**fields), init_containers=(migrate,))
    bench = EngineBench(pod, lives={"migrate": (exits(1, 2),)})
    bench.run_until(seconds)
    past = past_of(bench.journal)
    (shown,) = bench.snapshot.pods
    container = next(each for each in shown.containers if not each.is_init)
    probe = container.probes[0] if container.probes else None
    history = past.container(pod.uid, "app")
    subject = Subject(shown, container, probe, history=history, past=past)
    return text_of(why_line(subject, View(TimeFormatter(at(seconds), START))))


def test_it_says_what_the_container_waits_for() -> None:
    waits = "It has not been created: it waits for init container migrate, because "

    assert line_of(1).startswith(f"{waits}migrate is running")
    assert line_of(9).startswith(f"{waits}migrate is in back-off of 10s")


def test_it_says_so_in_place_of_a_tick_that_found_no_container() -> None:
    line = line_of(9, readiness_probe=an_exec_probe(period_seconds=1))

    assert "it waits for init container migrate" in line
