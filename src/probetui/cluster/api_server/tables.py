"""Objects as tables: the columns of `kubectl get`, made by the server.

Source: pkg/printers/internalversion/printers.go, v1.36.2; k8s.io/apiserver
pkg/endpoints/handlers/response.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from probetui.cluster.api_server.pod_columns import pod_cells, pod_row_conditions
from probetui.cluster.api_server.resources import ApiResource
from probetui.k8s.api.codec import Json
from probetui.presentation.kubectl.text import NONE, format_since

_UNKNOWN = "<unknown>"
_UNSET = "<unset>"


class TableColumn(Struct, frozen=True):
    """A column of a table; those with a priority are for `-o wide`."""

    name: str
    description: str = ""
    priority: int = 0
    type: str = "string"
    format: str = ""

    def definition(self) -> Json:
        """Return the column as the API has it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


class TablePrinter(Struct, frozen=True):
    """The table printer of a kind: its columns, and the cells of an object."""

    columns: Sequence[TableColumn]
    cells: Callable[[Json, str, datetime], list[Any]]
    conditions: Callable[[Json], list[Json]] = lambda _: []


_NAME = TableColumn("Name", "Name must be unique within a namespace.", format="name")
_AGE = TableColumn("Age", "When the object was created.")


def _wide(name: str, description: str = "") -> TableColumn:
    return TableColumn(name, description, priority=1)


_POD_COLUMNS = (
    _NAME,
    TableColumn("Ready", "The aggregate readiness state of this pod."),
    TableColumn("Status", "The aggregate status of the containers in this pod."),
    TableColumn("Restarts", "How often containers were restarted, and the last."),
    _AGE,
    _wide("IP", "The address of the pod."),
    _wide("Node", "The node of the pod."),
    _wide("Nominated Node", "The node on which the pod may be, by preemption."),
    _wide("Readiness Gates", "The conditions that readiness waits for besides."),
)
_NODE_COLUMNS = (
    _NAME,
    TableColumn("Status", "The status of the node"),
    TableColumn("Roles", "The roles of the node"),
    _AGE,
    TableColumn("Version", "The version of the kubelet."),
    _wide("Internal-IP"),
    _wide("External-IP"),
    _wide("OS-Image"),
    _wide("Kernel-Version"),
    _wide("Container-Runtime"),
)
_EVENT_COLUMNS = (
    TableColumn("Last Seen", "When the event was last seen."),
    TableColumn("Type", "Type of this event (Normal, Warning)"),
    TableColumn("Reason", "The reason for it, for machines."),
    TableColumn("Object", "The object that this event is about."),
    _wide("Subobject", "The part of the object."),
    _wide("Source", "The component that reports it."),
    TableColumn("Message", "A description for people."),
    _wide("First Seen", "When the event was first seen."),
    _wide("Count", "How often it was seen."),
    TableColumn("Name", "The name of the event.", priority=1, format="name"),
)
_ROLE = "node-role.kubernetes.io/"
_OLD_ROLE = "kubernetes.io/role"


def _node_cells(node: Json, age: str, now: datetime) -> list[Any]:
    del now
    status = node.get("status", {})
    ready = [
        "Ready" if condition["status"] == "True" else "NotReady"
        for condition in status.get("conditions") or ()
        if condition["type"] == "Ready"
    ]
    states = ready or ["Unknown"]
    if node.get("spec", {}).get("unschedulable"):
        states.append("SchedulingDisabled")
    labels = node["metadata"].get("labels") or {}
    roles = {label.removeprefix(_ROLE) for label in labels if label.startswith(_ROLE)}
    roles |= {labels[_OLD_ROLE]} if labels.get(_OLD_ROLE) else set()
    addresses = {
        entry["type"]: entry["address"]
        for entry in reversed(status.get("addresses", []))
    }
    info = status.get("nodeInfo", {})
    kernel = info.get("kernelVersion") or _UNKNOWN
    if info.get("kernelVersion") and info.get("architecture"):
        kernel = f"{kernel} ({info['architecture']})"
    return [
        node["metadata"]["name"],
        ",".join(states),
        ",".join(sorted(filter(None, roles))) or NONE,
        age,
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", NONE),
        addresses.get("ExternalIP", NONE),
        info.get("osImage") or _UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or _UNKNOWN,
    ]


def _event_cells(event: Json, age: str, now: datetime) -> list[Any]:
    del age
    series = event.get("series") or {}
    first = event.get("firstTimestamp") or event.get("eventTime")
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or first
    count = series.get("count") or event.get("count") or 1
    about = event.get("involvedObject", {})
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent", "")
    host = source.get("host") or event.get("reportingInstance", "")
    return [
        _since(last, now),
        event.get("type", ""),
        event.get("reason", ""),
        f"{about.get('kind', '').lower()}/{about.get('name', '')}",
        about.get("fieldPath", ""),
        ", ".join(filter(None, (component, host))),
        event.get("message", "").strip(),
        _since(first, now),
        count,
        event["metadata"]["name"],
    ]


def _since(instant: str | None, now: datetime) -> str:
    if not instant:
        return _UNKNOWN
    return format_since(datetime.fromisoformat(instant), now)


def _printer(columns: Sequence[TableColumn], *paths: str) -> TablePrinter:
    """Return a printer whose cells are fields of the object; `AGE` is its age."""

    def cells(value: Json, age: str, now: datetime) -> list[Any]:
        del now
        return [age if path == _AGE_PATH else _at(value, path) for path in paths]

    return TablePrinter(columns, cells)


_AGE_PATH = "AGE"
_NAME_PATH = "metadata.name"


def _at(item: Json, path: str) -> Any:
    value: Any = item
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return "" if value is None else value


_DEFAULT = _printer((_NAME, _AGE), _NAME_PATH, _AGE_PATH)
_PRINTERS: Mapping[str, TablePrinter] = {
    "pods": TablePrinter(_POD_COLUMNS, pod_cells, pod_row_conditions),
    "nodes": TablePrinter(_NODE_COLUMNS, _node_cells),
    "events": TablePrinter(_EVENT_COLUMNS, _event_cells),
    "namespaces": _printer(
        (_NAME, TableColumn("Status", "The status of the namespace"), _AGE),
        _NAME_PATH,
        "status.phase",
        _AGE_PATH,
    ),
    "leases": _printer(
        (_NAME, TableColumn("Holder", "Who holds the lease."), _AGE),
        _NAME_PATH,
        "spec.holderIdentity",
        _AGE_PATH,
    ),
}


def table(
    resource: ApiResource,
    items: Sequence[Json],
    now: datetime,
    *,
    metadata: Json,
    included: str = "Metadata",
    has_columns: bool = True,
) -> Json:
    """Return a `Table` of objects.

    Args:
        resource: their kind.
        items: the objects.
        now: the instant for ages.
        metadata: the list's, or of a single object its version.
        included: how much of the object a row holds: `None`, `Metadata` or `Object`.
        has_columns: only the first table of a watch has the columns.
    """
    printer = _PRINTERS.get(resource.plural, _DEFAULT)
    columns = (
        [column.definition() for column in printer.columns] if has_columns else None
    )
    rows = []
    for item in items:
        created = item["metadata"].get("creationTimestamp")
        age = _since(created, now)
        row: Json = {"cells": printer.cells(item, age, now)}
        if conditions := printer.conditions(item):
            row["conditions"] = conditions
        if included != "None":
            row["object"] = item if included == "Object" else partial_metadata(item)
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    }


def partial_metadata(item: Json) -> Json:
    """Return an object's metadata alone."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": item["metadata"],
    }
