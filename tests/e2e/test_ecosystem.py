"""Files for other programs: GitHub, k9s, an image builder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from string import Template
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.checkout import ROOT, copy_checkout
from tests.e2e.program import SAMPLES

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ACTION = ROOT / "action.yml"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
K9S = ROOT / "packaging" / "k9s" / "plugins.yaml"
K9S_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["plugins"],
    "properties": {
        "plugins": {
            "additionalProperties": {
                "required": ["shortCut", "description", "scopes", "command"],
                "additionalProperties": False,
                "properties": {
                    "shortCut": {"type": "string"},
                    "description": {"type": "string"},
                    "scopes": {"type": "array", "items": {"type": "string"}},
                    "command": {"type": "string"},
                    "args": {"type": "array", "items": {"type": ["string", "number"]}},
                },
            }
        }
    },
}
"""The keys of a plugin that we use. Source: k9s, json/schemas/plugins.json."""
BASE = "localhost/probetui-debian:1"
IMAGE = "localhost/probetui-of-a-test"
PATIENCE_SECONDS = 600


def run_command(
    *command: str | Path, within: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=within,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def output(*command: str | Path, within: Path, **variables: str) -> str:
    done = run_command(*command, within=within, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        pytest.param("vendor.github-actions", ACTION, id="action"),
        *(
            pytest.param("vendor.github-issue-forms", form, id=form.stem)
            for form in FORMS
        ),
        *(
            pytest.param("vendor.github-workflows", workflow, id=workflow.stem)
            for workflow in WORKFLOWS
        ),
        pytest.param(
            "vendor.dependabot", ROOT / ".github" / "dependabot.yml", id="dependabot"
        ),
        pytest.param(
            "vendor.github-issue-config", FORMS[0].with_name("config.yml"), id="config"
        ),
    ],
)
def test_files_for_github_conform_to_its_schemas(
    schema: str, file: Path, tmp_path: Path
) -> None:
    check = (sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema)
    output(*check, file, within=tmp_path)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_ci_runs_and_may_only_read(workflow: Path) -> None:
    content = yaml.safe_load(workflow.read_text(encoding="utf-8"))

    steps = [step for job in content["jobs"].values() for step in job["steps"]]
    assert "bash .ci/run" in {step.get("run") for step in steps}
    assert content["permissions"] == {"contents": "read"}


def test_the_pythons_of_the_workflow_are_those_that_the_package_claims() -> None:
    content = yaml.safe_load((WORKFLOWS[0]).read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    prefix = "Programming Language :: Python :: 3."
    claimed = [
        f"3.{name.removeprefix(prefix)}"
        for name in project["project"]["classifiers"]
        if name.startswith(prefix)
    ]
    assert content["jobs"]["pythons"]["strategy"]["matrix"]["python"] == claimed


def test_the_plugins_are_valid_for_k9s(tmp_path: Path) -> None:
    schema = tmp_path / "k9s.json"
    schema.write_text(json.dumps(K9S_SCHEMA))
    check = (sys.executable, "-m", "check_jsonschema", "--schemafile", schema)

    output(*check, K9S, within=tmp_path)


def test_every_plugin_of_k9s_is_a_valid_watch_command(tmp_path: Path) -> None:
    plugins = yaml.safe_load(K9S.read_text())["plugins"].values()
    # Values that k9s inserts for the variables; there is no such server.
    (tmp_path / "config").write_text(
        "{apiVersion: v1, kind: Config, current-context: c,"
        " contexts: [{name: c, context: {cluster: c, user: u}}],"
        " clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}],"
        " users: [{name: u, user: {}}]}"
    )
    values = {"NAME": "web", "POD": "web-0", "NAMESPACE": "shop", "CONTEXT": "c"}

    for plugin in plugins:
        for scope in plugin["scopes"]:
            named = {**values, "RESOURCE_NAME": scope}
            words = [Template(word).substitute(named) for word in plugin["args"]]
            done = run_command(
                *(sys.executable, "-m", plugin["command"], *words, "--plain"),
                within=tmp_path,
                KUBECONFIG=str(tmp_path / "config"),
            )
            assert "127.0.0.1:9" in done.stderr, (words, done.stderr)


@pytest.fixture(scope="module")
def action(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run the install step of the action; return the variables for its later steps."""
    folder = tmp_path_factory.mktemp("runner")
    source = folder / "action"
    copy_checkout(source)
    path = folder / "path"
    variables = {
        "RUNNER_TEMP": str(folder),
        "GITHUB_ACTION_PATH": str(source),
        "GITHUB_PATH": str(path),
    }
    (step, *_) = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    output("bash", "-c", step["run"], within=folder, **variables)
    added = os.pathsep.join([*path.read_text().split(), os.environ["PATH"]])
    return {**variables, "PATH": added}


def run_step(
    name: str, action: dict[str, str], within: Path, **inputs: str
) -> subprocess.CompletedProcess[str]:
    """Run a step of the action with its inputs, as a runner does."""
    described = yaml.safe_load(ACTION.read_text())
    (step,) = (step for step in described["runs"]["steps"] if step["name"] == name)
    values = {
        key: inputs.get(key, about.get("default", ""))
        for key, about in described["inputs"].items()
    }
    variables = {
        key: re.sub(
            r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: values[found[1]], text
        )
        for key, text in step["env"].items()
    }
    return run_command("bash", "-c", step["run"], within=within, **action, **variables)


def test_the_action_annotates_problems_and_writes_sarif(
    action: dict[str, str], tmp_path: Path
) -> None:
    text = (SAMPLES / "exec-liveness.yaml").read_text()
    (tmp_path / "with blank").mkdir()
    bad = tmp_path / "with blank" / "bad.yaml"
    renamed = text.replace("name: exec-liveness", "name: another")
    bad.write_text(renamed.replace("livenessProbe", "livenesProbe"))
    (tmp_path / "good.yaml").write_text(text)

    good = run_step("Check the manifests", action, tmp_path, files="good.yaml\n")
    wrong = run_step(
        *("Check the manifests", action, tmp_path),
        files="good.yaml\nwith blank/bad.yaml",
        sarif="wrong.sarif",
    )

    assert good.returncode == 0, good.stdout + good.stderr
    assert json.loads((tmp_path / "probetui.sarif").read_text())["version"] == "2.1.0"
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    assert re.search(
        r"^::error file=with blank/bad.yaml,.*line=\d+", wrong.stdout, re.MULTILINE
    )
    (run,) = json.loads((tmp_path / "wrong.sarif").read_text())["runs"]
    assert "livenesProbe" in json.dumps(run["results"])


def test_the_action_says_what_a_pull_request_changes_and_gates_it(
    action: dict[str, str], tmp_path: Path
) -> None:
    pod = tmp_path / "with blank" / "pod.yaml"
    pod.parent.mkdir()
    text = (SAMPLES / "exec-liveness.yaml").read_text()
    pod.write_text(text.replace("periodSeconds: 5", "periodSeconds: 50"))
    git = ("git", "-c", "user.name=tests", "-c", "user.email=tests@example.test")
    output(*git, "init", "-q", "-b", "main", within=tmp_path)
    output(*git, "add", "-A", within=tmp_path)
    output(*git, "commit", "-q", "-m", "x", within=tmp_path)
    pod.write_text(text)
    summary = tmp_path / "summary.md"
    summary.touch()
    written = {**action, "GITHUB_STEP_SUMMARY": str(summary)}
    inputs = {"files": "with blank\n", "compare": "main"}

    told = run_step("Say what changes", written, tmp_path, **inputs)
    gated = run_step(
        "Say what changes", written, tmp_path, **inputs, **{"fail-on": "added stricter"}
    )

    assert told.returncode == 0, told.stdout + told.stderr
    assert gated.returncode == 1, gated.stdout + gated.stderr
    (row, again) = re.findall(
        r"^\| stricter \| killed once .*", summary.read_text(), re.MULTILINE
    )
    assert row == again


def test_the_action_runs_the_cases_and_writes_junit(
    action: dict[str, str], tmp_path: Path
) -> None:
    cases = tmp_path / "cases.yaml"
    cases.write_text("cases: [{name: stays, expect: [restarts == 0 for 1h]}]")
    pod = str(SAMPLES / "exec-liveness.yaml")
    inputs = {"files": pod, "cases": "cases.yaml", "runtime": "sim"}

    good = run_step("Test the pods", action, tmp_path, **inputs)
    cases.write_text("cases: [{name: dies, expect: [killed within 1h]}]")
    summary = tmp_path / "summary.md"
    summary.touch()
    written = {**action, "GITHUB_STEP_SUMMARY": str(summary)}
    wrong = run_step("Test the pods", written, tmp_path, **inputs)

    assert good.returncode == 0, good.stdout + good.stderr
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    suite = ET.parse(tmp_path / "probetui-junit.xml").getroot()
    assert [case.get("name") for case in suite.iter("testcase")] == ["dies [sim]"]
    assert len([*suite.iter("failure")]) == 1
    text = summary.read_text()
    assert "## 1-dies-sim\n\n### exec-liveness/" in text
    pages = sorted(path.name for path in (tmp_path / "probetui-reports").iterdir())
    assert pages == [
        *("1-dies-sim.html", "1-dies-sim.svg"),
        *("1-stays-sim.html", "1-stays-sim.svg"),
    ]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build the Containerfile on Debian's Python; the image is removed at the end."""
    folder = tmp_path_factory.mktemp("context")
    shutil.copy(ROOT / "Containerfile", folder)
    shutil.copy(ROOT / ".dockerignore", folder)
    version = output(
        "docker", "run", "--rm", BASE, "python3", "--version", within=folder
    )
    python = version.split()[1].rpartition(".")[0]
    pip = (sys.executable, "-m", "pip")
    output(
        *(sys.executable, "-m", "build", "--wheel", "-o", folder / "dist", ROOT),
        within=folder,
    )
    (wheel,) = (folder / "dist").glob("*.whl")
    output(
        *(*pip, "download", "-q", "-d", folder / "dist", "--only-binary=:all:"),
        *("--python-version", python, wheel),
        within=folder,
    )
    named = ("-f", "Containerfile", "-t", IMAGE, "--build-arg", f"BASE={BASE}")
    output("docker", "build", "--network", "none", *named, ".", within=folder)
    yield IMAGE
    output("docker", "rmi", "--force", IMAGE, within=folder)


@pytest.mark.docker
def test_the_image_shows_a_kill_and_the_restart(image: str, tmp_path: Path) -> None:
    lesson = ("demo", "liveness", "--runtime", "sim", "--plain", "--for", "2m")
    run = ("docker", "run", "--rm", "--init", image, *lesson)

    lines = output(*run, within=tmp_path)

    assert " run 3/3 kill " in lines
    assert " started restart=1" in lines


@pytest.mark.docker
def test_the_image_runs_pods_on_the_engine_of_the_host(
    image: str, tmp_path: Path
) -> None:
    pod = (SAMPLES / "exec-liveness.yaml").read_text()
    (tmp_path / "pod.yaml").write_text(pod.replace("exec-liveness", "exec-in-an-image"))
    socket = ("-v", "/var/run/docker.sock:/var/run/docker.sock")
    run = ("run", "-f", "/pods/pod.yaml", "--plain", "--until", "ready")

    lines = output(
        *("docker", "run", "--rm", "--init", *socket, "-v", f"{tmp_path}:/pods:ro"),
        *(image, *run, "--timeout", "2m"),
        within=tmp_path,
    )

    assert "exec-in-an-image" in lines
    left = output("docker", "ps", "-aq", "-f", "name=exec-in-an-image", within=tmp_path)
    assert left == ""
