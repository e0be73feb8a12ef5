"""What decision records name is still there."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.checkout import ROOT

RECORDS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
FOREIGN = {
    "PR_SET_CHILD_SUBREAPER", "ephemeralcontainers", "net/http", "provideClusterInfo",
    "storageVersionHash", "zstdcat",
}  # fmt: skip
"""Names of Kubernetes, Go, Linux and other programs, which our code does not have."""

_CODE = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"[\w./-]+\.(?:py|md|json|toml|sh)|[\w-]+(?:/[\w-]+)+/?")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*(?:\(\))?")


@cache
def _files() -> tuple[str, ...]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return tuple(listed.stdout.split())


@cache
def _words() -> frozenset[str]:
    texts = (
        (ROOT / name).read_text(encoding="utf-8")
        for name in _files()
        if name.endswith(".py")
    )
    return frozenset(word for text in texts for word in re.findall(r"\w+", text))


def _exists(name: str) -> bool:
    bare = name.removesuffix("/")
    return any(
        file == bare or f"/{file}".endswith(f"/{bare}") or f"/{bare}/" in f"/{file}"
        for file in _files()
    )


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_a_decision_record_names_what_there_is(record: Path) -> None:
    codes = set(_CODE.findall(record.read_text(encoding="utf-8"))) - FOREIGN
    paths = {code for code in codes if _PATH.fullmatch(code)}
    names = {code for code in codes - paths if _NAME.fullmatch(code)}

    gone = {path for path in paths if not _exists(path)}
    gone |= {
        name
        for name in names
        if not _words().issuperset(name.removesuffix("()").split("."))
    }
    assert gone == set()
