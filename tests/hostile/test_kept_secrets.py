"""Secrets are not stored on the disk, also when the disk is full."""

from __future__ import annotations

import logging
import os
import resource
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from probetui.cli.log import start_log
from probetui.cli.main import CommandEntry, run
from tests.runtimes.bench import POLITE
from tests.runtimes.process.bench import ProcessBench

SECRET = "hunter2-hunter2"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Set empty folders and a permissive umask."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "deep" / "state"))
    before = os.umask(0)
    yield tmp_path / "deep"
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """Return the modes of a folder and everything in it."""
    found = (folder, *folder.rglob("*"))
    return {path.name: stat.filemode(path.stat().st_mode) for path in found}


def test_only_its_owner_may_read_the_log(home: Path) -> None:
    start_log(None, "info")

    logging.getLogger("probetui").info("hello")

    assert modes(home) == {
        "deep": "drwx------",
        "state": "drwx------",
        "probetui": "drwx------",
        "probetui.log": "-rw-------",
    }


def test_an_existing_log_becomes_private(tmp_path: Path) -> None:
    log = tmp_path / "my.log"
    log.write_text("2026-11-20 08:18:00,123 INFO probetui.cli: of before\n")
    log.chmod(0o644)

    start_log(log, "info")

    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_rotated_log_stays_private(tmp_path: Path) -> None:
    start_log(tmp_path / "my.log", "info")

    for _ in range(150):
        logging.getLogger("probetui").info("x" * 16_000)

    assert {path.name: modes(path)[path.name] for path in tmp_path.glob("my*")} == {
        "my.log": "-rw-------",
        "my.log.1": "-rw-------",
        "my.log.2": "-rw-------",
    }


def test_a_full_disk_prints_no_log_entry_to_the_terminal(
    capfd: pytest.CaptureFixture[str],
) -> None:
    start_log(Path("/dev/full"), "info")

    logging.getLogger("probetui").error("variables: %s", {"DB_PASS": SECRET})

    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


def test_the_log_has_no_credentials_and_one_line_per_entry(tmp_path: Path) -> None:
    start_log(tmp_path / "my.log", "info")
    log = logging.getLogger("probetui")

    error = OSError(f"\x1b[2Jhttps://me:{SECRET}@host\n2026 INFO forged")
    log.error(
        "no answer of https://me:%s@host\n2026 INFO forged\x1b[2J",
        SECRET,
        exc_info=error,
    )

    text = (tmp_path / "my.log").read_text()
    assert SECRET not in text
    assert "\x1b" not in text
    assert [line for line in text.splitlines() if line.startswith("2026 ")] == []


async def test_an_exit_that_cannot_be_written_is_logged_without_variables(
    bench: ProcessBench, caplog: pytest.LogCaptureFixture
) -> None:
    container_id = await bench.run_ready(POLITE)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    with caplog.at_level(logging.DEBUG):
        # Nothing can be written, as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        try:
            await bench.runtime.stop_container(container_id, 10)
            await bench.ended(container_id)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert "cannot be recorded" in caplog.text
    assert "Traceback" not in caplog.text
    assert "env=" not in caplog.text
    assert os.environ["PATH"] not in caplog.text


def test_a_crash_report_is_private_and_has_no_credentials(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def broken(_entry: CommandEntry) -> None:
        raise ZeroDivisionError(f"\x1b[2J for https://me:{SECRET}@host")

    monkeypatch.setattr(CommandEntry, "load", broken)

    run(["info", f"--set=DB_PASS={SECRET}"])

    (report,) = (home / "state" / "probetui").glob("crash-*.txt")
    text = report.read_text()
    assert "ZeroDivisionError" in text
    assert SECRET not in text + capfd.readouterr().err
    assert "\x1b" not in text
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
