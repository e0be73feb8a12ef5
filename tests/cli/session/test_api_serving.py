"""The kubeconfig of `probetui serve`: owner, mode and removal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probetui.cli.session.api_serving import kubeconfig, written
from probetui.errors import UsageError

TEXT = kubeconfig("https://127.0.0.1:1", b"PEM", "secret", ["shop"])


def test_a_kubeconfig_is_private_and_removed_at_the_end(tmp_path: Path) -> None:
    wanted = tmp_path / "config"
    with written(wanted, TEXT) as path:
        assert path == wanted
        assert path.stat().st_mode & 0o777 == 0o600
        assert json.loads(path.read_text())["users"][0]["user"] == {"token": "secret"}
    assert not wanted.exists()


def test_a_kubeconfig_of_another_program_is_not_changed(tmp_path: Path) -> None:
    theirs = tmp_path / "config"
    theirs.write_text("apiVersion: v1\nkind: Config\n")
    with (
        pytest.raises(UsageError, match="is not a kubeconfig of"),
        written(theirs, TEXT),
    ):
        pass
    assert theirs.read_text() == "apiVersion: v1\nkind: Config\n"


def test_a_leftover_kubeconfig_is_replaced(tmp_path: Path) -> None:
    left = tmp_path / "config"
    left.write_text(kubeconfig("https://127.0.0.1:2", b"PEM", "old", []))
    with written(left, TEXT):
        assert left.read_text() == TEXT


def test_a_changed_kubeconfig_is_not_removed(tmp_path: Path) -> None:
    wanted = tmp_path / "config"
    with written(wanted, TEXT):
        wanted.write_text("mine now")
    assert wanted.read_text() == "mine now"


def test_the_context_is_in_the_namespace_of_all_pods() -> None:
    context = json.loads(TEXT)["contexts"][0]["context"]
    several = json.loads(kubeconfig("https://x", b"", "t", ["a", "b"]))
    assert context["namespace"] == "shop"
    assert "namespace" not in several["contexts"][0]["context"]
