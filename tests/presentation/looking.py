"""The view that tests use: in UTC, at the instant of their snapshots, by 1.32."""

from __future__ import annotations

from datetime import UTC

from probetui.kubelet_rules import PORTED_RULES
from probetui.presentation.text.view import TimeFormatter, View
from tests.ticks import NOW, STARTED_AT

TIMES = TimeFormatter(NOW, STARTED_AT, zone=UTC)
RULES = PORTED_RULES
VIEW = View(TIMES, rules=RULES)
