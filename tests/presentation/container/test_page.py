"""Everything about a container, in short and in full."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.container_history import SessionHistory
from probetui.engine.snapshot import BackoffSnapshot, Snapshot
from probetui.k8s.probe import (
    ExecAction,
    HTTPGetAction,
    LifecycleHandler,
    SleepAction,
    TCPSocketAction,
)
from probetui.presentation.container.detail import Subject
from probetui.presentation.container.page import full_lines, short_lines
from probetui.presentation.text.spans import text_of
from probetui.presentation.text.view import View
from tests.presentation.looking import TIMES
from tests.tui.history_scenes import steady, stopping, waiting
from tests.tui.scenes import SCENES


def the_subject(snapshot: Snapshot, place: int = 0, **fields: Any) -> Subject:
    pod = snapshot.pods[0]
    container = pod.containers[place]
    past = SessionHistory(snapshot.entries)
    past.add_entries(snapshot.entries, 0)
    probe = container.probes[0] if container.probes else None
    container_history = past.container(pod.pod.uid, container.container.name)
    timeline = None if probe is None else past.timeline(probe.key)
    known = timeline if timeline is not None and timeline.indexes else None
    return replace(
        Subject(pod, container, probe, known, history=container_history), **fields
    )


def facts(subject: Subject, snapshot: Snapshot, width: int = 100) -> dict[str, str]:
    """Return the lines of the full form by their labels."""
    lines = [text_of(line) for line in full_lines(subject, view_of(snapshot), width)]
    return {line[:14].strip(): line[14:] for line in lines}


def view_of(snapshot: Snapshot) -> View:
    return View(replace(TIMES, now=snapshot.taken_at))


def short(snapshot: Snapshot, **fields: Any) -> list[str]:
    subject = the_subject(snapshot, **fields)
    return [text_of(line) for line in short_lines(subject, view_of(snapshot), 76, 9)]


def test_the_short_form_of_a_container_that_is_being_stopped() -> None:
    assert "\n".join(row.rstrip() for row in short(stopping())) == (
        " KILLING      ███░░░░░░░░░  6.9s of 30s\n"
        "SIGKILL in 23s unless it exits\n"
        "result  unhealthy (6s)\n"
        "kill          SIGTERM 08:21:10, SIGKILL 08:21:40,\n"
        "              23s of 30s grace left (pod), liveness probe\n"
        "inst 1   ✓6 ✗✗✗ K hold6      08:19:10-08:20:25  killed by liveness, exit 137\n"
        "inst 2   ✓6 ✗✗✗ K hold <now  08:20:25-now  being stopped\n"
        "last output   ✗ exit 1 in 34ms  cat: can't open '/tmp/healthy': No such file "
        "or directory"
    )


def test_the_short_form_has_more_about_the_probe_if_there_is_room() -> None:
    snapshot = steady()
    subject = the_subject(snapshot)

    low, high = (
        [text_of(row) for row in short_lines(subject, view_of(snapshot), 76, height)]
        for height in (6, 13)
    )

    assert not any(row.startswith("timing") for row in low)
    assert len(high) <= 13
    labels = [row.partition("  ")[0] for row in high]
    assert {"timing", "next failure", "latency"} <= set(labels)
    assert "handler" not in labels, "the title has it"


@pytest.mark.parametrize("width", [48, 62, 76, 78, 120])
@pytest.mark.parametrize("hook", [None, SleepAction(5)], ids=["no hook", "a hook"])
def test_the_kill_lines_are_not_cut_at_any_width(
    hook: LifecycleHandler | None, width: int
) -> None:
    snapshot = stopping()
    subject = the_subject(snapshot)
    spec = replace(subject.container.container, pre_stop=hook)
    hooked = replace(subject, container=replace(subject.container, container=spec))

    shown = [text_of(line) for line in short_lines(hooked, view_of(snapshot), width, 9)]

    first = next(n for n, line in enumerate(shown) if line.startswith("kill"))
    after = next(n for n, line in enumerate(shown) if line.startswith("inst"))
    kill_lines = shown[first:after]
    begins = "SIGTERM 08:21:10" if hook is None else "preStop 08:21:10, then SIGTERM"
    ends = "" if hook is None else ", preStop sleep 5s, within the grace"
    assert max(map(len, kill_lines)) <= width
    assert " ".join(line[14:] for line in kill_lines) == (
        f"{begins}, SIGKILL 08:21:40, 23s of 30s grace left (pod), liveness probe{ends}"
    )


def test_a_selected_tick_is_in_its_row() -> None:
    lines = short(steady(), cursor=3)

    assert any(line.startswith("inst 1   ✓✓✓ [✓] ✓✓ ✗✗✗ K hold6") for line in lines)
    assert any(line.startswith("tick #4       08:19:30  ✓ exit 0") for line in lines)


def test_a_wait_has_window_start_end_and_the_next_one() -> None:
    snapshot = waiting()

    labeled = facts(the_subject(snapshot), snapshot)

    assert labeled["back-off"] == (
        "20s from exit 08:21:11, retry in 14s to 30s, next 40s"
    )
    assert "kill" not in labeled


def test_the_rule_that_resets_a_window_is_shown() -> None:
    snapshot = waiting()

    lines = [
        text_of(line)
        for line in full_lines(the_subject(snapshot), view_of(snapshot), 100)
    ]

    assert any("resets after 10 minutes" in line for line in lines)


@pytest.mark.parametrize(
    ("backoff", "words"),
    [
        pytest.param(None, "", id="none"),
        pytest.param("without an exit", "", id="no exit"),
        pytest.param("as it is", "", id="over"),
        pytest.param(
            "longer",
            "a restart now would wait: 18s left of 1m00s after the exit at 08:20:25",
            id="not over",
        ),
    ],
)
def test_what_the_next_restart_would_wait_for(backoff: str | None, words: str) -> None:
    snapshot = steady()
    subject = the_subject(snapshot)
    container = subject.container
    known = container.backoff
    assert known is not None
    shown: dict[str | None, Any] = {
        None: replace(container, backoff=None),
        "without an exit": replace(container, last_exit=None),
        "as it is": container,
        "longer": replace(container, backoff=_longer(known)),
    }

    labeled = facts(replace(subject, container=shown[backoff]), snapshot)

    assert labeled.get("back-off", "") == words


def _longer(backoff: BackoffSnapshot) -> BackoffSnapshot:
    return replace(backoff, next_window=backoff.next_window * 6)


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        pytest.param(ExecAction(("sh", "-c", "x")), "preStop exec sh -c x", id="exec"),
        pytest.param(HTTPGetAction(80, "/bye"), "preStop http GET :80/bye", id="http"),
        pytest.param(TCPSocketAction(80), "preStop tcp :80", id="tcp"),
        pytest.param(SleepAction(5), "preStop sleep 5s, within the grace", id="sleep"),
    ],
)
def test_the_hook_before_a_kill(hook: LifecycleHandler | None, words: str) -> None:
    snapshot = stopping()
    subject = the_subject(snapshot)
    container = replace(
        subject.container, container=replace(subject.container.container, pre_stop=hook)
    )

    lines = [
        text_of(line)
        for line in full_lines(
            replace(subject, container=container), view_of(snapshot), 100
        )
    ]

    assert any(words in line for line in lines)


@pytest.mark.parametrize(
    ("scene", "words"),
    [
        pytest.param("delay", "first probe after 3.0s (initial delay 5s)", id="delay"),
        pytest.param("in_flight", "under way", id="in flight"),
        pytest.param("paused", "kill if the next probe fails", id="paused"),
        pytest.param("pulling", "pulling busybox:1.27.2 40%", id="not probed"),
        pytest.param("running", "HEALTHY", id="running"),
    ],
)
def test_what_comes_next(scene: str, words: str) -> None:
    assert any(words in line for line in short(SCENES[scene]()))


def test_a_container_without_probes_has_its_instances_and_its_wait() -> None:
    snapshot = SCENES["gated"]()
    subject = the_subject(snapshot, place=3)

    labeled = facts(subject, snapshot)

    assert "retry in 71s to 1m27s" in labeled["back-off"]
    assert labeled["probes"].startswith("none: ")
    assert [
        text_of(line) for line in short_lines(subject, view_of(snapshot), 76, 9)
    ] == [text_of(line) for line in full_lines(subject, view_of(snapshot), 76)]
