"""A session up to now, under another timing of a probe."""

from __future__ import annotations

from pathlib import Path

import pytest

from probetui.cli.session import so_far
from probetui.cli.session.so_far import SessionSoFar
from probetui.debugger.timing import Timing
from probetui.errors import UsageError
from probetui.k8s.probe import ProbeKey, ProbeType
from tests.drive.what_if.recorded import simulate

KEY = ProbeKey("web-uid", "app", ProbeType.LIVENESS)
FAILING_FOR_TWENTY_SECONDS = """
containers:
  web/app:
    liveness:
      - {result: success, until: 20s}
      - {result: failure, until: 40s}
      - {result: success}
"""


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return simulate(tmp_path, FAILING_FOR_TWENTY_SECONDS, length="1m")


def test_a_higher_threshold_spares_the_container(record: Path) -> None:
    tried = SessionSoFar(record).try_timing(KEY, Timing(0, 1, 5, 1, 9))

    # The failures that were measured last are taken to go on: eight until the end.
    assert (tried.totals.kills, tried.other_totals.kills) == (1, 0)
    assert tried.lanes.turns(KEY.pod_uid, "app") != tried.other_lanes.turns(
        KEY.pod_uid, "app"
    )


def test_the_timing_of_the_session_changes_nothing(record: Path) -> None:
    tried = SessionSoFar(record).try_timing(KEY, Timing(0, 1, 5, 1, 3))

    assert tried.other_totals == tried.totals


def test_a_probe_that_the_record_does_not_have_is_refused(record: Path) -> None:
    elsewhere = ProbeKey("other-uid", "app", ProbeType.LIVENESS)

    with pytest.raises(UsageError, match="does not have the pod"):
        SessionSoFar(record).try_timing(elsewhere, Timing(0, 1, 5, 1, 5))


def test_a_long_session_is_left_to_the_command(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(so_far, "MOST_INPUTS", 10)

    with pytest.raises(UsageError, match="use `probetui whatif`"):
        SessionSoFar(record).try_timing(KEY, Timing(0, 1, 5, 1, 5))
