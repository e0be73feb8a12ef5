"""Selection of a cluster's pods by name, TYPE/NAME, labels and namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct, field

from probetui.cluster.client import ApiClient, Object, Resource
from probetui.errors import NothingToDoError, UsageError
from probetui.k8s.pod import Pod
from probetui.k8s.selector import LabelRequirement, parse_selector
from probetui.safe_text import safe_line

_DEPLOYMENTS = Resource("deployments", "apps")
_KINDS: Mapping[str, Resource] = {
    name: resource
    for names, resource in (
        ("deployment deployments deploy deployment.apps", _DEPLOYMENTS),
        ("replicaset replicasets rs", Resource("replicasets", "apps")),
        ("statefulset statefulsets sts", Resource("statefulsets", "apps")),
        ("daemonset daemonsets ds", Resource("daemonsets", "apps")),
        ("job jobs", Resource("jobs", "batch")),
        ("service services svc", Resource("services")),
        (
            "replicationcontroller replicationcontrollers rc",
            Resource("replicationcontrollers"),
        ),
    )
    for name in names.split()
}
_PODS = {"pod", "pods", "po"}
_NOT_IN = {"In": False, "NotIn": True}
_EXISTENCE = {"Exists": False, "DoesNotExist": True}


class _Expression(Struct, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] | None = None


class _Selector(Struct, frozen=True):
    """A label selector as the API has it."""

    labels: dict[str, str] | None = field(default=None, name="matchLabels")
    expressions: tuple[_Expression, ...] | None = field(
        default=None, name="matchExpressions"
    )


class PodSelection(Struct, frozen=True):
    """Pods of one namespace, or of all (empty), that match any of the rules.

    The server can select by `label_selector` and `only_name`; `matches` does the rest.
    """

    namespace: str = ""
    label_selector: str = ""
    only_name: str = ""
    names: frozenset[str] = frozenset()
    selectors: tuple[tuple[LabelRequirement, ...], ...] = ()

    def matches(self, pod: Pod) -> bool:
        """Return whether a pod is selected."""
        if not self.names and not self.selectors:
            return True
        return pod.name in self.names or any(
            all(requirement.matches(pod.labels) for requirement in selector)
            for selector in self.selectors
        )


async def select(
    client: ApiClient, words: Sequence[str], namespace: str, label_selector: str
) -> PodSelection:
    """Build the selection; look up the named objects at the server.

    Args:
        client: the cluster.
        words: POD, TYPE/NAME, or TYPE NAME each.
        namespace: the namespace; empty for all.
        label_selector: the value of `-l`, empty for none.

    Raises:
        UsageError: a word is invalid, or cannot be combined.
        ClusterError: the server refused, or has no such object.
    """
    if label_selector:
        parse_selector(label_selector)
    targets = [_target(word) for word in _joined(words)]
    if targets and not namespace:
        raise UsageError("-A: a pod's name needs its namespace: -n NS")
    if targets and label_selector:
        raise UsageError("-l: names and labels exclude each other, as with kubectl")
    names = frozenset(name for resource, name in targets if resource is None)
    selectors = []
    for resource, name in targets:
        if resource is not None:
            owner = await client.get(resource, namespace, name)
            selectors.append(selector_of(owner, f"{resource.plural}/{name}"))
    return PodSelection(
        namespace=namespace,
        label_selector=label_selector,
        only_name=next(iter(names)) if len(names) == 1 and not selectors else "",
        names=names,
        selectors=tuple(selectors),
    )


def _joined(words: Sequence[str]) -> list[str]:
    """Return `deploy web` as `deploy/web`; a lone `pods` means all."""
    if words and words[0].lower() in _PODS | _KINDS.keys():
        kind, *names = words
        if not names and kind.lower() in _PODS:
            return []
        if not names:
            raise UsageError(f"{kind}: which one? {kind}/NAME")
        if not any("/" in name for name in names):
            return [f"{kind}/{name}" for name in names]
    return list(words)


def _target(word: str) -> tuple[Resource | None, str]:
    kind, slash, name = word.rpartition("/")
    kind = kind.lower()
    if slash and not (kind and name):
        raise UsageError(f'"{word}" is not TYPE/NAME, as in deployment/web')
    if not slash or kind in _PODS:
        return None, name
    resource = _KINDS.get(kind)
    if resource is None:
        kinds = "pod, deployment, replicaset, statefulset, daemonset, job, service"
        raise UsageError(f'"{safe_line(kind)}" is not one of {kinds}')
    return resource, name


def selector_of(owner: Object, name: str) -> tuple[LabelRequirement, ...]:
    """Return the pod selector of an object, such as a deployment or a service.

    Raises:
        NothingToDoError: it has none.
        UsageError: the selector is invalid.
    """
    spec = owner.get("spec")
    json = spec.get("selector") if isinstance(spec, dict) else None
    if not isinstance(json, dict) or not json:
        raise NothingToDoError(f"{name} has no pod selector")
    if json.keys().isdisjoint({"matchLabels", "matchExpressions"}):
        json = {"matchLabels": json}  # services and replication controllers
    try:
        selector = msgspec.convert(json, _Selector)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: not a label selector: {error}") from error
    requirements = [
        LabelRequirement(key, frozenset({value}))
        for key, value in (selector.labels or {}).items()
    ]
    requirements += map(_expression, selector.expressions or ())
    return tuple(requirements)


def _expression(expression: _Expression) -> LabelRequirement:
    key, operator = expression.key, expression.operator
    if operator in _EXISTENCE:
        return LabelRequirement(key, None, negated=_EXISTENCE[operator])
    if operator not in _NOT_IN:
        raise UsageError(f"a selector with the operator {safe_line(operator)}")
    values = frozenset(expression.values or ())
    return LabelRequirement(key, values, negated=_NOT_IN[operator])
