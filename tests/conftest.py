"""Test selection, scheduling and required engines for the whole suite.

`pytest` alone runs the quick tests: no engine, no terminal, not against the clock, and
no sweep. Its last lines list what it left out. `pytest --sweeps` runs the sweeps as
well, `pytest --rest` what both leave out, `pytest --all` everything. If files, `-k` or
`-m` select tests, exactly these run.

`PROBETUI_REQUIRE_ENGINES` is a comma-separated list of required engines: without its
engine a test then fails instead of being skipped. Tools (tmux, curl, kubectl,
asciinema, chromium, prometheus) can be listed too; all of them are required as soon as
one engine is, and wherever `CI` is set.

Quick tests run in parallel on all cores. The rest mostly waits for engines, the
installed program or the clock: six processes run it, a file at a time.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from probetui.cli.log import LOGGERS
from probetui.untrusted_files import FILE_CLAIMS
from tests.engines import CRI_ENDPOINT, tool_path

# Assertions in the contracts get pytest's detailed messages, as in test modules. This
# call has to come before the first import of any of these modules.
pytest.register_assert_rewrite(
    "tests.runtimes.bench",
    "tests.runtimes.contract",
    "tests.runtimes.exec_contract",
    "tests.runtimes.capability_contract",
    "tests.runtimes.message_contract",
    "tests.runtimes.volume_contract",
)

# What a shell starts in the background ignores interrupts, and so would each program
# that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A developer's run looks at some examples, CI at Hypothesis' own number of them. How
# long an example takes says nothing of it where a machine is busy.
untimed = partial(settings, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("default", untimed(max_examples=30))
settings.register_profile("ci", untimed(derandomize=True))
settings.register_profile("nightly", untimed(max_examples=2000))
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE")
    or ("ci" if os.environ.get("CI") else "default")
)

SERIAL_FOLDERS = ("tests/runtimes/docker/", "tests/runtimes/cri/")
"""Folders whose tests change shared state of an engine: images, networks."""

LONGEST = (*SERIAL_FOLDERS, "tests/docs/test_commands.py")
"""Each takes one process minutes: started last, it would keep the others waiting."""

LIVE_SUITES = (
    "tests/conformance/test_conformance.py",
    "tests/traces/test_live.py",
)
"""Each runs a hundred pods in parallel for minutes; nothing else may run then."""

LIVE_SCOPE = "live"
"""The scheduling scope of the live suites."""

REST_PROCESSES = 6

REQUIRED_ENGINES = frozenset(
    filter(None, os.environ.get("PROBETUI_REQUIRE_ENGINES", "").split(","))
)


TOOLS = frozenset({"tmux", "curl", "kubectl", "asciinema", "chromium", "prometheus"})


@pytest.fixture(autouse=True)
def one_run() -> Iterator[None]:
    """Undo what the program does once in its process: it claims files and logs."""
    FILE_CLAIMS.clear()
    yield
    for log in map(logging.getLogger, LOGGERS):
        for handler in tuple(log.handlers):
            log.removeHandler(handler)
            # What is left of a buffer has no room on a full disk.
            with suppress(OSError):
                handler.close()
        log.propagate = True
        log.setLevel(logging.NOTSET)


def is_required(name: str) -> bool:
    """Return whether tests fail without this engine or tool."""
    is_checked = bool(REQUIRED_ENGINES or os.environ.get("CI"))
    return name in REQUIRED_ENGINES or (name in TOOLS and is_checked)


@cache
def _docker_problem() -> str | None:
    """Return why no Docker daemon is available, None if one is."""
    # This import takes half a second; only tests with an engine need it.
    from probetui.runtimes.docker import connection  # noqa: PLC0415

    endpoints = connection.list_endpoints(None, None, os.environ)
    attempts = list(connection.try_endpoints(endpoints))
    if attempts[-1].api is None:
        return str(connection.unavailable_error(attempts))
    attempts[-1].api.close()
    return None


@cache
def _cri_problem() -> str | None:
    """Return why no CRI runtime is available, None if one is."""
    # This import takes long; only tests with an engine need it.
    from probetui.runtimes.cri import connection  # noqa: PLC0415

    async def try_endpoints() -> str | None:
        attempts = []
        async for attempt in connection.try_endpoints(
            connection.list_endpoints(CRI_ENDPOINT)
        ):
            if isinstance(attempt.result, connection.UsableRuntime):
                await attempt.result.client.close()
                return None
            attempts.append(attempt)
        return str(connection.unavailable_error(attempts))

    return asyncio.run(try_endpoints())


def _tool_problem(name: str) -> str | None:
    """Return why a tool cannot be used, None if it can."""
    path = tool_path() if name == "kubectl" else None
    return None if shutil.which(name, path=path) else f"{name} is not installed"


ENGINES: dict[str, Callable[[], str | None]] = {
    "docker": _docker_problem,
    "cri": _cri_problem,
    **{name: partial(_tool_problem, name) for name in TOOLS},
}


class Selection(StrEnum):
    """Which part of the whole suite to run."""

    QUICK = "quick"
    SWEEPS = "sweeps"
    REST = "rest"
    ALL = "all"


_SWEEP = (
    "sweep over versions, screens, keys, options, pictures or recordings, or are large"
)

LEFT_OUT_BY_MARKER = {
    "docker": "need a Docker daemon",
    "cri": "need a CRI runtime",
    "tmux": "need tmux",
    "curl": "need curl",
    "asciinema": "need asciinema",
    "chromium": "need chromium",
    "prometheus": "need prometheus",
    "kubectl": "need kubectl",
    "e2e": "run the installed program",
    "live": "run against the clock for minutes",
    "slow": "take long",
    "sweep": _SWEEP,
}
"""Why a test is not quick, by its marker."""

AGAINST_THE_CLOCK = (
    "tests/e2e/",
    "tests/hostile/",
    "tests/runtimes/process/",
    "tests/runtimes/test_process.py",
)
"""Tests that wait for real processes and servers."""

SWEEPS = (
    "tests/architecture/test_dependencies.py",
    "tests/architecture/test_docstrings.py",
    "tests/cli/test_command_options.py",
    "tests/cli/test_lessons.py",
    "tests/cli/test_named_outputs.py",
    "tests/cli/test_options.py",
    "tests/cluster/observe/test_feed.py",
    "tests/cluster/test_recorded_api_server.py",
    "tests/cluster/test_watch_command.py",
    "tests/conformance/test_evaluator.py",
    "tests/drive/test_kept_tasks.py",
    "tests/images/",
    "tests/presentation/container/test_why_agrees.py",
    "tests/runtimes/cri/test_kubelet_neighbour.py",
    "tests/traces/test_versions.py",
    "tests/tui/test_colours.py",
    "tests/tui/test_command_line.py",
    "tests/tui/test_containers.py",
    "tests/tui/test_debugging.py",
    "tests/tui/test_events_screen.py",
    "tests/tui/test_help.py",
    "tests/tui/test_hostile_text.py",
    "tests/tui/test_key_bursts.py",
    "tests/tui/test_keys.py",
    "tests/tui/test_live_updates.py",
    "tests/tui/test_logs_screen.py",
    "tests/tui/test_output_pane.py",
    "tests/tui/test_pages.py",
    "tests/tui/test_painted_bytes.py",
    "tests/tui/test_painting.py",
    "tests/tui/test_pictures.py",
    "tests/tui/test_play_pictures.py",
    "tests/tui/test_playback.py",
    "tests/tui/test_program_actions.py",
    "tests/tui/test_reading_pictures.py",
    "tests/tui/test_refusals.py",
    "tests/tui/test_screen_rules.py",
    "tests/tui/test_sorting.py",
    "tests/tui/test_styled_text.py",
    "tests/tui/test_themes.py",
    "tests/tui/test_understanding.py",
    "tests/tui/test_write_manifest.py",
)
"""Files that take long and that hardly any change of another room breaks.

A single test or value of this kind is marked `sweep`.
"""

LEFT_OUT_BY_PATH = {
    AGAINST_THE_CLOCK: "run processes and servers against the clock",
    SWEEPS: _SWEEP,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that select tests of the whole suite."""
    group = parser.getgroup("probetui")
    for selection, description in (
        (Selection.SWEEPS, "the quick tests and the sweeps, as coverage does"),
        (Selection.REST, "the tests that need engines, a terminal or time"),
        (Selection.ALL, "every test"),
    ):
        group.addoption(
            f"--{selection}",
            dest="selection",
            action="store_const",
            const=selection,
            default=Selection.QUICK,
            help=f"run {description}",
        )
    group.addoption(
        "--case",
        default="",
        metavar="TEXT",
        help="in tests with many cases, run only cases whose name contains TEXT",
    )


def selected_tests(config: pytest.Config) -> Selection:
    """Return which tests to run: all that were collected, if the user selected some."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if hasattr(config, "workerinput"):  # xdist passes the paths as arguments
        is_whole = config.workerinput["is_whole"]
    is_filtered = (
        config.option.keyword
        or config.option.markexpr
        or getattr(config.option, "lf", False)
    )
    if not is_whole or is_filtered:
        return Selection.ALL
    return Selection(config.getoption("selection"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass to an xdist worker whether the whole suite is run."""
    is_whole = node.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    node.workerinput["is_whole"] = is_whole


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole suite in several processes, unless options request otherwise."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    # An xdist worker has no workers of its own.
    is_controller = not hasattr(config, "workerinput")
    if not (is_whole and is_controller and config.getoption("numprocesses", 0) is None):
        return
    if selected_tests(config) in {Selection.QUICK, Selection.SWEEPS}:
        # One more than there are cores, as some tests wait; each imports all tests.
        config.option.numprocesses = max(2, min((os.cpu_count() or 1) + 1, 8))
        config.option.dist = "worksteal"
    else:
        config.option.numprocesses = REST_PROCESSES
        config.option.dist = "loadscope"
        config.option.loadscopereorder = False


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse a path that is left out of quick runs and is not there any more."""
    for path in (path for paths in LEFT_OUT_BY_PATH for path in paths):
        if not (session.config.rootpath / path).exists():
            raise pytest.UsageError(f"{path} of tests/conftest.py is not there")


def pytest_report_header(config: pytest.Config) -> str:
    """Say what is run, before the seconds that it takes to import it."""
    selection, processes = selected_tests(config), config.option.numprocesses
    if not isinstance(processes, int):
        return ""
    files = sum(
        pytest_ignore_collect(path, config) is None
        for path in (config.rootpath / "tests").rglob("test_*.py")
    )
    return f"{selection} tests: {files} files; {processes} processes import them first"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep collected tests out of garbage collection, because all of them stay.

    The collector would otherwise go through a million objects a thousand times, a third
    of a second each time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a file of which nothing will run."""
    ignored = {
        Selection.QUICK: (*AGAINST_THE_CLOCK, *SWEEPS),
        Selection.SWEEPS: AGAINST_THE_CLOCK,
    }.get(selected_tests(config))
    path = collection_path.relative_to(config.rootpath).as_posix()
    name = f"{path}/" if collection_path.is_dir() else path
    return True if ignored and name.startswith(ignored) else None


def not_quick_reason(item: pytest.Item) -> str:
    """Return why a test is not quick, an empty string if it is."""
    for marker, reason in LEFT_OUT_BY_MARKER.items():
        if item.get_closest_marker(marker) is not None:
            return reason
    for paths, reason in LEFT_OUT_BY_PATH.items():
        if item.nodeid.startswith(paths):
            return reason
    return ""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Select tests and sort them: folders that run serially first, live suites last.

    The live suites need an idle machine; by then everything that computes has ended.
    """
    selection = selected_tests(config)
    if selection is not Selection.ALL:
        reasons = [not_quick_reason(item) for item in items]
        is_rest = selection is Selection.REST
        computes = {"", _SWEEP} if selection is not Selection.QUICK else {""}
        left_out = [
            item
            for item, reason in zip(items, reasons, strict=True)
            if (reason in computes) is is_rest
        ]
        config.hook.pytest_deselected(items=left_out)
        selected = set(items).difference(left_out)
        items[:] = [item for item in items if item in selected]
        if not is_rest:
            left_out_files = count_left_out_files(config)
            summary_sections(config)["left out"] = describe_left_out(
                Counter(reasons), left_out_files
            )
    # Every process of xdist sorts: all must collect the tests in the same order.
    items.sort(
        key=lambda item: (_live_position(item), not item.nodeid.startswith(LONGEST))
    )


def _live_position(item: pytest.Item) -> int:
    """Return the position of a test among the live ones; -1 for others."""
    mark = item.get_closest_marker("live")
    return -1 if mark is None else mark.kwargs["turn"]


def count_left_out_files(config: pytest.Config) -> Counter[str]:
    """Return the numbers of files that are not imported, by reason."""
    counts: Counter[str] = Counter()
    for paths, reason in LEFT_OUT_BY_PATH.items():
        for path in (config.rootpath / path for path in paths):
            if pytest_ignore_collect(path, config):
                files = path.rglob("test_*.py") if path.is_dir() else [path]
                counts[reason] += len(list(files))
    return counts


def describe_left_out(reasons: Counter[str], files: Counter[str]) -> str:
    """Return how many tests a quick run left out, why, and how to run them."""
    lines = [
        f"{count:6,} {what} {reason}"
        for what, counts in (("files", files), ("tests", reasons))
        for reason, count in counts.most_common()
        if reason
    ]
    return "\n".join(
        (
            *lines,
            "Run them with: pytest --sweeps, pytest --rest",
            "On Debian, tools/engines/*.sh set up the engines.",
        )
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Producer
) -> LoadScopeScheduling | None:
    """Distribute the tests that are not quick by file."""
    return RestScheduling(config, log) if config.option.dist == "loadscope" else None


SUMMARY_SECTIONS = pytest.StashKey[dict[str, str]]()


def summary_sections(config: pytest.Config) -> dict[str, str]:
    """Return the sections of the terminal summary by heading; callers add to it."""
    output = getattr(config, "workeroutput", None)
    if output is not None:  # in a worker: the controller prints
        sections: dict[str, str] = output.setdefault("summary_sections", {})
        return sections
    return config.stash.setdefault(SUMMARY_SECTIONS, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over the summary sections of a worker."""
    summary_sections(node.config).update(
        getattr(node, "workeroutput", {}).get("summary_sections", {})
    )


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the summary sections."""
    for heading, text in summary_sections(config).items():
        terminalreporter.section(heading)
        terminalreporter.write_line(text)


class RestScheduling(LoadScopeScheduling):  # type: ignore[misc]  # it comes without types
    """Distributes tests by file, or by folder where these must run serially."""

    def _split_scope(self, nodeid: str) -> str:
        """Return the scope of a test; the base class calls this method."""
        for folder in SERIAL_FOLDERS:
            if nodeid.startswith(folder):
                return folder
        file = nodeid.partition("::")[0]
        return LIVE_SCOPE if file in LIVE_SUITES else file

    def _reschedule(self, node: Any) -> None:
        """Assign more tests to a worker; live suites wait until the others are done."""
        others = [
            other
            for other in self.nodes
            if other is not node and not other.shutting_down
        ]
        if others and set(self.workqueue) == {LIVE_SCOPE}:
            node.shutdown()
        else:
            super()._reschedule(node)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test without its engine, or fail it.

    This comes before fixtures, whatever their scope, that would need the engine.
    """
    for name, find_problem in ENGINES.items():
        if item.get_closest_marker(name) is None:
            continue
        reason = find_problem()
        if reason is None:
            continue
        if is_required(name):
            pytest.fail(f"{name} is required, but: {reason}", pytrace=False)
        pytest.skip(f"{name}: {reason}")
