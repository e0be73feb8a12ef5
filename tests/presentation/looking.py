"""How tests look at things: at the instant of the hand-made states, in UTC."""

from __future__ import annotations

from datetime import UTC

from probetui.presentation.durations import Times
from probetui.presentation.view import View
from tests.tui.states import NOW, STARTED_AT

TIMES = Times(NOW, STARTED_AT, zone=UTC)
VIEW = View(TIMES)
