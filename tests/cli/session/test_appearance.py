"""Themes and key maps in the user's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from probetui.cli.option_values import ScreenChoices
from probetui.cli.session.appearance import load_appearance, load_user_themes
from probetui.errors import ManifestError, ProbetuiError, UsageError


@pytest.fixture
def themes(home: Path) -> Path:
    folder = home / "data" / "probetui" / "themes"
    folder.mkdir(parents=True)
    return folder


def test_the_appearance_is_empty_without_files(home: Path) -> None:
    appearance = load_appearance(ScreenChoices())

    assert (list(appearance.themes), dict(appearance.keymap), appearance.problems) == (
        [],
        {},
        [],
    )


def test_a_theme_has_the_name_of_its_file(themes: Path) -> None:
    (themes / "sea.yaml").write_text("primary: '#0077aa'\n")

    appearance = load_appearance(ScreenChoices(theme="sea"))

    assert [theme.name for theme in appearance.themes] == ["sea"]


def test_an_unknown_theme_is_refused_with_a_suggestion(themes: Path) -> None:
    (themes / "sea.yaml").write_text("primary: '#0077aa'\n")

    with pytest.raises(UsageError, match=r"nearest: sea\)"):
        load_appearance(ScreenChoices(theme="seaa"))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("primary: rad\n", id="no colour"),
        pytest.param("a: b: c\n", id="no YAML"),
        pytest.param("- a\n", id="no mapping"),
    ],
)
def test_a_broken_theme_is_an_error_if_selected_and_otherwise_a_warning(
    themes: Path, content: str
) -> None:
    (themes / "sea.yaml").write_text(content)

    with pytest.raises(ManifestError, match=r"sea\.yaml"):
        load_appearance(ScreenChoices(theme="sea"))

    (problem,) = load_appearance(ScreenChoices()).problems
    assert "sea.yaml" in problem
    assert load_user_themes()[0] == []


def test_keys_come_from_a_file_or_from_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "keys.yaml"
    path.write_text("time.step: f9\n")

    from_file = load_appearance(ScreenChoices(keymap=path))
    from_configuration = load_appearance(ScreenChoices(keymap={"time.step": "f9"}))

    assert from_file.keymap == from_configuration.keymap == {"time.step": "f9"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("time.step: t\n", "time.step and probe.trigger", id="a clash"),
        pytest.param("time.stp: n\n", "nearest: time.step", id="no action"),
        pytest.param("- a\n", "is not a mapping", id="no mapping"),
        pytest.param("a: b: c\n", ":1:5: ", id="no YAML"),
    ],
)
def test_invalid_keys_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "keys.yaml"
    path.write_text(content)

    with pytest.raises(ProbetuiError, match=message) as caught:
        load_appearance(ScreenChoices(keymap=path))

    assert caught.value.exit_status == 2


def test_a_key_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_appearance(ScreenChoices(keymap=tmp_path / "keys.yaml"))
