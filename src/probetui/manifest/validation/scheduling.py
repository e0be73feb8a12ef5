"""The API server's rules for scheduling fields.

Pods are not scheduled here, but a manifest that a cluster refuses is refused.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateAffinity,
ValidateTolerations, validateTopologySpreadConstraints, validateSchedulingGates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from lightkube.models import core_v1, meta_v1

from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from probetui.manifest.validation.metadata import valid_labels
from probetui.manifest.validation.rules import (
    Always,
    Each,
    Errors,
    IfFilled,
    IfSet,
    PodContext,
    Remembering,
    Required,
    Rules,
    ValidationRule,
    When,
    check,
    choice,
    in_context,
    must,
    unique,
    valid,
)

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("Equal", "Exists")
_COMPARING = (*_OPERATORS, "Lt", "Gt")
_DECIMAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NO_DECIMAL_INTEGER = "must be a valid decimal integer in canonical form"
_EMPTY = "must be non-empty"
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NEEDS_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
_NO_VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_NO_OPERATOR = "not a valid selector operator"
_NO_SELECTOR = "must not be specified when labelSelector is not set"
_IN_SELECTOR = "exists in both matchLabelKeys and labelSelector"
_NOT_POSITIVE = "must be greater than zero"
_LABEL_NAME = valid(names.check_qualified_name)
_LABEL_VALUES = Each("values", valid(names.check_label_value))


def _operator_values(
    requirement: meta_v1.LabelSelectorRequirement | core_v1.NodeSelectorRequirement,
) -> Iterator[FieldError]:
    """Check that an operator has values if it requires them."""
    match requirement.operator:
        case "In" | "NotIn":
            if not requirement.values:
                yield required("values", _NEEDS_VALUES)
        case "Exists" | "DoesNotExist":
            if requirement.values:
                yield forbidden("values", _NO_VALUES)
        case operator:
            yield invalid("operator", operator, _NO_OPERATOR, is_named=True)


SELECTOR = Rules(
    meta_v1.LabelSelector,
    IfFilled("matchLabels", valid_labels),
    Each(
        "matchExpressions", _operator_values, Always("key", _LABEL_NAME), _LABEL_VALUES
    ),
)


def selector_fields(selector: meta_v1.LabelSelector | None) -> object:
    """Return the fields of a selector in the API's order; empty ones are left out."""
    if selector is None:
        return None
    fields: dict[str, object] = {}
    if selector.matchLabels:
        fields["matchLabels"] = dict(sorted(selector.matchLabels.items()))
    if selector.matchExpressions:
        fields["matchExpressions"] = [
            {
                "key": requirement.key,
                "operator": requirement.operator,
                **({"values": requirement.values} if requirement.values else {}),
            }
            for requirement in selector.matchExpressions
        ]
    return fields


def _node_operator(
    requirement: core_v1.NodeSelectorRequirement,
) -> Iterator[FieldError]:
    if requirement.operator not in {"Gt", "Lt"}:
        yield from _operator_values(requirement)
    elif len(requirement.values or ()) != 1:
        detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        yield required("values", detail)


def _node_field(requirement: core_v1.NodeSelectorRequirement) -> Iterator[FieldError]:
    if requirement.operator not in {"In", "NotIn"}:
        yield invalid("operator", requirement.operator, _NO_OPERATOR, is_named=True)
    elif len(requirement.values or ()) != 1:
        detail = (
            "must be only one value when `operator` is 'In' or 'NotIn' for node field"
            " selector"
        )
        yield required("values", detail)
    if requirement.key != "metadata.name":
        yield invalid("key", requirement.key, "not a valid field selector key")
    else:
        yield from check(_NODE_NAMES, requirement)


_NODE_NAMES = Rules(
    core_v1.NodeSelectorRequirement, Each("values", valid(names.check_subdomain))
)


def _node_term(*values: ValidationRule) -> Rules:
    """Return the rules of a term with those of the values of its expressions."""
    return Rules(
        core_v1.NodeSelectorTerm,
        Each("matchExpressions", _node_operator, Always("key", _LABEL_NAME), *values),
        Each("matchFields", _node_field),
    )


_WEIGHT = must(lambda weight: 1 <= weight <= 100, "must be in the range 1-100")  # noqa: PLR2004  # percent
_NODE_AFFINITY = Rules(
    core_v1.NodeAffinity,
    IfSet(
        _REQUIRED,
        Rules(
            core_v1.NodeSelector,
            Required(
                "nodeSelectorTerms", detail="must have at least one node selector term"
            ),
            Each(
                "nodeSelectorTerms",
                _node_term(
                    When(
                        lambda context: context.version.node_affinity_values,
                        _LABEL_VALUES,
                    )
                ),
            ),
        ),
    ),
    Each(_PREFERRED, Always("weight", _WEIGHT), Always("preference", _node_term())),
)


def _label_keys(
    term: core_v1.PodAffinityTerm | core_v1.TopologySpreadConstraint,
) -> Iterator[FieldError]:
    """Check the label keys whose values the selector takes from the pod.

    Quirk, kept: a key that is also in the selector is reported as an item of its owner.

    Source: validation.go, v1.36.2, validateMatchLabelKeysAndMismatchLabelKeys.
    """
    selector, matched = term.labelSelector, term.matchLabelKeys or []
    mismatched: Sequence[str] = getattr(term, "mismatchLabelKeys", None) or []
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            yield forbidden(name, _NO_SELECTOR)
            continue
        for index, key in enumerate(keys):
            errors = names.check_qualified_name(key)
            yield from names.invalid_names(f"{name}[{index}]", key, errors)
    if selector is not None:
        own = [requirement.key for requirement in selector.matchExpressions or ()]
        seen = set(selector.matchLabels or {})
        positions = {key: index for index, key in enumerate(matched)}
        for key in own:
            if key in positions and key in seen:
                yield invalid(f"[{positions[key]}]", key, _IN_SELECTOR)
            seen.add(key)
    for index, key in enumerate(matched):
        if key in mismatched:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"matchLabelKeys[{index}]", key, detail)


_POD_TERM = Rules(
    core_v1.PodAffinityTerm,
    IfSet("labelSelector", SELECTOR),
    IfSet("namespaceSelector", SELECTOR),
    Each("namespaces", valid(names.check_label), at="namespace"),
    _label_keys,
    Required("topologyKey", detail="can not be empty"),
    Always("topologyKey", _LABEL_NAME),
)
_POD_AFFINITY = Rules(
    core_v1.PodAffinity | core_v1.PodAntiAffinity,
    Each(_REQUIRED, _POD_TERM),
    Each(_PREFERRED, Always("weight", _WEIGHT), Always("podAffinityTerm", _POD_TERM)),
)
AFFINITY = Rules(
    core_v1.Affinity,
    IfSet("nodeAffinity", _NODE_AFFINITY),
    IfSet("podAffinity", _POD_AFFINITY),
    IfSet("podAntiAffinity", _POD_AFFINITY),
)


def _toleration_key(toleration: core_v1.Toleration) -> Iterator[FieldError]:
    operator = toleration.operator or ""
    if not toleration.key and operator != "Exists":
        yield invalid(
            "operator",
            operator,
            "operator must be Exists when `key` is empty, which means"
            ' "match all values and all keys"',
            is_named=True,
        )


def _toleration_seconds(toleration: core_v1.Toleration) -> Iterator[FieldError]:
    effect = toleration.effect or ""
    if toleration.tolerationSeconds is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid("effect", effect, detail, is_named=True)


@in_context
def _toleration_value(
    toleration: core_v1.Toleration, context: PodContext
) -> Iterator[FieldError]:
    """Check the value that an operator compares with.

    Source for numbers: apimachinery, validate/content/decimal_int.go; k/k#134665.
    """
    version, value = context.version, toleration.value or ""
    match toleration.operator or "":
        case "" | "Equal":
            errors = list(names.check_label_value(value))
            if errors:
                yield invalid("operator", value, ";".join(errors))
        case "Exists":
            if value:
                detail = "value must be empty when `operator` is 'Exists'"
                yield invalid("operator", value, detail)
        case "Lt" | "Gt" if version.toleration_comparisons:
            if not value:
                yield invalid("value", value, _EMPTY)
            elif not _DECIMAL_INTEGER.fullmatch(value):
                yield invalid("value", value, _NO_DECIMAL_INTEGER)
        case operator:
            # Quirk, kept: with the gate off, the two are named where they are refused.
            is_named = version.names_comparisons and operator in _COMPARING
            known = (
                _COMPARING if version.toleration_comparisons or is_named else _OPERATORS
            )
            yield not_supported("operator", operator, known)


TOLERATION = Rules(
    core_v1.Toleration,
    IfFilled("key", _LABEL_NAME),
    _toleration_key,
    _toleration_seconds,
    _toleration_value,
    IfFilled("effect", choice(*_EFFECTS)),
)


def _later_constraints(
    spec: core_v1.PodSpec, _: PodContext
) -> Callable[[core_v1.TopologySpreadConstraint], Errors]:
    """Check that no later constraint has the same key and action."""
    later = Counter(
        (constraint.topologyKey, constraint.whenUnsatisfiable)
        for constraint in spec.topologySpreadConstraints or ()
    )

    def find(constraint: core_v1.TopologySpreadConstraint) -> Iterator[FieldError]:
        key, action = constraint.topologyKey, constraint.whenUnsatisfiable
        later[key, action] -= 1
        if later[key, action]:
            yield duplicate("{topologyKey, whenUnsatisfiable}", f"{{{key}, {action}}}")

    return find


def _min_domains(
    constraint: core_v1.TopologySpreadConstraint,
) -> Iterator[FieldError]:
    least, action = constraint.minDomains, constraint.whenUnsatisfiable
    if least is None:
        return
    if least <= 0:
        yield invalid("minDomains", least, _NOT_POSITIVE)
    if action != _ACTIONS[0]:
        detail = f"can only use minDomains if whenUnsatisfiable={_ACTIONS[0]}, not"
        yield invalid("minDomains", least, f"{detail} {action}")


def _spread_keys(constraint: core_v1.TopologySpreadConstraint) -> Iterator[FieldError]:
    keys, selector = constraint.matchLabelKeys or (), constraint.labelSelector
    if keys and selector is None:
        yield forbidden("matchLabelKeys", _NO_SELECTOR)
    selector = selector or meta_v1.LabelSelector()
    taken = {
        *(selector.matchLabels or {}),
        *(requirement.key for requirement in selector.matchExpressions or ()),
    }
    for index, key in enumerate(keys):
        at = f"matchLabelKeys[{index}]"
        yield from names.invalid_names(at, key, names.check_qualified_name(key))
        if key in taken:
            yield invalid(at, key, _IN_SELECTOR)


SPREAD_CONSTRAINTS = Rules(
    core_v1.PodSpec,
    Each(
        "topologySpreadConstraints",
        Always("maxSkew", must(lambda skew: skew > 0, _NOT_POSITIVE)),
        Required("topologyKey", detail="can not be empty"),
        Always("whenUnsatisfiable", choice(*_ACTIONS)),
        Remembering(_later_constraints),
        _min_domains,
        IfSet("nodeAffinityPolicy", choice("Honor", "Ignore")),
        IfSet("nodeTaintsPolicy", choice("Honor", "Ignore")),
        When(lambda context: context.version.merges_spread_keys, _label_keys),
        When(lambda context: not context.version.merges_spread_keys, _spread_keys),
        IfSet("labelSelector", SELECTOR),
    ),
)
SCHEDULING_GATES = Rules(
    core_v1.PodSpec,
    Each("schedulingGates", Always("name", _LABEL_NAME, at=""), unique("name", at="")),
)
