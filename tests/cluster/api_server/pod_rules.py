"""Pods in the API server: defaults, validation, allowed updates, graceful deletion.

Source: pkg/registry/core/pod/strategy.go, v1.36.2; pkg/apis/core/validation,
ValidatePodUpdate.
"""

from __future__ import annotations

import msgspec
from lightkube.models import core_v1

from probetui.cluster.api_server.failure import ApiFailure
from probetui.k8s.api.codec import Json
from probetui.k8s.api.pod import POD
from probetui.kubelet.status.generate import qos_class
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.defaults import DEFAULT_GRACE_PERIOD_SECONDS, set_defaults
from probetui.manifest.validation.pod import validate_pod
from probetui.manifest.version_fields import drop_disabled_fields
from tests.cluster.api_server.failures import invalid

_UNREACHABLE_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION_SECONDS = 300
_TERMINAL = frozenset({"Succeeded", "Failed"})
_MUTABLE_SPEC = frozenset(
    {"activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations"}
)
_CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
_FORBIDDEN_UPDATE = (
    "Forbidden: pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)


def new_pod(given: Json, rules: KubeletRules) -> Json:
    """Return a pod as it is created: with its defaults, Pending.

    Raises:
        ApiFailure: it is not valid.
    """
    metadata = given["metadata"]
    spec = _with_defaults(given, rules)
    pod = {**given, "spec": spec, "status": {"phase": "Pending"}}
    pod["status"]["qosClass"] = qos_class(POD.read(pod))
    return {**pod, "metadata": {**metadata, "generation": 1}}


def _with_defaults(given: Json, rules: KubeletRules) -> Json:
    pod = msgspec.convert(given, core_v1.Pod)
    drop_disabled_fields(pod, rules)
    set_defaults(pod)
    errors = list(validate_pod(pod, rules=rules))
    if errors:
        name = given["metadata"].get("name", "")
        causes = [
            (error.type, error.message.removeprefix(f"{error.field}: "), error.field)
            for error in errors
        ]
        raise invalid("Pod", name, causes)
    spec: Json = msgspec.to_builtins(pod.spec)
    for container in (found for key in _CONTAINER_LISTS for found in spec.get(key, ())):
        container.setdefault("resources", {})
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    spec["tolerations"] = _tolerations(spec.get("tolerations", []))
    return spec


def _tolerations(given: list[Json]) -> list[Json]:
    """Return tolerations with those that admission adds.

    Source: plugin/pkg/admission/defaulttolerationseconds/admission.go, v1.36.2.
    """
    added = [
        {
            "key": taint,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _TOLERATION_SECONDS,
        }
        for taint in _UNREACHABLE_TAINTS
        if not any(
            toleration.get("key", taint) == taint
            and toleration.get("effect", "NoExecute") == "NoExecute"
            for toleration in given
        )
    ]
    return [*given, *added]


def check_pod_update(old: Json, new: Json) -> None:
    """Check that a pod's spec changes in nothing but what may change.

    Raises:
        ApiFailure: it changes in something else.
    """
    if _immutable(old["spec"]) != _immutable(new.get("spec") or {}):
        cause = ("FieldValueForbidden", _FORBIDDEN_UPDATE, "spec")
        raise invalid("Pod", old["metadata"]["name"], [cause])


def _immutable(spec: Json) -> Json:
    fixed = {key: spec[key] for key in spec if key not in _MUTABLE_SPEC}
    for key in _CONTAINER_LISTS:
        if key in fixed:
            fixed[key] = [{**container, "image": ""} for container in fixed[key]]
    return fixed


def with_condition_fields(pod: Json) -> Json:
    """Return a pod whose conditions have the field that Go always writes."""
    conditions = (pod.get("status") or {}).get("conditions")
    if not conditions:
        return pod
    filled = [{"lastProbeTime": None, **condition} for condition in conditions]
    return {**pod, "status": {**pod["status"], "conditions": filled}}


def grace_seconds(pod: Json, wanted: int | None) -> int:
    """Return how long a pod has to end once it is deleted; 0 removes it at once.

    Source: strategy.go, v1.36.2, CheckGracefulDelete.
    """
    spec, status = pod["spec"], pod.get("status", {})
    if wanted is None:
        default = DEFAULT_GRACE_PERIOD_SECONDS
        wanted = spec.get("terminationGracePeriodSeconds", default)
    if not spec.get("nodeName") or status.get("phase") in _TERMINAL:
        return 0
    return 1 if wanted < 0 else wanted


def unknown_grace(name: str) -> ApiFailure:
    """Return what a negative period of a request is answered with."""
    cause = ("FieldValueInvalid", "Invalid value: must be non-negative", "")
    return invalid("DeleteOptions", name, [cause])
