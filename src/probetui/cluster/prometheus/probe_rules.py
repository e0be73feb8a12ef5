"""Alert rules for the probes of a workload, with its own thresholds and periods.

A counter's rise over a window is the difference of two samples: `increase()`
extrapolates, and a threshold is a whole number of failures. A counter that was not
there a window ago has risen from 0, as series begin with the first result. Windows are
whole scrapes, long enough that what a rule looks for lies within one of them, wherever
the scrapes fall.

Metrics of different exporters meet in set operators alone, so that an HA pair or a
store of several clusters is no error.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from fractions import Fraction
from math import ceil

from msgspec import Struct

from probetui.analysis.timing import kill_grace_period
from probetui.cluster.prometheus.selectors import quoted, selector
from probetui.cluster.prometheus.workloads import pod_name_pattern
from probetui.drive.metrics import BUCKETS
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import Probe, ProbeType
from probetui.kubelet.kuberuntime.restart import should_restart_on_failure
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.manifests import LoadedPod

MOST_GRACE_SECONDS = 300
"""Of a longer grace period, this much: within hours any container may restart."""

MOST_PERIODS = 4
"""A window of so many times the periods up to a kill says nothing of a run."""

BUDGET_USED = Fraction(4, 5)
FLIPS = 4
"""Of readiness, in the window: out of the endpoints and back, twice."""

FLAPPING_SECONDS = 600
FLAPPING_CYCLES = 3
SLOW_SECONDS = 600
SLOW_PROBES = 12
LEAST_ANSWERS = 6
SLOW_SHARE = 0.1

_NOT_RESTARTED = (
    "is not restarted: its counters go with it, and no scrape shows that a probe has "
    "killed it"
)
_KEY = "by (cluster, namespace, pod, container)"


class RuleKind(StrEnum):
    """What a rule looks for."""

    NEAR_KILL = "near-kill"
    KILLED = "killed"
    START_BUDGET = "start-budget"
    FLAPPING = "flapping"
    NEAR_TIMEOUT = "near-timeout"


class ProbeRule(Struct, frozen=True):
    """An alert rule about one probe.

    Attributes:
        window: in seconds, whole scrapes.
        failures: what the rule counts up to; 0 where it counts none.
        slow: the bucket above which a success is near the time-out, in seconds.
    """

    kind: RuleKind
    alert: str
    container: Container
    probe_type: ProbeType
    expression: str
    summary: str
    description: str
    window: int
    failures: int = 0
    slow: float = 0.0

    @property
    def probe(self) -> Probe:
        """The probe that it is about."""
        probe = self.container.probe(self.probe_type)
        assert probe is not None, "it was made of one"  # noqa: S101  # for the type
        return probe


class LeftOutRule(Struct, frozen=True):
    """A rule that cannot be made, and why."""

    container: str
    probe_type: ProbeType
    reason: str


class RuleMaker:
    """Makes the rules of one workload.

    Args:
        loaded: its pod.
        rules: of the cluster's kubelets.
        scrape: the seconds between two scrapes.
        has_namespace: whether the rules are for its namespace alone.
    """

    def __init__(
        self,
        loaded: LoadedPod,
        rules: KubeletRules,
        scrape: int,
        *,
        has_namespace: bool,
    ) -> None:
        self._pod = loaded.pod
        self._rules = rules
        self._scrape = scrape
        names = pod_name_pattern(loaded)
        is_one = names == loaded.pod.name
        self._matchers = [f"pod{'=' if is_one else '=~'}{quoted(names)}"]
        if has_namespace:
            namespace = f"namespace={quoted(loaded.pod.namespace)}"
            self._matchers.insert(0, namespace)

    def make(self) -> Iterator[ProbeRule | LeftOutRule]:
        """Yield the rules of all probes."""
        for container in self._pod.all_containers():
            for probe_type in ProbeType:
                if (probe := container.probe(probe_type)) is None:
                    continue
                if probe_type is ProbeType.READINESS:
                    yield self._flapping(container, probe)
                elif should_restart_on_failure(self._pod, container):
                    yield self._killed(container, probe_type, probe)
                else:
                    yield LeftOutRule(container.name, probe_type, _NOT_RESTARTED)
                if probe_type is ProbeType.LIVENESS:
                    yield from self._near_kill(container, probe)
                if probe_type is ProbeType.STARTUP:
                    yield from self._start_budget(container, probe)
                elif self._rules.measures_probes:
                    yield self._near_timeout(container, probe_type, probe)

    def _near_kill(
        self, container: Container, probe: Probe
    ) -> Iterator[ProbeRule | LeftOutRule]:
        failures = probe.failure_threshold - 1
        if not failures:
            return
        window = self._whole_scrapes((failures - 1) * _interval(probe) + self._scrape)
        to_kill = probe.failure_threshold * _interval(probe)
        if window > MOST_PERIODS * to_kill:
            reason = (
                f"{to_kill}s of failures kill, and a scrape comes each {self._scrape}s:"
                " none shows that a kill is near"
            )
            yield LeftOutRule(container.name, ProbeType.LIVENESS, reason)
            return
        failed = self._failed(container, ProbeType.LIVENESS)
        yield ProbeRule(
            RuleKind.NEAR_KILL,
            "LivenessProbeNearKill",
            container,
            ProbeType.LIVENESS,
            f"{_most(_rise(failed, window))} >= {failures}",
            f"is near a kill: its liveness probe failed {_times(failures)}",
            f"The liveness probe failed {_times(failures)} or more within {window}s. "
            f"{_times(probe.failure_threshold).capitalize()} in a row, one each "
            f"{probe.period_seconds}s, kill the container.",
            window,
            failures,
        )

    def _killed(
        self, container: Container, probe_type: ProbeType, probe: Probe
    ) -> ProbeRule:
        failures = probe.failure_threshold
        grace = grace_seconds(self._pod, container, probe_type, self._rules)
        window = self._whole_scrapes(
            (failures - 1) * _interval(probe) + grace + 2 * self._scrape
        )
        restarts = self._state(container, "restarts_total")
        backs_off = self._state(container, "waiting_reason", "CrashLoopBackOff")
        oom = self._state(container, "last_terminated_reason", "OOMKilled")
        ends = [f"{_most(_rise(restarts, window))} > 0", f"{_most(backs_off)} == 1"]
        failed = self._failed(container, probe_type)
        name = probe_type.value
        return ProbeRule(
            RuleKind.KILLED,
            f"KilledBy{name}Probe",
            container,
            probe_type,
            f"{_most(_rise(failed, window))} >= {failures}\n"
            f"and ({' or '.join(ends)})\nunless {_most(oom)} == 1",
            f"was killed by its {name.lower()} probe",
            f"The container ended, and its {name.lower()} probe had failed "
            f"{_times(failures)} or more within {window}s: so many in a row, one each "
            f"{probe.period_seconds}s, kill it.",
            window,
            failures,
        )

    def _start_budget(self, container: Container, probe: Probe) -> Iterator[ProbeRule]:
        failures = ceil(BUDGET_USED * probe.failure_threshold)
        is_restarted = should_restart_on_failure(self._pod, container)
        if failures == probe.failure_threshold or not is_restarted:
            return
        window = self._whole_scrapes((failures - 1) * _interval(probe) + self._scrape)
        failed = self._failed(container, ProbeType.STARTUP)
        yield ProbeRule(
            RuleKind.START_BUDGET,
            "StartBudgetNearlyUsed",
            container,
            ProbeType.STARTUP,
            f"{_most(_rise(failed, window))} >= {failures}",
            "has used 80 % of the time that it has to start",
            f"The startup probe failed {_times(failures)} or more, one each "
            f"{probe.period_seconds}s; {probe.failure_threshold} kill the container.",
            window,
            failures,
        )

    def _flapping(self, container: Container, probe: Probe) -> ProbeRule:
        window = self._whole_scrapes(
            max(FLAPPING_SECONDS, FLAPPING_CYCLES * self._cycle_seconds(probe))
        )
        failures = 2 * probe.failure_threshold
        ready = self._state(container, "ready")
        restarts = self._state(container, "restarts_total")
        failed = self._failed(container, ProbeType.READINESS)
        return ProbeRule(
            RuleKind.FLAPPING,
            "ReadinessProbeFlapping",
            container,
            ProbeType.READINESS,
            f"{_most(f'changes({ready}[{window}s])')} >= {FLIPS}\n"
            f"and {_most(_rise(failed, window))} >= {failures}\n"
            f"unless {_most(_rise(restarts, window))} > 0",
            "goes in and out of the endpoints",
            f"Its readiness changed {FLIPS} times or more within {window}s without a "
            f"restart, and its readiness probe failed {_times(failures)} or more: "
            f"{_times(probe.failure_threshold)} in a row take it out of the endpoints.",
            window,
            failures,
        )

    def _cycle_seconds(self, probe: Probe) -> int:
        """Return how long a change of readiness and back takes that scrapes show."""
        seen = 2 * self._scrape + probe.period_seconds
        return sum(
            (threshold - 1) * _interval(probe) + seen
            for threshold in (probe.failure_threshold, probe.success_threshold)
        )

    def _near_timeout(
        self, container: Container, probe_type: ProbeType, probe: Probe
    ) -> ProbeRule | LeftOutRule:
        timeout = probe.timeout_seconds
        slow = max(bound for bound in BUCKETS if bound < timeout)
        if 2 * slow < timeout:
            reason = (
                f"the histogram ends at {slow:g}s, the time-out is {timeout}s: no "
                "bucket is near it"
            )
            return LeftOutRule(container.name, probe_type, reason)
        window = self._whole_scrapes(max(SLOW_SECONDS, SLOW_PROBES * _interval(probe)))
        name = "prober_probe_duration_seconds"
        of_probe = self._of_probe(container, probe_type)
        count = _rise(selector(f"{name}_count", of_probe), window)
        # A bound of 1 is "1" to one Prometheus, and "1.0" to another.
        bound = quoted(f"{slow:g}".replace(".", "\\.") + "(\\.0)?")
        quick = _rise(selector(f"{name}_bucket", [*of_probe, f"le=~{bound}"]), window)
        late = _most(f"({count}) - ignoring (le) ({quick})")
        return ProbeRule(
            RuleKind.NEAR_TIMEOUT,
            f"{probe_type.value}ProbeNearTimeout",
            container,
            probe_type,
            f"{late}\n> {SLOW_SHARE} * ({_most(count)} >= {LEAST_ANSWERS})",
            f"answers its {probe_type.value.lower()} probe hardly in time",
            f"More than {SLOW_SHARE:.0%} of the {probe_type.value.lower()} probes that "
            f"succeeded within {window}s took longer than {slow:g}s; after {timeout}s "
            "a probe fails.",
            window,
            slow=slow,
        )

    def _whole_scrapes(self, seconds: int) -> int:
        return ceil(Fraction(seconds, self._scrape)) * self._scrape

    def _failed(self, container: Container, probe_type: ProbeType) -> str:
        of_probe = self._of_probe(container, probe_type)
        return selector("prober_probe_total", [*of_probe, 'result="failed"'])

    def _of_probe(self, container: Container, probe_type: ProbeType) -> list[str]:
        return [
            *self._of_container(container),
            f"probe_type={quoted(probe_type.value)}",
        ]

    def _of_container(self, container: Container) -> list[str]:
        return [*self._matchers, f"container={quoted(container.name)}"]

    def _state(self, container: Container, name: str, reason: str = "") -> str:
        """Return a selector of kube-state-metrics."""
        prefix = state_prefix(is_init=container in self._pod.init_containers)
        wanted = self._of_container(container)
        if reason:
            wanted.append(f"reason={quoted(reason)}")
        return selector(f"{prefix}_{name}", wanted)


def state_prefix(*, is_init: bool) -> str:
    """Return how the names of kube-state-metrics about a container's status begin."""
    return f"kube_pod_{'init_' if is_init else ''}container_status"


def grace_seconds(
    pod: Pod, container: Container, probe_type: ProbeType, rules: KubeletRules
) -> int:
    """Return the grace period of a kill that the rules wait for."""
    grace = kill_grace_period(pod, container, probe_type, rules).seconds
    return min(grace, MOST_GRACE_SECONDS)


def _interval(probe: Probe) -> int:
    """Return the seconds between probes that time out."""
    return max(probe.period_seconds, probe.timeout_seconds)


def _rise(series: str, window: int) -> str:
    return f"{series} - ({series} offset {window}s or 0 * {series})"


def _most(expression: str) -> str:
    return f"max {_KEY} ({expression})"


def _times(count: int) -> str:
    return "once" if count == 1 else "twice" if count == 2 else f"{count} times"  # noqa: PLR2004  # words
