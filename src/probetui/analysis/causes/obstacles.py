"""What keeps a container from being created or started: its image, objects, runtime.

The kubelet's reasons name most kinds; its messages tell which object is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from probetui.analysis.causes.case import WhyCase
from probetui.analysis.causes.cause import Cause, Evidence
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.container_history import MISSING_PULL_SECRETS
from probetui.k8s.status import Waiting

_BY_REASON: Mapping[str, CauseKind] = {
    "ErrImagePull": CauseKind.IMAGE_PULL_FAILED,
    "ImagePullBackOff": CauseKind.IMAGE_PULL_FAILED,
    "RegistryUnavailable": CauseKind.IMAGE_PULL_FAILED,
    "SignatureValidationFailed": CauseKind.IMAGE_PULL_FAILED,
    "ErrImageNeverPull": CauseKind.IMAGE_NEVER_PULLED,
    "InvalidImageName": CauseKind.IMAGE_NAME_INVALID,
    "ImageInspectError": CauseKind.IMAGE_NOT_INSPECTED,
    "CreateContainerConfigError": CauseKind.CONFIG_REFUSED,
    "CreateContainerError": CauseKind.RUNTIME_REFUSED,
    "PreCreateHookError": CauseKind.RUNTIME_REFUSED,
    "RunContainerError": CauseKind.START_ERROR,
    "FailedCreatePodSandBox": CauseKind.SANDBOX_FAILED,
    "FailedPodSandBoxStatus": CauseKind.SANDBOX_FAILED,
    "FailedMount": CauseKind.VOLUME_NOT_MOUNTED,
    "NetworkNotReady": CauseKind.NETWORK_NOT_READY,
}
"""The kinds of a waiting state or an event, by its reason.

Source: kubelet/images/types.go, kubelet/events/event.go, v1.32.10.
"""

OF_IMAGES = frozenset(
    {
        CauseKind.IMAGE_PULL_FAILED,
        CauseKind.IMAGE_NEVER_PULLED,
        CauseKind.IMAGE_NAME_INVALID,
        CauseKind.IMAGE_NOT_INSPECTED,
        CauseKind.IMAGE_PULLING,
    }
)
"""The kinds that are about an image."""

_OF_OBJECTS = frozenset({CauseKind.CONFIG_REFUSED, CauseKind.VOLUME_NOT_MOUNTED})

_MISSING: Sequence[tuple[re.Pattern[str], CauseKind]] = (
    (re.compile(r'configmap "([^"]+)" not found'), CauseKind.MISSING_CONFIG_MAP),
    (re.compile(r'secret "([^"]+)" not found'), CauseKind.MISSING_SECRET),
    (re.compile(r"couldn't find key (\S+) in "), CauseKind.MISSING_KEY),
    (re.compile(r"references non-existent \w+ key"), CauseKind.MISSING_KEY),
    (
        re.compile(r'persistentvolumeclaim "([^"]+)"', re.IGNORECASE),
        CauseKind.MISSING_CLAIM,
    ),
    (re.compile(r'serviceaccount "([^"]+)"'), CauseKind.MISSING_TOKEN),
    (re.compile(r"failed to fetch token"), CauseKind.MISSING_TOKEN),
)


def pulling(case: WhyCase) -> Cause | None:
    """Find an image that is being pulled."""
    event = case.history.image_event
    if event is None or not case.is_pulling:
        return None
    return case.cause(
        CauseKind.IMAGE_PULLING,
        event.at,
        name=case.container.image,
        evidence=Evidence(instance=case.last),
    )


def own_reason(case: WhyCase) -> Cause | None:
    """Find what the state of the container gives as the reason why it waits."""
    waiting = case.waiting
    if waiting.reason not in _BY_REASON:
        # The next status has the reason; the event of the failure comes before it.
        reason = _failure_of_image(case)
        is_pull = _BY_REASON.get(reason) is CauseKind.IMAGE_PULL_FAILED
        waiting = Waiting(reason)
        if is_pull:
            waiting = Waiting(reason, case.history.pull_error)
    if waiting.reason not in _BY_REASON:
        return None
    return _obstacle(case, waiting)


def _failure_of_image(case: WhyCase) -> str:
    """Return the reason of the newest event of the image if it failed, or ""."""
    newest = case.history.image_event
    if newest is None:
        return ""
    event = newest.event
    reason = event.message.removeprefix("Error: ")
    return reason if event.reason == "Failed" else event.reason


def of_the_pod(case: WhyCase) -> Cause | None:
    """Find what keeps the pod from creating any container."""
    history = case.pod_history
    if history.obstacle is None:
        return None
    event = history.obstacle.event
    cause = _obstacle(case, Waiting(event.reason, event.message))
    return replace(cause, since=history.obstacle_since)


def is_refused_by_registry(message: str) -> bool:
    """Return whether a registry gave no image for want of credentials."""
    return any(words in message.lower() for words in _REFUSED_BY_REGISTRY)


_REFUSED_BY_REGISTRY = (
    "unauthorized",
    "denied",
    "authentication required",
    "no basic auth credentials",
    "403 forbidden",
)


def _missing_pull_secret(case: WhyCase) -> Cause | None:
    """Find Secrets of imagePullSecrets that do not exist; the pull goes on without.

    Source: kubelet_pods.go, v1.32.10, getPullSecretsForPod; there is no event before
    1.28 (k/k#117927).
    """
    event = case.pod_history.missing_pull_secrets
    match = None if event is None else _PULL_SECRETS.search(event.event.message)
    if event is None or match is None:
        return None
    return case.cause(
        CauseKind.MISSING_SECRET,
        event.at,
        name=match[1],
        evidence=Evidence(instance=case.last, reason=MISSING_PULL_SECRETS),
    )


_PULL_SECRETS = re.compile(r"image pull secrets \(([^)]+)\)")


def _obstacle(case: WhyCase, waiting: Waiting) -> Cause:
    kind, message = _BY_REASON[waiting.reason], waiting.message
    name = case.container.image if kind in OF_IMAGES else ""
    if kind in _OF_OBJECTS:
        for pattern, missing in _MISSING:
            if (match := pattern.search(message)) is not None:
                kind = missing
                name = match[1] if pattern.groups else ""
                break
    is_refused = kind is CauseKind.IMAGE_PULL_FAILED and is_refused_by_registry(message)
    return case.cause(
        kind,
        case.history.failing_since,
        _missing_pull_secret(case) if is_refused else None,
        name=name,
        evidence=Evidence(instance=case.last, reason=waiting.reason, message=message),
    )
