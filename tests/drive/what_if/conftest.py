"""The program is run in this process: with folders of its own, and logs put back."""

from __future__ import annotations

from tests.cli.conftest import home, logs

__all__ = ["home", "logs"]
