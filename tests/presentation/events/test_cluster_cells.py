"""Events as a cluster lists them."""

from __future__ import annotations

from datetime import timedelta

from probetui.k8s.event import EventType
from probetui.kubelet.events.event_correlator import ClusterEvent
from probetui.presentation.events.detail import cluster_cells, cluster_text
from probetui.presentation.text.spans import Role
from probetui.presentation.text.view import View
from probetui.record.masking import Mask
from tests.presentation.looking import TIMES, VIEW
from tests.ticks import NOW

_SECOND = timedelta(seconds=1)


def an_event(type_: EventType, message: str) -> ClusterEvent:
    return ClusterEvent(
        type_,
        "Unhealthy",
        message,
        "uid-demo",
        "",
        NOW - 191 * _SECOND,
        NOW - 31 * _SECOND,
        9,
    )


def test_an_event_is_on_one_line_as_kubectl_has_it() -> None:
    event = an_event(EventType.WARNING, "it failed\n")

    assert cluster_text(event, {"uid-demo": "demo"}, VIEW) == (
        "31s (x9 over 3m11s)  Warning  Unhealthy  pod/demo  it failed"
    )


def test_warnings_are_highlighted() -> None:
    warning = cluster_cells(an_event(EventType.WARNING, "x"), {}, VIEW)
    normal = cluster_cells(an_event(EventType.NORMAL, "x"), {}, VIEW)

    assert warning.type[0].role is Role.WARNING
    assert normal.type[0].role is Role.PLAIN
    assert normal.object[0].text == "pod/uid-demo"


def test_messages_are_harmless_and_without_secrets() -> None:
    view = View(TIMES, mask=Mask(["s3cr3t-token"]))
    event = an_event(EventType.NORMAL, "\x1b[31ms3cr3t-token")

    assert cluster_text(event, {}, view).endswith("\\x1b[31m***")
