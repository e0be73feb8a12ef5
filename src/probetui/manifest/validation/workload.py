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
from collections.abc import Iterator, Mapping
from typing import Any

from lightkube.models import apps_v1, batch_v1, core_v1, meta_v1

from probetui.kubelet_rules import KubeletRules
from probetui.manifest.problem import quote
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    ApiWarning,
    FieldError,
    GoSyntax,
    forbidden,
    go_json,
    in_words_of,
    invalid,
    not_supported,
    required,
)
from probetui.manifest.validation.jobs import CRON_JOB, JOB, many_indexes
from probetui.manifest.validation.metadata import METADATA
from probetui.manifest.validation.rules import (
    Always,
    Errors,
    IfFilled,
    IfSet,
    Rules,
    Section,
    When,
    check,
    choice,
    in_context,
    valid,
)
from probetui.manifest.validation.scheduling import SELECTOR
from probetui.manifest.validation.selectors import (
    LABELS,
    MISMATCH,
    NOT_NEGATIVE,
    WorkloadContext,
    go_labels,
    go_selector,
    go_value,
    is_empty,
    matches,
    selects_template,
    template_labels,
)

_OF_THE_POD = frozenset({"metadata.name", "metadata.namespace"})
"""The fields of a template's pod that come from its workload and are checked there."""

_PERCENT = re.compile("[0-9]+%")
_NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g."
    " '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_WHOLE = 100
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_PROGRESS_SECONDS = 600
_ROLLING, _RECREATE, _ON_DELETE = "RollingUpdate", "Recreate", "OnDelete"
_POD_MANAGEMENT = ("OrderedReady", "Parallel")


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
            yield from many_indexes(spec, "spec")
        case batch_v1.CronJob(
            spec=batch_v1.CronJobSpec(
                jobTemplate=batch_v1.JobTemplateSpec(spec=batch_v1.JobSpec() as spec)
            )
        ):
            yield from many_indexes(spec, "spec.jobTemplate.spec")
        case apps_v1.StatefulSet(
            spec=apps_v1.StatefulSetSpec(revisionHistoryLimit=kept)
        ):
            if kept is not None and kept < 0 and rules.warns_of_revisions:
                start = "a negative value retains all historical revisions"
                text = f"{start}; a value >= 0 is recommended"
                yield ApiWarning("spec.revisionHistoryLimit", text)
        case _:
            pass


def _share_value(value: int | str) -> int:
    """Return the value of a number or percentage of pods, 0 for any other text."""
    if isinstance(value, int):
        return value
    text = value[:-1] if _PERCENT.fullmatch(value) else value
    return int(text) if _NUMBER.fullmatch(text) else 0


def _or(value: int | str | None, default: int | str) -> int | str:
    return default if value is None else value


def _go_share(value: int | str) -> GoSyntax:
    number, text = (0, value) if isinstance(value, str) else (value, "")
    kind = int(isinstance(value, str))
    shown = f"intstr.IntOrString{{Type:{kind}, IntVal:{number}, StrVal:{quote(text)}}}"
    return GoSyntax(shown, go_json(value))


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
    return go_value({"Type": kind, "RollingUpdate": fields})


_LABEL = valid(names.check_label)


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
    IfSet("replicas", NOT_NEGATIVE),
    selects_template("deployment"),
    _deployment_strategy,
    IfSet("minReadySeconds", NOT_NEGATIVE),
    IfSet("revisionHistoryLimit", NOT_NEGATIVE),
    IfSet("progressDeadlineSeconds", NOT_NEGATIVE),
    _progress_deadline,
)
_REPLICA_SET = Rules(
    apps_v1.ReplicaSetSpec,
    IfSet("replicas", NOT_NEGATIVE),
    IfSet("minReadySeconds", NOT_NEGATIVE),
    # Quirk, kept: the error about an empty selector names a deployment.
    selects_template("deployment"),
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
    IfSet("partition", NOT_NEGATIVE),
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
            yield invalid(at, go_value(fields), detail)
    elif kind == _ROLLING:
        if rolling is not None:
            yield from check(_ROLLING_STATEFUL_SET, rolling, context, at)
    else:
        shown = go_value({"Type": kind, "RollingUpdate": fields})
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
    IfSet("replicas", NOT_NEGATIVE),
    IfSet("minReadySeconds", NOT_NEGATIVE),
    IfSet("ordinals", IfSet("start", NOT_NEGATIVE)),
    When(
        lambda context: context.version.checks_service_name,
        IfFilled("serviceName", _LABEL),
    ),
    selects_template("statefulset", ""),
)


@in_context
def _selects_daemons(
    spec: apps_v1.DaemonSetSpec, context: WorkloadContext
) -> Iterator[FieldError]:
    wrong = check(SELECTOR, spec.selector, at="selector")
    yield from wrong
    labels, has_selector = template_labels(spec.template), context.has_selector
    if not has_selector or (not wrong and not matches(spec.selector, labels)):
        yield invalid(LABELS, go_labels(labels), MISMATCH)
    if has_selector and is_empty(spec.selector):
        detail = "empty selector is invalid for daemonset"
        yield invalid("selector", go_selector(spec.selector), detail)


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
    IfSet("minReadySeconds", NOT_NEGATIVE),
    _daemon_strategy,
    IfSet("revisionHistoryLimit", NOT_NEGATIVE),
)


def _any_selector(spec: core_v1.ReplicationControllerSpec) -> Iterator[FieldError]:
    if not spec.selector and not template_labels(spec.template):
        yield required("selector")


def _controlled_template(
    spec: core_v1.ReplicationControllerSpec,
) -> Iterator[FieldError]:
    labels = template_labels(spec.template)
    selector: Mapping[str, str] = spec.selector or labels
    if spec.template is None:
        yield required("template")
    elif any(labels.get(key) != value for key, value in selector.items()):
        yield invalid(LABELS, go_labels(labels), MISMATCH)


_REPLICATION_CONTROLLER = Rules(
    core_v1.ReplicationControllerSpec,
    IfSet("minReadySeconds", NOT_NEGATIVE),
    _any_selector,
    IfSet("replicas", NOT_NEGATIVE),
    _controlled_template,
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
    batch_v1.CronJob: CRON_JOB,
    batch_v1.Job: JOB,
    core_v1.ReplicationController: Rules(
        core_v1.ReplicationController, Section("spec", _REPLICATION_CONTROLLER)
    ),
}
"""The rules of each kind, by its model; a PodTemplate has none of its own."""
