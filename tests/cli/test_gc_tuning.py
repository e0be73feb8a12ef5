"""The settings of the garbage collector, in a separate process."""

from __future__ import annotations

import subprocess
import sys

import pytest

OFF = "import gc; from probetui.cli import gc_tuning; gc_tuning.disable(); "
LEFT_ALONE = "import gc; from probetui.cli import gc_tuning; gc_tuning.freeze(); "


def output_of(program: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_nothing_is_collected_while_the_program_starts() -> None:
    assert output_of(OFF + "print(gc.isenabled())") == "False\n"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        pytest.param("gc.isenabled()", "True", id="it works"),
        pytest.param("gc.get_freeze_count() > 0", "True", id="old objects are left"),
        pytest.param("gc.get_threshold()[1]", "10", id="no look takes long"),
        pytest.param("gc.get_threshold()[2]", "200", id="all are looked at seldom"),
    ],
)
def test_a_session_collects_its_own_objects(question: str, answer: str) -> None:
    assert output_of(f"{OFF}gc_tuning.freeze(); print({question})") == f"{answer}\n"


def test_a_process_that_did_not_disable_it_is_not_changed() -> None:
    assert output_of(LEFT_ALONE + "print(gc.get_freeze_count())") == "0\n"
