"""What a run of the program leaves in its process does not reach the next test."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from probetui.cli.log import start_log


@pytest.mark.parametrize("run", ["first", "second"])
def test_a_log_of_a_run_ends_with_its_test(
    run: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("probetui").warning("the %s run", run)

    assert f"the {run} run" in caplog.text
    start_log(tmp_path / "log", "error")
