"""The lines that are printed without a screen."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.headless.output import (
    EntryFilter,
    FilteredSink,
    LinePrinter,
    NoteForwarder,
)
from probetui.k8s.event import Event, EventType
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import PodStatus
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    ExitCause,
    JournalEntry,
    LifecycleStep,
    NoteEntry,
    PodGoneEntry,
    StateEntry,
    StateField,
    StatusEntry,
    TickEntry,
    UserEntry,
)
from probetui.presentation.plain.lines import PlainLines
from tests.builders import a_pod, at
from tests.headless.test_follow import Collector
from tests.presentation.looking import RULES
from tests.ticks import skipped_tick

WEB = a_pod(name="web")


def event(container: str, cause: TickEntry | None = None) -> EventEntry:
    return EventEntry(
        9,
        at(9),
        Event(EventType.WARNING, "Unhealthy", "no", WEB.uid, "", at(9), container),
        cause,
    )


def started(container: str) -> ContainerEntry:
    return ContainerEntry(
        5, at(5), WEB.uid, container, ContainerID("x://1"), 0, LifecycleStep.STARTED
    )


def printer(stream: io.BytesIO, encoding: str = "utf-8") -> LinePrinter:
    lines = PlainLines(rules=RULES)
    lines.register_pods([WEB])
    return LinePrinter(lines, stream, encoding)


def test_every_fact_is_one_line() -> None:
    stream = io.BytesIO()

    printer(stream).consume([started("app"), started("log")])

    assert [
        line.split(" ", 1)[1] for line in stream.getvalue().decode().split("\n")[:-1]
    ] == [
        "web/app started restart=0",
        "web/app image busybox:1.36 id 1",
        "web/app probes none",
        "web/log started restart=0",
    ]


def test_buffered_lines_are_printed_at_the_end() -> None:
    stream = io.BytesIO()
    printing = printer(stream)

    printing.consume([skipped_tick(1), skipped_tick(2), skipped_tick(3)])
    before = stream.getvalue().decode()
    printing.finish(at(4))

    assert before.endswith("web/app liveness #1 skipped not-running\n")
    assert (
        stream.getvalue()
        .decode()
        .endswith("web/app liveness #2-#3 skipped not-running x2\n")
    )


def test_characters_outside_the_encoding_are_escaped() -> None:
    stream = io.BytesIO()

    printer(stream, "ascii").consume([UserEntry(1, at(1), "say", "漢")])

    assert stream.getvalue().endswith(b"user say \\u6f22\n")


def test_a_closed_pipe_is_raised_to_the_follower() -> None:
    class ClosedPipe(io.BytesIO):
        def write(self, _data: object) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        printer(ClosedPipe()).consume([started("app")])


def test_notes_are_forwarded_and_not_printed_as_data() -> None:
    notes: list[tuple[str, bool]] = []
    stream = io.BytesIO()
    note = NoteEntry(1, at(1), "Docker does not answer", is_fault=True)

    NoteForwarder(lambda text, is_fault: notes.append((text, is_fault))).consume(
        [started("app"), note]
    )
    printer(stream).consume([note])

    assert notes == [("Docker does not answer", True)]
    assert stream.getvalue() == b""


APP_ENTRIES: tuple[JournalEntry, ...] = (
    skipped_tick(),
    event("app"),
    started("app"),
    StateEntry(1, at(1), WEB.uid, "app", "", StateField.READY, "", "true"),
    BackoffEntry(
        1, at(1), WEB.uid, "app", timedelta(), None, waits=False, until=None,
        next_window=timedelta(),
    ),
)  # fmt: skip
POD_ENTRIES: tuple[JournalEntry, ...] = (
    StatusEntry(1, at(1), WEB.uid, PodStatus()),
    PodGoneEntry(1, at(1), WEB.uid),
    event(""),
    StateEntry(1, at(1), WEB.uid, "", "", StateField.PHASE, "", "Running"),
)
PEOPLE_ENTRIES: tuple[JournalEntry, ...] = (
    UserEntry(1, at(1), "restart", "web/app"),
    NoteEntry(1, at(1), "hello"),
)


def names(entries: tuple[JournalEntry, ...]) -> list[str]:
    return [type(entry).__name__ for entry in entries]


@pytest.mark.parametrize(
    "entry", [*APP_ENTRIES, *POD_ENTRIES, *PEOPLE_ENTRIES], ids=lambda it: repr(it)[:40]
)
def test_everything_is_selected_by_default(entry: JournalEntry) -> None:
    assert EntryFilter().wants(entry)


@pytest.mark.parametrize("entry", APP_ENTRIES, ids=names(APP_ENTRIES))
def test_only_the_named_container_is_selected(entry: JournalEntry) -> None:
    assert EntryFilter(containers=["app"]).wants(entry)
    assert not EntryFilter(containers=["log"]).wants(entry)


@pytest.mark.parametrize("entry", POD_ENTRIES, ids=names(POD_ENTRIES))
def test_the_pod_as_a_whole_is_not_a_container(entry: JournalEntry) -> None:
    assert not EntryFilter(containers=["app"]).wants(entry)


@pytest.mark.parametrize("entry", PEOPLE_ENTRIES, ids=names(PEOPLE_ENTRIES))
def test_actions_of_users_and_notes_are_always_selected(entry: JournalEntry) -> None:
    assert EntryFilter(["log"], [ProbeType.STARTUP]).wants(entry)


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(skipped_tick(probe=ProbeType.READINESS), id="tick"),
        pytest.param(event("app", skipped_tick(probe=ProbeType.READINESS)), id="event"),
        pytest.param(
            StateEntry(
                1, at(1), WEB.uid, "app", "Readiness", StateField.RESULT, "", "Success"
            ),
            id="state",
        ),
        pytest.param(
            StateEntry(1, at(1), WEB.uid, "app", "", StateField.READY, "false", "true"),
            id="ready",
        ),
    ],
)
def test_a_probe_of_another_type_is_not_selected(entry: JournalEntry) -> None:
    assert EntryFilter(probe_types=[ProbeType.READINESS]).wants(entry)
    assert not EntryFilter(probe_types=[ProbeType.LIVENESS]).wants(entry)


def test_effects_of_other_probe_types_are_not_selected() -> None:
    liveness_only = EntryFilter(probe_types=[ProbeType.LIVENESS])
    killed = replace(started("app"), what=LifecycleStep.EXITED, by=ExitCause.LIVENESS)

    assert liveness_only.wants(killed)
    assert not liveness_only.wants(replace(killed, by=ExitCause.STARTUP))
    assert not liveness_only.wants(started("app"))
    assert not liveness_only.wants(event("app"))


def test_a_sink_can_be_given_a_selection() -> None:
    sink = Collector()

    FilteredSink(sink, EntryFilter(containers=["log"])).consume(
        [started("app"), started("log")]
    )

    assert sink.entries == [started("log")]
