"""Files are read with a bound: by `untrusted_files`, and in no other way.

What a user, a container or another program may have made is as long as they like, or a
FIFO that never ends. A call that reads a whole file needs a reason here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.modules import trees

READERS = ("untrusted_files.py", "untrusted_trees.py")

WHOLE = frozenset({"read_text", "read_bytes", "readlines"})
PARSERS = frozenset({"json.load", "tomllib.load"})
_LAST_WORDS = frozenset({"load", "read", "open"})

EXCEPTIONS = {
    "cli/lessons/__init__.py:(folder / f'{name}.yaml').read_bytes": "of this package",
    "cli/lessons/__init__.py:(folder / f'{name}.sim.yaml').read_bytes": "the same",
    "cluster/prometheus/packaged.py:SAMPLES.read_bytes": "the same",
    "cluster/prometheus/packaged.py:WORKLOADS.read_bytes": "the same",
    "cli/cause_pages.py:(folder / f'{kind}.md').read_text": "the same",
    "presentation/page/elements.py:(files(__package__) / name).read_text": "the same",
    "cli/web/server.py:(files(__package__) / name).read_bytes": "the same",
    "cli/web/server.py:(files(package) / path).read_bytes": "of textual-serve",
    "cli/session/outputs.py:path.open": "our own record, copied in blocks",
    "cli/session/cluster_attachment.py:containers.open": "no file",
    "runtimes/network_namespace.py:namespace.open": "a namespace: it has no content",
    "probers/go/tls.py:self._outgoing.read": "TLS of ours, in memory",
    "runtimes/cri/logs.py:reader.read": "a reader of lines, BLOCK_BYTES at a time",
    "runtimes/docker/execution.py:stream.read": "a frame of a stream",
    "runtimes/cri/streaming.py:stream.read": "the same",
    "cluster/attach/execution.py:streams[channel].read": "the same",
    "cluster/attach/port_forward.py:errors.read": "the same",
    "cluster/attach/port_forward.py:self._data.read": "the same",
    "cli/commands/case_report.py:reader.read": "a SourceReader, bounded by each file",
    "cli/commands/fleet_report.py:reader.read": "the same",
    "cli/commands/diff_history.py:reading.read": "a store, whose answers are bounded",
    "cli/commands/past_fit_report.py:reading.read": "the same",
    "cli/pods.py:(reader or options.reader()).read": "the same",
    "cli/commands/manifest_reports.py:files.reader().read": "the same",
    "cli/commands/version_report.py:pods.reader().read": "the same",
    "cli/files.py:SourceReader(filenames, recursive=recursive).read": "the same",
}
"""Allowed calls, by file and call, with reasons."""


def unbounded_reads() -> Iterator[str]:
    """Yield calls that read a file, or a stream, as long as it may be."""
    for path, tree in trees().items():
        if path not in READERS:
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and is_unbounded(node):
                    yield f"{path}:{ast.unparse(node.func)}"


def is_unbounded(call: ast.Call) -> bool:
    last = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if last not in {*WHOLE, *_LAST_WORDS}:
        return False  # To unparse every call of the program takes seconds.
    words = ast.unparse(call.func)
    return (
        last in WHOLE
        or words in PARSERS
        or (words.endswith(".read") and not call.args)
        or (last == "open" and reads(call, words))
    )


def reads(call: ast.Call, words: str) -> bool:
    """Return whether a call of `open` opens a file by its path to read it."""
    is_function = words == "open"
    if len(call.args) + len(call.keywords) == is_function:
        return True  # `open(path)`, `path.open()`
    mode = call.args[is_function :: len(call.args) or 1] or [
        keyword.value for keyword in call.keywords if keyword.arg == "mode"
    ]
    return [it.value for it in mode if isinstance(it, ast.Constant)] in (
        ["r"],
        ["rb"],
        ["rt"],
    )


def test_files_are_read_by_way_of_untrusted_files_only() -> None:
    assert sorted(set(unbounded_reads()) - EXCEPTIONS.keys()) == []


def test_every_exception_is_still_one() -> None:
    assert EXCEPTIONS.keys() - set(unbounded_reads()) == set()


@pytest.mark.parametrize(
    "code",
    [
        "path.read_text()",
        "(folder / name).read_bytes()",
        "json.load(file)",
        "file.read()",
        "open(path)",
        "open(path, 'rb')",
        "path.open()",
        "path.open('rb')",
    ],
)
def test_a_read_without_a_bound_is_found(code: str) -> None:
    (call, *_) = [it for it in ast.walk(ast.parse(code)) if isinstance(it, ast.Call)]

    assert is_unbounded(call)


@pytest.mark.parametrize(
    "code",
    [
        "file.read(limit)",
        "read_regular(path, 10)",
        "json.loads(text)",
        "open(path, 'w')",
    ],
)
def test_what_is_bounded_is_not_found(code: str) -> None:
    (call, *_) = [it for it in ast.walk(ast.parse(code)) if isinstance(it, ast.Call)]

    assert not is_unbounded(call)
