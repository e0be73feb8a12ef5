"""Conversion of events, which are stored as core/v1, to events.k8s.io/v1.

Source: pkg/apis/events/v1/conversion.go, v1.36.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from probetui.k8s.api.codec import Json

NEW_NAMES: Mapping[str, str] = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
"""Fields by their name in core/v1."""


def to_events_v1(event: Json) -> Json:
    """Convert an event from core/v1 to events.k8s.io/v1."""
    renamed = {NEW_NAMES.get(key, key): value for key, value in event.items()}
    return {**renamed, "apiVersion": "events.k8s.io/v1"}
