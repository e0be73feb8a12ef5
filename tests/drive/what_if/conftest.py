"""Fixtures that run the program in this process: own folders, logging restored."""

from __future__ import annotations

from tests.cli.conftest import home, logs

__all__ = ["home", "logs"]
