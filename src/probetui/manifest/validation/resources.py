"""The API server's rules for resources: names, quantities, claims.

Source: pkg/apis/core/validation/validation.go, v1.32.10,
ValidateContainerResourceRequirements; pkg/apis/core/helper/helpers.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import ROUND_UP
from fractions import Fraction

from lightkube.models import core_v1

from probetui.k8s.api.pod_resources import (
    HUGE_PAGES,
    aggregate,
    is_for_pods,
    is_huge_page,
)
from probetui.k8s.api.quantity import (
    canonical_quantity,
    is_quantity,
    is_whole,
    parse_quantity,
)
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    duplicate,
    forbidden,
    go_json,
    invalid,
    not_found,
    not_supported,
    required,
)
from probetui.manifest.validation.rules import (
    Check,
    Each,
    Errors,
    IfSet,
    PodContext,
    Remembering,
    Rules,
    Unindexed,
    absent,
    check,
    in_context,
    unique,
)

_CONTAINER = frozenset({"cpu", "ephemeral-storage", "memory"})
_COUNTED = frozenset({
    "configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers",
    "resourcequotas", "secrets", "services", "services.loadbalancers",
    "services.nodeports",
})  # fmt: skip
_STANDARD = frozenset({
    *_CONTAINER, *_COUNTED, "storage", "requests.storage",
    *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _CONTAINER),
})  # fmt: skip
_NATIVE = "kubernetes.io/"
_REQUESTS = "requests."
_RESIZABLE = ("cpu", "memory")
NameCheck = Callable[[str, str], Iterator[FieldError]]
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")


def _amounts(check_name: NameCheck) -> Check:
    """Return the check of limits and requests."""

    def find(resources: core_v1.ResourceRequirements) -> Iterator[FieldError]:
        limits, requests = resources.limits or {}, resources.requests or {}
        for name, value in sorted(limits.items()):
            yield from _amount(name, value, f"limits[{name}]", check_name)
            yield from _huge_page(name, value, f"limits[{name}]")
        for name, value in sorted(requests.items()):
            yield from _amount(name, value, f"requests[{name}]", check_name)
            yield from _compare(name, value, limits.get(name))
            yield from _huge_page(name, value, f"requests[{name}]")
        everything = {*limits, *requests}
        if not everything & {"cpu", "memory"} and any(map(is_huge_page, everything)):
            yield forbidden("", "HugePages require cpu or memory")

    return find


def _fits_in_pod(spec: core_v1.PodSpec) -> Iterator[FieldError]:
    """Check that a pod's resources cover those of its containers.

    Source: validation.go, v1.36.2, validatePodResourceConsistency.
    """
    resources = spec.resources or core_v1.ResourceRequirements()
    yield from _fits(aggregate(spec, "requests"), resources.requests, "requests")
    huge_pages = {
        name: amount
        for name, amount in aggregate(spec, "limits").items()
        if is_huge_page(name)
    }
    yield from _fits(huge_pages, resources.limits, "limits")
    most = resources.limits or {}
    for index, container in enumerate(spec.containers):
        own = container.resources or core_v1.ResourceRequirements()
        for name, value in sorted((own.limits or {}).items()):
            if name in most and parse_quantity(value) > parse_quantity(most[name]):
                at = f"resources.containers[{index}][{name}].limits"
                shown = canonical_quantity(most[name])
                detail = f"must be less than or equal to pod limits of {shown}"
                yield invalid(at, canonical_quantity(value), detail)


def _fits(
    used: Mapping[str, str], given: Mapping[str, str] | None, what: str
) -> Iterator[FieldError]:
    """Check that a pod's resources cover the total of its containers."""
    for name, amount in sorted(used.items()):
        whole = (given or {}).get(name)
        if whole is not None and parse_quantity(amount) > parse_quantity(whole):
            shown = canonical_quantity(amount)
            detail = f"must be greater than or equal to aggregate container {what} of"
            at = f"resources.{what}[{name}]"
            yield invalid(at, canonical_quantity(whole), f"{detail} {shown}")


@in_context
def _resize(
    policy: core_v1.ContainerResizePolicy, context: PodContext
) -> Iterator[FieldError]:
    """Check how a container is resized."""
    for value, choices in (
        (policy.resourceName, _RESIZABLE),
        (policy.restartPolicy, _RESIZE_POLICIES),
    ):
        if not value:
            yield required("")
        elif value not in choices:
            yield not_supported("", value, choices)
    is_kept = context.spec.restartPolicy == "Never"
    if is_kept and policy.restartPolicy != _RESIZE_POLICIES[0]:
        owner = "pod " if context.version.refuses_init_restart else ""
        detail = f"must be 'NotRequired' when {owner}`restartPolicy` is 'Never'"
        yield invalid("", policy.restartPolicy, detail)


def _amount(
    name: str, value: str, path: str, check_name: NameCheck
) -> Iterator[FieldError]:
    yield from check_name(name, path)
    amount = parse_quantity(value)
    if amount < 0:
        detail = "must be greater than or equal to 0"
        yield invalid(path, canonical_quantity(value), detail)
    if (name in _COUNTED or _is_extended(name)) and not is_whole(amount):
        written = canonical_quantity(value)
        shown = GoSyntax(f"resource.Quantity({written})", go_json(written))
        yield invalid(path, shown, "must be an integer")


def _any_name(name: str, path: str) -> Iterator[FieldError]:
    """Check the name of a resource of any object."""
    wrong = list(names.check_qualified_name(name))
    yield from names.invalid_names(path, name, iter(wrong))
    if "/" in name or wrong:
        return
    is_huge_page = name.removeprefix(_REQUESTS).startswith(HUGE_PAGES)
    if name not in _STANDARD and not is_huge_page:
        detail = "must be a standard resource type or fully qualified"
        yield invalid(path, name, detail)


def _pod_name(name: str, path: str) -> Iterator[FieldError]:
    """Check the name of a pod-level resource."""
    wrong = list(_any_name(name, path))
    yield from wrong
    if not wrong and not is_for_pods(name):
        yield not_supported(path, name, ("cpu", HUGE_PAGES, "memory"), is_named=False)


def _name(name: str, path: str) -> Iterator[FieldError]:
    yield from _any_name(name, path)
    if "/" not in name:
        if name not in _CONTAINER and not is_huge_page(name):
            yield invalid(path, name, "must be a standard resource for containers")
    elif _NATIVE not in name and not _is_extended(name):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def _compare(name: str, value: str, limit: str | None) -> Iterator[FieldError]:
    """Check a request against its limit."""
    can_differ = (("/" not in name) or _NATIVE in name) and not is_huge_page(name)
    if limit is None:
        if not can_differ:
            detail = "Limit must be set for non overcommitable resources"
            yield required("limits", detail)
        return
    asked, most_amount = parse_quantity(value), parse_quantity(limit)
    most = f"{name} limit of {canonical_quantity(limit)}"
    if asked != most_amount and not can_differ:
        detail = f"must be equal to {most}"
    elif asked > most_amount:
        detail = f"must be less than or equal to {most}"
    else:
        return
    yield invalid("requests", canonical_quantity(value), detail)


def _huge_page(name: str, value: str, path: str) -> Iterator[FieldError]:
    if not is_huge_page(name):
        return
    written = name.removeprefix(HUGE_PAGES)
    page = parse_quantity(written) if is_quantity(written) else parse_quantity("0")
    # Go rounds up to whole bytes.
    size = parse_quantity(value).to_integral_value(ROUND_UP)
    if page <= 0 or not is_whole(page) or Fraction(size) % Fraction(page):
        shown = canonical_quantity(value)
        detail = f"{shown} is not positive integer multiple of {name}"
        yield invalid(path, shown, detail)


def _is_extended(name: str) -> bool:
    if "/" not in name or _NATIVE in name or name.startswith(_REQUESTS):
        return False
    return not any(names.check_qualified_name(_REQUESTS + name))


def _claims(
    _: core_v1.ResourceRequirements, context: PodContext
) -> Callable[[core_v1.ResourceClaim], Errors]:
    seen: set[str] = set()
    known = context.claims

    def find(claim: core_v1.ResourceClaim) -> Iterator[FieldError]:
        if not claim.name:
            yield required("")
            return
        yield from _claim_twice(claim, seen)
        if claim.name not in known:
            detail = "must be one of the names in pod.spec.resourceClaims"
            listed = f": {', '.join(sorted(known))}" if known else " which is empty"
            yield not_found("", claim.name, detail + listed)

    return find


def _claim_twice(claim: core_v1.ResourceClaim, seen: set[str]) -> Iterator[FieldError]:
    if claim.name in seen:
        yield duplicate("", claim.name)
        return
    key = claim.name
    if claim.request:
        errors = names.check_label(claim.request)
        yield from names.invalid_names("request", claim.request, errors)
        key = f"{claim.name}/{claim.request}"
    if key in seen:
        yield duplicate("", key)
    elif not claim.request:
        for other in sorted(seen):
            if other.partition("/")[0] == claim.name and "/" in other:
                yield duplicate("", claim.name)
    seen.add(key)


RESOURCES = Rules(
    core_v1.ResourceRequirements,
    _amounts(_name),
    Each("claims", Remembering(_claims)),
)
RESIZE_POLICIES = Rules(
    core_v1.Container,
    Each("resizePolicy", unique("resourceName", at=""), Unindexed(_resize)),
)
_POD_RESOURCES = Rules(
    core_v1.ResourceRequirements,
    IfSet("claims", absent("claims may not be set for Resources at pod-level")),
    _amounts(_pod_name),
    Each("claims", Remembering(_claims)),
)


@in_context
def pod_resources(spec: core_v1.PodSpec, context: PodContext) -> Iterator[FieldError]:
    """Check the resources of a pod, which must cover those of its containers.

    Source: validation.go, v1.36.2, validatePodResources.
    """
    if spec.resources is None:
        return
    if context.os_name == "windows":
        yield forbidden("resources", "may not be set for a windows pod")
        return
    yield from check(_POD_RESOURCES, spec.resources, context, "resources")
    yield from _fits_in_pod(spec)


@in_context
def overhead(spec: core_v1.PodSpec, context: PodContext) -> Errors:
    """Check a pod's overhead, with the rules of a container's limits."""
    if not spec.overhead:
        return ()
    limits = core_v1.ResourceRequirements(limits=dict(spec.overhead))
    return check(RESOURCES, limits, context, "overhead")
