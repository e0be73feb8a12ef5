"""The generated messages of the CRI are those of the `.proto` beside them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDER = Path("probetui/runtimes/cri")


@pytest.mark.parametrize("name", ["runtime_v1_pb2.py", "runtime_v1_pb2.pyi"])
def test_what_is_checked_in_is_what_the_compiler_makes(
    tmp_path: Path, name: str
) -> None:
    subprocess.run(
        [sys.executable, ROOT / "tools/cri_messages.py", tmp_path], check=True
    )

    made = (tmp_path / FOLDER / name).read_text(encoding="utf-8")
    assert made == (ROOT / "src" / FOLDER / name).read_text(encoding="utf-8")
