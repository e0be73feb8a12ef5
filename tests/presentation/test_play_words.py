"""Texts about interventions in probes: lines, events, the queue."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.debugger.breakpoints import StopReason
from probetui.debugger.commands import BreakpointKind, Injected
from probetui.engine.snapshot import (
    LastStep,
    PlaybackKind,
    PlaybackSnapshot,
    Snapshot,
    Upcoming,
    UpcomingKind,
)
from probetui.k8s.event import Event, EventType
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import (
    DryRunEntry,
    EventEntry,
    JournalEntry,
    NoteEntry,
    Skip,
    TickAction,
)
from probetui.kubelet.outcome import Attempt, ProbeResult, Result
from probetui.presentation.events.log import EventLog
from probetui.presentation.plain.lines import PlainLines, format_entry
from probetui.presentation.step_queue import (
    queue_lines,
    step_lines,
    step_subject,
    stop_line,
)
from probetui.presentation.text.spans import text_of
from probetui.presentation.tick.report import report_tick
from tests.presentation.looking import RULES, VIEW
from tests.ticks import DEMO_KEY, FIRST, LIVENESS, NOW, a_tick
from tests.tui.scenes import paused
from tests.tui.snapshots import (
    DEMO,
    a_container_snapshot,
    a_pod_snapshot,
    a_probe_snapshot,
)

NAMES = {DEMO.uid: "demo"}


LATE = timedelta(seconds=2)


def a_dry_run(attempt: Attempt, result: Result | None, times: int = 1) -> DryRunEntry:
    took = timedelta(milliseconds=34)
    return DryRunEntry(1, NOW, DEMO_KEY, FIRST, NOW, took, (attempt,) * times, result)


FAILED = a_dry_run(Attempt(ProbeResult.FAILURE, "not well"), Result.FAILURE)
ERRED = a_dry_run(Attempt(ProbeResult.UNKNOWN, error="no such program"), None, times=3)
WARNED = a_dry_run(Attempt(ProbeResult.WARNING, "moved"), Result.SUCCESS)


class TestLines:
    @pytest.mark.parametrize(
        ("entry", "text"),
        [
            pytest.param(
                FAILED,
                'demo/liveness liveness try failure 34ms not-counted "not well"',
                id="failed-try",
            ),
            pytest.param(
                ERRED,
                "demo/liveness liveness try errored x3 34ms not-counted "
                '"no such program"',
                id="errored-try",
            ),
            pytest.param(
                WARNED,
                'demo/liveness liveness try warning 34ms not-counted "moved"',
                id="try-with-a-warning",
            ),
            pytest.param(
                NoteEntry(1, NOW, "it begins", is_bookmark=True),
                'bookmark "it begins"',
                id="bookmark",
            ),
        ],
    )
    def test_an_intervention_has_a_line(self, entry: JournalEntry, text: str) -> None:
        lines = PlainLines(rules=RULES)
        lines.register_pods([DEMO])

        (line,) = lines.format_entry(entry)

        assert line.partition(" ")[2] == text

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            pytest.param({"injected": True}, "no-action injected", id="injected"),
            pytest.param({"muted": True}, "no-action muted", id="muted"),
            pytest.param({"delay": LATE}, "no-action delayed=2.0s", id="delayed"),
            pytest.param({"held": LATE}, "no-action paused=2.0s", id="held"),
            pytest.param(
                {"muted": True, "action": TickAction.MUTED, "run": 4},
                " muted",
                id="acts",
            ),
        ],
    )
    def test_a_tick_shows_the_interventions_in_it(
        self, fields: dict[str, Any], words: str
    ) -> None:
        defaults = {"action": TickAction.NONE}
        tick = a_tick(DEMO_KEY, NOW, "f", **{**defaults, **fields})

        text = format_entry(tick, NAMES, {}, RULES)

        assert text is not None
        assert text.endswith(words)
        assert text.count("muted") <= 1


class TestEventLog:
    def test_a_dry_run_and_a_bookmark_are_shown(self) -> None:
        log = EventLog(RULES)

        tried = log.add_entry(FAILED, NAMES)
        noted = log.add_entry(NoteEntry(1, NOW, "it begins", is_bookmark=True), NAMES)

        assert tried is not None
        assert (tried.type, tried.reason, tried.note) == (
            "user",
            "tried",
            "not counted",
        )
        assert tried.message == "liveness failure in 34ms: not well"
        assert noted is not None
        assert (noted.reason, noted.message) == ("bookmark", "it begins")

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            pytest.param({"run": 1}, "1/3 ignored, injected", id="below"),
            pytest.param(
                {"run": 3, "action": TickAction.MUTED},
                "3/3 muted, injected",
                id="muted",
            ),
            pytest.param({"result": None}, "not counted, injected", id="errored"),
        ],
    )
    def test_an_injected_result_is_marked_beside_the_event(
        self, fields: dict[str, Any], words: str
    ) -> None:
        tick = a_tick(DEMO_KEY, NOW, "f", injected=True, threshold=3, **fields)

        assert report_tick(tick).note == words

    def test_a_delayed_answer_is_marked_beside_the_event(self) -> None:
        tick = a_tick(DEMO_KEY, NOW, "f", run=1, threshold=3, delay=LATE)

        assert report_tick(tick).note == "1/3 ignored, delayed"


def upcoming(*what: Upcoming, **fields: Any) -> Snapshot:
    return replace(paused(), upcoming=what, **fields)


def queued(snapshot: Snapshot) -> list[str]:
    return [text_of(line) for line in queue_lines(snapshot, NAMES, VIEW)]


class TestQueue:
    def test_the_first_step_is_marked(self) -> None:
        snapshot = upcoming(
            Upcoming(UpcomingKind.RESYNC, NOW, DEMO.uid),
            Upcoming(UpcomingKind.TICK, NOW, *DEMO_KEY),
            Upcoming(UpcomingKind.TICK, NOW, *DEMO_KEY),
        )

        assert [line[:1] for line in queued(snapshot)] == [" ", ">", " "]

    def test_a_queued_tick_shows_what_it_would_do(self) -> None:
        tick = Upcoming(UpcomingKind.TICK, NOW + timedelta(seconds=3), *DEMO_KEY)

        (line,) = queued(upcoming(tick))

        assert line.split()[:2] == [">", "+3.0s"]
        assert "demo/liveness" in line
        assert line.endswith("liveness  exec cat /tmp/healthy")

    @pytest.mark.parametrize(
        ("milliseconds", "words"),
        [
            pytest.param(-1500, "now", id="overdue"),
            pytest.param(0, "now", id="due"),
            pytest.param(99, "now", id="no tenth of a second away"),
            pytest.param(100, "+0.1s", id="a tenth away"),
        ],
    )
    def test_what_is_due_within_the_tenth_that_is_shown_comes_now(
        self, milliseconds: int, words: str
    ) -> None:
        at = NOW + timedelta(milliseconds=milliseconds)

        (line,) = queued(upcoming(Upcoming(UpcomingKind.TICK, at, *DEMO_KEY)))

        assert line.split()[1] == words

    def test_a_startup_probe_that_has_succeeded_is_done(self) -> None:
        key = DEMO_KEY._replace(probe_type=ProbeType.STARTUP)
        probe = a_probe_snapshot(key, LIVENESS, "s", upcoming_skip=Skip.ON_HOLD)
        pod = a_pod_snapshot(DEMO, a_container_snapshot(DEMO.containers[0], probe))

        (line,) = queued(upcoming(Upcoming(UpcomingKind.TICK, NOW, *key), pods=(pod,)))

        assert line.endswith("startup   skip: startup done")

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            pytest.param({"upcoming_skip": Skip.ON_HOLD}, "skip: on hold", id="skip"),
            pytest.param(
                {"injections": (Injected.FAILURE,)}, "injected: failure", id="injected"
            ),
            pytest.param(
                {"delay": LATE},
                "exec cat /tmp/healthy, answered 2.0s late",
                id="delayed",
            ),
        ],
    )
    def test_a_queued_tick_that_will_not_probe_shows_why(
        self, fields: dict[str, Any], words: str
    ) -> None:
        probe = a_probe_snapshot(DEMO_KEY, LIVENESS, **fields)
        pod = a_pod_snapshot(DEMO, a_container_snapshot(DEMO.containers[0], probe))
        tick = Upcoming(UpcomingKind.TICK, NOW, *DEMO_KEY)

        (line,) = queued(upcoming(tick, pods=(pod,)))

        assert line.endswith(words)

    def test_a_long_name_is_shown_in_full(self) -> None:
        name = "a-name-that-is-long"
        tick = Upcoming(UpcomingKind.TICK, NOW, *DEMO_KEY)

        (line,) = queue_lines(upcoming(tick), {DEMO.uid: name}, VIEW)

        assert f"{name}/liveness liveness" in text_of(line)

    def test_a_pause_on_another_clock_shows_the_time_of_that_clock(self) -> None:
        tick = Upcoming(UpcomingKind.TICK, NOW + timedelta(seconds=1.5), *DEMO_KEY)
        started_at = NOW - timedelta(seconds=40)

        (line,) = queued(
            upcoming(
                tick,
                started_at=started_at,
                playback=PlaybackSnapshot(PlaybackKind.SIM, is_paused=True, pace=1),
            )
        )

        assert line.split()[:3] == [">", "+1.5s", "00:41.5"]

    def test_a_pause_shows_who_paused(self) -> None:
        reason = StopReason(NOW, BreakpointKind.BEFORE_KILL, DEMO_KEY, "before a kill")

        assert text_of(stop_line(upcoming())) == "paused"
        assert text_of(stop_line(upcoming(stopped_by=reason))) == "stopped"


class TestLastStep:
    def lines(self, snapshot: Snapshot, *entries: JournalEntry) -> list[str]:
        found = step_lines(snapshot, entries, NAMES, VIEW)
        return [" ".join(text_of(line).split()) for line in found]

    def test_the_screen_explains_how_to_step_before_the_first_step(self) -> None:
        (line,) = self.lines(upcoming())

        assert line.startswith("No step yet")
        assert step_subject(upcoming(), NAMES, VIEW) == ()

    def test_a_step_is_shown_before_and_after_with_its_events(self) -> None:
        snapshot = upcoming()
        before = self.with_run(snapshot, 1)
        step = LastStep(NOW, 10, DEMO_KEY, before)
        event = Event(
            EventType.WARNING, "Unhealthy", "it failed", DEMO.uid, "", NOW, "liveness"
        )

        lines = self.lines(
            replace(snapshot, last_step=step),
            EventEntry(10, NOW, replace(event, message="from before")),
            EventEntry(11, NOW, event),
        )

        assert "result run failure 1 of 3 -> failure 2 of 3" in lines
        assert lines[-2].startswith("unchanged stored result")
        assert ", on hold no," in lines[-2]
        assert lines[-1] == "events Warning Unhealthy it failed"
        assert not any("back-off" in line for line in lines)
        assert not any("from before" in line for line in lines)

    def test_the_step_that_kills_shows_the_kill_first(self) -> None:
        snapshot = upcoming()
        before = self.with_run(snapshot, 2)
        after = self.with_probe(snapshot, result_run=0, on_hold=True)
        kill = TickAction.KILL
        tick = a_tick(DEMO_KEY, NOW, "f", run=3, threshold=3, sequence=11, action=kill)

        lines = self.lines(
            replace(
                snapshot, pods=after, last_step=LastStep(NOW, 10, DEMO_KEY, before)
            ),
            tick,
        )

        assert lines[0] == (
            "effect container killed, probe on hold failure 3 of 3 in a row"
        )
        assert lines[1] == "result run failure 2 of 3 -> failure 3 of 3, reset to 0"
        assert lines[2] == "on hold no -> yes"

    def test_a_step_without_an_effect_shows_what_was_counted(self) -> None:
        snapshot = upcoming()
        step = LastStep(NOW, 10, DEMO_KEY, self.with_run(snapshot, 1))
        tick = a_tick(DEMO_KEY, NOW, "f", run=2, threshold=3, sequence=11)

        lines = self.lines(replace(snapshot, last_step=step), tick)

        assert lines[0] == ("tick probed: run 1->2, below threshold 3, no action")

    def test_a_run_beyond_its_threshold_is_only_counted(self) -> None:
        snapshot = upcoming()
        before = self.with_run(snapshot, 4)

        lines = self.lines(
            replace(snapshot, last_step=LastStep(NOW, 10, DEMO_KEY, before))
        )

        assert "result run failure 4 -> failure 2 of 3" in lines

    def test_a_run_to_a_change_shows_what_changed(self) -> None:
        snapshot = upcoming()
        before = tuple(replace(pod, operation="x") for pod in snapshot.pods)

        calm = self.lines(replace(snapshot, last_step=LastStep(NOW, 10, None, before)))
        held = self.with_probe(snapshot, on_hold=True)
        changed = self.lines(replace(snapshot, last_step=LastStep(NOW, 10, None, held)))

        assert calm == ["Nothing has changed yet."]
        subject = step_subject(
            replace(snapshot, last_step=LastStep(NOW, 10, None, held)), NAMES, VIEW
        )
        assert text_of(subject) == "demo/liveness liveness"
        assert not any("events" in line for line in changed)
        assert "on hold yes -> no" in changed

    def with_run(self, snapshot: Snapshot, run: int) -> Any:
        return self.with_probe(snapshot, result_run=run)

    def with_probe(self, snapshot: Snapshot, **fields: Any) -> Any:
        """Return the pods with changed fields of the demo's liveness probe."""
        pod, *others = (pod_snapshot for pod_snapshot in snapshot.pods)
        assert pod.pod is DEMO
        (container,) = pod.containers
        probes = tuple(replace(probe, **fields) for probe in container.probes)
        return (replace(pod, containers=(replace(container, probes=probes),)), *others)
