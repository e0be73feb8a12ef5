"""Locks that assign every pod to one process."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

import pytest

from probetui.cli.session.locks import PodLocks, lock_holder
from probetui.errors import PodInUseError, UsageError
from tests.builders import a_pod

WEB, DB = a_pod(name="web"), a_pod(name="db")


def test_the_lock_of_a_running_pod_names_its_process(tmp_path: Path) -> None:
    with PodLocks("docker", [WEB], tmp_path):
        during = lock_holder("docker", "default", "web", tmp_path)
    after = lock_holder("docker", "default", "web", tmp_path)

    assert during == f"process {os.getpid()}"
    assert after == ""


def test_a_pod_that_never_ran_has_no_owner(tmp_path: Path) -> None:
    assert lock_holder("docker", "default", "web", tmp_path) == ""


def test_a_second_run_of_a_pod_is_refused_and_locks_nothing(tmp_path: Path) -> None:
    second = PodLocks("docker", [DB, WEB], tmp_path)
    with PodLocks("docker", [WEB], tmp_path):
        with pytest.raises(UsageError, match="pod default/web is run by another"):
            second.__enter__()

        assert lock_holder("docker", "default", "db", tmp_path) == ""


def test_pods_of_other_runtimes_or_namespaces_have_other_locks(
    tmp_path: Path,
) -> None:
    elsewhere = a_pod(name="web", namespace="shop")

    with (
        PodLocks("docker", [WEB], tmp_path),
        PodLocks("process", [WEB], tmp_path),
        PodLocks("docker", [elsewhere], tmp_path),
    ):
        assert lock_holder("docker", "shop", "web", tmp_path) != ""


def test_a_lock_that_cannot_be_taken_is_an_error(
    tmp_path: Path,
) -> None:
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(UsageError, match="default/web cannot be locked"):
        PodLocks("docker", [WEB], file).__enter__()
    with pytest.raises(UsageError, match="default/web cannot be locked"):
        lock_holder("docker", "default", "web", file)


def test_a_pod_with_the_longest_name_is_locked_like_any_other(tmp_path: Path) -> None:
    """Kubernetes allows 253 characters, a file name 255 in total."""
    pod = a_pod(name="a" * 253)

    with PodLocks("docker", [pod], tmp_path):
        holder = lock_holder("docker", "default", pod.name, tmp_path)
        with pytest.raises(PodInUseError, match=f"process {os.getpid()}"):
            PodLocks("docker", [pod], tmp_path).__enter__()

    assert holder == f"process {os.getpid()}"


def test_a_session_of_version_0_1_holds_its_pods(tmp_path: Path) -> None:
    """Its locks are named after the pods; it may still run after an upgrade."""
    path = tmp_path / "docker_default_web"
    path.write_text("process 7")
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        with pytest.raises(PodInUseError, match="process 7"):
            PodLocks("docker", [WEB], tmp_path).__enter__()
        during = lock_holder("docker", "default", "web", tmp_path)
    after = lock_holder("docker", "default", "web", tmp_path)

    assert (during, after) == ("process 7", "")


def test_locks_of_pods_that_are_added_later_are_taken_too(tmp_path: Path) -> None:
    with PodLocks("docker", [WEB], tmp_path) as first:
        with PodLocks("docker", [DB], tmp_path) as second:
            held = second.add([DB, WEB])
        added = first.add([DB])

        holder = lock_holder("docker", "default", "db", tmp_path)

    assert held == [(WEB, f"process {os.getpid()}")]
    assert added == []
    assert holder == f"process {os.getpid()}"


def test_a_link_in_place_of_a_lock_is_an_error_and_not_followed(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    canary.write_text("untouched")
    with PodLocks("docker", [WEB], tmp_path / "locks"):
        (lock,) = (tmp_path / "locks").iterdir()
    lock.unlink()
    lock.symlink_to(canary)

    with pytest.raises(UsageError, match="cannot be locked"):
        PodLocks("docker", [WEB], tmp_path / "locks").__enter__()

    assert canary.read_text() == "untouched"


def test_a_released_lock_can_be_taken_again(tmp_path: Path) -> None:
    with PodLocks("docker", [WEB], tmp_path):
        pass

    with PodLocks("docker", [WEB], tmp_path):
        assert lock_holder("docker", "default", "web", tmp_path) != ""


def test_checking_a_lock_does_not_block_it(tmp_path: Path) -> None:
    """`ls` takes a shared lock for a moment, together with other readers."""
    with PodLocks("docker", [WEB], tmp_path):
        pass
    is_over = threading.Event()

    def check_lock() -> None:
        while not is_over.is_set():
            lock_holder("docker", "default", "web", tmp_path)

    looking = threading.Thread(target=check_lock)
    looking.start()
    try:
        for _ in range(300):
            with PodLocks("docker", [WEB], tmp_path):
                pass
    finally:
        is_over.set()
        looking.join()
