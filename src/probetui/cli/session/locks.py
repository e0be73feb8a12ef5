"""File locks on pods: of one user's probetuis, one at a time runs a pod.

The lock is the kernel's, on a file per pod: it ends with the process, however that
ends. Whoever else can reach an engine sees the lease of a session there (`leases.py`).
A lock that cannot be taken or looked at is an error: nothing is free because the system
refused to say so.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from probetui.cli.folders import make_private_directory, state_folder
from probetui.errors import PodInUseError, UsageError
from probetui.k8s.pod import Pod
from probetui.untrusted_files import DirectoryRoot

_PID_BYTES = 32
_MAX_NAME_BYTES = 255
_LOOKS = 10_000
"""How often a lock is tried while others look at it, which takes them no time."""


class PodLocks:
    """The locks of one session, a context manager.

    Raises on entering:
        PodInUseError: another probetui runs one of the pods.
        UsageError: a lock cannot be taken.
    """

    def __init__(
        self, runtime: str, pods: Iterable[Pod], folder: Path | None = None
    ) -> None:
        self._runtime = runtime
        self._pods = tuple(pods)
        self._folder = folder or state_folder() / "locks"
        self._descriptors: dict[tuple[str, str], int] = {}

    def __enter__(self) -> Self:
        """Acquire all locks."""
        try:
            held = self.add(self._pods)
        except BaseException:
            self._release()
            raise
        if held:
            self._release()
            (pod, holder), *_ = held
            raise PodInUseError(pod.namespace, pod.name, holder)
        return self

    def __exit__(self, *_: object) -> None:
        """Release all locks."""
        self._release()

    def add(self, pods: Iterable[Pod]) -> Sequence[tuple[Pod, str]]:
        """Lock more pods; return those that others run, and who runs them."""
        held = []
        for pod in pods:
            key = (pod.namespace, pod.name)
            if key not in self._descriptors and (holder := self._acquire(key)):
                held.append((pod, holder))
        return held

    def _acquire(self, key: tuple[str, str]) -> str:
        """Acquire one lock; return its holder, empty if it is ours now."""
        path = _file(self._folder, self._runtime, *key)
        if holder := _earlier_holder(self._folder, self._runtime, *key):
            return holder
        try:
            make_private_directory(path.parent)
            root = DirectoryRoot(path.parent)
            descriptor = root.open_file(path.name, os.O_RDWR | os.O_CREAT)
            try:
                if not _lock_exclusively(descriptor):
                    return _holder(descriptor)
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, _own_text().encode(), 0)
                self._descriptors[key] = os.dup(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _refusal(path, *key, error) from error
        return ""

    def _release(self) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()


def lock_holder(
    runtime: str, namespace: str, name: str, folder: Path | None = None
) -> str:
    """Return who runs a pod right now (`process 123`), empty if nobody does.

    Raises:
        UsageError: the lock cannot be looked at.
    """
    folder = folder or state_folder() / "locks"
    return _held_by(
        _file(folder, runtime, namespace, name), namespace, name
    ) or _earlier_holder(folder, runtime, namespace, name)


def is_run_here(runtime: str, namespace: str, name: str) -> bool:
    """Return whether this process has the lock of a pod.

    Raises:
        UsageError: the lock cannot be looked at.
    """
    return lock_holder(runtime, namespace, name) == _own_text()


def _own_text() -> str:
    return f"process {os.getpid()}"


def _earlier_holder(folder: Path, runtime: str, namespace: str, name: str) -> str:
    """Return who runs a pod by the lock that version 0.1 takes, under its name."""
    # Names of Kubernetes objects hold no underscore and no slash.
    file_name = f"{runtime}_{namespace}_{name}"
    if len(os.fsencode(file_name)) > _MAX_NAME_BYTES:
        return ""  # that version took no lock at all
    return _held_by(folder / file_name, namespace, name)


def _held_by(path: Path, namespace: str, name: str) -> str:
    try:
        descriptor = DirectoryRoot(path.parent).open_file(path.name)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise _refusal(path, namespace, name, error) from error
    try:
        is_free = _try_to_lock(descriptor, fcntl.LOCK_SH)
        return "" if is_free else _holder(descriptor)
    except OSError as error:
        raise _refusal(path, namespace, name, error) from error
    finally:
        os.close(descriptor)


def _lock_exclusively(descriptor: int) -> bool:
    """Acquire a lock unless it is held; a shared lock only tests it."""
    for _ in range(_LOOKS):
        if _try_to_lock(descriptor, fcntl.LOCK_EX):
            return True
        if not _try_to_lock(descriptor, fcntl.LOCK_SH):
            return False
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def _try_to_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _file(folder: Path, runtime: str, namespace: str, name: str) -> Path:
    """Return the file of a lock: a hash, as names may be as long as a file's."""
    text = f"{runtime}\0{namespace}\0{name}"
    return folder / hashlib.sha256(os.fsencode(text)).hexdigest()


def _holder(descriptor: int) -> str:
    text = os.pread(descriptor, _PID_BYTES, 0).decode("ascii", "replace")
    return text or "a process"


def _refusal(path: Path, namespace: str, name: str, error: OSError) -> UsageError:
    return UsageError(
        f"pod {namespace}/{name} cannot be locked: {path}: {error.strerror or error}"
    )
