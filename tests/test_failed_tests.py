"""Which failed tests CI tries again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tools.failed_tests import STEADY_ROOMS, main

from tests.checkout import ROOT

TIMED = "tests/probers/test_http_probe.py::test_a_body_that_comes_too_late[200]"
STEADY = "tests/kubelet/test_kubelet.py::test_a_pod_is_synced"


def failed(folder: Path, *tests: str) -> Path:
    """Return a cache folder as pytest leaves it."""
    file = folder / "v/cache/lastfailed"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(dict.fromkeys(tests, True)))
    return folder


def test_what_waits_for_something_is_tried_again_and_listed(tmp_path: Path) -> None:
    listed = tmp_path / "listed.txt"
    listed.write_text("tests/e2e/test_exec.py::test_one\n")

    status = main([str(failed(tmp_path, TIMED))], listed)

    assert status == 0
    assert listed.read_text().splitlines() == [
        "tests/e2e/test_exec.py::test_one",
        TIMED,
    ]


def test_what_depends_on_the_code_alone_fails_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "listed.txt"

    status = main([str(failed(tmp_path, TIMED, STEADY))], listed)

    assert status == 1
    assert capsys.readouterr().out == (
        f"{STEADY}: not tried again, it depends on the code alone\n"
    )
    assert not listed.exists()


@pytest.mark.parametrize("has_cache", [True, False])
def test_a_run_that_failed_without_a_failed_test_fails(
    tmp_path: Path, *, has_cache: bool
) -> None:
    cache = failed(tmp_path) if has_cache else tmp_path / "none"

    assert main([str(cache)], tmp_path / "listed.txt") == 1


_CLOCK = re.compile(
    r"^\s*(?:import time\b|from time |from tests\.probers|@pytest\.mark\.real_time)",
    re.MULTILINE,
)


@pytest.mark.parametrize("room", STEADY_ROOMS)
def test_no_steady_test_reads_a_clock(room: str) -> None:
    modules = list((ROOT / "tests" / room).rglob("*.py"))

    assert modules
    reading = [path.name for path in modules if _CLOCK.search(path.read_text())]
    assert reading == []
