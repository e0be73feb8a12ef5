"""Label and field selectors of lists and watches.

Source: k8s.io/apimachinery pkg/fields/selector.go, v0.36.2;
pkg/apis/core/v1/conversion.go, v1.36.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from probetui.cluster.api_server.failure import bad_request
from probetui.cluster.api_server.resources import ApiResource
from probetui.errors import UsageError
from probetui.k8s.api.codec import Json
from probetui.k8s.selector import LabelRequirement, parse_selector

_METADATA = frozenset({"metadata.name", "metadata.namespace"})
_FIELDS: Mapping[str, frozenset[str]] = {
    "pods": frozenset(
        {
            "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
            "spec.serviceAccountName", "spec.hostNetwork", "status.phase",
            "status.podIP", "status.podIPs", "status.nominatedNodeName",
        }
    ),
    "events": frozenset(
        {
            "involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
            "involvedObject.uid", "involvedObject.apiVersion",
            "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
            "reportingComponent", "source", "type",
        }
    ),
    "nodes": frozenset({"spec.unschedulable"}),
    "namespaces": frozenset({"status.phase"}),
}  # fmt: skip
_TERM = re.compile(r"(?P<field>[^=!]+?)(?P<sign>==|=|!=)(?P<value>.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\,=])")
_COMMA = re.compile(r"(?<!\\),")


class FieldRequirement(Struct, frozen=True):
    """A field and the value that it must have, or must not have."""

    path: str
    value: str
    negated: bool = False


class Selection(Struct, frozen=True):
    """The selectors of a request; an object has to match every requirement."""

    labels: tuple[LabelRequirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()

    def matches(self, value: Json) -> bool:
        """Return whether an object is selected."""
        labels = value["metadata"].get("labels") or {}
        return all(requirement.matches(labels) for requirement in self.labels) and all(
            (_field(value, requirement.path) == requirement.value)
            is not requirement.negated
            for requirement in self.fields
        )


ALL = Selection()


def parse_selection(resource: ApiResource, labels: str, fields: str) -> Selection:
    """Parse the label and field selectors of a request.

    Raises:
        ApiFailure: a selector is invalid, or names an unsupported field.
    """
    try:
        requirements = parse_selector(labels) if labels.strip() else ()
    except UsageError:
        raise bad_request(
            f"unable to parse requirement: {labels!r} is not a label selector"
        ) from None
    terms = [term for term in _COMMA.split(fields) if term]
    return Selection(requirements, tuple(_field_term(resource, term) for term in terms))


def _field_term(resource: ApiResource, text: str) -> FieldRequirement:
    match = _TERM.fullmatch(text)
    if match is None:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{text}'")
    path = match["field"]
    if resource.group == "events.k8s.io":
        path = path.replace("regarding.", "involvedObject.")
    if path not in _METADATA | _FIELDS.get(resource.plural, frozenset()):
        raise bad_request(f"field label not supported: {path}")
    value = _ESCAPED.sub(r"\1", match["value"])
    return FieldRequirement(path, value, negated=match["sign"] == "!=")


def _field(item: Json, path: str) -> str:
    if path == "source":
        component = item.get("source", {}).get("component")
        return str(component or item.get("reportingComponent", ""))
    value: Any = item
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, bool) or (value is None and path in _BOOLEANS):
        return "true" if value else "false"
    return "" if value is None else str(value)


_BOOLEANS = frozenset({"spec.unschedulable", "spec.hostNetwork"})
