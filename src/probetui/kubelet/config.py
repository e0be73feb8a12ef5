"""The kubelet's periods, limits and defaults, in one frozen value.

Source: kubelet.go, pod_workers.go, pleg/generic.go, v1.32.10 (constants).
"""

from __future__ import annotations

from datetime import timedelta

from probetui.k8s.runtime import UNKNOWN_NODE, Node
from probetui.kubelet_rules import PORTED_RULES, KubeletRules, rules_of
from probetui.values import TimeSpan, Value

REDUCED_BACK_OFF = timedelta(seconds=1), timedelta(seconds=60)
LONG_AGO = timedelta(seconds=1_000_000)


class KubeletConfig(Value, frozen=True):
    """The kubelet's configuration; defaults are those of 1.32, as in old records.

    Attributes:
        version: the `major.minor` whose rules count.
        feature_gates: those that are not at the version's default, as `NAME=true`.
        seed: of the one random source of the engine (start jitter, resync jitter, the
            choice between things that are ready at the same time).
        age: how long the kubelet has been running at the start. A kubelet younger than
            a probe's period delays that probe's first tick by a random part of it.
        sidecar_probes_end_with_never: unused, as the version determines it; old records
            may contain it.
        queues_while_waiting: a pod worker takes its update before it waits for a fresh
            status, so that an update meanwhile causes another sync; in old records it
            joins the same one.
        max_container_restart_period: the longest window of crash-loop back-off that the
            node is configured with; None is the kubelet's own. Only read where the
            rules let a node have one.
        counts_generations: generations of pods are maintained here, as by an API
            server; otherwise they come from the sources, and old records have none.
        has_api_server: the pods that are not static come from an API server, and never
            wait for one of their name. Without it their manifests stand for one, which
            would not have them before that is gone.
        creates: a missing container is created; else the kubelet waits for it.
        restarts: a container that exited is started again; else that is only journaled.
        kills: a container whose probes failed is stopped; else that is only journaled.
        freezes: containers are frozen while probes are paused.
        finds_listeners: after a refused connection, the listeners of the container are
            looked up.
        tells_findings: findings about probes are journaled, once per probe.
        keeps_evidence: hooks are journaled, and what containers printed last; old
            records have neither.
        node: the node, as pods see it.
        sources: the sources of pods that must report before anything is cleaned up; old
            records have none.
        polls_runtime: the runtime's conditions are polled; if not, as in old records,
            it counts as ready.
        lists_images: the runtime's images are listed.
    """

    version: str = PORTED_RULES.version
    feature_gates: tuple[str, ...] = ()
    seed: int = 0
    age: TimeSpan = LONG_AGO
    sidecar_probes_end_with_never: bool = True
    queues_while_waiting: bool = False
    counts_generations: bool = False
    has_api_server: bool = False

    sync_tick: TimeSpan = timedelta(seconds=1)
    housekeeping_tick: TimeSpan = timedelta(seconds=2)
    relist_period: TimeSpan = timedelta(seconds=1)
    sync_frequency: TimeSpan = timedelta(seconds=60)
    retry_after_error: TimeSpan = timedelta(seconds=10)
    retry_after_network_error: TimeSpan = timedelta(seconds=1)
    jitter: float = 0.5

    backoff_initial: TimeSpan = timedelta(seconds=10)
    backoff_max: TimeSpan = timedelta(seconds=300)
    max_container_restart_period: TimeSpan | None = None
    backoff_expiry: TimeSpan = timedelta(seconds=600)

    minimum_grace_period_seconds: int = 2
    dead_instances_kept: int = 1
    container_gc_period: TimeSpan = timedelta(minutes=1)

    creates: bool = True
    restarts: bool = True
    kills: bool = True
    freezes: bool = False

    finds_listeners: bool = False
    tells_findings: bool = False
    keeps_evidence: bool = False

    node: Node = UNKNOWN_NODE
    sources: tuple[str, ...] = ()
    polls_runtime: bool = False
    lists_images: bool = False

    @property
    def rules(self) -> KubeletRules:
        """The rules of the version.

        Raises:
            UsageError: there is no such version, or it has no such feature gate.
        """
        return rules_of(self.version, self.feature_gates)

    @property
    def restart_back_off(self) -> tuple[timedelta, timedelta]:
        """The first and the longest window of crash-loop back-off.

        Source: kubelet.go, v1.36.2, newCrashLoopBackOff.
        """
        initial, maximum = self.backoff_initial, self.backoff_max
        limited = self.max_container_restart_period is not None
        if self.rules.reduces_back_off:
            initial, maximum = REDUCED_BACK_OFF
            limited = True
        if limited and self.rules.limits_back_off:
            maximum = self.max_container_restart_period or self.backoff_max
        return min(initial, maximum), maximum
