from __future__ import annotations

import pytest

from probetui.manifest.problem import Severity
from probetui.manifest.supported_fields import unsupported_claims, unsupported_fields
from probetui.manifest.yaml.parser import SourceFile, parse_yaml
from tests.manifest.yaml_pods import PROBED, pod_yaml


def _fields(
    container: str = "", spec: str = "", metadata: str = "name: web"
) -> list[str]:
    text = pod_yaml(container, spec, metadata)
    (document,) = parse_yaml(SourceFile("pod.yaml", text)).documents
    return [field.path for field in unsupported_fields(document.root)]


@pytest.mark.parametrize(
    ("container", "spec", "metadata"),
    [
        pytest.param(PROBED, "", "name: web", id="probe"),
        pytest.param(
            "command: [a], args: [b], workingDir: /, env: [{name: A, value: b}], ports:"
            " [{containerPort: 1, hostPort: 2}], lifecycle: {preStop: {sleep: {seconds:"
            " 1}}}, terminationMessagePath: /a, terminationMessagePolicy: File,"
            " volumeMounts: [{name: v, mountPath: /v, readOnly: true, subPath: a,"
            " mountPropagation: None, recursiveReadOnly: Disabled}], tty: true, stdin:"
            " true, resources: {limits: {cpu: 1, memory: 1Gi}}, securityContext:"
            " {runAsUser: 1, privileged: true, capabilities: {add: [A], drop: [ALL]},"
            " readOnlyRootFilesystem: true, allowPrivilegeEscalation: false,"
            " seccompProfile: {type: Unconfined}, procMount: Default},"
            " envFrom: [{secretRef: {name: s}, prefix: P}, {configMapRef: {name: c}}]",
            "initContainers: [{name: i, restartPolicy: Always}], restartPolicy: Always,"
            " terminationGracePeriodSeconds: 1, activeDeadlineSeconds: 1, hostname: h,"
            " shareProcessNamespace: true, readinessGates: [{conditionType: a}],"
            " hostNetwork: true, hostPID: true, hostIPC: true, dnsPolicy: None,"
            " dnsConfig: {nameservers: [1.1.1.1], options: [{name: ndots}]},"
            " hostAliases: [{ip: 1.1.1.1, hostnames: [a]}], securityContext: {fsGroup:"
            " 1, supplementalGroups: [2], fsGroupChangePolicy: Always},"
            " volumes: [{name: a, emptyDir: {}}, {name: b, hostPath: {path: /a, type:"
            " File}}, {name: c, configMap: {name: c, items: [{key: a, path: b}]}},"
            " {name: d, secret: {secretName: s, defaultMode: 256}}, {name: e,"
            " projected: {sources: [{secret: {name: s}}, {downwardAPI: {items: [{path:"
            " p, fieldRef: {fieldPath: metadata.name}}]}}]}}]",
            "name: web, namespace: a, uid: u, labels: {a: b}, annotations: {a: b}",
            id="all-that-is-carried-out",
        ),
        pytest.param(
            "resources: {requests: {cpu: 1}}",
            "nodeSelector: {a: b}, tolerations: [{operator: Exists}], affinity:"
            " {nodeAffinity: {}}, serviceAccountName: a, priority: 5",
            "name: web, resourceVersion: '5', ownerReferences: [{}]",
            id="without-a-meaning-here",
        ),
        pytest.param(
            "volumeMounts: [], securityContext: {}, stdin: false, tty: null",
            "volumes: [], hostNetwork: false, securityContext: {seLinuxOptions: {}},"
            " subdomain: '', dnsPolicy: ClusterFirst",
            "name: web",
            id="empty",
        ),
    ],
)
def test_nothing_is_missing(container: str, spec: str, metadata: str) -> None:
    assert _fields(container, spec, metadata) == []


@pytest.mark.parametrize(
    ("container", "spec", "fields"),
    [
        pytest.param(
            "volumeMounts: [{name: v, recursiveReadOnly: Enabled}], volumeDevices:"
            " [{name: v, devicePath: /d}]",
            "volumes: [{name: v, nfs: {server: a}}, {name: w, projected: {sources:"
            " [{clusterTrustBundle: {path: t, user: 1000}}]}}]",
            [
                "spec.containers[0].volumeMounts[0].recursiveReadOnly",
                "spec.containers[0].volumeDevices",
                "spec.volumes[0].nfs",
                "spec.volumes[1].projected.sources[0].clusterTrustBundle.user",
            ],
            id="volumes",
        ),
        pytest.param(
            "env: [{name: A, valueFrom: {fileKeyRef: {key: b}}}, {name: B}],"
            " envFrom: [{secretRef: {name: s}}]",
            "",
            ["spec.containers[0].env[0].valueFrom.fileKeyRef"],
            id="environment-from-files",
        ),
        pytest.param(
            "resources: {limits: {cpu: 1, nvidia.com/gpu: 1}}, securityContext:"
            " {runAsUser: 1, seLinuxOptions: {level: s0}, seccompProfile: {type:"
            " Localhost, localhostProfile: a}}",
            "hostNetwork: true, setHostnameAsFQDN: true, securityContext: {sysctls:"
            " [{name: a, value: b}]}",
            [
                "spec.containers[0].resources.limits[nvidia.com/gpu]",
                "spec.containers[0].securityContext.seLinuxOptions",
                ("spec.containers[0].securityContext.seccompProfile.localhostProfile"),
                "spec.setHostnameAsFQDN",
                "spec.securityContext.sysctls",
            ],
            id="limits-and-security",
        ),
    ],
)
def test_what_is_used_and_not_carried_out(
    container: str, spec: str, fields: list[str]
) -> None:
    assert _fields(container, spec) == fields


def test_each_is_a_warning_at_its_place() -> None:
    text = "spec:\n  subdomain: a\n"
    (document,) = parse_yaml(SourceFile("pod.yaml", text)).documents

    (warning,) = unsupported_fields(document.root, "spec.template")

    assert warning.severity is Severity.WARNING
    assert str(warning) == (
        "pod.yaml:2:3: spec.template.spec.subdomain: is not supported:"
        " the pod runs without it"
    )


def test_a_volume_of_a_kind_that_is_not_there_is_empty_instead() -> None:
    text = "spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}"
    (document,) = parse_yaml(SourceFile("pod.yaml", text)).documents

    (warning,) = unsupported_fields(document.root)

    assert str(warning) == (
        "pod.yaml:1:28: spec.volumes[0].persistentVolumeClaim: is not supported:"
        " the pod gets an empty volume instead"
    )


def test_volumes_that_a_workload_claims_are_empty_too() -> None:
    text = "spec: {volumeClaimTemplates: [{metadata: {name: a}}]}"
    (document,) = parse_yaml(SourceFile("set.yaml", text)).documents

    (warning,) = unsupported_claims(document.root, "items[1]")

    assert warning.path == "items[1].spec.volumeClaimTemplates[0]"
    assert warning.message.endswith("the pod gets an empty volume instead")


def test_a_pod_claims_nothing() -> None:
    (document,) = parse_yaml(SourceFile("pod.yaml", "spec: {volumes: []}")).documents

    assert unsupported_claims(document.root) == ()


def test_a_pod_that_is_none_uses_nothing() -> None:
    (document,) = parse_yaml(
        SourceFile("pod.yaml", "spec: {containers: 5}\n")
    ).documents

    assert unsupported_fields(document.root) == ()
