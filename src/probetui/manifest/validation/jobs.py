"""The API server's rules for Jobs and CronJobs, their pod templates aside.

Source: pkg/apis/batch/validation/validation.go, v1.36.2; pkg/apis/batch/v1/
defaults.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lightkube.models import batch_v1, core_v1, meta_v1

from probetui.manifest.problem import quote
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    OMITTED,
    ApiWarning,
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from probetui.manifest.validation.rules import (
    Always,
    Check,
    Each,
    Errors,
    IfFilled,
    IfSet,
    Remembering,
    Required,
    Rules,
    Section,
    When,
    at_most,
    check,
    choice,
    in_context,
    must,
    valid,
)
from probetui.manifest.validation.schedule import find_schedule_error
from probetui.manifest.validation.scheduling import SELECTOR
from probetui.manifest.validation.selectors import (
    LABELS,
    MISMATCH,
    NOT_NEGATIVE,
    WorkloadContext,
    go_labels,
    go_selector,
    go_value,
    matches,
    template_labels,
)

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


def many_indexes(spec: batch_v1.JobSpec, path: str) -> Iterator[ApiWarning]:
    """Warn of an Indexed Job with more indexes and pods than can be tracked."""
    is_indexed = spec.completionMode == _INDEXED
    has_many = (spec.completions or 0) > _MAX_INDEXED
    if is_indexed and has_many and (spec.parallelism or 0) > _MAX_OF_MANY_INDEXES:
        start = "In Indexed Jobs with a number of completions higher than 10^5 and a"
        end = "parallelism higher than 10^4, Kubernetes might not be able to track"
        text = f"{start} {end} completedIndexes when a big number of indexes fail"
        yield ApiWarning(path, text)


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
        yield invalid("", go_value(values), "at least one value is required")
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
        yield invalid("", go_value(values), "must be ordered")


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
    yield invalid(at, go_value({"Rules": rules}), _NOT_INDEXED)


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
    IfSet("parallelism", NOT_NEGATIVE),
    IfSet("completions", NOT_NEGATIVE),
    IfSet("activeDeadlineSeconds", NOT_NEGATIVE),
    IfSet("backoffLimit", NOT_NEGATIVE),
    IfSet("ttlSecondsAfterFinished", NOT_NEGATIVE),
    IfSet("backoffLimitPerIndex", NOT_NEGATIVE),
    IfSet("maxFailedIndexes", NOT_NEGATIVE),
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
    labels = {**generated, **template_labels(spec.template)}
    is_prefixed = context.version.prefixed_job_labels
    taken = (*_JOB_UIDS, *_JOB_NAMES) if is_prefixed else (_JOB_UIDS[0], _JOB_NAMES[0])
    for key in taken:
        wanted = f"'{generated[key]}'" if key in generated else "the new Job's uid"
        if key in labels and labels[key] != generated.get(key):
            at = f"{LABELS}[{key}]"
            yield invalid(at, go_labels(labels), f"must be {wanted}")
    # The Job's own label is added to the written ones and would hide their absence.
    selector = spec.selector if context.has_selector else None
    if selector is not None and not matches(selector, generated):
        shown = go_selector(selector)
        yield invalid("selector", shown, "`selector` not auto-generated")


@in_context
def _selects_job_pods(
    spec: batch_v1.JobSpec, context: WorkloadContext
) -> Iterator[FieldError]:
    labels = template_labels(spec.template)
    if not spec.manualSelector:
        labels = {**_generated_labels(context), **labels}
    selector = spec.selector if context.has_selector else None
    if selector is None:
        if spec.manualSelector:
            yield required("selector")
            yield invalid(LABELS, go_labels(labels), MISMATCH)
        return
    wrong = check(SELECTOR, selector, at="selector")
    yield from wrong
    if not wrong and not matches(selector, labels):
        yield invalid(LABELS, go_labels(labels), MISMATCH)


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
        shown = go_selector(job.selector or meta_v1.LabelSelector())
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
    IfSet("startingDeadlineSeconds", NOT_NEGATIVE),
    IfSet("timeZone", _time_zone),
    IfFilled("concurrencyPolicy", choice("Allow", "Forbid", "Replace")),
    Always(
        "jobTemplate",
        Section("spec", Rules(batch_v1.JobSpec, _JOB_SPEC, _no_selector)),
    ),
    IfSet("successfulJobsHistoryLimit", NOT_NEGATIVE),
    IfSet("failedJobsHistoryLimit", NOT_NEGATIVE),
)
CRON_JOB = Rules(batch_v1.CronJob, Section("spec", _CRON_JOB), _cron_job_name)
JOB = Rules(
    batch_v1.Job,
    Section(
        "spec",
        Rules(batch_v1.JobSpec, _generated_selector, _JOB_SPEC, _selects_job_pods),
    ),
    _last_pod_name,
)
