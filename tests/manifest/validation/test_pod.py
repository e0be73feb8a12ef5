"""Rules in the API server's words; the friendly ones are in test_load.py."""

from __future__ import annotations

import pytest

from probetui.manifest.validation import names
from probetui.manifest.validation.pod import validate_pod
from tests.manifest.yaml_pods import pod_model

_APP = "spec.containers[0]"


def _errors(
    container: str = "", spec: str = "", metadata: str = "name: web"
) -> list[str]:
    return [
        field_error.message
        for field_error in validate_pod(pod_model(container, spec, metadata))
    ]


@pytest.mark.parametrize(
    ("container", "spec"),
    [
        pytest.param("", "", id="least"),
        pytest.param(
            "readinessProbe: {httpGet: {port: 80, httpHeaders: [{name: X-A, value:"
            " b}]}, successThreshold: 5}",
            "",
            id="readiness-may-need-many-successes",
        ),
        pytest.param(
            "livenessProbe: {exec: {command: ['']}, terminationGracePeriodSeconds: 1}",
            "",
            id="liveness-with-its-own-grace-period",
        ),
        pytest.param("startupProbe: {grpc: {port: 9000}}", "", id="grpc"),
        pytest.param(
            "lifecycle: {postStart: {tcpSocket: {port: 1}}, preStop: {sleep: {seconds:"
            " 30}}}",
            "",
            id="hooks",
        ),
        pytest.param(
            "env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}},"
            " {name: B, valueFrom: {fieldRef: {fieldPath: 'metadata.labels[''a'']'}}},"
            " {name: C, valueFrom: {configMapKeyRef: {name: c, key: k}}},"
            " {name: D, valueFrom: {resourceFieldRef: {resource:"
            " limits.hugepages-2Mi}}}], envFrom: [{prefix: P_, secretRef: {name: s}}]",
            "",
            id="environment",
        ),
        pytest.param(
            "volumeMounts: [{name: a, mountPath: /a, subPath: x/y}]",
            "volumes: [{name: a, configMap: {name: c, items: [{key: k, path: p}]}},"
            " {name: b, persistentVolumeClaim: {claimName: p}},"
            " {name: c, downwardAPI: {items: [{path: p, resourceFieldRef:"
            " {containerName: app, resource: limits.cpu}}, {path: q, fieldRef:"
            " {fieldPath: metadata.labels}}]}}]",
            id="volumes",
        ),
        pytest.param(
            "ports: [{containerPort: 80, hostPort: 80}, {containerPort: 80, hostPort:"
            " 80, protocol: UDP}]",
            "",
            id="one-port-of-two-protocols",
        ),
        pytest.param(
            "",
            "tolerations: [{operator: Exists}, {key: a, value: b}], nodeName: node1,"
            " subdomain: s, activeDeadlineSeconds: 5, readinessGates:"
            " [{conditionType: example.com/Open}]",
            id="spec",
        ),
    ],
)  # fmt: skip
def test_good_pods_break_no_rule(container: str, spec: str) -> None:
    assert _errors(container, spec) == []


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        pytest.param(
            "terminationMessagePolicy: Log",
            [
                (f'{_APP}.terminationMessagePolicy: Unsupported value: "Log": supported'
                ' values: "File", "FallbackToLogsOnError"')
            ],
            id="message-policy",
        ),
        pytest.param(
            "restartPolicy: Always",
            [
                (f"{_APP}.restartPolicy: Forbidden: may not be set for non-init"
                " containers")
            ],
            id="restart-policy",
        ),
        pytest.param(
            "ports: [{containerPort: 70000, hostPort: -1, protocol: tcp}, {name: a,"
            " containerPort: 1}, {name: a, containerPort: 0}]",
            [
                (f"{_APP}.ports[0].containerPort: Invalid value: 70000: must be"
                f" between 1"
                " and 65535, inclusive"),
                (f"{_APP}.ports[0].hostPort: Invalid value: -1: must be between 1 and"
                " 65535, inclusive"),
                (f'{_APP}.ports[0].protocol: Unsupported value: "tcp": supported'
                f' values:'
                ' "SCTP", "TCP", "UDP"'),
                f'{_APP}.ports[2].name: Duplicate value: "a"',
                f"{_APP}.ports[2].containerPort: Required value",
            ],
            id="ports",
        ),
        pytest.param(
            "ports: [{containerPort: 1, hostPort: 9}, {containerPort: 2, hostPort: 9}]",
            [f'{_APP}.ports[1].hostPort: Duplicate value: "TCP//9"'],
            id="host-port-twice",
        ),
        pytest.param(
            "env: [{name: ''}, {name: A, valueFrom: {}}, {name: B, value: x, valueFrom:"
            " {fieldRef: {fieldPath: nope}}}, {name: C, valueFrom: {fieldRef: {},"
            " resourceFieldRef: {}}}, {name: D, valueFrom: {secretKeyRef: {name: s}}}]",
            [
                f"{_APP}.env[0].name: Required value",
                (f'{_APP}.env[1].valueFrom: Invalid value: "": must specify one of:'
                " `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"),
                (f'{_APP}.env[2].valueFrom.fieldRef.fieldPath: Invalid value: "nope":'
                ' error converting fieldPath: field label not supported: nope'),
                (f'{_APP}.env[2].valueFrom: Invalid value: "": may not be specified'
                f' when'
                " `value` is not empty"),
                f"{_APP}.env[3].valueFrom.fieldRef.fieldPath: Required value",
                f"{_APP}.env[3].valueFrom.resourceFieldRef.resource: Required value",
                (f'{_APP}.env[3].valueFrom: Invalid value: "": may not have more than'
                f' one'
                " field specified at a time"),
                f"{_APP}.env[4].valueFrom.secretKeyRef.key: Required value",
            ],
            id="environment",
        ),
        pytest.param(
            "envFrom: [{configMapRef: {name: A_b}}, {}, {configMapRef: {}, secretRef:"
            " {name: s}}]",
            [
                (f'{_APP}.envFrom[0].configMapRef.name: Invalid value: "A_b":'
                f" {names.NOT_A_SUBDOMAIN}"),
                (f'{_APP}.envFrom: Invalid value: "": must specify one of:'
                f' `configMapRef`'
                " or `secretRef`"),
                f"{_APP}.envFrom[2].configMapRef.name: Required value",
                (f'{_APP}.envFrom: Invalid value: "": may not have more than one field'
                " specified at a time"),
            ],
            id="sources-of-environment",
        ),
        pytest.param(
            "resources: {limits: {cpu: 1}, requests: {cpu: 2, memory: -1}}",
            [
                (f'{_APP}.resources.requests: Invalid value: "2": must be less than or'
                " equal to cpu limit of 1"),
                (f'{_APP}.resources.requests[memory]: Invalid value: "-1": must be'
                " greater than or equal to 0"),
            ],
            id="resources",
        ),
        pytest.param(
            "securityContext: {runAsUser: -1, runAsGroup: 2147483648}",
            [
                (f"{_APP}.securityContext.runAsUser: Invalid value: -1: must be"
                f" between 0"
                " and 2147483647, inclusive"),
                (f"{_APP}.securityContext.runAsGroup: Invalid value: 2147483648: must"
                f" be"
                " between 0 and 2147483647, inclusive"),
            ],
            id="user-and-group",
        ),
        pytest.param(
            "volumeMounts: [{mountPath: /a}, {name: v, mountPath: /a, subPath: x,"
            " subPathExpr: ../y}, {name: v}]",
            [
                f"{_APP}.volumeMounts[0].name: Required value",
                f'{_APP}.volumeMounts[0].name: Not found: ""',
                f'{_APP}.volumeMounts[1].name: Not found: "v"',
                (f'{_APP}.volumeMounts[1].mountPath: Invalid value: "/a": must be'
                f' unique'),
                (f'{_APP}.volumeMounts[1].subPathExpr: Invalid value: "../y":'
                f' subPathExpr'
                " and subPath are mutually exclusive"),
                (f'{_APP}.volumeMounts.subPathExpr: Invalid value: "../y": must not'
                " contain '..'"),
                f'{_APP}.volumeMounts[2].name: Not found: "v"',
                f"{_APP}.volumeMounts[2].mountPath: Required value",
            ],
            id="mounts",
        ),
        pytest.param(
            "lifecycle: {preStop: {sleep: {seconds: 31}}}",
            [
                (f"{_APP}.lifecycle.preStop.sleep: Invalid value: 31: must be greater"
                f" than"
                " 0 and less than terminationGracePeriodSeconds (30). Enable"
                " AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep.")
            ],
            id="sleep-longer-than-the-grace-period",
        ),
    ],
)  # fmt: skip
def test_rules_of_containers(container: str, expected: list[str]) -> None:
    assert _errors(container) == expected


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        pytest.param(
            "livenessProbe: {}",
            ["livenessProbe: Required value: must specify a handler type"],
            id="no-handler",
        ),
        pytest.param(
            "startupProbe: {tcpSocket: {port: 0}, exec: {}, grpc: {port: 0}}",
            [
                "startupProbe.exec.command: Required value",
                (
                    "startupProbe.tcpSocket: Forbidden: may not specify more than 1"
                    " handler type"
                ),
                (
                    "startupProbe.grpc: Forbidden: may not specify more than 1 handler"
                    " type"
                ),
            ],
            id="only-the-first-handler-is-looked-into",
        ),
        pytest.param(
            "livenessProbe: {tcpSocket: {port: 1}, initialDelaySeconds: -1,"
            " timeoutSeconds: -1, periodSeconds: -1, successThreshold: -1,"
            " failureThreshold: -1, terminationGracePeriodSeconds: 0}",
            [
                f"livenessProbe.{name}: Invalid value: -1: must be greater than or"
                f" equal"
                " to 0"
                for name in (
                    "initialDelaySeconds",
                    "timeoutSeconds",
                    "periodSeconds",
                    "successThreshold",
                    "failureThreshold",
                )
            ]
            + [
                (
                    "livenessProbe.terminationGracePeriodSeconds: Invalid value: 0:"
                    " must be greater than 0"
                ),
                "livenessProbe.successThreshold: Invalid value: -1: must be 1",
            ],
            id="numbers-out-of-range",
        ),
        pytest.param(
            "readinessProbe: {grpc: {port: 70000}, terminationGracePeriodSeconds: 5}",
            [
                (
                    "readinessProbe.grpc.port: Invalid value: 70000: must be between 1"
                    " and 65535, inclusive"
                ),
                (
                    "readinessProbe.terminationGracePeriodSeconds: Invalid value: 5:"
                    " must not be set for readinessProbes"
                ),
            ],
            id="grace-period-on-readiness",
        ),
        pytest.param(
            "livenessProbe: {httpGet: {port: '80', scheme: ftp, httpHeaders:"
            " [{name: a b, value: c}]}}",
            [
                (
                    'livenessProbe.httpGet.port: Invalid value: "80": must contain at'
                    " least"
                    " one letter (a-z)"
                ),
                (
                    'livenessProbe.httpGet.scheme: Unsupported value: "ftp": supported'
                    ' values: "HTTP", "HTTPS"'
                ),
                (
                    'livenessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid'
                    " HTTP"
                    " header must consist of alphanumeric characters or '-' (e.g."
                    " 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
                ),
            ],
            id="http",
        ),
    ],
)
def test_rules_of_probes(probe: str, expected: list[str]) -> None:
    assert _errors(probe) == [f"{_APP}.{error}" for error in expected]


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        pytest.param(
            "restartPolicy: Never, lifecycle: {}, livenessProbe: {}, readinessProbe:"
            " {}, startupProbe: {}",
            [
                'restartPolicy: Unsupported value: "Never": supported values: "Always"',
                *(
                    f"{name}: Forbidden: may not be set for init containers without"
                    " restartPolicy=Always"
                    for name in (
                        "lifecycle",
                        "livenessProbe",
                        "readinessProbe",
                        "startupProbe",
                    )
                ),
            ],
            id="plain",
        ),
        pytest.param(
            "restartPolicy: Always, readinessProbe: {tcpSocket: {port: 0}},"
            " lifecycle: {postStart: {}}",
            [
                "lifecycle.postStart: Required value: must specify a handler type",
                (
                    "readinessProbe.tcpSocket.port: Invalid value: 0: must be between"
                    " 1 and 65535, inclusive"
                ),
            ],
            id="sidecar",
        ),
        pytest.param("name: app", ['name: Duplicate value: "app"'], id="name-taken"),
        pytest.param("name: ''", ["name: Required value"], id="no-name"),
        pytest.param(
            "image: ' x'",
            [
                (
                    'image: Invalid value: " x": must not have leading or trailing'
                    " whitespace"
                )
            ],
            id="image-with-a-space",
        ),
    ],
)
def test_rules_of_init_containers(init: str, expected: list[str]) -> None:
    fields = {"name": "name: setup", "image": "image: x"}
    first = init.partition(":")[0]
    fields.pop(first, None)

    written = ", ".join([*fields.values(), init])
    errors = _errors(spec=f"initContainers: [{{{written}}}]")

    assert errors == [f"spec.initContainers[0].{error}" for error in expected]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            "restartPolicy: always",
            [
                ('spec.restartPolicy: Unsupported value: "always": supported values:'
                ' "Always", "OnFailure", "Never"')
            ],
            id="restart-policy",
        ),
        pytest.param(
            "activeDeadlineSeconds: 0",
            [
                ("spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and"
                " 2147483647, inclusive")
            ],
            id="deadline",
        ),
        pytest.param(
            "ephemeralContainers: [{name: a, image: x}]",
            ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
            id="ephemeral-containers",
        ),
        pytest.param(
            "nodeSelector: {a: 'b c'}, tolerations: [{key: a b, operator: Nope}, {}]",
            [
                'spec.nodeSelector: Invalid value: "b c": '
                + next(names.check_label_value("b c")),
                'spec.tolerations[0].key: Invalid value: "a b": '
                + next(names.check_qualified_name("a b")),
                ('spec.tolerations[0].operator: Unsupported value: "Nope": supported'
                ' values: "Equal", "Exists"'),
                ('spec.tolerations[1].operator: Invalid value: "": operator must be'
                ' Exists when `key` is empty, which means "match all values and all'
                ' keys"'),
            ],
            id="scheduling",
        ),
        pytest.param(
            "volumes: [{name: a, emptyDir: {sizeLimit: -1}, hostPath: {}}, {name: b},"
            " {name: b}]",
            [
                ("spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must"
                " be a valid resource quantity"),
                ("spec.volumes[0].hostPath: Forbidden: may not specify more than 1"
                " volume type"),
                'spec.volumes[2].name: Duplicate value: "b"',
            ],
            id="volumes",
        ),
        pytest.param(
            "volumes: [{name: a, hostPath: {path: /a/../b, type: Dir}}, {name: b,"
            " secret: {defaultMode: 512, items: [{path: ../a}, {key: k, path: ..a}]}},"
            " {name: c, configMap: {}}, {name: d, persistentVolumeClaim: {}}, {name: e,"
            " downwardAPI: {items: [{path: /a, mode: -1}, {path: b, fieldRef: {}}]}}]",
            [
                ('spec.volumes[0].hostPath.path: Invalid value: "/a/../b": must not'
                " contain '..'"),
                ('spec.volumes[0].hostPath.type: Unsupported value: "Dir": supported'
                ' values: "", "BlockDevice", "CharDevice", "Directory",'
                ' "DirectoryOrCreate", "File", "FileOrCreate", "Socket"'),
                "spec.volumes[1].secret.secretName: Required value",
                ("spec.volumes[1].secret.defaultMode: Invalid value: 512: must be a"
                " number between 0 and 0777 (octal), both inclusive"),
                "spec.volumes[1].secret.items[0].key: Required value",
                ('spec.volumes[1].secret.items[0].path: Invalid value: "../a": must not'
                " contain '..'"),
                ('spec.volumes[1].secret.items[1].path: Invalid value: "..a": must not'
                " start with '..'"),
                "spec.volumes[2].configMap.name: Required value",
                "spec.volumes[3].persistentVolumeClaim.claimName: Required value",
                ('spec.volumes[4].downwardAPI.path: Invalid value: "/a": must'
                ' be'
                " a relative path"),
                ("spec.volumes[4].downwardAPI: Required value: one of fieldRef"
                " and resourceFieldRef is required"),
                ("spec.volumes[4].downwardAPI.mode: Invalid value: -1: must"
                " be a number between 0 and 0777 (octal), both inclusive"),
                ("spec.volumes[4].downwardAPI.fieldRef.fieldPath: Required"
                " value"),
            ],
            id="sources-of-volumes",
        ),
        pytest.param(
            "volumes: [{name: a, projected: {defaultMode: 512, sources: [{secret: {}},"
            " {configMap: {name: c, items: [{key: k, path: ../p}, {key: k, path: q}]}},"
            " {secret: {name: s, items: [{key: k, path: q}]}}, {downwardAPI: {items:"
            " [{path: q, fieldRef: {fieldPath: status.podIP}}, {path: r}]}}]}}]",
            [
                ("spec.volumes[0].projected.defaultMode: Invalid value: 512: must be a"
                " number between 0 and 0777 (octal), both inclusive"),
                "spec.volumes[0].projected.sources[0].secret.name: Required value",
                ("spec.volumes[0].projected.sources[1].configMap.items[0].path: Invalid"
                " value: \"../p\": must not contain '..'"),
                ('spec.volumes[0].projected: Invalid value: "s": conflicting duplicate'
                " paths"),
                ("spec.volumes[0].projected.sources[3].downwardAPI.fieldRef"
                '.fieldPath: Unsupported value: "status.podIP": supported values:'
                ' "metadata.annotations", "metadata.labels", "metadata.name",'
                ' "metadata.namespace", "metadata.uid"'),
                ('spec.volumes[0].projected: Invalid value: "q": conflicting duplicate'
                " paths"),
                ("spec.volumes[0].projected.sources[3].downwardAPI: Required"
                " value: one of fieldRef and resourceFieldRef is required"),
            ],
            id="projected-volumes",
        ),
    ],
)  # fmt: skip
def test_rules_of_the_spec(spec: str, expected: list[str]) -> None:
    assert _errors(spec=spec) == expected


def test_a_file_of_a_volume_needs_a_path() -> None:
    errors = _errors(
        spec="volumes: [{name: a, configMap: {name: c, items: [{key: k}]}}]"
    )

    assert errors == ["spec.volumes[0].configMap.items[0].path: Required value"]


def test_ports_on_the_hosts_network_are_the_same_inside() -> None:
    errors = _errors("ports: [{containerPort: 80, hostPort: 81}]", "hostNetwork: true")

    assert errors == [
        (
            f"{_APP}.ports[0].hostPort: Invalid value: 81: must match `containerPort`"
            f" when"
            " `hostNetwork` is true"
        )
    ]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param(
            "namespace: a",
            ["metadata.name: Required value: name or generateName is required"],
            id="no-name",
        ),
        pytest.param(
            "name: web, namespace: A",
            [f'metadata.namespace: Invalid value: "A": {names.NOT_A_LABEL}'],
            id="namespace",
        ),
        pytest.param(
            f"name: web, annotations: {{a: {'x' * 262144}}}",
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
            id="annotations-too-long",
        ),
        pytest.param("name: web, annotations: {EXAMPLE.com/a: b}", [], id="annotation"),
    ],
)
def test_rules_of_the_metadata(metadata: str, expected: list[str]) -> None:
    assert _errors(metadata=metadata) == expected


def test_the_kubelet_itself_is_strict_about_names_of_variables() -> None:
    pod = pod_model(
        "env: [{name: a b, value: x}], envFrom: [{prefix: '1', secretRef: {name: s}}]"
    )

    assert list(validate_pod(pod)) == []
    assert [
        field_error.field for field_error in validate_pod(pod, strict_env_names=True)
    ] == [
        f"{_APP}.env[0].name",
        f"{_APP}.envFrom[0].prefix",
    ]


def test_a_pod_without_containers_is_refused() -> None:
    pod = pod_model()
    pod.spec = None

    fields = [field_error.field for field_error in validate_pod(pod)]

    assert fields == ["spec.containers", "spec.restartPolicy", "spec.dnsPolicy"]


def test_host_ports_of_init_containers_only_clash_inside_one() -> None:
    """Quirk: the path names the first init container, whichever it is."""
    container = "image: x, ports: [{containerPort: 1, hostPort: 9}"
    errors = _errors(
        spec=f"initContainers: [{{name: a, {container}]}}, {{name: b, {container},"
        " {containerPort: 2, hostPort: 9}]}]"
    )

    assert errors == [
        'spec.initContainers[0].ports[1].hostPort: Duplicate value: "TCP//9"'
    ]


def test_names_of_containers_must_be_unique() -> None:
    errors = _errors(spec="containers: [{name: a, image: x}, {name: a, image: x}]")

    assert errors == ['spec.containers[1].name: Duplicate value: "a"']


def test_a_resource_that_a_variable_asks_for_is_one_of_six() -> None:
    errors = _errors(
        "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.gpu}}}]"
    )

    assert errors == [
        (
            f"{_APP}.env[0].valueFrom.resourceFieldRef.resource: Unsupported value:"
            ' "limits'
            '.gpu": supported values: "limits.cpu", "limits.ephemeral-storage",'
            ' "limits.memory", "requests.cpu", "requests.ephemeral-storage",'
            ' "requests.memory"'
        )
    ]


def test_a_volume_needs_a_name() -> None:
    assert _errors(spec="volumes: [{emptyDir: {sizeLimit: 1Gi}}]") == [
        "spec.volumes[0].name: Required value"
    ]


def test_a_mount_may_take_its_path_from_variables() -> None:
    errors = _errors(
        "volumeMounts: [{name: a, mountPath: /a, subPathExpr: $(A)}]",
        "volumes: [{name: a, hostPath: {path: /a}}]",
    )

    assert errors == []


def test_on_the_hosts_network_equal_ports_are_fine() -> None:
    assert _errors("ports: [{containerPort: 80}]", "hostNetwork: true") == []


def test_a_bad_sub_path_is_reported() -> None:
    """Quirk: the path leaves out which mount it is."""
    errors = _errors(
        "volumeMounts: [{name: a, mountPath: /a, subPath: /x}]", "volumes: [{name: a}]"
    )

    assert errors == [
        f'{_APP}.volumeMounts.subPath: Invalid value: "/x": must be a relative path'
    ]
