"""`v1.PodStatus` and `v1.ContainerStatus` in the API's JSON.

Source: k8s.io/api core/v1/types.go, v0.32.10, PodStatus.
"""

from __future__ import annotations

from probetui.k8s.api.codec import (
    ApiType,
    Field,
    enum_codec,
    list_of,
    union_codec,
    wrapped,
)
from probetui.k8s.status import (
    ConditionStatus,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    VolumeMountStatus,
    Waiting,
)

_STATE = union_codec(
    waiting=ApiType(Waiting, "reason?", "message?"),
    running=ApiType(Running, "startedAt"),
    terminated=ApiType(
        Terminated,
        "exitCode", "reason?", "message?", "startedAt", "finishedAt", "containerID?",
    ),
)  # fmt: skip
_MOUNT = ApiType(
    VolumeMountStatus, "name", "mountPath", "readOnly?", "recursiveReadOnly?"
)
CONTAINER_STATUS = ApiType(
    ContainerStatus,
    "name",
    Field("state", _STATE),
    Field("lastState", _STATE),
    "ready",
    "restartCount",
    "image",
    "imageID",
    "containerID?",
    "started",
    Field("volumeMounts?", list_of(_MOUNT.codec)),
    "stopSignal?",
)
"""Some fields are written even if they are empty, as Go writes them."""

_CONDITION = ApiType(
    PodCondition,
    "type",
    "observedGeneration?",
    Field("status", enum_codec(ConditionStatus)),
    Field("lastTransitionTime", attribute="last_transition_at"),
    "reason?",
    "message?",
)
_STATUSES = list_of(CONTAINER_STATUS.codec)
POD_STATUS = ApiType(
    PodStatus,
    "observedGeneration?",
    Field("phase", enum_codec(PodPhase)),
    Field("conditions?", list_of(_CONDITION.codec)),
    "message?",
    "reason?",
    "podIP?",
    Field("podIPs?", wrapped("ip")),
    "startTime",
    Field("initContainerStatuses?", _STATUSES),
    Field("containerStatuses?", _STATUSES),
    "qosClass?",
)
