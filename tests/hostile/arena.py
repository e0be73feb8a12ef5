"""Run tests of removals, mounts and links where they cannot destroy anything.

`isolated` runs a test's body in a process with its own mount namespace, in which every
file system of the machine is read-only and only a tmpfs can be written. It has canary
files, which represent files of others: after the body their content, modes, owners and
times are compared with those before.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import hashlib
import inspect
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import skip_unless_ci

ROOT = Path(__file__).parents[2]
BODY_SECONDS = 120
_MOUNT_NAMESPACE = Path("/proc/self/ns/mnt")
_MOUNTS = Path("/proc/self/mountinfo")

MS_RDONLY = 1
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18

Facts = dict[str, tuple[object, ...]]


class Arena:
    """Folders that a body may write to, and files that it must not change.

    Attributes:
        folder: the whole arena; a tmpfs.
        work: the folder for the body.
        canary: files, directories and links of others.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.canary = folder / "canary"
        self.work.mkdir()
        _make_canary(self.canary)
        self._facts = facts_of(self.canary)

    def seal(self) -> None:
        """Compare with the canary's current state, for a body that changes it first."""
        self._facts = facts_of(self.canary)

    def check(self) -> None:
        """Fail if the canary was changed."""
        now = facts_of(self.canary)
        changed = {
            name: (self._facts.get(name), now.get(name))
            for name in self._facts.keys() | now.keys()
            if self._facts.get(name) != now.get(name)
        }
        assert not changed, f"the canary was touched: {changed}"


def bind(source: Path, target: Path) -> None:
    """Bind-mount a directory or a file."""
    _mount(str(source), str(target), None, MS_BIND)


def mount_tmpfs(target: Path, options: str = "") -> None:
    """Mount an empty file system in memory."""
    mount("tmpfs", target, "tmpfs", options)


def mount(source: str, target: Path, kind: str, options: str = "") -> None:
    """Mount a file system."""
    _mount(source, str(target), kind, 0, options)


def remount_read_only(target: Path) -> None:
    """Make a mount read-only."""
    _mount(None, str(target), None, MS_REMOUNT | MS_BIND | MS_RDONLY)


def unmount(target: Path) -> None:
    """Unmount the last mount at a target."""
    _check(_libc().umount2(os.fsencode(target), 0), str(target))


def facts_of(tree: Path) -> Facts:
    """Return all attributes of everything in a tree, except access times."""
    found: Facts = {}
    for folder, names, files in os.walk(tree):
        for path in (Path(folder), *(Path(folder, name) for name in (*names, *files))):
            facts = path.lstat()
            content = b""
            if stat.S_ISLNK(facts.st_mode):
                content = os.fsencode(path.readlink())
            elif stat.S_ISREG(facts.st_mode):
                content = hashlib.sha256(path.read_bytes()).digest()
            found[str(path.relative_to(tree))] = (
                oct(facts.st_mode),
                facts.st_uid,
                facts.st_gid,
                facts.st_size,
                facts.st_nlink,
                facts.st_mtime_ns,
                facts.st_ctime_ns,
                content,
            )
    return found


def isolated(body: Callable[..., Any]) -> Callable[..., None]:
    """Run a test in its own mount namespace; its first argument is the `Arena`.

    The other arguments come from pytest, and have to be picklable.
    """
    parameters = list(inspect.signature(body).parameters.values())[1:]

    @functools.wraps(body)
    def test(**arguments: object) -> None:
        call = (body.__module__, body.__qualname__, arguments)
        with tempfile.TemporaryDirectory(prefix="probetui-arena-") as folder:
            _run(call, folder)

    test.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what pytest looks at
    marked: Callable[..., None] = pytest.mark.slow(test)
    return marked


def _run(call: tuple[str, str, dict[str, object]], folder: str) -> None:
    unshare = shutil.which("unshare")
    if unshare is None:
        skip_unless_ci("this takes unshare(1) of Linux")
    options = ["--mount"] if os.geteuid() == 0 else ["--mount", "--map-root-user"]
    if subprocess.run([unshare, *options, "true"], check=False).returncode:
        skip_unless_ci("no mount namespace can be made here")
    outside = str(_MOUNT_NAMESPACE.readlink())
    done = subprocess.run(
        [unshare, *options, sys.executable, "-m", __name__, outside, folder],
        cwd=ROOT,
        input=pickle.dumps(call),
        capture_output=True,
        timeout=BODY_SECONDS,
        check=False,
    )
    if done.returncode:
        text = (done.stdout + done.stderr).decode(errors="backslashreplace")
        pytest.fail(text, pytrace=False)


def _main(outside: str, folder: str) -> int:
    """Run a body in its namespace."""
    if str(_MOUNT_NAMESPACE.readlink()) == outside:
        raise SystemExit("refused: this is the mount namespace of the machine")
    module, name, arguments = pickle.loads(sys.stdin.buffer.read())
    _close_off(folder)
    body = getattr(import_module(module), name).__wrapped__
    arena = Arena(Path(folder))
    try:
        with _environment(arena.work):
            outcome = body(arena, **arguments)
            if inspect.iscoroutine(outcome):
                asyncio.run(outcome)
        arena.check()
    except BaseException:  # noqa: BLE001  # pytest.fail too; it is printed
        traceback.print_exc()
        return 1
    return 0


def _close_off(folder: str) -> None:
    """Make everything except one directory read-only, and all mounts private."""
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    for place in _mount_points():
        # A kind that cannot be made read-only is found below.
        with contextlib.suppress(OSError):
            _mount(None, place, None, MS_REMOUNT | MS_BIND | MS_RDONLY)
    writable = [place for place in _mount_points() if _is_writable(place)]
    if writable:
        raise SystemExit(f"refused: these could be written to: {writable}")
    mount_tmpfs(Path(folder))


def _mount_points() -> list[str]:
    lines = _MOUNTS.read_text("utf-8").splitlines()
    return [line.split()[4].encode().decode("unicode_escape") for line in lines]


def _is_writable(place: str) -> bool:
    try:
        return not os.statvfs(place).f_flag & os.ST_RDONLY
    except OSError:  # covered by another mount, so that nothing reaches it
        return False


@contextlib.contextmanager
def _environment(work: Path) -> Iterator[None]:
    """Set environment variables that do not refer to files of the user."""
    home = work.parent / "home"
    home.mkdir()
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        del os.environ[name]
    os.environ["HOME"] = str(home)
    os.environ["TMPDIR"] = str(home)
    tempfile.tempdir = None
    os.chdir(work)
    yield


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str = ""
) -> None:
    _check(
        _libc().mount(
            None if source is None else os.fsencode(source),
            os.fsencode(target),
            None if kind is None else kind.encode(),
            ctypes.c_ulong(flags),
            options.encode() or None,
        ),
        target,
    )


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, target: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def _make_canary(folder: Path) -> None:
    """Create the canary files."""
    (folder / "documents/deep/deeper").mkdir(parents=True)
    (folder / "documents/thesis.txt").write_text("years of work\n")
    (folder / "documents/deep/deeper/photo").write_bytes(bytes(range(256)))
    (folder / "closed").mkdir(mode=0o500)
    (folder / "readable.conf").write_text("key: value\n")
    (folder / "readable.conf").chmod(0o644)
    (folder / "script").write_text("#!/bin/sh\n")
    (folder / "script").chmod(0o750)
    (folder / "link").symlink_to("documents")
    (folder / "open").mkdir()
    (folder / "open").chmod(0o1777)


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
