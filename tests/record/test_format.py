"""The record's schema: all recorded lines match it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import NO_CONTAINER
from probetui.kubelet.events.event_correlator import ClusterEvent
from probetui.kubelet.journal import (
    EventEntry,
    JournalEntry,
    TickAction,
)
from probetui.kubelet.outcome import Attempt, ProbeResult, Result
from probetui.record.codec import (
    SessionHeader,
    encode_aggregation,
    encode_end,
    encode_entry,
    encode_input,
    encode_rewind,
    encode_session,
)
from probetui.record.format import AnyRecord, RecordContext, record_schema
from tests.builders import START
from tests.record.strategies import LEAVES, values_of
from tests.ticks import a_tick

POD = Pod("uid", "web")
CONTEXT = RecordContext(START, {POD.uid: POD})
COUNTS = {**LEAVES, int: st.integers(0, 10**10)}
FOLDINGS = st.none() | values_of(ClusterEvent, COUNTS)
TICK = a_tick(
    sequence=1,
    at=START,
    key=ProbeKey(POD.uid, "app", ProbeType.LIVENESS),
    n=1,
    started_at=START,
    duration=timedelta(),
    container_id=NO_CONTAINER,
    new_container=True,
    gates=(),
    attempts=(Attempt(ProbeResult.SUCCESS),),
    result=Result.SUCCESS,
    run=1,
    threshold=1,
    stored_before=None,
    stored_after=Result.SUCCESS,
    hold_after=False,
    action=TickAction.NONE,
)


def fit(record: Any) -> Any:
    """Decode a record by the schema; raises if it does not match."""
    plain = json.loads(json.dumps(record))
    found = msgspec.convert(plain, AnyRecord)
    check_described(plain, msgspec.to_builtins(found))
    return found


def check_described(plain: Any, known: Any) -> None:
    """Refuse fields that the schema does not describe."""
    if isinstance(plain, dict):
        if plain.keys() - known.keys():
            raise msgspec.ValidationError(
                f"not described: {plain.keys() - known.keys()}"
            )
        for key, value in plain.items():
            check_described(value, known[key])
    elif isinstance(plain, list):
        for value, of_value in zip(plain, known, strict=True):
            check_described(value, of_value)


@given(values_of(JournalEntry, COUNTS))
def test_every_kind_of_entry_is_recorded_by_the_schema(
    entry: JournalEntry,
) -> None:
    record = encode_entry(entry, CONTEXT)
    is_event = isinstance(entry, EventEntry)

    found = fit(record | (encode_aggregation(None) if is_event else {}))

    assert found.seq == entry.sequence


@given(values_of(EventEntry, COUNTS), FOLDINGS)
def test_what_a_cluster_makes_of_an_event_fits(
    entry: EventEntry, shown: ClusterEvent | None
) -> None:
    found = fit(encode_entry(entry, CONTEXT) | encode_aggregation(shown))

    assert found.dropped is (shown is None)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(
            encode_session(
                SessionHeader("1", "fake", "v1.32", {"plain": True}, [("a", "b")], 7),
                0,
                CONTEXT,
            ),
            id="session",
        ),
        pytest.param(encode_end("left", 0, 9, START, CONTEXT), id="end"),
        pytest.param(
            encode_input(1, {"type": "PauseProbes"}, START, 3, CONTEXT), id="input"
        ),
        pytest.param(encode_input(2, None, START, 3, CONTEXT), id="time alone"),
        pytest.param(encode_rewind(2, 1, START, 3, CONTEXT), id="rewind"),
    ],
)
def test_what_is_no_entry_fits_too(record: Any) -> None:
    assert fit(record).v == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("v", 2, id="version"),
        pytest.param("ts", "yesterday", id="instant"),
        pytest.param("action", "reward", id="action"),
        pytest.param("more", 1, id="field that nobody described"),
        pytest.param("type", "tock", id="kind"),
    ],
)
def test_what_does_not_fit_is_found_out(field: str, value: Any) -> None:
    record = encode_entry(TICK, CONTEXT)
    assert fit(record)

    with pytest.raises(msgspec.ValidationError):
        fit(record | {field: value})


def test_the_schema_names_every_kind_and_lets_more_fields_through() -> None:
    schema = record_schema()

    kinds = {argument.__struct_config__.tag for argument in get_args(AnyRecord)}
    assert schema["discriminator"]["mapping"].keys() == kinds
    assert "additionalProperties" not in schema["$defs"]["Tick"]
    assert schema["$defs"]["Tick"]["properties"]["action"]["$ref"] == "#/$defs/Action"
    assert set(schema["$defs"]["Action"]["enum"]) == set(TickAction)
