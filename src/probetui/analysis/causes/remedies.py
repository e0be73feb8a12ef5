"""Where to look: the field of the manifest that a cause is about, and its page."""

from __future__ import annotations

from collections.abc import Mapping

from probetui.analysis.causes.cause import Cause, Remedy
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.obstacles import OF_IMAGES
from probetui.analysis.container_history import MISSING_PULL_SECRETS
from probetui.k8s.pod import Container, Pod

K = CauseKind

_OF_PODS: Mapping[CauseKind, str] = {
    K.KILLED_BY_DEADLINE: "spec.activeDeadlineSeconds",
    K.READINESS_GATE_UNSET: "spec.readinessGates",
    K.MISSING_CLAIM: "spec.volumes",
    K.MISSING_TOKEN: "spec.volumes",
    K.VOLUME_NOT_MOUNTED: "spec.volumes",
    K.RESTART_POLICY_NEVER: "spec.restartPolicy",
    K.RESTART_POLICY_ON_FAILURE: "spec.restartPolicy",
    K.SIGTERM_IGNORED: "spec.terminationGracePeriodSeconds",
}
_OF_CONTAINERS: Mapping[CauseKind, str] = {
    K.MISSING_CONFIG_MAP: "env",
    K.MISSING_SECRET: "env",
    K.MISSING_KEY: "env",
    K.EXITED: "command",
    K.COMPLETED: "command",
    K.START_ERROR: "command",
    K.START_FAILED: "command",
    K.OOM_KILLED: "resources.limits.memory",
    K.IMAGE_NEVER_PULLED: "imagePullPolicy",
}


def remedy_of(pod: Pod, container: Container, cause: Cause) -> Remedy:
    """Return what to look at: the root of the chain and the field that it is about."""
    root = cause.root
    about = pod.container(root.subject.container) or container
    return Remedy(_path(pod, about, root), root.kind)


def _path(pod: Pod, container: Container, cause: Cause) -> str:
    if cause.evidence.reason == MISSING_PULL_SECRETS:
        return "spec.imagePullSecrets"
    if cause.kind in _OF_PODS:
        return _OF_PODS[cause.kind]
    where = next(
        (path for path, known in pod.containers_with_paths() if known is container),
        "spec",
    )
    field = _OF_CONTAINERS.get(cause.kind, "")
    if cause.subject.probe is not None:
        field = f"{cause.subject.probe.lower()}Probe"
    elif cause.subject.hook is not None:
        field = f"lifecycle.{cause.subject.hook}"
    elif cause.kind in OF_IMAGES:
        field = field or "image"
    return f"{where}.{field}" if field else where
