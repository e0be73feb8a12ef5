"""ValueCodec: frozen structs as JSON and back, by their annotations.

An object has the fields of its struct that are not at their defaults, with names as
in the Kubernetes API. A member of a union says in `is` which one it is. Instants are
RFC 3339 with microseconds, lengths of time milliseconds, bytes base64.

The names in a file are those of the fields and, for `is`, those in `KIND_NAMES`. Where
a field is renamed in the code, its name in files stays in `FIELD_NAMES`.
"""

from __future__ import annotations

import base64
import types
import typing
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any, get_args, get_origin

from msgspec import NODEFAULT, Struct, structs

from probetui.debugger.commands import (
    AddNote,
    Bookmark,
    ClearBackoff,
    DelayProbes,
    DryRunProbe,
    EditProbe,
    InjectContainerFault,
    InjectResults,
    KillContainer,
    MuteProbes,
    PauseProbes,
    RestartContainer,
    ResumeProbes,
    RunToChange,
    SetBreakpoints,
    StepProbe,
    TriggerProbe,
    UnmuteProbes,
)
from probetui.engine.inputs import (
    AddPod,
    DeletePod,
    ExecSeen,
    ListenersFound,
    SetObjects,
    SetPods,
)
from probetui.k8s.environment import (
    ConfigMapEnvSource,
    ConfigMapKeyRef,
    FieldRef,
    ResourceFieldRef,
    SecretEnvSource,
    SecretKeyRef,
)
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    SleepAction,
    TCPSocketAction,
)
from probetui.k8s.runtime import RuntimeContainerStatus, SandboxStatus
from probetui.k8s.volume import (
    ConfigMap,
    ConfigMapFiles,
    DownwardAPIFiles,
    EmptyDir,
    HostPath,
    OtherVolume,
    PodCertificateFiles,
    Projected,
    Secret,
    SecretFiles,
    ServiceAccountTokenFile,
    TrustBundleFile,
)
from probetui.kubelet.effects import PulledImage
from probetui.kubelet.facts import (
    ImagesListed,
    OperationFinished,
    OperationProgress,
    ProbeFinished,
    Relisted,
    RelistFailed,
    RuntimeChanged,
    RuntimeStatusRead,
)

KIND_NAMES: Mapping[type, str] = {
    AddNote: "AddNote",
    AddPod: "AddPod",
    Bookmark: "Bookmark",
    ClearBackoff: "ClearBackoff",
    ConfigMap: "ConfigMap",
    ConfigMapEnvSource: "ConfigMapEnvSource",
    ConfigMapFiles: "ConfigMapFiles",
    ConfigMapKeyRef: "ConfigMapKeyRef",
    DelayProbes: "DelayProbes",
    DeletePod: "DeletePod",
    InjectContainerFault: "DisruptContainer",
    DownwardAPIFiles: "DownwardAPIFiles",
    EditProbe: "EditProbe",
    EmptyDir: "EmptyDir",
    ExecAction: "ExecAction",
    ExecSeen: "ExecSeen",
    FieldRef: "FieldRef",
    GRPCAction: "GRPCAction",
    HTTPGetAction: "HTTPGetAction",
    HostPath: "HostPath",
    ImagesListed: "ImagesListed",
    InjectResults: "InjectResults",
    KillContainer: "KillContainer",
    ListenersFound: "ListenersFound",
    MuteProbes: "MuteProbes",
    OperationFinished: "OperationFinished",
    OperationProgress: "OperationProgress",
    OtherVolume: "OtherVolume",
    PauseProbes: "PauseProbes",
    ProbeFinished: "ProbeFinished",
    Projected: "Projected",
    PulledImage: "PulledImage",
    RelistFailed: "RelistFailed",
    Relisted: "Relisted",
    ResourceFieldRef: "ResourceFieldRef",
    RestartContainer: "RestartContainer",
    ResumeProbes: "ResumeProbes",
    RunToChange: "RunToChange",
    RuntimeChanged: "RuntimeChanged",
    RuntimeContainerStatus: "RuntimeContainerStatus",
    RuntimeStatusRead: "RuntimeStatusRead",
    SandboxStatus: "SandboxStatus",
    Secret: "Secret",
    SecretEnvSource: "SecretEnvSource",
    SecretFiles: "SecretFiles",
    ServiceAccountTokenFile: "ServiceAccountTokenFile",
    TrustBundleFile: "TrustBundleFile",
    PodCertificateFiles: "PodCertificateFiles",
    SecretKeyRef: "SecretKeyRef",
    SetBreakpoints: "SetBreakPoints",
    SetObjects: "SetObjects",
    SetPods: "SetPods",
    SleepAction: "SleepAction",
    StepProbe: "StepProbe",
    TCPSocketAction: "TCPSocketAction",
    TriggerProbe: "TriggerProbe",
    DryRunProbe: "TryProbe",
    UnmuteProbes: "UnmuteProbes",
}
"""What each kind is called in files: never changed, whatever the class is called."""

FIELD_NAMES: Mapping[type, Mapping[str, str]] = {
    InjectContainerFault: {"fault": "disruption"},
}
"""What fields are called in files whose names in the code have changed since."""

_UPPER = frozenset({"id", "uid", "ip", "dns"})
_MILLISECOND = timedelta(milliseconds=1)
_YEARS = range(1900, 2600)
_LONGEST = timedelta(days=300 * 365)
_MOST_BITS = 64
"""Arithmetic on longer durations, or before or after these years, may overflow."""

_LONGEST_SHOWN = 60


class DamageError(ValueError):
    """Why something in a record cannot be read."""


class ValueCodec(Struct, frozen=True):
    """How values of one type are encoded and decoded."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def encode_value(kind: Any, value: Any) -> Any:
    """Return a value of an annotated type as `json.dumps` takes it."""
    return find_codec(kind).encode(value)


def decode_value(kind: Any, json: Any) -> Any:
    """Return the value that `encode_value` made this of.

    Raises:
        ValueError: it is not one.
    """
    return find_codec(kind).decode(json)


def parse_session_instant(text: str) -> datetime:
    """Parse an instant that a session can have had, RFC 3339 with a time zone.

    Raises:
        ValueError: there is none such, or it cannot be printed in every time zone.
    """
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None or instant.year not in _YEARS:
        raise ValueError(f"{_shown(text)} is no instant of a session")
    return instant


def format_timestamp(at: datetime) -> str:
    """Return an instant as RFC 3339 in UTC, with all six digits of the second."""
    # Nearly all are in UTC; to ask takes a third of the time of a conversion.
    in_utc = at if at.tzinfo is UTC else at.astimezone(UTC)
    text = in_utc.isoformat(timespec="microseconds")
    return text.removesuffix("+00:00") + "Z"


@cache
def find_codec(kind: Any) -> ValueCodec:
    """Return the codec of an annotated type; made once for each."""
    if isinstance(kind, typing.NewType):
        return find_codec(kind.__supertype__)
    origin = get_origin(kind)
    if origin in {types.UnionType, typing.Union}:
        return _union(get_args(kind))
    if origin is not None:
        return _container(origin, get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _later(kind)
    if isinstance(kind, type) and issubclass(kind, tuple):
        return _named_tuple(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ValueCodec(lambda value: value.value, kind)
    return _LEAVES[kind]


def _as_it_is(value: Any) -> Any:
    return value


def _plain(*kinds: type) -> ValueCodec:
    """Return the codec of types that JSON has."""

    def decode(json: Any) -> Any:
        if type(json) not in kinds:
            raise ValueError(f"{_shown(json)} is not of type {kinds[0].__name__}")
        return json

    return ValueCodec(_as_it_is, decode)


def _shown(json: Any) -> str:
    text = repr(json)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


_text, _whole, _number = (
    _plain(str).decode,
    _plain(int).decode,
    _plain(float, int).decode,
)


def _bytes(json: Any) -> bytes:
    return base64.b64decode(_text(json), validate=True)


def _decimal(json: Any) -> Decimal:
    try:
        return Decimal(_text(json))
    except ArithmeticError:
        raise ValueError(f"{_shown(json)} is no number") from None


def _instant(json: Any) -> datetime:
    return parse_session_instant(_text(json))


def _length(json: Any) -> timedelta:
    try:
        length = timedelta(milliseconds=_number(json))
    except OverflowError:
        length = timedelta.max
    if abs(length) > _LONGEST:
        raise ValueError(f"{_shown(json)} milliseconds are too long")
    return length


def _integer(json: Any) -> int:
    number: int = _whole(json)
    if number.bit_length() > _MOST_BITS:
        raise ValueError(f"{_shown(json)} has more than {_MOST_BITS} bits")
    return number


_LEAVES: Mapping[Any, ValueCodec] = {
    str: _plain(str),
    int: ValueCodec(_as_it_is, _integer),
    float: _plain(float, int),
    bool: _plain(bool),
    bytes: ValueCodec(lambda value: base64.b64encode(value).decode("ascii"), _bytes),
    Decimal: ValueCodec(str, _decimal),
    datetime: ValueCodec(format_timestamp, _instant),
    timedelta: ValueCodec(lambda value: value / _MILLISECOND, _length),
}


def _union(kinds: tuple[Any, ...]) -> ValueCodec:
    some = tuple(kind for kind in kinds if kind is not types.NoneType)
    if len(some) == 1:
        one = find_codec(some[0])
        return ValueCodec(
            lambda value: None if value is None else one.encode(value),
            lambda json: None if json is None else one.decode(json),
        )
    by_type = {kind: find_codec(kind) for kind in some if kind in KIND_NAMES}
    by_name = {KIND_NAMES[kind]: codec for kind, codec in by_type.items()}
    others = _plain(
        *(_plain_type(kind) for kind in some if kind not in by_type),
        *({types.NoneType} & set(kinds)),
    )

    def encode(value: Any) -> Any:
        codec = by_type.get(type(value))
        if codec is None:
            return value
        return {"is": KIND_NAMES[type(value)], **codec.encode(value)}

    def decode(json: Any) -> Any:
        if not isinstance(json, dict):
            return others.decode(json)
        name = json.get("is")
        if not isinstance(name, str) or name not in by_name:
            raise ValueError(f"{_shown(name)} is none of {', '.join(by_name)}")
        return by_name[name].decode(json)

    return ValueCodec(encode, decode)


def _plain_type(kind: Any) -> type:
    """Return the type of a union member that JSON has."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        raise TypeError(f"{kind} has no name in KIND_NAMES")
    found: type = kind
    if isinstance(kind, typing.NewType):
        found = typing.cast("type", kind.__supertype__)
    return found


def _container(origin: Any, arguments: tuple[Any, ...]) -> ValueCodec:
    if issubclass(origin, Mapping):
        of_values = find_codec(arguments[1])
        return ValueCodec(
            lambda value: {key: of_values.encode(item) for key, item in value.items()},
            lambda json: types.MappingProxyType(
                {key: of_values.decode(item) for key, item in _object(json).items()}
            ),
        )
    one = find_codec(arguments[0])
    if origin is frozenset:
        return ValueCodec(
            lambda value: sorted(map(one.encode, value)),
            lambda json: frozenset(map(one.decode, _list(json))),
        )
    return ValueCodec(
        lambda value: [one.encode(item) for item in value],
        lambda json: tuple(map(one.decode, _list(json))),
    )


_object, _list = _plain(dict).decode, _plain(list).decode


def _named_tuple(kind: type[Any]) -> ValueCodec:
    codecs = [find_codec(hint) for hint in typing.get_type_hints(kind).values()]
    return ValueCodec(
        lambda value: [
            codec.encode(item) for codec, item in zip(codecs, value, strict=True)
        ],
        lambda json: kind(
            *(
                codec.decode(item)
                for codec, item in zip(codecs, _list(json), strict=True)
            )
        ),
    )


def _later(kind: type[Any]) -> ValueCodec:
    """Return the codec of a struct, which is made when its first value comes.

    Making the codecs of all that a pod may have takes 3 ms, and few pods have all.
    """

    @cache
    def made() -> ValueCodec:
        return _struct(kind)

    return ValueCodec(
        lambda value: made().encode(value), lambda json: made().decode(json)
    )


class _Field(Struct, frozen=True):
    name: str
    key: str
    codec: ValueCodec
    default: Any


def _struct(kind: type[Any]) -> ValueCodec:
    fields = [
        _Field(
            field.name,
            key_of(kind, field.name),
            find_codec(field.type),
            _default(field),
        )
        for field in structs.fields(kind)
    ]

    def encode(value: Any) -> Any:
        return {
            field.key: field.codec.encode(found)
            for field in fields
            if (found := getattr(value, field.name)) != field.default
        }

    def decode(json: Any) -> Any:
        given = _object(json)
        values = {}
        for field in fields:
            if field.key in given:
                values[field.name] = field.codec.decode(given[field.key])
            elif field.default is NODEFAULT:
                raise ValueError(f"{kind.__name__} has no {field.key}")
        return kind(**values)

    return ValueCodec(encode, decode)


def _default(field: structs.FieldInfo) -> Any:
    if field.default_factory is not NODEFAULT:
        return field.default_factory()
    return field.default


def key_of(kind: type[Any], field: str) -> str:
    """Return what a field is called in files: as the API spells it."""
    key = FIELD_NAMES.get(kind, {}).get(field)
    if key is not None:
        return key
    first, *others = field.split("_")
    return first + "".join(
        word.upper() if word in _UPPER else word.capitalize() for word in others
    )
