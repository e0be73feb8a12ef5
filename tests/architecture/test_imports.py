"""When modules are imported: the import linter checks the graph, this the process."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from probetui.cli.main import COMMANDS
from tests.architecture.modules import trees

HEAVY = {
    "docker", "google", "grpc", "h2", "httpx2", "lightkube", "msgspec",
    "platformdirs", "requests", "rich", "textual", "yaml",
}  # fmt: skip


def modules_after(code: str, **variables: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter has after some code."""
    return {name.partition(".")[0] for name in run_fresh(code, **variables)}


def run_fresh(code: str, **variables: str) -> set[str]:
    """Run code in a fresh interpreter; return the modules that it has at the end."""
    script = f"{code}\nimport sys\nprint(*sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["version"],
        ["--version"],
        [],
        ["run", "--help"],
        ["images", "--help"],
    ],
    ids=str,
)
def test_what_needs_no_pods_imports_nothing_but_click(args: list[str]) -> None:
    modules = modules_after(f"from probetui.cli.main import run\nrun({args!r})")

    assert "click" in modules
    assert modules & HEAVY == set()


def test_a_shell_waits_for_no_library_when_it_completes_an_option() -> None:
    modules = modules_after(
        "import os\n"
        "os.environ['_PROBETUI_COMPLETE'] = 'bash_complete'\n"
        "os.environ['COMP_WORDS'] = 'probetui run --runtime '\n"
        "os.environ['COMP_CWORD'] = '3'\n"
        "from probetui.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
    )

    assert modules & HEAVY == set()


OF_EVERY_COMMAND = {
    "probetui", "probetui.__main__", "probetui.cli", "probetui.cli.gc_tuning",
    "probetui.cli.main", "probetui.cli.printing",
    "probetui.errors", "probetui.safe_text", "probetui.suggestions",
    "_locale", "gc", "locale", "signal", "unicodedata",
}  # fmt: skip
OF_THE_COMMAND_VERSION = {
    "probetui.cli.commands", "probetui.cli.commands.program",
    "probetui.cli.parameters", "probetui.durations",
}  # fmt: skip
OF_THE_WIDTH_OF_HELP = {
    "_bz2", "_compression", "_lzma", "bz2", "click._textwrap", "fnmatch", "lzma",
    "shutil", "textwrap", "zlib",
}  # fmt: skip


@pytest.mark.parametrize(
    ("command", "own"),
    [
        ("--version", set()),
        ("version", OF_THE_COMMAND_VERSION),
        ("--help", OF_THE_WIDTH_OF_HELP),
    ],
    ids=["--version", "version", "--help"],
)
def test_a_short_answer_imports_little_more_than_click(
    command: str, own: set[str]
) -> None:
    # Each module is a part of the time that `benchmarks/start.py` limits.
    click_alone = run_fresh("import click")
    modules = run_fresh(
        f"import sys; sys.argv = ['probetui', {command!r}]\n"
        "from probetui.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
    )

    assert modules - click_alone <= OF_EVERY_COMMAND | own


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_declared_where_the_table_says(name: str) -> None:
    command = COMMANDS[name].load()

    assert (command.name, bool(command.callback)) == (name, True)


def test_clients_are_imported_when_the_first_probe_that_needs_them_runs() -> None:
    modules = modules_after(
        "import probetui.probers.prober, probetui.probers.lifecycle_hooks"
    )

    assert modules & {"google", "grpc", "grpc_health", "h2", "httpx2"} == set()


def test_manifests_are_read_without_a_client() -> None:
    modules = modules_after("import probetui.manifest.load")

    assert "lightkube" in modules
    assert modules & {"asyncio", "http", "httpx2", "socket", "ssl"} == set()


BY_STRING = {
    "cli/main.py": "commands, by a table that the tests compare",
    "manifest/workloads.py": "lightkube's models, by the API version of a manifest",
}
"""Modules that import by a name in a string, with reasons: types are lost there."""


def test_what_is_imported_late_keeps_its_types() -> None:
    by_string = {
        path
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith(("import_module", "__import__"))
    }

    assert by_string == BY_STRING.keys()


NOT_ON_THE_FIRST_SCREEN = {
    "hmac", "secrets",
    "probetui.analysis.host_access", "probetui.headless.condition",
    "probetui.k8s.selector", "probetui.manifest.validation.volume_files",
    "probetui.manifest.validation.volume_plugins",
    "probetui.presentation.container.page", "probetui.presentation.events.detail",
    "probetui.presentation.kubectl.text", "probetui.presentation.probe.output",
    "probetui.presentation.tick.trace", "probetui.runtimes.attached.addresses",
    "probetui.runtimes.cri", "probetui.runtimes.docker",
    "probetui.runtimes.kernel_mounts", "probetui.runtimes.process.container",
    "probetui.runtimes.process.sandbox", "probetui.runtimes.sub_paths",
    "probetui.tui.actions.command_parser", "probetui.tui.panes.cluster_event_pane",
    "probetui.tui.panes.event_detail", "probetui.tui.panes.reading_area",
    "probetui.tui.screens.answers", "probetui.tui.screens.container",
    "probetui.tui.screens.dialogs", "probetui.tui.screens.events",
    "probetui.tui.screens.help", "probetui.tui.screens.logs",
    "probetui.tui.screens.menu", "probetui.tui.screens.pod_pages",
    "probetui.tui.screens.step", "probetui.tui.services.exports",
}  # fmt: skip
MOST_MODULES_OF_OURS = 347


def test_the_first_screen_imports_no_more_than_it_shows() -> None:
    # Each module is a third of a millisecond of what `benchmarks/start.py` limits.
    modules = run_fresh(
        "import probetui.cli.commands.sessions, probetui.cli.session.start\n"
        "import probetui.cli.session.live, probetui.cli.session.screen\n"
        "import probetui.runtimes.process.runtime, probetui.tui.screens.main"
    )

    ours = {name for name in modules if name.startswith("probetui.")}
    assert modules & NOT_ON_THE_FIRST_SCREEN == set()
    assert {"probetui.tui.panes.event_pane", "probetui.engine.engine"} <= ours
    assert len(ours) <= MOST_MODULES_OF_OURS


def test_the_first_screen_is_painted_before_answers_are_imported() -> None:
    modules = run_fresh(
        "import os, sys, tests.tui.scenes as scenes\n"
        "from tests.tui.app_harness import an_app\n"
        "def paint(*_):\n"
        "    print(*sys.modules, file=sys.stderr, flush=True)\n"
        "    os._exit(0)\n"
        "app = an_app(scenes.empty())\n"
        "app._display = paint\n"
        "app.run(headless=True)"
    )

    assert "probetui.tui.screens.main" in modules
    assert modules & NOT_ON_THE_FIRST_SCREEN == set()
    assert "probetui.presentation.terminal_title" not in modules


@pytest.mark.slow
def test_lines_of_processes_need_neither_the_screen_nor_docker(tmp_path: Path) -> None:
    modules = modules_after(
        "from probetui.cli.main import run\n"
        "assert run(['demo', '--plain', '-q', '--until', 'started']) == 0",
        # Somebody else may run the demo on this machine.
        XDG_STATE_HOME=str(tmp_path),
    )

    assert "yaml" in modules
    screen, clients = {"rich", "textual"}, {"docker", "google", "grpc", "httpx2"}
    assert modules & (screen | clients | {"requests"}) == set()


@pytest.mark.parametrize(
    "module", ["engine.engine", "engine.snapshot", "kubelet.journal"]
)
def test_the_kubelet_needs_no_world(module: str) -> None:
    modules = modules_after(f"import probetui.{module}")

    others = HEAVY - {"msgspec"}  # of which values are made
    assert modules & (others | {"asyncio", "click", "socket", "ssl", "subprocess"}) == (
        set()
    )


@pytest.mark.parametrize("module", ["follow", "output", "condition", "verdict"])
def test_lines_need_no_engine_and_no_adapter(module: str) -> None:
    code = f"import sys, probetui.headless.{module}"
    script = f"{code}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    modules = set(done.stdout.split())

    assert not {
        module
        for module in modules
        if module.startswith(
            ("probetui.runtimes.", "probetui.probers.", "probetui.tui.")
        )
        or module == "probetui.engine.engine"
    }
