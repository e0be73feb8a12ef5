"""Settings, themes and keys are read with the limits of manifests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from probetui.cli.option_values import ScreenChoices
from probetui.cli.session import appearance
from probetui.cli.session.appearance import load_appearance, load_user_themes
from probetui.cli.settings import load_settings, read_config_file
from probetui.errors import UsageError

ALIAS_BOMB = "".join(
    [
        "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n",
        *(
            f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]\n"
            for number in range(1, 12)
        ),
    ]
)
DEEP = "{a: " * 10_000
TOO_BIG = {
    "aliases that stand for too much": (
        ALIAS_BOMB,
        ":5:45: aliases expand to more than 100000 values",
    ),
    "10,000 levels": (DEEP, ":1:401: is nested more than 100 levels deep"),
    "10 MB": ("x" * (10 * 1024**2 + 1), ": the file is larger than 10 MiB"),
    "many keys": (
        "".join(f"k{number}:\n" for number in range(100_001)),
        ":100000:8: the file has more than 200000 keys and values",
    ),
}


def settings(path: Path) -> object:
    return load_settings(path, known=[], wanted=[])


def keys(path: Path) -> object:
    return load_appearance(ScreenChoices(keymap=path))


@pytest.mark.slow
@pytest.mark.parametrize("read", [read_config_file, settings, keys])
@pytest.mark.parametrize(("content", "problem"), TOO_BIG.values(), ids=TOO_BIG.keys())
def test_a_file_beyond_a_limit_is_refused_with_its_name_and_line(
    tmp_path: Path, read: Callable[[Path], object], content: str, problem: str
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(content)

    with pytest.raises(UsageError) as caught:
        read(path)

    assert str(caught.value) == f"{path}{problem}"


@pytest.mark.slow
@pytest.mark.parametrize(("content", "problem"), TOO_BIG.values(), ids=TOO_BIG.keys())
def test_a_theme_beyond_a_limit_is_skipped_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, problem: str
) -> None:
    monkeypatch.setattr(appearance, "themes_folder", lambda: tmp_path)
    path = tmp_path / "sea.yaml"
    path.write_text(content)

    assert load_user_themes() == ([], {"sea": [f"{path}{problem}"]})


@pytest.mark.parametrize(
    ("content", "value"),
    [
        pytest.param("", None, id="nothing"),
        pytest.param("time.step: n\n", {"time.step": "n"}, id="a key to press"),
        pytest.param("ascii: no\n", {"ascii": False}, id="a word for false"),
        pytest.param("a: 2026-99-99\n", {"a": "2026-99-99"}, id="a day that is none"),
        pytest.param("a: &x [1]\nb: *x\n", {"a": [1], "b": [1]}, id="an alias"),
    ],
)
def test_a_plain_value_has_the_type_of_yaml(
    tmp_path: Path, content: str, value: object
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(content)

    assert read_config_file(path) == value


def test_a_second_document_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("ascii: true\n---\nascii: false\n")

    with pytest.raises(
        UsageError, match=r"yaml:3:1: a second document; only one is allowed"
    ):
        read_config_file(path)
