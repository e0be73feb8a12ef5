"""What a real API server of 1.36.2 did, done again by ours."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import httpx
import pytest

from probetui.cluster.api_server.patch import STRATEGIC_MERGE, apply_patch
from probetui.cluster.api_server.pod_connections import (
    exec_connection,
    log_connection,
)
from probetui.cluster.api_server.pod_rules import with_condition_fields
from probetui.cluster.api_server.resources import EVENTS, PODS, ApiResource
from probetui.cluster.api_server.tables import table
from probetui.cluster.local_api.session_connections import SessionLogs
from probetui.cluster.serving.remote_command import RemoteCommand, RemoteStreams
from probetui.drive.clocks import SystemClock
from probetui.k8s.api.codec import Json
from probetui.record.masking import Mask
from tests.cluster.recorded import recorded
from tests.cluster.servers import running_server


def test_every_patch_of_a_status_makes_of_it_what_the_server_made() -> None:
    for patch in recorded("status-patches"):
        pod = {"metadata": {}, "status": patch["before"]}
        patched = with_condition_fields(
            apply_patch(STRATEGIC_MERGE, pod, patch["patch"])
        )
        assert patched["status"] == patch["after"], (patch["t"], patch["name"])


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        pytest.param(PODS, "get-pods-w", id="pods"),
        pytest.param(EVENTS, "get-events", id="events"),
    ],
)
def test_every_row_has_the_cells_that_kubectl_printed(
    resource: ApiResource, name: str
) -> None:
    for row in recorded(name):
        now = datetime.fromisoformat(row["at"])
        made = table(resource, [row["object"]], now, metadata={})
        assert made["rows"][0]["cells"][: len(row["cells"])] == row["cells"]


class _NoCommands:
    async def run(
        self, pod: Json, command: RemoteCommand, streams: RemoteStreams
    ) -> int:
        raise AssertionError("it is refused before")


@pytest.mark.parametrize(
    "refusal",
    [pytest.param(found, id=found["name"]) for found in recorded("refusals")[1:]],
)
async def test_what_the_server_refused_is_refused_in_its_words(
    refusal: dict[str, Any],
) -> None:
    connect = {
        **log_connection(SessionLogs(_NoLogs(), Mask()), SystemClock().now),
        **exec_connection(_NoCommands()),
    }
    pod = recorded("refusals")[0]["pod"]
    async with (
        running_server(tokens={"TOKEN": "recorder"}, connect=connect) as server,
        httpx.AsyncClient(base_url=server.url) as client,
    ):
        server.store.create(PODS, "default", pod)
        headers = dict(refusal["headers"])
        if "anonymous" not in refusal["name"]:
            # Some were sent with a client certificate.
            headers.setdefault("Authorization", "Bearer TOKEN")
        answer = await client.request(
            refusal["method"],
            refusal["target"],
            headers=headers,
            content=refusal["body"],
        )
    said, was = answer.json(), refusal["answer"]
    assert answer.status_code == refusal["code"]
    for status in (said, was):
        status["message"] = _comparable(status["message"])
        for cause in status.get("details", {}).get("causes", ()):
            cause["message"] = _comparable(cause["message"])
    assert said == was


def _comparable(message: str) -> str:
    """Return a message without a parser's words and without the diff of two specs."""
    head, _, _ = message.partition("continue key is not valid: ")
    return head.partition("\n@@")[0]


class _NoLogs:
    def follow_logs(self, *_: object, **__: object) -> Any:
        raise AssertionError("it is refused before")
