"""What holds for all tests: which engines must be there, how hard hypothesis tries.

`PROBETUI_REQUIRE_ENGINES` names engines, apart by commas, that must be there: their
tests then fail where they would otherwise be skipped. tmux counts as one; it must be
there with any other, and wherever `CI` is set.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import settings

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

REQUIRED_ENGINES = frozenset(
    filter(None, os.environ.get("PROBETUI_REQUIRE_ENGINES", "").split(","))
)


def is_required(name: str) -> bool:
    """Tell whether tests must not go without an engine."""
    is_checked = bool(REQUIRED_ENGINES or os.environ.get("CI"))
    return name in REQUIRED_ENGINES or (name == "tmux" and is_checked)


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


def _why_no_tmux() -> str | None:
    """Return why there is no terminal to test with, None if there is one."""
    return None if shutil.which("tmux") else "tmux is not installed"


ENGINES: dict[str, Callable[[], str | None]] = {
    "docker": _why_no_docker,
    "cri": _why_no_cri,
    "tmux": _why_no_tmux,
}


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
