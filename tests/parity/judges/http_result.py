"""The HTTP prober against scripted servers: one attempt, one or more requests."""

from __future__ import annotations

import base64
import re
from datetime import timedelta
from typing import Any

from probetui.k8s.pod import Container
from probetui.kubelet.outcome import Attempt
from probetui.kubelet.prober.container_port import resolve_port
from probetui.kubelet.runtime.go_format import to_bytes
from probetui.probers.go.http_transport import OneShotTransport
from probetui.probers.http_probe import probe_http
from probetui.probers.http_request import build_request
from tests.parity.elapsed import took_as_long
from tests.parity.prober_cases import digest, http_get
from tests.probers.scripted_server import Listeners, listening

OWN_PORT = re.compile(r"(tcp [0-9.]+:)[0-9]+(->)")


async def judge(case: dict[str, Any]) -> None:
    out = case["out"]
    async with listening(case["listeners"]) as listeners:
        with took_as_long(out["elapsedMs"]):
            attempt = await _probe(case, listeners)

    results = [out["result"]]
    results += [outcome["result"] for outcome in out.get("otherOutcomesSeen", ())]
    assert attempt.result in results
    assert (attempt.error is None) == (out["error"] is None)
    if "portability" not in case:
        _compare_texts(attempt, out, listeners)
    _compare_requests(listeners, out)


async def _probe(case: dict[str, Any], listeners: Listeners) -> Attempt:
    inputs = {
        name: listeners.fill(value) if isinstance(value, str) else value
        for name, value in case["httpGet"].items()
    }
    action = http_get(inputs)
    port = resolve_port(action.port, Container("c"))
    request = build_request(action, action.host or case["podIP"], port)
    limit = timedelta(seconds=case["timeoutSeconds"])
    return await probe_http(request, limit, OneShotTransport())


def _compare_texts(attempt: Attempt, out: dict[str, Any], listeners: Listeners) -> None:
    output = _with_placeholders(attempt.output, listeners)
    match out:
        case {"output": text}:
            assert output == text
        case {"outputB64": data}:
            assert to_bytes(output) == base64.b64decode(data)
        case {"outputPrefix": text}:
            assert output.startswith(text)
        case _:
            raise AssertionError(out)
    assert digest(output) == (out["outputLen"], out["outputSha256"])
    if attempt.error is not None:
        assert _with_placeholders(attempt.error, listeners) == out["error"]


def _compare_requests(listeners: Listeners, out: dict[str, Any]) -> None:
    outcomes = [
        {
            "listener": request["listener"],
            "requestLine": request["requestLine"],
            "headers": [listeners.unfill(line) for line in request["headers"]],
        }
        for request in listeners.requests
    ]
    assert outcomes == (out.get("requests") or [])


def _with_placeholders(text: str, listeners: Listeners) -> str:
    return listeners.unfill(OWN_PORT.sub(r"\1{EPHEMERAL}\2", text))
