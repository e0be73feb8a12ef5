"""Frozen values as JSON and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

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
from probetui.record.values import decode_value, encode_value, format_timestamp
from tests.builders import START


class Odds(Struct, frozen=True):
    """Values that the engine has rarely or never."""

    numbers: frozenset[int]
    content: Mapping[str, bytes]
    result: Result | None = None


def there_and_back(kind: Any, value: Any) -> Any:
    return decode_value(kind, json.loads(json.dumps(encode_value(kind, value))))


def test_what_is_at_its_default_is_left_out() -> None:
    encoded = encode_value(Probe, Probe(ExecAction(("true",)), period_seconds=3))

    assert encoded == {
        "handler": {"is": "ExecAction", "command": ["true"]},
        "periodSeconds": 3,
    }


def test_names_are_spelled_as_the_api_does() -> None:
    assert encode_value(OperationFinished, OperationFinished(7)) == {"operationID": 7}


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

    assert encode_value(ProbeKey, key) == ["uid", "app", "Startup"]
    assert there_and_back(ProbeKey, key) == key


def test_bytes_and_sets_are_kept() -> None:
    odds = Odds(frozenset({3, 1}), {"a": b"\xff\x00"}, Result.FAILURE)

    assert encode_value(Odds, odds) == {
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

    assert there_and_back(timedelta, length) == length


def test_instants_have_all_six_digits() -> None:
    assert format_timestamp(START).endswith(":00.000000Z")


def test_what_is_none_of_the_kinds_is_refused() -> None:
    with pytest.raises(ValueError, match="'Telepathy' is none of ExecAction, "):
        decode_value(ProbeHandler, {"is": "Telepathy"})
