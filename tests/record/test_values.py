"""Frozen values as JSON and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import field

from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Probe,
    ProbeHandler,
    ProbeKey,
    ProbeType,
)
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.facts import OperationFinished
from probetui.kubelet.outcome import Result
from probetui.record.codec import encode_text
from probetui.record.format import mask_json
from probetui.record.masking import Mask
from probetui.record.values import (
    DamageError,
    decode_value,
    encode_value,
    format_timestamp,
    parse_session_instant,
    shorten_reason,
)
from probetui.values import Kind, TimeSpan, Value
from tests.builders import START


class Odds(Value, frozen=True):
    """Values that the engine has rarely or never."""

    numbers: frozenset[int]
    content: Mapping[str, bytes]
    result: Result | None = None


def written(value: object) -> str:
    """Return a value as it is in a line."""
    return encode_text(mask_json(encode_value(value), Mask(hides=False)))


def there_and_back(kind: Any, value: Any) -> Any:
    return decode_value(kind, json.loads(written(value)))


def test_what_is_at_its_default_is_left_out() -> None:
    encoded = encode_value(Probe(ExecAction(("true",)), period_seconds=3))

    assert encoded == {
        "handler": {"is": "ExecAction", "command": ("true",)},
        "periodSeconds": 3,
    }


def test_names_are_spelled_as_the_api_does() -> None:
    assert encode_value(OperationFinished(7)) == {
        "is": "OperationFinished",
        "operationID": 7,
    }


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(ExecAction(("a", "b")), id="exec"),
        pytest.param(HTTPGetAction("web", http_headers=()), id="named port"),
        pytest.param(GRPCAction(5000, "x"), id="grpc"),
    ],
)
def test_a_value_of_several_kinds_names_its_kind(handler: ProbeHandler) -> None:
    assert there_and_back(ProbeHandler, handler) == handler


def test_keys_are_lists() -> None:
    key = ProbeKey("uid", "app", ProbeType.STARTUP)

    assert encode_value(key) == ("uid", "app", "Startup")
    assert there_and_back(ProbeKey, key) == key


def test_bytes_and_sets_are_kept() -> None:
    odds = Odds(frozenset({3, 1}), {"a": b"\xff\x00"}, Result.FAILURE)

    assert encode_value(odds) == {
        "numbers": [1, 3],
        "content": {"a": "/wA="},
        "result": 1,
    }
    assert there_and_back(Odds, odds) == odds


def test_a_config_reads_back() -> None:
    config = KubeletConfig(seed=7, age=timedelta())

    assert there_and_back(KubeletConfig, config) == config


@given(st.integers(0, 10**15))
def test_no_microsecond_is_lost(microseconds: int) -> None:
    length = timedelta(microseconds=microseconds)

    assert there_and_back(TimeSpan, length) == length


def test_instants_have_all_six_digits() -> None:
    assert format_timestamp(START).endswith(":00.000000Z")


@pytest.mark.parametrize(
    "text", ["2026-11-20T08:18:00", "1899-12-31T00:00:00Z", "2600-01-01T00:00:00Z"]
)
def test_an_instant_that_no_session_can_have_had_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"^'{text}' is no instant of a session$"):
        parse_session_instant(text)


def test_what_is_none_of_the_kinds_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Invalid value 'Telepathy' - at `\$\.is`"):
        decode_value(ProbeHandler, {"is": "Telepathy"})


def test_a_value_of_no_kind_is_not_written() -> None:
    with pytest.raises(NotImplementedError, match=r"^object$"):
        encode_value(object())


class Knock(Kind, frozen=True):
    """A kind of input that only these tests have."""

    door_id: int
    pause: TimeSpan = timedelta()


class Ring(Kind, frozen=True, tag="Bell"):
    """A kind that was renamed in the code."""

    how_often: int = field(default=1, name="times")


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        pytest.param(
            Knock(3, timedelta(seconds=2)),
            '{"is":"Knock","doorID":3,"pause":2000.0}',
            id="new",
        ),
        pytest.param(Ring(2), '{"is":"Bell","times":2}', id="renamed"),
    ],
)
def test_a_new_kind_is_one_class(value: Knock | Ring, spelled: str) -> None:
    assert written(value) == spelled
    assert there_and_back(Knock | Ring, value) == value


@pytest.mark.parametrize(
    ("json_value", "reason"),
    [
        pytest.param({"pause": 1}, "missing required field `doorID`", id="missing"),
        pytest.param(
            {"doorID": "3"}, r"Expected `int`, got `str` - at `\$\.doorID`", id="type"
        ),
        pytest.param(
            {"doorID": 3, "pause": "PT1S"},
            r"^'PT1S' is no length of time - at `\$\.pause`",
            id="unit",
        ),
        pytest.param(
            {"doorID": 3, "pause": 1e300},
            r"^1e\+300 milliseconds are too long - at `\$\.pause`",
            id="long",
        ),
        pytest.param(
            {"doorID": 2**64}, f"^{2**64} has more than 64 bits$", id="integer"
        ),
        pytest.param(
            {"doorID": 3, "\ud800": 1}, "surrogates not allowed", id="surrogate"
        ),
    ],
)
def test_what_cannot_be_read_is_said_with_its_field(
    json_value: Any, reason: str
) -> None:
    with pytest.raises(DamageError, match=reason):
        decode_value(Knock, json_value)


def test_a_reason_does_not_repeat_a_long_text() -> None:
    with pytest.raises(DamageError, match=r"^Invalid value.*at `\$\.is`$") as caught:
        decode_value(Knock | Ring, {"is": "x" * 1_000_000})

    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize(("length", "shown"), [(400, 400), (401, 403)])
def test_of_a_longer_reason_both_ends_are_shown(length: int, shown: int) -> None:
    reason = shorten_reason(ValueError("begin" + "x" * (length - 8) + "end"))

    assert len(reason) == shown
    assert reason.startswith("begin")
    assert reason.endswith("end")


def test_what_is_nested_too_deeply_is_refused() -> None:
    nested: Any = 1
    for _ in range(100_000):
        nested = [nested]

    with pytest.raises(DamageError, match=r"^it is nested too deeply$"):
        decode_value(Knock, {"doorID": nested})


@pytest.mark.parametrize(("length", "shown"), [(58, 60), (59, 60)])
def test_of_a_long_text_that_is_wrong_the_beginning_is_shown(
    length: int, shown: int
) -> None:
    text = "x" * length
    dots = "" if len(repr(text)) == shown else "..."

    with pytest.raises(DamageError) as caught:
        decode_value(TimeSpan, text)

    assert str(caught.value) == f"{repr(text)[:shown]}{dots} is no length of time"


def test_a_mapping_that_cannot_be_changed_is_written_as_an_object() -> None:
    assert encode_value(MappingProxyType({"a": 1})) == {"a": 1}
