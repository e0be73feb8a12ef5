"""The fields of a pod that probetui supports; others are reported.

To support a new field, add it to the table; that removes its warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from types import MappingProxyType

from probetui.manifest.problem import Position, Problem, Severity
from probetui.manifest.yaml.nodes import (
    ListNode,
    MapEntry,
    MapNode,
    ScalarNode,
    YamlNode,
    is_null,
    join_path,
)


class Support(Enum):
    """The support of a field and everything below it."""

    IMPLEMENTED = auto()
    NOT_APPLICABLE = auto()
    """For a scheduler, an API server or a cluster network."""


Table = Mapping[str, "Support | Table | str"]
"""By field. A text is the consequence of a field that is not supported; `_OTHERS` has
that of fields that are not in the table."""

_OTHERS = ""
_EMPTY_INSTEAD = "the pod gets an empty volume instead"

_YES = Support.IMPLEMENTED
_NOTHING = Support.NOT_APPLICABLE


def _all(*names: str) -> Table:
    return dict.fromkeys(names, _YES)


def _none(*names: str) -> Table:
    return dict.fromkeys(names, _NOTHING)


_VALUE_FROM = _all("configMapKeyRef", "fieldRef", "resourceFieldRef", "secretKeyRef")
_HTTP = _all("host", "httpHeaders", "path", "port", "protocol", "scheme")
_TCP = _all("host", "port")
_PROBE: Table = {
    **_all(
        "exec", "failureThreshold", "initialDelaySeconds", "periodSeconds",
        "successThreshold", "terminationGracePeriodSeconds", "timeoutSeconds",
    ),
    "grpc": _all("mode", "port", "service"),
    "httpGet": _HTTP,
    "tcpSocket": _TCP,
}  # fmt: skip
_HOOK: Table = {**_all("exec", "sleep"), "httpGet": _HTTP, "tcpSocket": _TCP}
_SECURITY: Table = {
    **_all("runAsGroup", "runAsNonRoot", "runAsUser"),
    "seccompProfile": _all("type"),
}
_ITEMS = _all("key", "mode", "path")
_DOWNWARD_ITEMS = _all("fieldRef", "mode", "path", "resourceFieldRef")
_ENTRIES: Table = {**_all("name", "optional"), "items": _ITEMS}
_VOLUME: Table = {
    **_all("name"),
    _OTHERS: _EMPTY_INSTEAD,
    "configMap": {**_ENTRIES, "defaultMode": _YES},
    "downwardAPI": {"defaultMode": _YES, "items": _DOWNWARD_ITEMS},
    "emptyDir": _all("medium", "sizeLimit"),
    "hostPath": _all("path", "type"),
    "projected": {
        "defaultMode": _YES,
        "sources": {
            "clusterTrustBundle": _all(
                "labelSelector", "name", "optional", "path", "signerName"
            ),
            "configMap": _ENTRIES,
            "podCertificate": _all(
                "certificateChainPath", "credentialBundlePath", "keyPath", "keyType",
                "maxExpirationSeconds", "signerName", "userAnnotations",
            ),
            "downwardAPI": {"items": _DOWNWARD_ITEMS},
            "secret": _ENTRIES,
            "serviceAccountToken": _all("audience", "expirationSeconds", "path"),
        },
    },
    "secret": {
        **_all("defaultMode", "optional", "secretName"),
        "items": _ITEMS,
    },
}  # fmt: skip
_CONTAINER: Table = {
    **_all(
        "args", "command", "image", "imagePullPolicy", "name", "ports",
        "restartPolicy", "stdin", "stdinOnce", "terminationMessagePath",
        "terminationMessagePolicy", "tty", "workingDir",
    ),
    "env": {**_all("name", "value"), "valueFrom": _VALUE_FROM},
    "envFrom": _all("configMapRef", "prefix", "secretRef"),
    "lifecycle": {**_all("stopSignal"), "postStart": _HOOK, "preStop": _HOOK},
    "livenessProbe": _PROBE,
    "restartPolicyRules": _all("action", "exitCodes"),
    "readinessProbe": _PROBE,
    "resources": {**_none("requests"), "limits": _all("cpu", "memory")},
    "securityContext": {
        **_SECURITY,
        **_all(
            "allowPrivilegeEscalation", "privileged", "readOnlyRootFilesystem",
        ),
        "capabilities": _all("add", "drop"),
    },
    "startupProbe": _PROBE,
    "volumeMounts": _all(
        "mountPath", "mountPropagation", "name", "readOnly", "subPath", "subPathExpr"
    ),
}  # fmt: skip
_METADATA: Table = {
    **_all(
        "annotations", "creationTimestamp", "generateName", "labels", "name",
        "namespace", "uid",
    ),
    **_none(
        "finalizers", "generation", "managedFields",
        "ownerReferences", "resourceVersion", "selfLink",
    ),
}  # fmt: skip
_SPEC: Table = {
    **_all(
        "activeDeadlineSeconds", "dnsPolicy", "hostIPC", "hostNetwork", "hostPID",
        "hostname", "readinessGates", "restartPolicy", "shareProcessNamespace",
        "terminationGracePeriodSeconds",
    ),
    **_none(
        "affinity", "automountServiceAccountToken", "enableServiceLinks", "nodeName",
        "nodeSelector", "preemptionPolicy", "priority", "priorityClassName",
        "schedulerName", "schedulingGates", "serviceAccount", "serviceAccountName",
        "tolerations", "topologySpreadConstraints",
    ),
    "containers": _CONTAINER,
    "dnsConfig": {**_all("nameservers", "searches"), "options": _all("name", "value")},
    "hostAliases": _all("hostnames", "ip"),
    "imagePullSecrets": _all("name"),
    "initContainers": _CONTAINER,
    "securityContext": {**_SECURITY, **_all("fsGroup", "supplementalGroups")},
    "volumes": _VOLUME,
}  # fmt: skip
SUPPORT: Table = MappingProxyType({
    **_all("apiVersion", "kind"),
    **_none("status"),
    "metadata": _METADATA,
    "spec": _SPEC,
})  # fmt: skip
_DEFAULTS = MappingProxyType({
    "fsGroupChangePolicy": frozenset({"Always", "OnRootMismatch"}),
    "procMount": frozenset({"Default"}),
    "recursiveReadOnly": frozenset({"Disabled", "IfPossible"}),
})  # fmt: skip
"""Values that are the same as none."""


def unsupported_fields(pod: YamlNode, path: str = "") -> tuple[Problem, ...]:
    """Return a warning for every field in use that probetui does not support.

    Args:
        pod: the document of a pod, or a workload's template.
        path: its path in the document, for messages.

    A field that is empty, false or null is not in use. Fields below a reported one
    are not reported.
    """
    return tuple(_unsupported(pod, SUPPORT, path))


def unsupported_claims(workload: YamlNode, path: str = "") -> tuple[Problem, ...]:
    """Return a warning for every entry of a workload's volumeClaimTemplates.

    Args:
        workload: the document of a workload.
        path: its path in the document, for messages.
    """
    spec = workload.get("spec") if isinstance(workload, MapNode) else None
    claims = spec.get("volumeClaimTemplates") if isinstance(spec, MapNode) else None
    if not isinstance(claims, ListNode):
        return ()
    at = join_path(join_path(path, "spec"), "volumeClaimTemplates")
    return tuple(
        _problem(item.position, join_path(at, index), _EMPTY_INSTEAD)
        for index, item in enumerate(claims.items)
    )


def _unsupported(node: YamlNode, table: Table, path: str) -> Iterator[Problem]:
    match node:
        case ListNode(items=items):
            for index, item in enumerate(items):
                yield from _unsupported(item, table, join_path(path, index))
        case MapNode(entries=entries):
            for entry in entries:
                yield from _entry(entry, table, join_path(path, entry.key))
        case ScalarNode():
            return


def _entry(entry: MapEntry, table: Table, path: str) -> Iterator[Problem]:
    support = table.get(entry.key)
    if isinstance(support, Support) or not _is_used(entry):
        return
    if isinstance(support, Mapping):
        yield from _unsupported(entry.value, support, path)
        return
    others = table.get(_OTHERS, "the pod runs without it")
    consequence = support if isinstance(support, str) else str(others)
    yield _problem(entry.position, path, consequence)


def _problem(position: Position, path: str, consequence: str) -> Problem:
    message = f"is not supported: {consequence}"
    return Problem(position, path, message, Severity.WARNING, "unsupported")


def _is_used(entry: MapEntry) -> bool:
    match entry.value:
        case ListNode(items=items):
            return bool(items)
        case MapNode(entries=entries):
            return any(_is_used(below) for below in entries) or entry.key == "emptyDir"
        case ScalarNode(value=value):
            if is_null(entry.value) or value is False or value == "":
                return False
            return value not in _DEFAULTS.get(entry.key, ())
