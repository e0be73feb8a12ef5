"""Destructive calls in `src`: removals, kills, and paths made from foreign names."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from tests.architecture.modules import trees

PURE = ("engine/", "debugger/", "kubelet/", "manifest/", "presentation/", "k8s/")
"""Calls without I/O."""

NAMES = frozenset({"unmount", "kill_group", "child_path"})
"""Functions of ours that destroy, or make a path."""

WHOLE = frozenset({
    "os.kill", "os.killpg", "api.kill", "process.kill", "root.resolve",
    "os.unlink", "os.rmdir", "os.rename", "os.replace", "os.chmod", "os.chown",
})  # fmt: skip
"""Calls that are identified by more than their last name."""

LAST = frozenset({
    "remove_tree", "remove_directory", "unlink", "rename", "replace_file",
    "change_mode", "give_to_group", "send_signal", "pidfd_send_signal", "terminate",
    "umount2", "remove_container", "remove_pod_sandbox", "remove_image",
    "remove_volume", "unmount_volume", "stop_container", "stop_pod_sandbox",
    "REMOVE_CONTAINER", "REMOVE_POD_SANDBOX", "REMOVE_IMAGE", "STOP_CONTAINER",
    "STOP_POD_SANDBOX",
})  # fmt: skip
"""Calls that are identified by their last name, called or passed on."""


def destructive_functions() -> dict[str, frozenset[str]]:
    """Return the functions of `src` with such calls, and which calls these are.

    They are named `folder/module.py:Class.method`.
    """
    found: dict[str, set[str]] = {}
    for module, tree in trees().items():
        if not module.startswith(PURE):
            for name, call in _calls(tree):
                found.setdefault(f"{module}:{name}", set()).add(call)
    return {name: frozenset(calls) for name, calls in found.items()}


@functools.cache
def function_names() -> frozenset[str]:
    """Return all functions and methods of `src`, named in the same way."""
    return frozenset(
        f"{module}:{name}"
        for module, tree in trees().items()
        for name, _ in _functions(tree)
    )


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield functions with their names; nested ones belong to the outer one."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{inner.name}", inner


def _calls(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for name, function in _functions(tree):
        for node in ast.walk(function):
            match node:
                case ast.Call(func=ast.Name(word)) if word in NAMES:
                    yield name, word
                case ast.Attribute(attr=word) if (
                    word in LAST or ast.unparse(node) in WHOLE
                ):
                    yield name, word
