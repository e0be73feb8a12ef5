"""Errors in manifests, and the pods that load in spite of them."""

from __future__ import annotations

import pytest

from probetui.errors import ManifestError
from probetui.k8s.pod import RestartPolicy
from probetui.k8s.volume import ConfigMap, EmptyDir, OtherVolume, Secret
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import FieldValidation
from probetui.manifest.yaml.parser import SourceFile
from tests.manifest.yaml_pods import PROBED, lines, load, pod_yaml

_POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: web
    image: busybox:1.36
    ports:
    - {name: http, containerPort: 8080}
    - {name: metrics, containerPort: 9090}
"""

_TEMPLATE = f"""\
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
      - {{name: app, image: 'busybox:1.36', {PROBED}}}
"""


def _workload(kind: str, spec: str, api_version: str = "apps/v1") -> str:
    is_selecting = api_version == "apps/v1"
    selector = "  selector: {matchLabels: {app: web}}\n" if is_selecting else ""
    return (
        f"apiVersion: {api_version}\nkind: {kind}\n"
        f"metadata: {{name: web, namespace: shop}}\nspec:\n{spec}{selector}"
    )


@pytest.mark.parametrize(
    ("probe", "problem"),
    [
        pytest.param(
            "livenessProbe:\n      tcpSocket: {port: 1}\n      successThreshold: 3",
            "pod.yaml:14:7: spec.containers[0].livenessProbe.successThreshold: is 3,"
            " must be 1 for a liveness probe",
            id="success-threshold-of-liveness",
        ),
        pytest.param(
            "startupProbe:\n      tcpSocket: {port: 1}\n      successThreshold: 2",
            "pod.yaml:14:7: spec.containers[0].startupProbe.successThreshold: is 2,"
            " must be 1 for a startup probe",
            id="success-threshold-of-startup",
        ),
        pytest.param(
            "livenessProbe:\n      periodSeconds: 5",
            "pod.yaml:12:5: spec.containers[0].livenessProbe: has no handler, must have"
            " one of exec, httpGet, tcpSocket and grpc",
            id="no-handler",
        ),
        pytest.param(
            "livenessProbe:\n      exec: {command: [a]}\n      httpGet: {port: http}",
            "pod.yaml:14:7: spec.containers[0].livenessProbe.httpGet: only one"
            " handler is allowed in a probe",
            id="two-handlers",
        ),
        pytest.param(
            'livenessProbe:\n      tcpSocket: {port: 1}\n      periodSeconds: "5s"',
            "pod.yaml:14:7: spec.containers[0].livenessProbe.periodSeconds: is the"
            " string"
            ' "5s", must be a whole number of seconds (json: cannot unmarshal string'
            " into Go struct field Probe.spec.containers.livenessProbe.periodSeconds of"
            " type int32)",
            id="duration",
        ),
        pytest.param(
            "livenessProbe:\n      tcpSocket: {port: 1}\n      failureThreshold: -1",
            "pod.yaml:14:7: spec.containers[0].livenessProbe.failureThreshold: is -1,"
            " must be greater than or equal to 0",
            id="negative-threshold",
        ),
        pytest.param(
            "livenessProbe:\n      httpGet: {port: 70000}",
            "pod.yaml:13:17: spec.containers[0].livenessProbe.httpGet.port: is 70000,"
            " must be between 1 and 65535, inclusive",
            id="port-out-of-range",
        ),
        pytest.param(
            "livenessProbe:\n      httpGet: {path: /}",
            "pod.yaml:13:7: spec.containers[0].livenessProbe.httpGet.port: is 0, must"
            " be between 1 and 65535, inclusive",
            id="no-port",
        ),
        pytest.param(
            "livenessProbe:\n      httpGet: {port: ''}",
            "pod.yaml:13:17: spec.containers[0].livenessProbe.httpGet.port: must"
            " contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
            id="empty-port",
        ),
        pytest.param(
            "livenessProbe:\n      httpGet: {port: 1, scheme: http}",
            "pod.yaml:13:26: spec.containers[0].livenessProbe.httpGet.scheme: is"
            ' "http", must be "HTTP" or "HTTPS"',
            id="scheme",
        ),
        pytest.param(
            "livenessProbe:\n      exec: {}",
            "pod.yaml:13:7: spec.containers[0].livenessProbe.exec.command: is missing",
            id="no-command",
        ),
        pytest.param(
            "readinessProbe:\n      tcpSocket: {port: 1}\n"
            "      terminationGracePeriodSeconds: 5",
            "pod.yaml:14:7: spec.containers[0].readinessProbe"
            ".terminationGracePeriodSeconds: is 5, must not be set on a readiness"
            " probe: only liveness and startup probes kill a container",
            id="grace-period-on-readiness",
        ),
        pytest.param(
            "lifecycle: {preStop: {}}",
            "pod.yaml:12:17: spec.containers[0].lifecycle.preStop: has no handler, must"
            " have one of exec, httpGet, tcpSocket and sleep",
            id="hook-without-a-handler",
        ),
        pytest.param(
            "lifecycle: {preStop: {exec: {command: [a]}, sleep: {seconds: 1}}}",
            "pod.yaml:12:49: spec.containers[0].lifecycle.preStop.sleep: only one"
            " handler is allowed in a hook",
            id="hook-with-two-handlers",
        ),
        pytest.param(
            "restartPolicy: Always",
            "pod.yaml:12:5: spec.containers[0].restartPolicy: only init containers may"
            " have a restartPolicy; the pod's applies here",
            id="restart-policy-of-a-container",
        ),
        pytest.param(
            "volumeMounts: [{name: data, mountPath: /data}]",
            'pod.yaml:12:21: spec.containers[0].volumeMounts[0].name: "data" is not the'
            " name of a valid volume of the pod",
            id="no-such-volume",
        ),
        pytest.param(
            "imagePullPolicy: always",
            'pod.yaml:12:5: spec.containers[0].imagePullPolicy: is "always", must be'
            ' "Always", "IfNotPresent" or "Never"',
            id="pull-policy",
        ),
    ],
)
def test_an_error_in_a_container_has_a_position_and_a_hint(
    probe: str, problem: str
) -> None:
    manifests = load(f"{_POD}    {probe}\n")

    assert str(manifests.errors[0]) == problem
    assert manifests.pods == ()


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(
            "initContainers: [{name: a, image: b, livenessProbe: {exec: {}}}]",
            "pod.yaml:12:40: spec.initContainers[0].livenessProbe: only an init"
            " container with restartPolicy: Always may have probes",
            id="probe-of-an-init-container",
        ),
        pytest.param(
            "initContainers: [{name: a, image: b, lifecycle: {}}]",
            "pod.yaml:12:40: spec.initContainers[0].lifecycle: only an init container"
            " with restartPolicy: Always may have hooks",
            id="hook-of-an-init-container",
        ),
        pytest.param(
            "initContainers: [{name: a, image: b, restartPolicy: Never}]",
            'pod.yaml:12:40: spec.initContainers[0].restartPolicy: is "Never", must be'
            ' "Always"',
            id="restart-policy-of-an-init-container",
        ),
        pytest.param(
            "initContainers: [{name: web, image: b}]",
            'pod.yaml:12:21: spec.initContainers[0].name: duplicate "web"',
            id="name-of-another-container",
        ),
        pytest.param(
            "hostname: A_b",
            'pod.yaml:12:3: spec.hostname: is "A_b", must be lower-case letters, digits'
            " and '-', with a letter or digit at both ends",
            id="hostname",
        ),
        pytest.param(
            "serviceAccountName: A_b",
            'pod.yaml:12:3: spec.serviceAccountName: is "A_b", must be lower-case'
            " letters,"
            " digits, '-' and '.', with a letter or digit at both ends",
            id="service-account",
        ),
        pytest.param(
            "nodeSelector: {a b: c}",
            'pod.yaml:12:3: spec.nodeSelector: is "a b": name part must consist of'
            " alphanumeric characters, '-', '_' or '.', and must start and end with an"
            " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc',"
            " regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            id="label",
        ),
        pytest.param(
            "shareProcessNamespace: true\n  hostPID: true",
            "pod.yaml:5:1: spec.securityContext.shareProcessNamespace: is true:"
            " ShareProcessNamespace and HostPID cannot both be enabled",
            id="shared-processes-of-the-host",
        ),
        pytest.param(
            "ephemeralContainers: [{name: a, image: x}]",
            "pod.yaml:12:3: spec.ephemeralContainers: cannot be set on create",
            id="ephemeral-containers",
        ),
    ],
)
def test_an_error_in_the_spec_has_a_position_and_a_hint(
    spec: str, problem: str
) -> None:
    manifests = load(f"{_POD}  {spec}\n")

    assert [str(error) for error in manifests.errors] == [problem]


def test_a_pod_needs_containers() -> None:
    manifests = load("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {}\n")

    assert [str(error) for error in manifests.errors] == [
        "pod.yaml:4:1: spec.containers: is empty, a pod needs at least one container"
    ]


def test_annotations_that_are_too_long_are_refused() -> None:
    text = pod_yaml(PROBED, metadata=f"name: web, annotations: {{a: {'x' * 262144}}}")

    assert lines(load(text)) == [
        "error: pod.yaml:3:23: metadata.annotations: may not be more than 262144 bytes"
    ]


def test_all_problems_of_all_files_are_reported_at_once_in_order() -> None:
    bad = pod_yaml(f"{PROBED}, tty: maybe", "restartPolicy: x, hostname: 5")
    sources = [
        SourceFile("b.yaml", bad),
        SourceFile("a.yaml", bad + "---\nkind: Pod\n"),
    ]

    manifests = load_manifests(sources)

    places = [f"{error.file}:{error.line} {error.path}" for error in manifests.errors]
    assert places == [
        "b.yaml:4 spec.containers[0].tty",
        "b.yaml:4 spec.restartPolicy",
        "b.yaml:4 spec.hostname",
        "a.yaml:3 metadata.name",
        "a.yaml:4 spec.containers[0].tty",
        "a.yaml:4 spec.restartPolicy",
        "a.yaml:4 spec.hostname",
        "a.yaml:6 apiVersion",
    ]


def test_a_field_that_cannot_be_read_is_reported_once() -> None:
    manifests = load("apiVersion: v1\nkind: Pod\nmetadata: {name: 5}\nspec: web\n")

    assert [str(error) for error in manifests.errors] == [
        (
            "pod.yaml:3:12: metadata.name: is the number 5, must be a string: put it in"
            ' quotes, "5" (json: cannot unmarshal number into Go struct field'
            " ObjectMeta.metadata.name of type string)"
        ),
        (
            'pod.yaml:4:1: spec: is the string "web", must be a mapping (lines of'
            " `name: value`) (json: cannot unmarshal string into Go struct field"
            " Pod.spec of type v1.PodSpec)"
        ),
    ]


def test_errors_can_be_raised_together() -> None:
    manifests = load("kind: Pod\n")

    with pytest.raises(ManifestError) as caught:
        manifests.raise_for_errors()

    assert caught.value.exit_status == 2
    assert caught.value.problems == (
        "pod.yaml:1:1: apiVersion: is missing, set it as in `apiVersion: v1`",
    )


def test_without_errors_nothing_is_raised() -> None:
    load(pod_yaml(PROBED)).raise_for_errors()


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        pytest.param("", 0, id="empty"),
        pytest.param("# nothing\n---\n", 0, id="only-comments"),
        pytest.param("apiVersion: v1\nkind: Service\n", 1, id="nothing-to-run"),
    ],
)
def test_missing_documents_and_missing_pods_are_different_errors(
    text: str, documents: int
) -> None:
    manifests = load(text)

    assert manifests.documents == documents
    assert manifests.pods == ()
    assert manifests.errors == ()


def test_a_syntax_error_shows_the_line_with_a_caret() -> None:
    manifests = load(_POD.replace("image: busybox", "image: [busybox"))

    assert str(manifests.errors[0]) == (
        "pod.yaml:9:10: did not find expected ',' or ']' while parsing a flow sequence"
        " that begins in line 8\n        ports:\n             ^"
    )


@pytest.mark.parametrize(
    ("validation", "expected"),
    [
        pytest.param(FieldValidation.STRICT, "error", id="strict"),
        pytest.param(FieldValidation.WARN, "warning", id="warn"),
        pytest.param(FieldValidation.IGNORE, "", id="ignore"),
    ],
)
@pytest.mark.parametrize(
    ("field", "message"),
    [
        pytest.param(
            f"{PROBED}, livenesProbe: {{}}",
            'spec.containers[0].livenesProbe: unknown field "livenesProbe" (did you'
            ' mean "livenessProbe"?)',
            id="unknown-field",
        ),
        pytest.param(
            f"{PROBED}, tty: true, tty: true",
            "spec.containers[0].tty: duplicate key, first in line 4; the last one is"
            " used",
            id="double-key",
        ),
    ],
)
def test_what_a_lenient_reader_would_miss(
    field: str, message: str, validation: FieldValidation, expected: str
) -> None:
    manifests = load(pod_yaml(field), validation=validation)

    found = [
        f"{problem.severity}: {problem.path}: {problem.message}"
        for problem in manifests.problems
    ]
    assert found == [f"{expected}: {message}"] * bool(expected)
    assert len(manifests.pods) == (expected != "error")


def test_of_double_keys_the_last_counts() -> None:
    manifests = load(pod_yaml(f"{PROBED}, command: [a], command: [b]"))

    assert manifests.pods[0].containers[0].command == ("b",)


def test_no_probe_at_all_is_a_warning() -> None:
    manifests = load(pod_yaml())

    assert lines(manifests) == [
        "warning: pod.yaml:4:1: spec: no container has a probe, nothing will be probed"
    ]
    assert len(manifests.pods) == 1


def test_a_port_name_that_is_not_there_is_a_warning() -> None:
    manifests = load(f"{_POD}    readinessProbe: {{httpGet: {{port: htpp}}}}\n")

    (warning,) = manifests.warnings
    assert warning.rule == "port-name"
    assert str(warning) == (
        'pod.yaml:12:32: spec.containers[0].readinessProbe.httpGet.port: "htpp" is not'
        ' a port name of container "web" (has: http, metrics), so the probe errors at'
        " every"
        " attempt"
    )
    assert len(manifests.pods) == 1


def test_warnings_of_the_api_server_are_reported() -> None:
    manifests = load(pod_yaml(f"{PROBED}, env: [{{name: A}}, {{name: A}}]"))

    assert lines(manifests) == [
        (
            "warning: pod.yaml:4:113: spec.containers[0].env[1]: hides previous"
            " definition of"
            ' "A", which may be dropped when using apply'
        )
    ]


def test_an_unknown_field_is_not_also_called_unsupported() -> None:
    manifests = load(pod_yaml(f"{PROBED}, livenesProbe: {{}}, x: 1"))

    assert [problem.path for problem in manifests.warnings] == [
        "spec.containers[0].livenesProbe",
        "spec.containers[0].x",
    ]
    assert manifests.unsupported == ()


def test_unsupported_fields_are_listed_apart() -> None:
    manifests = load(pod_yaml(PROBED, "subdomain: a"))

    assert manifests.problems == ()
    assert [problem.path for problem in manifests.unsupported] == ["spec.subdomain"]


@pytest.mark.parametrize(
    ("text", "name", "note"),
    [
        pytest.param(
            _workload("Deployment", f"  replicas: 3\n  template:\n{_TEMPLATE}"),
            "web",
            'Deployment "web" is run as one pod instead of 3, named "web"',
            id="deployment",
        ),
        pytest.param(
            _workload("ReplicaSet", f"  template:\n{_TEMPLATE}"),
            "web",
            'ReplicaSet "web" is run as one pod, named "web"',
            id="replica-set",
        ),
        pytest.param(
            _workload("ReplicationController", f"  template:\n{_TEMPLATE}", "v1"),
            "web",
            'ReplicationController "web" is run as one pod, named "web"',
            id="replication-controller",
        ),
        pytest.param(
            _workload("DaemonSet", f"  template:\n{_TEMPLATE}"),
            "web",
            'DaemonSet "web" is run as one pod, named "web"',
            id="daemon-set",
        ),
        pytest.param(
            _workload("StatefulSet", f"  replicas: 0\n  template:\n{_TEMPLATE}"),
            "web-0",
            'StatefulSet "web" is run as one pod instead of 0, named "web-0"',
            id="stateful-set",
        ),
        pytest.param(
            _workload(
                "StatefulSet", f"  ordinals: {{start: 5}}\n  template:\n{_TEMPLATE}"
            ),
            "web-5",
            'StatefulSet "web" is run as one pod, named "web-5"',
            id="stateful-set-that-counts-from-five",
        ),
        pytest.param(
            _workload(
                "Job",
                f"  parallelism: 2\n  template:\n{_TEMPLATE}      restartPolicy:"
                f" Never\n",
                "batch/v1",
            ),
            "web",
            'Job "web" is run as one pod instead of 2, named "web"',
            id="job",
        ),
        pytest.param(
            _workload(
                "CronJob",
                "  schedule: '@daily'\n  jobTemplate:\n   spec:\n    template:\n"
                + _TEMPLATE.replace("    spec", "     spec").replace("    m", "     m")
                + "      restartPolicy: Never\n",
                "batch/v1",
            ),
            "web",
            'CronJob "web" is run as one pod, named "web"',
            id="cron-job",
        ),
    ],
)
def test_the_template_of_a_workload_is_run(text: str, name: str, note: str) -> None:
    manifests = load(text)

    assert lines(manifests) == [f"note: pod.yaml:1:1: {note}"]
    (loaded,) = manifests.loaded
    assert (loaded.pod.name, loaded.pod.namespace) == (name, "shop")
    assert loaded.pod.containers[0].liveness_probe is not None


def test_a_pod_template_is_run_as_it_is() -> None:
    text = (
        "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: web}\n"
        "template:\n  metadata: {labels: {a: b}}\n"
        f"  spec: {{containers: [{{name: app, image: x, {PROBED}}}]}}\n"
    )

    (loaded,) = load(text).loaded

    assert loaded.pod.labels == {"a": "b"}


def test_errors_in_a_template_name_the_field_in_the_document() -> None:
    text = _workload("Deployment", f"  template:\n{_TEMPLATE}      hostname: A_b\n")

    manifests = load(text.replace("name: web", "name: Web"))

    assert [
        f"{error.line}:{error.column} {error.path}" for error in manifests.errors
    ] == [
        "3:12 metadata.name",
        "10:7 spec.template.spec.hostname",
    ]


@pytest.mark.parametrize(
    ("kind", "api_version", "fields", "problem"),
    [
        pytest.param(
            "Deployment",
            "apps/v1",
            "      restartPolicy: Never\n      activeDeadlineSeconds: 5\n",
            [
                'spec.template.spec.restartPolicy: is "Never", must be "Always"',
                (
                    "spec.template.spec.activeDeadlineSeconds: activeDeadlineSeconds in"
                    " Deployment is not Supported"
                ),
            ],
            id="deployment",
        ),
        pytest.param(
            "Job",
            "batch/v1",
            "",
            [
                (
                    'spec.template.spec.restartPolicy: must be "OnFailure" or "Never"'
                    " in this"
                    " kind of workload"
                )
            ],
            id="job",
        ),
    ],
)
def test_workloads_have_rules_of_their_own(
    kind: str, api_version: str, fields: str, problem: list[str]
) -> None:
    text = _workload(kind, f"  template:\n{_TEMPLATE}{fields}", api_version)

    errors = load(text).errors

    assert [f"{error.path}: {error.message}" for error in errors] == problem


def test_a_workload_without_a_template_has_no_containers() -> None:
    manifests = load(_workload("Deployment", "  replicas: 1\n"))

    assert [str(error) for error in manifests.errors] == [
        (
            "pod.yaml:4:1: spec.template.spec.containers: is empty, a pod needs at"
            " least one container"
        ),
        (
            "pod.yaml:4:1: spec.template.metadata.labels: `selector` does not match"
            " template `labels`"
        ),
    ]


def test_items_of_a_list_are_loaded_as_if_alone() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n"
        f"- {{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{containers:"
        f" [{{name: app, image: x, {PROBED}}}]}}}}\n"
        "- {apiVersion: v1, kind: Service}\n"
        "- apiVersion: v1\n  kind: List\n  items:\n"
        "  - {apiVersion: v1, kind: Pod, metadata: {name: B}, spec: {hostname: 5}}\n"
    )

    manifests = load(text)

    assert [pod.name for pod in manifests.pods] == ["a"]
    assert [
        f"{problem.line} {problem.path} {problem.rule}"
        for problem in manifests.problems
    ] == [
        "5  kind-skipped",
        "9 items[2].items[0].metadata.name FieldValueInvalid",
        "9 items[2].items[0].spec.containers FieldValueRequired",
        "9 items[2].items[0].spec.hostname type",
    ]


def test_kinds_without_a_pod_are_skipped_with_one_note_each() -> None:
    manifests = load(
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n---\n"
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
    )

    assert lines(manifests) == [
        'note: pod.yaml:1:1: Service "web" has no pod template, skipped',
        "note: pod.yaml:5:1: Ingress has no pod template, skipped",
    ]


@pytest.mark.parametrize(
    ("written", "requested", "namespace"),
    [
        pytest.param("", None, "default", id="none"),
        pytest.param("shop", None, "shop", id="written"),
        pytest.param("shop", "test", "test", id="asked-for"),
    ],
)
def test_config_maps_and_secrets_are_kept_for_pods_of_their_namespace(
    written: str, requested: str | None, namespace: str
) -> None:
    metadata = f"{{name: cfg, namespace: '{written}'}}"
    manifests = load(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\ndata: {{a: b}}\n---\n"
        f"apiVersion: v1\nkind: Secret\nmetadata: {metadata}\nstringData: {{a: b}}\n",
        namespace=requested,
    )

    assert manifests.config_objects == (
        ConfigMap("cfg", namespace, {"a": "b"}),
        Secret("cfg", namespace, {"a": b"b"}),
    )
    assert [loaded_object.position.line for loaded_object in manifests.objects] == [
        1,
        6,
    ]


def test_of_two_config_maps_of_one_name_the_last_one_counts() -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg}\n"

    manifests = load(f"{config}data: {{a: b}}\n---\n{config}data: {{a: c}}\n")

    assert manifests.config_objects == (ConfigMap("cfg", data={"a": "c"}),)
    (warning,) = manifests.warnings
    assert str(warning) == (
        'pod.yaml:6:1: ConfigMap "cfg" is defined twice (first in pod.yaml:1:1);'
        " the last one is used"
    )


def test_an_object_that_no_pod_uses_is_worth_a_note() -> None:
    used = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: used}\n---\n"
        "apiVersion: v1\nkind: Secret\nmetadata: {name: unused}\n---\n"
    )
    pod = pod_yaml(f"{PROBED}, envFrom: [{{secretRef: {{name: used}}}}]")

    manifests = load(used + pod)

    assert lines(manifests) == [
        'note: pod.yaml:5:1: Secret "unused" is not used by any pod'
    ]


def test_a_reference_to_nothing_is_worth_a_warning_at_its_place() -> None:
    pod = pod_yaml(f"{PROBED}, envFrom: [{{configMapRef: {{name: cfg}}}}]")

    (warning,) = load(pod).warnings

    assert str(warning) == (
        "pod.yaml:4:107: spec.containers[0].envFrom[0].configMapRef: ConfigMap"
        ' "cfg" is not in the given files, so the container cannot be created'
        " (--stub-missing makes a stub)"
    )


def test_the_namespace_option_applies_to_all_pods() -> None:
    manifests = load(pod_yaml(PROBED, metadata="name: a, namespace: b"), namespace="c")

    assert manifests.pods[0].namespace == "c"
    assert "namespace: c" in manifests.loaded[0].manifest


def test_pods_set_apart_are_others_than_their_manifests_with_what_they_refer_to() -> (
    None
):
    text = (
        f"{pod_yaml(PROBED, metadata='name: a, namespace: shop, uid: u1')}---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg, namespace: shop}\n"
    )

    one, other = (load(text, namespace_suffix=suffix) for suffix in ("-1", "-2"))

    assert [one.pods[0].namespace, other.pods[0].namespace] == ["shop-1", "shop-2"]
    assert one.pods[0].name == "a"
    assert len({"u1", one.pods[0].uid, other.pods[0].uid}) == 3
    assert one.config_objects == (ConfigMap("cfg", "shop-1", {}),)
    assert "namespace: shop-1" in one.loaded[0].manifest


def test_a_long_namespace_is_cut_for_its_suffix() -> None:
    metadata = f"name: a, namespace: {'n' * 63}"

    pod = load(pod_yaml(PROBED, metadata=metadata), namespace_suffix="-test-1").pods[0]

    assert pod.namespace == f"{'n' * 56}-test-1"


def test_cases_are_left_to_the_command_that_runs_them() -> None:
    manifests = load(f"{pod_yaml(PROBED)}---\ncases: [{{name: a}}]\n")

    assert len(manifests.pods) == 1
    assert [problem.rule for problem in manifests.problems] == ["test-cases"]
    assert not manifests.errors


def test_two_pods_with_one_name_are_an_error() -> None:
    manifests = load(f"{pod_yaml(PROBED)}---\n{pod_yaml(PROBED)}")

    assert [str(error) for error in manifests.errors] == [
        'pod.yaml:8:12: metadata.name: "web" is the name of another pod (pod.yaml:3:12)'
    ]


def test_one_name_in_two_namespaces_is_fine() -> None:
    other = pod_yaml(PROBED, metadata="name: web, namespace: shop")

    manifests = load(f"{pod_yaml(PROBED)}---\n{other}")

    assert manifests.problems == ()
    assert len({pod.uid for pod in manifests.pods}) == 2


def test_two_pods_with_one_uid_are_an_error() -> None:
    first = pod_yaml(PROBED, metadata="name: a, uid: u1")
    second = pod_yaml(PROBED, metadata="name: b, uid: u1")

    assert [str(error) for error in load(f"{first}---\n{second}").errors] == [
        'pod.yaml:8:21: metadata.uid: "u1" is the uid of another pod (pod.yaml:3:21)'
    ]


def test_workloads_with_one_name_are_distinguished_by_kind() -> None:
    deployment = _workload("Deployment", f"  template:\n{_TEMPLATE}")
    daemons = _workload("DaemonSet", f"  template:\n{_TEMPLATE}")
    pod = pod_yaml(PROBED, metadata="name: web, namespace: shop")

    manifests = load(f"{deployment}---\n{daemons}---\n{pod}")

    assert [pod.name for pod in manifests.pods] == [
        "web-deployment",
        "web-daemonset",
        "web",
    ]
    assert manifests.errors == ()


def test_a_uid_is_made_of_content_host_and_file() -> None:
    text = pod_yaml(PROBED)
    uids = {
        load_manifests([SourceFile(name, text, location)], host=host).pods[0].uid
        for name, location, host in (
            ("a.yaml", "", "h1"),
            ("a.yaml", "/x/a.yaml", "h1"),
            ("./a.yaml", "/x/a.yaml", "h1"),
            ("a.yaml", "", "h2"),
        )
    }

    assert len(uids) == 3


def test_a_uid_that_is_there_is_kept() -> None:
    manifests = load(pod_yaml(PROBED, metadata="name: web, uid: 8ad5-x"))

    assert manifests.pods[0].uid == "8ad5-x"


def test_a_uid_must_fit_into_names() -> None:
    manifests = load(pod_yaml(PROBED, metadata="name: web, uid: a/b"))

    assert [str(error) for error in manifests.errors] == [
        (
            "pod.yaml:3:23: metadata.uid: is \"a/b\", must be letters, digits, '-',"
            " '_' and '.'"
        )
    ]


def test_a_generated_name_is_generated() -> None:
    (pod,) = load(pod_yaml(PROBED, metadata="generateName: web-")).pods

    assert pod.name.startswith("web-")
    assert len(pod.name) == 9


def test_the_whole_manifest_is_kept() -> None:
    (loaded,) = load(
        pod_yaml(PROBED), settings=("app.livenessProbe.periodSeconds=2",)
    ).loaded

    assert "periodSeconds: 2" in loaded.manifest
    assert load(loaded.manifest).pods == (loaded.pod,)


def test_settings_are_made_in_every_pod_that_they_are_about() -> None:
    deployment = _workload("Deployment", f"  template:\n{_TEMPLATE}").replace(
        "web", "a"
    )
    other = pod_yaml(PROBED, metadata="name: b").replace("name: app", "name: db")
    text = f"{pod_yaml(PROBED)}---\n{deployment}---\n{other}"

    manifests = load(
        text,
        settings=("app.image=new:1", "spec.hostname=h", "app.image=newer:1"),
    )

    pods = {pod.name: pod for pod in manifests.pods}
    assert {name: pod.containers[0].image for name, pod in pods.items()} == {
        "web": "newer:1",
        "a": "newer:1",
        "b": "busybox:1.36",
    }
    assert {pod.hostname for pod in pods.values()} == {"h"}


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        pytest.param(
            "db.image=x",
            '--set db.image=x: there is no container "db" (has: app)',
            id="no-such-container",
        ),
        pytest.param(
            "app.imgae=x",
            '--set app.imgae=x: spec.containers[0] has no field "imgae", did you mean'
            ' "image"?',
            id="no-such-field",
        ),
        pytest.param(
            "app.livenessProbe.periodSeconds=5s",
            "--set app.livenessProbe.periodSeconds=5s: spec.containers[0].livenessProbe"
            '.periodSeconds: is the string "5s", must be a whole number of seconds',
            id="wrong-type",
        ),
        pytest.param(
            "app.livenessProbe.tcpSocket.port=0",
            "--set app.livenessProbe.tcpSocket.port=0: spec.containers[0].livenessProbe"
            ".tcpSocket.port: is 0, must be between 1 and 65535, inclusive",
            id="out-of-range",
        ),
        pytest.param("app=1", "--set app=1: must be PATH=VALUE, as in", id="no-path"),
    ],
)
def test_a_setting_that_cannot_be_made_is_an_error(setting: str, problem: str) -> None:
    manifests = load(pod_yaml(PROBED), settings=(setting,))

    (error,) = manifests.errors
    assert str(error).startswith(problem)


def test_a_setting_makes_the_template_that_is_missing() -> None:
    text = "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: web}\n"

    manifests = load(
        text, settings=("spec.containers=[{name: a, image: b}]", "a.image=c")
    )

    (pod,) = manifests.pods
    assert pod.containers[0].image == "c"
    assert pod.restart_policy is RestartPolicy.ALWAYS


def test_without_pods_a_setting_changes_nothing() -> None:
    assert load("", settings=("app.image=x",)).problems == ()


def test_problems_of_one_object_do_not_hide_another() -> None:
    manifests = load(f"{pod_yaml(PROBED)}---\nkind: 5\n")

    assert [pod.name for pod in manifests.pods] == ["web"]
    assert [str(error) for error in manifests.errors] == [
        "pod.yaml:6:1: kind: must be a string"
    ]


def test_what_is_wrong_in_a_secret_is_an_error_like_any_other() -> None:
    manifests = load("apiVersion: v1\nkind: Secret\ndata: {a: [1, x]}\n")

    assert manifests.objects == ()
    assert [error.path for error in manifests.errors] == ["data.a"]


def test_a_wrong_type_outside_the_template_is_reported_too() -> None:
    text = _workload("Deployment", f"  replicas: many\n  template:\n{_TEMPLATE}")

    assert [str(error) for error in load(text).errors] == [
        (
            'pod.yaml:5:3: spec.replicas: is the string "many", must be a whole number'
            " (json: cannot unmarshal string into Go struct field"
            " DeploymentSpec.spec.replicas of type int32)"
        )
    ]


def test_notes_errors_and_warnings_are_distinguished() -> None:
    manifests = load(f"{pod_yaml()}---\napiVersion: v1\nkind: Service\n---\nkind: X\n")

    assert [warning.rule for warning in manifests.warnings] == ["no-probe"]
    assert [note.rule for note in manifests.notes] == ["kind-skipped"]
    assert [error.rule for error in manifests.errors] == ["kind"]


def test_volumes_that_a_stateful_set_claims_are_its_pods_own() -> None:
    claims = (
        "  volumeClaimTemplates: [{metadata: {name: data}}, {metadata: {name: b}}]\n"
    )
    template = (
        "  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app,"
        " image: x, volumeMounts: [{name:"
        f" data, mountPath: /d}}, {{name: c, mountPath: /c}}], {PROBED}}}], volumes:"
        " [{name: b, emptyDir: {}}, {name: c}]}}\n"
    )

    manifests = load(_workload("StatefulSet", claims + template))

    (pod,) = manifests.pods
    assert [(volume.name, volume.source) for volume in pod.volumes] == [
        ("data", OtherVolume("persistentVolumeClaim")),
        ("b", OtherVolume("persistentVolumeClaim")),
        ("c", EmptyDir()),
    ]
    assert [problem.path for problem in manifests.unsupported] == [
        "spec.volumeClaimTemplates[0]",
        "spec.volumeClaimTemplates[1]",
    ]


def test_a_key_that_overrides_a_merged_one_is_taken_also_if_checks_are_strict() -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n"
        "  - &base {name: a, image: x, livenessProbe: {tcpSocket: {port: 1}}}\n"
        "  - {<<: *base, name: b}\n"
    )

    strict = load(text, validation=FieldValidation.STRICT)

    assert strict.problems == load(text).problems == ()
    assert [container.name for container in strict.pods[0].containers] == ["a", "b"]


def test_an_empty_first_document_is_noted() -> None:
    loaded = load("---\n---\n" + pod_yaml(PROBED))

    assert [(problem.rule, problem.line) for problem in loaded.notes] == [
        ("empty-document", 1)
    ]
    assert len(loaded.pods) == 1


def test_a_pod_has_its_image_pull_secrets_with_their_type() -> None:
    secret = (
        "kind: Secret\napiVersion: v1\nmetadata: {name: regcred}\n"
        "type: kubernetes.io/dockercfg\nstringData: {.dockercfg: '{}'}\n"
    )
    pod = (
        "kind: Pod\napiVersion: v1\nmetadata: {name: web}\n"
        "spec:\n  imagePullSecrets: [{name: regcred}]\n"
        "  containers: [{name: app, image: a}]\n"
    )
    manifests = load_manifests([SourceFile("pod.yaml", f"{secret}---\n{pod}")])
    assert manifests.pods[0].image_pull_secrets == ("regcred",)
    assert manifests.config_objects == (
        Secret("regcred", data={".dockercfg": b"{}"}, type="kubernetes.io/dockercfg"),
    )
    assert [problem.rule for problem in manifests.notes] == []
    assert manifests.unsupported == ()


def test_an_image_pull_secret_may_have_no_name() -> None:
    text = pod_yaml(spec="imagePullSecrets: [{}]")

    assert load(text).pods[0].image_pull_secrets == ("",)
