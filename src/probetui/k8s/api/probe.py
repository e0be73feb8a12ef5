"""`v1.Probe` and `v1.LifecycleHandler` in the API's JSON.

Source: k8s.io/api core/v1/types.go, v0.32.10, Probe, LifecycleHandler.
"""

from __future__ import annotations

from probetui.k8s.api.codec import SECONDS, ApiType, Field, list_of, union_codec
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    HTTPHeader,
    Probe,
    SleepAction,
    TCPSocketAction,
)

_EXEC = ApiType(ExecAction, "command?")
_HTTP_GET = ApiType(
    HTTPGetAction,
    "path?",
    "port",
    "host?",
    "scheme?",
    "protocol?",
    Field("httpHeaders?", list_of(ApiType(HTTPHeader, "name", "value").codec)),
)
_TCP_SOCKET = ApiType(TCPSocketAction, "port", "host?")
LIFECYCLE_HANDLER = union_codec(
    exec=_EXEC,
    httpGet=_HTTP_GET,
    tcpSocket=_TCP_SOCKET,
    sleep=ApiType(SleepAction, Field("seconds", SECONDS)),
)
PROBE = ApiType(
    Probe,
    Field(
        "",
        union_codec(
            exec=_EXEC,
            httpGet=_HTTP_GET,
            tcpSocket=_TCP_SOCKET,
            grpc=ApiType(GRPCAction, "port", "service", "mode?"),
        ),
        "handler",
    ),
    "initialDelaySeconds",
    "periodSeconds",
    "timeoutSeconds",
    "successThreshold",
    "failureThreshold",
    Field("terminationGracePeriodSeconds", SECONDS),
)
