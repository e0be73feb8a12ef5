"""What an API server refuses above a pod template, in its words."""

from __future__ import annotations

import pytest

from probetui.kubelet_rules import rules_of
from probetui.manifest.decode import decode
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import Manifests
from probetui.manifest.validation.schedule import find_schedule_error
from probetui.manifest.validation.workload import validate_workload
from probetui.manifest.workloads import WorkloadObject, classify_object
from probetui.manifest.yaml.parser import SourceFile, parse_yaml

TEMPLATE = (
    "{metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: x}],"
    " restartPolicy: POLICY}}"
)
VERSIONS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "ReplicationController": "v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}
SELECTOR = "selector: {matchLabels: {app: a}}"
MISMATCH = (
    'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not'
    " match template `labels`"
)
NEGATIVE = "must be greater than or equal to 0"


def workload_yaml(kind: str, spec: str, name: str = "web") -> str:
    policy = "Never" if kind in {"Job", "CronJob"} else "Always"
    template = f"template: {TEMPLATE.replace('POLICY', policy)}"
    if kind == "CronJob":
        own, _, job = spec.partition("|")
        inner = ", ".join(filter(None, [template, job]))
        spec = ", ".join(filter(None, [own, f"jobTemplate: {{spec: {{{inner}}}}}"]))
    else:
        spec = ", ".join(filter(None, [template, spec]))
    return (
        f"apiVersion: {VERSIONS[kind]}\nkind: {kind}\nmetadata: {{name: {name}}}\n"
        f"spec: {{{spec}}}\n"
    )


def messages(text: str, version: str = "1.36") -> list[str]:
    (document,) = parse_yaml(SourceFile("a.yaml", text)).documents
    found = classify_object(document.root)
    assert isinstance(found, WorkloadObject)
    decoded = decode(found.node, found.workload.model, version=version)
    assert decoded.problems == ()
    errors = validate_workload(
        decoded.value, rules_of(version), has_selector=found.has_selector
    )
    return [error.message for error in errors]


@pytest.mark.parametrize(
    "kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"]
)
class TestSelectors:
    def test_one_that_selects_the_template_is_taken(self, kind: str) -> None:
        assert messages(workload_yaml(kind, SELECTOR)) == []

    def test_it_is_missing(self, kind: str) -> None:
        needed = [] if kind == "DaemonSet" else ["spec.selector: Required value"]

        assert messages(workload_yaml(kind, "")) == [*needed, MISMATCH]

    def test_it_is_empty(self, kind: str) -> None:
        # Quirk: a ReplicaSet's is called that of a deployment.
        name = "deployment" if kind == "ReplicaSet" else kind.lower()

        assert messages(workload_yaml(kind, "selector: {}")) == [
            f"spec.selector: Invalid value: {{}}: empty selector is invalid for {name}"
        ]

    @pytest.mark.parametrize(
        "selector",
        [
            "matchLabels: {app: b}",
            "matchExpressions: [{key: app, operator: NotIn, values: [a]}]",
            "matchExpressions: [{key: app, operator: DoesNotExist}]",
            "matchExpressions: [{key: tier, operator: Exists}]",
            "matchExpressions: [{key: app, operator: In, values: [b, c]}]",
        ],
    )
    def test_it_does_not_select_the_template(self, kind: str, selector: str) -> None:
        found = messages(workload_yaml(kind, f"selector: {{{selector}}}"))

        assert found == [MISMATCH]

    def test_it_is_malformed(self, kind: str) -> None:
        selector = "selector: {matchExpressions: [{key: app, operator: Is}]}"
        value = '{"matchExpressions":[{"key":"app","operator":"Is"}]}'
        whole = {
            "DaemonSet": [],
            "StatefulSet": [f"spec.selector: Invalid value: {value}"],
        }.get(kind, [f"spec.selector: Invalid value: {value}: invalid label selector"])

        assert messages(workload_yaml(kind, selector)) == [
            (
                'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a'
                " valid selector operator"
            ),
            *whole,
        ]


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        (
            "Deployment",
            f"{SELECTOR}, replicas: -1, minReadySeconds: -2, revisionHistoryLimit: -3",
            [
                f"spec.replicas: Invalid value: -1: {NEGATIVE}",
                f"spec.minReadySeconds: Invalid value: -2: {NEGATIVE}",
                f"spec.revisionHistoryLimit: Invalid value: -3: {NEGATIVE}",
            ],
        ),
        (
            "Deployment",
            f"{SELECTOR}, strategy: {{type: Blue}}",
            [
                (
                    "spec.strategy: Unsupported value:"
                    ' {"Type":"Blue","RollingUpdate":null}: supported values:'
                    ' "Recreate", "RollingUpdate"'
                )
            ],
        ),
        (
            "Deployment",
            f"{SELECTOR}, strategy: {{type: Recreate, rollingUpdate: {{}}}}",
            [
                (
                    "spec.strategy.rollingUpdate: Forbidden: may not be specified when"
                    " strategy `type` is 'Recreate'"
                )
            ],
        ),
        (
            "Deployment",
            (
                f"{SELECTOR}, strategy: {{rollingUpdate: {{maxSurge: 0, maxUnavailable:"
                " 0%}}"
            ),
            [
                (
                    "spec.strategy.rollingUpdate.maxUnavailable: Invalid value:"
                    ' "0%": may'
                    " not be 0 when `maxSurge` is 0"
                )
            ],
        ),
        (
            "Deployment",
            (
                f"{SELECTOR}, strategy: {{rollingUpdate: {{maxSurge: -1,"
                f" maxUnavailable:"
                " 101%}}"
            ),
            [
                f"spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: {NEGATIVE}",
                (
                    'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%":'
                    " must not be greater than 100%"
                ),
            ],
        ),
        (
            "Deployment",
            f"{SELECTOR}, strategy: {{rollingUpdate: {{maxSurge: half}}}}",
            [
                (
                    'spec.strategy.rollingUpdate.maxSurge: Invalid value: "half": a'
                    " valid"
                    " percent string must be a numeric string followed by an ending '%'"
                    " (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
                )
            ],
        ),
        (
            "Deployment",
            f"{SELECTOR}, minReadySeconds: 600",
            [
                (
                    "spec.progressDeadlineSeconds: Invalid value: 600: must be greater"
                    " than minReadySeconds"
                )
            ],
        ),
        (
            "StatefulSet",
            f"{SELECTOR}, podManagementPolicy: Any, ordinals: {{start: -1}}",
            [
                (
                    'spec.podManagementPolicy: Invalid value: "Any": must be'
                    " 'OrderedReady' or 'Parallel'"
                ),
                f"spec.ordinals.start: Invalid value: -1: {NEGATIVE}",
            ],
        ),
        (
            "StatefulSet",
            (
                f"{SELECTOR}, updateStrategy: {{type: OnDelete, rollingUpdate:"
                " {partition: 1}}"
            ),
            [
                (
                    'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,'
                    '"MaxUnavailable":null}: only allowed for updateStrategy'
                    " 'RollingUpdate'"
                )
            ],
        ),
        (
            "StatefulSet",
            f"{SELECTOR}, persistentVolumeClaimRetentionPolicy: {{whenScaled: Keep}}",
            [
                (
                    "spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported"
                    ' value: "Keep": supported values: "Retain", "Delete"'
                )
            ],
        ),
        (
            "DaemonSet",
            f"{SELECTOR}, updateStrategy: {{rollingUpdate: {{maxSurge: 1}}}}",
            [
                (
                    "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1:"
                    " may not"
                    " be set when maxUnavailable is non-zero"
                )
            ],
        ),
        (
            "DaemonSet",
            f"{SELECTOR}, updateStrategy: {{rollingUpdate: {{maxUnavailable: 0}}}}",
            [
                (
                    "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value:"
                    " cannot be 0 when maxSurge is 0"
                )
            ],
        ),
        (
            "DaemonSet",
            f"{SELECTOR}, updateStrategy: {{type: Recreate}}",
            [
                (
                    'spec.updateStrategy: Unsupported value: {"Type":"Recreate",'
                    '"RollingUpdate":null}: supported values: "RollingUpdate",'
                    ' "OnDelete"'
                )
            ],
        ),
        ("ReplicationController", "", []),
        ("ReplicationController", "selector: {app: b}", [MISMATCH]),
        (
            "ReplicationController",
            "replicas: -1",
            [f"spec.replicas: Invalid value: -1: {NEGATIVE}"],
        ),
        ("Job", "", []),
        (
            "Job",
            SELECTOR,
            [
                (
                    'spec.selector: Invalid value: {"matchLabels":{"app":"a"}}:'
                    " `selector`"
                    " not auto-generated"
                )
            ],
        ),
        ("Job", f"manualSelector: true, {SELECTOR}", []),
        (
            "Job",
            "manualSelector: true",
            ["spec.selector: Required value", MISMATCH],
        ),
        (
            "Job",
            "backoffLimit: -1, parallelism: -2",
            [
                f"spec.parallelism: Invalid value: -2: {NEGATIVE}",
                f"spec.backoffLimit: Invalid value: -1: {NEGATIVE}",
            ],
        ),
        (
            "Job",
            "completionMode: Indexed, parallelism: 1",
            ["spec.completions: Required value: when completion mode is Indexed"],
        ),
        (
            "Job",
            "completionMode: Sorted",
            [
                (
                    'spec.completionMode: Unsupported value: "Sorted": supported'
                    " values:"
                    ' "NonIndexed", "Indexed"'
                )
            ],
        ),
        (
            "Job",
            "backoffLimitPerIndex: 1",
            [
                (
                    "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed"
                    " completion mode"
                )
            ],
        ),
        (
            "Job",
            (
                "podFailurePolicy: {rules: [{action: FailJob, onExitCodes:"
                " {operator: In,"
                " values: [3, 0, 3], containerName: d}}]}"
            ),
            [
                (
                    "spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid"
                    ' value: "d": must be one of the container or initContainer'
                    " names in"
                    " the pod template"
                ),
                (
                    "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid"
                    " value:"
                    " 0: must not be 0 for the In operator"
                ),
                (
                    "spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate"
                    " value: 3"
                ),
                (
                    "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value:"
                    " [3,0,3]: must be ordered"
                ),
            ],
        ),
        (
            "Job",
            "podFailurePolicy: {rules: [{action: ''}]}",
            [
                (
                    "spec.podFailurePolicy.rules[0].action: Required value: valid"
                    " values:"
                    ' ["Count" "FailIndex" "FailJob" "Ignore"]'
                ),
                (
                    "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of"
                    " OnExitCodes and OnPodConditions is required"
                ),
            ],
        ),
        (
            "Job",
            (
                "completionMode: Indexed, completions: 2, parallelism: 1,"
                " successPolicy:"
                " {rules: [{}, {succeededCount: 3}]}"
            ),
            [
                (
                    "spec.successPolicy.rules[0]: Required value: at least one of"
                    " succeededCount or succeededIndexes must be specified"
                ),
                (
                    "spec.successPolicy.rules[1].succeededCount: Invalid value: 3:"
                    " must be"
                    " less than or equal to 2 (the number of specified completions)"
                ),
            ],
        ),
        ("CronJob", "schedule: '*/5 * * * *'", []),
        ("CronJob", "", ["spec.schedule: Required value"]),
        (
            "CronJob",
            (
                "schedule: '61 * * * *', concurrencyPolicy: Never,"
                " startingDeadlineSeconds: -1, failedJobsHistoryLimit: -2"
            ),
            [
                (
                    'spec.schedule: Invalid value: "61 * * * *": end of range (61)'
                    " above"
                    " maximum (59): 61"
                ),
                f"spec.startingDeadlineSeconds: Invalid value: -1: {NEGATIVE}",
                (
                    'spec.concurrencyPolicy: Unsupported value: "Never": supported'
                    " values:"
                    ' "Allow", "Forbid", "Replace"'
                ),
                f"spec.failedJobsHistoryLimit: Invalid value: -2: {NEGATIVE}",
            ],
        ),
        (
            "CronJob",
            "schedule: 'CRON_TZ=UTC 0 * * * *'",
            [
                (
                    'spec.schedule: Invalid value: "CRON_TZ=UTC 0 * * * *": cannot'
                    " use TZ"
                    " or CRON_TZ in schedule, use timeZone field instead"
                )
            ],
        ),
        (
            "CronJob",
            "schedule: '@daily', timeZone: Local",
            [
                (
                    'spec.timeZone: Invalid value: "Local": timeZone must be an'
                    " explicit"
                    " time zone as defined in https://www.iana.org/time-zones"
                )
            ],
        ),
        (
            "CronJob",
            f"schedule: '@daily'|{SELECTOR}, manualSelector: true, backoffLimit: -1",
            [
                f"spec.jobTemplate.spec.backoffLimit: Invalid value: -1: {NEGATIVE}",
                (
                    "spec.jobTemplate.spec.selector: Invalid value:"
                    ' {"matchLabels":{"app":'
                    '"a"}}: `selector` will be auto-generated'
                ),
                (
                    "spec.jobTemplate.spec.manualSelector: Unsupported value: true:"
                    ' supported values: "nil", "false"'
                ),
            ],
        ),
    ],
)
def test_each_wrong_value_has_its_error(
    kind: str, spec: str, expected: list[str]
) -> None:
    assert messages(workload_yaml(kind, spec)) == expected


def test_names_are_as_long_as_those_of_pods_and_jobs_can_be() -> None:
    long = "a" * 53
    indexed = "completionMode: Indexed, completions: 11, parallelism: 1"

    assert messages(workload_yaml("CronJob", "schedule: '@daily'", long)) == [
        f'metadata.name: Invalid value: "{long}": must be no more than 52 characters'
    ]
    assert messages(workload_yaml("Job", indexed, "a" * 61)) == [
        (
            f'metadata.name: Invalid value: "{"a" * 61}": will not able to create'
            f" pod with"
            f" invalid DNS label: {'a' * 61}-10"
        )
    ]


def test_values_are_in_gos_syntax_before_1_34() -> None:
    assert messages(workload_yaml("Deployment", "selector: {}"), "1.32") == [
        (
            "spec.selector: Invalid value: v1.LabelSelector{...}: empty selector is"
            " invalid for deployment"
        )
    ]
    assert messages(workload_yaml("DaemonSet", ""), "1.32") == [
        (
            "spec.template.metadata.labels: Invalid value:"
            ' map[string]string{"app":"a"}:'
            " `selector` does not match template `labels`"
        )
    ]


@pytest.mark.parametrize(
    ("schedule", "error"),
    [
        ("*/15 1-5,7 ? jan-MAR mon", ""),
        ("@every 1h30m", ""),
        ("@midnight", ""),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("@often", "unrecognized descriptor: @often"),
        (
            "@every 1d",
            (
                'failed to parse duration @every 1d: time: unknown unit "d" in duration'
                ' "1d"'
            ),
        ),
        (
            "@every 5",
            'failed to parse duration @every 5: time: missing unit in duration "5"',
        ),
        (
            "x * * * *",
            'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
        ),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("*/61 * * * *", ""),
    ],
)
def test_schedules(schedule: str, error: str) -> None:
    assert find_schedule_error(schedule) == error


def loaded(text: str) -> Manifests:
    return load_manifests([SourceFile("a.yaml", text)], rules=rules_of("1.36"))


def test_a_refusal_names_the_line_of_the_workload() -> None:
    text = workload_yaml("Deployment", f"{SELECTOR}, replicas: -1")
    (error,) = loaded(text).errors

    assert (error.path, error.line) == ("spec.replicas", 4)
    assert error.message == f"is -1, {NEGATIVE}"


def test_a_name_that_is_no_label_is_warned_of_as_that_of_many_pods() -> None:
    text = workload_yaml("Deployment", SELECTOR, "a.b")

    assert [
        warning.message
        for warning in loaded(text).warnings
        if warning.path == "metadata.name"
    ] == [
        (
            "this is used in Pod names and hostnames, which can result in surprising"
            " behavior; a DNS label is recommended: [must not contain dots]"
        )
    ]
