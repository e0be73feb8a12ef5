"""The same inputs at the same instants give the same turns, in any process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from probetui.engine.engine import Engine
from probetui.kubelet.journal import TickEntry
from tests.builders import START
from tests.drive import chronicle


def told_with_hash_seed(seed: int) -> bytes:
    """Return what a process tells whose sets and dicts of strings are laid out so."""
    return subprocess.run(
        [sys.executable, "-m", "tests.drive.chronicle"],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
    ).stdout


@pytest.mark.slow
def test_two_processes_tell_a_session_byte_for_byte_alike() -> None:
    first, second = (told_with_hash_seed(seed) for seed in (1, 2))

    assert first == second
    assert first.count(b'"type":"tick"') > 100


def test_an_engine_that_is_given_the_inputs_again_says_the_same() -> None:
    stage, engine = chronicle.play()
    another = Engine(engine.config, START)

    turns = [
        another.advance(now) if item is None else another.submit(item, now)
        for item, now in engine.inputs
    ]

    assert turns == engine.turns
    assert len(stage.of(TickEntry)) > 100


def test_another_seed_makes_another_session() -> None:
    """Else the tests above would say nothing of chance."""
    stage, engine = chronicle.play()
    other, _ = chronicle.play(seed=8)

    assert engine.config.seed != 8
    assert stage.journal != other.journal
