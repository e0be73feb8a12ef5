"""A pod as the Kubernetes API writes it, as far as probetui carries it out.

Source: k8s.io/api core/v1/types.go, v0.32.10, Pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from probetui.drive.masking import Mask
from probetui.k8s.environment import EnvFrom, SecretEnvSource
from probetui.k8s.network import DNSConfig
from probetui.k8s.pod import (
    Container,
    ContainerPort,
    EnvVar,
    Pod,
    Resources,
    VolumeMount,
)
from probetui.k8s.security import PodSecurityContext, SecurityContext
from probetui.presentation.api_json import api_time
from probetui.presentation.probe_json import handler_to_json, probe_to_json
from probetui.presentation.quantities import quantity_text
from probetui.presentation.volume_json import env_source_to_json, volume_to_json

Json = dict[str, Any]


def pod_to_json(pod: Pod, mask: Mask) -> Json:
    """Return `v1.Pod` without its status, with defaults, secrets masked."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(pod, mask),
        "spec": _spec(pod, mask),
    }


def _metadata(pod: Pod, mask: Mask) -> Json:
    return {
        "name": pod.name,
        "namespace": pod.namespace,
        **_written(
            {
                "uid": pod.uid,
                "labels": dict(pod.labels),
                "annotations": {
                    key: mask.text(each) for key, each in pod.annotations.items()
                },
                "creationTimestamp": api_time(pod.created_at),
                "deletionTimestamp": api_time(pod.deletion_requested_at),
            }
        ),
        **_set({"deletionGracePeriodSeconds": pod.deletion_grace_period_seconds}),
    }


def _spec(pod: Pod, mask: Mask) -> Json:
    return {
        **_written(
            {
                "activeDeadlineSeconds": pod.active_deadline_seconds,
                "dnsConfig": _dns_config(pod.dns_config),
                "hostAliases": [
                    {"ip": each.ip, "hostnames": list(each.hostnames)}
                    for each in pod.host_aliases
                ],
                "hostIPC": pod.host_ipc,
                "hostNetwork": pod.host_network,
                "hostPID": pod.host_pid,
                "hostname": pod.hostname,
                "readinessGates": [
                    {"conditionType": each} for each in pod.readiness_gates
                ],
                "shareProcessNamespace": pod.share_process_namespace,
                "volumes": [volume_to_json(each) for each in pod.volumes],
                "initContainers": [
                    _container(each, mask) for each in pod.init_containers
                ],
            }
        ),
        **_set({"terminationGracePeriodSeconds": pod.termination_grace_period_seconds}),
        "dnsPolicy": pod.dns_policy,
        "restartPolicy": pod.restart_policy.value,
        "securityContext": _pod_security(pod.security_context),
        "serviceAccountName": pod.service_account_name,
        "containers": [_container(each, mask) for each in pod.containers],
    }


def _container(container: Container, mask: Mask) -> Json:
    policy = container.restart_policy
    probes = {
        "startupProbe": container.startup_probe,
        "livenessProbe": container.liveness_probe,
        "readinessProbe": container.readiness_probe,
    }
    return {
        "name": container.name,
        "image": container.image,
        "imagePullPolicy": container.image_pull_policy.value,
        **_written(
            {
                "command": [mask.text(each) for each in container.command],
                "args": [mask.text(each) for each in container.args],
                "workingDir": container.working_dir,
                "env": [_variable(each, mask) for each in container.env],
                "envFrom": [_variables(each) for each in container.env_from],
                "ports": [_port(each) for each in container.ports],
                "restartPolicy": policy.value if policy else None,
                "lifecycle": _lifecycle(container, mask),
                "stdin": container.stdin,
                "stdinOnce": container.stdin_once,
                "tty": container.tty,
                "volumeMounts": [_mount(each) for each in container.volume_mounts],
                "securityContext": _security(container.security_context),
            }
        ),
        **{
            name: probe_to_json(probe, mask)
            for name, probe in probes.items()
            if probe is not None
        },
        "resources": _resources(container.resources),
        "terminationMessagePath": container.termination_message_path,
        "terminationMessagePolicy": container.termination_message_policy,
    }


def _variable(variable: EnvVar, mask: Mask) -> Json:
    if variable.value_from is not None:
        source = env_source_to_json(variable.value_from)
        return {"name": variable.name, "valueFrom": source}
    value = mask.value(variable.name, variable.value)
    return {"name": variable.name, **_written({"value": value})}


def _variables(together: EnvFrom) -> Json:
    source = together.source
    is_secret = isinstance(source, SecretEnvSource)
    kind = "secretRef" if is_secret else "configMapRef"
    optional = _written({"optional": source.optional})
    prefix = _written({"prefix": together.prefix})
    return {**prefix, kind: {"name": source.name, **optional}}


def _port(port: ContainerPort) -> Json:
    others = {"name": port.name, "hostPort": port.host_port, "hostIP": port.host_ip}
    return {
        "containerPort": port.container_port,
        "protocol": port.protocol,
        **_written(others),
    }


def _lifecycle(container: Container, mask: Mask) -> Json:
    hooks = {"postStart": container.post_start, "preStop": container.pre_stop}
    return {
        name: handler_to_json(hook, mask)
        for name, hook in hooks.items()
        if hook is not None
    }


def _mount(mount: VolumeMount) -> Json:
    return {
        "name": mount.name,
        "mountPath": mount.mount_path,
        **_written(
            {
                "readOnly": mount.read_only,
                "subPath": mount.sub_path,
                "subPathExpr": mount.sub_path_expr,
                "mountPropagation": mount.mount_propagation,
            }
        ),
    }


def _resources(resources: Resources) -> Json:
    return _written(
        {
            "limits": _amounts(resources.limits),
            "requests": _amounts(resources.requests),
        }
    )


def _amounts(amounts: Mapping[str, Decimal]) -> Json:
    return {name: quantity_text(amounts[name]) for name in sorted(amounts)}


def _pod_security(context: PodSecurityContext) -> Json:
    fields = {
        "fsGroup": context.fs_group,
        "runAsGroup": context.run_as_group,
        "runAsNonRoot": context.run_as_non_root,
        "runAsUser": context.run_as_user,
        "seccompProfile": _seccomp(context.seccomp_profile),
        "supplementalGroups": list(context.supplemental_groups) or None,
    }
    return _set(fields)


def _security(context: SecurityContext) -> Json:
    capabilities = _written(
        {
            "add": list(context.add_capabilities),
            "drop": list(context.drop_capabilities),
        }
    )
    fields = {
        "allowPrivilegeEscalation": context.allow_privilege_escalation,
        "capabilities": capabilities or None,
        "privileged": context.privileged,
        "readOnlyRootFilesystem": context.read_only_root_filesystem,
        "runAsGroup": context.run_as_group,
        "runAsNonRoot": context.run_as_non_root,
        "runAsUser": context.run_as_user,
        "seccompProfile": _seccomp(context.seccomp_profile),
    }
    return _set(fields)


def _seccomp(profile: str | None) -> Json | None:
    return None if profile is None else {"type": profile}


def _dns_config(config: DNSConfig) -> Json:
    options = [
        _set({"name": each.name, "value": each.value}) for each in config.options
    ]
    return _written(
        {
            "nameservers": list(config.nameservers),
            "searches": list(config.searches),
            "options": options,
        }
    )


def _set(fields: Json) -> Json:
    """Return the fields that say something; False and 0 do."""
    return {key: value for key, value in fields.items() if value is not None}


def _written(fields: Json) -> Json:
    """Return the fields that are not empty, as the API leaves out the others."""
    return {key: value for key, value in fields.items() if value}
