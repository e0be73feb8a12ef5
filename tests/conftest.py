"""What holds for all tests: which engines must be there, how hard hypothesis tries.

`PROBETUI_REQUIRE_ENGINES` names engines, apart by commas, that must be there: their
tests then fail where they would otherwise be skipped.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import docker
import docker.errors
import pytest
import requests
from hypothesis import settings

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


@cache
def _why_no_docker() -> str | None:
    """Return why there is no Docker daemon to test with, None if there is one."""
    try:
        client = docker.from_env(timeout=10)
    except docker.errors.DockerException as error:
        return str(error)
    try:
        client.ping()
    except (docker.errors.DockerException, requests.RequestException) as error:
        return str(error)
    finally:
        client.close()
    return None


ENGINES: dict[str, Callable[[], str | None]] = {"docker": _why_no_docker}


@pytest.fixture(autouse=True)
def _engine(request: pytest.FixtureRequest) -> None:
    """Skip a test whose engine is not there, or fail it if it must be."""
    for name, why_not in ENGINES.items():
        if request.node.get_closest_marker(name) is None:
            continue
        reason = why_not()
        if reason is None:
            continue
        if name in REQUIRED_ENGINES:
            pytest.fail(f"{name} is required, but: {reason}")
        pytest.skip(f"no {name} engine: {reason}")
