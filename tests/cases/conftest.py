"""The program is run in this process, or installed: with folders of its own."""

from __future__ import annotations

from tests.cli.conftest import home
from tests.e2e.conftest import namespace, program

__all__ = ["home", "namespace", "program"]
