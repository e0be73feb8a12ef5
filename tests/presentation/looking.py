"""How tests look at things: at the instant of the hand-made states, in UTC."""

from __future__ import annotations

from datetime import UTC

from probetui.presentation.text.view import TimeFormatter, View
from tests.ticks import NOW, STARTED_AT

TIMES = TimeFormatter(NOW, STARTED_AT, zone=UTC)
VIEW = View(TIMES)
