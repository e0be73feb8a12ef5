from __future__ import annotations

from msgspec.structs import replace

from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import RestartPolicy
from probetui.kubelet.effects import Relist
from probetui.kubelet.journal import EventEntry, NoteEntry
from probetui.kubelet.runtime.turn import NOTHING, TurnBuilder
from tests.builders import START, a_container, a_pod, at


def test_an_empty_turn_is_always_the_same_object() -> None:
    ledger = TurnBuilder()

    assert ledger.finish() is NOTHING
    assert ledger.finish() is NOTHING


def test_a_turn_has_what_was_written_and_asked_for_since_the_last_one() -> None:
    ledger = TurnBuilder()
    note = NoteEntry(ledger.next_sequence(), START, "one")
    ledger.write(note)
    ledger.emit(Relist())

    turn = ledger.finish()

    assert turn.entries == (note,)
    assert turn.effects == (Relist(),)
    assert ledger.finish() is NOTHING


def test_entries_are_numbered_from_one_across_turns() -> None:
    ledger = TurnBuilder()
    numbers = []
    for text in ("one", "two", "three"):
        numbers.append(ledger.next_sequence())
        ledger.write(NoteEntry(ledger.next_sequence(), START, text))
        ledger.finish()

    assert numbers == [1, 2, 3]
    assert ledger.sequence == 3


def test_no_two_effects_have_the_same_id() -> None:
    ledger = TurnBuilder()

    assert [ledger.next_id(), ledger.next_id(), ledger.next_id()] == [1, 2, 3]


def test_an_event_of_a_pod_has_no_field_path() -> None:
    ledger = TurnBuilder()

    ledger.event(a_pod(), EventType.NORMAL, "Reason", "text", now=at(7))

    event = Event(EventType.NORMAL, "Reason", "text", "uid-of-web", "", at(7))
    assert ledger.finish().entries == (EventEntry(1, at(7), event),)


def test_an_event_of_a_container_says_where_in_the_spec_it_is() -> None:
    ledger = TurnBuilder()
    side = a_container("side", restart_policy=RestartPolicy.ALWAYS)
    pod = replace(a_pod(), init_containers=(side,))

    ledger.event(
        pod, EventType.NORMAL, "Reason", "text", now=START, container_name="side"
    )

    (entry,) = ledger.finish().entries
    assert isinstance(entry, EventEntry)
    assert entry.event.field_path == "spec.initContainers{side}"
    assert entry.event.container_name == "side"
