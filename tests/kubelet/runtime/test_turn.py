from __future__ import annotations

from msgspec.structs import replace

from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import RestartPolicy
from probetui.kubelet.effects import Relist
from probetui.kubelet.journal import EventEntry, NoteEntry
from probetui.kubelet.runtime.turn import NOTHING, TurnBuilder
from tests.builders import START, a_container, a_pod, at


def test_an_empty_turn_is_always_the_same_object() -> None:
    turn_builder = TurnBuilder()

    assert turn_builder.finish() is NOTHING
    assert turn_builder.finish() is NOTHING


def test_a_turn_has_the_entries_and_effects_since_the_last_one() -> None:
    turn_builder = TurnBuilder()
    note = NoteEntry(turn_builder.next_sequence(), START, "one")
    turn_builder.write(note)
    turn_builder.emit(Relist())

    turn = turn_builder.finish()

    assert turn.entries == (note,)
    assert turn.effects == (Relist(),)
    assert turn_builder.finish() is NOTHING


def test_entries_are_numbered_from_one_across_turns() -> None:
    turn_builder = TurnBuilder()
    numbers = []
    for text in ("one", "two", "three"):
        numbers.append(turn_builder.next_sequence())
        turn_builder.write(NoteEntry(turn_builder.next_sequence(), START, text))
        turn_builder.finish()

    assert numbers == [1, 2, 3]
    assert turn_builder.sequence == 3


def test_no_two_effects_have_the_same_id() -> None:
    turn_builder = TurnBuilder()

    assert [turn_builder.next_id(), turn_builder.next_id(), turn_builder.next_id()] == [
        1,
        2,
        3,
    ]


def test_an_event_of_a_pod_has_no_field_path() -> None:
    turn_builder = TurnBuilder()

    turn_builder.event(a_pod(), EventType.NORMAL, "Reason", "text", now=at(7))

    event = Event(EventType.NORMAL, "Reason", "text", "uid-of-web", "", at(7))
    assert turn_builder.finish().entries == (EventEntry(1, at(7), event),)


def test_an_event_of_a_container_has_its_field_path() -> None:
    turn_builder = TurnBuilder()
    side = a_container("side", restart_policy=RestartPolicy.ALWAYS)
    pod = replace(a_pod(), init_containers=(side,))

    turn_builder.event(
        pod, EventType.NORMAL, "Reason", "text", now=START, container_name="side"
    )

    (entry,) = turn_builder.finish().entries
    assert isinstance(entry, EventEntry)
    assert entry.event.field_path == "spec.initContainers{side}"
    assert entry.event.container_name == "side"


def test_a_command_that_is_refused_is_a_note_in_order() -> None:
    turn_builder = TurnBuilder()

    turn_builder.refuse(at(1), "there is no such pod")
    turn_builder.refuse(at(2), "it is busy")

    assert turn_builder.finish().entries == (
        NoteEntry(1, at(1), "there is no such pod", is_fault=True, is_refusal=True),
        NoteEntry(2, at(2), "it is busy", is_fault=True, is_refusal=True),
    )
