"""What is published: a wheel made of the sdist, in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.e2e.program import SAMPLES, Program

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 900
"""Its dependencies are downloaded."""

IN_A_RELEASE = (
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "SECURITY.md",
    "pyproject.toml",
    ".pre-commit-hooks.yaml",
)
HOOK = """\
repos:
  - repo: {repository}
    rev: {revision}
    hooks: [{{id: probetui-check}}]
"""


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sdist and the wheel that was made from it."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "-o", folder, ROOT, within=folder)
    return folder


@pytest.fixture(scope="module")
def installed(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program of an environment that has the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    _run(sys.executable, "-m", "venv", folder, within=folder)
    _run(
        folder / "bin/pip", "install", "-q", _only(distributions, ".whl"), within=folder
    )
    return folder / "bin/probetui"


def _tried(
    *command: str | Path, within: Path, home: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with a home of its own if one is given."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command,
        cwd=within,
        env=kept if home is None else {**kept, "PRE_COMMIT_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def _run(*command: str | Path, within: Path) -> str:
    done = _tried(*command, within=within)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _repository(folder: Path) -> str:
    """Make a folder a repository of Git, and return its only commit."""
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
    _run("git", "init", "-q", within=folder)
    _run("git", "add", "--all", within=folder)
    _run("git", *identity, "commit", "-q", "-m", "all of it", within=folder)
    return _run("git", "rev-parse", "HEAD", within=folder).strip()


def _only(folder: Path, suffix: str) -> Path:
    (found,) = (path for path in folder.iterdir() if path.name.endswith(suffix))
    return found


def _files(folder: str) -> set[str]:
    """Return the files of a folder of the checkout, without what Python made."""
    return {
        str(path.relative_to(ROOT))
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_every_file_of_the_package_and_no_other(
    distributions: Path,
) -> None:
    with zipfile.ZipFile(_only(distributions, ".whl")) as wheel:
        files = {name for name in wheel.namelist() if ".dist-info/" not in name}

    assert files == {name.removeprefix("src/") for name in _files("src")}


def test_the_sdist_holds_what_a_packager_needs(distributions: Path) -> None:
    with tarfile.open(_only(distributions, ".tar.gz")) as sdist:
        files = {name.partition("/")[2] for name in sdist.getnames()}

    lacking = {*IN_A_RELEASE, *_files("src"), *_files("sample_pods")} - files
    assert lacking == set()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("version",), version("probetui"), id="version"),
        pytest.param(("demo", "--list"), "startup-window", id="lessons"),
        pytest.param(
            ("check", "-f", str(SAMPLES / "exec-liveness.yaml")), "", id="check"
        ),
        pytest.param(("schema",), '"$schema"', id="schema"),
        pytest.param(("completion", "bash"), "_PROBETUI_COMPLETE", id="completion"),
    ],
)
def test_the_wheel_alone_runs(
    arguments: tuple[str, ...], said: str, installed: Path, tmp_path: Path
) -> None:
    done = Program(tmp_path, executable=installed).run(*arguments)

    assert done.returncode == 0, done.stderr
    assert said in done.stdout


def test_the_wheel_alone_shows_a_kill_and_the_restart(
    installed: Path, tmp_path: Path
) -> None:
    done = Program(tmp_path, executable=installed).run(
        *("demo", "liveness", "--runtime", "sim", "--plain", "--for", "2m")
    )

    assert done.returncode == 0, done.stderr
    assert " run 3/3 kill " in done.stdout
    assert " started restart=1" in done.stdout


def test_pre_commit_checks_the_manifests_of_a_repository(
    distributions: Path, tmp_path: Path
) -> None:
    released, manifests = tmp_path / "released", tmp_path / "manifests"
    with tarfile.open(_only(distributions, ".tar.gz")) as sdist:
        sdist.extractall(released, filter="data")
    (repository,) = released.iterdir()
    manifests.mkdir()
    (manifests / ".pre-commit-config.yaml").write_text(
        HOOK.format(repository=repository, revision=_repository(repository))
    )
    (manifests / "good.yaml").write_text((SAMPLES / "exec-liveness.yaml").read_text())
    text = (SAMPLES / "exec-liveness.yaml").read_text()
    (manifests / "bad.yaml").write_text(text.replace("livenessProbe", "livenesProbe"))
    _repository(manifests)

    def check(file: str) -> subprocess.CompletedProcess[str]:
        command = (sys.executable, "-m", "pre_commit", "run", "--files", file)
        return _tried(*command, within=manifests, home=tmp_path / "cache")

    good, bad = check("good.yaml"), check("bad.yaml")

    assert good.returncode == 0, good.stdout + good.stderr
    assert "probetui check" in good.stdout
    assert bad.returncode == 1, bad.stdout + bad.stderr
    assert "bad.yaml" in bad.stdout
    assert "livenesProbe" in bad.stdout
