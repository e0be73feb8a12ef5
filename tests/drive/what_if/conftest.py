"""Fixtures that run the program in this process: own folders."""

from __future__ import annotations

from tests.cli.conftest import home

__all__ = ["home"]
