"""Text leaves the program through one gate: `safe_text`, by `cli/printing.py`."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.modules import trees

WRITES = re.compile(
    r"print|(?:click\.)?(?:echo|secho|echo_via_pager|confirm|prompt)"
    r"|sys\.(?:__)?std(?:out|err)(?:__)?(?:\.buffer)?\.(?:write|writelines)"
    r"|os\.write|(?:\w+\.)*(?:console|Console\(.*\))\.(?:print|print_exception|log)"
)
"""Calls that put something on a terminal, or may."""

MAY_WRITE = {
    "cli/session/attachment.py": "the gate's own question",
    "cli/session/cluster_attachment.py": "the same",
    "cli/commands/info_report.py": "a fixed question for the terminal itself",
    "cli/printing.py": "the gate",
    "cli/session/terminal_hold.py": "fixed escape sequences, between two screens",
    "cli/session/signal_watch.py": "one safe line, while the event loop hangs",
    "runtimes/process/interactive.py": "the input of a command",
    "tui/services/terminal.py": "what the framework has drawn",
    "tui/services/shell.py": "two safe lines, before a shell has the terminal",
    "output_files.py": "JSON, whose escapes are its own",
}
"""Only some modules may print."""


def writers(tree: ast.AST) -> list[str]:
    """Return the calls of a module that write, with their lines."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [
        f"{call.lineno}: {function}"
        for call in calls
        if WRITES.fullmatch(function := ast.unparse(call.func))
    ]


def test_no_module_prints_but_by_the_gate() -> None:
    found = {
        name: writers(tree) for name, tree in trees().items() if name not in MAY_WRITE
    }

    assert {name: calls for name, calls in found.items() if calls} == {}


def test_every_exception_is_one() -> None:
    assert [name for name in MAY_WRITE if not writers(trees()[name])] == []


@pytest.mark.parametrize(
    "line",
    [
        "print(x)",
        "click.echo(x)",
        "echo(x)",
        "sys.stdout.write(x)",
        "sys.__stderr__.write(x)",
        "sys.stdout.buffer.write(x)",
        "os.write(1, x)",
        "self.console.print(x)",
        "Console(stderr=True).print(x)",
    ],
)
def test_calls_that_print_are_found(line: str) -> None:
    assert writers(ast.parse(line)) != []


SHOWS = re.compile(r"(?:\w+\.)*(?:Static|Label)|super\(\)\.notify")
"""`notify` of our app never reads markup: it hands `markup=False` to its base."""


def read_as_markup(tree: ast.Module) -> list[str]:
    """Return the calls that show something and do not say that it is no markup."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    shown = [call for call in calls if SHOWS.fullmatch(ast.unparse(call.func))]
    return [
        ast.unparse(call)
        for call in shown
        if not any(
            keyword.arg == "markup" and ast.unparse(keyword.value) == "False"
            for keyword in call.keywords
        )
    ]


def test_nothing_on_the_screen_is_read_as_markup() -> None:
    screen = {name: tree for name, tree in trees().items() if "tui" in name}
    found = {name: read_as_markup(tree) for name, tree in screen.items()}

    assert len(screen) > 30
    assert {name: calls for name, calls in found.items() if calls} == {}


def test_the_screen_paints_in_one_place() -> None:
    painters = {
        name
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Segment"
        # One that is empty paints nothing.
        if ast.unparse(node) != "Segment('')"
    }

    assert painters == {"tui/panes/line_widget.py"}
