"""Which fields of a pod probetui carries out, which mean nothing here, and the rest.

One table. Whoever teaches a runtime a new field adds it here, and the warning about
it is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from types import MappingProxyType

from probetui.manifest.nodes import (
    Entry,
    ListNode,
    MapNode,
    Node,
    ScalarNode,
    is_null,
    join,
)
from probetui.manifest.problem import Position, Problem, Severity


class Support(Enum):
    """What a field is to probetui; both stand for everything below it, too."""

    CARRIED_OUT = auto()
    WITHOUT_MEANING = auto()
    """For a scheduler, an API server or a cluster network: one machine has none."""


Table = Mapping[str, "Support | Table | str"]
"""By field; `_OTHERS` says what becomes of a pod with a field that is not there."""

_OTHERS = ""
_EMPTY_INSTEAD = "the pod gets an empty volume instead"

_YES = Support.CARRIED_OUT
_NOTHING = Support.WITHOUT_MEANING


def _all(*names: str) -> Table:
    return dict.fromkeys(names, _YES)


def _none(*names: str) -> Table:
    return dict.fromkeys(names, _NOTHING)


_VALUE_FROM = _all("configMapKeyRef", "fieldRef", "resourceFieldRef", "secretKeyRef")
_HTTP = _all("host", "httpHeaders", "path", "port", "scheme")
_TCP = _all("host", "port")
_PROBE: Table = {
    **_all(
        "exec", "failureThreshold", "grpc", "initialDelaySeconds", "periodSeconds",
        "successThreshold", "terminationGracePeriodSeconds", "timeoutSeconds",
    ),
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
            "configMap": _ENTRIES,
            "downwardAPI": {"items": _DOWNWARD_ITEMS},
            "secret": _ENTRIES,
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
    "lifecycle": {"postStart": _HOOK, "preStop": _HOOK},
    "livenessProbe": _PROBE,
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
    **_all("annotations", "generateName", "labels", "name", "namespace", "uid"),
    **_none(
        "creationTimestamp", "finalizers", "generation", "managedFields",
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
"""Fields that say no more than silence does when they hold one of these."""


def unsupported_fields(pod: Node, path: str = "") -> tuple[Problem, ...]:
    """Return a warning for every field in use that probetui does not carry out.

    Args:
        pod: the document of a pod, or a workload's template.
        path: where it stands in its document, for the messages.

    A field that is empty, false or null is not in use. Unknown fields are not
    reported here, nor what stands below a field that is.
    """
    return tuple(_unsupported(pod, SUPPORT, path))


def unsupported_claims(workload: Node, path: str = "") -> tuple[Problem, ...]:
    """Return a warning for every volume that a workload claims for its pods.

    Args:
        workload: the document of a workload.
        path: where it stands in its document, for the messages.
    """
    spec = workload.get("spec") if isinstance(workload, MapNode) else None
    claims = spec.get("volumeClaimTemplates") if isinstance(spec, MapNode) else None
    if not isinstance(claims, ListNode):
        return ()
    at = join(join(path, "spec"), "volumeClaimTemplates")
    return tuple(
        _problem(each.position, join(at, index), _EMPTY_INSTEAD)
        for index, each in enumerate(claims.items)
    )


def _unsupported(node: Node, table: Table, path: str) -> Iterator[Problem]:
    match node:
        case ListNode(items=items):
            for index, item in enumerate(items):
                yield from _unsupported(item, table, join(path, index))
        case MapNode(entries=entries):
            for entry in entries:
                yield from _entry(entry, table, join(path, entry.key))
        case ScalarNode():
            return


def _entry(entry: Entry, table: Table, path: str) -> Iterator[Problem]:
    support = table.get(entry.key)
    if isinstance(support, Support) or not _is_used(entry):
        return
    if isinstance(support, Mapping):
        yield from _unsupported(entry.value, support, path)
        return
    consequence = table.get(_OTHERS, "the pod runs without it")
    yield _problem(entry.position, path, str(consequence))


def _problem(position: Position, path: str, consequence: str) -> Problem:
    message = f"is not carried out by probetui, {consequence}"
    return Problem(position, path, message, Severity.WARNING, "unsupported")


def _is_used(entry: Entry) -> bool:
    match entry.value:
        case ListNode(items=items):
            return bool(items)
        case MapNode(entries=entries):
            return any(_is_used(each) for each in entries) or entry.key == "emptyDir"
        case ScalarNode(value=value):
            if is_null(entry.value) or value is False or value == "":
                return False
            return value not in _DEFAULTS.get(entry.key, ())
