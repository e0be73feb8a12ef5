"""What holds for all tests: which engines must be there, how hard hypothesis tries.

`PROBETUI_REQUIRE_ENGINES` names engines, apart by commas, that must be there: their
tests then fail where they would otherwise be skipped. Tools (tmux, curl) count too;
they must be there with any engine, and wherever `CI` is set.

The whole suite runs in two processes: one for all that waits (for engines, for the
installed program, for the clock), one for what computes. A part of it runs in one.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from enum import StrEnum
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.engines import CRI_ENDPOINT

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

WAITING_FOLDERS = tuple(
    f"tests/{each}/" for each in ("conformance", "e2e", "runtimes", "traces")
)

REQUIRED_ENGINES = frozenset(
    filter(None, os.environ.get("PROBETUI_REQUIRE_ENGINES", "").split(","))
)


TOOLS = frozenset({"tmux", "curl"})


def is_required(name: str) -> bool:
    """Tell whether tests must not go without an engine."""
    is_checked = bool(REQUIRED_ENGINES or os.environ.get("CI"))
    return name in REQUIRED_ENGINES or (name in TOOLS and is_checked)


@cache
def _why_no_docker() -> str | None:
    """Return why there is no Docker daemon to test with, None if there is one."""
    # Half a second that only tests with an engine need.
    from probetui.runtimes.docker import connection  # noqa: PLC0415

    places = connection.endpoints(None, None, os.environ)
    tried = list(connection.attempts(places))
    if tried[-1].api is None:
        return str(connection.unavailable(tried))
    tried[-1].api.close()
    return None


@cache
def _why_no_cri() -> str | None:
    """Return why there is no CRI runtime to test with, None if there is one."""
    # Time that only tests with an engine need.
    from probetui.runtimes.cri import connection, endpoints  # noqa: PLC0415

    async def look() -> str | None:
        tried = []
        async for each in connection.attempts(endpoints.endpoints(CRI_ENDPOINT)):
            if isinstance(each.result, connection.Found):
                await each.result.client.close()
                return None
            tried.append(each)
        return str(connection.unavailable(tried))

    return asyncio.run(look())


def _why_no_tool(name: str) -> str | None:
    """Return why a tool cannot be used, None if it can."""
    return None if shutil.which(name) else f"{name} is not installed"


ENGINES: dict[str, Callable[[], str | None]] = {
    "docker": _why_no_docker,
    "cri": _why_no_cri,
    **{name: partial(_why_no_tool, name) for name in TOOLS},
}


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole suite in two processes, unless something else was asked for."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    # What xdist started has no processes of its own.
    is_first = not hasattr(config, "workerinput")
    if is_whole and is_first and config.getoption("numprocesses", 0) is None:
        config.option.numprocesses = len(Lane)
        config.option.dist = "loadscope"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests against the clock last: what computes is over by then."""
    items.sort(key=lambda each: each.get_closest_marker("live") is not None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Producer
) -> LoadScopeScheduling | None:
    """Give each process its kind of tests."""
    return Lanes(config, log) if config.option.dist == "loadscope" else None


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


class Lane(StrEnum):
    """Kinds of tests: one computes while the other waits."""

    WAITING = "waiting"
    COMPUTING = "computing"


class Lanes(LoadScopeScheduling):  # type: ignore[misc]  # it comes without types
    """Hands out tests a lane at a time."""

    def _split_scope(self, nodeid: str) -> str:
        """Return the lane of a test; its base class has no other name for that."""
        is_waiting = nodeid.startswith(WAITING_FOLDERS)
        return Lane.WAITING if is_waiting else Lane.COMPUTING


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
