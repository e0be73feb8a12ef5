"""The view that tests use: in UTC, at the instant of the snapshots in the tests."""

from __future__ import annotations

from datetime import UTC

from probetui.presentation.text.view import TimeFormatter, View
from tests.ticks import NOW, STARTED_AT

TIMES = TimeFormatter(NOW, STARTED_AT, zone=UTC)
VIEW = View(TIMES)
