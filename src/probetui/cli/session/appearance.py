"""The user's themes and keys of the screen, read from their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from textual.theme import Theme

from probetui.cli.folders import themes_folder
from probetui.cli.option_values import ScreenChoices
from probetui.cli.settings import read_config_file
from probetui.errors import ManifestError, UsageError
from probetui.suggestions import nearest_hint
from probetui.tui.actions.keymap import read_keymap
from probetui.tui.options import Keymap
from probetui.tui.themes import read_theme, theme_names


class Appearance(Struct, frozen=True):
    """Valid themes and keys.

    `problems` is what is wrong with themes that are not chosen.
    """

    themes: Sequence[Theme]
    keymap: Keymap
    problems: Sequence[str]


def load_appearance(choices: ScreenChoices) -> Appearance:
    """Return the user's themes and keys.

    Raises:
        UsageError: the theme that is chosen is not there, or the file of keys.
        ManifestError: what is wrong with the keys, all of it, or with that theme.
    """
    themes, problems = load_user_themes()
    name = choices.theme
    if name is not None and name in problems:
        raise ManifestError(problems[name])
    known = theme_names(themes)
    if name is not None and name not in known:
        listed = ", ".join(known)
        hint = nearest_hint(name, known)
        raise UsageError(f'--theme: "{name}" is not one of {listed}{hint}')
    others = [line for lines in problems.values() for line in lines]
    return Appearance(themes, _keymap(choices.keymap), others)


def load_user_themes() -> tuple[list[Theme], dict[str, list[str]]]:
    """Return the themes in the user's folder, and what is wrong with the others.

    A theme is called like its file, unless it says otherwise.
    """
    themes: list[Theme] = []
    problems: dict[str, list[str]] = {}
    for path in sorted(themes_folder().glob("*.yaml")):
        try:
            theme, wrong = read_theme(path.stem, read_config_file(path))
        except UsageError as error:
            problems[path.stem] = [str(error)]
            continue
        if theme is None:
            problems[path.stem] = [f"{path}: {problem}" for problem in wrong]
        else:
            themes.append(theme)
    return themes, problems


def _keymap(source: Path | Mapping[str, object] | None) -> Keymap:
    if source is None:
        return {}
    where = "keymap"
    if isinstance(source, Path):
        where, content = f"--keymap {source}", read_config_file(source)
        if not isinstance(content, Mapping):
            raise UsageError(f"{where}: is not a mapping of actions to keys")
        source = content
    keymap, problems = read_keymap(source)
    if problems:
        raise ManifestError([f"{where}: {problem}" for problem in problems])
    return keymap
