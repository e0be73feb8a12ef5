"""Kubelet rules: how a kubelet of one version decides and what it says.

Each field is one difference between versions, read at the one place that decides. The
versions are written as changes to the one before.

Source: pkg/features/kube_features.go, v1.20.2, v1.32.10, v1.36.2; KEPs and pull
requests of kubernetes/kubernetes (k/k) where a field names them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from inspect import cleandoc
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from probetui.errors import UsageError
from probetui.suggestions import nearest


class KubeletRules(Struct, frozen=True, eq=False):
    """How one version of the kubelet behaves; there is one value of each.

    Attributes:
        version: `major.minor`; probes and hooks show it in their user agent.
        startup_probes: containers can have startup probes, and `started` in their
            statuses. Beta, on, since 1.18 (KEP-950).
        inherits_started: a container that is restarted at once counts as started until
            the next tick of its startup worker, so that liveness and readiness probe
            it too early: the startup window. Since 1.35, also in 1.37.0 (k/k#141155,
            recorded in 1.36.2). k/k#141342 mends it; its patches of 1.35 to 1.37
            (k/k#142041 to 142043) are open, so that no release has them. The gate
            ChangeContainerStatusOnKubeletRestart does away with it, too.
        keeps_ready_over_restart: a container that ran 10 s before the kubelet was
            started has no initial result, and is as ready as its pod is in the API
            until it is probed; before, it was not ready until then if it had a
            readiness probe. Since 1.35; off with the gate
            ChangeContainerStatusOnKubeletRestart (KEP-4781; prober_manager.go, v1.36.2,
            setReadyStateOnKubeletRestart).
        delays_every_worker: each worker waits a random part of its period first. Until
            1.20; then only while the kubelet is younger than the period (k/k#97126).
        probes_from_addition: the workers of a pod are made when the pod is added;
            since 1.25 with its first sync, once its volumes are mounted (k/k#110191,
            also in patches of 1.22 to 1.24; HandlePodAdditions in v1.20.2, SyncPod in
            v1.32.10, kubelet.go).
        triggers_readiness: a container that is started and not ready is probed for
            readiness at each status, which begins the period anew. Since 1.21
            (k/k#98376, k/k#119089).
        holds_after_startup_success: a startup worker is on hold after a success, too;
            before, only after a failure (k/k#117153).
        stops_liveness_on_deletion: liveness and startup workers stop when the pod
            begins to terminate; before, they went on until it was gone, but for static
            pods (recorded in 1.20.2), so that a container that was shutting down failed
            its liveness probe. Meant for 1.21, whose workers looked at a stale pod
            (k/k#52817, k/k#98571, k/k#107473); in effect with the pod workers of 1.22
            and 1.25 (k/k#110191).
        results_wake_pod: a changed readiness or startup result syncs the pod; before,
            only a liveness failure did, and a failed startup probe killed at the next
            resync. Since 1.21 (prober_manager.go; recorded in 1.20.2).
        exec_timeout_is_failure: a command that runs into its time limit has failed;
            before, that was an error, which counts for nothing, and dockershim did not
            stop it at all. Since 1.20, gate ExecProbeTimeout (KEP-1972, k/k#94115).
        tells_exec_timeout: the output of such a failure says so; before, it is empty
            (recorded in 1.20.2).
        sends_accept: HTTP probes send `Accept: */*`; before, they sent none and Go's
            `Accept-Encoding: gzip`. Since 1.20 (k/k#95641, k/k#96127).
        canonical_headers: HTTP probes send the names of their headers with capitals;
            before, as written, so that `host` is a header of its own beside `Host`.
            Since 1.28, and patches of 1.24 to 1.27 (k/k#117182; prober.go, v1.20.2,
            buildHeader; probe/http/request.go, v1.32.10, v1HeaderToHTTPHeader).
        has_dockershim: on Docker it runs commands by dockershim, of which one that
            cannot be started is a failure; by CRI it is an error. Until 1.23 (recorded
            in 1.20.2 with both).
        redirect_warning: what the warning about a redirect to another host begins
            with; before, it was the body alone (k/k#103967).
        measures_probes: the metric prober_probe_duration_seconds is there beside
            prober_probe_total. Since 1.25 (k/k#104484; prober_manager.go).
        grpc_probes: probes can call gRPC health services. Stable since 1.27 (KEP-2727).
        probe_grace_period: a probe's own terminationGracePeriodSeconds counts. Stable
            since 1.28 (KEP-2238).
        sidecars: init containers can have restartPolicy Always. On since 1.29, gate
            SidecarContainers (KEP-753).
        sidecar_workers_end_with_never: in a pod with restartPolicy Never, a sidecar's
            workers leave for good when it terminates, although the sidecar is
            restarted. Until 1.32; mended in patches of 1.33 and 1.34, which count here
            (k/k#132826, k/k#133072).
        errored_text: the message of an event for a probe that could not be run, for
            the type, its error and the state it resulted in (k/k#125901, 1.33).
        reports_unknown: an unknown result without an error makes an event. Until 1.32
            (k/k#125901).
        created_text: the message of the event Created, for the container's name
            (k/k#134043, 1.35).
        started_text: the same of the event Started.
        image_present_text: the message of Pulled where the image was there
            (image_manager.go, 1.35).
        pulled_text: the message of Pulled where it was pulled: for its name, the time
            to the nanosecond and to the millisecond, and its size (k/k#91563, 1.19;
            k/k#111772; k/k#121719, 1.30).
        strips_unknown_code: the error of a pull begins with a gRPC code only where that
            says something. Since 1.28 (remote_image.go, v1.32.10; k/k#117612;
            recorded in 1.20.2 and 1.36.2).
        tells_pull_error: while an image waits to be pulled again, its container's
            message says why the last pull failed. Since 1.32 (k/k#127918).
        names_inspected_image: the event of an image that cannot be inspected names it;
            later, the quotes are empty (image_manager.go, v1.18, v1.32.10).
        image_name_text: what the message of an image's name begins with that is none
            (image_manager.go, v1.18; parsers.go, v1.32.10).
        back_off_text: the message of the event BackOff, for the container's name and
            where it is (k/k#113216).
        sleeps_until_back_off_ends: a pod of which all errors are back-offs is synced
            again when the first of them has ended, times a random 1.0 to 1.5, of which
            at most 60 s are looked at; before, at the usual retry, up to 15 s late.
            Since 1.35 (k/k#133066, recorded in 1.36.2).
        back_off_key_has_content: back-off knows a container by what it is made of, so
            that an edit clears it; since 1.35 by its name alone (helpers.go).
        reduces_back_off: a container is started again after 1 s, doubled to 1 min,
            instead of 10 s to 5 min; images are pulled as ever. Off since 1.33, gate
            ReduceDefaultCrashLoopBackOffDecay (KEP-4603).
        limits_back_off: a node's configuration says how long the longest window is
            (crashLoopBackOff.maxContainerRestartPeriod, 5 min without one), also where
            the version reduces it. On since 1.35, gate KubeletCrashLoopBackOffMax
            (KEP-5593; kubelet.go, v1.36.2, newCrashLoopBackOff).
        relists_on_demand: the runtime is listed right after a sync that started or
            stopped containers and had no error, not at the next second. On since 1.36,
            gate PLEGOnDemandRelist (k/k#137362, k/k#140805).
        early_ready_to_start: the condition PodReadyToStartContainers becomes true as
            soon as the sandbox is there; before, with the first status after the
            images. Since 1.36 (k/k#134660).
        pod_generations: a pod has a generation, which grows with each change of its
            spec and with its deletion. Since 1.33 (KEP-5067; pkg/registry/core/pod/
            strategy.go).
        ready_to_start_condition: there is that condition. On since 1.29, gate
            PodReadyToStartContainersCondition (KEP-3085).
        tells_hook_errors: the event of a failed hook has the hook's error; before 1.25
            (kuberuntime_container.go, recorded in 1.20.2).
        consistent_http_hooks: httpGet hooks send requests as probes do, with scheme,
            headers and user agent; before, without any of them, over plain HTTP, and
            with a slash before the path. Stable since 1.25, gate
            ConsistentHTTPGetHandlers (lifecycle/handlers.go; recorded in 1.20.2).
        static_pods_wait: a pod that takes the name of one that is ending waits until
            that is gone; before, it started beside it. Since 1.22 (pod_workers.go;
            recorded in 1.20.2 and 1.36.2).
        sandbox_failure_text: what FailedCreatePodSandBox begins with
            (kuberuntime_manager.go).
        starts_inits: a plain init container that runs counts as started (recorded in
            1.36.2; not in 1.20.2).
        mount_wait_text: the message of FailedMount once volumes have been waited for in
            vain, empty for no event: for the pod, the volumes that are not there, and
            all that were waited for, which count as unattached. None since 1.27, where
            the wait ends with its context (kubelet.go, v1.15, v1.18, v1.32.10,
            k/k#127034).
        grants_a_second: a pod that terminates has one second at least, so that preStop
            hooks run in it; before, none of them ran with a grace period of 0. The
            second is there since 1.22, and for hooks since 1.28 (pod_workers.go,
            v1.32.10, calculateEffectiveGracePeriod; kuberuntime_container.go, v1.20.2,
            killContainer; k/k#115835).
        ends_deleted_pods: a pod that is deleted has ended in the end, as Failed or as
            Succeeded; before, one that would be restarted was Running until it was
            gone. Since 1.27 (k/k#115331).
        tells_pod_failed: the conditions Ready and ContainersReady of a failed pod have
            the reason PodFailed; before, they name its containers. Since 1.25
            (k/k#110256).
        status_ends_at_deadline: the status of a pod that has exceeded its deadline has
            no conditions and is the last one; containers run in it for ever (recorded
            in 1.20.2).
        sleep_hooks: hooks can sleep (KEP-3960, on since 1.30).
        zero_sleep: hooks can sleep for 0 s. On since 1.33, gate
            PodLifecycleSleepActionAllowZero (KEP-4818).
        grpc_mode: gRPC probes have a mode: Plaintext, or TLS, of which no certificate
            is verified. Alpha in 1.37, gate GRPCContainerProbeTLS (KEP-4939,
            k/k#137762).
        http_protocol: HTTP probes have a protocol: HTTP1, or HTTP2 over a connection
            without TLS. Alpha in 1.37, gate H2CContainerProbe.
        container_restart_rules: containers can have a restart policy of their own, and
            rules by exit code. On since 1.35, gate ContainerRestartRules (KEP-5307).
        stop_signals: a manifest can name the signal that stops a container, and the
            status of a container names it, where the runtime does. On since 1.37, gate
            ContainerStopSignals (KEP-4960); off in 1.36.2 (recorded).
        restart_all_containers: such a rule can restart all containers of the pod. On
            since 1.36, gate RestartAllContainersOnContainerExits (KEP-5532).
        syncs_after_reset: such a pod is synced again as soon as its containers have
            been removed; before, with the next relist that sees an end, so that a
            pod of one container waits for its resync. Since 1.36 (k/k#136966).
        keeps_last_state: the last state and the restart count of a container outlive
            the instance that they are about. Since 1.36 (k/k#136964, recorded).
        refuses_probe_host: Pod Security's baseline refuses `host` in probes and hooks.
            Since 1.34 (KEP-4940, k/k#125271).
        relaxed_env_names: a variable's name can have any printable ASCII but `=`. On
            since 1.32, gate RelaxedEnvironmentVariableValidation (KEP-4369).
        relaxed_dns_searches: a DNS search path can have underscores, or be a dot. On
            since 1.33, gate RelaxedDNSSearchValidation (KEP-4427).
        init_resize_policies: init containers can have resize policies, sidecars and
            others. On since 1.33, gate InPlacePodVerticalScaling (KEP-1287;
            validation.go, validateInitContainers).
        refuses_init_restart: those of init containers that are no sidecars must not be
            RestartContainer. Since 1.36 (k/k#137458).
        pod_level_resources: a pod has resources of its own beside its containers'. On
            since 1.34, gate PodLevelResources (KEP-2837).
        image_sub_paths: a mount of an image volume can have a subPath. Since 1.33
            (KEP-4639; validation.go, ValidateVolumeMounts).
        selinux_mount: a pod's seLinuxChangePolicy can be MountOption. Since 1.37, gate
            SELinuxMount (KEP-1710; validation.go, validateSELinuxChangePolicy).
        node_affinity_values: the values of a required node affinity must be those that
            labels can have. Since 1.33 (ValidateNodeSelectorRequirement).
        projection_errors: errors of a projected volume name the field
            clusterTrustBundle, before clusterTrustBundlePEM, and say that it is a
            source that is one too many. Since 1.33 (validation.go,
            validateProjectionSources).
        merges_spread_keys: matchLabelKeys of a topology spread constraint are added to
            its labelSelector before it is checked, as those of pod affinity are since
            1.31. On since 1.34, gate MatchLabelKeysInPodTopologySpreadSelectorMerge
            (KEP-3243).
        toleration_comparisons: tolerations can compare numbers, by the operators Lt and
            Gt. Alpha since 1.35, gate TaintTolerationComparisonOperators (KEP-5471,
            k/k#134665).
        env_files: a variable can have its value from a file in a volume. On since 1.35,
            gate EnvFiles (KEP-3721).
        hostname_override: a manifest can name the pod's hostname in full. On since
            1.35, gate HostnameOverride (KEP-4762).
        strict_addresses: addresses must not have leading zeros, nor be IPv4 in IPv6.
            On since 1.36, gate StrictIPCIDRValidation (KEP-4858, k/k#137053).
        git_repo_warning: what the API server warns of a gitRepo volume, whose driver is
            off since 1.33 (warnings.go).
        json_values: an error writes a value that is no text, number or boolean as JSON,
            before in Go's syntax. Since 1.34 (apimachinery, field/errors.go).
        volume_attributes: the name of a claim's volumeAttributesClass is checked. On
            since 1.34, gate VolumeAttributesClass (KEP-3751).
        app_armor_fields: an AppArmor annotation becomes the field of its container, and
            is warned of. At the latest since 1.32 (KEP-24; pkg/registry/core/pod,
            strategy.go, applyAppArmorVersionSkew).
        warns_more: the API server warns of files whose paths overlap, of a port's name
            that two containers have, of addresses in an unusual form and of a negative
            grace period. Since 1.33 (k/k#121968, k/k#122170, k/k#128786).
        reports_resources: the status of a container that was created has its
            resources. On since 1.33, gate InPlacePodVerticalScaling (KEP-1287).
        reports_pod_resources: so has the status of a pod. On since 1.36, gate
            InPlacePodLevelResourcesVerticalScaling (recorded in 1.36.2).
        reports_generation: a status, and each condition of the kubelet, has the pod's
            generation that it is about. On since 1.34, gate
            PodObservedGenerationTracking (KEP-5067, recorded in 1.36.2).
        allows_events_by_type: Normal and Warning events of a pod have an allowance
            each; before, one for both. At the latest since 1.36 (k/k#124747, recorded
            in 1.36.2).
        feature_gates: those that were set, as `NAME=true`.
    """

    version: str
    startup_probes: bool
    inherits_started: bool
    keeps_ready_over_restart: bool
    delays_every_worker: bool
    probes_from_addition: bool
    triggers_readiness: bool
    holds_after_startup_success: bool
    stops_liveness_on_deletion: bool
    results_wake_pod: bool
    exec_timeout_is_failure: bool
    tells_exec_timeout: bool
    sends_accept: bool
    canonical_headers: bool
    has_dockershim: bool
    redirect_warning: str
    measures_probes: bool
    grpc_probes: bool
    probe_grace_period: bool
    sidecars: bool
    sidecar_workers_end_with_never: bool
    errored_text: str
    reports_unknown: bool
    created_text: str
    started_text: str
    image_present_text: str
    pulled_text: str
    strips_unknown_code: bool
    tells_pull_error: bool
    names_inspected_image: bool
    image_name_text: str
    back_off_text: str
    sleeps_until_back_off_ends: bool
    back_off_key_has_content: bool
    reduces_back_off: bool
    limits_back_off: bool
    relists_on_demand: bool
    early_ready_to_start: bool
    pod_generations: bool
    ready_to_start_condition: bool
    tells_hook_errors: bool
    consistent_http_hooks: bool
    static_pods_wait: bool
    sandbox_failure_text: str
    starts_inits: bool
    mount_wait_text: str
    grants_a_second: bool
    ends_deleted_pods: bool
    tells_pod_failed: bool
    status_ends_at_deadline: bool
    sleep_hooks: bool
    zero_sleep: bool
    grpc_mode: bool
    http_protocol: bool
    container_restart_rules: bool
    stop_signals: bool
    restart_all_containers: bool
    syncs_after_reset: bool
    keeps_last_state: bool
    refuses_probe_host: bool
    relaxed_env_names: bool
    relaxed_dns_searches: bool
    init_resize_policies: bool
    refuses_init_restart: bool
    pod_level_resources: bool
    image_sub_paths: bool
    selinux_mount: bool
    node_affinity_values: bool
    projection_errors: bool
    merges_spread_keys: bool
    toleration_comparisons: bool
    env_files: bool
    hostname_override: bool
    strict_addresses: bool
    git_repo_warning: str
    json_values: bool
    volume_attributes: bool
    app_armor_fields: bool
    warns_more: bool
    reports_resources: bool
    reports_pod_resources: bool
    reports_generation: bool
    allows_events_by_type: bool
    feature_gates: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        """Have a copy be the same value: the rules are not part of a state."""
        return rules_of, (self.version, self.feature_gates)

    @property
    def exec_errors_on_docker(self) -> str:
        """What a command is on Docker that cannot be started: as `docker` or `cri`."""
        return "docker" if self.has_dockershim else "cri"

    def limits_commands(self, exec_errors: str) -> bool:
        """Return whether Docker stops a command that runs into its time limit.

        Where a time-out is no failure, dockershim waits for the end of the command,
        whose exit code counts.

        Args:
            exec_errors: `docker` for dockershim, `cri` for a CRI runtime.

        Source: dockershim/exec.go, v1.20.2, ExecInContainer.
        """
        return exec_errors != "docker" or self.exec_timeout_is_failure

    @property
    def probe_user_agent(self) -> str:
        """The `User-Agent` of HTTP probes."""
        return f"kube-probe/{self.version}"

    @property
    def hook_user_agent(self) -> str:
        """The `User-Agent` of lifecycle hooks."""
        return f"kube-lifecycle/{self.version}"


RULES_1_15 = KubeletRules(
    version="1.15",
    startup_probes=False,
    inherits_started=False,
    keeps_ready_over_restart=False,
    delays_every_worker=True,
    probes_from_addition=True,
    triggers_readiness=False,
    holds_after_startup_success=False,
    stops_liveness_on_deletion=False,
    results_wake_pod=False,
    exec_timeout_is_failure=False,
    tells_exec_timeout=False,
    sends_accept=False,
    canonical_headers=False,
    has_dockershim=True,
    redirect_warning="",
    measures_probes=False,
    grpc_probes=False,
    probe_grace_period=False,
    sidecars=False,
    sidecar_workers_end_with_never=True,
    errored_text="{type} probe errored: {error}",
    reports_unknown=True,
    created_text="Created container {name}",
    started_text="Started container {name}",
    image_present_text='Container image "{image}" already present on machine',
    pulled_text='Successfully pulled image "{image}"',
    strips_unknown_code=False,
    tells_pull_error=False,
    names_inspected_image=True,
    image_name_text="couldn't parse image reference",
    back_off_text="Back-off restarting failed container",
    sleeps_until_back_off_ends=False,
    back_off_key_has_content=True,
    reduces_back_off=False,
    limits_back_off=False,
    relists_on_demand=False,
    early_ready_to_start=False,
    pod_generations=False,
    ready_to_start_condition=False,
    tells_hook_errors=True,
    consistent_http_hooks=False,
    static_pods_wait=False,
    sandbox_failure_text="Failed create pod sandbox",
    starts_inits=False,
    mount_wait_text=(
        'Unable to mount volumes for pod "{pod.full_name}({pod.uid})": timeout '
        "expired waiting for volumes to attach or mount for pod "
        '"{pod.namespace}"/"{pod.name}". '
        "list of unmounted volumes={unmounted}. "
        "list of unattached volumes={unattached}"
    ),
    grants_a_second=False,
    ends_deleted_pods=False,
    tells_pod_failed=False,
    status_ends_at_deadline=True,
    sleep_hooks=False,
    zero_sleep=False,
    grpc_mode=False,
    http_protocol=False,
    container_restart_rules=False,
    stop_signals=False,
    restart_all_containers=False,
    syncs_after_reset=False,
    keeps_last_state=False,
    refuses_probe_host=False,
    relaxed_env_names=False,
    relaxed_dns_searches=False,
    init_resize_policies=False,
    refuses_init_restart=False,
    pod_level_resources=False,
    image_sub_paths=False,
    selinux_mount=False,
    node_affinity_values=False,
    projection_errors=False,
    merges_spread_keys=False,
    toleration_comparisons=False,
    env_files=False,
    hostname_override=False,
    strict_addresses=False,
    git_repo_warning="deprecated in v1.11",
    json_values=False,
    volume_attributes=False,
    app_armor_fields=False,
    warns_more=False,
    reports_resources=False,
    reports_pod_resources=False,
    reports_generation=False,
    allows_events_by_type=False,
)
RULES_1_19 = replace(
    RULES_1_15,
    version="1.19",
    startup_probes=True,
    pulled_text='Successfully pulled image "{image}" in {exact}',
    mount_wait_text=(
        "Unable to attach or mount volumes: unmounted volumes={unmounted}, unattached "
        "volumes={unattached}: timed out waiting for the condition"
    ),
)
RULES_1_20 = replace(
    RULES_1_19, version="1.20", exec_timeout_is_failure=True, sends_accept=True
)
RULES_1_28 = replace(
    RULES_1_20,
    version="1.28",
    delays_every_worker=False,
    probes_from_addition=False,
    triggers_readiness=True,
    holds_after_startup_success=True,
    stops_liveness_on_deletion=True,
    results_wake_pod=True,
    tells_exec_timeout=True,
    canonical_headers=True,
    has_dockershim=False,
    redirect_warning="Probe terminated redirects, Response body: ",
    measures_probes=True,
    grpc_probes=True,
    probe_grace_period=True,
    pulled_text=(
        'Successfully pulled image "{image}" in {time} ({time} including waiting)'
    ),
    strips_unknown_code=True,
    image_name_text="couldn't parse image name",
    back_off_text="Back-off restarting failed container {name} in pod {where}",
    tells_hook_errors=False,
    consistent_http_hooks=True,
    static_pods_wait=True,
    sandbox_failure_text="Failed to create pod sandbox",
    starts_inits=True,
    mount_wait_text="",
    grants_a_second=True,
    ends_deleted_pods=True,
    tells_pod_failed=True,
    status_ends_at_deadline=False,
)
RULES_1_32 = replace(
    RULES_1_28,
    version="1.32",
    relaxed_env_names=True,
    sidecars=True,
    sleep_hooks=True,
    ready_to_start_condition=True,
    created_text="Created container: {name}",
    pulled_text=(
        'Successfully pulled image "{image}" in {time} ({time} including waiting). '
        "Image size: {size} bytes."
    ),
    tells_pull_error=True,
    names_inspected_image=False,
    app_armor_fields=True,
)
RULES_1_33 = replace(
    RULES_1_32,
    version="1.33",
    pod_generations=True,
    zero_sleep=True,
    relaxed_dns_searches=True,
    init_resize_policies=True,
    image_sub_paths=True,
    node_affinity_values=True,
    projection_errors=True,
    git_repo_warning="deprecated in v1.11, and disabled by default in v1.33+",
    reports_resources=True,
    sidecar_workers_end_with_never=False,
    errored_text="{type} probe errored and resulted in {state} state: {error}",
    reports_unknown=False,
    warns_more=True,
)
RULES_1_34 = replace(
    RULES_1_33,
    version="1.34",
    refuses_probe_host=True,
    reports_generation=True,
    pod_level_resources=True,
    merges_spread_keys=True,
    json_values=True,
    volume_attributes=True,
)
RULES_1_35 = replace(
    RULES_1_34,
    version="1.35",
    container_restart_rules=True,
    inherits_started=True,
    keeps_ready_over_restart=True,
    created_text="Container created",
    started_text="Container started",
    image_present_text=(
        'Container image "{image}" already present on machine and can be accessed by '
        "the pod"
    ),
    limits_back_off=True,
    sleeps_until_back_off_ends=True,
    back_off_key_has_content=False,
    env_files=True,
    hostname_override=True,
)
RULES_1_36 = replace(
    RULES_1_35,
    version="1.36",
    relists_on_demand=True,
    early_ready_to_start=True,
    restart_all_containers=True,
    syncs_after_reset=True,
    keeps_last_state=True,
    refuses_init_restart=True,
    strict_addresses=True,
    reports_pod_resources=True,
    allows_events_by_type=True,
)
RULES_1_37 = replace(RULES_1_36, version="1.37", stop_signals=True, selinux_mount=True)

_RULES = {
    rules.version: rules
    for rules in (
        RULES_1_15,
        RULES_1_19,
        RULES_1_20,
        RULES_1_28,
        RULES_1_32,
        RULES_1_33,
        RULES_1_34,
        RULES_1_35,
        RULES_1_36,
        RULES_1_37,
    )
}

VERSIONS = tuple(_RULES)
"""The versions there are, oldest first."""

VERSION_PATTERN = r"v?(?P<version>1\.(?P<minor>[0-9]{1,4}))(?:\.[0-9]{1,4})?"
"""How a version is written: `1.36`, `v1.36` or `1.36.2`."""

PORTED_RULES = RULES_1_32
"""Those of the version that the port follows line by line."""

DEFAULT_VERSION = RULES_1_36.version
"""The version of a session that asks for none."""

_GATED: Mapping[str, tuple[str, ...]] = {
    "ChangeContainerStatusOnKubeletRestart": (
        "inherits_started",
        "keeps_ready_over_restart",
    ),
    "ContainerRestartRules": ("container_restart_rules",),
    "ContainerStopSignals": ("stop_signals",),
    "EnvFiles": ("env_files",),
    "ExecProbeTimeout": ("exec_timeout_is_failure",),
    "GRPCContainerProbeTLS": ("grpc_mode",),
    "H2CContainerProbe": ("http_protocol",),
    "HostnameOverride": ("hostname_override",),
    "KubeletCrashLoopBackOffMax": ("limits_back_off",),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("merges_spread_keys",),
    "PLEGOnDemandRelist": ("relists_on_demand",),
    "PodLevelResources": ("pod_level_resources",),
    "PodLifecycleSleepActionAllowZero": ("zero_sleep",),
    "PodObservedGenerationTracking": ("reports_generation",),
    "PodReadyToStartContainersCondition": ("ready_to_start_condition",),
    "ReduceDefaultCrashLoopBackOffDecay": ("reduces_back_off",),
    "RestartAllContainersOnContainerExits": ("restart_all_containers",),
    "SELinuxMount": ("selinux_mount",),
    "SidecarContainers": ("sidecars",),
    "StartupProbe": ("startup_probes",),
    "StrictIPCIDRValidation": ("strict_addresses",),
    "TaintTolerationComparisonOperators": ("toleration_comparisons",),
    "VolumeAttributesClass": ("volume_attributes",),
}
"""Which fields a feature gate switches."""

_SWITCHES_OFF = frozenset({"ChangeContainerStatusOnKubeletRestart"})
"""Gates that switch their fields off when they are on."""

_SETTABLE: Mapping[str, tuple[str, ...]] = {
    "ChangeContainerStatusOnKubeletRestart": ("1.35", "1.36", "1.37"),
    "ContainerRestartRules": ("1.34", "1.35"),
    "ContainerStopSignals": VERSIONS[VERSIONS.index("1.33") :],
    "EnvFiles": VERSIONS[VERSIONS.index("1.34") :],
    "ExecProbeTimeout": ("1.20", "1.28", "1.32", "1.33", "1.34"),
    "GRPCContainerProbeTLS": ("1.37",),
    "H2CContainerProbe": ("1.37",),
    "HostnameOverride": VERSIONS[VERSIONS.index("1.34") :],
    "KubeletCrashLoopBackOffMax": VERSIONS[VERSIONS.index("1.32") :],
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": VERSIONS[
        VERSIONS.index("1.34") :
    ],
    "PLEGOnDemandRelist": ("1.36",),
    "PodLevelResources": VERSIONS[VERSIONS.index("1.32") :],
    "PodLifecycleSleepActionAllowZero": ("1.32", "1.33"),
    "PodObservedGenerationTracking": ("1.33", "1.34"),
    "PodReadyToStartContainersCondition": VERSIONS[VERSIONS.index("1.28") :],
    "ReduceDefaultCrashLoopBackOffDecay": VERSIONS[VERSIONS.index("1.33") :],
    "RestartAllContainersOnContainerExits": ("1.35", "1.36", "1.37"),
    "SELinuxMount": VERSIONS[VERSIONS.index("1.32") :],
    "SidecarContainers": ("1.28", "1.32"),
    "StartupProbe": ("1.19",),
    "StrictIPCIDRValidation": VERSIONS[VERSIONS.index("1.33") :],
    "TaintTolerationComparisonOperators": VERSIONS[VERSIONS.index("1.35") :],
    "VolumeAttributesClass": ("1.32", "1.33"),
}
"""In which versions a gate is there and not locked."""


def parse_version(text: str) -> str:
    """Return the version that `1.36`, `v1.36` or `1.36.2` names, as in `VERSIONS`.

    Raises:
        UsageError: there are no rules of it; the error names the nearest.
    """
    written = re.fullmatch(VERSION_PATTERN, text)
    if written is not None and written["version"] in _RULES:
        return written["version"]
    known = ", ".join(VERSIONS)
    message = f'"{text}" is not one of {known}'
    if written is None:
        raise UsageError(message)
    wanted = int(written["minor"])
    near = min(VERSIONS, key=lambda one: abs(int(one.removeprefix("1.")) - wanted))
    raise UsageError(f"{message} (nearest: {near})")


def rules_for_kubelet(text: str) -> KubeletRules:
    """Return the rules nearest to a version that a node names, as `v1.33.4-gke.1`.

    Those of the newest version that is not newer; of the default version for a text
    that is none.
    """
    written = re.match(VERSION_PATTERN, text)
    if written is None:
        return rules_of(DEFAULT_VERSION)
    minor = int(written["minor"])
    older = [one for one in VERSIONS if int(one.removeprefix("1.")) <= minor]
    return rules_of(older[-1] if older else VERSIONS[0])


@cache
def field_descriptions() -> Mapping[str, str]:
    """Return what each field of the rules is about, as their docstring has it."""
    text = cleandoc(KubeletRules.__doc__ or "")
    found = re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", text, re.MULTILINE)
    return {name: " ".join(words.split()) for name, words in found}


@cache
def rules_of(version: str, feature_gates: tuple[str, ...] = ()) -> KubeletRules:
    """Return the rules of a version, with feature gates as `NAME=true`.

    Raises:
        UsageError: there is no such version, or it has no such gate.
    """
    rules = _RULES[parse_version(version)]
    for gate in feature_gates:
        name, _, value = gate.partition("=")
        if value.lower() not in {"true", "false"}:
            raise UsageError(
                f'feature gate "{gate}": write {name}=true or {name}=false'
            )
        if name not in settable_gates(rules.version):
            raise UsageError(
                f'kubelet {version} has no feature gate "{name}" that can be set here'
                f"{_nearest_gate(name, rules.version)}"
            )
        is_on = (value.lower() == "true") is (name not in _SWITCHES_OFF)
        switched: dict[str, Any] = dict.fromkeys(_GATED[name], is_on)
        rules = replace(rules, **switched)
    return replace(rules, feature_gates=feature_gates) if feature_gates else rules


def _nearest_gate(gate: str, version: str) -> str:
    """Return the gate that was meant, and which versions have it if not this one."""
    name = nearest(gate, _SETTABLE)
    if not name:
        return ""
    versions = _SETTABLE[name]
    where = "" if version in versions else f", in {', '.join(versions)}"
    return f" (nearest: {name}{where})"


def gates_of_fields() -> dict[str, str]:
    """Return the feature gate that switches each field that one switches."""
    return {field: gate for gate, fields in _GATED.items() for field in fields}


def settable_gates(version: str) -> list[str]:
    """Return the feature gates that a version has and that can be set here."""
    return [name for name, versions in _SETTABLE.items() if version in versions]


def rules_of_each(
    versions: Sequence[str], feature_gates: tuple[str, ...]
) -> list[KubeletRules]:
    """Return the rules of several versions; a gate counts for those that have it.

    Raises:
        UsageError: there is no such version, or none of them has such a gate.
    """
    for gate in feature_gates:
        name = gate.partition("=")[0]
        having = [version for version in versions if name in settable_gates(version)]
        rules_of(having[-1] if having else versions[-1], (gate,))
    return [
        rules_of(
            version,
            tuple(
                gate
                for gate in feature_gates
                if gate.partition("=")[0] in settable_gates(version)
            ),
        )
        for version in versions
    ]
