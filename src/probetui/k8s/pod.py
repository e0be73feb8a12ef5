"""`v1.Pod` and its containers as frozen values: the fields that probetui supports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType

from probetui.k8s.environment import EnvFrom, EnvVarSource
from probetui.k8s.probe import LifecycleHandler, Probe, ProbeHandler, ProbeType
from probetui.k8s.volume import Volume
from probetui.values import Instant, Value


class SecurityContext(Value, frozen=True):
    """`v1.SecurityContext`; None leaves it to the pod, the image or the runtime.

    `run_as_user_name` is the image's user where only its name is known.
    """

    run_as_user: int | None = None
    run_as_user_name: str = ""
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    privileged: bool | None = None
    read_only_root_filesystem: bool | None = None
    allow_privilege_escalation: bool | None = None
    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    seccomp_profile: str | None = None


class PodSecurityContext(Value, frozen=True):
    """`v1.PodSecurityContext`: the defaults for all containers of a pod."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    supplemental_groups: tuple[int, ...] = ()
    fs_group: int | None = None
    seccomp_profile: str | None = None


class DNSOption(Value, frozen=True):
    """An option of the resolver; many have no value."""

    name: str
    value: str | None = None


class DNSConfig(Value, frozen=True):
    """A pod's own name servers, search domains and resolver options."""

    nameservers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[DNSOption, ...] = ()


class HostAlias(Value, frozen=True):
    """Host names of an address in `/etc/hosts`."""

    ip: str
    hostnames: tuple[str, ...] = ()


NO_LABELS: Mapping[str, str] = MappingProxyType({})
NO_QUANTITIES: Mapping[str, Decimal] = MappingProxyType({})


class RestartPolicy(StrEnum):
    """When the kubelet restarts exited containers."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"


class PullPolicy(StrEnum):
    """When an image is pulled."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class EnvVar(Value, frozen=True):
    """One environment variable.

    `has_value_from` marks a variable with a source instead of a value; exec probes
    see it with an empty value. `value_from` is that source, None for an unsupported
    kind of source; the variable is then empty.
    """

    name: str
    value: str = ""
    has_value_from: bool = False
    value_from: EnvVarSource | None = None


class ContainerPort(Value, frozen=True):
    """A declared port; probes may name it."""

    container_port: int
    name: str = ""
    protocol: str = "TCP"
    host_port: int = 0
    host_ip: str = ""


class VolumeMount(Value, frozen=True):
    """Where a volume appears in a container.

    `sub_path` is a path in the volume; `sub_path_expr` the same with `$(NAME)` of the
    container's environment.
    """

    name: str
    mount_path: str
    read_only: bool = False
    sub_path: str = ""
    sub_path_expr: str = ""
    mount_propagation: str = ""


class Resources(Value, frozen=True):
    """Requests and limits by resource name, in base units.

    CPU is in cores, memory in bytes.
    """

    requests: Mapping[str, Decimal] = NO_QUANTITIES
    limits: Mapping[str, Decimal] = NO_QUANTITIES

    def __hash__(self) -> int:
        return hash((frozenset(self.requests.items()), frozenset(self.limits.items())))


NO_RESOURCES = Resources()
NO_SECURITY_CONTEXT = SecurityContext()
NO_POD_SECURITY_CONTEXT = PodSecurityContext()
NO_DNS_CONFIG = DNSConfig()


RESTART_ALL_CONTAINERS = "RestartAllContainers"
"""The action of a restart rule that restarts the pod's other containers, too."""


class RestartRule(Value, frozen=True):
    """A rule of a container: which action some exit codes lead to.

    `action` is `Restart` or `RestartAllContainers`, `operator` is `In` or `NotIn`.
    """

    action: str
    operator: str = ""
    values: tuple[int, ...] = ()

    def matches(self, exit_code: int) -> bool:
        """Return whether the rule is about this exit code."""
        return (exit_code in self.values) is (self.operator == "In")


class Container(Value, frozen=True):
    """A container of the spec, with the API server's defaults applied.

    `restart_policy` is ALWAYS for a sidecar (a restartable init container). Of others
    it is the container's own, None where the pod's applies. `stop_signal` is a name as
    SIGUSR1, empty for the image's.
    """

    name: str
    image: str = ""
    image_pull_policy: PullPolicy = PullPolicy.IF_NOT_PRESENT
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    working_dir: str = ""
    ports: tuple[ContainerPort, ...] = ()
    startup_probe: Probe | None = None
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    restart_policy: RestartPolicy | None = None
    termination_message_path: str = "/dev/termination-log"
    termination_message_policy: str = "File"
    volume_mounts: tuple[VolumeMount, ...] = ()
    resources: Resources = NO_RESOURCES
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    env_from: tuple[EnvFrom, ...] = ()
    security_context: SecurityContext = NO_SECURITY_CONTEXT
    restart_rules: tuple[RestartRule, ...] = ()
    stop_signal: str = ""

    @property
    def is_sidecar(self) -> bool:
        """Whether this is a restartable init container."""
        return self.restart_policy is RestartPolicy.ALWAYS

    def probe(self, probe_type: ProbeType) -> Probe | None:
        """Return the probe of that type, or None."""
        match probe_type:
            case ProbeType.LIVENESS:
                return self.liveness_probe
            case ProbeType.READINESS:
                return self.readiness_probe
            case ProbeType.STARTUP:
                return self.startup_probe

    def probes(self) -> Iterator[Probe]:
        """Yield the container's probes."""
        yield from filter(None, map(self.probe, ProbeType))

    def handlers(self) -> Iterator[ProbeHandler | LifecycleHandler]:
        """Yield what its probes and hooks do."""
        yield from filter(None, (probe.handler for probe in self.probes()))
        yield from filter(None, (self.post_start, self.pre_stop))


class Pod(Value, frozen=True, dict=True):
    """A pod as the kubelet sees it: spec and metadata, never its status.

    `termination_grace_period_seconds` is None only for a spec that was not
    defaulted. `readiness_gates` are condition types. `generation` is 1 for a new pod
    and grows with each change of the spec, 0 where nobody counts.
    """

    uid: str
    name: str
    namespace: str = "default"
    labels: Mapping[str, str] = NO_LABELS
    annotations: Mapping[str, str] = NO_LABELS
    restart_policy: RestartPolicy = RestartPolicy.ALWAYS
    termination_grace_period_seconds: int | None = 30
    active_deadline_seconds: int | None = None
    init_containers: tuple[Container, ...] = ()
    containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    host_network: bool = False
    share_process_namespace: bool = False
    hostname: str = ""
    readiness_gates: tuple[str, ...] = ()
    created_at: Instant | None = None
    deletion_requested_at: Instant | None = None
    deletion_grace_period_seconds: int | None = None
    volumes: tuple[Volume, ...] = ()
    security_context: PodSecurityContext = NO_POD_SECURITY_CONTEXT
    host_pid: bool = False
    host_ipc: bool = False
    dns_policy: str = "ClusterFirst"
    dns_config: DNSConfig = NO_DNS_CONFIG
    host_aliases: tuple[HostAlias, ...] = ()
    service_account_name: str = "default"
    generation: int = 0
    image_pull_secrets: tuple[str, ...] = ()

    def volume(self, name: str) -> Volume | None:
        """Return the volume of that name, or None."""
        for volume in self.volumes:
            if volume.name == name:
                return volume
        return None

    @property
    def full_name(self) -> str:
        """Name and namespace as the kubelet's messages write them."""
        return f"{self.name}_{self.namespace}"

    @property
    def sidecars(self) -> tuple[Container, ...]:
        """The restartable init containers, in order."""
        return tuple(
            container for container in self.init_containers if container.is_sidecar
        )

    def all_containers(self) -> Iterator[Container]:
        """Yield the init containers in order, then the regular ones."""
        yield from self.init_containers
        yield from self.containers

    def probes(self) -> Iterator[Probe]:
        """Yield the probes of all containers."""
        for container in self.all_containers():
            yield from container.probes()

    def container_names(self) -> tuple[str, ...]:
        """Return the names of all containers, those of init containers first."""
        return tuple(container.name for container in self.all_containers())

    def containers_with_paths(self) -> Iterator[tuple[str, Container]]:
        """Yield the same containers with their paths in the API's JSON."""
        for index, container in enumerate(self.init_containers):
            yield f"spec.initContainers[{index}]", container
        for index, container in enumerate(self.containers):
            yield f"spec.containers[{index}]", container

    def container(self, name: str) -> Container | None:
        """Return the container of that name, regular ones first, or None."""
        return self._containers_by_name.get(name)

    # A pod may have thousands of containers, each of which is looked up each second.
    @cached_property
    def _containers_by_name(self) -> Mapping[str, Container]:
        in_order = (*self.containers, *self.init_containers)
        return {container.name: container for container in reversed(in_order)}

    def field_path(self, container_name: str) -> str:
        """Return the path that events about a container refer to.

        Source: kubelet/container/ref.go, v1.32.10, fieldPath.
        """
        path = self._field_paths.get(container_name)
        return path or "implicitly required container " + container_name

    @cached_property
    def _field_paths(self) -> Mapping[str, str]:
        paths: dict[str, str] = {}
        for field_name, containers in (
            ("containers", self.containers),
            ("initContainers", self.init_containers),
            ("ephemeralContainers", self.ephemeral_containers),
        ):
            for index, container in enumerate(containers):
                here = f"{{{container.name}}}" if container.name else f"[{index}]"
                paths.setdefault(container.name, f"spec.{field_name}{here}")
        return paths
