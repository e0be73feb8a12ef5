"""The API server's rules for scheduling fields.

Pods are not scheduled here, but a manifest that a cluster refuses is refused.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateAffinity,
ValidateTolerations, validateTopologySpreadConstraints, validateSchedulingGates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lightkube.models import core_v1, meta_v1

from probetui.kubelet_rules import KubeletRules
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from probetui.manifest.validation.metadata import validate_labels

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("Equal", "Exists")
_COMPARING = (*_OPERATORS, "Lt", "Gt")
_DECIMAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NO_DECIMAL_INTEGER = "must be a valid decimal integer in canonical form"
_EMPTY = "must be non-empty"
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_NODE_POLICIES = ("Honor", "Ignore")
_MAX_WEIGHT = 100
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NEEDS_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
_NO_VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_NO_OPERATOR = "not a valid selector operator"
_NO_SELECTOR = "must not be specified when labelSelector is not set"
_IN_SELECTOR = "exists in both matchLabelKeys and labelSelector"
_NOT_POSITIVE = "must be greater than zero"


def validate_affinity(
    affinity: core_v1.Affinity | None,
    path: str,
    rules: KubeletRules,
) -> Iterator[FieldError]:
    """Check a pod's affinity to nodes and pods."""
    if affinity is None:
        return
    if affinity.nodeAffinity is not None:
        at = f"{path}.nodeAffinity"
        yield from _node_affinity(affinity.nodeAffinity, at, rules)
    for name, pods in (
        ("podAffinity", affinity.podAffinity),
        ("podAntiAffinity", affinity.podAntiAffinity),
    ):
        if pods is None:
            continue
        at = f"{path}.{name}.{_REQUIRED}"
        for index, term in enumerate(getattr(pods, _REQUIRED) or ()):
            yield from _pod_term(term, f"{at}[{index}]")
        at = f"{path}.{name}.{_PREFERRED}"
        for index, weighted in enumerate(getattr(pods, _PREFERRED) or ()):
            yield from _weight(weighted.weight, f"{at}[{index}].weight")
            term = weighted.podAffinityTerm
            yield from _pod_term(term, f"{at}[{index}].podAffinityTerm")


def validate_tolerations(
    tolerations: Iterable[core_v1.Toleration], path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    """Check the tolerations of a pod.

    Source for numbers: apimachinery, validate/content/decimal_int.go; k/k#134665.
    """
    for index, toleration in enumerate(tolerations):
        at, operator = f"{path}[{index}]", toleration.operator or ""
        effect = toleration.effect or ""
        if toleration.key:
            yield from _label_name(toleration.key, f"{at}.key")
        elif operator != "Exists":
            yield invalid(
                f"{at}.operator",
                operator,
                "operator must be Exists when `key` is empty, which means"
                ' "match all values and all keys"',
                is_named=True,
            )
        if toleration.tolerationSeconds is not None and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield invalid(f"{at}.effect", effect, detail, is_named=True)
        yield from _toleration_value(operator, toleration.value or "", at, rules)
        if effect and effect not in _EFFECTS:
            yield not_supported(f"{at}.effect", effect, _EFFECTS)


def validate_spread(
    constraints: list[core_v1.TopologySpreadConstraint],
    path: str,
    rules: KubeletRules,
) -> Iterator[FieldError]:
    """Check the topology spread constraints of a pod."""
    for index, constraint in enumerate(constraints):
        at, action = f"{path}[{index}]", constraint.whenUnsatisfiable
        if constraint.maxSkew <= 0:
            yield invalid(f"{at}.maxSkew", constraint.maxSkew, _NOT_POSITIVE)
        if not constraint.topologyKey:
            yield required(f"{at}.topologyKey", "can not be empty")
        if action not in _ACTIONS:
            yield not_supported(f"{at}.whenUnsatisfiable", action, _ACTIONS)
        kind = (constraint.topologyKey, action)
        rest = constraints[index + 1 :]
        if kind in {(one.topologyKey, one.whenUnsatisfiable) for one in rest}:
            field = f"{at}.{{topologyKey, whenUnsatisfiable}}"
            yield duplicate(field, f"{{{kind[0]}, {kind[1]}}}")
        yield from _min_domains(constraint.minDomains, action, f"{at}.minDomains")
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = getattr(constraint, name)
            if policy is not None and policy not in _NODE_POLICIES:
                yield not_supported(f"{at}.{name}", policy, _NODE_POLICIES)
        if rules.merges_spread_keys:
            keys = constraint.matchLabelKeys or []
            yield from _label_keys(constraint.labelSelector, keys, [], at)
        else:
            yield from _spread_keys(constraint, f"{at}.matchLabelKeys")
        yield from validate_selector(constraint.labelSelector, f"{at}.labelSelector")


def validate_scheduling_gates(
    gates: Iterable[core_v1.PodSchedulingGate], path: str
) -> Iterator[FieldError]:
    """Check the scheduling gates of a pod."""
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        at = f"{path}[{index}]"
        yield from _label_name(gate.name, at)
        if gate.name in seen:
            yield duplicate(at, gate.name)
        seen.add(gate.name)


def validate_selector(
    selector: meta_v1.LabelSelector | None, path: str
) -> Iterator[FieldError]:
    """Check a label selector."""
    if selector is None:
        return
    yield from validate_labels(selector.matchLabels or {}, f"{path}.matchLabels")
    for index, requirement in enumerate(selector.matchExpressions or ()):
        at = f"{path}.matchExpressions[{index}]"
        yield from _values(requirement.operator, requirement.values or [], at)
        yield from _label_name(requirement.key, f"{at}.key")
        for number, value in enumerate(requirement.values or ()):
            errors = names.check_label_value(value)
            yield from names.invalid_names(f"{at}.values[{number}]", value, errors)


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


def _node_affinity(
    affinity: core_v1.NodeAffinity, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    selector = getattr(affinity, _REQUIRED)
    if selector is not None:
        at = f"{path}.{_REQUIRED}.nodeSelectorTerms"
        if not selector.nodeSelectorTerms:
            yield required(at, "must have at least one node selector term")
        for index, term in enumerate(selector.nodeSelectorTerms):
            checks_values = rules.node_affinity_values
            yield from _node_term(term, f"{at}[{index}]", checks_values=checks_values)
    at = f"{path}.{_PREFERRED}"
    for index, preferred in enumerate(getattr(affinity, _PREFERRED) or ()):
        yield from _weight(preferred.weight, f"{at}[{index}].weight")
        field = f"{at}[{index}].preference"
        yield from _node_term(preferred.preference, field, checks_values=False)


def _node_term(
    term: core_v1.NodeSelectorTerm, path: str, *, checks_values: bool
) -> Iterator[FieldError]:
    for index, requirement in enumerate(term.matchExpressions or ()):
        at = f"{path}.matchExpressions[{index}]"
        values = requirement.values or []
        if requirement.operator in {"Gt", "Lt"}:
            if len(values) != 1:
                detail = (
                    "must be specified single value when `operator` is 'Lt' or 'Gt'"
                )
                yield required(f"{at}.values", detail)
        else:
            yield from _values(requirement.operator, values, at)
        yield from _label_name(requirement.key, f"{at}.key")
        for number, value in enumerate(values if checks_values else ()):
            errors = names.check_label_value(value)
            yield from names.invalid_names(f"{at}.values[{number}]", value, errors)
    for index, requirement in enumerate(term.matchFields or ()):
        yield from _node_field(requirement, f"{path}.matchFields[{index}]")


def _node_field(
    requirement: core_v1.NodeSelectorRequirement, path: str
) -> Iterator[FieldError]:
    values = requirement.values or []
    if requirement.operator not in {"In", "NotIn"}:
        yield invalid(
            f"{path}.operator", requirement.operator, _NO_OPERATOR, is_named=True
        )
    elif len(values) != 1:
        detail = (
            "must be only one value when `operator` is 'In' or 'NotIn' for node field"
            " selector"
        )
        yield required(f"{path}.values", detail)
    if requirement.key != "metadata.name":
        detail = "not a valid field selector key"
        yield invalid(f"{path}.key", requirement.key, detail)
        return
    for index, value in enumerate(values):
        errors = names.check_subdomain(value)
        yield from names.invalid_names(f"{path}.values[{index}]", value, errors)


def _values(operator: str, values: list[str], path: str) -> Iterator[FieldError]:
    """Check that an operator has values if it requires them."""
    match operator:
        case "In" | "NotIn":
            if not values:
                yield required(f"{path}.values", _NEEDS_VALUES)
        case "Exists" | "DoesNotExist":
            if values:
                yield forbidden(f"{path}.values", _NO_VALUES)
        case _:
            yield invalid(f"{path}.operator", operator, _NO_OPERATOR, is_named=True)


def _pod_term(term: core_v1.PodAffinityTerm, path: str) -> Iterator[FieldError]:
    yield from validate_selector(term.labelSelector, f"{path}.labelSelector")
    yield from validate_selector(term.namespaceSelector, f"{path}.namespaceSelector")
    for namespace in term.namespaces or ():
        errors = names.check_label(namespace)
        yield from names.invalid_names(f"{path}.namespace", namespace, errors)
    matched, mismatched = term.matchLabelKeys or [], term.mismatchLabelKeys or []
    yield from _label_keys(term.labelSelector, matched, mismatched, path)
    if not term.topologyKey:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from _label_name(term.topologyKey, f"{path}.topologyKey")


def _label_keys(
    selector: meta_v1.LabelSelector | None,
    matched: list[str],
    mismatched: list[str],
    path: str,
) -> Iterator[FieldError]:
    """Check the label keys whose values the selector takes from the pod.

    Quirk, kept: a key that is also in the selector is reported as an item of its owner.

    Source: validation.go, v1.36.2, validateMatchLabelKeysAndMismatchLabelKeys.
    """
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            yield forbidden(f"{path}.{name}", _NO_SELECTOR)
            continue
        for index, key in enumerate(keys):
            yield from _label_name(key, f"{path}.{name}[{index}]")
    if selector is not None:
        own = [requirement.key for requirement in selector.matchExpressions or ()]
        seen = set(selector.matchLabels or {})
        positions = {key: index for index, key in enumerate(matched)}
        for key in own:
            if key in positions and key in seen:
                yield invalid(f"{path}[{positions[key]}]", key, _IN_SELECTOR)
            seen.add(key)
    for index, key in enumerate(matched):
        if key in mismatched:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"{path}.matchLabelKeys[{index}]", key, detail)


def _spread_keys(
    constraint: core_v1.TopologySpreadConstraint, path: str
) -> Iterator[FieldError]:
    keys, selector = constraint.matchLabelKeys or (), constraint.labelSelector
    if keys and selector is None:
        yield forbidden(path, _NO_SELECTOR)
    selector = selector or meta_v1.LabelSelector()
    taken = {
        *(selector.matchLabels or {}),
        *(requirement.key for requirement in selector.matchExpressions or ()),
    }
    for index, key in enumerate(keys):
        yield from _label_name(key, f"{path}[{index}]")
        if key in taken:
            yield invalid(f"{path}[{index}]", key, _IN_SELECTOR)


def _min_domains(least: int | None, action: str, path: str) -> Iterator[FieldError]:
    if least is None:
        return
    if least <= 0:
        yield invalid(path, least, _NOT_POSITIVE)
    if action != _ACTIONS[0]:
        detail = f"can only use minDomains if whenUnsatisfiable={_ACTIONS[0]}, not"
        yield invalid(path, least, f"{detail} {action}")


def _toleration_value(
    operator: str, value: str, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    match operator:
        case "" | "Equal":
            errors = list(names.check_label_value(value))
            if errors:
                yield invalid(f"{path}.operator", value, ";".join(errors))
        case "Exists":
            if value:
                detail = "value must be empty when `operator` is 'Exists'"
                yield invalid(f"{path}.operator", value, detail)
        case "Lt" | "Gt" if rules.toleration_comparisons:
            if not value:
                yield invalid(f"{path}.value", value, _EMPTY)
            elif not _DECIMAL_INTEGER.fullmatch(value):
                yield invalid(f"{path}.value", value, _NO_DECIMAL_INTEGER)
        case _:
            # Quirk, kept: with the gate off, the two are named where they are refused.
            is_named = rules.names_comparisons and operator in _COMPARING
            known = (
                _COMPARING if rules.toleration_comparisons or is_named else _OPERATORS
            )
            yield not_supported(f"{path}.operator", operator, known)


def _weight(weight: int, path: str) -> Iterator[FieldError]:
    if not 1 <= weight <= _MAX_WEIGHT:
        yield invalid(path, weight, f"must be in the range 1-{_MAX_WEIGHT}")


def _label_name(name: str, path: str) -> Iterator[FieldError]:
    return names.invalid_names(path, name, names.check_qualified_name(name))
