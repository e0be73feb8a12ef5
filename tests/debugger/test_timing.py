from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.debugger.timing import Timing
from probetui.k8s.probe import ProbeType
from tests.builders import an_http_probe

USUAL = Timing(0, 1, 10, 1, 3)


def test_a_probes_timing_is_taken_from_it_and_applied_to_it() -> None:
    probe = an_http_probe(period_seconds=7, failure_threshold=4)

    timing = Timing.of(probe)
    changed = replace(timing, period_seconds=2).applied_to(probe)

    assert timing == Timing(0, 1, 7, 1, 4)
    assert changed == replace(probe, period_seconds=2)


@pytest.mark.parametrize(
    ("fields", "kind", "problems"),
    [
        pytest.param({}, ProbeType.LIVENESS, (), id="usual"),
        pytest.param(
            {"success_threshold": 2}, ProbeType.READINESS, (), id="two-for-readiness"
        ),
        pytest.param(
            {"success_threshold": 2},
            ProbeType.STARTUP,
            ("successThreshold: is 2, must be 1 for a startup probe",),
            id="two-for-startup",
        ),
        pytest.param(
            {"period_seconds": 0},
            ProbeType.LIVENESS,
            ("periodSeconds: is 0, must be 1 or more",),
            id="zero",
        ),
        pytest.param(
            {"initial_delay_seconds": -1, "timeout_seconds": 0},
            ProbeType.LIVENESS,
            (
                "initialDelaySeconds: is -1, must be 0 or more",
                "timeoutSeconds: is 0, must be 1 or more",
            ),
            id="two-at-once",
        ),
        pytest.param(
            {"failure_threshold": 2**31},
            ProbeType.LIVENESS,
            (f"failureThreshold: is {2**31}, must be {2**31 - 1} or less",),
            id="too-many",
        ),
    ],
)
def test_an_invalid_timing_has_the_error_of_the_api_server(
    fields: dict[str, int], kind: ProbeType, problems: tuple[str, ...]
) -> None:
    assert replace(USUAL, **fields).problems(kind) == problems


def test_its_numbers_have_the_names_of_the_api() -> None:
    assert USUAL.numbers == {
        "initialDelaySeconds": 0,
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def test_differences_have_the_field_names_of_the_api() -> None:
    after = replace(USUAL, period_seconds=5, failure_threshold=1)

    assert USUAL.changes(after) == (
        ("periodSeconds", 10, 5),
        ("failureThreshold", 3, 1),
    )
