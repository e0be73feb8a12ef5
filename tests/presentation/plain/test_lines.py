"""Plain output, line by line."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import (
    ContainerID,
    Listeners,
    ListenerScope,
    LogLine,
    SocketAddress,
)
from probetui.k8s.status import PodStatus
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    Exit,
    ExitCause,
    FindingEntry,
    HookEntry,
    HookType,
    JournalEntry,
    LastOutputEntry,
    LifecycleStep,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    StateEntry,
    StateField,
    StatusEntry,
    TickAction,
    TickEntry,
    Trigger,
    UserEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.presentation.plain.detail import PlainDetail
from probetui.presentation.plain.lines import PlainLines, format_entry
from probetui.record.masking import Mask
from tests.presentation.looking import RULES
from tests.ticks import (
    DEMO_KEY,
    FIRST,
    LIVENESS,
    NOW,
    STARTED_AT,
    a_tick,
    changed_tick,
    history,
)
from tests.tui.snapshots import DEMO, clock

NAMES = {DEMO.uid: "demo"}
_SECOND = timedelta(seconds=1)
_MS = timedelta(milliseconds=1)


def the_lines(**options: Any) -> PlainLines:
    lines = PlainLines(**{"rules": RULES, **options})
    lines.register_pods([DEMO])
    return lines


def lines_of(lines: PlainLines, *entries: JournalEntry) -> list[str]:
    return [text for entry in entries for text in lines.format_entry(entry)]


def failed(at: str, n: int, run: int, ms: int, **fields: Any) -> TickEntry:
    defaults = {"n": n, "run": run, "threshold": 3, "duration": ms * _MS}
    return a_tick(DEMO_KEY, clock(at), "f", **{**defaults, **fields})


def skipped(at: str, n: int, letter: str = "h") -> TickEntry:
    (tick,) = history(DEMO_KEY, LIVENESS, letter, clock(at))
    return changed_tick(tick, n=n)


def a_step(at: str, what: LifecycleStep, **fields: Any) -> ContainerEntry:
    return ContainerEntry(1, clock(at), DEMO.uid, "liveness", FIRST, 3, what, **fields)


def an_event(reason: str, message: str, **fields: Any) -> EventEntry:
    event = Event(EventType.NORMAL, reason, message, DEMO.uid, "", NOW, "liveness")
    return EventEntry(1, NOW, replace(event, **fields))


BACKOFF = BackoffEntry(
    1,
    clock("08:21:40.131"),
    DEMO.uid,
    "liveness",
    window=10 * _SECOND,
    since=clock("08:20:25.1"),
    waits=False,
    until=None,
    next_window=20 * _SECOND,
)
THE_STORY: tuple[JournalEntry, ...] = (
    failed("08:21:05.102", 8, 2, 34),
    failed("08:21:10.137", 9, 3, 31, action=TickAction.KILL),
    an_event("Killing", "Container liveness failed liveness probe, will be restarted"),
    StateEntry(
        1, NOW, DEMO.uid, "liveness", ProbeType.LIVENESS, StateField.HOLD, "off", "on"
    ),
    a_step(
        "08:21:10.137",
        LifecycleStep.STOPPING,
        by=ExitCause.LIVENESS,
        grace_period_seconds=30,
    ),
    skipped("08:21:15.103", 10),
    a_step(
        "08:21:40.130",
        LifecycleStep.EXITED,
        exit_code=137,
        by=ExitCause.LIVENESS,
        grace_period_seconds=30,
    ),
    BACKOFF,
    an_event(
        "Pulled",
        'Container image "busybox" already present on machine and can be accessed by '
        "the pod",
    ),
    a_step("08:21:40.200", LifecycleStep.CREATED),
    an_event("Created", "Created container: liveness"),
    a_step("08:21:40.249", LifecycleStep.STARTED),
    an_event("Started", "Started container liveness"),
)


def test_a_kill_is_printed_as_in_the_manual() -> None:
    lines = lines_of(the_lines(), *THE_STORY)

    assert lines == [
        (
            "2026-11-20T08:21:05.102Z demo/liveness liveness #8 failure 34ms run 2/3 "
            "no-action \"cat: can't open '/tmp/healthy': No such file or directory\""
        ),
        (
            "2026-11-20T08:21:10.137Z demo/liveness liveness #9 failure 31ms run 3/3 "
            "kill grace=30s"
        ),
        "2026-11-20T08:21:15.103Z demo/liveness liveness #10 skipped on-hold",
        "2026-11-20T08:21:40.130Z demo/liveness exit 137 after-grace reason=liveness",
        (
            "2026-11-20T08:21:40.131Z demo/liveness backoff none backoff=10s "
            "since-previous-exit=75s next-backoff=20s"
        ),
        "2026-11-20T08:21:40.249Z demo/liveness started restart=3",
    ]


def test_times_can_be_seconds_since_the_start() -> None:
    lines = lines_of(
        the_lines(started_at=STARTED_AT), a_step("08:18:41.25", LifecycleStep.STARTED)
    )

    assert lines == ["+41.2s demo/liveness started restart=3"]


def test_a_run_of_skips_is_summed_up() -> None:
    lines = lines_of(
        the_lines(),
        *(skipped(f"08:21:{10 + n}", n) for n in range(6)),
        failed("08:21:20.5", 6, 1, 3),
    )

    assert [line.split(" ", 1)[1] for line in lines] == [
        "demo/liveness liveness #0 skipped on-hold",
        "demo/liveness liveness #1-#5 skipped on-hold x5",
        (
            "demo/liveness liveness #6 failure 3ms run 1/3 no-action "
            "\"cat: can't open '/tmp/healthy': No such file or directory\""
        ),
    ]
    assert lines[1].startswith("2026-11-20T08:21:20.500Z")


def test_another_reason_starts_another_run_of_skips() -> None:
    lines = lines_of(the_lines(), skipped("08:21:10", 1), skipped("08:21:15", 2, "d"))

    assert [line.rsplit(" ", 1)[1] for line in lines] == ["on-hold", "initial-delay"]


def test_runs_of_two_probes_do_not_disturb_each_other() -> None:
    other = changed_tick(
        skipped("08:21:12", 1), key=ProbeKey(DEMO.uid, "b", ProbeType.STARTUP)
    )

    lines = lines_of(
        the_lines(),
        skipped("08:21:10", 1),
        other,
        skipped("08:21:15", 2),
        changed_tick(other, n=2),
    )

    assert len(lines) == 2


def test_buffered_skips_are_printed_at_the_end() -> None:
    lines = the_lines()
    lines_of(lines, skipped("08:21:10", 1), skipped("08:21:15", 2))

    last = lines.flush(NOW)

    assert last == [
        "2026-11-20T08:21:07.000Z demo/liveness liveness #2 skipped on-hold"
    ]
    assert lines.flush(NOW) == []


def test_buffered_skips_of_a_pod_are_printed_before_it_is_gone() -> None:
    lines = the_lines()
    first = skipped("08:21:10", 1)
    lines_of(lines, first, skipped("08:21:15", 2))

    texts = lines_of(lines, PodGoneEntry(9, NOW, first.key.pod_uid))

    assert [text.split(" ", 1)[1] for text in texts] == [
        "demo/liveness liveness #2 skipped on-hold",
        "demo gone",
    ]


def test_verbose_prints_every_skip_and_every_entry() -> None:
    lines = lines_of(
        the_lines(is_verbose=True),
        skipped("08:21:10", 1),
        skipped("08:21:15", 2),
        *THE_STORY,
    )

    words = [line.partition(" ")[2] for line in lines]
    assert len(words) == 2 + len(THE_STORY) + 4
    assert [word for word in words if "next-failure" in word or " id " in word] == [
        "demo/liveness liveness next-failure kill grace=30s(pod) backoff=none",
        "demo/liveness liveness next-failure none: on hold",
        "demo/liveness image busybox:1.27.2 id 0000aaaabbbb",
    ]


def test_a_container_without_an_id_has_no_empty_id() -> None:
    first = a_step("08:18:00", LifecycleStep.STARTED)

    lines = lines_of(the_lines(), replace(first, container_id="", restart_count=0))

    assert "demo/liveness image busybox:1.27.2" in [
        line.partition(" ")[2] for line in lines
    ]


def test_the_first_start_of_a_container_lists_its_probes() -> None:
    first = a_step("08:18:00", LifecycleStep.STARTED)

    lines = lines_of(the_lines(), replace(first, restart_count=0), first)

    assert [line.partition(" ")[2] for line in lines] == [
        "demo/liveness started restart=0",
        "demo/liveness image busybox:1.27.2 id 0000aaaabbbb",
        (
            "demo/liveness liveness probes exec cat /tmp/healthy period=5s timeout=1s "
            "delay=5s failures=3 successes=1 noticed-after=10s-16s kill-grace=30s(pod)"
        ),
        "demo/liveness started restart=3",
    ]


def test_verbose_prints_the_instance_of_every_start() -> None:
    first = a_step("08:18:00", LifecycleStep.STARTED)
    second = replace(first, container_id=ContainerID("docker://ccccddddeeeeffff"))

    lines = lines_of(the_lines(is_verbose=True), first, second)

    assert [line.partition(" ")[2] for line in lines if " id " in line] == [
        "demo/liveness image busybox:1.27.2 id 0000aaaabbbb",
        "demo/liveness image busybox:1.27.2 id ccccddddeeee",
    ]


def test_a_container_without_probes_is_printed_as_such() -> None:
    first = replace(a_step("08:18:00", LifecycleStep.STARTED), restart_count=0)
    lines = PlainLines(rules=RULES)
    container = replace(DEMO.containers[0], liveness_probe=None)
    lines.register_pods([replace(DEMO, containers=(container,))])

    assert lines.format_entry(first)[-1].endswith("demo/liveness probes none")


def test_the_last_tick_of_a_worker_has_a_summary() -> None:
    last = changed_tick(skipped("08:21:50", 10), skip=None, exit=Exit.POD_DELETED)

    lines = lines_of(the_lines(), failed("08:21:05", 1, 1, 34), last)

    assert lines[-1].endswith(
        "demo/liveness liveness results 0 succeeded, 1 failed, 0 errored, 1 skipped; "
        "latency last 34ms median 34ms max 34ms timeout 1.0s"
    )


def test_output_of_a_probe_is_repeated_only_if_it_changes() -> None:
    first, second = failed("08:21:05", 1, 1, 1), failed("08:21:10", 2, 2, 1)
    other = changed_tick(second, attempts=(Attempt(ProbeResult.FAILURE, "other\n"),))

    lines = lines_of(the_lines(), first, second, other)

    assert [line.endswith('"') for line in lines] == [True, False, True]
    assert lines[2].endswith('"other"')


def test_why_a_probe_failed_is_repeated_only_if_it_changes() -> None:
    late = Attempt(ProbeResult.FAILURE, "command timed out", detail="timed out, killed")
    ticks = [failed(f"08:21:{n:02}", n, n, 1, attempts=(late,)) for n in (1, 2)]
    well = a_tick(DEMO_KEY, NOW, "s", n=3)

    lines = lines_of(the_lines(), *ticks, well, ticks[0])

    because = 'because "it took longer than timeoutSeconds, which is 1 by default"'
    assert [line.endswith(because) for line in lines] == [
        False, True, False, False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        pytest.param(
            a_tick(DEMO_KEY, NOW, "s", n=3, run=4),
            "demo/liveness liveness #3 success 28ms run 4/1 no-action",
            id="success",
        ),
        pytest.param(
            a_tick(
                DEMO_KEY, NOW, "w", action=TickAction.READY, trigger=Trigger.READINESS
            ),
            "demo/liveness liveness #1 warning 9ms run 1/1 ready trigger=readiness",
            id="warning, out of schedule",
        ),
        pytest.param(
            a_tick(DEMO_KEY, NOW, "e", result=None, action=TickAction.DISCARDED),
            "demo/liveness liveness #1 errored x3 6ms discarded",
            id="errored",
        ),
        pytest.param(
            a_tick(DEMO_KEY, NOW, "f", injected=True, trigger=Trigger.USER),
            "demo/liveness liveness #1 failure 34ms run 1/1 no-action trigger=user "
            "injected",
            id="injected by hand",
        ),
        pytest.param(
            a_tick(DEMO_KEY, NOW, "s", late_drops=2),
            "demo/liveness liveness #1 success 28ms run 1/1 no-action late-dropped=2",
            id="taken late",
        ),
        pytest.param(
            a_tick(DEMO_KEY, NOW, "", result=None, exit=Exit.POD_DELETED),
            "demo/liveness liveness #1 ended pod-deleted",
            id="last tick",
        ),
        pytest.param(
            an_event("Failed", 'a "quoted"\nname'),
            'demo/liveness event Normal Failed "a \\"quoted\\"\\nname"',
            id="event",
        ),
        pytest.param(
            StateEntry(
                1, NOW, DEMO.uid, "liveness", "", StateField.READY, "false", "true"
            ),
            "demo/liveness ready false->true",
            id="ready",
        ),
        pytest.param(
            StateEntry(1, NOW, DEMO.uid, "", "", StateField.PHASE, "", "Pending"),
            "demo phase none->Pending",
            id="phase",
        ),
        pytest.param(
            a_step("08:21:00", LifecycleStep.EXITED, exit_code=1),
            "demo/liveness exit 1 reason=itself",
            id="exit by itself",
        ),
        pytest.param(
            a_step("08:21:00", LifecycleStep.EXITED, exit_code=137, oom_killed=True),
            "demo/liveness exit 137 oom reason=itself",
            id="out of memory",
        ),
        pytest.param(
            a_step("08:21:00", LifecycleStep.EXITED, exit_code=143, by=ExitCause.USER),
            "demo/liveness exit 143 signal=SIGTERM reason=user",
            id="by a signal",
        ),
        pytest.param(
            a_step(
                "08:21:00",
                LifecycleStep.STOPPING,
                by=ExitCause.DELETE,
                grace_period_seconds=2,
            ),
            "demo/liveness stopping grace=2s reason=delete",
            id="stopping",
        ),
        pytest.param(
            a_step("08:21:00", LifecycleStep.REMOVED),
            "demo/liveness removed restart=3",
            id="removed",
        ),
        pytest.param(
            replace(BACKOFF, waits=True, until=BACKOFF.at + 7 * _SECOND, since=None),
            "demo/liveness backoff waits 7s-23s backoff=10s next-backoff=20s",
            id="back-off waits",
        ),
        pytest.param(
            replace(BACKOFF, waits=True, until=BACKOFF.at - 6 * _SECOND, since=None),
            "demo/liveness backoff waits 0s-10s backoff=10s next-backoff=20s",
            id="back-off that was over when it was seen",
        ),
        pytest.param(
            replace(BACKOFF, is_reset=True),
            "demo/liveness backoff none backoff=10s since-previous-exit=75s "
            "next-backoff=20s reset",
            id="back-off forgotten",
        ),
        pytest.param(
            UserEntry(1, NOW, "pause", "all probes"), "user pause all probes", id="user"
        ),
        pytest.param(
            ListenersEntry(
                1,
                NOW,
                DEMO_KEY,
                FIRST,
                SocketAddress("10.1.2.3", 8081),
                Listeners((SocketAddress("0.0.0.0", 8080),), ListenerScope.CONTAINER),
            ),
            'demo/liveness liveness refused "nothing listens on 8081; the container '
            'listens on 0.0.0.0:8080"',
            id="listeners",
        ),
        pytest.param(
            FindingEntry(
                1,
                NOW,
                DEMO_KEY,
                "redirect-seen",
                "spec.containers[0].livenessProbe.httpGet",
                "is redirected",
                "pod.yaml:9:7",
            ),
            "demo/liveness liveness finding warning redirect-seen "
            '"pod.yaml:9:7: spec.containers[0].livenessProbe.httpGet: is redirected"',
            id="finding",
        ),
        pytest.param(
            StateEntry(
                1, NOW, DEMO.uid, "liveness", "", StateField.EXEC, "", "sh -c date"
            ),
            'demo/liveness exec by=somebody-else "sh -c date"',
            id="exec",
        ),
        pytest.param(PodGoneEntry(1, NOW, DEMO.uid), "demo gone", id="gone"),
        pytest.param(NoteEntry(1, NOW, "a note"), None, id="a note is no data"),
        pytest.param(
            StatusEntry(1, NOW, DEMO.uid, PodStatus()), None, id="a status is no fact"
        ),
    ],
)
def test_an_entry_as_a_line(entry: JournalEntry, line: str | None) -> None:
    assert format_entry(entry, NAMES, {}, RULES) == line


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(THE_STORY[2], id="killing"),
        pytest.param(
            replace(an_event("Unhealthy", "x"), tick=failed("08:21:05", 1, 1, 1)),
            id="an event of a tick",
        ),
        pytest.param(
            StateEntry(1, NOW, DEMO.uid, "", "Ready", StateField.CONDITION, "", "True"),
            id="a condition",
        ),
    ],
)
def test_an_entry_that_another_line_covers_is_left_out(entry: JournalEntry) -> None:
    assert lines_of(the_lines(), entry) == []


def test_a_pull_is_printed() -> None:
    lines = lines_of(
        the_lines(),
        an_event("Pulling", 'Pulling image "busybox"'),
        an_event("Pulled", 'Successfully pulled image "busybox" in 2s'),
    )

    assert len(lines) == 2


def test_what_a_container_printed_last_follows_its_exit() -> None:
    printed = (LogLine(None, "opens hunter22"), LogLine(None, "no hunter22: \x1b[2J"))
    entry = LastOutputEntry(1, NOW, DEMO.uid, "liveness", FIRST, 0, printed, "bye\n")
    nothing = replace(entry, lines=(), message="")
    unreadable = replace(entry, lines=None, message="", problem="no such log")
    mask = Mask(["hunter22"])

    lines = lines_of(the_lines(mask=mask), entry, nothing, unreadable)
    verbose = lines_of(the_lines(mask=mask, is_verbose=True), entry, nothing)

    assert [line.partition(" ")[2] for line in lines] == [
        r'demo/liveness printed "no ***: \x1b[2J"',
        'demo/liveness last output unreadable "no such log"',
    ]
    assert [line.partition(" ")[2] for line in verbose] == [
        (
            r'demo/liveness printed "opens ***\nno ***: \x1b[2J" '
            'termination-message "bye"'
        ),
        "demo/liveness printed nothing",
    ]


def test_a_hook_is_printed_when_it_has_ended() -> None:
    running = HookEntry(1, NOW, DEMO.uid, "liveness", FIRST, HookType.POST_START, NOW)
    failed = replace(running, ended_at=NOW + 3 * _SECOND, error="exited with 3: boom")

    lines = lines_of(the_lines(), running, failed)

    assert [line.partition(" ")[2] for line in lines] == [
        'demo/liveness postStart hook failed after 3.0s "exited with 3: boom"'
    ]


def test_a_wait_is_printed_once() -> None:
    wait = replace(BACKOFF, waits=True, until=NOW)

    lines = lines_of(the_lines(), wait, wait, replace(wait, until=NOW + _SECOND))

    assert len(lines) == 2


def test_a_grace_period_of_the_probe_is_named_in_its_kill() -> None:
    own = replace(LIVENESS, termination_grace_period_seconds=2)
    lines = PlainLines(rules=RULES)
    lines.register_pods(
        [Pod(DEMO.uid, "demo", containers=(Container("liveness", liveness_probe=own),))]
    )

    (line,) = lines.format_entry(
        failed("08:21:05", 1, 3, 1, action=TickAction.KILL, attempts=())
    )

    assert line.endswith("kill grace=2s")


def test_a_pod_that_is_gone_keeps_its_name() -> None:
    lines = the_lines()
    lines.register_pods([])

    assert lines_of(lines, PodGoneEntry(1, NOW, DEMO.uid)) == [
        "2026-11-20T08:21:07.000Z demo gone"
    ]


def test_secrets_and_escape_sequences_are_not_written() -> None:
    lines = the_lines(mask=Mask(["s3cr3t-token"]))

    (line,) = lines_of(lines, an_event("Failed", "s3cr3t-token \x1b]0;x\x07\udcff"))

    assert line.endswith('"*** \\x1b]0;x\\a\\xff"')


def test_a_long_output_is_cut_unless_requested_in_full() -> None:
    long = (Attempt(ProbeResult.FAILURE, "x" * 9_000),)

    (short,) = lines_of(the_lines(), failed("08:21:05", 1, 1, 1, attempts=long))
    whole, *_ = lines_of(
        the_lines(is_verbose=True), failed("08:21:05", 1, 1, 1, attempts=long)
    )

    assert short.endswith('xx…"')
    assert len(short) < 500
    assert whole.count("x") >= 9_000


def test_unknown_probes_have_no_summary() -> None:
    detail = PlainDetail(rules=RULES)
    tick = failed("08:21:05", 1, 1, 34)

    assert detail.summary(DEMO_KEY, DEMO) == ""
    detail.count(tick)
    assert detail.summary(DEMO_KEY, None).endswith("max 34ms")
    assert detail.next_failure(tick, None) == ""


def test_the_next_failure_of_a_readiness_probe_kills_nothing() -> None:
    container = replace(DEMO.containers[0], readiness_probe=LIVENESS)
    key = DEMO_KEY._replace(probe_type=ProbeType.READINESS)
    tick = changed_tick(failed("08:21:05", 1, 2, 34), key=key)

    words = PlainDetail(rules=RULES).next_failure(
        tick, replace(DEMO, containers=(container,))
    )

    assert words == "next-failure not-ready"


def test_the_next_failure_of_a_muted_probe_does_nothing() -> None:
    tick = changed_tick(failed("08:21:05", 1, 2, 34), muted=True)

    assert (
        PlainDetail(rules=RULES).next_failure(tick, DEMO) == "next-failure none: muted"
    )
