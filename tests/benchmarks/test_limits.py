"""The report of a figure with its limit and its yardstick."""

from __future__ import annotations

import pytest
from benchmarks.limits import Limit, Yardstick, report_limits, times


def a_limit(figure: float, bare: float | None = None) -> Limit:
    yardstick = None if bare is None else Yardstick("a bare loop", bare)
    return Limit("a tick", figure, 10, "ms", yardstick)


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        pytest.param(a_limit(9), "a tick: 9 ms, limit 10 ms: met", id="below"),
        pytest.param(a_limit(10), "a tick: 10 ms, limit 10 ms: NOT MET", id="at it"),
        pytest.param(
            a_limit(12, bare=3),
            "a tick: 12 ms, a bare loop 3 ms, limit 10 ms: NOT MET",
            id="where the yardstick is below",
        ),
        pytest.param(
            a_limit(12, bare=11),
            "a tick: 12 ms, a bare loop 11 ms, limit 10 ms: not met, nor by the "
            "yardstick: the machine is too slow",
            id="where the yardstick is not either",
        ),
    ],
)
def test_a_figure_is_printed_with_its_limit(limit: Limit, text: str) -> None:
    assert str(limit) == text


def test_an_exceeded_limit_fails_the_benchmark(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        report_limits(a_limit(12, bare=3), a_limit(9))

    assert ended.value.code == 1
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_limit_that_even_the_yardstick_exceeds_does_not_fail() -> None:
    report_limits(a_limit(12, bare=11), a_limit(9))


def test_a_figure_is_expressed_as_a_multiple_of_its_yardstick() -> None:
    assert times(10, 3) == 3.333
