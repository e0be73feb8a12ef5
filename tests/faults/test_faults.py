"""No fault of a runtime, a probe or a hook, nor our own end, breaks a rule."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from tests.faults.fates import Fate
from tests.faults.judging import judged
from tests.faults.session import run_world

SEEDS = 1000
"""As many worlds take a minute or two on two cores."""


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(0, id="0"),
        pytest.param(19, id="an instance that had ended before us"),
        pytest.param(310, id="two containers of which each waits for the other"),
        pytest.param(623, id="a wait that the end before told of"),
        pytest.param(2397, id="two restarts at the longest back-off"),
        pytest.param(367, id="two ends whose hooks did the same"),
        pytest.param(5018, id="a postStart and a preStop hook that do the same"),
        pytest.param(5046, id="a disk that does not cut off what it half wrote"),
        pytest.param(5069, id="a disk that tells only at the end"),
        pytest.param(11358, id="a wall clock that is set back before a start"),
        pytest.param(300, id="a lease of which the daemon did not tell"),
        pytest.param(5094, id="a compressed record whose end was not written"),
    ],
)
def test_a_world_of_faults_breaks_no_rule(seed: int) -> None:
    assert judged(seed).broken == []


def test_a_world_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    one, other = run_world(7, tmp_path / "one"), run_world(7, tmp_path / "other")

    assert one.counts == other.counts
    assert [life.journal[:] for life in one.lives] == [
        life.journal[:] for life in other.lives
    ]


@pytest.mark.slow
def test_no_rule_is_broken_in_many_worlds_and_every_call_meets_every_fate() -> None:
    counts: Counter[str] = Counter()
    broken = {}
    with ProcessPoolExecutor() as pool:
        for outcome in pool.map(judged, range(100, 100 + SEEDS), chunksize=20):
            counts += outcome.counts
            if outcome.broken:
                broken[outcome.seed] = outcome.broken

    assert broken == {}, "python -m tests.faults --seed N tells the story of one"
    met = {fate for fate in Fate if counts[f"create_container: {fate}"]}
    assert met == set(Fate)
    assert counts["we are killed"] > 0 < counts["daemon restarts"]
