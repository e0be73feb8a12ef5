"""The published files: a release built from a checkout, and its installation."""

from __future__ import annotations

import email
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from probetui.cli.main import COMMANDS
from tests.checkout import ROOT, copy_checkout
from tests.e2e.program import SAMPLES, Program
from tests.engines import KUBECTL

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PATIENCE_SECONDS = 900
"""Its dependencies are downloaded."""

IN_A_RELEASE = (
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "SECURITY.md",
    "pyproject.toml",
    ".pre-commit-hooks.yaml",
    "action.yml",
    "Containerfile",
    "packaging/k9s/plugins.yaml",
    "packaging/grafana/probes.json",
)
CHECK_SCHEMA = (sys.executable, "-m", "check_jsonschema")
KREW_SCHEMA = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "krew.googlecontainertools.github.com/v1alpha2"},
        "kind": {"const": "Plugin"},
        "metadata": {"properties": {"name": {"const": "probetui"}}},
        "spec": {
            "required": ["version", "shortDescription", "platforms"],
            "additionalProperties": False,
            "properties": {
                "version": {"pattern": r"^v\d+\.\d+\.\d+$"},
                "homepage": {"type": "string"},
                "shortDescription": {"pattern": "^[^\r\n]{1,50}$"},
                "description": {"type": "string"},
                "caveats": {"type": "string"},
                "platforms": {
                    "minItems": 1,
                    "items": {
                        "required": ["selector", "uri", "sha256", "bin"],
                        "additionalProperties": False,
                        "properties": {
                            "selector": {
                                "properties": {
                                    "matchExpressions": {
                                        "minItems": 1,
                                        "items": {
                                            "properties": {
                                                "key": {"enum": ["os", "arch"]}
                                            }
                                        },
                                    }
                                }
                            },
                            "uri": {"pattern": "^https://.*\\.(zip|tar\\.gz)$"},
                            "sha256": {"pattern": "^[a-f0-9]{64}$"},
                            "bin": {"const": "kubectl-probetui"},
                        },
                    },
                },
            },
        },
    },
}
"""The rules of krew. Source: krew, validation/validate.go, ValidatePlugin."""
URL = "https://example.invalid/v0"
BESIDE = r"probetui-[^/]*\.(dist-info|data)/"
HOOK = """\
repos:
  - repo: {repository}
    rev: {revision}
    hooks: [{{id: probetui-check}}]
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the files in Git."""
    folder = tmp_path_factory.mktemp("checkout")
    copy_checkout(folder)
    return folder


@pytest.fixture(scope="module")
def distributions(checkout: Path) -> Path:
    """Return a folder with all files of a release."""
    folder = checkout / "dist"
    _run(sys.executable, "-m", "tools.release", URL, folder, within=checkout)
    return folder


@pytest.fixture(scope="module")
def installed(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program in an environment with the wheel only."""
    folder = tmp_path_factory.mktemp("environment")
    _run(sys.executable, "-m", "venv", folder, within=folder)
    _run(
        folder / "bin/pip",
        "install",
        "-q",
        _only(distributions, "*.whl"),
        within=folder,
    )
    return folder / "bin/probetui"


def _run_unchecked(
    *command: str | Path, within: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with additional environment variables."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command,
        cwd=within,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def _run(*command: str | Path, within: Path) -> str:
    done = _run_unchecked(*command, within=within)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _repository(folder: Path) -> str:
    """Create a Git repository in a folder, and return its only commit."""
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
    _run("git", "init", "-q", within=folder)
    _run("git", "add", "--all", within=folder)
    _run("git", *identity, "commit", "-q", "-m", "all of it", within=folder)
    return _run("git", "rev-parse", "HEAD", within=folder).strip()


def _only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def _files(folder: str) -> set[str]:
    """Return the files of a folder of the checkout, without compiled ones."""
    return {
        str(path.relative_to(ROOT))
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_has_exactly_the_files_of_the_package(
    distributions: Path,
) -> None:
    with zipfile.ZipFile(_only(distributions, "*.whl")) as wheel:
        files = {name for name in wheel.namelist() if not re.match(BESIDE, name)}

    causes = {
        name.replace("docs/causes", "probetui/cli/causes")
        for name in _files("docs/causes")
    }
    assert files == {name.removeprefix("src/") for name in _files("src")} | causes


def test_the_description_names_pages_by_their_paths_in_the_sdist(
    distributions: Path,
) -> None:
    with zipfile.ZipFile(_only(distributions, "*.whl")) as wheel:
        (name,) = (
            member for member in wheel.namelist() if member.endswith("/METADATA")
        )
        description = email.message_from_bytes(wheel.read(name))

    assert description["Description-Content-Type"] == "text/markdown"
    assert "Project-URL" not in description
    text = str(description.get_payload())
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert all(link.startswith("https://") for link in links), links
    pages = re.findall(r"\b(?:[\w-]+/)*[\w-]+\.md\b", text)
    assert len(pages) > 20
    assert [page for page in pages if not (ROOT / page).is_file()] == []


def test_the_sdist_has_the_files_that_packagers_need(distributions: Path) -> None:
    with tarfile.open(_only(distributions, "probetui-*.tar.gz")) as sdist:
        files = {name.partition("/")[2] for name in sdist.getnames()}

    lacking = {*IN_A_RELEASE, *_files("src"), *_files("sample_pods")} - files
    assert lacking == set()


def test_the_wheel_installs_a_man_page_for_each_command(installed: Path) -> None:
    pages = {path.stem for path in (installed.parents[1] / "share/man/man1").iterdir()}

    assert pages >= {f"probetui-{name}" for name in COMMANDS} | {"probetui"}
    text = (installed.parents[1] / "share/man/man1/probetui-check.1").read_text()
    assert COMMANDS["check"].help in text
    assert "\\-\\-kubelet" in text


def test_the_checksums_are_those_of_all_files(distributions: Path) -> None:
    lines = (distributions / "SHA256SUMS").read_text().splitlines()
    names = {path.name for path in distributions.iterdir()} - {"SHA256SUMS"}

    sums = {
        name: digest for digest, _, name in (line.partition("  ") for line in lines)
    }
    assert sums == {
        name: hashlib.sha256((distributions / name).read_bytes()).hexdigest()
        for name in names
    }


def test_the_notes_are_the_changelogs_section(distributions: Path) -> None:
    notes = (distributions / "NOTES.md").read_text()

    assert notes.startswith("### ")
    assert notes.strip() in (ROOT / "CHANGELOG.md").read_text()
    assert not re.search("^## ", notes, re.MULTILINE)


def test_the_list_of_components_has_what_the_wheel_installs(
    distributions: Path, installed: Path
) -> None:
    listed = json.loads((distributions / "probetui.cdx.json").read_text())

    frozen = _run(installed.parent / "pip", "freeze", within=installed.parent)
    names = {re.split("[= @]", line)[0] for line in frozen.splitlines()}
    assert listed["bomFormat"] == "CycloneDX"
    assert listed["metadata"]["component"]["name"] == "probetui"
    found = {component["name"] for component in listed["components"]}
    assert {_plain(name) for name in found | {"probetui"}} == {
        _plain(name) for name in names
    }


def _plain(name: str) -> str:
    """Return the normalized name of a package."""
    return re.sub("[-_.]+", "-", name).lower()


def test_the_manifest_for_krew_is_valid_and_names_the_archive(
    distributions: Path, tmp_path: Path
) -> None:
    manifest = yaml.safe_load((distributions / "probetui.yaml").read_text())
    (tmp_path / "krew.json").write_text(json.dumps(KREW_SCHEMA))
    schema = ("--schemafile", tmp_path / "krew.json")

    _run(*CHECK_SCHEMA, *schema, distributions / "probetui.yaml", within=tmp_path)

    (platform,) = manifest["spec"]["platforms"]
    archive = distributions / platform["uri"].removeprefix(f"{URL}/")
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()


def test_kubectl_runs_the_plugin_as_krew_installs_it(
    distributions: Path, tmp_path: Path
) -> None:
    store, bin_ = tmp_path / "store", tmp_path / "bin"
    bin_.mkdir()
    with tarfile.open(_only(distributions, "kubectl-*.tar.gz")) as archive:
        archive.extractall(store, filter="data")
    (bin_ / "kubectl-probetui").symlink_to(store / "kubectl-probetui")
    (bin_ / "kubectl").symlink_to(KUBECTL)
    plain = f"{bin_}:/usr/bin:/bin"

    without = _run_unchecked(
        KUBECTL, "probetui", "version", within=tmp_path, PATH=plain
    )
    (bin_ / "uv").symlink_to(KUBECTL.parent / "uv")
    with_uv = _run_unchecked(
        KUBECTL, "probetui", "version", within=tmp_path, PATH=plain
    )

    assert without.returncode == 127
    assert "needs uv" in without.stderr
    assert with_uv.stdout == f"probetui {version('probetui')}\n", with_uv.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(("version",), version("probetui"), id="version"),
        pytest.param(("demo", "--list"), "startup-window", id="lessons"),
        pytest.param(("why", "--page", "exited"), "## What to do", id="pages"),
        pytest.param(
            ("check", "-f", str(SAMPLES / "exec-liveness.yaml")), "", id="check"
        ),
        pytest.param(("schema",), '"$schema"', id="schema"),
        pytest.param(("completion", "bash"), "_PROBETUI_COMPLETE", id="completion"),
    ],
)
def test_the_wheel_alone_runs(
    arguments: tuple[str, ...], expected: str, installed: Path, tmp_path: Path
) -> None:
    done = Program(tmp_path, executable=installed).run(*arguments)

    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


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
    with tarfile.open(_only(distributions, "probetui-*.tar.gz")) as sdist:
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
        return _run_unchecked(
            *command, within=manifests, PRE_COMMIT_HOME=str(tmp_path / "cache")
        )

    good, bad = check("good.yaml"), check("bad.yaml")

    assert good.returncode == 0, good.stdout + good.stderr
    assert "probetui check" in good.stdout
    assert bad.returncode == 1, bad.stdout + bad.stderr
    assert "bad.yaml" in bad.stdout
    assert "livenesProbe" in bad.stdout
