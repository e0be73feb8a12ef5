"""Events in both of their groups; they are kept as core/v1 has them.

Source: pkg/apis/events/v1/conversion.go, v1.36.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from probetui.k8s.api.codec import Json

_NEW_NAMES: Mapping[str, str] = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_OLD_NAMES = {new: old for old, new in _NEW_NAMES.items()}


def to_events_v1(event: Json) -> Json:
    """Return an event of core/v1 as events.k8s.io/v1 has it."""
    return {**_renamed(event, _NEW_NAMES), "apiVersion": "events.k8s.io/v1"}


def to_core_v1(event: Json) -> Json:
    """Return an event of events.k8s.io/v1 as core/v1 has it."""
    return {**_renamed(event, _OLD_NAMES), "apiVersion": "v1"}


def _renamed(event: Json, names: Mapping[str, str]) -> Json:
    return {names.get(key, key): value for key, value in event.items()}
