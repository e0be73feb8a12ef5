"""The program is run in this process: with folders of its own."""

from __future__ import annotations

from tests.cli.conftest import home

__all__ = ["home"]
