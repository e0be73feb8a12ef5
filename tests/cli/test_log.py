"""The program's own log file."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from probetui.cli.log import start_log
from probetui.errors import UsageError


def test_the_log_goes_to_the_default_file(home: Path) -> None:
    start_log(None, "info")

    logging.getLogger("probetui.drive").info("hello")
    logging.getLogger("probetui.drive").debug("not this")

    text = (home / "state" / "probetui" / "probetui.log").read_text()
    assert text.endswith("INFO probetui.drive: hello\n")
    assert "not this" not in text


def test_the_log_goes_to_the_given_file(tmp_path: Path, home: Path) -> None:
    start_log(tmp_path / "deep" / "my.log", "debug")

    logging.getLogger("probetui").debug("hello")

    assert "hello" in (tmp_path / "deep" / "my.log").read_text()
    assert not home.exists()


def test_a_given_file_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--log-file /dev/null/my\.log: "):
        start_log(Path("/dev/null/my.log"), "info")


def test_a_default_file_that_cannot_be_written_is_ignored(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")

    start_log(None, "info")
    logging.getLogger("probetui").error("nobody reads this")

    assert capfd.readouterr().err == ""
