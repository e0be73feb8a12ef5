"""What holds for all tests: which of them run, where, and with what engines.

`pytest` alone runs the quick tests: no engine, no terminal, not against the clock. Its
last lines say what it left out. `pytest --rest` runs just that, `pytest --all` both.
Where files, `-k` or `-m` say what to run, that is run.

`PROBETUI_REQUIRE_ENGINES` names engines, apart by commas, that must be there: their
tests then fail where they would otherwise be skipped. Tools (tmux, curl,
kubectl, asciinema) count too; they must be there with any engine, and wherever `CI`
is set.

Quick tests share the machine's cores. The rest mostly waits, for engines, the installed
program or the clock: four processes share it a file at a time.
"""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
from collections import Counter
from collections.abc import Callable, Generator
from enum import StrEnum
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.engines import CRI_ENDPOINT, tool_path

# The contract's assertions explain themselves, like those of a test module. Whoever
# imports one of these first, this has to come before.
pytest.register_assert_rewrite(
    "tests.runtimes.bench",
    "tests.runtimes.contract",
    "tests.runtimes.exec_contract",
    "tests.runtimes.capability_contract",
    "tests.runtimes.message_contract",
    "tests.runtimes.volume_contract",
)

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("nightly", deadline=None, max_examples=2000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE")
    or ("ci" if os.environ.get("CI") else "default")
)

ONE_AFTER_THE_OTHER = ("tests/runtimes/docker/", "tests/runtimes/cri/")
"""Folders whose tests change what an engine has for all: images, networks."""

LONGEST = (*ONE_AFTER_THE_OTHER, "tests/docs/test_commands.py")
"""What takes one process minutes: begun last, it would keep the others waiting."""

LIVE_SUITES = (
    "tests/conformance/test_conformance.py",
    "tests/traces/test_live.py",
)
"""Each runs a hundred pods side by side for minutes, beside nothing else."""

LIVE = "live"
"""What these are handed out as."""

REST_PROCESSES = 6

REQUIRED_ENGINES = frozenset(
    filter(None, os.environ.get("PROBETUI_REQUIRE_ENGINES", "").split(","))
)


TOOLS = frozenset({"tmux", "curl", "kubectl", "asciinema"})


def is_required(name: str) -> bool:
    """Return whether tests must not go without an engine."""
    is_checked = bool(REQUIRED_ENGINES or os.environ.get("CI"))
    return name in REQUIRED_ENGINES or (name in TOOLS and is_checked)


@cache
def _why_no_docker() -> str | None:
    """Return why there is no Docker daemon to test with, None if there is one."""
    # Half a second that only tests with an engine need.
    from probetui.runtimes.docker import connection  # noqa: PLC0415

    places = connection.list_endpoints(None, None, os.environ)
    tried = list(connection.try_endpoints(places))
    if tried[-1].api is None:
        return str(connection.unavailable_error(tried))
    tried[-1].api.close()
    return None


@cache
def _why_no_cri() -> str | None:
    """Return why there is no CRI runtime to test with, None if there is one."""
    # Time that only tests with an engine need.
    from probetui.runtimes.cri import connection  # noqa: PLC0415

    async def look() -> str | None:
        tried = []
        async for attempt in connection.try_endpoints(
            connection.list_endpoints(CRI_ENDPOINT)
        ):
            if isinstance(attempt.result, connection.UsableRuntime):
                await attempt.result.client.close()
                return None
            tried.append(attempt)
        return str(connection.unavailable_error(tried))

    return asyncio.run(look())


def _why_no_tool(name: str) -> str | None:
    """Return why a tool cannot be used, None if it can."""
    path = tool_path() if name == "kubectl" else None
    return None if shutil.which(name, path=path) else f"{name} is not installed"


ENGINES: dict[str, Callable[[], str | None]] = {
    "docker": _why_no_docker,
    "cri": _why_no_cri,
    **{name: partial(_why_no_tool, name) for name in TOOLS},
}


class Selection(StrEnum):
    """Which tests a run of the whole suite is about."""

    QUICK = "quick"
    REST = "rest"
    ALL = "all"


LEFT_OUT_BY_MARKER = {
    "docker": "need a Docker daemon",
    "cri": "need a CRI runtime",
    "tmux": "need tmux",
    "curl": "need curl",
    "asciinema": "need asciinema",
    "kubectl": "need kubectl",
    "e2e": "run the installed program",
    "live": "run against the clock for minutes",
    "slow": "take long",
}
"""Why a test is none of the quick ones, by its marker."""

AGAINST_THE_CLOCK = (
    "tests/hostile/",
    "tests/runtimes/process/",
    "tests/runtimes/test_process.py",
)
"""Tests with real processes and servers, which wait for them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what selects tests of the whole suite."""
    group = parser.getgroup("probetui")
    for selection, which in (
        (Selection.REST, "the tests that `pytest` alone leaves out"),
        (Selection.ALL, "every test"),
    ):
        group.addoption(
            f"--{selection}",
            dest="selection",
            action="store_const",
            const=selection,
            default=Selection.QUICK,
            help=f"run {which}",
        )
    group.addoption(
        "--case",
        default="",
        metavar="TEXT",
        help="of tests with many cases, run the cases with this in their name",
    )


def selected_tests(config: pytest.Config) -> Selection:
    """Return which tests are to be run: all, where the user says which."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if hasattr(config, "workerinput"):  # xdist hands on the paths as arguments
        is_whole = config.workerinput["is_whole"]
    is_chosen = (
        config.option.keyword
        or config.option.markexpr
        or getattr(config.option, "lf", False)
    )
    if not is_whole or is_chosen:
        return Selection.ALL
    return Selection(config.getoption("selection"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass on to a process of xdist whether the whole suite is run."""
    is_whole = node.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    node.workerinput["is_whole"] = is_whole


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Share the whole suite among processes, unless something else was asked for."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    # What xdist started has no processes of its own.
    is_first = not hasattr(config, "workerinput")
    if not (is_whole and is_first and config.getoption("numprocesses", 0) is None):
        return
    if selected_tests(config) is Selection.QUICK:
        # Twice the cores: tests of the screen wait as long as they compute.
        config.option.numprocesses = max(2, min(2 * (os.cpu_count() or 1), 8))
        config.option.dist = "worksteal"
    else:
        config.option.numprocesses = REST_PROCESSES
        config.option.dist = "loadscope"
        config.option.loadscopereorder = False


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what is collected out of the collection of garbage: all of it stays.

    Each would go through a million objects, a third of a second, a thousand times.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def why_not_quick(item: pytest.Item) -> str:
    """Return why a test is none of the quick ones, empty if it is one."""
    for marker, reason in LEFT_OUT_BY_MARKER.items():
        if item.get_closest_marker(marker) is not None:
            return reason
    is_waiting = item.nodeid.startswith(AGAINST_THE_CLOCK)
    return "run processes and servers against the clock" if is_waiting else ""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Take the tests that were asked for: the longest files first, live suites last.

    The live ones want a quiet machine, and what computes is over by then.
    """
    selection = selected_tests(config)
    if selection is not Selection.ALL:
        reasons = [why_not_quick(item) for item in items]
        is_rest = selection is Selection.REST
        left_out = [
            item
            for item, reason in zip(items, reasons, strict=True)
            if bool(reason) is not is_rest
        ]
        config.hook.pytest_deselected(items=left_out)
        taken = set(items).difference(left_out)
        items[:] = [item for item in items if item in taken]
        if not is_rest:
            told_at_the_end(config)["left out"] = describe_left_out(Counter(reasons))
    # In every process of xdist, whose tests must come in the same order.
    items.sort(key=lambda item: (_live_turn(item), not item.nodeid.startswith(LONGEST)))


def _live_turn(item: pytest.Item) -> int:
    """Return when a test's turn is among the live ones; -1 for others."""
    mark = item.get_closest_marker("live")
    return -1 if mark is None else mark.kwargs["turn"]


def describe_left_out(reasons: Counter[str]) -> str:
    """Say how many tests a quick run left out, why, and how to run them."""
    del reasons[""]
    lines = [f"{count:6,} tests {reason}" for reason, count in reasons.most_common()]
    return "\n".join(
        (
            *lines,
            "Run them with: pytest --rest",
            "On Debian, tools/engines/*.sh set up the engines.",
        )
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Producer
) -> LoadScopeScheduling | None:
    """Hand out the rest a file at a time."""
    return RestScheduling(config, log) if config.option.dist == "loadscope" else None


TOLD = pytest.StashKey[dict[str, str]]()


def told_at_the_end(config: pytest.Config) -> dict[str, str]:
    """Return what is printed when all is over, by its heading; to be added to."""
    output = getattr(config, "workeroutput", None)
    if output is not None:  # it is another process that prints
        told: dict[str, str] = output.setdefault("told", {})
        return told
    return config.stash.setdefault(TOLD, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what another process has to tell."""
    told_at_the_end(node.config).update(
        getattr(node, "workeroutput", {}).get("told", {})
    )


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print what is to be told."""
    for heading, text in told_at_the_end(config).items():
        terminalreporter.section(heading)
        terminalreporter.write_line(text)


class RestScheduling(LoadScopeScheduling):  # type: ignore[misc]  # it comes without types
    """Hands out tests a file at a time, or a folder."""

    def _split_scope(self, nodeid: str) -> str:
        """Return what a test is handed out with; its base class has no other name."""
        for folder in ONE_AFTER_THE_OTHER:
            if nodeid.startswith(folder):
                return folder
        file = nodeid.partition("::")[0]
        return LIVE if file in LIVE_SUITES else file

    def _reschedule(self, node: Any) -> None:
        """Give a process more to do; what is live waits until the others are done."""
        others = [
            one for one in self.nodes if one is not node and not one.shutting_down
        ]
        if others and set(self.workqueue) == {LIVE}:
            node.shutdown()
        else:
            super()._reschedule(node)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test without its engine, or fail it.

    This comes before fixtures, whatever their scope, that would need the engine.
    """
    for name, why_not in ENGINES.items():
        if item.get_closest_marker(name) is None:
            continue
        reason = why_not()
        if reason is None:
            continue
        if is_required(name):
            pytest.fail(f"{name} is required, but: {reason}", pytrace=False)
        pytest.skip(f"{name}: {reason}")
