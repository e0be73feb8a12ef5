"""One command for each habit: `nox -l` lists them, `nox` runs what a commit is held to.

The checks and tests run in the environment that nox was started from. Those on another
Python get an environment of their own, which is kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nox
from nox.command import CommandFailed

HERE = Path(sys.executable).parent

WITHOUT_A_SCREEN = [
    f"tests/{room}"
    for room in [
        "analysis",
        "debugger",
        "drive",
        "engine",
        "golden",
        "headless",
        "k8s",
        "kubelet",
        "manifest",
        "parity",
        "presentation",
        "record",
    ]
]

# A run beside this one has the cache of pytest.
WITHOUT_CACHE = ["-p", "no:cacheprovider"]
COVERAGE = [
    "--sweeps",
    *("-n", "4", "--dist", "worksteal"),
    *("--cov", "--cov-report=term:skip-covered"),
]

nox.options.sessions = ["format", "lint", "types", "imports", "docs", "tests"]
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = False


def run(session: nox.Session, tool: str, *arguments: str) -> None:
    """Run a tool of the environment that nox was started from."""
    session.run(str(HERE / tool), *arguments, *session.posargs, external=True)


@nox.session(venv_backend="none", name="format")
def format_(session: nox.Session) -> None:
    """Check the format: `nox -s format -- .` changes it."""
    arguments = ["format"] if session.posargs else ["format", "--check", "."]
    run(session, "ruff", *arguments)


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Look for what the linter's rules forbid: `-- --fix` mends what it can."""
    run(session, "ruff", "check", ".")


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Check the types of src and tests."""
    run(session, "mypy")


@nox.session(venv_backend="none")
def imports(session: nox.Session) -> None:
    """Check the contracts between layers."""
    run(session, "lint-imports")


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """Run the quick tests: no engine, no terminal, not against the clock."""
    run(session, "pytest")


@nox.session(venv_backend="none")
def rest(session: nox.Session) -> None:
    """Run the tests that need engines, a terminal or time."""
    run(session, "pytest", "--rest")


@nox.session(python=["3.12", "3.13", "3.14"])
def coverage(session: nox.Session) -> None:
    """Run all that needs no engine, and fail below the floor of pyproject.toml.

    From 3.12 on Python itself reports the lines that run, which costs little.
    """
    session.install("-q", "-e", ".[dev]")
    cache = f"build/cache-coverage-{session.python}"
    own_cache = ["-o", f"cache_dir={cache}"]
    try:
        session.run("pytest", *own_cache, *COVERAGE, env={"COVERAGE_CORE": "sysmon"})
    except CommandFailed:
        # As `.ci/run` does with others: a machine that is shared holds up a test now
        # and then. A run without a failed test, below the floor, fails here, too.
        session.run("python", "-m", "tools.failed_tests", cache)
        again = ["--sweeps", "-n", "0", "--last-failed"]
        session.run("pytest", *own_cache, *again, "--last-failed-no-failures", "none")


@nox.session(python=["3.12", "3.13", "3.14"])
def quick(session: nox.Session) -> None:
    """Run the quick tests of all but the screen on another Python, if it is found."""
    session.install("-q", "-e", ".[dev]")
    options = [*WITHOUT_CACHE, "-n", "auto", "-m", "not slow"]
    session.run("pytest", *(session.posargs or (*options, *WITHOUT_A_SCREEN)))


@nox.session(venv_backend="none")
def mutation(session: nox.Session) -> None:
    """Measure how many changes of the code its tests notice: `-- kubelet --sample 100`.

    Without a sample it takes the rooms' names alone, and a night.
    """
    run(session, "python", "-m", "tools.mutation")


@nox.session(venv_backend="none")
def pictures(session: nox.Session) -> None:
    """Draw the screens again that the tests compare: look at them before a commit."""
    run(session, "pytest", "-q", "--snapshot-update", "tests/tui")
    session.run(str(HERE / "python"), "-m", "tools.pictures", external=True)


@nox.session(venv_backend="none")
def docs(session: nox.Session) -> None:
    """Build the site of the docs in build/docs; each warning is an error."""
    run(session, "sphinx-build", "-q", "-W", "--keep-going", "docs", "build/docs")


@nox.session(venv_backend="none")
def messages(session: nox.Session) -> None:
    """Generate the messages of the CRI again."""
    session.run(str(HERE / "python"), "tools/cri_messages.py", external=True)


@nox.session(venv_backend="none")
def release(session: nox.Session) -> None:
    """Make the files of a release in dist: `-- URL` is where they will be found."""
    arguments = ["-m", "tools.release", *session.posargs]
    session.run(str(HERE / "python"), *arguments, external=True)
