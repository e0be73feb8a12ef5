"""Pods written as the API writes them: read again, they are the same."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from probetui.k8s.api.pod import POD
from probetui.k8s.api.quantity import format_quantity, parse_quantity
from probetui.k8s.pod import Container, EnvVar, Pod
from probetui.k8s.probe import HTTPGetAction, HTTPHeader, Probe
from probetui.k8s.volume import OtherVolume, Volume
from probetui.manifest.yaml.dump import dump_yaml
from probetui.record.masking import MASKED, Mask
from tests.builders import START
from tests.manifest.yaml_pods import load

_FOLDER = Path(__file__).parents[3] / "sample_pods"
_SAMPLES = sorted(_FOLDER.glob("*.yaml"))
_OPEN = Mask(hides=False)
EVERYTHING = """
apiVersion: v1
kind: Pod
metadata:
  name: everything
  namespace: shop
  uid: 0e4c3b1e-0000-4000-8000-000000000001
  labels: {app: web}
  annotations: {note: "two: words"}
spec:
  activeDeadlineSeconds: 600
  terminationGracePeriodSeconds: 30
  restartPolicy: OnFailure
  hostname: somebody
  shareProcessNamespace: true
  serviceAccountName: robot
  dnsPolicy: None
  dnsConfig:
    nameservers: [10.0.0.10]
    searches: [shop.svc]
    options: [{name: ndots, value: "2"}, {name: rotate}]
  hostAliases: [{ip: 10.1.1.1, hostnames: [db, store]}]
  readinessGates: [{conditionType: example.com/ready}]
  securityContext:
    runAsUser: 0
    runAsGroup: 7
    runAsNonRoot: false
    fsGroup: 8
    supplementalGroups: [9]
    seccompProfile: {type: RuntimeDefault}
  volumes:
    - {name: scratch, emptyDir: {}}
    - {name: shared, emptyDir: {medium: Memory, sizeLimit: 64Mi}}
    - {name: host, hostPath: {path: /tmp, type: Directory}}
    - name: settings
      configMap: {name: cm, optional: true, items: [{key: a, path: b, mode: 256}]}
    - {name: keys, secret: {secretName: s, defaultMode: 256}}
    - name: about
      downwardAPI:
        items:
          - {path: labels, fieldRef: {fieldPath: metadata.labels}}
          - path: cpu
            resourceFieldRef: {containerName: app, resource: limits.cpu, divisor: 1m}
    - name: mixed
      projected:
        sources: [{configMap: {name: cm}}, {secret: {name: s}}]
  initContainers:
    - {name: first, image: "busybox:1.36", command: [sh, -c, "exit 0"]}
    - name: beside
      image: busybox
      restartPolicy: Always
      startupProbe: {exec: {command: [test, -e, /ready]}, failureThreshold: 30}
  containers:
    - name: app
      image: busybox:1.36
      imagePullPolicy: Never
      command: [sh]
      args: [-c, "sleep 1\\n"]
      workingDir: /srv
      stdin: true
      stdinOnce: true
      tty: true
      env:
        - {name: MODE, value: "on"}
        - {name: EMPTY}
        - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
        - {name: A, valueFrom: {configMapKeyRef: {name: cm, key: a, optional: true}}}
        - {name: B, valueFrom: {secretKeyRef: {name: s, key: b}}}
      envFrom:
        - {prefix: CM_, configMapRef: {name: cm, optional: true}}
        - {secretRef: {name: s}}
      ports:
        - {name: http, containerPort: 8080, hostPort: 8081, hostIP: 127.0.0.1}
        - {containerPort: 53, protocol: UDP}
      resources:
        limits: {cpu: "1.5", memory: 64Mi}
        requests: {cpu: 250m, memory: 32M}
      securityContext:
        runAsUser: 1000
        privileged: false
        readOnlyRootFilesystem: true
        allowPrivilegeEscalation: false
        capabilities: {add: [NET_ADMIN], drop: [ALL]}
      lifecycle:
        postStart: {exec: {command: [touch, /started]}}
        preStop: {sleep: {seconds: 3}}
      startupProbe: {tcpSocket: {port: http, host: 127.0.0.1}}
      livenessProbe:
        httpGet:
          path: /live?a=b
          port: 8080
          scheme: HTTPS
          host: example.com
          httpHeaders: [{name: Accept, value: text/plain}]
        initialDelaySeconds: 5
        terminationGracePeriodSeconds: 1
      readinessProbe: {grpc: {port: 9000, service: ready}}
      volumeMounts:
        - {name: scratch, mountPath: /scratch, readOnly: true, subPath: a/b}
        - name: host
          mountPath: /host
          subPathExpr: $(MODE)
          mountPropagation: HostToContainer
"""


def again(pod: Pod) -> Pod:
    """Return a pod after it was written and read."""
    (read,) = load(dump_yaml(POD.write(pod))).pods
    return read


@pytest.mark.parametrize("path", _SAMPLES, ids=lambda path: path.stem)
def test_a_sample_is_the_same_when_it_is_written_and_read(path: Path) -> None:
    (pod,) = load(path.read_text(encoding="utf-8")).pods

    assert again(pod) == pod


def test_a_pod_with_everything_is_the_same_when_it_is_written_and_read() -> None:
    (pod,) = load(EVERYTHING).pods

    assert again(pod) == pod


def test_a_volume_of_a_kind_that_is_not_carried_out_keeps_its_kind() -> None:
    pod = Pod("uid", "demo", volumes=(Volume("shared", OtherVolume("nfs")),))

    assert POD.write(pod)["spec"]["volumes"] == [{"name": "shared", "nfs": {}}]


def test_values_that_are_secret_by_name_are_masked_however_short_they_are() -> None:
    action = HTTPGetAction(80, http_headers=(HTTPHeader("Authorization", "abc"),))
    container = Container(
        "app", env=(EnvVar("API_TOKEN", "x1"),), liveness_probe=Probe(action)
    )
    pod = Pod("uid", "demo", containers=(container,))

    (written,) = POD.write(Mask().pod(pod))["spec"]["containers"]

    assert written["env"] == [{"name": "API_TOKEN", "value": MASKED}]
    (header,) = written["livenessProbe"]["httpGet"]["httpHeaders"]
    assert header == {"name": "Authorization", "value": MASKED}


def test_known_secrets_are_masked_wherever_they_stand() -> None:
    mask = Mask(["s3cr3t-token"])
    container = Container("app", args=("--with=s3cr3t-token",))
    pod = Pod("uid", "demo", annotations={"a": "s3cr3t-token"}, containers=(container,))

    text = dump_yaml(POD.write(mask.pod(pod)))

    assert "s3cr3t-token" not in text


def test_instants_of_a_pods_life_are_in_its_metadata() -> None:
    pod = replace(
        Pod("uid", "demo"),
        created_at=START,
        deletion_requested_at=START,
        deletion_grace_period_seconds=30,
    )

    metadata = POD.write(pod)["metadata"]

    assert metadata["creationTimestamp"] == "2025-01-01T12:00:00Z"
    assert metadata["deletionTimestamp"] == "2025-01-01T12:00:30Z"
    assert metadata["deletionGracePeriodSeconds"] == 30
    assert POD.read({"metadata": metadata}).deletion_requested_at == START


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        pytest.param("0", "0", id="nothing"),
        pytest.param("0.25", "250m", id="thousandths"),
        pytest.param("2", "2", id="whole"),
        pytest.param("67108864", "64Mi", id="binary"),
        pytest.param("128000000", "128M", id="decimal"),
        pytest.param("1000", "1k", id="thousand"),
        pytest.param("1023", "1023", id="neither"),
        pytest.param("0.0000000001", "1n", id="rounded up"),
        pytest.param("-0.5", "-500m", id="negative"),
    ],
)
def test_an_amount_is_written_as_shortly_as_it_can_be(amount: str, text: str) -> None:
    assert format_quantity(Decimal(amount)) == text


@given(st.integers(-(10**15), 10**15), st.sampled_from([0, -3, -6, -9, 3, 6]))
def test_an_amount_is_the_same_when_it_is_written_and_read(
    number: int, exponent: int
) -> None:
    amount = Decimal(number).scaleb(exponent)

    assert parse_quantity(format_quantity(amount)) == amount
