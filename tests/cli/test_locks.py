"""Who looks after which pod."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from probetui.cli.locks import PodLocks, lock_holder
from probetui.errors import UsageError
from tests.builders import a_pod

WEB, DB = a_pod(name="web"), a_pod(name="db")


def test_a_pod_that_is_run_is_known_by_its_process(tmp_path: Path) -> None:
    with PodLocks("docker", [WEB], tmp_path):
        during = lock_holder("docker", "default", "web", tmp_path)
    after = lock_holder("docker", "default", "web", tmp_path)

    assert during == f"process {os.getpid()}"
    assert after == ""


def test_nobody_runs_a_pod_that_nobody_ever_ran(tmp_path: Path) -> None:
    assert lock_holder("docker", "default", "web", tmp_path) == ""


def test_a_second_run_of_a_pod_is_refused_and_locks_nothing(tmp_path: Path) -> None:
    second = PodLocks("docker", [DB, WEB], tmp_path)
    with PodLocks("docker", [WEB], tmp_path):
        with pytest.raises(UsageError, match="pod default/web is run by another"):
            second.__enter__()

        assert lock_holder("docker", "default", "db", tmp_path) == ""


def test_a_pod_of_one_runtime_or_namespace_is_not_that_of_another(
    tmp_path: Path,
) -> None:
    elsewhere = a_pod(name="web", namespace="shop")

    with (
        PodLocks("docker", [WEB], tmp_path),
        PodLocks("process", [WEB], tmp_path),
        PodLocks("docker", [elsewhere], tmp_path),
    ):
        assert lock_holder("docker", "shop", "web", tmp_path) != ""


def test_where_nothing_can_be_written_nothing_is_locked(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    with PodLocks("docker", [WEB], file):
        assert lock_holder("docker", "default", "web", file) == ""


def test_a_lock_is_taken_again_after_it_was_let_go(tmp_path: Path) -> None:
    with PodLocks("docker", [WEB], tmp_path):
        pass

    with PodLocks("docker", [WEB], tmp_path):
        assert lock_holder("docker", "default", "web", tmp_path) != ""
