"""Files are made, changed and removed by way of `untrusted_files`, and in no other way.

Functions of `os` and `shutil` are banned by ruff; methods of `Path` are found here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.modules import trees

FOLDERS = ("runtimes", "cli", "drive")

ALWAYS = frozenset({
    "mkdir", "touch", "chmod", "lchmod", "write_text", "write_bytes", "symlink_to",
    "hardlink_to", "rmdir",
})  # fmt: skip

EXCEPTIONS = {
    "runtimes/cri/freezer.py:switch.file.write_text": "a control file of the kernel",
    "runtimes/cri/freezer.py:self._switch.file.write_text": "the same",
    "cli/terminal.py:os.open": "the terminal that the program was started in",
    "cli/main.py:os.open": "/dev/null",
    "cli/main.py:open": "/dev/null",
    "runtimes/docker/archives.py:tarfile.open": "an archive in memory",
}
"""Allowed calls, by file and call, with reasons."""


_WRITING_MODE = re.compile(r"[rbt]*[wxa+][wxarbt+:|gz]*")


def raw_calls() -> Iterator[str]:
    """Yield calls that make, change, remove or write to a file by its path."""
    for path, tree in trees().items():
        if path.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and is_raw(node):
                    yield f"{path}:{ast.unparse(node.func)}"


def is_raw(call: ast.Call) -> bool:
    words = ast.unparse(call.func)
    last = words.rpartition(".")[2]
    arguments = len(call.args)
    return (
        words == "os.open"
        or (last == "open" and writes(call))
        or last in ALWAYS
        or (last == "unlink" and arguments == 0)
        # dataclasses.replace and str.replace take two; rename of a root does too.
        or (last in {"replace", "rename"} and arguments == 1 and not call.keywords)
    )


def writes(call: ast.Call) -> bool:
    """Return whether the mode of a call of `open` writes, or is computed."""
    modes = [*call.args[:2], *(it.value for it in call.keywords if it.arg == "mode")]
    texts = [str(it.value) for it in modes if isinstance(it, ast.Constant)]
    names = [it.id for it in modes if isinstance(it, ast.Name)]
    return any(_WRITING_MODE.fullmatch(it) for it in texts) or "mode" in names


def test_files_are_touched_by_way_of_untrusted_files_only() -> None:
    assert sorted(set(raw_calls()) - EXCEPTIONS.keys()) == []


def test_every_exception_is_still_one() -> None:
    assert EXCEPTIONS.keys() <= set(raw_calls())


@pytest.mark.parametrize(
    "code",
    [
        "path.unlink()",
        "path.unlink(missing_ok=True)",
        "path.rmdir()",
        "(folder / name).mkdir(0o700, parents=True)",
        "path.chmod(0o777)",
        "path.write_text(text)",
        "path.open('wb')",
        "path.open(mode='a')",
        "open(path, 'x')",
        "os.open(path, flags)",
        "fresh.replace(path)",
        "fresh.rename(path)",
        "path.symlink_to(target)",
        "path.touch()",
    ],
)
def test_a_raw_call_is_found(code: str) -> None:
    (call,) = [it for it in ast.walk(ast.parse(code)) if isinstance(it, ast.Call)]

    assert is_raw(call)


@pytest.mark.parametrize(
    "code",
    [
        "root.unlink(name)",
        "root.rename(before, after)",
        "text.replace('a', 'b')",
        "replace(record, owner=me)",
        "path.open('rb')",
        "self._filter.open(pane)",
        "Writer.open(path)",
    ],
)
def test_what_is_not_raw_is_not_found(code: str) -> None:
    (call,) = [it for it in ast.walk(ast.parse(code)) if isinstance(it, ast.Call)]

    assert not is_raw(call)
