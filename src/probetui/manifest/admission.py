"""What an API server changes in a new pod, and what its admission refuses.

Admission precedes validation. Static pods are not admitted.

Difference: classes are those of the files, and defaults for every pod are omitted.

Source: plugin/pkg/admission/priority/admission.go, plugin/pkg/admission/runtimeclass/
admission.go, pkg/registry/core/pod/strategy.go, PrepareForCreate, v1.36.2;
k8s.io/apiserver v0.36.2, pkg/endpoints/handlers/create.go, dedupOwnerReferences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lightkube.models import core_v1, meta_v1
from msgspec import Struct, field

from probetui.k8s.api.quantity import canonical_quantity, is_quantity
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.problem import quote
from probetui.manifest.validation.field_error import ApiWarning
from probetui.manifest.workloads import OtherObject
from probetui.manifest.yaml.nodes import to_plain

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_PREEMPTS = "PreemptLowerPriority"


class PriorityClass(Struct, frozen=True):
    """A PriorityClass: the priority of its pods, and whether they preempt others."""

    value: int = 0
    preemption: str = _PREEMPTS


_SYSTEM = {
    "system-cluster-critical": PriorityClass(2_000_000_000),
    "system-node-critical": PriorityClass(2_000_001_000),
}
"""The built-in classes of every cluster."""


class Classes(Struct):
    """The classes in the files; `overheads` are those of RuntimeClasses."""

    priorities: dict[str, PriorityClass] = field(default_factory=_SYSTEM.copy)
    default: PriorityClass = PriorityClass()
    overheads: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def add(self, other: OtherObject) -> bool:
        """Add an object if it is a class; return whether it is one."""
        plain = to_plain(other.node)
        group = other.api_version.partition("/")[0]
        if not isinstance(plain, dict):
            return False
        match group, other.kind:
            case "scheduling.k8s.io", "PriorityClass":
                self._add_priority(other.name, plain)
            case "node.k8s.io", "RuntimeClass":
                self.overheads[other.name] = _amounts(plain)
            case _:
                return False
        return True

    def _add_priority(self, name: str, plain: Mapping[str, object]) -> None:
        value = plain.get("value")
        preemption = plain.get("preemptionPolicy")
        priority_class = PriorityClass(
            value if isinstance(value, int) else 0,
            preemption if isinstance(preemption, str) else _PREEMPTS,
        )
        self.priorities[name] = priority_class
        if plain.get("globalDefault") is True:
            self.default = priority_class


def _amounts(plain: Mapping[str, object]) -> dict[str, str]:
    overhead = plain.get("overhead")
    fixed = overhead.get("podFixed") if isinstance(overhead, dict) else None
    return {
        name: canonical_quantity(str(amount))
        for name, amount in (fixed.items() if isinstance(fixed, dict) else ())
        if is_quantity(str(amount))
    }


def admit(spec: core_v1.PodSpec, classes: Classes) -> Iterator[tuple[str, str]]:
    """Apply a pod's classes to it; yield the refusals, each with its field.

    A field that contradicts the class keeps its value.
    """
    yield from _prioritize(spec, classes)
    yield from _add_overhead(spec, classes)


def _prioritize(spec: core_v1.PodSpec, classes: Classes) -> Iterator[tuple[str, str]]:
    name = spec.priorityClassName
    priority_class = classes.priorities.get(name) if name else classes.default
    if priority_class is None:
        yield "spec.priorityClassName", f"no PriorityClass with name {name} was found"
        return
    start = "must not be provided in pod spec; priority admission controller computed"
    end = "from the given PriorityClass name"
    if spec.priority is not None and spec.priority != priority_class.value:
        text = f"the integer value of priority ({spec.priority}) {start}"
        yield "spec.priority", f"{text} {priority_class.value} {end}"
    elif priority_class.value:
        spec.priority = priority_class.value
    policy = spec.preemptionPolicy
    if policy is not None and policy != priority_class.preemption:
        text = f"the string value of PreemptionPolicy ({policy}) {start}"
        yield "spec.preemptionPolicy", f"{text} {priority_class.preemption} {end}"


def _add_overhead(spec: core_v1.PodSpec, classes: Classes) -> Iterator[tuple[str, str]]:
    name = spec.runtimeClassName
    if name is not None and name not in classes.overheads:
        text = f"pod rejected: RuntimeClass {quote(name)} not found"
        yield "spec.runtimeClassName", text
        return
    fixed = dict(classes.overheads[name]) if name is not None else {}
    if spec.overhead and not fixed:
        text = "Pod Overhead set without corresponding RuntimeClass defined Overhead"
        yield "spec.overhead", f"pod rejected: {text}"
    elif spec.overhead and spec.overhead != fixed:
        text = "Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        yield "spec.overhead", f"pod rejected: {text}"
    elif fixed:
        spec.overhead = fixed


def unique_owners(metadata: meta_v1.ObjectMeta) -> Iterator[ApiWarning]:
    """Remove duplicate owners and yield the warning about them.

    Two owners with one uid that differ otherwise are both kept.
    """
    kept: list[meta_v1.OwnerReference] = []
    twice: list[str] = []
    for owner in metadata.ownerReferences or ():
        if owner in kept:
            twice.append(owner.uid)
        else:
            kept.append(owner)
    if twice:
        metadata.ownerReferences = kept
        text = (
            ".metadata.ownerReferences contains duplicate entries; API server dedups"
            " owner references in 1.20+, and may reject such requests as early as 1.24;"
            f" please fix your requests; duplicate UID(s) observed: {', '.join(twice)}"
        )
        yield ApiWarning("metadata.ownerReferences", text)


def prepare_pod(pod: core_v1.Pod, rules: KubeletRules) -> None:
    """Prepare a defaulted pod as on creation: its grace period and selectors."""
    spec = pod.spec
    if spec is None:
        return
    grace = spec.terminationGracePeriodSeconds
    if rules.corrects_grace and grace is not None and grace < 0:
        spec.terminationGracePeriodSeconds = 1
    labels = (pod.metadata and pod.metadata.labels) or {}
    for term in _affinity_terms(spec.affinity or core_v1.Affinity()):
        _select(term.labelSelector, term.matchLabelKeys, "In", labels)
        _select(term.labelSelector, term.mismatchLabelKeys, "NotIn", labels)
    for spread in spec.topologySpreadConstraints or ():
        if rules.merges_spread_keys:
            _select(spread.labelSelector, spread.matchLabelKeys, "In", labels)


def _affinity_terms(affinity: core_v1.Affinity) -> Iterator[core_v1.PodAffinityTerm]:
    for pods in (affinity.podAffinity, affinity.podAntiAffinity):
        if pods is not None:
            yield from getattr(pods, _REQUIRED) or ()
            for weighted in getattr(pods, _PREFERRED) or ():
                yield weighted.podAffinityTerm


def _select(
    selector: meta_v1.LabelSelector | None,
    keys: Iterable[str] | None,
    operator: str,
    labels: Mapping[str, str],
) -> None:
    """Add the pod's own label values to a selector."""
    if selector is None:
        return
    added = [
        meta_v1.LabelSelectorRequirement(
            key=key, operator=operator, values=[labels[key]]
        )
        for key in keys or ()
        if key in labels
    ]
    if added:
        selector.matchExpressions = [*(selector.matchExpressions or ()), *added]
