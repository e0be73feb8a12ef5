from __future__ import annotations

import pytest
from lightkube.models import core_v1

from probetui.k8s.volume import ConfigMap, ConfigObject, Secret
from probetui.manifest.yaml.dump import dump_config_object, dump_pod, pod_to_dict
from tests.manifest.yaml_pods import load, pod_model


def test_fields_stand_in_the_order_in_which_people_write_them() -> None:
    text = dump_pod(pod_model("livenessProbe: {tcpSocket: {port: 80}}"))

    assert text == (
        "apiVersion: v1\n"
        "kind: Pod\n"
        "metadata:\n"
        "  name: web\n"
        "spec:\n"
        "  dnsPolicy: ClusterFirst\n"
        "  enableServiceLinks: true\n"
        "  restartPolicy: Always\n"
        "  schedulerName: default-scheduler\n"
        "  securityContext: {}\n"
        "  terminationGracePeriodSeconds: 30\n"
        "  containers:\n"
        "    - name: app\n"
        "      image: busybox:1.36\n"
        "      imagePullPolicy: IfNotPresent\n"
        "      livenessProbe:\n"
        "        tcpSocket:\n"
        "          port: 80\n"
        "        periodSeconds: 10\n"
        "        timeoutSeconds: 1\n"
        "        successThreshold: 1\n"
        "        failureThreshold: 3\n"
        "      terminationMessagePath: /dev/termination-log\n"
        "      terminationMessagePolicy: File\n"
    )


def test_the_status_is_left_out() -> None:
    pod = core_v1.Pod(status=core_v1.PodStatus(phase="Running"))

    assert pod_to_dict(pod) == {"apiVersion": "v1", "kind": "Pod"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("yes", id="boolean"),
        pytest.param("1e1", id="float-for-go-only"),
        pytest.param("080", id="no-octal"),
        pytest.param("1:30", id="number-for-pyyaml-only"),
        pytest.param("2024-01-01", id="date"),
        pytest.param("", id="empty"),
        pytest.param("<<", id="merge"),
        pytest.param("=", id="equals-sign"),
        pytest.param("a\nb\n", id="lines"),
        pytest.param("a\nb  ", id="spaces-at-the-end"),
        pytest.param("\n  a", id="indented"),
        pytest.param(" a: b # c", id="looks-like-yaml"),
        pytest.param("é\U0001f600", id="beyond-ascii"),
        pytest.param("\x07\x85\ufeff", id="not-printable"),
        pytest.param("x" * 300, id="long"),
    ],
)
def test_text_stays_what_it_was(text: str) -> None:
    pod = pod_model("livenessProbe: {tcpSocket: {port: 80}}")
    assert pod.spec is not None
    pod.spec.containers[0].command = [text]

    manifests = load(dump_pod(pod))

    assert manifests.errors == ()
    assert manifests.pods[0].containers[0].command == (text,)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(ConfigMap("c", "shop"), id="empty"),
        pytest.param(
            ConfigMap(
                "c", data={"a": "1", "b": "x\ny\n"}, binary_data={"d": b"\0\xff"}
            ),
            id="ConfigMap",
        ),
        pytest.param(Secret("s", data={"key": b"\0", "empty": b""}), id="Secret"),
    ],
)
def test_an_object_reads_as_itself_again(value: ConfigObject) -> None:
    assert load(dump_config_object(value)).config_objects == (value,)


def test_a_secret_may_be_masked() -> None:
    text = dump_config_object(Secret("s", data={"key": b"hidden"}), "***")

    assert load(text).config_objects == (Secret("s", data={"key": b"***"}),)
