"""A valid pod of lightkube's models to the frozen values that everything else uses."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import TypeVar

from lightkube.models import core_v1, meta_v1

from probetui.k8s.network import DNSConfig, DNSOption, HostAlias
from probetui.k8s.pod import (
    NO_DNS_CONFIG,
    NO_LABELS,
    NO_POD_SECURITY_CONTEXT,
    NO_RESOURCES,
    NO_SECURITY_CONTEXT,
    Container,
    ContainerPort,
    Pod,
    PullPolicy,
    Resources,
    RestartPolicy,
    VolumeMount,
)
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    HTTPHeader,
    LifecycleHandler,
    Probe,
    SleepAction,
    TCPSocketAction,
)
from probetui.k8s.security import PodSecurityContext, SecurityContext
from probetui.manifest import quantity
from probetui.manifest.defaults import LONGEST_SECONDS
from probetui.manifest.translate_environment import (
    translate_env_from,
    translate_variable,
)
from probetui.manifest.translate_volume import translate_volume


def translate(pod: core_v1.Pod) -> Pod:
    """Return a pod that has its defaults and breaks no rule as our own value."""
    metadata = pod.metadata or meta_v1.ObjectMeta()
    spec = pod.spec or core_v1.PodSpec(containers=[])
    return Pod(
        uid=metadata.uid or "",
        name=metadata.name or "",
        namespace=metadata.namespace or "default",
        labels=_frozen(metadata.labels),
        annotations=_frozen(metadata.annotations),
        restart_policy=RestartPolicy(spec.restartPolicy or "Always"),
        termination_grace_period_seconds=_seconds(spec.terminationGracePeriodSeconds),
        active_deadline_seconds=spec.activeDeadlineSeconds,
        init_containers=tuple(_container(each) for each in spec.initContainers or ()),
        containers=tuple(_container(each) for each in spec.containers),
        host_network=bool(spec.hostNetwork),
        share_process_namespace=bool(spec.shareProcessNamespace),
        hostname=spec.hostname or "",
        readiness_gates=tuple(each.conditionType for each in spec.readinessGates or ()),
        volumes=tuple(translate_volume(each) for each in spec.volumes or ()),
        security_context=_pod_security(spec.securityContext),
        host_pid=bool(spec.hostPID),
        host_ipc=bool(spec.hostIPC),
        dns_policy=spec.dnsPolicy or "ClusterFirst",
        dns_config=_dns_config(spec.dnsConfig),
        host_aliases=tuple(
            HostAlias(each.ip, tuple(each.hostnames or ()))
            for each in spec.hostAliases or ()
        ),
        service_account_name=spec.serviceAccountName or "default",
    )


def _container(container: core_v1.Container) -> Container:
    lifecycle = container.lifecycle or core_v1.Lifecycle()
    policy = container.restartPolicy
    return Container(
        name=container.name,
        image=container.image or "",
        image_pull_policy=PullPolicy(container.imagePullPolicy or "IfNotPresent"),
        command=tuple(container.command or ()),
        args=tuple(container.args or ()),
        env=tuple(translate_variable(each) for each in container.env or ()),
        env_from=tuple(translate_env_from(each) for each in container.envFrom or ()),
        working_dir=container.workingDir or "",
        ports=tuple(_port(each) for each in container.ports or ()),
        startup_probe=_probe(container.startupProbe),
        liveness_probe=_probe(container.livenessProbe),
        readiness_probe=_probe(container.readinessProbe),
        post_start=_hook(lifecycle.postStart),
        pre_stop=_hook(lifecycle.preStop),
        restart_policy=RestartPolicy(policy) if policy else None,
        termination_message_path=container.terminationMessagePath or "",
        termination_message_policy=container.terminationMessagePolicy or "",
        volume_mounts=tuple(_mount(each) for each in container.volumeMounts or ()),
        resources=_resources(container.resources),
        stdin=bool(container.stdin),
        stdin_once=bool(container.stdinOnce),
        tty=bool(container.tty),
        security_context=_security(container.securityContext),
    )


def _pod_security(written: core_v1.PodSecurityContext | None) -> PodSecurityContext:
    if written is None:
        return NO_POD_SECURITY_CONTEXT
    return PodSecurityContext(
        run_as_user=written.runAsUser,
        run_as_group=written.runAsGroup,
        run_as_non_root=written.runAsNonRoot,
        supplemental_groups=tuple(written.supplementalGroups or ()),
        fs_group=written.fsGroup,
        seccomp_profile=_seccomp(written.seccompProfile),
    )


def _security(written: core_v1.SecurityContext | None) -> SecurityContext:
    if written is None:
        return NO_SECURITY_CONTEXT
    capabilities = written.capabilities or core_v1.Capabilities()
    return SecurityContext(
        run_as_user=written.runAsUser,
        run_as_group=written.runAsGroup,
        run_as_non_root=written.runAsNonRoot,
        privileged=written.privileged,
        read_only_root_filesystem=written.readOnlyRootFilesystem,
        allow_privilege_escalation=written.allowPrivilegeEscalation,
        add_capabilities=tuple(capabilities.add or ()),
        drop_capabilities=tuple(capabilities.drop or ()),
        seccomp_profile=_seccomp(written.seccompProfile),
    )


def _seccomp(written: core_v1.SeccompProfile | None) -> str | None:
    return written.type if written is not None else None


def _dns_config(written: core_v1.PodDNSConfig | None) -> DNSConfig:
    if written is None:
        return NO_DNS_CONFIG
    return DNSConfig(
        nameservers=tuple(written.nameservers or ()),
        searches=tuple(written.searches or ()),
        options=tuple(
            DNSOption(each.name or "", each.value) for each in written.options or ()
        ),
    )


def _port(port: core_v1.ContainerPort) -> ContainerPort:
    return ContainerPort(
        container_port=port.containerPort,
        name=port.name or "",
        protocol=port.protocol or "TCP",
        host_port=port.hostPort or 0,
        host_ip=port.hostIP or "",
    )


def _resources(written: core_v1.ResourceRequirements | None) -> Resources:
    """Return quantities as numbers; a container that says nothing asks for nothing."""
    if written is None or not (written.requests or written.limits):
        return NO_RESOURCES
    return Resources(
        requests=_amounts(written.requests), limits=_amounts(written.limits)
    )


def _amounts(written: Mapping[str, str] | None) -> Mapping[str, Decimal]:
    return MappingProxyType(
        {name: quantity.amount(text) for name, text in (written or {}).items()}
    )


def _mount(mount: core_v1.VolumeMount) -> VolumeMount:
    return VolumeMount(
        name=mount.name,
        mount_path=mount.mountPath,
        read_only=bool(mount.readOnly),
        sub_path=mount.subPath or "",
        sub_path_expr=mount.subPathExpr or "",
        mount_propagation=mount.mountPropagation or "",
    )


def _probe(probe: core_v1.Probe | None) -> Probe | None:
    if probe is None:
        return None
    common = _common_handler(probe.exec, probe.httpGet, probe.tcpSocket)
    return Probe(
        handler=common or (_grpc(probe.grpc) if probe.grpc is not None else None),
        initial_delay_seconds=probe.initialDelaySeconds or 0,
        timeout_seconds=probe.timeoutSeconds or 1,
        period_seconds=probe.periodSeconds or 10,
        success_threshold=probe.successThreshold or 1,
        failure_threshold=probe.failureThreshold or 3,
        termination_grace_period_seconds=_seconds(probe.terminationGracePeriodSeconds),
    )


_Seconds = TypeVar("_Seconds", int, int | None)


def _seconds(seconds: _Seconds) -> _Seconds:
    """Return a length of time of 64 bits as one that can be waited for.

    Difference: more than 2147483647 seconds count as that many. The kubelet takes all
    of them, and reckons wrongly with more than 9223372036.
    """
    if seconds is None:
        return seconds
    return max(-LONGEST_SECONDS, min(seconds, LONGEST_SECONDS))


def _hook(hook: core_v1.LifecycleHandler | None) -> LifecycleHandler | None:
    if hook is None:
        return None
    common = _common_handler(hook.exec, hook.httpGet, hook.tcpSocket)
    return common or (SleepAction(_seconds(hook.sleep.seconds)) if hook.sleep else None)


def _common_handler(
    command: core_v1.ExecAction | None,
    http: core_v1.HTTPGetAction | None,
    tcp: core_v1.TCPSocketAction | None,
) -> ExecAction | HTTPGetAction | TCPSocketAction | None:
    if command is not None:
        return ExecAction(tuple(command.command or ()))
    if http is not None:
        return _http(http)
    if tcp is not None:
        return TCPSocketAction(port=tcp.port, host=tcp.host or "")
    return None


def _http(action: core_v1.HTTPGetAction) -> HTTPGetAction:
    return HTTPGetAction(
        port=action.port,
        path=action.path or "/",
        host=action.host or "",
        scheme=action.scheme or "HTTP",
        http_headers=tuple(
            HTTPHeader(name=each.name, value=each.value)
            for each in action.httpHeaders or ()
        ),
    )


def _grpc(action: core_v1.GRPCAction) -> GRPCAction:
    return GRPCAction(port=action.port, service=action.service or "")


def _frozen(mapping: Mapping[str, str] | None) -> Mapping[str, str]:
    return MappingProxyType(dict(mapping)) if mapping else NO_LABELS
