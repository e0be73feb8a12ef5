"""Findings about pods that were loaded, with their places in the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probetui.analysis.findings import Finding, findings_for
from probetui.analysis.init_waits import init_wait_findings
from probetui.k8s.pod import Pod
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.manifests import LoadedPod, Manifests
from probetui.manifest.problem import Problem

TOLD_AT_START = frozenset(
    {
        "exec-ends-script",
        "exec-needs-shell",
        "grpc-tls",
        "host-set",
        "init-waits-for-service",
        "port-not-tcp",
        "scheme-against-port",
        "variable-not-expanded",
    }
)
"""The findings by which a probe or a pod cannot do what it is written for.

A session repeats them before it starts; of all others the run itself shows whether they
matter.
"""


def manifest_findings(
    manifests: Manifests, pods: Iterable[LoadedPod], rules: KubeletRules
) -> Iterator[tuple[LoadedPod, Finding]]:
    """Yield what is found about probes and init containers of some pods.

    Args:
        manifests: all that was loaded, as one pod may wait for another.
        pods: those to report.
        rules: those of the kubelet's version.
    """
    waits: dict[str, list[Finding]] = {}
    for pod, finding in init_wait_findings(manifests.pods, manifests.services):
        waits.setdefault(_identity(pod), []).append(finding)
    for loaded in pods:
        for finding in (
            *waits.get(_identity(loaded.pod), ()),
            *findings_for(loaded.pod, rules, loaded.conditions),
        ):
            yield loaded, finding


def findings_at_start(manifests: Manifests, rules: KubeletRules) -> Iterator[Problem]:
    """Yield what a session warns of before it starts, each once."""
    known: set[str] = set()
    for loaded, finding in manifest_findings(manifests, manifests.loaded, rules):
        if finding.rule not in TOLD_AT_START:
            continue
        problem = problem_of(loaded, finding)
        if str(problem) not in known:
            known.add(str(problem))
            yield problem


def problem_of(loaded: LoadedPod, finding: Finding) -> Problem:
    """Return a finding with its place in the files."""
    return loaded.object.problem(
        finding.path, finding.message, finding.severity, finding.rule
    )


def _identity(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"
