"""Wire structs: what a struct says of an object is how it is written and read."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import UNSET, Struct, UnsetType, field

from probetui.record.wire import (
    OMIT_DEFAULT,
    SAME,
    At,
    Computed,
    Leaf,
    WireCodec,
    json_schema,
    words,
)


class Key(Struct, frozen=True):
    pod: str
    container: str = "app"


class Owner(Struct, frozen=True):
    name: str
    team: str = "core"


class Header(Struct, frozen=True):
    name: str
    value: str


class Check(Struct, frozen=True):
    key: Key
    owner: Owner | None
    took: timedelta
    mood: int
    headers: tuple[Header, ...] = ()
    first: Header | None = None
    tags: tuple[str, ...] = ()
    retries: int = 0
    note: str | None = None

    @property
    def is_quick(self) -> bool:
        return self.took < timedelta(seconds=1)


def _shouted(check: Check, context: str) -> str:
    return f"{check.key.pod}{context}"


def _censored(header: Header, context: str) -> str:
    return header.value.replace("secret", context)


Milliseconds = Annotated[
    float,
    Leaf(
        lambda took, _: took / timedelta(milliseconds=1),
        lambda ms: timedelta(milliseconds=ms),
    ),
]


class HeaderWire(Struct, frozen=True):
    name: str
    value: Annotated[str, Computed(_censored), At("value")]


class PlaceWire(Struct, frozen=True):
    container: Annotated[str, At("gone.container", "key.container")]
    shouted: Annotated[str, Computed(_shouted), OMIT_DEFAULT] = ""


class CheckWire(Struct, frozen=True):
    version: int
    pod: Annotated[str, At("key.pod")] = field(name="podName")
    place: Annotated[PlaceWire, SAME]
    owner: Annotated[str | None, At("owner.name")]
    team: Annotated[str | None, At("owner.team")]
    ms: Annotated[Milliseconds, At("took")]
    mood: Annotated[Literal["bad", "good"], words({"bad": 0, "good": 1})]
    headers: list[HeaderWire]
    first: HeaderWire | UnsetType = UNSET
    tags: Annotated[list[str], OMIT_DEFAULT] = field(default_factory=list)
    retries: Annotated[int, OMIT_DEFAULT] = 0
    note: str | None = None


CHECK = Check(
    key=Key("web", "proxy"),
    owner=Owner("eve"),
    took=timedelta(milliseconds=250),
    mood=1,
    headers=(Header("token", "secret"), Header("date", "today")),
    first=Header("host", "secret"),
    tags=("a", "b"),
    retries=2,
    note="slow",
)
WRITTEN = {
    "podName": "web",
    "place": {"container": "proxy", "shouted": "web!"},
    "owner": "eve",
    "team": "core",
    "ms": 250.0,
    "mood": "good",
    "headers": [
        {"name": "token", "value": "!"},
        {"name": "date", "value": "today"},
    ],
    "first": {"name": "host", "value": "!"},
    "tags": ["a", "b"],
    "retries": 2,
    "note": "slow",
}
PLAIN = Check(Key("web"), None, timedelta(), 0)
PLAIN_WRITTEN: dict[str, Any] = {
    "podName": "web",
    "place": {"container": "app", "shouted": "web!"},
    "owner": None,
    "team": None,
    "ms": 0.0,
    "mood": "bad",
    "headers": [],
    "note": None,
}


KINDS: dict[type[Struct], type[Any]] = {HeaderWire: Header}


def a_codec(**options: Any) -> WireCodec:
    return WireCodec(CheckWire, Check, KINDS, skip=frozenset({"version"}), **options)


def wire(written: dict[str, Any]) -> CheckWire:
    return msgspec.convert({"version": 1, **written}, CheckWire)


@pytest.mark.parametrize(
    ("check", "written"), [(CHECK, WRITTEN), (PLAIN, PLAIN_WRITTEN)]
)
def test_a_value_is_written_as_its_struct_says(
    check: Check, written: dict[str, Any]
) -> None:
    encoded = a_codec().encode(check, "!")

    assert encoded == written
    assert list(encoded) == list(written)


@pytest.mark.parametrize("check", [CHECK, PLAIN])
def test_a_value_is_read_back_from_what_was_written(check: Check) -> None:
    codec = a_codec()

    assert codec.decode(wire(codec.encode(check, "secret"))) == check


def test_attributes_that_the_caller_reads_are_given_to_the_value() -> None:
    class Timed(Check, frozen=True, kw_only=True):
        at: int

    codec = WireCodec(CheckWire, Timed, KINDS, skip=frozenset({"version"}))

    read = codec.decode(wire(PLAIN_WRITTEN), at=7)

    assert (type(read), read.at, read.key) == (Timed, 7, PLAIN.key)


def test_a_maker_is_given_what_was_read() -> None:
    read = a_codec(make=dict).decode(wire(PLAIN_WRITTEN))

    assert read == msgspec.structs.asdict(PLAIN)


class QuickWire(Struct, frozen=True):
    quick: Annotated[bool, At("is_quick")]


def test_a_property_is_a_field_as_well() -> None:
    codec = WireCodec(QuickWire, Check, {}, make=dict)

    assert codec.encode(CHECK) == {"quick": True}
    assert codec.decode(QuickWire(quick=False)) == {"is_quick": False}


class OwnerWire(Struct, frozen=True):
    name: Annotated[str | None, At("owner.name")]
    team: Annotated[str | None, At("owner.team")]


@pytest.mark.parametrize(
    ("struct", "owner"),
    [
        (OwnerWire("eve", "ops"), Owner("eve", "ops")),
        (OwnerWire(None, "ops"), None),
        (OwnerWire("eve", None), None),
    ],
)
def test_an_attribute_that_may_be_none_needs_all_its_parts(
    struct: OwnerWire, owner: Owner | None
) -> None:
    assert WireCodec(OwnerWire, Check, {}, make=dict).decode(struct) == {"owner": owner}


@pytest.mark.parametrize(
    "paths", [("missing",), ("key.missing",), ("missing.pod",), ("encode", "key.x")]
)
def test_an_attribute_that_no_value_has_is_an_error_at_once(
    paths: tuple[str, ...],
) -> None:
    struct = msgspec.defstruct("Wrong", [("name", Annotated[str, At(*paths)])])

    with pytest.raises(TypeError) as refusal:
        WireCodec(struct, Check, {})

    assert str(refusal.value) == f"Check has no {' or '.join(paths)}"


class InnerRecord(Struct):
    name: str


class RenamedRecord(Struct):
    inner: InnerRecord


class OuterRecord(Struct):
    inner: InnerRecord
    renamed: RenamedRecord


def test_a_schema_names_classes_as_they_are_published() -> None:
    schema = json_schema(OuterRecord, "A title", {RenamedRecord: "Other"}, "Record")

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == "A title"
    assert schema["$ref"] == "#/$defs/Outer"
    assert set(schema["$defs"]) == {"Outer", "Inner", "Other"}
    assert schema["$defs"]["Outer"]["properties"] == {
        "inner": {"$ref": "#/$defs/Inner"},
        "renamed": {"$ref": "#/$defs/Other"},
    }


def test_a_schema_names_classes_as_the_code_does_unless_told_otherwise() -> None:
    schema = json_schema(OuterRecord, "A title", {})

    assert set(schema["$defs"]) == {"OuterRecord", "InnerRecord", "RenamedRecord"}
