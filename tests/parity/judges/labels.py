"""The labels and annotations of a new sandbox and a new container."""

from __future__ import annotations

from typing import Any

from probetui.k8s.pod import Container, Pod
from probetui.kubelet.kuberuntime.container_hash import container_hash
from probetui.kubelet.kuberuntime.expansion import expand_command
from probetui.kubelet.kuberuntime.labels import (
    container_annotations,
    container_labels,
    container_log_path,
    legacy_log_symlink,
    port_mappings,
    sandbox_labels,
    sandbox_log_directory,
)
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.configs import namespaces
from tests.parity import api_json


def judge(case: dict[str, Any]) -> None:
    pod = api_json.pod(case["pod"])
    container = pod.container(case["container"])
    assert container is not None

    assert {
        "sandbox": sandbox(pod, case),
        "container": _container(pod, container, case),
        "legacyLogSymlink": legacy_log_symlink(pod, container, case["containerID"]),
    } == case["expect"]


def sandbox(pod: Pod, case: dict[str, Any]) -> dict[str, Any]:
    options = namespaces(pod)
    return {
        "metadata": {
            "name": pod.name,
            "namespace": pod.namespace,
            "uid": pod.uid,
            "attempt": case["sandboxAttempt"],
        },
        "labels": sandbox_labels(pod),
        "annotations": pod.annotations,
        "logDirectory": sandbox_log_directory(pod),
        "portMappings": [
            {
                "protocol": mapping.protocol,
                "containerPort": mapping.container_port,
                "hostPort": mapping.host_port,
                "hostIP": mapping.host_ip,
            }
            for mapping in port_mappings(pod)
        ],
        "namespaceOptions": {
            name: cri.NamespaceMode.Name(getattr(options, name))
            for name in ("network", "ipc", "pid")
        },
    }


def _container(pod: Pod, container: Container, case: dict[str, Any]) -> dict[str, Any]:
    restart_count = case["restartCount"]
    return {
        "metadata": {"name": container.name, "attempt": restart_count},
        "labels": container_labels(pod, container),
        "annotations": container_annotations(
            pod, container, restart_count, container_hash(container)
        ),
        "logPath": container_log_path(container, restart_count),
        "command": list(expand_command(container.command, ())),
        "args": list(expand_command(container.args, ())),
        "workingDir": container.working_dir,
        "image": case["imageRef"],
        "userSpecifiedImage": container.image,
        "stdin": container.stdin,
        "stdinOnce": container.stdin_once,
        "tty": container.tty,
    }
