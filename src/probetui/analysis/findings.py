"""Findings: what is unwise about the probes of a pod. Names of rules never change."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType

from msgspec import Struct

from probetui.analysis.timing import timing_of
from probetui.durations import format_age
from probetui.engine.diagnostics import EXEC_MISSING, REDIRECT
from probetui.k8s.pod import Container, ContainerPort, Pod, RestartPolicy
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    LifecycleHandler,
    Probe,
    ProbeType,
    TCPSocketAction,
)
from probetui.k8s.status import PodCondition
from probetui.kubelet.journal import FindingEntry
from probetui.kubelet.kuberuntime.grace_period import GraceSource
from probetui.kubelet.kuberuntime.restart import should_restart_on_failure
from probetui.kubelet_rules import PORTED_RULES, ROWS, KubeletRules
from probetui.manifest.problem import Severity, quote_short

DEFAULT_TIMEOUT_SECONDS = 1
LONG_GRACE_SECONDS = 30
"""The default; who chose a longer one thought of an orderly end, not of a hung app."""

SHORT_BUDGET = timedelta(minutes=1)
"""What takes longer to start than this is nothing unusual."""

TLS_PORTS = frozenset({443, 8443})
_TLS_NAME = re.compile(r"\b(https|tls|grpcs)\b")


_SIDECARS_MENDED = ROWS["sidecar_workers_end_with_never"].settled_in
_HOST_REFUSED = ROWS["refuses_probe_host"].settled_in


class FindingRule(Struct, frozen=True):
    """A kind of finding: how much it matters, what is wrong, and what to do."""

    severity: Severity
    about: str
    advice: str


FINDING_RULES: Mapping[str, FindingRule] = MappingProxyType({
    "no-readiness-probe": FindingRule(
        Severity.NOTE,
        "A container gets traffic as soon as it runs.",
        "Add a readinessProbe that asks whether the app can answer requests now.",
    ),
    "liveness-without-startup": FindingRule(
        Severity.NOTE,
        "A liveness probe kills an app that is slow to start.",
        "Add a startupProbe with room for the slowest start; liveness begins after "
        "it.",
    ),
    "startup-window": FindingRule(
        Severity.WARNING,
        "After a restart, liveness can kill a container before its startup probe "
        "has run (kubelet 1.35 to 1.37).",
        "Shorten the startup probe's periodSeconds, or delay the liveness probe.",
    ),
    "startup-budget": FindingRule(
        Severity.NOTE,
        "A startup probe kills an app that takes a minute to start.",
        "Raise failureThreshold or periodSeconds until their product exceeds the "
        "slowest start.",
    ),
    "liveness-same-as-readiness": FindingRule(
        Severity.WARNING,
        "Liveness and readiness use one check and act equally soon: a container that "
        "should only lose traffic is killed.",
        "Give liveness a higher failureThreshold or a longer period, or let it ask "
        "only whether the process hangs.",
    ),
    "liveness-faster-than-readiness": FindingRule(
        Severity.WARNING,
        "A container is killed before it is taken out of traffic.",
        "Make liveness notice later than readiness: a longer period or a higher "
        "threshold.",
    ),
    "timeout-at-default": FindingRule(
        Severity.NOTE,
        "The timeout is one second, which a busy machine may exceed.",
        "Set timeoutSeconds to what the slowest healthy answer takes, with a "
        "margin.",
    ),
    "timeout-exceeds-period": FindingRule(
        Severity.WARNING,
        "A probe may take longer than its period: ticks are dropped.",
        "Make periodSeconds at least timeoutSeconds.",
    ),
    "port-not-declared": FindingRule(
        Severity.NOTE,
        "A probe uses a port that its container does not declare.",
        "Declare the port under `ports`, or correct the probe's port.",
    ),
    "port-not-tcp": FindingRule(
        Severity.WARNING,
        "A probe connects by TCP to a port that is declared as UDP or SCTP.",
        "Probe a TCP port, or use an exec probe with a client of that protocol.",
    ),
    "scheme-against-port": FindingRule(
        Severity.WARNING,
        "An HTTP probe uses a scheme that its port is not meant for.",
        "Set `scheme: HTTPS` for a port that speaks TLS, and leave it out for one that "
        "does not.",
    ),
    "exec-needs-shell": FindingRule(
        Severity.WARNING,
        "A command uses shell syntax, but is not run by a shell.",
        'Run it by a shell: `[sh, -c, "..."]`.',
    ),
    "variable-not-expanded": FindingRule(
        Severity.WARNING,
        "A command of a probe or hook has a variable that nobody expands.",
        "Run a shell that expands it, as in `[sh, -c, 'ping -c 1 \"$POD_IP\"']`; the "
        "kubelet expands `$(NAME)` of plain values, in probes only.",
    ),
    "variable-unset": FindingRule(
        Severity.NOTE,
        "A shell's script of a probe or hook uses a variable that neither it nor the "
        "container sets.",
        "Set it in `env`, or give it a default, as in `${NAME:-value}`. If the image "
        "sets it, all is well.",
    ),
    "exec-ends-script": FindingRule(
        Severity.WARNING,
        "`exec` ends a shell's script: the tests after it are never made.",
        "Leave `exec` out, or put it before the last command.",
    ),
    EXEC_MISSING: FindingRule(
        Severity.WARNING,
        "The command is not in the container (found when it ran).",
        "Use a command that the image has, or probe by HTTP, TCP or gRPC.",
    ),
    "init-waits-for-service": FindingRule(
        Severity.WARNING,
        "An init container waits for a Service that selects only pods which cannot be "
        "ready before.",
        "Wait in the app itself, or for another Service; a headless Service with "
        "publishNotReadyAddresses has pods that are not ready, too.",
    ),
    "grpc-tls": FindingRule(
        Severity.WARNING,
        "A gRPC probe uses plain text on a port meant for TLS.",
        "Probe a port without TLS, or use an exec probe with a client that speaks "
        "TLS.",
    ),
    "host-set": FindingRule(
        Severity.WARNING,
        "A probe sets `host`: it does not go to the pod.",
        "Remove `host`; to choose a virtual host, set the Host header in "
        "httpHeaders.",
    ),
    "host-refused": FindingRule(
        Severity.WARNING,
        "A probe or hook sets `host`, which Pod Security's baseline refuses since "
        f"Kubernetes {_HOST_REFUSED}.",
        "Remove `host`; to choose a virtual host, set the Host header in "
        "httpHeaders.",
    ),
    REDIRECT: FindingRule(
        Severity.WARNING,
        "A probe was redirected (found in a response).",
        "Probe the path that answers itself, without a redirect.",
    ),
    "liveness-grace-long": FindingRule(
        Severity.NOTE,
        "An app that hangs gets a long grace period.",
        "Set terminationGracePeriodSeconds in the liveness probe; it replaces the "
        "pod's.",
    ),
    "readiness-gate-unset": FindingRule(
        Severity.WARNING,
        "A pod waits for a condition that only a controller of the cluster sets.",
        "Set the condition under `status.conditions` of the manifest, or remove "
        "the gate.",
    ),
    "sidecar-probes-end": FindingRule(
        Severity.WARNING,
        "In a pod with restartPolicy Never, a sidecar's probes end with its first "
        f"exit (mended in {_SIDECARS_MENDED}).",
        "Use a kubelet that has this mended, or another restartPolicy.",
    ),
    "host-privileged": FindingRule(
        Severity.WARNING,
        "A container may do all that root may do on this machine.",
        "Remove `privileged`; add the one capability that is needed.",
    ),
    "host-pid": FindingRule(
        Severity.WARNING,
        "A pod shares the process namespace of this machine.",
        "Remove `hostPID`; `shareProcessNamespace` shares processes within the pod.",
    ),
    "host-network": FindingRule(
        Severity.WARNING,
        "A pod shares the network of this machine.",
        "Remove `hostNetwork`, and use the pod's own network.",
    ),
    "host-ipc": FindingRule(
        Severity.WARNING,
        "A pod shares memory with the programs of this machine.",
        "Remove `hostIPC`; containers of one pod share memory without it.",
    ),
    "host-capability": FindingRule(
        Severity.WARNING,
        "A container has a capability that affects this machine.",
        "Drop the capability.",
    ),
    "host-runtime-socket": FindingRule(
        Severity.WARNING,
        "A pod controls the container runtime of this machine.",
        "Remove the volume; who has the socket is root on this machine.",
    ),
    "host-path-system": FindingRule(
        Severity.WARNING,
        "A pod mounts a system folder, or one with keys.",
        "Mount a folder made for this pod, or use an emptyDir.",
    ),
    "host-device": FindingRule(
        Severity.WARNING,
        "A pod mounts a device of this machine.",
        "Remove the device, or run the pod on a machine that may be lost.",
    ),
    "host-path-as-root": FindingRule(
        Severity.NOTE,
        "A container writes to a hostPath as this machine's root.",
        "Set runAsUser to a user without rights here, or mount it readOnly.",
    ),
    "host-seccomp": FindingRule(
        Severity.WARNING,
        "A container runs without seccomp.",
        "Remove `Unconfined`; RuntimeDefault is the usual profile.",
    ),
    "host-port": FindingRule(
        Severity.NOTE,
        "A port is open to everybody who reaches this machine.",
        "Remove `hostPort`, or set `hostIP: 127.0.0.1`.",
    ),
    "alert-label": FindingRule(
        Severity.WARNING,
        "A rule selects series of probes by a label that they do not have: it never "
        "fires.",
        "Use the labels of /metrics/probes: probe_type, result, namespace, pod, "
        "container and pod_uid; durations have neither result nor pod_uid.",
    ),
    "alert-label-value": FindingRule(
        Severity.WARNING,
        "A rule selects series of probes by a value that they do not have: it never "
        "fires.",
        "probe_type is Liveness, Readiness or Startup, and result is successful, "
        "failed or unknown; a time-out is failed.",
    ),
    "alert-series": FindingRule(
        Severity.WARNING,
        "A rule reads a series of probes that no kubelet has: it never fires.",
        "Use prober_probe_total, or prober_probe_duration_seconds with _bucket, "
        "_count or _sum.",
    ),
    "alert-range": FindingRule(
        Severity.WARNING,
        "A rule reads a range of no more than one scrape, in which nothing changes: "
        "it never fires.",
        "Take a range of two scrapes or more, 1m for the usual 30 s; `probetui rules` "
        "makes rules whose ranges fit the probes.",
    ),
    "alert-expression": FindingRule(
        Severity.WARNING,
        "A rule about probes cannot be parsed as PromQL.",
        "`promtool check rules` says the same of a rule file.",
    ),
})  # fmt: skip
"""Every kind of finding, in the order in which they are looked for.

Two of them need a running container, and come from sessions alone. Those of
`host_access` are about what a pod may do to its machine, all others about probes.
"""


class Finding(Struct, frozen=True):
    """Something found; `path` is the field of the pod that it is about."""

    rule: str
    path: str
    message: str

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return FINDING_RULES[self.rule].severity


def severity_of(rule: str) -> Severity:
    """Return how much a finding matters; one of a newer probetui is a note."""
    return FINDING_RULES[rule].severity if rule in FINDING_RULES else Severity.NOTE


def finding_text(entry: FindingEntry) -> str:
    """Return what a probe showed, with its place, as `check` writes a finding."""
    return ": ".join(filter(None, (entry.place, entry.path, entry.message)))


def findings_for(
    pod: Pod,
    rules: KubeletRules = PORTED_RULES,
    conditions: Iterable[PodCondition] = (),
) -> Iterator[Finding]:
    """Yield what is found about a pod, container by container.

    Args:
        pod: it is valid.
        rules: those of the kubelet's version, as some has what others have not.
        conditions: those that the manifest sets for readiness gates.
    """
    yield from _about_gates(pod, {condition.type for condition in conditions})
    for path, container in pod.containers_with_paths():
        if rules.refuses_probe_host:
            yield from _about_refused_hosts(container, path)
        yield from _about_hooks(container, path)
        is_probed = container.is_sidecar or container not in pod.init_containers
        if is_probed:
            yield from _about_container(pod, container, path, rules)
            if rules.inherits_started:
                yield from _about_startup_window(pod, container, path)
            if rules.sidecar_workers_end_with_never:
                yield from _about_sidecar(pod, container, path)


def _about_gates(pod: Pod, is_set: Collection[str]) -> Iterator[Finding]:
    for index, gate in enumerate(pod.readiness_gates):
        if gate in is_set:
            continue
        message = (
            f"nothing sets the condition {quote_short(gate)} here, so that the pod "
            "never becomes Ready; write it into the manifest's status.conditions"
        )
        path = f"spec.readinessGates[{index}].conditionType"
        yield Finding("readiness-gate-unset", path, message)


def _about_hooks(container: Container, path: str) -> Iterator[Finding]:
    for name, hook in _hooks(container):
        if isinstance(hook, ExecAction):
            at = f"{path}.lifecycle.{name}.exec.command"
            yield from _about_command(hook.command, container, at, is_hook=True)


def _about_command(
    command: Sequence[str], container: Container, path: str, *, is_hook: bool = False
) -> Iterator[Finding]:
    # Late: a session shows findings and looks for none in commands.
    from probetui.analysis.probe_commands import (  # noqa: PLC0415
        find_in_command,
        undefined_variable,
    )

    for rule, message in find_in_command(command, container.env, is_hook=is_hook):
        yield Finding(rule, path, message)
    if not container.env_from and (name := undefined_variable(command, container.env)):
        message = (
            f'"${name}" is empty in this script unless the image sets it: neither the '
            "container nor the script does"
        )
        yield Finding("variable-unset", path, message)


def _hooks(container: Container) -> Iterator[tuple[str, LifecycleHandler]]:
    if container.post_start is not None:
        yield "postStart", container.post_start
    if container.pre_stop is not None:
        yield "preStop", container.pre_stop


def _about_refused_hosts(container: Container, path: str) -> Iterator[Finding]:
    handlers: list[tuple[str, object]] = [
        (f"{path}.{field}", probe.handler) for field, _, probe in _probes(container)
    ]
    handlers += [(f"{path}.lifecycle.{name}", hook) for name, hook in _hooks(container)]
    for at, handler in handlers:
        match handler:
            case HTTPGetAction(host=host) if host:
                field = "httpGet"
            case TCPSocketAction(host=host) if host:
                field = "tcpSocket"
            case _:
                continue
        message = (
            f"is {quote_short(host)}: a namespace with Pod Security's baseline or "
            f"restricted level refuses the pod since {_HOST_REFUSED} (KEP-4940)"
        )
        yield Finding("host-refused", f"{at}.{field}.host", message)


def _about_sidecar(pod: Pod, container: Container, path: str) -> Iterator[Finding]:
    """Find a sidecar that nothing probes any more after its first exit."""
    if not container.is_sidecar or pod.restart_policy is not RestartPolicy.NEVER:
        return
    for field, probe_type, _ in _probes(container):
        end = (
            "the pod then never gets past its init containers"
            if probe_type is ProbeType.STARTUP
            else "nothing is probed after that"
        )
        message = (
            "the sidecar is restarted, but this probe ends with its first exit, as the"
            f" pod's restartPolicy is Never: {end} (mended in {_SIDECARS_MENDED}, "
            "k/k#132826)"
        )
        yield Finding("sidecar-probes-end", f"{path}.{field}", message)


def _about_startup_window(
    pod: Pod, container: Container, path: str
) -> Iterator[Finding]:
    """Find a liveness probe that is through before the startup worker's next tick."""
    startup, liveness = container.startup_probe, container.liveness_probe
    if startup is None or liveness is None:
        return
    if not should_restart_on_failure(pod, container):
        return
    window = startup.period_seconds
    kills = (
        liveness.initial_delay_seconds
        + (liveness.failure_threshold - 1) * liveness.period_seconds
    )
    if kills < window:
        message = (
            "a container that is restarted at once counts as started for up to "
            f"{window}s, until the next tick of this probe: liveness can kill it from "
            f"{kills}s on (k/k#141155); a period of {max(kills, 1)}s or less, or a "
            "longer livenessProbe, avoids that"
        )
        yield Finding("startup-window", f"{path}.startupProbe.periodSeconds", message)


def _about_container(
    pod: Pod, container: Container, path: str, rules: KubeletRules
) -> Iterator[Finding]:
    if container.readiness_probe is None and pod.restart_policy is RestartPolicy.ALWAYS:
        message = "has no readinessProbe: it counts as ready as soon as it runs"
        yield Finding("no-readiness-probe", path, message)
    yield from _about_liveness(pod, container, f"{path}.livenessProbe", rules)
    yield from _about_budget(pod, container, f"{path}.startupProbe", rules)
    for field, _, probe in _probes(container):
        yield from _about_time(probe, f"{path}.{field}")
        yield from _about_handler(container, probe, f"{path}.{field}")


def _about_liveness(
    pod: Pod, container: Container, path: str, rules: KubeletRules
) -> Iterator[Finding]:
    liveness, readiness = container.liveness_probe, container.readiness_probe
    if liveness is None:
        return
    timing = timing_of(pod, container, ProbeType.LIVENESS, rules)
    if container.startup_probe is None:
        up = format_age(timing.first.least + timing.noticed.least)
        message = f"without a startupProbe it kills an app that is not up within {up}"
        yield Finding("liveness-without-startup", path, message)
    grace = timing.grace
    if (
        grace is not None
        and grace.source is GraceSource.POD
        and grace.seconds > LONG_GRACE_SECONDS
    ):
        message = (
            f"an app that hangs gets {grace.seconds}s to stop; "
            "terminationGracePeriodSeconds of the probe shortens that"
        )
        yield Finding("liveness-grace-long", path, message)
    if readiness is None:
        return
    unready = timing_of(pod, container, ProbeType.READINESS, rules)
    # One check with more patience for liveness is what Kubernetes' documentation
    # recommends: traffic stops first, and only what stays broken is killed.
    is_as_soon = timing.noticed.most <= unready.noticed.most
    if liveness.handler == readiness.handler and is_as_soon:
        message = (
            "same check as the readinessProbe, and no later: a container that is not "
            "ready is killed"
        )
        yield Finding("liveness-same-as-readiness", path, message)
    if timing.noticed.most < unready.noticed.most:
        message = (
            f"kills within {format_age(timing.noticed.most)}, readiness takes up to "
            f"{format_age(unready.noticed.most)} to notice"
        )
        yield Finding("liveness-faster-than-readiness", path, message)


def _about_budget(
    pod: Pod, container: Container, path: str, rules: KubeletRules
) -> Iterator[Finding]:
    startup = container.startup_probe
    if startup is None:
        return
    budget = timing_of(pod, container, ProbeType.STARTUP, rules).budget
    assert budget is not None, "startup probes have one"  # noqa: S101  # for the type
    if budget.least >= SHORT_BUDGET:
        return
    message = (
        f"an app that is not up within {_seconds(budget.least)} to "
        f"{_seconds(budget.most)} is killed: {startup.failure_threshold} failures, "
        f"one each {startup.period_seconds}s"
    )
    yield Finding("startup-budget", f"{path}.failureThreshold", message)


def _seconds(time: timedelta) -> str:
    return f"{time.total_seconds():.0f}s"


def _about_time(probe: Probe, path: str) -> Iterator[Finding]:
    field = f"{path}.timeoutSeconds"
    if probe.timeout_seconds == DEFAULT_TIMEOUT_SECONDS and not isinstance(
        probe.handler, TCPSocketAction
    ):
        yield Finding("timeout-at-default", field, "is 1, the default")
    if probe.timeout_seconds > probe.period_seconds:
        message = (
            f"is {probe.timeout_seconds}, more than the period of "
            f"{probe.period_seconds}s: a slow probe drops ticks"
        )
        yield Finding("timeout-exceeds-period", field, message)


def _about_handler(container: Container, probe: Probe, path: str) -> Iterator[Finding]:
    match probe.handler:
        case ExecAction(command):
            yield from _about_command(command, container, f"{path}.exec.command")
        case HTTPGetAction(port=port, host=host, scheme=scheme):
            yield from _about_host(host, f"{path}.httpGet.host")
            yield from _about_port(container, port, f"{path}.httpGet.port")
            against = _scheme_against_port(container, port, scheme)
            if against and not host:
                yield Finding("scheme-against-port", f"{path}.httpGet.scheme", against)
        case TCPSocketAction(port=port, host=host):
            yield from _about_host(host, f"{path}.tcpSocket.host")
            yield from _about_port(container, port, f"{path}.tcpSocket.port")
        case GRPCAction(port=port) as action:
            yield from _about_port(container, port, f"{path}.grpc.port")
            names = [declared.name for declared in _declared(container, port)]
            seems_tls = port in TLS_PORTS or any(map(_TLS_NAME.search, names))
            if seems_tls and not action.uses_tls:
                message = f"is {port}, but this gRPC probe does not use TLS"
                yield Finding("grpc-tls", f"{path}.grpc.port", message)
        case None:
            return


def _about_host(host: str, path: str) -> Iterator[Finding]:
    if host:
        message = (
            f"is {quote_short(host)}, as seen from the node, not from the container; "
            "without it the probe goes to the pod"
        )
        yield Finding("host-set", path, message)


def _about_port(container: Container, port: int | str, path: str) -> Iterator[Finding]:
    declared = _declared(container, port)
    if not declared and isinstance(port, int):  # Validation reports an unknown name.
        message = f"is {port}, which is not among the container's ports"
        yield Finding("port-not-declared", path, message)
    protocols = {container_port.protocol for container_port in declared}
    if protocols and "TCP" not in protocols:
        message = (
            f"is {port}, which is declared as {', '.join(sorted(protocols))}: a probe "
            "connects by TCP, and nothing answers there"
        )
        yield Finding("port-not-tcp", path, message)


def _scheme_against_port(
    container: Container, port: int | str, scheme: str
) -> str | None:
    """Return what is wrong with a scheme at a port that says otherwise by itself."""
    declared = _declared(container, port)
    numbers: set[int | str] = {at.container_port for at in declared} or {port}
    names = {container_port.name for container_port in declared} | {str(port)}
    if scheme == "HTTPS" and (numbers <= {80} or names & {"http"}):
        return f"is HTTPS, at the port {port} that is meant for plain HTTP"
    if scheme == "HTTP" and (numbers <= TLS_PORTS or any(map(_TLS_NAME.search, names))):
        return f"is HTTP, at the port {port} that is meant for TLS; HTTPS asks by TLS"
    return None


def _declared(container: Container, port: int | str) -> list[ContainerPort]:
    """Return the declared ports that a probe's port is."""
    return [
        declared
        for declared in container.ports
        if port in {declared.container_port, declared.name}
    ]


def _probes(container: Container) -> Iterator[tuple[str, ProbeType, Probe]]:
    for field, probe_type in (
        ("startupProbe", ProbeType.STARTUP),
        ("livenessProbe", ProbeType.LIVENESS),
        ("readinessProbe", ProbeType.READINESS),
    ):
        if (probe := container.probe(probe_type)) is not None:
            yield field, probe_type, probe
