from __future__ import annotations

import pytest

from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import (
    ContainerState,
    PodPhase,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.journal import Exit, Gate, Skip
from probetui.kubelet.prober.gates import GateCache, TickFacts, gates_of, short_id
from tests.builders import RUNNING, a_container_status

APP = ContainerID("docker://0123456789abcdef")


def facts(
    *,
    state: ContainerState | None = RUNNING,
    started: bool | None = True,
    age_seconds: int | None = 7,
    **fields: bool,
) -> TickFacts:
    return TickFacts(
        PodPhase.RUNNING,
        a_container_status(state=state, started=started),
        APP,
        initial_delay_seconds=5,
        age_seconds=age_seconds,
        **fields,
    )


def gate_values(
    considered: TickFacts, decision: Skip | Exit | None
) -> list[tuple[str, str]]:
    return [(gate.name, gate.value) for gate in gates_of(considered, decision)]


def test_a_probe_has_passed_every_gate_in_the_kubelet_s_order() -> None:
    gates = gates_of(facts(), None)

    assert [(gate.name, gate.value) for gate in gates] == [
        ("pod status known", "yes"),
        ("phase", "Running"),
        ("container id", "0123456789ab, same as last tick"),
        ("on hold", "no"),
        ("container running", "yes"),
        ("pod being deleted", "no"),
        ("initial delay", "5s, over"),
        ("startup gate", "started"),
    ]
    assert all(gate.passed for gate in gates)


@pytest.mark.parametrize(
    ("considered", "decision", "last"),
    [
        pytest.param(
            TickFacts(),
            Skip.NO_STATUS,
            Gate("pod status known", "no", passed=False),
            id="no-status",
        ),
        pytest.param(
            TickFacts(PodPhase.FAILED),
            Exit.POD_ENDED,
            Gate("phase", "Failed", passed=False),
            id="pod-ended",
        ),
        pytest.param(
            TickFacts(PodPhase.PENDING),
            Skip.CONTAINER_MISSING,
            Gate("container id", "none yet", passed=False),
            id="container-missing",
        ),
        pytest.param(
            facts(on_hold=True),
            Skip.ON_HOLD,
            Gate("on hold", "yes", passed=False),
            id="on-hold",
        ),
        pytest.param(
            facts(state=Waiting("CrashLoopBackOff")),
            Skip.NOT_RUNNING,
            Gate("container running", "waiting (CrashLoopBackOff)", passed=False),
            id="waiting-for-a-reason",
        ),
        pytest.param(
            facts(state=Waiting()),
            Skip.NOT_RUNNING,
            Gate("container running", "waiting", passed=False),
            id="waiting",
        ),
        pytest.param(
            facts(state=Terminated(3)),
            Exit.CONTAINER_WILL_NOT_RESTART,
            Gate("container running", "terminated (exit 3)", passed=False),
            id="terminated",
        ),
        pytest.param(
            facts(state=None),
            Skip.NOT_RUNNING,
            Gate("container running", "no", passed=False),
            id="no-state",
        ),
        pytest.param(
            facts(deleting=True),
            Exit.POD_DELETED,
            Gate("pod being deleted", "yes", passed=False),
            id="pod-deleted",
        ),
        pytest.param(
            facts(age_seconds=4),
            Skip.INITIAL_DELAY,
            Gate("initial delay", "4 of 5s", passed=False),
            id="initial-delay",
        ),
        pytest.param(
            facts(state=Running(), age_seconds=None),
            Skip.INITIAL_DELAY,
            Gate("initial delay", "start time unknown", passed=False),
            id="start-time-unknown",
        ),
        pytest.param(
            facts(started=False),
            Skip.NOT_STARTED,
            Gate("startup gate", "not started", passed=False),
            id="not-started",
        ),
        pytest.param(
            facts(started=True),
            Skip.ALREADY_STARTED,
            Gate("startup gate", "started", passed=False),
            id="already-started",
        ),
    ],
)
def test_the_last_gate_is_the_one_that_was_not_passed(
    considered: TickFacts, decision: Skip | Exit, last: Gate
) -> None:
    *passed, decided = gates_of(considered, decision)

    assert decided == last
    assert all(gate.passed for gate in passed)


def test_a_container_in_its_first_tick_is_called_new() -> None:
    assert ("container id", "0123456789ab, new") in gate_values(
        facts(new_container=True), None
    )


def test_readiness_passes_the_gate_of_a_pod_being_deleted() -> None:
    gates = gates_of(facts(deleting=True), None)

    assert Gate("pod being deleted", "yes", passed=True) in gates


@pytest.mark.parametrize(
    ("container_id", "short"),
    [
        pytest.param("docker://0123456789abcdef", "0123456789ab", id="long"),
        pytest.param("process://17-1", "17-1", id="short"),
        pytest.param("", "", id="none"),
    ],
)
def test_ids_are_shown_short_and_without_their_runtime(
    container_id: str, short: str
) -> None:
    assert short_id(container_id) == short


class TestMemory:
    def test_the_gates_of_equal_facts_are_the_same_object(self) -> None:
        memory = GateCache()

        first = memory.gates_of(facts(), None)

        assert memory.gates_of(facts(), None) is first
        assert first == gates_of(facts(), None)

    @pytest.mark.parametrize(
        ("considered", "decision"),
        [
            pytest.param(facts(new_container=True), None, id="other-facts"),
            pytest.param(facts(), Skip.NOT_STARTED, id="another-decision"),
            pytest.param(TickFacts(), Skip.NO_STATUS, id="nothing-to-look-at"),
        ],
    )
    def test_a_changed_gate_is_described_again(
        self, considered: TickFacts, decision: Skip | None
    ) -> None:
        memory = GateCache()
        memory.gates_of(facts(), None)

        gates = memory.gates_of(considered, decision)

        assert gates == gates_of(considered, decision)
