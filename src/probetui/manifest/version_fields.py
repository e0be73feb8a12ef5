"""Fields that the chosen version of Kubernetes disables: dropped with a note.

An API server drops them silently, even with strict validation. Fields that a version
does not know are in `field_versions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lightkube.models import core_v1

from probetui.kubelet_rules import KubeletRules

CONSEQUENCES = {
    ("Lifecycle", "stopSignal"): ": the image's signal is sent",
    ("GRPCAction", "mode"): ": the probe goes on in plaintext",
    ("HTTPGetAction", "protocol"): ": the request goes on with HTTP/1.1",
}
"""The consequence, if it does not follow from the field's absence."""


def drop_disabled_fields(
    pod: core_v1.Pod, rules: KubeletRules
) -> list[tuple[str, str]]:
    """Clear the fields whose gates are off; return paths and consequences."""
    spec = pod.spec
    if spec is None:
        return []
    dropped = []
    for owner, name, path in _disabled_fields(spec, rules):
        if getattr(owner, name) is not None:
            setattr(owner, name, None)
            consequence = CONSEQUENCES.get((type(owner).__name__, name), "")
            dropped.append((f"{path}.{name}", consequence))
    return dropped


def _disabled_fields(
    spec: core_v1.PodSpec, rules: KubeletRules
) -> Iterator[tuple[Any, str, str]]:
    """Yield the disabled fields: owner, name, path of owner."""
    if not rules.pod_level_resources:
        yield spec, "resources", "spec"
    if not rules.hostname_override:
        yield spec, "hostnameOverride", "spec"
    # Gate GenericWorkload (KEP-4671), alpha; pods are not scheduled here.
    yield spec, "schedulingGroup", "spec"
    yield from _disabled_projections(spec, rules)
    for key in ("initContainers", "containers"):
        for index, container in enumerate(getattr(spec, key) or ()):
            path = f"spec.{key}[{index}]"
            if not rules.env_files:
                yield from _file_refs(container, path)
            for name, is_on in (
                ("startupProbe", rules.startup_probes),
                ("restartPolicyRules", rules.container_restart_rules),
                ("restartPolicy", rules.sidecars),
            ):
                if not is_on:
                    yield container, name, path
            for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
                probe = getattr(container, kind)
                if probe is not None:
                    yield from _disabled_probe_fields(probe, f"{path}.{kind}", rules)
            yield from _disabled_hook_fields(container, path, rules)
            yield from _alpha_mount_fields(container, path)
    yield from _alpha_volume_fields(spec)


def _disabled_projections(
    spec: core_v1.PodSpec, rules: KubeletRules
) -> Iterator[tuple[Any, str, str]]:
    for index, volume in enumerate(spec.volumes or ()):
        projected = volume.projected or core_v1.ProjectedVolumeSource()
        for number, source in enumerate(projected.sources or ()):
            path = f"spec.volumes[{index}].projected.sources[{number}]"
            if not rules.trust_bundles:
                yield source, "clusterTrustBundle", path
            if not rules.pod_certificates:
                yield source, "podCertificate", path


def _alpha_mount_fields(
    container: core_v1.Container, path: str
) -> Iterator[tuple[Any, str, str]]:
    """Yield options of mounts: gate VolumeBindMountOptions (KEP-5855), alpha in 1.37.

    They cannot be enabled, as probetui does not implement them.
    """
    for index, mount in enumerate(container.volumeMounts or ()):
        yield mount, "bindMountOptions", f"{path}.volumeMounts[{index}]"


def _alpha_volume_fields(spec: core_v1.PodSpec) -> Iterator[tuple[Any, str, str]]:
    """Yield owners and modes of volumes' files, alpha in 1.37, which cannot be set."""
    for index, volume in enumerate(spec.volumes or ()):
        path = f"spec.volumes[{index}]"
        if volume.emptyDir is not None:
            yield volume.emptyDir, "mode", f"{path}.emptyDir"
        yield from _alpha_source_fields(volume, path)


def _alpha_source_fields(
    volume: core_v1.Volume, path: str
) -> Iterator[tuple[Any, str, str]]:
    for kind in ("secret", "configMap", "downwardAPI", "projected"):
        source = getattr(volume, kind)
        if source is None:
            continue
        yield source, "defaultUser", f"{path}.{kind}"
        for index, item in enumerate(getattr(source, "items", None) or ()):
            yield item, "user", f"{path}.{kind}.items[{index}]"
        for index, projection in enumerate(getattr(source, "sources", None) or ()):
            yield from _alpha_projection_fields(
                projection, f"{path}.{kind}.sources[{index}]"
            )


def _alpha_projection_fields(
    source: core_v1.VolumeProjection, path: str
) -> Iterator[tuple[Any, str, str]]:
    for kind in ("clusterTrustBundle", "podCertificate", "serviceAccountToken"):
        projection = getattr(source, kind)
        if projection is not None:
            yield projection, "user", f"{path}.{kind}"
    for kind in ("secret", "configMap", "downwardAPI"):
        projection = getattr(source, kind)
        items = projection.items if projection is not None else None
        for index, item in enumerate(items or ()):
            yield item, "user", f"{path}.{kind}.items[{index}]"


def _file_refs(
    container: core_v1.Container, path: str
) -> Iterator[tuple[Any, str, str]]:
    for index, variable in enumerate(container.env or ()):
        if variable.valueFrom is not None:
            yield variable.valueFrom, "fileKeyRef", f"{path}.env[{index}].valueFrom"


def _disabled_probe_fields(
    probe: core_v1.Probe, path: str, rules: KubeletRules
) -> Iterator[tuple[Any, str, str]]:
    if not rules.grpc_probes:
        yield probe, "grpc", path
    if probe.grpc is not None and not rules.grpc_mode:
        yield probe.grpc, "mode", f"{path}.grpc"
    if probe.httpGet is not None and not rules.http_protocol:
        yield probe.httpGet, "protocol", f"{path}.httpGet"
    if not rules.probe_grace_period:
        yield probe, "terminationGracePeriodSeconds", path


def _disabled_hook_fields(
    container: core_v1.Container, path: str, rules: KubeletRules
) -> Iterator[tuple[Any, str, str]]:
    lifecycle = container.lifecycle
    if lifecycle is not None and not rules.stop_signals:
        yield lifecycle, "stopSignal", f"{path}.lifecycle"
    for kind in ("postStart", "preStop"):
        hook = getattr(lifecycle, kind) if lifecycle is not None else None
        if hook is not None and hook.httpGet is not None and not rules.http_protocol:
            yield hook.httpGet, "protocol", f"{path}.lifecycle.{kind}.httpGet"
        if hook is not None and not rules.sleep_hooks:
            yield hook, "sleep", f"{path}.lifecycle.{kind}"
