"""Which pods a running probetui looks after, so that no other one takes them over.

The lock is the kernel's, on a file per pod: it ends with the process, however that
ends. Where no lock can be taken (no folder to write to), nothing is locked.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from probetui.cli.folders import make_private, state_folder
from probetui.errors import UsageError
from probetui.k8s.pod import Pod

_PID_BYTES = 32


class PodLocks:
    """The locks of one session, held while it is entered as a context manager.

    Raises `UsageError` on entering when another probetui runs one of the pods.
    """

    def __init__(
        self, runtime: str, pods: Iterable[Pod], folder: Path | None = None
    ) -> None:
        self._files = [
            (each, _file(runtime, each.namespace, each.name, folder)) for each in pods
        ]
        self._descriptors: list[int] = []

    def __enter__(self) -> Self:
        """Take all locks."""
        for pod, path in self._files:
            holder = self._take(path)
            if holder:
                self._release()
                raise UsageError(
                    f"pod {pod.namespace}/{pod.name} is run by another probetui "
                    f"({holder})"
                )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of them."""
        self._release()

    def _take(self, path: Path) -> str:
        """Take one lock; return who holds it, empty if it is ours now."""
        try:
            make_private(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return ""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return _holder(descriptor)
        self._descriptors.append(descriptor)
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()}".encode(), 0)
        return ""

    def _release(self) -> None:
        for each in self._descriptors:
            os.close(each)
        self._descriptors.clear()


def lock_holder(
    runtime: str, namespace: str, name: str, folder: Path | None = None
) -> str:
    """Return who runs a pod right now (`process 123`), empty if nobody does."""
    try:
        descriptor = os.open(_file(runtime, namespace, name, folder), os.O_RDONLY)
    except OSError:
        return ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(os.dup(descriptor))
    finally:
        os.close(descriptor)
    return ""


def _file(runtime: str, namespace: str, name: str, folder: Path | None) -> Path:
    # Names of Kubernetes objects hold no underscore and no slash.
    return (folder or state_folder() / "locks") / f"{runtime}_{namespace}_{name}"


def _holder(descriptor: int) -> str:
    try:
        text = os.pread(descriptor, _PID_BYTES, 0).decode("ascii", "replace")
    finally:
        os.close(descriptor)
    return text or "a process"
