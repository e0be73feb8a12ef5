"""Every picture and cast in the docs is up to date."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import shlex
from pathlib import Path

import pytest

from tests.e2e.screen import terminal

# Imported by name, because there is also a folder `tools/pictures`.
pictures = importlib.import_module("tools.pictures")

pytestmark = pytest.mark.slow

MOST_BYTES = 600_000
"""Of a cast of a minute, whose lanes move in each frame."""
CASTS = [path for path in pictures.FILES if path.suffix == ".cast"]


@pytest.mark.parametrize("path", pictures.FILES, ids=lambda path: path.name)
def test_a_picture_is_as_the_program_draws_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    drawn = asyncio.run(pictures.FILES[path]())

    # Not in the assertion: pytest would search for differences for minutes.
    is_same = drawn == path.read_text(encoding="utf-8")
    assert is_same, "run: python -m tools.pictures, and look at it"


@pytest.mark.parametrize("path", CASTS, ids=lambda path: path.name)
def test_a_cast_is_small_and_has_the_duration_of_its_session(path: Path) -> None:
    header, *events = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    cast = pictures.CASTS[path.stem]
    times = [at for at, _, _ in events]

    assert path.stat().st_size < MOST_BYTES
    assert (header["width"], header["height"]) == cast.size
    assert times == sorted(times)
    assert times[-1] == cast.end - cast.begin


@pytest.mark.e2e
@pytest.mark.tmux
@pytest.mark.asciinema
@pytest.mark.parametrize(
    ("name", "last_words"),
    [
        pytest.param("demo", ("BACK-OFF 20s", "restarts 3", "3/3"), id="demo"),
        pytest.param("kill", ("Why  web/app", "exit code 137, SIGKILL"), id="kill"),
    ],
)
def test_asciinema_plays_a_cast_to_its_last_screen(
    name: str, last_words: tuple[str, ...], tmp_path: Path
) -> None:
    cast = shlex.quote(str(pictures.CASTS_DRAWN / f"{name}.cast"))
    variables = {"LANG": "C.UTF-8", "HOME": str(tmp_path)}
    with terminal({"PATH": os.environ["PATH"], **variables}) as shown:
        shown.enter(f"asciinema play --speed 100 {cast}; echo ended with $?")
        shown.wait_for("ended with 0", *last_words)
