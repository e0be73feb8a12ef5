"""Kubelet rules: how a kubelet of one release decides and what it says.

Each field of `KubeletRules` is one difference between releases, read at the one place
that decides, and its row, the `Rule` beside it, is all that is known of it: what one
sees, from which release on, by which feature gate, and by which source. The rules of a
release, docs/VERSIONS.md and `probetui versions` are made of the rows.

A version is a minor release, as `1.36`, or a patch release of it, as `1.36.2`. A minor
release alone stands for its newest patch release, or for the one that was recorded
(`RECORDED_PATCHES`).

Source: k8s.io/kubernetes of v1.15.0, v1.17.0, v1.18.0, v1.19.10, v1.20.2, v1.21.4,
v1.22.6, v1.23.15, v1.24.14, v1.26.7, v1.27.7, v1.28.6, v1.29.6, v1.30.7, v1.31.11,
v1.32.10 and v1.36.2, where a row names no file; KEPs and pull requests of
kubernetes/kubernetes (k/k) where it names them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from probetui.errors import UsageError
from probetui.suggestions import nearest

NEWEST_PATCH = 9999
"""Stands for the newest patch release of a minor one."""

RECORDED_PATCHES: Mapping[str, int] = {"1.20": 2, "1.32": 10, "1.36": 2}
"""The patch release that a minor release alone stands for, if not for its newest.

These are the ones of which there are recordings, or that are ported line by line.
"""


class Release(NamedTuple):
    """A release of Kubernetes, `1.MINOR.PATCH`."""

    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Release:
        """Read the release from which a rule counts: `1.36` is 1.36.0."""
        _, minor, patch, *_ = (*text.split("."), "0")
        return cls(int(minor), int(patch))

    def __str__(self) -> str:
        """Write it as `1.36.2`."""
        return f"1.{self.minor}.{self.patch}"

    @property
    def short(self) -> str:
        """The same, a minor release as `1.36`."""
        return str(self).removesuffix(".0")


class FeatureGate(Struct, frozen=True):
    """A feature gate that switches a rule.

    Attributes:
        name: the name of the gate.
        first: the first minor release that has it.
        last: the last one in which it is not locked; empty if it is not locked yet.
        switches_off: the gate does away with what the rule is about.
    """

    name: str
    first: str
    last: str = ""
    switches_off: bool = False

    @property
    def versions(self) -> tuple[str, ...]:
        """The minor releases in which it can be set."""
        end = VERSIONS.index(self.last) + 1 if self.last else len(VERSIONS)
        return VERSIONS[VERSIONS.index(self.first) : end]


class Rule(Struct, frozen=True):
    """One difference between releases.

    Attributes:
        about: what one sees, in a sentence or two.
        values: from which release on it has which value, oldest first. A backport has
            two entries: the patch release that has it, and the next minor release,
            which had it later.
        source: files, KEPs, pull requests and recordings that show it.
        gate: the feature gate that switches it, if there is one.
        doubt: what is not known of the releases.
        is_words: whether it changes the words of messages, and nothing else.
        field: the field of a manifest, `TYPE.NAME`, that is dropped without it.
    """

    about: str
    values: tuple[tuple[Release, Any], ...]
    source: str = ""
    gate: FeatureGate | None = None
    doubt: str = ""
    is_words: bool = False
    field: str = ""

    @property
    def text(self) -> str:
        """The row in words: what one sees, by which gate, and what shows it."""
        gate = f"gate {self.gate.name}" if self.gate else ""
        doubt = f"not known: {self.doubt}" if self.doubt else ""
        shown = "; ".join(filter(None, (gate, self.source, doubt)))
        return f"{self.about} ({shown})" if shown else self.about

    @property
    def changes(self) -> tuple[tuple[Release, Any], ...]:
        """The releases whose value is not that of the row before, with the value."""
        return tuple(
            (release, value)
            for (_, before), (release, value) in pairwise(self.values)
            if value != before
        )

    @property
    def settled_in(self) -> str:
        """The releases that begin to have its last value: `1.33.6 and 1.34.2`."""
        last = self.values[-1][1]
        return " and ".join(
            release.short for release, value in self.changes if value == last
        )

    def value_of(self, release: Release) -> Any:
        """Return the value that a release has."""
        return [value for since, value in self.values if since <= release][-1]


FIRST = Release(15, 0)


def _rows(values: Mapping[str, Any]) -> tuple[tuple[Release, Any], ...]:
    return tuple((Release.parse(since), value) for since, value in values.items())


def since(
    release: str,
    about: str,
    source: str = "",
    *,
    backports: Sequence[str] = (),
    gate: FeatureGate | None = None,
    doubt: str = "",
    before: bool = False,
    is_words: bool = False,
    field: str = "",
) -> Any:
    """Return the row of what releases do from one on, and patches that have it too."""
    values = {FIRST: before, Release.parse(release): not before}
    for text in backports:
        backport = Release.parse(text)
        values[backport] = not before
        values.setdefault(Release(backport.minor + 1, 0), before)
    values[Release.parse(release)] = not before
    rows = tuple(sorted(values.items()))
    return Rule(about, rows, source, gate, doubt, is_words, field)


def until(
    release: str,
    about: str,
    source: str = "",
    *,
    backports: Sequence[str] = (),
    doubt: str = "",
    is_words: bool = False,
) -> Any:
    """Return the row of what releases do before one, and before patches that do not."""
    return since(
        release,
        about,
        source,
        backports=backports,
        doubt=doubt,
        before=True,
        is_words=is_words,
    )


def by_release(
    values: Mapping[str, Any],
    about: str,
    source: str = "",
    *,
    gate: FeatureGate | None = None,
    doubt: str = "",
) -> Any:
    """Return the row of what differs more than once, or is a text."""
    is_words = all(isinstance(value, str) for value in values.values())
    return Rule(about, _rows(values), source, gate, doubt, is_words)


def by_gate(about: str, gate: FeatureGate, source: str = "", field: str = "") -> Any:
    """Return the row of what is off without its feature gate."""
    return Rule(about, ((FIRST, False),), source, gate, field=field)


STARTUP_PROBE = FeatureGate("StartupProbe", "1.16", "1.19")
KEEPS_STATUS = FeatureGate(
    "ChangeContainerStatusOnKubeletRestart", "1.35", switches_off=True
)


class KubeletRules(Struct, frozen=True, eq=False):
    """How one release of the kubelet behaves; there is one value of each.

    The default of a field is its row; `rules_of` gives each field its value.

    Attributes:
        version: `major.minor`; probes and hooks show it in their user agent.
        release: the version as it was asked for: `1.36` or `1.36.2`.
        feature_gates: those that were set, as `NAME=true`.
    """

    version: str
    release: str
    feature_gates: tuple[str, ...]
    startup_probes: bool = since(
        "1.18",
        "Containers can have startup probes.",
        "KEP-950",
        gate=STARTUP_PROBE,
        field="Container.startupProbe",
    )
    inherits_started: bool = since(
        "1.35",
        "A container that is restarted at once counts as started until the next tick "
        "of its startup worker, so that liveness and readiness probe it too early: "
        "the startup window.",
        "k/k#141155, recorded in 1.36.2; mended by k/k#141342, whose patches of 1.35 "
        "to 1.37 (k/k#142041 to 142043) are open",
        gate=KEEPS_STATUS,
    )
    keeps_ready_over_restart: bool = since(
        "1.35",
        "A container that ran 10 s before the kubelet was started has no initial "
        "result, and is as ready as its pod is in the API until it is probed; before, "
        "it was not ready until then if it had a readiness probe.",
        "KEP-4781, k/k#134746; prober_manager.go, v1.36.2, "
        "setReadyStateOnKubeletRestart",
        gate=KEEPS_STATUS,
    )
    delays_every_worker: bool = until(
        "1.21",
        "Each worker waits a random part of its period first; later, only while the "
        "kubelet is younger than the period.",
        "k/k#97126; prober/worker.go, v1.19.10, v1.21.4, run",
    )
    probes_from_addition: bool = until(
        "1.25",
        "The workers of a pod are made when the pod is added; later, with its first "
        "sync, once its volumes are mounted.",
        "k/k#110191; kubelet.go, v1.20.2, HandlePodAdditions, v1.23.15, syncPod",
        backports=("1.22.11", "1.23.8", "1.24.2"),
    )
    triggers_readiness: bool = since(
        "1.21",
        "A container that is started and not ready is probed for readiness at each "
        "status.",
        "k/k#98376; prober/worker.go, v1.19.10, v1.21.4, run",
    )
    trigger_restarts_period: bool = since(
        "1.32",
        "A readiness probe out of turn, which a status triggers, begins the period "
        "anew; before, the ticks stay where they are.",
        "k/k#119089; prober/worker.go, v1.31.11, v1.32.10, run",
    )
    holds_after_startup_success: bool = since(
        "1.32",
        "A startup worker is on hold after a success, too; before, only after a "
        "failure, so that it probes on until the status says that the container is "
        "started.",
        "k/k#117153, k/k#121206; prober/worker.go, v1.31.11, v1.32.10, doProbe",
    )
    stops_liveness_on_deletion: bool = since(
        "1.22",
        "Liveness and startup workers stop when the pod begins to terminate; before, "
        "they went on until it was gone, but for static pods (recorded in 1.20.2), so "
        "that a container that was shutting down failed its liveness probe.",
        "k/k#52817, k/k#98571, whose workers of 1.21 look at a stale pod "
        "(k/k#107473); kubelet.go, v1.23.15, syncTerminatingPod",
        doubt="patches of 1.18 to 1.20 from April 2021 on have the workers of 1.21, "
        "and a stale pod as well",
    )
    stops_readiness_on_deletion: bool = by_release(
        {
            "1.15": False,
            "1.22": True,
            "1.22.11": False,
            "1.23": True,
            "1.23.8": False,
            "1.24": True,
            "1.24.2": False,
        },
        "Readiness workers stop when the pod begins to terminate, so that it stays as "
        "ready as it was until it is gone.",
        "k/k#110309, k/k#105780, mended by k/k#110191",
    )
    cancels_exec_on_deletion: bool = by_release(
        {"1.15": False, "1.35": True, "1.36": False, "1.36.3": True, "1.37": False},
        "Commands of probes are not run any more once the pod is being deleted: they "
        "end with `context canceled`, which counts for nothing, so that the pod stays "
        "as ready as it was; requests and connections go on.",
        "k/k#140881, k/k#140509: workers have the context of the pod's sync since "
        "k/k#130487, which 1.36.0 to 1.36.2 do not cancel; mended by k/k#140882",
        doubt="the patches of 1.35 and 1.36 (k/k#141005, k/k#141006) were open in "
        "July 2026: in which release they are is not known",
    )
    results_wake_pod: bool = since(
        "1.21",
        "A changed readiness or startup result syncs the pod; before, only a liveness "
        "failure did, and a failed startup probe killed at the next resync.",
        "prober/prober_manager.go, v1.19.10, v1.21.4; recorded in 1.20.2",
    )
    exec_timeout_is_failure: bool = since(
        "1.20",
        "A command that runs into its time limit has failed; before, that was an "
        "error, which counts for nothing, and dockershim did not stop it at all.",
        "KEP-1972, k/k#94115",
        gate=FeatureGate("ExecProbeTimeout", "1.20", "1.34"),
    )
    tells_exec_timeout: bool = since(
        "1.23",
        "The output of a command that ran into its time limit says so; before, it is "
        "empty (recorded in "
        "1.20.2).",
        "probe/exec/exec.go, v1.22.6, v1.23.15",
        is_words=True,
    )
    sends_accept: bool = since(
        "1.20",
        "HTTP probes send `Accept: */*`; before, they sent none and Go's "
        "`Accept-Encoding: gzip`.",
        "k/k#95641, k/k#96127",
    )
    canonical_headers: bool = since(
        "1.28",
        "HTTP probes send the names of their headers with capitals; before, as "
        "written, so that `host` is a header of its own beside `Host`.",
        "k/k#117182, patches k/k#117323, 117324, 117331, 117333; prober.go, v1.23.15, "
        "buildHeader; probe/http/request.go, v1.26.7, v1HeaderToHTTPHeader",
        backports=("1.24.14", "1.25.10", "1.26.5", "1.27.2"),
    )
    named_ports_only: bool = since(
        "1.37",
        "A port that is written as text is the name of a port, and an unknown one is "
        '`port "NAME" not found`; before, the text could be a number, and an unknown '
        'name was `strconv.Atoi: parsing "NAME": invalid syntax`.',
        "k/k#139791; pkg/probe/util.go, ResolveContainerPort, after its merge",
    )
    has_dockershim: bool = until(
        "1.24",
        "On Docker dockershim runs commands, and one that cannot be started is a "
        "failure; by CRI it is an error.",
        "KEP-2221; recorded in 1.20.2 with both",
    )
    redirect_warning: str = by_release(
        {"1.15": "", "1.24": "Probe terminated redirects, Response body: "},
        "How the warning about a redirect to another host begins; before, it was "
        "the body alone.",
        "k/k#103967; probe/http/http.go, v1.23.15, v1.24.14",
    )
    measures_probes: bool = since(
        "1.25",
        "The metric prober_probe_duration_seconds is there beside prober_probe_total.",
        "k/k#104484; prober_manager.go, v1.24.14, v1.26.7",
    )
    grpc_probes: bool = since(
        "1.24",
        "Probes can call gRPC health services.",
        "KEP-2727",
        gate=FeatureGate("GRPCContainerProbe", "1.23", "1.26"),
        field="Probe.grpc",
    )
    probe_grace_period: bool = since(
        "1.25",
        "A probe's own terminationGracePeriodSeconds counts.",
        "KEP-2238",
        gate=FeatureGate("ProbeTerminationGracePeriod", "1.21", "1.27"),
        field="Probe.terminationGracePeriodSeconds",
    )
    sidecars: bool = since(
        "1.29",
        "Init containers can have restartPolicy Always: sidecars.",
        "KEP-753, k/k#121579",
        gate=FeatureGate("SidecarContainers", "1.28", "1.32"),
        field="Container.restartPolicy",
    )
    orders_sidecar_ends: bool = since(
        "1.29",
        "Sidecars are stopped one by one, after the main containers and after those "
        "that were started later; before, all at once.",
        "k/k#120620; kuberuntime_termination_order.go, v1.29.6",
    )
    sidecar_workers_end_with_never: bool = until(
        "1.35",
        "In a pod with restartPolicy Never, a sidecar's workers leave for good when it "
        "terminates, although the sidecar is restarted.",
        "k/k#132826, k/k#133072, patches k/k#134800, k/k#134801",
        backports=("1.33.6", "1.34.2"),
    )
    errored_text: str = by_release(
        {
            "1.15": "{type} probe errored: {error}",
            "1.33": "{type} probe errored and resulted in {state} state: {error}",
        },
        "The message of the event of a probe that could not be run.",
        "k/k#125901",
    )
    reports_unknown: bool = until(
        "1.33", "An unknown result without an error makes an event.", "k/k#125901"
    )
    created_text: str = by_release(
        {
            "1.15": "Created container {name}",
            "1.31": "Created container: {name}",
            "1.35": "Container created",
        },
        "The message of the event Created.",
        "kuberuntime_container.go, v1.30.7, v1.31.11; k/k#134043",
    )
    started_text: str = by_release(
        {"1.15": "Started container {name}", "1.35": "Container started"},
        "The message of the event Started.",
        "k/k#134043",
    )
    image_present_text: str = by_release(
        {
            "1.15": 'Container image "{image}" already present on machine',
            "1.35": (
                'Container image "{image}" already present on machine and can be '
                "accessed by the pod"
            ),
        },
        "The message of Pulled where the image was there.",
        "image_manager.go",
    )
    pulled_text: str = by_release(
        {
            "1.15": 'Successfully pulled image "{image}"',
            "1.19": 'Successfully pulled image "{image}" in {exact}',
            "1.26": (
                'Successfully pulled image "{image}" in {time} '
                "({time} including waiting)"
            ),
            "1.30": (
                'Successfully pulled image "{image}" in {time} '
                "({time} including waiting). Image size: {size} bytes."
            ),
        },
        "The message of Pulled where it was pulled: the time to the nanosecond, later "
        "to the millisecond, and the size.",
        "k/k#91563; k/k#111772; k/k#121719; image_manager.go",
    )
    strips_unknown_code: bool = since(
        "1.28",
        "The error of a pull begins with a gRPC code only where that says something.",
        "k/k#117612; remote_image.go, v1.27.7, v1.28.6; recorded in 1.20.2 and 1.36.2",
        is_words=True,
    )
    tells_pull_error: bool = since(
        "1.32",
        "While an image waits to be pulled again, its container's message says why the "
        "last pull failed.",
        "k/k#127918; image_manager.go, v1.31.11, v1.32.10",
        is_words=True,
    )
    names_inspected_image: bool = until(
        "1.31",
        "The event of an image that cannot be inspected names it; later, the quotes "
        "are empty.",
        "image_manager.go, v1.30.7, v1.31.11",
        is_words=True,
    )
    image_name_text: str = by_release(
        {
            "1.15": "couldn't parse image reference",
            "1.28": "couldn't parse image name",
        },
        "How the message about an invalid image name begins.",
        "image_manager.go, v1.27.7; parsers.go, v1.32.10",
    )
    back_off_text: str = by_release(
        {
            "1.15": "Back-off restarting failed container",
            "1.26": "Back-off restarting failed container {name} in pod {where}",
        },
        "The message of the event BackOff.",
        "k/k#113216; kuberuntime_manager.go, v1.24.14, v1.26.7",
    )
    back_off_wait_text: str = by_release(
        {"1.15": "Back-off", "1.17": "back-off"},
        "How the message of a container that waits with CrashLoopBackOff begins.",
        "kuberuntime_manager.go, v1.15.1, v1.17.0, doBackOff",
        doubt="between 1.15.1 and 1.17.0",
    )
    sleeps_until_back_off_ends: bool = since(
        "1.35",
        "If a sync failed only for back-off, the pod is synced again when the first "
        "back-off ends, but after at most 60 s, times a random 1.0 to 1.5; before, at "
        "the usual retry, up to 15 s late.",
        "k/k#133066, recorded in 1.36.2",
    )
    hashes_whole_container: bool = until(
        "1.31",
        "An edit of any field of a container kills and restarts it; later, only of its "
        "image does.",
        "k/k#124220; kubelet/container/helpers.go, v1.30.7, v1.31.11, HashContainer",
    )
    back_off_key_has_content: bool = until(
        "1.35",
        "Back-off knows a container by what it is made of, so that an edit clears it; "
        "later, by its name alone.",
        "kuberuntime/helpers.go, v1.32.10, v1.36.2, GetStableKey",
    )
    reduces_back_off: bool = by_gate(
        "A container is started again after 1 s, doubled to 1 min, instead of 10 s to "
        "5 min; images are pulled as ever.",
        FeatureGate("ReduceDefaultCrashLoopBackOffDecay", "1.33"),
        "KEP-4603",
    )
    limits_back_off: bool = since(
        "1.35",
        "A node's configuration says how long the longest window is "
        "(crashLoopBackOff.maxContainerRestartPeriod, 5 min without one), also where "
        "the version reduces it.",
        "KEP-5593; kubelet.go, v1.36.2, newCrashLoopBackOff",
        gate=FeatureGate("KubeletCrashLoopBackOffMax", "1.32"),
    )
    relists_on_demand: bool = since(
        "1.36",
        "The runtime is listed right after a sync that started or stopped containers "
        "and had no error, not at the next second.",
        "k/k#137362, k/k#140805",
        gate=FeatureGate("PLEGOnDemandRelist", "1.36", "1.36"),
    )
    early_ready_to_start: bool = since(
        "1.36",
        "The condition PodReadyToStartContainers becomes true as soon as the sandbox "
        "is there; before, with the first status after the images.",
        "k/k#134660",
    )
    pod_generations: bool = since(
        "1.33",
        "A pod has a generation, which grows with each change of its spec and with its "
        "deletion.",
        "KEP-5067; pkg/registry/core/pod/strategy.go",
    )
    ready_to_start_condition: bool = since(
        "1.29",
        "There is the condition PodReadyToStartContainers.",
        "KEP-3085, k/k#119659",
        gate=FeatureGate("PodReadyToStartContainersCondition", "1.28"),
    )
    tells_hook_errors: bool = until(
        "1.25",
        "The event of a failed hook has the hook's error.",
        "kuberuntime_container.go, v1.24.14, v1.26.7; recorded in 1.20.2",
        doubt="between 1.24.14 and 1.26.7",
        is_words=True,
    )
    consistent_http_hooks: bool = since(
        "1.25",
        "httpGet hooks send requests as probes do, with scheme, headers and user "
        "agent; before, without any of them, over plain HTTP, and with a slash before "
        "the path.",
        "lifecycle/handlers.go, v1.24.14, v1.26.7; recorded in 1.20.2",
        gate=FeatureGate("ConsistentHTTPGetHandlers", "1.25", "1.29"),
        doubt="between 1.24.14 and 1.26.7, by source; by its documentation 1.25",
    )
    static_pods_wait: bool = since(
        "1.22",
        "A pod that takes the name of one that is ending waits until that is gone; "
        "before, it started beside it.",
        "pod_workers.go, v1.23.15; recorded in 1.20.2 and 1.36.2",
        doubt="between 1.20.2 and 1.23.15, by source; with the pod workers of 1.22",
    )
    sandbox_failure_text: str = by_release(
        {
            "1.15": "Failed create pod sandbox",
            "1.17": "Failed to create pod sandbox",
        },
        "How the event FailedCreatePodSandBox begins.",
        "kuberuntime_manager.go, v1.15.0, v1.17.0",
        doubt="between 1.15.0 and 1.17.0",
    )
    retries_sandbox: bool = since(
        "1.15.1",
        "A pod with restartPolicy Never whose sandbox could not be made is given "
        "another one; before, it waited for ever.",
        "k/k#79398, k/k#79451; kuberuntime_manager.go, v1.15.1, computePodActions",
    )
    renews_ended_sandbox: bool = until(
        "1.20",
        "A pod with restartPolicy OnFailure whose containers have all succeeded is "
        "given a new sandbox if it is synced without one, in which nothing runs.",
        "k/k#92613, k/k#92614; kuberuntime_manager.go, v1.19.1, v1.19.10, "
        "computePodActions",
        backports=("1.18.14", "1.19.4"),
        doubt="which patch of 1.17 has it (k/k#95508), if one does, and whether one of "
        "1.18 before 1.18.14",
    )
    starts_inits: bool = since(
        "1.28",
        "A plain init container that runs counts as started.",
        "prober_manager.go, v1.27.7, v1.28.6; recorded in 1.36.2, not in 1.20.2",
    )
    mount_wait_text: str = by_release(
        {
            "1.15": (
                'Unable to mount volumes for pod "{pod.full_name}({pod.uid})": timeout '
                "expired waiting for volumes to attach or mount for pod "
                '"{pod.namespace}"/"{pod.name}". '
                "list of unmounted volumes={unmounted}. "
                "list of unattached volumes={unattached}"
            ),
            "1.17": (
                "Unable to attach or mount volumes: unmounted volumes={unmounted}, "
                "unattached volumes={unattached}: timed out waiting for the condition"
            ),
            "1.27": (
                "Unable to attach or mount volumes: unmounted volumes={unmounted}, "
                "unattached volumes=[], failed to process volumes=[]: timed out "
                "waiting for the condition"
            ),
            "1.28": "",
        },
        "The message of FailedMount once volumes have been waited for in vain, if "
        "there is such an event: the volumes that are not there, and until 1.26 all "
        "that were waited for, as unattached.",
        "volume_manager.go, v1.15.0, v1.17.0, v1.26.7, v1.27.7; kubelet.go, v1.28.6, "
        "where the wait ends with its context, k/k#127034",
        doubt="the text of 1.17 between 1.15.0 and 1.17.0",
    )
    grants_a_second: bool = since(
        "1.22",
        "A pod that terminates has one second at least.",
        "pod_workers.go, v1.23.15, calculateEffectiveGracePeriod",
        doubt="between 1.20.2 and 1.23.15, by source; with the pod workers of 1.22",
    )
    hook_time_counts: bool = by_release(
        {"1.15": True, "1.22": False, "1.28": True},
        "The time of a preStop hook is taken off the grace period of a pod that is "
        "deleted; otherwise the hook and SIGTERM have the whole of it each, and no "
        "hook runs with a grace period of 0.",
        "k/k#117798, k/k#115835; kuberuntime_container.go, v1.27.7, v1.28.6, "
        "killContainer: its override comes with the pod workers of 1.22",
    )
    ends_deleted_pods: bool = since(
        "1.27",
        "A pod that is deleted has ended in the end, as Failed or as Succeeded; "
        "before, one that would be restarted was Running until it was gone.",
        "k/k#115331",
    )
    tells_pod_failed: bool = since(
        "1.25",
        "The conditions Ready and ContainersReady of a failed pod have the reason "
        "PodFailed; before, they name its containers.",
        "k/k#110256, patches k/k#110479 to 110481; status/generate.go, v1.23.15",
        backports=("1.22.11", "1.23.8", "1.24.2"),
        is_words=True,
    )
    status_ends_at_deadline: bool = until(
        "1.22",
        "The status of a pod that has exceeded its deadline has no conditions and is "
        "the last one; containers run in it for ever.",
        "recorded in 1.20.2",
        doubt="between 1.20.2 and 1.23.15, by source; with the pod workers of 1.22",
    )
    sleep_hooks: bool = since(
        "1.30",
        "Hooks can sleep.",
        "KEP-3960, k/k#119026",
        gate=FeatureGate("PodLifecycleSleepAction", "1.29", "1.33"),
        field="LifecycleHandler.sleep",
    )
    zero_sleep: bool = since(
        "1.33",
        "Hooks can sleep for 0 s.",
        "KEP-4818",
        gate=FeatureGate("PodLifecycleSleepActionAllowZero", "1.32", "1.33"),
    )
    grpc_mode: bool = by_gate(
        "gRPC probes have a mode: Plaintext, or TLS, of which no certificate is "
        "verified.",
        FeatureGate("GRPCContainerProbeTLS", "1.37"),
        "KEP-4939, k/k#137762",
        field="GRPCAction.mode",
    )
    http_protocol: bool = by_gate(
        "HTTP probes have a protocol: HTTP1, or HTTP2 over a connection without TLS.",
        FeatureGate("H2CContainerProbe", "1.37"),
        "KEP-5999",
        field="HTTPGetAction.protocol",
    )
    container_restart_rules: bool = since(
        "1.35",
        "Containers can have a restart policy of their own, and rules by exit code.",
        "KEP-5307",
        gate=FeatureGate("ContainerRestartRules", "1.34", "1.35"),
        field="Container.restartPolicyRules",
    )
    stop_signals: bool = since(
        "1.37",
        "A manifest can name the signal that stops a container, and the status of a "
        "container names it, where the runtime does.",
        "KEP-4960; off in 1.36.2 (recorded)",
        gate=FeatureGate("ContainerStopSignals", "1.33"),
        field="Lifecycle.stopSignal",
    )
    restart_all_containers: bool = since(
        "1.36",
        "A restart rule can restart all containers of the pod.",
        "KEP-5532",
        gate=FeatureGate("RestartAllContainersOnContainerExits", "1.35"),
    )
    syncs_after_reset: bool = since(
        "1.36",
        "A pod all of whose containers a rule restarts is synced again as soon as they "
        "have been removed; "
        "before, with the next relist that sees an end, so that a pod of one container "
        "waits for its resync.",
        "k/k#136966",
    )
    keeps_last_state: bool = since(
        "1.36",
        "The last state and the restart count of a container outlive the instance that "
        "they are about.",
        "k/k#136964, recorded",
    )
    refuses_probe_host: bool = since(
        "1.34",
        "Pod Security's baseline refuses `host` in probes and hooks.",
        "KEP-4940, k/k#125271",
    )
    relaxed_env_names: bool = since(
        "1.32",
        "A variable's name can have any printable ASCII but `=`.",
        "KEP-4369",
        gate=FeatureGate("RelaxedEnvironmentVariableValidation", "1.30", "1.33"),
    )
    relaxed_dns_searches: bool = since(
        "1.33",
        "A DNS search path can have underscores, or be a dot.",
        "KEP-4427, gate RelaxedDNSSearchValidation",
    )
    init_resize_policies: bool = since(
        "1.33",
        "Init containers can have resize policies, sidecars and others.",
        "KEP-1287, gate InPlacePodVerticalScaling; validation.go, "
        "validateInitContainers",
    )
    refuses_init_restart: bool = since(
        "1.36",
        "Resize policies of init containers that are no sidecars must not be "
        "RestartContainer.",
        "k/k#137458",
    )
    pod_level_resources: bool = since(
        "1.34",
        "A pod has resources of its own beside its containers'.",
        "KEP-2837",
        gate=FeatureGate("PodLevelResources", "1.32"),
        field="PodSpec.resources",
    )
    image_sub_paths: bool = since(
        "1.33",
        "A mount of an image volume can have a subPath.",
        "KEP-4639; validation.go, ValidateVolumeMounts",
    )
    selinux_mount: bool = since(
        "1.37",
        "A pod's seLinuxChangePolicy can be MountOption.",
        "KEP-1710; validation.go, validateSELinuxChangePolicy",
        gate=FeatureGate("SELinuxMount", "1.32"),
    )
    node_affinity_values: bool = since(
        "1.33",
        "The values of a required node affinity must be those that labels can have.",
        "validation.go, ValidateNodeSelectorRequirement",
    )
    projection_errors: bool = since(
        "1.33",
        "Errors of a projected volume name the field clusterTrustBundle, before "
        "clusterTrustBundlePEM, and say that it is a source that is one too many.",
        "validation.go, validateProjectionSources",
        is_words=True,
    )
    merges_spread_keys: bool = since(
        "1.34",
        "matchLabelKeys of a topology spread constraint are added to its labelSelector "
        "before it is checked, as those of pod affinity are since 1.31.",
        "KEP-3243",
        gate=FeatureGate("MatchLabelKeysInPodTopologySpreadSelectorMerge", "1.34"),
    )
    toleration_comparisons: bool = by_gate(
        "Tolerations can compare numbers, by the operators Lt and Gt.",
        FeatureGate("TaintTolerationComparisonOperators", "1.35"),
        "KEP-5471, k/k#134665",
    )
    names_comparisons: bool = since(
        "1.35",
        "An error about the operator Lt or Gt of a toleration lists them as supported, "
        "also with the gate off.",
        "k/k#134665, recorded in 1.36.2",
        is_words=True,
    )
    content_texts: bool = since(
        "1.36",
        "Errors call the key of a label one, count its characters as bytes, and name "
        "hostUsers as a manifest does.",
        "apimachinery, validate/content; recorded in 1.36.2",
        doubt="between 1.32.10 and 1.36.2",
        is_words=True,
    )
    one_error_of_csi_driver: bool = since(
        "1.36",
        "A missing name of a CSI driver is one error, without a second one "
        "about its form.",
        "validation.go, ValidateCSIDriverName; recorded in 1.36.2",
        doubt="between 1.32.10 and 1.36.2",
        is_words=True,
    )
    env_files: bool = since(
        "1.35",
        "A variable can have its value from a file in a volume.",
        "KEP-3721",
        gate=FeatureGate("EnvFiles", "1.34"),
        field="EnvVarSource.fileKeyRef",
    )
    hostname_override: bool = since(
        "1.35",
        "A manifest can name the pod's hostname in full.",
        "KEP-4762",
        gate=FeatureGate("HostnameOverride", "1.34"),
        field="PodSpec.hostnameOverride",
    )
    strict_addresses: bool = since(
        "1.36",
        "Addresses must not have leading zeros, nor be IPv4 in IPv6.",
        "KEP-4858, k/k#137053",
        gate=FeatureGate("StrictIPCIDRValidation", "1.33"),
    )
    names_embedded: bool = since(
        "1.36",
        "Errors about values of a wrong type name what is embedded in a struct: "
        "ProbeHandler, VolumeSource.",
        "sigs.k8s.io/json, decode.go; recorded in 1.36.2",
        doubt="between 1.32.10 and 1.36.2",
    )
    stateful_set_names: bool = since(
        "1.27",
        "The name of a StatefulSet must be a DNS label.",
        "k/k#114172; apps/validation/validation.go, ValidateStatefulSetName",
    )
    prefixed_job_labels: bool = since(
        "1.27",
        "A Job gives its pods the labels batch.kubernetes.io/job-name and "
        "controller-uid beside those without a prefix.",
        "batch/validation/validation.go, validateGeneratedSelector",
    )
    managed_jobs: bool = since(
        "1.32",
        "A Job can name in managedBy what controls it.",
        "KEP-4368; batch/validation/validation.go, validateJobSpec",
        gate=FeatureGate("JobManagedBy", "1.30"),
    )
    checks_service_name: bool = since(
        "1.33",
        "The serviceName of a StatefulSet must be a DNS label.",
        "k/k#130233",
    )
    several_unavailable: bool = by_release(
        {
            "1.15": False,
            "1.35": True,
            "1.35.4": False,
            "1.36": False,
            "1.37": True,
        },
        "maxUnavailable of a StatefulSet's rolling update counts, and is checked.",
        "KEP-961, k/k#133153; off again by k/k#137904, on by k/k#139466",
        gate=FeatureGate("MaxUnavailableStatefulSet", "1.24"),
    )
    warns_of_revisions: bool = since(
        "1.36",
        "The API server warns of a StatefulSet that keeps a negative number of "
        "revisions.",
        "statefulset/strategy.go, WarningsOnCreate",
        doubt="between 1.32.10 and 1.36.2",
    )
    trust_bundles: bool = since(
        "1.37",
        "A projected volume can have trust bundles.",
        "KEP-3257; off in 1.36.2, recorded",
        gate=FeatureGate("ClusterTrustBundleProjection", "1.29"),
        field="VolumeProjection.clusterTrustBundle",
    )
    pod_certificates: bool = since(
        "1.37",
        "A projected volume can have certificates of the pod.",
        "KEP-4317; off in 1.36.2, recorded",
        gate=FeatureGate("PodCertificateRequest", "1.34"),
        field="VolumeProjection.podCertificate",
    )
    corrects_grace: bool = since(
        "1.36",
        "A negative grace period of a new pod becomes 1.",
        "recorded in 1.36.2",
        doubt="between 1.32.10 and 1.36.2",
    )
    warns_of_names: bool = since(
        "1.33",
        "The API server warns of a name that is no DNS label and will be a hostname. "
        "Up to 1.32 only GetWarningsForPod is followed, which does not.",
        "k/k#114412, in 1.27; strategy.go, WarningsOnCreate; recorded in 1.36.2",
    )
    git_repo_warning: str = by_release(
        {
            "1.15": "deprecated in v1.11",
            "1.33": "deprecated in v1.11, and disabled by default in v1.33+",
        },
        "What the API server warns of a gitRepo volume, whose driver is off since "
        "1.33.",
        "warnings.go",
    )
    json_values: bool = since(
        "1.34",
        "An error writes a value that is no text, number or boolean as JSON, before in "
        "Go's syntax.",
        "apimachinery, field/errors.go",
        is_words=True,
    )
    volume_attributes: bool = since(
        "1.34",
        "The name of a claim's volumeAttributesClass is checked.",
        "KEP-3751",
        gate=FeatureGate("VolumeAttributesClass", "1.29", "1.33"),
    )
    app_armor_fields: bool = since(
        "1.30",
        "An AppArmor annotation becomes the field of its container, and is warned of.",
        "KEP-24, gate AppArmorFields; pkg/registry/core/pod, strategy.go, "
        "applyAppArmorVersionSkew",
    )
    warns_more: bool = since(
        "1.33",
        "The API server warns of files whose paths overlap, of a port's name that two "
        "containers have, of addresses in an unusual form and of a negative grace "
        "period.",
        "k/k#121968, k/k#122170, k/k#128786",
    )
    reports_started: bool = since(
        "1.16",
        "The status of a container says whether it has `started`, also where no "
        "container can have a startup probe.",
        "KEP-950; prober_manager.go, v1.15.1, v1.17.0, UpdatePodStatus",
        doubt="between 1.15.1 and 1.17.0, by source; with the startup probes of 1.16",
    )
    reports_pod_ips: bool = since(
        "1.16",
        "The status of a pod has `podIPs` beside `podIP`.",
        "KEP-563; kuberuntime_manager.go, v1.15.1, v1.17.0, SyncPod; the change log of "
        "1.17.4 has API servers from 1.16 on write them (k/k#88505)",
        doubt="between 1.15.1 and 1.17.0, by source",
    )
    reports_host_ips: bool = since(
        "1.29",
        "The status of a pod has `hostIPs` beside `hostIP`.",
        "KEP-2681; kubelet_pods.go, v1.27.7, v1.28.6, v1.29.6, generateAPIPodStatus",
        gate=FeatureGate("PodHostIPs", "1.28", "1.29"),
    )
    reports_volume_mounts: bool = since(
        "1.31",
        "The status of a container has its `volumeMounts`.",
        "KEP-3857; kubelet_pods.go, v1.29.6, v1.30.7, v1.31.11, "
        "convertToAPIContainerStatuses",
        gate=FeatureGate("RecursiveReadOnlyMounts", "1.30", "1.32"),
    )
    reports_missing_pull_secrets: bool = since(
        "1.28",
        "An event names the image pull Secrets of a pod that are not there.",
        "k/k#117927",
    )
    reports_resources: bool = since(
        "1.33",
        "The status of a container that was created has its resources and those that "
        "are allocated to it.",
        "KEP-1287",
        gate=FeatureGate("InPlacePodVerticalScaling", "1.33", "1.34"),
    )
    reports_pod_resources: bool = since(
        "1.36",
        "The status of a pod has its resources.",
        "KEP-5419; recorded in 1.36.2",
        gate=FeatureGate("InPlacePodLevelResourcesVerticalScaling", "1.35"),
    )
    reports_generation: bool = since(
        "1.34",
        "A status, and each condition of the kubelet, has the pod's generation that it "
        "is about.",
        "KEP-5067, recorded in 1.36.2",
        gate=FeatureGate("PodObservedGenerationTracking", "1.33", "1.34"),
    )
    allows_events_by_type: bool = since(
        "1.36",
        "Normal and Warning events of a pod have an allowance each; before, one for "
        "both.",
        "k/k#124747, recorded in 1.36.2",
        doubt="between 1.32.10 and 1.36.2",
    )

    def __reduce__(self) -> tuple[object, ...]:
        """Have a copy be the same value: the rules are not part of a state."""
        return rules_of, (self.release, self.feature_gates)

    @property
    def full_version(self) -> str:
        """The version with its patch, 0 where none was asked for."""
        return self.release if self.release != self.version else f"{self.version}.0"

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


VERSIONS = tuple(f"1.{minor}" for minor in range(FIRST.minor, 38))
"""The minor releases there are rules of, oldest first."""

ROWS: Mapping[str, Rule] = dict(
    zip(
        KubeletRules.__struct_fields__[-len(KubeletRules.__struct_defaults__) :],
        KubeletRules.__struct_defaults__,
        strict=True,
    )
)
"""The row of each rule, by its field."""

TEXT_RULES = frozenset(name for name, row in ROWS.items() if row.is_words)
"""The rules that change the words of messages, and nothing else."""

VERSION_PATTERN = r"v?(?P<version>1\.(?P<minor>[0-9]{1,4}))(?:\.(?P<patch>[0-9]{1,4}))?"
"""How a version is written: `1.36`, `v1.36` or `1.36.2`."""

DEFAULT_VERSION = "1.36"
"""The version of a session that asks for none."""


def parse_version(text: str) -> str:
    """Return the version that a text names, without its `v`: `1.36` or `1.36.2`.

    Raises:
        UsageError: there are no rules of it; the error names the nearest.
    """
    written = re.fullmatch(VERSION_PATTERN, text)
    if written is not None and written["version"] in VERSIONS:
        return written[0].removeprefix("v")
    message = f'"{text}" is not one of {VERSIONS[0]} to {VERSIONS[-1]}'
    if written is None:
        raise UsageError(message)
    raise UsageError(f"{message} (nearest: {_nearest_version(int(written['minor']))})")


def _nearest_version(minor: int) -> str:
    return VERSIONS[min(max(minor - FIRST.minor, 0), len(VERSIONS) - 1)]


def rules_for_kubelet(text: str) -> KubeletRules:
    """Return the rules nearest to a version that a node names, as `v1.33.4-gke.1`.

    Those of the default version for a text that is none.
    """
    written = re.match(VERSION_PATTERN, text)
    if written is None:
        return rules_of(DEFAULT_VERSION)
    if written["version"] in VERSIONS:
        return rules_of(written[0].removeprefix("v"))
    return rules_of(_nearest_version(int(written["minor"])))


def release_of(version: str) -> Release:
    """Return the release that a version stands for."""
    minor, patch = Release.parse(version)
    if version.count(".") == 1:
        patch = RECORDED_PATCHES.get(version, NEWEST_PATCH)
    return Release(minor, patch)


@cache
def rules_of(version: str, feature_gates: tuple[str, ...] = ()) -> KubeletRules:
    """Return the rules of a version, with feature gates as `NAME=true`.

    Raises:
        UsageError: there is no such version, or it has no such gate.
    """
    release = parse_version(version)
    if release != version:
        return rules_of(release, feature_gates)
    rules = _rules_without_gates(release)
    if not feature_gates:
        return rules
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
        is_true = value.lower() == "true"
        switched: dict[str, Any] = {
            field: is_true is not row.gate.switches_off
            for field, row in ROWS.items()
            if row.gate is not None and row.gate.name == name
        }
        rules = replace(rules, **switched)
    return replace(rules, feature_gates=feature_gates)


@cache
def _rules_without_gates(version: str) -> KubeletRules:
    release = release_of(version)
    values = {field: row.value_of(release) for field, row in ROWS.items()}
    return KubeletRules(f"1.{release.minor}", version, (), **values)


def _nearest_gate(gate: str, version: str) -> str:
    """Return the gate that was meant, and which versions have it if not this one."""
    gates = {row.gate.name: row.gate for row in ROWS.values() if row.gate}
    name = nearest(gate, gates)
    if not name:
        return ""
    versions = gates[name].versions
    if version in versions:
        return f" (nearest: {name})"
    first, last = versions[0], versions[-1]
    return f" (nearest: {name}, in {first if first == last else f'{first} to {last}'})"


def settable_gates(version: str) -> list[str]:
    """Return the feature gates that a minor release has and that can be set here."""
    names = {
        row.gate.name
        for row in ROWS.values()
        if row.gate is not None and version in row.gate.versions
    }
    return sorted(names)


def rules_of_each(
    versions: Sequence[str], feature_gates: tuple[str, ...]
) -> list[KubeletRules]:
    """Return the rules of several versions; a gate counts for those that have it.

    Raises:
        UsageError: there is no such version, or none of them has such a gate.
    """
    minors = {version: rules_of(version).version for version in versions}
    for gate in feature_gates:
        name = gate.partition("=")[0]
        having = [
            version for version in versions if name in settable_gates(minors[version])
        ]
        rules_of(having[-1] if having else versions[-1], (gate,))
    return [
        rules_of(
            version,
            tuple(
                gate
                for gate in feature_gates
                if gate.partition("=")[0] in settable_gates(minors[version])
            ),
        )
        for version in versions
    ]


PORTED_RULES = rules_of("1.32")
"""Those of the version that the port follows line by line."""
