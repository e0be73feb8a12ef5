from __future__ import annotations

import pytest

from probetui.k8s.pod import Container, Pod
from probetui.kubelet.kuberuntime.grace_period import (
    EffectiveGracePeriod,
    GracePeriod,
    GraceSource,
    KillReason,
    effective_grace_period,
    termination_grace_period,
)
from tests.builders import a_container, a_pod, a_probe

OWN = a_container(
    liveness_probe=a_probe(termination_grace_period_seconds=60),
    startup_probe=a_probe(termination_grace_period_seconds=5),
)
WITHOUT_OWN = a_container(liveness_probe=a_probe())
LIVENESS, STARTUP = KillReason.LIVENESS_PROBE, KillReason.STARTUP_PROBE
POD_30 = GracePeriod(30, GraceSource.POD)


@pytest.mark.parametrize(
    ("container", "reason", "expected"),
    [
        pytest.param(
            OWN, LIVENESS, GracePeriod(60, GraceSource.LIVENESS_PROBE), id="liveness"
        ),
        pytest.param(
            OWN, STARTUP, GracePeriod(5, GraceSource.STARTUP_PROBE), id="startup"
        ),
        pytest.param(OWN, KillReason.NONE, POD_30, id="other-reason"),
        pytest.param(WITHOUT_OWN, LIVENESS, POD_30, id="probe-without-its-own"),
        pytest.param(WITHOUT_OWN, STARTUP, POD_30, id="no-such-probe"),
    ],
)
def test_a_probe_may_have_its_own_grace_period(
    container: Container, reason: KillReason, expected: GracePeriod
) -> None:
    assert termination_grace_period(a_pod(), container, reason) == expected


def test_a_deletion_decides_over_a_probe() -> None:
    pod = a_pod(deletion_grace_period_seconds=0)

    grace = termination_grace_period(pod, OWN, LIVENESS)

    assert grace == GracePeriod(0, GraceSource.DELETION)


def test_without_a_grace_period_of_the_pod_that_of_the_probe_is_ignored() -> None:
    """Quirk: the probe's own value counts only where the pod has one."""
    pod = a_pod(termination_grace_period_seconds=None)

    grace = termination_grace_period(pod, OWN, LIVENESS)

    assert grace == GracePeriod(2, GraceSource.MINIMUM)


@pytest.mark.parametrize(
    ("pod", "current", "override", "expected"),
    [
        pytest.param(a_pod(), 0, None, (30, False), id="the-specs"),
        pytest.param(
            a_pod(termination_grace_period_seconds=None), 0, None, (1, False), id="none"
        ),
        pytest.param(
            a_pod(deletion_grace_period_seconds=7), 0, None, (7, False), id="deletion"
        ),
        pytest.param(
            a_pod(deletion_grace_period_seconds=7), 30, None, (7, True), id="shortened"
        ),
        pytest.param(
            a_pod(deletion_grace_period_seconds=50),
            30,
            None,
            (30, False),
            id="never-lengthened",
        ),
        pytest.param(a_pod(), 0, 3, (3, False), id="override"),
        pytest.param(a_pod(), 0, 0, (1, False), id="at-least-one-second"),
    ],
)
def test_a_terminating_pod_gets_the_shortest_grace_period(
    pod: Pod, current: int, override: int | None, expected: tuple[int, bool]
) -> None:
    effective = effective_grace_period(pod, current, override)

    assert effective == EffectiveGracePeriod(*expected)
