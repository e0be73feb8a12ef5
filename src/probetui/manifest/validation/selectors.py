"""Selectors of workloads, and the labels of the pods that they select.

Source: pkg/apis/apps/validation/validation.go, v1.36.2, ValidateDeploymentSpec,
ValidateStatefulSetSpec.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lightkube.models import core_v1, meta_v1

from probetui.manifest.problem import quote
from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    go_json,
    invalid,
    required,
)
from probetui.manifest.validation.rules import (
    Context,
    ValidationRule,
    at_least,
    check,
    in_context,
)
from probetui.manifest.validation.scheduling import SELECTOR, selector_fields

MISMATCH = "`selector` does not match template `labels`"
LABELS = "template.metadata.labels"
NOT_NEGATIVE = at_least(0)


class WorkloadContext(Context):
    """What the rules of a workload may know: its name, and if it has a selector."""

    name: str
    has_selector: bool


def matches(selector: meta_v1.LabelSelector, labels: Mapping[str, str]) -> bool:
    """Return whether a valid selector matches labels."""
    for key, value in (selector.matchLabels or {}).items():
        if labels.get(key) != value:
            return False
    for requirement in selector.matchExpressions or ():
        value = labels.get(requirement.key)
        match requirement.operator:
            case "In":
                is_selected = value in (requirement.values or ())
            case "NotIn":
                is_selected = value not in (requirement.values or ())
            case "Exists":
                is_selected = value is not None
            case _:
                is_selected = value is None
        if not is_selected:
            return False
    return True


def is_empty(selector: meta_v1.LabelSelector) -> bool:
    """Return whether a selector selects everything."""
    return not selector.matchLabels and not selector.matchExpressions


def template_labels(template: core_v1.PodTemplateSpec | None) -> dict[str, str]:
    """Return the labels of a template, empty without one."""
    metadata = template.metadata if template is not None else None
    return dict((metadata and metadata.labels) or {})


def go_value(value: object) -> GoSyntax:
    """Format a value like the API server: as JSON since 1.34, else in Go's syntax."""
    written = go_json(value)
    return GoSyntax(written, written)


def go_labels(labels: Mapping[str, str]) -> GoSyntax:
    """Format labels as a bad value."""
    ordered = dict(sorted(labels.items()))
    if not ordered:
        return GoSyntax("map[string]string(nil)", "null")
    listed = ", ".join(f"{quote(key)}:{quote(value)}" for key, value in ordered.items())
    return GoSyntax(f"map[string]string{{{listed}}}", go_json(ordered))


def go_selector(selector: meta_v1.LabelSelector) -> GoSyntax:
    """Format a selector as a bad value."""
    return GoSyntax("v1.LabelSelector{...}", go_json(selector_fields(selector)))


def selects_template(
    kind: str, unreadable: str = "invalid label selector"
) -> ValidationRule:
    """Return the rule of a selector, which selects the pods of the template."""

    def find(spec: Any, context: WorkloadContext) -> Iterator[FieldError]:
        labels = template_labels(spec.template)
        if not context.has_selector:
            yield required("selector")
            yield invalid(LABELS, go_labels(labels), MISMATCH)
            return
        wrong = check(SELECTOR, spec.selector, at="selector")
        yield from wrong
        if is_empty(spec.selector):
            detail = f"empty selector is invalid for {kind}"
            yield invalid("selector", go_selector(spec.selector), detail)
        if wrong:
            yield invalid("selector", go_selector(spec.selector), unreadable)
        elif not matches(spec.selector, labels):
            yield invalid(LABELS, go_labels(labels), MISMATCH)

    return in_context(find)
