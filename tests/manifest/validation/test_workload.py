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
    rules = rules_of(version)
    decoded = decode(found.node, found.workload.model, version=rules.version)
    assert decoded.problems == ()
    errors = validate_workload(decoded.value, rules, has_selector=found.has_selector)
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


INDEXED = "completionMode: Indexed, completions: 5"


@pytest.mark.parametrize(
    ("indexes", "error"),
    [
        ("", "must be less than or equal to 0"),
        ("0,2-3", ""),
        ("0-4", ""),
        ("1-2-3", 'the fragment "1-2-3" violates the requirement that an index'),
        ("a", 'cannot convert string to integer for index: "a"'),
        ("0,", 'cannot convert string to integer for index: ""'),
        ("3-", 'cannot convert string to integer for index: ""'),
        ("5", 'too large index: "5"'),
        ("1-7", 'too large index: "7"'),
        ("3-3", "non-increasing order, previous: 3, current: 3"),
        ("3-1", "non-increasing order, previous: 3, current: 1"),
        ("2,2", "non-increasing order, previous: 2, current: 2"),
        ("0-1", "must be less than or equal to 2 (the number of indexes in the"),
    ],
)
def test_indexes_that_make_a_job_succeed(indexes: str, error: str) -> None:
    rule = f"{{succeededIndexes: '{indexes}', succeededCount: 3}}"
    found = messages(
        workload_yaml("Job", f"{INDEXED}, successPolicy: {{rules: [{rule}]}}")
    )

    assert bool(found) is bool(error)
    assert error in "\n".join(found)


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("kueue.x-k8s.io/multikueue", []),
        ("''", ["Required value"]),
        (
            "kueue",
            [
                (
                    'Invalid value: "kueue": must be a domain-prefixed path (such as'
                    ' "acme.io/foo")'
                )
            ],
        ),
        ("/a", ['Invalid value: "/a": must be a domain-prefixed path']),
        ("a.b/", ['Invalid value: "a.b/": must be a domain-prefixed path']),
        ("A/b", ['Invalid value: "A": a lowercase RFC 1123 subdomain must']),
        ("'a/b c'", ['Invalid value: "b c": Invalid path (regex used for']),
        (f"a.b/{'c' * 60}", ["Too long: may not be more than 63 bytes"]),
    ],
)
def test_what_controls_a_job_has_a_domain(name: str, errors: list[str]) -> None:
    found = messages(workload_yaml("Job", f"managedBy: {name}"))

    assert [
        one.removeprefix("spec.managedBy: ")[: len(error)]
        for one, error in zip(found, errors, strict=True)
    ] == errors
    assert messages(workload_yaml("Job", f"managedBy: {name}"), "1.31") == []


def test_a_mode_that_is_empty_is_none() -> None:
    assert messages(workload_yaml("Job", "completionMode: ''")) == [
        (
            'spec.completionMode: Unsupported value: "": supported values:'
            ' "NonIndexed", "Indexed"'
        )
    ]


def test_a_template_cannot_have_the_labels_of_another_job() -> None:
    labels = "{app: a, job-name: other, controller-uid: b}"
    text = workload_yaml("Job", "").replace("{app: a}", labels)
    found = messages(text)
    path = "spec.template.metadata.labels"

    assert [error.partition(": Invalid value: ")[0] for error in found] == [
        f"{path}[controller-uid]",
        f"{path}[job-name]",
    ]
    assert [error.rpartition(": ")[2] for error in found] == [
        "must be the new Job's uid",
        "must be 'web'",
    ]
    assert messages(workload_yaml("Job", "").replace("a}", "a, job-name: web}")) == []


PREFIXED = "{app: a, batch.kubernetes.io/job-name: other}"


def test_labels_of_jobs_have_a_prefix_since_1_27() -> None:
    text = workload_yaml("Job", "").replace("{app: a}", PREFIXED)

    assert len(messages(text)) == 1
    assert messages(text, "1.26") == []


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("1", ""),
        ("100%", ""),
        ("0", "0: cannot be 0"),
        ("0%", '"0%": cannot be 0'),
        ("-1", f"-1: {NEGATIVE}"),
        ("101%", '"101%": must not be greater than 100%'),
    ],
)
def test_pods_of_a_stateful_set_that_may_be_unavailable(value: str, error: str) -> None:
    strategy = f"updateStrategy: {{rollingUpdate: {{maxUnavailable: {value}}}}}"
    text = workload_yaml("StatefulSet", f"{SELECTOR}, {strategy}")
    path = "spec.updateStrategy.rollingUpdate.maxUnavailable"
    expected = [f"{path}: Invalid value: {error}"] if error else []

    assert messages(text, "1.37") == messages(text, "1.35.3") == expected
    assert messages(text, "1.36") == messages(text, "1.35") == []


def test_names_of_a_stateful_set_are_labels() -> None:
    text = workload_yaml("StatefulSet", f"{SELECTOR}, serviceName: a.b", "web.x")
    dots = "must not contain dots"

    assert messages(text) == [
        f'metadata.name: Invalid value: "web.x": {dots}',
        f'spec.serviceName: Invalid value: "a.b": {dots}',
    ]
    assert len(messages(text, "1.32")) == 1
    assert messages(text, "1.26") == []


def test_a_number_in_a_text_is_not_zero() -> None:
    shares = "{maxUnavailable: '-5', maxSurge: 0}"
    strategy = f"strategy: {{rollingUpdate: {shares}}}"
    found = messages(workload_yaml("Deployment", f"{SELECTOR}, {strategy}"))

    assert [error.split(": ")[3][:23] for error in found] == ["a valid percent string "]


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


@pytest.mark.parametrize("kind", ["DaemonSet", "Deployment", "ReplicationController"])
def test_the_name_of_a_daemon_set_is_not_warned_of(kind: str) -> None:
    text = workload_yaml(kind, SELECTOR if kind[-1] != "r" else "", "a.b")
    is_warned = any(one.path == "metadata.name" for one in loaded(text).warnings)

    assert is_warned is (kind != "DaemonSet")


def test_what_is_kept_for_ever_and_what_may_be_lost_is_warned_of() -> None:
    many = "completionMode: Indexed, completions: 100001, parallelism: 10001"
    kept = workload_yaml("StatefulSet", f"{SELECTOR}, revisionHistoryLimit: -1")
    cron = workload_yaml("CronJob", f"schedule: '@daily'|{many}")
    found = [
        (one.path, one.message.partition(";")[0][:42])
        for text in (kept, workload_yaml("Job", many), cron)
        for one in loaded(text).warnings
        if one.rule == "api-warning"
    ]

    assert found == [
        ("spec.revisionHistoryLimit", "a negative value retains all historical re"),
        ("spec", "In Indexed Jobs with a number of completio"),
        ("spec.jobTemplate.spec", "In Indexed Jobs with a number of completio"),
    ]
