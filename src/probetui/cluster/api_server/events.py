"""Events as events.k8s.io/v1 has them; they are held as core/v1 has them.

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
    """Return an event of core/v1 as events.k8s.io/v1 has it."""
    renamed = {NEW_NAMES.get(key, key): value for key, value in event.items()}
    return {**renamed, "apiVersion": "events.k8s.io/v1"}
