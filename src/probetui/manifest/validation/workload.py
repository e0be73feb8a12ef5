"""The API server's rules for workloads, their pod templates aside.

The template is validated as the pod created from it. Values are those after the API
server's defaults.

Difference: checks that depend on a cluster are omitted: whether it knows a time zone,
the claims of a StatefulSet, the uid of a new Job.

Source: pkg/apis/apps/validation/validation.go, pkg/apis/batch/validation/
validation.go, pkg/apis/core/validation/validation.go, v1.36.2; pkg/apis/*/v1/
defaults.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lightkube.models import apps_v1, batch_v1, core_v1, meta_v1

from probetui.kubelet_rules import KubeletRules
from probetui.manifest.problem import quote
from probetui.manifest.validation import names
from probetui.manifest.validation.deprecations import ApiWarning
from probetui.manifest.validation.field_error import (
    OMITTED,
    FieldError,
    GoSyntax,
    duplicate,
    forbidden,
    go_json,
    in_words_of,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from probetui.manifest.validation.metadata import METADATA
from probetui.manifest.validation.rules import (
    Always,
    Check,
    Context,
    Each,
    Errors,
    IfFilled,
    IfSet,
    Remembering,
    Required,
    Rules,
    Section,
    ValidationRule,
    When,
    at_least,
    at_most,
    check,
    choice,
    in_context,
    must,
    valid,
)
from probetui.manifest.validation.schedule import find_schedule_error
from probetui.manifest.validation.scheduling import SELECTOR, selector_fields

_OF_THE_POD = frozenset({"metadata.name", "metadata.namespace"})
"""The fields of a template's pod that come from its workload and are checked there."""

_MISMATCH = "`selector` does not match template `labels`"
_LABELS = "template.metadata.labels"
_PERCENT = re.compile("[0-9]+%")
_NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g."
    " '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_WHOLE = 100
_PROGRESS_SECONDS = 600
_ROLLING, _RECREATE, _ON_DELETE = "RollingUpdate", "Recreate", "OnDelete"
_POD_MANAGEMENT = ("OrderedReady", "Parallel")
_COMPLETION_MODES = ("NonIndexed", "Indexed")
_INDEXED = _COMPLETION_MODES[1]
_REPLACEMENT = ("Failed", "TerminatingOrFailed")
_FAILURE_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_MAX_RULES = 20
_MAX_PATTERNS = 20
_MAX_EXIT_CODES = 255
_MAX_INDEXED = 100_000
_MAX_OF_MANY_INDEXES = 10_000
_MAX_CRON_JOB = 52
_TIME_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
_JOB_NAMES = ("job-name", "batch.kubernetes.io/job-name")
_JOB_UIDS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_MAX_MANAGER = 63
_MAX_INDEXES_BYTES = 64 * 1024
_MANAGER_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_NOT_INDEXED = "requires indexed completion mode"


class WorkloadContext(Context):
    """What the rules of a workload may know: its name, and if it has a selector."""

    name: str
    has_selector: bool


def validate_workload(
    workload: Any, rules: KubeletRules, *, has_selector: bool
) -> Iterator[FieldError]:
    """Check an object with a pod template; fields are named as in its document.

    Args:
        workload: the decoded object.
        rules: those of the version.
        has_selector: its selector is there, which may be empty.
    """
    metadata = workload.metadata or meta_v1.ObjectMeta()
    context = WorkloadContext(rules, metadata.name or "", has_selector)
    errors = [
        error
        for error in check(METADATA, metadata, context, "metadata")
        if error.field not in _OF_THE_POD
    ]
    own = _OWN.get(type(workload))
    if own is not None:
        errors += check(own, workload, context)
    return in_words_of(rules, errors)


def find_workload_warnings(workload: Any, rules: KubeletRules) -> Iterator[ApiWarning]:
    """Yield an API server's warnings about a workload, its template aside.

    Source: pkg/registry/apps/statefulset/strategy.go, v1.36.2, WarningsOnCreate;
    pkg/api/job/warnings.go, WarningsForJobSpec.
    """
    match workload:
        case batch_v1.Job(spec=batch_v1.JobSpec() as spec):
            yield from _many_indexes(spec, "spec")
        case batch_v1.CronJob(
            spec=batch_v1.CronJobSpec(
                jobTemplate=batch_v1.JobTemplateSpec(spec=batch_v1.JobSpec() as spec)
            )
        ):
            yield from _many_indexes(spec, "spec.jobTemplate.spec")
        case apps_v1.StatefulSet(
            spec=apps_v1.StatefulSetSpec(revisionHistoryLimit=kept)
        ):
            if kept is not None and kept < 0 and rules.warns_of_revisions:
                start = "a negative value retains all historical revisions"
                text = f"{start}; a value >= 0 is recommended"
                yield "spec.revisionHistoryLimit", text
        case _:
            pass


def _many_indexes(spec: batch_v1.JobSpec, path: str) -> Iterator[ApiWarning]:
    is_indexed = spec.completionMode == _INDEXED
    has_many = (spec.completions or 0) > _MAX_INDEXED
    if is_indexed and has_many and (spec.parallelism or 0) > _MAX_OF_MANY_INDEXES:
        start = "In Indexed Jobs with a number of completions higher than 10^5 and a"
        end = "parallelism higher than 10^4, Kubernetes might not be able to track"
        text = f"{start} {end} completedIndexes when a big number of indexes fail"
        yield path, text


def _matches(selector: meta_v1.LabelSelector, labels: Mapping[str, str]) -> bool:
    """Return whether a valid selector matches labels."""
    for key, value in (selector.matchLabels or {}).items():
        if labels.get(key) != value:
            return False
    for wanted in selector.matchExpressions or ():
        value = labels.get(wanted.key)
        match wanted.operator:
            case "In":
                is_selected = value in (wanted.values or ())
            case "NotIn":
                is_selected = value not in (wanted.values or ())
            case "Exists":
                is_selected = value is not None
            case _:
                is_selected = value is None
        if not is_selected:
            return False
    return True


def _is_empty(selector: meta_v1.LabelSelector) -> bool:
    return not selector.matchLabels and not selector.matchExpressions


def _labels(template: core_v1.PodTemplateSpec | None) -> dict[str, str]:
    metadata = template.metadata if template is not None else None
    return dict((metadata and metadata.labels) or {})


def _share_value(value: int | str) -> int:
    """Return the value of a number or percentage of pods, 0 for any other text."""
    if isinstance(value, int):
        return value
    text = value[:-1] if _PERCENT.fullmatch(value) else value
    return int(text) if _NUMBER.fullmatch(text) else 0


def _or(value: int | str | None, default: int | str) -> int | str:
    return default if value is None else value


def _go(value: object) -> GoSyntax:
    """Format a value like the API server: as JSON since 1.34, else in Go's syntax."""
    written = go_json(value)
    return GoSyntax(written, written)


def _go_share(value: int | str) -> GoSyntax:
    number, text = (0, value) if isinstance(value, str) else (value, "")
    kind = int(isinstance(value, str))
    shown = f"intstr.IntOrString{{Type:{kind}, IntVal:{number}, StrVal:{quote(text)}}}"
    return GoSyntax(shown, go_json(value))


def _go_labels(labels: Mapping[str, str]) -> GoSyntax:
    ordered = dict(sorted(labels.items()))
    if not ordered:
        return GoSyntax("map[string]string(nil)", "null")
    listed = ", ".join(f"{quote(key)}:{quote(one)}" for key, one in ordered.items())
    return GoSyntax(f"map[string]string{{{listed}}}", go_json(ordered))


def _go_selector(selector: meta_v1.LabelSelector) -> GoSyntax:
    return GoSyntax("v1.LabelSelector{...}", go_json(selector_fields(selector)))


def _go_strategy(
    kind: str,
    rolling: apps_v1.RollingUpdateDeployment | apps_v1.RollingUpdateDaemonSet | None,
) -> GoSyntax:
    fields = None
    if rolling is not None:
        fields = {
            "MaxUnavailable": _or(rolling.maxUnavailable, 0),
            "MaxSurge": _or(rolling.maxSurge, 0),
        }
    return _go({"Type": kind, "RollingUpdate": fields})


_NOT_NEGATIVE = at_least(0)
_LABEL = valid(names.check_label)


def _selects_template(
    kind: str, unreadable: str = "invalid label selector"
) -> ValidationRule:
    """Return the rule of a selector, which selects the pods of the template."""

    def find(spec: Any, context: WorkloadContext) -> Iterator[FieldError]:
        labels = _labels(spec.template)
        if not context.has_selector:
            yield required("selector")
            yield invalid(_LABELS, _go_labels(labels), _MISMATCH)
            return
        wrong = check(SELECTOR, spec.selector, at="selector")
        yield from wrong
        if _is_empty(spec.selector):
            detail = f"empty selector is invalid for {kind}"
            yield invalid("selector", _go_selector(spec.selector), detail)
        if wrong:
            yield invalid("selector", _go_selector(spec.selector), unreadable)
        elif not _matches(spec.selector, labels):
            yield invalid(_LABELS, _go_labels(labels), _MISMATCH)

    return in_context(find)


def _share(value: int | str) -> Iterator[FieldError]:
    """Check a number or percentage of pods."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            yield invalid("", _go_share(value), _NO_PERCENT)
    elif value < 0:
        yield invalid("", value, "must be greater than or equal to 0")


def _at_most_all(value: int | str) -> Iterator[FieldError]:
    is_percent = isinstance(value, str) and _PERCENT.fullmatch(value)
    if is_percent and _share_value(value) > _WHOLE:
        yield invalid("", _go_share(value), "must not be greater than 100%")


def _no_progress(rolling: apps_v1.RollingUpdateDeployment) -> Iterator[FieldError]:
    unavailable, surge = rolling.maxUnavailable or 0, rolling.maxSurge or 0
    if not _share_value(unavailable) and not _share_value(surge):
        detail = "may not be 0 when `maxSurge` is 0"
        yield invalid("maxUnavailable", _go_share(unavailable), detail)


_ROLLING_DEPLOYMENT = Rules(
    apps_v1.RollingUpdateDeployment,
    Always("maxUnavailable", _share),
    Always("maxSurge", _share),
    _no_progress,
    Always("maxUnavailable", _at_most_all),
)


def _deployment_strategy(spec: apps_v1.DeploymentSpec) -> Iterator[FieldError]:
    strategy = spec.strategy or apps_v1.DeploymentStrategy()
    rolling, kind = strategy.rollingUpdate, strategy.type or _ROLLING
    at = "strategy.rollingUpdate"
    if kind == _RECREATE:
        if rolling is not None:
            detail = f"may not be specified when strategy `type` is '{_RECREATE}'"
            yield forbidden(at, detail)
    elif kind == _ROLLING:
        rolling = rolling or apps_v1.RollingUpdateDeployment()
        defaulted = apps_v1.RollingUpdateDeployment(
            maxSurge=_or(rolling.maxSurge, "25%"),
            maxUnavailable=_or(rolling.maxUnavailable, "25%"),
        )
        yield from check(_ROLLING_DEPLOYMENT, defaulted, at=at)
    else:
        shown = _go_strategy(kind, rolling)
        yield not_supported("strategy", shown, (_RECREATE, _ROLLING))


def _progress_deadline(spec: apps_v1.DeploymentSpec) -> Iterator[FieldError]:
    deadline = spec.progressDeadlineSeconds
    deadline = _PROGRESS_SECONDS if deadline is None else deadline
    if deadline <= (spec.minReadySeconds or 0):
        detail = "must be greater than minReadySeconds"
        yield invalid("progressDeadlineSeconds", deadline, detail)


_DEPLOYMENT = Rules(
    apps_v1.DeploymentSpec,
    IfSet("replicas", _NOT_NEGATIVE),
    _selects_template("deployment"),
    _deployment_strategy,
    IfSet("minReadySeconds", _NOT_NEGATIVE),
    IfSet("revisionHistoryLimit", _NOT_NEGATIVE),
    IfSet("progressDeadlineSeconds", _NOT_NEGATIVE),
    _progress_deadline,
)
_REPLICA_SET = Rules(
    apps_v1.ReplicaSetSpec,
    IfSet("replicas", _NOT_NEGATIVE),
    IfSet("minReadySeconds", _NOT_NEGATIVE),
    # Quirk, kept: the error about an empty selector names a deployment.
    _selects_template("deployment"),
)


def _management(policy: str) -> Iterator[FieldError]:
    if policy not in _POD_MANAGEMENT:
        detail = " or ".join(f"'{choice}'" for choice in _POD_MANAGEMENT)
        yield invalid("", policy, f"must be {detail}", is_named=True)


@in_context
def _set_name(_: apps_v1.StatefulSet, context: WorkloadContext) -> Errors:
    # A malformed name is reported for the pod.
    if any(names.check_subdomain(context.name)):
        return ()
    errors = names.check_label(context.name)
    return names.invalid_names("metadata.name", context.name, errors)


def _some_unavailable(value: int | str) -> Iterator[FieldError]:
    if not _share_value(value):
        yield invalid("", _go_share(value), "cannot be 0")


_ROLLING_STATEFUL_SET = Rules(
    apps_v1.RollingUpdateStatefulSetStrategy,
    IfSet("partition", _NOT_NEGATIVE),
    When(
        lambda context: context.version.several_unavailable,
        IfSet("maxUnavailable", _share, _some_unavailable, _at_most_all),
    ),
)


@in_context
def _stateful_strategy(
    spec: apps_v1.StatefulSetSpec, context: WorkloadContext
) -> Iterator[FieldError]:
    strategy = spec.updateStrategy or apps_v1.StatefulSetUpdateStrategy()
    rolling, kind, fields = strategy.rollingUpdate, strategy.type or _ROLLING, None
    at = "updateStrategy.rollingUpdate"
    if rolling is not None:
        several = context.version.several_unavailable
        unavailable = rolling.maxUnavailable if several else None
        fields = {"Partition": rolling.partition or 0, "MaxUnavailable": unavailable}
    if kind == _ON_DELETE:
        if fields is not None:
            detail = f"only allowed for updateStrategy '{_ROLLING}'"
            yield invalid(at, _go(fields), detail)
    elif kind == _ROLLING:
        if rolling is not None:
            yield from check(_ROLLING_STATEFUL_SET, rolling, context, at)
    else:
        shown = _go({"Type": kind, "RollingUpdate": fields})
        detail = f"must be '{_ROLLING}' or '{_ON_DELETE}'"
        yield invalid("updateStrategy", shown, detail)


_STATEFUL_SET = Rules(
    apps_v1.StatefulSetSpec,
    IfFilled("podManagementPolicy", _management),
    _stateful_strategy,
    IfSet(
        "persistentVolumeClaimRetentionPolicy",
        IfFilled("whenDeleted", choice("Retain", "Delete")),
        IfFilled("whenScaled", choice("Retain", "Delete")),
    ),
    IfSet("replicas", _NOT_NEGATIVE),
    IfSet("minReadySeconds", _NOT_NEGATIVE),
    IfSet("ordinals", IfSet("start", _NOT_NEGATIVE)),
    When(
        lambda context: context.version.checks_service_name,
        IfFilled("serviceName", _LABEL),
    ),
    _selects_template("statefulset", ""),
)


@in_context
def _selects_daemons(
    spec: apps_v1.DaemonSetSpec, context: WorkloadContext
) -> Iterator[FieldError]:
    wrong = check(SELECTOR, spec.selector, at="selector")
    yield from wrong
    labels, has_selector = _labels(spec.template), context.has_selector
    if not has_selector or (not wrong and not _matches(spec.selector, labels)):
        yield invalid(_LABELS, _go_labels(labels), _MISMATCH)
    if has_selector and _is_empty(spec.selector):
        detail = "empty selector is invalid for daemonset"
        yield invalid("selector", _go_selector(spec.selector), detail)


def _one_share(rolling: apps_v1.RollingUpdateDaemonSet) -> Iterator[FieldError]:
    unavailable, surge = rolling.maxUnavailable or 0, rolling.maxSurge or 0
    if _share_value(unavailable) and _share_value(surge):
        detail = "may not be set when maxUnavailable is non-zero"
        yield invalid("maxSurge", _go_share(surge), detail)
    elif not _share_value(unavailable) and not _share_value(surge):
        yield required("maxUnavailable", "cannot be 0 when maxSurge is 0")


_ROLLING_DAEMON_SET = Rules(
    apps_v1.RollingUpdateDaemonSet,
    Always("maxUnavailable", _share),
    Always("maxSurge", _share),
    Always("maxUnavailable", _at_most_all),
    Always("maxSurge", _at_most_all),
    _one_share,
)


def _daemon_strategy(spec: apps_v1.DaemonSetSpec) -> Iterator[FieldError]:
    strategy = spec.updateStrategy or apps_v1.DaemonSetUpdateStrategy()
    kind = strategy.type or _ROLLING
    if kind == _ROLLING:
        rolling = strategy.rollingUpdate or apps_v1.RollingUpdateDaemonSet()
        defaulted = apps_v1.RollingUpdateDaemonSet(
            maxSurge=_or(rolling.maxSurge, 0),
            maxUnavailable=_or(rolling.maxUnavailable, 1),
        )
        at = "updateStrategy.rollingUpdate"
        yield from check(_ROLLING_DAEMON_SET, defaulted, at=at)
    elif kind != _ON_DELETE:
        shown = _go_strategy(kind, strategy.rollingUpdate)
        yield not_supported("updateStrategy", shown, (_ROLLING, _ON_DELETE))


_DAEMON_SET = Rules(
    apps_v1.DaemonSetSpec,
    _selects_daemons,
    IfSet("minReadySeconds", _NOT_NEGATIVE),
    _daemon_strategy,
    IfSet("revisionHistoryLimit", _NOT_NEGATIVE),
)


def _any_selector(spec: core_v1.ReplicationControllerSpec) -> Iterator[FieldError]:
    if not spec.selector and not _labels(spec.template):
        yield required("selector")


def _controlled_template(
    spec: core_v1.ReplicationControllerSpec,
) -> Iterator[FieldError]:
    labels = _labels(spec.template)
    selector: Mapping[str, str] = spec.selector or labels
    if spec.template is None:
        yield required("template")
    elif any(labels.get(key) != value for key, value in selector.items()):
        yield invalid(_LABELS, _go_labels(labels), _MISMATCH)


_REPLICATION_CONTROLLER = Rules(
    core_v1.ReplicationControllerSpec,
    IfSet("minReadySeconds", _NOT_NEGATIVE),
    _any_selector,
    IfSet("replicas", _NOT_NEGATIVE),
    _controlled_template,
)


def _completions(spec: batch_v1.JobSpec) -> int | None:
    """Return the completions, 1 if the parallelism is missing, too."""
    if spec.completions is None and spec.parallelism is None:
        return 1
    return spec.completions


def _index_limit(spec: batch_v1.JobSpec) -> Iterator[FieldError]:
    if spec.maxFailedIndexes is not None and spec.backoffLimitPerIndex is None:
        yield required("backoffLimitPerIndex", "when maxFailedIndexes is specified")


def _manager(name: str) -> Iterator[FieldError]:
    """Check the name of a Job's custom controller.

    Source: k8s.io/apimachinery v0.36.2, pkg/util/validation/validation.go,
    IsDomainPrefixedPath.
    """
    if not name:
        yield required("")
        return
    domain, _, rest = name.partition("/")
    if not (domain and rest):
        detail = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield invalid("", name, detail)
    else:
        yield from names.invalid_names("", domain, names.check_subdomain(domain))
        if not re.fullmatch(_MANAGER_PATH, rest):
            detail = f"Invalid path (regex used for validation is '{_MANAGER_PATH}')"
            yield invalid("", rest, detail)
    if names.byte_length(name) > _MAX_MANAGER:
        yield too_long("", _MAX_MANAGER)


_PLAIN_JOB = Rules(
    batch_v1.JobSpec,
    IfSet("backoffLimitPerIndex", must(lambda _: False, _NOT_INDEXED)),
    IfSet("maxFailedIndexes", must(lambda _: False, _NOT_INDEXED)),
)


def _completion_mode(spec: batch_v1.JobSpec) -> Iterator[FieldError]:
    """Check the mode, and the fields that it requires or forbids."""
    mode = _COMPLETION_MODES[0] if spec.completionMode is None else spec.completionMode
    if mode not in _COMPLETION_MODES:
        yield not_supported("completionMode", mode, _COMPLETION_MODES)
    elif mode == _INDEXED:
        yield from _indexed(spec)
    else:
        yield from check(_PLAIN_JOB, spec)


def _indexed(spec: batch_v1.JobSpec) -> Iterator[FieldError]:
    completions, failed = _completions(spec), spec.maxFailedIndexes
    parallel = spec.parallelism
    if completions is None:
        yield required("completions", f"when completion mode is {_INDEXED}")
    start = "must be less than or equal to"
    if parallel is not None and parallel > _MAX_INDEXED:
        detail = f"{start} {_MAX_INDEXED} when completion mode is {_INDEXED}"
        yield invalid("parallelism", parallel, detail)
    if completions is not None and failed is not None and failed > completions:
        yield invalid("maxFailedIndexes", failed, f"{start} completions")
    if failed is not None and failed > _MAX_INDEXED:
        yield invalid("maxFailedIndexes", failed, f"{start} {_MAX_INDEXED}")
    if (completions or 0) <= _MAX_INDEXED or spec.backoffLimitPerIndex is None:
        return
    if failed is None:
        detail = f"must be specified when completions is above {_MAX_INDEXED}"
        yield required("maxFailedIndexes", detail)
    for name, value in (("parallelism", parallel), ("maxFailedIndexes", failed)):
        if value is not None and value > _MAX_OF_MANY_INDEXES:
            detail = (
                f"{start} {_MAX_OF_MANY_INDEXES} when completions are above"
                f" {_MAX_INDEXED} and used with backoff limit per index"
            )
            yield invalid(name, value, detail)


def _choice_of(*choices: str) -> Check:
    """Return the check of an enumeration, which must not be empty."""
    listed = " ".join(quote(text) for text in choices)

    def find(value: str) -> Errors:
        if not value:
            return (required("", f"valid values: [{listed}]"),)
        return choice(*choices)(value)

    return find


@in_context
def _failure_action(
    rule: batch_v1.PodFailurePolicyRule, spec: batch_v1.JobSpec
) -> Iterator[FieldError]:
    if rule.action != "FailIndex":
        yield from check(_FAILURE_ACTION, rule)
    elif spec.backoffLimitPerIndex is None:
        detail = "requires the backoffLimitPerIndex to be set"
        yield invalid("action", rule.action, detail, is_named=True)


_FAILURE_ACTION = Rules(
    batch_v1.PodFailurePolicyRule, Always("action", _choice_of(*_FAILURE_ACTIONS))
)


@in_context
def _failed_container(name: str, spec: batch_v1.JobSpec) -> Iterator[FieldError]:
    pod = spec.template.spec or core_v1.PodSpec(containers=[])
    containers = (*pod.containers, *(pod.initContainers or ()))
    if name not in {container.name for container in containers}:
        detail = (
            "must be one of the container or initContainer names in the pod template"
        )
        yield invalid("", name, detail)


def _exit_code_count(values: list[int]) -> Iterator[FieldError]:
    if not values:
        yield invalid("", _go(values), "at least one value is required")
    elif len(values) > _MAX_EXIT_CODES:
        yield too_many("", len(values), _MAX_EXIT_CODES)


def _exit_codes(
    codes: batch_v1.PodFailurePolicyOnExitCodesRequirement, _: batch_v1.JobSpec
) -> Callable[[int], Errors]:
    seen: set[int] = set()

    def find(value: int) -> Iterator[FieldError]:
        if codes.operator == "In" and value == 0:
            yield invalid("", value, "must not be 0 for the In operator")
        if value in seen:
            yield duplicate("", value)
        seen.add(value)

    return find


def _ordered(values: list[int]) -> Iterator[FieldError]:
    if values != sorted(values):
        yield invalid("", _go(values), "must be ordered")


def _one_requirement(rule: batch_v1.PodFailurePolicyRule) -> Iterator[FieldError]:
    conditions = rule.onPodConditions
    if (rule.onExitCodes is None) is not bool(conditions):
        which = "both" if conditions else "one of"
        end = "not supported" if conditions else "required"
        detail = f"specifying {which} OnExitCodes and OnPodConditions is {end}"
        yield invalid("", OMITTED, detail)


_FAILURE_POLICY = Rules(
    batch_v1.PodFailurePolicy,
    Always("rules", at_most(_MAX_RULES)),
    Each(
        "rules",
        _failure_action,
        IfSet(
            "onExitCodes",
            Always("operator", _choice_of("In", "NotIn")),
            IfSet("containerName", _failed_container),
            Always("values", _exit_code_count),
            Each("values", Remembering(_exit_codes)),
            Always("values", _ordered),
        ),
        IfFilled("onPodConditions", at_most(_MAX_PATTERNS)),
        Each(
            "onPodConditions",
            Always("type", valid(names.check_qualified_name)),
            IfFilled("status", choice("False", "True", "Unknown")),
        ),
        _one_requirement,
    ),
)
"""The rules of a policy; their context is the Job's spec."""


def _failure_policy(spec: batch_v1.JobSpec) -> Errors:
    if spec.podFailurePolicy is None:
        return ()
    return check(_FAILURE_POLICY, spec.podFailurePolicy, spec, "podFailurePolicy")


def _count_indexes(listed: str, completions: int) -> tuple[int, str]:
    """Return the number of indexes in a text such as `0,3-5`, or 0 and the error."""
    total, last = 0, None
    for interval in listed.split(",") if listed else ():
        parts = interval.split("-")
        if len(parts) > 2:  # noqa: PLR2004  # an interval has two ends
            detail = "violates the requirement that an index interval can have at most"
            fragment = f"the fragment {quote(interval)} {detail}"
            return 0, f"{fragment} two parts separated by '-'"
        ends: list[int] = []
        for part in parts:
            if not _NUMBER.fullmatch(part):
                return 0, f"cannot convert string to integer for index: {quote(part)}"
            if int(part) >= completions:
                return 0, f"too large index: {quote(part)}"
            ends.append(int(part))
        first, end = ends[0], ends[-1]
        if len(ends) > 1 and first >= end:
            return 0, f"non-increasing order, previous: {first}, current: {end}"
        if last is not None and last >= first:
            return 0, f"non-increasing order, previous: {last}, current: {first}"
        total, last = total + end - first + 1, end
    return total, ""


@in_context
def _success_rule(
    rule: batch_v1.SuccessPolicyRule, spec: batch_v1.JobSpec
) -> Iterator[FieldError]:
    completions = _completions(spec) or 0
    counted, listed, total = rule.succeededCount, rule.succeededIndexes, None
    if counted is None and listed is None:
        detail = "at least one of succeededCount or succeededIndexes must be specified"
        yield required("", detail)
    if listed is not None:
        at = "succeededIndexes"
        if names.byte_length(listed) > _MAX_INDEXES_BYTES:
            yield too_long(at, _MAX_INDEXES_BYTES)
        total, error = _count_indexes(listed, completions)
        if error:
            yield invalid(at, listed, f"error parsing succeededIndexes: {error}")
    if counted is None:
        return
    at, start = "succeededCount", "must be less than or equal to"
    if counted < 0:
        yield invalid(at, counted, "must be greater than or equal to 0")
    if counted > completions:
        detail = f"{start} {completions} (the number of specified completions)"
        yield invalid(at, counted, detail)
    if total is not None and counted > total:
        detail = f"{start} {total} (the number of indexes in the specified"
        yield invalid(at, counted, f"{detail} succeededIndexes field)")


_SUCCESS_POLICY = Rules(
    batch_v1.SuccessPolicy,
    Required(
        "rules",
        at_most(_MAX_RULES),
        detail="at least one rules must be specified when the successPolicy is"
        " specified",
    ),
    Each("rules", _success_rule),
)
"""The rules of a policy; their context is the Job's spec."""


def _success_policy(spec: batch_v1.JobSpec) -> Iterator[FieldError]:
    policy, at = spec.successPolicy, "successPolicy"
    if policy is None:
        return
    if spec.completionMode == _INDEXED:
        yield from check(_SUCCESS_POLICY, policy, spec, at)
        return
    rules = [
        {
            "SucceededIndexes": rule.succeededIndexes,
            "SucceededCount": rule.succeededCount,
        }
        for rule in policy.rules
    ]
    yield invalid(at, _go({"Rules": rules}), _NOT_INDEXED)


def _replacement(spec: batch_v1.JobSpec) -> Iterator[FieldError]:
    """Check the pod replacement policy, also against a failure policy."""
    policy = spec.podReplacementPolicy
    known = _REPLACEMENT[:1] if spec.podFailurePolicy is not None else _REPLACEMENT
    if policy is not None and policy not in known:
        yield not_supported("podReplacementPolicy", policy, known)
    pod = spec.template.spec
    if spec.podFailurePolicy is not None and pod and pod.restartPolicy == "OnFailure":
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        at = "template.spec.restartPolicy"
        yield invalid(at, pod.restartPolicy, detail, is_named=True)


_JOB_SPEC = Rules(
    batch_v1.JobSpec,
    IfSet("parallelism", _NOT_NEGATIVE),
    IfSet("completions", _NOT_NEGATIVE),
    IfSet("activeDeadlineSeconds", _NOT_NEGATIVE),
    IfSet("backoffLimit", _NOT_NEGATIVE),
    IfSet("ttlSecondsAfterFinished", _NOT_NEGATIVE),
    IfSet("backoffLimitPerIndex", _NOT_NEGATIVE),
    IfSet("maxFailedIndexes", _NOT_NEGATIVE),
    _index_limit,
    When(
        lambda context: context.version.managed_jobs,
        IfSet("managedBy", _manager),
    ),
    _completion_mode,
    _failure_policy,
    _success_policy,
    _replacement,
)


def _generated_labels(context: WorkloadContext) -> dict[str, str]:
    """Return the labels that a Job sets on its pods, except its uid."""
    is_prefixed = context.version.prefixed_job_labels
    return dict.fromkeys(_JOB_NAMES if is_prefixed else _JOB_NAMES[:1], context.name)


@in_context
def _generated_selector(
    spec: batch_v1.JobSpec, context: WorkloadContext
) -> Iterator[FieldError]:
    """Check a selector and labels that a Job generates."""
    if spec.manualSelector:
        return
    generated = _generated_labels(context)
    labels = {**generated, **_labels(spec.template)}
    is_prefixed = context.version.prefixed_job_labels
    taken = (*_JOB_UIDS, *_JOB_NAMES) if is_prefixed else (_JOB_UIDS[0], _JOB_NAMES[0])
    for key in taken:
        wanted = f"'{generated[key]}'" if key in generated else "the new Job's uid"
        if key in labels and labels[key] != generated.get(key):
            at = f"{_LABELS}[{key}]"
            yield invalid(at, _go_labels(labels), f"must be {wanted}")
    # The Job's own label is added to the written ones and would hide their absence.
    selector = spec.selector if context.has_selector else None
    if selector is not None and not _matches(selector, generated):
        shown = _go_selector(selector)
        yield invalid("selector", shown, "`selector` not auto-generated")


@in_context
def _selects_job_pods(
    spec: batch_v1.JobSpec, context: WorkloadContext
) -> Iterator[FieldError]:
    labels = _labels(spec.template)
    if not spec.manualSelector:
        labels = {**_generated_labels(context), **labels}
    selector = spec.selector if context.has_selector else None
    if selector is None:
        if spec.manualSelector:
            yield required("selector")
            yield invalid(_LABELS, _go_labels(labels), _MISMATCH)
        return
    wrong = check(SELECTOR, selector, at="selector")
    yield from wrong
    if not wrong and not _matches(selector, labels):
        yield invalid(_LABELS, _go_labels(labels), _MISMATCH)


@in_context
def _last_pod_name(job: batch_v1.Job, context: WorkloadContext) -> Iterator[FieldError]:
    completions = _completions(job.spec) if job.spec is not None else 1
    is_indexed = job.spec is not None and job.spec.completionMode == _INDEXED
    if not is_indexed or completions is None or completions <= 0 or not context.name:
        return
    last = f"{context.name}-{completions - 1}"
    if any(names.check_label(last)):
        detail = f"will not able to create pod with invalid DNS label: {last}"
        yield invalid("metadata.name", context.name, detail)


def _schedule(schedule: str) -> Iterator[FieldError]:
    if error := find_schedule_error(schedule):
        yield invalid("", schedule, error)
    if "TZ" in schedule:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid("", schedule, detail)


def _time_zone(zone: str) -> Iterator[FieldError]:
    """Check the name of a time zone; whether it exists depends on the cluster."""
    if not zone:
        yield invalid("", zone, "timeZone must be nil or non-empty string")
    elif any(
        part in {".", ".."}
        or part.startswith("-")
        or not _TIME_ZONE_PART.fullmatch(part)
        for part in zone.split("/")
    ):
        yield invalid("", zone, f"unknown time zone {zone}")
    elif zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in"
        yield invalid("", zone, f"{detail} https://www.iana.org/time-zones")


@in_context
def _no_selector(
    job: batch_v1.JobSpec, context: WorkloadContext
) -> Iterator[FieldError]:
    """Check that the Jobs of a CronJob have the selector that is generated."""
    if context.has_selector:
        shown = _go_selector(job.selector or meta_v1.LabelSelector())
        yield invalid("selector", shown, "`selector` will be auto-generated")
    if job.manualSelector:
        yield not_supported("manualSelector", value=True, choices=("nil", "false"))


@in_context
def _cron_job_name(
    _: batch_v1.CronJob, context: WorkloadContext
) -> Iterator[FieldError]:
    if names.byte_length(context.name) > _MAX_CRON_JOB:
        detail = f"must be no more than {_MAX_CRON_JOB} characters"
        yield invalid("metadata.name", context.name, detail)


_CRON_JOB = Rules(
    batch_v1.CronJobSpec,
    Required("schedule", _schedule),
    IfSet("startingDeadlineSeconds", _NOT_NEGATIVE),
    IfSet("timeZone", _time_zone),
    IfFilled("concurrencyPolicy", choice("Allow", "Forbid", "Replace")),
    Always(
        "jobTemplate",
        Section("spec", Rules(batch_v1.JobSpec, _JOB_SPEC, _no_selector)),
    ),
    IfSet("successfulJobsHistoryLimit", _NOT_NEGATIVE),
    IfSet("failedJobsHistoryLimit", _NOT_NEGATIVE),
)
_OWN: Mapping[type, Rules] = {
    apps_v1.DaemonSet: Rules(apps_v1.DaemonSet, Section("spec", _DAEMON_SET)),
    apps_v1.Deployment: Rules(apps_v1.Deployment, Section("spec", _DEPLOYMENT)),
    apps_v1.ReplicaSet: Rules(apps_v1.ReplicaSet, Section("spec", _REPLICA_SET)),
    apps_v1.StatefulSet: Rules(
        apps_v1.StatefulSet,
        When(lambda context: context.version.stateful_set_names, _set_name),
        Section("spec", _STATEFUL_SET),
    ),
    batch_v1.CronJob: Rules(
        batch_v1.CronJob, Section("spec", _CRON_JOB), _cron_job_name
    ),
    batch_v1.Job: Rules(
        batch_v1.Job,
        Section(
            "spec",
            Rules(batch_v1.JobSpec, _generated_selector, _JOB_SPEC, _selects_job_pods),
        ),
        _last_pod_name,
    ),
    core_v1.ReplicationController: Rules(
        core_v1.ReplicationController, Section("spec", _REPLICATION_CONTROLLER)
    ),
}
"""The rules of each kind, by its model; a PodTemplate has none of its own."""
