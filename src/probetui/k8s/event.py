"""Events as a cluster would record them."""

from __future__ import annotations

from enum import StrEnum

from probetui.values import Instant, Value


class EventType(StrEnum):
    """The type of an event, in the API's words."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Event(Value, frozen=True):
    """One occurrence of an event; occurrences are never merged here.

    `field_path` is such as `spec.containers{app}`, empty for the pod itself.
    """

    type: EventType
    reason: str
    message: str
    pod_uid: str
    field_path: str
    at: Instant
    container_name: str = ""
