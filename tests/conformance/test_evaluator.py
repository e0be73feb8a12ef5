"""Our judge compared with another one, on recorded and mutated observations."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.cases import DATA, OWN_DATA, PASSES, Case, load_cases, observed
from tests.conformance.evaluator import evaluate, passes
from tests.conformance.mutations import Records, mutations
from tests.conformance.observation import Observation
from tests.conformance.strategies import Expectation, expectations
from tests.conformance.verdicts import other_judge, recorded, written

SLACKS = (0.5, 1.0, 1.5)
ENOUGH = 0.95
"""The share of all expectations that mutations must turn both true and false."""


def _params(folder: Path) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in load_cases(folder)]


OTHER = other_judge(DATA)
JUDGED_BY_OTHER = _params(DATA) if OTHER else []
"""Empty without another judge; its verdicts on our own cases are recorded."""


def _other(case: Case, records: Records, slack: float) -> list[bool]:
    assert OTHER is not None
    return OTHER(case, records, slack)


@functools.cache
def _recorded() -> dict[str, dict[str, str]]:
    return recorded()


@functools.cache
def _mutated(case_id: str) -> dict[str, Records]:
    case = next(load_case for load_case in load_cases() if load_case["id"] == case_id)
    return dict(mutations(observed(case)))


def _judged(case: Case, records: Records, slack: float = 1.0) -> list[bool]:
    return [verdict.holds for verdict in evaluate(case, Observation.of(records), slack)]


@pytest.mark.parametrize("case", _params(DATA))
def test_a_real_kubelet_passes_the_cases_marked_as_passing(case: Case) -> None:
    observation = Observation.of(observed(case))

    verdicts = evaluate(case, observation)

    assert passes(verdicts) is (case["kubelet"] == PASSES), "\n".join(
        map(str, verdicts)
    )


@pytest.mark.parametrize("case", _params(OWN_DATA))
def test_mutated_observations_have_the_recorded_verdicts(case: Case) -> None:
    judged = {
        name: written(_judged(case, records))
        for name, records in mutations(observed(case, OWN_DATA))
    }

    assert judged == _recorded()[case["id"]]


def test_mutations_turn_nearly_every_expectation_both_ways() -> None:
    found = {
        (case["id"], index, verdict)
        for case in load_cases(OWN_DATA)
        for verdicts in _recorded()[case["id"]].values()
        for index, verdict in enumerate(verdicts[: len(case["expect"])])
    }

    both = [key for key in found if key[2] == "0" and (*key[:2], "1") in found]

    total = sum(len(case["expect"]) for case in load_cases(OWN_DATA))
    assert len(both) >= ENOUGH * total


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("case", JUDGED_BY_OTHER)
def test_the_other_judge_agrees_on_mutated_observations(
    case: Case, slack: float
) -> None:
    mutated = dict(mutations(observed(case)))

    ours = {name: _judged(case, records, slack) for name, records in mutated.items()}

    assert ours == {
        name: _other(case, records, slack) for name, records in mutated.items()
    }


@pytest.mark.parametrize("case", JUDGED_BY_OTHER)
@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_the_other_judge_agrees_on_generated_expectations(
    case: Case, data: st.DataObject
) -> None:
    mutated = _mutated(case["id"])
    records = mutated[data.draw(st.sampled_from(sorted(mutated)))]
    expected: list[Expectation] = data.draw(
        st.lists(expectations(case), min_size=5, max_size=20)
    )
    slack = data.draw(st.sampled_from(SLACKS))
    generated_case = {**case, "expect": expected}

    ours = _judged(generated_case, records, slack)

    assert ours == _other(generated_case, records, slack)
