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
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from lightkube.models import apps_v1, batch_v1, core_v1, meta_v1
from msgspec import Struct

from probetui.kubelet_rules import KubeletRules
from probetui.manifest.problem import quote
from probetui.manifest.schema import empty_object
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
from probetui.manifest.validation.rules import Context, check
from probetui.manifest.validation.schedule import find_schedule_error
from probetui.manifest.validation.scheduling import SELECTOR, selector_fields

_Model = TypeVar("_Model", bound=Struct)

_OF_THE_POD = frozenset({"metadata.name", "metadata.namespace"})
"""The fields of a template's pod that come from its workload and are checked there."""

_MISMATCH = "`selector` does not match template `labels`"
_LABELS = "spec.template.metadata.labels"
_PERCENT = re.compile("[0-9]+%")
_NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g."
    " '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_WHOLE = 100
_PROGRESS_SECONDS = 600
_ROLLING, _RECREATE, _ON_DELETE = "RollingUpdate", "Recreate", "OnDelete"
_POD_MANAGEMENT = ("OrderedReady", "Parallel")
_RETENTION = ("Retain", "Delete")
_CONCURRENCY = ("Allow", "Forbid", "Replace")
_COMPLETION_MODES = ("NonIndexed", "Indexed")
_INDEXED = _COMPLETION_MODES[1]
_REPLACEMENT = ("Failed", "TerminatingOrFailed")
_FAILURE_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_EXIT_CODE_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
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


class _Given(NamedTuple):
    """The rules of the version, and whether there is a selector."""

    rules: KubeletRules
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
    own = _OWN.get(type(workload))
    errors = [
        *(
            error
            for error in check(METADATA, metadata, Context(rules), "metadata")
            if error.field not in _OF_THE_POD
        ),
        *(own(workload, _Given(rules, has_selector)) if own is not None else ()),
    ]
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


def _deployment(workload: apps_v1.Deployment, given: _Given) -> Iterator[FieldError]:
    spec = _spec(workload, apps_v1.DeploymentSpec)
    yield from _not_negative(spec, "replicas")
    yield from _selector(
        spec.selector, spec.template, "deployment", has_selector=given.has_selector
    )
    strategy = spec.strategy or apps_v1.DeploymentStrategy()
    rolling, kind = strategy.rollingUpdate, strategy.type or _ROLLING
    if kind == _RECREATE:
        if rolling is not None:
            detail = f"may not be specified when strategy `type` is '{_RECREATE}'"
            yield forbidden("spec.strategy.rollingUpdate", detail)
    elif kind == _ROLLING:
        yield from _rolling_deployment(rolling or apps_v1.RollingUpdateDeployment())
    else:
        shown = _go_strategy(kind, rolling)
        choices = (_RECREATE, _ROLLING)
        yield not_supported("spec.strategy", shown, choices)
    yield from _not_negative(spec, "minReadySeconds", "revisionHistoryLimit")
    yield from _not_negative(spec, "progressDeadlineSeconds")
    deadline = spec.progressDeadlineSeconds
    deadline = _PROGRESS_SECONDS if deadline is None else deadline
    if deadline <= (spec.minReadySeconds or 0):
        detail = "must be greater than minReadySeconds"
        yield invalid("spec.progressDeadlineSeconds", deadline, detail)


def _rolling_deployment(
    rolling: apps_v1.RollingUpdateDeployment,
) -> Iterator[FieldError]:
    path = "spec.strategy.rollingUpdate"
    unavailable, surge = (
        _or(rolling.maxUnavailable, "25%"),
        _or(rolling.maxSurge, "25%"),
    )
    yield from _share(unavailable, f"{path}.maxUnavailable")
    yield from _share(surge, f"{path}.maxSurge")
    if not _share_value(unavailable) and not _share_value(surge):
        detail = "may not be 0 when `maxSurge` is 0"
        yield invalid(f"{path}.maxUnavailable", _go_share(unavailable), detail)
    yield from _at_most_all(unavailable, f"{path}.maxUnavailable")


def _replica_set(workload: apps_v1.ReplicaSet, given: _Given) -> Iterator[FieldError]:
    spec = _spec(workload, apps_v1.ReplicaSetSpec)
    yield from _not_negative(spec, "replicas", "minReadySeconds")
    template = spec.template or core_v1.PodTemplateSpec()
    # Quirk, kept: the error about an empty selector names a deployment.
    yield from _selector(
        spec.selector, template, "deployment", has_selector=given.has_selector
    )


def _stateful_set(workload: apps_v1.StatefulSet, given: _Given) -> Iterator[FieldError]:
    spec = _spec(workload, apps_v1.StatefulSetSpec)
    name = (workload.metadata and workload.metadata.name) or ""
    # A malformed name is reported for the pod.
    if given.rules.stateful_set_names and not any(names.check_subdomain(name)):
        yield from names.invalid_names("metadata.name", name, names.check_label(name))
    policy = spec.podManagementPolicy or _POD_MANAGEMENT[0]
    if policy not in _POD_MANAGEMENT:
        detail = " or ".join(f"'{one}'" for one in _POD_MANAGEMENT)
        yield invalid(
            "spec.podManagementPolicy", policy, f"must be {detail}", is_named=True
        )
    yield from _stateful_strategy(
        spec.updateStrategy or apps_v1.StatefulSetUpdateStrategy(), given.rules
    )
    retention = spec.persistentVolumeClaimRetentionPolicy
    for name in ("whenDeleted", "whenScaled") if retention is not None else ():
        value = getattr(retention, name) or _RETENTION[0]
        if value not in _RETENTION:
            at = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            yield not_supported(at, value, _RETENTION)
    yield from _not_negative(spec, "replicas", "minReadySeconds")
    if spec.ordinals is not None:
        yield from _not_negative(spec.ordinals, "start", path="spec.ordinals")
    if spec.serviceName and given.rules.checks_service_name:
        errors = names.check_label(spec.serviceName)
        yield from names.invalid_names("spec.serviceName", spec.serviceName, errors)
    yield from _selector(
        spec.selector, spec.template, "statefulset", "", has_selector=given.has_selector
    )


def _stateful_strategy(
    strategy: apps_v1.StatefulSetUpdateStrategy, rules: KubeletRules
) -> Iterator[FieldError]:
    path, rolling = "spec.updateStrategy", strategy.rollingUpdate
    kind = strategy.type or _ROLLING
    unavailable, fields = None, None
    if rolling is not None:
        if rules.several_unavailable:
            unavailable = rolling.maxUnavailable
        fields = {"Partition": rolling.partition or 0, "MaxUnavailable": unavailable}
    if kind == _ON_DELETE:
        if fields is not None:
            detail = f"only allowed for updateStrategy '{_ROLLING}'"
            yield invalid(f"{path}.rollingUpdate", _go(fields), detail)
    elif kind == _ROLLING:
        if rolling is not None:
            yield from _not_negative(rolling, "partition", path=f"{path}.rollingUpdate")
        if unavailable is not None:
            at = f"{path}.rollingUpdate.maxUnavailable"
            yield from _share(unavailable, at)
            if not _share_value(unavailable):
                yield invalid(at, _go_share(unavailable), "cannot be 0")
            yield from _at_most_all(unavailable, at)
    else:
        detail = f"must be '{_ROLLING}' or '{_ON_DELETE}'"
        yield invalid(path, _go({"Type": kind, "RollingUpdate": fields}), detail)


def _daemon_set(workload: apps_v1.DaemonSet, given: _Given) -> Iterator[FieldError]:
    spec = _spec(workload, apps_v1.DaemonSetSpec)
    wrong = check(SELECTOR, spec.selector, at="spec.selector")
    yield from wrong
    labels = _labels(spec.template)
    if not given.has_selector or (not wrong and not _matches(spec.selector, labels)):
        yield invalid(_LABELS, _go_labels(labels), _MISMATCH)
    if given.has_selector and _is_empty(spec.selector):
        detail = "empty selector is invalid for daemonset"
        yield invalid("spec.selector", _go_selector(spec.selector), detail)
    yield from _not_negative(spec, "minReadySeconds")
    strategy = spec.updateStrategy or apps_v1.DaemonSetUpdateStrategy()
    kind = strategy.type or _ROLLING
    if kind == _ROLLING:
        yield from _rolling_daemon_set(
            strategy.rollingUpdate or apps_v1.RollingUpdateDaemonSet()
        )
    elif kind != _ON_DELETE:
        shown = _go_strategy(kind, strategy.rollingUpdate)
        yield not_supported("spec.updateStrategy", shown, (_ROLLING, _ON_DELETE))
    yield from _not_negative(spec, "revisionHistoryLimit")


def _rolling_daemon_set(
    rolling: apps_v1.RollingUpdateDaemonSet,
) -> Iterator[FieldError]:
    path = "spec.updateStrategy.rollingUpdate"
    unavailable, surge = _or(rolling.maxUnavailable, 1), _or(rolling.maxSurge, 0)
    for is_right in (_share, _at_most_all):
        yield from is_right(unavailable, f"{path}.maxUnavailable")
        yield from is_right(surge, f"{path}.maxSurge")
    if _share_value(unavailable) and _share_value(surge):
        detail = "may not be set when maxUnavailable is non-zero"
        yield invalid(f"{path}.maxSurge", _go_share(surge), detail)
    elif not _share_value(unavailable) and not _share_value(surge):
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def _replication_controller(
    workload: core_v1.ReplicationController,
    given: _Given,  # noqa: ARG001  # of a table
) -> Iterator[FieldError]:
    spec = workload.spec or core_v1.ReplicationControllerSpec()
    template = spec.template
    labels = _labels(template)
    selector: Mapping[str, str] = spec.selector or labels
    yield from _not_negative(spec, "minReadySeconds")
    if not selector:
        yield required("spec.selector")
    yield from _not_negative(spec, "replicas")
    if template is None:
        yield required("spec.template")
    elif any(labels.get(key) != value for key, value in selector.items()):
        yield invalid(_LABELS, _go_labels(labels), _MISMATCH)


def _job(workload: batch_v1.Job, given: _Given) -> Iterator[FieldError]:
    spec = _spec(workload, batch_v1.JobSpec)
    name = (workload.metadata and workload.metadata.name) or ""
    prefixed = given.rules.prefixed_job_labels
    generated = dict.fromkeys(_JOB_NAMES if prefixed else _JOB_NAMES[:1], name)
    selector = spec.selector if given.has_selector else None
    labels = _labels(spec.template)
    if not spec.manualSelector:
        labels = {**generated, **labels}
        yield from _taken_labels(labels, generated, prefixed=prefixed)
        # The Job's own label is added to the written ones and would hide their absence.
        if selector is not None and not _matches(selector, generated):
            detail = "`selector` not auto-generated"
            yield invalid("spec.selector", _go_selector(selector), detail)
    yield from _job_spec(spec, "spec", given.rules)
    if selector is None and spec.manualSelector:
        yield required("spec.selector")
        yield invalid(_LABELS, _go_labels(labels), _MISMATCH)
    elif selector is not None:
        wrong = check(SELECTOR, selector, at="spec.selector")
        yield from wrong
        if not wrong and not _matches(selector, labels):
            yield invalid(_LABELS, _go_labels(labels), _MISMATCH)
    completions = _completions(spec)
    if spec.completionMode == _INDEXED and completions is not None and completions > 0:
        last = f"{name}-{completions - 1}"
        if name and any(names.check_label(last)):
            detail = f"will not able to create pod with invalid DNS label: {last}"
            yield invalid("metadata.name", name, detail)


def _taken_labels(
    labels: Mapping[str, str], generated: Mapping[str, str], *, prefixed: bool
) -> Iterator[FieldError]:
    """Check labels of the template that a Job sets on its pods."""
    for key in (*_JOB_UIDS, *_JOB_NAMES) if prefixed else (_JOB_UIDS[0], _JOB_NAMES[0]):
        wanted = f"'{generated[key]}'" if key in generated else "the new Job's uid"
        if key in labels and labels[key] != generated.get(key):
            yield invalid(f"{_LABELS}[{key}]", _go_labels(labels), f"must be {wanted}")


def _cron_job(workload: batch_v1.CronJob, given: _Given) -> Iterator[FieldError]:
    spec = _spec(workload, batch_v1.CronJobSpec)
    yield from _schedule(spec.schedule)
    yield from _not_negative(spec, "startingDeadlineSeconds")
    if spec.timeZone is not None:
        yield from _time_zone(spec.timeZone, "spec.timeZone")
    policy = spec.concurrencyPolicy or _CONCURRENCY[0]
    if policy not in _CONCURRENCY:
        yield not_supported("spec.concurrencyPolicy", policy, _CONCURRENCY)
    path = "spec.jobTemplate.spec"
    job = spec.jobTemplate.spec or _empty(batch_v1.JobSpec)
    yield from _job_spec(job, path, given.rules)
    if given.has_selector:
        shown = _go_selector(job.selector or meta_v1.LabelSelector())
        yield invalid(f"{path}.selector", shown, "`selector` will be auto-generated")
    if job.manualSelector:
        yield not_supported(
            f"{path}.manualSelector", value=True, choices=("nil", "false")
        )
    yield from _not_negative(
        spec, "successfulJobsHistoryLimit", "failedJobsHistoryLimit"
    )
    name = (workload.metadata and workload.metadata.name) or ""
    if names.byte_length(name) > _MAX_CRON_JOB:
        detail = f"must be no more than {_MAX_CRON_JOB} characters"
        yield invalid("metadata.name", name, detail)


def _schedule(schedule: str) -> Iterator[FieldError]:
    path = "spec.schedule"
    if not schedule:
        yield required(path)
        return
    if error := find_schedule_error(schedule):
        yield invalid(path, schedule, error)
    if "TZ" in schedule:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid(path, schedule, detail)


def _time_zone(zone: str, path: str) -> Iterator[FieldError]:
    """Check the name of a time zone; whether it exists depends on the cluster."""
    if not zone:
        yield invalid(path, zone, "timeZone must be nil or non-empty string")
    elif any(
        part in {".", ".."}
        or part.startswith("-")
        or not _TIME_ZONE_PART.fullmatch(part)
        for part in zone.split("/")
    ):
        yield invalid(path, zone, f"unknown time zone {zone}")
    elif zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in"
        yield invalid(path, zone, f"{detail} https://www.iana.org/time-zones")


def _completions(spec: batch_v1.JobSpec) -> int | None:
    """Return the completions, 1 if the parallelism is missing, too."""
    if spec.completions is None and spec.parallelism is None:
        return 1
    return spec.completions


def _job_spec(
    spec: batch_v1.JobSpec, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    yield from _not_negative(
        spec, "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
        "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes",
        path=path,
    )  # fmt: skip
    if spec.maxFailedIndexes is not None and spec.backoffLimitPerIndex is None:
        detail = "when maxFailedIndexes is specified"
        yield required(f"{path}.backoffLimitPerIndex", detail)
    if rules.managed_jobs:
        yield from _manager(spec.managedBy, f"{path}.managedBy")
    mode = _COMPLETION_MODES[0] if spec.completionMode is None else spec.completionMode
    if mode not in _COMPLETION_MODES:
        yield not_supported(f"{path}.completionMode", mode, _COMPLETION_MODES)
    elif mode == _INDEXED:
        yield from _indexed(spec, path)
    else:
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            value = getattr(spec, name)
            if value is not None:
                yield invalid(f"{path}.{name}", value, _NOT_INDEXED)
    if spec.podFailurePolicy is not None:
        yield from _failure_policy(spec, spec.podFailurePolicy, path)
    if spec.successPolicy is not None:
        yield from _success_policy(spec, spec.successPolicy, f"{path}.successPolicy")
    yield from _replacement(spec, path)


def _replacement(spec: batch_v1.JobSpec, path: str) -> Iterator[FieldError]:
    """Check the pod replacement policy, also against a failure policy."""
    policy = spec.podReplacementPolicy
    known = _REPLACEMENT[:1] if spec.podFailurePolicy is not None else _REPLACEMENT
    if policy is not None and policy not in known:
        yield not_supported(f"{path}.podReplacementPolicy", policy, known)
    pod = spec.template.spec
    if spec.podFailurePolicy is not None and pod and pod.restartPolicy == "OnFailure":
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        at = f"{path}.template.spec.restartPolicy"
        yield invalid(at, pod.restartPolicy, detail, is_named=True)


def _manager(name: str | None, path: str) -> Iterator[FieldError]:
    """Check the name of a Job's custom controller.

    Source: k8s.io/apimachinery v0.36.2, pkg/util/validation/validation.go,
    IsDomainPrefixedPath.
    """
    if name is None:
        return
    if not name:
        yield required(path)
        return
    domain, _, rest = name.partition("/")
    if not (domain and rest):
        detail = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield invalid(path, name, detail)
    else:
        yield from names.invalid_names(path, domain, names.check_subdomain(domain))
        if not re.fullmatch(_MANAGER_PATH, rest):
            detail = f"Invalid path (regex used for validation is '{_MANAGER_PATH}')"
            yield invalid(path, rest, detail)
    if names.byte_length(name) > _MAX_MANAGER:
        yield too_long(path, _MAX_MANAGER)


def _indexed(spec: batch_v1.JobSpec, path: str) -> Iterator[FieldError]:
    completions, failed = _completions(spec), spec.maxFailedIndexes
    parallel = spec.parallelism
    if completions is None:
        yield required(f"{path}.completions", f"when completion mode is {_INDEXED}")
    start = "must be less than or equal to"
    if parallel is not None and parallel > _MAX_INDEXED:
        detail = f"{start} {_MAX_INDEXED} when completion mode is {_INDEXED}"
        yield invalid(f"{path}.parallelism", parallel, detail)
    at = f"{path}.maxFailedIndexes"
    if completions is not None and failed is not None and failed > completions:
        yield invalid(at, failed, f"{start} completions")
    if failed is not None and failed > _MAX_INDEXED:
        yield invalid(at, failed, f"{start} {_MAX_INDEXED}")
    if (completions or 0) <= _MAX_INDEXED or spec.backoffLimitPerIndex is None:
        return
    if failed is None:
        yield required(
            at, f"must be specified when completions is above {_MAX_INDEXED}"
        )
    for name, value in (("parallelism", parallel), ("maxFailedIndexes", failed)):
        if value is not None and value > _MAX_OF_MANY_INDEXES:
            detail = (
                f"{start} {_MAX_OF_MANY_INDEXES} when completions are above"
                f" {_MAX_INDEXED} and used with backoff limit per index"
            )
            yield invalid(f"{path}.{name}", value, detail)


def _failure_policy(
    spec: batch_v1.JobSpec, policy: batch_v1.PodFailurePolicy, path: str
) -> Iterator[FieldError]:
    at = f"{path}.podFailurePolicy.rules"
    if len(policy.rules) > _MAX_RULES:
        yield too_many(at, len(policy.rules), _MAX_RULES)
    pod = spec.template.spec or core_v1.PodSpec(containers=[])
    known = {
        container.name for container in (*pod.containers, *(pod.initContainers or ()))
    }
    for index, rule in enumerate(policy.rules):
        yield from _failure_rule(spec, rule, f"{at}[{index}]", known)


def _failure_rule(
    spec: batch_v1.JobSpec,
    rule: batch_v1.PodFailurePolicyRule,
    path: str,
    known: Iterable[str],
) -> Iterator[FieldError]:
    if rule.action == "FailIndex":
        if spec.backoffLimitPerIndex is None:
            detail = "requires the backoffLimitPerIndex to be set"
            yield invalid(f"{path}.action", rule.action, detail, is_named=True)
    else:
        yield from _one_of(rule.action, _FAILURE_ACTIONS, f"{path}.action")
    codes, conditions = rule.onExitCodes, rule.onPodConditions
    if codes is not None:
        yield from _exit_codes(codes, f"{path}.onExitCodes", known)
    if len(conditions or ()) > _MAX_PATTERNS:
        at = f"{path}.onPodConditions"
        yield too_many(at, len(conditions or ()), _MAX_PATTERNS)
    for index, pattern in enumerate(conditions or ()):
        at = f"{path}.onPodConditions[{index}]"
        errors = names.check_qualified_name(pattern.type)
        yield from names.invalid_names(f"{at}.type", pattern.type, errors)
        yield from _one_of(pattern.status or "True", _STATUSES, f"{at}.status")
    if (codes is None) is not bool(conditions):
        which = "both" if conditions else "one of"
        end = "not supported" if conditions else "required"
        detail = f"specifying {which} OnExitCodes and OnPodConditions is {end}"
        yield invalid(path, OMITTED, detail)


def _exit_codes(
    codes: batch_v1.PodFailurePolicyOnExitCodesRequirement,
    path: str,
    known: Iterable[str],
) -> Iterator[FieldError]:
    yield from _one_of(codes.operator, _EXIT_CODE_OPERATORS, f"{path}.operator")
    if codes.containerName is not None and codes.containerName not in known:
        detail = (
            "must be one of the container or initContainer names in the pod template"
        )
        yield invalid(f"{path}.containerName", codes.containerName, detail)
    at, values = f"{path}.values", codes.values
    if not values:
        yield invalid(at, _go(values), "at least one value is required")
    elif len(values) > _MAX_EXIT_CODES:
        yield too_many(at, len(values), _MAX_EXIT_CODES)
    seen: set[int] = set()
    for index, value in enumerate(values):
        if codes.operator == "In" and value == 0:
            yield invalid(f"{at}[{index}]", value, "must not be 0 for the In operator")
        if value in seen:
            yield duplicate(f"{at}[{index}]", value)
        seen.add(value)
    if values != sorted(values):
        yield invalid(at, _go(values), "must be ordered")


def _success_policy(
    spec: batch_v1.JobSpec, policy: batch_v1.SuccessPolicy, path: str
) -> Iterator[FieldError]:
    if spec.completionMode != _INDEXED:
        rules = [
            {
                "SucceededIndexes": rule.succeededIndexes,
                "SucceededCount": rule.succeededCount,
            }
            for rule in policy.rules
        ]
        yield invalid(path, _go({"Rules": rules}), _NOT_INDEXED)
        return
    at = f"{path}.rules"
    if not policy.rules:
        detail = "at least one rules must be specified when the successPolicy is"
        yield required(at, f"{detail} specified")
    if len(policy.rules) > _MAX_RULES:
        yield too_many(at, len(policy.rules), _MAX_RULES)
    for index, rule in enumerate(policy.rules):
        yield from _success_rule(rule, _completions(spec) or 0, f"{at}[{index}]")


def _success_rule(
    rule: batch_v1.SuccessPolicyRule, completions: int, path: str
) -> Iterator[FieldError]:
    counted, listed, total = rule.succeededCount, rule.succeededIndexes, None
    if counted is None and listed is None:
        detail = "at least one of succeededCount or succeededIndexes must be specified"
        yield required(path, detail)
    if listed is not None:
        at = f"{path}.succeededIndexes"
        if names.byte_length(listed) > _MAX_INDEXES_BYTES:
            yield too_long(at, _MAX_INDEXES_BYTES)
        total, error = _count_indexes(listed, completions)
        if error:
            yield invalid(at, listed, f"error parsing succeededIndexes: {error}")
    if counted is None:
        return
    yield from _not_negative(rule, "succeededCount", path=path)
    at, start = f"{path}.succeededCount", "must be less than or equal to"
    if counted > completions:
        detail = f"{start} {completions} (the number of specified completions)"
        yield invalid(at, counted, detail)
    if total is not None and counted > total:
        detail = f"{start} {total} (the number of indexes in the specified"
        yield invalid(at, counted, f"{detail} succeededIndexes field)")


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


def _selector(
    selector: meta_v1.LabelSelector,
    template: core_v1.PodTemplateSpec,
    kind: str,
    unreadable: str = "invalid label selector",
    *,
    has_selector: bool,
) -> Iterator[FieldError]:
    """Check a selector, and that it selects the pods of the template."""
    path, labels = "spec.selector", _labels(template)
    if not has_selector:
        yield required(path)
        yield invalid(_LABELS, _go_labels(labels), _MISMATCH)
        return
    wrong = check(SELECTOR, selector, at=path)
    yield from wrong
    if _is_empty(selector):
        detail = f"empty selector is invalid for {kind}"
        yield invalid(path, _go_selector(selector), detail)
    if wrong:
        yield invalid(path, _go_selector(selector), unreadable)
    elif not _matches(selector, labels):
        yield invalid(_LABELS, _go_labels(labels), _MISMATCH)


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


def _not_negative(value: Any, *fields: str, path: str = "spec") -> Iterator[FieldError]:
    for name in fields:
        number = getattr(value, name)
        if number is not None and number < 0:
            detail = "must be greater than or equal to 0"
            yield invalid(f"{path}.{name}", number, detail)


def _one_of(value: str, choices: tuple[str, ...], path: str) -> Iterator[FieldError]:
    if not value:
        listed = " ".join(quote(choice) for choice in choices)
        yield required(path, f"valid values: [{listed}]")
    elif value not in choices:
        yield not_supported(path, value, choices)


def _share(value: int | str, path: str) -> Iterator[FieldError]:
    """Check a number or percentage of pods."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            yield invalid(path, _go_share(value), _NO_PERCENT)
    elif value < 0:
        yield invalid(path, value, "must be greater than or equal to 0")


def _at_most_all(value: int | str, path: str) -> Iterator[FieldError]:
    is_percent = isinstance(value, str) and _PERCENT.fullmatch(value)
    if is_percent and _share_value(value) > _WHOLE:
        yield invalid(path, _go_share(value), "must not be greater than 100%")


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


def _spec(workload: Any, model: type[_Model]) -> _Model:
    """Return a workload's spec, an empty one if it has none."""
    spec: _Model | None = workload.spec
    return spec if spec is not None else _empty(model)


def _empty(model: type[_Model]) -> _Model:
    return cast("_Model", empty_object(model))


_OWN: Mapping[type, Callable[[Any, _Given], Iterator[FieldError]]] = {
    apps_v1.DaemonSet: _daemon_set,
    apps_v1.Deployment: _deployment,
    apps_v1.ReplicaSet: _replica_set,
    apps_v1.StatefulSet: _stateful_set,
    batch_v1.CronJob: _cron_job,
    batch_v1.Job: _job,
    core_v1.ReplicationController: _replication_controller,
}
"""The rules of each kind, by its model; a PodTemplate has none of its own."""
