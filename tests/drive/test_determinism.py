"""The same inputs at the same instants give the same turns, in any process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from probetui.engine.engine import Engine
from probetui.kubelet.journal import TickEntry
from tests.builders import START
from tests.drive import sample_session


def output_with_hash_seed(seed: int) -> bytes:
    """Return what a process with this PYTHONHASHSEED prints."""
    return subprocess.run(
        [sys.executable, "-m", "tests.drive.sample_session"],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
    ).stdout


@pytest.mark.slow
def test_two_processes_print_the_same_session_byte_for_byte() -> None:
    first, second = (output_with_hash_seed(seed) for seed in (1, 2))

    assert first == second
    assert first.count(b'"type":"tick"') > 100


def test_an_engine_with_the_same_inputs_returns_the_same_turns() -> None:
    bench, engine = sample_session.run_session()
    another = Engine(engine.config, START)

    turns = [
        another.advance(now) if item is None else another.submit(item, now)
        for item, now in engine.inputs
    ]

    assert turns == engine.turns
    assert len(bench.of(TickEntry)) > 100


def test_another_seed_gives_another_session() -> None:
    """Otherwise the tests above would not cover random decisions."""
    bench, engine = sample_session.run_session()
    other, _ = sample_session.run_session(seed=8)

    assert engine.config.seed != 8
    assert bench.journal != other.journal
