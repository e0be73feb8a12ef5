"""Requests that the API server passes on to a Service.

Source: pkg/registry/core/service/storage/storage.go, v1.36.2, ResourceLocation (scheme,
name and port of a path); apiserver/pkg/endpoints/filters/authentication.go, v0.36.2
(the header Authorization is removed).
"""

from __future__ import annotations

from collections.abc import Mapping

import httpx2

from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.serving.http_server import HttpRequest, HttpResponse
from probetui.k8s.api.codec import Json

_NOT_PASSED_ON = frozenset({"host", "authorization", "connection", "content-length"})


class ServiceProxy:
    """Passes on what is for a Service.

    Args:
        targets: URLs of those that have endpoints, by `NAMESPACE/[https:]NAME:PORT`.

    Attributes:
        passed_on: the requests, as they were passed on.
    """

    def __init__(self, targets: Mapping[str, str]) -> None:
        self._targets = targets
        self.passed_on: list[httpx2.Request] = []

    async def answer(
        self, request: HttpRequest, info: RequestInfo, service: Json
    ) -> HttpResponse:
        """Answer with what the Service answers."""
        name = f"{info.namespace}/{info.name}"
        if (target := self._targets.get(name)) is None:
            message = (
                f'no endpoints available for service "{service["metadata"]["name"]}"'
            )
            raise ApiFailure(503, "ServiceUnavailable", message, {})
        headers = {
            key: value
            for key, value in request.headers.items()
            if key not in _NOT_PASSED_ON
        }
        async with httpx2.AsyncClient(trust_env=False) as http:
            passed_on = http.build_request(
                request.method,
                f"{target}/{info.rest}",
                params=list(request.query),
                headers=headers,
                content=request.body,
            )
            self.passed_on.append(passed_on)
            response = await http.send(passed_on)
        kind = response.headers.get("content-type", "")
        return HttpResponse(response.status_code, response.content, kind)
