"""`diff`: what a change of manifests does to containers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probetui.cli.main import run

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: web, namespace: shop}}
spec:
  containers:
  - name: app
    image: x
    env: [{{name: {env}, value: "{token}"}}]
    livenessProbe:
      {{exec: {{command: [check, "{token}"]}}, failureThreshold: {failures}}}
"""
OK, DIFFERS, USAGE, NOTHING = 0, 1, 2, 5

Diff = Callable[..., tuple[int, str, str]]


@pytest.fixture
def diff(capsys: pytest.CaptureFixture[str]) -> Diff:
    def run_diff(*words: str) -> tuple[int, str, str]:
        status = run(["diff", *words])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run_diff


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, failures: int = 3, token: str = "x", env: str = "WORD") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(POD.format(failures=failures, token=token, env=env))
    return str(path)


def git(*words: str) -> None:
    identity = ("-c", "user.name=tests", "-c", "user.email=tests@example.test")
    subprocess.run(["git", *identity, *words], check=True, capture_output=True)


@pytest.fixture
def repository(here: Path) -> Path:
    """A repository whose `main` has three failures, and whose files have one."""
    if shutil.which("git") is None:
        pytest.fail("these tests need git")
    git("init", "-q", "-b", "main")
    write(here / "k8s/web.yaml")
    (here / "k8s/values.yaml").write_text("replicas: 3\n")
    git("add", "-A")
    git("commit", "-q", "-m", "three failures")
    write(here / "k8s/web.yaml", failures=1)
    return here


def test_two_files_are_compared_by_what_they_do(here: Path, diff: Diff) -> None:
    status, out, err = diff(write(here / "old.yaml"), write(here / "new.yaml", 1))

    assert (status, err) == (OK, "")
    assert [" ".join(line.split()) for line in out.splitlines()] == [
        "Pod shop/web, container app",
        "stricter killed once the app fails for 20s to 31s -> 0s to 11s",
        "stricter killed unless it is up within 20s to 31s -> 0s to 11s",
        "setting failures of its liveness probe 3 -> 1",
        "",
        "1 changed (1 stricter), 0 the same",
    ]


def test_what_is_the_same_is_said_to_be(here: Path, diff: Diff) -> None:
    path = write(here / "pod.yaml")

    assert diff(path, path) == (OK, "no difference in 1 container\n", "")


def test_a_new_container_is_listed_with_its_probes(here: Path, diff: Diff) -> None:
    (here / "empty").mkdir()

    status, out, err = diff("empty", write(here / "pod.yaml"))

    assert status == OK
    assert "Pod shop/web, container app: added" in out
    assert "empty has no manifest" in err


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["main", "--", "k8s/"], id="dashes"),
        pytest.param(["main", "k8s/"], id="without dashes"),
        pytest.param(["main", "--", "k8s/web.yaml"], id="a file"),
        pytest.param(["main", "--", "{here}/k8s"], id="an absolute path"),
        pytest.param(["HEAD", "--", "./k8s/../k8s"], id="a roundabout path"),
    ],
)
def test_a_revision_is_compared_with_the_files_as_they_are(
    repository: Path, diff: Diff, words: list[str]
) -> None:
    status, out, _ = diff(*(word.format(here=repository) for word in words))

    assert status == OK
    assert "failures of its liveness probe" in out


def test_a_revision_is_found_from_a_folder_of_the_repository(
    repository: Path, diff: Diff, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "k8s")

    for path in (".", "../k8s", "web.yaml"):
        status, out, _ = diff("main", "--", path)

        assert (status, "3 -> 1" in out) == (OK, True), path


def test_two_revisions_are_compared_with_each_other(
    repository: Path, diff: Diff
) -> None:
    git("commit", "-q", "-a", "-m", "one failure")
    write(repository / "k8s/web.yaml", failures=9)

    status, out, _ = diff("HEAD~1", "HEAD", "--", "k8s")

    assert status == OK
    assert "3 -> 1" in out


@pytest.mark.usefixtures("repository")
def test_a_file_that_is_no_manifest_is_left_out_and_named(diff: Diff) -> None:
    status, out, err = diff("main", "--", "k8s/")

    assert (status, "3 -> 1" in out) == (OK, True)
    assert "main:k8s/values.yaml:1:1: kind: is missing" in err
    assert "warning: k8s/values.yaml:1:1: kind: is missing" in err


@pytest.mark.usefixtures("repository")
def test_options_may_stand_behind_the_paths(diff: Diff) -> None:
    _, out, _ = diff("main", "--", "k8s/", "--md", "-q")

    assert out.startswith("### Probes: ")


def test_folders_in_folders_are_read_on_request(repository: Path, diff: Diff) -> None:
    write(repository / "k8s/deep/web.yaml")

    _, flat, _ = diff("main", "--", ".", "-q")
    _, deep, _ = diff("main", "--", ".", "-q", "-R")

    assert flat == ""
    assert "container" in deep


def test_a_file_that_the_revision_lacks_is_new(repository: Path, diff: Diff) -> None:
    write(repository / "later.yaml")

    status, out, err = diff("main", "--", "later.yaml")

    assert (status, "container app: added" in out) == (OK, True)
    assert "later.yaml is not in main" in err


def test_a_link_in_a_revision_is_not_followed(repository: Path, diff: Diff) -> None:
    (repository / "k8s/link.yaml").symlink_to("web.yaml")
    git("add", "-A")
    git("commit", "-q", "-m", "a link")

    status, _, err = diff("main", "--", "k8s")

    assert status == NOTHING
    assert "main:k8s/link.yaml: is a symbolic link" in err


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        pytest.param([], USAGE, "name what to compare", id="nothing"),
        pytest.param(["k8s"], USAGE, "name what to compare", id="one path"),
        pytest.param(["main"], USAGE, "name a file or folder of main", id="no path"),
        pytest.param(
            ["a", "b", "c", "--", "k8s"], USAGE, "one revision or", id="three"
        ),
        pytest.param(
            ["nope", "k8s"], USAGE, "nope: is no file here, and", id="unknown"
        ),
        pytest.param(
            ["k8s", "gone.yaml"],
            USAGE,
            "gone.yaml: No such file or directory",
            id="a file that is gone",
        ),
        pytest.param(["--", "k8s"], USAGE, "one revision or two", id="no revision"),
        pytest.param(
            ["main", "--", "k8s", "nope"],
            USAGE,
            "nope: is not in main nor here",
            id="a path that nobody has",
        ),
        pytest.param(
            ["--", "-x"], USAGE, "is not an option", id="an option that is none"
        ),
        pytest.param(
            ["main", "--", "k8s/values.yaml"], USAGE, "kind: is missing", id="no pod"
        ),
        pytest.param(
            ["main", "--", "k8s", "--md", "-o", "json"], USAGE, "two forms", id="forms"
        ),
        pytest.param(
            ["main", "--", "k8s", "-l", "app=none"],
            NOTHING,
            "no pod has the labels",
            id="no such labels",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(
    diff: Diff, words: list[str], status: int, message: str
) -> None:
    found, out, err = diff(*words)

    assert (found, out) == (status, "")
    assert message in err


def test_outside_of_a_repository_a_revision_is_unknown(here: Path, diff: Diff) -> None:
    write(here / "pod.yaml")

    status, _, err = diff("main", "pod.yaml")

    assert status == USAGE
    assert "no revision that Git knows" in err


def test_without_git_files_are_compared_all_the_same(
    here: Path, diff: Diff, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(here / "pod.yaml")
    monkeypatch.setenv("PATH", str(here))

    assert diff(path, path)[0] == OK
    assert diff("main", path)[0] == USAGE


def test_nothing_that_the_repository_configures_is_run(
    repository: Path, diff: Diff
) -> None:
    mark = repository / "was-run"
    script = repository / "script"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "diff.x.textconv", "filter.x.smudge"):
        git("config", key, str(script))
    (repository / ".gitattributes").write_text("*.yaml diff=x filter=x\n")
    hooks = repository / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    os.link(script, hooks / "post-checkout")

    assert diff("main", "--", "k8s")[0] == OK

    assert not mark.exists()


@pytest.mark.parametrize(
    ("kinds", "old", "new", "status"),
    [
        pytest.param(["stricter"], 3, 1, DIFFERS, id="stricter"),
        pytest.param(["stricter"], 1, 3, OK, id="looser is not stricter"),
        pytest.param(["looser"], 1, 3, DIFFERS, id="looser"),
        pytest.param(["looser", "stricter"], 3, 1, DIFFERS, id="one of two"),
        pytest.param(["any"], 3, 3, OK, id="nothing"),
        pytest.param(["any"], 3, 4, DIFFERS, id="anything"),
        pytest.param(["found"], 3, 1, OK, id="no new warning"),
        pytest.param(["added"], 0, 3, DIFFERS, id="added"),
        pytest.param(["removed"], 3, 0, DIFFERS, id="removed"),
    ],
)
def test_a_gate_fails_on_what_it_names(
    here: Path, diff: Diff, kinds: list[str], old: int, new: int, status: int
) -> None:
    """No failures stand for a file without the pod."""
    names = []
    for name, failures in (("old", old), ("new", new)):
        folder = here / name
        folder.mkdir()
        if failures:
            write(folder / "pod.yaml", failures)
        names.append(name)
    gates = [word for kind in kinds for word in ("--fail-on", kind)]

    assert diff(*names, *gates, "-q")[0] == status


def test_a_new_warning_fails_a_gate(here: Path, diff: Diff) -> None:
    old = write(here / "old.yaml")
    new = here / "new.yaml"
    text = POD.format(failures=3, token="x", env="WORD").replace(
        "failureThreshold: 3", "failureThreshold: 3, timeoutSeconds: 30"
    )
    new.write_text(text)

    status, out, _ = diff(old, str(new), "--fail-on", "found")

    assert status == DIFFERS
    assert "  found: timeout-exceeds-period: " in out


def test_json_has_names_that_stay(here: Path, diff: Diff) -> None:
    _, out, _ = diff(
        write(here / "old.yaml"), write(here / "new.yaml", 1), "-o", "json"
    )

    value = json.loads(out)
    assert {key: value[key] for key in ("old", "new", "same")} == {
        "old": str(here / "old.yaml"),
        "new": str(here / "new.yaml"),
        "same": 0,
    }
    (container,) = value["containers"]
    probe: dict[str, Any] = {
        "handler": "exec check x",
        "initialDelaySeconds": 0,
        "periodSeconds": 10,
        "timeoutSeconds": 1,
        "successThreshold": 1,
        "failureThreshold": 3,
        "terminationGracePeriodSeconds": None,
    }
    assert container == {
        "namespace": "shop",
        "workload": {"kind": "Pod", "name": "web"},
        "container": "app",
        "change": "changed",
        "renamedFrom": None,
        "effects": [
            {
                "effect": effect,
                "direction": "stricter",
                "old": {"least": 20.0, "most": 31.0},
                "new": {"least": 0.0, "most": 11.0},
            }
            for effect in ("killed-after-failure", "start-budget")
        ],
        "probes": [
            {
                "type": "liveness",
                "change": "changed",
                "old": probe,
                "new": {**probe, "failureThreshold": 1},
            }
        ],
        "found": [],
        "mended": [],
    }


def test_markdown_obeys_nothing_of_the_manifests(here: Path, diff: Diff) -> None:
    hostile = "a|b @maintainers <img src=x> #12"

    _, out, _ = diff(
        write(here / "old.yaml"), write(here / "new.yaml", token=hostile), "--md"
    )

    (row,) = [line for line in out.splitlines() if "maintainers" in line]
    assert row == (
        "| setting | liveness probe | exec check x "
        r"| exec check `a\|b @maintainers <img src=x> #12` |"
    )


def test_a_secret_that_changed_is_not_shown(here: Path, diff: Diff) -> None:
    _, out, _ = diff(
        write(here / "old.yaml", token="hunter-22", env="PASSWORD"),
        write(here / "new.yaml", token="hunter-33", env="PASSWORD"),
    )

    assert "hunter" not in out
    assert "asks otherwise, in headers or what is masked" in out
