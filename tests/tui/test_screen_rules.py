"""Rules for every screen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import probetui
from probetui.engine.inputs import Command
from tests.architecture.modules import trees
from tests.tui.app_harness import an_app, screen_lines, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import SCENES, failing

SOURCES = Path(probetui.__file__).parent
WORDS_FOR_PEOPLE = (
    "tui", "presentation", "analysis", "cli", "headless", "drive", "record", "engine",
    "debugger", "kubelet", "manifest", "runtimes",
)  # fmt: skip
PAGES = (
    *(SOURCES.parents[1] / name for name in ("README.md", "CHANGELOG.md")),
    *(
        page
        for kind in ("tutorials", "how-to", "reference", "explanation")
        for page in sorted((SOURCES.parents[1] / "docs" / kind).glob("*.md"))
    ),
    *sorted((SOURCES / "cli" / "lessons").glob("*.yaml")),
)
GLOSSARY = {
    "run": r"\bstreaks?\b|\bconsecutive (?!hyphens)",
    "stored result": r"\b(?:saved|cached|remembered|kept|last known) result\b",
    "on hold": r"\bon-hold\b|\bonhold\b",
    "back-off": r"\bback off\b|\bback-?off (?:interval|period|delay|time|window)s?\b",
    "errored": r"\berrored out\b",
    "gate": r"\bstartup check\b",
    "mute": r"\bsilenced\b",
    "grace": r"\bgrace time\b|\bgraceful period\b",
    "tick": r"\bheartbeats?\b|\bprobe cycles?\b",
    "instance": r"\b(?:next|previous|last|new) life\b|\blife \d|\blives\b|\bgen \d",
    "warnings": r"\bfaults? (?:\d|\{)",
    "choose the result": r"\b(?:forced?|faked?) results?\b",
}
"""The terms of this program, and the synonyms that must not be used."""

NAME_OF_A_LESSON = "on-hold"

SIZES = ((50, 12), (80, 24), (120, 40), (200, 50))


@pytest.mark.parametrize("scene", SCENES)
async def test_ascii_screens_are_ascii_and_distinguish_states(scene: str) -> None:
    texts = {}
    for name in (scene, "running"):
        app = an_app(SCENES[name](), ascii=True)
        async with app.run_test(size=(80, 24)):
            texts[name] = screen_text(app)

    assert texts[scene].isascii()
    assert len(set(texts.values())) == len(texts)


@pytest.mark.parametrize("size", SIZES)
async def test_every_line_is_as_wide_as_the_terminal(size: tuple[int, int]) -> None:
    app = an_app(failing())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        widths = {strip.cell_length for strip in app.screen._compositor.render_strips()}

    assert widths == {size[0]}


@pytest.mark.parametrize("size", [(39, 24), (80, 9), (20, 5)])
async def test_a_terminal_that_is_too_small_gets_one_line(
    size: tuple[int, int],
) -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=size) as pilot:
        small = " ".join(" ".join(screen_lines(app)).split())
        await pilot.resize_terminal(80, 24)
        for _ in range(200):
            if "1 Containers" in screen_text(app):
                break
            await pilot.pause(0.02)
        else:
            pytest.fail("the screen does not come back")

    assert "Terminal too small" in small
    assert "Containers" not in small


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(key, id=key)
        for key in ("f8", "ctrl+r", "ctrl+b", "ctrl+f", "ctrl+d", "ctrl+k", "ctrl+s")
    ],
)
@pytest.mark.parametrize("opened_by", ["slash", "colon"])
async def test_keys_of_the_program_are_disabled_during_typing(
    tmp_path: Path, opened_by: str, key: str
) -> None:
    session = FakeSession(failing())
    app = an_app(session, screenshot_folder=tmp_path)
    sent: list[Command] = []
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(opened_by, "x", key)
        await pilot.pause()

        messages = [notification.message for notification in app._notifications]
        sent += session.sent

    assert (messages, sent) == ([], [])
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240  # the app is over


# words


@cache
def prose() -> tuple[tuple[str, str], ...]:
    """Return all texts for users with their positions."""
    return tuple(_prose())


def _prose() -> Iterator[tuple[str, str]]:
    """Yield all texts for users with their positions."""
    for name, tree in trees().items():
        if name.startswith(tuple(f"{folder}/" for folder in WORDS_FOR_PEOPLE)):
            module = name.rpartition("/")[2]
            notes = {
                id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
            }
            texts = (
                (node.lineno, node.value)
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in notes
            )
            for line, text in texts:
                if " " in text.strip():
                    yield f"{module}:{line}", text
    for page in PAGES:
        for number, line_of_page in enumerate(page.read_text().splitlines(), start=1):
            # A lesson is called so.
            yield f"{page.name}:{number}", line_of_page.replace(NAME_OF_A_LESSON, "")


@pytest.mark.slow
@pytest.mark.parametrize("word", GLOSSARY)
def test_one_thing_has_one_name(word: str) -> None:
    others = re.compile(GLOSSARY[word], re.IGNORECASE)

    found = [(place, text) for place, text in prose() if others.search(text)]

    assert found == [], f"use {word}"


def test_texts_for_users_were_found() -> None:
    all_texts = [text for _, text in prose()]

    assert len(all_texts) > 300
    assert any("stored result" in text for text in all_texts)
    assert {place.partition(":")[0] for place, _ in prose()} >= {
        "README.md", "liveness.yaml", "container_commands.py", "why.py",
        "format.py",
    }  # fmt: skip
