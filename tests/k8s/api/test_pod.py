from __future__ import annotations

from decimal import Decimal

from probetui.k8s.environment import FieldRef
from probetui.k8s.pod import (
    Container,
    ContainerPort,
    DNSConfig,
    DNSOption,
    EnvVar,
    HostAlias,
    Pod,
    PodSecurityContext,
    PullPolicy,
    Resources,
    RestartPolicy,
    SecurityContext,
    VolumeMount,
)
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    HTTPHeader,
    Probe,
    SleepAction,
    TCPSocketAction,
)
from probetui.manifest.draft import build_pod
from tests.manifest.yaml_pods import pod_model


def test_a_small_pod() -> None:
    assert build_pod(pod_model()) == Pod(
        uid="", name="web", containers=(Container("app", "busybox:1.36"),)
    )


def test_a_pod_with_everything() -> None:
    model = pod_model(
        "imagePullPolicy: Never, command: [a], args: [b], workingDir: /w,"
        " env: [{name: A, value: x}, {name: B, valueFrom: {fieldRef: {fieldPath: p}}}],"
        " ports: [{name: http, containerPort: 80, hostPort: 81, hostIP: 1.1.1.1,"
        " protocol: UDP}], volumeMounts: [{name: v, mountPath: /v, subPath: s,"
        " readOnly: true}], terminationMessagePath: /t, terminationMessagePolicy:"
        " FallbackToLogsOnError",
        "restartPolicy: OnFailure, terminationGracePeriodSeconds: 7,"
        " activeDeadlineSeconds: 9, hostNetwork: true, shareProcessNamespace: true,"
        " hostname: h, readinessGates: [{conditionType: g}], initContainers: [{name: i,"
        " image: x, restartPolicy: Always}]",
        "name: web, namespace: shop, uid: u1, labels: {a: b}, annotations: {c: d}",
    )

    assert build_pod(model) == Pod(
        uid="u1",
        name="web",
        namespace="shop",
        labels={"a": "b"},
        annotations={"c": "d"},
        restart_policy=RestartPolicy.ON_FAILURE,
        termination_grace_period_seconds=7,
        active_deadline_seconds=9,
        init_containers=(
            Container("i", "x", PullPolicy.ALWAYS, restart_policy=RestartPolicy.ALWAYS),
        ),
        containers=(
            Container(
                "app",
                "busybox:1.36",
                PullPolicy.NEVER,
                command=("a",),
                args=("b",),
                env=(
                    EnvVar("A", "x"),
                    EnvVar("B", has_value_from=True, value_from=FieldRef("p")),
                ),
                working_dir="/w",
                ports=(ContainerPort(80, "http", "UDP", 81, "1.1.1.1"),),
                termination_message_path="/t",
                termination_message_policy="FallbackToLogsOnError",
                volume_mounts=(VolumeMount("v", "/v", read_only=True, sub_path="s"),),
            ),
        ),
        host_network=True,
        share_process_namespace=True,
        hostname="h",
        readiness_gates=("g",),
    )


def test_resources_are_numbers_and_terminals_are_flags() -> None:
    model = pod_model(
        "resources: {limits: {cpu: 250m, memory: 1Ki}, requests: {cpu: 100m}},"
        " stdin: true, stdinOnce: true, tty: true"
    )

    (container,) = build_pod(model).containers

    assert container.resources == Resources(
        requests={"cpu": Decimal("0.1"), "memory": Decimal(1024)},
        limits={"cpu": Decimal("0.25"), "memory": Decimal(1024)},
    )
    assert (container.stdin, container.stdin_once, container.tty) == (True, True, True)


def test_all_that_counts_of_security() -> None:
    model = pod_model(
        "securityContext: {runAsUser: 1, runAsGroup: 2, runAsNonRoot: true, privileged:"
        " false, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false,"
        " capabilities: {add: [NET_ADMIN], drop: [ALL]}, seccompProfile: {type:"
        " RuntimeDefault}}",
        "securityContext: {runAsUser: 3, runAsGroup: 4, runAsNonRoot: false, fsGroup:"
        " 5, supplementalGroups: [6, 7], seccompProfile: {type: Unconfined}}",
    )

    pod = build_pod(model)

    assert pod.containers[0].security_context == SecurityContext(
        run_as_user=1,
        run_as_group=2,
        run_as_non_root=True,
        privileged=False,
        read_only_root_filesystem=True,
        allow_privilege_escalation=False,
        add_capabilities=("NET_ADMIN",),
        drop_capabilities=("ALL",),
        seccomp_profile="RuntimeDefault",
    )
    assert pod.security_context == PodSecurityContext(
        run_as_user=3,
        run_as_group=4,
        run_as_non_root=False,
        supplemental_groups=(6, 7),
        fs_group=5,
        seccomp_profile="Unconfined",
    )


def test_names_and_namespaces() -> None:
    model = pod_model(
        spec="hostPID: true, hostIPC: true, dnsPolicy: None, dnsConfig: {nameservers:"
        " [1.1.1.1], searches: [a.b], options: [{name: ndots, value: '2'}, {name:"
        " edns0}]}, hostAliases: [{ip: 1.2.3.4, hostnames: [a, b]}],"
        " serviceAccountName: robot"
    )

    pod = build_pod(model)

    assert (pod.host_pid, pod.host_ipc, pod.dns_policy) == (True, True, "None")
    assert pod.dns_config == DNSConfig(
        ("1.1.1.1",), ("a.b",), (DNSOption("ndots", "2"), DNSOption("edns0"))
    )
    assert pod.host_aliases == (HostAlias("1.2.3.4", ("a", "b")),)
    assert pod.service_account_name == "robot"


def test_a_container_that_asks_for_nothing_has_no_resources() -> None:
    (container,) = build_pod(pod_model("resources: {}")).containers

    assert container.resources == Resources()


def test_probes_of_every_handler() -> None:
    model = pod_model(
        "startupProbe: {exec: {command: [a, b]}, failureThreshold: 30},"
        " livenessProbe: {httpGet: {port: http, path: /p, host: h, scheme: HTTPS,"
        " httpHeaders: [{name: A, value: b}]}, terminationGracePeriodSeconds: 2},"
        " readinessProbe: {grpc: {port: 9, service: s}, initialDelaySeconds: 1,"
        " timeoutSeconds: 2, periodSeconds: 3, successThreshold: 4}"
    )

    (container,) = build_pod(model).containers

    assert container.startup_probe == Probe(
        ExecAction(("a", "b")), failure_threshold=30
    )
    assert container.liveness_probe == Probe(
        HTTPGetAction("http", "/p", "h", "HTTPS", (HTTPHeader("A", "b"),)),
        termination_grace_period_seconds=2,
    )
    assert container.readiness_probe == Probe(
        GRPCAction(9, "s"),
        initial_delay_seconds=1,
        timeout_seconds=2,
        period_seconds=3,
        success_threshold=4,
    )


def test_hooks() -> None:
    model = pod_model(
        "livenessProbe: {tcpSocket: {port: 1, host: h}}, lifecycle: {postStart: {exec:"
        " {command: [a]}}, preStop: {sleep: {seconds: 5}}}"
    )

    (container,) = build_pod(model).containers

    assert container.liveness_probe == Probe(TCPSocketAction(1, "h"))
    assert container.post_start == ExecAction(("a",))
    assert container.pre_stop == SleepAction(5)


def test_a_probe_without_a_handler_stays_without() -> None:
    model = pod_model("livenessProbe: {}, lifecycle: {preStop: {}}")

    (container,) = build_pod(model).containers

    assert container.liveness_probe == Probe(None)
    assert container.pre_stop is None
